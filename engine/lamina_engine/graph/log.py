"""The links log: claims written and withdrawn; see `lamina_engine.index.claims`."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lamina_engine.chunks.identities import find_ends
from lamina_engine.clock import MISSING_US
from lamina_engine.errors import InvalidArgument, LaminaError
from lamina_engine.graph.links import claim_rows, claim_rows_at
from lamina_engine.graph.registry import relation_of
from lamina_engine.index import nodes
from lamina_engine.store.transaction import LogWriter

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.transaction import Transaction

logger = logging.getLogger(__name__)

USER = "user"
PERSONAL = ("user", "beads", "clawpy", "import")
"""Origins that pass on what somebody said; the others are rules and a model."""
_MOST_COUNT = 1 << 24  # larger counts are not exact in float32


class Draft(NamedTuple):
    """A link to write."""

    source: str
    target: str
    relation: str
    weight: float = 1.0
    note: str | None = None
    created_at: int | None = None
    """us UTC; the present unless given."""


@dataclass(slots=True)
class LinkCounts:
    """Counts of one write."""

    added: int = 0
    updated: int = 0
    withdrawn: int = 0
    unchanged: int = 0

    def add(self, other: LinkCounts) -> None:
        """Add the counts of another write."""
        self.added += other.added
        self.updated += other.updated
        self.withdrawn += other.withdrawn
        self.unchanged += other.unchanged


Key = tuple[str, str, str]
"""Source, target, relation."""


class ClaimSet(NamedTuple):
    """All claims of an origin about some relations, or about their links from some chunks."""

    origin: str
    relations: tuple[str, ...]
    """Relations that the drafts are complete for: other claims of these are withdrawn."""
    drafts: Sequence[Draft]
    starts: frozenset[str] | None = None
    """Full ids of the chunks that it is complete for; None for all."""


def write(memory: Memory, drafts: Iterable[Draft], *, origin: str = USER, keep_first: bool = False) -> LinkCounts:
    """Write links durably, all or none; skip those that the origin already claims.

    ``keep_first``: a link that somebody has made before keeps its weight, note and date.
    """
    return _LinkWriter(memory, [ClaimSet(origin, (), list(drafts))], keep_first=keep_first).write()


def withdraw(memory: Memory, keys: Iterable[Key], *, origin: str = USER) -> LinkCounts:
    """Withdraw an origin's claims about some links; other origins keep theirs."""
    drafts = [_check_draft(memory, Draft(*key)) for key in keys]
    with memory.write() as (transaction, view):
        wanted = set(_resolve_drafts(view, drafts))
        withdrawn = [key for key in _claims_by_key(view, origin) if key in wanted]
        _append_rows(memory, transaction, [], withdrawn, origin)
    return LinkCounts(withdrawn=len(withdrawn))


def sync(
    memory: Memory, drafts: Iterable[Draft], *, origin: str, relations: Sequence[str], redacted: bool = False
) -> LinkCounts:
    """Make these an origin's only claims about some relations: write new ones, withdraw others.

    ``redacted``: notes hold nothing but what the vault holds already.
    """
    claims = ClaimSet(origin, tuple(relations), list(drafts))
    return _LinkWriter(memory, [claims], redacted=redacted).write()


def sync_starts(memory: Memory, claims: Sequence[ClaimSet]) -> LinkCounts:
    """Make these the only claims about links from some chunks, in one commit; see `sync`.

    Notes hold nothing but what the vault holds already. O(links of the chunks).
    """
    return _LinkWriter(memory, claims, redacted=True).write()


def count(
    memory: Memory,
    transaction: Transaction,
    view: View,
    pairs: Iterable[tuple[str, str]],
    *,
    origin: str,
    relation: str,
) -> None:
    """Add one to an origin's count of each pair, within a transaction; `sync_index` follows.

    O(links of the first of each pair).
    """
    keys = [(source, target, relation) for source, target in pairs]
    claimed = _claims_by_key(view, origin, dict.fromkeys(source for source, _, _ in keys))
    before = [claimed.get(key) for key in keys]
    drafts = [
        Draft(*key, 1.0) if claim is None else Draft(*key, min(claim.weight + 1.0, _MOST_COUNT), None, claim.created_at)
        for key, claim in zip(keys, before, strict=True)
    ]
    _append_rows(memory, transaction, drafts, [], origin)


