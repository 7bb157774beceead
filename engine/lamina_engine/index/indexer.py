"""Keeps the derived indexes level with the log: after every commit, under the writer's lock, never before it.

An index is a pure function of a prefix of the log: Tantivy and the vector codes cover whole blocks of 4,096 rows, the
rest is the tail that readers scan. So where an index ends depends on the number of rows alone, not on how they came.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.clock import MISSING_US, US_PER_S
from lamina_engine.errors import InvalidArgument
from lamina_engine.index import nodes
from lamina_engine.index.ahead import Ahead
from lamina_engine.index.analysis import ANALYSIS_ID, Analyzer
from lamina_engine.index.categories import FIELDS, facet
from lamina_engine.index.coding import Coding
from lamina_engine.index.keys import KeyIndex
from lamina_engine.index.lexical import LexicalDamaged, LexicalIndex
from lamina_engine.index.quantised import QuantisedIndex, covered_rows, train_rows
from lamina_engine.index.tables import KEYS, LEXICAL, TERMS, VECTORS, Tables, terms_name
from lamina_engine.index.terms import (
    TermsDamaged,
    build_term_rows,
    concat_terms,
    copy_terms,
    open_terms,
    slice_terms,
    write_terms,
)
from lamina_engine.index.view import View
from lamina_engine.index.zones import Zones, bodies, context, headers, read_chain, zones_of
from lamina_engine.store.segments import MERGE_FACTOR
from lamina_engine.store.shape import INDEX_NAME, TERMS_NAME, own_files, own_folders
from lamina_engine.store.snapshot import Snapshot
from lamina_engine.store.store import Store
from lamina_kernels.layouts import TermRows

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from lamina_engine.chunks.batch import ChunkBatch

BLOCK_ROWS: Final = 4_096
"""Rows that Tantivy takes at a time: what is left over is the tail."""
UNFILED_ROWS: Final = MERGE_FACTOR
"""Segments with fewer rows get no file of forward lists: others analyse their rows when they read them, and it would cost
a small write a tenth of its time."""
_ANALYSED_AT_ONCE: Final = 16_384
_STAGED_AT_ONCE: Final = 8_192
"""Rows analysed before Tantivy gets them."""
_WAITING_ROWS: Final = 1 << 19
"""Rows that may wait for vector codes and keys while more follow."""
_AHEAD_ROWS: Final = 8_192
"""Rows of a batch from which on Tantivy gets them before the log is committed."""


@dataclass(slots=True)
class _Staged:
    """Rows of the open transaction, analysed."""

    first: int
    rows: TermRows
    stems: list[str]


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
        self._tidy = False
        self._graph_seen = False
        self._keys_are_whole = False
        self.more_follows = False
        """Whether the writer has further rows at hand, which it will write next."""
        self.to_come = 0
        """Rows that the writer knows to follow; 0 where it knows of none, or not how many."""
        self._coding = Coding()
        self._ahead: Ahead | None = None
        self._finishing: dict[str, object] = {}
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

        self._begin_ahead(snapshot, first, len(batch))
        for start in range(0, len(batch), _STAGED_AT_ONCE):
            part = slice(start, start + _STAGED_AT_ONCE)
            texts = batch.texts[part]
            said = zip(batch.titles[part], batch.headings[part], batch.tags[part], created_at[part], strict=True)
            zones = Zones(
                bodies(texts),
                headers(said),
                [context(text, row, read) if row >= 0 else "" for text, row in zip(texts, previous[part], strict=True)],
            )
            staged = _Staged(first + start, *build_term_rows(*zones, analyzer=self._analyzer))
            self._staged.append(staged)
            if self._ahead is not None:
                self._add_ahead(staged, batch, part, created_at, (first + len(batch)) // BLOCK_ROWS * BLOCK_ROWS)

    def _begin_ahead(self, snapshot: Snapshot, first: int, n: int) -> None:
        """Begin to add documents while rows are analysed: where there are many, and Tantivy's index is level."""
        if n < _AHEAD_ROWS or self._ahead is not None or first != snapshot.rows("chunks"):
            return
        record = snapshot.manifest.indexes.get(LEXICAL)
        covered = first // BLOCK_ROWS * BLOCK_ROWS
        try:
            self._tidy_up()
            if record is None and covered == 0:
                index, name = self._new_lexical(snapshot.version + 1)
            else:
                found = self._tables.lexical(snapshot)
                if found is None or record is None or not found.rows == int(record["rows"]) == covered:
                    return
                index, name = found, str(record["folder"])
            ahead = Ahead(index, name)
        except (LexicalDamaged, OSError, ValueError) as error:
            logger.debug("no documents are added ahead: %s", error)  # catching up says what is wrong, if it still is
            return
        self._ahead = ahead
        if covered < first:
            stems = list(self._stems(snapshot, covered, first))
            ahead.add(stems, list(self.facets(snapshot, covered, first)), self.seconds(snapshot, covered, first))

    def _add_ahead(
        self, staged: _Staged, batch: ChunkBatch, part: slice, created_at: list[int | None], stop: int
    ) -> None:
        ahead = self._ahead
        if ahead is None or ahead.next != staged.first:
            return
        take = max(0, min(len(staged.stems), stop - staged.first))
        columns = (batch.projects, batch.types, batch.collections, batch.sessions, batch.agents)
        rows = zip(*(column[part] for column in columns), strict=True)
        facets = [_facets(values) for values in itertools.islice(rows, take)]
        seconds = [None if us is None else us // US_PER_S for us in created_at[part][:take]]
        ahead.add(staged.stems[:take], facets, seconds)

    def unstage(self) -> None:
        """Forget what was staged for a transaction that failed."""
        self._staged.clear()
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            ahead.abandon()

    def catch_up(self, view: Callable[[], View]) -> None:
        """Bring every index level with the newest version. Only under the writer's lock.

        Raises
        ------
        OSError
            When the disk refuses. The log is whole and readers scan what the indexes lack.
        """
        snapshot = self._store.snapshot()
        try:
            self._tidy_up()
            self._write_terms(snapshot)
            finished = self._finish_ahead(snapshot)
            vectors, keys = None, None
            if self._may_wait(snapshot):
                self._code_ahead(snapshot, view)
            else:
                vectors, keys = self._extend_vectors(snapshot, view), self._save_keys(snapshot)
            lexical = None if finished is None else self._finished(finished, snapshot)
            records = {LEXICAL: lexical or self._extend_lexical(snapshot), VECTORS: vectors, KEYS: keys}
            records[nodes.GRAPH] = nodes.save(view(), anew=True) if self._graph_is_lost(view) else None
        finally:
            self.unstage()
        changed = {name: record for name, record in records.items() if record is not None}
        if changed:
            with self._store.transaction() as transaction:
                for name, record in changed.items():
                    transaction.set_index(name, record)
            self.remove_stale()

    def _graph_is_lost(self, view: Callable[[], View]) -> bool:
        """Tell whether the saved graph of links cannot be used; its files are looked at before this process's first write."""
        if nodes.GRAPH not in self._store.snapshot().manifest.indexes:
            return False
        first, self._graph_seen = not self._graph_seen, True
        return nodes.is_damaged(view(), look=first)

    def _may_wait(self, snapshot: Snapshot) -> bool:
        """Tell whether vector codes and keys are better made once, after the batches that follow at once.

        Each would be written whole each time, and codes trained again on a longer prefix; readers scan meanwhile.
        """
        covered = max(int(snapshot.manifest.indexes.get(name, {}).get("rows", 0)) for name in (VECTORS, KEYS))
        return self.more_follows and snapshot.rows("chunks") - covered < _WAITING_ROWS

    def _tidy_up(self) -> None:
        if not self._tidy:  # before anything is built: what rows have lost must go even where the disk is full
            self.remove_stale()
            self._tidy = True

    # ------------------------------------------------------------------ forward lists

    def _write_terms(self, snapshot: Snapshot) -> None:
        """Give every segment that this process has not seen yet a whole file of forward lists, but the smallest."""
        folder = self._tables.folder / TERMS
        if not self._filed:
            folder.mkdir(parents=True, exist_ok=True)
        named = {terms_name(segment): segment for segment in snapshot.segments("chunks")}
        for name, segment in named.items():
            if name not in self._filed or not self._tables.trusts(name):
                if segment.rows < UNFILED_ROWS:
                    rows = self._assemble(snapshot, segment.start, segment.start + segment.rows)
                    self._tables.put_terms(segment, copy_terms(rows))
                    continue
                path = folder / name
                try:
                    if not self._tables.trusts(name):
                        raise TermsDamaged(f"{path} was found damaged")
                    rows = open_terms(path, verify=False)
                except TermsDamaged:  # missing as a rule: the segment is new
                    write_terms(path, self._assemble(snapshot, segment.start, segment.start + segment.rows))
                    rows = open_terms(path, verify=False)
                    self._tables.trust(name)
                self._tables.put_terms(segment, rows)
        self._tables.drop(snapshot)
        gone = (
            self._filed.keys() - named.keys()
            if self._filed
            else {path.name for path in own_files(folder, TERMS_NAME)} - named.keys()
        )
        self._filed = dict.fromkeys(named)
        for name in gone:
            with contextlib.suppress(OSError):
                (folder / name).unlink()

    def _assemble(self, snapshot: Snapshot, start: int, stop: int) -> TermRows:
        parts: list[TermRows] = []
        at = start
        known = [*self._tables.known_terms(), *((s.first, s.rows) for s in self._staged)]
        while at < stop:
            found = next(((first, rows) for first, rows in known if first <= at < first + len(rows.lengths)), None)
            if found is None:
                end = min([stop, *(first for first, _ in known if first > at)])
                parts.append(build_term_rows(*zones_of(snapshot, at, end), analyzer=self._analyzer)[0])
            else:
                end = min(stop, found[0] + len(found[1].lengths))
                parts.append(slice_terms(found[1], at - found[0], end - found[0]))
            at = end
        return concat_terms(parts)

    # ------------------------------------------------------------------ Tantivy

    def _extend_lexical(self, snapshot: Snapshot) -> dict[str, object] | None:
        record = snapshot.manifest.indexes.get(LEXICAL)
        wanted = snapshot.rows("chunks") // BLOCK_ROWS * BLOCK_ROWS
        if wanted == 0:
            return None
        index = self._tables.lexical(snapshot)
        if index is not None and record is not None and index.rows <= snapshot.rows("chunks"):
            if min(index.rows, int(record["rows"])) >= wanted:
                return None
            try:
                self._append_lexical(index, snapshot, wanted)
            except (LexicalDamaged, ValueError) as error:
                logger.warning("%s is built again: %s", index.path, error)
            else:
                return {**record, "rows": wanted}
        index, name = self._new_lexical(snapshot.version)
        self._append_lexical(index, snapshot, wanted)
        return {"folder": name, "analysis": ANALYSIS_ID, "rows": wanted}

    def _new_lexical(self, version: int) -> tuple[LexicalIndex, str]:
        name = f"{LEXICAL}-{version:010d}"  # a version has rows of one generation only
        shutil.rmtree(self._tables.folder / name, ignore_errors=True)  # of an attempt that was cut off
        return LexicalIndex.create(self._tables.folder / name), name

    def _finish_ahead(self, snapshot: Snapshot) -> Future[None] | None:
        """Begin to commit what was added ahead, where it is just what the newest version wants of Tantivy."""
        ahead = self._ahead
        if ahead is None or ahead.next != snapshot.rows("chunks") // BLOCK_ROWS * BLOCK_ROWS:
            return None
        record = snapshot.manifest.indexes.get(LEXICAL)
        if ahead.name != (f"{LEXICAL}-{snapshot.version:010d}" if record is None else record["folder"]):
            return None
        self._ahead = None
        self._finishing = {"folder": ahead.name, "analysis": ANALYSIS_ID, "rows": ahead.next}
        return ahead.finish()

    def _finished(self, future: Future[None], snapshot: Snapshot) -> dict[str, object] | None:
        """Wait for that commit; None where it failed and all is to be added from the log."""
        try:
            future.result()
        except (LexicalDamaged, InvalidArgument, OSError, ValueError) as error:
            logger.warning("%s: the documents added ahead are lost (%s) and are added again", snapshot.name, error)
            return None
        return self._finishing

    def _append_lexical(self, index: LexicalIndex, snapshot: Snapshot, wanted: int) -> None:
        for at in range(index.rows, wanted, _ANALYSED_AT_ONCE * 8):
            stop = min(wanted, at + _ANALYSED_AT_ONCE * 8)
            index.append(
                list(self._stems(snapshot, at, stop)),
                self.facets(snapshot, at, stop),
                self.seconds(snapshot, at, stop),
            )

    def _stems(self, snapshot: Snapshot, start: int, stop: int) -> Iterator[str]:
        """Yield the stems of rows: those just staged are at hand, older ones are analysed again from the log."""
        at = start
        while at < stop:
            staged = next((s for s in self._staged if s.first <= at < s.first + len(s.stems)), None)
            if staged is not None:
                end = min(stop, staged.first + len(staged.stems))
                yield from staged.stems[at - staged.first : end - staged.first]
            else:
                end = min([stop, at + _ANALYSED_AT_ONCE, *(s.first for s in self._staged if s.first > at)])
                yield from build_term_rows(*zones_of(snapshot, at, end), analyzer=self._analyzer)[1]
            at = end

    def facets(self, snapshot: Snapshot, start: int, stop: int) -> Iterator[list[str]]:
        """Yield the facets of rows ``start`` to ``stop``."""
        categories = self._tables.categories
        codes = [categories.column(snapshot, f)[start:stop].tolist() for f in FIELDS]
        known: dict[tuple[int, ...], list[str]] = {}
        for row in zip(*codes, strict=True):
            if row not in known:
                known[row] = [
                    facet(f, str(categories.value(f, code))) for f, code in zip(FIELDS, row, strict=True) if code >= 0
                ]
            yield known[row]

    def seconds(self, snapshot: Snapshot, start: int, stop: int) -> list[int | None]:
        """Return when rows ``start`` to ``stop`` were written, seconds since 1970; None where nobody knows."""
        rows = np.arange(start, stop, dtype=np.int64)
        created = snapshot.numbers("chunks", "created_at", rows, MISSING_US).tolist()
        return [None if us == MISSING_US else us // US_PER_S for us in created]

    # ------------------------------------------------------------------ vectors and keys

    def _code_ahead(self, snapshot: Snapshot, view: Callable[[], View]) -> None:
        """Begin to code vectors on a thread, where it is known how many rows there will be."""
        if self.to_come and snapshot.space is not None:
            rows = snapshot.rows(snapshot.vector_log)
            known = self._tables.quantised(snapshot)
            self._coding.begin(snapshot.manifest.space, known, view().vectors, rows, rows + self.to_come)

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
            index = QuantisedIndex.build(blocks, rows)
        else:
            index = index.extend(blocks, rows)
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
        """Remove index files that the newest version does not name; a reader that misses one scans instead."""
        indexes = self._store.snapshot().manifest.indexes
        named = {TERMS, *(str(value) for record in indexes.values() for value in record.values())}
        folder = self._tables.folder
        with contextlib.suppress(OSError):
            for path in own_files(folder, INDEX_NAME):
                if path.name not in named:
                    path.unlink()
            for path in own_folders(folder, INDEX_NAME):
                if path.name not in named:
                    shutil.rmtree(path, ignore_errors=True)


@functools.lru_cache(1 << 12)
def _facets(values: tuple[str | None, ...]) -> list[str]:
    """Return the facets of a row's categories, in the order of `FIELDS`; rows share few."""
    return [facet(field, value) for field, value in zip(FIELDS, values, strict=True) if value is not None]


def _generation(snapshot: Snapshot) -> str:
    """Return what tells files apart that cover equally many rows, before and after some were forgotten."""
    rewritten = snapshot.manifest.rewritten
    return f"-{rewritten}" if rewritten else ""
