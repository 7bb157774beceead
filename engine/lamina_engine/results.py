"""Frozen records of the public interface: chunks, hits, links, facts, stories, sessions.

Every instant is kept as microseconds since 1970 (UTC) in a field that ends in ``_us``; the property without that ending
is the same instant as a `datetime` in UTC. ``to_dict`` returns JSON values, with instants as ISO 8601 and ``Z``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, cast

from msgspec import Struct, structs

from lamina_engine.clock import EPOCH, format_instant, utc_datetime

if TYPE_CHECKING:
    JSONValue: TypeAlias = "bool | int | float | str | list[JSONValue] | dict[str, JSONValue] | None"
    """A value of JSON."""
else:
    JSONValue = Any  # msgspec decodes records by their types, and knows no recursive ones


def _document(record: Struct, names: str) -> dict[str, JSONValue]:
    """Return some fields and properties of a record as JSON values, in this order."""
    keys, read, converters = _plan(type(record), names)
    return {key: convert(value) for key, value, convert in zip(keys, read(record), converters, strict=True)}


@cache
def _plan(
    kind: type[Struct], names: str
) -> tuple[list[str], Callable[[Struct], tuple[Any, ...]], list[Callable[[Any], JSONValue]]]:
    keys = names.split()
    instants = [f"{key}_us" in kind.__struct_fields__ for key in keys]
    read = attrgetter(*(f"{key}_us" if instant else key for key, instant in zip(keys, instants, strict=True)))
    return keys, read, [format_instant if instant else _json for instant in instants]


def _json(value: Any) -> JSONValue:
    if isinstance(value, tuple):
        return [_json(each) for each in value]
    if value is None or isinstance(value, str) or not isinstance(value, Struct):
        return cast("JSONValue", value)
    return structs.asdict(value) if isinstance(value, Step) else cast("Chunk", value).to_dict()


class PathTerm(TypedDict, total=False):
    """One link of the path to a hit, in its terms."""

    source: str
    target: str
    relation: str
    weight: float
    outward: bool
    topic: int
    """Number of the topic, where a topic and not a link leads there."""


class AgeTerms(TypedDict):
    """Scale of ages where age orders only what matches."""

    best: float
    least_match: float
    to: str | None
    """The newest date of what matches."""
    days: float
    """Age at that moment, which recency is of."""
    speed: float
    """Divides the half-life."""


class BoostTerms(TypedDict):
    """Boosts of one hit: by age, session and length."""

    recency: float
    half_life_hours: float
    age_hours: float | None
    session: float
    tokens: int
    length_tokens: float


class TimeTerms(TypedDict):
    """Distance of one hit from the time window of the question."""

    weight: float
    before_days: float
    after_days: float
    outside_days: float


class CompositeTerms(TypedDict):
    """Composite scoring of one hit."""

    weights: dict[str, float]
    recency: float
    half_life_days: float | None
    """None where it does not fade."""
    confidence: float
    quality: float
    length: float
    repetition: float
    boost: float
    pinned: bool
    company: float
    uses: int
    days_since_use: float | None
    revisions: int
    duplicates: int


class _Terms(TypedDict):
    fusion: str
    vector_share: float
    rank_constant: float
    bm25: float
    coverage: float
    words: dict[str, float]
    cosine: float | None
    lexical_rank: int | None
    vector_rank: int | None
    own: float
    received: float
    semantic: float
    semantic_weight: float
    recency: float
    age_days: float
    half_life_days: float
    date_missing: bool
    factor: float
    folded: list[str]


class TurnTerms(TypedDict):
    """Factor of a turn of a session: its words, and whether the question names who speaks."""

    words: int
    length: float
    named: float


class Terms(_Terms, total=False):
    """Terms of a hit's score; the later ones only where the profile or the question has them."""

    age: AgeTerms
    boosts: BoostTerms
    time: TimeTerms
    composite: CompositeTerms
    corrected: dict[str, list[str]]
    role: str
    turn: TurnTerms
    scope: ScopeTerms
    by_time: bool
    facts_share: float
    fact: float
    fact_rank: int
    fact_score: float
    fact_method: str
    fact_says: list[str]
    fact_contradicted: list[str]
    fact_asked: bool
    fact_path: list[list[str]]
    linked: float
    path: list[PathTerm]
    contradicts: bool
    ceiling: float


