"""Many names at once: whether they are plain, their slugs and their keys, each as `lamina_engine.facts.names` gives it.

They are joined to one text and looked at as an array of letters, which takes a fraction of one after the other. Names that
are not in ASCII, and names of other than the usual signs, are taken one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina_engine.facts import names
from lamina_engine.index.keys import hash_ids

_ASCII_WORD_OR_END: Final = re.compile(r"[a-z0-9]+[+#]*|\n")
_MANY: Final = 64
"""Names whose keys are made at once."""
_NEWLINE, _BLANK, _DELETE = 0x0A, 0x20, 0x7F
_MAY_BEGIN: Final = np.array([chr(code).isalnum() for code in range(128)], np.bool_)
"""By ASCII code, whether a plain text may begin with it."""
_BETWEEN_IN_LINES: Final = re.compile(r"[^a-z0-9\n]+")
_IS_LETTER: Final = np.array([chr(code) in "abcdefghijklmnopqrstuvwxyz0123456789" for code in range(128)], np.bool_)
"""By ASCII code, whether it is a letter or a digit of a slug."""
_IS_COMMON: Final = _IS_LETTER | np.array(
    [chr(code) in names.SEPARATORS or chr(code) == "\n" for code in range(128)], np.bool_
)
"""The same, or one of the plain separators, or the end of a name."""


def all_plain(texts: Sequence[object], most: int = names.MAX_NAME) -> bool:
    """Tell whether all are ASCII texts as `names.clean` returns them, each beginning with a letter or digit.

    False also for none, and where one has more than ``most`` characters.
    """
    if not texts or not {str}.issuperset(map(type, texts)):
        return False
    joined = "\n".join(("", *map(str, texts), ""))
    if not joined.isascii():
        return False
    letters = np.frombuffer(joined.encode("ascii"), np.uint8)
    ends = np.flatnonzero(letters == _NEWLINE)
    if len(ends) != len(texts) + 1 or not _MAY_BEGIN[letters[ends[:-1] + 1]].all() or np.diff(ends).max() > most + 1:
        return False
    blanks = letters <= _BLANK
    printable = not (blanks & (letters != _BLANK) & (letters != _NEWLINE)).any() and int(letters.max()) < _DELETE
    return printable and not (blanks[1:] & (letters[:-1] == _BLANK)).any()


def slugs(texts: Sequence[str]) -> list[str]:
    """Return the slug of each of many names, taken with single blanks.

    What stands between letters and digits is replaced in all plain ones at once: a tenth of the time of one by one.
    """
    joined = "\n".join(("", *texts, ""))
    if not joined.isascii() or joined.count("\n") != len(texts) + 1:
        return [names.slug(names.single(text)) for text in texts]
    joined = joined.lower()
    letters = np.frombuffer(joined.encode("ascii"), np.uint8)
    ends = np.flatnonzero(letters == _NEWLINE)
    strange = ends[1:][~_IS_LETTER[letters[ends[1:] - 1]] | ~_IS_LETTER[letters[ends[:-1] + 1]]]
    others = np.searchsorted(ends, np.concatenate([np.flatnonzero(~_IS_COMMON[letters]), strange])) - 1
    found = _BETWEEN_IN_LINES.sub("_", joined).split("\n")[1:-1]
    for at in map(int, set(others.tolist())):
        found[at] = names.slug(names.single(texts[at]))
    return found


def keys(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return uint64 (n,): the key of each name."""
    return keys_of(texts)[0]


def keys_of(texts: Sequence[str]) -> tuple[NDArray[np.uint64], int]:
    """Return uint64 (n,), the key of each name, and how many words the longest of them has.

    Names in ASCII are cut all at once, each different word is hashed once, and the keys are put together word by word.
    """
    joined = "\n".join(texts)
    if len(texts) < _MANY or not joined.isascii() or joined.count("\n") != len(texts) - 1:
        found = [names.key_of(text) for text in texts]
        return np.array([one for one, _ in found], np.uint64), max((count for _, count in found), default=0)
    pieces = _ASCII_WORD_OR_END.findall(joined.lower())
    pieces.append("\n")
    numbers: dict[str, int] = {word: at for at, word in enumerate(dict.fromkeys(pieces))}
    places = np.fromiter(map(numbers.__getitem__, pieces), np.int64, len(pieces))
    hashes = hash_ids(numbers)[places]
    ends = np.flatnonzero(places == numbers["\n"])
    begins = np.concatenate([[0], ends[:-1] + 1])
    counts = ends - begins
    longest = int(counts.max())
    total = np.zeros(len(texts), np.uint64)
    rows = np.arange(len(texts))
    for at in range(longest):
        rows = rows[counts[rows] > at]
        total[rows] = total[rows] * np.uint64(names.MULTIPLIER) + hashes[begins[rows] + at]
    return total, longest
