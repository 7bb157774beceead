"""Turn of a session: memories that matter for a prompt and were not shown before."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from lamina_engine.arguments import text_of, whole_of
from lamina_engine.chunks.reading import chunks_at
from lamina_engine.chunks.talk import without_tools
from lamina_engine.clock import MISSING_US, US_PER_DAY, Instant
from lamina_engine.context import budget as budgets
from lamina_engine.context import gates
from lamina_engine.context.budget import BlockFill, cut_score_gap
from lamina_engine.context.content import content_words, continues_work, has_content, owner_words
from lamina_engine.context.evidence import NOTHING, Evidence, gather_evidence, says_of, split_sentences
from lamina_engine.context.history import history_items
from lamina_engine.context.journal import read_state, record_turn
from lamina_engine.context.memories import TASK, active_task, fact_items, item_of_chunk
from lamina_engine.context.rendering import ContextBlock, Item
from lamina_engine.context.revisions import place_revisions
from lamina_engine.context.scope import Scope, find_scope
from lamina_engine.errors import EmbeddingError, InvalidArgument
from lamina_engine.freshness.tiers import multiplier, read_settings
from lamina_engine.profiles import INDEX

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lamina_engine.memory import Memory
    from lamina_engine.settings import Injection

logger = logging.getLogger(__name__)

PARTS: Final = ("task", "facts", "history", "search")
_OPEN: Final = ("full", "soft_gate")
_CODE: Final = "code-patterns"
_SENTENCES: Final = 8
"""Sentences that are looked at for a question that a fact answers, and for the wish to go on."""
_OVERFETCH: Final = 2
"""Times as many candidates are read as results are given: tasks, lists of links and what its collection wants more of fall out."""
_STEEP: Final = 2.5
"""An item of another document than the best one's needs the documented 0.7 of its score to this power, so 0.87 of it."""

_EQUAL: Final = 0.95
_SAME: Final = 0.6
"""Of two results with so much of one score and so many words in common the newer comes first."""


class Result(Struct, frozen=True):
    """A memory that may be shown."""

    item: Item
    score: float
    """Of the recall: the rank, and the floor of the item."""
    confidence: float
    """The gate."""
    document: str | None
    """Its file; sections of one document are told together."""
    shared: float = 0.0
    """Weight of the subject's words that it has."""
    created_us: int = MISSING_US
    session: str | None = None

    @property
    def text(self) -> str:
        """Text of the memory."""
        return self.item.text

    @property
    def is_unfiled(self) -> bool:
        """True for what was said or added: no file holds it, whose newest version would replace it."""
        return self.session is not None or self.document is None


