"""Topic words by class-based TF-IDF over the texts of the members.

The weight of a word in a topic is its share of the topic's words times log(1 + mean words a topic / its count in all
topics) (Grootendorst, "BERTopic: Neural topic modeling with a class-based TF-IDF procedure", 2022, section 3.3), times
log(1 + topics / topics that have it). Words are whole words, as people write them; forms of one stem count as one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import chain, combinations, count
from typing import Final, NamedTuple

import numpy as np

from lamina_engine.index.analysis import STOP_WORDS, Analyzer
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Rows, Snapshot

WORDS: Final = 8
NAMED_BY: Final = 3
_SAMPLE, _LEAST, _IN_ALL = 200, 20, 20_000
_UNTITLED: Final = "untitled"
_CHARS: Final = 4000
"""Of each text: the beginning says what it is about."""
_REMEMBERED: Final = 1 << 17


_BLOCK: Final = 1024


def sample_size(topics: int) -> int:
    """Return the number of texts to read of each topic: some ten thousand in all."""
    return min(_SAMPLE, max(_LEAST, _IN_ALL // max(topics, 1)))


@dataclass(slots=True)
class WordCounts:
    """Counts of each form of each stem in the texts of one topic."""

    forms: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By stem and form."""

    def add(self, other: WordCounts) -> None:
        """Count another topic's words too."""
        self.forms.update(other.forms)

    def stems(self) -> Counter[str]:
        """Count each stem, in any form."""
        found: Counter[str] = Counter()
        for (stem, _), times in self.forms.items():
            found[stem] += times
        return found


_FENCE: Final = re.compile(r"^ {0,3}(```|~~~).*?^ {0,3}\1[^\n]*$", re.DOTALL | re.MULTILINE)
_NO_PROSE: Final = re.compile(
    r"\b[a-z]+://\S+|\bwww\.\S+|\[(?:User|Assistant|Thinking)\]|\[(?:Tool|Result):[^\]\n]*\]|</?[a-zA-Z][^>\n]{0,80}>"
)
_LEAST_PROSE: Final = 8
"""Words outside of code from which on code does not count."""
_WORD: Final = re.compile(r"[^\W\d_]\w*(?:['\u2019-]\w+)*(?:\.js\b|\+\+|#(?!\w))?")
_MOST_IN_TEXT: Final = 3
"""Times that a word of one text counts: what a topic is about, several texts say."""
_PLAIN: Final = re.compile(r"[^\W\d_]+")
_VAGUE: Final = frozenset(
    word for line in (
        "use uses used using user way ways want wants need needs make makes made like get gets got one two also see run runs",
        "add adds added example examples thing things let lets using various different following work works new can will",
        "note notes http https com www md html assistant tool result tools",
    ) for word in line.split()
)  # fmt: skip
"""Words that tell no topic from another."""


class WordReader:
    """Counter of words; each distinct word is analysed once."""

    def __init__(self) -> None:
        self._analyzer = Analyzer()
        self._known: dict[str, tuple[str, str] | None] = {}

    def count(self, texts: Iterable[str]) -> WordCounts:
        """Count the words of some texts as they are written: PgBouncer is one, and so is iOS.

        Numbers, single letters and function words do not count, nor do addresses, markup, and code beside prose.
        """
        words: Counter[str] = Counter()
        for text in texts:
            shown = _NO_PROSE.sub(" ", text[:_CHARS])
            prose = _WORD.findall(_FENCE.sub(" ", shown)) if "```" in shown or "~~~" in shown else []
            found = Counter(prose if len(prose) >= _LEAST_PROSE else _WORD.findall(shown))
            words.update({word: min(times, _MOST_IN_TEXT) for word, times in found.items()})
        counts = WordCounts()
        for word, times in words.items():
            form = self._form(word)
            if form is not None:
                counts.forms[form] += times
        return counts

    def _form(self, word: str) -> tuple[str, str] | None:
        """Return the stem of a word and the word; None for one that does not count."""
        if word not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[word] = self._analyse(word)
        return self._known[word]

    def _analyse(self, word: str) -> tuple[str, str] | None:
        word = word.strip("_")
        folded = word.casefold().replace("\u2019", "'").removesuffix("'s")
        if len(folded) < 2 or folded.replace("'", "") in STOP_WORDS or folded in _VAGUE:
            return None
        if _PLAIN.fullmatch(folded):
            terms = [term for term in self._analyzer.tokens(folded) if term.kind != "character"]
            return (terms[0].stem, word) if terms and len(terms[0].stem) > 1 else None
        return folded, word


def select_words(counts: Sequence[WordCounts], basis: Sequence[int]) -> list[list[str]]:
    """Return the words of each topic, the best first, at most `WORDS`."""
    total: Counter[str] = Counter()
    spread: Counter[str] = Counter()
    for position in basis:
        stems = counts[position].stems()
        total.update(stems)
        spread.update(stems.keys())
    mean = sum(total.values()) / max(len(basis), 1)
    return [_best(each, total, spread, mean, len(basis)) for each in counts]


