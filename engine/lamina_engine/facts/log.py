"""Facts into the log: written, closed, retracted, believed more or less. Nothing is changed in place.

A write looks up its names, decides row by row what is new, what is there already and what it ends, and appends it all in one
commit. Rows that meet nothing, in the vault or among themselves, are told apart with a few NumPy operations and need no
decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_engine.chunks.reading import find_row
from lamina_engine.clock import US_PER_S, format_instant, zone
from lamina_engine.errors import AmbiguousEntity, EntityNotFound, InvalidArgument, LaminaError
from lamina_engine.facts import lexicon
from lamina_engine.facts.about import find
from lamina_engine.facts.appending import append
from lamina_engine.facts.book import Book, book_of
from lamina_engine.facts.drafts import Columns, Draft, checked, columns_of
from lamina_engine.facts.ends import ends_of
from lamina_engine.facts.planning import Plan
from lamina_engine.facts.predicates import predicate_name
from lamina_engine.facts.shapes import MAX_TIME, MIN_TIME, Fact
from lamina_engine.facts.tables import CLOSE, CONFIDENCE, RETRACT

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.transaction import Transaction

USER: Final = "user"


@dataclass(slots=True)
class Written:
    """What became of some facts."""

    rows: list[int] = field(default_factory=list)
    """Row of each fact, also where it was there already; -1 for one that was left out."""
    added: int = 0
    unchanged: int = 0
    superseded: int = 0
    """Facts that ended because another value began."""
    entities: int = 0
    """New ones."""
    problems: list[str] = field(default_factory=list)


def write(
    memory: Memory, drafts: Iterable[Draft], *, origin: str = USER, strict: bool = False, skip_bad: bool = False,
    index: bool = True, repeat: bool = True,
) -> Written:  # fmt: skip
    """Write facts durably, all in one commit; see `write_columns`."""
    columns = columns_of(drafts)
    return write_columns(memory, columns, origin=origin, strict=strict, skip_bad=skip_bad, index=index, repeat=repeat)


def write_columns(
    memory: Memory, given: Mapping[str, Sequence[Any]], *, origin: str = USER, strict: bool = False, skip_bad: bool = False,
    index: bool = True, repeat: bool = True, label: str | None = None,
) -> Written:  # fmt: skip
    """Write facts that come by column.

    Parameters
    ----------
    memory : Memory
    given : mapping of str to sequence
        Values of one length by field of a `Draft`; ``subject``, ``predicate`` and ``object`` are needed.
    origin : str
        What writes them.
    strict : bool
        Refuse predicates that are not registered.
    skip_bad : bool
        Leave out facts that cannot be written, and say so; else the first of them is an error and nothing is written.
    index : bool
        Also bring the full text of facts level; else that is left to the next write.
    repeat : bool
        Whether saying again what has ended since begins it anew. Not so for files that are read again: without a beginning
        of its own, what such a file says is there already.
    label : str, optional
        Source of facts that name none; ``origin`` unless given.

    Raises
    ------
    InvalidArgument
        For the first fact that cannot be written.
    AmbiguousEntity
        For a name that several entities have.
    VaultReadOnly, VaultLocked, OSError

    Notes
    -----
    A fact that stands already is left alone, its confidence and its source too. A value of a functional predicate ends the
    one before it on the day (or at the instant) from which it holds.
    """
    if not isinstance(origin, str) or not origin.strip():
        raise InvalidArgument(f"origin={origin!r} must be a name, such as 'user'")
    with memory.write() as (transaction, view):
        book = book_of(view)
        columns = checked(memory, given, book.registry, strict=strict)
        if columns.bad and not skip_bad:
            raise InvalidArgument(columns.told(*min(columns.bad.items())))
        written = _write(
            memory, transaction, view, book, columns, origin, label or origin, skip_bad=skip_bad, repeat=repeat
        )
    lexicon.keep_level(memory)
    if index and written.added:
        keep_level(memory)
    return written


def _write(
    memory: Memory, transaction: Transaction, view: View, book: Book, columns: Columns, origin: str, label: str, *,
    skip_bad: bool, repeat: bool,
) -> Written:  # fmt: skip
    chunks, sources = _sources(view, columns["source"], label)
    namer, subjects, targets = ends_of(book, memory.config.name, columns, chunks, skip_bad=skip_bad)
    plan = Plan(book, columns, subjects, targets, today(memory), repeat=repeat)
    namer.append(transaction, origin)
    rows = append(plan, transaction, sources, chunks, origin)
    return Written(
        rows, plan.added, plan.unchanged, plan.superseded, namer.made,
        [columns.told(row, why) for row, why in sorted(columns.bad.items())],
    )  # fmt: skip


def _sources(view: View, given: Sequence[Any], label: str) -> tuple[list[str | None], list[str]]:
    """Return the chunk and the source of each row: a chunk's own source, else what was given, else the label."""
    unique = [text for text in dict.fromkeys(given) if isinstance(text, str)]
    rows = dict(zip(unique, view.rows_of_ids(unique).tolist(), strict=True)) if view.rows else dict.fromkeys(unique, -1)
    for text in unique:
        if text.startswith("#") and view.rows:
            try:
                rows[text] = find_row(view, text)
            except LaminaError:  # a label that looks like a short id
                rows[text] = -1
    known = {text: row for text, row in rows.items() if row >= 0}
    at = np.array(list(known.values()), np.int64)
    chunks = dict(zip(known, view.snapshot.values("chunks", "id", at), strict=True))
    files = dict(zip(known, view.snapshot.values("chunks", "source", at), strict=True))
    named: dict[Any, str] = {text: files[text] or chunks[text] if text in chunks else text for text in unique}
    chunk_of: list[str | None] = list(map(chunks.get, given)) if chunks else [None] * len(given)
    source_of = list(map(named.get, given, repeat(label)))
    return chunk_of, source_of


