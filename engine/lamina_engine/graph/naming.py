"""Names in texts: titles, aliases, files, symbols and entities that the vault knows.

A name is found by its rarest word, and then compared as written: all its words, with nothing between them but what stands
between them in the name. What a longer name holds is not named by itself. A name of one word that texts also use as an
ordinary word, and one that begins or ends inside a longer capitalised name, does not count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

_WORD: Final = re.compile(r"\w+")
_CAPITAL: Final = re.compile(r"[^\W\d_a-z]")
_GAP: Final = re.compile(r"[ \t]*(?:[-–—:,'’&/]|\n)?[ \t]*")
_BEFORE: Final = re.compile(r"([\w.&]+)[ \t]+\Z")
_AFTER: Final = re.compile(r"[ \t]+([\w&]+)")
_SENTENCE: Final = re.compile(r"(?:\A|[.!?:;\n]|[-*>#])[\s\"'(*_#>-]*\Z")
"""What stands before the first word of a sentence, whose capital says nothing."""
_STOP: Final = frozenset(
    re.findall(
        r"\S+",
        "a an and are as at be but by can do for from get has have how i if in into is it its my new no not of off "
        "on or our out over so that the their them then there this to up use using was we what when where which "
        "who why will with without you your ",
    )
)
"""Words that make no name of two words by themselves."""
_LONGEST: Final = 12
_SHORTEST: Final = 3
_COMMON_UP_TO: Final = 3
_ORDINARY: Final = 0.005
"""Share of texts from which on a word in small letters is an ordinary one."""


class Name(NamedTuple):
    """A name to look for."""

    text: str
    exact: bool = False
    """True for files and symbols: every letter as written; else capitals must be capitals, and other letters may be."""
    folder: str | None = None
    """Of a file: the folder it lies in, which must stand before it where any does."""
    bare: bool = True
    """Of a file: whether its name alone is enough."""


class Texts:
    """Texts with their words, to look for many names in. O(characters).

    ``own`` are the positions at which a name is looked for only to see that it holds a shorter one: a document's own texts.
    """

    def __init__(self, texts: Sequence[str], names: Mapping[Name, Container[int]]) -> None:
        self._texts = texts
        self._own = names
        self._names = {name: words for name in names if (words := _words_of(name))}
        wanted = {word for words in self._names.values() for word in words}
        self._places: dict[str, list[int]] = defaultdict(list)
        self._small: dict[str, int] = defaultdict(int)
        self._words: list[set[str]] = []
        self._tokens: dict[int, tuple[list[re.Match[str]], dict[str, list[int]]]] = {}
        for i, text in enumerate(texts):
            seen = set(_WORD.findall(text))
            self._words.append({word.lower() for word in seen} & wanted)
            for word in self._words[-1]:
                self._places[word].append(i)
                self._small[word] += word in seen

    def find(self) -> dict[Name, list[int]]:
        """Return the positions of the texts that hold each name, ascending; at least one."""
        met: dict[int, list[tuple[int, int, Name]]] = defaultdict(list)
        later: dict[int, list[Name]] = defaultdict(list)
        for name, words in self._names.items():
            places: Sequence[int] = min((self._places.get(word, []) for word in words), key=len)
            if not name.exact and len(words) <= _COMMON_UP_TO and self._is_ordinary(name, words, places):
                continue
            for i in places:
                if not self._words[i].issuperset(words):
                    continue
                if i in self._own[name]:
                    later[i].append(name)
                elif (span := self._span(name, i)) is not None:
                    met[i].append((*span, name))
        found: dict[Name, list[int]] = defaultdict(list)
        for i in sorted(met):
            longer = [self._span(name, i) for name in later[i]]
            spans = [span for span in longer if span is not None] + [(start, stop) for start, stop, _ in met[i]]
            for start, stop, name in met[i]:
                if not any(s <= start and stop <= e and e - s > stop - start for s, e in spans):
                    found[name].append(i)
        return dict(found)

    def _span(self, name: Name, i: int) -> tuple[int, int] | None:
        """Return where a text holds a name by itself."""
        words, text = self._names[name], self._texts[i]
        if name.exact and name.text not in text:
            return None
        tokens, places = self._tokens_of(i)
        offset, at = min(((j, places[word]) for j, word in enumerate(words)), key=lambda each: len(each[1]))
        for place in at:
            found = tokens[place - offset : place - offset + len(words)] if place >= offset else []
            fits = len(found) == len(words) and _holds(name, text, found)
            if (
                fits
                and self._stands_alone(name, i, found)
                and not (i not in self._own[name] and _is_line(name, text, found))
            ):
                return found[0].start(), found[-1].end()
        return None

    def _tokens_of(self, i: int) -> tuple[list[re.Match[str]], dict[str, list[int]]]:
        if i not in self._tokens:
            tokens = list(_WORD.finditer(self._texts[i]))
            places: dict[str, list[int]] = defaultdict(list)
            for place, token in enumerate(tokens):
                places[token[0].lower()].append(place)
            self._tokens[i] = tokens, places
        return self._tokens[i]

    def _is_ordinary(self, name: Name, words: Sequence[str], places: Sequence[int]) -> bool:
        """Return whether texts use a short name in small letters too, as ordinary words."""
        if len(words) == 1:
            return self._small[words[0]] > max(1.0, _ORDINARY * len(self._texts))
        small = name.text.lower()
        return small != name.text and any(
            small in self._texts[i] for i in places if self._words[i].issuperset(words) and i not in self._own[name]
        )

    def _stands_alone(self, name: Name, i: int, found: Sequence[re.Match[str]]) -> bool:
        """Return whether a name of one word is no part of a longer capitalised name."""
        if name.exact or len(found) > 1:
            return True
        text, (start, stop) = self._texts[i], found[0].span()
        before, after = _BEFORE.search(text, max(0, start - 40), start), _AFTER.match(text, stop)
        if after and _CAPITAL.match(after[1]):
            return False
        return not (
            before
            and _CAPITAL.match(before[1])
            and not _SENTENCE.search(text[max(0, before.start(1) - 12) : before.start(1)])
        )


def _is_line(name: Name, text: str, found: Sequence[re.Match[str]]) -> bool:
    """Return whether a name is a line by itself: a heading of the same words names nothing else."""
    start, stop = text.rfind("\n", 0, found[0].start()) + 1, text.find("\n", found[-1].end())
    line = text[start : stop if stop >= 0 else len(text)]
    return not name.exact and line.strip(" \t#*=:.") == name.text


def _holds(name: Name, text: str, found: Sequence[re.Match[str]]) -> bool:
    """Return whether words of a text are those of a name as written, with little between them."""
    start, stop = found[0].start(), found[-1].end()
    if name.exact:
        before, after = text[max(start - 1, 0) : start], text[stop : stop + 1]
        if text[start:stop] != name.text or before == "." or (before + after).isalnum():
            return False
        if name.folder is None or before not in ("/", "\\"):
            return name.folder is None or name.bare
        return bool(name.folder) and text[:start].endswith((f"{name.folder}/", f"{name.folder}\\"))
    written = list(_WORD.finditer(name.text))
    words = [word[0] for word in written]
    sentence = len(words) > 2 and not any(_CAPITAL.match(word) for word in words[1:])
    for i, (token, word) in enumerate(zip(found, words, strict=True)):
        if token[0][1:].lower() != word[1:].lower() if token[0].isupper() else token[0][1:] != word[1:]:
            return False
        if token[0][0].lower() != word[0].lower():
            return False
        if _CAPITAL.match(word) and token[0][0] != word[0] and not (i == 0 and sentence):
            return False
    gaps, meant = (
        [string[one.end() : two.start()] for one, two in pairwise(tokens)]
        for string, tokens in ((text, found), (name.text, written))
    )
    return all(_GAP.fullmatch(gap) or gap == own for gap, own in zip(gaps, meant, strict=True))


def _words_of(name: Name) -> tuple[str, ...]:
    """Return the words of a name in small letters; none where it is no name to look for."""
    words = tuple(_WORD.findall(name.text))
    if not words or len(words) > _LONGEST or len(name.text) < _SHORTEST:
        return ()
    if name.exact:
        return tuple(word.lower() for word in words)
    content = [word for word in words if word.lower() not in _STOP and len(word) > 1]
    capitals = [word for word in content if _CAPITAL.match(word) or any(letter.isdigit() for letter in word)]
    enough = len(content) >= 3 or (len(content) == 2 and capitals) or (len(words) == 1 and capitals)
    return tuple(word.lower() for word in words) if enough else ()


def by_rarity(found: Mapping[Name, Sequence[int]], name: Name) -> float:
    """Return the weight of a mention: 1 for a name that one text holds, less the more do.

    The number is rounded down to a power of two, so that one text more changes few weights.
    """
    return 1.0 / (1.0 + 0.25 * (len(found[name]).bit_length() - 1))
