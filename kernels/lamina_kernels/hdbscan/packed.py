"""Packed rows for `lamina_kernels.hdbscan.products`, with proven error margins.

A row becomes words of four bytes (one float32, two int16 or four int8) beside the words of its neighbours in the panel,
followed by its scale, half its squared length, and a correction. What rounding to few bits takes away from a row is
measured when it is packed: with ``e`` the length of the residue, Cauchy and Schwarz give

    |score - estimate| <= |x| e_y + |y| e_x + e_x e_y + rounding,

and the greatest ``|y|`` and ``e_y`` turn that into one margin for each row.

`pack` packs all rows as they stand. A `Frame` packs a selection in any order into the same space, so that rows sorted by
cell need no second copy; rows that are no points, such as centres, are packed into the same space.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, Literal, NamedTuple

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.hdbscan import products
from lamina_kernels.hdbscan.products import ROWS, TILED_ROWS, TILED_WORDS, UNSIGNED
from lamina_kernels.layouts import F32, F64, I32, I64, Points
from lamina_kernels.threads import ThreadTeam

Arithmetic = Literal["float32", "int16", "int16-portable", "int8", "int8-portable"]

_ROUND: Final = 2.0**-24
"""Half a unit in the last place of float32, relative."""

_NORM: Final = 46_000.0
"""Length of a row in int16: below √2³¹, so that no sum of products leaves int32."""


_PANELS: Final = 32
"""Panels that a thread packs at a time."""

# What these sums measure bounds estimates, which have slack for any order; rows are finite.
_REORDER: Final = ("reassoc", "contract", "nnan", "nsz")


_BLOCK_ROWS: Final = 4096
"""Rows packed at once: whole panels of any arithmetic."""


class _Kind(NamedTuple):
    parts: int
    columns: int
    score: Callable[[I32, I32, int, int, F32], None]


_KINDS: Final[dict[Arithmetic, _Kind]] = {
    "float32": _Kind(1, products.NARROW.columns, products.score_float32),
    "int16": _Kind(2, products.NARROW.columns, products._score_int16),
    "int16-portable": _Kind(2, products.NARROW.columns, products.score_int16_portable),
    "int8": _Kind(4, products.WIDE.columns, products._score_int8),
    "int8-portable": _Kind(4, products.WIDE.columns, products.score_int8_portable),
}


class Packed(NamedTuple):
    """Packed rows.

    Attributes
    ----------
    arithmetic : str
    words : int32 (panels · columns · (groups + 3),)
    groups, columns : int
        Words of a row; rows of a panel.
    margin : float64 (n,)
        No score of a row with any other is further from its estimate.
    scale : float
        Scores are of rows times this: distance² = −2 score / scale².
    """

    arithmetic: Arithmetic
    words: I32
    groups: int
    columns: int
    margin: F64
    scale: float

    @property
    def panel_words(self) -> int:
        """Words of a panel."""
        return self.columns * (self.groups + 3)

    @property
    def tiled(self) -> bool:
        """True where blocks hold sixteen rows, each by itself, for products of tiles."""
        return self.arithmetic == "int8" and self.groups % TILED_WORDS == 0 and may_use_tiles()

    @property
    def blurred(self) -> F64:
        """Distance up to which estimates say little about each row (n,)."""
        found: F64 = np.sqrt(8.0 * self.margin) / self.scale
        return found


@functools.cache
def may_use_tiles() -> bool:
    """Return whether processor and system let this process multiply tiles of bytes."""
    from lamina_kernels.simd import grant_tiles, processor_features

    return {"amx-tile", "amx-int8"} <= processor_features() and grant_tiles()


def aligned_words(size: int) -> I32:
    """Return int32 zeros that begin at a multiple of 64 bytes.

    Tiles whose rows cross lines of the cache take three times as long.
    """
    room = np.zeros(size + 15, np.int32)
    first = -int(room.__array_interface__["data"][0]) % 64 // 4
    return room[first : first + size]


@functools.cache
def fastest() -> Arithmetic:
    """Return the fastest arithmetic of this processor."""
    from lamina_kernels.simd import processor_features

    features = processor_features()
    if {"avx512f", "avx512bw", "avx512vnni"} <= features:
        return "int8"
    return "int16" if "avx2" in features else "float32"


def pack(points: Points, arithmetic: Arithmetic, *, centred: bool, team: ThreadTeam | None = None) -> Packed:
    """Pack points.

    Parameters
    ----------
    points : Points
        Finite; n ≥ 1.
    arithmetic : str
    centred : bool
        Take the mean away and scale the longest row to 1 first: what Euclidean data needs and unit rows have already.
    team : ThreadTeam, optional
        The caller's thread alone unless given.

    Returns
    -------
    Packed

    Notes
    -----
    O(n d); 4, 2 or 1 bytes a number.
    """
    n, d = points.factors.size, points.size
    kind = _KINDS[arithmetic]
    groups = -(-d // kind.parts)
    centre, scale = _centre(points) if centred else (np.zeros(d), 1.0)
    panels = -(-n // kind.columns)
    words = aligned_words(panels * kind.columns * (groups + 3))
    lengths, residues = np.empty(n), np.empty(n)
    part_rows, row_words = _PANELS * kind.columns, groups + 3

    def work(_: int, start: int) -> None:
        part = slice(start, min(start + part_rows, n))
        own = words[start * row_words : (start + part_rows) * row_words]
        pack_rows(
            points.values[part.start * d : part.stop * d], points.factors[part], centre, scale, kind.parts, kind.columns,
            own, own.view(np.float32), lengths[part], residues[part],
        )  # fmt: skip

    ThreadTeam(team.threads if team else 1).run(work, range(0, n, part_rows))
    return Packed(arithmetic, words, groups, kind.columns, margins(arithmetic, d, lengths, residues), scale)


def margins(arithmetic: Arithmetic, d: int, lengths: F64, residues: F64) -> F64:
    """Return each row's largest possible score error, from lengths and residues."""
    longest, worst = float(lengths.max()), float(residues.max())
    rounding = 16 * _ROUND * (1.0 + longest * longest)
    if arithmetic == "float32":  # any order of d sums
        rounding += (d + 8) * _ROUND * longest * longest
    margin: F64 = lengths * worst + (longest + worst) * residues + rounding
    return margin


