"""Rows packed alike: several selections of the same space, in any order, with scores between them.

`lamina_kernels.packed.pack` packs all rows as they stand. A `Frame` packs those that are asked for, in the order that is
asked for, so that rows sorted by cell need no second copy; rows that are no points, such as centres, are packed into
the same space.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lamina_kernels.layouts import F32, F64, I64, Points
from lamina_kernels.packed import _KINDS, Arithmetic, Packed, _centre, margins, pack_rows
from lamina_kernels.threads import Crew

_BLOCK: Final = 4096
"""Rows packed at once: whole panels of any arithmetic."""


class Frame(NamedTuple):
    """How rows are packed: what is taken from each, and what the difference is multiplied by."""

    arithmetic: Arithmetic
    centre: F64
    scale: float


def frame_of(points: Points, arithmetic: Arithmetic, *, centred: bool) -> Frame:
    """Return how points are packed; see `lamina_kernels.packed.pack`."""
    return Frame(arithmetic, *(_centre(points) if centred else (np.zeros(points.size), 1.0)))


def pack_some(frame: Frame, points: Points, order: I64, crew: Crew | None = None) -> Packed:
    """Pack some points, in an order.

    Parameters
    ----------
    frame : Frame
    points : Points
        Of the frame's space.
    order : int64 (m,)
        Rows; m ≥ 1.
    crew : Crew, optional
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
    words = np.zeros(-(-order.size // kind.columns) * kind.columns * lines, np.int32)
    lengths, residues = np.empty(order.size), np.empty(order.size)
    values = points.values.reshape(-1, size)

    def work(_: int, start: int) -> None:
        part = order[start : start + _BLOCK]
        piece = words[start * lines : (start + _BLOCK) * lines]
        pack_rows(
            values[part].reshape(-1), points.factors[part], frame.centre, frame.scale, kind.parts, kind.columns,
            piece, piece.view(np.float32), lengths[start : start + _BLOCK], residues[start : start + _BLOCK],
        )  # fmt: skip

    (crew or Crew(1)).run(work, range(0, order.size, _BLOCK))
    margin = margins(frame.arithmetic, size, lengths, residues)
    return Packed(frame.arithmetic, words, groups, kind.columns, margin, frame.scale)


def pack_others(frame: Frame, rows: F32) -> Packed:
    """Pack rows (m, d) that are no points of a set but lie in its space."""
    others = Points(np.ascontiguousarray(rows).reshape(-1), np.ones(len(rows)), rows.shape[1])
    return pack_some(frame, others, np.arange(len(rows)))
