"""Questions about entities, answered from facts in phases of falling certainty.

| phase | answers | score | method |
|---|---|---|---|
| 1 | a fact of a named entity, of a predicate that was asked for | 95 | entity+intent |
| 1 | the same between entities, from either end | 90 | entity+intent+rel |
| 1 | where none of these is what was asked: the same of an entity that a fact leads to | 90 | entity+path |
| 2 | its other facts | 70 | entity |
| 2 | its other relations | 65 | entity+rel |
| 3 | facts with the question's words, where no entity is named | 50 | fts |
| 4 | relations with them | 40 | fts_rel |

The scores rank answers among themselves; they are never mixed with BM25 or cosines (see `lamina_engine.recall.factlane`).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, overload

from msgspec import Struct

from lamina_engine.errors import InvalidArgument
from lamina_engine.facts.coverage import Coverage, key_stems, satisfies
from lamina_engine.facts.intents import Intents, intents_from, matches_predicate, standard, words_of
from lamina_engine.facts.intervals import Earlier, choose_facts, read_earlier
from lamina_engine.facts.parsing import NamedEntity, Question, parse_question
from lamina_engine.facts.wording import stem
from lamina_engine.results import Answer

if TYPE_CHECKING:
    from lamina_engine.facts.view import Entity, FactView
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.results import Fact, JSONValue

__all__ = ["ANSWERED_FROM", "TIERS", "AnswerSet", "Tiers", "ask", "ask_view"]

K: Final = 6
MAX_K: Final = 1_000
_MAX_CHARS: Final = 2_000
_MANY_FACTS: Final = 512
"""Facts that point at an entity from which on not all of them are looked at."""
_MOST_LEADING: Final = 64
"""Facts of named entities that are followed to others."""
_MOST_NAMED: Final = 8
"""Entities of one question that are looked at."""
ANSWERED_FROM: Final = 90.0
"""An answer of this score or more is one to what was asked; those below are what else is known."""


class Tiers(Struct, frozen=True):
    """Scores of the phases."""

    fact: float = 95.0
    relation: float = 90.0
    other_fact: float = 70.0
    other_relation: float = 65.0
    found_fact: float = 50.0
    found_relation: float = 40.0
    others_always: bool = True
    """True: phase 2 in any case; False: only for entities of which phase 1 found nothing."""


TIERS: Final[dict[str, Tiers]] = {"shipped": Tiers(), "seed": Tiers(relation=95.0, others_always=False)}
"""``shipped`` is what the source system's code does, ``seed`` what its description says."""


class AnswerSet(Sequence[Answer]):
    """Answers of one question, best first, with the question as parsed."""

    def __init__(self, question: Question, found: Sequence[Answer], *, answered: bool) -> None:
        self._found = tuple(found)
        self.question = question
        self.answered = answered
        """True where they answer what was asked; False where they are related facts only, or none."""

    @overload
    def __getitem__(self, place: int) -> Answer: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Answer]: ...
    def __getitem__(self, place: int | slice) -> Answer | Sequence[Answer]:
        """Return one answer, or some."""
        return self._found[place]

    def __len__(self) -> int:
        return len(self._found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnswerSet) and (self._found, self.answered) == (other._found, other.answered)

    __hash__: ClassVar[None]  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleMethodOverride]

    def __repr__(self) -> str:
        return f"<AnswerSet of {len(self)}{'' if self.answered else ', related facts only'}>"

    @property
    def intents(self) -> tuple[str, ...]:
        """Names of the question's intents."""
        return tuple(intent.name for intent in self.question.intents)

    @property
    def entities(self) -> tuple[str, ...]:
        """Names of the question's entities."""
        return tuple(named.entity.name for named in self.question.named)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names in the question without an entity in the vault."""
        return self.question.unknown

    @property
    def ambiguous(self) -> bool:
        """True where a name means several entities; answers are of all of them."""
        return any(named.ambiguous for named in self.question.named) or any(answer.ambiguous for answer in self)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return everything as JSON values."""
        return {
            "question": self.question.text,
            "answered": self.answered,
            "entities": list(self.entities),
            "unknown": list(self.unknown),
            "ambiguous": self.ambiguous,
            "intents": list(self.intents),
            "answers": [answer.to_dict() for answer in self],
        }


