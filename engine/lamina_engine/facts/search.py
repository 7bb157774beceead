"""Full text over facts and relations: the lists of whole blocks from files, the newest rows in memory, scored alike.

The files cover whole blocks of the facts log, and the version's manifest names them; so a missing or forgotten file means
a longer tail and not another answer. How the best are found among many is told in `lamina_engine.facts.ranking`.
"""

from __future__ import annotations

import logging
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.facts import wordlists
from lamina_engine.facts.about import Standing, holding, made
from lamina_engine.facts.ranking import Best, Source, Word, best
from lamina_engine.facts.wording import entries_of
from lamina_engine.facts.wordlists import WordRows, WordsDamaged, word_key
from lamina_engine.index.analysis import ANALYSIS_ID, Analyzer, term_hash

if TYPE_CHECKING:
    from pathlib import Path

    from lamina_engine.facts.book import Book, Fact
    from lamina_engine.index.tables import Tables
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.snapshot import Snapshot

logger = logging.getLogger(__name__)

LOG: Final = "facts"
FORMER: Final = "facttext"
"""Name of what former versions kept; it is let go."""
INDEX: Final = "factwords"
"""Name of its record in a manifest: ``rows`` covered, ``analysis``, and the files ``words0``, ``words1``, ... in their order."""
BLOCK_ROWS: Final = 4_096
_BULK_TAIL: Final = 2_048
"""Rows of the tail from which on they get lists as those of files."""
_MOST_WORDS: Final = 32
_LONGER: Final = 2
"""Lists of at most so many times the rows are taken into the new ones."""


class FactText:
    """The words of the facts of one vault, in one process; grows with the log and is shared by all versions.

    Any number of threads may search.
    """

    def __init__(self, tables: Tables) -> None:
        self._folder = tables.folder
        self._analyzer = Analyzer()
        self._files: dict[str, WordRows] = {}
        self._looked = 0
        """Rows that the newest record known of says its files cover."""
        self._runs: list[WordRows] = []
        """Of neighbouring stretches, from row 0 on: those of files, then of memory."""
        self._late: dict[int, array[int]] = {}
        """By key, rows after the last run."""
        self._stop = 0
        self._lock = after_fork.make_lock()

    def find(
        self, snapshot: Snapshot, book: Book, text: str, *, limit: int, valid_at: int | None, relations: bool
    ) -> list[Fact]:
        """Return the facts (or, of ``relations``, those between entities) that hold a text's words best.

        Parameters
        ----------
        snapshot : Snapshot
            The version that the book is of.
        book : Book
        text : str
            A question; function words are not looked for.
        limit : int
            Most facts.
        valid_at : int or None
            Only facts that hold then, us.
        relations : bool
            Facts whose object is an entity, or those whose object is a text.

        Returns
        -------
        list of Fact
            By the sum of the inverse document frequencies of the words they hold; then the surer, then the newer.
        """
        stems = sorted([term.stem for term in self._analyzer.query(text) if not term.stop][:_MOST_WORDS])
        if not stems or not book.facts:
            return []
        with self._lock:
            self._level(snapshot, book)
            lists = [[self._lists(term_hash(stem), kind, book.facts) for kind in (False, True)] for stem in stems]
        words = []
        for of_facts, of_relations in lists:
            count = sum(map(len, (*of_facts, *of_relations)))
            if count:
                words.append(Word(_idf(count, book.facts), of_relations if relations else of_facts))
        found = best(words, _source(book, valid_at), k=limit, stop=book.facts)
        by_row = {fact.row: fact for fact in made(book, _standing(found), "out")}
        return [by_row[each.row] for each in found]

    def _lists(self, hash: int, relation: bool, below: int) -> tuple[NDArray[np.integer], ...]:
        key = word_key(hash, relation=relation)
        lists: list[NDArray[np.integer]] = [run.of(key) for run in self._runs if run.start < below]
        if lists and self._runs[-1].stop > below:
            lists = [rows[: np.searchsorted(rows, below)] for rows in lists]
        late = self._late.get(key)
        if late is not None:  # copied: an array that is looked at cannot grow
            rows = np.array(late, np.uint32)
            lists.append(rows[: np.searchsorted(rows, below)])
        return tuple(rows for rows in lists if len(rows))

    def _level(self, snapshot: Snapshot, book: Book) -> None:
        """Take in the files of a version, and bring the words of the rows after them into memory."""
        record = _record(snapshot)
        if record is not None and int(record["rows"]) > self._looked:
            self._looked = int(record["rows"])
            self._files = _read(self._folder, record, self._files)
            runs = list(self._files.values())
            if runs and runs[-1].stop > (self._runs[-1].stop if self._runs else 0):
                self._runs, self._late, self._stop = runs, {}, runs[-1].stop
        if self._stop >= book.facts:
            return
        entries = entries_of(self._analyzer, book, self._stop, book.facts)
        if book.facts - self._stop >= _BULK_TAIL and not self._late:
            self._runs = [*self._runs, wordlists.made(self._stop, book.facts, entries)]
        else:
            for key, rows in _each(wordlists.made(self._stop, book.facts, entries)):
                self._late.setdefault(key, array("I")).extend(rows)
        self._stop = book.facts


