"""Where any of many short literals begin in a block of text, in one vectorised pass.

A regular expression with a hundred alternatives, or a hundred substring searches, costs the sum of its parts on every
block that holds none of them. Here every window of four bytes is read as one 32-bit word, folded to lower case and
looked up in a table of hashes; what is left is compared exactly. The cost is that of the bytes, whatever the number of
literals: about 2 µs for 850 bytes with NumPy, and a quarter of that in `lamina_kernels.literals`, where it is loaded.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import InvalidArgument
from lamina_kernels._jit import compiled_before, is_ready, warm
from lamina_kernels.literals import find_grams, gram_table

GRAM = 4
"""Characters of a literal."""

_BITS = 16  # 64 KiB a table; 2,400 literals leave 96 % of it empty
# Two tables: what passes the first by chance rarely passes the second, and only then is a binary search worth it.
# 2**32 over the golden ratio (Knuth's multiplicative hash), and a second odd number unrelated to it (xxHash's prime 3).
_MULTIPLIERS = (np.uint32(0x9E3779B1), np.uint32(0xC2B2AE3D))
_FOLD = 0x20  # sets the bit that tells "a" from "A"; punctuation may be confused, which only costs a look
_SHORT = 1 << 11  # bytes up to which a look at each costs less than some thirty calls of NumPy
_BULK = 1 << 23  # bytes from which on it pays to load the kernel, which does the same
_MANY_TEXTS = 8_192  # small texts from which on the same holds, as for bulk analysis
_BLOCK = 1 << 17  # bytes; smaller blocks pay more in calls, larger ones leave the second-level cache


def as_bytes(text: str) -> NDArray[np.uint8]:
    """One byte for each character of any text; a character outside ASCII is a question mark, which matches nothing."""
    return np.frombuffer(text.encode("ascii", "replace"), dtype=np.uint8)


@functools.cache
def begin_compiling() -> threading.Thread:
    """Load the kernel on a thread, once a process, where many small texts will come: none of them alone is worth it."""
    return warm((find_grams,))


def expect_many(texts: int) -> None:
    """Have the kernel at hand for so many small texts: loaded now where it was compiled before, else on a thread."""
    if texts >= _MANY_TEXTS:
        loading = begin_compiling()
        if compiled_before((find_grams,)):
            loading.join()


class LiteralScan:
    """A set of literals of four ASCII characters, searched without regard to case.

    Parameters
    ----------
    literals : iterable of str
        Each exactly :data:`GRAM` ASCII characters. Those that fold to the same four bytes share a number.

    Raises
    ------
    InvalidArgument
        A literal of another length or with other characters.
    """

    def __init__(self, literals: Iterable[str]) -> None:
        words = sorted({self._word(literal) for literal in literals})
        self._words: NDArray[np.uint32] = np.array(words, dtype=np.uint32)
        self._tables = np.zeros((len(_MULTIPLIERS), 1 << _BITS), dtype=np.bool_)
        for table, multiplier in zip(self._tables, _MULTIPLIERS, strict=True):
            table[_hash(self._words, multiplier)] = True
        self._by_bytes = {word.to_bytes(GRAM, "little"): number for number, word in enumerate(words)}
        self._bits = gram_table(self._words)
        self._numbers = {word: number for number, word in enumerate(words)}

    @property
    def size(self) -> int:
        """How many literals there are, those that fold together counted once."""
        return int(self._words.size)

    def number(self, literal: str) -> int:
        """The number under which :meth:`hits` reports a literal.

        Raises
        ------
        KeyError
            A literal that is not one of the set.
        """
        return self._numbers[self._word(literal)]

    def hits(self, text: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All places where a literal begins.

        Parameters
        ----------
        text : uint8 (n,)
            From :func:`as_bytes`.

        Returns
        -------
        positions : int64 (m,)
            Character offsets, ascending.
        numbers : int64 (m,)
            Which literal, as :meth:`number` gives it. Punctuation that differs in one bit only may be confused
            (``@`` and the grave accent): a hit is a reason to look, not a proof.

        Notes
        -----
        O(len(text)), independent of the number of literals.
        """
        if is_ready(find_grams) or text.size >= _BULK:
            return self._hits_by_kernel(text)
        if text.size <= _SHORT:
            return self._hits_one_by_one(text)
        return self._hits_with_numpy(text)

    def _hits_with_numpy(self, text: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        raw = text | np.uint8(_FOLD)
        parts: list[NDArray[np.int64]] = []
        found: list[NDArray[np.uint32]] = []
        # one workspace for all blocks: fresh temporaries cost more in page faults than the arithmetic does
        room = min(_BLOCK, raw.size) // GRAM
        words, mixed = np.empty(room, np.uint32), np.empty(room, np.uint32)
        slots, marks = np.empty(room, np.intp), np.empty(room, np.bool_)
        for start in range(0, raw.size - GRAM + 1, _BLOCK):
            block = raw[start : start + _BLOCK + GRAM - 1]
            for phase in range(GRAM):
                n = (block.size - phase) // GRAM
                words.view(np.uint8)[: GRAM * n] = block[phase : phase + GRAM * n]  # aligned, unlike a view
                np.multiply(words[:n], _MULTIPLIERS[0], out=mixed[:n])
                np.right_shift(mixed[:n], 32 - _BITS, out=slots[:n], casting="unsafe")
                maybe = np.flatnonzero(self._tables[0].take(slots[:n], out=marks[:n], mode="clip"))
                survivors = words[maybe]
                likely = self._tables[1].take(_hash(survivors, _MULTIPLIERS[1]), mode="clip")
                parts.append(maybe[likely] * GRAM + (start + phase))
                found.append(survivors[likely])
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return self._exact(np.concatenate(parts), np.concatenate(found))

    def _hits_one_by_one(self, text: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        raw = (text | np.uint8(_FOLD)).tobytes()
        number = self._by_bytes.get
        found = [(i, n) for i in range(len(raw) - GRAM + 1) if (n := number(raw[i : i + GRAM])) is not None]
        pairs = np.array(found, np.int64).reshape(-1, 2)
        return pairs[:, 0].copy(), pairs[:, 1].copy()

    def _hits_by_kernel(self, text: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        room = 64 + text.size // 64
        while True:
            positions, numbers = np.empty(room, np.int64), np.empty(room, np.int64)
            found = find_grams(text, self._words, self._bits, positions, numbers)
            if found <= room:
                return positions[:found], numbers[:found]
            room = found

    def _exact(
        self, positions: NDArray[np.int64], words: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        numbers = np.minimum(np.searchsorted(self._words, words), self._words.size - 1)
        keep = self._words[numbers] == words
        positions, numbers = positions[keep], numbers[keep]
        order = np.argsort(positions, kind="stable")
        return positions[order], numbers[order]

    @staticmethod
    def _word(literal: str) -> int:
        if len(literal) != GRAM or not literal.isascii():
            raise InvalidArgument(f"literal {literal!r}: exactly {GRAM} ASCII characters are needed")
        folded = np.frombuffer(literal.encode("ascii"), dtype=np.uint8) | np.uint8(_FOLD)
        return int(folded.view("<u4")[0])


def _hash(words: NDArray[np.uint32], multiplier: np.uint32) -> NDArray[np.intp]:
    mixed = words * multiplier
    mixed >>= np.uint32(32 - _BITS)
    return mixed.astype(np.intp)
