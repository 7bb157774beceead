"""Prompts that are left alone; needs next to no import, and most end here."""

from __future__ import annotations

import os

SWITCH = "LAMINA_HOOKS"

_SHORTEST = 8
_FEWEST_WORDS = 2
_NOT_TYPED = ("/", "!", "<task-notification>")
"""Beginnings of commands, and of messages by which Claude Code tells that a helper has ended."""


def is_off() -> bool:
    """Return True where the user has switched hooks off."""
    return os.environ.get(SWITCH, "").strip().lower() in ("off", "0", "false", "no")


def skips_prompt(prompt: str, source: str) -> bool:
    """Return True for a prompt that asks nothing of a memory, or that no person wrote."""
    text = prompt.strip()
    if source and source not in ("user", "sdk"):
        return True
    # scripts without spaces say in one "word" what others say in eight letters
    long_enough = len(text) >= _SHORTEST or (len(text) >= 4 and not text.isascii())
    if not long_enough or text.startswith(_NOT_TYPED):
        return True
    words = text.split()
    if len(words) < _FEWEST_WORDS and text.isascii():
        return True
    from lamina.prompts import needs_context  # the one list of words that name nothing

    return not needs_context(text)