class WindowTrace(TypedDict):
    """Time window that a recall found in the question."""

    phrase: str
    since: str | None
    until: str | None
    confidence: float
    event: str | None
    filter: bool
    read_as: str
    """The window in words, in the zone of the recall."""


class HitTrace(TypedDict):
    """One hit of an explanation."""

    rank: int
    id: str
    score: float
    terms: Terms


class ScopeTerms(TypedDict):
    """Scopes of the question that a hit is in and outside of, such as ``project shop``."""

    inside: list[str]
    outside: list[str]
    factor: float
    """Part of ``factor``."""


class _Explanation(TypedDict):
    query: str
    profile: str
    candidates: dict[str, int]
    selected: int
    rows: int
    words: list[str]
    folded: int
    brought: int
    left_out: int
    intent: str | None
    hits: list[HitTrace]


class Explanation(_Explanation, total=False):
    """Parameters of a recall, counts of its stages and terms of its hits."""

    unknown: list[str]
    """Ids of candidates that the caller brought and the vault does not have."""

    incomplete: list[str]
    """Shards that did not answer."""

    time: WindowTrace
    scope: list[JSONValue]
    """What `NamedScope.to_dict` returns of each."""
    operators: list[str]
    corrected: dict[str, list[str]]


class NamedScope(Struct, frozen=True):
    """Projects, people or folders that a question names."""

    words: str
    """The words of the question; empty for the project of the session that asks."""
    names: tuple[str, ...]
    """What they name, each with its kind: ``project shop``, ``agent anna``, ``folder docs/borg``."""
    confidence: float
    """That this is meant, in [0, 1]."""
    weight: float
    """Share of its score that a chunk outside loses."""
    chunks: int
    """Chunks inside, of any state."""
    filtered: bool
    """True where only chunks inside were recalled."""

    @property
    def is_shared(self) -> bool:
        """True where several have the name: then all of them are inside."""
        return len(self.names) > 1

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return _document(self, "words names confidence weight chunks filtered")


_EXCERPT_CHARS = 60


def _excerpt(text: str) -> str:
    line = " ".join(text[: 4 * _EXCERPT_CHARS].split())
    return line if len(line) <= _EXCERPT_CHARS else f"{line[:_EXCERPT_CHARS]}…"


