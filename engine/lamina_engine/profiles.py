"""Profiles: frozen, versioned parameters of a recall. A profile selects and parameterises parts; it adds no code."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from lamina_engine.clock import parse_instant
from lamina_engine.errors import InvalidConfig

Share = Annotated[float, Meta(ge=0.0, le=1.0)]
_FINITE: Final = sys.float_info.max  # TOML can say inf, JSON cannot: such a term could not be explained
Positive = Annotated[float, Meta(gt=0.0, le=_FINITE)]
NotNegative = Annotated[float, Meta(ge=0.0, le=_FINITE)]
Count = Annotated[int, Meta(ge=1)]

TYPE_HALF_LIFE_DAYS: Final[dict[str, float]] = {
    "github_ci_result": 7,
    "agent_task": 14,
    "github_code_blob": 14,
    "github_commit": 14,
    "github_issue": 30,
    "github_pr": 30,
    "jira_issue": 30,
    "agent_memory": 30,
    "guideline": 60,
    "rule": 60,
    "agent_handoff": 180,
    "agent_insight": 180,
    "architecture_decision": 90,
}
"""Half-life by type, in days; a type here beats its collection."""
COLLECTION_HALF_LIFE_DAYS: Final[dict[str, float]] = {
    "code-patterns": 14,
    "conventions": 60,
    "discussions": 21,
    "github": 14,
    "jira-data": 30,
}
"""Half-life by collection, in days."""


class Lexical(Struct, frozen=True, forbid_unknown_fields=True):
    """Scoring of the lexical lane; see `lamina_engine.index.scoring.Bm25`."""

    k1: Positive = 1.2
    b: Share = 0.75
    body: Positive = 1.0
    header: NotNegative = 2.0
    """Weight of title, headings, tags and date."""
    context: NotNegative = 0.5
    """Weight of the preceding chunks that fill a short chunk's window."""
    surface: NotNegative = 0.2
    """Bonus for a word as written beside its stem."""


class Decay(Struct, frozen=True, forbid_unknown_fields=True):
    """How age lowers a score: score = w·semantic + (1 − w)·0.5^(age/half-life), w = ``semantic_weight``."""

    semantic_weight: Share = 1.0
    """1 switches age off."""
    half_life_days: Positive = 21.0
    """Where neither the type nor the collection has one."""
    type_half_life_days: dict[str, Positive] = msgspec.field(default_factory=TYPE_HALF_LIFE_DAYS.copy)
    collection_half_life_days: dict[str, Positive] = msgspec.field(default_factory=COLLECTION_HALF_LIFE_DAYS.copy)
    missing_created_at: str = "2020-01-01T00:00:00Z"
    """The date of a chunk that has none: old, so it never outranks a dated one by its age."""

    def __post_init__(self) -> None:
        parse_instant(self.missing_created_at, what="missing_created_at")


class Diversity(Struct, frozen=True, forbid_unknown_fields=True):
    """What is done about hits that repeat each other."""

    near_duplicate: Share = 1.0
    """Cosine from which a later hit is folded into an earlier one; 1 folds only chunks of equal content."""
    mmr: Share = 1.0
    """λ of maximal marginal relevance: 1 is pure relevance."""


class Neighbours(Struct, frozen=True, forbid_unknown_fields=True):
    """What the hits bring along: chunks one link away, after Clawpy's neighbour injection."""

    most: Annotated[int, Meta(ge=0)] = 0
    """Neighbours of one hit; 0 brings none."""
    share: Share = 0.5
    """Part of the hit's semantic score that a neighbour gets in place of one of its own."""
    relations: tuple[str, ...] = ("blocks", "related_to", "derived_from", "similar_to")
    """Along which it looks, in both directions."""
    best: bool = False
    """Of several hits with the same neighbour: False, the first one brings it; True, the one that gives it most."""


