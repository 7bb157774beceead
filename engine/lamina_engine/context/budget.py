"""Token budgets of context blocks: adaptive sizes, and the greedy fill."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from lamina_engine.context.memories import choose_part, shorten_item
from lamina_engine.context.rendering import CLOSING, Item, opening, render, render_item
from lamina_engine.context.tokens import count_tokens
from lamina_engine.settings import Injection

DENSE_CONFIDENCE: Final = 0.6
"""Confidence from which a result counts towards density, in any collection."""
BOOTSTRAP_SHARES: Final = {
    "handoff": 800 / 2500, "session": 800 / 2500, "task": 200 / 2500, "insights": 600 / 2500, "changes": 600 / 2500,
}  # fmt: skip
"""Of a bootstrap's budget, what the parts before one leave to it where it needs so much; handoff and session seldom both do."""
TASK_SHARE: Final = 0.2
MAX_TASK_TOKENS: Final = 300
"""The active task gets so much of a turn's budget, at most."""


def adaptive_budget(best: float, dense: float, drift: float, settings: Injection) -> int:
    """Return a turn's budget, truncated and within [floor, ceiling].

    floor + (ceiling − floor) · (0.5 · quality + 0.3 · density + 0.2 · drift), with quality the confidence of the best result.

    References
    ----------
    .. [1] AI Memory 2.2, injection: "adaptive budget".
    """
    quality = min(max(best, 0.0), 1.0)
    weighted = settings.quality_weight * quality + settings.density_weight * dense + settings.drift_weight * drift
    budget = settings.budget_floor + int((settings.budget_ceiling - settings.budget_floor) * weighted)
    return min(max(budget, settings.budget_floor), settings.budget_ceiling)


def half_budget(budget: int, settings: Injection) -> int:
    """Return the budget of a turn at the soft gate: half, and never less than the floor."""
    return max(settings.budget_floor, budget // 2)


def density(confidences: Sequence[float]) -> float:
    """Return the share of results with a confidence of at least `DENSE_CONFIDENCE`; 0 for none."""
    return sum(value >= DENSE_CONFIDENCE for value in confidences) / len(confidences) if confidences else 0.0


def task_budget(budget: int) -> int:
    """Return the part of a turn's budget that the active task may use."""
    return min(MAX_TASK_TOKENS, int(budget * TASK_SHARE))


def cut_score_gap(scores: Sequence[float], threshold: float) -> list[int]:
    """Return the positions of scores of at least ``threshold`` times the best."""
    best = max(scores, default=0.0)
    return [i for i, score in enumerate(scores) if best <= 0.0 or score >= threshold * best]


class BlockFill:
    """A block being filled: no item twice, within a budget counted on the rendered text."""

    def __init__(self, tier: str, budget: int, seen: Collection[str] = ()) -> None:
        self._tier, self._budget = tier, budget
        self._ids = set(seen)
        self._contents: set[bytes] = set()
        self._used = count_tokens(opening(tier) + CLOSING)
        self.items: list[Item] = []
        self.tokens: dict[str, int] = {}
        """Tokens of each part."""

    @property
    def left(self) -> int:
        """Tokens that are left of the budget."""
        return self._budget - self._used

    def take(
        self, candidates: Iterable[Item], most: int | None = None, *, stems: Mapping[str, float] | None = None
    ) -> int:
        """Take items in order, each complete or not at all; return the tokens used.

        An item that is too large is skipped, and smaller ones are tried; ``most`` is the limit of this part. With ``stems``, the
        words that were asked for, the part of it that holds them is taken where enough of it fits.
        """
        before = self._used
        room = self.left if most is None else min(most, self.left)
        for item in filter(self._is_new, candidates):
            left = room - (self._used - before)
            tokens = count_tokens(render_item(item))
            if tokens <= left:
                self._add(item, tokens)
            elif stems is not None and (part := choose_part(item, stems, left)) is not None:
                self._add(part, count_tokens(render_item(part)))
        return self._used - before

    def take_cut(self, candidates: Iterable[Item], most: int) -> int:
        """Take items in order until one has to be cut to fit; return the tokens used."""
        before = self._used
        for item in filter(self._is_new, candidates):
            room = min(most, before + self.left) - (self._used - before)
            cut = shorten_item(item, lambda each, room=room: count_tokens(render_item(each)) <= room)  # type: ignore[misc]
            if cut is not None:
                self._add(cut, count_tokens(render_item(cut)))
            if cut is not item:
                break
        return self._used - before

    def _is_new(self, item: Item) -> bool:
        return bool(item.text.strip()) and item.id not in self._ids and _digest(item) not in self._contents

    def _add(self, item: Item, tokens: int) -> None:
        self._ids.add(item.id)
        self._contents.add(_digest(item))  # of what is taken only: a rejected text may still come in smaller company
        self._used += tokens
        self.items.append(item)
        self.tokens[item.part] = self.tokens.get(item.part, 0) + tokens

    def finish(self, order: Sequence[str]) -> tuple[str, int]:
        """Return the block's text and its tokens, counted once more: never more than the budget.

        The complete text may have more tokens than its parts; then the last item goes, until it fits. ``order`` is the order of
        the parts.
        """
        self.items.sort(key=lambda item: order.index(item.part))  # stable: within a part as they were taken
        while self.items:
            text = render(self._tier, self.items)
            tokens = count_tokens(text)
            if tokens <= self._budget:
                return text, tokens
            last = self.items.pop()
            self.tokens[last.part] -= count_tokens(render_item(last))
        return "", 0


def _digest(item: Item) -> bytes:
    return hashlib.blake2b(item.text.strip().encode("utf-8", "surrogatepass"), digest_size=16).digest()
