"""Full text of facts and relations: postings in files, newest rows in memory.

Files cover full blocks of the facts log and are named by the version's manifest, so a missing file means a longer tail and not
another answer. Facts and relations have lists of their own. `lamina_engine.facts.ranking` finds the best of many; decision
0025 says why this is not a Tantivy index.
"""

from __future__ import annotations

import logging
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.errors import LaminaError
from lamina_engine.facts.ranking import QueryWord, RankedFact, RankSource, rank_facts
from lamina_engine.facts.view import FactStates, read_facts, read_states_at
from lamina_engine.index.analysis import ANALYSIS_ID, Analyzer, term_hash
from lamina_engine.index.sealed import Seal
from lamina_kernels._jit import is_ready
from lamina_kernels.counting import count_keys, expand_rows

if TYPE_CHECKING:
    from lamina_engine.facts.view import FactView
    from lamina_engine.index.tables import Tables
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.results import Fact
    from lamina_engine.store.snapshot import Snapshot

U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
_ROW_BITS: Final = np.uint64(31)
_ROW_MASK: Final = np.uint64((1 << 31) - 1)
_ONE: Final = np.uint64(1)
_NO_ROWS: Final = np.empty(0, np.uint32)


class PostingsDamaged(LaminaError, OSError):
    """File of postings that is torn or altered; it is rebuilt from the log."""


_SEAL: Final = Seal(b"LMNFWRD\n", 1, "24sQQQQ", what="words of facts", damaged=PostingsDamaged)
"""Fields: analysis, first row, one past the last row, words, entries. Payload: the arrays of `WordRows`."""


def word_key(hash: int, *, relation: bool) -> int:
    """Return the key of a word's list of facts or of relations, below 2**33."""
    return hash << 1 | relation


def pack_entries(hashes: U32, rows: I64, relations: NDArray[np.bool_]) -> U64:
    """Return one uint64 for each entry, ordered by word, kind and row."""
    keys = hashes.astype(np.uint64) << _ONE | relations
    found: U64 = keys << _ROW_BITS | rows.astype(np.uint64)
    return found


class Postings(NamedTuple):
    """The lists of the rows from ``start`` to ``stop``.

    Attributes
    ----------
    keys : uint64 (w,)
        Words, ascending; see `word_key`.
    starts : int64 (w + 1,)
        Word ``i`` owns ``rows[starts[i]:starts[i + 1]]``.
    rows : uint32 (m,)
        Ascending within a word.
    """

    start: int
    stop: int
    keys: U64
    starts: I64
    rows: U32

    def of(self, key: int) -> U32:
        """Return the rows of a word, ascending. O(log words)."""
        at = int(np.searchsorted(self.keys, np.uint64(key)))
        if at == len(self.keys) or int(self.keys[at]) != key:
            return _NO_ROWS
        return self.rows[self.starts[at] : self.starts[at + 1]]


def build_postings(start: int, stop: int, entries: U64) -> Postings:
    """Return the postings of some entries, which are sorted in place. O(m log m)."""
    entries.sort()
    keys = entries >> _ROW_BITS
    begins = np.flatnonzero(np.concatenate([[len(keys) > 0], keys[1:] != keys[:-1]])[: len(keys)])
    starts = np.append(begins, len(keys)).astype(np.int64)
    return Postings(start, stop, keys[begins], starts, (entries & _ROW_MASK).astype(np.uint32))


def merge_postings(parts: Sequence[Postings]) -> Postings:
    """Return the postings of adjacent ranges as one. O(m log m)."""
    if len(parts) == 1:
        return parts[0]
    entries = [np.repeat(part.keys, np.diff(part.starts)) << _ROW_BITS | part.rows for part in parts]
    return build_postings(parts[0].start, parts[-1].stop, np.concatenate(entries))


