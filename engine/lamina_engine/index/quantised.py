"""Quantised index: rows as 4-bit codes, scanned by FAISS, to propose rows.

A product quantiser (Jegou, Douze, Schmid 2011) codes each pair of dimensions by one of sixteen centroids, half a byte;
FAISS's fast scan adds the tabulated products in registers. The codes stay in the file (`fastscan`). Flat and not
partitioned: at a million rows of 256 dimensions no inverted file reached recall 0.99, and this scan takes milliseconds
(decision 0004).

The index is a function of the log's prefix: rows are coded in row order, and the codebook is trained on a prefix whose
length depends on the number of rows alone. Equal rows give equal bytes, however they were added, on any thread count.
"""

from __future__ import annotations

import contextlib
import functools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from lamina_engine.errors import LaminaError
from lamina_engine.index import fastscan
from lamina_engine.index.helper import Helper, claim_helper
from lamina_engine.index.sealed import Seal
from lamina_engine.index.vectors import F32, Nearest, VectorBlocks, as_query
from lamina_kernels.layouts import U8

MIN_ROWS: Final = 8_192
"""Below, an exact scan is fast enough."""
MIN_DIM: Final = 32
"""Below, half a byte a pair of dimensions is too little (recall@10 0.92 at 16), and exact scans are cheap."""
STEPS: Final = 128, 1_024
"""The covered rows are a multiple of one in 512 of the rows, rounded down to a power of two within these limits. The rest is scored
exactly, beside what the codes propose: a tail of 700 rows takes a third as long as the codes of 100,000."""
TRAINING_STEPS: Final = (8_192, 16_384, 32_768, 65_536, 131_072, 262_144)
"""Lengths of the training prefix; the codebook changes only when the log passes one of them. Each is twice the one before:
a codebook of one source codes the rows of another badly, so it should have seen half of them."""

SPLIT_ROWS: Final = 262_144
"""From here on the codes are scanned in pieces, by two threads: 5.5 in place of 9.2 ms at a million rows."""
_PIECE_ROWS: Final = 131_072

_UNEVEN: Final = 2
_SPARE: Final = 32
"""A piece is asked for twice its share of the rows, and a few more: one that has more is asked again."""

_SAMPLE: Final = 1_024
"""Training rows, spread evenly over the prefix's vectors: four times as many gave the same recall in five times the time.
With fewer vectors there is no index yet: a codebook that knows nothing loses rows."""
_ITERATIONS: Final = 5
"""k-means rounds for sixteen centroids in the plane; ten gave the same recall in twice the time."""
_BATCH: Final = 16_384

_NO_CODES: Final = np.empty(0, np.uint8)


class VectorsDamaged(LaminaError, OSError):
    """A saved vector index that is torn, altered or not one; rebuild it from the log."""


class VectorsStale(VectorsDamaged):
    """A saved vector index of other rows than it should be of."""


_SEAL: Final = Seal(b"LMNAPQ4\n", 3, "IQQ16s", what="vector index", damaged=VectorsDamaged)
"""Fields: dim, rows, trained rows, FAISS version. Payload: the centroids, float32 and a multiple of 64 bytes, and the codes
as FAISS scans them."""
_ORIGIN_SEAL: Final = Seal(b"LMNAPQO\n", 2, "IQQ16s32s", what="vector index of a shard", damaged=VectorsDamaged)
"""The same, and a digest of what it was made of, where no version names the file."""


def train_rows(n_rows: int) -> int:
    """Return the length of the training prefix for a log of ``n_rows``; 0 where it has no index."""
    return max((step for step in TRAINING_STEPS if step <= n_rows), default=0)


def covered_rows(n_rows: int) -> int:
    """Return how many rows the index of a log of ``n_rows`` covers; 0 where it has none."""
    least, most = STEPS
    step = min(max(1 << (n_rows >> 9).bit_length() >> 1, least), most)
    return n_rows // step * step if n_rows >= MIN_ROWS else 0


