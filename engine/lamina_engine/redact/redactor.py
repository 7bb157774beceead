"""Redaction: secrets found, masked and reported before anything is written.

One vectorised pass over a batch looks for the literals that every known secret contains (`search`); only where one
stands do the expressions of `patterns` and the readers of `contexts` run. Clean prose costs about 3 µs for 850
characters.

Overlapping findings become one finding from the first start to the last stop, named after the longest of them, so
nothing of a secret remains beside the mask of a shorter one. Masking can join what was apart (the end of a masked value
and the key after it), so a text with findings is searched again, masks in place, until nothing new appears. That makes
cleaning idempotent by construction.

Three rules tell a secret from its look-alikes. A token with its provider's prefix, length and borders is a secret
anywhere. Key blocks, passwords in URLs and credentials in headers are secrets by context. In ``key = value`` the key must
be a secret's name and the value must look like one (`values`). Hashes, UUIDs, timestamps, public keys, decorators, mail
addresses, phone and card numbers are left alone.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from operator import attrgetter
from typing import Any, Literal, NamedTuple, get_args

from lamina_engine.errors import InvalidArgument
from lamina_engine.redact.assignments import key_class
from lamina_engine.redact.search import Place, batch_places, candidates, places
from lamina_engine.redact.values import MASK, Form, KeyClass, looks_secret

Policy = Literal["mask", "skip", "allow"]

_GENERIC = frozenset(
    ("password", "secret", "api-key", "token", "authorization", "bearer-token", "url-password", "url-token")
)
_KIND = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class Finding(NamedTuple):
    """A secret in a text."""

    start: int
    """First character."""
    stop: int
    """One past the last character."""
    kind: str
    """Kind of secret: ``github-token``, ``private-key``, ``password``, ..."""


class Redactor:
    """Finder and masker of secrets.

    Parameters
    ----------
    policy : {"mask", "skip", "allow"}
        "mask" and "skip" replace each finding by its mask; under "skip" the caller drops the whole text and reports
        it. "allow" finds and changes nothing.
    extra : sequence of (kind, regular expression)
        Further shapes of secrets. The expression's first group, or all of it, is the secret. These have no literals to
        look for first, so each costs a search over every text.
    allow : collection of str
        Kinds to leave alone: neither masked nor reported.

    Raises
    ------
    InvalidArgument
        An unknown policy, a kind that is not lower-case words joined by hyphens, an expression that does not compile
        or that matches the empty text.

    Examples
    --------
    >>> Redactor().clean("db_password = 's3cr3t!'")
    ("db_password = '[redacted:password]'", [Finding(start=15, stop=22, kind='password')])
    """

    def __init__(
        self, policy: Policy = "mask", extra: Sequence[tuple[str, str]] = (), allow: Collection[str] = ()
    ) -> None:
        if policy not in get_args(Policy):
            raise InvalidArgument(f"redaction policy {policy!r}: give one of {', '.join(get_args(Policy))}")
        if isinstance(allow, str):
            raise InvalidArgument(f"allow={allow!r}: give a collection of kinds, such as {{{allow!r}}}")
        self.policy: Policy = policy
        self._allow = frozenset(allow)
        self._extra = [_extra(kind, regex) for kind, regex in extra]
        parts = (policy, sorted(self._allow), [(kind, regex.pattern) for kind, regex in self._extra])
        self.fingerprint: str = hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()
        """Equal for equal rules: sources read under other rules are read again."""

    def find(self, text: str) -> list[Finding]:
        """Find all secrets of a text, ordered and disjoint.

        Parameters
        ----------
        text : str
            Any text, lone surrogates included.

        Returns
        -------
        list of Finding
            Character offsets.

        Notes
        -----
        O(len(text)) for text without secrets; a text with secrets is searched at least twice.
        """
        return self._find_all(text, places(text))

    def mask(self, finding: Finding) -> str:
        """Return the mask that replaces one secret, such as ``[redacted:github-token]``."""
        return f"[redacted:{finding.kind}]"

    def clean(self, text: str) -> tuple[str, list[Finding]]:
        """Mask the secrets of a text; return it with the findings, by offsets in the original."""
        findings = self.find(text)
        return (self._apply_masks(text, findings) if self.policy != "allow" else text), findings

    def clean_batch(self, texts: Sequence[str]) -> list[tuple[int, str, list[Finding]]]:
        """Mask the secrets of many texts in one pass.

        Parameters
        ----------
        texts : sequence of str
            Any number of texts of any length.

        Returns
        -------
        list of (index, text, findings)
            Only the texts with findings, by index; each as :meth:`clean` gives it.

        Notes
        -----
        About 3 µs for 850 characters without secrets, where texts of one batch amount to 100,000 characters or more.
        """
        changed: list[tuple[int, str, list[Finding]]] = []
        # patterns of the caller have no literals, so with them every text is looked at
        located = batch_places(texts) if not self._extra else ((i, places(text)) for i, text in enumerate(texts))
        for index, at_places in located:
            text = texts[index]
            findings = self._find_all(text, at_places)
            if findings:
                changed.append((index, text if self.policy == "allow" else self._apply_masks(text, findings), findings))
        return changed

    def clean_value(self, value: Any) -> tuple[Any, list[Finding]]:
        """Mask the secrets of JSON-like metadata: in strings, and whole values under secret names.

        Parameters
        ----------
        value : JSON value
            Strings, numbers, booleans, None, lists, tuples and mappings of them; anything else is returned as it is.

        Returns
        -------
        value, findings
            A cleaned copy (tuples become lists), and the findings, by offsets in the string each was found in.
        """
        findings: list[Finding] = []
        return self._value(value, None, findings), findings

    def _value(self, value: Any, key: KeyClass | None, findings: list[Finding]) -> Any:
        if isinstance(value, str):
            return self._string(value, key, findings)
        if isinstance(value, dict):
            cleaned: dict[Any, Any] = {}
            for name, item in value.items():
                named = key_class(name) if isinstance(name, str) else None
                inherited = key if name in ("value", "text", "default", "plain") else None
                safe = self._string(name, None, findings) if isinstance(name, str) else name
                while safe in cleaned:
                    safe = f"{safe}'"
                cleaned[safe] = self._value(item, named or inherited, findings)
            return cleaned
        if isinstance(value, (list, tuple)):
            return [self._value(item, key, findings) for item in value]
        if isinstance(value, int) and not isinstance(value, bool) and key is KeyClass.PASSWORD:
            masked = self._string(str(value), key, findings)
            return value if masked == str(value) else masked
        return value

    def _string(self, value: str, key: KeyClass | None, findings: list[Finding]) -> str:
        text, found = self.clean(value)
        if not found and key is not None and looks_secret(key, value, Form.QUOTED):
            kind = KeyClass.PASSWORD if key is KeyClass.PASSPHRASE else key
            if kind.value not in self._allow:
                found = [Finding(0, len(value), kind.value)]
                text = value if self.policy == "allow" else self.mask(found[0])
        findings += found
        return text

    def _find_all(self, text: str, at_places: Iterable[Place]) -> list[Finding]:
        """Find and mask until nothing new appears; offsets stay the original's."""
        findings = _merge(self._candidates(text, at_places))
        while findings:
            masked = self._apply_masks(text, self._without_allowed(findings))
            more = _merge(self._candidates(masked, places(masked)))
            widened = _merge([*findings, *_original_spans(self._without_allowed(findings), more, self.mask)])
            if widened == findings:
                break
            findings = widened
        return self._without_allowed(findings)

    def _without_allowed(self, findings: list[Finding]) -> list[Finding]:
        return [finding for finding in findings if finding.kind not in self._allow]

    def _candidates(self, text: str, at_places: Iterable[Place]) -> Iterator[Finding]:
        masks = [match.span() for match in MASK.finditer(text)] if "[redacted:" in text else []
        for found in starmap(Finding, candidates(text, at_places)):
            # what lies inside a mask is a name that we wrote, whatever stands before it
            if not any(start <= found.start and found.stop <= stop for start, stop in masks):
                yield found
        for kind, regex in self._extra:
            for match in regex.finditer(text):
                start, stop = match.span(min(regex.groups, 1))
                if start < stop:
                    yield Finding(start, stop, kind)

    def _apply_masks(self, text: str, findings: list[Finding]) -> str:
        parts: list[str] = []
        at = 0
        for finding in findings:
            parts += (text[at : finding.start], self.mask(finding))
            at = finding.stop
        return "".join((*parts, text[at:]))


