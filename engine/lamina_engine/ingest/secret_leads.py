"""How expressions must begin: for each of the first characters of any match, which ones it may be.

Read from the expressions themselves, so it holds for every match and needs no second table beside them. A place where
the text does not begin so is left out of a batch before any expression runs. It takes as long to read an expression as
to compile it, which is why only large batches ask.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

DEPTH: Final = 12
"""Characters looked at; what more expressions say of is left to them."""
_OTHER: Final = ord("?")
"""What stands for a character outside ASCII; see `lamina_engine.ingest.literal_scan.as_bytes`."""
_CATEGORIES: Final = {
    "DIGIT": r"\d",
    "SPACE": r"\s",
    "WORD": r"\w",
    "NOT_DIGIT": r"\D",
    "NOT_SPACE": r"\S",
    "NOT_WORD": r"\W",
}

Members = NDArray[np.bool_]
"""bool (256,): which bytes a character may be."""


class Leads:
    """The beginnings of some expressions.

    Parameters
    ----------
    regexes : sequence of Pattern or None
        None for one that may begin anyhow.
    """

    def __init__(self, regexes: Sequence[re.Pattern[str] | None]) -> None:
        known: dict[bytes, int] = {np.ones(256, np.bool_).tobytes(): 0}
        self._classes = np.zeros((len(regexes), DEPTH), np.intp)
        """By expression and character, its row in the table; 0 where it may be any."""
        read: dict[re.Pattern[str], list[int]] = {}
        for number, regex in enumerate(regexes):
            if regex is None:
                continue
            if regex not in read:  # one expression may belong to a thousand literals
                read[regex] = [known.setdefault(members.tobytes(), len(known)) for members in beginning(regex)]
            self._classes[number, : len(read[regex])] = read[regex]
        self._table = np.frombuffer(b"".join(known), np.bool_).reshape(-1, 256)

    def fit(self, raw: NDArray[np.uint8], at: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which places can begin a match of their expression.

        Parameters
        ----------
        raw : uint8 (b,)
            One byte a character.
        at : int64 (m,)
            Places; none is negative.
        numbers : int64 (m,)
            Which expression.

        Returns
        -------
        bool (m,)

        Notes
        -----
        O(m). What lies behind a text may be read: it decides only where no match could be anyway.
        """
        fits = np.zeros(at.size, np.bool_)
        left = np.arange(at.size)
        for depth in range(DEPTH):
            here = raw[np.minimum(at[left] + depth, raw.size - 1)]
            left = left[self._table[self._classes[numbers[left], depth], here]]
        fits[left] = True
        return fits


def beginning(regex: re.Pattern[str]) -> list[Members]:
    """Return what the first characters of every match may be, at most `DEPTH`; fewer where an expression varies."""
    try:
        parser: Any = importlib.import_module("re._parser")
        parsed = parser.parse(regex.pattern, regex.flags & ~re.DEBUG)
    except (ImportError, AttributeError):  # another Python keeps it elsewhere: nothing is left out then
        return []
    found: list[Members] = []
    _read(parsed, regex.flags, found)
    return found[:DEPTH]


def _read(parsed: Iterable[tuple[Any, Any]], flags: int, found: list[Members]) -> bool:
    """Append what is known of each character; return False where what follows does not stand at a fixed distance."""
    for operator, value in parsed:
        if len(found) >= DEPTH:
            return False
        name = str(operator)
        if name in ("ASSERT", "ASSERT_NOT", "AT"):
            continue
        if name in ("LITERAL", "NOT_LITERAL", "IN"):
            found.append(_members(name, value, flags))
        elif name == "ANY":
            found.append(np.ones(256, np.bool_))
        elif name == "SUBPATTERN":
            _, added, dropped, inner = value
            if not _read(inner, (flags | added) & ~dropped, found):
                return False
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, inner = value
            for _ in range(min(least, DEPTH)):
                if not _read(inner, flags, found):
                    return False
            if least != most:
                return False
        elif name == "BRANCH":
            if not _read_branches(value[1], flags, found):
                return False
        else:
            return False
    return True


def _read_branches(branches: Iterable[Any], flags: int, found: list[Members]) -> bool:
    """Append what a character may be in any of the branches, as far as all of them go."""
    parts: list[list[Members]] = []
    for branch in branches:
        part: list[Members] = []
        _read(branch, flags, part)
        parts.append(part)
    common = min(map(len, parts))
    found += [np.logical_or.reduce([part[at] for part in parts]) for at in range(common)]
    return all(branch.getwidth() == (common, common) for branch in branches)


def _members(name: str, value: Any, flags: int) -> Members:
    """Return what one character may be."""
    if name == "IN":
        items, negated = [(str(op), arg) for op, arg in value if str(op) != "NEGATE"], str(value[0][0]) == "NEGATE"
    else:
        items, negated = [("LITERAL", value)], name == "NOT_LITERAL"
    members = np.zeros(256, np.bool_)
    for kind, arg in items:
        if kind == "LITERAL":
            members[arg if arg < 0x80 else _OTHER] = True
        elif kind == "RANGE":
            members[arg[0] : min(arg[1], 0x7F) + 1] = True
            members[_OTHER] |= arg[1] >= 0x80
        else:
            members |= _category(str(arg).removeprefix("CATEGORY_"))
    if flags & re.IGNORECASE:
        lower, upper = slice(0x61, 0x7B), slice(0x41, 0x5B)
        members[lower] |= members[upper]
        members[upper] |= members[lower]
        # the Kelvin sign is a k, and the long s an s
        members[_OTHER] |= not flags & re.ASCII and bool(members[ord("k")] | members[ord("s")])
    if negated:
        members = ~members
        members[_OTHER] = True
    return members


def _category(name: str) -> Members:
    regex = _CATEGORIES.get(name)
    if regex is None:  # one that this Python has and this table has not: any character
        return np.ones(256, np.bool_)
    members = np.zeros(256, np.bool_)
    members[[code for code in range(0x80) if re.match(regex, chr(code), re.ASCII)]] = True
    members[_OTHER] = True
    return members