class Chunk(Struct, frozen=True, kw_only=True):
    """One stored piece of text, with its times, its origin and its state."""

    id: str
    row: int
    """Row of the chunks log that holds this version."""
    text: str
    title: str | None = None
    headings: tuple[str, ...] = ()
    type: str
    collection: str
    project: str | None = None
    session: str | None = None
    agent: str | None = None
    source: str | None = None
    ordinal: int = 0
    """Position within its source."""
    start: int = 0
    stop: int = 0
    """Bytes of the source file that it was cut from, half-open; -1 unknown."""
    path: str | None = None
    """Absolute path of the file it was cut from, as of the last ingest; None for what came from no file."""
    line: int | None = None
    """Line of that file on which its text begins, from 1; None where the file has no lines."""
    end_line: int | None = None
    """Line on which its text ends."""
    created_at_us: int | None = None
    recorded_at_us: int
    tags: tuple[str, ...] = ()
    success: bool | None = None
    """Outcome of a task; None where it is not known, and while the chunk is invalidated."""
    commit: str | None = None
    blob: str | None = None
    metadata: dict[str, JSONValue] = {}
    role: str | None = None
    """What it is beside content, such as ``index`` or ``test``; such chunks stand a little lower."""
    version: str = ""
    """Hash of its content, in hex."""
    status: str = "active"
    """``active``, ``invalidated``, ``superseded``, ``removed`` or ``archived``."""
    reason: str | None = None
    """Newest reason for which it was invalidated; `lamina.vault.Vault.history` has all of them."""
    pinned: bool = False
    snoozed_until_us: int | None = None
    freshness: str | None = None
    """Tier of the last freshness scan of its source; None before the first scan."""
    needs_review: bool = False
    """True where a freshness scan or a person asked for a review."""

    @property
    def label(self) -> str | None:
        """Title and headings in one line, ``document › section`` or ``file · symbol``; None without."""
        title = self.title
        if title is not None and self.headings:
            if title.endswith(f" · {', '.join(self.headings)}"):  # as code is
                return title
            title = title.removesuffix(f" · {self.headings[-1]}")  # as an entry is
        path = self.headings if self.headings[:1] == (title,) else (title, *self.headings)
        return " › ".join(part for part in path if part) or None

    @property
    def created_at(self) -> datetime | None:
        """Time of the event or of writing, UTC; None if unknown."""
        return utc_datetime(self.created_at_us)

    @property
    def recorded_at(self) -> datetime:
        """Time of recording, UTC."""
        return EPOCH + timedelta(microseconds=self.recorded_at_us)

    @property
    def snoozed_until(self) -> datetime | None:
        """End of its snooze, in UTC; None where it is not snoozed."""
        return utc_datetime(self.snoozed_until_us)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the fields that ``lamina get --json`` prints."""
        return _document(
            self,
            "id text title type collection project session agent source path line end_line headings role created_at "
            "recorded_at status reason pinned tags success start stop commit blob version metadata freshness needs_review "
            "snoozed_until",
        )

    def __repr__(self) -> str:
        day = (format_instant(self.created_at_us) or "undated")[:10]
        return f"<{type(self).__name__} {self.id} · {self.type} · {day}: {_excerpt(self.title or self.text)!r}>"


class Hit(Chunk, frozen=True, kw_only=True):
    """A recalled chunk with its score."""

    score: float
    """Higher is better; comparable within one recall."""
    via: str | None = None
    """What brought it in; None for a direct match."""
    _terms: Callable[[], Terms] = cast("Callable[[], Terms]", dict)

    @property
    def terms(self) -> Terms:
        """Terms of the score by name, made when they are first looked at.

        `lamina_engine.recall.explain.recompute` returns the score from them.
        """
        return self._terms()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hit):
            return NotImplemented
        return self.terms == other.terms and structs.astuple(self)[:-1] == structs.astuple(other)[:-1]

    def __reduce__(self) -> tuple[Callable[[dict[str, Any]], Hit], tuple[dict[str, Any]]]:
        return _make_hit, (structs.asdict(self) | {"_terms": partial(_return, self.terms)},)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the fields that ``lamina recall --json`` prints."""
        return _document(
            self,
            "id score text source path line end_line title headings type collection project session created_at status reason "
            "success freshness needs_review via terms",
        )

    def __repr__(self) -> str:
        return f"<Hit {self.score:.3f} {self.id} · {self.type}: {_excerpt(self.title or self.text)!r}>"


def _make_hit(fields: dict[str, Any]) -> Hit:
    return Hit(**fields)


def _return(terms: Terms) -> Terms:
    return terms


class Snippet(Struct, frozen=True):
    """The window of a chunk's text that matches a question best."""

    text: str
    start: int
    """Character of the chunk's text at which it begins."""
    ranges: tuple[tuple[int, int], ...]
    """Matched words, as half-open ranges of characters of the snippet."""
    best: tuple[int, int] = (0, 0)
    """The shortest part of the snippet with all words that it was chosen for; empty without a match."""

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return _document(self, "text start ranges")


class Event(Struct, frozen=True):
    """One entry of a chunk's history: a new version, or an event that changed its state."""

    kind: str
    """``added`` and ``updated`` for versions; else the event, such as ``invalidate``, ``restore`` or ``pin``."""
    recorded_at_us: int
    reason: str | None = None
    detail: dict[str, JSONValue] = {}
    chunk: Chunk | None = None
    """The version, where the entry is one."""

    @property
    def recorded_at(self) -> datetime:
        """Time of recording, UTC."""
        return EPOCH + timedelta(microseconds=self.recorded_at_us)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return one element of ``events`` of ``lamina history --json``."""
        return _document(self, "kind recorded_at reason detail chunk")


class Timeline(Struct, frozen=True):
    """A chunk among those before and after it, oldest first."""

    before: tuple[Chunk, ...]
    focus: Chunk
    after: tuple[Chunk, ...]
    total: int
    """Dated chunks that were considered, the focus included."""

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the document of ``lamina timeline --json``."""
        return _document(self, "before focus after total")


