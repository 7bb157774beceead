"""Forward lists: for every row of the log its terms and how often they stand in each zone.

One file per log segment, derived and deletable: a damaged one is built again from the log. Lamina's own scores are
computed from these counts, so they do not depend on which index found a row, or on whether one did.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine.errors import InvalidArgument, LaminaError
from lamina_engine.index.analysis import ANALYSIS_ID, Analyzer, Pieces, language_mark
from lamina_engine.index.languages import LANGUAGES, foreign_rows
from lamina_engine.index.sealed import ALIGNMENT, Seal, Sealed
from lamina_engine.index.separators import ASCII_BLANKS, LONE_MARKS
from lamina_kernels._jit import is_ready
from lamina_kernels.counting import count_keys
from lamina_kernels.layouts import I64, U8, U16, U32, TermRows

if TYPE_CHECKING:
    from lamina_engine.index.wordtable import WordTable
    from lamina_engine.index.zones import Zones

_ZONES = 3
_BATCH_ROWS = 2048
"""Rows analysed together: a piece that occurs in many of them is looked up once."""
_BATCH_CHARS = 1 << 24
"""Characters analysed together, but for a longer row: bounds the memory of a batch."""
_BULK_ROWS = 2048
"""Rows of a process from which on it pays to load the kernels."""
_COMPILED_FROM = 8192
"""Rows after which compiling the kernels, 15 s once for each version of them, is begun: a short process ends before."""
_BULK_ROWS_READY = 64
"""Rows of a batch from which on the kernels are quicker."""
_FEW_PIECES = 256
"""Pieces up to which they are counted one by one."""
_SMALL_BYTES = 1 << 16
"""Bytes up to which a file of forward lists is not flushed: some hundred rows."""
CHECKED_BYTES = 1 << 22
"""Up to here every byte of such a file is checked when it is opened: two milliseconds."""
_MAX_COUNT = 255
_MAX_LENGTH = 65_535


class TermsDamaged(LaminaError, OSError):
    """A file of forward lists that is damaged or of other rules; the log rebuilds it."""


_SEAL: Final = Seal(b"LAMTERMS", 3, "24sQQ", what="file of forward lists", damaged=TermsDamaged)
"""Fields: analysis, rows, entries. Payload: the arrays of `TermRows`, each starting at a multiple of 64."""


def build_term_rows(
    bodies: Sequence[str],
    headers: Sequence[str],
    contexts: Sequence[str],
    *,
    analyzer: Analyzer | None = None,
    words: list[str] | None = None,
) -> TermRows:
    """Analyse texts into forward lists.

    Parameters
    ----------
    bodies, headers, contexts : sequence of str
        The three zones of each row: its own text; title, headings, tags and date words; the chunks before it.
    analyzer : Analyzer, optional
        Keeps its memory of words from call to call; a fresh one otherwise.
    words : list of str, optional
        Gets what `surface_texts` gives of the bodies.

    Returns
    -------
    TermRows
        Hashes of stems and of those surfaces that differ from their stem, and the mark of a row's language where that
        is not English; counts saturate at 255, lengths (stems only) at 65,535.

    Raises
    ------
    InvalidArgument
        When the three sequences differ in length.

    Notes
    -----
    One sort of a batch's packed (row, hash, zone) keys finds the distinct terms of all its rows at once. Many rows go
    through kernels; what a row gives is the same.
    """
    if not len(bodies) == len(headers) == len(contexts):
        raise InvalidArgument(
            f"got {len(bodies)} bodies, {len(headers)} headers and {len(contexts)} contexts; give one of each for a row"
        )
    analyzer = analyzer or Analyzer()
    batches: list[TermRows] = []
    analyzer.rows += len(bodies)
    bulk = _is_bulk(len(bodies), analyzer)
    start = 0
    while start < len(bodies):
        stop = _batch_end((bodies, headers, contexts), start)
        zones = (bodies[start:stop], headers[start:stop], contexts[start:stop])
        rows, spoken = (
            _build_bulk(analyzer.table(), zones, words) if bulk else _build_batch(analyzer.pieces(), zones, words)
        )
        batches.append(_with_foreign(analyzer, rows, spoken, zones, bulk=bulk) if spoken.any() else rows)
        start = stop
    return concat_terms(batches)


def build_zones(zones: Zones, analyzer: Analyzer | None = None, words: list[str | None] | None = None) -> TermRows:
    """Analyse the zones of rows.

    ``words`` gets those of each text that is its row's body, and None of the others.
    """
    made: list[str] | None = None if words is None else []
    rows = build_term_rows(zones.bodies, zones.headers, zones.contexts, analyzer=analyzer, words=made)
    if words is not None and made is not None:
        words += made
        for place in zones.linking:
            words[place] = None
    return rows


def read_only(block: TermRows) -> TermRows:
    """Views that no call has to make again; see `lamina_kernels._jit`."""
    if not any(array.flags.writeable for array in block):
        return block
    views = [array.view() for array in block]
    for view in views:
        view.flags.writeable = False
    return TermRows._make(views)


def _is_bulk(rows: int, analyzer: Analyzer) -> bool:
    """Return True where kernels take a batch; earlier batches count for the cost of loading."""
    if rows < _BULK_ROWS_READY:
        return False
    return _kernels_ready() or (analyzer.rows >= _BULK_ROWS and _kernels_at_hand(analyzer.rows))


def _kernels_ready() -> bool:
    """Tell whether the kernels of bulk analysis have been loaded; asking loads nothing."""
    kernels = getattr(sys.modules.get("lamina_engine.index.wordtable"), "KERNELS", None)  # or a thread is importing it
    return kernels is not None and all(map(is_ready, kernels))


def _kernels_at_hand(rows: int) -> bool:
    """Return True if the bulk kernels load at once; enough rows start their compilation."""
    from lamina_engine.index import wordtable
    from lamina_kernels._jit import compiled_before

    if compiled_before(wordtable.KERNELS):
        return True
    if rows >= _COMPILED_FROM:
        wordtable.begin_compiling()
    return False


def _batch_end(zones: Sequence[Sequence[str]], start: int) -> int:
    """Return where a batch ends: after so many rows, or where its texts grow long."""
    stop = min(start + _BATCH_ROWS, len(zones[0]))
    chars = itertools.accumulate(
        sum(map(len, texts)) for texts in zip(*(zone[start:stop] for zone in zones), strict=True)
    )
    rows = next((row for row, total in enumerate(chars) if total > _BATCH_CHARS), stop - start)
    return start + max(rows, 1)


def _with_foreign(
    analyzer: Analyzer, rows: TermRows, spoken: U8, zones: Sequence[Sequence[str]], *, bulk: bool
) -> TermRows:
    """Return forward lists with the rows of other languages analysed in these."""
    blocks, order = [rows], np.arange(spoken.size)
    for place in np.unique(spoken[spoken > 0]).tolist():
        at = np.flatnonzero(spoken == place)
        order[at] = sum(len(block.lengths) for block in blocks) + np.arange(at.size)
        texts = [[zone[row] for row in at.tolist()] for zone in zones]
        foreign, mark = analyzer.of(LANGUAGES[place]), language_mark(LANGUAGES[place])
        if bulk:
            blocks.append(_build_bulk(foreign.table(), texts, None, mark)[0])
        else:
            pieces = foreign.pieces()
            blocks.append(_count_pieces(pieces, *_number(pieces, texts), at.size, mark))
    return _pick(concat_terms(blocks), order)


def _pick(rows: TermRows, order: I64) -> TermRows:
    """Return the forward lists of rows in another order."""
    sizes = np.diff(rows.indptr)[order]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    entries = np.arange(indptr[-1]) + np.repeat(rows.indptr[:-1][order] - indptr[:-1], sizes)
    columns = (rows.hashes[entries], rows.body[entries], rows.header[entries], rows.context[entries])
    return TermRows(indptr, *columns, rows.lengths[order])


def _build_bulk(
    table: WordTable, zones: Sequence[Sequence[str]], words: list[str] | None, mark: int | None = None
) -> tuple[TermRows, U8]:
    """Analyse texts in kernels; a mark that every row gets is no word of it."""
    n = len(zones[0])
    texts = _utf8([text for zone in zones for text in zone])
    keys, lengths, spoken, found = table.occurrences(*texts, words=words is not None, mark=mark)
    if words is not None:
        words += found
    indptr, hashes = np.empty(n + 1, np.int64), np.empty(keys.size, np.uint32)
    body, header, context = (np.empty(keys.size, np.uint8) for _ in range(_ZONES))
    entries = count_keys(keys, indptr, hashes, body, header, context)
    # copies: what is left of the arrays would stay with a view
    body, header, context = (column[:entries].copy() for column in (body, header, context))
    return TermRows(indptr, hashes[:entries].copy(), body, header, context, lengths), spoken


def _utf8(texts: Sequence[str]) -> tuple[U8, I64]:
    """Return the UTF-8 of texts, one after the other, and where each begins."""
    try:
        array = pa.array(texts, pa.large_string())
    except UnicodeEncodeError:  # a lone surrogate, which Arrow cannot hold
        coded = [text.encode("utf-8", "surrogatepass") for text in texts]
        offsets = np.cumsum([0, *map(len, coded)], dtype=np.int64)
        return np.frombuffer(b"".join(coded), np.uint8), offsets
    _, ends, data = array.buffers()
    offsets = np.frombuffer(ends, np.int64)[: len(texts) + 1]
    return np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)[: offsets[-1]], offsets


def _build_batch(pieces: Pieces, zones: Sequence[Sequence[str]], words: list[str] | None) -> tuple[TermRows, U8]:
    n = len(zones[0])
    numbers, sizes = _number(pieces, zones)
    if words is not None:
        words += _surfaces(pieces, numbers.tolist(), sizes[:n].tolist())
    # a view of the growing array must not outlive this call
    spoken = foreign_rows(numbers, np.cumsum(sizes), np.frombuffer(pieces.bits, np.uint32)) if numbers.size else None
    if numbers.size <= _FEW_PIECES:
        rows = _count_few(pieces, numbers.tolist(), sizes.tolist(), n)
    else:
        rows = _count_pieces(pieces, numbers, sizes, n)
    return rows, np.zeros(n, np.uint8) if spoken is None else spoken


def _count_pieces(pieces: Pieces, numbers: I64, sizes: I64, n: int, mark: int | None = None) -> TermRows:
    """Count the terms of many pieces, and a mark that every row gets, which is no word of it."""
    hashes, terms_of_piece, found = _expand(pieces, numbers)
    text = np.repeat(np.arange(_ZONES * n), sizes)  # zone * n + row
    lengths = np.bincount(text, weights=found, minlength=_ZONES * n).reshape(_ZONES, n).T
    key_of_text = np.arange(n, dtype=np.uint64) << np.uint64(34) | np.arange(_ZONES, dtype=np.uint64)[:, None]
    keys = np.repeat(np.repeat(key_of_text.reshape(-1), sizes), terms_of_piece)
    keys |= hashes.astype(np.uint64) << np.uint64(2)
    if mark is not None:
        keys = np.concatenate([keys, np.arange(n, dtype=np.uint64) << np.uint64(34) | np.uint64(mark << 2)])
    keys.sort()
    return _count(keys, n, np.minimum(lengths, _MAX_LENGTH).astype(np.uint16))


def cut_text(text: str) -> list[str]:
    """Cut a text into the pieces that `lamina_kernels.tokens.cut_pieces` gives."""
    return [piece for piece in LONE_MARKS.sub(" ", text).translate(ASCII_BLANKS).split(" ") if piece]


def _number(pieces: Pieces, zones: Sequence[Sequence[str]]) -> tuple[I64, I64]:
    """Return the numbers of all pieces, zone by zone, and how many each text has."""
    cut = [cut_text(text) for zone in zones for text in zone]
    sizes = np.fromiter(map(len, cut), np.int64, len(cut))
    numbers = pieces.numbers(list(itertools.chain.from_iterable(cut)))
    return np.array(numbers, np.int64), sizes


def surface_texts(texts: Sequence[str], *, analyzer: Analyzer) -> list[str]:
    """Return each text's surfaces of `Analyzer.tokens`, in order, joined by spaces."""
    analyzer.rows += len(texts)
    if _is_bulk(len(texts), analyzer):
        return analyzer.table().words(*_utf8(texts))
    pieces = analyzer.pieces()
    numbers, sizes = _number(pieces, [texts])
    return _surfaces(pieces, numbers.tolist(), sizes.tolist())