def inject(
    memory: Memory,
    prompt: str,
    session: str | None,
    *,
    floor: int | None = None,
    ceiling: int | None = None,
    project: str | None = None,
    repo: Path | None = None,
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
        scope = find_scope(memory.view(), project, repo, session, memory.root)
        return _inject(memory, prompt, session, settings, scope, now_us, trigger)
    except Exception as error:  # whatever it is: an agent's turn goes on without memories
        logger.warning("%s: no context for this turn: %r", memory.root, error)
        return ContextBlock(mode="failed")


def _inject(
    memory: Memory, prompt: str, session: str | None, settings: Injection, scope: Scope, now_us: int, trigger: str
) -> ContextBlock:
    if not memory.view().rows and not memory.view().snapshot.rows("facts"):
        logger.info("%s: no context for this turn: the vault is empty", memory.root)
    state = read_state(memory, session)
    history = history_items(memory, prompt, session, scope, now_us, settings.budget_ceiling)
    asked = scope.ask(memory.view(), prompt)
    evidence = (
        NOTHING if history else _gather(memory, prompt, asked, now_us)
    )  # what such a question has of words says nothing
    found = _results(memory, evidence, settings, asked, now_us)
    best = max(found, key=lambda result: result.confidence, default=None)
    confidence = best.confidence if best is not None else 0.0
    results = [each for each in found if each.confidence >= settings.hard_floor]
    sentences = split_sentences(prompt)[:_SENTENCES]
    facts = [fact for text in sentences if has_content(text) for fact in fact_items(memory, text, now_us)]
    mode = gates.gate(confidence, best.item.collection if best is not None else "", settings)
    moved = gates.drift(evidence.vector, state.vector)
    block = ContextBlock(mode=mode, best=confidence, drift=moved)
    task = active_task(memory, scope) if mode in _OPEN or facts or any(map(continues_work, sentences)) else None
    if mode in _OPEN or facts or history or task is not None:
        dense = budgets.density([result.confidence for result in results])
        budget = budgets.adaptive_budget(confidence, dense, moved, settings)
        budget = budget if mode == "full" else budgets.half_budget(budget, settings)
        budget = settings.budget_ceiling if history else budget
        fill = BlockFill("turn", budget, state.shown)
        if task is not None:
            fill.take_cut([item_of_chunk(task, "task", now_us, memory.config.tz)], budgets.task_budget(budget))
        fill.take(facts)
        fill.take(history)
        if mode in _OPEN:
            kept = cut_score_gap(_nearness(results), settings.score_gap_threshold)
            placed = _with_later(results, place_revisions(results, kept, prompt), prompt)
            fill.take((results[i].item for i in placed), stems=evidence.stems)
        text, tokens = fill.finish(PARTS)
        block = msgspec.structs.replace(
            block, text=text, tokens=tokens, items=tuple(fill.items), components=fill.tokens, budget=budget
        )
    if session is not None:
        record_turn(
            memory, block, settings, tier="turn", session=session, project=scope.project, trigger=trigger,
            considered=len(results), collections=[result.item.collection for result in results], vector=evidence.vector,
        )  # fmt: skip
    return block


def _gather(memory: Memory, prompt: str, scope: Scope, now_us: int) -> Evidence:
    """Return the candidates, by words alone where the model fails; none without content."""
    if not has_content(prompt):
        return NOTHING
    where = scope.filter({})
    try:
        return gather_evidence(memory, prompt, where, now_us)
    except EmbeddingError as error:
        logger.warning("%s: the prompt has no vector, words alone are asked: %s", memory.root, error)
        return gather_evidence(memory, prompt, where, now_us, meaning=False)


def _results(memory: Memory, evidence: Evidence, settings: Injection, scope: Scope, now_us: int) -> list[Result]:
    """Return the results, best first, of two versions the newer.

    A stale memory about code ranks lower and is told with its tier; a penalty of 0, where one is set, leaves it out.
    """
    penalties = _penalties(memory)
    most = _OVERFETCH * settings.max_retrievals
    chunks = chunks_at(memory.view(), evidence.rows[:most])
    found = []
    columns = (evidence.confidences[:most].tolist(), evidence.scores[:most].tolist(), evidence.shared[:most].tolist())
    for chunk, confidence, score, shared in zip(chunks, *columns, strict=True):
        factor = multiplier(chunk.freshness, penalties) if penalties is not None and chunk.collection == _CODE else 1.0
        if chunk.type == TASK or factor <= 0.0 or chunk.role == INDEX or not scope.holds(chunk.project, chunk.text):
            continue
        item = item_of_chunk(chunk, "search", now_us, memory.config.tz, confidence)
        created = chunk.created_at_us if chunk.created_at_us is not None else MISSING_US
        result = Result(item, score, confidence, chunk.source, shared, created, chunk.session)
        found.append((score * factor, created, result))
    found.sort(key=lambda each: (-each[0], -each[1], each[2].item.id))
    for i in range(1, len(found)):
        older, newer = found[i - 1], found[i]
        if newer[1] > older[1] and newer[0] >= _EQUAL * older[0] and _are_versions(older[2].item, newer[2].item):
            found[i - 1], found[i] = newer, older
    return [each[2] for each in found[: settings.max_retrievals]]


def _nearness(results: list[Result]) -> list[float]:
    """Return the score of each as a share of the best; of other documents than its own steeper."""
    best = max(results, key=lambda result: result.score, default=None)
    if best is None or not best.score:
        return [0.0] * len(results)
    return [
        (each.score / best.score) ** (1.0 if each.document and each.document == best.document else _STEEP)
        for each in results
    ]


def _with_later(results: list[Result], placed: list[int], prompt: str) -> list[int]:
    """Return the positions of results to tell, before them a later one that they hide.

    "The mask is 7 everywhere" is not all where the prompt asks of Weilheim and a later memory sets it there: one with a word of the
    prompt that none told has, and which speaks of the same thing. Nor is "the planner answers on port 9300" where the prompt asks for
    the port and a later memory says "the planner listens on 9455 now".
    """
    if not placed:
        return placed
    best = results[placed[0]]
    later = [
        i for i, each in enumerate(results)
        if i not in placed and each.is_unfiled and each.created_us > best.created_us
    ]  # fmt: skip
    if not later:
        return placed
    from lamina_engine.facts.stating import ANEW  # in few turns, and its expressions take long to compile

    words = {i: set(content_words(without_tools(results[i].text))) for i in [*placed, *later]}
    asked, owners = set(content_words(prompt)), owner_words(prompt)
    told = set[str]().union(*(words[i] for i in placed))
    matter = words[placed[0]] - asked
    later = [
        i for i in later
        if (asked & words[i] - told and matter & words[i]) or (owners and says_of(owners, results[i].text, ANEW))
    ]  # fmt: skip
    return [*sorted(later, key=lambda i: -(results[i].created_us // US_PER_DAY))[:1], *placed]


def _are_versions(one: Item, other: Item) -> bool:
    """Return whether two memories say nearly the same, so that their dates say which holds."""
    words, others = set(one.text.lower().split()), set(other.text.lower().split())
    return len(words & others) >= _SAME * len(words | others)


def _penalties(memory: Memory) -> Mapping[str, float] | None:
    """Return what tiers multiply scores by; None where freshness is switched off."""
    found = read_settings(memory.settings.given)
    return found.multipliers if found.enabled else None


def _check_settings(settings: Injection, prompt: object, session: object, floor: object, ceiling: object) -> Injection:
    """Return the settings with the call's own budget."""
    if not isinstance(prompt, str):
        raise InvalidArgument(f"prompt must be text, not {type(prompt).__name__}")
    text_of(session, "session")
    low = whole_of(settings.budget_floor if floor is None else floor, "floor", of=" of tokens")
    high = whole_of(settings.budget_ceiling if ceiling is None else ceiling, "ceiling", of=" of tokens")
    if low > high:
        raise InvalidArgument(f"floor={low} is above ceiling={high}; give floor <= ceiling")
    return msgspec.structs.replace(settings, budget_floor=low, budget_ceiling=high)