def keep_level(memory: Memory) -> None:
    """Bring what is derived of facts level with the log."""
    from lamina_engine.facts import search

    search.keep_level(memory)


def today(memory: Memory) -> int:
    """Return when the present day began in the vault's zone, us UTC."""
    from datetime import datetime

    here = zone(memory.config.tz)
    now = datetime.fromtimestamp(memory.clock.now_us() // US_PER_S, here)
    begin = datetime(now.year, now.month, now.day, tzinfo=here)
    return round(begin.timestamp()) * US_PER_S


# ---------------------------------------------------------------------- what becomes of facts


def close(
    memory: Memory, subject: str, predicate: str, object: str | None = None, *, valid_to: int | None = None,
    origin: str = USER,
) -> int:  # fmt: skip
    """End facts that are open; return how many. What was closed already stays as it is.

    Parameters
    ----------
    memory : Memory
    subject, predicate : str
    object : str, optional
        Only this value: a name or a literal. All values, unless given.
    valid_to : int, optional
        us UTC; the first instant at which they hold no more. The beginning of the present day, unless given.
    origin : str

    Raises
    ------
    EntityNotFound, AmbiguousEntity
        For the subject.
    InvalidArgument
        When a fact would end before it began.
    VaultReadOnly, VaultLocked, OSError
    """
    with memory.write() as (transaction, view):
        book = book_of(view)
        found = [fact for fact in _said(book, subject, predicate, object) if fact.valid_to is None]
        ends = []
        for fact in found:
            end = max(today(memory), fact.valid_from or MIN_TIME + 1) if valid_to is None else valid_to
            if fact.valid_from is not None and end < fact.valid_from:
                raise InvalidArgument(
                    f"valid_to={format_instant(end)} is before {fact.subject} {fact.predicate} {fact.object} began "
                    f"({format_instant(fact.valid_from)}); retract what never was so"
                )
            ends.append(end)
        amend(transaction, book, found, CLOSE, origin, ends=ends)
    return len(found)


def retract(memory: Memory, rows: Sequence[int], *, origin: str = USER) -> int:
    """Take facts back: they hold at no moment, and are seen as of before alone. Return how many were not taken back yet.

    Raises
    ------
    InvalidArgument, VaultReadOnly, VaultLocked, OSError
    """
    with memory.write() as (transaction, view):
        book = book_of(view)
        wanted = np.unique(np.array(rows, np.int64))
        found = book.facts_at(wanted[book.standing(wanted, None)].tolist())
        amend(transaction, book, found, RETRACT, origin)
    return len(found)


def amend_confidence(memory: Memory, confidence: Mapping[int, float], *, origin: str = USER) -> int:
    """Say anew how sure facts are, by row; return how many that changes.

    Raises
    ------
    InvalidArgument
        For a row that is no fact, or a confidence outside 0 to 1.
    VaultReadOnly, VaultLocked, OSError
    """
    for row, value in confidence.items():
        if not 0.0 <= value <= 1.0:
            raise InvalidArgument(f"confidence={value!r} of fact {row} must be a number from 0 to 1")
    with memory.write() as (transaction, view):
        book = book_of(view)
        found = [
            fact
            for fact in book.facts_at(sorted(confidence))
            if fact.confidence != float(np.float32(confidence[fact.row]))
        ]
        amend(transaction, book, found, CONFIDENCE, origin, confidence=[confidence[fact.row] for fact in found])
    return len(found)


def amend(
    transaction: Transaction, book: Book, facts: Sequence[Fact], kind: str, origin: str, *,
    ends: Sequence[int] | None = None, confidence: Sequence[float] | None = None,
) -> None:  # fmt: skip
    """Append rows that say anew until when some facts hold, or how sure they are."""
    if not facts:
        return
    rows = np.array([fact.row for fact in facts], np.int64)
    tables, n = book.tables, len(facts)
    if ends is None:
        ends = [MAX_TIME if fact.valid_to is None else fact.valid_to for fact in facts]
    transaction.append(
        "facts",
        {
            "kind": [kind] * n,
            "amends": rows,
            "subject": tables.subject.values[rows],
            "predicate": [fact.predicate for fact in facts],
            "target": tables.target.values[rows],
            "object": [None] * n,
            "category": [None] * n,
            "source": [origin] * n,
            "chunk": [fact.chunk for fact in facts],
            "confidence": [fact.confidence for fact in facts] if confidence is None else list(confidence),
            "weight": [fact.weight for fact in facts],
            "valid_from": [fact.valid_from for fact in facts],
            "valid_to": [None if end == MAX_TIME else end for end in ends],
            "origin": [origin] * n,
        },
        transaction.stamps(n),
    )


def _said(book: Book, subject: str, predicate: str, object: str | None) -> list[Fact]:
    """Return what is said with a subject, a predicate and maybe an object, in either of its two forms."""
    row = known_entity(book, subject)
    name = predicate_name(predicate)
    found = find(book, subject=row, predicate=name)
    inverse = book.registry.inverse(name)
    turned = find(book, predicate=inverse, object=row) if inverse is not None else []
    if object is None:
        return [*found, *(fact for fact in turned if fact.row not in {each.row for each in found})]
    text = object.strip()
    values = {entity.id for entity in book.resolve(text).entities} if text else set()
    mine = [fact for fact in found if (fact.object_id in values if fact.object_id else fact.object == text)]
    return [*mine, *(fact for fact in turned if fact.subject_id in values and fact not in mine)]


def known_entity(book: Book, name: str, type: str | None = None) -> int:
    """Return the row of the one entity of a name.

    Raises
    ------
    EntityNotFound
    AmbiguousEntity
    """
    found = book.resolve(name, type=type)
    if found.ambiguous:
        told = ", ".join(entity.id for entity in found.entities)
        raise AmbiguousEntity(f"{name!r} may be any of {told}; give one of these ids, or a type")
    if found.entity is None:
        raise EntityNotFound(f"no entity is called {name!r}; facts about it, or vault.facts.add_entity, make one")
    return found.entity.row


__all__ = [
    "USER", "Draft", "Written", "amend", "amend_confidence", "close", "keep_level", "known_entity", "retract",
    "today", "write", "write_columns",
]  # fmt: skip
