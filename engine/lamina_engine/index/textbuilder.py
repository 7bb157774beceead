"""Builder of inverted lists and of the text index: a thread that follows the log.

No call waits for it but `close`, and no answer depends on how far it is: rows that nothing holds yet are scanned. It
holds a lock of its own in the index's folder, never the vault's; whoever comes second leaves the work to the first.
A process that dies leaves whole parts, and a folder that the next builder removes.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_engine import after_fork
from lamina_engine.clock import MISSING_US, US_PER_S
from lamina_engine.errors import LaminaError, VaultLocked
from lamina_engine.index import native
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.inverted import write_lists
from lamina_engine.index.log_analysis import BodyWords
from lamina_engine.index.row_columns import FIELDS, facet
from lamina_engine.index.tables import LEXICAL, Tables, lists_name, lists_path, terms_name, terms_path
from lamina_engine.index.terms import TermsDamaged, open_terms, surface_texts, write_terms
from lamina_engine.index.textindex import (
    PART_NAME,
    Documents,
    PartRecord,
    TextIndexDamaged,
    encodable,
    read_parts,
    write_part,
    write_parts,
)
from lamina_engine.index.zones import read_column
from lamina_engine.real_files import remove_file
from lamina_engine.store.lock import write_lock
from lamina_engine.store.segments import Segment
from lamina_engine.store.shape import own_folders
from lamina_engine.store.snapshot import Snapshot
from lamina_kernels.inverted import invert
from lamina_kernels.layouts import TermRows

if TYPE_CHECKING:
    from lamina_engine.store.store import Store

logger = logging.getLogger(__name__)

LARGE_ROWS: Final = 4_096
"""Segments of so many rows are analysed here, behind the commit, if nobody has done it."""
BLOCK_ROWS: Final = 1_024
"""Rows that make a part: what is left over is scanned, in a tenth of a millisecond a thousand."""
MOST_PART_ROWS: Final = 1 << 18
"""A million rows stand in four parts: each costs a search of its own, and one of all rows could not be written in parallel."""
_AT_ONCE: Final = 4_096
BUILDING: Final = "building-"
_LEFT: Final = re.compile(rf"{BUILDING}\d{{12}}")


class Stopped(Exception):
    """The rows that a part was being made of are not wanted any more."""


def plan_parts(parts: Sequence[PartRecord], rows: int, block: int) -> list[tuple[int, int]]:
    """Return the parts to write next, in row order, until under ``block`` rows remain.

    Parts that hold no more rows than come after them are merged with these, so that each is larger than all that
    follow: a million rows lie in four large parts and at most eight small ones.
    """
    start = parts[-1].stop if parts else 0
    whole = rows // block * block
    if whole <= start:
        return []
    for part in reversed(parts):
        if part.stop - part.start > whole - start or whole - part.start > MOST_PART_ROWS:
            break
        start = part.start
    count = -(-(whole - start) // MOST_PART_ROWS)
    cuts = [start + (whole - start) * i // count // block * block for i in range(count)]
    return list(itertools.pairwise([*cuts, whole]))


class TextBuilder:
    """Brings the inverted lists and the text index of one vault level with its log, on a thread.

    Parameters
    ----------
    store : Store
        The vault.
    tables : Tables
        What all versions share; told what has been built.
    """

    def __init__(self, store: Store, tables: Tables) -> None:
        self._store, self._tables = store, tables
        self._lock = after_fork.make_lock()
        self._thread: threading.Thread | None = None
        self._again = False
        self._stopped = False
        self._paused_by: int | None = None
        """Process that paused it: one that was forked meanwhile has nobody who would let it go on."""
        self._folder: str | None = None
        """Folder that was built last."""
        self._asked: str | None = None
        """Folder that was to be built while nothing was."""
        self._kept = BodyWords()
        """Words of rows whose parts are not built yet."""

    def wake(self, folder: str) -> None:
        """Begin to follow the log, unless it is being followed already.

        Parameters
        ----------
        folder : str
            Name of the index's folder, as the newest version has it.
        """
        with self._lock:
            if self.is_paused:
                self._asked = folder
                return
            if self._thread is not None and self._thread.is_alive():
                self._again = True
                return
            self._again, self._folder = False, folder
            self._thread = threading.Thread(target=self._follow, args=(folder,), name="lamina-text")
            self._thread.start()

    def join(self) -> None:
        """Wait until the log has been followed to its end."""
        thread = self._thread
        if thread is not None:
            thread.join()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Build nothing within the block, which does so by itself; go on afterwards."""
        with self._lock:
            thread = self._thread
            self._paused_by = os.getpid()
            self._asked = self._folder if thread is not None and thread.is_alive() else None
        self.join()
        try:
            yield
        finally:
            with self._lock:
                self._paused_by = None
                folder, self._asked = self._asked, None
            if folder is not None:
                self.wake(folder)

    @property
    def is_paused(self) -> bool:
        """True within `paused`."""
        return self._paused_by == os.getpid()

    def give_up(self) -> None:
        """Stop what is being built, soon; rows have been forgotten, or the tables are begun again."""
        self._stopped = True
        self._kept = BodyWords()

    def _follow(self, folder: str) -> None:
        while True:
            try:
                self._follow_log(folder)
            except (Stopped, VaultLocked):
                return
            except (LaminaError, OSError, ValueError, MemoryError) as error:
                if self._stopped or not self._is_named(folder):  # its folder is gone by now
                    return
                logger.warning("the text index is behind, the next write goes on with it: %s", error)
            native.release_memory()
            with self._lock:
                if not self._again:
                    self._thread = None
                    return
                self._again = False

    def _follow_log(self, name: str) -> None:
        """Build lists and parts of the newest version until under a block of rows remains.

        Raises VaultLocked when another process or thread builds them, TextIndexDamaged and OSError.
        """
        folder = self._tables.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        with write_lock(folder, 0.0):
            while True:
                snapshot = self._store.snapshot()
                if not self._is_named(name):
                    raise Stopped
                try:
                    build_lists(self._tables, snapshot, self._is_stopped, self._kept)
                finally:
                    _remove_stale_lists(self._tables, snapshot, self._store.snapshot())
                    native.release_memory()
                if self._tables.lacks_terms(self._store.snapshot()):  # recalls wait for these, and for no parts
                    continue
                kept, self._kept = self._kept, BodyWords()
                if not build_next(self._tables, snapshot, folder, self._is_stopped, BLOCK_ROWS, kept):
                    return

    def _is_named(self, folder: str) -> bool:
        """Return whether the newest version has its text index in a folder."""
        record = self._store.snapshot().manifest.indexes.get(LEXICAL) or {}
        return str(record.get("folder")) == folder

    def _is_stopped(self) -> bool:
        return self._stopped or self.is_paused


