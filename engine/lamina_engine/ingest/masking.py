"""Secrets leave the text before anything else sees it, and positions still lead back to where they stood."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar


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


def mask(text: str, redactor: Redactor[F] | None, *, floor: int = 0) -> Masked:
    """Replace what a redactor finds.

    Parameters
    ----------
    text : str
        Any text.
    redactor : Redactor, optional
        None, or one whose policy is ``allow``, leaves the text as it is. ``skip`` masks too: a caller that skips the
        source has nothing to keep, and text that slips past it must not carry the secret.
    floor : int
        Where replacing begins; a finding that began before it is replaced from here on.

    Returns
    -------
    Masked
        The text and where its masks stand.
    """
    if redactor is None or redactor.policy == "allow":
        return Masked(text)
    findings = [finding for finding in redactor.find(text) if finding.stop > floor]
    if not findings:
        return Masked(text)
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    seen, length = 0, 0
    originals = [(max(finding.start, floor), finding.stop) for finding in findings]
    for finding, (start, stop) in zip(findings, originals, strict=True):
        replacement = redactor.mask(finding)
        length += start - seen
        parts += text[seen:start], replacement
        spans.append((length, length + len(replacement)))
        length += len(replacement)
        seen = stop
    parts.append(text[seen:])
    return Masked("".join(parts), tuple(spans), tuple(originals), tuple(finding.kind for finding in findings))


def mask_value(key: str, value: str, redactor: Redactor[F] | None) -> tuple[str, int]:
    """Mask a value as ``key: value``, for patterns that need the name before the secret, else on its own.

    Returns
    -------
    tuple of str and int
        The value that may be kept, and how many secrets were masked.
    """
    head = f"{key}: "
    named = mask(head + value, redactor, floor=len(head))
    if named.spans:
        return named.text[len(head) :], len(named.spans)
    alone = mask(value, redactor)
    return alone.text, len(alone.spans)
