"""The word and the file that keep sessions out of the vault.

Imports next to nothing, as hooks ask it first.
"""

from __future__ import annotations

import os

PRIVATE = "#private"
IGNORE = ".laminaignore"


def is_private(prompt: str) -> bool:
    """Return True where a prompt asks that its session is not captured from here on."""
    return PRIVATE in prompt and any(word.strip(".,;:!?()[]\"'").lower() == PRIVATE for word in prompt.split())


def is_ignored(folder: str) -> bool:
    """Return True where a ``.laminaignore`` in a folder, or above it, leaves the folder out.

    An empty file leaves out all that is below it; else each line is a folder below it, or a pattern of one.
    """
    above = here = os.path.realpath(folder)
    while True:
        patterns = _patterns(os.path.join(above, IGNORE))  # no pathlib: hooks count milliseconds
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
