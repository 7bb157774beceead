"""The base of a vault's accessors."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from lamina_engine.memory import Memory


class Accessor:
    """Calls of one kind over an open vault."""

    def __init__(self, memory: object) -> None:
        self._memory = cast("Memory", memory)  # the engine's own class is no part of the public surface

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._memory.root.name!r}>"