def _each(words: WordRows) -> Iterator[tuple[int, list[int]]]:
    rows, starts = words.rows.tolist(), words.starts.tolist()
    for at, key in enumerate(words.keys.tolist()):
        yield key, rows[starts[at] : starts[at + 1]]


def _source(book: Book, valid_at: int | None) -> Source:
    tables = book.tables

    def likely(rows: NDArray[np.int64]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = tables.confidence.values[rows]
        if len(tables.raised):
            found = np.where(np.isin(rows, tables.raised), np.float32(tables.surest), found)
        return found

    return Source(lambda rows: holding(book, rows, valid_at), likely, tables.surest)


def _standing(found: Sequence[Best]) -> Standing:
    rows, begins, stops = (np.array([each[at] for each in found], np.int64) for at in (2, 3, 4))
    return Standing(rows, begins, stops, np.array([each.confidence for each in found], np.float32))


def _idf(count: int, n: int) -> float:
    return math.log1p((n - count + 0.5) / (count + 0.5))


def of(view: View) -> FactText:
    """Return the words of a vault's facts."""
    return view.tables.cached("facts.words", lambda: FactText(view.tables))


# ---------------------------------------------------------------------- files


def _record(snapshot: Snapshot) -> dict[str, Any] | None:
    """Return what a version says of its files; None for none, or files of other rules."""
    record = snapshot.manifest.indexes.get(INDEX)
    return record if record is not None and record.get("analysis") == ANALYSIS_ID else None


def _names(record: dict[str, Any]) -> list[str]:
    names: list[str] = []
    while (name := record.get(f"words{len(names)}")) is not None:
        names.append(str(name))
    return names


def _read(folder: Path, record: dict[str, Any], known: Mapping[str, WordRows]) -> dict[str, WordRows]:
    """Return the lists of a version's files, up to the first that cannot be used: what follows is taken from the log."""
    files: dict[str, WordRows] = {}
    stop = 0
    for name in _names(record):
        try:
            words = known[name] if name in known else wordlists.open_words(folder / name)
        except (WordsDamaged, OSError) as error:
            logger.warning("%s cannot be read (%s); the words of its facts are taken from the log", name, error)
            break
        if words.start != stop or not stop < words.stop <= int(record["rows"]):
            logger.warning("%s does not cover what it should; the words of its facts are taken from the log", name)
            break
        files[name], stop = words, words.stop
    return files


def keep_level(memory: Memory) -> None:
    """Bring what follows from facts level with the log: contradictions are noted, and whole blocks of rows get their lists.

    A failure of these costs time at the next question, never a fact: it is logged, and the rows are analysed then.
    """
    from lamina_engine.facts.contradiction import catch_up

    catch_up(memory)
    if not _is_behind(memory.view().snapshot):
        return
    with memory.store.exclusive(memory.lock_timeout_s):
        view = memory.view()
        if not _is_behind(view.snapshot):
            return
        try:
            made = _extended(view)
        except OSError as error:
            logger.warning("%s: the words of facts are behind, facts are analysed when asked: %r", memory.root, error)
            return
        with memory.store.transaction(memory.lock_timeout_s) as transaction:
            transaction.set_index(INDEX, made)
            transaction.set_index(FORMER, None)
        memory.indexer.remove_stale()


def _is_behind(snapshot: Snapshot) -> bool:
    record = _record(snapshot)
    return (int(record["rows"]) if record is not None else 0) < _whole_blocks(snapshot)


def _whole_blocks(snapshot: Snapshot) -> int:
    return snapshot.rows(LOG) // BLOCK_ROWS * BLOCK_ROWS


def _extended(view: View) -> dict[str, Any]:
    """Write the lists of the blocks that have none; return the record of all files.

    New lists take in those before them that are not much longer, so that there are few files and a row is written anew
    O(log rows) times.
    """
    from lamina_engine.facts.book import book_of

    folder, snapshot, record = view.tables.folder, view.snapshot, _record(view.snapshot)
    files = _read(folder, record, {}) if record is not None else {}
    start, stop = max((words.stop for words in files.values()), default=0), _whole_blocks(snapshot)
    words = wordlists.made(start, stop, entries_of(Analyzer(), book_of(view), start, stop))
    names, taken = list(files), [words]
    while names and files[names[-1]].stop - files[names[-1]].start <= _LONGER * (stop - taken[-1].start):
        taken.append(files[names.pop()])
    generation = snapshot.manifest.rewritten
    name = f"facts-{taken[-1].start:012d}-{stop:012d}{f'-{generation}' if generation else ''}.words"
    wordlists.save(folder / name, wordlists.joined(taken[::-1]))
    names.append(name)
    return {"analysis": ANALYSIS_ID, "rows": stop, **{f"words{at}": name for at, name in enumerate(names)}}
