"""Gates of a turn: confidence of the best result against thresholds, and topic drift.

The signal is the best cosine between the prompt and a memory, on one scale for all models. A rank score scaled so that the
best hit has 0.95 would pass every gate; the cosine of a prompt that the vault knows nothing about is low, and stays low.
"""

from __future__ import annotations

import itertools
import re
from typing import Final, Literal

import numpy as np

from lamina_engine.settings import Injection
from lamina_kernels.layouts import F32

Mode = Literal["full", "soft_gate", "soft_skip", "hard_skip"]
BAND: Final = 0.05
"""So far below the threshold half a budget is given; further below, nothing."""
NO_DRIFT_KNOWN: Final = 0.5

_POINTS: Final[dict[str, tuple[tuple[float, float], ...]]] = {
    "wordllama": ((0.0, 0.0), (0.35, 0.45), (0.45, 0.60), (0.75, 1.0)),
    "minilm": ((0.0, 0.0), (0.35, 0.45), (0.45, 0.60), (0.75, 1.0)),
    "words": ((0.0, 0.0), (0.30, 0.45), (0.45, 0.60), (0.75, 1.0)),
}
"""From a model's cosines to confidence, between these points in straight lines; ``words``: from coverage, where there are no
vectors. Of the bundled model, asked 400 questions that a vault of dialogues answers, 95 % have a best cosine above 0.37; of
100 that it cannot, 95 % lie below 0.29, and none reaches 0.40: see decision 0019."""
_COMMAND: Final = re.compile(r"/[\w:-]+(?:\s|$)")


def is_command(prompt: str) -> bool:
    """Return whether a prompt is a slash command; one that begins with a path is not."""
    return _COMMAND.match(prompt) is not None


def confidence(signal: float, model: str) -> float:
    """Return a best cosine, or the coverage of ``words``, as confidence from 0 to 1."""
    value = min(max(signal, 0.0), 1.0)
    known = next((points for name, points in _POINTS.items() if model.startswith(name)), None)
    if known is None:
        return value
    for (low, below), (high, above) in itertools.pairwise(known):
        if value <= high:
            return below + (above - below) * (value - low) / (high - low)
    return 1.0


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
