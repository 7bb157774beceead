"""Text to terms: what the lexical lane finds, and what its scoring rewards.

A text is cut at white space; each piece is analysed once and remembered. A piece gives terms, each in two forms:
the *stem*, which is what an index finds, and the *surface*, the folded form as written, which only scoring sees.

* Folding: NFKC, case folding, diacritics of the alphabetic scripts stripped; invisible format characters dropped.
* Identifiers (`foo_bar`, `fooBar`, `foo-bar`, `HTTPServer2`) give their parts and their joined form (``foobar``), so
  each spelling finds the others; dotted names give every segment and the joined whole; numbers with dots stay whole
  beside their parts (`v1.2.3` is ``1.2.3``). Path separators and all other punctuation only separate.
* Scripts written without spaces (Han, Kana, Hangul, Thai, ...) give overlapping bigrams, and single characters for
  one-character queries. A run broken by white space or punctuation is two runs.
* Terms longer than 64 characters become their first 48 and a digest of the whole; symbols and emoji are dropped.

Stemming is Tantivy's Snowball: English, for words that fold to ASCII letters, and in texts of another language
(`lamina_engine.index.languages`) that of the language, for all words. Only stems differ by language, never surfaces.
"""

from __future__ import annotations

import functools
import itertools
import operator
import re
import unicodedata
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine.index import languages
from lamina_engine.index.forms import ASCII_WORD, MAX_SEGMENTS, Forms, ascii_forms, without_ending
from lamina_engine.index.languages import ENGLISH

if TYPE_CHECKING:
    from lamina_engine.index.wordtable import WordTable

ANALYSIS_ID = "lamina-text@3"
"""Name of these rules; an index made under another name is rebuilt."""

MAX_TERM_CHARS = 64
_KEPT_CHARS = 48
_MEMO_LIMIT = 1 << 19
"""Pieces remembered by a table of pieces, at 200 to 300 bytes each: at most some 150 MiB, and twice as many hashes."""
_MEMO_HASHES = 8
"""Hashes a table may hold for each piece it may, on average: bounds what long pieces leave behind in it."""
_ASKED_LIMIT = 1 << 14
_APOSTROPHES = frozenset(languages.APOSTROPHES)
_SURFACE_CRC = zlib.crc32(b"=")
_MEMO_PIECE_CHARS = 48
"""Longer pieces hardly ever repeat: they are analysed each time and not remembered."""

