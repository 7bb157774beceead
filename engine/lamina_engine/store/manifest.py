"""A manifest: the small file that names the segments of one version; and CURRENT, which names the manifest.

The name of a manifest carries a digest of its content, and CURRENT carries that name, so a torn or flipped manifest
is seen when it is read.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from lamina_engine.errors import VaultCorrupt, VaultNotFound, VaultTooNew
from lamina_engine.schema import FORMAT_VERSION
from lamina_engine.store.files import Files

CURRENT = "CURRENT"
MANIFESTS = "manifests"
KEPT_MANIFESTS = 8
"""Older manifests are removed: a reader that loses the race to open one reads CURRENT again."""


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


class Space(msgspec.Struct, frozen=True):
    """One embedding space of the vault."""

    identity: str
    """What made its vectors; see `lamina_engine.embed.protocol.Embedder.identity`."""
    dim: int
    """Dimension of its vectors."""


class Manifest(msgspec.Struct, frozen=True):
    """One version of a vault."""

    format: int
    version: int
    vault: str
    """Random name of the vault, given when it was made."""
    last_us: int
    """The newest recorded_at of any log."""
    logs: dict[str, list[SegmentRef]]
    spaces: dict[str, Space]
    space: str
    """Name of the space that recall uses unless told otherwise."""
    indexes: dict[str, dict[str, Any]]
    """Generations of derived indexes: each says where it lies and how many rows of which log it covers."""

    def rows(self, log: str) -> int:
        """Return how many rows a log has; 0 where there is none yet."""
        refs = self.logs.get(log)
        return refs[-1].start + refs[-1].rows if refs else 0


def encode(manifest: Manifest) -> tuple[str, bytes]:
    """Return the manifest's file name and content."""
    content = msgspec.json.format(msgspec.json.encode(manifest), indent=0)
    return f"{manifest.version:010d}-{_digest(content)}.json", content


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def publish(files: Files, root: Path, manifest: Manifest) -> None:
    """Write a manifest, then swap CURRENT to it; after this returns the version is committed."""
    name, content = encode(manifest)
    folder = root / MANIFESTS
    files.publish(folder / name, [content])
    files.flush_folder(folder)
    files.publish(root / CURRENT, [name.encode() + b"\n"])
    files.flush_folder(root)


def read_current(root: Path) -> str:
    """Return the name that CURRENT holds.

    Raises
    ------
    VaultNotFound
        When there is no CURRENT.
    VaultCorrupt
        When it does not hold a manifest's name.
    """
    try:
        name = (root / CURRENT).read_bytes().decode("ascii", "replace").strip()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise VaultNotFound(
            f"{root} is not a Lamina vault: it has no {CURRENT} file; make one with `lamina init` or lamina.open(path, create=True)"
        ) from error
    number, dash, digest = name.removesuffix(".json").partition("-")
    if not (name.endswith(".json") and dash and number.isdigit() and digest.isalnum()):
        raise VaultCorrupt(f"{root / CURRENT} holds {name[:60]!r}, not the name of a manifest; run `lamina verify` on the vault")
    return name


def load(root: Path, name: str) -> Manifest:
    """Read and check one manifest.

    Raises
    ------
    FileNotFoundError
        When it has been removed since its name was read; read CURRENT again.
    VaultCorrupt
        When its bytes are not those its name was made from.
    VaultTooNew
        When a newer Lamina wrote it.
    """
    path = root / MANIFESTS / name
    content = path.read_bytes()
    if name.removesuffix(".json").partition("-")[2] != _digest(content):
        raise VaultCorrupt(f"{path} is damaged: its digest does not match its name; `lamina verify` names what can be saved")
    try:
        version = msgspec.json.decode(content, type=dict[str, Any]).get("format")
        if not isinstance(version, int) or version > FORMAT_VERSION:
            raise VaultTooNew(f"{root} has format {version}; this Lamina reads up to {FORMAT_VERSION}; install a newer Lamina")
        return msgspec.json.decode(content, type=Manifest)
    except msgspec.DecodeError as error:
        raise VaultCorrupt(f"{path} cannot be read as a manifest: {error}; `lamina verify` names what can be saved") from error
