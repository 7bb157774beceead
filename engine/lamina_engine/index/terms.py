"""Forward lists: for every row of the log its terms and how often they stand in each zone.

One file per log segment, derived and deletable: a damaged one is built again from the log. Lamina's own scores are
computed from these counts, so they do not depend on which index found a row, or on whether one did.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine.errors import InvalidArgument, LaminaError
from lamina_engine.index.analysis import ANALYSIS_ID, Analyzer, Pieces
from lamina_engine.index.sealed import ALIGNMENT, Seal
from lamina_engine.index.separators import ASCII_BLANKS, blank_separators
from lamina_kernels.layouts import I64, U16, U32, TermRows

_ZONES = 3
_BATCH_ROWS = 8192
"""Rows analysed together: a piece that occurs in many of them is looked up once."""
_ARROW_ROWS = 256
"""Rows from which on Arrow cuts the pieces, at a fraction of the cost; for less its compute module stays unloaded."""
_ARROW_CHARS = 1 << 25
"""Up to here: Arrow joins strings with 32-bit offsets only."""
_MAX_COUNT = 255
_MAX_LENGTH = 65_535


class TermsDamaged(LaminaError, OSError):
    """A file of forward lists that is torn, flipped or made under other rules: build it again from the log."""


_SEAL: Final = Seal(b"LAMTERMS", 2, "24sQQ", what="file of forward lists", damaged=TermsDamaged)
"""Fields: analysis, rows, entries. Payload: the arrays of `TermRows`, each starting at a multiple of 64."""


def build_term_rows(
    bodies: Sequence[str], headers: Sequence[str], contexts: Sequence[str], *, analyzer: Analyzer | None = None
) -> tuple[TermRows, list[str]]:
    """Analyse texts into forward lists.

    Parameters
    ----------
    bodies, headers, contexts : sequence of str
        The three zones of each row: its own text; title, headings, tags and date words; the chunks before it.
    analyzer : Analyzer, optional
        Keeps its memory of words from call to call; a fresh one otherwise.

    Returns
    -------
    rows : TermRows
        Hashes of stems and of those surfaces that differ from their stem; counts saturate at 255, lengths (stems
        only) at 65,535.
    stems : list of str
        For each row the stems of all its zones, repeated as often as they stand there, joined by spaces.

    Raises
    ------
    InvalidArgument
        When the three sequences differ in length.

    Notes
    -----
    One sort of a batch's packed (row, hash, zone) keys finds the distinct terms of all its rows at once.
    """
    if not len(bodies) == len(headers) == len(contexts):
        raise InvalidArgument(
            f"got {len(bodies)} bodies, {len(headers)} headers and {len(contexts)} contexts; give one of each for a row"
        )
    analyzer = analyzer or Analyzer()
    stems: list[str] = []
    batches: list[TermRows] = []
    for start in range(0, len(bodies), _BATCH_ROWS):
        stop = start + _BATCH_ROWS
        zones = (bodies[start:stop], headers[start:stop], contexts[start:stop])
        batches.append(_build_batch(analyzer.pieces(), zones, stems))
    return concat_terms(batches), stems


def _build_batch(pieces: Pieces, zones: Sequence[Sequence[str]], stems: list[str]) -> TermRows:
    n = len(zones[0])
    bulk = n >= _ARROW_ROWS and sum(sum(map(len, zone)) for zone in zones) <= _ARROW_CHARS
    numbers, sizes = (_number_with_arrow if bulk else _number)(pieces, zones, stems)
    hashes, terms_of_piece, found = _expand(pieces, numbers)
    text = np.repeat(np.arange(_ZONES * n), sizes)  # zone * n + row
    lengths = np.bincount(text, weights=found, minlength=_ZONES * n).reshape(_ZONES, n).T
    key_of_text = np.arange(n, dtype=np.uint64) << np.uint64(34) | np.arange(_ZONES, dtype=np.uint64)[:, None]
    keys = np.repeat(np.repeat(key_of_text.reshape(-1), sizes), terms_of_piece)
    keys |= hashes.astype(np.uint64) << np.uint64(2)
    keys.sort()
    return _count(keys, n, np.minimum(lengths, _MAX_LENGTH).astype(np.uint16))


def _number(pieces: Pieces, zones: Sequence[Sequence[str]], stems: list[str]) -> tuple[I64, I64]:
    """Return the numbers of all pieces, zone by zone, and how many each text has; append each row's stems."""
    cut = [text.translate(ASCII_BLANKS).split() for zone in zones for text in zone]
    sizes = np.fromiter(map(len, cut), np.int64, len(cut))
    numbers = pieces.numbers(list(itertools.chain.from_iterable(cut)))
    stop = list(itertools.accumulate(map(len, cut), initial=0))
    texts = [numbers[stop[i] : stop[i + 1]] for i in range(len(cut))]
    n = len(zones[0])
    stem_of = pieces.stems.__getitem__
    stems.extend(" ".join(map(stem_of, texts[i] + texts[n + i] + texts[2 * n + i])) for i in range(n))
    return np.array(numbers, np.int64), sizes