def build_lists(tables: Tables, snapshot: Snapshot, stopped: Any, kept: BodyWords | None = None) -> None:
    """Write the forward and inverted lists that large segments of a version lack.

    Forward lists of all of them come first: other processes can scan by these.
    """
    for segment in tables.lacks_terms(snapshot):
        _write_forward(tables, snapshot, segment, stopped, kept)
    tables.forget_words()
    for segment in tables.lacks_lists(snapshot):
        try:
            rows = open_terms(terms_path(tables.folder, segment), verify=True)
            if len(rows.lengths) != segment.rows:
                raise TermsDamaged("another number of rows")
        except TermsDamaged as error:
            if terms_path(tables.folder, segment).exists():  # else its segment was merged away meanwhile
                tables.distrust(terms_name(segment), error)
            rows = _write_forward(tables, snapshot, segment, stopped)
        if stopped():
            raise Stopped
        write_lists_of(tables, segment, rows)


def write_lists_of(tables: Tables, segment: Segment, rows: TermRows) -> None:
    """Write the inverted lists of a segment, given its forward lists."""
    write_lists(lists_path(tables.folder, segment), segment.rows, invert(rows))
    tables.trust(lists_name(segment))


def _write_forward(
    tables: Tables, snapshot: Snapshot, segment: Segment, stopped: Any, kept: BodyWords | None = None
) -> TermRows:
    """Write the forward lists of a segment; return them as their file has them."""
    rows = tables.terms(snapshot, segment, kept)
    if stopped():
        raise Stopped
    path = terms_path(tables.folder, segment)
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):  # a function of what is written next
        remove_file(lists_path(tables.folder, segment))
    write_terms(path, rows)
    mapped = open_terms(path, verify=False)
    tables.put_terms(segment, mapped)
    tables.trust(terms_name(segment))
    return mapped


def _remove_stale_lists(tables: Tables, built: Snapshot, newest: Snapshot) -> None:
    """Remove lists whose segment was merged or rewritten while they were built."""
    names = {segment.ref.name for segment in newest.segments("chunks")}
    for segment in built.segments("chunks"):
        if segment.ref.name not in names:
            for path in (terms_path(tables.folder, segment), lists_path(tables.folder, segment)):
                with contextlib.suppress(FileNotFoundError):
                    remove_file(path)


def build_next(
    tables: Tables,
    snapshot: Snapshot,
    folder: Path,
    stopped: Any,
    block: int,
    kept: BodyWords,
    count: Callable[[int], object] = lambda _: None,
) -> bool:
    """Build a version's missing parts; False if none are. Needs the folder's lock.

    Words are taken from ``kept``, and made where it has none; ``count`` gets numbers of rows as they are taken.

    An index whose list of parts cannot be read, or names what is damaged, is begun again in the same folder.
    """
    try:
        parts = read_parts(folder)
        if not tables.trusts(folder.name):
            raise TextIndexDamaged("it was found damaged")
        if parts and (
            parts[-1].stop > snapshot.rows("chunks") or _recorded_at(snapshot, parts[-1]) != parts[-1].recorded_at
        ):
            raise TextIndexDamaged("it holds rows of another history")
    except TextIndexDamaged as error:
        logger.warning("%s is built again: %s", folder, error)
        parts = []
        write_parts(folder, parts)
        tables.trust(folder.name)
    _remove_others(folder, parts)
    spans = plan_parts(parts, snapshot.rows("chunks"), block)
    if not spans:
        return False
    write = functools.partial(_write, tables, snapshot, folder, stopped, kept, count)
    made = _map_on_two_threads(write, spans)
    whole = [*(part for part in parts if part.stop <= spans[0][0]), *made]
    write_parts(folder, whole)
    _remove_others(folder, whole)
    return True


