"""Tables shared by all versions in a process: derived once from immutable segments."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork, columns
from lamina_engine.clock import MISSING_US
from lamina_engine.errors import LaminaError
from lamina_engine.index import inverted
from lamina_engine.index.analysis import ANALYSIS_ID, Analyzer, language_mark
from lamina_engine.index.cache import Cache
from lamina_engine.index.inverted import InvertedLists, InvertedSegment, open_lists
from lamina_engine.index.keys import KeyIndex, KeysDamaged, hash_ids, hash_versions
from lamina_engine.index.languages import LANGUAGES
from lamina_engine.index.log_analysis import BodyWords, analyse_rows, make_analyzers
from lamina_engine.index.quantised import QuantisedIndex, VectorsDamaged
from lamina_engine.index.reanalysis import FormerTerms, renew_terms
from lamina_engine.index.row_columns import CategoryTable, RowColumn
from lamina_engine.index.scoring import ForwardLists, sum_lengths
from lamina_engine.index.tail import Tail, TailWords
from lamina_engine.index.terms import TermsDamaged, concat_terms, open_terms, read_only, slice_terms, surface_texts
from lamina_engine.index.textindex import PARTS, TextIndex, TextIndexDamaged, encodable, open_index
from lamina_engine.index.vectors import VectorBlocks
from lamina_engine.store.manifest import read_current
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Rows, Snapshot
from lamina_kernels.inverted import find_terms_numpy, invert
from lamina_kernels.layouts import TermRows
from lamina_kernels.terms import ZONES

if TYPE_CHECKING:
    from lamina_engine.index.view import AnsweringPart, View

logger = logging.getLogger(__name__)

TERMS = "terms"
KEYS = "keys"
LEXICAL = "lexical"
VECTORS = "vectors"


SMALL_ROWS: Final = 8_192
"""Up to so many rows the segments' forward lists and vectors are joined: a copy of some megabytes (of the forward lists
for each version), against several small NumPy calls for each segment in every recall."""
_OPEN_ATTEMPTS: Final = 3
_NO_ROW: Final = 1 << 62
_WORDS_AT_ONCE: Final = 4_096
_MARKS: Final = np.array([language_mark(language) for language in LANGUAGES[1:]], np.uint32)


def _stamp(path: str) -> tuple[int, int, int]:
    """Return the stamp of a file that is only replaced; zeros if it is missing."""
    try:
        found = os.stat(path)  # noqa: PTH116  each recall beside a tail asks: no Path is made for it
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_mtime_ns, found.st_size


def terms_path(folder: Path, segment: Segment) -> Path:
    """Return where the forward lists of a chunks segment lie below the vault's index folder."""
    return folder / TERMS / terms_name(segment)


def terms_name(segment: Segment) -> str:
    """Return the name of that file."""
    return segment.ref.name.removesuffix(".arrow") + ".terms"


def lists_path(folder: Path, segment: Segment) -> Path:
    """Return where the inverted lists of a chunks segment lie, beside its forward lists."""
    return folder / TERMS / lists_name(segment)


def lists_name(segment: Segment) -> str:
    """Return the name of that file."""
    return segment.ref.name.removesuffix(".arrow") + ".lists"


class BulkHint(NamedTuple):
    """A writer's announcement of its next rows."""

    rows: int = 0
    """How many will follow; 0 where it knows of none, or not how many."""
    more: bool = False
    """Whether any will: what would be made again for each batch then waits for the last one, or for many."""


NO_MORE: Final = BulkHint()


class _OpenText(NamedTuple):
    """The text index, as far as it was opened."""

    name: str
    parts: str
    """Path of its list of parts."""
    stamp: tuple[int, int, int]
    """Of its list of parts."""
    text: TextIndex
    next_stop: int
    """Rows that a version must have before the next part can be used."""


class _OpenLists(NamedTuple):
    """The inverted lists of a version, as far as they were opened."""

    version: int
    lists: InvertedLists
    awaited: str
    """Path of the first file that is missing; empty where none is, or none will be read."""
    segments: tuple[Segment, ...] = ()
    """Segments up to the last that has lists."""