def save_postings(path: Path, words: Postings) -> None:
    """Write postings to a file atomically."""
    fields = (ANALYSIS_ID.encode(), words.start, words.stop, len(words.keys), len(words.rows))
    arrays = (words.keys.astype("<u8"), words.starts.astype("<i8"), words.rows.astype("<u4"))
    _SEAL.write(path, fields, [array.data for array in arrays if len(array)])


def open_postings(path: Path) -> Postings:
    """Map a file of postings, checking every byte once."""
    (analysis, start, stop, n, m), data = _SEAL.open(path, verify=True)
    if analysis.rstrip(b"\0").decode("utf-8", "replace") != ANALYSIS_ID:
        raise PostingsDamaged(f"{path} was made under other rules than {ANALYSIS_ID}; it is made again from the log")
    if len(data) != 16 * n + 8 + 4 * m:
        raise PostingsDamaged(f"{path} does not hold the lists that its header says; it is made again from the log")
    keys = np.frombuffer(data, "<u8", n)
    starts = np.frombuffer(data, "<i8", n + 1, 8 * n)
    rows = np.frombuffer(data, "<u4", m, 16 * n + 8)
    if starts[0] != 0 or starts[-1] != m or (starts[1:] < starts[:-1]).any():
        raise PostingsDamaged(f"{path} has lists out of order; it is made again from the log")
    return Postings(start, stop, keys, starts, rows)


_BULK_ROWS: Final = 65_536
"""Rows to be indexed from which on it pays to load the kernels."""
_SMALL_BLOCK: Final = 2_047
"""Rows analysed at a time where they are not to be loaded; see `lamina_engine.index.terms.build_term_rows`."""
_BULK_BLOCK: Final = 65_536


def analyze_facts(analyzer: Analyzer, kg: FactView, start: int, stop: int) -> U64:
    """Return the words of the facts in a range of rows, as `pack_entries` packs them.

    The kernels of bulk analysis take a second to load, more than some thousand short texts take without them.
    """
    bulk = stop - start >= _BULK_ROWS or (is_ready(count_keys) and is_ready(expand_rows))
    step = _BULK_BLOCK if bulk else _SMALL_BLOCK
    parts = [_analyze_block(analyzer, kg, at, min(at + step, stop)) for at in range(start, stop, step)]
    return np.concatenate([np.empty(0, np.uint64), *parts])


def _analyze_block(analyzer: Analyzer, kg: FactView, start: int, stop: int) -> U64:
    from lamina_engine.index.terms import build_term_rows

    found = kg.texts(start, stop)
    texts = [f"{subject} {predicate} {object}".replace("_", " ") for _, subject, predicate, object in found]
    none = [""] * len(texts)
    terms = build_term_rows(texts, none, none, analyzer=analyzer)
    rows = np.repeat(np.fromiter((row for row, *_ in found), np.int64, len(found)), np.diff(terms.indptr))
    return pack_entries(terms.hashes, rows, kg.tables.target.values[rows] >= 0)


logger = logging.getLogger(__name__)

LOG: Final = "facts"
WORDS_INDEX: Final = "factwords"
"""Name of its record in a manifest: ``rows`` covered, ``analysis``, and the files ``words0``, ``words1``, ... in their order."""
BLOCK_ROWS: Final = 4_096
_BULK_TAIL: Final = 2_048
"""Rows of the tail from which on they get lists as those of files."""
_MOST_WORDS: Final = 32
_MERGE_RATIO: Final = 2
"""Lists of at most so many times the rows are taken into the new ones."""


