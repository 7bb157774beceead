"""Bounds on the scores between spans of rows, from one pass over all pairs.

Where rows lie in tight groups, their lists hold nothing but their own group: proofs fail for most rows, and round after
round would compare them with all others again. A survey is one pass over all pairs (each once) that answers all such
questions at the same time: of every two spans of the order it keeps the greatest estimated score, so that later searches
score only the spans that may hold an answer.

A group so tight that estimates cannot tell its rows apart is a *clump*. It is packed again around its own mean, where
the same bits reach much further, and its rows are listed there; everything else is at least a span away.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.hdbscan.neighbors import (
    SHRINK,
    TILE_COLUMNS,
    TILE_ROWS,
    BestLists,
    Tiles,
    join_lists,
    keep_best,
    list_bounds,
    make_tiles,
    measure_lists,
)
from lamina_kernels.hdbscan.ordering import steps
from lamina_kernels.hdbscan.packed import Packed, gather, pack, repack, score, take_panels
from lamina_kernels.hdbscan.tiles import ScoredTile
from lamina_kernels.layouts import BOOL, F32, F64, I32, I64, Neighbors, Points
from lamina_kernels.threads import ThreadTeam

_WIDTHS: Final = (16, 32, 64, 192)
"""Lengths of spans: whole panels, and whole parts of a tile's rows and of its columns."""

_MAX_SPANS: Final = 4096
"""Any two of which have a number: 64 MiB, and up to four times as much where groups are small."""

_SMALLEST_CLUMP: Final = 64
_SMALLEST_SHARE: Final = 1 / 512
"""Smaller clumps are not packed again: measuring all of their pairs costs little."""

_LARGE: Final = 1 / 64
"""Share of all rows from which on two clumps have so many pairs that a look along their line is worth it."""

_LONGER: Final = 2.0
"""A step so many times as long as one beside it ends a group."""

_ROWS: Final = 48
"""Rows that look at spans together: each may have others, and looks at all of them."""

_DOWN: Final = np.float32(1.0 - 2.0**-22)
"""What a bound loses when it becomes float32."""


class _Part(NamedTuple):
    """Places ``start`` to ``stop`` of the order; their packed rows begin at ``shift``."""

    start: int
    stop: int
    packed: Packed
    shift: int


