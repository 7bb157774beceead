"""Answers to questions of facts: a fact, or a sentence that states what is asked.

A sentence is looked for only where no fact answers, among the texts that share most words with the question. Nothing of it
is stored: a text that changes or is withdrawn changes the answer at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from lamina_engine.chunks.talk import CONVERSATION, without_tools
from lamina_engine.clock import MISSING_US, utc_datetime
from lamina_engine.facts import vocabulary
from lamina_engine.facts.asking import Asking, read_question
from lamina_engine.facts.german import in_german
from lamina_engine.facts.labels import is_rival
from lamina_engine.facts.questions import ANSWERED_FROM, AnswerSet, K
from lamina_engine.facts.questions import ask as ask_facts
from lamina_engine.facts.releases import asks_release, is_other_release
from lamina_engine.facts.replacements import may_be_replaced, read_replacement, read_value
from lamina_engine.facts.sentences import Sentence
from lamina_engine.facts.statements import TENSE, read_sentences, sentences_of
from lamina_engine.facts.stating import ANEW, NOW
from lamina_engine.facts.values import VERSIONS
from lamina_engine.facts.wording import likeness, parts, tokens
from lamina_engine.index.analysis import query_analyzer
from lamina_engine.index.scoring import Bm25
from lamina_engine.index.view import View
from lamina_engine.recall.filters import All, select_rows
from lamina_engine.recall.lanes import Selection, Words
from lamina_engine.results import Answer
from lamina_engine.stored_json import read_json

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

METHOD: Final = "sentence"
"""Method of an answer that is a sentence of a text."""
STATES: Final = "states"
"""Its predicate; the subject is the text."""
_GERMAN: Final = "german"
_CODE: Final = "implementation"
_LOOKED_AT: Final = 24
"""Texts that are read for one question."""
_AS_GOOD: Final = 0.1
"""Least difference of ratings that is more than the length of a sentence."""
_FORM: Final = 0.9
"""Likeness of two forms of one word."""
_ANY_SORT: Final = frozenset(("new", "current", "present", "whole", "entire"))
"""Words before a noun that make it no other thing."""
_VERSION: Final = re.compile(r"v?(\d{1,6}(?:\.\d{1,6})+)")
_RELEASING: Final = ("release", "released", "tag", "tagged", "bumped", "getaggt", "veröffentlicht")
_RELEASED: Final = re.compile(
    r"\b(?:released?|tagged|bumped|published|shipped|getaggt|veröffentlicht|freigegeben|ausgeliefert)\b", re.IGNORECASE
)
_FIELDS: Final = ("id", "title", "source", "type", "text", "created_at", "tags", "metadata", "project", "headings")


def ask(
    memory: Memory,
    question: str,
    *,
    k: int = K,
    valid_at_us: int | None = None,
    as_of_us: int | None = None,
    identity: str | None = None,
    fuzzy: bool = False,
) -> AnswerSet:
    """Answer a question from the facts, else from the texts; see that room's `ask`."""
    found = ask_facts(memory, question, k=k, valid_at_us=valid_at_us, as_of_us=as_of_us, identity=identity, fuzzy=fuzzy)
    if found.answered:
        return found
    view = memory.view()
    if as_of_us is not None:
        view = view.at(as_of_us)
    stated = find_statements(view, question, as_of_us if valid_at_us is None else valid_at_us)
    return AnswerSet(found.question, (*stated, *found)[:k], answered=True) if stated else found


def find_statements(view: View, question: str, until_us: int | None = None) -> list[Answer]:
    """Return the sentence, of texts up to a moment, that answers a question best.

    With it come those of the same text that say as much of another section or row: two people have the name.
    """
    asking = read_question(question)
    if asking is None or not view.rows:
        return []
    selection = select_rows(view, All(()), None, None if until_us is None else until_us + 1, invalidated=False)
    asked = [word for _, word in (*asking.names, *asking.content)]
    if _GERMAN in view.languages and not asking.is_german:
        asked += [german for word in asked for german in in_german(word)]
    found = _read_texts(view, asking, _find_rows(view, " ".join(asked), selection))
    answering = (each for each in found if each.said)
    # of the gateway, and of the staging gateway, the question means the one
    best = max(
        answering,
        key=lambda each: (not _is_of_another(asking, each.sentence, ()), each.rating, each.place),
        default=None,
    )
    if best is None:
        return []
    sentence = best.sentence
    if may_be_replaced(asking):
        last = _replace(view, selection, asking, best, found)
        if last is None:
            return []
        best, sentence = last
    equal = [
        (text.record, each)
        for text in (found if asks_release(asking) else (best,))
        for like, each in text.said
        if best.rating - like < _AS_GOOD and (is_rival(sentence, each) or is_other_release(asking, sentence, each))
    ]
    return [_answer(record, each, ambiguous=bool(equal)) for record, each in ((best.record, sentence), *equal)]


