"""Diversity of hits: folded duplicates, maximal marginal relevance, slots in a token budget."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec.structs import replace

from lamina_engine.chunks.locations import locate
from lamina_engine.index.view import View
from lamina_engine.profiles import Profile
from lamina_engine.recall.candidates import Candidates
from lamina_engine.recall.pack import count_row_tokens, pack
from lamina_engine.recall.pages import BELOW, BLOCK
from lamina_kernels.diversity import fitting_relevance, maximal_marginal_relevance, near_duplicates, slotted_lambda
from lamina_kernels.layouts import F32, I64

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lamina_engine.recall.expansion import LinkedHit
    from lamina_engine.recall.pages import Page
    from lamina_engine.recall.request import Request

_BLOCK: Final = 4 * BLOCK
"""Hits that are varied together."""
_ROUNDING: Final = 1e-5
_MOST: Final = 512
"""Candidates that are diversified; later ones are taken in order."""
_LOOKED_AT: Final = 32
"""Candidates whose sources are read at once."""
_NO_BUDGET: Final = 2**62


def fold(view: View, page: Page, candidates: Candidates, order: list[int]) -> tuple[list[int], dict[int, list[str]]]:
    """Leave out contents that an earlier position has; return the rest, and the ids folded."""
    # of all candidates, which ascend as a rule: to gather rows in the order of their scores takes twice as long
    found = view.snapshot.numbers("chunks", "version", candidates.rows).tolist()
    if not page.contents and len(set(found)) == len(found):  # as a rule nothing repeats
        return order, {}
    hashes = [found[position] for position in order]
    owner: dict[int, int] = {}
    folded: dict[int, list[str]] = {}
    for position, row, content in zip(order, candidates.rows[order].tolist(), hashes, strict=True):
        if content in page.contents:
            continue
        first = owner.setdefault(content, position)
        if first != position:
            folded.setdefault(first, []).append(str(view.snapshot.values("chunks", "id", np.array([row]))[0]))
    return list(owner.values()), folded


def vary(
    view: View, profile: Profile, candidates: Candidates, order: list[int], folded: dict[int, list[str]]
) -> Iterator[int]:
    """Yield positions without near-duplicates, varied by marginal relevance."""
    # block by block, so that how many are taken changes none of them
    settings = profile.diversity
    varied = settings.mmr < 1.0 and not settings.slots  # with slots the choice is made where sizes are known
    if settings.near_duplicate >= 1.0 and not varied:
        yield from order
        return
    earlier: F32 | None = None
    for start in range(0, len(order), _BLOCK):
        head = order[start : start + _BLOCK]
        vectors = head_vectors(view, candidates.rows[head])
        if vectors is None:
            yield from order[start:]
            return
        chosen = np.arange(len(head))
        if settings.near_duplicate < 1.0:
            chosen, earlier = _without_near(view, candidates, head, vectors, earlier, settings.near_duplicate, folded)
        if varied and len(chosen) > 1:
            relevance = candidates.score[np.array(head)[chosen]]
            chosen = chosen[maximal_marginal_relevance(relevance, vectors[chosen], settings.mmr, len(chosen))]
        yield from (head[i] for i in chosen.tolist())


def _without_near(
    view: View, candidates: Candidates, head: list[int], vectors: F32, earlier: F32 | None, threshold: float,
    folded: dict[int, list[str]],
) -> tuple[I64, F32]:  # fmt: skip
    """Return the places in a block that repeat nothing kept, and all vectors kept."""
    known = 0 if earlier is None else len(earlier)
    stacked = vectors if earlier is None else np.concatenate([earlier, vectors])
    keep = near_duplicates(stacked, np.arange(len(stacked), dtype=np.int64), threshold)
    mine = keep[known:]
    names = view.snapshot.values("chunks", "id", candidates.rows[head][~mine])
    for name, i in zip(names, np.flatnonzero(~mine).tolist(), strict=True):
        # the first kept hit before it that is as near as the threshold says, if it is of this block: others are told already
        near = np.flatnonzero(mine[:i])[vectors[:i][mine[:i]] @ vectors[i] >= threshold - _ROUNDING]
        if len(near):
            folded.setdefault(head[near[0]], []).append(str(name))
    return np.flatnonzero(mine), stacked[keep]


def limit_sources(
    view: View, request: Request, page: Page, rows: I64, order: Iterable[int]
) -> tuple[list[int], list[int]]:
    """Pass over chunks of a file that has its hits; return the rest, and those passed over.

    Only what was cut from a document counts: rows of a table, turns of a session and added chunks are each their own. Hits
    are taken from the top, so the first n of k do not depend on k.
    """
    # a budget takes what fits, however far down it stands
    most = None if page.budget is not None or request.profile.diversity.slots else page.wanted
    positions = iter(order)
    if request.per_source is None:
        return list(islice(positions, most)), []
    kept: list[int] = []
    passed: list[int] = []
    paths: dict[int, str | None] = {}
    while part := list(islice(positions, _LOOKED_AT)):
        starts = view.snapshot.numbers("chunks", "start", rows[part]).tolist()
        cut = [position for position, start in zip(part, starts, strict=True) if start >= 0]
        if not cut:  # as in a vault of records or sessions
            kept += part if most is None else part[: most - len(kept)]
            if len(kept) == most:
                return kept, passed
            continue
        names = dict(zip(cut, view.snapshot.values("chunks", "source", rows[cut]), strict=True))
        for position in part:
            if len(kept) == most:
                return kept, passed
            name = names.get(position)
            if name is not None:
                row = int(rows[position])
                before = page.files.setdefault(name, [])
                if len(before) >= request.per_source and _count_of_file(view, before, row, paths) >= request.per_source:
                    passed.append(position)
                    continue
                before.append(row)
            kept.append(position)
    return kept, passed


def count_parents(view: View, request: Request, page: Page, rows: I64, order: list[int]) -> int:
    """Return how many hits bring neighbours: whole blocks, down to the last that can be shown."""
    settings = request.profile.diversity
    if page.budget is not None or settings.mmr < 1.0 or settings.near_duplicate < 1.0:  # any may be shown
        return len(order)
    shown, _ = limit_sources(view, request, replace(page, files={}), rows, order)
    deepest = order.index(shown[-1]) + 1 if len(shown) == page.wanted else len(order)
    return -(-deepest // BLOCK) * BLOCK


def _count_of_file(view: View, before: list[int], row: int, paths: dict[int, str | None]) -> int:
    """Count rows of one name that were cut from the file of another: folders share names.

    ``paths`` are those known so far, by row, and grow.
    """
    rows = [each for each in (*before, row) if each not in paths]
    places = locate(view, view.snapshot.records("chunks", np.array(rows, np.int64), ("id", "source")))
    paths.update(zip(rows, (None if place is None else place.path for place in places), strict=True))
    mine = paths[row]
    return sum(mine is None or paths[other] in (None, mine) for other in before)


def head_vectors(view: View, rows: I64) -> F32 | None:
    """Return vectors of some rows, float32 (n, d), zero if missing; None in vaults without any."""
    if not view.vector_rows:
        return None
    out = np.zeros((len(rows), view.vectors.dim), np.float32)
    has = rows < view.vector_rows
    out[has] = view.vectors.gather(rows[has])
    return out


def arrange(
    view: View, request: Request, page: Page, candidates: Candidates, order: list[int], linked: Mapping[int, LinkedHit]
) -> tuple[list[int], Candidates, Mapping[int, LinkedHit]]:
    """Return at most k hits whose total size fits the budget."""
    settings, budget = request.profile.diversity, page.budget
    sizes = count_row_tokens(view, candidates.rows[order]).astype(np.int64)
    if budget is not None:
        fits = sizes <= budget
        order, sizes = [p for p, fit in zip(order, fits.tolist(), strict=True) if fit], sizes[fits]
    head = order[:_MOST]
    left = _NO_BUDGET if budget is None else budget
    most = -(-page.wanted // BLOCK) * BLOCK
    if len(head) < settings.least or settings.mmr >= 1.0:
        chosen = pack(sizes.tolist(), most, left)
    else:
        rows = candidates.rows[head]
        vectors = head_vectors(view, rows)
        slots = settings.slots if budget is None else budget / max(float(np.median(sizes)), 1.0)
        lam = slotted_lambda(settings.mmr, slots, settings.slots)
        flat = np.zeros((len(head), 1), np.float32)
        varied = fitting_relevance(
            candidates.score[head], flat if vectors is None else vectors, sizes[: len(head)], left, lam, most
        )
        chosen = varied.tolist()
        rest = pack(sizes[len(head) :].tolist(), most - len(chosen), left - int(sizes[varied].sum()))
        chosen += [len(head) + i for i in rest]
    kept, candidates, linked = _lower_siblings(candidates, [order[i] for i in chosen], linked)
    return kept[: page.wanted], candidates, linked


def _lower_siblings(
    candidates: Candidates, chosen: list[int], linked: Mapping[int, LinkedHit]
) -> tuple[list[int], Candidates, Mapping[int, LinkedHit]]:
    """Rank topic siblings below the direct hits of their block, lowering their scores."""
    if not any(position in linked and linked[position].sibling for position in chosen):
        return (chosen, candidates, linked)
    score, known = candidates.score.copy(), dict(linked)
    kept: list[int] = []
    least = np.inf
    for start in range(0, len(chosen), BLOCK):
        block = chosen[start : start + BLOCK]
        siblings = [position for position in block if position in linked and linked[position].sibling]
        direct = [position for position in block if position not in siblings]
        least = min([least, *score[direct].tolist()])
        for position in siblings:
            if score[position] > least * BELOW:
                score[position] = least * BELOW
                known[position] = replace(known[position], ceiling=score[position].item())
        siblings.sort(key=lambda position: -score[position])  # of equals the one chosen first stays first
        kept += direct + siblings
    return (kept, replace(candidates, score=score), known)