class _LinkWriter(LogWriter[list["_Plan"], LinkCounts]):
    """Writer of claims: adds new ones of an origin, and withdraws dropped ones."""

    def __init__(
        self, memory: Memory, claims: Sequence[ClaimSet], *, redacted: bool = False, keep_first: bool = False
    ) -> None:
        super().__init__(memory)
        self._keep_first = keep_first
        redactor = None if redacted else memory
        self._claims = [(each, [_check_draft(redactor, draft) for draft in each.drafts]) for each in claims]
        for each in claims:
            _check_origin(each.origin)

    def plan(self, view: View) -> list[_Plan]:
        """Compare the drafts of each claim set with its origin's current claims."""
        plans = []
        for each, drafts in self._claims:
            wanted = _resolve_drafts(view, drafts)
            if self._keep_first:
                wanted |= _first_claims(view, wanted)
            claimed = _claims_by_key(view, each.origin, each.starts)
            plan = _compare(each.origin, claimed, wanted)
            plan.withdrawn = [key for key in claimed if key[2] in each.relations and key not in wanted]
            plans.append(plan)
        return plans

    def append(self, transaction: Transaction, view: View, plan: list[_Plan]) -> LinkCounts:
        """Append the rows of each claim set in the order of their keys."""
        counts = LinkCounts()
        for each in plan:
            _append_rows(self.memory, transaction, [*each.new, *each.changed], each.withdrawn, each.origin)
            counts.add(LinkCounts(len(each.new), len(each.changed), len(each.withdrawn), each.unchanged))
        return counts

    def sync_index(self, counts: LinkCounts) -> None:
        """Save the graph again if much has been added."""
        sync_index(self.memory)


# ---------------------------------------------------------------------- checking


def _check_origin(origin: str) -> None:
    if not isinstance(origin, str) or not origin.strip():
        raise InvalidArgument(f"origin={origin!r} must be a name, such as 'user'")


def _check_draft(memory: Memory | None, draft: Draft) -> Draft:
    relation = relation_of(draft.relation)
    weight = draft.weight
    if isinstance(weight, bool) or not isinstance(weight, (int, float, np.floating)) or not math.isfinite(weight):
        raise InvalidArgument(f"weight={weight!r} must be a finite number")
    if relation.counted and not 1 <= weight <= _MOST_COUNT:
        raise InvalidArgument(f"weight={weight!r} of {draft.relation!r} is a count; give a number from 1 on")
    # as it is stored: float32 would make 0 of the smallest doubles
    if not relation.counted and not 0.0 < np.float32(weight) <= 1.0:
        raise InvalidArgument(f"weight={weight!r} must be above 0 and at most 1")
    if draft.note is not None and not isinstance(draft.note, str):
        raise InvalidArgument(f"note={draft.note!r} must be text")
    if draft.created_at is not None and not MISSING_US < draft.created_at < 2**63:
        raise InvalidArgument(f"created_at={draft.created_at!r} must be microseconds since 1970 that fit 64 bits")
    note = memory.redact(draft.note) if draft.note and memory is not None else draft.note or None
    return Draft(draft.source, draft.target, draft.relation, float(np.float32(weight)), note, draft.created_at)


def _resolve_drafts(view: View, drafts: Sequence[Draft]) -> dict[Key, Draft]:
    """Return drafts by key with full ids, symmetric pairs sorted; the last of equal keys wins."""
    ends = find_ends(view, [name for draft in drafts for name in (draft.source, draft.target)])
    found: dict[Key, Draft] = {}
    for draft in drafts:
        source, target = ends[draft.source][0], ends[draft.target][0]
        if source == target:
            raise InvalidArgument(f"{draft.source!r} cannot be linked to itself; give two different chunks")
        if relation_of(draft.relation).symmetric and target < source:
            source, target = target, source
        same = source is draft.source and target is draft.target
        found[source, target, draft.relation] = draft if same else draft._replace(source=source, target=target)
    return found


