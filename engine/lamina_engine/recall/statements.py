"""Answers to questions of facts: a fact, or a sentence that states what is asked.

A sentence is looked for only where no fact answers, among the texts that share most words with the question. Nothing of it
is stored: a text that changes or is withdrawn changes the answer at once.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final

from lamina_engine.clock import MISSING_US, utc_datetime
from lamina_engine.facts.asking import read_question
from lamina_engine.facts.dictionary import in_german
from lamina_engine.facts.labels import is_rival
from lamina_engine.facts.questions import ANSWERED_FROM, AnswerSet, K
from lamina_engine.facts.questions import ask as ask_facts
from lamina_engine.facts.sentences import Sentence
from lamina_engine.facts.statements import sentences_of
from lamina_engine.index.analysis import query_analyzer
from lamina_engine.index.scoring import Bm25
from lamina_engine.index.view import View
from lamina_engine.recall.filters import All, select_rows
from lamina_engine.recall.lanes import Words
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
_FIELDS: Final = ("id", "title", "source", "type", "text", "created_at", "tags", "metadata")


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
    words = Words(view, query_analyzer().query(" ".join(asked), view.languages), Bm25())
    rows = words.lane(selection, _LOOKED_AT).rows
    best: tuple[float, int, int] | None = None
    answers: list[Answer] = []
    for row, record in zip(rows.tolist(), view.snapshot.records("chunks", rows, _FIELDS), strict=True):
        if record["type"] == _CODE:
            continue
        created = record["created_at"]
        dated = utc_datetime(created)
        year = str(dated.year) if dated else ""
        title, tags = record["title"] or "", record["tags"] or ()
        said = [
            each
            for text in (record["text"], _fields_text(record["metadata"]))
            for each in sentences_of(asking, text, year, title, record["source"], tags)
        ]
        rating, sentence = max(said, key=itemgetter(0), default=(0.0, None))
        place = rating, MISSING_US if created is None else created, row
        if sentence is None or (best is not None and place <= best):
            continue
        equal = [each for like, each in said if rating - like < _AS_GOOD and is_rival(sentence, each)]
        best, answers = (
            place,
            [
                _answer(record["title"], record["source"], record["id"], created, each, ambiguous=bool(equal))
                for each in (sentence, *equal)
            ],
        )
    return answers


def _fields_text(metadata: str | None) -> str:
    """Return the fields of front matter as lines of a text."""
    fields = read_json(metadata) if metadata else {}
    return "\n".join(f"{key}: {value}" for key, value in fields.items() if isinstance(value, str | int | float))


def _answer(
    title: str | None, source: str | None, chunk: str, created_us: int | None, sentence: Sentence, *, ambiguous: bool
) -> Answer:
    subject, section, said = title or source or chunk, sentence.section, sentence.written
    if section and section != subject:  # whose address it is may stand there alone
        subject = f"{subject} › {section}"
    return Answer(
        subject, STATES, said, ANSWERED_FROM, METHOD, source or chunk, None, ambiguous, None, STATES, said, -1, chunk, 1.0,
        created_us, None, asked=True,
    )  # fmt: skip
