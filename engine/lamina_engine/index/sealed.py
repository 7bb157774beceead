"""Sealed files: index files that detect tears, changes, other formats and kinds.

Layout, little-endian: magic (8 bytes), format, CRC-32 of the payload, bytes of the payload, the index's own fields;
zeros; in the last four bytes of the header the CRC-32 of all that. The header fills a multiple of 64 bytes, so the
payload is aligned wherever the file is mapped.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from lamina_engine.errors import LaminaError
from lamina_engine.store.files import Files

ALIGNMENT: Final = 64

_START: Final = "<8sIIQ"
_CRC: Final = struct.Struct("<I")


class Sealed(NamedTuple):
    """Contents of a sealed file."""

    fields: tuple[Any, ...]
    """As the seal's format unpacks them."""
    payload: memoryview
    """Read-only, mapped; aligned to 64 bytes."""


class Seal:
    """The form of one kind of index file.

    Parameters
    ----------
    magic : bytes (8,)
        Kind of file.
    version : int
        Format of its fields and payload; a file of any other is refused.
    fields : str
        Format of the index's own fields, as `struct` writes it, without byte order.
    what : str
        Name of the kind, for messages.
    damaged : type of LaminaError
        Raised for a file that cannot be used.
    """

    __slots__ = ("_damaged", "_header", "_magic", "_version", "_what", "header_bytes")

    def __init__(self, magic: bytes, version: int, fields: str, *, what: str, damaged: type[LaminaError]) -> None:
        self._magic, self._version, self._what, self._damaged = magic, version, what, damaged
        self._header = struct.Struct(_START + fields)
        needed = self._header.size + _CRC.size
        self.header_bytes = needed + -needed % ALIGNMENT
        """Where the payload starts."""

    def write(
        self, path: Path, fields: tuple[Any, ...], payload: Sequence[bytes | memoryview], *, sync: bool = True
    ) -> None:
        """Write a file: aside first, then renamed into place; a failure leaves what was there.

        Parameters
        ----------
        path : Path
            Its folder exists.
        fields : tuple
            The index's own fields.
        payload : sequence of bytes or memoryview
            Its parts, in order.
        sync : bool
            Flush to disk before the rename. Not needed for safety: a torn file is recognised by `open`.
        """
        size, crc = 0, 0
        for part in payload:
            size, crc = size + memoryview(part).nbytes, zlib.crc32(part, crc)
        header = self._header.pack(self._magic, self._version, crc, size, *fields)
        header = header.ljust(self.header_bytes - _CRC.size, b"\0")
        (Files() if sync else _Unflushed()).publish(path, [header + _CRC.pack(zlib.crc32(header)), *payload])

    def open(self, path: Path, *, verify: bool) -> Sealed:
        """Map a file; its pages are read when they are touched.

        Parameters
        ----------
        path : Path
            Written by `write`.
        verify : bool
            Read every byte and compare the checksum. The header and the size are always checked.

        Raises
        ------
        LaminaError
            Of the seal's own type: the file is torn, altered, or of another kind or format.
        FileNotFoundError
            There is no file.
        """
        with path.open("rb") as file:
            found = os.fstat(file.fileno()).st_size
            crc, size, fields = self._read_header(file.read(self.header_bytes), path)
            if found != self.header_bytes + size:
                told = f"is torn: it has the size {found}, its header says {self.header_bytes + size}"
                raise self._error(path, told)
            try:
                data = memoryview(mmap.mmap(file.fileno(), found, access=mmap.ACCESS_READ))
            except ValueError as error:  # cut by somebody else since its size was read
                raise self._error(path, f"is torn: it had {found} bytes a moment ago") from error
        payload = data[self.header_bytes :]
        if verify and zlib.crc32(payload) != crc:
            raise self._error(path, "does not match its checksum")
        return Sealed(fields, payload)

    def _read_header(self, raw: bytes, path: Path) -> tuple[int, int, tuple[Any, ...]]:
        if not raw.startswith(self._magic):
            raise self._error(path, "does not begin as one: it is damaged, or another file")
        if len(raw) < self.header_bytes or _CRC.pack(zlib.crc32(raw[: -_CRC.size])) != raw[-_CRC.size :]:
            raise self._error(path, "has a damaged header or another format")
        _, version, crc, size, *fields = self._header.unpack_from(raw)
        if version != self._version:
            raise self._error(path, f"is of format {version}, expected {self._version}")
        return crc, size, tuple(fields)

    def _error(self, path: Path, told: str) -> LaminaError:
        return self._damaged(f"{path}: the {self._what} {told}; rebuild it from the log")


class SealDamaged(LaminaError, OSError):
    """Sealed file of whatever kind that is torn or altered."""


def check_seal(path: Path, *, payload: bool) -> None:
    """Compare the checksums of a sealed file of any kind. O(bytes) with ``payload``, else O(1).

    Raises
    ------
    SealDamaged
    OSError
    """
    with path.open("rb") as file:
        start = file.read(struct.calcsize(_START))
        found = os.fstat(file.fileno()).st_size
        if len(start) < struct.calcsize(_START):
            raise SealDamaged(f"{path}: it is torn")
        _, _, crc, size = struct.unpack(_START, start)
        length = found - size
        if not ALIGNMENT <= length <= 64 * ALIGNMENT or length % ALIGNMENT:
            raise SealDamaged(f"{path}: it is torn: its header says that it holds {size} bytes beside the header")
        header = start + file.read(length - len(start))
        found_crc = crc if not payload else 0
        while payload and (part := file.read(1 << 20)):
            found_crc = zlib.crc32(part, found_crc)
    if _CRC.pack(zlib.crc32(header[: -_CRC.size])) != header[-_CRC.size :] or found_crc != crc:
        raise SealDamaged(f"{path}: it does not match its checksum")


class _Unflushed(Files):
    """Files that leave flushing to the operating system, for what can be rebuilt."""

    def flush(self, descriptor: int) -> None:
        """Do nothing."""
