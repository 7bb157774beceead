"""Result records as Arrow tables and as HTML."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any, Final, Literal, Union

import msgspec
import pyarrow as pa

from lamina_engine.errors import MissingExtra

_INSTANT: Final = pa.timestamp("us", tz="UTC")
_JSON: Final = pa.string()
_HTML_CHARS: Final = 120
_HTML_COLUMNS: Final = 8
_HTML_FIRST: Final = (
    "score", "created_at", "type", "subject", "predicate", "object", "title", "text", "source", "target", "relation", "weight",
    "id",
)  # fmt: skip
"""Columns that a table of HTML shows first, in this order; the others follow as they are."""
_TERMS: Final = pa.struct(
    [
        ("fusion", pa.string()),
        *((name, pa.float64()) for name in (
            "vector_share", "rank_constant", "bm25", "coverage", "cosine", "lexical_rank", "vector_rank", "own", "received",
            "semantic", "semantic_weight", "recency", "age_days", "half_life_days", "factor", "linked", "fact", "facts_share",
            "ceiling",
        )),
        ("date_missing", pa.bool_()),
        ("words", pa.map_(pa.string(), pa.float64())),
        ("folded", pa.list_(pa.string())),
        ("details", _JSON),
    ]
)  # fmt: skip
"""Terms of a score; those that only some profiles have are one JSON object in ``details``."""


def table_of(records: Sequence[object], kind: type) -> pa.Table:
    """Return records of one type as an Arrow table; its schema depends on the type alone."""
    columns = _columns_of(kind)
    arrays = [
        pa.array([_value(getattr(record, name), type_) for record in records], type_) for name, _, type_ in columns
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema([(label, type_) for _, label, type_ in columns]))


def _columns_of(kind: type) -> list[tuple[str, str, pa.DataType]]:
    """Return the field, the column and the Arrow type of each field that users see."""
    hints = typing.get_type_hints(kind)
    names = [name for name in kind.__annotations__ if not name.startswith("_")]
    if issubclass(kind, msgspec.Struct):
        names = [name.removeprefix("_") for name in kind.__struct_fields__]  # a hit's terms are made when they are read
        names.sort(key=lambda name: name not in ("id", "score"))
    found = []
    for name in names:
        if name in ("row", "active", "ordinal"):
            continue
        if name.endswith("_us"):
            found.append((name, name.removesuffix("_us"), _INSTANT))
        else:
            found.append((name, name, _TERMS if name == "terms" else _type_of(hints[name])))
    return found


def _type_of(hint: Any) -> pa.DataType:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return _type_of(next(argument for argument in arguments if argument is not type(None)))
    if origin is Literal:
        return pa.string()
    if origin in (tuple, list):
        return pa.list_(_type_of(arguments[0]))
    plain: dict[Any, pa.DataType] = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    if hint in plain:
        return plain[hint]
    if isinstance(hint, type) and hasattr(hint, "__annotations__") and not issubclass(hint, Mapping):
        return pa.struct([(label, type_) for _, label, type_ in _columns_of(hint)])
    return _JSON


def _value(value: Any, type_: pa.DataType) -> Any:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if type_ == _TERMS:
        return _terms(value)
    if isinstance(value, (tuple, list)):
        return [_value(each, type_.value_type) for each in value]
    if pa.types.is_struct(type_):
        return {label: _value(getattr(value, name), inner) for name, label, inner in _columns_of(type(value))}
    return msgspec.json.encode(value, order="sorted").decode()


def _terms(terms: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in _TERMS}
    rest = {name: value for name, value in terms.items() if name not in names}
    row = {name: value for name, value in terms.items() if name in names}
    row["words"] = list(terms.get("words", {}).items())
    return row | {"details": msgspec.json.encode(rest, order="sorted").decode() if rest else None}


def html_of(title: str, rows: Sequence[Mapping[str, Any]], total: int) -> str:
    """Return rows as one HTML table; everything in it is escaped."""
    simple = [
        name for name in (rows[0] if rows else ()) if not any(isinstance(row[name], (dict, list)) for row in rows)
    ]
    used = [name for name in simple if any(row[name] not in (None, "") for row in rows)]
    used = sorted(used, key=lambda name: _HTML_FIRST.index(name) if name in _HTML_FIRST else len(_HTML_FIRST))
    shown = used[:_HTML_COLUMNS]
    head = "".join(f"<th>{escape(name)}</th>" for name in shown)
    body = "".join("<tr>" + "".join(f"<td>{_cell(row[name])}</td>" for name in shown) + "</tr>" for row in rows)
    more = f"<p>and {total - len(rows):,} more</p>" if total > len(rows) else ""
    return f"<p>{escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= _HTML_CHARS else f"{text[:_HTML_CHARS]}…")


def require(package: str, method: str) -> Any:
    """Import an optional package.

    Raises
    ------
    MissingExtra
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtra(f"{method} needs {package}", package) from error
