"""Full text over facts and relations: whole blocks through Tantivy, the newest rows exactly, all scored the same way.

The index covers whole blocks of the facts log, as that of the chunks does, and the version's manifest names it; so a
missing or forgotten index means a longer tail and not another answer. Tantivy finds; what ranks is counted here.
"""

from __future__ import annotations

import logging
import math
import shutil
import threading
import weakref
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import InvalidArgument
from lamina_engine.facts.wording import stems_of
from lamina_engine.index.analysis import ANALYSIS_ID, Analyzer
from lamina_engine.index.lexical import LexicalDamaged, LexicalIndex

if TYPE_CHECKING:
    from lamina_engine.facts.book import Book, Fact
    from lamina_engine.index.tables import Tables
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.snapshot import Snapshot

logger = logging.getLogger(__name__)

LOG: Final = "facts"
INDEX: Final = "facttext"
"""Name of the index in a version's manifest."""
_FOLDER: Final = "lexical-facts"
BLOCK_ROWS: Final = 4_096
_AT_ONCE: Final = 65_536
_FETCHED: Final = (24, 256, 2_048)
"""Rows looked at, of each part: few, and more where those do not hold any more."""
_MOST_HELD: Final = 20_000
"""Rows that the words given to Tantivy hold, the rarest aside: a word of most facts costs much and tells little."""
_ENOUGH: Final = 512
"""Rows of the tail from which on no more are collected."""
_RELATION: Final = "relation"
_LITERAL: Final = "literal"
_MOST_WORDS: Final = 32

_opened: weakref.WeakKeyDictionary[Tables, FactText] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


class FactText:
    """The words of the facts of one vault, in one process; grows with the log and is shared by all versions.

    Any number of threads may search.
    """

    def __init__(self, tables: Tables) -> None:
        self._folder = tables.folder
        self._analyzer = Analyzer()
        self._index: tuple[str, LexicalIndex] | None = None
        self._tail: dict[str, list[int]] = {}
        self._first = self._stop = 0
        self._lock = threading.Lock()

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
        stems = [term.stem for term in self._analyzer.query(text) if not term.stop][:_MOST_WORDS]
        if not stems or not book.facts:
            return []
        with self._lock:
            index = self._opened(snapshot)
            covered = min(index.rows if index else 0, book.facts)
            self._grow(book, covered)
            tail = {stem: self._below(stem, book.facts) for stem in stems}
        frequencies = {stem: (index.doc_freq(stem) if index else 0) + len(rows) for stem, rows in tail.items()}
        weights = {stem: weight for stem in stems if (weight := _idf(frequencies[stem], book.facts)) > 0.0}
        rarest = sorted(weights, key=lambda stem: (frequencies[stem], stem))
        recent = _by_weight(
            tail, {stem: weights[stem] for stem in rarest}, book.tables.target.values, relations=relations
        )
        found: dict[int, Fact] = {}
        for fetch in _FETCHED:
            rows = (
                []
                if index is None
                else _found(index, _rare(rarest, frequencies), fetch, covered, _RELATION if relations else _LITERAL)
            )
            facts = self._standing(book, [*rows, *recent[:fetch]], valid_at)
            found = {fact.row: fact for fact in facts if (fact.object_id is not None) == relations}
            if len(found) >= limit or (len(rows) < fetch and len(recent) <= fetch):
                break
        scored = [(self._score(fact, weights), fact) for fact in found.values()]
        ranked = sorted(scored, key=lambda item: (-item[0], -item[1].confidence, -item[1].row))
        return [fact for score, fact in ranked if score > 0.0][:limit]

    def _below(self, stem: str, facts: int) -> list[int]:
        rows = self._tail.get(stem, [])
        return rows[: bisect_left(rows, facts)]

    def _standing(self, book: Book, rows: Sequence[int], valid_at: int | None) -> list[Fact]:
        numbers = np.array(rows, np.int64)
        holds = book.standing(numbers, valid_at) if len(numbers) else np.zeros(0, np.bool_)
        return book.facts_at(numbers[holds].tolist())

    def _score(self, fact: Fact, weights: dict[str, float]) -> float:
        held = set(self._stems(f"{fact.subject} {fact.predicate} {fact.object}"))
        return math.fsum(weight for stem, weight in weights.items() if stem in held)

    def _stems(self, text: str) -> list[str]:
        return [term.stem for term in self._analyzer.tokens(text.replace("_", " "))]

    def _opened(self, snapshot: Snapshot) -> LexicalIndex | None:
        record = snapshot.manifest.indexes.get(INDEX)
        if record is None or record.get("analysis") != ANALYSIS_ID:
            return None
        name = str(record["folder"])
        if self._index is None or self._index[0] != name:
            try:
                self._index = (name, LexicalIndex.open(self._folder / name))
            except (LexicalDamaged, OSError, ValueError) as error:
                logger.warning("the index of facts %s cannot be read (%s); every fact is scanned", name, error)
                self._index = None
                return None
        index = self._index[1]
        if index.rows < int(record["rows"]):
            index.reload()
        return index

    def _grow(self, book: Book, first: int) -> None:
        """Bring the words of the rows from ``first`` on into memory."""
        if first != self._first:
            self._tail, self._first, self._stop = {}, first, first
        if self._stop >= book.facts:
            return
        for row, *parts in book.texts(self._stop, book.facts):
            for stem in dict.fromkeys(self._stems(" ".join(parts))):
                self._tail.setdefault(stem, []).append(row)
        self._stop = book.facts