def _write(
    tables: Tables,
    snapshot: Snapshot,
    folder: Path,
    stopped: Any,
    kept: BodyWords,
    count: Callable[[int], object],
    span: tuple[int, int],
) -> PartRecord:
    start, stop = span
    documents = _documents(tables, snapshot, start, stop, stopped, kept, count)
    last = int(snapshot.numbers("chunks", "recorded_at", np.array([stop - 1], np.int64))[0])
    return write_part(folder, start, stop, last, documents, building=folder / f"{BUILDING}{start:012d}")


def _map_on_two_threads(
    write: Callable[[tuple[int, int]], PartRecord], spans: Sequence[tuple[int, int]]
) -> list[PartRecord]:
    """Return the results of ``write`` for spans, two at a time on two threads.

    A process that ends starts no thread any more (nor does a pool take work then): the rest is done one by one.
    """
    made: dict[tuple[int, int], PartRecord] = {}
    failed: list[BaseException] = []

    def run(span: tuple[int, int]) -> None:
        try:
            made[span] = write(span)
        except BaseException as error:
            failed.append(error)

    for first, second in itertools.zip_longest(spans[::2], spans[1::2]):
        beside = threading.Thread(target=run, args=(second,), name="lamina-text-2") if second is not None else None
        if beside is not None:
            try:
                beside.start()
            except RuntimeError:
                beside = None
        run(first)
        if beside is not None:
            beside.join()
        elif second is not None and not failed:
            run(second)
        if failed:
            raise failed[0]
    return [made[span] for span in spans]


def _recorded_at(snapshot: Snapshot, part: PartRecord) -> int:
    return int(snapshot.numbers("chunks", "recorded_at", np.array([part.stop - 1], np.int64))[0])


def _remove_others(folder: Path, parts: Sequence[PartRecord]) -> None:
    """Remove parts that the list does not name, and what an attempt that was cut off left."""
    named = {part.name for part in parts}
    for path in [*own_folders(folder, PART_NAME), *own_folders(folder, _LEFT)]:
        if path.name not in named:
            shutil.rmtree(path, ignore_errors=True)


def _documents(
    tables: Tables,
    snapshot: Snapshot,
    start: int,
    stop: int,
    stopped: Any,
    kept: BodyWords,
    count: Callable[[int], object],
) -> Iterator[Documents]:
    """Yield rows some thousand at a time, from the log and its forward lists alone."""
    analyzer = Analyzer()
    at = start
    while at < stop:
        end = min(at + _AT_ONCE, stop)
        words = kept.take(at, end)
        if stopped():
            raise Stopped
        if words:
            end = at + len(words)
        titles, tags, sources = (read_column(snapshot, name, at, end) for name in ("title", "tags", "source"))
        rows = np.arange(at, end, dtype=np.int64)
        missing = [place for place, surfaces in enumerate(words) if surfaces is None]
        texts = snapshot.values("chunks", "text", rows[missing]) if words else read_column(snapshot, "text", at, end)
        made = iter(surface_texts([encodable(text or "") for text in texts], analyzer=analyzer))
        surfaces = [next(made) if each is None else each for each in words] or list(made)
        created = snapshot.numbers("chunks", "created_at", rows, MISSING_US).tolist()
        yield Documents(
            _title_words(titles, analyzer),
            surfaces,
            _facets(tables, snapshot, rows, tags, sources),
            [None if us == MISSING_US else us // US_PER_S for us in created],
        )
        count(rows.size)
        at = end


def _title_words(titles: Sequence[str | None], analyzer: Analyzer) -> list[str]:
    """Return the words of titles, which many rows share."""
    known: dict[str | None, str] = dict.fromkeys(titles, "")
    known.pop(None, None)
    made = surface_texts([encodable(title or "") for title in known], analyzer=analyzer)
    known = dict(zip(known, made, strict=True))
    return [known.get(title, "") for title in titles]


def _facets(
    tables: Tables, snapshot: Snapshot, rows: np.ndarray[Any, Any], tags: Sequence[Any], sources: Sequence[Any]
) -> Iterator[list[str]]:
    """Yield the facets of some rows: the category fields, each tag, and the source."""
    categories = tables.categories
    codes = [categories.column(snapshot, field)[rows].tolist() for field in FIELDS]
    known: dict[tuple[int, ...], list[str]] = {}
    for place, row in enumerate(zip(*codes, strict=True)):
        if row not in known:
            known[row] = [
                encodable(facet(field, str(categories.value(field, code))))
                for field, code in zip(FIELDS, row, strict=True)
                if code >= 0
            ]
        more = [encodable(facet("tag", tag)) for tag in tags[place] or ()]
        if sources[place]:
            more.append(encodable(facet("source", sources[place])))
        yield [*known[row], *more]
