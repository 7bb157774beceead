"""What identifies a chunk: its stable id, and the version of its content."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

_FIELD = "\x1f"


def embedded_text(title: str | None, headings: Sequence[str] | None, text: str) -> str:
    """Return what is embedded for a chunk: title and headings give the text its subject."""
    parts = [part for part in (title, *(headings or ())) if part]
    return "\n".join([*parts, text]) if parts else text


def version_of(embedded: str) -> bytes:
    """Return the version of a content: BLAKE2b-128 of what is embedded."""
    return hashlib.blake2b(embedded.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def new_id(*parts: str | None) -> str:
    """Return the id of a chunk first seen with these parts: 32 hex digits, equal for equal parts."""
    joined = _FIELD.join("" if part is None else part for part in parts)
    return hashlib.blake2b(
        joined.encode("utf-8", "surrogatepass"), digest_size=16, person=b"lamina chunk id"
    ).hexdigest()
