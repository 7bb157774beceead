"""Each part of ``default``: what recall loses without it, on labelled sets: ``python -m bench.ablation SET...``.

A set is a folder or file as `lamina eval` takes it. Links are built where the records have titles. Differences are paired by
question: mean loss ± its standard error.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

import lamina
from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.evaluation import EvaluationSet, load_set
from lamina_engine.profiles import BUILT_IN, Graph, Profile
from lamina_engine.recall.pipeline import recall

KS = (5, 10)
WHOLE = BUILT_IN["default@2"]


def parts() -> Iterator[tuple[str, Profile, bool]]:
    """Yield each part's name, the profile without it, and whether the question's words all count alike."""
    dialogue, roles = WHOLE.dialogue, WHOLE.roles
    yield "rare words of the question count more in its vector", WHOLE, True
    yield "a question passes on to the turn after it", replace(WHOLE, dialogue=replace(dialogue, answers=0.0)), False
    yield "a short turn passes on to the turn before it", replace(WHOLE, spread=0.0), False
    yield "turns that ask stand lower", replace(WHOLE, roles={**roles, "question": 1.0}), False
    yield "turns of few words stand lower", replace(WHOLE, dialogue=replace(dialogue, length=0.0)), False
    yield "turns of whom the question names", replace(WHOLE, dialogue=replace(dialogue, named=0.0)), False
    yield "one hop to what is named", replace(WHOLE, graph=Graph(), hops=Graph()), False
    yield (
        "the words of the turns before",
        replace(WHOLE, lexical=replace(WHOLE.lexical, context=0.0), spread=0.0),
        False,
    )

    yield "vectors", replace(WHOLE, vector_share=0.0), False


def run(labelled: EvaluationSet, model: str | None = None) -> dict[str, NDArray[np.float64]]:
    """Return recall at `KS` of each question, float64 (questions, 2), by what was left out; "" for nothing."""
    queries = [query for query in labelled.queries if query.gold]
    dates = [parse_instant(str(record["created_at"])) for record in labelled.records if "created_at" in record]
    now = format_instant(max(dates)) if dates else None
    with tempfile.TemporaryDirectory() as folder, lamina.open(folder, create=True, embedder=model) as vault:
        vault.add(labelled.records)
        if any("title" in record for record in labelled.records):
            vault.build_links()
        memory = vault._memory
        embedder = memory.embedder_for(memory.view().snapshot.space)

        def measure(profile: Profile, alike: bool) -> NDArray[np.float64]:
            rows = []
            for query in queries:
                vector = embedder.embed_query(query.text) if alike else None
                hits = recall(
                    memory, query.text, k=max(KS), profile=profile, where=query.where, now=now, vector=vector
                ).hits
                gold = [hit.id in query.gold for hit in hits]
                rows.append([sum(gold[:k]) / len(query.gold) for k in KS])
            return np.array(rows)

        return {"": measure(WHOLE, False)} | {name: measure(profile, alike) for name, profile, alike in parts()}


def table(results: dict[str, dict[str, NDArray[np.float64]]]) -> str:
    """Return the results by set as Markdown."""
    names = list(results)
    lines = ["| | " + " | ".join(f"{name}, @5 | @10" for name in names) + " |", "|---" * (1 + 2 * len(names)) + "|"]
    whole = [f"**{value:.3f}**" for found in results.values() for value in found[""].mean(axis=0)]
    lines.append("| **`default`** | " + " | ".join(whole) + " |")
    for part in list(results[names[0]])[1:]:
        cells = []
        for found in results.values():
            change = found[part] - found[""]
            errors = change.std(axis=0) / np.sqrt(len(change))
            cells += [f"{mean:+.3f} ± {error:.3f}" for mean, error in zip(change.mean(axis=0), errors, strict=True)]
        lines.append(f"| without: {part} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    paths = [Path(path) for path in (sys.argv[1:] if arguments is None else arguments)]
    if not paths:
        print("give one or more labelled sets", file=sys.stderr)
        return 2
    print(table({path.name: run(load_set(path)) for path in paths}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
