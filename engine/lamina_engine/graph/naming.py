"""Names in texts: titles, aliases, files, symbols and entities that the vault knows.

A name is looked for where the word index has its words, and then compared as written: all its words, with nothing between
them but what stands between them in the name. What a longer name holds is not named by itself. A name of one word that texts also use as an
ordinary word, and one that begins or ends inside a longer capitalised name, does not count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

_WORD: Final = re.compile(r"\w+")
_PLAIN: Final = re.compile(r"[^\W\d_][^\W\d_A-Z]*|[A-Z]+|\d+")
"""Word that is no identifier of several, so that its capitals do not matter to an index."""
_APOSTROPHES: Final = frozenset("'\u2018\u2019\u02bc")
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
_MOST_HELD: Final = 32 * 2**20
"""Letters of texts that are held at once: all those of 20,000 chunks, for which an ingest looks unasked. Each name looks
at its own rows, so of more texts most would be read again for each name."""


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
    """Texts by row, and the rows that may hold some words.

    ``candidates`` gives, for words, ascending rows: all that hold them, and others. ``look_up`` is told the words of many
    such questions before they are asked.
    """

    def __init__(
        self,
        read: Callable[[int], str],
        candidates: Callable[[Sequence[str]], Sequence[int]],
        look_up: Callable[[Iterable[str]], object],
        count: int,
    ) -> None:
        self.candidates, self.look_up, self.count = candidates, look_up, count
        self._read = read
        self._known: dict[int, tuple[str, str]] = {}
        self._held = 0

    def __getitem__(self, row: int) -> tuple[str, str]:
        """Return a text as written, and in small letters of the same positions."""
        if row not in self._known:
            text = self._read(row)
            self._held += len(text)
            if self._held > _MOST_HELD:
                self._known.clear()
                self._held = len(text)
            self._known[row] = text, _lower(text)
        return self._known[row]


class NameFinder:
    """Names, looked for in texts by the words they are made of.

    ``is_own`` says whether a name is looked for in a row only to see that it holds a shorter one: in a document's own texts.
    ``ordinary`` are names known to be, or not to be, ordinary words.
    """

    def __init__(
        self,
        texts: Texts,
        names: Iterable[Name],
        is_own: Callable[[Name, int], bool] = lambda _name, _row: False,
        ordinary: Mapping[Name, bool] | None = None,
    ) -> None:
        self._texts, self._is_own = texts, is_own
        self._words = {name: words for name in names if (words := words_of(name))}
        self._ordinary = dict(ordinary or {})
        self._holding: dict[str, list[Name]] = defaultdict(list)
        for name, words in self._words.items():
            for word in set(words):
                self._holding[word].append(name)

    def rows_of(self, name: Name) -> Iterator[int]:
        """Yield the rows of other documents whose texts hold a name by itself, ascending."""
        if name not in self._words or self.is_ordinary(name):
            return
        longer = [other for other in self._names_around(name) if not self.is_ordinary(other)]
        for row in self._candidates(name):
            span = None if self._is_own(name, row) else self._span(name, row)
            if span is not None and not any(_covers(self._span(other, row), span) for other in longer):
                yield row

    def reconsider(self, names: Iterable[Name]) -> None:
        """Forget which of some names are ordinary words, and look up their words at once."""
        for name in names:
            self._ordinary.pop(name, None)
        self._texts.look_up({word for name in names if name in self._words for word in _plain_words(name)})

    def is_ordinary(self, name: Name) -> bool:
        """Return whether texts use a short name in small letters too, as ordinary words."""
        if name not in self._ordinary:
            self._ordinary[name] = name in self._words and self._looks_ordinary(name)
        return self._ordinary[name]

    def names_within(self, words: Sequence[str]) -> set[Name]:
        """Return the names whose words stand side by side in others."""
        return {
            name
            for word in set(words)
            for name in self._holding.get(word, ())
            if self._words[name][0] == word and _runs_in(self._words[name], words)
        }

    def names_touched(self, text: str) -> Iterator[Name]:
        """Yield the names all whose words a text holds, in any order: those that it may bear on."""
        words = set(_WORD.findall(_lower(text)))
        for word in words:
            for name in self._holding.get(word, ()):
                if self._words[name][0] == word and words.issuperset(self._words[name]):
                    yield name

    def _names_around(self, name: Name) -> list[Name]:
        """Return the names that hold all words of a name, side by side, and more."""
        words = self._words[name]
        fewest = min((self._holding[word] for word in words), key=len)
        return [
            other for other in fewest if len(self._words[other]) > len(words) and _runs_in(words, self._words[other])
        ]

    def _candidates(self, name: Name) -> Sequence[int]:
        return self._texts.candidates(_plain_words(name))

    def _looks_ordinary(self, name: Name) -> bool:
        words = self._words[name]
        if name.exact or len(words) > _COMMON_UP_TO:
            return False
        if len(words) == 1:
            left = max(1.0, _ORDINARY * self._texts.count)
            for row in self._candidates(name):
                text, small = self._texts[row]
                if words[0] in text:
                    left -= any(text[at : at + len(words[0])] == words[0] for at, _ in _places(small, words))
                if left < 0:
                    return True
            return False
        phrase = name.text.lower()
        return phrase != name.text and any(
            phrase in self._texts[row][0] for row in self._candidates(name) if not self._is_own(name, row)
        )

    def _span(self, name: Name, row: int) -> tuple[int, int] | None:
        """Return where a text holds a name, and no longer capitalised name that it is part of."""
        text, small = self._texts[row]
        if name.exact and name.text not in text:
            return None
        for start, found in _places(small, self._words[name]):
            fits = _holds(name, text, found) and _stands_alone(name, text, found)
            if fits and (self._is_own(name, row) or not _is_line(name, text, found)):
                return start, found[-1].end()
        return None


def _plain_words(name: Name) -> list[str]:
    """Return the words of a name that an index has: none of several parts, or at an apostrophe."""
    return [
        word[0]
        for word in _WORD.finditer(name.text)
        if (name.exact or _PLAIN.fullmatch(word[0]))
        and _APOSTROPHES.isdisjoint(name.text[max(word.start() - 1, 0) : word.end() + 1])
    ]


def _lower(text: str) -> str:
    """Return a text in small letters, of the same length: a letter that would become two stays."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(low if len(low := c.lower()) == 1 else c for c in text)


