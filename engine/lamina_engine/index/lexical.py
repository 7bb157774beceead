"""The Tantivy index: it finds rows by their terms where there are no inverted lists; `lamina_engine.index.scoring` scores them.

Rows 0 to ``rows`` of the log stand in it, each as one document: its stems, cut at white space; its facets, each a
term as it is; its row number and its seconds since 1970. Texts, surfaces and zones are not in it.

What a search returns is a function of the documents, not of the segments they happen to lie in. Tantivy breaks ties by
segment and adds a document's float32 parts in an order that depends on the segment, so the same document differs in the
last digits between two builds. Scores that follow each other within 1e-5 (relative) are therefore taken as tied, and a
group of ties is returned whole; of a group beyond `TIE_ROWS` nothing is, as Tantivy cannot tell which of them are best.
"""

from __future__ import annotations

import contextlib
import copy
import os
import re
import shutil
import weakref
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec
import numpy as np

from lamina_engine.errors import InvalidArgument, LaminaError
from lamina_engine.index.analysis import ANALYSIS_ID
from lamina_kernels.layouts import I64

if TYPE_CHECKING:
    import tantivy

TIE_ROWS = 1024
"""Rows that a tie at the cut may add to the limit."""
TIE_TOLERANCE = 1e-5
"""Relative; a hundred times the rounding of float32, so a sum of many terms in any order stays inside."""
CHECKED_BYTES = 1 << 24
"""Up to here every byte of an index is checked when it is opened: seven milliseconds."""
_READ_BYTES = 1 << 20
_CHECKSUMS = "lamina.json"
_LAYOUT = 1
_SPARE = 12
"""Rows asked for past the limit, so that a tie at the cut ends among them (all but one question in a hundred); each
costs, as Tantivy skips what cannot be among the best: 0.2 ms less than with 64 at a hundred thousand rows."""
_BULK_ROWS = 2048
_HEAP_BYTES = 192_000_000
_SMALL_HEAP_BYTES = 16_000_000
_OWN = re.compile(r"[0-9a-f]{32}\.[a-z0-9.]+|\.?[a-z]+\.json")
_TRANSIENT = frozenset({_CHECKSUMS, "meta.json", ".managed.json", ".tantivy-meta.lock", ".tantivy-writer.lock"})


class LexicalDamaged(LaminaError, OSError):
    """A lexical index that is missing, torn, flipped or made under other rules: build it again from the log."""


class _Checksums(msgspec.Struct, frozen=True):
    """What ``lamina.json`` says: the rules, and the CRC-32 of every file of the last commit that was noted."""

    analysis: str
    layout: int
    files: dict[str, int]


