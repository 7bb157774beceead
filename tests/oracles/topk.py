"""The best of a list, by sorting all of it."""

from __future__ import annotations

import math
from collections.abc import Sequence


def top_k(scores: Sequence[float], k: int, mask: Sequence[int] | None = None) -> list[tuple[int, float]]:
    eligible = [
        (row, score) for row, score in enumerate(scores) if not math.isnan(score) and (mask is None or mask[row])
    ]
    return sorted(eligible, key=lambda pair: (-pair[1], pair[0]))[:k]
