"""Talk: what people and agents say in a chunk of a conversation, without what tools were given and answered."""

from __future__ import annotations

import re
from typing import Final

CONVERSATION: Final = "conversation"
"""Type of a chunk that holds turns of a session."""
_TOOLS: Final = re.compile(
    r"^\[(?:Tool|Result):[^\n]*\].*?(?=^\[(?:User|Assistant)\]$|\Z)|^\[(?:User|Assistant)\]$", re.DOTALL | re.MULTILINE
)


def without_tools(text: str) -> str:
    """Return the words of a conversation, without tools, their results, and the names of who speaks."""
    return _TOOLS.sub("", text)