@dataclass(frozen=True, slots=True)
class Masked:
    """A text with its secrets masked, and the way back to positions in the original."""

    text: str
    spans: tuple[tuple[int, int], ...] = ()
    """Spans of the masks in ``text``, ascending."""
    originals: tuple[tuple[int, int], ...] = ()
    """Spans of the secrets in the original, one for each mask."""
    kinds: tuple[str, ...] = ()
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_starts", tuple(start for start, _ in self.spans))

    def original(self, position: int) -> int:
        """Return the original position of a masked position; inside a mask, the secret's start."""
        i = bisect_left(self._starts, position) - 1
        if i < 0:
            return position
        if position < self.spans[i][1]:
            return self.originals[i][0]
        return self.originals[i][1] + position - self.spans[i][1]

    def touches(self, start: int, stop: int) -> bool:
        """Return whether a range of the masked text overlaps a mask."""
        i = bisect_left(self._starts, stop) - 1
        return i >= 0 and self.spans[i][1] > start


def mask(text: str, redactor: Redactor | None) -> Masked:
    """Mask the secrets of a text, recording where they stood; policy "allow" changes nothing."""
    # "skip" masks too: a caller that skips the source has nothing to keep, and nothing may slip past it
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


def _merge(findings: Iterable[Finding]) -> list[Finding]:
    """Join overlapping findings, named after the longest; on ties the more specific kind."""
    merged: list[Finding] = []
    longest = 0
    for finding in sorted(findings, key=lambda found: (found.start, -found.stop, found.kind in _GENERIC)):
        length = finding.stop - finding.start
        if not merged or finding.start >= merged[-1].stop:
            merged.append(finding)
            longest = length
            continue
        last = merged[-1]
        kind = finding.kind if length > longest else last.kind
        longest = max(longest, length)
        merged[-1] = Finding(last.start, max(last.stop, finding.stop), kind)
    return merged