def _by_weight(
    tail: Mapping[str, Sequence[int]], weights: Mapping[str, float], targets: NDArray[np.int64], *, relations: bool
) -> list[int]:
    """Return rows of the tail that hold any of the words (given rarest first), those of most weight first, then the newer."""
    scores: dict[int, float] = {}
    for stem, weight in weights.items():
        if len(scores) >= _ENOUGH:  # what follows are common words, and the score counts them anyway
            break
        for row in tail[stem]:
            scores[row] = scores.get(row, 0.0) + weight
    rows = np.fromiter(scores, np.int64, len(scores))
    kept = (targets[rows] >= 0) == relations
    rows, weighed = rows[kept], np.fromiter(scores.values(), np.float64, len(scores))[kept]
    ordered: list[int] = rows[np.lexsort((-rows, -weighed))].tolist()
    return ordered


def _rare(stems: Sequence[str], frequencies: Mapping[str, int]) -> list[str]:
    """Return the rarest of the stems that few rows hold together, the rarest one in any case: others only rank."""
    kept: list[str] = []
    held = 0
    for stem in stems:
        held += frequencies[stem]
        if kept and held > _MOST_HELD:
            break
        kept.append(stem)
    return kept


def _found(index: LexicalIndex, stems: Sequence[str], fetch: int, below: int, kind: str) -> list[int]:
    """Return rows that hold stems (given rarest first) best.

    A word of so many facts that they cannot be told apart by it is left out; where no other is asked for, the newest rows
    stand for all of them.
    """
    for n in range(len(stems), 0, -1):
        rows = index.search(stems[:n], fetch, (kind,))
        if rows is not None:
            found: list[int] = rows[rows < below].tolist()
            return found
    return list(range(below - 1, max(below - fetch, 0) - 1, -1)) if stems else []


def of(view: View) -> FactText:
    """Return the words of a vault's facts."""
    with _lock:
        found = _opened.get(view.tables)
        if found is None:
            found = _opened[view.tables] = FactText(view.tables)
        return found


def keep_level(memory: Memory) -> None:
    """Bring what follows from facts level with the log: contradictions are noted, and whole blocks of rows are indexed.

    A failure of the index costs time at the next question, never a fact: it is logged, and the rows are scanned.
    """
    from lamina_engine.facts.contradiction import catch_up

    catch_up(memory)
    snapshot = memory.view().snapshot
    wanted = snapshot.rows(LOG) // BLOCK_ROWS * BLOCK_ROWS
    record = snapshot.manifest.indexes.get(INDEX)
    if wanted == 0 or (record is not None and _is_level(record, wanted)):
        return
    with memory.store.exclusive(memory.lock_timeout_s):
        view = memory.view()
        record = view.snapshot.manifest.indexes.get(INDEX)
        try:
            made = _extended(memory, view, record, view.snapshot.rows(LOG) // BLOCK_ROWS * BLOCK_ROWS)
        except (LexicalDamaged, InvalidArgument, OSError, ValueError) as error:
            logger.warning("%s: the index of facts is behind, facts are scanned: %r", memory.root, error)
            return
        with memory.store.transaction(memory.lock_timeout_s) as transaction:
            transaction.set_index(INDEX, made)
        memory.indexer.remove_stale()


def _is_level(record: dict[str, Any], wanted: int) -> bool:
    return record.get("analysis") == ANALYSIS_ID and int(record["rows"]) >= wanted


def _extended(memory: Memory, view: View, record: dict[str, Any] | None, wanted: int) -> dict[str, Any]:
    from lamina_engine.facts.book import book_of

    folder = memory.tables.folder
    index, name = None, f"{_FOLDER}-{view.snapshot.version:010d}"
    if record is not None and record.get("analysis") == ANALYSIS_ID:
        name = str(record["folder"])
        try:
            index = LexicalIndex.open(folder / name)
        except (LexicalDamaged, OSError, ValueError) as error:
            logger.warning("the index of facts %s is built again: %s", name, error)
            name = f"{_FOLDER}-{view.snapshot.version:010d}"
    if index is None or index.rows > wanted:
        shutil.rmtree(folder / name, ignore_errors=True)
        index = LexicalIndex.create(folder / name)
    book, analyzer, waiting = book_of(view), Analyzer(), wanted - index.rows
    appending = index.begin()
    try:
        for start in range(appending.next, wanted, _AT_ONCE):
            stop = min(wanted, start + _AT_ONCE)
            stems = stems_of(analyzer, book, start, stop, waiting=waiting)
            targets = book.tables.target.values[start:stop] >= 0
            kinds = [(_RELATION,) if is_one else (_LITERAL,) for is_one in targets.tolist()]
            appending.add(stems, kinds, repeat(None, len(stems)))
    except BaseException:
        appending.abandon()
        raise
    appending.commit()
    return {"folder": name, "analysis": ANALYSIS_ID, "rows": wanted}


def _idf(count: int, n: int) -> float:
    return math.log1p((n - count + 0.5) / (count + 0.5)) if 0 < count <= n else 0.0
