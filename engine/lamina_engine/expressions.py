"""Regular expressions that are compiled at their first use.

Modules that know phrases hold dozens of expressions, which take up to 30 ms to compile. A hook is a process of its own
and uses few of them.

Not even `typing` is imported: a hook asks whether there is anything to do before it loads anything else.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _LateExpression:
    """Stand-in for a compiled expression."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked for by copies and the like
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        for each in ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"):
            setattr(self, each, getattr(compiled, each))  # found without this method from now on
        return getattr(compiled, name)


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what ``re.compile`` does, compiled at its first use; a wrong one raises there."""
    return _LateExpression(pattern, flags)  # type: ignore[return-value]
