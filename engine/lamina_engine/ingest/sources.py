"""Sources: the last known state of each file, and the changes since.

Comparing takes two steps, because hashing costs reading: `plan_scan` sorts the walk's files by size and time alone, the
caller reads and hashes what is left, and `resolve_changes` decides what became of every source. No file is touched here.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lamina_engine.errors import InvalidArgument
from lamina_engine.ingest.walk import FileEntry
from lamina_engine.store.snapshot import Snapshot

RACY_NS = 2_000_000_000
"""A file changed twice within this time may carry one modification time: the coarsest step in use, FAT's, is 2 s."""
UNSETTLED_MTIME_NS = -1
"""Stored in place of a modification time that must not be trusted; no file has it, so the next scan reads the file."""


@dataclass(frozen=True, slots=True)
class SourceState:
    """State of a source at the scan that last read it."""

    digest: bytes
    """BLAKE2b-128 of its bytes."""
    size: int
    """Bytes."""
    mtime_ns: int
    """Modification time seen, ns since 1970; `UNSETTLED_MTIME_NS` where it says nothing."""
    settings: str
    """Digest of everything but the bytes that shaped its chunks."""
    chunks: tuple[str, ...]
    """Ids of its chunks, in order."""
    scanned_us: int
    """When that scan began, us UTC: an instant before the file was read."""
    blob: str | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """Files sorted by size and time; each tuple is in code point order of the paths."""

    unchanged: tuple[str, ...]
    """Same size, time and settings: not read."""
    to_read: tuple[FileEntry, ...]
    """New, different, or too recently changed for its time to prove anything."""
    missing: tuple[str, ...]
    """Known, and not found by the walk."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Digests of one file that was read."""

    digest: bytes
    settings: str


@dataclass(frozen=True, slots=True)
class Move:
    """Source found at another path, byte for byte."""

    source: str
    former: str


@dataclass(frozen=True, slots=True)
class Changes:
    """Fate of every source; each is in one tuple, in code point order."""

    unchanged: tuple[str, ...]
    """Nothing to do: not read, or read and the same."""
    touched: tuple[str, ...]
    """The part of ``unchanged`` that was read: its new size and time are worth recording."""
    moved: tuple[Move, ...]
    changed: tuple[str, ...]
    """Other bytes, or other settings."""
    added: tuple[str, ...]
    removed: tuple[str, ...]
    unseen: tuple[str, ...]
    """Known before and not to be judged now: unreadable, or below a folder that is. Their chunks stay."""


def is_settled(mtime_ns: int, scanned_us: int) -> bool:
    """Return whether an equal modification time at a later scan proves equal bytes.

    It does when the file had been left alone for over `RACY_NS` as the scan began. A file that was changed just before
    it was read may be changed again right after, at the same size and the same step of the clock (git calls this
    racily clean). A time in the future proves nothing either.
    """
    return scanned_us * 1000 - mtime_ns > RACY_NS


def settled_mtime_ns(mtime_ns: int, scanned_us: int) -> int:
    """Return the modification time to store for a file that the scan of ``scanned_us`` read.

    The log stores the time of the commit alone, later than the file was read, so the rule of `is_settled` cannot be applied
    afterwards; a time that proves nothing is stored as `UNSETTLED_MTIME_NS`.
    """
    return mtime_ns if is_settled(mtime_ns, scanned_us) else UNSETTLED_MTIME_NS


def plan_scan(
    previous: Mapping[str, SourceState], entries: Iterable[FileEntry], settings: Callable[[FileEntry], str]
) -> ScanPlan:
    """Sort the files of a walk into unchanged, to read and missing, by size and time."""
    found: dict[str, FileEntry] = {}
    for entry in entries:
        if entry.path in found:
            raise InvalidArgument(f"two entries have the path {entry.path!r}; give each path once")
        found[entry.path] = entry
    unchanged, to_read = [], []
    for path in sorted(found):
        entry, known = found[path], previous.get(path)
        if known is not None and is_same_stat(known, entry) and known.settings == settings(entry):
            unchanged.append(path)
        else:
            to_read.append(entry)
    missing = sorted(path for path in previous if path not in found)
    return ScanPlan(tuple(unchanged), tuple(to_read), tuple(missing))


