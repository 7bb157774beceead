"""What a question is about: the entities it names, itself among them, and the words that are left to be explained."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from lamina_engine.facts.intents import Intent, Intents, words_of
from lamina_engine.facts.names import MAX_NAME
from lamina_engine.index.analysis import STOP_WORDS

if TYPE_CHECKING:
    from lamina_engine.facts.book import Book, Entity
    from lamina_engine.facts.shapes import Mention

SELF_PHRASES: Final = (
    "who am i", "what am i", "am i", "my name", "my principles", "what do i care", "how should i communicate", "do i", "should i",
    "did i", "have i", "my", "mine", "myself", "me", "i",
)  # fmt: skip
"""Words by which somebody asks about themselves, the longer ones first; whole words, in any case."""
_NO_OWNERS: Final = frozenset(
    {"who", "what", "where", "when", "why", "how", "it", "that", "this", "there", "here", "he", "she", "let", "which"}
)
"""Before ``'s`` these own nothing: it is short for "is"."""
GENERIC: Final = frozenset(
    re.findall(
        r"\w+",
        """tell know known show give find list info information detail details thing things anything everything something describe
    current currently exactly exact please many much kind type sort name names say says said mean means remember recall think
    lookup look need want question answer fact facts actually today now latest still use used number have hold holds held wear
    wears take takes goes keep keeps kept run runs running get gets work works happen happened happens called
    us our we must may might shall set sets long far week month year moment service services project projects tool
    tools person people system systems app apps team place whom whose which""",
    )
)
"""Words of questions that ask for nothing by themselves."""
_POSSESSIVE: Final = re.compile(r"(?<=\w)(['’])(s\b|(?!\w))", re.IGNORECASE)
_NAME_WORD: Final = re.compile(r"[^\W_](?:[\w&.+#/-]*[\w+#])?", re.UNICODE)
_LEAST_LOWER_CHARS: Final = 3
_MOST_NAME_WORDS: Final = 3


class Named(Struct, frozen=True):
    """An entity that a question may be about."""

    entity: Entity
    how: str
    """By which of its names; see `lamina_engine.facts.book.Resolution`."""
    ambiguous: bool
    """True where the same words name others too."""
    words: tuple[str, ...]


class Question(Struct, frozen=True):
    """A question, taken apart."""

    text: str
    named: tuple[Named, ...]
    """In the order they are named; oneself last."""
    unknown: tuple[str, ...]
    """Capitalised names that nothing in the vault has."""
    words: tuple[str, ...]
    shown: tuple[tuple[Intent, frozenset[int]], ...]
    """Intents in the order of their table, with the positions of the words that show them."""
    content: tuple[int, ...]
    """Positions of words that are neither names of entities nor function words."""
    about_self: bool

    @property
    def intents(self) -> tuple[Intent, ...]:
        """What is asked about whatever is named."""
        return tuple(intent for intent, _ in self.shown)


def understand(
    book: Book, text: str, *, intents: Intents, identity: str | None = None, fuzzy: bool = False
) -> Question:
    """Take a question apart.

    Parameters
    ----------
    book : Book
        The entities.
    text : str
        The question.
    intents : Intents
        The table of what questions ask about.
    identity : str, optional
        Name or id of the entity that "I" is; without it nobody is.
    fuzzy : bool
        Look names up by unique prefixes and with one edit too, where nothing else fits.

    Notes
    -----
    O(length of the text) for any number of names and aliases.
    """
    mentions = [mention for mention in book.scan(text) if _may_name(mention)]
    words = words_of(text)
    shown = intents.shown(words)
    mentions = _without_asking_words(mentions, {words[i] for at in shown.values() for i in at})
    unknown, more = _unresolved(book, text, mentions, fuzzy=fuzzy)
    mentions = sorted([*mentions, *more], key=lambda mention: mention.start)
    covered = _covered(words, [words_of(mention.text) for mention in mentions])
    kept = {place: at - covered for place, at in shown.items() if at - covered}
    named = list(_distinct(mentions))
    about_self = _speaks_of_self(words)
    if about_self and identity:
        found = book.resolve(identity)
        known = {each.entity.row for each in named}
        named += [Named(e, "identity", found.ambiguous, ()) for e in found.entities if e.row not in known]
    content = tuple(i for i, word in enumerate(words) if i not in covered and not is_function_word(word))
    ordered = tuple((intents.table[place], frozenset(kept[place])) for place in sorted(kept))
    return Question(text, tuple(named), tuple(unknown), tuple(words), ordered, content, about_self)


def is_function_word(word: str) -> bool:
    """Tell whether a word of a question says nothing about what is asked."""
    plain = word.removesuffix("'s")
    return word.replace("'", "") in STOP_WORDS or plain in STOP_WORDS or plain in GENERIC or len(plain) < 2


def without_possessives(text: str) -> str:
    """Return a text with its possessive endings (``'s``, ``’s``, ``s'``) blanked out, of the same length.

    "who's" and "it's" are no possessives and stay.
    """

    def blank(match: re.Match[str]) -> str:
        start = text.rfind(" ", 0, match.start()) + 1
        owner = text[start : match.start()].strip("\"'([{“‘").casefold()
        return match[0] if owner in _NO_OWNERS else " " * len(match[0])

    return _POSSESSIVE.sub(blank, text)


def _may_name(mention: Mention) -> bool:
    """Tell whether words can be meant as a name: a single lower-case one must be long enough and no function word."""
    text = mention.text
    if " " in text.strip() or not text.isascii():
        return True
    if text[:1].isupper() and (len(text) < 2 or text.casefold() not in STOP_WORDS):
        return len(text) >= 2
    return len(text) >= _LEAST_LOWER_CHARS and text.casefold() not in STOP_WORDS


def _without_asking_words(mentions: Sequence[Mention], asking: set[str]) -> list[Mention]:
    """Leave out single lower-case words that say what is asked, where something else is named."""
    strong = [m for m in mentions if m.text[:1].isupper() or " " in m.text.strip() or m.text.casefold() not in asking]
    return strong or list(mentions)


def _unresolved(book: Book, text: str, mentions: Sequence[Mention], *, fuzzy: bool) -> tuple[list[str], list[Mention]]:
    """Return capitalised names that are no mention; those that a near name explains become mentions."""
    from lamina_engine.facts.shapes import Mention

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
        resolution = book.resolve(name, prefix=True, edits=True) if near else None
        if resolution is not None and resolution.entities:
            found.append(Mention(start, stop, name, resolution.entities, resolution.how))
        elif plain[:start].strip("\"'“‘(¿¡ \t\n"):  # the first word of a sentence has a capital in any case
            unknown.append(name)
    return unknown, found


def _covered(words: Sequence[str], names: Sequence[Sequence[str]]) -> set[int]:
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


def _distinct(mentions: Sequence[Mention]) -> Iterable[Named]:
    seen: set[int] = set()
    for mention in mentions:
        for entity in mention.entities:
            if entity.row not in seen:
                seen.add(entity.row)
                ambiguous = len(mention.entities) > 1
                yield Named(entity, mention.how, ambiguous, tuple(words_of(mention.text)))


def _speaks_of_self(words: Sequence[str]) -> bool:
    said = f" {' '.join(words)} "
    return any(f" {phrase} " in said for phrase in SELF_PHRASES)
