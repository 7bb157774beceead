"""Text index: Tantivy finds rows by phrases, prefixes, misspellings and facets.

Rows 0 to ``rows`` of the chunks log stand in it, cut into parts of consecutive rows. A part is a Tantivy index of its
own that is written once, in a folder nothing else is in, and never opened for writing again: so Tantivy's own lists of
files are read, and never acted on. ``parts.json`` names the parts with the checksum of each of their files, and is
replaced as a whole. Where a part ends depends on how rows came; no answer does.

Fields of a document:

* ``words``: surface forms of title and text, in order, with positions: phrases, prefixes and misspellings. ``title``:
  those of the title alone. Their tokens are exactly those of `Analyzer.tokens`, before stemming.
* ``facet``: exact terms such as ``project=api`` or ``tag=urgent``. ``row`` and ``created_s``: columns.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import weakref
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np

from lamina_engine.errors import LaminaError
from lamina_engine.index.analysis import ANALYSIS_ID
from lamina_engine.real_files import create_file, read_file
from lamina_kernels.layouts import I64

if TYPE_CHECKING:
    import tantivy

WORDS: Final = "words"
TITLE: Final = "title"
FACET: Final = "facet"
ROW: Final = "row"
CREATED_S: Final = "created_s"
PARTS: Final = "parts.json"
CHECKED_BYTES: Final = 1 << 24
"""Up to here every byte of an index is checked when it is opened: seven milliseconds."""
PART_NAME: Final = re.compile(r"\d{12}-\d{12}")
_LAYOUT: Final = 3
_READ_BYTES: Final = 1 << 20
_HEAP_BYTES: Final = 256_000_000
_SMALL_HEAP_BYTES: Final = 16_000_000
_BULK_ROWS: Final = 4_096
_MOST_PARTS_BYTES: Final = 1 << 22
_LOCKS: Final = frozenset({".tantivy-meta.lock", ".tantivy-writer.lock"})


class TextIndexDamaged(LaminaError, OSError):
    """A text index that is missing, damaged or of other rules; the log rebuilds it."""


class PartRecord(msgspec.Struct, frozen=True):
    """Entry of ``parts.json``."""

    start: int
    stop: int
    recorded_at: int
    """Of the last row, us: rows of another history have another."""
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


_PARTS_FILE: Final = msgspec.json.Decoder(PartsFile)
"""Made on import: two threads that are the first to decode a kind of struct crash the process (msgspec 0.22)."""


class Documents(NamedTuple):
    """Rows on their way into a part, one item a row."""

    titles: Sequence[str]
    """Surface forms, joined by blanks."""
    words: Sequence[str]
    facets: Iterable[Sequence[str]]
    created_s: Sequence[int | None]


# ---------------------------------------------------------------------- writing


def encodable(text: str) -> str:
    """Return a text that UTF-8 can hold: a lone surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


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
        row = start
        with _wrap_errors(building):
            index = tantivy.Index(_schema(), str(building), reuse=False)
            writer = index.writer(_HEAP_BYTES if stop - start > _BULK_ROWS else _SMALL_HEAP_BYTES, 1)
            try:
                for documents in batches:
                    row = _add_documents(writer, row, documents)
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
        record = PartRecord(start, stop, recorded_at, files)
        shutil.rmtree(folder / record.name, ignore_errors=True)  # of an attempt that was cut off
        building.replace(folder / record.name)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return record


def _add_documents(writer: tantivy.IndexWriter, row: int, documents: Documents) -> int:
    import tantivy

    rows = zip(documents.titles, documents.words, documents.facets, documents.created_s, strict=True)
    for title, words, facets, seconds in rows:
        document = tantivy.Document()
        document.add_unsigned(ROW, row)
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
    builder.add_text_field(WORDS, tokenizer_name="whitespace", index_option="position")
    builder.add_text_field(TITLE, tokenizer_name="whitespace", index_option="position")
    builder.add_text_field(FACET, tokenizer_name="raw", index_option="basic")
    return builder.build()


def write_parts(folder: Path, parts: Sequence[PartRecord]) -> None:
    """Replace ``parts.json``; parts that it no longer names can be removed then."""
    aside = folder / f"{PARTS}.tmp"
    with os.fdopen(create_file(aside), "wb") as file:
        file.write(msgspec.json.encode(PartsFile(ANALYSIS_ID, _LAYOUT, list(parts))))
    aside.replace(folder / PARTS)