class FactTextIndex:
    """Postings of a vault's facts in one process, shared by all versions; any thread may search."""

    def __init__(self, tables: Tables) -> None:
        self._folder = tables.folder
        self._analyzer = Analyzer()
        self._files: dict[str, Postings] = {}
        self._covered_rows = 0
        """Rows that the newest record known of says its files cover."""
        self._runs: list[Postings] = []
        """Of neighbouring intervals, from row 0 on: those of files, then of memory."""
        self._newest: dict[int, array[int]] = {}
        """By key, rows after the last run."""
        self._stop = 0
        self._lock = after_fork.make_lock()

    def find(
        self, snapshot: Snapshot, kg: FactView, text: str, *, limit: int, valid_at: int | None, relations: bool
    ) -> list[Fact]:
        """Return the facts (or relations) that hold at a moment and match a text's words best.

        By the summed inverse document frequency of matched words; then the more confident, then the newer.
        """
        stems = sorted([term.stem for term in self._analyzer.query(text) if not term.stop][:_MOST_WORDS])
        if not stems or not kg.fact_rows:
            return []
        with self._lock:
            self._sync(snapshot, kg)
            lists = [[self._lists(term_hash(stem), kind, kg.fact_rows) for kind in (False, True)] for stem in stems]
        words = []
        for of_facts, of_relations in lists:
            count = sum(map(len, (*of_facts, *of_relations)))
            if count:
                words.append(QueryWord(_idf(count, kg.fact_rows), of_relations if relations else of_facts))
        found = rank_facts(words, _rank_source(kg, valid_at), k=limit, stop=kg.fact_rows)
        by_row = {fact.row: fact for fact in read_facts(kg, _to_states(found), "out")}
        return [by_row[each.row] for each in found]

    def _lists(self, hash: int, relation: bool, below: int) -> tuple[NDArray[np.integer], ...]:
        key = word_key(hash, relation=relation)
        lists: list[NDArray[np.integer]] = [run.of(key) for run in self._runs if run.start < below]
        if lists and self._runs[-1].stop > below:
            lists = [rows[: np.searchsorted(rows, below)] for rows in lists]
        late = self._newest.get(key)
        if late is not None:  # copied: an array that is looked at cannot grow
            rows = np.array(late, np.uint32)
            lists.append(rows[: np.searchsorted(rows, below)])
        return tuple(rows for rows in lists if len(rows))

    def _sync(self, snapshot: Snapshot, kg: FactView) -> None:
        """Open the files of a version, and analyse the rows after them into memory."""
        record = _index_record(snapshot)
        if record is not None and int(record["rows"]) > self._covered_rows:
            self._covered_rows = int(record["rows"])
            self._files = _open_files(self._folder, record, self._files)
            runs = list(self._files.values())
            if runs and runs[-1].stop > (self._runs[-1].stop if self._runs else 0):
                self._runs, self._newest, self._stop = runs, {}, runs[-1].stop
        if self._stop >= kg.fact_rows:
            return
        entries = analyze_facts(self._analyzer, kg, self._stop, kg.fact_rows)
        if kg.fact_rows - self._stop >= _BULK_TAIL and not self._newest:
            self._runs = [*self._runs, build_postings(self._stop, kg.fact_rows, entries)]
        else:
            for key, rows in _postings_by_key(build_postings(self._stop, kg.fact_rows, entries)):
                self._newest.setdefault(key, array("I")).extend(rows)
        self._stop = kg.fact_rows


def _postings_by_key(words: Postings) -> Iterator[tuple[int, list[int]]]:
    rows, starts = words.rows.tolist(), words.starts.tolist()
    for at, key in enumerate(words.keys.tolist()):
        yield key, rows[starts[at] : starts[at + 1]]


