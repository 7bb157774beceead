"""Pages of a recall: hits in an order that no k changes.

The first page ranks the candidates that the lanes give at the profile's depth, whatever k is, and hits are taken from its top.
Only where it ends before there are k hits, a deeper page is ranked, of what no page before it had; it stands below them. So the
first n of any k are the hits of k = n, and most recalls need one page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lamina_engine.recall.pack import count_row_tokens

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.recall.candidates import Candidates
    from lamina_engine.recall.lanes import Lane
    from lamina_engine.recall.request import Request

LEAST_DEPTH: Final = 50
DEEPER: Final = 8
"""Times as many candidates of each lane as on the page before."""
BLOCK: Final = 10
"""Hits that are arranged together where hits are weighed against each other, whatever k is."""
BELOW: Final = 1.0 - 1e-9
"""Share of a score that ranks just below it."""


class Page(Struct):
    """One page of a recall, and what the pages before it gave."""

    depth: int
    """Candidates of each lane."""
    wanted: int
    """Hits that are still to be found."""
    budget: int | None
    """Tokens that are left; more than one page is filled only where the first is that of a time."""
    within: bool
    """True where it holds only what lies in the question's time window."""
    rows: set[int]
    """Rows of the pages before, shown or passed over."""
    contents: set[int]
    """Hashes of their contents."""
    files: dict[str, list[int]]
    """Rows of the hits so far, by source."""
    ceiling: float | None = None
    """Lowest score so far: nothing of this page passes it."""

    @property
    def is_first(self) -> bool:
        """True where no page before it had hits."""
        return self.ceiling is None

    def leave_out(self, candidates: Candidates, order: list[int]) -> list[int]:
        """Return the positions whose rows no page before had."""
        if not self.rows:
            return order
        rows = candidates.rows[order].tolist()
        return [position for position, row in zip(order, rows, strict=True) if row not in self.rows]

    def lower(self, candidates: Candidates) -> Candidates:
        """Return candidates none of which passes the pages before."""
        if self.ceiling is None:
            return candidates
        return replace(candidates, score=np.minimum(candidates.score, self.ceiling), ceiling=self.ceiling)

    def next(self, view: View, candidates: Candidates, order: list[int], kept: list[int], whole: bool) -> Page | None:
        """Return the page after this one; None where there are hits enough, or no more candidates."""
        # order: every position that was ranked; whole: the lanes gave all they have
        wanted = self.wanted - len(kept)
        if wanted <= 0 or (not self.within and (whole or self.budget is not None)):
            return None
        budget = self.budget
        if budget is not None:
            budget -= int(count_row_tokens(view, candidates.rows[kept]).sum())
        rows = candidates.rows[order]
        self.rows.update(rows.tolist())
        self.contents.update(view.snapshot.numbers("chunks", "version", rows).tolist())
        ceiling = float(candidates.score[kept].min()) * BELOW if kept else self.ceiling
        return Page(
            self.depth if whole else self.depth * DEEPER, wanted, budget, self.within and not whole, self.rows, self.contents,
            self.files, ceiling,
        )  # fmt: skip


def first_page(request: Request) -> Page:
    """Return the first page of a recall."""
    strict = request.window is not None and request.window.strict
    return Page(
        max(request.profile.depth, LEAST_DEPTH), request.k, request.token_budget, strict, set[int](), set[int](),
        dict[str, list[int]](),
    )  # fmt: skip


def has_all(lanes: tuple[Lane, Lane], depth: int) -> bool:
    """Return True where lanes of a depth hold every row that they could find."""
    words, vectors = lanes
    return len(words.rows) < depth and len(vectors.rows) < depth
