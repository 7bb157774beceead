"""Files that are read again as they change; a part of `lamina.Vault`."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lamina_engine.arguments import paths_of

if TYPE_CHECKING:
    from lamina_engine.ingest.report import IngestReport


class Following:
    """Ingest that goes on."""

    _memory: Any

    def follow(
        self,
        path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        kind: str = "auto",
        collection: str | None = None,
        type: str | None = None,
        project: str | None = None,
        columns: Mapping[str, str] | None = None,
        links: bool = True,
        recover: bool = False,
        settled_s: float = 0.2,
        stop: threading.Event | None = None,
    ) -> Iterator[IngestReport]:
        """Ingest files, and again whatever changes; needs ``lamina[watch]``.

        Parameters
        ----------
        path : path or iterable of paths
            Files or folders. One that is deleted leaves its chunks as they are, and is read again when it comes back.
        kind, collection, type, project, columns, links, recover
            As `ingest` takes them.
        settled_s : float
            Files are read once nothing has changed for so many seconds, or ten times that while changes go on.
        stop : Event, optional
            Ends the iteration within half a second when set, by another thread.

        Returns
        -------
        iterator of IngestReport
            It waits for changes, so it ends only by ``stop``, by Ctrl-C or by being closed. One report for each path at
            first, then one for whatever changed the vault or met a new problem; a file that cannot be read, a vault that
            is locked and a model that does not answer are ``problems`` then, and tried again. Under `lamina.aopen` the
            iterator itself is awaited, and its steps block: take them with ``asyncio.to_thread(next, reports, None)``.

        Raises
        ------
        InvalidArgument, IngestError, MissingExtra, EmbedderMismatch, EmbeddingError, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> for report in vault.follow("notes/"):  # doctest: +SKIP
        ...     print(report.added, report.updated, report.removed)
        """
        from lamina_engine.ingest.watch import follow

        return follow(
            self._memory, paths_of(path), settled_s=settled_s, stop=stop, kind=kind,
            collection=collection, type_=type, project=project, columns=columns, links=links, recover=recover,
        )  # fmt: skip
