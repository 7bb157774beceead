"""Word table for bulk analysis in kernels, with Python only to stem new words.

The slow twin is `lamina_engine.index.analysis.Pieces`; a text gives the same terms through either.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine.index.languages import bits_of_keys, foreign_rows
from lamina_engine.index.separators import BYTE_KINDS, JOINS_AFTER, JOINS_BEFORE, JOINS_EITHER
from lamina_kernels import counting, forms, tokens
from lamina_kernels._jit import compiled_before, is_ready, warm
from lamina_kernels.layouts import I32, I64, U8, U16, U32
from lamina_kernels.sorting import sort_digits

if TYPE_CHECKING:
    from lamina_engine.index.analysis import Pieces

KERNELS: Final = (
    tokens.cut_pieces,
    tokens.hash_spans,
    tokens.number_spans,
    tokens.fill_slots,
    counting.pack_pieces,
    counting.measure_pieces,
    counting.expand_rows,
    counting.mark_foreign,
    counting.expand_words,
    counting.count_keys,
)
"""What bulk analysis runs from the first row on."""
FORM_KERNELS: Final = (forms.ascii_forms, forms.letter_ends, forms.hash_forms, tokens.join_spans)
"""What analyses new words: ten seconds to compile, once for each version of the kernels."""
_PIECES_LIMIT: Final = 1 << 19
_BYTES_LIMIT: Final = 1 << 26
_FIRST_SLOTS: Final = 1 << 12
_KEPT_ROOM: Final = 1 << 21
"""Pieces for which a table keeps room from batch to batch: fresh memory costs as much as what is written there."""


@functools.cache
def begin_compiling() -> threading.Thread:
    """Compile what bulk analysis and its inverted lists run, on a thread, once a process."""
    return warm((*KERNELS, *FORM_KERNELS, sort_digits))


class Occurrences(NamedTuple):
    """The terms of some rows, one entry an occurrence."""

    keys: I64
    """int64 (m,): as `lamina_kernels.counting.expand_rows` packs them."""
    lengths: U16
    """uint16 (n, 3): terms in each zone."""
    languages: U8
    """uint8 (n,): as `lamina_engine.index.languages.foreign_rows` gives them."""
    words: list[str]
    """Surfaces of the tokens of each body, in order, joined by spaces; none where they were not asked for."""


class WordTable:
    """Growing arrays of numbered pieces and words, with their terms. For one thread.

    Parameters
    ----------
    others : callable
        Gives an empty table of pieces for those that the kernels do not take: other scripts, longer than 64 bytes.
    stem : callable, optional
        Gives the stems of English words joined by newlines; None for another language, whose new words Python analyses.
    surface_initial : int
        Checksum that those of surfaces go on from.
    """

    def __init__(
        self, others: Callable[[], Pieces], stem: Callable[[str], list[str]] | None, surface_initial: int
    ) -> None:
        self._others, self._stem, self._surface_initial = others, stem, surface_initial
        self._pieces, self._stemmed = _Numbers(), _Numbers()
        self._hashes, self._surfaces, self._stem_text = _Growing(np.uint32), _Growing(np.uint8), _Growing(np.uint8)
        self._records = _Growing(np.int64)
        """By piece, what `lamina_kernels.counting.pack_pieces` writes of it."""
        self._bits = _Growing(np.uint32)
        """By piece, the languages that it speaks for."""
        self._room = _spans_room(0)
        self._stem_starts = _Growing(np.int64)
        self._stem_starts.extend(np.zeros(1, np.int64))

    @property
    def full(self) -> bool:
        """True once the memory limit is reached."""
        bytes_ = sum(
            grown.nbytes for grown in (self._hashes, self._surfaces, self._stem_text, self._pieces, self._stemmed)
        )
        return self._pieces.count >= _PIECES_LIMIT or bytes_ >= _BYTES_LIMIT

    def occurrences(self, data: U8, offsets: I64, *, words: bool = False, mark: int | None = None) -> Occurrences:
        """Analyse the texts of some rows.

        Parameters
        ----------
        data : uint8 (b,)
            UTF-8 of all texts.
        offsets : int64 (3 n + 1,)
            Where each begins: the bodies of n rows, then their headers, then their contexts.
        words : bool
            Whether to give those of the bodies, too.
        mark : int, optional
            A hash that every row gets besides, though it is no word of it.
        """
        numbers, stops = self._number_pieces(data, offsets)
        n = stops.size // counting.ZONES
        sizes = np.empty(2, np.int64)
        counting.measure_pieces(numbers, self._records.view, sizes)
        count = int(sizes[0]) + (0 if mark is None else n)
        keys, lengths = np.empty(count, np.int64), np.empty((n, counting.ZONES), np.uint16)
        added = -1 if mark is None else mark
        counting.expand_rows(numbers, stops, self._records.view, self._hashes.view, added, keys, lengths)
        found = self._words_of(numbers[: stops[n - 1]], stops[:n]) if words and n else []
        doubtful = np.empty(n, np.bool_)
        counting.mark_foreign(numbers, stops, self._bits.view, doubtful)
        return Occurrences(keys, lengths, foreign_rows(numbers, stops, self._bits.view, doubtful), found)

    def words(self, data: U8, offsets: I64) -> list[str]:
        """Return the surfaces of the tokens of texts, in order, joined by spaces.

        Parameters
        ----------
        data : uint8 (b,)
            UTF-8 of all texts.
        offsets : int64 (n + 1,)
            Where each begins.
        """
        return self._words_of(*self._number_pieces(data, offsets))

    def _words_of(self, numbers: I32, stops: I64) -> list[str]:
        sizes = np.empty(2, np.int64)
        counting.measure_pieces(numbers, self._records.view, sizes)
        words, ends = (
            np.empty(int(sizes[1]) + numbers.size + counting.INLINE + 1, np.uint8),
            np.empty(stops.size, np.int64),
        )
        counting.expand_words(numbers, stops, self._records.view, self._surfaces.view, words, ends)
        joined = words[: ends[-1] if ends.size else 0].tobytes()
        spans = itertools.pairwise([0, *ends.tolist()])
        return [joined[start:stop].decode("utf-8", "surrogatepass").rstrip(" ") for start, stop in spans]

    def _number_pieces(self, data: U8, offsets: I64) -> tuple[I32, I64]:
        """Number the pieces of texts, learning new ones; return numbers, and each text's end."""
        texts = offsets.size - 1
        begins, ends, keys = self._spans_of(data.size // 2 + texts)
        stops = np.empty(texts, np.int64)
        tokens.cut_pieces(data, offsets, BYTE_KINDS, JOINS_AFTER, JOINS_BEFORE, JOINS_EITHER, begins, ends, keys, stops)
        count = int(stops[-1]) if texts else 0
        known = self._pieces.count
        numbers = self._pieces.numbers(data, begins[:count], ends[:count], keys[:count])
        if self._pieces.count > known:
            self._learn(known)
            self._bits.extend(bits_of_keys(self._pieces.keys(known)))
        return numbers, stops

    def _spans_of(self, room: int) -> tuple[I64, I64, I64]:
        """Return room for so many pieces: where they begin, where they end, and their keys."""
        if room > _KEPT_ROOM:
            return _spans_room(room)
        if self._room[0].size < room:
            self._room = _spans_room(min(2 * room, _KEPT_ROOM))
        return self._room

    def _learn(self, first: int) -> None:
        """Analyse the pieces from number ``first`` on."""
        text, starts = self._pieces.text, self._pieces.starts(first)
        n, used = starts.size - 1, int(starts[-1] - starts[0])
        if self._stem is None or not self._forms_ready():
            self._records.extend(np.zeros(n * counting.RECORD, np.int64))
            self._learn_others(
                np.arange(first, first + n), [text[starts[i] : starts[i + 1]].tobytes() for i in range(n)]
            )
            return
        room = forms.FORM_FACTOR * used + 2 * n
        folded = np.empty(forms.TEXT_FACTOR * used, np.uint8)
        begins, ends, surface_begins, surface_ends = (np.empty(room, np.int64) for _ in range(4))
        stops, taken = np.empty(n, np.int64), np.empty(n, np.uint8)
        forms.ascii_forms(text, starts, folded, begins, ends, surface_begins, surface_ends, stops, taken)
        count = int(stops[-1])
        begins, ends = begins[:count], ends[:count]
        stem_numbers = self._number_stems(self._stem, folded, begins, ends)
        surface_begins, surface_ends = surface_begins[:count], surface_ends[:count]
        hashes, hash_stops = np.empty(2 * count, np.uint32), np.empty(n, np.int64)
        surfaces = np.empty(int((surface_ends - surface_begins).sum()) + count, np.uint8)
        surface_stops = np.empty(n, np.int64)
        forms.hash_forms(
            folded, begins, ends, surface_begins, surface_ends, stops, stem_numbers,
            self._stem_text.view, self._stem_starts.view, self._surface_initial, hashes, hash_stops, surfaces,
            surface_stops,
        )  # fmt: skip
        self._append(hashes, hash_stops, np.diff(stops, prepend=0), surfaces, surface_stops)
        others = np.flatnonzero(taken == 0)
        if others.size:
            self._learn_others(first + others, [text[starts[i] : starts[i + 1]].tobytes() for i in others.tolist()])

    def _forms_ready(self) -> bool:
        """Return True if the kernels for new words are compiled; else Python does their work."""
        if is_ready(forms.ascii_forms) and is_ready(forms.hash_forms):
            return True
        if compiled_before(FORM_KERNELS):
            return True
        begin_compiling()
        return False

    def _append(self, hashes: U32, hash_stops: I64, terms: I64, surfaces: U8, surface_stops: I64) -> None:
        starts = [np.concatenate([[0], stops[:-1]]) for stops in (hash_stops, surface_stops)]
        base, word_base = self._hashes.size, self._surfaces.size
        self._hashes.extend(hashes[: hash_stops[-1]])
        self._surfaces.extend(surfaces[: surface_stops[-1]])
        self._records.extend(
            self._packed(starts[0] + base, hash_stops + base, terms, starts[1] + word_base, surface_stops + word_base)
        )

    def _packed(self, hash_starts: I64, hash_stops: I64, terms: I64, word_starts: I64, word_stops: I64) -> I64:
        records = np.empty(terms.size * counting.RECORD, np.int64)
        counting.pack_pieces(
            hash_starts, hash_stops, terms, self._hashes.view, word_starts, word_stops, self._surfaces.view, records
        )
        return records

    def _learn_others(self, numbers: I64, coded: Sequence[bytes]) -> None:
        """Analyse in Python the pieces that the kernels refuse: few, or of another script."""
        found = self._others()
        order = np.array(found.numbers([piece.decode("utf-8", "surrogatepass") for piece in coded]), np.int64)
        texts = [surfaces.encode("utf-8", "surrogatepass") for surfaces in found.surfaces]
        starts = np.frombuffer(found.starts, np.int64) + self._hashes.size
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64) + self._surfaces.size
        self._hashes.extend(np.frombuffer(found.hashes, np.uint32) if found.hashes else np.zeros(0, np.uint32))
        self._surfaces.extend(np.frombuffer(b"".join(texts), np.uint8))
        columns = (starts[:-1], starts[1:], np.frombuffer(found.found, np.int64), ends[:-1], ends[1:])
        packed = self._packed(*(values[order] for values in columns))
        self._records.view.reshape(-1, counting.RECORD)[numbers] = packed.reshape(-1, counting.RECORD)

    def _number_stems(self, stem: Callable[[str], list[str]], text: U8, begins: I64, ends: I64) -> I32:
        """Return the number of each form's stem, −1 for its own; stem new words."""
        letters, keys = np.empty(begins.size, np.int64), np.empty(begins.size, np.int64)
        forms.letter_ends(text, begins, ends, letters)
        tokens.hash_spans(text, begins, letters, keys)
        known = self._stemmed.count
        numbers = self._stemmed.numbers(text, begins, letters, keys)
        if self._stemmed.count > known:
            starts = self._stemmed.starts(known)
            joined = np.empty(int(starts[-1] - starts[0]) + starts.size - 1, np.uint8)
            tokens.join_spans(self._stemmed.text, starts, 0x0A, joined)
            stems = stem(joined.tobytes().decode("ascii"))
            coded = "".join(stems).encode("ascii")
            sizes = np.fromiter(map(len, stems), np.int64, len(stems))
            self._stem_starts.extend(np.cumsum(sizes) + self._stem_text.size)
            self._stem_text.extend(np.frombuffer(coded, np.uint8))
        return numbers


