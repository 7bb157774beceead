"""Named settings: ``vault.toml`` < ``.env`` < environment < arguments, validated on load.

The names are those that AI Memory documents. A ``.env`` may hold anything: only names of this module are read from it, and
none of them can name an endpoint, a key or a program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct

from lamina_engine.errors import InvalidConfig
from lamina_engine.profiles import Adjustments, parse_type_half_lives

T = TypeVar("T")
DOTENV: Final = ".env"
_Share = Annotated[float, Meta(ge=0.0, le=1.0)]
_Days = Annotated[int, Meta(ge=1, le=1_000_000)]
_WEIGHTS_SUM: Final = 0.01
"""How far from 1 the three weights of the adaptive budget may add up."""


class Injection(Struct, frozen=True):
    """Settings of the context given to agents; see the room ``context``."""

    enabled: bool = True
    bootstrap_token_budget: Annotated[int, Meta(ge=500, le=5000)] = 2500
    budget_floor: Annotated[int, Meta(ge=100, le=2000)] = 500
    budget_ceiling: Annotated[int, Meta(ge=500, le=5000)] = 1500
    quality_weight: _Share = 0.5
    density_weight: _Share = 0.3
    drift_weight: _Share = 0.2
    confidence_threshold: _Share = 0.6
    hard_floor: _Share = 0.45
    threshold_conventions: _Share = 0.65
    threshold_code_patterns: _Share = 0.55
    threshold_discussions: _Share = 0.60
    score_gap_threshold: Annotated[float, Meta(ge=0.5, le=0.95)] = 0.7
    max_retrievals: Annotated[int, Meta(ge=1, le=50)] = 10

    def __post_init__(self) -> None:
        if self.budget_floor > self.budget_ceiling:
            raise InvalidConfig(
                f"INJECTION_BUDGET_FLOOR={self.budget_floor} is above INJECTION_BUDGET_CEILING={self.budget_ceiling}"
            )
        total = self.quality_weight + self.density_weight + self.drift_weight
        if abs(total - 1.0) > _WEIGHTS_SUM:
            raise InvalidConfig(
                f"INJECTION_QUALITY_WEIGHT, INJECTION_DENSITY_WEIGHT and INJECTION_DRIFT_WEIGHT add up to {total:g}; "
                f"they must add up to 1, give or take {_WEIGHTS_SUM}"
            )

    def threshold(self, collection: str) -> float:
        """Return the confidence from which memories of a collection are worth a full budget."""
        found: float = getattr(self, f"threshold_{collection.replace('-', '_')}", self.confidence_threshold)
        return found


class Decay(Struct, frozen=True):
    """Settings of age in scores; None leaves a value to the profiles."""

    enabled: bool = True
    semantic_weight: _Share | None = None
    half_life_code_patterns: _Days | None = None
    half_life_discussions: _Days | None = None
    half_life_conventions: _Days | None = None
    half_life_jira_data: _Days | None = None
    half_life_github: _Days | None = None


class Settings(NamedTuple):
    """All settings, checked."""

    injection: Injection
    decay: Decay
    type_half_lives: dict[str, float] | None
    """What ``DECAY_TYPE_OVERRIDES`` says; None where it is unset."""
    given: Mapping[str, str]
    """Every variable that was said, as text, by name: what other rooms read theirs from."""

    def adjustments(self) -> Adjustments:
        """Return the changes that the settings make to the profiles."""
        decay = self.decay
        prefix = "half_life_"
        days = {
            name.removeprefix(prefix).replace("_", "-"): float(value)
            for name in Decay.__struct_fields__
            if name.startswith(prefix) and (value := getattr(decay, name)) is not None
        }
        return Adjustments(1.0 if not decay.enabled else None, decay.semantic_weight, self.type_half_lives, days)


_OWN_NAMES: Final = {"bootstrap_token_budget": "BOOTSTRAP_TOKEN_BUDGET", "max_retrievals": "MAX_RETRIEVALS"}
_INJECTION: Final = {_OWN_NAMES.get(f, f"INJECTION_{f.upper()}"): f for f in Injection.__struct_fields__}
_DECAY: Final = {f"DECAY_{f.upper()}": f for f in Decay.__struct_fields__}
_OVERRIDES: Final = "DECAY_TYPE_OVERRIDES"
_FRESHNESS: Final = tuple(
    f"FRESHNESS_{name}"
    for name in (
        "ENABLED", "COMMIT_THRESHOLD_AGING", "COMMIT_THRESHOLD_STALE", "COMMIT_THRESHOLD_EXPIRED", "PENALTY_FRESH",
        "PENALTY_AGING", "PENALTY_STALE", "PENALTY_EXPIRED", "PENALTY_UNVERIFIED", "PENALTY_UNKNOWN",
    )
)  # fmt: skip
"""Read and checked by the room of freshness."""
NAMES: Final = frozenset({*_INJECTION, *_DECAY, _OVERRIDES, *_FRESHNESS})
_BOOLEANS: Final = {"yes": "true", "on": "true", "no": "false", "off": "false"}


def load(
    table: Mapping[str, Any],
    *,
    environ: Mapping[str, str] | None = None,
    dotenv: Path | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> Settings:
    """Read the settings from all four places; a later one wins, empty values do not count."""
    said: dict[str, tuple[str, str]] = {}
    places: tuple[tuple[str, Iterable[tuple[str, Any]], bool], ...] = (
        ("vault.toml [settings]", table.items(), True),
        (DOTENV, _dotenv(dotenv if dotenv is not None else Path(DOTENV)), False),
        ("the environment", (os.environ if environ is None else environ).items(), False),
        ("the arguments", (arguments or {}).items(), True),
    )
    for place, pairs, strict in places:
        for key, value in pairs:
            name = key.upper() if strict else key
            if name not in NAMES:
                if strict:
                    raise InvalidConfig(
                        f"{place} names {key!r}, which is not a setting; give one of {', '.join(sorted(NAMES))}"
                    )
            elif text := _text(value):
                said[name] = (text, place)
    overrides = said.get(_OVERRIDES)
    return Settings(
        _group(Injection, _INJECTION, said),
        _group(Decay, _DECAY, said),
        parse_type_half_lives(overrides[0]) if overrides else None,
        {name: text for name, (text, _) in said.items()},
    )


def _text(value: Any) -> str:
    """Return a value as it would stand in an environment."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):  # overrides as a table of TOML
        return ",".join(f"{name}:{days}" for name, days in value.items())
    return str(value).strip()


