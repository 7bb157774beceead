"""Text index: Tantivy finds the rows that hold a query's words; `lamina_engine.index.scoring` scores them.

Rows 0 to ``rows`` of the chunks log stand in it, cut into parts of consecutive rows. A part is a Tantivy index of its
own that is written once, in a folder nothing else is in, and never opened for writing again: so Tantivy's own lists of
files are read, and never acted on. ``parts.json`` names the parts with the checksum of each of their files, and is
replaced as a whole. Where a part ends depends on how rows came; no answer does.

Fields of a document:

* ``score``: a near copy of Lamina's score. Each entry of the row's forward list as a token, repeated as often as it
  counts by zone (body once, header twice, context half, rounded up), then padding up to twice the row's weighted
  length. Tantivy's BM25 over it, with Lamina's weights as boosts, is at least Lamina's own score divided by `Near.ratio`.
* ``words``: surface forms of title and text, in order, with positions: phrases, prefixes and misspellings. ``title``:
  those of the title alone. Their tokens are exactly those of `Analyzer.tokens`, before stemming.
* ``facet``: exact terms such as ``project=api`` or ``tag=urgent``. ``row`` and ``created_s``: columns.
"""

from __future__ import annotations

import binascii
import contextlib
import math
import os
import re
import shutil
import stat
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np

from lamina_engine.errors import LaminaError
from lamina_engine.index.analysis import ANALYSIS_ID
from lamina_engine.index.scoring import Bm25
from lamina_kernels.layouts import F64, I64, U32, TermRows

if TYPE_CHECKING:
    import tantivy

SCORE: Final = "score"
WORDS: Final = "words"
TITLE: Final = "title"
FACET: Final = "facet"
ROW: Final = "row"
CREATED_S: Final = "created_s"
PARTS: Final = "parts.json"
CHECKED_BYTES: Final = 1 << 24
"""Up to here every byte of an index is checked when it is opened: seven milliseconds."""
PART_NAME: Final = re.compile(r"\d{12}-\d{12}")
_LAYOUT: Final = 2
_READ_BYTES: Final = 1 << 20
_HEAP_BYTES: Final = 256_000_000
_SMALL_HEAP_BYTES: Final = 16_000_000
_BULK_ROWS: Final = 4_096
_MOST_TERMS: Final = 1 << 14
_MOST_PARTS_BYTES: Final = 1 << 22
_LOCKS: Final = frozenset({".tantivy-meta.lock", ".tantivy-writer.lock"})
_K1, _B = 1.2, 0.75  # Tantivy's own, fixed
_BODY, _HEADER, _CONTEXT = 1.0, 2.0, 0.5
"""Weights of the zones that the near copy counts; other weights loosen its bound."""
_PAD: Final = ". "
_BASE64: Final = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
_CODE_BYTES: Final = 7
ROUNDING: Final = 1e-5
"""Relative; a hundred times the rounding of float32, so a sum of many terms in any order stays inside."""


class TextIndexDamaged(LaminaError, OSError):
    """A text index that is missing, torn, flipped or made under other rules: build it again from the log."""


class PartRecord(msgspec.Struct, frozen=True):
    """Entry of ``parts.json``."""

    start: int
    stop: int
    recorded_at: int
    """Of the last row, us: rows of another history have another."""
    tokens: int
    """Of the field `SCORE`, padding included, over all rows."""
    longest: int
    """Most of them in one row."""
    stretch: float
    """Greatest ratio of a row's tokens to twice its weighted length; ≥ 1."""
    files: dict[str, tuple[int, int]]
    """By name: bytes and CRC-32."""

    @property
    def name(self) -> str:
        """Folder of the part."""
        return f"{self.start:012d}-{self.stop:012d}"


class PartsFile(msgspec.Struct, frozen=True):
    """Content of ``parts.json``."""

    analysis: str
    layout: int
    parts: list[PartRecord]


class Documents(NamedTuple):
    """Rows on their way into a part, one item a row."""

    terms: TermRows
    titles: Sequence[str]
    """Surface forms, joined by blanks."""
    words: Sequence[str]
    facets: Iterable[Sequence[str]]
    created_s: Sequence[int | None]


