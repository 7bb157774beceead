"""Do topics of the past predict those that come next? ``python -m bench.experiment_transitions VAULT``

Chains order and do not predict. Transition matrices between topics, learned from the first 70 % of the sessions, are
asked at the boundaries of the rest: given the last topics of a session, which five topics does the next one begin with
(A); given what the latest questions retrieved, what will the next one retrieve (B). Beside them stand chance, what is
most frequent, and what was there a moment ago. P@5 is the share of the five that come true, lift@5 that share over
chance. The same matrices are asked inside sessions too: a signal that is there and not at boundaries is workflow, and
no help to somebody who opens a memory.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

import lamina
from bench.episodes import NONE, Episodes, Line, read, run, table

K: Final = 5
LEARNED: Final = 0.7
_RETRIEVED: Final = 5
_ASKED: Final = 300
"""Questions of the retrieval-feedback chain, at most."""


class Case(NamedTuple):
    """One boundary: what was there before, latest last, and what came."""

    project: str | None
    before: tuple[int, ...]
    after: frozenset[int]


Ranker = Callable[[Case], Sequence[int]]


class Counts:
    """Transitions counted between single topics, or between pairs and topics."""

    def __init__(self, pairs: Iterator[tuple[Any, int]]) -> None:
        self.rows: dict[Any, Counter[int]] = defaultdict(Counter)
        for before, after in pairs:
            self.rows[before][after] += 1

    def ranked(self, keys: Sequence[Any]) -> list[int]:
        """Return topics by the sum of their shares of each key's transitions; ties by number."""
        total: dict[int, float] = defaultdict(float)
        for key in keys:
            row = self.rows.get(key)
            if row:
                size = sum(row.values())
                for topic, count in row.items():
                    total[topic] += count / size
        return sorted(total, key=lambda topic: (-total[topic], topic))[:K]

    @property
    def cells(self) -> int:
        """Distinct transitions seen."""
        return sum(len(row) for row in self.rows.values())


def measure(vault: lamina.Vault) -> dict[str, Any]:
    """Return what all predictors reach at boundaries, inside sessions and along retrievals, and the shares of links."""
    found = read(vault)
    cut = int(len(found.lines) * LEARNED)
    learned, rest = found.lines[:cut], found.lines[cut:]
    rankers, cells = predictors(learned, found.topics)
    boundary = boundaries(found.lines, first=cut)
    inside = [case for line in rest for case in _inside(line)]
    asked = retrievals(vault, found)
    return {
        "sessions": len(found.lines), "topics": found.topics, "cells": cells, "links": shares(found),
        "boundaries": scored(boundary, rankers, found.topics), "inside": scored(inside, rankers, found.topics),
        "retrievals": scored(
            asked[int(len(asked) * LEARNED) :], feedback(asked[: int(len(asked) * LEARNED)]), found.topics
        ),
    }  # fmt: skip


def predictors(learned: Sequence[Line], topics: int) -> tuple[dict[str, Ranker], dict[str, int]]:
    """Return what predicts, by name, and how many transitions each matrix has."""
    frequent = [topic for topic, _ in Counter(t for line in learned for t in _known(line)).most_common(K)]
    within = list(_within(learned))
    across = list(_across(learned))
    matrices = {
        "global bigram": Counts(iter(within + across)),
        "within-chain bigram": Counts(iter(within)),
        "cross-session bigram": Counts(iter(across)),
    }
    own = {
        project: Counts(iter([*_within(lines), *_across(lines)]))
        for project, lines in _by_project(learned).items()
    }  # fmt: skip
    triples = Counts(((a, b), c) for line in learned for a, b, c in _threes(_known(line)))
    named: dict[str, Ranker] = {
        "random": lambda case: (), "most popular": lambda case: frequent,
        "recency": lambda case: list(dict.fromkeys(reversed(case.before)))[:K],
        **{name: _by(matrix) for name, matrix in matrices.items()},
        "project bigram": lambda case: own[case.project].ranked(case.before) if case.project in own else (),
        "trigram": lambda case: triples.ranked(list(pairwise(case.before))),
    }  # fmt: skip
    return named, {**{name: matrix.cells for name, matrix in matrices.items()}, "trigram": triples.cells}


def feedback(learned: Sequence[Case]) -> dict[str, Ranker]:
    """Return predictors of the next retrieval, learned from earlier ones."""
    frequent = [topic for topic, _ in Counter(t for case in learned for t in sorted(case.after)).most_common(K)]
    matrix = Counts((before, after) for case in learned for before in case.before for after in sorted(case.after))
    return {
        "random": lambda case: (), "most popular": lambda case: frequent,
        "recency": lambda case: list(dict.fromkeys(reversed(case.before)))[:K], "retrieval bigram": _by(matrix),
    }  # fmt: skip


