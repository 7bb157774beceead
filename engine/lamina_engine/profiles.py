"""Profiles: frozen, versioned parameters of a recall; the built-in ones, and a vault's own."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from lamina_engine.clock import parse_instant
from lamina_engine.errors import InvalidArgument, InvalidConfig

Share = Annotated[float, Meta(ge=0.0, le=1.0)]
FINITE: Final = sys.float_info.max
"""TOML can say inf, JSON cannot: such a term could not be explained."""

Positive = Annotated[float, Meta(gt=0.0, le=FINITE)]
NotNegative = Annotated[float, Meta(ge=0.0, le=FINITE)]
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
    "decision": 90,
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


INDEX: Final = "index"
"""Role of a chunk whose links are most of its words."""
ROLE_FACTORS: Final[dict[str, float]] = {INDEX: 0.5, "test": 0.9, "bench": 0.9, "question": 0.9, "derived": 0.8}
"""Factor of a chunk's score by its role."""


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


class Reinforcement(Struct, frozen=True, forbid_unknown_fields=True):
    """Slower ageing of recalled chunks: half-life · min(most, 1 + rate·ln(1 + accesses·f)).

    Off unless ``most`` is above 1: where it is, what was recalled before has a say in what is recalled next. A recall of
    such a profile notes its hits in the access journal, which counts from the next write on.
    """

    most: Annotated[float, Meta(ge=1.0, le=100.0)] = 1.0
    """Times a half-life can grow: nothing stops ageing."""
    rate: NotNegative = 0.3
    window_days: Positive = 90.0
    """Days after which an access counts no more; it fades evenly until then."""


class Decay(Struct, frozen=True, forbid_unknown_fields=True):
    """Score by age: w·semantic + (1 − w)·reach·0.5^(age/half-life), w = ``semantic_weight``.

    ``reach`` is 1; with ``least_match`` f it is (semantic − f·best)/(1 − f), at least 0: age orders what matches about
    equally well, and lifts nothing else.
    """

    semantic_weight: Share = 1.0
    """1 switches age off."""
    least_match: Annotated[float, Meta(ge=0.0, lt=1.0)] | None = None
    """Share of the best match from which on age counts, growing to the whole at the best; ages are then counted to the
    newest of what matches so well. None: age counts for every candidate, to the present."""
    speed: Positive = 1.0
    """With ``least_match``: half-lives are divided by it, so that a few weeks between two versions tell them apart."""
    half_life_days: Positive = 21.0
    """Where neither the type nor the collection has one."""
    type_half_life_days: dict[str, Positive] = msgspec.field(default_factory=TYPE_HALF_LIFE_DAYS.copy)
    collection_half_life_days: dict[str, Positive] = msgspec.field(default_factory=COLLECTION_HALF_LIFE_DAYS.copy)
    reinforcement: Reinforcement = Reinforcement()
    missing_created_at: str = "2020-01-01T00:00:00Z"
    """The date of a chunk that has none: old, so it never outranks a dated one by its age."""

    def __post_init__(self) -> None:
        parse_instant(self.missing_created_at, what="missing_created_at")


class Diversity(Struct, frozen=True, forbid_unknown_fields=True):
    """Removal of hits that repeat each other."""

    near_duplicate: Share = 1.0
    """Cosine from which a later hit is folded into an earlier one; 1 folds only chunks of equal content."""
    mmr: Share = 1.0
    """λ of maximal marginal relevance: 1 is pure relevance."""
    slots: Annotated[int, Meta(ge=0)] = 0
    """Above 0, hits are chosen for what they say and for what still fits: λ rises evenly to 1 where fewer than so many
    hits have room, and a hit that does not fit the rest of the budget gives way to one that does."""
    least: Count = 10
    """With ``slots``: from so many candidates on; fewer are taken in order."""


class Neighbours(Struct, frozen=True, forbid_unknown_fields=True):
    """Neighbour injection after Clawpy: chunks one link away from the hits."""

    most: Annotated[int, Meta(ge=0)] = 0
    """Neighbours of one hit; 0 brings none."""
    share: Share = 0.5
    """Part of the hit's semantic score that a neighbour gets in place of one of its own."""
    relations: tuple[str, ...] = ("blocks", "related_to", "derived_from", "similar_to")
    """Along which it looks, in both directions."""
    best: bool = False
    """Of several hits with the same neighbour: False, the first one brings it; True, the one that gives it most."""
    raised: bool = True
    """A neighbour that is a hit by itself keeps the greater of both scores, and uses up no place; False, its own."""


