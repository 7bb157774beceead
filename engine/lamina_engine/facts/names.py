"""Names: normal form, folding, words, keys and slugs.

A name is compared as written, without case (`caseless`), and folded (no case, no diacritics, words alone). Its key hashes the
folded words in order, so that the keys of all runs of words of a text come from few NumPy operations: so a text is scanned
for a hundred thousand names at once.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import InvalidArgument, describe_value

MAX_NAME: Final = 200
"""Most characters of a name or an alias."""
MAX_WORDS: Final = 16
"""Names of more words are resolved, and not looked for in running text."""
DEFAULT_TYPE: Final = "concept"
"""Type of an entity of which nothing more is known."""

_CLEAN: Final = re.compile(r"[A-Za-z0-9][!-~]*(?: [!-~]+)*")
_TYPE: Final = re.compile(r"[^\W\d_][\w-]{0,39}")
_ASCII_WORD: Final = re.compile(r"[A-Za-z0-9]+[+#]*")
_PLAIN: Final = re.compile(r"[a-z0-9]+(?:[ ._/'&,:()-]+[a-z0-9]+)*")
_BETWEEN: Final = re.compile(r"[^a-z0-9]+")
SEPARATORS: Final = frozenset(" ._/'&,:()-")
_UNFOLDED: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})
MULTIPLIER: Final = 0x9E3779B97F4A7C15
_MASK: Final = (1 << 64) - 1

_GAP, _WORD, _ALONE, _TAIL = range(4)


def clean(name: str, what: str = "name", most: int = MAX_NAME) -> str:
    """Return a name in composed form with single blanks."""
    if not isinstance(name, str):
        raise InvalidArgument(f"{describe_value(what, name)}; give text")
    if len(name) <= most and _CLEAN.fullmatch(name):  # most names
        return name
    text = " ".join(unicodedata.normalize("NFC", name).split()) if not name.isascii() else " ".join(name.split())
    if len(text) > most:
        raise InvalidArgument(f"{what}={text[:40]!r}... has {len(text)} characters; at most {most} are kept")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgument(f"{what}={text!r} is not valid Unicode: {error.reason}") from error
    if not (_ASCII_WORD.search(text) if text.isascii() else words(text)):
        raise InvalidArgument(f"{what}={name!r} names nothing; give at least one letter, digit or sign")
    return text


def clean_type(kind: str) -> str:
    """Return a type's normal form: lower case, with ``_`` for blanks."""
    text = "_".join(unicodedata.normalize("NFC", kind).lower().split()) if isinstance(kind, str) else ""
    if not _TYPE.fullmatch(text):
        raise InvalidArgument(f"type={kind!r} must be a word of at most 40 characters, such as 'person' or 'project'")
    return text


def caseless(text: str) -> str:
    """Return a text by which names that differ only in case are equal."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


@lru_cache(maxsize=8_192)
def fold_word(word: str) -> str:
    """Return a word without case and without diacritics of Latin, Greek and Cyrillic letters."""
    if word.isascii():
        return word.lower()
    text = unicodedata.normalize("NFKD", word.casefold())
    text = "".join(letter for letter in text if not "\u0300" <= letter <= "\u036f").casefold()
    return unicodedata.normalize("NFC", text.translate(_UNFOLDED))


def words(text: str) -> list[tuple[str, int, int]]:
    """Return the folded words of a text with their start and end.

    Letters, digits and marks form words, which may end in ``+`` or ``#`` (C++); letters of scripts written without blanks, and
    signs outside ASCII, are words by themselves.
    """
    if text.isascii():
        return [(found.group().lower(), found.start(), found.end()) for found in _ASCII_WORD.finditer(text)]
    found: list[tuple[str, int, int]] = []
    start, tail = -1, False
    for at, letter in enumerate(text):
        kind = _kind(letter)
        if kind == _TAIL and start >= 0:
            tail = True
            continue
        if kind == _WORD and not tail:
            start = at if start < 0 else start
            continue
        if start >= 0:
            found.append((fold_word(text[start:at]), start, at))
        start, tail = (at if kind == _WORD else -1), False
        if kind == _ALONE:
            found.append((fold_word(letter), at, at + 1))
    if start >= 0:
        found.append((fold_word(text[start:]), start, len(text)))
    return [word for word in found if word[0]]


def fold(text: str) -> str:
    """Return the folded words of a text, with single blanks between them."""
    return " ".join(word for word, _, _ in words(text))


@lru_cache(maxsize=4_096)
def _kind(letter: str) -> int:
    if letter in "+#":
        return _TAIL
    if letter.isascii():
        return _WORD if letter.isalnum() else _GAP
    category = unicodedata.category(letter)
    if category[0] == "S":
        return _ALONE
    if category[0] not in "LMN":
        return _GAP
    return _ALONE if category[0] == "L" and _is_unspaced(ord(letter)) else _WORD


def _is_unspaced(code: int) -> bool:
    """Return whether a letter's script has no blanks between words, such as Thai, kana or Han."""
    return (
        0x0E00 <= code <= 0x0EFF
        or 0x1000 <= code <= 0x109F
        or 0x1780 <= code <= 0x17FF
        or 0x3040 <= code <= 0x30FF
        or 0x3400 <= code <= 0x9FFF
        or 0xAC00 <= code <= 0xD7AF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x323AF
    )