def _surfaces(pieces: Pieces, numbers: Sequence[int], sizes: Sequence[int]) -> list[str]:
    """Return the surfaces of numbered pieces, joined by spaces, of each of the first texts."""
    found = map(pieces.surfaces.__getitem__, numbers)
    return [" ".join(filter(None, itertools.islice(found, size))) for size in sizes]


def _count_few(pieces: Pieces, numbers: list[int], sizes: list[int], n: int) -> TermRows:
    """Count the terms of a few pieces one by one, which costs a tenth of the arrays."""
    starts, hashes, found = pieces.starts, pieces.hashes, pieces.found
    counts: list[dict[int, list[int]]] = [{} for _ in range(n)]
    lengths = np.zeros((n, _ZONES), np.uint16)
    at = 0
    for text, size in enumerate(sizes):
        zone, row = divmod(text, n)
        of_row, terms = counts[row], 0
        for number in numbers[at : at + size]:
            terms += found[number]
            for term in hashes[starts[number] : starts[number + 1]]:
                of_row.setdefault(term, [0] * _ZONES)[zone] += 1
        lengths[row, zone] = min(terms, _MAX_LENGTH)
        at += size
    indptr = np.array(list(itertools.accumulate(map(len, counts), initial=0)), np.int64)
    entries = [(term, *of_row[term]) for of_row in counts for term in sorted(of_row)]
    table = np.array(entries, np.int64).reshape(-1, 1 + _ZONES)
    np.minimum(table[:, 1:], _MAX_COUNT, out=table[:, 1:])
    zones = [table[:, 1 + zone].astype(np.uint8) for zone in range(_ZONES)]
    return TermRows(indptr, table[:, 0].astype(np.uint32), zones[0], zones[1], zones[2], lengths)


