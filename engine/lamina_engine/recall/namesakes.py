"""Namesakes of times: months, weekdays and seasons that are names in a vault's texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.clock import EPOCH
from lamina_engine.index.analysis import query_analyzer, term_hash
from lamina_engine.index.state import ACTIVE
from lamina_engine.index.view import View
from lamina_engine.time.lexicon import AMBIGUOUS_MONTHS, ENGLISH, Senses, fold, guess_languages, vocabulary
from lamina_engine.time.relations import read_phrases

if TYPE_CHECKING:
    from lamina_engine.recall.time_expression import TimeExpression

_MOST_READ: Final = 128
"""Chunks with the word that are read for the name, the newest: "may" stands in very many."""
_AROUND: Final = 200
"""Characters of a sentence that are read on either side of the name."""
_BEFORE_A_NAME: Final = frozenset(
    fold(
        "about regarding concerning is are did does do has have with ask met told who wer ist sind hat haben über mit frau herr "
        "sur qui est avec sobre quién es con su chi quem é com over wie om vem är o kto jest"
    ).split()
)
"""Words of a question before a topic or a person."""
_AUTHORS: Final = frozenset({"from", "by", "von", "de", "di", "van", "av", "od", "par", "por"})
"""Words of a question before a person or a time."""
_CALLED: Final = frozenset(
    fold(
        "with ask asked tell told met meet call called thank thanked mr mrs ms dr mit frau herr traf frag fragte sagte"
    ).split()
)
"""Words of a text before a person."""
_ACTS: Final = frozenset(
    """
    said says wrote writes thinks thought keeps kept runs ran wants likes leads led owns lives prefers needs knows knew told tells
    asks made makes orders pays paid reviews works sings sent gave went took built
    """.split()  # noqa: SIM905 - a paragraph of words reads better than a column of quotes
)
"""What people do in English texts; most else that they did ends in "ed"."""
_NO_ACTS: Final = frozenset(
    """
    started ended passed seemed showed marked and or war waren ist wird und oder bis var est fue
    """.split()  # noqa: SIM905
)
"""What months do, and what joins them."""
_NAMES: Final = ("month", "abbreviation", "weekday", "weekday_short", "season")
_WORD: Final = re.compile(r"[^\W\d_]+")


class Namesake(IntEnum):
    """Verdict of a vault's texts on the name of a time in a question."""

    NONE = 0
    MAYBE = 1
    """Texts know the name, and the question may mean either."""
    SURE = 2
    """Texts know the name, and the question speaks of it as of a person."""


def find_namesake(view: View, text: str, found: TimeExpression, now_us: int, *, is_empty: bool) -> Namesake:
    """Return what the vault's texts say of the bare name at the end of a time phrase.

    Where the time is empty, the words of a question that speaks as of a person count whatever the texts say; not those that are
    other words as well ("may").
    """
    match = list(_WORD.finditer(text, *found.span))[-1]
    word, before = match.group(), _WORD.findall(text[: match.start()])
    last = fold(before[-1]) if before else ""
    behind = _next_name(text, match.end())
    named = [word, behind] if behind else [before[-1], word] if _is_first_name(before) else []
    is_empty = is_empty and fold(word) not in AMBIGUOUS_MONTHS
    now = EPOCH + timedelta(microseconds=now_us)
    if named and _stands_in(view, word, named, now):
        return Namesake.SURE
    if last in _BEFORE_A_NAME or (behind and is_empty):
        return Namesake.SURE if _stands_in(view, word, [], now) else Namesake.MAYBE if is_empty else Namesake.NONE
    months = found.kind != "weekday" and (last in _AUTHORS or not _WORD.search(text.replace(word, " ", 1)))
    return Namesake.MAYBE if months and _stands_in(view, word, [], now) else Namesake.NONE


def _is_first_name(before: Sequence[str]) -> bool:
    """Return True if the last of some words has a capital that its place does not explain."""
    word = before[-1] if len(before) > 1 else ""
    return word[:1].isupper() and word[1:].islower() and fold(word) not in {*_BEFORE_A_NAME, *_AUTHORS, *vocabulary()}


def _stands_in(view: View, word: str, named: Sequence[str], now: datetime) -> bool:
    """Return True if texts hold a name of two words, or use one word as a name."""
    stems = sorted({term_hash(term.stem) for term in query_analyzer().query(word, view.languages)})
    rows = np.unique(np.concatenate(view.rows_with_each(np.array(stems, np.uint32)) or [np.empty(0, np.int64)]))
    rows = rows[view.state.status[rows] == ACTIVE][-_MOST_READ:]
    name = r"\s+".join(re.escape(each[0].upper() + each[1:].lower()) for each in named or [word])
    pattern = re.compile(rf"(?<![\w-]){name}(?![\w-])")
    for text in view.snapshot.values("chunks", "text", rows):
        for match in pattern.finditer(text):
            if named or _is_name(text, *match.span(), now):
                return True
    return False


def _is_name(text: str, start: int, end: int, now: datetime) -> bool:
    """Return True if the name of a time is somebody's name where it stands in a text."""
    first = max(start - _AROUND, *(text.rfind(stop, 0, start) + 1 for stop in ".!?\n"))
    line = re.split(r"[.!?\n]", text[first : end + _AROUND], maxsplit=1)[0]
    start, end = start - first, end - first
    read = next((each for each in read_phrases(line, now) if each.start < end and start < each.end), None)
    if line.lstrip().startswith("#") or (read is not None and not read.bare):
        return False
    words = [fold(each) for each in _WORD.findall(line)]
    languages = guess_languages(words)
    senses = vocabulary().get(fold(line[start:end]), {})
    if not languages & _languages(senses, _NAMES):
        return True
    before = [fold(each) for each in _WORD.findall(line[:start])]
    if before and languages & _languages(vocabulary().get(before[-1], {}), ("the", "in", "since")):
        return False
    if _next_name(line, end):
        return any(each.islower() for each in _WORD.findall(line))
    if before and before[-1] in _CALLED:
        return True
    follows = re.match(r"\s+([^\W\d_]+)", line[end:])
    act = follows[1] if follows else ""
    if languages & ENGLISH:
        return act in _ACTS or (act.endswith("ed") and len(act) > 4 and act not in _NO_ACTS)
    return not before and act.islower() and act not in _NO_ACTS


def _languages(senses: Senses, categories: tuple[str, ...]) -> int:
    found = 0
    for category in categories:
        found |= senses[category].languages if category in senses else 0
    return found


def _next_name(text: str, end: int) -> str:
    """Return the capitalised word behind a place, if it is no time itself."""
    match = re.match(r"\s+([^\W\d_]{2,})", text[end:])
    word = match[1] if match else ""
    is_time = any(category in vocabulary().get(fold(word), {}) for category in _NAMES)
    return word if word[:1].isupper() and word[1:].islower() and not is_time else ""
