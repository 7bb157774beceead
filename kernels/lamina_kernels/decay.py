"""Decay by hops: how much a node some links away still weighs.

Links are weighed by hops and never by the clock: days without work on a project say nothing about what led to what.
Tens of nodes, so NumPy is all of it. Decay by age is in `lamina_kernels.scoring`.
"""

from __future__ import annotations

import numpy as np

from lamina_kernels.layouts import F64, I32, I64


def linear_hop_decay(hops: I32 | I64, hold: float, dies: float) -> F64:
    """Weight of what lies some links away: 1 for a while, then falling evenly to 0.

    Parameters
    ----------
    hops : int32 or int64 (n,)
        ≥ 0.
    hold : float
        Hops up to which the weight is 1; ≥ 0.
    dies : float
        Hops from which on it is 0; > ``hold``.

    Returns
    -------
    float64 (n,)
        In [0, 1].

    Notes
    -----
    max(0, 1 − max(0, hops − hold) / (dies − hold)).
    """
    fallen = np.maximum(hops.astype(np.float64) - hold, 0.0) / (dies - hold)
    return np.maximum(1.0 - fallen, 0.0)


def exponential_hop_decay(hops: I32 | I64, base: float, least: float) -> F64:
    """Weight of what lies some links away: multiplied by the base each hop, and 0 once it is below the least.

    Parameters
    ----------
    hops : int32 or int64 (n,)
        ≥ 0.
    base, least : float
        In (0, 1).

    Returns
    -------
    float64 (n,)
        In [0, 1].
    """
    weight = np.power(base, hops.astype(np.float64))
    return np.where(weight < least, 0.0, weight)