def _by(matrix: Counts) -> Ranker:
    return lambda case: matrix.ranked(case.before)


def scored(cases: Sequence[Case], rankers: dict[str, Ranker], topics: int) -> dict[str, Any]:
    """Return P@5 and lift@5 of every predictor; chance is computed and not drawn."""
    cases = [case for case in cases if case.before and case.after]
    drawn = min(K, topics) / K  # of fewer topics than five no more can be drawn
    chance = drawn * float(np.mean([len(case.after) / topics for case in cases])) if cases and topics else 0.0
    out: dict[str, Any] = {"cases": len(cases)}
    for name, ranker in rankers.items():
        hits = [len(case.after & set(ranker(case))) / K for case in cases]
        share = chance if name == "random" else (float(np.mean(hits)) if hits else 0.0)
        out[name] = {"p_at_5": share, "lift_at_5": share / chance if chance else 0.0}
    return out


def boundaries(lines: Sequence[Line], first: int = 0) -> list[Case]:
    """Return the boundaries between sessions of one project, the later one from number ``first`` on."""
    places = {line.session: i for i, line in enumerate(lines)}
    cases = []
    for project, some in _by_project(lines).items():
        for before, after in pairwise(some):
            if places[after.session] >= first:
                cases.append(Case(project, tuple(_known(before)[-K:]), frozenset(_known(after)[:K])))
    return cases


def retrievals(vault: lamina.Vault, found: Episodes) -> list[Case]:
    """Return what each question of a session retrieves, after what those before it did; questions are chunks' first lines."""
    view = vault._memory.view()
    owner = {row: topic for line in found.lines for row, topic in zip(line.rows.tolist(), line.topics, strict=True)}
    cases: list[Case] = []
    for line in found.lines:
        before: list[int] = []
        for row, text in zip(line.rows.tolist(), view.snapshot.values("chunks", "text", line.rows), strict=True):
            if len(cases) >= _ASKED:
                return cases
            question = str(text).strip().partition("\n")[0][:300]
            if not question:
                continue
            hits = [hit.id for hit in vault.recall(question, k=_RETRIEVED + 1)]
            rows = [r for r in view.rows_of_ids(hits).tolist() if r != row][:_RETRIEVED]
            topics = [topic for topic in (owner.get(r, NONE) for r in rows) if topic != NONE]
            cases.append(Case(line.project, tuple(before[-K:]), frozenset(topics)))
            before += topics
    return cases


def shares(found: Episodes) -> dict[str, float]:
    """Return how many links chains may go along, and which shares stay in a session or cross into another."""
    session = {row: line.session for line in found.lines for row in line.rows.tolist()}
    ends = [(session.get(a), session.get(b)) for a, b in found.links]
    within = sum(a == b and a is not None for a, b in ends)
    across = sum(a != b and a is not None and b is not None for a, b in ends)
    total = max(len(ends), 1)
    return {"links": len(ends), "within": within / total, "across": across / total}


def _known(line: Line) -> list[int]:
    return [topic for topic in line.topics if topic != NONE]


def _threes(topics: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    yield from zip(topics, topics[1:], topics[2:], strict=False)


def _inside(line: Line) -> Iterator[Case]:
    topics = _known(line)
    for at in range(1, len(topics)):
        yield Case(line.project, tuple(topics[max(0, at - K) : at]), frozenset(topics[at : at + K]))


def _within(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    for line in lines:
        yield from pairwise(_known(line))


def _across(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Yield the link between two sessions: last topic to first topic."""
    for some in _by_project(lines).values():
        for before, after in pairwise(some):
            if _known(before) and _known(after):
                yield _known(before)[-1], _known(after)[0]


def _by_project(lines: Sequence[Line]) -> dict[str | None, list[Line]]:
    found: dict[str | None, list[Line]] = defaultdict(list)
    for line in lines:
        found[line.project].append(line)
    return found


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield the findings for people."""
    links = found["links"]
    yield f"{found['sessions']} sessions, {found['topics']} topics, {links['links']} links: "
    yield f"{links['within']:.1%} within sessions, {links['across']:.1%} across"
    titles = {
        "boundaries": "A. the next session's first topics", "inside": "inside sessions, the next topics",
        "retrievals": "B. what the next question retrieves",
    }  # fmt: skip
    for key, title in titles.items():
        part = found[key]
        yield ""
        yield f"{title} ({part['cases']} cases)"
        rows = [(name, one["p_at_5"], one["lift_at_5"]) for name, one in part.items() if name != "cases"]
        yield from table([("approach", "P@5", "lift@5"), *rows])
    yield ""
    yield "transitions seen: " + ", ".join(f"{name} {count}" for name, count in found["cells"].items())


if __name__ == "__main__":
    sys.exit(run("experiment_transitions", __doc__, measure, lines))
