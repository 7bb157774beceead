"""Statements: whether a sentence states what it says, of the time that is asked about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lamina_engine.facts.asking import DENIED, Asking
from lamina_engine.facts.sentences import Sentence
from lamina_engine.time import changes

_WAS: Final = re.compile(
    r"\b(?:before|formerly|previously|earlier|used to|was|were|until|old|former|from|last|moved|instead|replaced|went|switched|ended)\b",
    re.IGNORECASE,
)
_NO_LONGER: Final = re.compile(r"\b(?:formerly|previously|used to|no longer)\b|\bbefore\s*(?:[.,;)]|$)", re.IGNORECASE)
_LASTING: Final = (
    r"(?:renewed|extended|prolonged|fixed|guaranteed|insured|booked|reserved|closed|paid|allowed|licensed|stopped)\b"
)
"""What was done until a moment to come: "renewed until March"."""
_ENDED: Final = rf"(?!{_LASTING})\w+ed"
_ONCE: Final = re.compile(
    rf"\b(?:(?:was|were)(?! {_LASTING})|had|used|did|{_ENDED}|lived|ran|went|got|came|stood|lay|paid|took|kept|held|led|sat)\b"
    r"(?:(?!\b(?:is|are|has|have|now)\b).)*\b(?:until|till|at first|for years|back then)\b"
    rf"|\b(?:at first|initially|originally|in the beginning|until|till)\b.*\b(?:was|were|had|used|{_ENDED})\b"
    r"|^\W*before (?:that|then|this|it|\d{4})\b",
    re.IGNORECASE,
)
"""What held for a time that is over."""
_ASIDE: Final = re.compile(r"\([^)]*\)")
OVER: Final = re.compile(r"\b(?:was|were|had)\b(?! \w+(?:ed|en|ilt|ade|old)\b)|['’]d had\b", re.IGNORECASE)
"""A form of the past that tells of no event whose outcome holds: "it was 65", unlike "it was raised"."""
NOW: Final = re.compile(rf"\b(?:{changes.NOW}|since|currently|today|{changes.FROM_NOW_ON})\b", re.IGNORECASE)
ANEW: Final = re.compile(
    rf"\b(?:{changes.NOW}|again|instead|since|as of|{changes.FROM_NOW_ON}|wieder|stattdessen|seit|"
    rf"(?:back|over|went|goes|{changes.MOVED}|{changes.SWITCHED}|{changes.ADJUSTED}) to)\b",
    re.IGNORECASE,
)
"""Says that something is so from then on, and was otherwise."""
_NUMERO: Final = re.compile(r"\bno\. ?(?=\d)", re.IGNORECASE)
_LIMIT: Final = re.compile(
    r"\b(?:no|not|never|none|nobody)\b(?=.*\b(?:longer|more|later|older|bigger|larger|higher|less|fewer|earlier|above|over|below|before|after)"
    r"(?: than)? \S*\d)",
    re.IGNORECASE,
)
"""Denies what goes beyond a number, and so states that: "no flag lives longer than 90 days"."""
_PAUSE: Final = re.compile(r"[,;]\s+|\s[–—-]\s|\s+and\s+(?=(?:nobody|none|never|not?)\b)")
CLAUSE: Final = re.compile(r"[;:,()–—]|\bbut\b")

_UNKNOWN: Final = re.compile(
    r"\b(?:unknown|unclear|not known|nobody knows|tbd|still open|unklar|unbekannt)\b", re.IGNORECASE
)
"""Says that a reason is not known."""


def is_stated(asking: Asking, sentence: Sentence, hits: Mapping[int, int]) -> bool:
    """Return whether a sentence states what it says, of the time that is asked about."""
    if asking.is_negated and not DENIED.search(sentence.text):
        return False
    if asking.kind == "why" and _UNKNOWN.search(sentence.text):
        return False
    if asking.is_past:
        if not _WAS.search(sentence.text):
            return False
    elif _shows(_NO_LONGER, sentence, hits) or (asking.is_present and _ONCE.search(_ASIDE.sub("", sentence.text))):
        return False
    return asking.is_denied or not _shows(DENIED, sentence, hits)


def _shows(pattern: re.Pattern[str], sentence: Sentence, hits: Mapping[int, int]) -> bool:
    """Return whether a clause that says a word of the question matches a pattern."""
    text = _LIMIT.sub("", _NUMERO.sub("", sentence.text))
    if not pattern.search(text):
        return False
    return any(
        pattern.search(clause) and any(sentence.words[k] in clause for k in hits.values())
        for clause in CLAUSE.split(text)
    )


def without_afterthought(sentence: Sentence) -> Sentence:
    """Return a sentence up to a clause that denies: "2 MB, images don't go there"."""
    end = next(
        (
            found.start()
            for found in _PAUSE.finditer(sentence.text)
            if _denies(sentence.text[found.end() :], first=True)
        ),
        None,
    )
    if end is None or _denies(sentence.text[:end]):
        return sentence
    return sentence.with_text(sentence.text[:end])


def _denies(text: str, *, first: bool = False) -> bool:
    """Return whether a text, or its first clause, denies something."""
    plain = _LIMIT.sub("", _NUMERO.sub("", text))
    return DENIED.search(_PAUSE.split(plain)[0] if first else plain) is not None