class QuantisedIndex:
    """Immutable 4-bit codes of rows [0, rows) of a vectors log; safe for threads.

    Attributes
    ----------
    dim : int
        Dimension of the vectors.
    rows : int
        Rows covered.
    trained_on : int
        Length of the prefix that trained the codebook.
    faiss_version : str
        The FAISS that trained it.
    """

    __slots__ = ("_centroids", "_codes", "_pieces", "dim", "faiss_version", "rows", "trained_on")

    def __init__(self, centroids: F32, codes: U8, rows: int, *, dim: int, trained_on: int, faiss_version: str) -> None:
        self._centroids, self._codes = centroids, codes
        self._pieces = tuple(_pieces(centroids, codes, rows))
        """First row, and index, of each piece."""
        self.dim = dim
        self.rows = rows
        self.trained_on = trained_on
        self.faiss_version = faiss_version

    @classmethod
    def _of_faiss(cls, index: Any, dim: int, trained_on: int) -> QuantisedIndex:
        centroids, codes = fastscan.export_centroids(index), fastscan.export_codes(index)
        version = _faiss().__version__
        return cls(centroids, codes, int(index.ntotal), dim=dim, trained_on=trained_on, faiss_version=version)

    @classmethod
    def build(
        cls,
        blocks: VectorBlocks,
        n_rows: int,
        *,
        total: int | None = None,
        threads: int = 1,
        progress: Callable[[int, int], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> QuantisedIndex | None:
        """Train and code the first `covered_rows` of ``n_rows`` rows.

        Parameters
        ----------
        blocks : VectorBlocks
            The vectors; at least ``n_rows`` rows.
        n_rows : int
            Rows of the log.
        total : int, optional
            Rows that the log will have, where more follow: they choose the training prefix, which is among the first
            ``n_rows``.
        threads : int
            Threads that code rows; the bytes do not depend on it. Training takes one.
        progress : callable, optional
            Called with rows done and rows in all, after each batch.
        cancelled : callable, optional
            Asked before training and before each batch; True gives the work up.

        Returns
        -------
        QuantisedIndex or None
            None where exact scans serve better (fewer than `MIN_ROWS` rows, fewer than `MIN_DIM` dimensions, hardly
            any vectors in the training prefix), and where ``cancelled`` said so.

        Notes
        -----
        O(n d) time; memory for the codes (d / 4 bytes a row), one sample and one batch.
        """
        covered, prefix = covered_rows(n_rows), train_rows(n_rows if total is None else total)
        if covered == 0 or blocks.dim < MIN_DIM or (cancelled is not None and cancelled()):
            return None
        sample = _sample(blocks, prefix)
        if len(sample) < _SAMPLE:
            return None
        index = _trained(sample)
        del sample
        if not _add(index, blocks, covered, threads, progress, cancelled):
            return None
        return cls._of_faiss(index, blocks.dim, prefix)

    def extend(
        self,
        blocks: VectorBlocks,
        n_rows: int,
        *,
        total: int | None = None,
        threads: int = 1,
        progress: Callable[[int, int], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> QuantisedIndex | None:
        """Return the index of a longer log; byte for byte what `build` gives.

        Only new rows are coded while the training prefix stays; otherwise it is built afresh. This index does not
        change, so searches go on meanwhile. Parameters, None and costs as in `build`.
        """
        covered = covered_rows(n_rows)
        prefix = train_rows(n_rows if total is None else total)
        stays = prefix == self.trained_on and _faiss().__version__ == self.faiss_version
        if not stays or covered < self.rows or blocks.dim != self.dim:
            return QuantisedIndex.build(
                blocks, n_rows, total=total, threads=threads, progress=progress, cancelled=cancelled
            )
        if covered == self.rows:
            return self
        index = fastscan.load(self._centroids, self._codes, self.rows)
        if not _add(index, blocks, covered, threads, progress, cancelled):
            return None
        return QuantisedIndex._of_faiss(index, self.dim, self.trained_on)

    def search(self, query: F32, n: int, helper: Helper | None = None) -> Nearest:
        """Return at most ``n`` rows that promise the largest products, the most promising first.

        The scores are those of the codes and only good for choosing; rows without a vector may be among them.
        `lamina_engine.index.vectors.search` scores and filters. The ``helper``, or whichever is free, searches half of an
        index of many rows.

        Raises
        ------
        InvalidArgument
            A query of another dimension, or not finite.
        """
        vector = _padded(as_query(query, self.dim)[np.newaxis])
        pieces = [functools.partial(_search, index, first, vector) for first, index in self._pieces]
        if len(pieces) == 1:
            return pieces[0](min(n, self.rows))
        return _SharedSearch(pieces, min(n, self.rows)).result(helper or claim_helper())

    def save(self, path: Path, *, sync: bool = False, origin: bytes = b"") -> None:
        """Write one file, aside first, then renamed into place.

        Parameters
        ----------
        path : Path
            Where; its folder exists. A failure leaves what was there.
        sync : bool
            Flush to disk before the rename. Not needed for safety: a torn file is recognised by `open`.
        origin : bytes, optional
            Digest (32 bytes) of what it was made of, for a file that no version names.
        """
        version = self.faiss_version.encode("ascii", "replace")[:16]
        fields = (self.dim, self.rows, self.trained_on, version)
        parts: list[bytes | memoryview] = [self._centroids.view(np.uint8).data, self._codes.data]
        if origin:
            _ORIGIN_SEAL.write(path, (*fields, origin), parts, sync=sync)
        else:
            _SEAL.write(path, fields, parts, sync=sync)

    @classmethod
    def open(cls, path: Path, *, verify: bool = True, origin: Callable[[int], bytes] | None = None) -> QuantisedIndex:
        """Map a saved index.

        Parameters
        ----------
        path : Path
            The file.
        verify : bool
            Read all bytes once more and compare their checksum (0.05 s for a million rows of 256 dimensions). Flipped
            codes load silently otherwise; the header and the size are always checked.
        origin : callable, optional
            Gives the digest of what so many rows must have been made of; such a file was saved with one.

        Raises
        ------
        VectorsDamaged
            The file is torn, altered, of another format, or no index; rebuild it.
        VectorsStale
            It was made of something else.
        FileNotFoundError
            There is no file.
        """
        seal = _SEAL if origin is None else _ORIGIN_SEAL
        (dim, rows, trained_on, version, *made_of), payload = seal.open(path, verify=verify)
        if origin is not None and made_of != [origin(rows)]:
            raise VectorsStale(f"{path}: the vector index was made of other rows; rebuild it")
        data = np.frombuffer(payload, np.uint8)
        size = _even(dim) * fastscan.CENTROIDS * 4
        known = version.rstrip(b"\0").decode("ascii", "replace")
        try:
            centroids, codes = data[:size].view(np.float32), data[size:]
            return cls(centroids, codes, rows, dim=dim, trained_on=trained_on, faiss_version=known)
        except ValueError as error:
            told = f"the vector index is not what its header says ({error}); rebuild it"
            raise VectorsDamaged(f"{path}: {told}") from error


def _pieces(centroids: F32, codes: U8, rows: int) -> Iterator[tuple[int, Any]]:
    """Give first row and index of pieces in whole blocks; one below `SPLIT_ROWS`."""
    count = -(-rows // _PIECE_ROWS) if rows >= SPLIT_ROWS else 1
    blocks = -(-rows // fastscan.BLOCK)
    size = codes.size // max(blocks, 1)
    for number in range(count):
        first, last = blocks * number // count, blocks * (number + 1) // count
        start = first * fastscan.BLOCK
        part = codes if count == 1 else codes[first * size : last * size]
        yield start, fastscan.scan(centroids, part, min(last * fastscan.BLOCK, rows) - start)


def _search(index: Any, first: int, vector: F32, n: int) -> Nearest:
    """Ask one FAISS index, whose rows begin at ``first``, on one thread."""
    library = fastscan.openmp(index)
    before = library.omp_get_max_threads()
    library.omp_set_num_threads(1)  # a second OpenMP thread doubles the time of one query
    try:
        promises, rows = index.search(vector, min(n, index.ntotal))
    finally:
        library.omp_set_num_threads(before)
    return Nearest(rows[0] + first if first else rows[0], promises[0])


class _SharedSearch:
    """Search of an index in pieces, by one thread or two."""

    def __init__(self, pieces: Sequence[Callable[[int], Nearest]], n: int) -> None:
        self._pieces, self._n = pieces, n
        self._waiting, self._found = deque(range(len(pieces))), dict[int, Nearest]()
        self._each = min(n, _UNEVEN * n // len(pieces) + _SPARE)
        """How many rows each piece is asked for at first."""

    def result(self, helper: Helper | None) -> Nearest:
        """Return the best rows of all pieces."""
        task = helper.give(self._work) if helper is not None else None
        self._work()
        if task is not None:
            task.result()
        best = self._merge()
        if self._each < self._n:  # some pieces may have more of the best
            least = best.scores[-1] if len(best.scores) == self._n else -np.inf
            full = [piece for piece, found in self._found.items() if found.scores[-1] >= least]
            for piece in full:
                self._found[piece] = self._pieces[piece](self._n)
            best = self._merge() if full else best
        return best

    def _work(self) -> None:
        while True:
            try:
                piece = self._waiting.popleft()
            except IndexError:
                return
            self._found[piece] = self._pieces[piece](self._each)

    def _merge(self) -> Nearest:
        found = [self._found[piece] for piece in range(len(self._pieces))]
        rows, promises = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.argsort(-promises, kind="stable")[: self._n]
        return Nearest(rows[order], promises[order])


def code_shards(
    known: Sequence[QuantisedIndex | None],
    whole: VectorBlocks,
    prefix: int,
    shards: Sequence[VectorBlocks],
    stops: Sequence[int],
) -> tuple[QuantisedIndex, ...] | None:
    """Return the codes of each shard's first rows by one codebook; None where there is none.

    Parameters
    ----------
    known : sequence of QuantisedIndex or None
        The codes so far of each; all have that codebook.
    whole : VectorBlocks
        All vectors, of which the first ``prefix`` train the codebook where it is not known.
    prefix : int
    shards : sequence of VectorBlocks
    stops : sequence of int
        How many rows of each.
    """
    version = _faiss().__version__
    same = known if all(own is None or own.faiss_version == version for own in known) else [None] * len(known)
    centroids = next((own._centroids for own in same if own is not None), None)
    if centroids is None:
        sample = _sample(whole, prefix)
        if len(sample) < _SAMPLE:
            return None
        centroids = fastscan.export_centroids(_trained(sample))
    found = []
    for own, blocks, stop in zip(same, shards, stops, strict=True):
        if own is None or own.rows < stop:
            index = fastscan.load(centroids, *((_NO_CODES, 0) if own is None else (own._codes, own.rows)))
            _add(index, blocks, stop, 1, None, None)
            own = QuantisedIndex._of_faiss(index, blocks.dim, prefix)
        found.append(own)
    return tuple(found)


def _even(dim: int) -> int:
    return dim + dim % 2


def _padded(matrix: F32) -> F32:
    """Return float32 (n, even d): products are unchanged by a column of zeros."""
    if matrix.shape[1] % 2 == 0:
        return matrix
    return np.concatenate([matrix, np.zeros((len(matrix), 1), np.float32)], axis=1)


def _sample(blocks: VectorBlocks, prefix: int) -> F32:
    """Return the training rows: of the prefix's rows that have a vector, evenly spread ones."""
    present = [first + np.flatnonzero(part.any(axis=1)) for first, part in blocks.slices(0, prefix, _BATCH)]
    rows = np.concatenate(present)
    size = min(_SAMPLE, len(rows))
    return _padded(blocks.gather(rows[np.arange(size) * len(rows) // max(size, 1)]))


def _faiss() -> Any:
    """Return FAISS, imported at first use: 30 ms that a small vault never pays."""
    import faiss

    return faiss


def _trained(sample: F32) -> Any:
    faiss, dim = _faiss(), sample.shape[1]
    index = faiss.IndexPQFastScan(dim, dim // 2, 4, faiss.METRIC_INNER_PRODUCT)
    index.pq.cp.niter = _ITERATIONS
    with _threads(1):  # the centroids are equal on two, but so small a k-means mostly waits for its threads
        index.train(sample)
    return index


def _add(
    index: Any,
    blocks: VectorBlocks,
    stop: int,
    threads: int,
    progress: Callable[[int, int], None] | None,
    cancelled: Callable[[], bool] | None,
) -> bool:
    """Code rows up to ``stop``; False where it was cancelled."""
    for first, part in blocks.slices(index.ntotal, stop, _BATCH):
        if cancelled is not None and cancelled():
            return False
        with _threads(threads):
            index.add(_padded(part))
        if progress is not None:
            progress(first + len(part), stop)
    return True


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    """Set FAISS's number of OpenMP threads for calls from this thread only."""
    faiss = _faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
