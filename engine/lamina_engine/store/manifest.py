"""Manifests name the segments of one version; the file CURRENT names the newest manifest.

A manifest's name carries a digest of its content, and CURRENT carries that name, so a torn or flipped manifest is
detected when it is read.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from lamina_engine.errors import VaultCorrupt, VaultNotFound, VaultTooNew, VaultTooOld
from lamina_engine.real_files import read_file
from lamina_engine.schema import FORMAT_VERSION
from lamina_engine.store.files import Files, PendingFile, read_small

CURRENT = "CURRENT"
MANIFESTS = "manifests"
KEPT_MANIFESTS = 8
"""Older manifests are removed: a reader that loses the race to open one reads CURRENT again."""
_MOST_BYTES = 1 << 26
"""A manifest of a million chunks is some ten kilobytes."""
_NAME = re.compile(r"\d{10,}-[0-9a-f]{16}\.json")
_SEGMENT = re.compile(r"\d{12,}-\d+-[0-9a-f]{12}\.arrow")
LOG_NAME = re.compile(r"[a-z]+(\.[A-Za-z0-9_-]+)?")


class _Format(msgspec.Struct, frozen=True):
    """Format number, the one field that every format has."""

    format: int


class SegmentRef(msgspec.Struct, frozen=True, array_like=True):
    """One immutable Arrow file of a log, as a manifest names it."""

    name: str
    """File name below ``log/<log>/``."""
    start: int
    """Row number of its first row."""
    rows: int
    """How many rows it holds."""
    size: int
    """Bytes of the file."""
    digest: str
    """SHA-256 of the file, hex."""
    last_us: int
    """recorded_at of its last row."""
    commit: int = 0
    """The commit that wrote it; see `Manifest.commits`."""


class Space(msgspec.Struct, frozen=True):
    """One embedding space of the vault."""

    identity: str
    """What made its vectors; see `lamina_engine.embed.protocol.Embedder.identity`."""
    dim: int
    """Dimension of its vectors."""


class ShardRef(msgspec.Struct, frozen=True):
    """One shard of a sharded vault, as its root names it."""

    vault: str
    """Random name of the shard's own vault."""
    commits: int
    """The commit that it has at least: one with fewer is behind."""
    rows: dict[str, int]
    """Rows of each log that the whole vault has; later ones were written by nobody who has committed to the root."""


class Manifest(msgspec.Struct, frozen=True):
    """One version of a vault."""

    format: int
    version: int
    vault: str
    """Random name of the vault, given when it was made."""
    last_us: int
    """The newest recorded_at of any log but links, whose rows may be 1 us newer."""
    logs: dict[str, list[SegmentRef]]
    spaces: dict[str, Space]
    space: str
    """Name of the space that recall uses by default."""
    indexes: dict[str, dict[str, Any]]
    """Generations of derived indexes: each says where it lies and how many rows of which log it covers."""
    rewritten: int = 0
    """Version in which rows last changed in place (were forgotten): what was derived before it is not to be used."""
    commits: int = 0
    """Number of the last commit of rows; versions that only note an index are not counted, so all copies share it."""
    shards: list[ShardRef] = []
    """The shards that hold the chunks, by number; empty in a vault that holds its own."""
    token: str = ""
    """Random, in each commit of a sharded vault: no two writers make the same one, and both believe that it is theirs."""
    whole: str = ""
    """The sharded vault that this is a shard of."""
    built_on: int = 0
    """Of a shard: the root's last commit when it was written to by the whole."""
    sharded_by: str = ""
    """Whether chunks of one project or of one source lie in one shard."""
    unlinked: dict[str, int] = {}
    """Rows that ingests have changed and not linked yet, by kind; see `lamina_engine.store.unlinked`."""

    def rows(self, log: str) -> int:
        """Return the number of rows of a log; 0 for an unknown one."""
        refs = self.logs.get(log)
        return refs[-1].start + refs[-1].rows if refs else 0


_FORMAT: Final = msgspec.json.Decoder(_Format)
_MANIFEST: Final = msgspec.json.Decoder(Manifest)
"""Made on import: two threads that are the first to decode a kind of struct crash the process (msgspec 0.22)."""


def encode(manifest: Manifest) -> tuple[str, bytes]:
    """Return the manifest's file name and content."""
    content = msgspec.json.format(msgspec.json.encode(manifest), indent=0)
    return f"{manifest.version:010d}-{_digest(content)}.json", content


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def publish(
    files: Files,
    root: Path,
    manifest: Manifest,
    segments: Sequence[PendingFile] = (),
    folders: Sequence[Path] = (),
    on_flush: Callable[[], None] | None = None,
) -> str:
    """Commit a version: write its manifest, then swap CURRENT to it; return the manifest's name.

    ``segments`` are the pending files it names (closed here, deleted on failure), ``folders`` where they lie.
    ``on_flush`` runs while the disk writes; if it raises, nothing is committed.
    """
    # Two waits for the disk: all bytes and all names but one, in any order; then the name of CURRENT. Nothing refers
    # to a file before the second, so a file may have its own name before all its bytes are durable.
    name, content = encode(manifest)
    folder = root / MANIFESTS
    pending = list(segments)
    synced = False
    try:
        pending.append(files.write_pending(f"{folder}{os.sep}{name}", [content], aside=False))
        pending.append(files.write_pending(f"{root}{os.sep}{CURRENT}", [current_content(name)]))
        synced = True
        files.fsync_all(pending, [*folders, folder], on_flush)
        late = [each for each in pending[:-1] if each.aside != each.path]
        if late:  # a name was taken, as an interrupted commit may leave it
            files.publish_all(late)
            files.flush_folders([*folders, folder])
    except BaseException:
        if not synced:
            files.close(pending)
        files.discard_pending(pending)
        raise
    try:
        files.swap(pending[-1])
    except BaseException:  # it may have happened: what the manifest names is left to whoever reads CURRENT
        files.discard_pending(pending[-1:])
        raise
    return name