def _expand(pieces: Pieces, numbers: I64) -> tuple[U32, I64, I64]:
    """Return the hashes of numbered pieces, and the number of hashes and stems of each."""
    if numbers.size == 0:
        return np.zeros(0, np.uint32), np.zeros(0, np.int64), np.zeros(0, np.int64)
    # views of the growing arrays must not outlive this call: an array that is viewed cannot grow
    starts = np.frombuffer(pieces.starts, np.int64)
    first = starts[numbers]
    size = starts[numbers + 1] - first
    ends = np.cumsum(size)
    entry = np.arange(ends[-1])
    entry += np.repeat(first - ends + size, size)
    hashes = np.frombuffer(pieces.hashes, np.uint32)[entry] if entry.size else np.zeros(0, np.uint32)
    return hashes, size, np.frombuffer(pieces.found, np.int64)[numbers]


def _count(keys: NDArray[np.uint64], n: int, lengths: U16) -> TermRows:
    """Turn sorted (row, hash, zone) keys, one for each occurrence, into forward lists."""
    starts = np.flatnonzero(np.concatenate([[keys.size > 0], keys[1:] != keys[:-1]]))
    occurrences = np.minimum(np.diff(starts, append=keys.size), _MAX_COUNT)
    keys = keys[starts]
    terms = keys >> np.uint64(2)
    fresh = np.concatenate([[keys.size > 0], terms[1:] != terms[:-1]])[: keys.size]
    distinct = terms[fresh]
    counts = np.zeros((_ZONES, distinct.size), np.uint8)
    counts[(keys & np.uint64(3)).astype(np.int64), np.cumsum(fresh) - 1] = occurrences
    indptr = np.searchsorted(distinct, np.arange(n + 1, dtype=np.uint64) << np.uint64(32)).astype(np.int64)
    hashes = distinct.astype(np.uint32)  # keeps the lower half
    return TermRows(indptr, hashes, counts[0], counts[1], counts[2], np.ascontiguousarray(lengths))