class Graph(Struct, frozen=True, forbid_unknown_fields=True):
    """Links followed from the best hits; see `lamina_kernels.graph.spread`."""

    intents: tuple[str, ...] = ()
    """Intents for which links are followed."""
    relations: tuple[str, ...] = ()
    """Only along these; empty for all."""
    anchors: Count = 10
    """Hits that pass on their match, at most."""
    strong: Share = 0.5
    """Share of the best hit's match from which on a hit passes it on; any may receive."""
    depth: Count = 2
    beam: Count = 20
    """Hops, and chunks taken in each: those that receive most."""
    least: Share = 0.0
    """Share of the best hit's match that a chunk must have by itself to receive anything."""


class TimePreference(Struct, frozen=True, forbid_unknown_fields=True):
    """Use of a time named in the question; see `lamina_engine.recall.time_window`."""

    weight: Share = 0.0
    """Share of its score that a chunk far outside the window loses, times the confidence; 0 reads no time."""
    least_confidence: Share = 0.5
    """Below this a phrase is not heeded."""
    before_days: NotNegative = 7.0
    after_days: NotNegative = 14.0
    """Days before and after the window on which the preference fades."""
    filter_confidence: Share | None = None
    """From this confidence on what lies in the window comes first, and the rest only where these are fewer than k; None: never."""


class Boosts(Struct, frozen=True, forbid_unknown_fields=True):
    """Score multipliers after Causantic; see `lamina_engine.recall.score`."""

    recency: NotNegative = 0.0
    """What a chunk of this moment gains: its score times 1 + ``recency`` · 0.5^(age / half-life)."""
    recency_half_life_hours: Positive = 48.0
    session: Positive = 1.0
    """Factor for chunks of the session that asks, where the recall names one."""
    length_tokens: Annotated[int, Meta(ge=0)] = 0
    """A chunk of more tokens is divided by 1 + log2(tokens / this); 0 for no such penalty."""


class Siblings(Struct, frozen=True, forbid_unknown_fields=True):
    """Topic siblings of the hits, after Causantic; see `lamina_engine.recall.expansion`."""

    topics: Annotated[int, Meta(ge=0)] = 0
    """Topics, of the best hits first; 0 brings none."""
    most: Count = 5
    """Chunks of one topic, nearest to its centre first."""
    threshold: Share | None = None
    """Angular distance to the centre that chunks keep to which no density put there (assigned later, or smoothed in);
    None: the clustering's own, which it calibrated in the space in use."""


class Chaining(Struct, frozen=True, forbid_unknown_fields=True):
    """Chains from the hits, after Causantic; see `lamina_engine.recall.stories`."""

    seeds: Count = 5
    """Hits that chains begin with, at most."""
    strong: Share = 0.9
    """Share of the best hit's match from which on a hit is one that a chain begins with; 0 for all: then the median of
    some chain of chance hits is often the highest."""
    relations: tuple[str, ...] = ("next", "brief", "debrief")
    """Along which chains go, from source to target for what came next, the other way for what led here."""
    depth: Annotated[int, Meta(ge=1, le=1_000)] = 50
    skips: Annotated[int, Meta(ge=0)] = 5
    """Chunks of other agents in a row that are gone through, where one agent was asked for."""
    chains: Annotated[int, Meta(ge=1, le=1_000)] = 10
    expansions: Annotated[int, Meta(ge=1, le=100_000)] = 200
    """Of one seed: chunks on the way, chains told, chunks whose links are looked at."""
    hop_decay: Literal["none", "linear", "research"] = "none"
    """What a chunk's match is multiplied by for being some links from the seed: nothing; ``linear``, dying at 10 backward,
    held for 5 and dying at 20 forward; ``research``, 0.87 a hop backward, 0.033 less a hop forward."""


class Composite(Struct, frozen=True, forbid_unknown_fields=True):
    """Composite score after ClawMem, in place of the blend with age."""

    on: bool = False
    """Off, as ranking by the match alone measured better."""
    match: Share = 0.5
    recency: Share = 0.25
    confidence: Share = 0.25
    """Shares of the blend; a question that asks for what is newest has .1, .7 and .2 in their place."""
    boosts: dict[str, Positive] = msgspec.field(default_factory=dict)
    """Factor by type, such as 1.08 for ``preference``, unless the question asks for what is newest."""

    def __post_init__(self) -> None:
        if not math.isclose(self.match + self.recency + self.confidence, 1.0, abs_tol=1e-9):
            raise ValueError("match, recency and confidence must add up to 1")