def _original_spans(
    masked: list[Finding], more: Iterable[Finding], mask: Callable[[Finding], str]
) -> Iterator[Finding]:
    """Map findings in a masked text to the original; a touched mask counts as its secret."""
    starts: list[int] = []
    stops: list[int] = []
    shift = 0
    for finding in masked:
        starts.append(finding.start + shift)
        shift += len(mask(finding)) - (finding.stop - finding.start)
        stops.append(finding.stop + shift)

    def original(at: int, inside: Callable[[Finding], int]) -> int:
        index = bisect_left(starts, at) - 1  # the last mask that begins before this offset
        if index < 0:
            return at
        return inside(masked[index]) if at < stops[index] else at - stops[index] + masked[index].stop

    for new in more:
        # a mask's own first offset maps to its finding's start either way
        yield Finding(original(new.start, attrgetter("start")), original(new.stop, attrgetter("stop")), new.kind)


def _extra(kind: str, regex: str) -> tuple[str, re.Pattern[str]]:
    if not _KIND.fullmatch(kind):
        raise InvalidArgument(f"redaction kind {kind!r}: give lower-case words joined by hyphens, such as 'staff-id'")
    try:
        compiled = re.compile(regex)
    except re.error as error:
        raise InvalidArgument(f"redaction pattern for {kind!r}: {regex!r} does not compile: {error}") from error
    if compiled.match(""):
        raise InvalidArgument(f"redaction pattern for {kind!r}: {regex!r} matches the empty text; make it longer")
    return kind, compiled
