"""The short script that Lamina's recall must beat: Tantivy and the bundled vectors, glued by hand.

One lexical field a record: the two records before it in its session, its own title and text, its date. 0.3 of a hit's
BM25 score goes to the record before it. Cosines of the single records join by reciprocal ranks at weight 0.25.
Run ``python -m bench.recipe_dialogue PATH``, PATH being LoCoMo, HotpotQA or any other labelled set.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tantivy
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from lamina_engine.evaluation import EvaluationQuery, EvaluationReport, EvaluationSet, evaluate, load_set

BEFORE, SPREAD, VECTOR_WEIGHT, RRF_K = 2, 0.3, 0.25, 60
# Read directly: the package's own loader looks for the tokenizer in a folder that its wheel does not have.
FOLDER = Path(str(importlib.util.find_spec("wordllama").origin)).parent  # type: ignore[union-attr]
TOKENIZER = Tokenizer.from_file(str(FOLDER / "tokenizers" / "l2_supercat_tokenizer_config.json"))
TABLE = next(iter(load_file(FOLDER / "weights" / "l2_supercat_256.safetensors").values())).astype(np.float32)


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """Mean of the tokens' rows, as unit vectors."""
    rows = np.array([TABLE[e.ids].mean(axis=0) for e in TOKENIZER.encode_batch(list(texts), add_special_tokens=False)])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def single(record: dict[str, Any]) -> str:
    """One record by itself: title, text, and the date in words."""
    date = datetime.fromisoformat(record["created_at"]) if "created_at" in record else None
    return "\n".join(filter(None, [record.get("title"), record["text"], f"{date.day} {date:%B %Y}" if date else None]))


class Recipe:
    """The records that one filter leaves: a dialogue, or the whole corpus."""

    def __init__(self, records: list[dict[str, Any]]) -> None:
        self.ids = [record["id"] for record in records]
        sessions = [record.get("session") for record in records]
        # A record continues the one before it where both stand in the same session.
        self.continues = np.array([a is not None and a == b for a, b in zip(sessions, [None, *sessions], strict=False)])
        self.vectors = embed([single(record) for record in records])
        schema = (
            tantivy.SchemaBuilder()
            .add_text_field("text", tokenizer_name="en_stem")
            .add_integer_field("row", stored=True)
        )
        self.index = tantivy.Index(schema.build())
        writer = self.index.writer(num_threads=1)
        for row, record in enumerate(records):
            first = next((row - back for back in range(BEFORE) if not self.continues[row - back]), row - BEFORE)
            before = [str(earlier["text"]) for earlier in records[first:row]]
            writer.add_document(tantivy.Document(text="\n".join([*before, single(record)]), row=row))
        writer.commit()
        self.index.reload()

    def lexical(self, text: str) -> NDArray[np.float64]:
        """BM25 over lower-cased, stemmed words (no stop words), spread to the record before."""
        scores = np.zeros(len(self.ids))
        searcher = self.index.searcher()
        query = self.index.parse_query(" ".join(re.findall(r"[^\W_]+", text.lower())), ["text"])
        for score, address in searcher.search(query, len(self.ids)).hits:
            scores[searcher.doc(address)["row"][0]] = score
        scores[:-1] += SPREAD * scores[1:] * self.continues[1:]
        return scores

    def fused(self, text: str) -> NDArray[np.float64]:
        """Reciprocal ranks of the words, and a quarter of those of the vectors."""
        cosines = self.vectors @ embed([text])[0]
        return 1 / (RRF_K + ranks(self.lexical(text))) + VECTOR_WEIGHT / (RRF_K + ranks(cosines))


def ranks(scores: NDArray[Any]) -> NDArray[np.int64]:
    """Rank 1 for the best; ties in row order."""
    return np.argsort(np.argsort(-scores, kind="stable")) + 1


def run(labelled: EvaluationSet) -> dict[str, EvaluationReport]:
    """Both reports, by ``lexical`` and ``fused``; one index for each project."""
    projects: dict[Any, list[dict[str, Any]]] = {}
    for record in labelled.records:
        projects.setdefault(record.get("project"), []).append(record)
    recipes = {project: Recipe(records) for project, records in projects.items()}

    def top(method: str, query: EvaluationQuery, k: int) -> list[str]:
        recipe = recipes[(query.where or {}).get("project")]
        return [recipe.ids[row] for row in np.argsort(-getattr(recipe, method)(query.text), kind="stable")[:k]]

    return {method: evaluate(partial(top, method), labelled) for method in ("lexical", "fused")}


if __name__ == "__main__":
    for name, report in run(load_set(sys.argv[1])).items():
        print(f"{name}\n{report.table()}")
