"""Verification: is the vault what was written, and if not, what is affected and what can be saved.

It reads through no cache, and works where the vault cannot be opened: CURRENT missing, torn or naming a lost manifest.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lamina_engine.care.findings import VerifyProblem, VerifyReport
from lamina_engine.care.index_check import check_indexes, remove
from lamina_engine.care.log_check import check_log, whole
from lamina_engine.errors import VaultCorrupt, VaultNotFound, VaultTooNew
from lamina_engine.store import manifest as manifests
from lamina_engine.store.files import Files
from lamina_engine.store.lock import write_lock
from lamina_engine.store.manifest import Manifest
from lamina_engine.store.segments import LOG
from lamina_engine.store.shape import check_shape
from lamina_engine.store.snapshot import Snapshot
from lamina_engine.store.store import INDEX, Store

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

__all__ = ["VerifyProblem", "VerifyReport", "verify"]

_ATTEMPTS = 5
"""A version may be merged away while it is being read; then the next one is checked."""


def verify(vault: Memory | Store | Path, *, deep: bool = False, repair: bool = False) -> VerifyReport:
    """Check a vault against what its manifests say, and what is derived against the log.

    Parameters
    ----------
    vault : Memory, Store or Path
        An open vault, or the folder of one that perhaps cannot be opened.
    deep : bool
        Read every byte: digests, Arrow's full validation, order of all rows, vectors, content hashes, checksums of the
        indexes and a sample of their content. Otherwise sizes, counts and references only.
    repair : bool
        Where CURRENT cannot be used, set it to the newest version whose segments are all whole; remove damaged files of
        derived indexes, which the next write builds again. Nothing of the log is ever removed or rewritten.

    Raises
    ------
    VaultNotFound
        When there is no vault.
    VaultTooNew
        When a newer Lamina wrote it.
    VaultLocked, VaultReadOnly, OSError
        When ``repair`` cannot write.

    Notes
    -----
    O(bytes) when deep, else O(rows) of the offsets.
    """
    root = vault if isinstance(vault, Path) else vault.root
    report = VerifyReport()
    try:
        check_shape(root)
    except VaultCorrupt as error:  # nothing is read through a link or from a pipe
        report.add("shape", root.name, str(error), "remove what Lamina did not make, or restore the vault from a copy")
        return report
    name = _current(root, report)
    if name is None:
        name = _set_current(root, report, deep=deep, repair=repair)
    if name is None:
        return report
    for attempt in range(_ATTEMPTS):
        found = VerifyReport()
        manifest = manifests.load(root, name)
        segments = check_log(root, manifest, found, deep=deep)
        if attempt + 1 == _ATTEMPTS or found.ok or manifests.read_current(root) == name:
            break
        name = manifests.read_current(root)
    if all(len(segments[log]) == len(refs) for log, refs in manifest.logs.items()):
        snapshot = Snapshot(manifest, {log: tuple(parts) for log, parts in segments.items()}, name)
        damaged = check_indexes(root / INDEX, snapshot, found, deep=deep)
        if damaged and repair:
            with write_lock(root):
                remove(damaged)
            report.repaired = f"removed {len(damaged)} damaged index files; the next write builds them again"
    report.problems += found.problems
    report.checked += found.checked
    return report


def _current(root: Path, report: VerifyReport) -> str | None:
    """Return the name in CURRENT where it can be used; else note what is wrong with it."""
    for _ in range(_ATTEMPTS):
        try:
            name = manifests.read_current(root)
            report.checked["manifests"] = 1
            manifests.load(root, name)
        except (VaultNotFound, VaultTooNew):
            raise
        except FileNotFoundError:
            if manifests.read_current(root) != name:  # a writer has moved on
                continue
            wrong = f"it names {name}, which is missing"
        except VaultCorrupt as error:
            wrong = str(error)
        else:
            return name
        newest = newest_whole(root)
        advice = (
            f"version {newest[1].version} ({newest[0]}, {newest[1].rows('chunks')} chunks) is whole: "
            "keep a copy of the folder, then set CURRENT to it with `lamina verify --repair`"
            if newest
            else "no version is whole; put back the folder from a copy, or read what is left in log/ (Arrow files)"
        )
        report.add("current", manifests.CURRENT, wrong, advice)
        return None
    return manifests.read_current(root)


def newest_whole(root: Path, *, deep: bool = False) -> tuple[str, Manifest] | None:
    """Return the newest manifest whose segments are all there; None where no version is.

    A version without chunks does not count where segments of chunks are left: setting CURRENT to it would have the next
    writer remove them.
    """
    rows_are_left = any((root / LOG / "chunks").glob("*.arrow"))
    for name in sorted(_names(root), reverse=True):
        try:
            manifest = manifests.load(root, name)
        except (VaultCorrupt, FileNotFoundError):
            continue
        if whole(root, manifest, deep=deep) and (manifest.rows("chunks") or not rows_are_left):
            return name, manifest
    return None


def _names(root: Path) -> list[str]:
    folder = root / manifests.MANIFESTS
    return [path.name for path in folder.iterdir() if manifests.is_manifest_name(path.name)] if folder.is_dir() else []


def _set_current(root: Path, report: VerifyReport, *, deep: bool, repair: bool) -> str | None:
    """Set CURRENT to the newest whole version where ``repair`` allows; return the name of the version to check."""
    if not repair:
        found = newest_whole(root, deep=deep)
        return found[0] if found else None
    with write_lock(root):
        found = newest_whole(root, deep=True)
        if found is None:
            return None
        name, manifest = found
        newest = max(
            manifests.version_of(path.name)
            for path in (root / manifests.MANIFESTS).iterdir()
            if manifests.is_manifest_name(path.name)
        )
        if manifests.version_of(name) < newest:
            # rows of the lost versions may be in the indexes, and versions must not run backwards
            manifest = msgspec.structs.replace(manifest, version=newest + 1, indexes={})
            name = manifests.encode(manifest)[0]
        manifests.publish(Files(), root, manifest)
    report.repaired = f"CURRENT is set to version {manifest.version} ({name}) with {manifest.rows('chunks')} chunks"
    return name
