"""Filter grammar: JSON parsed into an expression tree.

``{"field": value}`` or ``{"field": {"op": value}}`` with `OPERATORS`; ``AND``, ``OR`` (lists) and ``NOT``; several keys
mean AND. A missing field equals None, differs from every other value, and is neither smaller nor larger than anything;
``"*"`` tests that the field exists. A list (tags, some metadata) equals each of its members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from lamina_engine.clock import parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.categories import FIELDS as CATEGORY_FIELDS
from lamina_engine.index.freshness import TIERS
from lamina_engine.index.state import STATUS_NAMES

OPERATORS: Final = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "contains", "exists")
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


class Predicate(Struct, frozen=True):
    """Comparison of a field with a value."""

    field: str
    operator: str
    value: Any


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


def parse_filter(where: Where | None, tz: str = "UTC") -> Node:
    """Parse a filter; None is true everywhere, and dates without a zone are read in ``tz``."""
    return _parse({} if where is None else where, tz, 0)


def _parse(where: Any, tz: str, depth: int) -> Node:
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
            inner = tuple(_parse(item, tz, depth + 1) for item in value)
            parts.append(All(inner) if key == "AND" else Some(inner))
        elif key == "NOT":
            items = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
            parts.extend(Not(_parse(item, tz, depth + 1)) for item in items)
        else:
            parts.append(_parse_field(str(key), value, tz))
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _parse_field(field: str, value: Any, tz: str) -> Node:
    name = field if field in FIELDS or field.startswith(METADATA) else METADATA + field
    if isinstance(value, Mapping):
        if not value:
            raise InvalidArgument(f"where[{field!r}] is empty; give a value or an operator of {', '.join(OPERATORS)}")
        tests = tuple(_parse_predicate(field, name, str(operator), operand, tz) for operator, operand in value.items())
        return tests[0] if len(tests) == 1 else All(tests)
    if isinstance(value, list | tuple | set):
        raise InvalidArgument(f"where[{field!r}] is a list; write {{'in': [...]}} for any of them")
    if value == "*":
        return Predicate(name, "exists", True)
    return _parse_predicate(field, name, "eq", value, tz)


def _parse_predicate(field: str, name: str, operator: str, value: Any, tz: str) -> Predicate:
    if operator not in OPERATORS:
        raise InvalidArgument(
            f"where[{field!r}] uses the unknown operator {operator!r}; allowed are {', '.join(OPERATORS)}"
        )
    if operator == "exists":
        if not isinstance(value, bool):
            raise InvalidArgument(f"where[{field!r}]['exists'] must be true or false, not {value!r}")
        return Predicate(name, operator, value)
    if operator == "in":
        if not isinstance(value, list | tuple | set | frozenset):
            raise InvalidArgument(f"where[{field!r}]['in'] must be a list, not {value!r:.60}")
        return Predicate(name, operator, tuple(_parse_operand(field, name, item, tz) for item in value))
    return Predicate(name, operator, _parse_operand(field, name, value, tz))


def _parse_operand(field: str, name: str, value: Any, tz: str) -> Any:
    if value is None:
        return None
    if isinstance(value, str) and not _is_unicode(value):
        raise InvalidArgument(
            f"where[{field!r}] compares with {value!a:.60}, which has half a surrogate pair; give valid Unicode"
        )
    if name in INSTANT_FIELDS:
        return parse_instant(value, tz, what=f"where[{field!r}]")
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
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        raise InvalidArgument(f"where[{field!r}] compares with one value, not {value!r:.60}")
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def mentions_field(node: Node, field: str) -> bool:
    """Return True where a filter mentions a field."""
    if isinstance(node, Predicate):
        return node.field == field
    if isinstance(node, Not):
        return mentions_field(node.part, field)
    return any(mentions_field(part, field) for part in node.parts)


def fields_of(node: Node) -> set[str]:
    """Return the fields that a filter mentions."""
    if isinstance(node, Predicate):
        return {node.field}
    if isinstance(node, Not):
        return fields_of(node.part)
    return set().union(*(fields_of(part) for part in node.parts))


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
