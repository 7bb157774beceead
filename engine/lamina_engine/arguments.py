"""Checks of callers' arguments: ids, paths, flags and numbers."""

from __future__ import annotations

import functools
import math
import operator
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

from lamina_engine.errors import InvalidArgument, describe_value

F = TypeVar("F", bound=Callable[..., Any])


def renamed_arguments(**names: str) -> Callable[[F], F]:
    """Make a call that is given another library's name of an argument name its own."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            for name in given:
                if name in names:
                    raise TypeError(f"{function.__name__}() has no {name}=; it is {names[name]}= here")
            return function(*args, **given)

        return cast("F", call)

    return decorate


def ids_of(value: object, name: str = "ids", *, alone: bool = False) -> list[str]:
    """Return ids as a list."""
    if isinstance(value, str):
        if alone:
            return [value]
        raise InvalidArgument(f"{name}={value!r} is one text; give a list of ids")
    if not isinstance(value, Iterable):
        raise InvalidArgument(f"{describe_value(name, value)}; give {'an id, or ' * alone}a list of ids")
    given = list(value)
    for each in given:
        if not isinstance(each, str) or not each:
            raise InvalidArgument(f"{name} holds {each!r}, which is not an id; give non-empty text")
    return given


def names_of(value: object, name: str, example: str) -> list[str]:
    """Return names as a list; one text is one name."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise InvalidArgument(f"{describe_value(name, value)}; give a list of names, such as [{example!r}]")
    given = list(value)
    for each in given:
        if not isinstance(each, str):
            raise InvalidArgument(f"{name} holds {each!r}, which is not a name; give text, such as {example!r}")
    return given


def numbers_of(value: object, name: str, what: str) -> list[int]:
    """Return row numbers as a list, of one or of several."""
    given = list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else [value]
    found = [number for each in given if (number := _whole(each)) is not None and 0 <= number < 1 << 63]
    if len(found) < len(given):
        raise InvalidArgument(
            f"{name}={value!r} is no number of {what}; give a whole number from 0 up, or a list of them"
        )
    return found


def _whole(value: object) -> int | None:
    """Return a whole number of Python or NumPy as Python's; None for anything else."""
    try:
        return None if isinstance(value, bool) else operator.index(cast("int", value))
    except TypeError:
        return None


def whole_of(
    value: object, name: str, least: int = 1, most: int | None = None, *, of: str = "", instead: str = ""
) -> int:
    """Return a whole number within bounds, as Python's.

    ``of`` and ``instead`` complete the message.
    """
    number = value if type(value) is int else _whole(value)  # the first is that of nearly every call
    if number is None or number < least or (most is not None and number > most):
        end = "up" if most is None else f"to {most}"
        raise InvalidArgument(f"{name}={value!r} must be a whole number{of} from {least} {end}{instead}")
    return number


def text_of(value: object, name: str) -> str | None:
    """Return a text that says something and that UTF-8 can hold; None stays None."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidArgument(f"{describe_value(name, value)}; give text, or None")
    if not value.strip():
        raise InvalidArgument(f"{name}={value!r} is empty; give text, or None")
    if not is_unicode(value):
        raise InvalidArgument(f"{name}={value!a} has half a surrogate pair; give valid Unicode")
    return value


def is_unicode(text: str) -> bool:
    """Return whether a text is valid Unicode, without half surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def path_of(value: object, name: str = "path") -> Path:
    """Return a path."""
    if not isinstance(value, str | os.PathLike):
        raise InvalidArgument(f"{describe_value(name, value)}; give the path of a file or folder")
    if "\0" in str(value):
        raise InvalidArgument(f"{name}={value!r} holds a character NUL, which no path has")
    return Path(_file_name(value, name))


def _file_name(value: str | bytes | os.PathLike[Any], name: str) -> str:
    """Return a path as text; one that the system's encoding cannot hold names no file."""
    try:
        return os.fsdecode(os.fsencode(value))
    except UnicodeEncodeError as error:
        encoding = sys.getfilesystemencoding()
        raise InvalidArgument(
            f"{name}={value!a} is no file name in {encoding}; give valid Unicode, or start Python with PYTHONUTF8=1"
        ) from error


def paths_of(value: object, name: str = "path") -> list[str]:
    """Return one path, or several, as texts."""
    if isinstance(value, str | bytes | os.PathLike):
        return [_file_name(value, name)]
    if not isinstance(value, Iterable):
        raise InvalidArgument(f"{describe_value(name, value)}; give a path, or a list of paths")
    given = list(value)
    for each in given:
        if not isinstance(each, str | bytes | os.PathLike):
            raise InvalidArgument(f"{name} holds {each!r}, which is not a path; give text or a Path")
    return [_file_name(each, name) for each in given]


def flag_of(value: object, name: str) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise InvalidArgument(f"{name}={value!r} must be True or False")
    return value


def limit_of(value: object) -> int | None:
    """Return the most results that a caller wants; None for all."""
    return None if value is None else whole_of(value, "limit", instead=", or None for all")


def seconds_of(value: object, name: str) -> float:
    """Return a length of time."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < math.inf:
        raise InvalidArgument(f"{name}={value!r} must be a number of seconds from 0 up")
    return value


def check_methods(value: object, name: str, methods: tuple[str, ...], example: str) -> None:
    """Raise `InvalidArgument` where an object, if any is given, lacks a method."""
    if value is not None and (
        isinstance(value, type) or not all(callable(getattr(value, each, None)) for each in methods)
    ):
        raise InvalidArgument(f"{name}={value!r} must be one like {example}, or None")
