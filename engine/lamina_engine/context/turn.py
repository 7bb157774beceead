"""Turn of a session: memories that matter for a prompt and were not shown before."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from lamina_engine.clock import Instant
from lamina_engine.context import budget as budgets
from lamina_engine.context import gates
from lamina_engine.context.budget import BlockFill, cut_score_gap
from lamina_engine.context.journal import read_state, record_turn
from lamina_engine.context.memories import TASK, active_task, item_of_chunk
from lamina_engine.context.rendering import ContextBlock, Item
from lamina_engine.context.scope import Scope
from lamina_engine.errors import EmbeddingError, InvalidArgument
from lamina_engine.recall.pipeline import recall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lamina_engine.memory import Memory
    from lamina_engine.results import Hit
    from lamina_engine.settings import Injection
    from lamina_kernels.layouts import F32

logger = logging.getLogger(__name__)

_CODE: Final = "code-patterns"
_OVERFETCH: Final = 2
"""Times as many hits as results are asked for: tasks and what is stale fall out."""


class Result(Struct, frozen=True):
    """A hit that may be shown."""

    item: Item
    score: float
    """By meaning and age, penalty included; what ranks."""
    confidence: float
    """By meaning alone, on one scale for all models, penalty included; what gates."""


def inject(
    memory: Memory,
    prompt: str,
    session: str,
    *,
    floor: int | None = None,
    ceiling: int | None = None,
    project: str | None = None,
    now: Instant | None = None,
    trigger: str = "prompt",
) -> ContextBlock:
    """Return what an agent should see with a prompt; see ``Vault.inject``."""
    memory.check_open()
    settings = _check_settings(memory.settings.injection, prompt, session, floor, ceiling)
    now_us = memory.clock.now_us() if now is None else memory.moment(now, "now")
    if not settings.enabled or not prompt.strip() or gates.is_command(prompt):
        return ContextBlock()
    try:
        return _inject(memory, prompt, session, settings, project, now_us, trigger)
    except Exception as error:  # whatever it is: an agent's turn goes on without memories
        logger.warning("%s: no context for this turn: %r", memory.root, error)
        return ContextBlock(mode="failed")


def _inject(
    memory: Memory, prompt: str, session: str, settings: Injection, project: str | None, now_us: int, trigger: str
) -> ContextBlock:
    if not memory.view().rows:
        logger.info("%s: no context for this turn: the vault is empty", memory.root)
    state = read_state(memory, session)
    vector = _embed_prompt(memory, prompt)
    results = _search(memory, prompt, vector, settings, project, now_us)
    best = max(results, key=lambda result: result.confidence, default=None)
    confidence = best.confidence if best is not None else 0.0
    mode = gates.gate(confidence, best.item.collection if best is not None else "", settings)
    moved = gates.drift(vector, state.vector)
    block = ContextBlock(mode=mode, best=confidence, drift=moved)
    if mode in ("full", "soft_gate"):
        dense = budgets.density([result.confidence for result in results])
        budget = budgets.adaptive_budget(confidence, dense, moved, settings)
        budget = budgets.half_budget(budget, settings) if mode == "soft_gate" else budget
        fill = BlockFill("turn", budget, state.shown)
        task = active_task(memory, Scope(project, named=project is not None))
        if task is not None:
            fill.take([item_of_chunk(task, "task", now_us)], budgets.task_budget(budget))
        kept = cut_score_gap([result.score for result in results], settings.score_gap_threshold)
        fill.take(results[i].item for i in kept)
        text, tokens = fill.finish(("task", "search"))
        block = msgspec.structs.replace(
            block, text=text, tokens=tokens, items=tuple(fill.items), components=fill.tokens, budget=budget
        )
    record_turn(
        memory, block, settings, tier="turn", session=session, project=project, trigger=trigger, considered=len(results),
        collections=[result.item.collection for result in results], vector=vector,
    )  # fmt: skip
    return block


def _search(
    memory: Memory, prompt: str, vector: F32 | None, settings: Injection, project: str | None, now_us: int
) -> list[Result]:
    """Return the results, best first, by meaning and age, without stale code patterns."""
    options: dict[str, Any] = {"where": {"project": project}} if project else {}
    options |= {"lanes": ("lexical",)} if vector is None else {"vector": vector}
    outcome = recall(
        memory, prompt, profile="temporal", k=_OVERFETCH * settings.max_retrievals, now=now_us / 1e6, **options
    )
    space = memory.view().snapshot.space
    model = str(space.identity) if space is not None and vector is not None else "words"
    penalties = _penalties(memory)
    found = [_result(each, penalties, model, now_us) for each in outcome.hits if each.type != TASK]
    ranked = sorted((each for each in found if each.score > 0.0), key=lambda each: -each.score)
    return ranked[: settings.max_retrievals]


def _result(hit: Hit, penalties: Mapping[str, float] | None, model: str, now_us: int) -> Result:
    from lamina_engine.freshness.tiers import multiplier

    factor = 1.0
    if penalties is not None and hit.collection == _CODE:
        factor = multiplier(hit.freshness, penalties)
    terms = hit.terms
    signal = terms["coverage"] if model == "words" else terms["cosine"] or 0.0
    score = hit.score * factor
    confidence = gates.confidence(signal, model) * factor
    return Result(item_of_chunk(hit, "search", now_us, score), score, confidence)


def _penalties(memory: Memory) -> Mapping[str, float] | None:
    """Return what tiers multiply scores by; None where freshness is switched off."""
    from lamina_engine.freshness.tiers import read_settings

    found = read_settings(memory.settings.given)
    return found.multipliers if found.enabled else None


def _embed_prompt(memory: Memory, prompt: str) -> F32 | None:
    """Return the prompt's vector; None without vectors, or where the model fails."""
    snapshot = memory.view().snapshot
    if snapshot.space is None:
        return None
    try:
        memory.check_space(snapshot, None)
        vector: F32 = memory.embedder_for(snapshot.space).embed_query(prompt)
    except EmbeddingError as error:
        logger.warning("%s: the prompt has no vector, words alone are asked: %s", memory.root, error)
        return None
    return vector if vector.any() else None


def _check_settings(settings: Injection, prompt: object, session: object, floor: object, ceiling: object) -> Injection:
    """Return the settings with the call's own budget."""
    if not isinstance(prompt, str):
        raise InvalidArgument(f"prompt must be text, not {type(prompt).__name__}")
    if not isinstance(session, str) or not session.strip():
        raise InvalidArgument(f"session={session!r} must be the session's name, text that is not empty")
    low = settings.budget_floor if floor is None else floor
    high = settings.budget_ceiling if ceiling is None else ceiling
    for name, value in (("floor", low), ("ceiling", high)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidArgument(f"{name}={value!r} must be a whole number of tokens from 1 up")
    if not (isinstance(low, int) and isinstance(high, int) and low <= high):
        raise InvalidArgument(f"floor={low} is above ceiling={high}; give floor <= ceiling")
    return msgspec.structs.replace(settings, budget_floor=low, budget_ceiling=high)