def _rank_source(kg: FactView, valid_at: int | None) -> RankSource:
    tables = kg.tables

    def likely(rows: NDArray[np.int64]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = tables.confidence.values[rows]
        if len(tables.raised):
            found = np.where(np.isin(rows, tables.raised), np.float32(tables.surest), found)
        return found

    return RankSource(lambda rows: read_states_at(kg, rows, valid_at), likely, tables.surest)


def _to_states(found: Sequence[RankedFact]) -> FactStates:
    rows, begins, stops = (np.array([each[at] for each in found], np.int64) for at in (2, 3, 4))
    return FactStates(rows, begins, stops, np.array([each.confidence for each in found], np.float32))


def _idf(count: int, n: int) -> float:
    return math.log1p((n - count + 0.5) / (count + 0.5))


def fact_text_index(view: View) -> FactTextIndex:
    """Return the full-text index of a vault's facts."""
    return view.tables.cached("facts.words", lambda: FactTextIndex(view.tables))


# ---------------------------------------------------------------------- files


def _index_record(snapshot: Snapshot) -> dict[str, Any] | None:
    """Return a version's record of its files; None without one or under other analysis rules."""
    record = snapshot.manifest.indexes.get(WORDS_INDEX)
    return record if record is not None and record.get("analysis") == ANALYSIS_ID else None


def _file_names(record: dict[str, Any]) -> list[str]:
    names: list[str] = []
    while (name := record.get(f"words{len(names)}")) is not None:
        names.append(str(name))
    return names


def _open_files(folder: Path, record: dict[str, Any], opened: Mapping[str, Postings]) -> dict[str, Postings]:
    """Return the postings of a version's files, up to the first unusable one."""
    files: dict[str, Postings] = {}
    stop = 0
    for name in _file_names(record):
        try:
            words = opened[name] if name in opened else open_postings(folder / name)
        except (PostingsDamaged, OSError) as error:
            logger.warning("%s cannot be read (%s); the words of its facts are taken from the log", name, error)
            break
        if words.start != stop or not stop < words.stop <= int(record["rows"]):
            logger.warning("%s does not cover what it should; the words of its facts are taken from the log", name)
            break
        files[name], stop = words, words.stop
    return files


def sync_index(memory: Memory) -> None:
    """Record new contradictions, and write postings of full blocks.

    A failure costs time at the next question, never a fact: it is logged, and the rows are analysed then.
    """
    from lamina_engine.facts.contradictions import sync_contradictions

    sync_contradictions(memory)
    if not _is_behind(memory.view().snapshot):
        return
    with memory.store.exclusive(memory.lock_timeout_s):
        view = memory.view()
        if not _is_behind(view.snapshot):
            return
        try:
            made = _extend_files(view)
        except OSError as error:
            logger.warning("%s: the words of facts are behind, facts are analysed when asked: %r", memory.root, error)
            return
        with memory.store.transaction(memory.lock_timeout_s) as transaction:
            transaction.set_index(WORDS_INDEX, made)
        memory.indexer.remove_stale()


def _is_behind(snapshot: Snapshot) -> bool:
    record = _index_record(snapshot)
    return (int(record["rows"]) if record is not None else 0) < _full_block_rows(snapshot)


def _full_block_rows(snapshot: Snapshot) -> int:
    return snapshot.rows(LOG) // BLOCK_ROWS * BLOCK_ROWS


def _extend_files(view: View) -> dict[str, Any]:
    """Write postings of uncovered blocks, merged with short files; return the new record.

    So files stay few, and a row is rewritten O(log rows) times.
    """
    from lamina_engine.facts.view import fact_view

    folder, snapshot, record = view.tables.folder, view.snapshot, _index_record(view.snapshot)
    files = _open_files(folder, record, {}) if record is not None else {}
    start, stop = max((words.stop for words in files.values()), default=0), _full_block_rows(snapshot)
    words = build_postings(start, stop, analyze_facts(Analyzer(), fact_view(view), start, stop))
    names, taken = list(files), [words]
    while names and files[names[-1]].stop - files[names[-1]].start <= _MERGE_RATIO * (stop - taken[-1].start):
        taken.append(files[names.pop()])
    generation = snapshot.manifest.rewritten
    name = f"facts-{taken[-1].start:012d}-{stop:012d}{f'-{generation}' if generation else ''}.words"
    save_postings(folder / name, merge_postings(taken[::-1]))
    names.append(name)
    return {"analysis": ANALYSIS_ID, "rows": stop, **{f"words{at}": name for at, name in enumerate(names)}}