# ---------------------------------------------------------------------- keys


@lru_cache(maxsize=65_536)
def _hash_word(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def key(text: str) -> int:
    """Return a name's key, uint64: equal for equal folded words; 0 for no words."""
    return key_of(text)[0]


def key_of(text: str) -> tuple[int, int]:
    """Return a name's key and its number of words."""
    if text.isalnum() and text.isascii():
        return _hash_word(text.lower()), 1
    # what `words` finds, without the places
    found = _ASCII_WORD.findall(text.lower()) if text.isascii() else [word for word, _, _ in words(text)]
    total = 0
    for word in found:
        total = (total * MULTIPLIER + _hash_word(word)) & _MASK
    return total, len(found)


def run_keys(found: Sequence[str], longest: int) -> list[NDArray[np.uint64]]:
    """Return the keys of all runs of words: item n - 1 has the runs of n words by first word."""
    single = np.array([_hash_word(word) for word in found], np.uint64)
    runs, multiplier = [single], np.uint64(MULTIPLIER)
    for n in range(2, min(longest, len(found)) + 1):
        runs.append(runs[-1][:-1] * multiplier + single[n - 1 :])
    return runs


# ---------------------------------------------------------------------- canonical ids


@lru_cache(maxsize=8_192)
def slug(name: str) -> str:
    """Return the last part of a canonical id: lower case, ``_`` for separators.

    Letters, digits and marks of every script are kept. Where other signs than plain separators are left out, a hash of the name
    follows, so that names which differ in more than case and separators have different slugs.
    """
    if name.isalnum() and name.isascii():
        return name.lower()
    text = caseless(name)
    if _PLAIN.fullmatch(text):
        return _BETWEEN.sub("_", text)
    kept: list[str] = []
    gap = lost = False
    for letter in text:
        if letter.isalnum() if letter.isascii() else unicodedata.category(letter)[0] in "LMN":
            kept += ["_", letter] if gap and kept else [letter]
            gap = False
            continue
        lost |= letter not in SEPARATORS or (not kept and letter != " ")
        gap = True
    lost |= gap
    mark = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest() if lost else ""
    return "_".join(part for part in ("".join(kept), mark) if part)


def single(name: str) -> str:
    """Return a name with single blanks."""
    return name if name.isalnum() else " ".join(name.split())


@lru_cache(maxsize=64)
def vault_part(vault: str) -> str:
    """Return the first part of the ids of a vault's entities."""
    return slug(" ".join(vault.split())) if words(vault) else "vault"


_NEWLINE, _BLANK, _DELETE = 0x0A, 0x20, 0x7F
_IS_FIRST: Final = np.array([chr(code).isalnum() for code in range(128)], np.bool_)
"""By ASCII code, whether a plain text may begin with it."""


def all_plain(texts: Sequence[object], most: int = MAX_NAME) -> bool:
    """Return whether all are clean ASCII names that begin with a letter or digit.

    False also for no names, and where one has more than ``most`` characters.
    """
    if not texts or not {str}.issuperset(map(type, texts)):
        return False
    joined = "\n".join(("", *map(str, texts), ""))
    if not joined.isascii():
        return False
    letters = np.frombuffer(joined.encode("ascii"), np.uint8)
    ends = np.flatnonzero(letters == _NEWLINE)
    if len(ends) != len(texts) + 1 or not _IS_FIRST[letters[ends[:-1] + 1]].all() or np.diff(ends).max() > most + 1:
        return False
    blanks = letters <= _BLANK
    printable = not (blanks & (letters != _BLANK) & (letters != _NEWLINE)).any() and int(letters.max()) < _DELETE
    return printable and not (blanks[1:] & (letters[:-1] == _BLANK)).any()


def keys(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return uint64 (n,): the key of each name."""
    return keys_of(texts)[0]


def keys_of(texts: Sequence[str]) -> tuple[NDArray[np.uint64], int]:
    """Return the key of each name, uint64 (n,), and the most words of a name."""
    found = [key_of(text) for text in texts]
    return np.array([one for one, _ in found], np.uint64), max((count for _, count in found), default=0)
