"""Token budgets of context blocks: counting, adaptive sizes, and the greedy fill."""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lamina_engine.context.rendering import CLOSING, Item, opening, render, render_item
from lamina_engine.recall.pack import count_tokens
from lamina_engine.settings import Injection

ENCODING: Final = "cl100k_base"
_TABLE: Final = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
"""The name under which tiktoken keeps its table; only its digest is used, nothing is fetched."""
ESTIMATE: Final = "estimate"


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """A counter of tokens."""

    name: str
    """``cl100k_base``, or ``estimate``: one for four characters, one for each character of CJK."""
    count: Callable[[str], int]


@functools.cache
def find_counter() -> TokenCounter:
    """Return tiktoken's counter where it and its table are installed, else the estimate.

    A text that holds one of the model's own markers is counted as the plain text it is.
    """
    if not _is_cached(os.environ):
        return TokenCounter(ESTIMATE, count_tokens)
    try:
        import tiktoken

        encoding = tiktoken.get_encoding(ENCODING)
    except (ImportError, OSError, ValueError):
        return TokenCounter(ESTIMATE, count_tokens)
    return TokenCounter(ENCODING, lambda text: len(encoding.encode(text, disallowed_special=())))


def _is_cached(environ: Mapping[str, str]) -> bool:
    """Return whether tiktoken has its table on disk; it would download it otherwise."""
    folder = environ.get("TIKTOKEN_CACHE_DIR", environ.get("DATA_GYM_CACHE_DIR"))
    if folder == "":  # tiktoken takes an empty name as: never keep, always fetch
        return False
    name = hashlib.sha1(_TABLE.encode(), usedforsecurity=False).hexdigest()
    return (Path(folder) if folder else Path(tempfile.gettempdir(), "data-gym-cache")).joinpath(name).is_file()


DENSE_CONFIDENCE: Final = 0.6
"""Confidence from which a result counts towards density, in any collection."""
BOOTSTRAP_SHARES: Final = {"handoff": 800 / 2500, "insights": 600 / 2500, "changes": 600 / 2500}
"""Of a bootstrap's budget, by part; what is left, 500 of 2,500, and what a part does not use, go to the next ones."""
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


DATED_SCORE: Final = 1.0
"""Score of what was chosen by date and not by likeness; it is no measure for the others."""


def cut_score_gap(scores: Sequence[float], threshold: float) -> list[int]:
    """Return the positions of scores of at least ``threshold`` times the best.

    `DATED_SCORE` stands for items that were not searched for: always kept, never the best.
    """
    best = max((score for score in scores if score < DATED_SCORE), default=0.0)
    return [i for i, score in enumerate(scores) if best <= 0.0 or score >= threshold * best]


class BlockFill:
    """A block being filled: no item twice, within a budget counted on the rendered text."""

    def __init__(self, tier: str, budget: int, counter: TokenCounter, seen: Collection[str] = ()) -> None:
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
        """Take items in order, each complete or not at all; return the tokens used.

        An item that is too large is skipped, and smaller ones are tried; ``most`` is the limit of this part.
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
        """Return the block's text and its tokens, counted once more: never more than the budget.

        A counter may see more in the complete text than in its parts; then the last item goes, until it fits. ``order`` is the
        order of the parts.
        """
        self.items.sort(key=lambda item: order.index(item.part))  # stable: within a part as they were taken
        while self.items:
            text = render(self._tier, self.items)
            tokens = self._count(text)
            if tokens <= self._budget:
                return text, tokens
            last = self.items.pop()
            self.tokens[last.part] -= self._count(render_item(last))
        return "", 0
