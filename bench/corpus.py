"""The corpus of the benches: real chunks, their vectors, dates, projects and types, and the questions asked of them.

Rows past the last real chunk are two real ones, spliced at a random point, with 15 % of the words replaced by words
of the corpus. That flatters whatever depends on distinct words, so every bench says how many rows are untouched.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.harvest import Chunk, chunks, origin
from lamina_engine.embed.bundled import WordLlamaEmbedder
from lamina_engine.profiles import COLLECTION_HALF_LIFE_DAYS, TYPE_HALF_LIFE_DAYS, Decay
from lamina_engine.redact.redactor import Redactor

K: Final = 10
NOW_S: Final = 1_767_225_600  # 2026-01-01T00:00:00Z, the moment that ages count to
TWO_YEARS_S: Final = 730 * 86_400
PROJECTS: Final = tuple(f"project-{i:02d}" for i in range(20))
TYPES: Final = (
    "agent_task", "github_commit", "agent_memory", "guideline", "agent_handoff", "architecture_decision",
    "github_ci_result", "note",
)  # fmt: skip
HALF_LIFE_DAYS: Final = tuple(TYPE_HALF_LIFE_DAYS.get(name, Decay().half_life_days) for name in TYPES)
QUESTIONS: Final = 200
"""Timed ones, and as many held out, of which dense recall is measured."""
ASKED_OF: Final = 2_000
"""Questions come from the first rows, which every size has: the same questions at every size."""
REPLACED: Final = 0.15
_BLOCK: Final = 10_000
_FORMAT: Final = "2"


class Query(NamedTuple):
    """A question, and its vector: float32 (256,), of unit length."""

    text: str
    vector: NDArray[np.float32]


@dataclass(frozen=True)
class Corpus:
    """n rows by column, in a folder of their own."""

    folder: Path
    texts: pa.LargeStringArray
    vectors: NDArray[np.float32]
    """float32 (n, 256), of unit length, mapped from disk."""
    project: NDArray[np.int64]
    kind: NDArray[np.int64]
    created_s: NDArray[np.int64]
    queries: list[Query]
    held_out: list[Query]
    exact: NDArray[np.int64]
    """int64 (len(held_out), K): the rows with the greatest inner products, best first."""
    real: int
    """Rows that are untouched text."""

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.texts)

    def table(self) -> pa.Table:
        """Return the rows as ``add`` takes them; the id of a row is its number."""
        return pa.table(
            {
                "id": pa.array([str(row) for row in range(self.size)]),
                "text": self.texts,
                "type": pa.DictionaryArray.from_arrays(self.kind.astype(np.int32), list(TYPES)),
                "project": pa.DictionaryArray.from_arrays(self.project.astype(np.int32), list(PROJECTS)),
                "created_at": pa.array(self.created_s * 1_000_000, pa.timestamp("us", "UTC")),
                "vector": pa.FixedSizeListArray.from_arrays(pa.array(self.vectors.reshape(-1)), self.vectors.shape[1]),
            }
        )

    def recall_at_k(self, found: list[list[int]], project: int | None = None) -> float:
        """Return the share of the nearest rows of the held-out questions that were found, in a project or in all."""
        ref = self.exact
        if project is not None:
            rows = np.flatnonzero(self.project == project)
            ref = rows[nearest(self.vectors[rows], np.stack([query.vector for query in self.held_out]), K)]
        return float(np.mean([len({*got} & {*best}) / K for got, best in zip(found, ref.tolist(), strict=True)]))


def words_of(text: str) -> list[str]:
    """Return the words of a text as a plain word index has them."""
    return re.findall(r"[a-z0-9]+", text.lower())


def load(cache: Path, size: int) -> Corpus:
    """Return the corpus of a size, made in the cache folder unless it is there."""
    assert COLLECTION_HALF_LIFE_DAYS.get("notes") is None  # HALF_LIFE_DAYS leaves collections out
    key = hashlib.blake2b(f"{_FORMAT} {size} {origin()}".encode(), digest_size=6).hexdigest()
    folder = cache / f"corpus-{size}-{key}"
    if not (folder / "about.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        _make(folder, size)
    about = json.loads((folder / "about.json").read_text())
    columns = np.load(folder / "columns.npz")
    texts = pa.ipc.open_file(pa.memory_map(str(folder / "texts.arrow"))).read_all()["text"].chunk(0)
    asked = [Query(text, vector) for text, vector in zip(about["questions"], columns["asked"], strict=True)]
    half = len(asked) // 2
    return Corpus(
        folder=folder, texts=texts, vectors=np.load(folder / "vectors.npy", mmap_mode="r"), project=columns["project"],
        kind=columns["kind"], created_s=columns["created_s"], queries=asked[:half], held_out=asked[half:],
        exact=columns["exact"], real=about["real"],
    )  # fmt: skip


def _make(folder: Path, size: int) -> None:
    real = list(islice(chunks(), size))
    questions = _questions(real[:ASKED_OF])
    # as a vault keeps them: equal results are compared by text, and some docstrings hold credentials
    masked = Redactor().clean_batch(rows := list(_rows(real, size)))
    for at, text, _ in masked:
        rows[at] = text
    texts = pa.array(rows, pa.large_string())
    batch = pa.record_batch({"text": texts})
    with pa.ipc.new_file(str(folder / "texts.arrow"), batch.schema) as file:
        file.write(batch)
    embedder = WordLlamaEmbedder()
    vectors = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, (size, embedder.dim))
    for start in range(0, size, _BLOCK):
        vectors[start : start + _BLOCK] = embedder.embed_documents(texts[start : start + _BLOCK].to_pylist())
    vectors.flush()
    asked = np.stack([embedder.embed_query(text) for text in questions])
    # one generator a column: a small corpus is the beginning of a large one
    draw = [np.random.default_rng(seed) for seed in (1, 2, 3)]
    np.savez(
        folder / "columns.npz",
        project=draw[0].integers(0, len(PROJECTS), size),
        kind=draw[1].integers(0, len(TYPES), size),
        created_s=NOW_S - draw[2].integers(0, TWO_YEARS_S, size),
        asked=asked,
        exact=nearest(vectors, asked[len(asked) // 2 :], K),
    )
    (folder / "about.json").write_text(json.dumps({"real": len(real), "questions": questions}))


def _rows(real: list[Chunk], size: int) -> Iterator[str]:
    yield from (chunk.text for chunk in real)
    split = [chunk.text.split() for chunk in real]
    pool = np.array([word for words in split[:20_000] for word in words], dtype=object)
    rng = np.random.default_rng(4)
    for _ in range(size - len(real)):
        head, tail = (split[i] for i in rng.integers(0, len(split), 2))
        at = int(rng.integers(len(head) // 3, len(head)))
        words = np.array([*head[:at], *tail[: max(0, 130 - at)]], dtype=object)
        replaced = np.flatnonzero(rng.random(len(words)) < REPLACED)
        words[replaced] = pool[rng.integers(0, len(pool), len(replaced))]
        yield " ".join(words)


def _questions(real: list[Chunk]) -> list[str]:
    """Return twice `QUESTIONS`: half are headings, half passages of 12 words of which a fifth was dropped; mixed."""
    rng = np.random.default_rng(5)
    headings = dict.fromkeys(" ".join(words_of(h)) for chunk in real for h in chunk.headings)
    asked = [heading for heading in headings if 4 <= len(heading.split()) <= 14]
    asked = [asked[i] for i in rng.permutation(len(asked))[:QUESTIONS]]
    while len(asked) < 2 * QUESTIONS:
        words = real[int(rng.integers(len(real)))].text.split()
        start = int(rng.integers(0, max(1, len(words) - 12)))
        kept = [word for word in words_of(" ".join(words[start : start + 12])) if rng.random() > 0.2][:10]
        if len(kept) >= 5:
            asked.append(" ".join(kept))
    return [asked[i] for i in rng.permutation(len(asked))]


def nearest(vectors: NDArray[Any], queries: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Return int64 (q, k): the rows with the greatest inner products, best first, by comparing with every row."""
    scores = np.empty((len(queries), 0), np.float32)
    rows = np.empty((len(queries), 0), np.int64)
    for start in range(0, len(vectors), 100_000):
        part = queries @ vectors[start : start + 100_000].T
        scores = np.hstack([scores, part])
        rows = np.hstack([rows, np.broadcast_to(np.arange(start, start + part.shape[1]), part.shape)])
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        scores, rows = np.take_along_axis(scores, best, 1), np.take_along_axis(rows, best, 1)
    return rows
