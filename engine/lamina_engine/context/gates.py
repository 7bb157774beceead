"""Gates of a turn: confidence of the best result against thresholds, and topic drift.

The confidence is that of every recall (`lamina_engine.recall.relevance`), on one scale for all models and sizes of vaults. A rank
score scaled so that the best hit has 0.95 would pass every gate.
"""

from __future__ import annotations

import re
from typing import Final, Literal

import numpy as np

from lamina_engine.settings import Injection
from lamina_kernels.layouts import F32

Mode = Literal["full", "soft_gate", "soft_skip", "hard_skip"]
BAND: Final = 0.05
"""So far below the threshold half a budget is given; further below, nothing."""
NO_DRIFT_KNOWN: Final = 0.5

_COMMAND: Final = re.compile(r"/[\w:-]+(?:\s|$)")


def is_command(prompt: str) -> bool:
    """Return whether a prompt is a slash command; one that begins with a path is not."""
    return _COMMAND.match(prompt) is not None


def gate(best: float, collection: str, settings: Injection) -> Mode:
    """Return the mode of a turn by the threshold of the best result's collection."""
    threshold = settings.threshold(collection)
    if best < settings.hard_floor:
        return "hard_skip"
    if best < threshold - BAND:
        return "soft_skip"
    return "soft_gate" if best < threshold else "full"


def drift(present: F32 | None, former: F32 | None) -> float:
    """Return the distance of a prompt from the one before: 1 − cosine in [0, 1].

    0.5 where one of them is unknown or zero. The turn before counts also where nothing was shown on it.
    """
    if present is None or former is None or present.shape != former.shape:
        return NO_DRIFT_KNOWN
    a, b = present.astype(np.float64), former.astype(np.float64)
    lengths = float(np.sqrt((a * a).sum()) * np.sqrt((b * b).sum()))
    if not lengths > 0.0:
        return NO_DRIFT_KNOWN
    return min(max(1.0 - float((a * b).sum()) / lengths, 0.0), 1.0)
