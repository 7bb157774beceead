"""Operator clauses over the rows of a view: row masks, and bonuses of optional clauses.

A phrase, a prefix, a typo and any clause of ``title:`` look at the surface forms of `Analyzer.tokens` over title and
text. A word with a sign looks at stems, as every question does, in the row's own text and header. The other fields are
compared with what is stored, letter by letter. Rows in the text index are found through it, later ones by their words;
both give what reading every row would give.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from msgspec import Struct

from lamina_engine.index.analysis import Analyzer, Term, fold, query_analyzer, term_hash
from lamina_engine.index.languages import ENGLISH
from lamina_engine.index.row_columns import facet
from lamina_engine.index.scoring import inverse_document_frequency, scoring_terms
from lamina_engine.index.tables import LEXICAL
from lamina_engine.index.tail import TailWords
from lamina_engine.index.textindex import FACET, TITLE, WORDS, TextIndexDamaged, encodable
from lamina_engine.index.view import AnsweringPart, View
from lamina_engine.recall.lanes import Bonus, Mask, Selection
from lamina_engine.recall.operators import Clause, ParsedQuery, parse_query
from lamina_engine.recall.spelling import edit_distance, words_near
from lamina_kernels.layouts import I64

if TYPE_CHECKING:
    import tantivy

_NO_ROWS: Final[I64] = np.empty(0, np.int64)
_MOST_LETTERS: Final = 66
"""No word of a text is longer than 64; a longer prefix or typo matches nothing."""
_MOST_CHARS: Final = 1_000
"""Of a prefix, a typo or a path that is compared with a stored value; a longer one matches nothing."""
_LEAST_WORDS: Final = 2
_PLACES: Final = 9
"""Places that the forms of a compound before or behind its whole may take between two words of a phrase."""
_UNCUT_LETTERS: Final = 48
_MOST_READ: Final = 500
"""Chunks with an excluded word that are read for its sign: those with all words of the query, then the newest."""
_MARKS_WITHIN: Final = r"[_.,'’#+\-]*"
_COLUMNS: Final = ("project", "type")
_META: Final = re.compile(r"([\\.+*?()|\[\]{}^$])")
_MakeQuery = Callable[["tantivy.Schema"], "tantivy.Query"]
_FindRows = Callable[[TailWords, int], I64]
"""Find rows below one by the words of those behind the index."""


class Operators(Struct, frozen=True):
    """The operators of one query, applied to a view."""

    mask: Mask | None
    """bool (rows,): rows that pass; None where every row does."""
    linked_mask: Mask | None
    """The same for what a link leads to: it passes exclusions and fields, and need not hold the words itself."""
    facets: tuple[str, ...]
    """Facets that every row which passes has."""
    facets_only: bool
    """True where those facets are all that is asked for."""
    bonuses: tuple[Bonus, ...]
    """What rows gain that match a clause which is not required."""
    patterns: tuple[tuple[Clause, float], ...]
    """Prefixes and typos that a row may match, each with its inverse document frequency: for snippets."""
    tests: tuple[tuple[tuple[Clause, ...], Mask], ...]
    """What a row must pass: a clause and its rows, or all that are optional and the rows of any."""

    def failed_by(self, row: int) -> list[Clause]:
        """Return the clauses that a row does not pass."""
        return [clause for clauses, mask in self.tests if not mask[row] for clause in clauses]

    def narrow(self, selection: Selection) -> Selection:
        """Return a selection without the rows that do not pass."""
        if self.mask is None:
            return selection
        live = self.mask if selection.live is None else selection.live & self.mask
        facets = tuple(dict.fromkeys([*selection.must, *self.facets]))
        return Selection(live, int(np.count_nonzero(live)), facets, selection.must_is_all and self.facets_only)

    def narrow_linked(self, selection: Selection) -> Selection:
        """Return a selection without the rows that no link may lead to."""
        if self.linked_mask is None:
            return selection
        live = self.linked_mask if selection.live is None else selection.live & self.linked_mask
        return Selection(live, int(np.count_nonzero(live)), selection.must, must_is_all=False)


def apply_operators(view: View, parsed: ParsedQuery, analyzer: Analyzer) -> Operators:
    """Find the rows that the operators of a query ask for."""
    finder = _Finder(view, analyzer)
    required: list[Mask] = []
    tests: list[tuple[tuple[Clause, ...], Mask]] = []
    linked: list[Mask] = []
    any_of: Mask | None = None
    facets: list[str] = []
    facets_only = True
    bonuses: list[Bonus] = []
    patterns: list[tuple[Clause, float]] = []
    for clause in parsed.clauses:
        rows = finder.rows(clause)
        if rows is None:
            continue
        passing = np.zeros(view.rows, np.bool_)
        passing[rows] = True
        weight = inverse_document_frequency(len(rows), view.statistics.rows)
        if clause.need != "not" and clause.kind in ("prefix", "typo") and clause.field in (None, "title"):
            patterns.append((clause, weight))
        if clause.need == "may":
            any_of = passing if any_of is None else any_of | passing
            if len(rows):
                bonuses.append(Bonus(name_of(clause), rows, weight))
            continue
        required.append(~passing if clause.need == "not" else passing)
        tests.append(((clause,), required[-1]))
        if clause.need == "not" or clause.field not in (None, "title"):
            linked.append(required[-1])
        if clause.need == "must" and clause.kind in ("word", "phrase") and clause.field in (*_COLUMNS, "tag"):
            facets.append(facet(clause.field, clause.text))
        else:
            facets_only = False
    if any_of is not None and not parsed.plain:
        required.append(any_of)
        tests.append((tuple(clause for clause in parsed.clauses if clause.need == "may"), any_of))
        facets_only = False
    mask = np.logical_and.reduce(required) if required else None
    linked_mask = np.logical_and.reduce(linked) if linked else None
    return Operators(mask, linked_mask, tuple(facets), facets_only, tuple(bonuses), tuple(patterns), tuple(tests))


def read_flags(view: View, parsed: ParsedQuery) -> ParsedQuery:
    """Return a query with its flags as text: words that the vault writes with their sign."""
    # who pastes a command must find the chunk that holds it, and not all others
    excluded = [
        clause for clause in parsed.clauses if clause.need == "not" and clause.kind == "word" and not clause.field
    ]
    if not excluded:
        return parsed
    analyzer = query_analyzer()
    finder = _Finder(view, analyzer)
    flags = []
    for clause in excluded:
        rows = finder.rows(clause)
        if rows is None or not len(rows):
            continue
        if len(rows) > _MOST_READ:
            asked = {term_hash(term.stem) for term in scoring_terms(analyzer.query(f"{parsed.text} {clause.text}"))}
            rows = np.concatenate([rows, view.rows_with_all(np.array(sorted(asked), np.uint32))])[-_MOST_READ:]
        rows = rows if view.state.all_active else rows[view.state.active()[rows]]  # others are no answers either
        written = re.compile(rf"(?<![\w-])-{re.escape(clause.text)}(?!\w)")
        if any(written.search(text) for text in view.snapshot.values("chunks", "text", rows)):
            flags.append(clause.text)
    return parse_query(parsed.query, flags) if flags else parsed


def name_of(clause: Clause) -> str:
    """Return a clause as it could be written."""
    text = f'"{clause.text}"' if clause.kind == "phrase" else clause.text
    suffix = "*" if clause.kind == "prefix" else f"~{clause.edits}" if clause.kind == "typo" else ""
    sign = {"must": "+", "not": "-", "may": ""}[clause.need]
    if clause.need == "must" and (clause.field is not None or clause.kind == "phrase"):
        sign = ""
    return f"{sign}{f'{clause.field}:' if clause.field else ''}{text}{suffix}"


class _Spellings(NamedTuple):
    """Words of a text with each compound at one place."""

    whole: list[str]
    parts: list[str]


class _Finder:
    """Rows of clauses: below ``indexed`` by the text index, above by the tail's words."""

    def __init__(self, view: View, analyzer: Analyzer) -> None:
        self._view, self._analyzer = view, analyzer
        self._open()

    def _open(self) -> None:
        view = self._view
        self._index = view.tables.text(view.snapshot)
        self._indexed = 0 if self._index is None else min(self._index.rows, view.rows)

    def has_terms(self, clause: Clause) -> bool:
        """Tell whether a clause asks for anything: a word of signs alone does not."""
        return clause.field not in (None, "title") or bool(self._terms(clause))

    def rows(self, clause: Clause) -> I64 | None:
        """Return the rows that a clause matches, int64 (m,) ascending; None if it asks nothing."""
        if not self.has_terms(clause):
            return None
        try:
            return self._rows(clause)
        except TextIndexDamaged as error:
            self._view.tables.distrust(str(self._view.snapshot.manifest.indexes[LEXICAL]["folder"]), error)
            self._open()
            return self._rows(clause)

    def _rows(self, clause: Clause) -> I64:
        if clause.field in _COLUMNS:
            return self._rows_of_column(clause)
        if self._view.parts:
            found = [rows[find_in_part(part, clause, self._analyzer)] for part, rows in self._view.parts]
            return np.sort(np.concatenate(found))
        if clause.field in ("tag", "source"):
            return self._rows_of_facet(clause)
        if clause.kind == "word" and clause.field is None:
            return self._rows_of_stems(clause)
        return self._rows_of_words(clause)

    def _terms(self, clause: Clause) -> list[Term]:
        return self._analyzer.tokens(encodable(clause.text))

    def _rows_of_stems(self, clause: Clause) -> I64:
        found = [_NO_ROWS]
        for language in (ENGLISH, *self._view.languages):
            terms = self._analyzer.of(language).tokens(encodable(clause.text))
            keys = np.array([term_hash(stem) for stem in stems_of(terms)], np.uint32)
            rows = self._view.rows_with_all(keys)
            found.append(rows[self._view.forward.holds(rows, keys)] if len(rows) else rows)
        return np.unique(np.concatenate(found)) if len(found) > 2 else found[-1]

    def _rows_of_words(self, clause: Clause) -> I64:
        field = TITLE if clause.field == "title" else WORDS
        terms = self._terms(clause)
        surfaces = [term.surface for term in terms]
        if is_sequence(clause, terms):
            rows = self._search(lambda schema: _phrase(schema, field, surfaces))
            rows = np.concatenate([rows, self._tail_rows(field, _with_all(surfaces), f" {' '.join(surfaces)} ")])
            spellings = self._spellings(clause.text)
            return rows if len(spellings.whole) < _LEAST_WORDS else self._with_compounds(field, rows, spellings)
        pattern = pattern_of(clause)
        if len(pattern) > _MOST_LETTERS:
            return _NO_ROWS
        rows = self._search(lambda schema: _fuzzy(schema, field, pattern, clause))
        if clause.kind == "prefix":
            find: _FindRows = lambda tail, stop: tail.rows_of(tail.vocabulary(pattern), stop)  # noqa: E731
            return np.concatenate([rows, self._tail_rows(field, find, f" {pattern}")])
        return np.concatenate([rows, self._tail_rows_of_typo(field, pattern, clause.edits)])

    def _spellings(self, text: str) -> _Spellings:
        """Return a text's words with each compound as a whole, and by its parts."""
        whole: list[str] = []
        parts: list[str] = []
        for piece in encodable(text).split():
            for terms in self._analyzer.words(piece):
                joined = [term.surface for term in terms if term.kind == "joined"]
                split = [term.surface for term in terms if term.kind == "part"]
                simple = [term.surface for term in terms]
                whole += joined[-1:] or simple
                parts += split or simple
        return _Spellings(whole, parts)

    def _with_compounds(self, field: str, rows: I64, spellings: _Spellings) -> I64:
        """Return rows, and those where the words stand side by side if each compound has one place."""
        # an index has the parts of a compound before its whole: such rows hold the words in order, a few places apart
        near: list[I64] = [rows]
        for words in dict.fromkeys(map(tuple, spellings)):
            near.append(
                self._search(functools.partial(_phrase, field=field, words=words, slop=_PLACES * (len(words) - 1)))
            )
            near.append(self._tail_rows(field, _with_all(words), *(f" {word} " for word in words)))
        others = np.setdiff1d(np.unique(np.concatenate(near)), rows)
        if not others.size:
            return rows
        names = ("title",) if field == TITLE else ("title", "text")
        columns = [self._view.snapshot.values("chunks", name, others) for name in names]
        wanted = [f" {' '.join(words)} " for words in spellings]
        letters = _letters(spellings.parts)

        def holds(text: str) -> bool:
            if letters is not None and not letters.search(fold(text)):
                return False  # most rows: reading their words costs a hundred times this
            return any(wish in f" {' '.join(held)} " for held in self._spellings(text) for wish in wanted)

        found = [any(holds(text) for text in texts if text) for texts in zip(*columns, strict=True)]
        return np.union1d(rows, others[np.array(found, np.bool_)])

    def _tail_rows(self, field: str, find: _FindRows, *held: str) -> I64:
        """Return those found rows behind the index whose title, or words, hold some texts."""
        view = self._view
        if self._indexed >= view.rows:
            return _NO_ROWS
        tail = view.tables.tail_words(view.snapshot, self._indexed)
        texts = tail.titles if field == TITLE else tail.words
        rows = find(tail, view.rows)
        return rows[[all(text in texts[row - self._indexed] for text in held) for row in rows.tolist()]]

    def _tail_rows_of_typo(self, field: str, pattern: str, edits: int) -> I64:
        view = self._view
        if self._indexed >= view.rows:
            return _NO_ROWS
        tail = view.tables.tail_words(view.snapshot, self._indexed)
        near = words_near(pattern, tail.vocabulary(), edits)
        rows = tail.rows_of(near, view.rows)
        if field == WORDS:
            return rows
        return rows[[not set(near).isdisjoint(tail.titles[row - self._indexed].split()) for row in rows.tolist()]]

    def _rows_of_column(self, clause: Clause) -> I64:
        """Return the rows by project or type: a look at each of its values."""
        view, field = self._view, str(clause.field)
        codes = view.categories.column(view.snapshot, field)[: view.rows]
        passing = [matches_value(clause, value) for value in view.categories.values(field)]
        return np.flatnonzero(np.array([*passing, False], np.bool_)[codes])  # no value is -1: the last entry

    def _rows_of_facet(self, clause: Clause) -> I64:
        view, field = self._view, str(clause.field)
        rows = self._search(lambda schema: _facet_query(schema, field, clause))
        if self._indexed >= view.rows:
            return rows
        tail = np.arange(self._indexed, view.rows, dtype=np.int64)
        values = view.snapshot.values("chunks", "tags" if field == "tag" else field, tail)
        given = (value or () if field == "tag" else (value,) if value else () for value in values)
        passing = [any(matches_value(clause, encodable(value)) for value in row) for row in given]
        return np.concatenate([rows, tail[np.array(passing, np.bool_)]])

    def _search(self, make_query: _MakeQuery) -> I64:
        return _NO_ROWS if self._index is None else self._index.rows_of(make_query, self._indexed)


