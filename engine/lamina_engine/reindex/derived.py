"""Derived indexes of one version, built in a separate folder and then moved into place."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from lamina_engine.errors import VaultLocked
from lamina_engine.executor import Executor, map_in_pool
from lamina_engine.index import inverted, textbuilder
from lamina_engine.index.analysis import ANALYSIS_ID, Analyzer
from lamina_engine.index.indexer import BLOCK_ROWS
from lamina_engine.index.keys import KeyIndex, hash_ids, hash_versions
from lamina_engine.index.log_analysis import BodyWords
from lamina_engine.index.quantised import QuantisedIndex
from lamina_engine.index.tables import KEYS, LEXICAL, TERMS, VECTORS, lists_path, terms_path
from lamina_engine.index.terms import TermsDamaged, build_zones, concat_terms, open_terms, write_terms
from lamina_engine.index.textbuilder import build_lists, build_next, write_lists_of
from lamina_engine.index.vectors import VectorBlocks
from lamina_engine.index.zones import Zones, zones_of
from lamina_engine.real_files import remove_file
from lamina_engine.reports import ProgressReporter
from lamina_engine.store.lock import write_lock
from lamina_engine.store.shape import TERMS_NAME, own_files
from lamina_engine.store.snapshot import Snapshot
from lamina_kernels.layouts import TermRows

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

BUILDING: Final = "building"
"""Folder below the index folder; what is in it belongs to no version. A writer leaves it alone."""
_ANALYSED_AT_ONCE: Final = 2_048
_AHEAD: Final = 2
"""Blocks of rows that are read from the log while one is analysed."""
_SHOWN_EVERY_S: Final = 0.2

S = TypeVar("S")
T = TypeVar("T")

_local = threading.local()
"""The analyzer of this thread or process while it works: words met once need no second look."""


@contextlib.contextmanager
def build_dir(folder: Path) -> Iterator[Path]:
    """Hold the build folder, emptied before and after."""
    place = folder / BUILDING
    place.mkdir(parents=True, exist_ok=True)
    try:
        with write_lock(place, 0.0):  # dies with this process
            _clear(place)
            try:
                yield place
            finally:
                shutil.rmtree(place, ignore_errors=True)
    except VaultLocked as error:
        if str(place) not in str(error):
            raise
        raise VaultLocked(f"another reindex of {folder.parent} is at work; wait for it, or stop it") from error


def _clear(place: Path) -> None:
    for path in place.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)


class IndexBuilder:
    """Builder of one version's indexes in a separate folder."""

    def __init__(
        self, memory: Memory, place: Path, snapshot: Snapshot, executor: Executor, progress: ProgressReporter
    ) -> None:
        self._place, self._snapshot = place, snapshot
        self._executor, self._progress = executor, progress
        self._tables = memory.tables  # of this version, whatever is forgotten meanwhile
        self._folder = memory.tables.folder
        self._version = f"{snapshot.version:010d}r"
        """In every name: no earlier generation has it, a later one of this version has the same content."""
        self.records: dict[str, dict[str, Any] | None] = {}
        """What the next version must say of each index built; None where so few rows need none."""
        self.codes: QuantisedIndex | None = None
        """Codes of the vectors, where they were built and the log is long enough for any."""
        self._moves: list[tuple[Path, Path]] = []
        self._coding: Future[QuantisedIndex | None] | None = None
        self._text: Future[None] | None = None
        self._kept = BodyWords(in_step=True)
        self._indexed: list[int] = []
        """Numbers of rows that the text index took, batch by batch."""
        self._given_up = threading.Event()

    def lexical(self) -> None:
        """Build forward lists and inverted lists, and begin the text index beside them.

        Lists go to their final place, one whole file at a time: each is a function of its segment and of the
        rules of analysis, so a reader finds either the old file or an equal or better one.
        """
        snapshot, rows = self._snapshot, self._snapshot.rows("chunks")
        (self._folder / TERMS).mkdir(parents=True, exist_ok=True)
        path = self._place / LEXICAL
        if rows >= textbuilder.BLOCK_ROWS:
            path.mkdir(parents=True, exist_ok=True)
            self._text = _on_a_thread("lamina-text", self._index_texts, path)
        else:
            self._kept.stop_waiting()
        try:
            for done in self._analyse_texts():
                self._progress("lexical", done, rows)
        finally:
            self._kept.stop_waiting()
            _local.analyzer = None
        build_lists(self._tables, snapshot, self._given_up.is_set)

    def finish_text(self) -> None:
        """Wait for the text index, if one was begun."""
        rows = self._snapshot.rows("chunks")
        if self._text is None:
            self.records[LEXICAL] = None
            return
        path = self._place / LEXICAL
        while wait([self._text], _SHOWN_EVERY_S).not_done:
            self._progress("text", min(sum(self._indexed), rows), rows)
        self._text.result()
        name = f"{LEXICAL}-{self._version}"
        self._moves.append((path, self._folder / name))
        self.records[LEXICAL] = {"folder": name, "analysis": ANALYSIS_ID}

    def _index_texts(self, path: Path) -> None:
        """Build the text index, which needs the texts alone and not their forward lists."""
        stopped, block = self._given_up.is_set, textbuilder.BLOCK_ROWS
        try:
            while build_next(self._tables, self._snapshot, path, stopped, block, self._kept, self._indexed.append):
                pass
        finally:
            self._kept.stop_waiting()

    def _analyse_texts(self) -> Iterator[int]:
        """Analyse all rows and write each segment's forward lists; yield how many rows are done."""
        segments = self._snapshot.segments("chunks")
        cuts = [
            (s, a, min(a + _ANALYSED_AT_ONCE, s.start + s.rows))
            for s in segments
            for a in range(s.start, s.start + s.rows, _ANALYSED_AT_ONCE)
        ]
        parts: list[TermRows] = []
        inverting: Future[None] | None = None
        zones = (zones_of(self._snapshot, start, stop) for _, start, stop in cuts)
        results = self._executor.map(_analyse, zones) if self._executor.remote else _map_beside(_analyse, zones)
        for (segment, start, stop), (rows, words) in zip(cuts, results, strict=True):
            self._kept.put(start, words)
            parts.append(rows)
            if stop == segment.start + segment.rows:
                whole = concat_terms(parts)
                with contextlib.suppress(FileNotFoundError):  # a function of what is written next
                    remove_file(lists_path(self._folder, segment))
                path = terms_path(self._folder, segment)
                write_terms(path, whole)
                with contextlib.suppress(TermsDamaged):  # its segment was merged away meanwhile
                    whole = open_terms(path, verify=False)  # mapped: those of a million rows take a gigabyte
                self._tables.put_terms(segment, whole)
                if segment.rows >= inverted.LEAST_ROWS:
                    if inverting is not None:
                        inverting.result()
                    inverting = _on_a_thread("lamina-lists", write_lists_of, self._tables, segment, whole)
                parts = []
            yield stop
        if inverting is not None:
            inverting.result()

    def begin_vectors(self, blocks: VectorBlocks) -> None:
        """Begin to code a space's vectors on a thread; FAISS works without the interpreter's lock."""
        build = partial(QuantisedIndex.build, blocks, blocks.rows, cancelled=self._given_up.is_set)
        self._coding = _on_a_thread("lamina-codes", build)

    def give_up(self) -> None:
        """Cancel the builds under way."""
        self._given_up.set()
        if self._coding is not None:
            wait([self._coding])
        if self._text is not None:
            wait([self._text])

    def vectors(self, blocks: VectorBlocks, space: str) -> None:
        """Build the codes of a space's vectors, or wait for those that were begun."""
        rows = blocks.rows
        self._progress("vectors", 0, rows)
        if self._coding is None:
            index = QuantisedIndex.build(
                blocks, rows, progress=lambda done, total: self._progress("vectors", done, total)
            )
        else:
            index = self._coding.result()
        self._progress("vectors", rows, rows)
        self.codes = index
        if index is None:
            self.records[VECTORS] = None
            return
        name = f"{VECTORS}-{space}-{index.rows:012d}-{index.trained_on}-{self._version}.faiss"
        index.save(self._place / name)
        self._moves.append((self._place / name, self._folder / name))
        self.records[VECTORS] = {"file": name, "rows": index.rows, "space": space}

    def keys(self, blocks: VectorBlocks, space: str) -> None:
        """Build the indexes of ids and versions."""
        wanted = self._snapshot.rows("chunks") // BLOCK_ROWS * BLOCK_ROWS
        self._progress("keys", 0, wanted)
        if not wanted:
            self.records[KEYS] = None
            return
        ids, versions = KeyIndex(), KeyIndex()
        for segment in self._snapshot.segments("chunks"):
            stop = min(segment.rows, wanted - segment.start)
            if stop <= 0:
                break
            ids = ids.extend(hash_ids(segment.texts("id", 0, stop)))
            has = np.arange(segment.start, min(segment.start + stop, blocks.rows), dtype=np.int64)
            hashes = hash_versions(segment.column("version")[: has.size].to_pylist())
            versions = versions.extend(hashes, present=blocks.present(has) if has.size else np.zeros(0, np.bool_))
            self._progress("keys", segment.start + stop, wanted)
        names = {kind: f"{KEYS}-{kind}-{wanted:012d}-{self._version}.keys" for kind in ("ids", "versions")}
        for index, name in ((ids, names["ids"]), (versions, names["versions"])):
            index.save(self._place / name)
            self._moves.append((self._place / name, self._folder / name))
        self.records[KEYS] = {**names, "rows": wanted, "space": space}

    def move(self) -> None:
        """Move the indexes into place, under the writer's lock, before their version is committed.

        A name that is there already is of the same rows and settings: the same content, or a damaged one.
        """
        for source, target in self._moves:
            if target.is_dir():
                shutil.rmtree(target)
            source.replace(target)


def _on_a_thread(name: str, work: Callable[..., T], *args: object) -> Future[T]:
    pool = ThreadPoolExecutor(1, thread_name_prefix=name)
    future = pool.submit(work, *args)
    pool.shutdown(wait=False)
    return future


def _map_beside(fn: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """Yield ``fn(item)`` of each item in order, made on a thread while the next are read."""
    return map_in_pool(ThreadPoolExecutor(1, thread_name_prefix="lamina-words"), fn, items, _AHEAD + 1)


def _analyse(zones: Zones) -> tuple[TermRows, list[str | None]]:
    analyzer: Analyzer | None = getattr(_local, "analyzer", None)
    if analyzer is None:
        analyzer = _local.analyzer = Analyzer()
    words: list[str | None] = []
    return build_zones(zones, analyzer, words), words


def drop_unnamed_terms(folder: Path, snapshot: Snapshot) -> None:
    """Remove lists of segments that the newest version does not have; needs the writer's lock."""
    segments = snapshot.segments("chunks")
    named = {path(folder, segment).name for segment in segments for path in (terms_path, lists_path)}
    _remove(path for path in own_files(folder / TERMS, TERMS_NAME) if path.name not in named)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            remove_file(path)
