"""Extraction of facts from observation blocks, each a chunk with triples; no model needed.

Every fact names the chunk that states it; unusable parts are reported, and their neighbours stay.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np

from lamina_engine.chunks import writing
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.errors import InvalidArgument
from lamina_engine.facts.log import FactsWritten, write
from lamina_engine.facts.observations import Drop, Observation, Triple, parse_observations
from lamina_engine.facts.schema import Draft
from lamina_engine.index.analysis import STOP_WORDS
from lamina_engine.index.state import ACTIVE
from lamina_engine.reports import Report

if TYPE_CHECKING:
    from lamina_engine.embed.chat import Budget, Chat
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.results import JSONValue

ORIGIN: Final = "observation"
COLLECTION: Final = "observations"
_LOOKED_AT: Final = 50
"""Chunks of the same type and collection that a new observation is compared with."""
_LOOKED_BACK: Final = 5_000
"""Newest rows among which they are looked for."""


class Labels(NamedTuple):
    """Fields of the chunk that an observation becomes."""

    source: str | None
    session: str | None
    collection: str
    created_at: int | None
    project: str | None = None
    agent: str | None = None
    id: str | None = None


@dataclass(slots=True, repr=False)
class ExtractReport(Report):
    """Counts and problems of an extraction."""

    observations: int = 0
    """Blocks, or notes, that said something usable."""
    chunks: list[str] = field(default_factory=list)
    """Ids of the chunks that observations became, in order."""
    repeated: int = 0
    """Observations that a chunk said before, in nearly the same words."""
    added: int = 0
    unchanged: int = 0
    superseded: int = 0
    closed: int = 0
    """Facts that their notes no longer say."""
    entities: int = 0
    aliases: int = 0
    dropped: list[Drop] = field(default_factory=list)
    requests: int = 0
    tokens: int = 0
    left: int = 0
    """Chunks that still wait for the language model."""
    stopped: str | None = None
    """Why it ended before all was read."""

    def count(self, written: FactsWritten) -> None:
        """Add the counts of written facts."""
        self.added += written.added
        self.unchanged += written.unchanged
        self.superseded += written.superseded
        self.entities += written.entities
        self.dropped += [Drop("fact", problem) for problem in written.problems]

    def join(self, other: ExtractReport) -> None:
        """Add the counts of facts from a language model."""
        self.observations += other.observations
        self.added += other.added
        self.unchanged += other.unchanged
        self.superseded += other.superseded
        self.entities += other.entities
        self.dropped += other.dropped
        self.requests, self.tokens, self.left, self.stopped = other.requests, other.tokens, other.left, other.stopped

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the report as JSON values."""
        dropped: list[JSONValue] = [drop._asdict() for drop in self.dropped]
        return {**asdict(self), "dropped": dropped}


def extract(
    memory: Memory,
    text: str | None = None,
    *,
    source: str | None = None,
    session: str | None = None,
    collection: str = COLLECTION,
    created_at_us: int | None = None,
    judge: Chat | None = None,
    budget: Budget | None = None,
) -> ExtractReport:
    """Extract facts from a text's observation blocks; without a text, from notes' fields."""
    if text is None:
        from lamina_engine.facts.fields import extract_notes

        report = extract_notes(memory)
    else:
        report = extract_text(
            memory, text, source=source, session=session, collection=collection, created_at_us=created_at_us
        )
    if judge is not None:
        from lamina_engine.facts.judged import extract_judged

        report.join(extract_judged(memory, judge, budget=budget))
    return report