class _Text(NamedTuple):
    """Text that is read for a question."""

    place: tuple[int, int]
    """When it was written, and its row: later is newer."""
    record: dict[str, Any]
    said: list[tuple[float, Sentence]]
    """Sentences that answer, with how well."""

    @property
    def rating(self) -> float:
        return max((rating for rating, _ in self.said), default=0.0)

    @property
    def sentence(self) -> Sentence:
        return max(self.said, key=itemgetter(0))[1]


def _find_rows(view: View, words: str, selection: Selection) -> list[int]:
    rows: list[int] = (
        Words(view, query_analyzer().query(words, view.languages), Bm25()).lane(selection, _LOOKED_AT).rows.tolist()
    )
    return rows


def _read_texts(view: View, asking: Asking, rows: Sequence[int]) -> list[_Text]:
    """Return texts with their sentences that answer a question; source code states nothing."""
    found: list[_Text] = []
    for row, record in zip(rows, view.snapshot.records("chunks", np.array(rows, np.int64), _FIELDS), strict=True):
        if record["type"] == _CODE:
            continue
        if record["type"] == CONVERSATION:  # what a tool answered was so at that moment, and nobody said it
            record["text"] = without_tools(record["text"])
        created = record["created_at"]
        found.append(_Text((MISSING_US if created is None else created, row), record, _read_answers(asking, record)))
    return found


def _read_answers(asking: Asking, record: dict[str, Any]) -> list[tuple[float, Sentence]]:
    """Return the sentences of a text that answer a question, with how well."""
    dated = utc_datetime(record["created_at"])
    year = str(dated.year) if dated else ""
    title, tags = record["title"] or "", record["tags"] or ()
    return [
        each
        for text, above in ((record["text"], record["headings"] or ()), (_fields_text(record["metadata"]), ()))
        for each in sentences_of(asking, text, year, title, record["source"], tags, above)
    ]


def _read_changes(asking: Asking, record: dict[str, Any]) -> dict[str, bool]:
    """Return the sentences that say, in fewer words than asked, that something is so now.

    True where the text says elsewhere what they leave out: a later "the elements come from B again" may be about other ones.
    """
    if not ANEW.search(record["text"]):
        return {}
    qualifiers = asking.qualifiers()
    about = {part for word in tokens(f"{record['project'] or ''} {record['text']}") for part in parts(word.lower())}
    known = {i for i in qualifiers if asking.words[i] in about}
    found: dict[str, bool] = {}
    asked = len(asking.content) + len(asking.names)
    for is_clear, left_out in ((False, qualifiers), (True, known)):
        if 2 * len(left_out) > asked:
            continue  # what is left is another question
        answers = _read_answers(asking.without(left_out), record)
        found |= {each.written: is_clear for _, each in answers if ANEW.search(f"{each.text} {each.written}")}
    return found


