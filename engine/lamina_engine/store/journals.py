"""Journals of the ids shown in sessions: JSON lines beside the log, appended without a lock.

They hold ids, names and vectors of prompts, and no text; `erase` removes what spoke of forgotten chunks.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from lamina_engine.real_files import create_file, open_to_append, read_file, remove_file
from lamina_engine.store.shape import own_files, own_folders

JOURNALS: Final = "journal"
IDS: Final = "ids"
"""The field of a line that names chunks."""
VECTOR: Final = "vector"
"""The field that holds a prompt's vector, from which its words could be guessed."""
_SUFFIX: Final = ".jsonl"
_KIND: Final = re.compile(r"[a-z]+")
_MOST_BYTES: Final = 1 << 28
"""A session's journal is some kilobytes."""
_NAME: Final = re.compile(r"[0-9a-f]{24}\.jsonl")


def journal_path(root: Path, kind: str, key: str) -> Path:
    """Return the journal file of a key, named by its digest so that no two keys share one."""
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return root / JOURNALS / kind / f"{digest}{_SUFFIX}"


def append(path: Path, record: Mapping[str, Any]) -> None:
    """Append one line in one write."""
    line = msgspec.json.encode(record) + b"\n"
    try:
        descriptor = open_to_append(path)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = open_to_append(path)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a journal's lines, oldest first; torn lines and non-objects are skipped."""
    try:
        content = read_file(path, _MOST_BYTES)
    except OSError:
        return
    for line in content.split(b"\n"):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
            record = msgspec.json.decode(line) if line else None
            if isinstance(record, dict):
                yield record


def erase(root: Path, identities: Collection[str], names: Collection[str] = ()) -> int:
    """Remove ids, some names and all vectors from every journal; return how many lines changed.

    Each file is rewritten and renamed; lines appended by other processes in between are carried over.
    """
    gone, words = frozenset(identities), frozenset(names)
    changed = 0
    kinds = own_folders(root / JOURNALS, _KIND)
    for path in [path for kind in kinds for path in own_files(kind, _NAME)]:
        if path.stat().st_size > _MOST_BYTES:  # no journal of a session: what it names, nobody reads
            remove_file(path)
            changed += 1
            continue
        with path.open("rb") as old:
            lines, found = _erase_lines(old.read(), gone, words)
            if not found:
                continue
            aside = path.with_name(path.name + ".tmp")
            with os.fdopen(create_file(aside, 0o600), "wb") as new:
                new.write(lines)
                new.flush()
                os.fsync(new.fileno())
            aside.replace(path)
            late, more = _erase_lines(old.read(), gone, words)
        if late:
            with os.fdopen(open_to_append(path), "ab") as new:
                new.write(late)
        changed += found + more
    return changed


def _erase_lines(content: bytes, gone: frozenset[str], names: frozenset[str]) -> tuple[bytes, int]:
    """Return the lines without what is to go, and the number of lines that had something of it."""
    # an unreadable line is dropped too: it might name one
    kept, found = [], 0
    for line in content.split(b"\n"):
        try:
            record = msgspec.json.decode(line) if line else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            found += 1
            continue
        if not isinstance(record, dict):
            continue
        rest = {key: _without(value, gone if key == IDS else names) for key, value in record.items() if key != VECTOR}
        if rest != record:
            found += 1
            line = msgspec.json.encode(rest)
        kept.append(line + b"\n")
    return b"".join(kept), found


def _without(value: Any, gone: frozenset[str]) -> Any:
    """Return a field's value without some texts."""
    if isinstance(value, list):
        return [each for each in value if not (isinstance(each, str) and each in gone)]
    return None if isinstance(value, str) and value in gone else value
