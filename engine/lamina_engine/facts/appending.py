"""What a plan of a write says, as rows of the log: the new facts in their order, each between what it ends and what goes on.

Everything is done column by column: a million facts are laid in order by a few NumPy operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from lamina_engine.facts.about import settle
from lamina_engine.facts.planning import FIRST_TOKEN, ITSELF, Plan
from lamina_engine.facts.shapes import MAX_TIME, MIN_TIME
from lamina_engine.facts.tables import FACT

if TYPE_CHECKING:
    from lamina_engine.store.transaction import Transaction

I64 = NDArray[np.int64]
Column = NDArray[Any]
_PLACES: Final = 3
_NUMBERS: Final = {"subject": np.int64, "target": np.int64, "confidence": np.float64, "weight": np.float64}


def append(
    plan: Plan, transaction: Transaction, sources: Sequence[str], chunks: Sequence[str | None], origin: str
) -> list[int]:
    """Append the rows of a plan.

    Parameters
    ----------
    plan : Plan
    transaction : Transaction
    sources : sequence of str
        By draft, where it comes from.
    chunks : sequence of (str or None)
        By draft, the chunk that says so.
    origin : str
        What writes them.

    Returns
    -------
    list of int
        By draft, the row of its fact; -1 for one that was left out.
    """
    found = np.array(plan.found, np.int64)
    drafts = np.array(plan.good, np.int64)
    drafts = drafts[found[drafts] == FIRST_TOKEN - drafts]
    of_extras = np.array([extra.draft for extra in plan.extras], np.int64)
    places = np.array([extra.place for extra in plan.extras], np.int64)
    keys = np.concatenate([drafts * _PLACES + ITSELF, of_extras * _PLACES + places])
    order = np.argsort(keys, kind="stable")
    rows = np.empty(len(order), np.int64)
    rows[order] = transaction.rows("facts") + np.arange(len(order))
    by_token = np.full(plan.columns.n + len(of_extras), -1, np.int64)
    by_token[drafts], by_token[plan.columns.n :] = rows[: len(drafts)], rows[len(drafts) :]
    if len(drafts):
        plain = _plain(plan, sources, chunks)
        values = {name: column[drafts] for name, column in plain.items()}
        values["kind"], values["amends"] = np.full(len(drafts), FACT, object), np.full(len(drafts), -1)
        if plan.extras:
            extras = _extras(plan, plain, by_token)
            values = {name: np.concatenate([column, extras[name]])[order] for name, column in values.items()}
        stamps = transaction.stamps(len(drafts))[np.searchsorted(drafts, keys[order] // _PLACES)]
        values["origin"] = np.full(len(order), origin, object)
        transaction.append("facts", _given(values), stamps)
    found = np.where(found <= FIRST_TOKEN, by_token[np.maximum(FIRST_TOKEN - found, 0)], found)
    found[list(plan.columns.bad)] = -1
    resolved: list[int] = found.tolist()
    return resolved


def _given(values: dict[str, Column]) -> dict[str, Any]:
    """Return columns as the log takes them fastest: a single row as lists."""
    return {name: column.tolist() if len(column) == 1 else column for name, column in values.items()}


def _plain(plan: Plan, sources: Sequence[str], chunks: Sequence[str | None]) -> dict[str, Column]:
    """Return what the drafts say, by column."""
    columns = plan.columns
    given = {
        "subject": plan.subjects, "predicate": columns["predicate"], "target": plan.targets, "object": columns["object"],
        "category": columns["category"], "source": sources, "chunk": chunks, "confidence": columns["confidence"],
        "weight": columns["weight"], "valid_from": plan.begins, "valid_to": plan.ends,
    }  # fmt: skip
    found: dict[str, Column] = {}
    for name, column in given.items():
        if name in _NUMBERS and not columns.bad:
            found[name] = np.array(column, _NUMBERS[name])
        else:  # what is bad is no number, and is not taken
            found[name] = np.empty(columns.n, object)
            found[name][:] = column
    found["object"][np.array(plan.targets, np.int64) >= 0] = None
    return found


def _extras(plan: Plan, plain: dict[str, Column], by_token: I64) -> dict[str, Column]:
    """Return the rows beside those of the drafts: ends of facts, and what goes on after an interruption."""
    extras = plan.extras
    drafts = np.array([extra.draft for extra in extras], np.int64)
    amends = np.array([extra.amends for extra in extras], np.int64)
    kinds = np.array([extra.kind for extra in extras], object)
    copied = np.array([_copied(plan, extra.copied) for extra in extras], np.int64)
    of_draft = FIRST_TOKEN - copied
    found = {name: column[np.maximum(of_draft, 0)] for name, column in plain.items()}
    _take_from_vault(plan, found, np.flatnonzero(copied > FIRST_TOKEN), copied)
    ending = kinds != FACT  # what it ends is told by its number; who ends it is told here
    for name, column in found.items():
        if name in ("object", "category"):
            column[ending] = None
        elif name in ("source", "chunk"):
            column[ending] = plain[name][drafts[ending]]
    found["valid_from"] = np.array([None if extra.begin == MIN_TIME else extra.begin for extra in extras], object)
    found["valid_to"] = np.array([None if extra.end == MAX_TIME else extra.end for extra in extras], object)
    amended = np.where(amends <= FIRST_TOKEN, by_token[np.maximum(FIRST_TOKEN - amends, 0)], amends)
    return found | {"kind": kinds, "amends": amended}


def _copied(plan: Plan, row: int) -> int:
    """Return the row or the token of the draft whose words a row repeats: what goes on copies what was interrupted."""
    first = FIRST_TOKEN - plan.columns.n
    while row <= first:
        row = plan.extras[first - row].copied
    return row


def _take_from_vault(plan: Plan, found: dict[str, Column], places: I64, copied: I64) -> None:
    """Fill in what facts of the vault say, at some places."""
    if not len(places):
        return
    rows = copied[places]
    records = plan.book.snapshot.records("facts", rows, tuple(found))
    for name, column in found.items():
        column[places] = [record[name] for record in records]
    now = settle(plan.book, rows)
    found["confidence"][places] = now.confidence[np.searchsorted(now.rows, rows)]
