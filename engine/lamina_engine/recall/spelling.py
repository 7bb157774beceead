"""Misspelt words: the nearest words of the vault's dictionary for words no row holds.

The dictionary is the words of titles and texts that a view sees. Edits are those of Damerau and Levenshtein: a letter
more, less, replaced, or swapped with its neighbour. Nothing here depends on how far the text index has caught up.

* One edit anywhere: each variant is looked up, with letters of the Latin alphabet or of the word's own script.
* Two edits in long words, where one gives nothing: the first two letters agree, as most misspelt words' do.

References
----------
.. [1] F. Damerau, "A technique for computer detection and correction of spelling errors", CACM 7(3), 1964.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from lamina_engine.index.analysis import Analyzer, QueryTerm
from lamina_engine.index.tables import LEXICAL
from lamina_engine.index.textindex import WORDS, TextIndexDamaged
from lamina_engine.index.view import View

WEIGHT: Final = 0.75
"""Weight of a corrected word beside one that was asked for."""
MOST: Final = 3
"""Words of the dictionary that stand for one misspelt word."""
LEAST_LETTERS: Final = 4
TWO_EDITS_LETTERS: Final = 8
"""From so many letters on two edits are tried."""
NAME_LETTERS: Final = 6
"""In shorter names no letter is replaced: Linus is not Linux."""
MOST_LETTERS: Final = 32
AGREEING: Final = 2
"""First letters that have to agree where there are two edits."""
_REMEMBERED: Final = 1_024
_SCRIPT: Final = 128
"""Code points that share a script, as a rule."""

Corrections = Mapping[str, Sequence[str]]
"""Words of the dictionary, the nearest first, by each misspelt word."""


def find_corrections(
    view: View, analyzer: Analyzer, text: str, unknown: Sequence[QueryTerm], operators: Iterable[str]
) -> Corrections:
    """Return the nearest dictionary words for the words of a question that no row holds.

    Parameters
    ----------
    view : View
    analyzer : Analyzer
    text : str
        The question.
    unknown : sequence of QueryTerm
        Its terms that no row holds.
    operators : iterable of str
        Texts of its operators: their words are asked as they are written.
    """
    stems = {term.stem for term in unknown if not term.stop}
    exact = {term.stem for operator in operators for term in analyzer.tokens(operator)}
    found: dict[str, list[str]] = {}
    for at, piece in enumerate(text.split()):
        is_name = at > 0 and piece[:1].isupper() and not piece.isupper()
        terms = analyzer.tokens(piece)
        parts = [term.stem for term in terms if term.kind == "part"]
        for term in terms:
            usable = term.kind == "word" or (term.kind == "joined" and not stems.isdisjoint(parts))
            word = term.surface
            fits = LEAST_LETTERS <= len(word) <= MOST_LETTERS and word.isalpha()
            if usable and fits and term.stem in stems and term.stem not in exact and word not in found:
                nearest = nearest_words(view, word)
                if is_name and len(word) < NAME_LETTERS:
                    nearest = [other for other in nearest if not _replaces(word, other)]
                if nearest:
                    found[word] = nearest
    return found


def corrected_terms(
    terms: Sequence[QueryTerm], corrections: Corrections, analyzer: Analyzer, among: tuple[str, ...] = ()
) -> list[QueryTerm]:
    """Return a query's terms with corrections in place of misspelt words, at lower weight."""
    out: list[QueryTerm] = []
    for term in terms:
        nearest = [word for surface in term.surfaces for word in corrections.get(surface, ())]
        if not nearest:
            out.append(term)
            continue
        surfaces: dict[str, dict[str, None]] = {}
        others: dict[str, dict[str, None]] = {}
        for word in nearest:
            for asked in analyzer.query(word, among):
                surfaces.setdefault(asked.stem, {})[word] = None
                others.setdefault(asked.stem, {}).update(dict.fromkeys(asked.others))
        out += [
            QueryTerm(stem, tuple(forms), WEIGHT * term.weight, False, tuple(others[stem]))
            for stem, forms in surfaces.items()
        ]
    return out


def corrected_text(text: str, corrections: Corrections, analyzer: Analyzer) -> str:
    """Return a question with the nearest word in place of each misspelt one."""
    pieces = []
    for piece in text.split():
        surfaces = [term.surface for term in analyzer.tokens(piece)]
        nearest = next((corrections[surface][0] for surface in surfaces if surface in corrections), piece)
        pieces.append(nearest)
    return " ".join(pieces)


def _replaces(word: str, other: str) -> bool:
    """Return True if one word is the other with a letter replaced."""
    return len(word) == len(other) and sorted(word) != sorted(other)


