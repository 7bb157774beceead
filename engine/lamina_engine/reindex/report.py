"""What a reindex tells: while it runs, and at its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a run."""

    stage: str
    """``matching`` (rows done before, on resuming), ``embedding``, ``lexical``, ``vectors``, ``keys``, ``gate`` or ``swap``."""
    done: int
    total: int
    """Rows; queries in the gate."""
    rate: float
    """Done in a second, in this stage of this run."""
    remaining_s: float | None
    """Seconds until the stage is done at that rate; None where nobody can say yet."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


Listener = Callable[[Step], None]


class ProgressReporter:
    """Turns counts into steps with a rate, for whoever listens.

    Only durations are measured: nothing that is written depends on them.
    """

    def __init__(self, listener: Listener | None) -> None:
        self._listener = listener
        self._stage = ""
        self._first = 0
        self._began = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Say how far a stage is; its first call is its beginning."""
        if self._listener is None:
            return
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._first, self._began = stage, done, now
        elapsed = now - self._began
        rate = (done - self._first) / elapsed if elapsed > 0 else 0.0
        remaining = (total - done) / rate if rate > 0 else (0.0 if done >= total else None)
        self._listener(Step(stage, done, total, round(rate, 1), None if remaining is None else round(remaining, 1)))


@dataclass(slots=True)
class ReindexReport:
    """What became of a reindex."""

    engine: str
    """``all``, ``lexical``, ``vectors`` or ``keys``: what was made again."""
    space: str
    """Name of the embedding space that recall uses now; empty where there is none."""
    model: str
    """Identity of its embedder."""
    generation: int = 0
    """Version of the vault that serves the new indexes."""
    rows: int = 0
    """Rows of the chunks log."""
    embedded: int = 0
    """Texts that the embedder was given by this run."""
    cached: int = 0
    """Rows of this run that took the vector of an equal text."""
    resumed: int = 0
    """Rows whose vectors an earlier run had made."""
    unmatched: int = 0
    """Rows of this run whose version is the hash of no text the log can give; title, headings and text were embedded."""
    seconds: float = 0.0
    rate: float = 0.0
    """Rows a second."""
    gate: dict[str, Any] = field(default_factory=dict)
    """See `lamina_engine.reindex.gate.judge`."""
    swapped: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the shape of ``lamina reindex --json``."""
        return asdict(self)
