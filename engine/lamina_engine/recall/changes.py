"""Changes of a recall between two moments: its hits then and now, by cause.

Two recalls as of two moments are compared. What a hit scores more or less is attributed to the terms of its score, one after
the other (`lamina_engine.recall.explain.attribute`), and each term to what changed in the vault: so the causes of a hit add
up to the whole difference. A chunk that one of the moments did not show is scored there as if a lane had found it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from msgspec import Struct

from lamina_engine import after_fork
from lamina_engine.clock import utc_datetime
from lamina_engine.index.state import ARCHIVED, FORGOTTEN, INVALIDATED, REMOVED, SUPERSEDED
from lamina_engine.recall.explain import attribute
from lamina_engine.recall.pipeline import Ranked, rank_question

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.results import Hit, Terms
    from lamina_kernels.layouts import I64

BY_STATUS: Final = {
    SUPERSEDED: "rewritten", INVALIDATED: "invalidated", REMOVED: "removed", FORGOTTEN: "forgotten", ARCHIVED: "archived",
}  # fmt: skip
_TOPIC: Final = "topic"


Kind = Literal["entered", "left", "moved", "same"]


class HitChange(Struct, frozen=True, kw_only=True):
    """A hit of either moment, its places and scores in both, with the causes."""

    id: str
    label: str | None
    text: str
    type: str
    project: str | None
    kind: Kind
    rank_then: int | None
    rank_now: int | None
    """From 1; None where it is no hit."""
    score_then: float | None
    score_now: float | None
    """Also where it is no hit; None where it may not be returned."""
    causes: dict[str, float]
    """What its score gained or lost by each: ``new``, ``rewritten``, ``restored``, ``woken``, ``invalidated``, ``removed``,
    ``archived``, ``forgotten``, ``snoozed``, ``filter``, ``aged``, ``outdated``, ``statistics``, ``neighbour``, ``link``,
    ``topic``, ``fact``, ``use``, ``order``. They add up to the whole difference, no score counting as 0."""
    passed_by: tuple[str, ...]
    """Hits that stand above it now and did not."""
    passes: tuple[str, ...]
    """Hits that stood above it and no longer do."""


def compare_recalls(
    memory: Memory, query: str, since_us: int, until_us: int | None, options: Mapping[str, Any]
) -> tuple[Ranked, Ranked, list[HitChange]]:
    """Return both recalls, and what became of each hit of either moment."""
    later = None if until_us is None else utc_datetime(until_us)
    one = rank_question(memory, query, as_of=utc_datetime(since_us), with_facts=True, counted=False, **options)
    other = rank_question(memory, query, as_of=later, with_facts=True, counted=False, **options)
    then, now = _Side(one), _Side(other)
    then.read(now.ranks)
    now.read(then.ranks)
    return one, other, [_change(id_, then, now) for id_ in dict.fromkeys([*now.ranks, *then.ranks])]


@after_fork.track_property_locks
class _Side:
    """Hits of one moment, and what other chunks would score there."""

    def __init__(self, ranked: Ranked) -> None:
        self.ranked, self.view = ranked, ranked.view
        self.ranks = {id_: rank for rank, id_ in enumerate(ranked.ids(), 1)}
        self._rows: dict[str, int] = {}
        self._scored: dict[str, Hit] = {}

    def read(self, ids: Iterable[str]) -> None:
        """Read the hits, and score those of the other moment that may be returned."""
        ranked, others = self.ranked, [id_ for id_ in ids if id_ not in self.ranks]
        rows = self.view.rows_of_ids(others)
        self._rows = dict(zip(others, rows.tolist(), strict=True))
        page = ranked.pages[-1]
        live = page.selection.live
        at = [row for row in rows.tolist() if row >= 0 and not page.by_time and (live is None or live[row])]
        found: list[Hit] = []
        for each in ranked.pages:  # a call for the hits and the others of a page: most of its cost is none of a chunk's
            held, missing = _find(each.candidates.rows, at)
            found += each.explain(self.view, ranked.request, [*each.kept, *held])
            at = [at[place] for place in missing]
        if at:
            placed = page.place(self.view, ranked.request, np.array(at, np.int64))
            found += placed.explain(self.view, ranked.request, _find(placed.candidates.rows, at)[0])
        if ranked.pages[0].facts.alone:
            found += ranked.hits()
        self._scored = {hit.id: hit for hit in found}

    def hit(self, id_: str) -> Hit | None:
        """Return a chunk with its score here; None where it may not be returned."""
        return self._scored.get(id_)

    def absence(self, id_: str) -> str:
        """Return why a chunk may not be returned here, as a cause seen from where it may."""
        row = self._rows[id_]
        if row < 0:
            return "new"
        status = int(self.view.state.status[row])
        return BY_STATUS.get(status, "snoozed" if row in self.view.state.snoozed else "filter")

    @cached_property
    def givers(self) -> dict[int, list[int]]:
        """Rows that pass on part of their match to each row that was read: those beside it."""
        previous, live = self.view.previous, self.ranked.pages[-1].selection.live
        if not previous.size:
            return {}
        rows = np.array([hit.row for hit in self._scored.values() if hit.row >= 0], np.int64)
        read = np.zeros(len(previous) + 1, np.bool_)  # -1, for no row before, is its last
        read[rows] = True
        after = np.flatnonzero(read[previous])
        pairs = zip(
            [*rows.tolist(), *previous[after].tolist()], [*previous[rows].tolist(), *after.tolist()], strict=True
        )
        found: dict[int, list[int]] = {}
        for row, giver in pairs:
            if giver >= 0 and (live is None or live[giver]):
                found.setdefault(row, []).append(giver)
        return found


def _find(rows: I64, wanted: list[int]) -> tuple[list[int], list[int]]:
    """Return the positions of a few wanted rows, and of the wanted that are not there."""
    equal = np.equal.outer(np.array(wanted, np.int64), rows)
    return np.nonzero(equal)[1].tolist(), np.flatnonzero(~equal.any(axis=1)).tolist()


def _change(id_: str, then: _Side, now: _Side) -> HitChange:
    """Return what became of one hit."""
    old, new = then.hit(id_), now.hit(id_)
    causes = _causes(id_, then, now)
    rank, rank_now = then.ranks.get(id_), now.ranks.get(id_)
    above, below = _above(then, id_), _above(now, id_)
    shown = new or old
    assert shown is not None
    kind: Kind = "entered" if rank is None else "left" if rank_now is None else "moved" if rank != rank_now else "same"
    return HitChange(
        id=id_, label=shown.label, text=shown.text, kind=kind, type=shown.type, project=shown.project,
        rank_then=rank, rank_now=rank_now, score_then=None if old is None else old.score,
        score_now=None if new is None else new.score, causes=causes,
        passed_by=tuple(each for each in below if each not in above), passes=tuple(each for each in above if each not in below),
    )  # fmt: skip


def _above(side: _Side, id_: str) -> list[str]:
    """Return the hits above one; all of them where it is none."""
    ids = list(side.ranks)
    return ids[: side.ranks[id_] - 1] if id_ in side.ranks else ids


def _causes(id_: str, then: _Side, now: _Side) -> dict[str, float]:
    """Return by cause how much a score changed."""
    old, new = then.hit(id_), now.hit(id_)
    if old is None or new is None:
        if old is not None:
            cause = now.absence(id_)
            return {"forgotten" if cause == "new" else cause: -old.score}
        assert new is not None
        cause = then.absence(id_)
        restored = cause in ("invalidated", "removed", "archived", "rewritten")
        return {"restored" if restored else "woken" if cause == "snoozed" else cause: new.score}
    found: dict[str, float] = {}
    if old.row == new.row and old.score == new.score:
        return found  # its terms are not read: they cost as much as a lane
    for part, value in attribute(old.terms, new.terms).items():
        cause = _cause(part, old, new, then, now)
        found[cause] = found.get(cause, 0.0) + value
    return found


def _cause(part: str, old: Hit, new: Hit, then: _Side, now: _Side) -> str:
    """Return what changed in the vault where a part of a score did."""
    same = old.row == new.row
    if part == "links":
        return _cause_of_link(old.terms, new.terms, then, now, same=same)
    if part in ("words", "meaning", "formula"):
        return "statistics" if same else "rewritten"
    if part == "neighbour":
        kept = then.givers.get(old.row) == now.givers.get(new.row)
        return "rewritten" if not same else "statistics" if kept else "neighbour"
    if part == "factor":
        changed = "invalidated" if new.status == "invalidated" else "restored"
        return changed if old.status != new.status else "statistics" if same else "rewritten"
    if part in ("age", "time", "boosts"):
        # where age orders only what matches, it is counted to the newest of that and not to the present
        return (
            ("outdated" if "age" in new.terms else "aged") if same and old.created_at == new.created_at else "rewritten"
        )
    return {"facts": "fact", "composite": "use", "ceiling": "order"}[part]


def _cause_of_link(old: Terms, new: Terms, then: _Side, now: _Side, *, same: bool) -> str:
    before, after = old.get("path", []), new.get("path", [])
    if any(step["relation"] == _TOPIC for step in (*before, *after)):
        return _TOPIC
    if [*before] != [*after]:
        return "link"
    starts = [step["source"] for step in after[:1]] + [step["target"] for step in after[:1]]
    kept = np.array_equal(then.view.rows_of_ids(starts), now.view.rows_of_ids(starts))
    return "statistics" if kept and same else "neighbour" if same else "rewritten"
