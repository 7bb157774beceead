"""What every rule of time stands on: the lexemes of a question, at one moment, and the period that rules make of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Final, NamedTuple

from lamina_engine.recall.when.calendar import Span
from lamina_engine.recall.when.lexemes import Lexeme
from lamina_engine.recall.when.phrases import MEASURED, Sense, speech

OfYear = Callable[[int], Span | None]
_SMALL_WORDS: Final = frozenset(
    {"in", "on", "since", "until", "before", "after", "from", "between", "and", "to", "of", "the", "every", "part"}
)
"""Words that are short and mean something else in other languages: they count in the language of the question only."""
_MAX_DEPTH: Final = 4
"""How deep periods stand in periods: ``end of the first week of last March``; deeper is no sentence."""
_MAX_SKIPPED: Final = 3
"""Small words that may stand between two that belong together; it keeps a text of small words linear."""
PLANNED: Final = 0.45
"""How sure "next week" is a filter: what is planned was recorded before, so it stays below the confidence of one."""


class Period(NamedTuple):
    """A span with what it was made from; ``of_year`` makes it again for another year where none was said."""

    span: Span
    kind: str
    confidence: float
    of_year: OfYear | None = None


Reading = tuple[Period, int] | None
"""A period and the place behind its words."""
Rule = Callable[[int, int], Reading]


def with_end(period: Period | None, end: int) -> Reading:
    """Return a reading of a period that may not exist."""
    return None if period is None else (period, end)


class Pieces:
    """The lexemes of one question, at one moment.

    Parameters
    ----------
    text : str
        The question, in which a capital may tell a month from a verb.
    pieces : list of Lexeme
    now : datetime
        In the caller's zone.
    """

    def __init__(self, text: str, pieces: list[Lexeme], now: datetime) -> None:
        self.text = text
        self.pieces = pieces
        self.now = now
        self.today: date = now.date()
        self.speech = speech(piece.text for piece in pieces)
        self.rules: dict[str, tuple[Rule, ...]] = {}
        self._depth = 0
        self._known: dict[tuple[int, int, int], Reading] = {}

    def sense(self, place: int, category: str) -> Sense | None:
        """Return a meaning of the lexeme at a place, if it has it in the language of the question."""
        if not 0 <= place < len(self.pieces):
            return None
        sense = self.pieces[place].senses.get(category)
        if sense is None or (category in _SMALL_WORDS and not sense.languages & self.speech):
            return None
        return sense

    def skip(self, place: int, *categories: str) -> int:
        """Return the first place from here on, a few words at most, that has none of some meanings."""
        for at in range(place, place + _MAX_SKIPPED):
            if not any(self.sense(at, category) for category in categories):
                return at
        return place + _MAX_SKIPPED

    def read(self, place: int, cue: int = 0) -> Reading:
        """Return the longest period that begins at a place.

        Parameters
        ----------
        place : int
        cue : int
            Languages of a preposition before it; 0 without one. Words that mean more than time need a cue.
        """
        if place >= len(self.pieces) or self._depth >= _MAX_DEPTH:
            return None
        key = place, cue, self._depth
        if key in self._known:
            return self._known[key]
        best: Reading = None
        self._depth += 1
        for category in self.pieces[place].senses:
            for rule in self.rules.get(category, ()):
                got = rule(place, cue)
                if got is not None and (best is None or got[1] > best[1]):
                    best = got
        self._depth -= 1
        self._known[key] = best
        return best

    def month_at(self, place: int) -> int | None:
        """Return the month that a name or its abbreviation means."""
        sense = self.sense(place, "month") or self.sense(place, "abbreviation")
        return int(sense.value) if sense else None

    def is_measured(self, place: int) -> bool:
        """Say whether a number counts something: ``in 2000 tokens`` names no year."""
        return place + 1 < len(self.pieces) and (
            self.pieces[place + 1].text in MEASURED or bool(self.sense(place + 1, "unit"))
        )
