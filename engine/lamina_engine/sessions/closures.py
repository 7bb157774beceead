"""Closures: what of an open point is settled, or spoken of, by what was said after it.

A point names its matter with its first words, and with what it says is needed. It is spoken of where a sentence has two of
them, and closed where a sentence says that its matter, or what was to be done with it, is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from lamina_engine.expressions import late
from lamina_engine.sessions import cues
from lamina_engine.sessions.replacements import content_words

_CORE: Final = 3
_HELD: Final = 2
"""First words of a point, which name it, and how many of them a sentence has that is about it."""
_WORK_WORDS: Final = (
    "add adjust chang check clea come creat document finish fix get implement make need prüf schreib show support try updat "
    "verify writ ergänz änder einbau erledig"
)
_WORK: Final = frozenset(_WORK_WORDS.split())
"""Words of any work: they name no point."""
_NEEDED: Final = late(r"\b(?:needs?|requires?|braucht(?: es| man)?|benötigt)\b (?P<what>[^,;.]+)", re.IGNORECASE)
_PART: Final = late(r";\s+|, (?:and|und|sowie) ")
_PERFECT: Final = r"(?:is|are|was|were|has been|have been|ist|sind|wurden?|war|waren)"
_DONE: Final = late(
    r"^\W*(?:(?:it is|it's|that's|all|already|alles|ist|schon|bereits|ok(?:ay)?|yes|ja)\b[, ]*)*"
    r"(?P<bare>done|finished|fixed|solved|erledigt|fertig|gemacht|did it|did that)\b|"
    rf"(?:\b{_PERFECT}|'s) (?:[^\s,;.]+ ){{0,3}}?(?:"
    r"(?:in|in place|there|ready|live|closed|merged|drin|da|dran)(?= now\b| too\b| and\b| jetzt\b| und\b|[,;.!]|\Z)|"
    r"(?:done|finished|completed?|fixed|solved|resolved|written|built|sent|added|implemented|shipped|delivered|published|installed|"
    r"fertig|erledigt|eingebaut|behoben|gelöst|umgesetzt|abgeschlossen|geschrieben|gebaut|verschickt)\b)",
    re.IGNORECASE,
)
"""Says that what was missing is there; a change, such as "sorted", may be one of another thing."""
_TIMES: Final = frozenset(
    content_words(
        "already just now today yesterday morning noon evening night minute hour ago week bereits schon eben heute gestern früh vorhin"
    )
)
_BORDER: Final = late(r"(?<=[^\W\d_]{2}[.!;]) ")
_SEPARABLE: Final = r"(?:ab|an|auf|aus|durch|ein|fest|her|hin|mit|nach|um|vor|weg|zu|zurück)"
_PARTICIPLE: Final = late(rf"(?P<begin>{_SEPARABLE}?)ge(?P<stem>\w{{3,}}?)e?t")
_FINITE: Final = late(rf"(?P<begin>{_SEPARABLE})(?P<stem>\w{{3,}}?)e?t")
_PAST: Final = late(
    rf"\b(?:[^\W\d_]{{2,}}ed|{_SEPARABLE}?ge[^\W\d_]{{2,}}(?:t|en)|[^\W\d_]{{3,}}iert|sent|wrote|written|built|bought|paid|told)\b"
)
_PRESENT: Final = {
    "sent": "send", "wrote": "writ", "written": "writ", "writt": "writ", "built": "build", "bought": "buy", "paid": "pay", "told": "tell",
}  # fmt: skip
_UNDONE: Final = late(
    r"\b(?:not|never|no|nothing|yet|almost|nearly|half|will|would|should|shall|must|can|could|to be|needs?|if|when|until|once|before|"
    r"unless|tomorrow|later|nicht|nie|noch|kein\w*|fast|halb|soll\w*|muss|müssen|wird|werden|wenn|sobald|bis|bevor|morgen|später)\b|n't\b|\?"
)
"""Says that something is to be done, or is not, or asks."""


class Talk:
    """Talk after a point was left open; each text is read once, where a point needs it."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = list(texts)
        self._lowered = [text.lower() for text in self._texts]
        self._sentences: dict[int, list[str]] = {}
        self._words: dict[int, list[list[str]]] = {}
        self._endings: dict[str, _Ending | None] = {}

    def open_parts(self, point: str) -> str:
        """Return a point without those of its parts that were settled or spoken of; empty for none."""
        parts = _parts_of(point)
        left = [part for part in parts if not self._takes_up(part)]
        if len(left) == len(parts):
            return point
        return point[: point.find(parts[0])] + ", ".join(left) if left else ""

    def speaks_of(self, point: str) -> bool:
        """Return whether a sentence is about a point or a part of it: settled or not."""
        return any(map(self._takes_up, _parts_of(point)))

    def touches(self, point: str) -> bool:
        """Return whether a text has a word that names a point, whatever it says of it."""
        core = [word for words in _cores(point) for word in words if len(word) > 3]
        return any(word in lowered for lowered in self._lowered for word in core)

    def _takes_up(self, part: str) -> bool:
        cores = [(core, min(_HELD, len(core))) for core in _cores(part)]
        words = _words(cues.without_open_mark(part))
        for number, lowered in enumerate(self._lowered):
            near = [(core, held) for core, held in cores if sum(word in lowered for word in core) >= held]
            if near and any(
                sum(_names(word, each) for word in core) >= held
                for core, held in near
                for each in self._words_of(number)
            ):
                return True
            told = [word for word in words if len(word) > 2 and word in lowered]
            if told and any(
                _closes(self._ending_of(each), words - _WORK) for each in self._sentences_of(number)
                if any(word in each.lower() for word in told)
            ):  # fmt: skip
                return True
        return False

    def _words_of(self, number: int) -> list[list[str]]:
        if number not in self._words:
            self._words[number] = [content_words(each) for each in self._sentences_of(number)]
        return self._words[number]

    def _sentences_of(self, number: int) -> list[str]:
        if number not in self._sentences:
            self._sentences[number] = _sentences(self._texts[number])
        return self._sentences[number]

    def _ending_of(self, sentence: str) -> _Ending | None:
        if sentence not in self._endings:
            self._endings[sentence] = _find_ending(sentence)
        return self._endings[sentence]


