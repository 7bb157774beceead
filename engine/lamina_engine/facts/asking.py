"""Questions as read for sentences: what is asked for, and the words that one must say."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lamina_engine.facts import vocabulary
from lamina_engine.facts.german import in_english_grammar, is_german
from lamina_engine.facts.values import COLOURED, IDENTIFIER, Kind, is_name
from lamina_engine.facts.vocabulary import word_set
from lamina_engine.facts.wording import stem, tokens

_DEGREES: Final = vocabulary.DEGREES | word_set("old full cold hot warm expensive late heavy")
_PEOPLE: Final = word_set("people persons")
_PORT: Final = word_set("port")
_PAST: Final = word_set("before formerly previously earlier former previous originally")
_ASKING: Final = word_set("after off down else")
"""Function words that make it another question."""
_DOING: Final = word_set("do does did")
RUNNING: Final = word_set("run runs")
"""Verbs that ask for something where a person does it."""
DONE: Final = ("ed", "en", "ilt", "ade", "old")
"""Ends of participles."""
DENIED: Final = re.compile(
    r"\b(?:not|cannot|never|nobody|none|no|without|rejected|dropped|declined|refused|considered|considering|cancelled|thought about|"
    r"looked at|ideas?|plans?|maybe|perhaps|might|wish|wanted|wants|talks|discussion|gone|killed|removed|deleted|torn|proposed|proposal)\b|"
    r"n['’]t\b|\b(?:is|was|are|were|switched|turned) off\b",
    re.IGNORECASE,
)
_NEGATED: Final = re.compile(r"\b(?:not|never|no longer)\b|n['’]t\b", re.IGNORECASE)
_QUESTION_WORD: Final = re.compile(r"\b(?:wh\w+|how)\b", re.IGNORECASE)
_GENERAL: Final = re.compile(
    r"what(?:'s| is| are) (?:an?|the difference)\b|what does .* (?:mean|stand for)\W*$|.*\busually\b", re.IGNORECASE
)
_CODE: Final = re.compile(r"(?<![\w-])--[\w-]+|`[^`]+`")
"""Option or code, which no other word says."""
_SHORT: Final = re.compile(r"\b(?:(wh\w+|how)['’]s|(what|where|when|who|how)s)\b", re.IGNORECASE)


class Asking(Struct, frozen=True):
    """Question, read for the sentences that answer it."""

    kind: Kind
    words: tuple[str, ...]
    """All of them, in lower case."""
    noun: tuple[int, ...]
    """Positions of the words after "which" or "how many", or of the thing asked for."""
    content: tuple[tuple[int, str], ...]
    names: tuple[tuple[int, str], ...]
    is_copular: bool
    """True for "which company is our edge": the sentence must say that the one is the other."""
    is_passive: bool
    """True for "who was hired": not who did it is asked for."""
    is_past: bool
    """True for "who owned it before"."""
    is_present: bool
    """True for what is so now: what was once, and is over, is no answer."""
    is_denied: bool
    is_negated: bool
    """True for "where is it not stored": a sentence that denies nothing says something else."""
    is_german: bool
    head: tuple[int, ...]
    """Position of the noun that is asked for, or of what somebody is: neither is left to what stands before."""

    @property
    def shown(self) -> frozenset[str]:
        """Nouns that a value shows by itself: "listens on 8443" needs no word for port."""
        if self.kind == "count":
            return _PEOPLE
        return COLOURED | _PORT if any(word[:6] == "listen" for _, word in self.content) else COLOURED

    def qualifiers(self) -> frozenset[int]:
        """Return the positions of words that qualify a noun: "orbital" of the orbital elements."""
        said = {i for i, _ in (*self.content, *self.names)} - set(self.noun)
        found: set[int] = set()
        for begin in said:
            before = self.words[begin - 1] if begin else ""
            if before not in vocabulary.ARTICLES | vocabulary.BEING | _DOING:
                continue
            end = next(i for i in range(begin, len(self.words) + 1) if i not in said)
            at = begin - 1 - (before in vocabulary.ARTICLES)
            # the last word of "do the elements come" is a verb
            is_open = (
                at >= 0 and self.words[at] in _DOING and vocabulary.LIGHT_VERBS.isdisjoint(self.words[end : end + 1])
            )
            is_verb = is_open and end - begin > 1
            found.update(range(begin, end - 1 - is_verb))
        return frozenset(found)

    def without(self, places: Collection[int]) -> Asking:
        """Return the question without some words, and without verbs that ask for nothing."""
        names = tuple(each for each in self.names if each[0] not in places)
        content = tuple(each for each in self.content if each[0] not in places)
        heavy = tuple(each for each in content if each[0] in self.noun or each[1] not in vocabulary.LIGHT_VERBS)
        return replace(self, names=names, content=heavy if heavy or names else content)


def read_question(text: str) -> Asking | None:
    """Return a question as read, or None where it asks for no value that one sentence can hold."""
    german = is_german(text)
    text = in_english_grammar(text) if german else text
    words = tokens(_SHORT.sub(r"\1\2 is", text))
    lower = [word.lower() for word in words]
    at = next((i for i, word in enumerate(lower) if word in vocabulary.QUESTION_WORDS), None)
    if _GENERAL.match(text.strip()) or not lower or lower[0] in vocabulary.BEING | vocabulary.HELPERS:
        return None
    found = _read_kind(words, lower, at)
    if found is None:
        return None
    kind, skipped, noun = found
    content, names = [], []
    code = {word.lower() for each in _CODE.findall(text) for word in tokens(each)}
    for i, word in enumerate(words):
        if i in skipped or not word:
            continue
        if lower[i] in code or _is_name_of_question(words, i):
            names.append((i, word))
        elif lower[i] in _PAST:
            continue  # `_is_stated` asks for it
        elif not vocabulary.is_grammar(lower[i]) or lower[i] in _ASKING or (kind == "who" and lower[i] in RUNNING):
            content.append((i, lower[i]))
    stems = {stem(lower[i]) for i in noun}
    content = [(i, word) for i, word in content if i in noun or stem(word) not in stems]
    after = (at or 0) + len(noun) + 1
    copular = (
        kind == "which"
        and COLOURED.isdisjoint(lower)
        and lower[after : after + 1] in (["is"], ["are"])
        and not any(i > after + 1 and word.endswith(("ing", *DONE)) for i, word in content)
    )
    return Asking(
        kind, tuple(lower), tuple(noun), tuple(content), tuple(names), copular, _is_passive(lower, at), not _PAST.isdisjoint(lower),
        vocabulary.PAST.isdisjoint(lower) and _PAST.isdisjoint(lower),
        DENIED.search(text) is not None, kind != "why" and _is_negated(text), german,
        _find_head(kind, lower, at, noun),
    )  # fmt: skip


def _is_negated(text: str) -> bool:
    """Return whether a question denies behind its question word: not "I don't know who"."""
    word = _QUESTION_WORD.search(text)
    return word is not None and _NEGATED.search(text, word.end()) is not None


def _find_head(kind: Kind, lower: Sequence[str], at: int | None, noun: Sequence[int]) -> tuple[int, ...]:
    """Return the position of "owner" in "who is the owner of" and of "port" in "which port".

    Of "number of vans" both have one.
    """
    if kind in {"which", "what", "count"}:
        place = noun[-1] if noun else len(lower)
        is_number = lower[place : place + 2] == ["number", "of"] and place + 2 < len(lower)
        return (place, place + 2) if is_number else tuple(noun[-1:])
    if kind == "who" and at is not None and lower[at + 1 : at + 2] in (["is"], ["are"]):
        return tuple(_noun_phrase(lower, _skip_articles(lower, at + 2))[-1:])
    return ()


def _is_passive(lower: Sequence[str], at: int | None) -> bool:
    after = lower[at + 1 :] if at is not None else []
    return len(after) > 1 and after[0] in vocabulary.BEING and after[1].endswith(DONE)


def _read_kind(words: Sequence[str], lower: Sequence[str], at: int | None) -> tuple[Kind, set[int], list[int]] | None:
    """Return the kind of value asked for, the words that say so, and the noun asked about."""
    if at is None:
        return "what", set(), _noun_phrase(lower, 0)
    word, after = lower[at], lower[at + 1] if at + 1 < len(lower) else ""
    if word == "how":
        skipped = {at, at + 1}
        if after in {"many", "much"}:
            noun = _noun_phrase(lower, at + 2)
            is_price = lower[at + 2] in vocabulary.BEING if at + 2 < len(lower) else False
            if after == "much" and not noun and not is_price and vocabulary.PRICING.isdisjoint(lower):
                return "measure", skipped, [at + 1]
            return ("count" if after == "many" else "amount"), skipped, noun
        if after in {"long", "often"}:
            return ("duration" if after == "long" else "frequency"), skipped, []
        return ("measure", skipped, [at + 1]) if after in _DEGREES else None
    if word in {"which", "what"}:
        if after in {"caused", "causes"}:
            return "why", {at, at + 1}, []
        if after in {"time", "day", "days", "date", "year", "month", "weekday"}:
            return "when", {at, at + 1}, []
        if after in vocabulary.BEING and lower[at + 2 : at + 3] in (["in"], ["on"], ["at"]):
            return None  # "what was in the box"
        if not vocabulary.PRICING.isdisjoint(lower):
            return "amount", {at}, []
        if not after or after in vocabulary.BEING | vocabulary.HELPERS | vocabulary.HAVING:
            begin = _skip_articles(lower, at + 2)
            return "what", {at}, _noun_phrase(lower, begin) if after in vocabulary.BEING else []
        noun = _without_verb(words, lower, _noun_phrase(lower, at + 1))
        return ("which" if noun else "what"), {at}, noun
    kinds: dict[str, Kind] = {"when": "when", "where": "where", "why": "why"}
    return kinds.get(word, "who"), {at}, []


def _skip_articles(lower: Sequence[str], begin: int) -> int:
    return next((i for i in range(begin, len(lower)) if lower[i] not in vocabulary.ARTICLES), len(lower))


def _noun_phrase(lower: Sequence[str], begin: int) -> list[int]:
    """Return the positions of a noun and what stands before it, four words at most."""
    places = range(begin, min(begin + 4, len(lower)))
    return list(itertools.takewhile(lambda i: not vocabulary.is_grammar(lower[i]), places))


def _without_verb(words: Sequence[str], lower: Sequence[str], noun: list[int]) -> list[int]:
    """Return the noun of "which agency sells space", without the verb."""
    end = noun[-1] + 1 if noun else 0
    if noun and end < len(lower) and lower[end] in vocabulary.BEING | vocabulary.HELPERS | vocabulary.HAVING | {"of"}:
        return noun
    verb = next(
        (n for n in range(len(noun) - 1, -1, -1) if words[noun[n]].islower() and lower[noun[n]].endswith(("s", "ed"))),
        None,
    )
    return noun if verb is None else noun[:verb]


def _is_name_of_question(words: Sequence[str], i: int) -> bool:
    word = words[i]
    if _is_letter(words, i):
        return True
    if word.lower() in vocabulary.QUESTION_WORDS or vocabulary.is_grammar(word.lower()):
        return False
    if IDENTIFIER.search(word) or word.isdigit():
        return not (word.islower() and word.replace("-", "").isalpha())
    return word[:1].isupper() and (i > 0 or is_name(words, 0) or (len(word) > 1 and word.isupper()))


def _is_letter(words: Sequence[str], i: int) -> bool:
    """Return whether a word is a letter that tells one thing from others: "building A"."""
    return i > 0 and len(words[i]) == 1 and words[i].isalpha() and words[i].isupper() and words[i] != "I"
