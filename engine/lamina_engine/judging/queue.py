"""The judging queue: questions for a language model, and the log events that finish them.

The queue is the log itself: a question waits until an event records its verdict. So a run may end anywhere, and the next
one goes on; an edited chunk waits again. Nothing is written from an answer that is not valid. How the last run ended is
noted beside the log, for those who ask why nothing was judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from lamina_engine.atomic_write import atomic_write
from lamina_engine.chunks.writing import add_events
from lamina_engine.embed.chat import Budget, BudgetedChat, Chat, ChatSpec, Stopped, resolve_chat
from lamina_engine.errors import InvalidConfig
from lamina_engine.reports import Report
from lamina_engine.stored_json import read_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

EVENT: Final = "judged"
"""Kind of the events that finish questions; detail: ``task``, ``outcome`` and the fields of the task."""
MAX_ATTEMPTS: Final = 3
"""A question with invalid answers in so many runs is not asked again, if the model could answer others in them."""
UNFIT: Final = 5
"""After so many questions without a single valid answer a model is asked no more: it is unfit, not the questions."""

PREFIX: Final = "LAMINA_JUDGE"
"""Prefix of the environment variables that name the language model."""
URL: Final = f"{PREFIX}_URL"
MODEL: Final = f"{PREFIX}_MODEL"
NO_JUDGE: Final = f"no language model is configured; set ${URL} and ${MODEL}"

Judge = Chat
"""Language model that answers questions."""


def resolve_judge(spec: ChatSpec = None, environ: Mapping[str, str] | None = None) -> Judge | None:
    """Return the judge of a spec or the environment; None if neither names one."""
    return resolve_chat(spec, PREFIX, "judge", environ)


def no_judge() -> InvalidConfig:
    """Return the error for a missing language model."""
    error = InvalidConfig(NO_JUDGE)
    error.add_note("in Python, judge={'url': …, 'model': …} does as well")  # the command line prints no notes
    return error


# ---------------------------------------------------------------------- one run

Question = Callable[[BudgetedChat], Callable[[], None] | None]
"""Asks one question of the queue, writes what follows from the answer and finishes the question.

Without a usable answer it returns what counts the attempt.
"""


@dataclass(frozen=True, slots=True)
class QueueReport(Report):
    """Outcome of one run of a queue."""

    asked: int
    """Questions that were asked, with a usable answer or without."""
    left: int
    """Questions that still wait."""
    requests: int
    tokens: int
    invalid: int
    """Questions without a usable answer, the second try included."""
    stopped: str | None
    """Reason for ending early; None if the queue was emptied."""

    @property
    def judged(self) -> int:
        """Questions with a usable answer."""
        return self.asked - self.invalid

    def summary(self) -> str | None:
        """Return one line for the user; None if all went well."""
        parts = [f"stopped: {self.stopped}"] if self.stopped else []
        parts += [f"{self.left} still wait"] if self.left else []
        parts += [f"{self.invalid} answers could not be used"] if self.invalid else []
        return "; ".join(parts) or None


def run_queue(questions: Sequence[Question], judge: Judge, budget: Budget | None = None) -> QueueReport:
    """Ask questions in order until all are finished, the budget is spent or the model fails.

    An attempt counts only in a run in which the model answered anything usable: a wrong model gives up no question.
    """
    purse = BudgetedChat(judge, budget or Budget())
    asked, stopped = 0, None
    failed: list[Callable[[], None]] = []
    try:
        for question in questions:
            failure = question(purse)
            asked += 1
            if failure is not None:
                failed.append(failure)
            if len(failed) == UNFIT and not purse.valid:
                break
    except Stopped as stop:
        stopped = str(stop)
    if purse.valid:
        for count_attempt in failed:
            count_attempt()
    elif failed:
        stopped = stopped or f"none of {len(failed)} answers could be used, the last because {purse.complaint}"
    left = len(questions) - asked + (0 if purse.valid else len(failed))
    return QueueReport(asked, left, purse.requests, purse.tokens, purse.invalid, stopped)


# ---------------------------------------------------------------------- how the last run ended

_NOTE: Final = "queue/judging.state"


class JudgingNote(msgspec.Struct, frozen=True):
    """End of the last run for a vault."""

    at_us: int
    asked: int
    left: int
    """Questions that waited when it ended."""
    stopped: str | None
    """Reason for ending early."""


def write_note(memory: Memory, note: JudgingNote) -> None:
    """Note how a run ended."""
    path = memory.root / _NOTE
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with atomic_write(path) as aside:
        aside.write_bytes(msgspec.json.encode(note))


def read_note(root: Path) -> JudgingNote | None:
    """Return the note of the last run; None where there is none."""
    try:
        return msgspec.json.decode((root / _NOTE).read_bytes(), type=JudgingNote)
    except (OSError, msgspec.DecodeError):  # a note that is torn tells nothing, and the next run writes another
        return None


# ---------------------------------------------------------------------- the log's events


def judged_events(view: View, task: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a task, oldest first: ``row``, ``chunk`` and the fields of the detail."""
    rows = view.snapshot.rows_with("events", "kind", (EVENT,))
    for record in view.snapshot.records("events", rows, ("chunk", "row", "detail")):
        detail = read_json(record["detail"]) if record["detail"] is not None else {}  # forgotten: None
        if detail.get("task") == task:
            yield {"chunk": record["chunk"], "row": record["row"], **detail}


def finished_keys(view: View, task: str, key: Callable[[dict[str, Any]], Any] | None = None) -> set[Any]:
    """Return keys of a task's finished questions: valid, or invalid `MAX_ATTEMPTS` times.

    The key of an event is its row unless ``key`` gives another.
    """
    attempts: dict[Any, int] = defaultdict(int)
    for event in judged_events(view, task):
        attempts[key(event) if key else event["row"]] += MAX_ATTEMPTS if event["outcome"] == "ok" else 1
    return {found for found, count in attempts.items() if count >= MAX_ATTEMPTS}


def record_verdict(memory: Memory, task: str, rows: NDArray[np.int64], *, valid: bool, **fields: Any) -> None:
    """Record the verdict on some rows; row -1 is no chunk, and ``fields`` name its subject."""
    detail = msgspec.json.encode({"task": task, "outcome": "ok" if valid else "invalid", **fields}, order="sorted")
    with memory.write() as (transaction, view):
        names = view.snapshot.values("chunks", "id", rows) if (rows >= 0).all() else [""] * len(rows)
        stamps = transaction.stamps(len(rows))
        add_events(transaction, EVENT, names, rows, stamps, [None] * len(rows), [detail.decode()] * len(rows))