def concat_terms(parts: Sequence[TermRows]) -> TermRows:
    """Return the forward lists of several parts as one, in order; none gives no rows."""
    if len(parts) == 1:
        return parts[0]
    sizes = np.cumsum([0, *(part.hashes.size for part in parts)])
    indptr = [part.indptr[1:] + base for part, base in zip(parts, sizes.tolist(), strict=False)]
    return TermRows(
        np.concatenate([np.zeros(1, np.int64), *indptr]),
        np.concatenate([np.zeros(0, np.uint32), *(part.hashes for part in parts)]),
        np.concatenate([np.zeros(0, np.uint8), *(part.body for part in parts)]),
        np.concatenate([np.zeros(0, np.uint8), *(part.header for part in parts)]),
        np.concatenate([np.zeros(0, np.uint8), *(part.context for part in parts)]),
        np.concatenate([np.zeros((0, _ZONES), np.uint16), *(part.lengths for part in parts)]),
    )


def slice_terms(rows: TermRows, start: int, stop: int) -> TermRows:
    """Return the forward lists of rows ``start`` to ``stop``; all but indptr are views."""
    first, last = int(rows.indptr[start]), int(rows.indptr[stop])
    return TermRows(
        rows.indptr[start : stop + 1] - first,
        rows.hashes[first:last],
        rows.body[first:last],
        rows.header[first:last],
        rows.context[first:last],
        rows.lengths[start:stop],
    )