def ask(
    memory: Memory,
    question: str,
    *,
    k: int = K,
    valid_at_us: int | None = None,
    as_of_us: int | None = None,
    identity: str | None = None,
    tiers: str = "shipped",
    intents: Intents | None = None,
    fuzzy: bool = False,
) -> AnswerSet:
    """Answer a question from the facts.

    O(length of the question + facts of the entities it names); full text only where it names none. ``tiers`` is "shipped" or
    "seed"; ``identity`` the entity that "I" is; ``fuzzy`` resolves names by unique prefixes and one edit too.
    """
    if not isinstance(question, str):
        raise InvalidArgument(f"question must be text, not {type(question).__name__}")
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_K:
        raise InvalidArgument(f"k={k!r} must be a whole number from 1 to {MAX_K}")
    if tiers not in TIERS:
        raise InvalidArgument(f"tiers={tiers!r} must be one of {', '.join(TIERS)}")

    view = memory.view()
    if as_of_us is not None:
        view = view.at(as_of_us)
    moment = valid_at_us if valid_at_us is not None else as_of_us
    return ask_view(
        view, question, k=k, valid_at_us=memory.clock.now_us() if moment is None else moment,
        identity=identity if identity is not None else memory.config.facts.speaker,
        addressed=memory.config.facts.identity or identity, tiers=TIERS[tiers], tz=memory.config.tz,
        intents=intents or intents_from(memory.config.facts.intents), fuzzy=fuzzy,
    )  # fmt: skip


def ask_view(
    view: View,
    text: str,
    *,
    k: int,
    valid_at_us: int,
    identity: str | None = None,
    addressed: str | None = None,
    tiers: Tiers = TIERS["shipped"],
    intents: Intents | None = None,
    fuzzy: bool = False,
    least: float = 0.0,
    tz: str = "UTC",
) -> AnswerSet:
    """Answer a question from a view, without answers that score below ``least``; see `ask`."""
    from lamina_engine.facts.view import fact_view

    kg, text = fact_view(view), text[:_MAX_CHARS]

    def parse(text: str) -> Question:
        return parse_question(
            kg, text, intents=intents or standard(), identity=identity, addressed=addressed, fuzzy=fuzzy
        )

    question = parse(text)
    inquiry = _Inquiry(kg, question, valid_at_us, tiers)
    found = inquiry.about_entities() if question.named or tiers.found_fact < least else inquiry.by_words(k)
    if not any(item.answers for item in found):
        paths = inquiry.along_paths(found)
        found = [*paths.values(), *(item for item in found if item.fact.row not in paths)]
    current = [item for item in found if item.named is not None and not item.fact.is_doubted]
    answered = any(item.answers for item in current) or (bool(current) and inquiry.coverage.asks_for_all())
    if not answered and question.named:
        readings = read_earlier(text, kg.scan(text), valid_at_us, tz)
        answers = (_answer_earlier(kg, parse(each.text), each, valid_at_us, tiers) for each in readings)
        past = next(filter(None, answers), [])
        rows = {item.fact.row for item in past}
        answered, found = bool(past), [*past, *(item for item in found if item.fact.row not in rows)]
    kept = sorted(found, key=lambda item: item.order)[:k]
    from lamina_engine.facts.contradictions import believed_confidence, contradicting_values

    others = contradicting_values(view, [item.fact.row for item in kept])
    listed = [
        item.answer(others.get(item.fact.row, ()), believed_confidence(view, item.fact.row, item.fact.confidence))
        for item in kept
    ]
    return AnswerSet(question, listed, answered=answered)


def _answer_earlier(kg: FactView, question: Question, earlier: Earlier, now_us: int, tiers: Tiers) -> list[_Candidate]:
    """Return the facts that answer a question of another time."""
    inquiry = _Inquiry(kg, question, None, tiers)
    ever = {item.fact.row: item for item in inquiry.about_entities() if item.answers and not item.fact.is_doubted}
    chosen: list[_Candidate] = []
    for _, items in itertools.groupby(sorted(ever.values(), key=_group_key), _group_key):
        chosen += [ever[fact.row] for fact in choose_facts(earlier, [item.fact for item in items], now_us)]
    return chosen


