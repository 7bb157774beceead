"""What identifies a chunk: its stable id, and the version of its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

_FIELD = "\x1f"


def embedded_text(title: str | None, headings: Sequence[str] | None, text: str) -> str:
    """Return what is embedded for a chunk: title and headings give the text its subject."""
    parts = [part for part in (title, *(headings or ())) if part]
    return "\n".join([*parts, text]) if parts else text


def versions_of(embedded: Iterable[str]) -> list[bytes]:
    """Return the version of each of many contents; see `version_of`."""
    blake2b = hashlib.blake2b
    return [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in embedded]


def version_of(embedded: str) -> bytes:
    """Return the version of a content: BLAKE2b-128 of what is embedded."""
    return hashlib.blake2b(embedded.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def new_id(*parts: str | None) -> str:
    """Return the id of a chunk first seen with these parts: 32 hex digits, equal for equal parts."""
    return new_ids([parts])[0]


def new_ids(rows: Iterable[Sequence[str | None]]) -> list[str]:
    """Return the ids of many chunks; see `new_id`."""
    fresh = hashlib.blake2b(digest_size=16, person=b"lamina chunk id").copy  # a copy costs less than its parameters
    found: list[str] = []
    for parts in rows:
        state = fresh()
        state.update(_FIELD.join([part or "" for part in parts]).encode("utf-8", "surrogatepass"))
        found.append(state.hexdigest())
    return found