class LexicalIndex:
    """A Tantivy index over a prefix of the chunks log; made by `create` or `open`.

    Any number of threads may search; one at a time may append.
    """

    def __init__(self, path: Path, index: tantivy.Index, links: Path | None) -> None:
        self.path = path
        self._index = index
        self._searcher = index.searcher()
        self._links = None if links is None else weakref.finalize(self, shutil.rmtree, links, ignore_errors=True)

    @classmethod
    def create(cls, path: Path) -> Self:
        """Make an empty index in an empty or missing folder.

        Raises
        ------
        LexicalDamaged
            When something else is in the folder, or it cannot be written.
        """
        import tantivy

        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise LexicalDamaged(f"{path} is not empty; delete it to build the lexical index again")
            _note(path, {})
            index = tantivy.Index(_schema(), str(path), reuse=False)
        except (ValueError, OSError) as error:
            if isinstance(error, LexicalDamaged):
                raise
            raise LexicalDamaged(f"no lexical index can be made in {path}: {error}") from error
        _manual(index)
        return cls(path, index, None)

    @classmethod
    def open(cls, path: Path, *, verify: bool = False, linked: bool | None = None) -> Self:
        """Open an index.

        Parameters
        ----------
        path : Path
            Its folder.
        verify : bool
            Read every file and compare its checksum, which is done in any case where all of them are no more than
            `CHECKED_BYTES`. Files of a commit that was cut off before its checksums were noted have none and pass.
        linked : bool, optional
            Open through a temporary folder of links and write nothing in ``path`` (Tantivy leaves a lock file beside
            what it opens). By default only where the folder cannot be written.

        Raises
        ------
        LexicalDamaged
            When it is missing, torn, flipped or made by other rules of analysis.
        """
        _check(path, verify=verify)
        linked = not os.access(path, os.W_OK) if linked is None else linked
        with _damage_told(path):
            index, links = _open_linked(path) if linked else (_open_index(path), None)
            return cls(path, index, links)

    @property
    def rows(self) -> int:
        """Rows in it: 0 to ``rows`` of the log, without a gap."""
        return int(self._searcher.num_docs)

    def append(
        self,
        stems: Iterable[str],
        facets: Iterable[Sequence[str]],
        created_s: Iterable[int | None],
        *,
        threads: int | None = None,
    ) -> None:
        """Add rows after the last one, in one commit: all of them or, after a crash, none.

        Parameters
        ----------
        stems : iterable of str
            For each row its stems, joined by spaces, as `build_term_rows` gives them.
        facets : iterable of sequences of str
            For each row the exact terms it can be filtered by, such as ``project=api``.
        created_s : iterable of int or None
            For each row its seconds since 1970; None where unknown.
        threads : int, optional
            Of the writer; by default two for bulk, one for a few rows.

        Raises
        ------
        InvalidArgument
            When the three differ in length; nothing is added.
        LexicalDamaged
            When the index was opened through links, or Tantivy cannot write.
        """
        stems = stems if isinstance(stems, Sequence) else list(stems)
        bulk = len(stems) >= _BULK_ROWS
        appending = self.begin(threads=threads or (2 if bulk else 1), bulk=bulk)
        try:
            appending.add(stems, facets, created_s)
        except BaseException:
            appending.abandon()
            raise
        appending.commit()

    def begin(self, *, threads: int = 2, bulk: bool = True) -> Appending:
        """Begin to add rows after the last one, in parts: nothing is seen of them before `Appending.commit`.

        Raises
        ------
        LexicalDamaged
            When the index was opened through links, or Tantivy cannot write.
        """
        if self._links is not None:
            raise LexicalDamaged(f"{self.path} was opened for reading only; open it as a writable folder to append")
        heap = _HEAP_BYTES if bulk else _SMALL_HEAP_BYTES * threads
        try:
            return Appending(self, self._index.writer(heap, threads))
        except (ValueError, OSError) as error:
            raise LexicalDamaged(f"the lexical index in {self.path} cannot be written: {error}") from error

    def reload(self) -> None:
        """See the last commit; searches before it saw the one before.

        Raises
        ------
        LexicalDamaged
            When it cannot be opened.
        """
        with _damage_told(self.path):
            if self._links is None:
                self._index.reload()
            else:  # new segments have no links yet
                remove_old = self._links
                self._index, links = _open_linked(self.path)
                self._links = weakref.finalize(self, shutil.rmtree, links, ignore_errors=True)
                remove_old()
            self._searcher = self._index.searcher()

    def doc_freq(self, stem: str) -> int:
        """Return how many rows hold a stem.

        Raises
        ------
        LexicalDamaged
            When what is read of it makes no sense.
        """
        with _damage_told(self.path):
            return int(self._searcher.doc_freq("body", stem))

    def search(
        self,
        stems: Sequence[str],
        limit: int,
        must: Sequence[str] = (),
        *,
        created_s: tuple[int, int] | None = None,
    ) -> I64 | None:
        """Return the rows that hold the stems best by Tantivy's BM25, ties included; None where too many rows tie.

        Parameters
        ----------
        stems : sequence of str
            Any of them makes a row a candidate.
        limit : int
            Rows wanted; ties at the cut come in addition, at most `TIE_ROWS`.
        must : sequence of str
            Facets that a row must all have.
        created_s : (int, int), optional
            First second and one past the last; rows of unknown time are left out.

        Returns
        -------
        int64 (m,), or None
            Best first; within a tie, the newest row first. None where the group of ties at the cut does not end within
            ``limit + TIE_ROWS``: a word of most rows, whose order Tantivy's coarse lengths and statistics leave open.

        Raises
        ------
        LexicalDamaged
            When what is read of it makes no sense.
        """
        if limit <= 0 or not stems or not self.rows:
            return np.zeros(0, np.int64)
        with _damage_told(self.path):
            return self._search(stems, limit, must, created_s)

    def _search(
        self, stems: Sequence[str], limit: int, must: Sequence[str], created_s: tuple[int, int] | None
    ) -> I64 | None:
        query = _query(self._index.schema, stems, must, created_s)
        for fetch in (limit + _SPARE, limit + TIE_ROWS + 1):
            hits = self._searcher.search(query, min(fetch, self.rows), count=False).hits
            scores = np.array([score for score, _ in hits], np.float64)
            groups = np.cumsum(scores[1:] < scores[:-1] * (1.0 - TIE_TOLERANCE))
            groups = np.concatenate([np.zeros(min(scores.size, 1), np.int64), groups])
            ended = len(hits) < fetch or fetch >= self.rows
            if ended or groups[-1] > groups[limit - 1]:
                break
        else:
            return None
        kept = int(np.searchsorted(groups, groups[min(limit, groups.size) - 1], side="right")) if groups.size else 0
        values = self._searcher.fast_field_values("row", [address for _, address in hits[:kept]])
        rows = np.array(values, np.int64)
        return rows[np.lexsort((-rows, groups[:kept]))]


