"""The word that keeps a session out of the vault; imports nothing, as hooks ask it first."""

from __future__ import annotations

PRIVATE = "#private"


def is_private(prompt: str) -> bool:
    """Return True where a prompt asks that its session is not captured from here on."""
    return PRIVATE in prompt and any(word.strip(".,;:!?()[]\"'").lower() == PRIVATE for word in prompt.split())