class Link(Struct, frozen=True):
    """A directed, weighted link between two chunks."""

    source: str
    target: str
    relation: str
    weight: float
    origin: str
    """``user``, or the generator whose claim counts."""
    note: str | None
    created_at_us: int | None
    recorded_at_us: int
    count: int | None
    """Number of uses, for counted relations."""
    status: str
    """Status of the chunk at the other end, seen from the chunk that was asked about."""
    active: bool = True
    """False where an end was removed or forgotten: such a link is kept and not walked."""

    @property
    def created_at(self) -> datetime | None:
        """Time of creation, UTC."""
        return utc_datetime(self.created_at_us)

    @property
    def recorded_at(self) -> datetime:
        """Time of recording, UTC."""
        return EPOCH + timedelta(microseconds=self.recorded_at_us)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return _document(self, "source target relation weight origin note created_at recorded_at count status")


class UnresolvedLink(Struct, frozen=True):
    """A link written in a text whose note is missing or ambiguous."""

    chunk: str
    """Id of the chunk that holds it."""
    source: str
    root: str
    """Folder that the source's path begins at."""
    target: str
    """Note, path or label as written."""
    form: str
    """``wiki``, ``path`` or ``label``."""
    candidates: tuple[str, ...] = ()
    """Sources that fit alike; empty where none does."""

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return {**structs.asdict(self), "candidates": list(self.candidates)}


class Step(Struct, frozen=True):
    """One link of a path."""

    source: str
    target: str
    relation: str
    weight: float
    outward: bool
    """True where it was walked from source to target."""


class Neighbor(Struct, frozen=True):
    """A chunk that a walk reached, or that is similar to another."""

    id: str
    score: float
    """Of a walk: unbounded, comparable within one answer. Of a similarity: the cosine."""
    hops: int = 0
    path: tuple[Step, ...] = ()
    """Links from where the walk began; empty for its first chunks."""
    status: str = "active"
    contradicts: bool = False
    """True where a link of the path says that its two ends contradict each other."""
    created_at_us: int | None = None
    title: str | None = None
    text: str = ""
    type: str = ""
    source: str | None = None

    @property
    def created_at(self) -> datetime | None:
        """Time of the event or of writing, UTC."""
        return utc_datetime(self.created_at_us)

    @property
    def via(self) -> str | None:
        """The path in words, such as ``a1 -causal-> b2``; None for the first chunks of a walk."""
        if not self.path:
            return None
        text = self.path[0].source if self.path[0].outward else self.path[0].target
        for step in self.path:
            text += f" -{step.relation}-> {step.target}" if step.outward else f" <-{step.relation}- {step.source}"
        return text

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return _document(self, "id title text type source created_at status score hops via path contradicts")


class Cause(Struct, frozen=True):
    """One hop of a causal chain, seen from the chunk that was asked about."""

    id: str
    direction: str
    """``causes`` for an effect, ``caused_by`` for a cause."""
    depth: int
    confidence: float
    """Weight of the last link of its chain."""
    product: float
    """Product of all weights of its chain."""
    reason: str | None
    """Note of the last link."""
    chain: tuple[str, ...]
    """Ids from the chunk that was asked about to this one."""
    status: str
    title: str | None = None
    text: str = ""
    type: str = ""
    source: str | None = None
    created_at_us: int | None = None

    @property
    def created_at(self) -> datetime | None:
        """Time of the event or of writing, UTC."""
        return utc_datetime(self.created_at_us)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return _document(
            self, "id title text type source created_at status direction depth confidence product reason chain"
        )


