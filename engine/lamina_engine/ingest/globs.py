"""Glob patterns of sources, as one regular expression."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lamina_engine.errors import InvalidArgument

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
_GLOB = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def compile_globs(patterns: Sequence[str] | None, what: str) -> re.Pattern[str] | None:
    """Compile glob patterns into one expression for ``fullmatch``; None where there are none.

    Parameters
    ----------
    patterns : sequence of str, optional
        ``*`` stays within a name, ``**`` does not; a pattern without ``/`` may match at any depth. What lies below a match
        matches too.
    what : str
        Name of the argument, for messages.

    Raises
    ------
    InvalidArgument
        For a text in place of a list, an empty or a malformed pattern.
    """
    if patterns is None:
        return None
    if isinstance(patterns, str):
        raise InvalidArgument(f"{what}={patterns!r} is one text; give a list of patterns such as ['*.md']")
    parts = []
    for pattern in patterns:
        body = pattern.rstrip("/").removeprefix("./")
        if not body.strip("/"):
            raise InvalidArgument(f"{what} has the pattern {pattern!r}; give a glob such as '*.md' or 'notes/**'")
        anchor = "" if "/" in body else "(?:.*/)?"
        parts.append(anchor + "".join(_piece(token) for token in _TOKEN.findall(body.lstrip("/"))))
    try:
        return re.compile("(?:" + "|".join(parts) + ")(?:/.*)?", re.DOTALL) if parts else None
    except re.error as error:
        raise InvalidArgument(f"{what}={list(patterns)!r} has a malformed pattern ({error})") from error


def _piece(token: str) -> str:
    if len(token) > 1 and token[0] == "[":
        inner = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"(?!/)[^{inner[1:]}]" if inner.startswith("!") else f"(?!/)[{inner}]"
    return _GLOB.get(token) or re.escape(token)