def _list_predicates(kg: FactView) -> tuple[str, ...]:
    return kg.view.cached("facts.predicates", lambda: tuple(kg.predicate_names()))


def _group_key(item: _Candidate) -> tuple[int, str, str]:
    """Return what a fact is of: values of one entity and predicate follow each other."""
    return item.place, item.fact.direction, item.fact.key


# ---------------------------------------------------------------------- phases


class _Candidate(Struct, frozen=True):
    """Fact with its score and its order among equals."""

    fact: Fact
    score: float
    method: str
    place: int
    """Of the entity among those named."""
    fit: int
    """Words of the question that it holds beyond the entity's name."""
    named: NamedEntity | None
    answers: bool = False
    """Whether it is what is asked for, and nothing else is asked."""
    first: Fact | None = None
    """Fact that leads from the named entity to it."""

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key, best first; rows come last, so answers do not depend on the order of writing."""
        fact = self.fact
        newest = -(fact.valid_from_us if fact.valid_from_us is not None else -(2**62))
        return (
            fact.is_doubted, not self.answers, -self.score, self.place, -self.fit, -fact.confidence, newest, fact.key, fact.value,
            fact.subject, fact.source, fact.row,
        )  # fmt: skip

    def answer(self, contradicted: Sequence[str], confidence: float) -> Answer:
        fact, named = self.fact, self.named
        return Answer(
            fact.subject, fact.predicate, fact.object, self.score, self.method, fact.source or "facts",
            named.how if named else None, named.ambiguous if named else False, named.entity.id if named else None,
            fact.key, fact.value, fact.row, fact.chunk, confidence, fact.valid_from_us, fact.valid_to_us,
            tuple(contradicted), fact.status, fact.reason, self.answers,
            () if self.first is None else ((self.first.subject, self.first.predicate, self.first.object),),
        )  # fmt: skip


class _Inquiry:
    """Search for the facts that answer one question, at one moment or at any."""

    def __init__(self, kg: FactView, question: Question, valid_at: int | None, tiers: Tiers) -> None:
        self._kg, self._question, self._valid_at, self._tiers = kg, question, valid_at, tiers
        # not a bound method of its own: an inquiry, and with it a version, would wait for the garbage collector
        self.coverage = Coverage(question, partial(_list_predicates, kg), kg.registry, kg.kind_of_value)
        words = [stem(word.removesuffix("'s")) for word in question.words]
        self._content = frozenset(words[i] for i in question.content)
        self._stems = frozenset(words[i] for i in question.asking)

    def about_entities(self) -> list[_Candidate]:
        """Return candidates of phases 1 and 2: facts of named entities, each at its best score."""
        best: dict[int, _Candidate] = {}
        for place, named in enumerate(self._question.named[:_MOST_NAMED]):
            here = list(self._about(named, place))
            if not self._tiers.others_always and any(item.score >= ANSWERED_FROM for item in here):
                here = [item for item in here if item.score >= ANSWERED_FROM]
            for item in here:
                best[item.fact.row] = min(item, best.get(item.fact.row, item), key=lambda item: item.order)
        return list(best.values())

    def _about(self, named: NamedEntity, place: int) -> Iterator[_Candidate]:
        kg, tiers, facts = self._kg, self._tiers, self._facts_of(named.entity.row)
        for fact in facts:
            relation = fact.object_id is not None
            answers = self.coverage.answers((fact,), (named.entity.type,))
            if answers and self.coverage.evidence(fact).is_sort:
                kind = kg.kind_of_value(fact)
                answers = sum(kg.kind_of_value(other) == kind for other in facts) == 1
            is_asked = answers or any(satisfies(intent, fact) for intent in self._question.intents)
            if is_asked or self._names(fact.key):
                score, method = (tiers.relation, "entity+intent+rel") if relation else (tiers.fact, "entity+intent")
            else:
                score, method = (tiers.other_relation, "entity+rel") if relation else (tiers.other_fact, "entity")
            yield _Candidate(fact, score, method, place, self._count_shared(fact), named, answers)

    def along_paths(self, found: Sequence[_Candidate]) -> dict[int, _Candidate]:
        """Return, by row, what is asked of an entity that a fact of a named one leads to."""
        paths: dict[int, _Candidate] = {}
        current = [item for item in found if item.named is not None and not item.fact.is_doubted]
        kinds = Counter((item.place, self._kg.kind_of_value(item.fact), item.fact.direction) for item in current)
        leading = sorted(
            (item for item in current if self.coverage.evidence(item.fact).words), key=lambda item: item.order
        )
        for item in leading[:_MOST_LEADING]:
            named, first, middle = item.named, item.fact, self._other_end(item.fact)
            if named is None or middle is None or middle.row == named.entity.row:
                continue
            if (
                self.coverage.evidence(first).is_sort
                and kinds[item.place, self._kg.kind_of_value(first), first.direction] > 1
            ):
                continue
            for fact in self._facts_of(middle.row):
                if fact.row != first.row and self.coverage.answers((first, fact), (named.entity.type, middle.type)):
                    path = _Candidate(fact, self._tiers.relation, "entity+path", item.place, 0, named, True, first)
                    paths[fact.row] = min(path, paths.get(fact.row, path), key=lambda path: path.order)
        return paths

    def _other_end(self, fact: Fact) -> Entity | None:
        """Return the entity that a fact leads to; of a literal, the one that is called so."""
        identity = fact.subject_id if fact.direction == "in" else fact.object_id
        if identity is not None:
            return self._kg.entity_by_id(identity)
        try:
            return self._kg.resolve(fact.value).entity
        except InvalidArgument:  # a value of signs, or a very long one
            return None

    def _facts_of(self, row: int) -> list[Fact]:
        """Return an entity's facts; where many point at it, of those only the ones asked for."""
        kg = self._kg
        if len(kg.tables.by_target.of(row, kg.fact_rows)) <= _MANY_FACTS:
            return kg.about(row, valid_at=self._valid_at)
        pairs = [(name, kg.registry.inverse(name)) for name in kg.tables.predicates.names]
        inverses = {inverse for name, inverse in pairs if inverse is not None and self._asks_inverse(name, inverse)}
        out = kg.about(row, valid_at=self._valid_at, direction="out")
        return [*out, *kg.about(row, valid_at=self._valid_at, direction="in", predicates=inverses)] if inverses else out

    def _asks_inverse(self, name: str, inverse: str) -> bool:
        return self._names(inverse) or any(
            matches_predicate(intent, name, inverse=True) or matches_predicate(intent, inverse, inverse=False)
            for intent in self._question.intents
        )

    def _names(self, key: str) -> bool:
        """Return whether the question names a predicate itself, in any form of its words."""
        parts = key_stems(key)
        return bool(parts) and self._stems.issuperset(parts)

    def _count_shared(self, fact: Fact) -> int:
        """Return the number of the question's content words in a fact's predicate and value."""
        if not self._content:
            return 0
        return len(self._content & {stem(word) for word in words_of(f"{fact.key.replace('_', ' ')} {fact.value}")})

    def by_words(self, k: int) -> list[_Candidate]:
        """Return candidates of phases 3 and 4: facts, then relations, with the question's words."""
        from lamina_engine.facts import search

        kg, tiers = self._kg, self._tiers
        text = search.fact_text_index(kg.view)
        found: list[_Candidate] = []
        for relations, score, method in ((False, tiers.found_fact, "fts"), (True, tiers.found_relation, "fts_rel")):
            left = k - len(found)
            if left > 0:
                facts = text.find(
                    kg.snapshot, kg, self._question.text, limit=left, valid_at=self._valid_at, relations=relations
                )
                # the order of relevance stands in the place, as no entity is named
                found += [_Candidate(fact, score, method, place, 0, None) for place, fact in enumerate(facts)]
        return found
