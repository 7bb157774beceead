"""Tokens of a text: an upper bound for two tokenizers, so that no budget is exceeded.

`count_tokens` is the larger of two numbers. The bundled model's tokenizer is counted exactly. For ``cl100k_base`` the count is
an upper bound: a text is cut into pieces as that encoding cuts it, and in each piece the first `RANKS` merges alone are made.
Byte-pair encoding always makes the merge of lowest rank next, so those are the first ones that the full encoding makes too, and
each further merge only makes the count smaller. Hence the bound holds for every text, not for those that were tried.

``cl100k.bin`` holds the first `RANKS` tokens of the table that OpenAI publishes with tiktoken (MIT licence): a length and the
bytes of each, in order of rank, deflated. All 100,256 would be ten times as large and take 50 ms to read.
"""

from __future__ import annotations

import functools
import re
import zlib
from pathlib import Path
from typing import Final

from lamina_engine.embed.bundled import Merges, bundled_merges, encode_piece, join_pairs

RANKS: Final = 24_576
"""Tokens of ``cl100k_base`` that are known here."""
_ID_BITS: Final = 15
_ID_MASK: Final = (1 << _ID_BITS) - 1
_TABLE: Final = Path(__file__).with_name("cl100k.bin")

# tiktoken's pattern, over letters z, digits 0, spaces and ! for everything else; see _shape
_PIECE: Final = re.compile(
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]{1,3}| ?[^\sA-Za-z0-9]+[\r\n]*|\s+$|\s*[\r\n]|\s+(?!\S)|\s",
    re.ASCII,
)
_SEPARATOR: Final = re.compile("[\x1c-\x1f]")
"""Spaces to Python's patterns, and not to Unicode."""
_SEGMENT: Final = re.compile("▁*[^▁\n\t]+|▁+|[\n\t]")
"""No token of the bundled tokenizer has a space after its first letter, or a line end or tab beside anything."""
_WORDS_KEPT: Final = 65_536
_LONGEST_KEPT: Final = 64


def count_tokens(text: str) -> int:
    """Return at least as many tokens as ``cl100k_base`` and the bundled tokenizer count."""
    return max(_bundled().count(text), _cl100k().count(text)) if text else 0


class _Bundled:
    """Exact count of the bundled tokenizer, the token that begins a text included."""

    def __init__(self, merges: Merges) -> None:
        self._merges = merges
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        known = self._known
        total = 1
        for segment in _SEGMENT.findall("▁" + text.replace(" ", "▁")):
            tokens = known.get(segment)
            if tokens is None:
                tokens = len(encode_piece(segment, self._merges))
                _keep(known, segment, tokens)
            total += tokens
        return total


class _Cl100k:
    """Upper bound of ``cl100k_base``'s count."""

    def __init__(self, tokens: list[bytes]) -> None:
        self._tokens = tokens
        self._ranks = {token: rank for rank, token in enumerate(tokens)}
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        known = self._known
        total = 0
        for piece in _PIECE.finditer(_shape(text)):
            word = text[piece.start() : piece.end()]
            tokens = known.get(word)
            if tokens is None:
                tokens = self._count_word(word.encode("utf-8", "surrogatepass"))
                _keep(known, word, tokens)
            total += tokens
        return total

    def _count_word(self, word: bytes) -> int:
        if word in self._ranks:
            return 1
        return len(join_pairs([self._ranks[word[i : i + 1]] for i in range(len(word))], self._pair_rank))

    def _pair_rank(self, pair: int) -> int | None:
        rank = self._ranks.get(self._tokens[pair >> _ID_BITS] + self._tokens[pair & _ID_MASK])
        return None if rank is None else rank << _ID_BITS | rank


def _shape(text: str) -> str:
    """Return a text of the same length whose ASCII classes are the Unicode classes of the text."""
    if text.isascii() and not _SEPARATOR.search(text):
        return text
    return text.translate(_classes)


class _Classes(dict[int, str]):
    """ASCII letter that stands for the class of a character, by code point."""

    def __missing__(self, code: int) -> str:
        found = self[code] = _class_of(chr(code))
        return found


_classes: Final = _Classes()


def _class_of(letter: str) -> str:
    if letter < "\x80":
        return "!" if "\x1c" <= letter <= "\x1f" else letter
    if letter == "ſ":  # beyond ASCII the only one that equals one of "s", "d", "m", "t", "l", "v", "r", "e" in any case
        return "s"
    if letter.isalpha():
        return "z"
    if letter.isnumeric():
        return "0"
    return " " if letter.isspace() else "!"


def _keep(known: dict[str, int], word: str, tokens: int) -> None:
    if len(word) <= _LONGEST_KEPT:
        if len(known) >= _WORDS_KEPT:
            known.clear()
        known[word] = tokens


@functools.cache
def _bundled() -> _Bundled:
    return _Bundled(bundled_merges())


@functools.cache
def _cl100k() -> _Cl100k:
    return _Cl100k(_read_tokens(zlib.decompress(_TABLE.read_bytes())))


def _read_tokens(data: bytes) -> list[bytes]:
    tokens, at = [], 0
    while at < len(data):
        end = at + 1 + data[at]
        tokens.append(data[at + 1 : end])
        at = end
    return tokens