class FactsLane(Struct, frozen=True, forbid_unknown_fields=True):
    """Facts lane: chunks with the facts of an entity that the question names."""

    weight: Share = 0.0
    """What an answer to what was asked adds to its chunk's semantic score, at most; 0 for no such lane."""
    other: Share = 0.0
    """The same for what else is known of the entity, and for facts found by words alone."""
    share: Share = 0.0
    """Part of the semantic score that is taken from words and meaning where the lane finds anything."""
    least: NotNegative = 90.0
    """Score of `lamina_engine.facts.questions` from which on an answer counts."""


class Dialogue(Struct, frozen=True, forbid_unknown_fields=True):
    """Turns of sessions; see `lamina_engine.recall.dialogue`.

    Learnt by ``bench/learn_dialogue.py``.
    """

    answers: Share = 0.25
    """Share of a question's own score that the turn after it receives."""
    length: Annotated[float, Meta(ge=0.0, le=0.16)] = 0.065
    """What a turn's factor loses each time its words would have to be doubled to be 63."""
    named: NotNegative = 0.18
    """What a turn of somebody whom the question names gains."""


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
    """Share of a short turn's score that the turn before it receives: the one whose words it was indexed with."""
    dialogue: Dialogue = Dialogue()
    lexical: Lexical = Lexical()
    decay: Decay = Decay()
    diversity: Diversity = Diversity()
    neighbours: Neighbours = Neighbours()
    graph: Graph = Graph()
    hops: Graph = Graph()
    """The same for intents that ``graph`` does not follow."""
    composite: Composite = Composite()
    boosts: Boosts = Boosts()
    siblings: Siblings = Siblings()
    chains: Chaining = Chaining()
    time: TimePreference = TimePreference()
    scope: Share = 0.0
    """Share of its score that a chunk outside a scope which the question names loses, times the confidence; 0 reads none."""
    facts: FactsLane = FactsLane()
    roles: dict[str, Share] = msgspec.field(default_factory=ROLE_FACTORS.copy)
    """Factor by role: of a list of links, a test, a bench, a turn that asks, which stand below what they are about."""
    invalidated: Share = 0.0
    """Factor for invalidated chunks; 0 hides them unless a filter asks for them."""
    about: tuple[str, ...] = ()
    """Types that it is about; a vault without a chunk of these is asked by `default`. Empty: any."""

    @property
    def name(self) -> str:
        """The id without its version."""
        return self.id.partition("@")[0]

    def links_for(self, intent: str | None) -> Graph | None:
        """Return how links are followed for an intent; None where they are not."""
        return next((graph for graph in (self.graph, self.hops) if intent in graph.intents), None)


TASK_TYPES: Final = ("agent_task", "task")
"""Types of chunks that are tasks: those alike are linked by `similar_to`."""

INTENTS: Final = ("why", "when", "entity", "what")
"""In the order in which equal scores are decided."""
WHAT: Final = "what"
"""What is left where nothing says otherwise."""


def check_intent(intent: object) -> str | None:
    """Return an intent that a caller gave, in lower case; None stays None."""
    if intent is None:
        return None
    if not isinstance(intent, str) or intent.lower() not in INTENTS:
        raise InvalidArgument(f"intent={intent!r} must be one of {', '.join(INTENTS)}, or None to go by the question")
    return intent.lower()


TASK_TIME_CONSTANT_DAYS: Final = 14.0
"""τ of the task profile: recency is exp(−age/τ), that is, halved every τ·ln 2 = 9.704 days."""

NAMING: Final = ("mention", "related")
"""Relations from a chunk to what it names or links to."""
HOPS: Final = Graph(intents=INTENTS, relations=NAMING, anchors=3, depth=1, least=0.1)
"""One hop from the first hits to what they name, and to what names them."""
NO_DIALOGUE: Final = Dialogue(answers=0.0, length=0.0, named=0.0)
FILE_ROLE_FACTORS: Final = {role: factor for role, factor in ROLE_FACTORS.items() if role != "question"}