class Appending:
    """Rows on their way into an index, from one thread at a time; made by `LexicalIndex.begin`.

    Ended by `commit` or `abandon`; a process that dies before leaves the index as it was.
    """

    def __init__(self, index: LexicalIndex, writer: tantivy.IndexWriter) -> None:
        self._index, self._writer = index, writer
        self.next = index.rows
        """Row that the next document will have."""

    def add(self, stems: Sequence[str], facets: Iterable[Sequence[str]], created_s: Iterable[int | None]) -> None:
        """Add rows; parameters as for `LexicalIndex.append`.

        Raises
        ------
        InvalidArgument
            When the three differ in length: abandon then.
        """
        _add(self._writer, self.next, stems, facets, created_s)
        self.next += len(stems)

    def commit(self) -> None:
        """Make all added rows visible and durable at once; nothing of them is where it fails."""
        try:
            self._writer.commit()
        except BaseException:
            self._writer.rollback()
            raise
        finally:
            self._end()
        _note(self._index.path, _noted(self._index.path))
        self._index.reload()

    def abandon(self) -> None:
        """Leave the index as it was."""
        try:
            self._writer.rollback()
        finally:
            self._end()

    def _end(self) -> None:
        with contextlib.suppress(ValueError):  # the commit stands, whether or not merging after it worked
            self._writer.wait_merging_threads()


def _schema() -> tantivy.Schema:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("row", fast=True)
    builder.add_integer_field("created_s", fast=True)
    builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("facet", tokenizer_name="raw", index_option="basic")
    return builder.build()


def _manual(index: tantivy.Index) -> None:
    """Reload only when told: a watcher thread of each open index would look at the folder all the time."""
    index.config_reader("manual", 0)


def _open_index(path: Path) -> tantivy.Index:
    import tantivy

    index = tantivy.Index.open(str(path))
    _manual(index)
    return index


def _open_linked(path: Path) -> tuple[tantivy.Index, Path]:
    import tempfile

    links = Path(tempfile.mkdtemp(prefix="lamina-lexical-"))
    try:
        for file in path.iterdir():
            if file.suffix != ".lock":
                (links / file.name).symlink_to(file.resolve())
        return _open_index(links), links
    except BaseException:
        shutil.rmtree(links, ignore_errors=True)
        raise


def _add(
    writer: tantivy.IndexWriter,
    row: int,
    stems: Sequence[str],
    facets: Iterable[Sequence[str]],
    created_s: Iterable[int | None],
) -> None:
    import tantivy

    bare: dict[tuple[str, ...], tantivy.Document] = {}
    """Documents of facets alone: rows share few sets of them, and a copy costs less than adding each again."""
    try:
        for body, terms, seconds in zip(stems, facets, created_s, strict=True):
            if (known := bare.get(key := tuple(terms))) is None:
                known = bare[key] = tantivy.Document(facet=list(key))
            document = copy.copy(known)
            document.add_unsigned("row", row)
            document.add_text("body", body)
            if seconds is not None:
                document.add_integer("created_s", seconds)
            writer.add_document(document)
            row += 1
    except ValueError as error:
        raise InvalidArgument(
            f"cannot index row {row}: {error}; give stems, facets and seconds for each row"
        ) from error