def extract_text(
    memory: Memory,
    text: str,
    *,
    source: str | None = None,
    session: str | None = None,
    collection: str = COLLECTION,
    created_at_us: int | None = None,
) -> ExtractReport:
    """Write each observation of a text as a chunk, and its triples as facts of that chunk.

    They hold from its date on. The same text again changes nothing. Chunks of one session are searched for causes by
    `lamina_engine.graph.judged`.
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"text must be text with observation blocks, not {type(text).__name__}")
    found, dropped = parse_observations(text)
    labels = Labels(source, session, collection, created_at_us)
    report = write_observations(memory, found, [labels] * len(found))
    report.dropped = dropped + report.dropped
    return report


def write_observations(memory: Memory, found: Sequence[Observation], labels: Sequence[Labels]) -> ExtractReport:
    """Write each observation as a chunk with its labels, and its triples as facts of that chunk."""
    report = ExtractReport(observations=len(found))
    drafts: list[Draft] = []
    for observation, about in zip(found, labels, strict=True):
        begin = memory.clock.now_us() if about.created_at is None else about.created_at
        try:
            batch = _batch(memory, observation, about)
            name = _find_repeated(memory.view(), batch)
            report.repeated += name is not None
            name = name or writing.write(memory, batch).ids[0]
        except (InvalidArgument, UnicodeError) as error:  # only this one: a vault that cannot be written ends it all
            report.dropped.append(Drop(f"observation {observation.title!r}", f"it could not be written: {error}"))
            continue
        report.chunks.append(name)
        drafts += [draft_of(triple, name, observation.confidence, begin) for triple in observation.triples]
    if drafts:
        report.count(write(memory, drafts, origin=ORIGIN, strict=True, skip_bad=True))
    return report


def _find_repeated(view: View, batch: ChunkBatch) -> str | None:
    """Return the newest recent chunk of its type and collection that says the same, or None."""
    types, collections = (
        view.categories.column(view.snapshot, "type"),
        view.categories.column(view.snapshot, "collection"),
    )
    value = view.categories.value
    found: list[int] = []
    for row in range(view.rows - 1, -1, -1):
        if len(found) == _LOOKED_AT or view.rows - row > _LOOKED_BACK:
            break
        same = (
            value("type", int(types[row])) == batch.types[0]
            and value("collection", int(collections[row])) == batch.collections[0]
        )
        if same and view.state.status[row] == ACTIVE:
            found.append(row)
    records = view.snapshot.records("chunks", np.array(found, np.int64), ("id", "title", "text")) if found else []
    text = f"{batch.titles[0]}\n{batch.texts[0]}"
    return next(
        (record["id"] for record in records if is_same_statement(text, f"{record['title']}\n{record['text']}")), None
    )


def draft_of(triple: Triple, chunk: str, confidence: float, begin: int | None) -> Draft:
    """Return a triple as a draft of a fact that holds from ``begin`` on."""
    return Draft(
        triple.subject,
        triple.predicate,
        triple.object,
        kind="literal" if triple.is_literal else "entity",
        source=chunk,
        confidence=confidence,
        valid_from=begin,
    )


def _batch(memory: Memory, observation: Observation, labels: Labels) -> ChunkBatch:
    content: dict[str, Any] = {"observation": observation.type, "facts": list(observation.facts)}
    metadata, _ = memory.redact_json(msgspec.json.encode(content, order="sorted").decode())
    return ChunkBatch(
        texts=[memory.redact(observation.text)],
        ids=[labels.id],
        titles=[memory.redact(observation.title)],
        types=[observation.type],
        collections=[labels.collection],
        projects=[labels.project],
        sessions=[labels.session],
        agents=[labels.agent],
        sources=[labels.source],
        created_at=[labels.created_at],
        metadata=[metadata],
    )


ALIKE: Final = 0.93
"""Cosine of trigrams from which two texts may say the same."""
ALIKE_WITHOUT_ANCHORS: Final = 0.98
"""The same where neither has an anchor."""
SHARED_WORDS: Final = 0.5
"""Jaccard index of their longer words that must be exceeded."""
SHARED_ANCHORS: Final = 0.5
"""Share of the smaller set of anchors that must be exceeded."""
_MIN_WORD_CHARS: Final = 4
_WORD: Final = re.compile(r"\w+", re.UNICODE)
_ANCHOR: Final = re.compile(
    r"(?P<path>[\w.~-]*/[\w./~-]+)|(?P<number>\d[\d.,:]*)|(?P<identifier>\w+(?:[._]\w+)+|[a-z]+[A-Z]\w*)|(?P<name>[^\W\d_a-z]\w*)"
)
_NEGATION: Final = re.compile(
    r"\b(?:not|no|never|none|without|cannot|n't|isn't|doesn't|don't|won't|can't)\b|n['’]t\b", re.IGNORECASE
)


def is_same_statement(a: str, b: str) -> bool:
    """Return whether two texts say the same, in letters and anchors (ClawMem's merge gate).

    Trigrams must be close, closer still where neither text has a name, number or path as an anchor; where they have, the
    anchors must not differ materially: "Alice likes tea" is not "Bob likes tea". O(length of both).
    """
    if bool(_NEGATION.search(a)) != bool(_NEGATION.search(b)):
        return False
    first, second = anchors(a), anchors(b)
    if differ_materially(first, second):
        return False
    least = ALIKE if first or second else ALIKE_WITHOUT_ANCHORS
    return shared_words(a, b) > SHARED_WORDS and trigram_cosine(a, b) >= least


def trigram_cosine(a: str, b: str) -> float:
    """Return the cosine of two texts' counts of character trigrams, without case, in [0, 1]."""
    first, second = _trigrams(a), _trigrams(b)
    if not first or not second:
        return 1.0 if a.split() == b.split() else 0.0
    product = sum(count * second[gram] for gram, count in first.items())
    return product / math.sqrt(sum(n * n for n in first.values()) * sum(n * n for n in second.values()))


def anchors(text: str) -> set[str]:
    """Return a text's anchors, case-folded: names, numbers, paths and identifiers."""
    found = {match[0].rstrip(".,:").casefold() for match in _ANCHOR.finditer(text)}
    return {anchor for anchor in found if anchor and anchor not in STOP_WORDS}


def differ_materially(first: set[str], second: set[str]) -> bool:
    """Return whether at most half of the smaller set of anchors is in the other."""
    smaller = min(len(first), len(second))
    return smaller > 0 and len(first & second) <= SHARED_ANCHORS * smaller


def shared_words(a: str, b: str) -> float:
    """Return the Jaccard index of two texts' words of four letters or more; 1 without any."""
    first, second = (_long_words(text) for text in (a, b))
    union = first | second
    return len(first & second) / len(union) if union else 1.0


def _long_words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if len(word) >= _MIN_WORD_CHARS}


def _trigrams(text: str) -> Counter[str]:
    plain = " ".join(text.casefold().split())
    return Counter(plain[i : i + 3] for i in range(len(plain) - 2))
