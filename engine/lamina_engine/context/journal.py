"""Journal of a session: one line for each turn, which add up to the session's state.

There is no other file, and an unreadable line costs its own record and no more.
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from lamina_engine.clock import format_instant
from lamina_engine.store import journals

if TYPE_CHECKING:
    from lamina_engine.context.rendering import ContextBlock
    from lamina_engine.memory import Memory
    from lamina_engine.settings import Injection
    from lamina_kernels.layouts import F32

logger = logging.getLogger(__name__)

KIND: Final = "context"
RESETS: Final = ("compact", "clear")
"""Triggers after which the session has lost what it was given."""
_unwritten: WeakKeyDictionary[Memory, dict[str, list[dict[str, Any]]]] = WeakKeyDictionary()
"""Lines of vaults that cannot be written, while they are open."""


@dataclass(slots=True)
class SessionState:
    """Sum of the lines of a session."""

    shown: set[str] = field(default_factory=set)
    """Ids that it has been given since it last lost its memory."""
    vector: F32 | None = None
    """Of the prompt before."""
    turns: int = 0
    tokens: int = 0


def read_state(memory: Memory, session: str | None) -> SessionState:
    """Return the state of a session; an empty one without a record or a session."""
    state = SessionState()
    if session is None:
        return state
    last: Any = None
    spare = _unwritten.get(memory, {}).get(session, [])
    for record in (*journals.read(journals.journal_path(memory.root, KIND, session)), *spare):
        if record.get("trigger") in RESETS:
            state.shown.clear()
        state.shown.update(_texts(record.get(journals.IDS)))
        state.tokens += _number(record.get("tokens_used"))
        if record.get("tier") == "turn":
            state.turns += 1
            last = record.get(journals.VECTOR)
    state.vector = _vector(last)
    return state


def record_turn(
    memory: Memory,
    block: ContextBlock,
    settings: Injection,
    *,
    tier: str,
    session: str | None,
    project: str | None,
    trigger: str,
    considered: int,
    collections: Iterable[str],
    vector: F32 | None = None,
) -> None:
    """Write the line of a turn; an unwritable journal costs the record, never the turn."""
    line: dict[str, Any] = {
        "timestamp": format_instant(memory.clock.now_us()),
        "tier": tier,
        "trigger": trigger,
        "project": project,
        "session_id": session,
        "results_considered": considered,
        "results_selected": len(block.items),
        "tokens_used": block.tokens,
        "budget": block.budget,
        "utilization_pct": 100 * block.tokens // block.budget if block.budget else 0,
        "best_score": round(block.best, 4),
        "skipped_confidence": block.mode in ("hard_skip", "soft_skip"),
        "topic_drift": round(block.drift, 4),
        "collections_searched": sorted(set(collections)),
        "gap_threshold": settings.score_gap_threshold,
        "gating_mode": block.mode,
        journals.IDS: [item.id for item in block.items],
    }
    if vector is not None:
        # half precision: drift has two digits, and a line is read on every turn
        line[journals.VECTOR] = base64.b64encode(vector.astype("<f2").tobytes()).decode("ascii")
    if memory.store.mode == "w" and memory.store.is_trusted:
        try:
            journals.append(journals.journal_path(memory.root, KIND, session or ""), line)
        except OSError as error:
            logger.warning("%s: the context journal cannot be written: %s", memory.root, error)
        else:
            return
    _unwritten.setdefault(memory, {}).setdefault(session or "", []).append(line)


def _vector(text: Any) -> F32 | None:
    if not isinstance(text, str):
        return None
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), "<f2").astype(np.float32)
    except (binascii.Error, ValueError):
        return None


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
