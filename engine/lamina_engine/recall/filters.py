"""Filters: a JSON grammar, parsed into an expression tree and evaluated as a row mask.

``{"field": value}`` or ``{"field": {"op": value}}`` with `OPERATORS`; ``AND``, ``OR`` (lists) and ``NOT``; several keys
mean AND. A missing field equals None, differs from every other value, and is neither smaller nor larger than anything;
``"*"`` tests that the field exists. A list (tags, some metadata) equals each of its members. A name that is no field of
a chunk is a key of its metadata, and refused where no chunk has it; ``metadata.key`` says so, and is never refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lamina_engine.arguments import is_unicode
from lamina_engine.clock import MISSING_US, parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.freshness import TIERS
from lamina_engine.index.row_columns import FIELDS as CATEGORY_FIELDS
from lamina_engine.index.row_columns import facet
from lamina_engine.index.state import ACTIVE, FORGOTTEN, INVALIDATED, STATUS_NAMES
from lamina_engine.index.view import View
from lamina_engine.json_values import json_value, scalar_of
from lamina_engine.recall.lanes import Mask, Selection
from lamina_engine.store.segments import Segment
from lamina_engine.stored_json import read_json

OPERATORS: Final = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "contains", "startswith", "exists")
INSTANT_FIELDS: Final = ("created_at", "recorded_at", "snoozed_until")
STRING_FIELDS: Final = ("id", "source", "title", "commit", "blob")
FIELDS: Final = (
    *CATEGORY_FIELDS, *INSTANT_FIELDS, *STRING_FIELDS, "success", "tags", "status", "pinned", "ordinal", "freshness",
    "needs_review",
)  # fmt: skip
"""Fields of a chunk; any other name is a metadata key."""
METADATA: Final = "metadata."
UNVERIFIED: Final = "unverified"
"""Name in filters for the missing tier of a chunk that was never scanned."""
_MAX_DEPTH: Final = 32
_COMPARABLE: Final = (str, int, float, bool, Decimal)
_KEPT: Final = 8
"""Selections kept for a version: an agent asks with the same few filters again and again."""
_CHEAP: Final = (
    *CATEGORY_FIELDS, "status", "pinned", "success", "ordinal", "freshness", "needs_review", *INSTANT_FIELDS,
)  # fmt: skip


class Predicate(Struct, frozen=True):
    """Comparison of a field with a value."""

    field: str
    operator: str
    value: Any
    guessed: bool = False
    """True for a name without ``metadata.`` that is taken for one of its keys."""


class All(Struct, frozen=True):
    """Conjunction; true everywhere without parts."""

    parts: tuple[Node, ...]


class Some(Struct, frozen=True):
    """Disjunction; false everywhere without parts."""

    parts: tuple[Node, ...]


class Not(Struct, frozen=True):
    """Negation."""

    part: Node


Node = Predicate | All | Some | Not
Where = Mapping[str, Any]
_Reader = Callable[[Any, str], int]
"""Reads a date; the text says which."""


_EVERYTHING: Final = All(())


def parse_filter(where: Where | None, tz: str = "UTC", now_us: int | None = None) -> Node:
    """Parse a filter; None is true everywhere, and dates without a zone are read in ``tz``.

    With the present moment given, dates may be words such as ``last week``.
    """

    def read(value: Any, what: str) -> int:
        if now_us is None:
            return parse_instant(value, tz, what=what)
        from lamina_engine.time.moments import parse_moment  # few filters name a date

        return parse_moment(value, tz, now_us, what=what)

    return _EVERYTHING if where is None else _parse_node(where, read, 0)


def _parse_node(where: Any, read: _Reader, depth: int) -> Node:
    if not isinstance(where, Mapping):
        raise InvalidArgument(
            f"where must be a mapping such as {{'project': 'api'}}, not {type(where).__name__} {where!r:.60}"
        )
    if depth > _MAX_DEPTH:
        raise InvalidArgument(f"where is nested more than {_MAX_DEPTH} levels deep; simplify it")
    parts: list[Node] = []
    for key, value in where.items():
        if key in ("AND", "OR"):
            if not isinstance(value, Sequence) or isinstance(value, str):
                raise InvalidArgument(f"where[{key!r}] must be a list of filters, not {value!r:.60}")
            inner = tuple(_parse_node(item, read, depth + 1) for item in value)
            parts.append(All(inner) if key == "AND" else Some(inner))
        elif key == "NOT":
            items = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
            parts.extend(Not(_parse_node(item, read, depth + 1)) for item in items)
        else:
            parts.append(_parse_field(str(key), value, read))
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _parse_field(field: str, value: Any, read: _Reader) -> Node:
    guessed = field not in FIELDS and not field.startswith(METADATA)
    name = METADATA + field if guessed else field
    if isinstance(value, Mapping):
        if not value:
            raise InvalidArgument(f"where[{field!r}] is empty; give a value or an operator of {', '.join(OPERATORS)}")
        tests = tuple(
            _parse_predicate(field, name, str(operator), operand, read, guessed) for operator, operand in value.items()
        )
        return tests[0] if len(tests) == 1 else All(tests)
    if isinstance(value, list | tuple | set):
        raise InvalidArgument(f"where[{field!r}] is a list; write {{'in': [...]}} for any of them")
    if value == "*":
        return Predicate(name, "exists", True, guessed)
    return _parse_predicate(field, name, "eq", value, read, guessed)


def _parse_predicate(field: str, name: str, operator: str, value: Any, read: _Reader, guessed: bool) -> Predicate:
    if operator not in OPERATORS:
        raise InvalidArgument(
            f"where[{field!r}] uses the unknown operator {operator!r}; allowed are {', '.join(OPERATORS)}"
        )
    if operator == "exists":
        if not isinstance(value, bool):
            raise InvalidArgument(f"where[{field!r}]['exists'] must be true or false, not {value!r}")
        return Predicate(name, operator, value, guessed)
    if operator == "in":
        if not isinstance(value, list | tuple | set | frozenset):
            raise InvalidArgument(f"where[{field!r}]['in'] must be a list, not {value!r:.60}")
        return Predicate(name, operator, tuple(_parse_operand(field, name, item, read) for item in value), guessed)
    if operator == "eq" and value == "" and name in CATEGORY_FIELDS:
        raise InvalidArgument(
            f"where[{field!r}] is empty text, which no chunk has; give a value, or {{'exists': false}} for those without one"
        )
    return Predicate(name, operator, _parse_operand(field, name, value, read), guessed)


def _parse_operand(field: str, name: str, value: Any, read: _Reader) -> Any:
    if isinstance(value, np.generic):
        value = scalar_of(value)
    if value is None:
        return None
    if isinstance(value, str) and not is_unicode(value):
        raise InvalidArgument(
            f"where[{field!r}] compares with {value!a:.60}, which has half a surrogate pair; give valid Unicode"
        )
    if name in INSTANT_FIELDS:
        return read(value, f"where[{field!r}]")
    if name == "freshness":
        if value not in (*TIERS, UNVERIFIED):
            raise InvalidArgument(f"where['freshness'] knows {', '.join((*TIERS, UNVERIFIED))}, not {value!r}")
        return None if value == UNVERIFIED else value
    if name in ("success", "pinned", "needs_review") and not isinstance(value, bool):
        raise InvalidArgument(f"where[{field!r}] compares with true or false, not {value!r}")
    if name == "status" and value not in STATUS_NAMES:
        raise InvalidArgument(f"where['status'] knows {', '.join(STATUS_NAMES)}, not {value!r}")
    if name == "ordinal" and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise InvalidArgument(f"where['ordinal'] compares with a number, not {value!r}")
    if name in (*CATEGORY_FIELDS, *STRING_FIELDS, "tags") and not isinstance(value, str):
        raise InvalidArgument(f"where[{field!r}] compares with text, not {value!r:.60}")
    if isinstance(value, Mapping | list | tuple | set | frozenset | np.ndarray):
        raise InvalidArgument(f"where[{field!r}] compares with one value, not {value!r:.60}")
    if type(value) in _COMPARABLE:
        return value
    return json_value(value, f"where[{field!r}]")  # as metadata is kept


def predicates(node: Node) -> Iterator[Predicate]:
    """Yield the comparisons of a filter."""
    if isinstance(node, Predicate):
        yield node
    else:
        for part in (node.part,) if isinstance(node, Not) else node.parts:
            yield from predicates(part)


def fields_of(node: Node) -> set[str]:
    """Return the fields that a filter mentions."""
    return {test.field for test in predicates(node)}


def required_terms(node: Node) -> list[tuple[str, str]]:
    """Return the (category field, value) pairs that every match must have, for index lookups."""
    if isinstance(node, Predicate):
        plain = node.field in CATEGORY_FIELDS and isinstance(node.value, str) and node.operator == "eq"
        return [(node.field, node.value)] if plain else []
    if isinstance(node, All):
        return [pair for part in node.parts for pair in required_terms(part)]
    return []


def is_only_required_terms(node: Node) -> bool:
    """Return True where `required_terms` are equivalent to the filter."""
    if isinstance(node, All):
        return all(is_only_required_terms(part) for part in node.parts)
    return isinstance(node, Predicate) and bool(required_terms(node))


_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "gt": lambda a, b: a > b,
    "gte": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "lte": lambda a, b: a <= b,
}


def compare_values(operator: str, have: Any, want: Any) -> bool:
    """Compare one value with an operand; the reference for every faster path."""
    if operator == "exists":
        return (have is not None) is bool(want)
    if operator == "eq":
        return bool(_equal(have, want))
    if operator == "ne":
        return not _equal(have, want)
    if operator == "in":
        return any(_equal(have, item) for item in want)
    if have is None or want is None:
        return False
    if operator == "contains":
        if isinstance(have, str):
            return isinstance(want, str) and want.casefold() in have.casefold()
        return isinstance(have, list | tuple) and any(_equal(item, want) for item in have)
    if operator == "startswith":
        values = have if isinstance(have, list | tuple) else [have]
        return isinstance(want, str) and any(isinstance(value, str) and value.startswith(want) for value in values)
    try:
        return bool(_COMPARE[operator](have, want))
    except TypeError:  # text against number: not comparable, so not a match
        return False


def _equal(have: Any, want: Any) -> bool:
    """Equality of JSON values: true is not 1, and a list equals each of its members."""
    if isinstance(have, list | tuple):
        return want is not None and any(_equal(item, want) for item in have)
    if isinstance(have, bool) or isinstance(want, bool):
        return have is want
    return bool(have == want)


# ---------------------------------------------------------------------- row masks


def evaluate(node: Node, view: View, within: Mask) -> Mask:
    """Return bool (n,), the rows of ``within`` that a filter accepts; unknown fields raise."""
    # O(n) for narrow columns, O(remaining rows) for text and metadata
    for field in sorted({test.field for test in predicates(node) if test.guessed}):
        _check_field(field, view)
    return _evaluate(node, view, within)


def _evaluate(node: Node, view: View, within: Mask) -> Mask:
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
    return within & _match_predicate(node, view, within)


def _cost(node: Node) -> int:
    fields = fields_of(node)
    return 0 if all(f in _CHEAP for f in fields) else 1 if not any(f.startswith(METADATA) for f in fields) else 2


def _match_predicate(test: Predicate, view: View, within: Mask) -> Mask:
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
    if test.field in INSTANT_FIELDS and test.operator in ("gt", "gte", "lt", "lte"):
        return _by_instant(test, view)
    if test.field in STRING_FIELDS and test.operator in ("eq", "in") and test.value is not None:
        return _by_string(test, view)
    return _by_value(test, view, within)


def _by_table(test: Predicate, values: Sequence[Any], codes: NDArray[np.uint8]) -> Mask:
    """Evaluate a predicate once per distinct value, then index by code."""
    return np.array([compare_values(test.operator, value, test.value) for value in values], np.bool_)[codes]


def _by_snooze(test: Predicate, view: View) -> Mask:
    found = np.full(view.rows, compare_values(test.operator, None, test.value), np.bool_)
    for row, until_us in view.state.snoozed.items():
        found[row] = compare_values(test.operator, until_us, test.value)
    return found


def _by_code(test: Predicate, view: View) -> Mask:
    codes = view.categories.column(view.snapshot, test.field)[: view.rows]
    values = view.categories.values(test.field)
    table = np.array([compare_values(test.operator, v, test.value) for v in [*values, None]], np.bool_)
    return table[codes]  # NO_VALUE is -1: the last entry, that of None


def _by_instant(test: Predicate, view: View) -> Mask:
    if test.value is None:
        return np.zeros(view.rows, np.bool_)
    stamps = view.snapshot.column("chunks", test.field, convert=lambda s: s.numbers(test.field, MISSING_US))[
        : view.rows
    ]
    compare = {"gt": np.greater, "gte": np.greater_equal, "lt": np.less, "lte": np.less_equal}[test.operator]
    return np.asarray(compare(stamps, test.value) & (stamps != MISSING_US), np.bool_)


def _by_string(test: Predicate, view: View) -> Mask:
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


def _by_value(test: Predicate, view: View, within: Mask) -> Mask:
    """Compare the remaining rows one by one in Python."""
    found = np.zeros(len(within), np.bool_)
    rows = np.flatnonzero(within)
    column, read = _reader(test.field)
    values = view.snapshot.values("chunks", column, rows)
    if test.field == "success":  # unknown while the chunk is invalidated
        wrong = view.state.status[rows] == INVALIDATED
        values = [None if is_wrong else value for value, is_wrong in zip(values, wrong.tolist(), strict=True)]
    for row, value in zip(rows.tolist(), values, strict=True):
        found[row] = compare_values(test.operator, read(value), test.value)
    return found


def _reader(field: str) -> tuple[str, Callable[[Any], Any]]:
    """Return the column of a field and a function that extracts its value."""
    if field == "tags":
        return field, lambda value: value or None
    if field == "ordinal":
        return field, lambda value: value if value >= 0 else None
    if not field.startswith(METADATA):
        return field, lambda value: value
    path = field.removeprefix(METADATA).split(".")

    def read(text: str | None) -> Any:
        value = read_json(text) if text else None
        if isinstance(value, dict) and len(path) > 1 and ".".join(path) in value:
            return value[".".join(path)]
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    return "metadata", read


def _check_field(field: str, view: View) -> None:
    """Reject a name that is a metadata key of no chunk in the view."""
    if view.rows == 0:
        return
    import pyarrow.compute as pc  # 30 ms once: only for filters on metadata

    name = field.removeprefix(METADATA)
    column, read = _reader(field)
    patterns = [msgspec.json.encode(key).decode() for key in {name, name.split(".")[0]}]
    for segment in view.snapshot.segments("chunks"):
        texts = segment.column(column).slice(0, max(0, view.rows - segment.start))
        for pattern in patterns:  # parsing every chunk's metadata would take a hundred times longer
            found = pc.fill_null(pc.match_substring(texts, pattern), False)
            offsets = np.flatnonzero(found.to_numpy(zero_copy_only=False))
            if any(read(text) is not None for text in segment.values(column, offsets)):
                return
    if name == "text":
        raise InvalidArgument('where does not look into texts; the query does: "two words" or +word requires them')
    raise InvalidArgument(
        f"where names the field {name!r}, which no chunk of this vault has; fields are {', '.join(FIELDS)}, "
        f"or a key of the chunks' metadata; {METADATA + name!r} asks for a key that may be missing everywhere"
    )


def live_mask(view: View, node: Node, *, invalidated: bool, now_us: int | None = None) -> Mask:
    """Return bool (rows,), the rows that may be returned before any filter."""
    # a filter on status takes over from the status rules (only tombstones stay out), one on snoozed_until from snoozing
    status, named = view.state.status, fields_of(node)
    if "status" in named:
        return np.not_equal(status, FORGOTTEN)
    live = np.equal(status, ACTIVE)
    if invalidated:
        live |= np.equal(status, INVALIDATED)
    if now_us is not None and view.state.snoozed and "snoozed_until" not in named:
        live[view.state.asleep(now_us)] = False
    return live


def select_rows(
    view: View, node: Node, since_us: int | None, until_us: int | None, *, invalidated: bool, now_us: int | None = None
) -> Selection:
    """Select the rows that a request may return; those snoozed at ``now_us`` are left out."""
    if node == _EVERYTHING and since_us is None and until_us is None and view.all_active:
        return Selection(None, view.rows, (), must_is_all=True)
    if view.state.snoozed:  # what sleeps depends on the moment
        return _select_rows(view, node, since_us, until_us, invalidated=invalidated, now_us=now_us)
    known: dict[tuple[object, ...], Selection] = view.cached("selections", dict)
    key = (repr(node), since_us, until_us, invalidated)  # not the node: True and 1 are equal, and no equal filters
    found = known.get(key)
    if found is None:
        if len(known) >= _KEPT:
            known.clear()
        found = known[key] = _select_rows(view, node, since_us, until_us, invalidated=invalidated, now_us=now_us)
    return found


def _select_rows(
    view: View, node: Node, since_us: int | None, until_us: int | None, *, invalidated: bool, now_us: int | None
) -> Selection:
    unfiltered = node == _EVERYTHING and since_us is None and until_us is None
    live = live_mask(view, node, invalidated=invalidated, now_us=now_us)
    if not unfiltered:
        live = evaluate(node, view, live)
        live = _mask_window(view, live, since_us, until_us)
    must = tuple(facet(field, value) for field, value in required_terms(node))
    only = is_only_required_terms(node) and since_us is None and until_us is None
    return Selection(live, int(np.count_nonzero(live)), must, must_is_all=unfiltered or only)


def _mask_window(view: View, live: Mask, since_us: int | None, until_us: int | None) -> Mask:
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