class Fact(Struct, frozen=True):
    """A subject, a predicate and an object with a validity interval, seen from one entity."""

    row: int
    """Row of the facts log; see `id`."""
    subject: str
    subject_id: str
    """Canonical id, ``vault:type:slug``."""
    predicate: str
    object: str
    """Name of an entity, or a literal."""
    object_id: str | None
    """Canonical id, where the object is an entity."""
    category: str
    source: str
    """Path or label of where it comes from; never empty."""
    chunk: str | None
    """Id of the chunk that states it."""
    confidence: float
    weight: float
    valid_from_us: int | None
    """None: since forever."""
    valid_to_us: int | None
    """First instant at which it no longer holds; None: open."""
    recorded_at_us: int
    origin: str
    direction: Literal["out", "in"] = "out"
    """``in`` where the entity that was asked about is the object."""
    key: str = ""
    """The predicate read from that entity: the inverse, where one is declared."""
    status: str = "active"
    """``invalidated`` where the chunk that states it was invalidated, until that is restored."""
    reason: str | None = None
    """Newest reason of that."""

    @property
    def is_doubted(self) -> bool:
        """True where the chunk that states it was invalidated: such facts come last."""
        return self.status != "active"

    @property
    def id(self) -> int:
        """Its number in the vault; `lamina.vault.Vault.facts` takes it in ``retract``."""
        return self.row

    @property
    def value(self) -> str:
        """Name or literal at the other end."""
        return self.subject if self.direction == "in" else self.object

    @property
    def valid_from(self) -> datetime | None:
        """First instant at which it holds, in UTC; None: since forever."""
        return utc_datetime(self.valid_from_us)

    @property
    def valid_to(self) -> datetime | None:
        """First instant at which it no longer holds, in UTC; None: open."""
        return utc_datetime(self.valid_to_us)

    @property
    def recorded_at(self) -> datetime:
        """Time of recording, UTC."""
        return EPOCH + timedelta(microseconds=self.recorded_at_us)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        found = _document(
            self,
            "id subject predicate object subject_id object_id direction key value category source chunk confidence weight "
            "valid_from valid_to recorded_at origin status reason",
        )
        found["key"] = self.key or self.predicate
        return found


class Contradiction(Struct, frozen=True):
    """Two facts that cannot both hold, or of which one updates the other."""

    old: Fact
    """The fact that loses confidence."""
    new: Fact
    relation: str
    """``contradiction`` or ``update``."""
    confidence: float
    reason: str

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return _document(self, "old new relation confidence reason")


class Answer(Struct, frozen=True):
    """One answer to a question about facts."""

    subject: str
    predicate: str
    object: str
    score: float
    """95 to 40, by the phase that found it; comparable within one set of answers."""
    method: str
    source: str
    """Path, chunk or label of where it comes from; never empty."""
    resolution: str | None
    """Kind of name that found the entity; None for full text."""
    ambiguous: bool
    """True where the name in the question means several entities."""
    entity: str | None
    """Id of the entity that was asked about."""
    key: str
    """The predicate, read from that entity."""
    value: str
    """Name or literal at the other end."""
    row: int
    """Row of the facts log; see `id`."""
    chunk: str | None
    confidence: float
    valid_from_us: int | None
    valid_to_us: int | None
    contradicted: tuple[str, ...] = ()
    """Other values that are stated of the same thing."""
    status: str = "active"
    """``invalidated`` where the chunk that states it was invalidated: such answers come last."""
    reason: str | None = None
    """Newest reason of that."""
    asked: bool = False
    """True where it is what was asked for, and nothing else was asked."""
    path: tuple[tuple[str, str, str], ...] = ()
    """Facts that lead to it, as subject, predicate and object; empty where it is of the entity that was asked about."""

    @property
    def id(self) -> int:
        """Number of the fact in the vault."""
        return self.row

    @property
    def valid_from(self) -> datetime | None:
        """First instant at which it holds, in UTC; None: since forever."""
        return utc_datetime(self.valid_from_us)

    @property
    def valid_to(self) -> datetime | None:
        """First instant at which it no longer holds, in UTC; None: open."""
        return utc_datetime(self.valid_to_us)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return _document(
            self,
            "subject predicate object score method source entity key value resolution ambiguous chunk confidence valid_from "
            "valid_to id contradicted status reason asked path",
        )


