"""Question understanding: the intents, named entities and remaining words of a question."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from lamina_engine.facts.german import in_english_grammar, is_german
from lamina_engine.facts.intents import TOKEN, Intent, Intents, words_of
from lamina_engine.facts.names import MAX_NAME
from lamina_engine.facts.schema import Entity  # a question that was sent is read by its annotations
from lamina_engine.facts.vocabulary import GENERIC
from lamina_engine.index.analysis import STOP_WORDS

if TYPE_CHECKING:
    from lamina_engine.facts.schema import Mention
    from lamina_engine.facts.view import FactView

SELF_PHRASES: Final = (
    "who am i", "what am i", "am i", "my name", "my principles", "what do i care", "how should i communicate", "do i", "should i",
    "did i", "have i", "my", "mine", "myself", "me", "i",
)  # fmt: skip
"""Words for the speaker, such as "I" and "my", longest first; matched as whole words, ignoring case."""
ADDRESS_PHRASES: Final = ("who are you", "what are you", "are you", "about you", "your", "yours", "yourself")
"""Words for the agent that is asked; "you" alone is courtesy ("can you tell me")."""
_NOT_OWNERS: Final = frozenset(
    {"who", "what", "where", "when", "why", "how", "it", "that", "this", "there", "here", "he", "she", "let", "which"}
)
"""Before ``'s`` these own nothing: it is short for "is"."""
_SENTENCE_END: Final = re.compile(r"[.!?;]\s|\n")
_POSSESSIVE: Final = re.compile(r"(?<=\w)(['’])(s\b|(?!\w))", re.IGNORECASE)
_NAME_WORD: Final = re.compile(r"[^\W_](?:[\w&.+#/-]*[\w+#])?", re.UNICODE)
_FRONTED: Final = re.compile(r"^\W*(to|for|with|from) (whom\b.*?)(?=\W*$)", re.IGNORECASE | re.DOTALL)
"""Preposition before its question word: "to whom does Ann report"."""
_WHOEVER: Final = re.compile(r"\b(?:whoever|the one who)\b", re.IGNORECASE)
_LEAST_LOWER_CHARS: Final = 3
_MOST_NAME_WORDS: Final = 3


class NamedEntity(Struct, frozen=True):
    """Entity that a question names."""

    entity: Entity
    how: str
    """By which of its names; see `lamina_engine.facts.view.Resolution`."""
    ambiguous: bool
    """True where the same words name others too."""
    words: tuple[str, ...]


class Question(Struct, frozen=True):
    """Question with its entities, intents and words."""

    text: str
    named: tuple[NamedEntity, ...]
    """In the order they are named; oneself last."""
    unknown: tuple[str, ...]
    """Capitalised names that nothing in the vault has."""
    words: tuple[str, ...]
    triggers: tuple[tuple[Intent, frozenset[int]], ...]
    """Intents in the order of their table, with the positions of the words that show them."""
    content: tuple[int, ...]
    """Positions of words that are neither names of entities nor function words."""
    asking: tuple[int, ...]
    """Positions of words that do not belong to names of entities."""
    sentences: tuple[int, ...]
    """Number of the sentence that each word is in."""
    about_self: bool

    @property
    def intents(self) -> tuple[Intent, ...]:
        """Intents of the question."""
        return tuple(intent for intent, _ in self.triggers)


def parse_question(
    kg: FactView,
    text: str,
    *,
    intents: Intents,
    identity: str | None = None,
    addressed: str | None = None,
    fuzzy: bool = False,
) -> Question:
    """Parse a question. O(length of the text), for any number of names and aliases.

    ``identity`` is whom "I" means, ``addressed`` whom "you" does.
    """
    text = in_english_grammar(text) if is_german(text) else text
    text = _WHOEVER.sub("who", _FRONTED.sub(r"\2 \1", text))
    mentions = [mention for mention in kg.scan(text) if _may_name(mention)]
    words = words_of(text)
    shown = intents.find_triggers(words)
    mentions = _without_asking_words(mentions, {words[i] for at in shown.values() for i in at})
    unknown, more = _unresolved(kg, text, mentions, fuzzy=fuzzy)
    mentions = sorted([*mentions, *more], key=lambda mention: mention.start)
    covered = _covered_words(words, [words_of(mention.text) for mention in mentions])
    kept = {place: at - covered for place, at in shown.items() if at - covered}
    named = list(_distinct_entities(mentions))
    about_self = _mentions(words, SELF_PHRASES)
    for who, is_meant in ((identity, about_self), (addressed, _mentions(words, ADDRESS_PHRASES))):
        if who and is_meant:
            found = kg.resolve(who)
            rows = {each.entity.row for each in named}
            named += [NamedEntity(e, "identity", found.ambiguous, ()) for e in found.entities if e.row not in rows]
    content = tuple(i for i, word in enumerate(words) if i not in covered and not is_function_word(word))
    asking = tuple(i for i in range(len(words)) if i not in covered)
    ordered = tuple((intents.table[place], frozenset(kept[place])) for place in sorted(kept))
    return Question(
        text, tuple(named), tuple(unknown), tuple(words), ordered, content, asking, tuple(_sentence_numbers(text)), about_self
    )  # fmt: skip