def nearest_words(view: View, word: str) -> list[str]:
    """Return at most `MOST` dictionary words by edits, by frequency and alphabet; remembered."""
    known: dict[str, list[str]] = view.cached("nearest words", dict)
    found = known.get(word)
    if found is None:
        try:
            found = _nearest_words(view, word)
        except TextIndexDamaged as error:
            view.tables.distrust(str(view.snapshot.manifest.indexes[LEXICAL]["folder"]), error)
            found = _nearest_words(view, word)
        if len(known) >= _REMEMBERED:  # by any of the threads that share the view
            known.clear()
        known[word] = found
    return list(found)  # callers show theirs


def _nearest_words(view: View, word: str) -> list[str]:
    dictionary = Dictionary(view)
    found = dictionary.frequencies(variants(word))
    if not found and len(word) >= TWO_EDITS_LETTERS:
        found = dictionary.frequencies(words_near(word, dictionary.beginning(word[:AGREEING]) - {word}, 2))
    words = [other for other in found if other.isalpha()]
    return sorted(words, key=lambda other: (-found[other], other))[:MOST]


class Dictionary:
    """The words of the rows that a view sees."""

    def __init__(self, view: View) -> None:
        self._parts = [Dictionary(part) if isinstance(part, View) else part for part, _ in view.parts]
        if self._parts:
            return
        self._index = view.tables.text(view.snapshot)
        self._stop = view.rows
        self._indexed = 0 if self._index is None else min(self._index.rows, view.rows)
        self._tail = view.tables.tail_words(view.snapshot, self._indexed) if self._indexed < view.rows else None

    def frequencies(self, words: Collection[str]) -> dict[str, int]:
        """Return by word how many rows hold it; those that none holds are left out."""
        counted = [part.frequencies(words) for part in self._parts]
        if not self._parts and self._index is not None:
            counted.append(self._index.frequencies(WORDS, words, self._indexed))
        if not self._parts and self._tail is not None:
            counted.append(self._tail.frequencies(words, self._stop))
        found: dict[str, int] = {}
        for counts in counted:
            for word, count in counts.items():
                found[word] = found.get(word, 0) + count
        return found

    def beginning(self, prefix: str) -> set[str]:
        """Return the words that begin with a prefix, those of later rows included."""
        if self._parts:
            return set().union(*(part.beginning(prefix) for part in self._parts))
        found: set[str] = set()
        if self._index is not None:
            found.update(self._index.words_with_prefix(WORDS, prefix, self._indexed))
        if self._tail is not None:
            found.update(self._tail.vocabulary(prefix))
        return found


def variants(word: str) -> set[str]:
    """Return the words one edit away from a word. O(letters · alphabet)."""
    blocks = {ord(letter) // _SCRIPT for letter in word if not letter.isascii()}
    others = (chr(code) for block in blocks for code in range(block * _SCRIPT, (block + 1) * _SCRIPT))
    alphabet = [*string.ascii_lowercase, *(letter for letter in others if letter.isalpha())]
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    found = {head + tail[1:] for head, tail in cuts if tail}
    found.update(head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1)
    found.update(head + letter + tail[1:] for head, tail in cuts if tail for letter in alphabet)
    found.update(head + letter + tail for head, tail in cuts for letter in alphabet)
    found.discard(word)
    return found


def words_near(word: str, words: Iterable[str], most: int) -> list[str]:
    """Return the words at most ``most`` edits away, by `edit_distance` of all at once."""
    fitting = [other for other in words if abs(len(other) - len(word)) <= most]
    if not fitting:
        return []
    width, far = max(len(word) + most, 1), most + 1
    codes = np.array(fitting, f"U{width}").view(np.uint32).reshape(len(fitting), width).T.copy()
    letters = [ord(letter) for letter in word]
    before = np.repeat(np.minimum(np.arange(width + 1, dtype=np.int8), far)[:, None], len(fitting), axis=1)
    earlier = before
    for i, letter in enumerate(letters, 1):
        row = np.full_like(before, far)
        row[0] = min(i, far)
        for j in range(max(1, i - most), min(width, i + most) + 1):  # the others are further away
            least = np.minimum(np.minimum(before[j], row[j - 1]) + 1, before[j - 1] + (codes[j - 1] != letter))
            if i > 1 and j > 1:
                swapped = (codes[j - 2] == letter) & (codes[j - 1] == letters[i - 2])
                least = np.where(swapped, np.minimum(least, earlier[j - 2] + 1), least)
            row[j] = np.minimum(least, far)
        earlier, before = before, row
    edits = before[[len(other) for other in fitting], np.arange(len(fitting))]
    return [fitting[at] for at in np.flatnonzero(edits <= most).tolist()]


def edit_distance(left: str, right: str, most: int) -> int:
    """Return the edits between two words, swaps counted as one; at most ``most`` + 1."""
    if abs(len(left) - len(right)) > most:
        return most + 1
    earlier: list[int] = []
    before = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        row = [i]
        for j, other in enumerate(right, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                least = min(least, earlier[j - 2] + 1)
            row.append(least)
        if min(row) > most and min(before) > most:
            return most + 1
        earlier, before = before, row
    return min(before[-1], most + 1)
