"""Talk: what people and agents say in a conversation, without tools and results."""

from __future__ import annotations

import re
from typing import Final

CONVERSATION: Final = "conversation"
"""Type of a chunk that holds turns of a session."""
_TOOLS: Final = re.compile(
    r"^\[(?:Tool|Result):[^\n]*\].*?(?=^\[(?:User|Assistant)\]$|\Z)|^\[(?:User|Assistant)\]$", re.DOTALL | re.MULTILINE
)


def without_tools(text: str) -> str:
    """Return what is said in a conversation, without tools and marks of who speaks."""
    return _TOOLS.sub("", text)
