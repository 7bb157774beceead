"""Intervals of facts, and questions of another time that they answer.

Of "in March", "until April", "before Ben Li" and "the old port" the words that say when are taken out. The rest is asked as if it
were so now, of all facts that ever held, and of those that answer the ones of that time are chosen. A fact whose interval is
open on both sides says nothing of when it held.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from lamina_engine.clock import EPOCH, MISSING_US, zone
from lamina_engine.facts.german import in_english_grammar, is_german
from lamina_engine.facts.intents import is_trigger, words_of
from lamina_engine.facts.schema import MAX_TIME
from lamina_engine.facts.vocabulary import ARTICLES, PAST
from lamina_engine.time.lexicon import may_mention_time

if TYPE_CHECKING:
    from lamina_engine.facts.schema import Mention
    from lamina_engine.results import Fact
    from lamina_engine.time.relations import TimePhrase

_SURE: Final = 0.6
"""Confidence from which on words are read as a time."""
_OPEN_ENDED: Final = frozenset({"since", "after"})
_US: Final = timedelta(microseconds=1)
_FORMER: Final = re.compile(
    r"(?<!how )\b(?:old|alte[nrsm]?|former|previous|prior|earlier|früher\w+|ehemalig\w+|vorherig\w+|bisherig\w+|vorig\w+)\s+(?=\w)",
    re.IGNORECASE,
)
_FORMERLY: Final = re.compile(
    r"\b(?:no longer|not (?:any ?)?(?:more|longer|mehr)|formerly|previously|earlier|beforehand|in the past|zuvor|davor)\b|"
    r"\b(?<!who )used? to\b|\bbefore(?: that| this| then| now)?(?=\W*$)",
    re.IGNORECASE,
)
_NOT: Final = re.compile(
    r"(?:\bnot|n['’]t)\b(?=.*\b(?:any ?(?:more|longer))\b)|\bany ?(?:more|longer)\b", re.IGNORECASE
)
_BESIDE: Final = re.compile(r",?\s*\b(before|after) ([^?!,;]+?)\s*(?=[?!.]*\s*$)", re.IGNORECASE)
_FIRST: Final = re.compile(r"^\W*(before|after) ([^?!,;]+?)\s*,\s*", re.IGNORECASE)
_PRESENT: Final = {
    "did": "does", "was": "is", "were": "are", "had": "has", "ran": "runs", "been": "", "back": "", "then": "", "gehörte": "owns",
    "led": "leads", "held": "holds", "kept": "keeps", "lief": "runs", "leitete": "leads", "hieß": "is", "nutzte": "uses", "besaß": "owns",
}  # fmt: skip
"""Forms of the past, with those by which a fact that holds is asked for."""
_USED_TO: Final = re.compile(r"\b(who) used to (\w+)", re.IGNORECASE)
_ED: Final = re.compile(r"(?<!\bis )(?<!\bare )\b([^\W\d_]+)ed\b(?! by\b)", re.IGNORECASE)
_MOST_BESIDE: Final = 3
"""Words beside a value that may say how it came: "before Ben Li took over"."""


class Earlier(Struct, frozen=True):
    """Question of another time."""

    text: str
    """What it asks for, without the words that say when, in the present."""
    span: tuple[int, int] | None = None
    """When it held, half-open; None where another value says when."""
    ends: bool = False
    """True for "until April": what ended then, if something did."""
    side: Literal["before", "after"] = "before"
    value: str = ""
    """The value that it came before, or after; empty for that of now."""


def read_earlier(text: str, names: Sequence[Mention], now_us: int, tz: str) -> Iterator[Earlier]:
    """Yield readings of a question as one of another time; none where it names none.

    ``names`` are the entities named in it, whose words are no times: "Berth 4 in August". What is a time and a value as well ("before
    2.5") is first read as a value.
    """
    plain = in_english_grammar(text) if is_german(text) else text
    timed = _read_time(text, names, now_us, tz)
    yield from (each for each in (_read_neighbour(plain), timed, _read_former(plain)) if each is not None)


def _read_time(text: str, names: Sequence[Mention], now_us: int, tz: str) -> Earlier | None:
    if not may_mention_time(text):
        return None
    from lamina_engine.time.calendar import EARLIEST
    from lamina_engine.time.relations import read_phrases  # few questions name a time

    now = (EPOCH + timedelta(microseconds=now_us)).astimezone(zone(tz))
    plain = text
    for name in names:
        plain = plain[: name.start] + "x" * (name.stop - name.start) + plain[name.stop :]
    found = [each for each in read_phrases(plain, now) if each.confidence >= _SURE]
    if len(found) != 1 or found[0].kind in _OPEN_ENDED:
        return None
    phrase = found[0]
    rest = text[: phrase.start] + text[phrase.end :]
    rest = in_english_grammar(rest) if is_german(rest) else rest
    ends = phrase.kind == "until"
    if phrase.span.start <= EARLIEST:
        # "until April" is April, or what was so at its beginning; "before April" the moment before it
        said = text[phrase.start : phrase.end].partition(" ")[2]
        unit = next(read_phrases(said, now), None)
        if unit is None:
            return None
        start, stop = _bounds(unit, tz)
        span = (start, stop) if ends else (start - 1, start)
    else:
        span = _bounds(phrase, tz)
    is_over = span[1] <= now_us or (span[0] <= now_us and not PAST.isdisjoint(words_of(rest)))
    return Earlier(_in_present(rest), (span[0], min(span[1], now_us)), ends) if is_over else None


def _bounds(phrase: TimePhrase, tz: str) -> tuple[int, int]:
    from lamina_engine.time.calendar import moment

    start, stop = ((moment(minute, zone(tz)) - EPOCH) // _US for minute in phrase.span)
    return start, stop


def _read_neighbour(text: str) -> Earlier | None:
    """Read a question for what came before a value, or after it."""
    for pattern in (_FIRST, _BESIDE):
        found = pattern.search(text)
        if found is not None and (value := words_of(found[2])) and value[0] not in {"that", "this", "then", "now"}:
            side: Literal["before", "after"] = "before" if found[1].lower() == "before" else "after"
            return Earlier(_in_present(text[: found.start()] + text[found.end() :]), side=side, value=found[2])
    return None


def _read_former(text: str) -> Earlier | None:
    """Read a question for what was so before what is so now."""
    for pattern in (_FORMERLY, _NOT, _FORMER, _USED_TO):
        if pattern.search(text):
            return Earlier(_in_present(text if pattern is _USED_TO else pattern.sub("", text)))
    return None


def _in_present(text: str) -> str:
    text = _USED_TO.sub(lambda found: f"{found[1]} {'is' if found[2].lower() == 'be' else f'{found[2]}s'}", text)
    text = _ED.sub(
        lambda found: next((form for end in ("s", "es") if is_trigger(form := found[1].lower() + end)), found[0]), text
    )
    return re.sub(r"[^\W\d_]+", lambda found: _PRESENT.get(found[0].lower(), found[0]), text)


def choose_facts(earlier: Earlier, facts: Sequence[Fact], now_us: int) -> list[Fact]:
    """Return, of all facts that ever answered a question, those of its time."""
    dated = [fact for fact in facts if not (fact.valid_from_us is None and fact.valid_to_us is None)]
    if earlier.span is not None:
        return _choose_of_span(dated, earlier.span, ends=earlier.ends)
    if not earlier.value:
        current = {fact.value for fact in facts if _begin(fact) <= now_us < _end(fact)}
        return _last([fact for fact in dated if _end(fact) <= now_us and fact.value not in current])
    named = [fact for fact in facts if _is_value(fact.value, earlier.value)]
    if not named:
        return []
    place = max((_begin(fact), fact.row) for fact in named)
    others = [fact for fact in dated if fact.value not in {fact.value for fact in named}]
    if earlier.side == "before":
        return _last([fact for fact in others if (_begin(fact), fact.row) < place and fact.valid_to_us is not None])
    later = [fact for fact in others if (_begin(fact), fact.row) > place]
    return sorted(later, key=lambda fact: (_begin(fact), fact.row))[:1]


def _choose_of_span(facts: Sequence[Fact], span: tuple[int, int], *, ends: bool) -> list[Fact]:
    start, stop = span
    if ends:
        if ended := [fact for fact in facts if start <= _end(fact) <= stop]:
            return _last(ended)
        stop = start + 1
    return [fact for fact in facts if _known_since(fact) < stop and _end(fact) > start and _begin(fact) < _end(fact)]


def _last(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts that ended last: of several at one moment the one that was stated last."""
    return [max(facts, key=lambda fact: (_end(fact), _begin(fact), fact.row))] if facts else []


def _known_since(fact: Fact) -> int:
    """Return from when on a fact is known to hold: from its start, else from when it was stated."""
    return fact.recorded_at_us if fact.valid_from_us is None else fact.valid_from_us


def _begin(fact: Fact) -> int:
    return MISSING_US if fact.valid_from_us is None else fact.valid_from_us


def _end(fact: Fact) -> int:
    return MAX_TIME if fact.valid_to_us is None else fact.valid_to_us


def _is_value(value: str, said: str) -> bool:
    """Return whether words of a question say a value, or a part of its name."""
    have, asked = ({word.removesuffix("'s") for word in text.casefold().split()} - ARTICLES for text in (value, said))
    rest = asked - have
    is_other = any(word[:1].isupper() and word.lower() in rest for word in said.split())
    return bool(asked & have) and not is_other and len(rest) <= _MOST_BESIDE