def is_function_word(word: str) -> bool:
    """Return whether a word of a question carries no content."""
    plain = word.removesuffix("'s")
    return word.replace("'", "") in STOP_WORDS or plain in STOP_WORDS or plain in GENERIC or len(plain) < 2


def without_possessives(text: str) -> str:
    """Blank out possessive endings (``'s``, ``’s``, ``s'``), keeping the length.

    "who's" and "it's" are no possessives and stay.
    """

    def blank(match: re.Match[str]) -> str:
        start = text.rfind(" ", 0, match.start()) + 1
        owner = text[start : match.start()].strip("\"'([{“‘").casefold()
        return match[0] if owner in _NOT_OWNERS else " " * len(match[0])

    return _POSSESSIVE.sub(blank, text)


def _may_name(mention: Mention) -> bool:
    """Return whether a mention can be a name: lower-case words must be long and have content."""
    text = mention.text
    if " " in text.strip() or not text.isascii():
        return True
    if text[:1].isupper() and (len(text) < 2 or text.casefold() not in STOP_WORDS):
        return len(text) >= 2
    return len(text) >= _LEAST_LOWER_CHARS and text.casefold() not in STOP_WORDS


def _without_asking_words(mentions: Sequence[Mention], asking: set[str]) -> list[Mention]:
    """Drop single lower-case words that express an intent, where another entity is named."""
    strong = [m for m in mentions if m.text[:1].isupper() or " " in m.text.strip() or m.text.casefold() not in asking]
    return strong or list(mentions)


def _unresolved(
    kg: FactView, text: str, mentions: Sequence[Mention], *, fuzzy: bool
) -> tuple[list[str], list[Mention]]:
    """Return capitalised names without an entity, and mentions found by near names."""
    from lamina_engine.facts.schema import Mention

    plain = without_possessives(text)
    runs: list[tuple[int, int]] = []
    for match in _NAME_WORD.finditer(plain):
        word = match[0]
        taken = any(m.start < match.end() and match.start() < m.stop for m in mentions)
        opens = not plain[: match.start()].strip("\"'“‘(¿¡ \t\n")
        if taken or not word[:1].isupper() or (is_function_word(word.casefold()) or (opens and len(word) < 3)):
            continue
        if runs and not plain[runs[-1][1] : match.start()].strip():
            runs[-1] = (runs[-1][0], match.end())
        else:
            runs.append((match.start(), match.end()))
    unknown, found = [], []
    for start, stop in runs:
        name = plain[start:stop]
        near = fuzzy and len(name) <= MAX_NAME and len(name.split()) <= _MOST_NAME_WORDS
        resolution = kg.resolve(name, prefix=True, edits=True) if near else None
        if resolution is not None and resolution.entities:
            found.append(Mention(start, stop, name, resolution.entities, resolution.how))
        elif plain[:start].strip("\"'“‘(¿¡ \t\n"):  # the first word of a sentence has a capital in any case
            unknown.append(name)
    return unknown, found


def _covered_words(words: Sequence[str], names: Sequence[Sequence[str]]) -> set[int]:
    """Return the positions of words that belong to names."""
    covered: set[int] = set()
    plain = [word.removesuffix("'s") for word in words]
    for raw in names:
        name = [word.removesuffix("'s") for word in raw]
        n = len(name)
        for at in range(len(words) - n + 1):
            if n and plain[at : at + n] == name and not covered.intersection(range(at, at + n)):
                covered.update(range(at, at + n))
                break
    return covered


def _distinct_entities(mentions: Sequence[Mention]) -> Iterable[NamedEntity]:
    seen: set[int] = set()
    for mention in mentions:
        for entity in mention.entities:
            if entity.row not in seen:
                seen.add(entity.row)
                ambiguous = len(mention.entities) > 1
                yield NamedEntity(entity, mention.how, ambiguous, tuple(words_of(mention.text)))


def _mentions(words: Sequence[str], phrases: Iterable[str]) -> bool:
    padded = f" {' '.join(words)} "
    return any(f" {phrase} " in padded for phrase in phrases)


def _sentence_numbers(text: str) -> list[int]:
    """Return, by word of a text, the number of its sentence."""
    folded = text.casefold().replace("’", "'")
    ends = [match.start() for match in _SENTENCE_END.finditer(folded)]
    return [bisect_left(ends, match.start()) for match in TOKEN.finditer(folded)]
