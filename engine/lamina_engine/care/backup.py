"""Backup: one version of a vault, copied file by file while others read and write it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lamina_engine import config
from lamina_engine.errors import InvalidArgument, VaultExists
from lamina_engine.index.graphfile import open_graph
from lamina_engine.index.inverted import open_lists
from lamina_engine.index.keys import KeyIndex
from lamina_engine.index.nodes import GRAPH
from lamina_engine.index.quantised import QuantisedIndex
from lamina_engine.index.tables import KEYS, LEXICAL, TERMS, VECTORS, lists_name, terms_path
from lamina_engine.index.terms import open_terms
from lamina_engine.index.textbuilder import BUILDING
from lamina_engine.index.textindex import open_index
from lamina_engine.real_files import read_file
from lamina_engine.reports import Report
from lamina_engine.shards.layout import SHARDS
from lamina_engine.store import manifest as manifests
from lamina_engine.store import segments
from lamina_engine.store.store import INDEX

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.store.files import Files
    from lamina_engine.store.snapshot import Snapshot


def _graph_rows(path: Path) -> int | None:
    """Return the links that a link graph covers; None for the keys of its nodes."""
    if path.suffix == ".nodes":
        KeyIndex.open(path, verify=True)
        return None
    return open_graph(path, path.with_suffix(".nodes"), verify=True).rows


_READERS: Final[dict[str, tuple[tuple[str, ...], Callable[[Path], int | None]]]] = {
    LEXICAL: (("folder",), lambda path: open_index(path, verify=True, linked=True).rows),
    VECTORS: (("file",), lambda path: QuantisedIndex.open(path).rows),
    KEYS: (("ids", "versions"), lambda path: KeyIndex.open(path).rows),
    GRAPH: (("keys", "file"), _graph_rows),
}
"""By index: what its record names, and how many rows a whole one covers."""


@dataclass(frozen=True, slots=True)
class BackupReport(Report):
    """Report of a backup."""

    path: str
    """Where it lies now."""
    version: int
    """The version that it is."""
    rows: int
    """Rows of the chunks log."""
    segments: int
    """Files of the log."""
    bytes: int
    """Bytes of these files."""
    indexes: tuple[str, ...]
    """Indexes that were copied too; the copy builds the others with its first write, and scans until then."""


def backup(memory: Memory, path: Path) -> BackupReport:
    """Copy the newest version into a folder, as a vault of its own; writers are not held up.

    Notes
    -----
    Every file is flushed to disk, and CURRENT is written last, so an interrupted copy never opens as a vault. O(bytes).
    """
    snapshot = memory.store.snapshot()
    memory.store.require_whole(snapshot)
    _check_target(memory.root, path)
    existed = path.is_dir()
    files = memory.store.files
    root, *shards = snapshot.holders
    try:
        files.make_vault_folder(path)
        indexes: set[str] = set()
        if shards:
            files.make_folder(path / SHARDS)
        for number, (shard, own) in enumerate(zip(memory.shards, shards, strict=True)):  # the root last: it names them
            place = path / SHARDS / f"{number:02d}"
            files.make_folder(place)
            indexes |= _copy_version(files, shard, own, place)
        indexes |= _copy_version(files, memory, root, path)
    except BaseException:
        _remove_all(path, itself=not existed)
        raise
    refs = [ref for own in snapshot.holders for log in own.manifest.logs.values() for ref in log]
    return BackupReport(
        path=str(path), version=snapshot.version, rows=snapshot.rows("chunks"), segments=len(refs),
        bytes=sum(ref.size for ref in refs), indexes=tuple(sorted(indexes)),
    )  # fmt: skip


def _copy_version(files: Files, memory: Memory, snapshot: Snapshot, path: Path) -> set[str]:
    """Copy one version of one folder; return the indexes that it has."""
    for log in snapshot.manifest.logs:
        _copy_log(files, path, snapshot, log)
    indexes = _copy_indexes(files, memory.tables.folder, path / INDEX, snapshot)
    with contextlib.suppress(FileNotFoundError):
        files.publish(path / config.FILE, [read_file(memory.root / config.FILE, config.MOST_BYTES)])
    files.make_folder(path / manifests.MANIFESTS)
    manifests.publish(files, path, msgspec.structs.replace(snapshot.manifest, indexes=indexes))
    return set(indexes)


def _check_target(root: Path, path: Path) -> None:
    if path.resolve().is_relative_to(root.resolve()):
        raise InvalidArgument(f"{path} lies inside the vault {root}; give a folder elsewhere")
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise VaultExists(f"{path} is not empty; a backup needs a folder that is empty or does not exist yet")


def _copy_log(files: Files, target: Path, snapshot: Snapshot, log: str) -> None:
    folder = segments.log_folder(target, log)
    files.make_folder(folder)
    for segment in snapshot.segments(log):
        segment.require_intact()
        files.publish(folder / segment.ref.name, [segment.content()])
    files.flush_folder(folder)


def _copy_indexes(files: Files, source: Path, target: Path, snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """Copy the derived indexes that are intact; return the records of the copies.

    Writers go on meanwhile, so an index may grow or vanish while it is copied: what does not open as the version's own
    afterwards is left out.
    """
    files.make_folder(target / TERMS)
    for segment in snapshot.segments("chunks"):
        name = terms_path(source, segment).name
        _try_copy(files, source / TERMS / name, target / TERMS / name, lambda path: open_terms(path, verify=True))
        lists, check = lists_name(segment), partial(open_lists, rows=segment.rows, verify=True)
        _try_copy(files, source / TERMS / lists, target / TERMS / lists, check)
    files.flush_folder(target / TERMS)
    kept: dict[str, dict[str, Any]] = {}
    for name, record in snapshot.manifest.indexes.items():
        if name not in _READERS:  # what the copy makes again by itself
            continue
        fields, rows_of = _READERS[name]
        # a file that was saved for a version may cover some of its tail, and the text index grows in place
        most = snapshot.rows("links" if name == GRAPH else "chunks")
        fits = partial(_fits, rows_of, int(record.get("rows", 0)), int(most))
        parts = [str(record[field]) for field in fields]
        if all(_try_copy(files, source / part, target / part, fits) for part in parts):
            kept[name] = record
    files.flush_folder(target)
    return kept


def _fits(rows_of: Callable[[Path], int | None], least: int, most: int, path: Path) -> bool:
    rows = rows_of(path)
    return rows is None or least <= rows <= most


def _try_copy(files: Files, source: Path, target: Path, check: Callable[[Path], object]) -> bool:
    """Copy a file or folder if the copy is intact; else leave nothing."""
    try:
        for path in _list_files(source):
            inside = target / path.relative_to(source)
            files.make_folder(inside.parent)
            files.publish(inside, [path.read_bytes()])
        if target.is_dir():
            files.flush_folder(target)
        usable = check(target) is not False
    except OSError as error:
        if not isinstance(error, FileNotFoundError) and not _is_damage(error):
            raise
        usable = False
    if not usable:
        _remove_all(target, itself=True)
    return usable


def _is_damage(error: OSError) -> bool:
    """Return True for a damaged index; errors of the disk have a number."""
    return error.errno is None


def _list_files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        for entry in sorted(path.iterdir()):
            if entry.is_dir() and not entry.name.startswith(BUILDING):
                yield from _list_files(entry)
            elif entry.is_file() and not entry.is_symlink() and entry.suffix != ".lock":
                yield entry
    else:
        yield path


def _remove_all(path: Path, *, itself: bool) -> None:
    if itself and not path.is_dir():
        with contextlib.suppress(NotADirectoryError):  # a file lies above it: nothing was made
            path.unlink(missing_ok=True)
        return
    for entry in [path] if itself else list(path.iterdir()):
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
