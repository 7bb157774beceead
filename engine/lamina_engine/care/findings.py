"""What a verification found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class VerifyProblem:
    """One thing that is not as it was written."""

    code: str
    """Stable: ``current``, ``segment``, ``rows``, ``order``, ``event``, ``vector``, ``version``, ``index``."""
    where: str
    """The file, below the vault's folder."""
    message: str
    """What is wrong, and which rows it touches."""
    advice: str
    """What can be done, in words."""


@dataclass(slots=True)
class VerifyReport:
    """The outcome of `lamina_engine.care.verify.verify`."""

    checked: Counter[str] = field(default_factory=Counter)
    """How many of each kind were looked at: manifests, segments, rows, bytes, indexes, ..."""
    problems: list[VerifyProblem] = field(default_factory=list)
    """In the order found: the log before what is derived from it."""
    repaired: str | None = None
    """What was repaired, in words; None where nothing was."""

    @property
    def ok(self) -> bool:
        """True where nothing is wrong."""
        return not self.problems

    def add(self, code: str, where: str, message: str, advice: str) -> None:
        """Note a problem."""
        self.problems.append(VerifyProblem(code, where, message, advice))
