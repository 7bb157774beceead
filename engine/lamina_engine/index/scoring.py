"""Lamina's own BM25 over the forward lists.

Which index found a row does not matter here: the score is computed from the row's stored term counts and from the
statistics of the rows that the reader sees, by the same formula for indexed rows, for the tail, for a past watermark
and for each shard. Statistics of shards add up: rows, zone totals and document frequencies.

A query's stems weigh their inverse document frequency; a surface that differs from its stem adds a bonus at the same
frequency (a row that says "databases" as asked, or ``foo_bar`` as written, before one that only shares the stem).
Parameters are the conventional ones; decision 0003 has what was measured.

References
----------
.. [1] S. Robertson, H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, sections 3.1, 3.6;
   the inverse document frequency with 1 added inside the logarithm, which keeps it above 0, is Lucene's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lamina_engine.columns import split_rows
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.analysis import QueryTerm, stem_hashes, surface_hash
from lamina_engine.index.terms import read_only
from lamina_kernels.layouts import F32, F64, I64, U8, U16, U32, TermRows
from lamina_kernels.terms import (
    ZONES,
    Blocks,
    bm25_parts,
    bm25_scores,
    bm25_terms,
    gather_counts,
    gather_counts_numpy,
    scan_bm25,
    scan_bm25_numpy,
    score_bm25,
)

_ADDED = 256
"""Rows whose lengths are added up as one: NumPy is slow over an axis of three."""
_COMPILE_ROWS = 32_768
"""Scans of more rows wait for the compiled kernel: NumPy would take longer than loading it."""


class Bm25(Struct, frozen=True, kw_only=True):
    """Parameters of the formula.

    Attributes
    ----------
    k1 : float
        Saturation of a term's count; > 0.
    b : float
        How much a row's length counts; 0 to 1.
    body, header, context : float
        What one occurrence in each zone counts; ≥ 0.
    surface : float
        Weight of the written form beside its stem; ≥ 0.
    """

    k1: float = 1.2
    b: float = 0.75
    body: float = 1.0
    header: float = 1.0
    context: float = 0.5
    surface: float = 0.2

    def __post_init__(self) -> None:
        zones = (self.body, self.header, self.context, self.surface)
        if not (self.k1 > 0 and 0 <= self.b <= 1 and all(0 <= weight < math.inf for weight in zones)):
            raise InvalidArgument(f"{self} is not allowed; give k1 > 0, b from 0 to 1, and weights of 0 or more")

    @property
    def weights(self) -> F64:
        """Weights of the zones, float64 (3,), read-only."""
        return _weights(self.body, self.header, self.context)


@functools.lru_cache(maxsize=32)
def _weights(*zones: float) -> F64:
    found = np.array(zones)
    found.flags.writeable = False
    return found


class Statistics(NamedTuple):
    """BM25 statistics of a collection; those of its parts add up.

    Attributes
    ----------
    rows : int
        Number of rows.
    totals : int64 (3,)
        Terms in each zone, over all rows.
    """

    rows: int
    totals: I64

    def average_length(self, bm25: Bm25) -> float:
        """Mean weighted length of a row; 1 where there are no terms."""
        return float(self.totals @ bm25.weights) / max(self.rows, 1) or 1.0


class WeightedQuery(NamedTuple):
    """A query ready for scoring: distinct hashes in the order in which their parts are added.

    Attributes
    ----------
    terms : tuple of str
        What each hash stands for; a surface form is quoted.
    hashes : uint32 (q,)
    idf : float64 (q,)
        Inverse document frequency times the weight in the query.
    again : float
        Sum of the weights of a word's stems in further languages: a row is of one language and holds one of them.
    """

    terms: tuple[str, ...]
    hashes: U32
    idf: F64
    again: float = 0.0


def scoring_terms(terms: Sequence[QueryTerm]) -> list[QueryTerm]:
    """Return a query's terms without stop words, or all if it has no others."""
    return [term for term in terms if not term.stop] or list(terms)


def inverse_document_frequency(frequency: float, rows: float) -> float:
    """Return ln(1 + (rows − frequency + ½) / (frequency + ½)), always above 0."""
    return math.log1p((rows - frequency + 0.5) / (frequency + 0.5))


