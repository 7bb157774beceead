"""Row masks: parsed filter, time window and row status, evaluated over all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from lamina_engine.clock import MISSING_US
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.categories import FIELDS as CATEGORY_FIELDS
from lamina_engine.index.categories import CategoryTable, facet
from lamina_engine.index.freshness import TIERS, Freshness
from lamina_engine.index.state import ACTIVE, FORGOTTEN, INVALIDATED, STATUS_NAMES, State
from lamina_engine.index.view import View
from lamina_engine.recall import where
from lamina_engine.recall.lanes import Mask, Selection
from lamina_engine.recall.where import All, Node, Not, Predicate, Some
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Snapshot

_CHEAP: Final = (
    *CATEGORY_FIELDS, "status", "pinned", "success", "ordinal", "freshness", "needs_review", *where.INSTANT_FIELDS,
)  # fmt: skip


class FilterView(Protocol):
    """The part of a view that filters read."""

    @property
    def snapshot(self) -> Snapshot:
        """The version that is read."""
        ...

    @property
    def categories(self) -> CategoryTable:
        """Codes of the narrow columns."""
        ...

    @property
    def state(self) -> State:
        """Status of every row."""
        ...

    @property
    def freshness(self) -> Freshness:
        """Tier and review flag of every row."""
        ...

    @property
    def rows(self) -> int:
        """Number of rows in the chunks log."""
        ...


def evaluate(node: Node, view: FilterView, within: Mask) -> Mask:
    """Return bool (n,), the rows of ``within`` that a filter accepts; unknown fields raise."""
    # O(n) for narrow columns, O(remaining rows) for text and metadata
    for field in sorted(where.fields_of(node)):
        _check_field(field, view)
    return _evaluate(node, view, within)


def _evaluate(node: Node, view: FilterView, within: Mask) -> Mask:
    if isinstance(node, All):
        for part in sorted(node.parts, key=_cost):
            within = _evaluate(part, view, within)
        return within
    if isinstance(node, Some):
        found = np.zeros(len(within), np.bool_)
        for part in sorted(node.parts, key=_cost):
            found |= _evaluate(part, view, within & ~found)
        return found
    if isinstance(node, Not):
        return within & ~_evaluate(node.part, view, within)
    return within & _match(node, view, within)


def _cost(node: Node) -> int:
    fields = where.fields_of(node)
    return 0 if all(f in _CHEAP for f in fields) else 1 if not any(f.startswith(where.METADATA) for f in fields) else 2


def _match(test: Predicate, view: FilterView, within: Mask) -> Mask:
    if test.field in CATEGORY_FIELDS:
        return _by_code(test, view)
    if test.field == "status":
        return _by_table(test, STATUS_NAMES, view.state.status)
    if test.field == "pinned":
        return _by_table(test, (False, True), view.state.pinned)
    if test.field == "freshness":
        return _by_table(test, (None, *TIERS), view.freshness.tier)
    if test.field == "needs_review":
        return _by_table(test, (False, True), view.freshness.review.view(np.uint8))
    if test.field == "snoozed_until":
        return _by_snooze(test, view)
    if test.field in where.INSTANT_FIELDS and test.operator in ("gt", "gte", "lt", "lte"):
        return _by_instant(test, view)
    if test.field in where.STRING_FIELDS and test.operator in ("eq", "in") and test.value is not None:
        return _by_string(test, view)
    return _by_value(test, view, within)


def _by_table(test: Predicate, values: Sequence[Any], codes: NDArray[np.uint8]) -> Mask:
    """Evaluate a predicate once per distinct value, then index by code."""
    return np.array([where.compare_values(test.operator, value, test.value) for value in values], np.bool_)[codes]


def _by_snooze(test: Predicate, view: FilterView) -> Mask:
    found = np.full(view.rows, where.compare_values(test.operator, None, test.value), np.bool_)
    for row, until_us in view.state.snoozed.items():
        found[row] = where.compare_values(test.operator, until_us, test.value)
    return found


def _by_code(test: Predicate, view: FilterView) -> Mask:
    codes = view.categories.column(view.snapshot, test.field)[: view.rows]
    values = view.categories.values(test.field)
    table = np.array([where.compare_values(test.operator, v, test.value) for v in [*values, None]], np.bool_)
    return table[codes]  # NO_VALUE is -1: the last entry, that of None


def _by_instant(test: Predicate, view: FilterView) -> Mask:
    if test.value is None:
        return np.zeros(view.rows, np.bool_)
    stamps = view.snapshot.column("chunks", test.field, convert=lambda s: s.numbers(test.field, MISSING_US))[
        : view.rows
    ]
    compare = {"gt": np.greater, "gte": np.greater_equal, "lt": np.less, "lte": np.less_equal}[test.operator]
    return np.asarray(compare(stamps, test.value) & (stamps != MISSING_US), np.bool_)


def _by_string(test: Predicate, view: FilterView) -> Mask:
    import pyarrow as pa
    import pyarrow.compute as pc  # 30 ms once: only for filters on text columns

    values = [v for v in (test.value if test.operator == "in" else (test.value,)) if v is not None]
    absent = test.operator == "in" and None in test.value

    def matches(segment: Segment) -> NDArray[np.bool_]:
        column = segment.column(test.field)
        found = pc.is_in(column, value_set=pa.array(values, pa.string()))
        if absent:
            found = pc.or_(found, pc.is_null(column))
        return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)

    found = view.snapshot.column("chunks", test.field, convert=matches)[: view.rows]
    return found.astype(np.bool_)


def _by_value(test: Predicate, view: FilterView, within: Mask) -> Mask:
    """Compare the remaining rows one by one in Python."""
    found = np.zeros(len(within), np.bool_)
    rows = np.flatnonzero(within)
    column, read = _reader(test.field)
    values = view.snapshot.values("chunks", column, rows)
    for row, value in zip(rows.tolist(), values, strict=True):
        found[row] = where.compare_values(test.operator, read(value), test.value)
    return found


def _reader(field: str) -> tuple[str, Callable[[Any], Any]]:
    """Return the column of a field and a function that extracts its value."""
    if field == "tags":
        return field, lambda value: value or None
    if field == "ordinal":
        return field, lambda value: value if value >= 0 else None
    if not field.startswith(where.METADATA):
        return field, lambda value: value
    path = field.removeprefix(where.METADATA).split(".")

    def read(text: str | None) -> Any:
        value = msgspec.json.decode(text) if text else None
        if isinstance(value, dict) and len(path) > 1 and ".".join(path) in value:
            return value[".".join(path)]
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    return "metadata", read


def _check_field(field: str, view: FilterView) -> None:
    """Reject a field that is neither a column nor a metadata key of any chunk in the view."""
    if not field.startswith(where.METADATA) or view.rows == 0:
        return
    import pyarrow.compute as pc  # 30 ms once: only for filters on metadata

    name = field.removeprefix(where.METADATA)
    column, read = _reader(field)
    patterns = [msgspec.json.encode(key).decode() for key in {name, name.split(".")[0]}]
    for segment in view.snapshot.segments("chunks"):
        texts = segment.column(column).slice(0, max(0, view.rows - segment.start))
        for pattern in patterns:  # parsing every chunk's metadata would take a hundred times longer
            found = pc.fill_null(pc.match_substring(texts, pattern), False)
            offsets = np.flatnonzero(found.to_numpy(zero_copy_only=False))
            if any(read(text) is not None for text in segment.values(column, offsets)):
                return
    raise InvalidArgument(
        f"where names the field {name!r}, which no chunk of this vault has; fields are {', '.join(where.FIELDS)}, "
        "or a key of the chunks' metadata"
    )


def live_mask(view: View, node: Node, *, invalidated: bool, now_us: int | None = None) -> Mask:
    """Return bool (rows,), the rows that may be returned before any filter."""
    # a filter on status takes over from the status rules (only tombstones stay out), one on snoozed_until from snoozing
    status = view.state.status
    if where.mentions_field(node, "status"):
        return np.not_equal(status, FORGOTTEN)
    live = np.equal(status, ACTIVE)
    if invalidated:
        live |= np.equal(status, INVALIDATED)
    if now_us is not None and view.state.snoozed and not where.mentions_field(node, "snoozed_until"):
        live[view.state.asleep(now_us)] = False
    return live


def select_rows(
    view: View,
    node: Node,
    since_us: int | None,
    until_us: int | None,
    *,
    invalidated: bool,
    now_us: int | None = None,
) -> Selection:
    """Select the rows that a request may return; those snoozed at ``now_us`` are left out."""
    unfiltered = isinstance(node, All) and not node.parts and since_us is None and until_us is None
    if unfiltered and view.all_active:
        return Selection(None, view.rows, (), must_is_all=True)
    live = live_mask(view, node, invalidated=invalidated, now_us=now_us)
    if not unfiltered:
        live = evaluate(node, view, live)
        live = _window(view, live, since_us, until_us)
    must = tuple(facet(field, value) for field, value in where.required_terms(node))
    only = where.is_only_required_terms(node) and since_us is None and until_us is None
    return Selection(live, int(np.count_nonzero(live)), must, must_is_all=unfiltered or only)


def _window(view: View, live: Mask, since_us: int | None, until_us: int | None) -> Mask:
    """Keep rows with since <= created_at < until; undated rows are never inside."""
    if since_us is None and until_us is None:
        return live
    created = view.created_us
    live = live & (created != MISSING_US)
    if since_us is not None:
        live &= created >= since_us
    if until_us is not None:
        live &= created < until_us
    return live
