"""Dot products summed without any rounding on the way."""

from __future__ import annotations

import math
from collections.abc import Sequence


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def angular_distance(cosine: float) -> float:
    return math.acos(max(-1.0, min(1.0, cosine))) / math.pi