def _best(counts: WordCounts, total: Counter[str], spread: Counter[str], mean: float, topics: int) -> list[str]:
    stems = counts.stems()
    whole = max(sum(stems.values()), 1)

    def weight(stem: str, times: int) -> float:
        rare = math.log1p(topics / max(spread[stem], 1))
        return times / whole * math.log1p(mean / max(total[stem], times)) * rare

    weights = [(-weight(stem, times), stem) for stem, times in stems.items()]
    forms: dict[str, Counter[str]] = {stem: Counter() for _, stem in nsmallest(WORDS, weights)}
    for (stem, form), times in counts.forms.items():
        if stem in forms:
            forms[stem][form] += times
    return [_written(ways) for ways in forms.values()]


def _written(forms: Counter[str]) -> str:
    """Return the form in which people write a word.

    The commonest; one with capitals inside is a name and is chosen from a fifth of the uses on; a capitalised one gives way to the same in
    lower case in the same way.
    """
    enough = forms.total() / 5
    inside = [(-times, form) for form, times in forms.items() if form[1:].lower() != form[1:] and times >= enough]
    if inside:
        return min(inside)[1]
    best = min((-times, form) for form, times in forms.items())[1]
    return best.lower() if best[:1].isupper() and forms[best.lower()] >= enough else best


def make_name(words: Sequence[str]) -> str:
    """Return a topic's name: its first words. Text of the vault: escape it where it is shown."""
    return ", ".join(words[:NAMED_BY]) or _UNTITLED


def make_names(
    words: Sequence[Sequence[str]], names: Sequence[str | None], order: Sequence[int], parents: Sequence[int] = ()
) -> list[str]:
    """Return a name for each topic, no two of the same words.

    ``order`` has parents before their parts; ``parents`` are positions, -1 for none: a part is named by what tells it from
    the topic above, where it has words for that.
    """
    taken = {_key(name) for name in names if name}
    found = list(names)
    for position in order:
        if found[position]:
            continue
        own = words[position]
        above = parents[position] if parents else -1
        if above >= 0:
            known = _key(found[above] or "")
            own = [*(word for word in own if word.casefold() not in known), *(w for w in own if w.casefold() in known)]
        ways = (make_name(some) for some in combinations(own, min(NAMED_BY, len(own))))
        more = (f"{make_name(own)} ({number})" for number in count(2))
        name = next(name for name in chain(ways, more) if _key(name) not in taken)
        taken.add(_key(name))
        found[position] = name
    return [name or _UNTITLED for name in found]


def _key(name: str) -> frozenset[str]:
    return frozenset(name.casefold().split(", "))


class TopicWords(NamedTuple):
    """Name and words of a topic."""

    name: str
    words: list[str]


class TopicErasure:
    """Words of topics that only forgotten chunks have."""

    def __init__(self, snapshot: Snapshot, rows: Rows) -> None:
        self._snapshot, self._rows = snapshot, rows
        self._reader = WordReader()
        self._lost: dict[str, set[str]] | None = None

    def topics(self, segment: Segment) -> dict[int, TopicWords]:
        """Return a segment's topics with words of those chunks alone, without these words.

        Notes
        -----
        The texts of other chunks are looked at only where a topic has words of those that go, and until each was found
        in one of them.
        """
        if self._lost is None:
            self._lost = self._only_there()
        found = {}
        for offset, topic in _read_words(segment):
            words = [word for word in topic.words if not self._is_lost(word)]
            name = make_name(words) if self._is_lost(topic.name) else topic.name
            if (name, words) != topic:
                found[offset] = TopicWords(name, words)
        return found

    def _is_lost(self, text: str) -> bool:
        return any(stem in self._lost for stem in self._stems(text)) if self._lost else False

    def _stems(self, text: str) -> set[str]:
        return {stem for stem, _ in self._reader.count([text]).forms}

    def _only_there(self) -> dict[str, set[str]]:
        """Return the stems, with their forms, that topics say and no chunk but those."""
        segments = self._snapshot.segments("topics")
        if not segments or not self._rows.size:
            return {}
        names = {
            text for segment in segments for _, topic in _read_words(segment) for text in (topic.name, *topic.words)
        }
        known = {stem for text in names for stem in self._stems(text)}
        lost: dict[str, set[str]] = {}
        for stem, form in self._reader.count(self._texts(self._rows)).forms:
            if stem in known:
                lost.setdefault(stem, set()).add(form)
        others = np.setdiff1d(np.arange(self._snapshot.rows("chunks")), self._rows, assume_unique=True)
        for start in range(0, others.size, _BLOCK):
            if not lost:
                break
            for text in self._texts(others[start : start + _BLOCK]):
                folded = text.casefold()  # few texts hold one of the words, and only those are taken apart
                if any(form.casefold() in folded for forms in lost.values() for form in forms):
                    for stem in self._stems(text):
                        lost.pop(stem, None)
        return lost

    def _texts(self, rows: Rows) -> Iterator[str]:
        titles = self._snapshot.values("chunks", "title", rows)
        texts = self._snapshot.values("chunks", "text", rows)
        return (f"{title or ''}\n{text}" for title, text in zip(titles, texts, strict=True))


def _read_words(segment: Segment) -> Iterator[tuple[int, TopicWords]]:
    names, words = segment.texts("name"), segment.texts("words")
    for offset, (name, some) in enumerate(zip(names, words, strict=True)):
        yield offset, TopicWords(name, list(some))
