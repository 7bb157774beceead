"""The greedy fill: items in order, each whole or not at all, none twice, within a budget counted on the rendered text."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from lamina_engine.context.rendering import CLOSING, Item, opening, render, render_item
from lamina_engine.context.tokens import Counter

FIXED_SCORE: Final = 1.0
"""Score of what was chosen by date and not by likeness; it is no measure for the others."""


def without_gap(scores: Sequence[float], threshold: float) -> list[int]:
    """Return the positions whose score is not too far below the best.

    Parameters
    ----------
    scores : sequence of float
        `FIXED_SCORE` stands for what was not searched for: always kept, never the best.
    threshold : float
        Share of the best score below which a result is left out; nothing is where the best is 0.
    """
    best = max((score for score in scores if score < FIXED_SCORE), default=0.0)
    return [i for i, score in enumerate(scores) if best <= 0.0 or score >= threshold * best]


class Fill:
    """A block on its way.

    Parameters
    ----------
    tier : str
        ``bootstrap`` or ``turn``.
    budget : int
        Tokens of the whole block, its wrapper included.
    counter : Counter
        What counts them.
    seen : collection of str
        Ids that the session has been given already.
    """

    def __init__(self, tier: str, budget: int, counter: Counter, seen: Collection[str] = ()) -> None:
        self._tier, self._budget, self._count = tier, budget, counter.count
        self._ids = set(seen)
        self._contents: set[bytes] = set()
        self._used = self._count(opening(tier) + CLOSING)
        self.items: list[Item] = []
        self.tokens: dict[str, int] = {}
        """Tokens of each part."""

    @property
    def left(self) -> int:
        """Tokens that are left of the budget."""
        return self._budget - self._used

    def take(self, candidates: Iterable[Item], most: int | None = None) -> int:
        """Take what fits, in order; what is too large is passed over and smaller ones are tried. Return tokens used.

        Parameters
        ----------
        candidates : iterable of Item
        most : int, optional
            Tokens of this part; all that are left unless given.
        """
        before = self._used
        room = self.left if most is None else min(most, self.left)
        for item in candidates:
            content = hashlib.blake2b(item.text.strip().encode("utf-8", "surrogatepass"), digest_size=16).digest()
            if item.id in self._ids or not item.text.strip() or content in self._contents:
                continue
            tokens = self._count(render_item(item))
            if tokens > room - (self._used - before):
                continue
            self._ids.add(item.id)
            self._contents.add(content)  # of what is taken only: a rejected text may still come in smaller company
            self._used += tokens
            self.items.append(item)
            self.tokens[item.part] = self.tokens.get(item.part, 0) + tokens
        return self._used - before

    def finish(self, order: Sequence[str]) -> tuple[str, int]:
        """Return the block's text and its tokens, counted once more on the whole: never more than the budget.

        A counter may see more in a whole than in its parts; then the last item goes, until it fits.

        Parameters
        ----------
        order : sequence of str
            The parts, as they are to stand.
        """
        self.items.sort(key=lambda item: order.index(item.part))  # stable: within a part as they were taken
        while self.items:
            text = render(self._tier, self.items)
            tokens = self._count(text)
            if tokens <= self._budget:
                return text, tokens
            gone = self.items.pop()
            self.tokens[gone.part] -= self._count(render_item(gone))
        return "", 0