# ---------------------------------------------------------------------- comparing and appending


class _Claim(NamedTuple):
    weight: float
    note: str | None
    created_at: int | None


@dataclass(slots=True)
class _Plan:
    origin: str
    new: list[Draft] = field(default_factory=list)
    changed: list[Draft] = field(default_factory=list)
    withdrawn: list[Key] = field(default_factory=list)
    unchanged: int = 0


def _compare(origin: str, claimed: dict[Key, _Claim], wanted: dict[Key, Draft]) -> _Plan:
    plan = _Plan(origin)
    for key, draft in wanted.items():
        claim = claimed.get(key)
        if claim is None:
            plan.new.append(draft)
        elif _matches(claim, draft):
            plan.unchanged += 1
        else:
            made = claim.created_at if draft.created_at is None else draft.created_at
            plan.changed.append(draft._replace(created_at=made))
    return plan


def _matches(claim: _Claim, draft: Draft) -> bool:
    same = claim.weight == draft.weight and (claim.note or None) == draft.note
    return same and draft.created_at in (None, claim.created_at)


def _first_claims(view: View, wanted: dict[Key, Draft]) -> dict[Key, Draft]:
    """Return the wanted links that somebody has made before, as they stand."""
    starts = list(dict.fromkeys(source for source, _, _ in wanted))
    known: dict[Key, _Claim] = {}
    for origin in reversed(PERSONAL):
        known |= _claims_by_key(view, origin, starts)
    return {key: Draft(*key, *known[key]) for key in wanted if key in known}


def _claims_by_key(view: View, origin: str, sources: Iterable[str] | None = None) -> dict[Key, _Claim]:
    """Return the current claims of an origin, of all sources or some. O(links)."""
    rows = claim_rows(view, origin) if sources is None else claim_rows_at(view, origin, list(sources))
    if not len(rows):
        return {}
    source, target, relation, note = (
        view.snapshot.values("links", name, rows) for name in ("source", "target", "relation", "note")
    )
    weight = view.snapshot.numbers("links", "weight", rows).tolist()
    created = view.snapshot.numbers("links", "created_at", rows, MISSING_US).tolist()
    says = map(_Claim, weight, note, (None if made == MISSING_US else made for made in created))
    return dict(zip(zip(source, target, relation, strict=True), says, strict=True))


def _append_rows(
    memory: Memory, transaction: Transaction, drafts: Sequence[Draft], withdrawn: Sequence[Key], origin: str
) -> None:
    """Append rows in the order of their keys."""
    now = memory.clock.now_us()
    rows = [
        (d.source, d.target, d.relation, d.weight, True, now if d.created_at is None else d.created_at, d.note)
        for d in drafts
    ]
    rows += [(*key, 1.0, False, now, None) for key in withdrawn]
    rows.sort(key=lambda row: row[:3])
    if not rows:
        return
    source, target, relation, weight, active, created, note = (list(column) for column in zip(*rows, strict=True))
    transaction.append(
        "links",
        {
            "source": source, "target": target, "relation": relation, "weight": weight, "origin": [origin] * len(rows),
            "active": active, "created_at": created, "note": note,
        },
        transaction.same_stamps(len(rows)),
    )  # fmt: skip


def sync_index(memory: Memory) -> None:
    """Save the graph if much has been added; a failure costs the next reader time, never data."""
    try:
        if nodes.is_behind(memory.view()):
            with memory.write() as (transaction, view):  # under the lock: another writer removes what no version names
                record = nodes.save(view)
                if record is not None:
                    transaction.set_index(nodes.GRAPH, record)
    except (LaminaError, OSError) as error:  # the links are committed: their caller must not write them twice
        logger.warning("%s: the link graph was not saved, readers merge what it lacks: %r", memory.root, error)