class Tables(Cache):
    """Caches by segment name, growing key indexes, and values of `cached`.

    Safe to share between threads.
    """

    is_sharded = False
    """True where the rows lie in shards, which are asked."""

    def __init__(self, folder: Path, distrusted: Collection[str] = ()) -> None:
        super().__init__()
        self.folder = folder
        """The vault's index folder."""
        self.categories = CategoryTable()
        self.created = RowColumn(lambda _, segment: segment.numbers("created_at", MISSING_US))
        """created_at, us; `MISSING_US` where unknown."""
        self.previous = RowColumn(self._read_previous)
        """Row of the chunk whose words each short chunk was indexed with; -1 for none."""
        self.shown: dict[int, Any] = {}
        """Rows read lately, each a `lamina_engine.chunks.reading.StoredRow`."""
        self._terms: dict[str, tuple[int, TermRows]] = {}
        self._segment_lists: dict[str, InvertedSegment] = {}
        self._lists: _OpenLists | None = None
        self._languages: dict[str, Mapping[str, int]] = {}
        self._totals: dict[str, NDArray[np.int64]] = {}
        self._summed: tuple[int, NDArray[np.int64]] = 0, np.zeros(ZONES, np.int64)
        """Sums of the lengths of so many first rows; as rows only ever come after the last, a later version goes on."""
        self._first_rows: tuple[int, Mapping[str, int]] = 0, {}
        """First rows of languages, among so many rows."""
        self._blocks: tuple[tuple[Segment, ...], VectorBlocks | None] = (), None
        """Segments of vectors, and their blocks, of the version that was read last."""
        self._ids = KeyIndex()
        self._versions = KeyIndex()
        self._versions_space = ""
        self._opened_keys = False
        self._tail = Tail(0)
        self._tail_words = TailWords(0)
        self._analyzer = Analyzer()
        self._analyzers: list[Analyzer] = []
        """Of the threads that analyse the log's rows; see `forget_words`."""
        self._former_terms: dict[str, FormerTerms] = {}
        """By segment, until its own are made of them."""
        self._text: _OpenText | None = None
        self._quantised: dict[str, QuantisedIndex] = {}
        """Vector codes by name, of two versions: while a writer goes on to new ones, recalls still read those before."""
        self._unreadable: tuple[str, tuple[int, int, int]] | None = None
        """Vector codes that could not be read, and the stamp of their file."""
        self._distrusted = set(distrusted)
        """Names below `folder` that were found damaged: they are not read, and the next writer makes them again."""
        self._vectors: tuple[str, RowColumn] | None = None
        self._lock = after_fork.make_rlock()
        self._codes_lock = after_fork.make_lock()
        self._terms_lock = after_fork.make_lock()

    def parts(
        self, snapshot: Snapshot, stop: int, languages: tuple[str, ...]
    ) -> tuple[tuple[View | AnsweringPart, Rows], ...]:
        """Return views of the shards' rows below ``stop``, and the row here of each of theirs."""
        return ()

    def forward(self, snapshot: Snapshot, rows: int) -> ForwardLists:
        """Return the forward lists of a version's rows, for scoring."""
        blocks = [self.terms(snapshot, s) for s in snapshot.segments("chunks")]
        return ForwardLists([concat_terms(blocks)] if len(blocks) > 1 and rows <= SMALL_ROWS else blocks)

    def sum_lengths(self, snapshot: Snapshot, rows: int) -> NDArray[np.int64]:
        """Return the sums of the lengths of a version's first rows, int64 (3,)."""
        known, sums = self._summed
        start, totals = (known, sums.copy()) if known <= rows else (0, np.zeros(ZONES, np.int64))
        for segment in snapshot.segments_from("chunks", start):
            begin, below = max(start - segment.start, 0), min(rows - segment.start, segment.rows)
            if below - begin == segment.rows:
                totals += self.total_lengths(snapshot, segment)
            elif below > begin:
                totals += sum_lengths(self.terms(snapshot, segment).lengths[begin:below])
        if rows > known:
            self._summed = rows, totals.copy()
        return totals

    def first_rows(self, snapshot: Snapshot) -> Mapping[str, int]:
        """Return the first row of each language but English, also of rows behind the version's."""
        known, first = self._first_rows
        if known >= snapshot.rows("chunks"):
            return first
        first = dict(first)
        self.inverted(snapshot)  # lists tell at once, where there are any
        for segment in snapshot.segments_from("chunks", known):
            for language, row in self.languages(snapshot, segment).items():
                first.setdefault(language, segment.start + row)
        self._first_rows = snapshot.rows("chunks"), first
        return first

    def vector_blocks(self, snapshot: Snapshot, rows: int) -> VectorBlocks:
        """Return the vectors of the space that recall uses, row for row beside the chunks."""
        space, segments = snapshot.space, snapshot.segments(snapshot.vector_log)
        if len(segments) > 1 and rows <= SMALL_ROWS:
            return VectorBlocks([self.joined_vectors(snapshot)], space.dim if space else 1)
        known, blocks = self._blocks
        if blocks is None or space is None or blocks.dim != space.dim:
            known, blocks = (), VectorBlocks([], space.dim if space else 1)
        same = 0
        for before, segment in zip(known, segments, strict=False):
            if before is not segment:
                break
            same += 1
        blocks = blocks.continued(same, [snapshot.vectors(s) for s in segments[same:]])
        self._blocks = segments, blocks
        return blocks

    def text(self, snapshot: Snapshot) -> TextIndex | None:
        """Return a version's text index, as far as built; None if none is readable.

        While rows are missing from it, each call looks whether it has grown.
        """
        record = snapshot.manifest.indexes.get(LEXICAL)
        if record is None or record.get("analysis") != ANALYSIS_ID:
            return None
        name = str(record["folder"])
        if name in self._distrusted:
            return None
        rows = snapshot.rows("chunks")
        known = self._text
        if (known is not None and known.name == name) and (
            known.text.rows >= rows or (rows < known.next_stop and _stamp(known.parts) == known.stamp)
        ):
            return known.text
        with self._lock:
            return self._open_text(name, snapshot)

    def _open_text(self, name: str, snapshot: Snapshot) -> TextIndex | None:
        folder, known = self.folder / name, self._text
        former = known.text if known is not None and known.name == name else None
        for _ in range(_OPEN_ATTEMPTS):  # parts are merged away meanwhile, after the list of them was replaced
            stamp = _stamp(f"{folder}{os.sep}{PARTS}")
            same = known is not None and known.stamp == stamp and snapshot.rows("chunks") < known.next_stop
            if former is not None and same:
                return former
            try:
                found = open_index(folder, known=former)
                parts = [part for part in found.parts if part.stop <= snapshot.rows("chunks")]
                ends = np.array([part.stop - 1 for part in parts], np.int64)
                recorded = snapshot.numbers("chunks", "recorded_at", ends).tolist() if parts else []
                if recorded != [part.record.recorded_at for part in parts]:
                    raise TextIndexDamaged(f"{folder} holds rows of another history; build it again from the log")
            except (TextIndexDamaged, OSError) as error:
                if _stamp(f"{folder}{os.sep}{PARTS}") != stamp:
                    continue
                self.distrust(name, error)
                return None
            following = found.parts[len(parts)].stop if len(parts) < len(found.parts) else _NO_ROW
            self._text = _OpenText(name, f"{folder}{os.sep}{PARTS}", stamp, TextIndex(folder, parts), following)
            return self._text.text
        return former

    def quantised(self, snapshot: Snapshot) -> QuantisedIndex | None:
        """Return a version's vector codes, opened once; None if missing or unreadable.

        A file that is damaged or missing is tried again once it has been replaced.
        """
        record = snapshot.manifest.indexes.get(VECTORS)
        if record is None or record["space"] != snapshot.manifest.space:
            return None
        name = str(record["file"])
        with self._codes_lock:  # one of its own: words are looked up while codes are read
            found = self._quantised.get(name)
            if found is not None:
                return found
            stamp = _stamp(f"{self.folder}{os.sep}{name}")
            if self._unreadable == (name, stamp):
                return None
            try:
                index = QuantisedIndex.open(self.folder / name)
                if snapshot.space is not None and index.dim != snapshot.space.dim:
                    raise VectorsDamaged(f"its vectors have {index.dim} dimensions, the vault's {snapshot.space.dim}")
            except OSError as error:
                if isinstance(error, FileNotFoundError) and not self._is_newest(snapshot):
                    return (
                        None  # a writer has removed it since, which is not told: the next recall reads a newer version
                    )
                if isinstance(error, VectorsDamaged | FileNotFoundError):
                    self._unreadable = (name, stamp)
                logger.warning(
                    "the vector index %s cannot be read (%s); every row is scanned until it is rebuilt", name, error
                )
                return None
            self._hold(name, index)
            return index

    def has_codes(self, snapshot: Snapshot) -> bool:
        """Tell whether a version has vector codes to be read before it is asked."""
        return VECTORS in snapshot.manifest.indexes

    def trusts(self, name: str) -> bool:
        """Tell whether a file or folder below the index folder was not found damaged."""
        return name not in self._distrusted

    def distrust(self, name: str, error: object) -> None:
        """Stop reading a damaged file or folder; the log serves until a writer rebuilds it."""
        if name not in self._distrusted:
            logger.warning(
                "index %s cannot be used (%s); the log is read in its place, the next write makes it again", name, error
            )
        self._distrusted.add(name)
        self._terms.pop(name.removesuffix(".terms") + ".arrow", None)
        if self._text is not None and self._text.name == name:
            self._text = None
        self._segment_lists.clear()  # opened again where they are sound
        self._lists = None

    @property
    def distrusted(self) -> frozenset[str]:
        """Damaged files that have not been rebuilt."""
        return frozenset(self._distrusted)

    def trust(self, name: str) -> None:
        """Read what has been made again."""
        self._distrusted.discard(name)
        self._lists = None

    def _read_previous(self, snapshot: Snapshot, segment: Segment) -> NDArray[np.int64]:
        # turns alone: what a short section of a document matches says nothing of the section before it
        sessions = segment.column("session").indices
        if sessions.null_count == len(sessions):
            return np.broadcast_to(np.int64(-1), len(sessions))
        borrowed = self.terms(snapshot, segment).lengths[:, 2] > 0
        is_turn = columns.validity(sessions) if sessions.null_count else True
        return np.where(borrowed & is_turn, segment.numbers("previous"), -1)

    def joined_vectors(self, snapshot: Snapshot) -> NDArray[np.float32]:
        """Return the vectors of recall's space in one array, float32 (rows, d), in small vaults."""
        log = snapshot.vector_log
        found = self._vectors
        if found is None or found[0] != log:
            read = RowColumn(Snapshot.vectors, log)
            found = self._vectors = (log, read)
        joined: NDArray[np.float32] = found[1].of(snapshot)
        return joined

    def put_quantised(self, name: str, index: QuantisedIndex) -> None:
        """Remember vector codes just built under the name that the next version will give them."""
        with self._codes_lock:
            self._hold(name, index)

    def _is_newest(self, snapshot: Snapshot) -> bool:
        try:
            return read_current(self.folder.parent) == snapshot.name
        except LaminaError:
            return True

    def _hold(self, name: str, index: QuantisedIndex) -> None:
        held = [(known, codes) for known, codes in self._quantised.items() if known != name]
        self._quantised = dict([*held[-1:], (name, index)])

    def terms(self, snapshot: Snapshot, segment: Segment, kept: BodyWords | None = None) -> TermRows:
        """Return a segment's forward lists from memory, their file, or else the log.

        ``kept`` gets the words of what is analysed.
        """
        found = self._terms.get(segment.ref.name)
        if found is None:
            with self._terms_lock:  # one of its own: ids are looked up while many rows are analysed
                found = self._terms.get(segment.ref.name)
                if found is None:
                    try:
                        if not self.trusts(terms_name(segment)):
                            raise TermsDamaged("it was found damaged")
                        rows = open_terms(terms_path(self.folder, segment), verify=False)
                        if len(rows.lengths) != segment.rows:
                            raise TermsDamaged("another number of rows")
                    except TermsDamaged:
                        self._analyzers = self._analyzers or make_analyzers()
                        former = self._former_terms.pop(segment.ref.name, None)
                        if former is not None:
                            rows = renew_terms(snapshot, segment, former, self._analyzers[0])
                        else:
                            stop = segment.start + segment.rows
                            rows = analyse_rows(snapshot, segment.start, stop, self._analyzers, kept)
                    found = self._terms[segment.ref.name] = (segment.start, read_only(rows))
        return found[1]

    def total_lengths(self, snapshot: Snapshot, segment: Segment) -> NDArray[np.int64]:
        """Return the sums of a segment's lengths, int64 (3,); added up once, not for each version."""
        found = self._totals.get(segment.ref.name)
        if found is None:
            found = self._totals[segment.ref.name] = sum_lengths(self.terms(snapshot, segment).lengths)
        return found

    def languages(self, snapshot: Snapshot, segment: Segment) -> Mapping[str, int]:
        """Return the first row in the segment of each language other than English."""
        found = self._languages.get(segment.ref.name)
        if found is None:
            lists = self._segment_lists.get(segment.ref.name)
            if lists is not None:
                spans = find_terms_numpy(lists.inverted, _MARKS, lists.rows).tolist()
                first = [int(lists.inverted.rows[start]) if start < stop else _NO_ROW for start, stop in spans]
            else:
                rows = self.terms(snapshot, segment)
                entries = np.flatnonzero((rows.hashes[:, np.newaxis] == _MARKS).any(axis=1))  # np.isin imports numpy.ma
                at = (np.searchsorted(rows.indptr, entries, side="right") - 1).tolist()
                seen: dict[int, int] = {}
                for mark, row in zip(rows.hashes[entries].tolist(), at, strict=True):
                    seen.setdefault(mark, row)
                first = [seen.get(mark, _NO_ROW) for mark in _MARKS.tolist()]
            found = {name: row for name, row in zip(LANGUAGES[1:], first, strict=True) if row != _NO_ROW}
            self._languages[segment.ref.name] = found
        return found

    def inverted(self, snapshot: Snapshot) -> InvertedLists:
        """Return the inverted lists of a version, as far as they have been built.

        They reach to the last segment of `inverted.LEAST_ROWS` rows before the first one that lacks its file; while one
        does, each call looks for it.
        """
        known = self._lists
        # each recall asks: no Path is made for it
        come = known is not None and known.awaited and os.path.exists(known.awaited)  # noqa: PTH110
        if known is not None and known.version == snapshot.version and not come:
            return known.lists
        if known is not None and not come and not known.awaited and self._reach_alike(known, snapshot):
            self._lists = known._replace(version=snapshot.version)
            return known.lists
        with self._lock:
            opened: list[InvertedSegment] = []
            small: list[Segment] = []
            awaited = ""
            reached = 0
            for number, segment in enumerate(snapshot.segments("chunks"), 1):
                if segment.rows < inverted.LEAST_ROWS:
                    small.append(segment)
                    continue
                lists = self._open_lists(snapshot, segment)
                if lists is None:
                    awaited = os.fspath(lists_path(self.folder, segment)) if self.trusts(lists_name(segment)) else ""
                    break
                opened += [*(self._invert(snapshot, between) for between in small), lists]
                small = []
                reached = number
            self._lists = _OpenLists(
                snapshot.version, InvertedLists(opened), awaited, snapshot.segments("chunks")[:reached]
            )
            return self._lists.lists

    def _reach_alike(self, known: _OpenLists, snapshot: Snapshot) -> bool:
        """Return True where only small segments came behind the lists of another version."""
        segments, reached = snapshot.segments("chunks"), len(known.segments)
        return segments[:reached] == known.segments and all(
            segment.ref.rows < inverted.LEAST_ROWS for segment in segments[reached:]
        )

    def _open_lists(self, snapshot: Snapshot, segment: Segment) -> InvertedSegment | None:
        """Return the lists of a segment from their file; None if it is missing or damaged."""
        name = lists_name(segment)
        found = self._segment_lists.get(segment.ref.name)
        if found is None and self.trusts(name):
            path = lists_path(self.folder, segment)
            try:
                lists = open_lists(path, segment.rows, verify=False)
            except TermsDamaged as error:
                if path.exists():
                    self.distrust(name, error)
                return None
            rows = self.terms(snapshot, segment)
            found = self._segment_lists[segment.ref.name] = InvertedSegment(segment.start, rows, lists)
        return found

    def _invert(self, snapshot: Snapshot, segment: Segment) -> InvertedSegment:
        """Return the lists of a small segment, made here: some milliseconds."""
        found = self._segment_lists.get(segment.ref.name)
        if found is None:
            rows = self.terms(snapshot, segment)
            found = self._segment_lists[segment.ref.name] = InvertedSegment(segment.start, rows, invert(rows))
        return found

    def lacks_lists(self, snapshot: Snapshot) -> list[Segment]:
        """Return the segments whose inverted lists have no file, or a damaged one."""
        large = (segment for segment in snapshot.segments("chunks") if segment.rows >= inverted.LEAST_ROWS)
        with self._lock:
            return [segment for segment in large if self._open_lists(snapshot, segment) is None]

    def lacks_terms(self, snapshot: Snapshot) -> list[Segment]:
        """Return the large segments whose forward lists have no file, or a damaged one."""
        large = (segment for segment in snapshot.segments("chunks") if segment.rows >= inverted.LEAST_ROWS)
        return [s for s in large if not (self.trusts(terms_name(s)) and terms_path(self.folder, s).exists())]

    def forget_words(self) -> None:
        """Free what analysing many rows has left in memory."""
        with self._terms_lock:
            self._analyzers = []

    def put_terms(self, segment: Segment, rows: TermRows) -> None:
        """Remember the forward lists of a segment just written."""
        self._terms[segment.ref.name] = (segment.start, read_only(rows))
        self._former_terms.pop(segment.ref.name, None)
        self._languages.pop(segment.ref.name, None)
        self._totals.pop(segment.ref.name, None)
        if self._segment_lists.pop(segment.ref.name, None) is not None or segment.rows >= inverted.LEAST_ROWS:
            self._lists = None

    def put_former_terms(self, found: Mapping[str, FormerTerms]) -> None:
        """Remember what the forward lists of rewritten segments can be made of, by their names."""
        self._former_terms = dict(found)

    def known_terms(self) -> list[tuple[int, TermRows]]:
        """Return (first row, forward lists) of all segments in memory, those merged away included."""
        return sorted(self._terms.values(), key=lambda item: item[0])

    def tail(self, snapshot: Snapshot, first: int) -> Tail:
        """Return the rows from ``first`` on, grown to cover a version (they may cover more)."""
        tail = self._tail
        if tail.first == first and tail.stop >= snapshot.rows("chunks"):
            return tail
        grown = max(first, tail.stop) if tail.first == first else first
        for segment in snapshot.segments_from(
            "chunks", grown
        ):  # before the lock is taken: some may have to be analysed
            self.terms(snapshot, segment)
        with self._lock:
            if self._tail.first != first:
                self._tail = Tail(first)
            for segment in snapshot.segments_from("chunks", self._tail.stop):
                begin = max(self._tail.stop - segment.start, 0)
                self._tail.append(slice_terms(self.terms(snapshot, segment), begin, segment.rows))
            return self._tail

    def tail_words(self, snapshot: Snapshot, first: int) -> TailWords:
        """Return the words of the rows from ``first`` on; they cover the version, or more.

        Only operators and misspelt words ask for them. O(text of the rows that are new).
        """
        tail = self._tail_words
        if tail.first == first and tail.stop >= snapshot.rows("chunks"):
            return tail
        with self._lock:
            tail, stop = self._tail_words, snapshot.rows("chunks")
            if tail.first != first:
                within = tail.first < first <= tail.stop
                tail = self._tail_words = tail.from_row(first) if within else TailWords(first)
            for at in range(tail.stop, stop, _WORDS_AT_ONCE):
                rows = np.arange(at, min(at + _WORDS_AT_ONCE, stop), dtype=np.int64)
                titles, texts = (
                    surface_texts(
                        [encodable(value or "") for value in snapshot.values("chunks", name, rows)],
                        analyzer=self._analyzer,
                    )
                    for name in ("title", "text")
                )
                tail.append(titles, texts)
            return tail

    def drop(self, snapshot: Snapshot) -> list[str]:
        """Forget segments that a version no longer has; return their names."""
        keep = {s.ref.name for s in snapshot.segments("chunks")}
        with self._lock:
            gone = [name for name in self._terms if name not in keep]
            for name in gone:
                del self._terms[name]
                self._segment_lists.pop(name, None)
                self._languages.pop(name, None)
                self._totals.pop(name, None)
        return gone

    def ids(self, snapshot: Snapshot) -> KeyIndex:
        """Return the id index, grown to cover a version (it may cover more: the log only grows)."""
        with self._lock:
            self._open_keys(snapshot)
            if self._ids.rows < snapshot.rows("chunks"):
                start = self._ids.rows
                for segment in snapshot.segments_from("chunks", start):
                    names = segment.texts("id", max(0, start - segment.start))
                    self._ids = self._ids.extend(hash_ids(names))
            return self._ids

    def versions(self, snapshot: Snapshot) -> KeyIndex:
        """Return the index of versions that have a vector in the space that recall uses."""
        with self._lock:
            self._open_keys(snapshot)
            if self._versions_space != snapshot.manifest.space:
                self._versions, self._versions_space = KeyIndex(), snapshot.manifest.space
            start, stop = self._versions.rows, min(snapshot.rows("chunks"), snapshot.rows(snapshot.vector_log))
            for segment in snapshot.segments_from("chunks", start):
                begin, end = max(start, segment.start), min(stop, segment.start + segment.rows)
                if begin < end:
                    column = segment.column("version").slice(begin - segment.start, end - begin)
                    self._versions = self._versions.extend(
                        hash_versions(column.to_pylist()), present=_has_vector(snapshot, begin, end)
                    )
            return self._versions

    def add_keys(
        self, snapshot: Snapshot, first: int, values: Mapping[str, Any], matrix: NDArray[np.float32] | None
    ) -> None:
        """Add the keys of rows just committed upon a version, if all before them are known."""
        if self.is_sharded:
            return
        with self._lock:
            if self._ids.rows == first:
                self._ids = self._ids.extend(hash_ids(values["id"]))
            whole = self._versions.rows == first == snapshot.rows(snapshot.vector_log)
            if matrix is not None and whole and self._versions_space == snapshot.manifest.space:
                present = np.asarray(matrix.any(axis=1), np.bool_)
                self._versions = self._versions.extend(hash_versions(values["version"]), present=present)

    def add_columns(self, first: int, values: Mapping[str, Any]) -> None:
        """Add rows that were just committed to the narrow columns, if all before them are known."""
        if self.is_sharded:
            return
        created = [MISSING_US if us is None else us for us in values["created_at"]]
        self.created.append(first, lambda: created)
        if values["session"].count(None) == len(created):
            self.previous.append(first, lambda: [-1] * len(created))
        self.categories.append(first, values)

    def close(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._terms.clear()
            self._segment_lists.clear()
            self._lists = None
            self._text, self._quantised = None, {}
            self._blocks = (), None

    def _open_keys(self, snapshot: Snapshot) -> None:
        if self._opened_keys:
            return
        self._opened_keys = True
        record = snapshot.manifest.indexes.get(KEYS)
        if record is None:
            return
        try:
            self._ids = KeyIndex.open(self.folder / str(record["ids"]))
            if record["space"] == snapshot.manifest.space:
                self._versions = KeyIndex.open(self.folder / str(record["versions"]))
                self._versions_space = snapshot.manifest.space
        except (KeysDamaged, OSError):
            self._ids, self._versions = KeyIndex(), KeyIndex()


def _has_vector(snapshot: Snapshot, begin: int, end: int) -> NDArray[np.bool_]:
    """Return bool (end - begin,): False where the vector is all zero."""
    last = snapshot.segments(snapshot.vector_log)[-1]
    if begin >= last.start:  # what has just been written, as a rule
        matrix = snapshot.vectors(last)[begin - last.start : end - last.start]
        return np.asarray(matrix.any(axis=1), np.bool_)
    found = np.empty(end - begin, np.bool_)
    for segment, positions, offsets in snapshot.groups(snapshot.vector_log, np.arange(begin, end, dtype=np.int64)):
        matrix = snapshot.vectors(segment)
        found[positions] = matrix[offsets[0] : offsets[-1] + 1].any(axis=1)
    return found