def resolve_changes(
    previous: Mapping[str, SourceState],
    planned: ScanPlan,
    readings: Mapping[str, Reading],
    *,
    unseen: Collection[str] = (),
) -> Changes:
    """Classify every source as new, changed, moved or deleted, from hashes.

    ``unseen`` are paths that the walk reported as problems: a known source at or below one of them was not shown to be gone
    (``.`` stands for all). A new source is a move of a vanished one with equal digest; among several, pairs of equal file
    name come first, then the rest in path order, so the answer depends on no order of the input. O(n log n).
    """
    to_read = {entry.path for entry in planned.to_read}
    for path in readings:
        if path not in to_read:
            raise InvalidArgument(f"a reading of {path!r} was given, which was not to be read")
    hidden = {path for path in planned.missing if _is_below(path, unseen)}
    hidden.update(path for path in to_read if path not in readings and path in previous)
    touched, changed, new = [], [], []
    for path, reading in sorted(readings.items()):
        known = previous.get(path)
        if known is None:
            new.append(path)
        elif (known.digest, known.settings) == (reading.digest, reading.settings):
            touched.append(path)
        else:
            changed.append(path)
    vanished = [path for path in planned.missing if path not in hidden]
    former = _pair_moves(new, vanished, readings, previous)
    moved = tuple(Move(path, former[path]) for path in new if path in former)
    gone = set(vanished).difference(former.values())
    return Changes(
        unchanged=tuple(sorted((*planned.unchanged, *touched))),
        touched=tuple(touched),
        moved=moved,
        changed=tuple(changed),
        added=tuple(path for path in new if path not in former),
        removed=tuple(sorted(gone)),
        unseen=tuple(sorted(hidden)),
    )


def is_same_stat(known: SourceState, entry: FileEntry) -> bool:
    """Return whether size and time prove that a file is as it was read."""
    return (
        known.size == entry.size
        and known.mtime_ns == entry.mtime_ns
        and known.mtime_ns != UNSETTLED_MTIME_NS
        and is_settled(known.mtime_ns, known.scanned_us)
    )


def _is_below(path: str, folders: Collection[str]) -> bool:
    """Return whether a path is one of these folders or lies below one."""
    if not folders:
        return False
    if "." in folders or path in folders:
        return True
    end = path.rfind("/")
    while end > 0:
        if path[:end] in folders:
            return True
        end = path.rfind("/", 0, end)
    return False


def _pair_moves(
    new: Iterable[str], vanished: Iterable[str], readings: Mapping[str, Reading], previous: Mapping[str, SourceState]
) -> dict[str, str]:
    """Return the former path of each new source that is a move."""
    free: dict[bytes, list[str]] = defaultdict(list)
    for path in sorted(vanished):
        free[previous[path].digest].append(path)
    by_digest: dict[bytes, list[str]] = defaultdict(list)
    for path in sorted(new):
        if readings[path].digest in free:
            by_digest[readings[path].digest].append(path)
    former: dict[str, str] = {}
    for digest, targets in by_digest.items():
        by_name: dict[str, list[str]] = defaultdict(list)
        for path in reversed(free[digest]):
            by_name[_name(path)].append(path)
        for path in targets:
            if by_name[_name(path)]:
                former[path] = by_name[_name(path)].pop()
        left = sorted(path for paths in by_name.values() for path in paths)
        # fewer sources may be left on either side; the surplus was added or removed
        former.update(zip((path for path in targets if path not in former), left, strict=False))
    return former


def _name(path: str) -> str:
    return path.rpartition("/")[2]


PRESENT, REMOVED, SKIPPED = "present", "removed", "skipped"
SESSIONS_MARK = "sessions:"
"""Settings of sources that were read as sessions begin with it."""
FORGOTTEN = "forgotten-"

_FACTS = (
    "recorded_at",
    "source",
    "root",
    "state",
    "digest",
    "size",
    "mtime_ns",
    "commit",
    "blob",
    "settings",
    "chunks",
)
SPANS = ("starts", "stops", "lines", "end_lines")
"""Columns that place each chunk in its file; empty where nothing is known, as for rows of a table."""
_CONTENTS = ("chunks", *SPANS, "links", "commit", "blob")
_COLUMNS = (*_FACTS[1:], *SPANS, "links")


@dataclass(frozen=True, slots=True)
class Source:
    """Newest log row of one source."""

    root: str
    """Label of its root: the absolute path of the folder it was ingested from."""
    source: str
    """Path below the root."""
    state: str
    facts: SourceState
    row: int
    """Its row in the sources log."""

    @property
    def path(self) -> str:
        """Absolute path, with ``/``."""
        return absolute_path(self.root, self.source)


def digest_of_entry(entry: FileEntry) -> bytes:
    """Return the digest of a file, read in pieces: one of records may be larger than memory."""
    with entry.absolute.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()


def absolute_path(root: str, source: str) -> str:
    """Return the absolute path of a source below a root."""
    return f"{root.rstrip('/')}/{source}"