class Hits(NamedTuple):
    """Rows of one part, best first by the near copy."""

    rows: I64
    bounds: F64
    """float64 (m,), descending: no row has a higher score than its bound."""
    rest: float
    """Bound of every row that is not among them; 0 where there is none."""


# ---------------------------------------------------------------------- writing


def term_code(key: int) -> str:
    """Return the token that stands for a term's hash: six letters of base 64."""
    return binascii.b2a_base64(key.to_bytes(4, "big"), newline=False)[:6].decode("ascii")


def encodable(text: str) -> str:
    """Return a text that UTF-8 can hold: a lone surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class NearCopy(NamedTuple):
    """The field `SCORE` of some rows."""

    texts: list[str]
    tokens: I64
    """How many tokens each text has, padding included."""
    lengths: I64
    """Twice the weighted length of each row: what `tokens` is where nothing sticks out."""


def near_copy(block: TermRows) -> NearCopy:
    """Return the field `SCORE` of some rows. O(occurrences)."""
    counts = block.body.astype(np.int64) + 2 * block.header.astype(np.int64) + (block.context.astype(np.int64) + 1) // 2
    keys = block.hashes
    codes = np.full((keys.size, _CODE_BYTES), ord(" "), np.uint8)
    for place, shift in enumerate((26, 20, 14, 8, 2)):
        codes[:, place] = _BASE64[(keys >> np.uint32(shift)) & np.uint32(63)]
    codes[:, 5] = _BASE64[(keys & np.uint32(3)) << np.uint32(4)]
    data = np.repeat(codes.view(f"V{_CODE_BYTES}").reshape(-1), counts).tobytes().decode("ascii")
    stops = np.concatenate([[0], np.cumsum(counts)])[block.indptr]
    held = np.diff(stops)
    zones = block.lengths.astype(np.int64)
    lengths = 2 * zones[:, 0] + 4 * zones[:, 1] + zones[:, 2]
    tokens = np.maximum(lengths, held)
    bounds, pads = (stops * _CODE_BYTES).tolist(), (tokens - held).tolist()
    texts = [data[bounds[i] : bounds[i + 1]] + _PAD * pad for i, pad in enumerate(pads)]
    return NearCopy(texts, tokens, lengths)


def write_part(
    folder: Path, start: int, stop: int, recorded_at: int, batches: Iterator[Documents], *, building: Path
) -> PartRecord:
    """Write the part of some rows, aside first; what was there under its name goes.

    Raises
    ------
    TextIndexDamaged
        When Tantivy cannot write.
    """
    import tantivy

    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    try:
        tokens, longest, stretch, row = 0, 1, 1.0, start
        with _wrap_errors(building):
            index = tantivy.Index(_schema(), str(building), reuse=False)
            writer = index.writer(_HEAP_BYTES if stop - start > _BULK_ROWS else _SMALL_HEAP_BYTES, 1)
            try:
                for documents in batches:
                    copy = near_copy(documents.terms)
                    tokens += int(copy.tokens.sum())
                    longest = max(longest, int(copy.tokens.max(initial=0)))
                    stretch = max(stretch, float((copy.tokens / np.maximum(copy.lengths, 1)).max(initial=0.0)))
                    row = _add_documents(writer, row, copy.texts, documents)
                writer.commit()
            except BaseException:
                writer.rollback()
                raise
            finally:
                with contextlib.suppress(ValueError):  # the commit stands, whether or not merging after it worked
                    writer.wait_merging_threads()
        if row != stop:
            raise TextIndexDamaged(f"{row - start} rows came for rows {start} to {stop} of {folder}")
        files = {name: _measure(building / name) for name in _plain_files(building)}
        record = PartRecord(start, stop, recorded_at, tokens, longest, stretch, files)
        shutil.rmtree(folder / record.name, ignore_errors=True)  # of an attempt that was cut off
        building.replace(folder / record.name)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return record


def _add_documents(writer: tantivy.IndexWriter, row: int, texts: list[str], documents: Documents) -> int:
    import tantivy

    rest = zip(texts, documents.titles, documents.words, documents.facets, documents.created_s, strict=True)
    for score, title, words, facets, seconds in rest:
        document = tantivy.Document()
        document.add_unsigned(ROW, row)
        document.add_text(SCORE, score)
        if title:  # two values: a phrase does not reach from the title into the text
            document.add_text(TITLE, title)
            document.add_text(WORDS, title)
        document.add_text(WORDS, words)
        for facet in facets:
            document.add_text(FACET, facet)
        if seconds is not None:
            document.add_integer(CREATED_S, seconds)
        writer.add_document(document)
        row += 1
    return row


def _schema() -> tantivy.Schema:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field(ROW, fast=True)
    builder.add_integer_field(CREATED_S, fast=True)
    builder.add_text_field(SCORE, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field(WORDS, tokenizer_name="whitespace", index_option="position")
    builder.add_text_field(TITLE, tokenizer_name="whitespace", index_option="position")
    builder.add_text_field(FACET, tokenizer_name="raw", index_option="basic")
    return builder.build()


def write_parts(folder: Path, parts: Sequence[PartRecord]) -> None:
    """Replace ``parts.json``; parts that it no longer names can be removed then."""
    aside = folder / f"{PARTS}.tmp"
    aside.unlink(missing_ok=True)
    with aside.open("xb") as file:
        file.write(msgspec.json.encode(PartsFile(ANALYSIS_ID, _LAYOUT, list(parts))))
    aside.replace(folder / PARTS)


def read_parts(folder: Path) -> list[PartRecord]:
    """Return the parts of an index, in row order and without a gap; none where nothing has been built yet.

    Raises
    ------
    TextIndexDamaged
        When the list is torn, or made by other rules.
    """
    try:
        descriptor = os.open(folder / PARTS, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            found = msgspec.json.decode(file.read(_MOST_PARTS_BYTES), type=PartsFile)
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise TextIndexDamaged(f"{folder / PARTS} cannot be read ({error}); build it again from the log") from error
    if (found.analysis, found.layout) != (ANALYSIS_ID, _LAYOUT):
        raise TextIndexDamaged(f"{folder} was made by {found.analysis!r}, this is {ANALYSIS_ID!r}; build it again")
    stop = 0
    for part in found.parts:
        if part.start != stop or part.stop <= part.start or part.tokens < 0 or not part.stretch >= 1.0:
            raise TextIndexDamaged(
                f"{folder / PARTS} has rows {part.start} to {part.stop} out of order; build it again"
            )
        stop = part.stop
    return found.parts


# ---------------------------------------------------------------------- reading


class _Term(NamedTuple):
    frequency: int
    idf: float
    """As Tantivy weighs it."""
    query: tantivy.Query


class TextPart:
    """One part, open. Any number of threads may search it."""

    def __init__(self, record: PartRecord, index: tantivy.Index, links: Path | None) -> None:
        index.config_reader("manual", 0)  # a watcher thread of each open index would look at its folder all the time
        self.record = record
        self.start, self.stop = record.start, record.stop
        self.schema = index.schema
        self.searcher = index.searcher()
        self._rows = record.stop - record.start
        self._terms: dict[str, _Term] = {}
        if self.searcher.num_docs != self._rows:
            raise TextIndexDamaged(f"{record.name} has {self.searcher.num_docs} rows, its name says {self._rows}")
        self._links = None if links is None else weakref.finalize(self, shutil.rmtree, links, ignore_errors=True)

    def frequency(self, field: str, term: str, stop: int) -> int:
        """Return how many rows below ``stop`` hold a term."""
        if stop >= self.stop:
            return self._term(term).frequency if field == SCORE else int(self.searcher.doc_freq(field, term))
        from tantivy import Query

        option = "basic" if field == FACET else "freq" if field == SCORE else "position"
        query = self._limited(Query.term_query(self.schema, field, term, option), (), stop)
        return int(self.searcher.search(query, 1, count=True).count or 0)  # type: ignore[attr-defined]  # the stubs lack it

    def _term(self, code: str) -> _Term:
        """Return what is known of a term of the field `SCORE`, remembered: questions repeat their words."""
        found = self._terms.get(code)
        if found is None:
            from tantivy import Query

            if len(self._terms) >= _MOST_TERMS:
                self._terms.clear()
            frequency = int(self.searcher.doc_freq(SCORE, code))
            query = Query.term_query(self.schema, SCORE, code, "freq")
            found = self._terms[code] = _Term(frequency, _tantivy_idf(frequency, self._rows), query)
        return found

    def ratio(self, bm25: Bm25, average_length: float) -> float:
        """Return what no row's score exceeds its near copy by, as a factor; infinite where nothing is known.

        For a term in a row, with counts tf (Lamina's) and tf' (the near copy's) and length norms n and n'::

            (k1 + 1) tf / (tf + n)  ≤  ratio · (K1 + 1) tf' / (tf' + n')

        tf ≤ ρ tf' for the weights in use, and tf' ≥ 1, so the ratio is at most (k1 + 1) / (K1 + 1) · max(1, (1 + n') /
        (1 + n / ρ)). Both norms are straight lines in the row's length, so the quotient is greatest at the shortest or
        at the longest row. Weights are zero only where no bound is needed.
        """
        if min(bm25.body, bm25.header, bm25.context) <= 0.0:
            return math.inf
        rho = max(bm25.body / _BODY, bm25.header / _HEADER, bm25.context / _CONTEXT)
        shrink = max(_BODY / bm25.body, _HEADER / bm25.header, _CONTEXT / bm25.context)
        average = max(self.record.tokens, 1) / self._rows
        quotient = 1.0
        for tokens in (0.0, float(self.record.longest)):
            length = tokens / (2.0 * self.record.stretch * shrink)  # at least so long by Lamina's measure
            near = _K1 * ((1.0 - _B) + _B * tokens / average)
            own = bm25.k1 * ((1.0 - bm25.b) + bm25.b * length / average_length)
            quotient = max(quotient, (1.0 + near) / (1.0 + own / rho))
        return (bm25.k1 + 1.0) / (_K1 + 1.0) * quotient * (1.0 + ROUNDING)

    def search(
        self, keys: Sequence[int], weights: Sequence[float], limit: int, ratio: float, facets: Sequence[str], stop: int
    ) -> Hits | None:
        """Return the best rows below ``stop`` by the near copy; None where Tantivy cannot weigh a term.

        Parameters
        ----------
        keys : sequence of int
            Hashes of the terms; any of them makes a row a candidate.
        weights : sequence of float
            Of the terms, as Lamina's score has them; > 0.
        limit : int
            Most rows.
        ratio : float
            From `ratio`.
        facets : sequence of str
            Every row has all of them.
        stop : int
        """
        from tantivy import Occur, Query

        terms = []
        for key, weight in zip(keys, weights, strict=True):
            code = term_code(key)
            term = self._term(code)
            if term.frequency:
                if term.idf <= 0.0:
                    return None
                terms.append((Occur.Should, Query.boost_query(term.query, weight / term.idf)))
        if not terms:
            return Hits(np.empty(0, np.int64), np.empty(0), 0.0)
        found = self.searcher.search(
            self._limited(Query.boolean_query(terms), facets, stop), min(limit, self._rows), count=False
        ).hits
        rows = np.array(self.searcher.fast_field_values(ROW, [address for _, address in found]), np.int64)
        if rows.size and not self.start <= rows.min() <= rows.max() < self.stop:
            raise TextIndexDamaged(f"{self.record.name} names rows outside of it")
        bounds = np.array([score for score, _ in found], np.float64) * ratio
        rest = float(bounds[-1]) if len(found) >= limit else 0.0
        return Hits(rows, bounds, rest)

    def rows_of(self, make_query: Callable[[tantivy.Schema], tantivy.Query], stop: int) -> I64:
        """Return the rows below ``stop`` that a query matches, int64 (m,) ascending."""
        import tantivy

        query = self._limited(make_query(self.schema), (), stop)
        count = int(self.searcher.search(query, 1, count=True).count or 0)  # type: ignore[attr-defined]  # the stubs lack it
        if not count:
            return np.empty(0, np.int64)
        hits = self.searcher.search(query, count, count=False, order_by_field=ROW, order=tantivy.Order.Asc).hits
        return np.array([row for row, _ in hits], np.int64)

    def _limited(self, query: tantivy.Query, facets: Sequence[str], stop: int) -> tantivy.Query:
        """Return a query within facets and below a row; both add nothing to any score."""
        from tantivy import FieldType, Occur, Query

        filters = [Query.term_query(self.schema, FACET, facet, "basic") for facet in facets]
        if stop < self.stop:
            filters.append(
                Query.range_query(self.schema, ROW, FieldType.Unsigned, self.start, stop, include_upper=False)
            )
        if not filters:
            return query
        silent = [(Occur.Must, Query.const_score_query(filter_, 0.0)) for filter_ in filters]
        return Query.boolean_query([(Occur.Must, query), *silent])


class TextIndex:
    """The parts of consecutive rows from 0 on; made by `open_index`."""

    def __init__(self, path: Path, parts: Sequence[TextPart]) -> None:
        self.path = path
        self.parts = tuple(parts)
        self.rows = self.parts[-1].stop if self.parts else 0
        """Rows below this are in it."""

    def below(self, stop: int) -> list[TextPart]:
        """Return the parts that have rows below ``stop``."""
        return [part for part in self.parts if part.start < stop]

    def frequencies(self, keys: U32, stop: int) -> I64:
        """Return how many rows below ``stop`` hold each term of the field `SCORE`, int64 (q,)."""
        codes = [term_code(key) for key in keys.tolist()]
        total = np.zeros(len(codes), np.int64)
        with _wrap_errors(self.path):
            for part in self.below(stop):
                total += np.array([part.frequency(SCORE, code, stop) for code in codes], np.int64)
        return total

    def frequency(self, field: str, term: str, stop: int) -> int:
        """Return how many rows below ``stop`` hold a term of a field.

        Raises
        ------
        TextIndexDamaged
            When what is read of it makes no sense.
        """
        with _wrap_errors(self.path):
            return sum(
                part.frequency(field, term, stop) for part in self.below(stop) if part.searcher.doc_freq(field, term)
            )

    def words_with_prefix(self, field: str, prefix: str, stop: int) -> set[str]:
        """Return the terms of a field that begin so, of the parts that have rows below ``stop``.

        Raises
        ------
        TextIndexDamaged
            When what is read of it makes no sense.
        """
        with _wrap_errors(self.path):
            found = (part.searcher.terms_with_prefix(field, prefix) for part in self.below(stop))
            return {term for terms in found for term, _ in terms}

    def rows_of(self, make_query: Callable[[tantivy.Schema], tantivy.Query], stop: int) -> I64:
        """Return the rows below ``stop`` that a query matches, int64 (m,) ascending: for phrases, prefixes, misspellings.

        Raises
        ------
        TextIndexDamaged
            When what is read of it makes no sense.
        """
        with _wrap_errors(self.path):
            return np.concatenate([np.empty(0, np.int64), *(p.rows_of(make_query, stop) for p in self.below(stop))])

    def search(
        self, part: TextPart, keys: Sequence[int], weights: Sequence[float], limit: int, ratio: float,
        facets: Sequence[str], stop: int,
    ) -> Hits | None:  # fmt: skip
        """Search one part; see `TextPart.search`.

        Raises
        ------
        TextIndexDamaged
            When what is read of it makes no sense.
        """
        with _wrap_errors(self.path):
            return part.search(keys, weights, limit, ratio, facets, stop)


def open_index(
    path: Path, *, verify: bool = False, linked: bool | None = None, known: TextIndex | None = None
) -> TextIndex:
    """Open a text index.

    Parameters
    ----------
    path : Path
        Its folder.
    verify : bool
        Read every file and compare its checksum, which is done in any case where all of them are no more than
        `CHECKED_BYTES`.
    linked : bool, optional
        Open through temporary folders of links and write nothing in ``path`` (Tantivy leaves a lock file beside what
        it opens). By default only where the folder cannot be written.
    known : TextIndex, optional
        Opened before; its parts are kept.

    Raises
    ------
    TextIndexDamaged
        When it is missing, torn, flipped, not a real folder or made by other rules of analysis.
    """
    had = {part.record.name: part for part in (known.parts if known is not None else ())}
    linked = not os.access(path, os.W_OK) if linked is None else linked
    parts = []
    for record in read_parts(path):
        former = had.get(record.name)
        same = former is not None and former.record == record
        parts.append(former if former is not None and same else _open_part(path, record, verify, linked))
    return TextIndex(path, parts)


def check_files(path: Path) -> None:
    """Read every file of an index and compare its checksum.

    Raises
    ------
    TextIndexDamaged
    """
    for record in read_parts(path):
        _check_part(path / record.name, record, verify=True)


def is_small(path: Path) -> bool:
    """Tell whether an index has so few bytes that opening it reads all of them."""
    return all(_bytes_of(record) <= CHECKED_BYTES for record in read_parts(path))


def _open_part(path: Path, record: PartRecord, verify: bool, linked: bool) -> TextPart:
    import tantivy

    folder = path / record.name
    _check_part(folder, record, verify=verify or _bytes_of(record) <= CHECKED_BYTES)
    with _wrap_errors(folder):
        if not linked:
            return TextPart(record, tantivy.Index.open(str(folder)), None)
        links = _make_links(folder, record)
        try:
            return TextPart(record, tantivy.Index.open(str(links)), links)
        except BaseException:
            shutil.rmtree(links, ignore_errors=True)
            raise


def _make_links(folder: Path, record: PartRecord) -> Path:
    import tempfile

    links = Path(tempfile.mkdtemp(prefix="lamina-text-"))
    for name in record.files:
        (links / name).symlink_to((folder / name).resolve())
    return links


def _check_part(folder: Path, record: PartRecord, *, verify: bool) -> None:
    """Check that a part is a real folder with just its files, of their sizes, and their bytes where asked."""
    try:
        found = _plain_files(folder)
        if sorted(found) != sorted(record.files):
            raise TextIndexDamaged(f"{folder} holds other files than {PARTS} says; build it again from the log")
        for name, (size, checksum) in record.files.items():
            if found[name] != size or (verify and _measure(folder / name)[1] != checksum):
                raise TextIndexDamaged(f"{name} in {folder} does not match its checksum; build it again from the log")
    except TextIndexDamaged:
        raise
    except OSError as error:
        raise TextIndexDamaged(f"{folder} cannot be read ({error}); build it again from the log") from error


def _plain_files(folder: Path) -> dict[str, int]:
    """Return the regular files of a real folder by name, with their sizes, but for Tantivy's locks."""
    if not stat.S_ISDIR(folder.lstat().st_mode):
        raise TextIndexDamaged(f"{folder} is not a real folder; build it again from the log")
    found: dict[str, int] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_file(follow_symlinks=False):
                raise TextIndexDamaged(f"{entry.path} is not a regular file; build it again from the log")
            if entry.name not in _LOCKS:
                found[entry.name] = entry.stat(follow_symlinks=False).st_size
    return found


def _bytes_of(record: PartRecord) -> int:
    return sum(size for size, _ in record.files.values())


def _measure(path: Path) -> tuple[int, int]:
    size, checksum = 0, 0
    with path.open("rb") as file:
        while part := file.read(_READ_BYTES):
            size, checksum = size + len(part), zlib.crc32(part, checksum)
    return size, checksum


def _tantivy_idf(frequency: int, rows: int) -> float:
    """Return the inverse document frequency as Tantivy computes it, in float32."""
    one, half = np.float32(1.0), np.float32(0.5)
    return float(np.log(one + (np.float32(rows - frequency) + half) / (np.float32(frequency) + half)))


class _wrap_errors:  # noqa: N801  a class costs a question of eight words a few microseconds less than a generator
    """Raise `TextIndexDamaged` for what Tantivy raises on bytes that make no sense: its code in Rust may panic there."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is None or isinstance(error, TextIndexDamaged):
            return
        if isinstance(error, ValueError | OSError) or kind.__name__ == "PanicException":
            raise TextIndexDamaged(f"the text index in {self._path} cannot be used: {error}") from error
