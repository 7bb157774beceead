"""The grammar of one period: which rule reads what.

Each rule reads from a place on and gives a `Period` and the place behind it, or None. A rule asks only for what it knows, so
a word that no rule wants (a verb, a number of tokens, a version) says nothing of time.
"""

from __future__ import annotations

from datetime import datetime

from lamina_engine.recall.when.lexemes import Lexeme
from lamina_engine.recall.when.parts import Parts


class Periods(Parts):
    """All the rules, by the meaning of the word they begin with."""

    def __init__(self, text: str, pieces: list[Lexeme], now: datetime) -> None:
        super().__init__(text, pieces, now)
        self.rules = {
            "written": (self._written,),
            "weekday": (self._weekday,),
            "weekday_short": (self._weekday,),
            "nth": (self._day_of_month, self._nth),
            "month": (self._month,),
            "abbreviation": (self._month,),
            "part": (self._part,),
            "ordinal": (self._nth,),
            "quarter": (self._named_part_of_year,),
            "half": (self._named_part_of_year,),
            "ago_before": (self._ago_before,),
            "number": (self._ago, self._rolling_after_number),
            "vague": (self._ago, self._rolling_after_number),
            "rolling": (self._rolling,),
            "last": (self._rolling, self._beside),
            "this": (self._beside,),
            "next": (self._rolling, self._beside),
            "unit": (self._numbered_week, self._unit_then_side, self._unit_ago, self._half_ago),
            "season": (self._season,),
            "relative": (self._relative,),
            "daypart": (self._daypart,),
            "yearword": (self._year,),
            "year": (self._year,),
        }