def _number_with_arrow(pieces: Pieces, zones: Sequence[Sequence[str]], stems: list[str]) -> tuple[I64, I64]:
    """Do the same in Arrow: only the distinct pieces of the batch become Python objects.

    It cuts at ASCII white space only; other white space inside a piece separates terms all the same.
    """
    import pyarrow.compute as pc  # 0.1 s to load, which only bulk work repays

    try:
        texts = pa.array([text for zone in zones for text in zone], pa.string())
    except UnicodeEncodeError:  # a lone surrogate, which Arrow cannot hold
        return _number(pieces, zones, stems)
    _, offsets, data = texts.buffers()
    if data is not None:
        blanked = pa.py_buffer(blank_separators(data.to_pybytes()))
        texts = pa.StringArray.from_buffers(len(texts), offsets, blanked)
    cut = pc.ascii_split_whitespace(texts)
    coded = cut.values.dictionary_encode()
    distinct = np.array(pieces.numbers(coded.dictionary.to_pylist()), np.int64)
    stem_of = pa.array([pieces.stems[number] for number in distinct.tolist()], pa.string())
    joined = pc.binary_join(pa.ListArray.from_arrays(cut.offsets, stem_of.take(coded.indices)), " ")
    n = len(zones[0])
    stems.extend(pc.binary_join_element_wise(joined[:n], joined[n : 2 * n], joined[2 * n :], " ").to_pylist())
    return distinct[coded.indices.to_numpy(zero_copy_only=False)], np.diff(cut.offsets.to_numpy()).astype(np.int64)


def _expand(pieces: Pieces, numbers: I64) -> tuple[U32, I64, I64]:
    """Return the hashes of the numbered pieces one after the other, how many each has, and how many are stems."""
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


def write_terms(path: Path, rows: TermRows) -> None:
    """Write forward lists to a file that appears whole or not at all.

    Parameters
    ----------
    path : Path
        Its folder exists; a file already there is replaced.
    rows : TermRows
        What to write.
    """
    parts: list[bytes | memoryview] = []
    for array in rows:
        if array.size:
            parts += [np.ascontiguousarray(array).data, bytes(-array.nbytes % ALIGNMENT)]
    _SEAL.write(path, (ANALYSIS_ID.encode(), len(rows.lengths), rows.hashes.size), parts)


def open_terms(path: Path, *, verify: bool) -> TermRows:
    """Map a file of forward lists.

    Parameters
    ----------
    path : Path
        Written by `write_terms`.
    verify : bool
        Read every byte and compare its checksum; otherwise only the header, the size and the row offsets are checked,
        which keeps every later read inside the file.

    Returns
    -------
    TermRows
        Read-only arrays over the mapped file.

    Raises
    ------
    TermsDamaged
        When the file is missing, torn, flipped, or made by another version or under other rules of analysis.
    """
    try:
        (analysis, n, entries), data = _SEAL.open(path, verify=verify)
    except TermsDamaged:
        raise
    except OSError as error:
        raise TermsDamaged(f"{path} cannot be mapped ({error}); build it again from the log") from error
    made_by = analysis.rstrip(b"\0").decode()
    if made_by != ANALYSIS_ID:
        raise TermsDamaged(f"{path} was made by {made_by}, other rules than {ANALYSIS_ID}; build it again from the log")
    layout = ((np.int64, n + 1), (np.uint32, entries), *((np.uint8, entries),) * 3, (np.uint16, n * _ZONES))
    arrays: list[NDArray[Any]] = []
    offset = 0
    for dtype, size in layout:
        nbytes = size * np.dtype(dtype).itemsize
        if offset + nbytes > len(data):
            raise TermsDamaged(f"{path} has {len(data)} bytes of lists and ends early; build it again from the log")
        arrays.append(np.frombuffer(data, dtype, size, offset) if size else np.zeros(0, dtype))
        offset += nbytes + (-nbytes % ALIGNMENT)
    indptr = arrays[0]
    if offset != len(data) or indptr[0] != 0 or indptr[-1] != entries or (indptr[1:] < indptr[:-1]).any():
        raise TermsDamaged(f"{path} has a wrong size or row offsets out of order; build it again from the log")
    return TermRows(indptr, arrays[1], arrays[2], arrays[3], arrays[4], arrays[5].reshape(n, _ZONES))
