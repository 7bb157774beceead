"""The vault of a server, opened when a call needs it.

For reading it is opened once, for writing anew for each write.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import lamina
from lamina.mcp.confirmations import Confirmations
from lamina.vault import vault_path

if TYPE_CHECKING:
    from lamina.options import OpenMode, PathLike


class VaultAccess:
    """Opens one vault, by its path, when a call needs it."""

    def __init__(
        self,
        path: PathLike | None = None,
        *,
        project: str | None = None,
        read_only: bool = False,
        trust: bool = False,
        embedder: str | Mapping[str, object] | None = None,
        clock: lamina.FixedClock | lamina.SystemClock | None = None,
    ) -> None:
        self.project = project
        self.read_only = read_only
        self.confirmations = Confirmations()
        self._path, self._trust, self._embedder, self._clock = path, trust, embedder, clock
        self._lock = threading.Lock()
        self._reader: lamina.Vault | None = None

    def read(self) -> lamina.Vault:
        """Return the vault, open for reading; every call on it sees the newest version."""
        with self._lock:
            if self._reader is None:
                if not self._trust:
                    from lamina.trust import check_trusted

                    check_trusted(vault_path(self._path))  # memory that came with a clone is somebody else's words
                self._reader = self._open("r")
            return self._reader

    @contextlib.contextmanager
    def write(self) -> Iterator[lamina.Vault]:
        """Open the vault for one write."""
        if self.read_only:
            raise lamina.VaultReadOnly("this server was started with --read-only; it changes nothing")
        with self._open("w") as vault:
            yield vault

    def drop_reader(self) -> None:
        """Open the vault anew at the next call; the old one stays open for calls that still use it."""
        with self._lock:
            self._reader = None

    def scope(self, project: str | None) -> str | None:
        """Return the project of a call: the one it names, else the server's."""
        return project or self.project

    def _open(self, mode: OpenMode) -> lamina.Vault:
        return lamina.open(self._path, mode=mode, trust=self._trust, embedder=self._embedder, clock=self._clock)
