"""Intent tables: the weight of each relation in a walk, and the paths of a mass push.

Tables and coefficients are those of ClawMem's adaptive traversal and multi-path propagation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from lamina_engine.graph.registry import STANDARD, Registry
from lamina_kernels.graph.hops import RELATIONS
from lamina_kernels.layouts import F64

STRUCTURE: Final = 0.6
"""How much a relation's weight by intent counts in the exponent of a transition."""
AFFINITY: Final = 0.4
"""How much the cosine with the question counts there."""

WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = {
    "why": {"causal": 5.0, "semantic": 2.0, "temporal": 0.5, "entity": 1.0},
    "when": {"causal": 1.0, "semantic": 2.0, "temporal": 5.0, "entity": 0.5},
    "entity": {"causal": 2.0, "semantic": 3.0, "temporal": 1.0, "entity": 6.0},
    "what": {"causal": 1.0, "semantic": 5.0, "temporal": 1.0, "entity": 2.0},
}
"""Weight of each relation by intent; 1 where it is not listed."""

PATHS: Final[Mapping[str, Sequence[tuple[str, ...]]]] = {
    "why": (("semantic", "causal"), ("causal", "semantic"), ("semantic", "semantic")),
    "entity": (("entity", "semantic"), ("entity", "entity"), ("semantic", "entity")),
    "when": (("temporal", "semantic"), ("semantic", "temporal")),
    "what": (("semantic", "semantic"), ("semantic", "supporting")),
}
"""Along which relations mass is pushed, hop by hop."""


def gains(names: Iterable[str], intent: str, registry: Registry = STANDARD) -> F64:
    """Return exp(0.6 · weight) by relation code, float64 (256,); 0 if it never raises a score."""
    table = WEIGHTS[intent]
    silent = {relation.name for relation in registry if not relation.raises}
    found = np.full(RELATIONS, np.exp(STRUCTURE))
    for code, name in enumerate(names):
        found[code] = 0.0 if name in silent else np.exp(STRUCTURE * table.get(name, 1.0))
    return found