def find_in_part(part: View | AnsweringPart, clause: Clause, analyzer: Analyzer) -> I64:
    """Return the rows of a part of a sharded vault that a clause matches."""
    return _Finder(part, analyzer)._rows(clause) if isinstance(part, View) else part.find(clause)


def _with_all(words: Sequence[str]) -> _FindRows:
    return lambda tail, stop: tail.rows_with_all(words, stop)


def _letters(words: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern of words side by side in small letters; None for other than ASCII."""
    if not "".join(words).isascii() or max(map(len, words)) > _UNCUT_LETTERS:
        return None
    each = [_MARKS_WITHIN.join(letter for letter in word if letter.isalnum()) for word in words]
    return re.compile(r"(?:['’]s)?[^a-z0-9]*v?".join(each))  # without IGNORECASE, with which it takes 3 ms


def matches_value(clause: Clause, value: str) -> bool:
    """Tell whether a clause matches a stored value; a source also by the end of its path."""
    text = encodable(clause.text)
    if clause.kind in ("prefix", "typo") and len(text) > _MOST_CHARS:
        return False
    if clause.kind == "prefix":
        return value.startswith(text)
    if clause.kind == "typo":
        return edit_distance(text, value, clause.edits) <= clause.edits
    ends = clause.field == "source" and len(text) <= _MOST_CHARS and value.endswith(f"/{text}")
    return value == text or ends


def matches_word(clause: Clause, word: str) -> bool:
    """Tell whether a prefix or a typo matches a surface form."""
    pattern = pattern_of(clause)
    if clause.kind == "prefix":
        return word.startswith(pattern)
    return edit_distance(pattern, word, clause.edits) <= clause.edits


def pattern_of(clause: Clause) -> str:
    """Return the beginning of a word, or a misspelt word, folded as words are."""
    return fold(encodable(clause.text)).replace("\u2019", "'")


def is_sequence(clause: Clause, terms: Iterable[Term]) -> bool:
    """Return True if a clause asks for adjacent words, as prefixes in spaceless scripts do."""
    return clause.kind in ("word", "phrase") or any(term.kind == "character" for term in terms)


def stems_of(terms: Iterable[Term]) -> list[str]:
    """Return the stems that a row must hold for a word: its joined forms, else all terms."""
    kept = [term for term in terms if term.kind not in ("character", "variant")]
    joined = [term for term in kept if term.kind == "joined"]
    return list(dict.fromkeys(term.stem for term in joined or kept))


def weigh_stems(
    text: str, stems: Mapping[str, float], patterns: Sequence[tuple[Clause, float]], analyzer: Analyzer
) -> dict[str, float]:
    """Return the weight of each stem of a question, and of words that its clauses match."""
    weights = dict(stems)
    for term in analyzer.tokens(text) if patterns else ():
        for clause, weight in patterns:
            if matches_word(clause, term.surface):
                weights[term.stem] = max(weight, weights.get(term.stem, 0.0))
    return weights


# ---------------------------------------------------------------------- queries of Tantivy


def _phrase(schema: tantivy.Schema, field: str, words: Sequence[str], slop: int = 0) -> tantivy.Query:
    from tantivy import Query

    if len(words) == 1:
        return Query.term_query(schema, field, words[0], "position")
    return Query.phrase_query(schema, field, list(words), slop)


def _fuzzy(schema: tantivy.Schema, field: str, pattern: str, clause: Clause) -> tantivy.Query:
    from tantivy import Query

    prefix = clause.kind == "prefix"
    return Query.fuzzy_term_query(schema, field, pattern, 0 if prefix else clause.edits, True, prefix)


def _facet_query(schema: tantivy.Schema, field: str, clause: Clause) -> tantivy.Query:
    from tantivy import Query

    text = encodable(clause.text)
    value = facet(field, text)
    if clause.kind in ("prefix", "typo"):
        return _fuzzy(schema, FACET, value, clause) if len(text) <= _MOST_CHARS else Query.empty_query()
    if field == "source" and len(text) <= _MOST_CHARS:
        return Query.regex_query(schema, FACET, "source=((.|\n)*/)?" + _META.sub(r"\\\1", text))
    return Query.term_query(schema, FACET, value, "basic")