def copy_terms(rows: TermRows) -> TermRows:
    """Copy forward lists, so that a slice does not keep a large batch in memory."""
    return TermRows(
        rows.indptr.copy(), rows.hashes.copy(), rows.body.copy(), rows.header.copy(), rows.context.copy(),
        rows.lengths.copy(),
    )  # fmt: skip


def write_terms(path: Path, rows: TermRows) -> None:
    """Write forward lists to a file that appears whole or not at all.

    A small file is not flushed, which would cost a small write a tenth of its time: it is read with its checksum.

    Parameters
    ----------
    path : Path
        Its folder exists; a file already there is replaced.
    rows : TermRows
        What to write.
    """
    n = len(rows.lengths)
    parts: list[bytes | memoryview] = []
    for array in rows:
        if array.size:
            parts += [np.ascontiguousarray(array).data, bytes(-array.nbytes % ALIGNMENT)]
    size = sum(memoryview(part).nbytes for part in parts)
    _SEAL.write(path, (ANALYSIS_ID.encode(), n, rows.hashes.size), parts, sync=size > _SMALL_BYTES)


def open_sealed(path: Path, seal: Seal, *, verify: bool) -> Sealed:
    """Open a file of lists; a small one is read whole and checked in any case."""
    try:
        return seal.open(path, verify=verify or path.stat().st_size <= seal.header_bytes + CHECKED_BYTES)
    except TermsDamaged:
        raise
    except OSError as error:
        raise TermsDamaged(f"{path} cannot be mapped ({error}); build it again from the log") from error


def arrays_of(path: Path, data: memoryview, layout: Sequence[tuple[type[np.generic], int]]) -> list[NDArray[Any]]:
    """Return the arrays of a payload, each aligned; it holds just these."""
    arrays: list[NDArray[Any]] = []
    offset = 0
    for dtype, size in layout:
        nbytes = size * np.dtype(dtype).itemsize
        if offset + nbytes > len(data):
            raise TermsDamaged(f"{path} has {len(data)} bytes of lists and ends early; build it again from the log")
        arrays.append(np.frombuffer(data, dtype, size, offset) if size else np.zeros(0, dtype))
        offset += nbytes + (-nbytes % ALIGNMENT)
    if offset != len(data):
        raise TermsDamaged(f"{path} has {len(data)} bytes of lists, {offset} are expected; build it again from the log")
    return arrays


def open_terms(path: Path, *, verify: bool) -> TermRows:
    """Map a file of forward lists.

    Parameters
    ----------
    path : Path
        Written by `write_terms`.
    verify : bool
        Read every byte and compare its checksum, which is done in any case up to `CHECKED_BYTES`; otherwise only the
        header, the size and the row offsets are checked, which keeps every later read inside the file.

    Returns
    -------
    TermRows
        Read-only arrays over the mapped file.

    Raises
    ------
    TermsDamaged
        When the file is missing, torn, flipped, or made by another version or under other rules of analysis.
    """
    (analysis, n, entries), data = open_sealed(path, _SEAL, verify=verify)
    made_by = analysis.rstrip(b"\0").decode()
    if made_by != ANALYSIS_ID:
        raise TermsDamaged(f"{path} was made by {made_by}, other rules than {ANALYSIS_ID}; build it again from the log")
    layout = ((np.int64, n + 1), (np.uint32, entries), *((np.uint8, entries),) * 3, (np.uint16, n * _ZONES))
    indptr, hashes, body, header, context, lengths = arrays_of(path, data, layout)
    if indptr[0] != 0 or indptr[-1] != entries or (indptr[1:] < indptr[:-1]).any():
        raise TermsDamaged(f"{path} has row offsets out of order; build it again from the log")
    return TermRows(indptr, hashes, body, header, context, lengths.reshape(-1, _ZONES))
