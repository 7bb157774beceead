"""Secrets leave the text before anything else sees it, and positions still lead back to where they stood."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar


class Found(Protocol):
    """Where a secret stands."""

    @property
    def start(self) -> int:
        """First character."""
        ...

    @property
    def stop(self) -> int:
        """One past the last character."""
        ...

    @property
    def kind(self) -> str:
        """Short name of what it is."""
        ...


F = TypeVar("F", bound=Found)


class Redactor(Protocol[F]):
    """What finds secrets, and says what to write in their place."""

    @property
    def policy(self) -> str:
        """``mask``: write the mask; ``skip``: leave out a source that has any; ``allow``: keep them."""
        ...

    def find(self, text: str) -> Sequence[F]:
        """Return the findings in a text, ascending and disjoint."""
        ...

    def mask(self, finding: F) -> str:
        """Return what stands in a finding's place."""
        ...

    def clean_value(self, value: Any) -> tuple[Any, Sequence[F]]:
        """Return JSON-like metadata with its secrets masked in keys and values, and what was found."""
        ...


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its secrets."""

    text: str
    spans: tuple[tuple[int, int], ...] = ()
    """Where the masks stand in ``text``, ascending."""
    originals: tuple[tuple[int, int], ...] = ()
    """Where the secrets stood in the text before, one for each mask."""
    kinds: tuple[str, ...] = ()
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_starts", tuple(start for start, _ in self.spans))

    def original(self, position: int) -> int:
        """Return the position in the text before that a position in the masked text stands for.

        A position inside a mask gives the secret's start; its end gives the secret's end. O(log masks).
        """
        i = bisect_left(self._starts, position) - 1
        if i < 0:
            return position
        if position < self.spans[i][1]:
            return self.originals[i][0]
        return self.originals[i][1] + position - self.spans[i][1]

    def touches(self, start: int, stop: int) -> bool:
        """Return whether a range of the masked text holds any part of a mask. O(log masks)."""
        i = bisect_left(self._starts, stop) - 1
        return i >= 0 and self.spans[i][1] > start


def mask(text: str, redactor: Redactor[F] | None) -> Masked:
    """Replace what a redactor finds.

    Parameters
    ----------
    text : str
        Any text.
    redactor : Redactor, optional
        None, or one whose policy is ``allow``, leaves the text as it is. ``skip`` masks too: a caller that skips the
        source has nothing to keep, and text that slips past it must not carry the secret.

    Returns
    -------
    Masked
        The text and where its masks stand.
    """
    if redactor is None or redactor.policy == "allow":
        return Masked(text)
    findings = redactor.find(text)
    if not findings:
        return Masked(text)
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    seen, length = 0, 0
    for finding in findings:
        replacement = redactor.mask(finding)
        length += finding.start - seen
        parts += text[seen : finding.start], replacement
        spans.append((length, length + len(replacement)))
        length += len(replacement)
        seen = finding.stop
    parts.append(text[seen:])
    originals = tuple((finding.start, finding.stop) for finding in findings)
    return Masked("".join(parts), tuple(spans), originals, tuple(finding.kind for finding in findings))