class PairBounds:
    """Bounds on the scores of any two spans, from one pass; empty until `build`.

    Parameters
    ----------
    points, packed
        The rows.
    team : ThreadTeam

    Attributes
    ----------
    built : bool
    """

    def __init__(self, points: Points, packed: Packed, team: ThreadTeam) -> None:
        self._points, self._source, self._team = points, packed, team
        self.built = False

    def build(self, order: I64, k: int = 0, listed: int = 0, *, component: I64 | None = None) -> Neighbors | None:
        """Score all pairs once and keep the best of any two spans.

        Parameters
        ----------
        order : int64 (n,)
            All rows, near ones together: the better, the more a later search can leave out.
        component : int64 (n,), optional
            Names of sets that spans should keep apart; the order has each of them together.
        k, listed : int
            As `lamina_kernels.hdbscan.neighbors` takes them; 0 makes no lists.

        Returns
        -------
        Neighbors or None
            Lists, and core distances where they are no greater than the bound.

        Notes
        -----
        O(n² d / 2), and 4 bytes for any two spans: 64 to 256 MiB at most up to 786,000 rows.
        """
        n = self._points.factors.size
        self._width = next(
            (w for w in _WIDTHS if w >= self._source.columns and n <= w * _MAX_SPANS), _WIDTHS[-1]
        )  # fmt: skip
        self._lay_out(order, listed, component)
        spans = self._starts.size
        self._gaps = np.full((spans, spans), -np.inf, np.float32)
        lists = self._sweep(listed)
        np.maximum(self._gaps, self._gaps.T, out=self._gaps)
        self._to_distances()
        self._sharpen()
        self.built = True
        return self._neighbors(*lists, k) if listed else None

    def scan_near(self, rows: I64, needs: Callable[[I64], F64], visit: Callable[[ScoredTile], None]) -> None:
        """Visit all pairs of rows that may be nearer than needed.

        Parameters
        ----------
        rows : int64 (m,)
        needs : callable
            Below which distance another row matters to each of some rows; −inf where nothing does. Asked when a tile
            begins, so it may fall meanwhile.
        visit : callable
            Called on several threads, each with rows of its own.
        """
        self._show(rows, needs, visit, self._gaps)

    def scan_other_sets(
        self, rows: I64, needs: Callable[[I64], F64], visit: Callable[[ScoredTile], None], component: I64
    ) -> None:
        """Visit all pairs of rows of different components that may be nearer than needed.

        Parameters
        ----------
        rows, needs, visit
            As `near` takes them.
        component : int64 (n,)

        Notes
        -----
        First each component sees the one span that is nearest to it, so that most of its rows need not ask.
        """
        sets = self._sets(component)
        gaps = np.where((sets[:, None] == sets) & (sets >= 0)[:, None], np.float32(np.inf), self._gaps)
        closest = gaps.min(1)[self._span[rows]]
        order = np.lexsort((rows, closest, component[rows]))
        first = order[np.diff(component[rows[order]], prepend=-1) != 0]
        self._show(rows[first], needs, visit, gaps, nearest=True)
        self._show(rows, needs, visit, gaps)

    def _show(
        self,
        rows: I64,
        needs: Callable[[I64], F64],
        visit: Callable[[ScoredTile], None],
        gaps: F32,
        *,
        nearest: bool = False,
    ) -> None:
        """Visit the spans that are near enough, or the nearest ones."""
        rows = rows[gaps.min(1)[self._span[rows]] < needs(rows)]
        rows = rows[np.argsort(self._place[rows])]
        cuts = [0, *(np.flatnonzero(np.diff(self._part_of[rows])) + 1).tolist(), rows.size]
        tiles = [
            rows[at : min(at + _ROWS, stop)]
            for start, stop in itertools.pairwise(cuts)
            for at in range(start, stop, _ROWS)
        ]
        memory = [make_tiles(self._source) for _ in range(self._team.threads)]

        def work(slot: int, asked: I64) -> None:
            self._team.check()
            need = needs(asked)
            asked, need = asked[need > -np.inf], need[need > -np.inf]
            if asked.size:
                for seen in self._tiles(asked, self._select_spans(asked, need, gaps, nearest=nearest), memory[slot]):
                    visit(seen)

        self._team.run(work, tiles)

    def _lay_out(self, order: I64, listed: int, component: I64 | None) -> None:
        """Lay rows out in their order, clumps first, each from a panel's start; cut into spans."""
        points, width, n = self._points, self._source.columns, self._points.factors.size
        self._part_of, clumps = self._clumps(order, listed)
        order = order[np.argsort(self._part_of[order], kind="stable")]
        sizes = np.bincount(self._part_of, minlength=clumps + 1)
        filled = -(-sizes // width) * width
        starts = np.cumsum(filled) - filled
        self._place = np.empty(n, np.int64)
        self._place[order] = np.arange(n) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
        self._order = np.full(filled.sum(), -1)
        self._order[self._place] = np.arange(n)
        self._cut(order, component)
        self._packed = repack(self._source, self._order)
        self._margin = self._source.margin.copy()
        values = points.values.reshape(n, points.size)
        self._parts: list[_Part] = []
        for start, size in zip(starts[:-1].tolist(), sizes[:-1].tolist(), strict=True):
            rows = self._order[start : start + size]
            own = Points(values[rows].reshape(-1), points.factors[rows], points.size)
            packed = pack(own, self._source.arithmetic, centred=True)
            self._margin[rows] = packed.margin
            self._parts.append(_Part(start, start + size, packed, start))
        self._parts.append(_Part(int(starts[-1]), int(starts[-1] + sizes[-1]), self._packed, 0))

    def _cut(self, order: I64, component: I64 | None) -> None:
        """Cut the order at steps much longer than their neighbours, and every so many rows."""
        step = np.append(steps(self._points, order), np.inf)
        edge = step[1:-1] > _LONGER * np.minimum(step[:-2], step[2:])
        part = self._part_of[order]
        apart = np.diff(part) != 0
        if component is not None:
            edge |= np.diff(component[order]) != 0
        span = np.zeros(order.size, np.int64)
        cut_spans(np.append(True, edge | apart), np.append(True, apart), self._width, span)
        self._span = np.empty(order.size, np.int64)
        self._span[order] = span
        first = np.flatnonzero(np.diff(span, prepend=-1))
        self._starts = self._place[order[first]]
        self._stops = self._place[order[np.append(first[1:], order.size) - 1]] + 1
        self._at = np.searchsorted(self._starts, np.arange(self._order.size), side="right") - 1

    def _clumps(self, order: I64, listed: int) -> tuple[I64, int]:
        """Return each row's clump and the number of clumps, which also means none."""
        run = np.cumsum(steps(self._points, order) > self._source.blurred[order]) - 1
        least = max(_SMALLEST_CLUMP, 2 * listed, int(_SMALLEST_SHARE * order.size))
        large = np.flatnonzero(np.bincount(run) >= least)
        number = np.full(int(run[-1]) + 1, large.size)
        number[large] = np.arange(large.size)
        found = np.empty(order.size, np.int64)
        found[order] = number[run]
        return found, large.size

    def _sweep(self, listed: int) -> tuple[F32, I32]:
        """Note the best score of any two spans, and list neighbours: of clumps within them."""
        team, rest, end = self._team, self._parts[-1], self._order.size
        slots = range(team.threads)
        lists = [BestLists.empty(end, listed) for _ in slots]
        within = np.full(end + 2 * TILE_COLUMNS, -np.inf, np.float32)
        across = within.copy()
        across[: rest.start] = np.inf  # rows of clumps are not listed there
        memory = [make_tiles(self._source) for _ in slots]

        def work(slot: int, job: tuple[_Part, int, int]) -> None:
            part, start, stop = job
            after, columns = start, self._source.columns
            if part is not rest:
                mine, after = slice(part.start, part.stop), -(-part.stop // columns) * columns
                own = lists[slot].part(mine)
                kept = own.keys, own.counts, within[part.start :]
                self._note(part, start, stop, start, part.stop, memory[slot], kept if listed else None)
            kept = lists[slot].keys, lists[slot].counts, across
            self._note(rest, start, stop, after, end, memory[slot], kept if listed else None)

        jobs = [(part, *tile) for part in self._parts for tile in self._cut_tiles(part)]
        team.run(work, jobs, costs=[end - start for _, start, _ in jobs])
        return join_lists(lists, team)

    def _cut_tiles(self, part: _Part) -> list[tuple[int, int]]:
        """Return tiles of whole spans, so that no two threads note the same ones."""
        found, begin = [], part.start
        for i in range(int(self._at[part.start]) if part.stop > part.start else 0, self._starts.size):
            if self._starts[i] >= part.stop:
                break
            if self._stops[i] - begin > TILE_ROWS:
                found.append((begin, int(self._starts[i])))
                begin = int(self._starts[i])
        return [*found, (begin, part.stop)] if begin < part.stop else found

    def _note(
        self, part: _Part, start: int, stop: int, first: int, end: int, memory: Tiles,
        kept: tuple[I64, I32, F32] | None,
    ) -> None:  # fmt: skip
        """Score places ``start``–``stop`` with ``first``–``end``, note the best, keep lists."""
        shift, packed = part.shift, part.packed
        block = gather(packed, np.arange(start, stop) - shift, memory.block)
        out = memory.scores[: block.size // (packed.groups + 2)]
        for column in range(first - first % packed.columns, end, TILE_COLUMNS):
            self._team.check()
            last = min(column + TILE_COLUMNS, end)
            score(packed, block, column - shift, last - shift, out)
            note_best(out, start, stop, column, last, self._at, self._gaps)
            if kept is not None:
                keep_best(out, start - shift, stop - shift, column - shift, column - shift, last - shift, *kept)

    def _to_distances(self) -> None:
        """Turn the best scores into distances that no pair goes below."""
        within = [self._gaps[self._part_slices(part)].copy() for part in self._parts[:-1]]
        worst = np.zeros(self._starts.size)
        np.maximum.at(worst, self._span, self._source.margin)
        for at in range(0, worst.size, 256):
            part = slice(at, at + 256)
            self._gaps[part] = _distances(self._gaps[part], worst[part, None], self._source.scale)
        for each, best in zip(self._parts, within, strict=False):
            self._gaps[self._part_slices(each)] = _distances(best, float(each.packed.margin.max()), each.packed.scale)

    def _sharpen(self) -> None:
        """Bound distances between two large clumps along the line between their means.

        With means a and b, and rows a + u and b + v, the squared distance is |b − a|² + 2 (b − a)·(v − u) + |v − u|²:
        nearly all of it is known row by row, where estimates of pairs tell nothing.
        """
        large = [part for part in self._parts[:-1] if part.stop - part.start >= _LARGE * self._place.size]
        if len(large) < 2:
            return
        d = self._points.size
        values = self._points.values.reshape(-1, d)
        own = [self._order[part.start : part.stop] for part in large]
        rows = [values[each] * self._points.factors[each, None] for each in own]
        means = np.array([each.mean(0) for each in rows])
        slack = 1e-12 * float(np.einsum("ij,ij->i", means, means).max())
        for a, b in itertools.combinations(range(len(large)), 2):
            line = means[b] - means[a]
            along = [np.einsum("ij,j->i", rows[a] - means[a], line), np.einsum("ij,j->i", means[b] - rows[b], line)]
            least = [self._furthest(own[c], each) for c, each in zip((a, b), along, strict=True)]
            square = line @ line - 2.0 * (least[0][:, None] + least[1]) - slack
            known = np.sqrt(np.maximum(square, 0.0)).astype(np.float32) * _DOWN
            here, there = self._part_slices(large[a])[0], self._part_slices(large[b])[0]
            self._gaps[here, there] = np.maximum(self._gaps[here, there], known)
            self._gaps[there, here] = self._gaps[here, there].T

    def _furthest(self, rows: I64, along: F64) -> F64:
        """Return the greatest number of each span that some rows make up."""
        span = self._span[rows]
        return np.maximum.reduceat(along, np.flatnonzero(np.diff(span, prepend=-1)))

    def _part_slices(self, part: _Part) -> tuple[slice, slice]:
        """Return the positions of a part's pairs of spans."""
        found = slice(int(self._at[part.start]), int(self._at[part.stop - 1]) + 1)
        return found, found

    def _neighbors(self, worst: F32, places: I32, k: int) -> Neighbors:
        """Return exact distances of listed rows; rows of a clump are bounded by its surroundings."""
        rows = self._order[places[self._place]].astype(np.int32)
        for part in self._parts[:-1]:
            own = self._order[part.start : part.stop]
            rows[own] = own[places[part.start : part.stop]]
        found = measure_lists(self._points, self._source, worst[self._place], rows, k, self._team)
        outside = self._gaps if len(self._parts) == 1 else self._gaps.copy()
        for part in self._parts[:-1]:
            outside[self._part_slices(part)] = np.inf
        far = outside.min(1)
        for part in self._parts[:-1]:
            own = self._order[part.start : part.stop]
            bound = list_bounds(worst[part.start : part.stop].astype(np.float64), part.packed)
            found.bound[own] = np.minimum(bound, far[self._span[own]])
        return found

    def _sets(self, component: I64) -> I64:
        """Return the component of each span that lies in one, −1 for the others."""
        least = np.full(self._starts.size, component.size)
        most = np.full(self._starts.size, -1)
        np.minimum.at(least, self._span, component)
        np.maximum.at(most, self._span, component)
        return np.where(least == most, least, -1)

    def _select_spans(self, asked: I64, need: F64, gaps: F32, *, nearest: bool) -> I64:
        """Return the spans that some of the rows have to look at."""
        mine, first = np.unique(self._span[asked], return_index=True)
        if nearest:
            return np.unique(gaps[mine].argmin(1))
        limit = np.maximum.reduceat(need, first)
        return np.flatnonzero((gaps[mine] < limit[:, None]).any(0))

    def _tiles(self, asked: I64, chosen: I64, memory: Tiles) -> Iterator[ScoredTile]:
        """Score rows of one part against spans, by whole panels."""
        part, rest, columns = self._parts[int(self._part_of[asked[0]])], self._parts[-1], self._source.columns
        inside = np.zeros(chosen.size, np.bool_)
        if part is not rest:
            inside = (self._starts[chosen] >= part.start) & (self._starts[chosen] < part.stop)
        for of, some, margin in ((part, chosen[inside], self._margin), (rest, chosen[~inside], self._source.margin)):
            if some.size == 0:
                continue
            block = gather(of.packed, self._place[asked] - of.shift, memory.block)
            out = memory.scores[: block.size // (of.packed.groups + 2)]
            panels = self._panels(some)
            for at in range(0, panels.size, TILE_COLUMNS // columns):
                self._team.check()
                taken = panels[at : at + TILE_COLUMNS // columns]
                places = (taken[:, None] * columns + np.arange(columns)).reshape(-1)
                score(take_panels(of.packed, taken - of.shift // columns), block, 0, places.size, out)
                yield ScoredTile(out, asked, self._order[places], margin, of.packed.scale)

    def _panels(self, spans: I64) -> I64:
        """Return the panels that hold some spans, each once, ascending."""
        columns = self._source.columns
        first, last = self._starts[spans] // columns, (self._stops[spans] - 1) // columns
        held = np.zeros(self._order.size // columns + 1, np.int64)
        np.add.at(held, first, 1)
        np.add.at(held, last + 1, -1)
        return np.flatnonzero(np.cumsum(held))


def _distances(best: F32, margin: F64 | float, scale: float) -> F32:
    """Return the least distance of pairs whose estimated score is at most the best."""
    square = np.maximum(-2.0 * (best.astype(np.float64) + margin), 0.0)
    found: F32 = (np.sqrt(square) * (SHRINK / scale)).astype(np.float32) * _DOWN
    return found


def _note_examples() -> tuple[object, ...]:
    return np.zeros((6, 64), np.float32), 0, 2, 0, 2, np.zeros(2, np.int64), np.zeros((1, 1), np.float32)


@kernel(examples=[_note_examples])
def note_best(tile: F32, start: int, stop: int, column: int, last: int, span: I64, out: F32) -> None:
    """Note the best score of any two spans of a tile.

    Parameters
    ----------
    tile : float32 (at least stop − start, at least last − column)
    start, stop : int
        Places of its rows.
    column, last : int
        Places of its columns.
    span : int64 (places,)
    out : float32 (spans, spans)
        Raised.
    """
    width = tile.shape[1]
    best = np.empty(width, np.float32)
    p = start
    while p < stop:
        a = span[p]
        best[:] = tile[p - start]
        p += 1
        while p < stop and span[p] == a:
            row = tile[p - start]
            for x in range(width):
                best[x] = max(best[x], row[x])
            p += 1
        for x in range(last - column):
            b = span[column + x]
            if best[x] > out[a, b]:
                out[a, b] = best[x]


def _cut_examples() -> tuple[object, ...]:
    return np.ones(2, np.bool_), np.ones(2, np.bool_), 16, np.zeros(2, np.int64)


@kernel(examples=[_cut_examples])
def cut_spans(edge: BOOL, apart: BOOL, width: int, out_span: I64) -> None:
    """Number spans of rows in order.

    Parameters
    ----------
    edge : bool (n,)
        Where a group begins; true for the first row.
    apart : bool (n,)
        Where a span has to begin.
    width : int
        Most rows of a span. Groups of at least half as many have spans of their own, of equal lengths; smaller
        ones share them.
    out_span : int64 (n,)
        Written, ascending from 0.
    """
    n = edge.size
    number, held, start = -1, width, 0
    while start < n:
        stop = start + 1
        while stop < n and not edge[stop]:
            stop += 1
        size = stop - start
        if 2 * size >= width:
            parts = (size + width - 1) // width
            for i in range(size):
                out_span[start + i] = number + 1 + i * parts // size
            number += parts
            held = width
        else:
            if apart[start] or held + size > width:
                number += 1
                held = 0
            out_span[start:stop] = number
            held += size
        start = stop
