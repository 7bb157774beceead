"""Indexer: syncs the derived indexes after each commit, under the writer's lock.

Forward lists of small segments, vector codes and keys are written by the call that commits; forward lists of large
ones, inverted lists and the text index follow on a thread of their own (`lamina_engine.index.textbuilder`).
What an index lacks is read from the log, so no answer depends on how far one is.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lamina_engine.errors import VaultLocked, VaultReadOnly
from lamina_engine.executor import usable_cpus
from lamina_engine.index import inverted, nodes, textbuilder
from lamina_engine.index.analysis import ANALYSIS_ID, Analyzer
from lamina_engine.index.coding import Coding
from lamina_engine.index.keys import KeyIndex
from lamina_engine.index.quantised import QuantisedIndex, covered_rows, train_rows
from lamina_engine.index.reanalysis import find_former_terms
from lamina_engine.index.tables import (
    KEYS,
    LEXICAL,
    NO_MORE,
    TERMS,
    VECTORS,
    BulkHint,
    Tables,
    lists_name,
    terms_name,
    terms_path,
)
from lamina_engine.index.terms import (
    TermsDamaged,
    build_zones,
    concat_terms,
    copy_terms,
    open_terms,
    slice_terms,
    write_terms,
)
from lamina_engine.index.textbuilder import TextBuilder
from lamina_engine.index.view import View
from lamina_engine.index.zones import context, file_names, headers, make_zones, read_chain, zones_of
from lamina_engine.real_files import remove_file
from lamina_engine.store.lock import write_lock
from lamina_engine.store.segments import MERGE_FACTOR, Segment
from lamina_engine.store.shape import INDEX_NAME, TERMS_NAME, own_files, own_folders
from lamina_engine.store.snapshot import Snapshot
from lamina_engine.store.store import Store
from lamina_kernels.layouts import TermRows

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from lamina_engine.chunks.batch import ChunkBatch

BLOCK_ROWS: Final = 4_096
"""Rows of which keys are saved at a time: what is left over is read from the log."""
UNFILED_ROWS: Final = MERGE_FACTOR
"""Segments with fewer rows get no file of forward lists: others analyse their rows when they read them, and it would cost
a small write a tenth of its time."""
_STAGED_AT_ONCE: Final = 8_192
_WAITING_ROWS: Final = 1 << 19
"""Rows that may wait for words, vector codes and keys while more follow."""
_STREAM_ROWS: Final = 1 << 15
"""The same where nobody knows how many follow, and a quarter of what is covered: each row is coded a few times, however
long the stream is, and readers beside it scan few."""
_STALE_TIMEOUT_S: Final = 5.0


@dataclass(slots=True)
class _Staged:
    """Rows of the open transaction, analysed."""

    first: int
    rows: TermRows


class Indexer:
    """Brings the indexes of one vault up to date.

    Parameters
    ----------
    store : Store
        The vault's folder.
    tables : Tables
        What all versions share; receives what is built.
    """

    def __init__(self, store: Store, tables: Tables) -> None:
        self._store, self._tables = store, tables
        self._analyzer = Analyzer()
        self._staged: list[_Staged] = []
        self._filed: dict[str, None] = {}
        """Files of forward lists that this process has seen whole; empty before its first write."""
        self._whole: frozenset[str] | None = None
        """Large segments whose words were all found; None after damage."""
        self._tidy = False
        self._graph_seen = False
        self._keys_are_whole = False
        self._coding = Coding()
        self.text = TextBuilder(store, tables)
        self._uncodable = ("", 0)
        """Space and rows of vectors that gave no codes when last tried: too narrow, or too few of them present."""

    def stage(
        self, snapshot: Snapshot, first: int, batch: ChunkBatch, created_at: list[int | None], previous: list[int]
    ) -> None:
        """Analyse rows that are about to be committed: their text is at hand now.

        Parameters
        ----------
        snapshot : Snapshot
            The version that the transaction builds on.
        first : int
            Row of the first of them.
        batch, created_at, previous
            The rows.
        """
        before: dict[int, tuple[str, int]] = {}

        def read(row: int) -> tuple[str, int]:
            if row >= first:
                return batch.texts[row - first], previous[row - first]
            if row not in before:
                before[row] = read_chain(snapshot, row)
            return before[row]

        for start in range(0, len(batch), _STAGED_AT_ONCE):
            part = slice(start, start + _STAGED_AT_ONCE)
            texts = batch.texts[part]
            names = file_names(batch.sources[part], batch.starts[part], batch.titles[part])
            said = zip(batch.titles[part], batch.headings[part], batch.tags[part], created_at[part], names, strict=True)
            zones = make_zones(
                texts,
                headers(said),
                [context(text, row, read) if row >= 0 else "" for text, row in zip(texts, previous[part], strict=True)],
            )
            self._staged.append(_Staged(first + start, build_zones(zones, self._analyzer)))

    def discard_staged(self) -> None:
        """Forget what was staged for a transaction that failed."""
        self._staged.clear()

    def catch_up(self, view: Callable[[], View], hint: BulkHint = NO_MORE) -> None:
        """Sync all indexes, the text index in the background; needs the writer's lock.

        Raises
        ------
        OSError
            When the disk refuses. The log is whole and readers scan what the indexes lack.
        """
        snapshot = self._store.snapshot()
        try:
            self._tidy_up()
            self._write_terms(snapshot)
            vectors, keys = None, None
            if self._may_wait(snapshot, hint):
                self._code_ahead(snapshot, view, hint)
            else:
                keys = self._save_keys(snapshot)  # first: codes may be under way on their thread
                vectors = self._extend_vectors(snapshot, view)
            records = {LEXICAL: self._text_record(snapshot), VECTORS: vectors, KEYS: keys}
            records[nodes.GRAPH] = nodes.save(view(), anew=True) if self._graph_is_lost(view) else None
        finally:
            self.discard_staged()
        changed = {name: record for name, record in records.items() if record is not None}
        if changed:
            with self._store.transaction() as transaction:
                for name, record in changed.items():
                    transaction.set_index(name, record)
            self.remove_stale()
        self._wake_text(hint)

    def carry_terms(self, before: Snapshot) -> None:
        """Keep the forward lists that segments rewritten since a version had."""
        tables = self._tables
        found = find_former_terms(partial(terms_path, tables.folder), before, self._store.snapshot())
        tables.put_former_terms(found)

    def is_behind(self) -> bool:
        """Return True if forward lists of a segment, or keys of a whole block, are missing."""
        snapshot, folder = self._store.snapshot(), self._tables.folder / TERMS
        keys = snapshot.manifest.indexes.get(KEYS, {"rows": 0, "space": snapshot.manifest.space})
        uncovered = snapshot.rows("chunks") // BLOCK_ROWS * BLOCK_ROWS > int(keys["rows"])
        return uncovered or any(
            segment.rows >= UNFILED_ROWS and not (folder / terms_name(segment)).exists()
            for segment in snapshot.segments("chunks")
        )

    def _graph_is_lost(self, view: Callable[[], View]) -> bool:
        """Return True if the saved link graph is unusable; checked before the first write."""
        if nodes.GRAPH not in self._store.snapshot().manifest.indexes:
            return False
        first, self._graph_seen = not self._graph_seen, True
        return nodes.is_damaged(view(), look=first)

    def _may_wait(self, snapshot: Snapshot, hint: BulkHint) -> bool:
        """Return True if vector codes and keys should wait for the batches that follow.

        Each would be written whole each time, and codes trained again on a longer prefix; readers scan meanwhile.
        """
        covered = max(int(snapshot.manifest.indexes.get(name, {}).get("rows", 0)) for name in (VECTORS, KEYS))
        return hint.more and snapshot.rows("chunks") - covered < most_waiting(hint, covered)

    def _tidy_up(self) -> None:
        if not self._tidy:  # before anything is built: what rows have lost must go even where the disk is full
            self.remove_stale()
            self._tidy = True

    # ------------------------------------------------------------------ forward lists

    def _write_terms(self, snapshot: Snapshot) -> None:
        """Write forward lists of new segments, except the smallest."""
        folder = self._tables.folder / TERMS
        if not self._filed:
            folder.mkdir(parents=True, exist_ok=True)
        named = {terms_name(segment): segment for segment in snapshot.segments("chunks")}
        for name, segment in named.items():
            if name not in self._filed or not self._tables.trusts(name):
                if segment.rows < UNFILED_ROWS:
                    rows = self._staged_rows(segment)
                    if rows is None:
                        rows = copy_terms(self._assemble(snapshot, segment.start, segment.start + segment.rows))
                    self._tables.put_terms(segment, rows)
                    continue
                path = folder / name
                try:
                    if not self._tables.trusts(name):
                        raise TermsDamaged(f"{path} was found damaged")
                    rows = open_terms(path, verify=False)
                except TermsDamaged as error:  # missing as a rule: the segment is new
                    if segment.rows >= textbuilder.LARGE_ROWS and not self._is_analysed(segment):
                        if path.exists():
                            self._tables.distrust(name, error)
                        continue  # the builder's
                    with contextlib.suppress(FileNotFoundError):  # they may be those of damaged forward lists
                        remove_file(folder / lists_name(segment))
                    write_terms(path, self._assemble(snapshot, segment.start, segment.start + segment.rows))
                    rows = open_terms(path, verify=False)
                    self._tables.trust(name)
                self._tables.put_terms(segment, rows)
        self._tables.drop(snapshot)
        lists = {lists_name(segment): None for segment in named.values()}
        files = {**named, **lists}
        stale = (self._filed or {path.name: None for path in own_files(folder, TERMS_NAME)}).keys() - files.keys()
        self._filed = dict.fromkeys(files)
        for name in stale:
            with contextlib.suppress(OSError):
                remove_file(folder / name)

    def _staged_rows(self, segment: Segment) -> TermRows | None:
        """Return the rows staged for just one segment, as most small writes leave them."""
        for staged in self._staged:
            if staged.first == segment.start and len(staged.rows.lengths) == segment.rows:
                return staged.rows
        return None

    def _is_analysed(self, segment: Segment) -> bool:
        """Return True if the forward lists of all of a segment's rows are in memory."""
        at = segment.start
        for first, rows in self._known():
            if first <= at:
                at = max(at, first + len(rows.lengths))
        return at >= segment.start + segment.rows

    def _known(self) -> list[tuple[int, TermRows]]:
        """Return (first row, forward lists) of what is in memory, by first row."""
        known = [*self._tables.known_terms(), *((s.first, s.rows) for s in self._staged)]
        return sorted(known, key=itemgetter(0))

    def _assemble(self, snapshot: Snapshot, start: int, stop: int) -> TermRows:
        parts: list[TermRows] = []
        at = start
        known = self._known()
        while at < stop:
            found = next(((first, rows) for first, rows in known if first <= at < first + len(rows.lengths)), None)
            if found is None:
                end = min([stop, *(first for first, _ in known if first > at)])
                parts.append(build_zones(zones_of(snapshot, at, end), self._analyzer))
            else:
                end = min(stop, found[0] + len(found[1].lengths))
                parts.append(slice_terms(found[1], at - found[0], end - found[0]))
            at = end
        return concat_terms(parts)

    # ------------------------------------------------------------------ text index

    def _text_record(self, snapshot: Snapshot) -> dict[str, object] | None:
        """Return the text index folder for the next version, if this one has none."""
        record = snapshot.manifest.indexes.get(LEXICAL)
        if record is not None and record.get("analysis") == ANALYSIS_ID:
            return None
        if snapshot.rows("chunks") < textbuilder.BLOCK_ROWS:
            return None
        # a version has rows of one generation only
        return {"folder": f"{LEXICAL}-{snapshot.version:010d}", "analysis": ANALYSIS_ID}

    def _wake_text(self, hint: BulkHint) -> None:
        snapshot = self._store.snapshot()
        record = snapshot.manifest.indexes.get(LEXICAL)
        if record is None or record.get("analysis") != ANALYSIS_ID:
            return
        name = str(record["folder"])
        known = self._tables.text(snapshot)
        covered = 0 if known is None else known.rows
        waiting = snapshot.rows("chunks") - covered
        behind = waiting >= (most_waiting(hint, covered) if hint.more else textbuilder.BLOCK_ROWS)
        if behind or not self._tables.trusts(name) or (not hint.more and self._lacks_words(snapshot)):
            self.text.wake(name)

    def _lacks_words(self, snapshot: Snapshot) -> bool:
        """Return True if a large segment lacks lists; segments found whole are not checked again."""
        large = frozenset(s.ref.name for s in snapshot.segments("chunks") if s.ref.rows >= inverted.LEAST_ROWS)
        if large == self._whole and not self._tables.distrusted:
            return False
        lacking = bool(self._tables.lacks_terms(snapshot) or self._tables.lacks_lists(snapshot))
        self._whole = None if lacking or self._tables.distrusted else large
        return lacking

    # ------------------------------------------------------------------ vectors and keys

    def _code_ahead(self, snapshot: Snapshot, view: Callable[[], View], hint: BulkHint) -> None:
        """Begin to code vectors on a thread, where it is known how many rows there will be."""
        if hint.rows and snapshot.space is not None:
            rows = snapshot.rows(snapshot.vector_log)
            known = self._tables.quantised(snapshot)
            self._coding.begin(snapshot.manifest.space, known, view().vectors, rows, rows + hint.rows)

    def _extend_vectors(self, snapshot: Snapshot, view: Callable[[], View]) -> dict[str, object] | None:
        rows = snapshot.rows(snapshot.vector_log) if snapshot.space else 0
        wanted = covered_rows(rows)
        index = self._tables.quantised(snapshot)
        if (
            wanted == 0
            or (index is not None and index.rows >= wanted)
            or self._uncodable == (snapshot.manifest.space, wanted)
        ):
            return None
        blocks = view().vectors
        ahead = self._coding.take(snapshot.manifest.space)
        if ahead is not None and (index is None or index.rows < ahead.rows <= wanted):
            index = ahead
        if index is None or index.trained_on != train_rows(rows):
            index = QuantisedIndex.build(blocks, rows, threads=usable_cpus())
        else:
            index = index.extend(blocks, rows, threads=usable_cpus())
        if index is None:
            self._uncodable = (snapshot.manifest.space, wanted)
            return None
        name = f"{VECTORS}-{snapshot.manifest.space}-{wanted:012d}-{index.trained_on}{_generation(snapshot)}.faiss"
        index.save(self._tables.folder / name)
        self._tables.put_quantised(name, index)
        return {"file": name, "rows": wanted, "space": snapshot.manifest.space}

    def _save_keys(self, snapshot: Snapshot) -> dict[str, object] | None:
        wanted = snapshot.rows("chunks") // BLOCK_ROWS * BLOCK_ROWS
        record = snapshot.manifest.indexes.get(KEYS)
        if wanted == 0 or (
            record is not None
            and int(record["rows"]) >= wanted
            and record["space"] == snapshot.manifest.space
            and self._keys_open(record)
        ):
            return None
        suffix = f"{wanted:012d}{_generation(snapshot)}.keys"
        names = {"ids": f"{KEYS}-ids-{suffix}", "versions": f"{KEYS}-versions-{suffix}"}
        self._tables.ids(snapshot).save(self._tables.folder / names["ids"])
        self._tables.versions(snapshot).save(self._tables.folder / names["versions"])
        return {**names, "rows": wanted, "space": snapshot.manifest.space}

    def _keys_open(self, record: dict[str, object]) -> bool:
        """Tell whether the saved keys can be read; asked once, before this process's first write."""
        if not self._keys_are_whole:
            try:
                for name in ("ids", "versions"):
                    KeyIndex.open(self._tables.folder / str(record[name]))
            except OSError as error:
                logger.warning("the keys are saved again: %s", error)
                return False
            self._keys_are_whole = True
        return True

    def remove_stale(self) -> None:
        """Remove index files that the newest version does not name; late readers scan instead."""
        indexes = self._store.snapshot().manifest.indexes
        named = {TERMS, *(str(value) for record in indexes.values() for value in record.values())}
        folder = self._tables.folder
        with contextlib.suppress(OSError):
            for path in own_files(folder, INDEX_NAME):
                if path.name not in named:
                    remove_file(path)
            for path in own_folders(folder, INDEX_NAME):
                if path.name not in named:
                    _remove_folder(path)


def most_waiting(hint: BulkHint, covered: int) -> int:
    """Return how many rows may wait for an index that covers so many, while more follow."""
    return _WAITING_ROWS if hint.rows else max(_STREAM_ROWS, covered >> 2)


def _remove_folder(path: Path) -> None:
    """Remove a text index; a builder at work in it notices, and stops."""
    with contextlib.suppress(VaultLocked, VaultReadOnly, OSError), write_lock(path, _STALE_TIMEOUT_S):
        shutil.rmtree(path, ignore_errors=True)
    shutil.rmtree(path, ignore_errors=True)


def _generation(snapshot: Snapshot) -> str:
    """Return the suffix of file names that changes with each forget."""
    rewritten = snapshot.manifest.rewritten
    return f"-{rewritten}" if rewritten else ""