def read_current(root: Path) -> str:
    """Return the name that CURRENT holds."""
    try:
        name = read_small(f"{root}{os.sep}{CURRENT}").decode("ascii", "replace").strip()
    except (FileNotFoundError, NotADirectoryError) as error:
        if holds_rows(root):
            raise VaultCorrupt(
                f"{root} has manifests but no {CURRENT} file; `lamina verify` names the version that it can be set to"
            ) from error
        missing = VaultNotFound(f"{root} is not a Lamina vault: it has no {CURRENT} file; make one with `lamina init`")
        missing.add_note("in Python, lamina.open(path, create=True) makes one")  # the command line prints no notes
        raise missing from error
    if not is_manifest_name(name):
        raise VaultCorrupt(
            f"{root / CURRENT} holds {name[:60]!r}, not the name of a manifest; run `lamina verify` on the vault"
        )
    return name


def current_content(name: str) -> bytes:
    """Return the content of CURRENT for a manifest's name."""
    return name.encode() + b"\n"


def is_manifest_name(name: str) -> bool:
    """Return True for the name of a manifest: its version and the digest of its content."""
    return _NAME.fullmatch(name) is not None


def version_of(name: str) -> int:
    """Return the version that a manifest's name states."""
    return int(name.partition("-")[0])


def holds_rows(root: Path) -> bool:
    """Return True if a folder has any version past the first: more than an interrupted creation."""
    folder = root / MANIFESTS
    return folder.is_dir() and any(
        is_manifest_name(path.name) and version_of(path.name) > 1 for path in folder.iterdir()
    )


def load(root: Path, name: str) -> Manifest:
    """Read and check one manifest."""
    path = root / MANIFESTS / name
    try:
        content = read_file(path, _MOST_BYTES)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise VaultCorrupt(f"{path} cannot be read: {error}; `lamina verify` names what can be saved") from error
    return decode(name, content, str(root), str(path))


def load_newest(root: Path) -> tuple[str, Manifest]:
    """Read the manifest that CURRENT names, and again while writers replace both."""
    name, before = read_current(root), ""
    while True:
        try:
            return name, load(root, name)
        except FileNotFoundError:
            name, before = read_current(root), name
            if name == before:
                raise


def decode(name: str, content: bytes, root: str, path: str) -> Manifest:
    """Return a manifest from its name and content, once all that it says can be true."""
    if name.removesuffix(".json").partition("-")[2] != _digest(content):
        raise VaultCorrupt(
            f"{path} is damaged: its digest does not match its name; `lamina verify` names what can be saved"
        )
    try:
        version = _FORMAT.decode(content).format
        if version > FORMAT_VERSION:
            raise VaultTooNew(
                f"{root} has format {version}; this Lamina reads {FORMAT_VERSION}; install a newer Lamina"
            )
        if version < FORMAT_VERSION:
            raise VaultTooOld(
                f"{root} has format {version}, and this Lamina reads {FORMAT_VERSION}; export it with the Lamina that "
                "wrote it, and import that into a new vault, or ingest the files again"
            )
        manifest = _MANIFEST.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise VaultCorrupt(
            f"{path} cannot be read as a manifest: {error}; `lamina verify` names what can be saved"
        ) from error
    wrong = _find_anomaly(manifest)
    if wrong is not None:
        raise VaultCorrupt(f"{path} {wrong}; Lamina never writes that: another program changed it")
    return manifest


def _find_anomaly(manifest: Manifest) -> str | None:
    """Describe content no writer produces: rows that do not join, names that leave the vault."""
    for log, refs in manifest.logs.items():
        if not LOG_NAME.fullmatch(log):
            return f"has a log named {log[:60]!r}"
        at = 0
        for ref in refs:
            if not _SEGMENT.fullmatch(ref.name):
                return f"names a segment {ref.name[:60]!r}"
            if ref.start != at or ref.rows < 1:
                return f"says that {ref.name} of {log} has {ref.rows} rows from {ref.start} on, where row {at} is next"
            at += ref.rows
    for record in manifest.indexes.values():
        for value in record.values():
            if isinstance(value, str) and ("/" in value or "\\" in value or value in (".", "..")):
                return f"names an index {value[:60]!r}"
    return None