def _query(
    schema: tantivy.Schema, stems: Sequence[str], must: Sequence[str], created_s: tuple[int, int] | None
) -> tantivy.Query:
    from tantivy import FieldType, Occur, Query

    any_of = [(Occur.Should, Query.term_query(schema, "body", stem, "freq")) for stem in dict.fromkeys(stems)]
    wanted = Query.boolean_query(any_of)
    filters = [Query.term_query(schema, "facet", facet, "basic") for facet in must]
    if created_s is not None:
        first, stop = created_s
        filters.append(Query.range_query(schema, "created_s", FieldType.Integer, first, stop, include_upper=False))
    if not filters:
        return wanted
    # a filter adds the same nothing to every row, so that it does not move the ranking
    silent = [(Occur.Must, Query.const_score_query(each, 0.0)) for each in filters]
    return Query.boolean_query([(Occur.Must, wanted), *silent])


class _damage_told:  # noqa: N801  a class costs a question of eight words a few microseconds less than a generator
    """Raise `LexicalDamaged` for what Tantivy raises on bytes that make no sense: its code in Rust may panic there."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is None or isinstance(error, LexicalDamaged):
            return
        if isinstance(error, ValueError | OSError) or kind.__name__ == "PanicException":
            raise LexicalDamaged(f"the lexical index in {self._path} cannot be read: {error}") from error


def _noted(path: Path) -> dict[str, int]:
    """Return the checksums of the files of a folder; a file never changes, so only new ones are read."""
    known = _read_checksums(path).files
    files = {file.name: file for file in path.iterdir() if file.name not in _TRANSIENT}
    return {name: known[name] if name in known else _checksum(files[name]) for name in sorted(files)}


def _note(path: Path, files: dict[str, int]) -> None:
    aside = path / f"{_CHECKSUMS}.tmp"
    aside.write_bytes(msgspec.json.encode(_Checksums(ANALYSIS_ID, _LAYOUT, files)))
    aside.replace(path / _CHECKSUMS)


def _read_checksums(path: Path) -> _Checksums:
    try:
        return msgspec.json.decode((path / _CHECKSUMS).read_bytes(), type=_Checksums)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise LexicalDamaged(f"{path} holds no lexical index: {error}; build it again from the log") from error


def _check(path: Path, *, verify: bool) -> None:
    noted = _read_checksums(path)
    if (noted.analysis, noted.layout) != (ANALYSIS_ID, _LAYOUT):
        raise LexicalDamaged(f"{path} was made by {noted.analysis!r}, this is {ANALYSIS_ID!r}; build it again")
    _check_managed(path)
    if verify or is_small(path):
        check_files(path)


def _check_managed(path: Path) -> None:
    """Refuse an index whose list of files names anything but files of its own folder.

    Tantivy removes what its list names and no segment needs, wherever that is: a list written by somebody else could name
    any file of the user's.
    """
    managed = path / ".managed.json"
    try:
        names = msgspec.json.decode(managed.read_bytes(), type=list[str])
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise LexicalDamaged(f"{managed} cannot be read: {error}; build the index again from the log") from error
    for name in names:
        if not _OWN.fullmatch(name):
            raise LexicalDamaged(f"{managed} names {name[:80]!r}, no file of an index; build it again from the log")


def is_small(path: Path) -> bool:
    """Tell whether an index has so few bytes that opening it reads all of them."""
    return sum(file.stat().st_size for file in path.iterdir()) <= CHECKED_BYTES


def check_files(path: Path) -> None:
    """Read every file of an index and compare its checksum.

    Raises
    ------
    LexicalDamaged
    """
    for name, checksum in _read_checksums(path).files.items():
        with contextlib.suppress(FileNotFoundError):  # merged away since; what is missing Tantivy tells
            if _checksum(path / name) != checksum:
                raise LexicalDamaged(f"{name} in {path} does not match its checksum; build it again from the log")


def _checksum(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        while part := file.read(_READ_BYTES):
            found = zlib.crc32(part, found)
    return found
