"""The base of a vault's accessors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

if TYPE_CHECKING:
    from lamina_engine.memory import Memory


class Accessor:
    """Calls of one kind over an open vault."""

    def __init__(self, memory: object) -> None:
        self._memory = cast("Memory", memory)  # the engine's own class is no part of the public surface

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._memory.root.name!r}>"

    def __reduce__(self) -> NoReturn:
        raise unpicklable(self._memory.root)


def unpicklable(path: Path) -> TypeError:
    """Return the error of pickling an open vault, or a call of it."""
    return TypeError(f"an open vault cannot be pickled; open {str(path)!r} in each process")