def _replace(
    view: View, selection: Selection, asking: Asking, best: _Text, found: Sequence[_Text]
) -> tuple[_Text, Sentence] | None:
    """Return the answer that later sentences leave; None where they say nothing instead."""
    sentence: Sentence | None = best.sentence
    value, rating = read_value(asking, best.sentence), _plain_rating(best.rating, best.sentence)
    known = {each.place[1] for each in found}
    words = (*value.names, *value.numbers, *(_RELEASING if _asks_version(asking) else ()))
    more = [row for row in _find_rows(view, " ".join(words), selection) if row not in known]
    project = best.record["project"]
    for text in sorted((*found, *_read_texts(view, asking, more)), key=lambda each: each.place):
        if text.place < best.place or (project and text.record["project"] not in {project, None}):
            continue
        answering = {each.written: _plain_rating(like, each) for like, each in text.said}
        changes = _read_changes(asking, text.record)
        is_after = text.place > best.place or sentence is None
        is_newer = text.place[0] > best.place[0]
        for each in read_sentences(asking, text.record["text"]):
            if not is_after:
                is_after = sentence is not None and each.written == sentence.written
            elif sentence is not None and (
                " ".join(sentence.lower) in " ".join(each.lower)  # told again
                or _is_of_another(asking, each, sentence.lower)
            ):
                continue
            elif each.written in answering and (
                sentence is None or NOW.search(each.text) or (is_newer and answering[each.written] >= rating - _AS_GOOD)
            ):
                best, sentence, value = text, each, read_value(asking, each)
                rating = answering[each.written]
            elif (holds := read_replacement(asking, value, each)) is not None:
                new = read_value(asking, each, value)
                best, sentence = text, each if holds else None
                value = new if holds else value
            elif is_newer and sentence is not None and _is_released(asking, text.record, sentence, each):
                best, sentence, value = text, each, read_value(asking, each)
            elif each.written in changes and not value.is_in(each.lower):
                is_clear = changes[each.written]
                best, sentence = text, each if is_clear else None
                value = read_value(asking, each) if is_clear else value
    return None if sentence is None else (best, sentence)


def _is_of_another(asking: Asking, sentence: Sentence, old: Sequence[str]) -> bool:
    """Return whether a sentence names another sort of a thing: "the staging gateway"."""
    asked = [word.lower() for _, word in (*asking.names, *asking.content)]
    known = {*asked, *old, *_ANY_SORT}
    return any(
        article in vocabulary.ARTICLES
        and not (sort in known or sort.isdigit() or vocabulary.is_grammar(sort))
        and any(likeness(word, noun) >= _FORM for word in asked)
        for article, sort, noun in zip(sentence.lower, sentence.lower[1:], sentence.lower[2:], strict=False)
    )


def _asks_version(asking: Asking) -> bool:
    return not VERSIONS.isdisjoint(asking.words[i] for i in asking.noun)


def _is_released(asking: Asking, record: dict[str, Any], old: Sentence, sentence: Sentence) -> bool:
    """Return whether a sentence releases a later version of the project that is asked of.

    "1.7.0 is tagged."
    """
    project = set(parts((record["project"] or "").lower()))
    asked = [word.lower() for i, word in (*asking.names, *asking.content) if i not in asking.noun]
    if (
        not _asks_version(asking)
        or not asked
        or not project.issuperset(asked)
        or not _RELEASED.search(sentence.written)
    ):
        return False
    found, known = ([number for number in map(_read_version, words) if number] for words in (sentence.lower, old.lower))
    return len(found) == 1 and bool(known) and found[0] > min(known)


def _read_version(word: str) -> tuple[int, ...]:
    """Return the numbers of a version with a point; none of another word."""
    found = _VERSION.fullmatch(word)
    return tuple(map(int, found[1].split("."))) if found else ()


def _plain_rating(rating: float, sentence: Sentence) -> float:
    """Return how well a sentence answers, its "now" aside: an older one's is over."""
    return rating - TENSE * (NOW.search(sentence.text) is not None)


def _fields_text(metadata: str | None) -> str:
    """Return the fields of front matter as lines of a text."""
    fields = read_json(metadata) if metadata else {}
    return "\n".join(f"{key}: {value}" for key, value in fields.items() if isinstance(value, str | int | float))


def _answer(record: dict[str, Any], sentence: Sentence, *, ambiguous: bool) -> Answer:
    title, source, chunk = record["title"], record["source"], record["id"]
    subject, section, said = title or source or chunk, sentence.section, sentence.written
    if sentence.release and sentence.release != section:
        section = f"{sentence.release} › {section}"
    if section and section != subject:  # whose address it is may stand there alone
        subject = f"{subject} › {section}"
    return Answer(
        subject, STATES, said, ANSWERED_FROM, METHOD, source or chunk, None, ambiguous, None, STATES, said, -1, chunk, 1.0,
        record["created_at"], None, asked=True,
    )  # fmt: skip
