"""Freshness tiers: by commits since a chunk was written, or by its age in half-lives.

Lower bounds are inclusive: 3 commits are aging, 10 stale, 25 expired.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from lamina_engine.errors import InvalidConfig
from lamina_engine.index.freshness import TIERS

if TYPE_CHECKING:
    pass

FRESH, AGING, STALE, EXPIRED, UNKNOWN = TIERS
UNVERIFIED: Final = "unverified"
"""In place of a tier, for a chunk that no scan has seen."""
ORDER: Final = (EXPIRED, STALE, AGING, FRESH, UNKNOWN)
"""Tiers by the attention they need, as reports list them."""
MULTIPLIERS: Final[Mapping[str, float]] = MappingProxyType(
    {FRESH: 1.0, AGING: 0.9, STALE: 0.7, EXPIRED: 0.5, UNVERIFIED: 1.0, UNKNOWN: 0.8}
)
"""Score multipliers of code patterns in a turn's context, which tells stale ones with their tier; they do not touch recall."""
AGE_HALF_LIVES: Final = (1.0, 2.0, 4.0)
"""Ages, in half-lives, from which a chunk without a file is aging, stale, expired: recency below 1/2, 1/4, 1/16."""
_BOUNDS: Final = {AGING: (1, 100), STALE: (2, 500), EXPIRED: (3, 1000)}
_ENABLED: Final = "FRESHNESS_ENABLED"
_THRESHOLD: Final = "FRESHNESS_COMMIT_THRESHOLD_"
_PENALTY: Final = "FRESHNESS_PENALTY_"
_TRUE: Final = ("true", "1", "yes", "on")
_FALSE: Final = ("false", "0", "no", "off")


class Thresholds(Struct, frozen=True, forbid_unknown_fields=True):
    """Commits from which a chunk is aging, stale, expired."""

    aging: int = 3
    stale: int = 10
    expired: int = 25

    def __post_init__(self) -> None:
        for name, (low, high) in _BOUNDS.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise InvalidConfig(
                    f"the freshness threshold {name}={value!r} must be a whole number from {low} to {high}"
                )
        if not self.aging < self.stale < self.expired:
            raise InvalidConfig(
                f"freshness thresholds must ascend, aging < stale < expired; given were {self.aging}, {self.stale}, {self.expired}"
            )


class FreshnessSettings(Struct, frozen=True):
    """Freshness settings of the environment."""

    enabled: bool = True
    thresholds: Thresholds = Thresholds()
    multipliers: Mapping[str, float] = MULTIPLIERS


def tier_of_commits(commits: int, thresholds: Thresholds | None = None) -> str:
    """Return the tier of a chunk by the commits that touched its source since it was written."""
    limits = thresholds or Thresholds()
    if commits >= limits.expired:
        return EXPIRED
    if commits >= limits.stale:
        return STALE
    return AGING if commits >= limits.aging else FRESH


def tier_of_age(age_days: float, half_life_days: float) -> str:
    """Return the tier of a chunk without a file by its age; see `AGE_HALF_LIVES`."""
    age = age_days / half_life_days
    aging, stale, expired = AGE_HALF_LIVES
    if age >= expired:
        return EXPIRED
    if age >= stale:
        return STALE
    return AGING if age >= aging else FRESH


def multiplier(tier: str | None, multipliers: Mapping[str, float] = MULTIPLIERS) -> float:
    """Return the score multiplier of a tier; None is unverified, an unknown name is ``unknown``."""
    return multipliers.get(UNVERIFIED if tier is None else tier, multipliers[UNKNOWN])


def read_settings(environ: Mapping[str, str] | None = None) -> FreshnessSettings:
    """Read ``FRESHNESS_ENABLED``, ``FRESHNESS_COMMIT_THRESHOLD_*`` and ``FRESHNESS_PENALTY_*``.

    Empty counts as unset. Thresholds are checked also where freshness is switched off, so that a mistake shows at once.
    """
    given = {name: text.strip() for name, text in (os.environ if environ is None else environ).items() if text.strip()}
    limits: dict[str, Any] = {
        name: _commit_count(_THRESHOLD + name.upper(), given) for name in _BOUNDS if _THRESHOLD + name.upper() in given
    }
    penalties = {
        name: _share(_PENALTY + name.upper(), given) for name in MULTIPLIERS if _PENALTY + name.upper() in given
    }
    enabled = given.get(_ENABLED, "true").lower()
    if enabled not in (*_TRUE, *_FALSE):
        raise InvalidConfig(f"{_ENABLED}={given[_ENABLED]!r} must be true or false")
    return FreshnessSettings(enabled in _TRUE, Thresholds(**limits), MappingProxyType({**MULTIPLIERS, **penalties}))


def _commit_count(name: str, given: Mapping[str, str]) -> int:
    if not (given[name].isascii() and given[name].isdigit()):
        raise InvalidConfig(f"{name}={given[name]!r} must be a whole number of commits")
    return int(given[name])


def _share(name: str, given: Mapping[str, str]) -> float:
    try:
        value = float(given[name])
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise InvalidConfig(f"{name}={given[name]!r} must be a number from 0 to 1")
    return value