class _Growing:
    """An array that grows at its end."""

    __slots__ = ("_array", "size")

    def __init__(self, dtype: type[np.generic], room: int = 64) -> None:
        self._array: NDArray[Any] = np.empty(room, dtype)
        self.size = 0

    @property
    def view(self) -> NDArray[Any]:
        """Writable view of the contents."""
        return self._array[: self.size]

    @property
    def nbytes(self) -> int:
        """Bytes of what is in it."""
        return self.size * self._array.itemsize

    def extend(self, values: NDArray[Any]) -> None:
        """Append values."""
        stop = self.size + values.size
        if stop > self._array.size:
            self._array = _enlarged(self._array, max(stop, 2 * self._array.size))
        self._array[self.size : stop] = values
        self.size = stop


class _Numbers:
    """The arrays of one table of `lamina_kernels.tokens`."""

    def __init__(self) -> None:
        self._state = np.zeros(1, np.int64)
        self._slots = np.full(2 * _FIRST_SLOTS, -1, np.int64)
        self._keys = np.zeros(_FIRST_SLOTS // 2, np.int64)
        self._starts = np.zeros(_FIRST_SLOTS // 2 + 1, np.int64)
        self._text = np.zeros(_FIRST_SLOTS * 4, np.uint8)

    @property
    def count(self) -> int:
        """Number of items."""
        return int(self._state[0])

    @property
    def nbytes(self) -> int:
        """Bytes of their texts."""
        return int(self._starts[self.count])

    def numbers(self, data: U8, begins: I64, ends: I64, keys: I64) -> I32:
        """Return the number of each span; those not met before get the next ones."""
        found = np.empty(begins.size, np.int32)
        done = 0
        while True:
            done = tokens.number_spans(
                data, begins, ends, keys, done, self._state, self._slots, self._keys, self._starts, self._text, found
            )
            if done == begins.size:
                return found
            self._grow(int(ends[done] - begins[done]))

    def _grow(self, longest: int) -> None:
        """Double what is too small for one more text of ``longest`` bytes."""
        if self.nbytes + longest > self._text.size:
            self._text = _enlarged(self._text, 2 * self._text.size + longest)
        if self.count == self._keys.size:
            size = 2 * self._keys.size
            self._keys, self._starts = _enlarged(self._keys, size), _enlarged(self._starts, size + 1)
            self._slots = np.empty(4 * size, np.int64)
            tokens.fill_slots(self._keys[: self.count], self._slots)

    def starts(self, first: int) -> I64:
        """Return where the texts from number ``first`` on begin, and the end of the last one's."""
        return self._starts[first : self.count + 1]

    def keys(self, first: int) -> I64:
        """Return the keys of the texts from number ``first`` on."""
        return self._keys[first : self.count]

    @property
    def text(self) -> U8:
        """The bytes that those offsets count in."""
        return self._text[: self.nbytes]


def _spans_room(pieces: int) -> tuple[I64, I64, I64]:
    return np.empty(pieces, np.int64), np.empty(pieces, np.int64), np.empty(pieces, np.int64)


def _enlarged(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.zeros(size, array.dtype)
    larger[: array.size] = array
    return larger
