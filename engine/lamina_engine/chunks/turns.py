"""Turns of dialogues: chunks of a session, each by itself, and those of them that ask.

A question repeats the words of the next question about the same, and its answer stands in the turn after it. So a turn that
asks has a role of its own, which lowers its score, and recall passes a part of its match on to the turn after it.
"""

from __future__ import annotations

import re
from typing import Final

QUESTION: Final = "question"
"""Role of a short turn that holds a question."""

MOST_CHARS: Final = 600
"""A longer turn that asks says something too."""
_ASKS: Final = re.compile(r"\?(?=[\s\"'”’»)\]!?*_~]|\Z|[^\x00-\x7f])|[？؟]")
"""A question mark that ends something: not one in an address."""


def role_of_turn(text: str) -> str | None:
    """Return `QUESTION` for a short text that holds a question."""
    return QUESTION if len(text) <= MOST_CHARS and _ASKS.search(text) else None