def _centre(points: Points) -> tuple[F64, float]:
    """Return the mean and one over the greatest distance from it (1 where there is none)."""
    rows = points.values.reshape(-1, points.size)
    total = np.zeros(points.size)
    for start in range(0, len(rows), 4096):
        total += rows[start : start + 4096].sum(0, dtype=np.float64)
    centre = total / len(rows)
    longest = 0.0
    for start in range(0, len(rows), 4096):
        part = rows[start : start + 4096] - centre
        longest = max(longest, float(np.einsum("ij,ij->i", part, part).max()))
    longest = float(np.sqrt(longest))
    return centre, 1.0 / longest if longest > 0.0 and np.isfinite(1.0 / longest) else 1.0


def gather(packed: Packed, rows: I64, out: I32 | None = None) -> I32:
    """Return blocks of rows, the last one filled up, as one side of `score`."""
    height = TILED_ROWS if packed.tiled else ROWS
    size = -(-rows.size // height) * height * (packed.groups + 2)
    found = aligned_words(size) if out is None else out[:size]
    flip = UNSIGNED if packed.arithmetic.startswith("int8") else 0
    gather_rows(packed.words, packed.groups, packed.columns, flip, height, rows, found)
    return found


def repack(packed: Packed, order: I64) -> Packed:
    """Return the rows in another order, −1 for none; margins keep the old order."""
    words = aligned_words(-(-order.size // packed.columns) * packed.panel_words)
    move_rows(packed.words, packed.groups, packed.columns, order, words, words.view(np.float32))
    return packed._replace(words=words)


def take_panels(packed: Packed, panels: I64) -> Packed:
    """Return some panels alone; margins stay those of all rows."""
    words = aligned_words(panels.size * packed.panel_words)
    packed.words.reshape(-1, packed.panel_words).take(panels, 0, words.reshape(-1, packed.panel_words))
    return packed._replace(words=words)


def score(packed: Packed, block: I32, start: int, stop: int, out: F32) -> None:
    """Write scores of a block's rows with rows ``start`` to ``stop``; ``start`` begins a panel."""
    first, last = start // packed.columns, -(-stop // packed.columns)
    panels = packed.words[first * packed.panel_words : last * packed.panel_words]
    by = products._score_int8_tiled if packed.tiled else _KINDS[packed.arithmetic].score
    by(block, panels, packed.groups, last - first, out)


def _pack_examples() -> tuple[object, ...]:
    words = np.zeros(16 * 5, np.int32)
    return (
        np.ones(8, np.float32), np.ones(1), np.zeros(8), 1.0, 4, 16,
        words, words.view(np.float32), np.empty(1), np.empty(1),
    )  # fmt: skip


@kernel
def _limits(parts: int) -> tuple[float, float]:
    """Return the greatest number of a part, and the greatest length of a row."""
    if parts == 4:
        return 127.0, np.inf
    return 32767.0, _NORM


@kernel(fastmath=_REORDER)
def _place(values: F32, start: int, factor: float, centre: F64, scale: float, out: F64) -> tuple[float, float]:
    """Write a row as it is to be packed; return its squared length and its greatest number."""
    square, peak = 0.0, 0.0
    for k in range(centre.size):
        x = (values[start + k] * factor - centre[k]) * scale
        out[k] = x
        square += x * x
        peak = max(peak, abs(x))
    return square, peak


@kernel(fastmath=_REORDER)
def _round(row: F64, step: float, out: I32) -> float:
    """Quantise a row; return the squared rounding error."""
    inverse, lost = 1.0 / step, 0.0
    for k in range(row.size):
        q = np.rint(row[k] * inverse)
        out[k] = np.int32(q)
        rest = row[k] - q * step
        lost += rest * rest
    return lost


@kernel
def _round_floats(row: F64, columns: int, base: int, out_floats: F32) -> float:
    """Write a row in float32 into its panel; return the squared rounding error."""
    lost = 0.0
    for k in range(row.size):
        out_floats[base + k * columns] = row[k]
        rest = row[k] - np.float64(out_floats[base + k * columns])
        lost += rest * rest
    return lost


@kernel
def _write_words(steps: I32, parts: int, groups: int, columns: int, base: int, out_words: I32) -> np.int64:
    """Write whole steps into a panel, several a word; return their sum."""
    bits = 32 // parts
    keep = np.int64(0xFFFFFFFF) >> (32 - bits)
    total = np.int64(0)
    for g in range(groups):
        word = np.int64(0)
        for p in range(parts):
            q = np.int64(steps[g * parts + p])
            total += q
            word |= (q & keep) << (bits * p)
        word = (word ^ 0x80000000) - 0x80000000  # the same 32 bits, as a signed number
        out_words[base + g * columns] = np.int32(word)
    return total


@kernel(examples=[_pack_examples])
def pack_rows(
    values: F32, factors: F64, centre: F64, scale: float, parts: int, columns: int,
    out_words: I32, out_floats: F32, out_lengths: F64, out_residues: F64,
) -> None:  # fmt: skip
    """Pack rows into panels, and measure the rounding errors.

    Parameters
    ----------
    values : float32 (n · d,)
    factors : float64 (n,)
    centre : float64 (d,)
        Taken from each row times its factor.
    scale : float
        What the difference is multiplied by.
    parts, columns : int
        Numbers in a word (1, 2 or 4); rows of a panel.
    out_words : int32 (panels · columns · (groups + 3),)
        Zeros; written. Columns after the last row get an infinite half square, so that nothing is near them.
    out_floats : float32, the same memory
        Written.
    out_lengths, out_residues : float64 (n,)
        Written: length of each row, and of what rounding took away.

    Notes
    -----
    O(n d).
    """
    n, d = factors.size, centre.size
    groups = (d + parts - 1) // parts
    most, norm = _limits(parts)
    row, steps = np.empty(d), np.zeros(groups * parts, np.int32)
    for i in range(out_words.size // (groups + 3)):
        base = (i // columns) * columns * (groups + 3) + i % columns
        after = base + groups * columns
        if i >= n:
            out_floats[after + columns] = np.inf
            continue
        square, peak = _place(values, i * d, factors[i], centre, scale, row)
        length = np.sqrt(square)
        step = 1.0
        if parts == 1:
            lost = _round_floats(row, columns, base, out_floats)
        else:
            step = np.float64(np.float32(max(peak / most, length / norm) * 1.0000002))
            if step == 0.0:
                step = 1.0
            lost = _round(row, step, steps)
            total = _write_words(steps, parts, groups, columns, base, out_words)
            if parts == 4:
                out_words[after + 2 * columns] = np.int32(128 * total)
        out_floats[after] = step
        out_floats[after + columns] = 0.5 * square
        out_lengths[i] = length
        out_residues[i] = np.sqrt(lost)


def _gather_examples() -> tuple[object, ...]:
    return np.zeros(16 * 4, np.int32), 1, 16, 0, 6, np.zeros(1, np.int64), np.empty(6 * 3, np.int32)


@kernel(examples=[_gather_examples])
def gather_rows(words: I32, groups: int, columns: int, flip: int, height: int, rows: I64, out: I32) -> None:
    """Copy rows out of panels into blocks.

    Parameters
    ----------
    words : int32 (panels · columns · (groups + 3),)
    groups, columns : int
    flip : int
        Combined with each word by exclusive or.
    height : int
        Rows of a block: 6, whose words lie interleaved, or 16, each by itself.
    rows : int64 (m,)
    out : int32 (⌈m / height⌉ · height · (groups + 2),)
        Written; the last row fills up the last block.

    Notes
    -----
    O(m d).
    """
    block_words = height * (groups + 2)
    ahead, along = (groups, 1) if height == 16 else (1, height)
    for b in range(out.size // block_words):
        for r in range(height):
            i = rows[min(b * height + r, rows.size - 1)]
            source = (i // columns) * columns * (groups + 3) + i % columns
            target = b * block_words
            for k in range(groups):
                out[target + r * ahead + k * along] = np.int32(words[source + k * columns] ^ flip)
            for k in range(groups, groups + 2):
                out[target + r + k * height] = words[source + k * columns]


def _move_examples() -> tuple[object, ...]:
    words = np.zeros(16 * 4, np.int32)
    return words.copy(), 1, 16, np.zeros(1, np.int64), words, words.view(np.float32)


@kernel(examples=[_move_examples])
def move_rows(words: I32, groups: int, columns: int, order: I64, out_words: I32, out_floats: F32) -> None:
    """Copy rows of panels into panels in another order.

    Parameters
    ----------
    words : int32 (panels · columns · (groups + 3),)
    groups, columns : int
    order : int64 (places,)
        −1 where there is to be no row.
    out_words : int32 (⌈places / columns⌉ · columns · (groups + 3),)
        Written; columns without a row get an infinite half square.
    out_floats : float32, the same memory
        Written.
    """
    lines = groups + 3
    for place in range(out_words.size // lines):
        target = (place // columns) * columns * lines + place % columns
        if place >= order.size or order[place] < 0:
            out_floats[target + (groups + 1) * columns] = np.inf
            continue
        source = (order[place] // columns) * columns * lines + order[place] % columns
        for k in range(lines):
            out_words[target + k * columns] = words[source + k * columns]


class Frame(NamedTuple):
    """Packing of a space: arithmetic, centre and scale."""

    arithmetic: Arithmetic
    centre: F64
    scale: float


def make_frame(points: Points, arithmetic: Arithmetic, *, centred: bool) -> Frame:
    """Return how points are packed; see `lamina_kernels.hdbscan.packed.pack`."""
    return Frame(arithmetic, *(_centre(points) if centred else (np.zeros(points.size), 1.0)))


def pack_some(frame: Frame, points: Points, order: I64, team: ThreadTeam | None = None) -> Packed:
    """Pack some points, in an order.

    Parameters
    ----------
    frame : Frame
    points : Points
        Of the frame's space.
    order : int64 (m,)
        Rows; m ≥ 1.
    team : ThreadTeam, optional
        The caller's thread alone unless given.

    Returns
    -------
    Packed
        Row i is ``order[i]``; its margins hold among packed rows of no greater length and residue, as those of a
        selection of one set are.

    Notes
    -----
    O(m d). Besides the result, 4096 rows a thread.
    """
    kind, size = _KINDS[frame.arithmetic], points.size
    groups = -(-size // kind.parts)
    lines = groups + 3
    words = aligned_words(-(-order.size // kind.columns) * kind.columns * lines)
    lengths, residues = np.empty(order.size), np.empty(order.size)
    values = points.values.reshape(-1, size)

    def work(_: int, start: int) -> None:
        part = order[start : start + _BLOCK_ROWS]
        piece = words[start * lines : (start + _BLOCK_ROWS) * lines]
        pack_rows(
            values[part].reshape(-1), points.factors[part], frame.centre, frame.scale, kind.parts, kind.columns,
            piece, piece.view(np.float32), lengths[start : start + _BLOCK_ROWS], residues[start : start + _BLOCK_ROWS],
        )  # fmt: skip

    (team or ThreadTeam(1)).run(work, range(0, order.size, _BLOCK_ROWS))
    margin = margins(frame.arithmetic, size, lengths, residues)
    return Packed(frame.arithmetic, words, groups, kind.columns, margin, frame.scale)


def pack_others(frame: Frame, rows: F32) -> Packed:
    """Pack rows (m, d) that are no points of a set but lie in its space."""
    others = Points(np.ascontiguousarray(rows).reshape(-1), np.ones(len(rows)), rows.shape[1])
    return pack_some(frame, others, np.arange(len(rows)))