def load_sources(snapshot: Snapshot, stop: int | None = None) -> dict[str, Source]:
    """Return the newest row of every source by absolute path, present or removed; below a row."""
    found: dict[str, Source] = {}
    rows = np.arange(snapshot.rows("sources") if stop is None else stop, dtype=np.int64)
    for row, record in enumerate(snapshot.records("sources", rows, _FACTS)):
        source = _parse_source(record, row)
        found[source.path] = source
    return found


def digest_path(path: str) -> str:
    """Return what stands for the path of a file whose chunks were all forgotten."""
    return FORGOTTEN + hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def forgotten_sources(everything: Mapping[str, Source], folder: Path, paths: Iterable[str]) -> dict[str, Source]:
    """Return the sources of paths below a folder whose chunks were all forgotten."""
    names = {source.source: source for source in everything.values() if source.source.startswith(FORGOTTEN)}
    found: dict[str, Source] = {}
    for path in paths if names else ():
        source = names.get(digest_path(absolute_path(folder.as_posix(), path)))
        if source is not None:
            found[path] = source
    return found


def sources_below(everything: Mapping[str, Source], folder: Path) -> dict[str, Source]:
    """Return the sources below a folder, by path below it."""
    prefix = absolute_path(folder.as_posix(), "")
    return {path.removeprefix(prefix): source for path, source in everything.items() if path.startswith(prefix)}


def source_contents(snapshot: Snapshot, known: Sequence[Source]) -> list[dict[str, Any]]:
    """Return chunks, spans, links and commits of some sources."""
    rows = np.array([source.row for source in known], np.int64)
    return [{name: record[name] for name in _CONTENTS} for record in snapshot.records("sources", rows, _CONTENTS)]


def removal_row(source: Source) -> dict[str, Any]:
    """Return the row of a removed source; it keeps its chunk ids, which come back with it."""
    facts = source.facts
    return {
        "source": source.source,
        "root": source.root,
        "state": REMOVED,
        "digest": facts.digest,
        "size": facts.size,
        "mtime_ns": facts.mtime_ns,
        "commit": facts.commit,
        "blob": facts.blob,
        "settings": facts.settings,
        "chunks": list(facts.chunks),
        "links": None,
    }


def continued_sources(
    everything: Mapping[str, Source],
    folder: Path,
    added: Sequence[str],
    readings: Mapping[str, Reading],
    taken: Collection[str] = (),
) -> dict[str, Source]:
    """Return the source that each new path continues; none is continued twice.

    It is the removed source of the same path, else one of the same bytes that was removed, or whose file is no longer where
    it was (a root that was renamed as a whole). ``taken`` are sources that something else continues.
    """
    found: dict[str, Source] = {}
    taken = set(taken)
    prefix = absolute_path(folder.as_posix(), "")
    for path in added:
        source = everything.get(prefix + path)
        if source is not None and source.state == REMOVED and source.facts.chunks:
            found[path] = source
            taken.add(source.path)
    wanted = {readings[path].digest for path in added if path not in found}
    by_digest: dict[bytes, list[Source]] = defaultdict(list)
    for name, source in sorted(everything.items(), reverse=True):
        if source.facts.digest in wanted and name not in taken and source.facts.chunks and _is_missing(source):
            by_digest[source.facts.digest].append(source)
    for path in sorted(added):
        if path not in found and by_digest[readings[path].digest]:
            found[path] = by_digest[readings[path].digest].pop()
    return found


def _is_missing(source: Source) -> bool:
    return source.state == REMOVED or not os.path.lexists(source.path)


def _parse_source(record: Mapping[str, Any], row: int) -> Source:
    facts = SourceState(
        digest=record["digest"],
        size=record["size"],
        mtime_ns=record["mtime_ns"],
        settings=record["settings"],
        chunks=tuple(record["chunks"]),
        scanned_us=record["recorded_at"],
        blob=record["blob"],
        commit=record["commit"],
    )
    return Source(record["root"], record["source"], record["state"], facts, row)


@dataclass(slots=True)
class SourceRows:
    """Pending rows of the sources log, by column."""

    columns: dict[str, list[Any]]

    @classmethod
    def empty(cls) -> SourceRows:
        """Return no rows."""
        return cls({name: [] for name in _COLUMNS})

    def __len__(self) -> int:
        return len(self.columns["source"])

    def add(self, **values: Any) -> None:
        """Add one row; every column is named but those of `SPANS`, which are empty where left out."""
        for name, column in self.columns.items():
            column.append(values.get(name, []) if name in SPANS else values[name])
