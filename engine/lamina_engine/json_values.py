"""JSON values: metadata as it is written, and what a filter compares with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from typing import Any, Final

import numpy as np

from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.errors import InvalidArgument, name_type

_FINER: Final = ("ns", "ps", "fs", "as")
"""Units of NumPy for less than the microsecond that Python's dates and durations end at."""
_OF_SCALARS: Final = "mMgG"
"""Kinds of arrays whose `tolist` gives no values of Python: dates, durations and long doubles."""


def json_value(value: object, where: str) -> Any:
    """Convert a value to JSON.

    Dates become ISO 8601 text, sets sorted lists, bytes hexadecimal text, decimals text, durations seconds, NumPy scalars
    and arrays their Python equals, and NaN and infinities null, which JSON has no other word for.
    """
    try:
        return _json_value(value, where)
    except RecursionError as error:
        raise InvalidArgument(f"{where} is nested too deeply; give a flatter value") from error


def _json_value(value: object, where: str) -> Any:
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return check_unicode(value, where)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise misfit(f"a key of {where}", key, "str")
        return {check_unicode(key, where): _json_value(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        return [_json_value(item, where) for item in items]
    if isinstance(value, np.ndarray):
        if value.dtype.char in _OF_SCALARS:
            return _json_value(list(value) if value.ndim else value[()], where)
        return _json_value(value.tolist(), where)
    if isinstance(value, np.generic):
        return _json_value(scalar_of(value), where)
    if is_missing(value):
        return None
    return _json_text(value, where)


def _json_text(value: object, where: str) -> str | float:
    """Write a value that JSON has no type for."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return format_instant(parse_instant(value)) or str(value)
    if isinstance(value, (datetime, date, clock_time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    raise misfit(where, value, "what JSON can hold: text, numbers, booleans, null, lists and mappings of these")


def is_missing(value: object) -> bool:
    """Return True if a date is None, or the NaT that pandas and NumPy have in its place."""
    return value is None or (isinstance(value, (datetime, np.datetime64)) and bool(value != value))


def scalar_of(value: np.generic) -> object:
    """Return a NumPy scalar as Python's; a date or duration that Python cannot hold is text."""
    found = value.item()
    if isinstance(value, (np.datetime64, np.timedelta64)) and isinstance(found, int):
        if np.datetime_data(value.dtype)[0] not in _FINER:
            return str(value)
        return value.astype(f"{value.dtype.kind}8[us]").item()
    if isinstance(found, np.generic):  # a long double
        return float(found) if isinstance(found, np.floating) else complex(found)
    return found


def shown(value: object) -> str:
    """Format a value for a message: ASCII, at most 80 characters."""
    text = ascii(value)
    return text if len(text) <= 80 else text[:77] + "..."


def misfit(where: str, value: object, allowed: str) -> InvalidArgument:
    """Build the error for a value of the wrong type."""
    if value is None:
        return InvalidArgument(f"{where} is missing; give {allowed}")
    return InvalidArgument(f"{where}={shown(value)} is {name_type(value)}; give {allowed}")


def check_unicode(text: str, where: str) -> str:
    """Refuse a lone surrogate."""
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{where}={shown(text)} contains an unpaired surrogate; give valid Unicode") from error
    return text
