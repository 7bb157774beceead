"""What walks make of the candidates of a recall: which scores they raise, and what they bring in.

Two walks count, one after the other: a best-first walk from the best hits, and mass pushed from them. Each gives a row
a share of its own score there, relative to the greatest of that walk. No row is lowered, and none comes up to the best
hit. The kernel's own Python serves until it is compiled: a recall's walks take some fifty rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lamina_kernels._jit import is_ready, kernel
from lamina_kernels.layouts import F64, I64, U8

BELOW_BEST = 1.0 - 1e-9
"""No walk lifts a row to the best hit's score."""
UNMOVED = -1.0
"""Stands for a row that stays as it is."""


class Shares(NamedTuple):
    """How much walks count.

    Attributes
    ----------
    strong : float
        Own score, relative to the best hit's, from which on a candidate is a strong one.
    raised, added : float
        What a strong candidate, and any other row, gets of the score of the best-first walk.
    raised_by_push, added_by_push : float
        The same of pushed mass.
    """

    strong: float
    raised: float
    added: float
    raised_by_push: float
    added_by_push: float


def merge(
    own_rows: I64,
    own: F64,
    top: float,
    shares: Shares,
    live: U8,
    begun: I64,
    led: I64,
    led_scores: F64,
    silent: U8,
    greatest: float,
    pushed: I64,
    pushed_scores: F64,
    most: float,
) -> F64:
    """Return what walks make of the own scores of rows.

    Parameters
    ----------
    own_rows : int64 (n,)
        Candidates, ascending.
    own : float64 (n,)
        Their own scores.
    top : float
        The best hit's; > 0.
    shares : Shares
    live : uint8 (rows,) or (0,)
        0 for rows that may not be returned; empty where all may.
    begun : int64 (s,)
        Rows that the walks began with: pushed mass does not count there.
    led : int64 (w,)
        Distinct rows that the best-first walk came to; below 0 what is to be left out.
    led_scores : float64 (w,)
    silent : uint8 (w,)
        1 where the way there raises no candidate.
    greatest : float
        The greatest score of that walk; 0 where nothing counts.
    pushed : int64 (p,)
        Distinct rows that mass came to.
    pushed_scores : float64 (p,)
    most : float
        The greatest of these; 0 where nothing counts.

    Returns
    -------
    float64 (w + p,)
        The new own score of each row, `UNMOVED` where it stays as it is. A row of both walks is told where the first has
        it, if that moves it.

    Notes
    -----
    O((w + p) log n + s), serial.
    """
    out = np.full(led.size + pushed.size, UNMOVED)
    run = merge_walks if is_ready(merge_walks) else merge_walks.py_func
    run(
        own_rows, own, top, *shares, live, begun, led, led_scores, silent, greatest, pushed, pushed_scores, most, out
    )  # fmt: skip
    return out


def _examples() -> tuple[object, ...]:
    long, one, byte = np.zeros(1, np.int64), np.ones(1), np.zeros(1, np.uint8)
    return long, one, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0, byte, long, long, one, byte, 1.0, long, one, 1.0, np.empty(2)


@kernel(examples=[_examples])
def merge_walks(
    own_rows: I64,
    own: F64,
    top: float,
    strong: float,
    raised: float,
    added: float,
    raised_by_push: float,
    added_by_push: float,
    live: U8,
    begun: I64,
    led: I64,
    led_scores: F64,
    silent: U8,
    greatest: float,
    pushed: I64,
    pushed_scores: F64,
    most: float,
    out: F64,
) -> None:
    """Write what walks make of the own scores of rows.

    Parameters
    ----------
    own_rows, own, top, strong, raised, added, raised_by_push, added_by_push
        As for `merge`; the fields of ``shares`` one by one.
    live, begun, led, led_scores, silent, greatest, pushed, pushed_scores, most
        As for `merge`.
    out : float64 (w + p,)
        Filled with `UNMOVED`; written where a row moves.
    """
    # written without helpers: in a cold process this runs as it stands, and a helper would load Numba
    order, started = np.argsort(led), np.sort(begun)
    ascending = led[order]
    for i in range(led.size + pushed.size):
        by_push = i >= led.size
        row = pushed[i - led.size] if by_push else led[i]
        if row < 0 or (most if by_push else greatest) <= 0.0 or (live.size > 0 and live[row] == 0):
            continue
        at = np.searchsorted(own_rows, row)
        known = at < own_rows.size and own_rows[at] == row
        before = own[at] / top if known else UNMOVED
        is_strong = known and before >= strong
        told = i
        if by_push:
            at = np.searchsorted(started, row)
            if at < started.size and started[at] == row:
                continue
            at = np.searchsorted(ascending, row)
            if at < led.size and ascending[at] == row and out[order[at]] != UNMOVED:
                told = order[at]
                before = out[told] / top
            share = raised_by_push if is_strong else added_by_push
            lift = share * pushed_scores[i - led.size] / most
        else:
            share = raised if is_strong else added
            lift = 0.0 if known and silent[i] != 0 else share * led_scores[i] / greatest
        score = min(lift, BELOW_BEST)
        if score > before:
            out[told] = min(score * top, 1.0)