SCOPE_WEIGHT: Final = 0.2
"""Least at which no question that names one of 22 pooled projects was answered from another; from 0.3 on, notes whose
folders are mere topics lose answers."""
msgspec.json.Decoder(
    Profile
)  # on import: two threads that are the first to ask for a kind of struct crash the process (msgspec 0.22)
BUILT_IN: Final[dict[str, Profile]] = {
    profile.id: profile
    for profile in (
        Profile(
            "default@1",
            time=TimePreference(weight=0.1),
            facts=FactsLane(weight=0.3),
            dialogue=NO_DIALOGUE,
            roles=FILE_ROLE_FACTORS,
        ),
        Profile(
            "default@2",
            time=TimePreference(weight=0.1),
            scope=SCOPE_WEIGHT,
            facts=FactsLane(weight=0.3),
            graph=Graph(intents=("why",), relations=("causal", "supporting", "blocks", *NAMING)),
            hops=HOPS,
        ),
        Profile("lexical@1", vector_share=0.0),
        Profile(
            "temporal@1",
            decay=Decay(semantic_weight=0.7),
            time=TimePreference(weight=0.2, filter_confidence=0.9),
            dialogue=NO_DIALOGUE,
            roles=FILE_ROLE_FACTORS,
        ),
        Profile(
            "temporal@2",
            decay=Decay(semantic_weight=0.5, least_match=0.75, speed=3.0),
            time=TimePreference(weight=0.2),
            scope=SCOPE_WEIGHT,
            hops=HOPS,
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
            about=TASK_TYPES,
            neighbours=Neighbours(most=3),
            dialogue=NO_DIALOGUE,
            roles=FILE_ROLE_FACTORS,
            invalidated=0.5,
        ),
        Profile("causal@2", scope=SCOPE_WEIGHT, graph=Graph(intents=INTENTS)),
        Profile(
            "entity@2", scope=SCOPE_WEIGHT, facts=FactsLane(weight=0.6, other=0.2, share=0.6, least=40.0), hops=HOPS
        ),
        Profile(
            "episodic@2",
            time=TimePreference(weight=0.1),
            scope=SCOPE_WEIGHT,
            diversity=Diversity(mmr=0.9, slots=15),
            boosts=Boosts(recency=0.3, session=1.2, length_tokens=500),
            siblings=Siblings(topics=3),
            hops=HOPS,
        ),
    )
}
"""The profiles that ship with Lamina, by id."""


class Adjustments(NamedTuple):
    """Settings that adjust the built-in profiles; None leaves a parameter as it is."""

    undecayed: float | None = None
    """Semantic weight of every profile where age is switched off: 1."""
    semantic_weight: float | None = None
    """Semantic weight of the profile ``temporal``, in all its versions."""
    type_half_lives: Mapping[str, float] | None = None
    """Days, by type: replaces entries of the maps there are; an empty one empties them."""
    collection_half_lives: Mapping[str, float] = MappingProxyType({})
    """Days, by collection: replaces entries of the maps there are."""

    def of(self, profile: Profile) -> Profile:
        """Return a profile as it is with them."""
        decay, changes = profile.decay, dict[str, Any]()
        weight = self.semantic_weight if profile.name == "temporal" else None
        if decay.type_half_life_days and self.type_half_lives is not None:
            # merged: who gives two types their half-lives means to take it from no other
            kept = decay.type_half_life_days if self.type_half_lives else {}
            changes["type_half_life_days"] = {**kept, **self.type_half_lives}
        if decay.collection_half_life_days and self.collection_half_lives:
            changes["collection_half_life_days"] = {**decay.collection_half_life_days, **self.collection_half_lives}
        if self.undecayed is not None or weight is not None:
            changes["semantic_weight"] = self.undecayed if self.undecayed is not None else weight
        if not changes:
            return profile
        return msgspec.structs.replace(profile, decay=msgspec.structs.replace(decay, **changes))


class Profiles:
    """The profiles a vault knows: the built-in ones and those of its ``vault.toml``."""

    def __init__(
        self, configured: Mapping[str, Any] | None = None, adjusted: Adjustments | Mapping[str, float] | None = None
    ) -> None:
        changes = adjusted if isinstance(adjusted, Adjustments) else Adjustments(type_half_lives=adjusted)
        self._known = {key: changes.of(profile) for key, profile in BUILT_IN.items()}
        self._newest = {profile.name: profile for profile in self._known.values()}
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
            self._keep(msgspec.convert(merged, Profile))
        except msgspec.ValidationError as error:
            raise InvalidConfig(f"[profiles.{name}]: {error}; see the parameters of base {base.id!r}") from error

    def _keep(self, profile: Profile) -> None:
        self._known[profile.id] = self._newest[profile.name] = profile

    def get(self, name: str) -> Profile:
        """Return a profile by id (``temporal@1``) or by name (its newest version)."""
        found = (self._newest.get(name) or self._known.get(name)) if isinstance(name, str) else None
        if found is None:
            from difflib import get_close_matches

            near = get_close_matches(str(name), sorted({each.name for each in self._known.values()}), 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InvalidConfig(f"profile={name!r} is not known; allowed are {', '.join(sorted(self._known))}{hint}")
        return found

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
