"""What identifies a chunk: its stable id, and the version of its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

_FIELD = "\x1f"
_PERSON = b"lamina chunk id"


def embedded_text(title: str | None, headings: Sequence[str] | None, text: str) -> str:
    """Return what is embedded for a chunk: title and headings give the text its subject."""
    parts = [part for part in (title, *(headings or ())) if part]
    return "\n".join([*parts, text]) if parts else text


def versions_of(texts: Iterable[bytes]) -> list[bytes]:
    """Return the version of each of many contents, given their UTF-8; see `version_of`."""
    blake2b = hashlib.blake2b
    return [blake2b(text, digest_size=16).digest() for text in texts]


def version_of(embedded: str) -> bytes:
    """Return the version of a content: BLAKE2b-128 of what is embedded."""
    return hashlib.blake2b(coded(embedded), digest_size=16).digest()


def new_id(*parts: str | None) -> str:
    """Return the id of a chunk first seen with these parts: 32 hex digits, equal for equal parts."""
    return new_ids([parts])[0]


def new_ids(rows: Iterable[Sequence[str | None]]) -> list[str]:
    """Return the ids of many chunks; see `new_id`."""
    fresh = hashlib.blake2b(digest_size=16, person=_PERSON).copy  # a copy costs less than its parameters
    found: list[str] = []
    for parts in rows:
        state = fresh()
        state.update(coded(_FIELD.join([part or "" for part in parts])))
        found.append(state.hexdigest())
    return found


def added_ids(texts: Iterable[bytes], said: Iterable[str]) -> list[str]:
    """Return the ids of records that were given none: those of `new_id` for "add", the text, and all else.

    Parameters
    ----------
    texts : iterable of bytes
        UTF-8 of each record's text, which is neither joined nor coded again: it is nearly all there is to hash.
    said : iterable of str
        What each record says beside, as `joined` gives it.
    """
    fresh = hashlib.blake2b(coded(f"add{_FIELD}"), digest_size=16, person=_PERSON).copy
    found: list[str] = []
    for text, rest in zip(texts, said, strict=True):
        state = fresh()
        state.update(text)
        state.update(coded(_FIELD + rest))
        found.append(state.hexdigest())
    return found


def joined(parts: Iterable[str | None]) -> str:
    """Return parts of an id as one text."""
    return _FIELD.join([part or "" for part in parts])


def coded(text: str) -> bytes:
    """Return a text's UTF-8; a lone surrogate is kept."""
    return text.encode("utf-8", "surrogatepass")
