"""What the agent is given: a block of memories, and how it came to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from lamina_engine.context.rendering import Item


class ContextBlock(Struct, frozen=True):
    """Memories for an agent, as text that is ready to be shown to it. Empty where there is nothing worth saying."""

    text: str = ""
    tokens: int = 0
    """Of the whole text, wrapper included, by ``counter``; never more than the budget."""
    items: tuple[Item, ...] = ()
    """What the text says, in order."""
    components: Mapping[str, int] = {}
    """Tokens by part: handoff, insights, changes, recent; task, search."""
    budget: int = 0
    counter: str = "estimate"
    """What counted the tokens."""
    mode: str = "off"
    """full, soft_gate, soft_skip, hard_skip; ``off`` where nothing was looked for, ``failed`` where that went wrong."""
    best: float = 0.0
    """Confidence of the best result, 0 to 1."""
    drift: float = 0.5
    """How far the topic moved since the turn before, 0 to 1."""

    def to_dict(self) -> dict[str, Any]:
        """Return what ``lamina context --json`` prints."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found
