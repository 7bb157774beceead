"""What all parts of ``vault.facts`` stand on: an open vault, and dates in its zone."""

from __future__ import annotations

from typing import Any

from lamina_engine.clock import Instant, parse_instant


class OfFacts:
    """A part of the facts of a vault."""

    _memory: Any

    def _instant(self, value: Instant | None, what: str) -> int | None:
        return None if value is None else parse_instant(value, self._memory.config.tz, what=what)