def read_parts(folder: Path) -> list[PartRecord]:
    """Return an index's parts, in row order without gaps; none before the first build.

    Raises
    ------
    TextIndexDamaged
        When the list is torn, or made by other rules.
    """
    try:
        found = _PARTS_FILE.decode(read_file(folder / PARTS, _MOST_PARTS_BYTES))
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise TextIndexDamaged(f"{folder / PARTS} cannot be read ({error}); build it again from the log") from error
    if (found.analysis, found.layout) != (ANALYSIS_ID, _LAYOUT):
        raise TextIndexDamaged(f"{folder} was made by {found.analysis!r}, this is {ANALYSIS_ID!r}; build it again")
    stop = 0
    for part in found.parts:
        if part.start != stop or part.stop <= part.start:
            raise TextIndexDamaged(
                f"{folder / PARTS} has rows {part.start} to {part.stop} out of order; build it again"
            )
        stop = part.stop
    return found.parts


# ---------------------------------------------------------------------- reading


class TextPart:
    """One part, open. Any number of threads may search it."""

    def __init__(self, record: PartRecord, index: tantivy.Index, links: Path | None) -> None:
        index.config_reader("manual", 0)  # a watcher thread of each open index would look at its folder all the time
        self.record = record
        self.start, self.stop = record.start, record.stop
        self.schema = index.schema
        self.searcher = index.searcher()
        self._rows = record.stop - record.start
        if self.searcher.num_docs != self._rows:
            raise TextIndexDamaged(f"{record.name} has {self.searcher.num_docs} rows, its name says {self._rows}")
        self._links = None if links is None else weakref.finalize(self, shutil.rmtree, links, ignore_errors=True)

    def frequency(self, field: str, term: str, stop: int) -> int:
        """Return how many rows below ``stop`` hold a term."""
        if stop >= self.stop:
            return int(self.searcher.doc_freq(field, term))
        from tantivy import Query

        option = "basic" if field == FACET else "position"
        query = self._limited(Query.term_query(self.schema, field, term, option), stop)
        return int(self.searcher.search(query, 1, count=True).count or 0)  # type: ignore[attr-defined]  # the stubs lack it

    def rows_of(self, make_query: Callable[[tantivy.Schema], tantivy.Query], stop: int) -> I64:
        """Return the rows below ``stop`` that a query matches, int64 (m,) ascending."""
        import tantivy

        query = self._limited(make_query(self.schema), stop)
        count = int(self.searcher.search(query, 1, count=True).count or 0)  # type: ignore[attr-defined]  # the stubs lack it
        if not count:
            return np.empty(0, np.int64)
        hits = self.searcher.search(query, count, count=False, order_by_field=ROW, order=tantivy.Order.Asc).hits
        return np.array([row for row, _ in hits], np.int64)

    def _limited(self, query: tantivy.Query, stop: int) -> tantivy.Query:
        """Return a query of the rows below another."""
        from tantivy import FieldType, Occur, Query

        if stop >= self.stop:
            return query
        rows = Query.range_query(self.schema, ROW, FieldType.Unsigned, self.start, stop, include_upper=False)
        return Query.boolean_query([(Occur.Must, query), (Occur.Must, Query.const_score_query(rows, 0.0))])


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

    def frequencies(self, field: str, terms: Collection[str], stop: int) -> dict[str, int]:
        """Return by term how many rows below ``stop`` hold it; those that none holds are left out.

        Raises
        ------
        TextIndexDamaged
            When what is read of it makes no sense.
        """
        found: dict[str, int] = {}
        with _wrap_errors(self.path):
            for part in self.below(stop):
                look_up = part.searcher.doc_freq
                for term in [term for term in terms if look_up(field, term)]:
                    if count := part.frequency(field, term, stop):
                        found[term] = found.get(term, 0) + count
        return found

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
        """Return the matching rows below ``stop``, int64 (m,) ascending, of any query.

        Raises
        ------
        TextIndexDamaged
            When what is read of it makes no sense.
        """
        with _wrap_errors(self.path):
            return np.concatenate([np.empty(0, np.int64), *(p.rows_of(make_query, stop) for p in self.below(stop))])


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
    """Check a part's folder, files and sizes, and on request every byte."""
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
    """Return the sizes of a real folder's regular files by name, without Tantivy's locks."""
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


class _wrap_errors:  # noqa: N801  a class costs a question of eight words a few microseconds less than a generator
    """Raise `TextIndexDamaged` for Tantivy's errors and panics on damaged bytes."""

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
