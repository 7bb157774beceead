"""Profile registry: built-in profiles as a vault's settings adjust them, and its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from lamina_engine.errors import InvalidConfig
from lamina_engine.profiles import (
    FINITE,
    Boosts,
    Decay,
    Diversity,
    FactsLane,
    Graph,
    Neighbours,
    Profile,
    Siblings,
    TimePreference,
)

TASK_TIME_CONSTANT_DAYS: Final = 14.0
"""τ of the task profile: recency is exp(−age/τ), that is, halved every τ·ln 2 = 9.704 days."""

BUILT_IN: Final[dict[str, Profile]] = {
    profile.id: profile
    for profile in (
        Profile("default@1", time=TimePreference(weight=0.1), facts=FactsLane(weight=0.3)),
        Profile("lexical@1", vector_share=0.0),
        Profile(
            "temporal@1",
            decay=Decay(semantic_weight=0.7),
            time=TimePreference(weight=0.2, filter_confidence=0.9),
        ),
        Profile(
            "task@1",
            vector_share=1.0,
            spread=0.0,
            decay=Decay(
                semantic_weight=0.7,
                half_life_days=TASK_TIME_CONSTANT_DAYS * math.log(2.0),
                type_half_life_days={},
                collection_half_life_days={},
                missing_created_at="0001-01-01T00:00:00Z",
            ),
            neighbours=Neighbours(most=3),
            invalidated=1.0,
        ),
        Profile("causal@1", graph=Graph(intents=("why", "entity"))),
        Profile("entity@1", fusion="ranks", facts=FactsLane(weight=0.6, other=0.2, share=0.6, least=40.0)),
        Profile(
            "episodic@1",
            time=TimePreference(weight=0.1),
            diversity=Diversity(mmr=0.7, slots=15),
            boosts=Boosts(recency=0.3, session=1.2, length_tokens=500),
            siblings=Siblings(topics=3),
        ),
    )
}
"""The profiles that ship with Lamina, by id."""


class Adjustments(NamedTuple):
    """Settings that adjust the built-in profiles; None leaves a parameter as it is."""

    undecayed: float | None = None
    """Semantic weight of every profile where age is switched off: 1."""
    semantic_weight: float | None = None
    """Semantic weight of the profile ``temporal``."""
    type_half_lives: Mapping[str, float] | None = None
    """Takes the place of the type map of every profile."""
    collection_half_lives: Mapping[str, float] = MappingProxyType({})
    """Days, by collection: replaces entries of the maps there are."""

    def of(self, profile: Profile) -> Profile:
        """Return a profile as it is with them."""
        decay, changes = profile.decay, dict[str, Any]()
        weight = self.semantic_weight if profile.name == "temporal" else None
        if self.type_half_lives is not None:
            changes["type_half_life_days"] = dict(self.type_half_lives)
        if decay.collection_half_life_days and self.collection_half_lives:
            changes["collection_half_life_days"] = {**decay.collection_half_life_days, **self.collection_half_lives}
        if self.undecayed is not None or weight is not None:
            changes["semantic_weight"] = self.undecayed if self.undecayed is not None else weight
        if not changes:
            return profile
        return msgspec.structs.replace(profile, decay=msgspec.structs.replace(decay, **changes))


class Profiles:
    """The profiles a vault knows: the built-in ones and those of its ``vault.toml``.

    Parameters
    ----------
    configured : mapping, optional
        ``[profiles.*]`` of ``vault.toml``: each has ``base`` and any parameters to override. Tables are merged with those
        of the base (a half-life map gains entries); everything else is replaced.
    adjusted : Adjustments or mapping, optional
        What settings say of the built-in profiles; a mapping alone is the type map that ``DECAY_TYPE_OVERRIDES`` says.

    Raises
    ------
    InvalidConfig
        When a profile has no known base, an unknown parameter, or a value out of range.
    """

    def __init__(
        self,
        configured: Mapping[str, Any] | None = None,
        adjusted: Adjustments | Mapping[str, float] | None = None,
    ) -> None:
        changes = adjusted if isinstance(adjusted, Adjustments) else Adjustments(type_half_lives=adjusted)
        self._known = {key: changes.of(profile) for key, profile in BUILT_IN.items()}
        for name, overrides in (configured or {}).items():
            self._add(name, overrides)

    def _add(self, name: str, overrides: Any) -> None:
        if not isinstance(overrides, Mapping) or not isinstance(overrides.get("base"), str):
            raise InvalidConfig(f'[profiles.{name}] needs base = "...", one of {", ".join(sorted(self._known))}')
        if not name or "@" in name:
            raise InvalidConfig(
                f"[profiles.{name}] has no usable name; give one without '@', the version is added to it"
            )
        if any(profile.name == name for profile in BUILT_IN.values()):
            raise InvalidConfig(f"[profiles.{name}] has the name of a built-in profile; choose another")
        base = self.get(overrides["base"])
        given = {key: value for key, value in overrides.items() if key != "base"}
        if "id" in given:
            raise InvalidConfig(f"[profiles.{name}] sets id; the id is made from the name: {name}@1")
        merged = _merge(msgspec.to_builtins(base), given) | {"id": f"{name}@1"}
        try:
            self._known[f"{name}@1"] = msgspec.convert(merged, Profile)
        except msgspec.ValidationError as error:
            raise InvalidConfig(f"[profiles.{name}]: {error}; see the parameters of base {base.id!r}") from error

    def get(self, name: str) -> Profile:
        """Return a profile by id (``temporal@1``) or by name (its newest version).

        Raises
        ------
        InvalidConfig
            When there is none.
        """
        if isinstance(name, str) and name in self._known:
            return self._known[name]
        versions = [profile for profile in self._known.values() if profile.name == name]
        if not versions:
            raise InvalidConfig(f"profile={name!r} is not known; allowed are {', '.join(sorted(self._known))}")
        return versions[-1]

    def ids(self) -> list[str]:
        """Return the ids of all profiles."""
        return sorted(self._known)


def _merge(base: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in given.items():
        merged[key] = (
            _merge(merged[key], value) if isinstance(value, Mapping) and isinstance(merged.get(key), dict) else value
        )
    return merged


def parse_type_half_lives(text: str) -> dict[str, float]:
    """Read ``DECAY_TYPE_OVERRIDES``: ``name:days`` pairs with commas between them.

    Spaces and blank pieces are skipped, the last of several pairs for a name wins, days are whole numbers from 1 up.

    Raises
    ------
    InvalidConfig
        When any piece is something else; nothing of the text is used then.
    """
    found: dict[str, float] = {}
    for piece in filter(None, (part.strip() for part in text.split(","))):
        name, colon, days = (part.strip() for part in piece.partition(":"))
        if not (name and colon and days.isascii() and days.isdigit() and 1.0 <= float(days) <= FINITE):
            raise InvalidConfig(
                f"DECAY_TYPE_OVERRIDES has the piece {piece!r}; "
                "each piece is name:days with a whole number of days from 1 up, as in agent_task:14"
            )
        found[name] = float(days)
    return found
