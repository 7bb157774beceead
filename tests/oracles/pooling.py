"""A text's vector from exact fractions, rounded at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def pool(words: Sequence[int], word_sums: Sequence[Sequence[float]], dim: int) -> list[float]:
    total = [sum((Fraction(word_sums[word][j]) for word in words), Fraction(0)) for j in range(dim)]
    norm = math.sqrt(sum((x * x for x in total), Fraction(0)))
    return [float(x) / norm if norm else 0.0 for x in total]
