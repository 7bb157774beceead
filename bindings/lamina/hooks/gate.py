"""Prompts and folders that are left alone; needs next to no import, and most end here."""

from __future__ import annotations

import os

IGNORE = ".laminaignore"
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


def is_ignored(folder: str) -> bool:
    """Return True where a ``.laminaignore`` in a folder, or above it, leaves the folder out.

    An empty file leaves out all that is below it; else each line is a folder below it, or a pattern of one.
    """
    above = here = os.path.realpath(folder)
    while True:
        patterns = _patterns(os.path.join(above, IGNORE))  # no pathlib before the gate
        if patterns is not None and _matches(patterns, os.path.relpath(here, above)):
            return True
        parent = os.path.dirname(above)
        if parent == above:
            return False
        above = parent


def _patterns(path: str) -> list[str] | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            read = lines.read(100_000).splitlines()
    except OSError:
        return None
    return [line.strip() for line in read if line.strip() and not line.lstrip().startswith("#")]


def _matches(patterns: list[str], inner: str) -> bool:
    if not patterns:
        return True
    from fnmatch import fnmatchcase

    parts = [] if inner == os.curdir else inner.replace(os.sep, "/").split("/")
    names = ["/".join(parts[: i + 1]) for i in range(len(parts))]
    for pattern in patterns:
        bare = pattern.strip("/")
        if bare in ("", "*", "**", ".") or any(fnmatchcase(name, bare) for name in names):
            return True
        if "/" not in bare and any(fnmatchcase(part, bare) for part in parts):
            return True
    return False
