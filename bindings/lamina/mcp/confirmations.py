"""Words that confirm an erasure: each given for one thing, for five minutes and one use."""

from __future__ import annotations

import secrets
import time
from typing import Final

VALID_S: Final = 300.0


class Confirmations:
    """The words that a server has given and not yet seen again."""

    def __init__(self) -> None:
        self._given: dict[str, tuple[str, float]] = {}

    def make(self, key: str) -> str:
        """Return a new word for something."""
        now = time.monotonic()
        self._given = {word: each for word, each in self._given.items() if each[1] > now}
        word = secrets.token_hex(4)
        self._given[word] = (key, now + VALID_S)
        return word

    def take(self, word: str, key: str) -> bool:
        """Return whether a word was given for just this, and use it up."""
        known, until = self._given.pop(word, ("", 0.0))
        return known == key and time.monotonic() <= until