def _places(small: str, words: Sequence[str]) -> Iterator[tuple[int, list[re.Match[str]]]]:
    """Yield where some whole words stand one after another, with their matches."""
    first = words[0]
    at = small.find(first)
    if len(words) > 1 and at >= 0 and not all(word in small for word in words):
        return
    while at >= 0:
        match = _WORD.match(small, at)
        if match is not None and match.end() == at + len(first) and not (at and _WORD.match(small, at - 1)):
            found = [match]
            for word in words[1:]:
                match = _WORD.search(small, match.end())
                if match is None or match[0] != word:
                    break
                found.append(match)
            if len(found) == len(words):
                yield at, found
        at = small.find(first, at + 1)


def _runs_in(words: Sequence[str], others: Sequence[str]) -> bool:
    return any(tuple(others[i : i + len(words)]) == tuple(words) for i in range(len(others) - len(words) + 1))


def _covers(one: tuple[int, int] | None, other: tuple[int, int]) -> bool:
    return one is not None and one[0] <= other[0] and other[1] <= one[1] and one[1] - one[0] > other[1] - other[0]


def _stands_alone(name: Name, text: str, found: Sequence[re.Match[str]]) -> bool:
    """Return whether a name of one word is no part of a longer capitalised name."""
    if name.exact or len(found) > 1:
        return True
    start, stop = found[0].span()
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
    tokens = [text[match.start() : match.end()] for match in found]
    sentence = len(words) > 2 and not any(_CAPITAL.match(word) for word in words[1:])
    for i, (token, word) in enumerate(zip(tokens, words, strict=True)):
        if token[1:] != word[1:] and not token.isupper():
            return False
        if _CAPITAL.match(word) and token[0] != word[0] and not (i == 0 and sentence):
            return False
    gaps, meant = (
        [string[one.end() : two.start()] for one, two in pairwise(matches)]
        for string, matches in ((text, found), (name.text, written))
    )
    return all(_GAP.fullmatch(gap) or gap == own for gap, own in zip(gaps, meant, strict=True))


def words_of(name: Name) -> tuple[str, ...]:
    """Return the words of a name in small letters; none where it is no name to look for."""
    words = tuple(_WORD.findall(name.text))
    if not words or len(words) > _LONGEST or len(name.text) < _SHORTEST:
        return ()
    if name.exact:
        return tuple(_lower(word) for word in words)
    content = [word for word in words if word.lower() not in _STOP and len(word) > 1]
    capitals = [word for word in content if _CAPITAL.match(word) or any(letter.isdigit() for letter in word)]
    enough = len(content) >= 3 or (len(content) == 2 and capitals) or (len(words) == 1 and capitals)
    return tuple(_lower(word) for word in words) if enough else ()


def by_rarity(texts: int) -> float:
    """Return the weight of a mention: 1 for a name that one text holds, less the more do.

    The number is rounded down to a power of two, so that one text more changes few weights.
    """
    return 1.0 / (1.0 + 0.25 * (texts.bit_length() - 1))