class StoryChunk(Struct, frozen=True):
    """One chunk of a chain or of a reconstruction."""

    id: str
    text: str
    title: str | None
    type: str
    project: str | None
    session: str | None
    agent: str | None
    source: str | None
    created_at_us: int | None
    status: str
    score: float | None = None
    """Match with the question; None without one."""
    hops: int | None = None
    """Links between it and the hit that the chain begins with; None outside chains."""
    tokens: int | None = None

    @property
    def created_at(self) -> datetime | None:
        """Time of the event or of writing, UTC."""
        return utc_datetime(self.created_at_us)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return _document(self, "id text title type project session agent source created_at status score hops tokens")


class Story(Struct, frozen=True):
    """A chain of chunks before a hit, or after it."""

    query: str | None
    direction: str
    mode: str
    """``chain``; or ``search``, where no chain has two chunks."""
    reason: str | None
    """Why it is a search."""
    chunks: tuple[StoryChunk, ...]
    """Oldest first in a chain, best first in a search."""
    seed: str | None
    """Id of the hit that the chain begins with."""
    median: float
    """Median match of the chunks, by which the chain was chosen."""
    score: float
    """Sum of the matches."""
    tokens: int
    hits: int
    """Hits, or seeds, that chains could begin with."""
    seeds: int
    """Hits that a chain began with."""
    lengths: tuple[int, ...]
    """Number of chunks of every chain that was considered."""
    snapshot: int
    took_ms: float

    @property
    def text(self) -> str:
        """Texts of the chunks in order, separated by blank lines."""
        return "\n\n".join(chunk.text for chunk in self.chunks)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the document of ``lamina chain --json``."""
        return structs.asdict(self) | {
            "chunks": [chunk.to_dict() for chunk in self.chunks],
            "lengths": list(self.lengths),
            "took_ms": round(self.took_ms, 3),
        }


class Session(Struct, frozen=True):
    """One session of an agent."""

    session: str
    project: str | None
    """Project of its first chunk that has one."""
    agents: tuple[str, ...]
    chunks: int
    started_at_us: int | None
    ended_at_us: int | None
    """End of its last chunk, where its record states one; else when that chunk began."""
    summary: str | None
    """Text of its newest summary; None without one."""

    @property
    def started_at(self) -> datetime | None:
        """Start, UTC."""
        return utc_datetime(self.started_at_us)

    @property
    def ended_at(self) -> datetime | None:
        """End, UTC."""
        return utc_datetime(self.ended_at_us)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return _document(self, "session project agents chunks started_at ended_at summary")


class Project(Struct, frozen=True):
    """One project: how many current chunks name it, and from when to when."""

    project: str
    chunks: int
    first_at_us: int | None
    last_at_us: int | None

    @property
    def first_at(self) -> datetime | None:
        """Date of its oldest chunk, UTC."""
        return utc_datetime(self.first_at_us)

    @property
    def last_at(self) -> datetime | None:
        """Date of its newest chunk, UTC."""
        return utc_datetime(self.last_at_us)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return _document(self, "project chunks first_at last_at")


class Reconstruction(Struct, frozen=True):
    """A session, or a span of days, as one text within a token budget."""

    mode: str
    text: str
    tokens: int
    """Tokens of the text."""
    chunks: tuple[StoryChunk, ...]
    """Chunks that the text contains in full, in its order."""
    left_out: int
    """Chunks asked for that are not among them."""
    sessions: tuple[Session, ...]
    """Newest first."""
    since_us: int | None
    until_us: int | None
    snapshot: int

    @property
    def since(self) -> datetime | None:
        """Beginning of the span, in UTC; None where it is open."""
        return utc_datetime(self.since_us)

    @property
    def until(self) -> datetime | None:
        """End of the span, in UTC; None where it is open."""
        return utc_datetime(self.until_us)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the document of ``lamina reconstruct --json``."""
        return _document(self, "mode text tokens chunks left_out sessions since until snapshot")


class FactsReport(Struct, frozen=True):
    """Outcome of adding many facts."""

    added: int
    unchanged: int
    """Facts that were there already."""
    superseded: int
    """Earlier values that ended."""
    entities: int
    """New entities."""
    problems: tuple[str, ...]
    """Records that were left out, and why."""
    ids: tuple[int, ...]
    """``Fact.id`` of each record, in order; -1 for one that was left out."""

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return structs.asdict(self) | {"problems": list(self.problems), "ids": list(self.ids)}