class Graph(Struct, frozen=True, forbid_unknown_fields=True):
    """Walks from the first hits, after ClawMem's intent search; see `lamina_engine.recall.expand`."""

    intents: tuple[str, ...] = ()
    """Intents for which links are walked."""
    anchors: Count = 10
    """Hits that walks begin with, at most."""
    strong: Share = 0.5
    """Share of the best hit's score from which on a hit is one that walks begin with; a weaker one may be walked to."""
    depth: Count = 2
    beam: Count = 5
    budget: Count = 30
    """Of the best-first walk: hops, chunks taken in each, chunks in all."""
    pushed: Annotated[int, Meta(ge=0)] = 20
    """Chunks taken from mass pushed along the intent's paths; 0 for none."""
    raised: Positive = 1.1
    """What a strong hit that a walk reaches gets of the walk's score."""
    added: Share = 0.8
    """The same for any other chunk: below 1, so that it passes no best hit."""
    raised_by_push: Positive = 0.9
    added_by_push: Share = 0.75


LANES_BY_INTENT: Final[dict[str, tuple[float, float]]] = {"why": (1.0, 1.5), "when": (1.5, 1.0)}
"""Weights of the lexical and the vector lane by intent, in profiles that walk links; 1 and 1 for the others."""


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """All parameters of a recall."""

    id: str
    """Name and version, such as ``temporal@1``."""
    vector_share: Share | None = None
    """Part of the score that is the vector lane's, the rest is the lexical lane's; None: what the embedder says of itself."""
    depth: Count = 100
    """Candidates of each lane."""
    fusion: Literal["absolute", "ranks"] = "absolute"
    """``absolute`` adds coverage and cosine, both in [0, 1]; ``ranks`` is reciprocal rank fusion."""
    rank_constant: Positive = 60.0
    """k of reciprocal rank fusion."""
    spread: Share = 0.3
    """Share of a short chunk's score that the chunk before it receives: the one whose words it was indexed with."""
    lexical: Lexical = Lexical()
    decay: Decay = Decay()
    diversity: Diversity = Diversity()
    neighbours: Neighbours = Neighbours()
    graph: Graph = Graph()
    invalidated: Share = 0.0
    """Factor for invalidated chunks; 0 hides them unless a filter asks for them."""

    @property
    def name(self) -> str:
        """The id without its version."""
        return self.id.partition("@")[0]


TASK_TIME_CONSTANT_DAYS: Final = 14.0
"""τ of the task profile: recency is exp(−age/τ), that is, halved every τ·ln 2 = 9.704 days."""

BUILT_IN: Final[dict[str, Profile]] = {
    profile.id: profile
    for profile in (
        Profile("default@1"),
        Profile("lexical@1", vector_share=0.0),
        Profile("temporal@1", decay=Decay(semantic_weight=0.7)),
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
    )
}
"""The profiles that ship with Lamina, by id."""


class Profiles:
    """The profiles a vault knows: the built-in ones and those of its ``vault.toml``.

    Parameters
    ----------
    configured : mapping, optional
        ``[profiles.*]`` of ``vault.toml``: each has ``base`` and any parameters to override. Tables are merged with those
        of the base (a half-life map gains entries); everything else is replaced.
    type_half_lives : mapping, optional
        Replaces the type map of every built-in profile, and so of those derived from them: what ``DECAY_TYPE_OVERRIDES`` says.

    Raises
    ------
    InvalidConfig
        When a profile has no known base, an unknown parameter, or a value out of range.
    """

    def __init__(
        self, configured: Mapping[str, Any] | None = None, type_half_lives: Mapping[str, float] | None = None
    ) -> None:
        self._known = dict(BUILT_IN)
        if type_half_lives is not None:
            for key, profile in self._known.items():
                decay = msgspec.structs.replace(profile.decay, type_half_life_days=dict(type_half_lives))
                self._known[key] = msgspec.structs.replace(profile, decay=decay)
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
        if name in self._known:
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
        if not (name and colon and days.isascii() and days.isdigit() and 1.0 <= float(days) <= _FINITE):
            raise InvalidConfig(
                f"DECAY_TYPE_OVERRIDES has the piece {piece!r}; "
                "each piece is name:days with a whole number of days from 1 up, as in agent_task:14"
            )
        found[name] = float(days)
    return found
