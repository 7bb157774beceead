"""Decay in plain Python, straight from the definition."""

from __future__ import annotations

import math


def half_life(age_s: float, half_life_s: float) -> float:
    if math.isinf(half_life_s):
        return 1.0
    if math.isnan(age_s) or (math.isinf(age_s) and age_s > 0):
        return 0.0
    return float(0.5 ** (max(age_s, 0.0) / half_life_s))


def blend(semantic: float, age_s: float, half_life_s: float, semantic_weight: float) -> float:
    return semantic_weight * semantic + (1.0 - semantic_weight) * half_life(age_s, half_life_s)


def linear_hops(hops: int, hold: float, dies: float) -> float:
    if hops <= hold:
        return 1.0
    return 0.0 if hops >= dies else 1.0 - (hops - hold) / (dies - hold)


def exponential_hops(hops: int, base: float, least: float) -> float:
    weight = math.pow(base, hops)
    return weight if weight >= least else 0.0
