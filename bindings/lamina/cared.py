"""What keeps a vault well: indexes made anew, bytes forgotten, checks, copies; a part of `lamina.Vault`."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lamina_engine.arguments import flag_of, path_of
from lamina_engine.errors import InvalidArgument

if TYPE_CHECKING:
    from lamina_engine.care.backup import BackupReport
    from lamina_engine.care.compaction import CompactReport
    from lamina_engine.care.findings import VerifyReport
    from lamina_engine.care.forgetting import ForgetReport
    from lamina_engine.embed.resolve import EmbedderSpec as Spec
    from lamina_engine.reindex.report import ReindexReport, Step


class Cared:
    """Care of a vault."""

    _memory: Any

    def reindex(
        self,
        embedder: Spec = None,
        resume: bool = True,
        engine: str | None = None,
        *,
        accept: bool = False,
        tolerance: float = 0.05,
        batch_rows: int = 2_048,
        drop_old: bool = False,
        workers: int = 1,
        progress: bool | Callable[[Step], None] = False,
    ) -> ReindexReport:
        """Make everything derived again from the log alone, and swap it in at once; recall and writes go on meanwhile.

        Parameters
        ----------
        embedder : Embedder, str, callable or mapping, optional
            The model of the new vectors; the one of this vault unless given: then its vectors stay and what is derived
            from them is built anew.
        resume : bool
            Go on where an interrupted run stopped; False makes every vector again.
        engine : {"lexical", "vectors", "keys"}, optional
            Build one derived index only.
        accept : bool
            Swap whatever recall became; counts must be right all the same.
        tolerance : float
            Share of the old generation's recall@10, on the vault's own titles and headings, that the new one may lack.
        batch_rows : int
            Rows of one commit: what a kill costs at most.
        drop_old : bool
            Remove the vectors of the former model; they stay beside the new ones otherwise.
        workers : int
            Processes that embed (bundled models) and analyse; 1 works in this one.
        progress : bool or callable
            True shows a bar on stderr (when it is a terminal); a callable receives `Step` records.

        Raises
        ------
        ReindexGateError
            When the new generation holds or finds less than it should: the old one goes on serving.
        InvalidArgument, InvalidConfig, EmbeddingError, VaultReadOnly, VaultLocked, OSError
        """
        from lamina.progress import reporter
        from lamina_engine.executor import InlineExecutor, ProcessExecutor
        from lamina_engine.reindex.job import reindex

        executor = InlineExecutor() if workers == 1 else ProcessExecutor(workers)
        with reporter(progress) as listener:
            return reindex(
                self._memory,
                embedder=embedder,
                resume=resume,
                engine=engine,
                accept=accept,
                tolerance=tolerance,
                batch_rows=batch_rows,
                drop_old=drop_old,
                executor=executor,
                listener=listener,
            )

    def forget(
        self,
        what: Mapping[str, Any] | str | Sequence[str] | None = None,
        dry_run: bool = True,
        *,
        where: Mapping[str, Any] | None = None,
        ids: str | Sequence[str] | None = None,
    ) -> ForgetReport:
        """Remove every byte of some chunks, all their versions included. It cannot be undone.

        Parameters
        ----------
        what : mapping, str or sequence of str
            A filter (it is asked of invalidated and removed chunks too), an id, or ids; ``where=`` and ``ids=`` say the
            same by name.
        dry_run : bool
            Only count; False forgets.

        Raises
        ------
        InvalidArgument
            When nothing is named, or the filter is empty.
        ChunkNotFound, AmbiguousId, VaultCorrupt, VaultReadOnly, VaultLocked, OSError
            Nothing is forgotten then.

        Notes
        -----
        Backups and exports are not reached. A source that is ingested again unchanged brings nothing back; one whose
        file was changed or moved, and still has the text, does.
        """
        from lamina_engine.care.forgetting import forget

        if what is not None:
            if where is not None or ids is not None:
                raise InvalidArgument("forget was told twice what to forget; give a filter or ids once")
            where, ids = (what, None) if isinstance(what, Mapping) else (None, what)
        return forget(self._memory, where, ids, dry_run=dry_run)

    def compact(self) -> CompactReport:
        """Join small files of the log; history, row numbers and readers are left alone.

        Raises
        ------
        VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.care.compaction import compact

        return compact(self._memory)

    def snapshot(self, path: str | os.PathLike[str]) -> BackupReport:
        """Copy the newest version into an empty or new folder, as a vault of its own, while others read and write.

        Raises
        ------
        VaultExists, InvalidArgument, VaultCorrupt, OSError
            What was copied is removed again.
        """
        from lamina_engine.care.backup import backup

        self._memory.check_open()
        return backup(self._memory, path_of(path))

    def verify(self, deep: bool = False, *, repair: bool = False) -> VerifyReport:
        """Check that the vault is what was written.

        Parameters
        ----------
        deep : bool
            Read every byte; otherwise names, sizes and order are checked.
        repair : bool
            Set CURRENT to the newest whole version where it is lost, and remove damaged index files (they are derived).

        Returns
        -------
        VerifyReport
            ``ok``, ``checked`` and ``problems``: each says what is wrong, which rows it touches, and what to do.

        Raises
        ------
        VaultReadOnly, VaultLocked
            When a repair cannot write.
        """
        from lamina_engine.care.verify import verify

        self._memory.check_open()
        return verify(self._memory, deep=flag_of(deep, "deep"), repair=flag_of(repair, "repair"))

    def stats(self) -> dict[str, Any]:
        """Return counts and sizes; the shape of ``lamina stats --json``.

        Raises
        ------
        VaultCorrupt
        """
        from lamina_engine.stats import stats

        return stats(self._memory)

    def export(
        self, path: str | os.PathLike[str], format: str = "jsonl", *, where: Mapping[str, Any] | None = None
    ) -> int:
        """Write the current chunks to a file, ``jsonl``, ``parquet`` or ``clawpy`` (tasks and their links); return how many.

        ``facts`` writes entities and facts as JSON lines in their place, ``graph-json`` what holds now for the viewer; both
        return how many facts. ``links`` writes the links as JSON lines, to be imported after the chunks.

        Raises
        ------
        InvalidArgument, OSError
        """
        from lamina_engine.transfer import export

        return export(self._memory, path_of(path), format, where)

    def import_(self, path: str | os.PathLike[str]) -> builtins.list[str]:
        """Add what `export` wrote: ids, dates and metadata are kept. Return the ids; none where it holds facts or links.

        Raises
        ------
        IngestError, InvalidArgument, EmbedderMismatch, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.transfer import import_

        return import_(self._memory, path_of(path))