def is_closed(point: str, said: str, *, is_only: bool = False) -> bool:
    """Return whether what was said closes a point; a bare "done" closes the only one."""
    words = _words(cues.without_open_mark(point))
    endings = map(_find_ending, _sentences(said))
    return any(_closes(each, words) or (is_only and each is not None and each.is_bare) for each in endings)


def _sentences(text: str) -> list[str]:
    """Return sentences as people type them: in small letters, too."""
    return [part for sentence in cues.sentences(text) for part in _BORDER.split(sentence) if part]


class _Ending(NamedTuple):
    """A sentence that says that something is done."""

    about: frozenset[str]
    past: frozenset[str]
    """Words that are said as done: "rotated"."""
    is_done: bool
    is_bare: bool
    """True where it names nothing: "done"."""


def _find_ending(sentence: str) -> _Ending | None:
    """Return what a sentence says is done; None where it says nothing of the kind."""
    lowered = sentence.lower()
    done = _DONE.search(lowered)
    past = _PAST.findall(lowered)
    if (done is None and not past) or _UNDONE.search(lowered) is not None:
        return None
    told = lowered if done is None else lowered[done.end() :] if done["bare"] else lowered[: done.start()]
    about = _words(told) - _TIMES
    return _Ending(
        about, _words(" ".join(past)), done is not None, done is not None and bool(done["bare"]) and not about
    )


def _closes(ending: _Ending | None, words: frozenset[str]) -> bool:
    return (
        ending is not None
        and not ending.about.isdisjoint(words)
        and (ending.is_done or not words.isdisjoint(ending.past))
        and 3 * len(ending.about & words) >= 2 * len(ending.about)
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(map(_plain, content_words(text)))


def _parts_of(point: str) -> list[str]:
    """Return what a point lists, without its mark; what only says more of the same is no part."""
    bare = cues.without_open_mark(point)
    parts = [part.strip() for part in _PART.split(bare)]
    own = len(parts) > 1 and "→" not in bare and all(_core(part) and cues.stands_alone(part) for part in parts)
    return parts if own else [bare]


def _cores(point: str) -> list[list[str]]:
    """Return the words that name a point: its first ones, and those of what it needs."""
    bare = cues.without_open_mark(point)
    needed = _NEEDED.search(bare)
    return [core for core in (_core(bare), _core(needed["what"]) if needed is not None else []) if core]


def _core(text: str) -> list[str]:
    words = dict.fromkeys(content_words(text))
    core = [word for word in words if word not in _WORK and not word[0].isdigit()][:_CORE]
    return core if len(core) >= _HELD else list(words)[:_CORE]


def _plain(word: str) -> str:
    """Return a word as its other forms have it: "getauscht" as "tausch", "sent" as "send"."""
    found = (_PARTICIPLE.fullmatch(word) or _FINITE.fullmatch(word)) if word.endswith("t") else None
    return _PRESENT.get(word, word) if found is None else found["begin"] + found["stem"]


def _names(word: str, sentence: Sequence[str]) -> bool:
    """Return whether a sentence has a word, or a compound of it: "Bon" in "Pfandbon"."""
    return any(word == said or said.endswith(word) or (len(word) > 3 and said.startswith(word)) for said in sentence)
