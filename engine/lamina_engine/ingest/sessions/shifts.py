"""Where one topic ends and the next begins: a long pause, or words that say so.

Words that open a continuation as often ("ok so ...") are none of them. What a model of topics would add was measured
elsewhere on labels made by these same rules, so nothing is known of it, and nothing is claimed.
"""

from __future__ import annotations

import re
from typing import Final, Literal

GAP_US: Final = 30 * 60 * 1_000_000
"""A pause longer than this is a shift; one of exactly this length is none."""

Shift = Literal["gap", "phrase"]

_OPENERS: Final = re.compile(
    r"""
    actually,?\s+(?:let'?s|can\ we|could\ we)\b
    | (?:new|different|another)\s+(?:question|topic|issue)\b
    | switching\s+(?:to|gears)\b
    | (?:on|about)\s+an?\s+(?:different|separate|unrelated)\s+(?:note|topic)\b
    | (?:ok|okay),?\s+now\b
    | moving\s+on\b
    | forget\s+(?:about\s+)?(?:that|this)\b
    | let'?s\s+(?:change|switch|move)\b
    | (?:unrelated|separate)(?:ly)?\b
    | btw\b
    | by\s+the\s+way\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def shift_between(end_us: int | None, start_us: int | None, text: str) -> Shift | None:
    """Return how a turn leaves the topic of the one before it, None where it goes on with it.

    Parameters
    ----------
    end_us : int or None
        The real end of the turn before: its last event, replies and results included.
    start_us : int or None
        When the turn begins.
    text : str
        What the user says first in it.
    """
    if end_us is not None and start_us is not None and start_us - end_us > GAP_US:
        return "gap"
    return "phrase" if _OPENERS.match(text[:200].lstrip().replace("\u2019", "'")) else None
