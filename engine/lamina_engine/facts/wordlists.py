"""Which facts hold a word: rows by word, in files that cover a stretch of the log each and are never changed.

A question is answered from the lists of its words alone, so a word of two facts costs two numbers and a word of all of
them only as much of its list as is looked at (`lamina_engine.facts.ranking`). Facts and relations have lists of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import LaminaError
from lamina_engine.index.analysis import ANALYSIS_ID
from lamina_engine.index.sealed import Seal

U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
_ROW_BITS: Final = np.uint64(31)
_ROW_MASK: Final = np.uint64((1 << 31) - 1)
_ONE: Final = np.uint64(1)
_NO_ROWS: Final = np.empty(0, np.uint32)


class WordsDamaged(LaminaError, OSError):
    """A saved file of lists that is torn, altered or not one; it is made again from the log."""


_SEAL: Final = Seal(b"LMNFWRD\n", 1, "24sQQQQ", what="words of facts", damaged=WordsDamaged)
"""Fields: analysis, first row, one past the last row, words, entries. Payload: the arrays of `WordRows`."""


def word_key(hash: int, *, relation: bool) -> int:
    """Return the key of a word's list, below 2**33: of the facts that hold it, or of the relations."""
    return hash << 1 | relation


def packed(hashes: U32, rows: I64, relations: NDArray[np.bool_]) -> U64:
    """Return uint64 (m,): one entry each, in an order of word, kind, row.

    Parameters
    ----------
    hashes : uint32 (m,)
        Of the words; see `lamina_engine.index.analysis.term_hash`.
    rows : int64 (m,)
        Rows of the facts log, below 2**31.
    relations : bool (m,)
        Whether the row's object is an entity.
    """
    keys = hashes.astype(np.uint64) << _ONE | relations
    found: U64 = keys << _ROW_BITS | rows.astype(np.uint64)
    return found


class WordRows(NamedTuple):
    """The lists of the rows from ``start`` to ``stop``.

    Attributes
    ----------
    keys : uint64 (w,)
        Words, ascending; see `word_key`.
    starts : int64 (w + 1,)
        Word ``i`` owns ``rows[starts[i]:starts[i + 1]]``.
    rows : uint32 (m,)
        Ascending within a word.
    """

    start: int
    stop: int
    keys: U64
    starts: I64
    rows: U32

    def of(self, key: int) -> U32:
        """Return the rows of a word, ascending. O(log words)."""
        at = int(np.searchsorted(self.keys, np.uint64(key)))
        if at == len(self.keys) or int(self.keys[at]) != key:
            return _NO_ROWS
        return self.rows[self.starts[at] : self.starts[at + 1]]


def made(start: int, stop: int, entries: U64) -> WordRows:
    """Return the lists of some entries, which are sorted in place. O(m log m)."""
    entries.sort()
    keys = entries >> _ROW_BITS
    begins = np.flatnonzero(np.concatenate([[len(keys) > 0], keys[1:] != keys[:-1]])[: len(keys)])
    starts = np.append(begins, len(keys)).astype(np.int64)
    return WordRows(start, stop, keys[begins], starts, (entries & _ROW_MASK).astype(np.uint32))


def joined(parts: Sequence[WordRows]) -> WordRows:
    """Return the lists of neighbouring stretches as one. O(m log m)."""
    if len(parts) == 1:
        return parts[0]
    entries = [np.repeat(part.keys, np.diff(part.starts)) << _ROW_BITS | part.rows for part in parts]
    return made(parts[0].start, parts[-1].stop, np.concatenate(entries))


def save(path: Path, words: WordRows) -> None:
    """Write lists to a file that appears whole or not at all."""
    fields = (ANALYSIS_ID.encode(), words.start, words.stop, len(words.keys), len(words.rows))
    arrays = (words.keys.astype("<u8"), words.starts.astype("<i8"), words.rows.astype("<u4"))
    _SEAL.write(path, fields, [array.data for array in arrays if len(array)])


def open_words(path: Path) -> WordRows:
    """Map a file of lists, reading every byte once.

    Raises
    ------
    WordsDamaged
        When it is torn, altered, or made under other rules of analysis.
    OSError
    """
    (analysis, start, stop, n, m), data = _SEAL.open(path, verify=True)
    if analysis.rstrip(b"\0").decode("utf-8", "replace") != ANALYSIS_ID:
        raise WordsDamaged(f"{path} was made under other rules than {ANALYSIS_ID}; it is made again from the log")
    if len(data) != 16 * n + 8 + 4 * m:
        raise WordsDamaged(f"{path} does not hold the lists that its header says; it is made again from the log")
    keys = np.frombuffer(data, "<u8", n)
    starts = np.frombuffer(data, "<i8", n + 1, 8 * n)
    rows = np.frombuffer(data, "<u4", m, 16 * n + 8)
    if starts[0] != 0 or starts[-1] != m or (starts[1:] < starts[:-1]).any():
        raise WordsDamaged(f"{path} has lists out of order; it is made again from the log")
    return WordRows(start, stop, keys, starts, rows)