# Scripts without spaces between words: Thai, Lao, Myanmar, Hangul, Khmer, Kana, Bopomofo, Han.
_CONTINUOUS = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17FF), (0x3005, 0x3007), (0x3040, 0x312F)),
    *((0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7FF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF)),
)
_INVISIBLE = re.compile("[\u00ad\u200c-\u200f\u2060\ufeff]")
_MARKS = dict.fromkeys(map(ord, "\u2010\u2011\u2043\ufe63\uff0d"), "-") | dict.fromkeys(
    map(ord, "\u2018\u2019\u02bc"), "'"
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")

# These run over a string of character classes, one letter a character: U upper, L letter or mark, M mark, D digit,
# C continuous script, the connectors themselves, and a space for all else.
_WORD = re.compile(r"[ULD][ULMD]*(?:(?:_+[.\-]?|[.\-'])[ULD][ULMD]*)*(?:\+\+|#)?|C+")
_PART = re.compile(r"UU+L(?![LM])|U+(?=U[LM])|U?[LM]+|U+|D+")  # the first: plural acronyms, as in IDs
_RUN = re.compile(r"[ULMD]+")
_NUMBER = re.compile(r"D+(?:\.D+)+")
_LETTERS = re.compile(r"[^\W\d_]+")

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a about after again all also am an and any are as at be because been before being between both but
        by can cannot could did do does doing down during each few for from further get got had has have
        having he her here hers herself him himself his how i if in into is it its itself just let me more
        most my myself no nor not now of off on once only or other our ours ourselves out over own same she
        should so some such than that the their theirs them themselves then there these they this those
        through to too under until up us very was we were what when where which while who whom whose why will
        with would you your yours yourself yourselves arent cant couldnt didnt doesnt dont hadnt hasnt havent
        isnt shouldnt wasnt werent wont wouldnt hed hes im ive shes theyd theyll theyre theyve weve youd youll
        youre youve""",
    )
)
"""English function words; never asked of an index unless a query has nothing else."""

Kind = Literal["word", "part", "joined", "character", "variant"]
"""A variant is the stem that the word before it has without its accents; no text of English has any."""


class Term(NamedTuple):
    """One term of a text."""

    stem: str
    surface: str
    kind: Kind


class QueryTerm(NamedTuple):
    """One distinct term of a query."""

    stem: str
    surfaces: tuple[str, ...]
    weight: float
    stop: bool
    others: tuple[str, ...] = ()
    """Stems of the same word in the other languages that were asked for."""

    def as_stop(self) -> QueryTerm:
        """Return this term as a stop word."""
        return QueryTerm(self.stem, self.surfaces, self.weight, True, self.others)

    def joined(self, other: QueryTerm, is_stop: bool) -> QueryTerm:
        """Return this term asked for once more, perhaps in another form."""
        surfaces = self.surfaces if other.surfaces[0] in self.surfaces else self.surfaces + other.surfaces
        others = tuple(dict.fromkeys(self.others + other.others))
        return QueryTerm(self.stem, surfaces, self.weight + other.weight, self.stop and is_stop, others)


class _Classes(dict[int, str]):
    """Character classes by code point, filled as characters are met (``str.translate`` asks)."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        if category == "Nd":
            kind = "D"
        elif category[0] in "LMN" and any(first <= code <= last for first, last in _CONTINUOUS):
            kind = "C"
        elif category[0] == "M":
            kind = "M"
        elif category in ("Lu", "Lt"):
            kind = "U"
        elif category[0] in "LN":
            kind = "L"
        else:
            kind = char if char in "_.-'+#" else " "
        self[code] = kind
        return kind


_CLASSES = _Classes()


def fold(word: str) -> str:
    """Fold case, and the diacritics of alphabetic scripts (up to Syriac)."""
    if word.isascii():
        return word.lower()
    kept: list[str] = []
    base = 0
    for char in unicodedata.normalize("NFD", word.casefold()):
        if not unicodedata.combining(char):
            base = ord(char)
        elif base < 0x0780:
            continue
        kept.append(str(unicodedata.digit(char)) if char.isdecimal() else char)
    return unicodedata.normalize("NFKC", "".join(kept))


@functools.lru_cache(_ASKED_LIMIT)
def term_hash(term: str) -> int:
    """Return the uint32 under which forward lists hold a stem."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


@functools.lru_cache(_ASKED_LIMIT)
def stem_hashes(stem: str, others: tuple[str, ...]) -> tuple[int, ...]:
    """Return `term_hash` of a term's stem and of its others."""
    return (term_hash(stem), *map(term_hash, others))


@functools.lru_cache(_ASKED_LIMIT)
def surface_hash(surface: str) -> int:
    """Hash a surface form to uint32, in another namespace than `term_hash`."""
    return zlib.crc32(surface.encode("utf-8", "surrogatepass"), _SURFACE_CRC)


def _stemmer() -> Callable[[str], list[str]]:
    return languages.stemmer(ENGLISH)


def _stem(word: str) -> str:
    return _stemmer()(word)[0] if word.isascii() and word.isalpha() else word


def language_mark(language: str) -> int:
    """Return the hash by which forward lists hold that a row is in a language."""
    return term_hash(f"language={language}")  # no stem has such a sign


class Pieces:
    """Numbers of the pieces of text met so far, with the terms of each in flat arrays.

    Pieces that are new are analysed together: their stems cost one call. The result is that of `Analyzer.words`,
    which sees one piece at a time.

    Attributes
    ----------
    surfaces : list of str
        Surfaces of each piece, joined by spaces.
    hashes : array of uint32
        Hashes of the pieces' terms, one piece after the other: stems, and surfaces that differ from theirs.
    starts : array of int64
        Start of each piece's hashes, and the end of the last one's.
    found : array of int64
        How many of them are stems.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._number: dict[str, int] = {}
        self._long: list[str] = []
        self._stem_of: dict[str, str] = {}
        self.surfaces: list[str] = []
        self.hashes = array("I")
        self.starts = array("q", [0])
        self.found = array("q")
        self.bits = array("I")
        """Languages that each piece speaks for; see `languages.language_bits`."""

    @property
    def full(self) -> bool:
        """True once the memory limit is reached."""
        return len(self.surfaces) >= _MEMO_LIMIT or len(self.hashes) >= _MEMO_HASHES * _MEMO_LIMIT

    def forget_long(self) -> None:
        """Forget the numbers of long pieces, which hardly ever repeat."""
        for piece in self._long:
            del self._number[piece]
        self._long.clear()

    def numbers(self, pieces: Sequence[str]) -> list[int]:
        """Return the number of each piece, analysing those not met before.

        Parameters
        ----------
        pieces : sequence of str
            Texts without white space; any other that is in them only separates.
        """
        number = self._number
        fresh = [piece for piece in dict.fromkeys(pieces) if piece not in number]
        if fresh:
            self._learn(fresh)
        return [number[piece] for piece in pieces]

    def _learn(self, fresh: Sequence[str]) -> None:
        number = self._number
        bases: list[str] = []
        surfaces: list[str] = []
        stops: list[int] = []
        others: list[str] = []
        first = len(self.surfaces)
        english = self._analyzer.language == ENGLISH
        for piece in fresh:
            if not (english and piece.isascii()):
                others.append(piece)
                continue
            if piece.isdigit() or (piece.isalpha() and (piece[1:].islower() or len(piece) == 1 or piece.isupper())):
                surface = piece.lower()
                bases.append(surface)
                surfaces.append(surface)
            else:
                more, also = _piece_forms(piece)
                bases += more
                surfaces += also
            number[piece] = first + len(stops)
            stops.append(len(bases))
        if stops:
            self._append_ascii(bases, surfaces, stops)
        self._analyzer.stem_ahead(others)
        for piece in others:
            number[piece] = len(self.surfaces)
            self._append(self._analyzer.words(piece))
        self._analyzer.stem_ahead(())
        bits = languages.language_bits()
        if english:
            chosen = [piece for piece in fresh if piece.isascii()] + others
            self.bits.extend([bits.get(piece, 0) for piece in chosen])
        self._long += [piece for piece in fresh if len(piece) > _MEMO_PIECE_CHARS]

    def _append(self, words: Sequence[tuple[Term, ...]]) -> None:
        for terms in words:
            self.hashes.extend([term_hash(term.stem) for term in terms])
            self.hashes.extend([surface_hash(term.surface) for term in terms if term.surface != term.stem])
        self.starts.append(len(self.hashes))
        self.found.append(sum(map(len, words)))
        self.surfaces.append(" ".join([term.surface for terms in words for term in terms]))

    def _append_ascii(self, bases: list[str], surfaces: list[str], stops: list[int]) -> None:
        """Append pieces whose forms end at ``stops``; everything in whole lists, nothing a term."""
        self._add_stems(set(bases))
        stems = list(map(self._stem_of.__getitem__, bases))
        # neither joining nor stemming makes a word longer, so a long stem has a long surface
        for i in [i for i, surface in enumerate(surfaces) if len(surface) > MAX_TERM_CHARS]:
            stems[i], surfaces[i] = _cut(stems[i]), _cut(surfaces[i])
        hashes = np.empty((len(stems), 2), np.uint32)
        hashes[:, 0] = _crcs(stems, 0)
        hashes[:, 1] = _crcs(surfaces, _SURFACE_CRC)
        held = np.ones(hashes.shape, np.bool_)
        held[:, 1] = np.fromiter(map(operator.ne, stems, surfaces), np.bool_, len(stems))
        stop = np.array(stops)
        ends = np.concatenate([[0], np.cumsum(held[:, 1] + np.int64(1))])[stop] + len(self.hashes)
        self.hashes.frombytes(hashes[held].tobytes())
        self.starts.frombytes(ends.astype(np.int64).tobytes())
        self.found.frombytes(np.diff(stop, prepend=0).astype(np.int64).tobytes())
        start = 0
        for end in stops:
            one = end == start + 1
            self.surfaces.append(surfaces[start] if one else " ".join(surfaces[start:end]))
            start = end

    def _add_stems(self, bases: set[str]) -> None:
        if len(self._stem_of) >= _MEMO_LIMIT:
            self._stem_of.clear()
        new = bases.difference(self._stem_of)
        words = [base for base in new if base.isalpha()]
        self._stem_of.update(zip(new, new, strict=True))
        self._stem_of.update(zip(words, _stemmer()("\n".join(words)), strict=True))


def _crcs(words: Sequence[str], initial: int) -> NDArray[np.uint32]:
    """Return the checksums of ASCII words without white space."""
    if not words:
        return np.zeros(0, np.uint32)
    coded = "\n".join(words).encode("ascii").split(b"\n")
    return np.fromiter(map(zlib.crc32, coded, itertools.repeat(initial)), np.uint32, len(words))


def _piece_forms(piece: str) -> Forms:
    """Return the forms of an ASCII piece's terms."""
    if piece.isalnum():
        return ascii_forms(piece)
    if "," in piece:
        piece = _THOUSANDS.sub("", piece)
    words = ASCII_WORD.findall(piece)
    if len(words) == 1:
        return ascii_forms(words[0])
    bases: list[str] = []
    surfaces: list[str] = []
    for word in words:
        more, also = ascii_forms(word)
        bases += more
        surfaces += also
    return bases, surfaces


class Analyzer:
    """Analyzer of texts; threads may share `tokens` and `query`, `pieces` is for one thread.

    The memory is bounded: about 2**19 pieces, some 150 MiB, and 2**14 words of queries and of other scripts are
    remembered, each forgotten all at once when full. What a text gives does not depend on it.
    """

    def __init__(self, language: str = ENGLISH, unstemmed: _UnstemmedWords | None = None) -> None:
        self.language = language
        self._others: dict[str, Analyzer] = {}
        self._unstemmed = _UnstemmedWords() if unstemmed is None else unstemmed  # an empty one is shared too
        self._words = _Words() if language == ENGLISH else _ForeignWords(language, self._unstemmed)
        self._elision = languages.elision(language)
        self._pieces = Pieces(self)
        self.rows = 0
        """Rows analysed so far."""
        self._table: WordTable | None = None
        self._asked: dict[tuple[str, tuple[str, ...]], list[QueryTerm]] = {}

    def tokens(self, text: str) -> list[Term]:
        """Return the terms of a text, in order, as indexed.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of Term
            Where a piece is an identifier or a run of a script without spaces, several terms stand for it.

        Examples
        --------
        >>> [term.stem for term in Analyzer().tokens("Running fooBar")]
        ['run', 'foo', 'bar', 'foobar']
        """
        return [term for piece in text.split() for terms in self.words(piece) for term in terms]

    def of(self, language: str) -> Analyzer:
        """Return the analyzer of texts in a language, this one for its own."""
        if language == self.language:
            return self
        found = self._others.get(language)
        if found is None:
            found = self._others[language] = Analyzer(language, self._unstemmed)
        return found

    def query(self, text: str, among: tuple[str, ...] = ()) -> list[QueryTerm]:
        """Return the distinct terms of a query, in order of first appearance.

        A term counts as often as it is asked. The parts of one identifier share a weight of one, so that an
        identifier does not outweigh the words beside it; single characters are asked for alone only.

        Parameters
        ----------
        text : str
        among : tuple of str
            Languages other than English to stem it in too.
        """
        stop_words = STOP_WORDS
        if among:
            text = self._without_elisions(text, among)
            spoken = languages.language_of(re.findall(r"\w+", text), (ENGLISH, *among))
            stop_words = STOP_WORDS if spoken == ENGLISH else _folded_function_words(spoken)
        found: dict[str, QueryTerm] = {}
        for piece in text.split():
            for term in self._query_terms(piece, among):
                known, is_stop = found.get(term.stem), term.surfaces[0] in stop_words
                if known is None:
                    found[term.stem] = term.as_stop() if is_stop else term
                else:
                    found[term.stem] = known.joined(term, is_stop)
        return list(found.values())

    def _without_elisions(self, text: str, among: Sequence[str]) -> str:
        if _APOSTROPHES.isdisjoint(text):
            return text
        for language in among:
            if (pattern := languages.elision(language)) is not None:
                text = " ".join([pattern.sub("", piece) if pattern.match(piece) else piece for piece in text.split()])
        return text

    def _query_terms(self, piece: str, among: tuple[str, ...]) -> list[QueryTerm]:
        """Return the terms of a piece of a query, none of them a stop word yet; remembered."""
        found = self._asked.get((piece, among))
        if found is None:
            terms = [term for word in self.words(piece) for term in word]
            parts = [term.kind for term in terms].count("part") if len(terms) > 1 else 1
            others = self._foreign_stems(piece, among)
            found = [
                QueryTerm(
                    stem, (surface,), 1.0 / parts if kind == "part" else 1.0, False,
                    tuple([other for other in others.get(surface, ()) if other != stem]),
                )
                for stem, surface, kind in terms if kind != "character"
            ]  # fmt: skip
            if len(self._asked) >= _ASKED_LIMIT:
                self._asked.clear()
            if len(piece) <= _MEMO_PIECE_CHARS:
                self._asked[piece, among] = found
        return found

    def _foreign_stems(self, piece: str, among: tuple[str, ...]) -> dict[str, dict[str, None]]:
        """Return the words of a piece, each with its stems in other languages."""
        found: dict[str, dict[str, None]] = {}
        for language in among:
            surface = ""
            for word in self.of(language).words(piece):
                for term in word:
                    surface = surface if term.kind == "variant" else term.surface
                    found.setdefault(surface, {})[term.stem] = None
        return found

    def pieces(self) -> Pieces:
        """Return the table of pieces for a batch; numbers hold until the next call."""
        if self._pieces.full:
            self._pieces = Pieces(self)
        self._pieces.forget_long()
        return self._pieces

    def table(self) -> WordTable:
        """Return the table of pieces for bulk work, whose kernels take a second to load."""
        if self._table is None or self._table.full:
            from lamina_engine.index.wordtable import WordTable

            stem = _stemmer() if self.language == ENGLISH else None
            self._table = WordTable(lambda: Pieces(self), stem, _SURFACE_CRC)
        return self._table

    def words(self, piece: str) -> list[tuple[Term, ...]]:
        """Return the terms of each word of a text without white space (any in it only separates)."""
        if "," in piece:
            piece = _THOUSANDS.sub("", piece)
        if self._elision is not None:
            piece = self._elision.sub("", piece)
        if piece.isascii():
            return [self._words[word] for word in ASCII_WORD.findall(piece)]
        piece = _INVISIBLE.sub("", unicodedata.normalize("NFKC", piece.translate(_MARKS)))
        found = _WORD.finditer(piece.translate(_CLASSES))
        return [self._words[piece[match.start() : match.end()]] for match in found]

    def stem_ahead(self, pieces: Sequence[str]) -> None:
        """Stem the words of pieces in one call, ahead of `words`; forget those of the last call."""
        self._words.stem_ahead(pieces)


@functools.cache
def query_analyzer() -> Analyzer:
    """Return the analyzer of questions; all threads share what it remembers of their words."""
    return Analyzer()


class _Words(dict[str, tuple[Term, ...]]):
    """Terms of words by how they are written, filled as they are met."""

    def __missing__(self, written: str) -> tuple[Term, ...]:
        terms = tuple([term for term in self._terms(written, written.translate(_CLASSES)) if term.stem])
        if len(self) >= _ASKED_LIMIT:
            self.clear()
        if len(written) <= _MEMO_PIECE_CHARS:
            self[written] = terms
        return terms

    def _terms(self, word: str, classes: str) -> Iterator[Term]:
        if classes[0] == "C":
            yield from self._run_terms(word)
            return
        if _is_plain(word):
            surface = word.lower()
            yield self._term(surface, surface, "word")
            return
        word, classes = without_ending(word, classes)
        surface = fold(word)
        if surface.isalpha() and len(_PART.findall(classes)) < 2:
            yield self._term(surface, surface, "word")
            return
        yield from self._compound_terms(word, classes, surface)

    def _run_terms(self, run: str) -> Iterator[Term]:
        """Bigrams of a run, and its characters; a run of one character is a word."""
        run = fold(run)
        if len(run) == 1:
            yield Term(run, run, "word")
            return
        for i, char in enumerate(run):
            yield Term(char, char, "character")
            if i + 1 < len(run):
                yield Term(run[i : i + 2], run[i : i + 2], "word")

    def _compound_terms(self, word: str, classes: str, surface: str) -> Iterator[Term]:
        if surface.startswith("v") and _NUMBER.match(classes, 1):
            word, classes, surface = word[1:], classes[1:], surface[1:]
        number = _NUMBER.match(classes)
        if number is not None:
            yield self._term(surface[: number.end()], surface[: number.end()], "joined")
        segments: list[list[str]] = []
        offset = 0
        for segment in classes.split("."):
            segments.append(_parts(word[offset : offset + len(segment)], segment))
            offset += len(segment) + 1
        only = sum(map(len, segments)) == 1 and number is None
        for segment_parts in segments:
            for part in segment_parts:
                yield self._term(part, part, "word" if only else "part")
        if number is not None:
            return
        for segment_parts, segment in zip(segments, surface.split("."), strict=False):
            if len(segment_parts) > 1:
                yield self._term("".join(segment_parts), segment, "joined")
        if 1 < len(segments) <= MAX_SEGMENTS:
            yield self._term("".join(part for parts in segments for part in parts), surface, "joined")
        elif classes[-1] in "+#":
            yield self._term(surface, surface, "joined")

    def _term(self, word: str, surface: str, kind: Kind) -> Term:
        return Term(_cut(self._stem(word, kind)), _cut(surface), kind)

    def _stem(self, word: str, kind: Kind) -> str:
        return _stem(word)

    def stem_ahead(self, pieces: Sequence[str]) -> None:
        """Stem the words of pieces in one call, where that is worth it."""


def _is_plain(word: str) -> bool:
    """Return whether a word is a single one of ASCII letters, and short, as most are."""
    return word.isascii() and word.isalpha() and (word[1:].islower() or len(word) == 1) and len(word) <= MAX_TERM_CHARS


class _UnstemmedWords(_Words):
    """Words cut as English ones are, each its own stem; joined forms have English stems."""

    def _stem(self, word: str, kind: Kind) -> str:
        return _stem(word) if kind == "joined" else word


class _ForeignWords(_Words):
    """Words of a language other than English: cut as English ones are, and stemmed by its rules."""

    def __init__(self, language: str, unstemmed: _UnstemmedWords) -> None:
        super().__init__()
        self._stemmer = languages.stemmer(language)
        self._unstemmed = unstemmed
        self._stems: dict[str, str] = {}

    def stem_ahead(self, pieces: Sequence[str]) -> None:
        """Stem the words of pieces in one call: alone each costs some 10 µs."""
        small = {word for piece in pieces for word in _LETTERS.findall(piece.casefold())}
        words = [*small.union(map(fold, small))]
        words = [word for word in words if word.isalpha()]
        if not words:
            self._stems = {}
            return
        normal = [unicodedata.normalize("NFC", word) for word in words]
        self._stems = dict(zip(words, map(fold, self._stemmer("\n".join(normal))), strict=True))

    def _terms(self, word: str, classes: str) -> Iterator[Term]:
        if _is_plain(word):
            surface = word.lower()
            yield self._term(surface, surface, "word")
            return
        letters = word if word.isalpha() else ""
        for term in self._unstemmed[word]:
            if term.kind == "character" or classes[0] == "C":
                yield term
                continue
            stem = self._stem(term.surface, term.kind) if term.kind != "joined" else term.stem
            if letters and term.kind == "word" and term.surface == _cut(fold(letters)):
                small = letters.casefold()
                written = stem if small == term.surface else self._stem(small, term.kind)
                yield Term(_cut(written), term.surface, "word")
                if stem != written:
                    yield Term(_cut(stem), _cut(stem), "variant")
            else:
                yield Term(_cut(stem), term.surface, term.kind)

    def _stem(self, word: str, kind: Kind) -> str:
        known = self._stems.get(word)
        if known is not None:
            return known
        stems = self._stemmer(unicodedata.normalize("NFC", word)) if word.isalpha() else [word]
        return fold(stems[0]) if stems else word


@functools.cache
def _folded_function_words(language: str) -> frozenset[str]:
    return frozenset(map(fold, languages.function_words(language)))


def _parts(word: str, classes: str) -> list[str]:
    """Split an identifier at connectors, case changes and digits; return folded parts.

    A stretch in which digits come and go is a digest or a serial number and stays whole.
    """
    parts: list[str] = []
    for run in _RUN.finditer(classes):
        text = word[run.start() : run.end()]
        spans = [part.span() for part in _PART.finditer(run.group())]
        digits = sum(run.group()[start] == "D" for start, _ in spans)
        parts.extend([fold(text)] if digits > 1 else [fold(text[start:stop]) for start, stop in spans])
    return parts


def _cut(term: str) -> str:
    if len(term) <= MAX_TERM_CHARS:
        return term
    return f"{term[:_KEPT_CHARS]}~{term_hash(term):08x}"