def _group(kind: type[T], names: Mapping[str, str], said: Mapping[str, tuple[str, str]]) -> T:
    values: dict[str, Any] = {}
    for name, field in names.items():
        if name in said:
            text, place = said[name]
            try:
                found = msgspec.convert({field: _BOOLEANS.get(text.lower(), text)}, _loose(kind, field), strict=False)
            except msgspec.ValidationError as error:
                reason = str(error).partition(" - at ")[0]
                raise InvalidConfig(f"{name}={text!r} ({place}) cannot be used: {reason}") from error
            values[field] = found[field]
    return kind(**values)


def _loose(kind: type, field: str) -> Any:
    """Return a type for one field of a struct, without checks of the others' defaults."""
    types = {each.name: each.type for each in msgspec.structs.fields(kind)}
    return dict[str, types[field]]  # type: ignore[valid-type]


_LINE: Final = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_QUOTED: Final = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:#.*)?$""")


def _dotenv(path: Path) -> list[tuple[str, str]]:
    """Return the variables of a ``.env`` in order; other lines are skipped."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        match = _LINE.match(line)
        if match:
            quoted = _QUOTED.match(match[2])
            value = (quoted[1] or quoted[2] or "") if quoted else re.split(r"\s#", match[2])[0]
            found.append((match[1], value.strip()))
    return found
