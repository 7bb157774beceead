"""Coarse vectors: a byte for each number, for exact scans that read a quarter of the memory.

For vaults too small for codes. A scan of the vectors themselves mostly waits for memory: at 10,000 rows of 256 dimensions it
was a quarter of a recall. The bounds leave some hundred rows that may be among the nearest, and these are scored exactly, so
the answer is that of the scan, bit for bit. Nothing is stored: rows are coded when first asked for, and never change.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from lamina_engine import after_fork
from lamina_engine.index.vectors import Nearest, VectorBlocks, as_query
from lamina_kernels.distances import LEVELS, bounded_nearest, coarse_rows, gather_exact_dots
from lamina_kernels.layouts import BOOL, F32, I8, U8

MOST_ROWS: Final = 32_768
"""Vaults with more rows have codes, but while these are made."""
LEAST_ROWS: Final = 1_024
"""Fewer are scanned as they are."""
_SPARE: Final = 8
_MOST_LEVEL: Final = 32_767
_LONGEST: Final = 1.1
"""Of a coded row: rows are unit up to rounding."""
_ROUNDING: Final = 2.0**-20
"""More than the roundings of a bound, of an exact score, and of what ties with it as float32."""
_NO_MASK: Final = np.empty(0, np.uint8)


class _Coded(NamedTuple):
    """The first rows of a log, as `coarse_rows` gives them."""

    log: str
    codes: I8
    scales: F32
    errors: F32

    def between(self, start: int, stop: int) -> _Coded:
        """Return some of the rows, as a view."""
        return _Coded(self.log, self.codes[start:stop], self.scales[start:stop], self.errors[start:stop])


class CoarseVectors:
    """The rows of one vectors log, coded as they are asked for. Safe to share between threads."""

    def __init__(self) -> None:
        self._coded = _empty("", 0, 0)
        self._room = self._coded
        self._lock = after_fork.make_lock()

    def nearest(
        self, log: str, blocks: VectorBlocks, query: F32, k: int, n_rows: int, live: BOOL | None
    ) -> Nearest | None:
        """Return what `lamina_engine.index.vectors.search` does; None where that is better."""
        ready = bounded_nearest.ready and coarse_rows.ready and gather_exact_dots.ready
        # without arrays of their own, rows lie in shards, which scan them where they are
        if not ready or not blocks.arrays or not n_rows <= blocks.rows <= MOST_ROWS or k >= n_rows:
            return None
        if live is not None and 2 * np.count_nonzero(live[:n_rows]) < n_rows:
            return None
        vector = as_query(query, blocks.dim)
        coded = self._of(log, blocks).between(0, n_rows)
        wide = vector.astype(np.float64)
        most = min(_MOST_LEVEL, (1 << 31) // (LEVELS * blocks.dim) - 1)
        unit = float(np.abs(wide).max()) / most
        if unit <= 0.0 or most < LEVELS:
            return None
        levels = np.rint(wide / unit)
        length, rest = math.sqrt(float(wide @ wide)), wide - unit * levels
        slack = _LONGEST * math.sqrt(float(rest @ rest)) + _ROUNDING * length
        mask: U8 = _NO_MASK if live is None else live[:n_rows].view(np.uint8)
        rows, least = np.empty(n_rows, np.int64), np.empty(n_rows, np.float32)
        found = bounded_nearest(
            coded.codes, coded.scales, coded.errors, levels.astype(np.int16), unit, length, slack, mask, k, least, rows,
        )  # fmt: skip
        return Nearest.best(rows[:found], blocks.dots_of(rows[:found], vector), k) if found >= 0 else None

    def _of(self, log: str, blocks: VectorBlocks) -> _Coded:
        """Return all rows of a log, coding the new ones."""
        coded = self._coded
        if coded.log != log or len(coded.scales) < blocks.rows:
            with self._lock:
                coded = self._grow(log, blocks)
        return coded

    def _grow(self, log: str, blocks: VectorBlocks) -> _Coded:
        known = len(self._coded.scales) if self._coded.log == log else 0
        if known >= blocks.rows:  # another thread was first
            return self._coded
        if self._room.log != log or len(self._room.scales) < blocks.rows:
            room = _empty(log, blocks.rows + blocks.rows // _SPARE, blocks.dim)
            if known:
                room.codes[:known], room.scales[:known] = self._coded.codes, self._coded.scales
                room.errors[:known] = self._coded.errors
            self._room = room
        for first, part in blocks.slices(known, blocks.rows):  # behind what any reader sees
            new = self._room.between(first, first + len(part))
            coarse_rows(part, new.codes, new.scales, new.errors)
        self._coded = self._room.between(0, blocks.rows)
        return self._coded


def _empty(log: str, rows: int, dim: int) -> _Coded:
    return _Coded(log, np.empty((rows, dim), np.int8), np.empty(rows, np.float32), np.empty(rows, np.float32))