def weigh(terms: Sequence[QueryTerm], frequencies: Sequence[float], rows: float, bm25: Bm25) -> WeightedQuery:
    """Give each term of a query its weight.

    Parameters
    ----------
    terms : sequence of QueryTerm
        As `scoring_terms` returns them.
    frequencies : sequence of float
        In how many of the rows each term's stem stands, or one of its others.
    rows : float
        Rows that the reader sees, or that count.
    bm25 : Bm25

    Returns
    -------
    WeightedQuery
        Without the terms that no row holds.
    """
    names: dict[int, str] = {}
    weights: dict[int, float] = {}
    again = 0.0
    for term, frequency in zip(terms, frequencies, strict=True):
        if not frequency:
            continue
        idf = term.weight * inverse_document_frequency(frequency, rows)
        for stem, key in zip((term.stem, *term.others), stem_hashes(term.stem, term.others), strict=True):
            names.setdefault(key, stem)
            weights[key] = weights.get(key, 0.0) + idf
        again += idf * len(term.others)
        bonus = bm25.surface * idf / len(term.surfaces)
        for form in term.surfaces if bonus else ():
            if form != term.stem:
                key = surface_hash(form)
                names.setdefault(key, f'"{form}"')
                weights[key] = weights.get(key, 0.0) + bonus
    return WeightedQuery(
        tuple(names.values()), np.array(list(weights), np.uint32), np.array(list(weights.values()), np.float64), again
    )


class ForwardLists:
    """The forward lists of consecutive blocks of rows, as one.

    Parameters
    ----------
    blocks : sequence of TermRows
        In row order, from row 0.
    """

    def __init__(self, blocks: Sequence[TermRows]) -> None:
        self.blocks = [read_only(block) for block in blocks if block.lengths.shape[0]]
        self.starts = np.cumsum([0, *(block.lengths.shape[0] for block in self.blocks)])
        self.rows = int(self.starts[-1])
        """Number of rows."""
        self._located: Blocks | None = None

    def statistics(self, stop: int | None = None) -> Statistics:
        """Return the statistics of the rows below ``stop``, or of all. O(rows)."""
        totals = np.zeros(ZONES, np.int64)
        for block, below in self._below(stop):
            totals += sum_lengths(block.lengths[:below])
        return Statistics(self.rows if stop is None else min(stop, self.rows), totals)

    def score(self, rows: I64, query: WeightedQuery, bm25: Bm25, average_length: float) -> F64:
        """Score chosen rows.

        Parameters
        ----------
        rows : int64 (m,)
            Row numbers, in any order.
        query : WeightedQuery
        bm25 : Bm25
        average_length : float
            Of the rows that the reader sees.

        Returns
        -------
        float64 (m,)
            0 where no term stands. Bit-equal to `scan` for the same rows.

        Raises
        ------
        InvalidArgument
            When a row number is outside.
        """
        if not score_bm25.ready:  # its twin: the same operations in the same order
            counts, lengths = self._gather(rows, query)
            return bm25_scores(counts, lengths, query.idf, bm25.weights, bm25.k1, bm25.b, average_length)
        self._check_rows(rows)
        out, (addresses, sizes, starts) = np.empty(rows.size), self._locate()
        score_bm25(
            addresses,
            sizes,
            starts,
            np.ascontiguousarray(rows),
            query.hashes,
            query.idf,
            bm25.weights,
            bm25.k1,
            bm25.b,
            average_length,
            out,
        )
        return out

    def contributions(self, rows: I64, query: WeightedQuery, bm25: Bm25, average_length: float) -> F64:
        """Return each term's share of each row's score, float64 (m, q); see `score`."""
        if not bm25_terms.ready:
            counts, lengths = self._gather(rows, query)
            return bm25_parts(counts, lengths, query.idf, bm25.weights, bm25.k1, bm25.b, average_length)
        fixed = (query.hashes, query.idf, bm25.weights, bm25.k1, bm25.b, average_length)
        out = np.empty((rows.size, query.hashes.size))
        for block, chosen, local in self._homes(rows):
            parts = np.empty((local.size, query.hashes.size))
            bm25_terms(block, local, *fixed, parts)
            out[chosen] = parts
        return out

    def words(self, rows: I64) -> I64:
        """Return how many words the own text of each of some rows has, int64 (m,)."""
        counts = np.zeros(rows.size, np.int64)
        for block, chosen, local in self._homes(rows):
            counts[chosen] = block.lengths[local, 0]
        return counts

    def holds(self, rows: I64, hashes: U32) -> NDArray[np.bool_]:
        """Return bool (m,): True where a row's own text or header holds every term."""
        counts, _ = self._gather(rows, WeightedQuery((), hashes, np.zeros(len(hashes))))
        own: NDArray[np.bool_] = (counts[:, :, :2].max(axis=2) > 0.0).all(axis=1)
        return own

    def scan(self, live: U8, query: WeightedQuery, bm25: Bm25, average_length: float) -> F64:
        """Score every live row: a past watermark, a narrow filter, a tail.

        Parameters
        ----------
        live : uint8 (n,)
            For the first n rows, 0 where a row is not wanted.
        query, bm25, average_length
            As for `score`.

        Returns
        -------
        float64 (n,)
            0 where a row is not live or holds no term.
        """
        out = np.zeros(live.size)
        fixed = (query.hashes, query.idf, bm25.weights, bm25.k1, bm25.b, average_length)
        for (block, below), start in zip(self._below(live.size), self.starts.tolist(), strict=False):
            part = np.ascontiguousarray(live[start : start + below])
            if _compiled(scan_bm25.ready, int(np.count_nonzero(part))):
                scores = np.empty(below)
                scan_bm25(block, part, *fixed, scores)
            else:
                scores = scan_bm25_numpy(block, part, *fixed)
            out[start : start + below] = scores
        return out

    def _below(self, stop: int | None) -> Iterator[tuple[TermRows, int]]:
        """Yield the blocks that begin below a row, with how many of their rows lie below it."""
        stop = self.rows if stop is None else stop
        for block, start in zip(self.blocks, self.starts.tolist(), strict=False):
            if start < stop:
                yield block, min(stop - start, block.lengths.shape[0])

    def _gather(self, rows: I64, query: WeightedQuery) -> tuple[F32, U16]:
        """Return the counts and lengths of chosen rows, block by block."""
        counts = np.zeros((rows.size, query.hashes.size, ZONES), np.float32)
        lengths = np.zeros((rows.size, ZONES), np.uint16)
        for block, chosen, local in self._homes(rows):
            lengths[chosen] = block.lengths[local]
            counts[chosen] = _gather_block(block, local, query.hashes)
        return counts, lengths

    def _homes(self, rows: I64) -> list[tuple[TermRows, I64 | slice, I64]]:
        """Return each block with some of the rows, their places in ``rows`` and in the block."""
        self._check_rows(rows)
        parts = split_rows(rows, self.starts[:-1]) if self.blocks else []
        return [(self.blocks[number], chosen, local) for number, chosen, local in parts]

    def _check_rows(self, rows: I64) -> None:
        if rows.size and rows.view(np.uint64).max() >= self.rows:  # one below 0 is a large one there
            raise InvalidArgument(f"rows {rows.min()} to {rows.max()} are not all within the {self.rows} forward lists")

    def _locate(self) -> Blocks:
        if self._located is None:
            self._located = Blocks.of(self.blocks)
        return self._located


def _gather_block(block: TermRows, rows: I64, hashes: U32) -> F32:
    if not _compiled(gather_counts.ready, rows.size):
        return gather_counts_numpy(block, rows, hashes)
    out = np.empty((rows.size, hashes.size, ZONES), np.float32)
    gather_counts(block, rows, hashes, out)
    return out


def sum_lengths(lengths: U16) -> I64:
    """Sum each zone's lengths, int64 (zones,), in long rows, which takes a tenth of the time."""
    whole = len(lengths) // _ADDED * _ADDED
    total: I64 = lengths[whole:].sum(axis=0, dtype=np.int64)
    wide: I64 = lengths[:whole].reshape(-1, ZONES * _ADDED).sum(axis=0, dtype=np.int64)
    total += wide.reshape(_ADDED, ZONES).sum(axis=0)
    return total


def _compiled(ready: bool, rows: int) -> bool:
    """Return True if the kernel is ready, or the NumPy twin slower than loading it."""
    return ready or rows > _COMPILE_ROWS
