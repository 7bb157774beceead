"""Voice: which end of a fact a question asks for, by the place of the verb.

"Who mentors Ann?" asks for Ann's mentor, "who does Ann mentor?" for those whose mentor is Ann. So a fact that is read from
Ann (``mentor``) answers the one, and a fact that points at her the other. The form of the predicate says who acts: ``owns``
and ``reports_to`` the subject, ``owned_by`` and ``mentor`` the value; ``parent_of`` is what the subject is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from lamina_engine.facts.vocabulary import HELPERS

End = Literal["value", "subject"]

_AGENTS: Final = frozenset({"who", "what", "whom", "that", "which", "whoever"})
_PERSONS: Final = frozenset({"who", "whom"})
_BEING: Final = frozenset({"is", "are", "was", "were"})
_PREPOSITIONS: Final = frozenset(
    {"to", "for", "at", "on", "in", "with", "from", "into", "under", "via", "through", "against"}
)
_MANNER: Final = frozenset({"how", "when", "where", "why"})
_OF: Final = frozenset({"of", "to", "for"})
_AGENTIVE: Final = ("er", "or", "ist", "ee")


def wanted_end(words: Sequence[str], asking: Iterable[int], at: Iterable[int], key: str) -> End:
    """Return whether a question asks for a predicate's value or for its subject.

    ``words`` are the question's, ``asking`` the positions outside names, ``at`` those of words akin to the predicate.
    """
    free = set(asking)
    named = [i for i in range(len(words)) if i not in free]
    parts = key.split("_")
    for i in sorted(at):
        if i and words[i - 1] == "whose" and named:
            return "subject"
        if i and words[i - 1].endswith(("'s", "s'")):
            return "value"  # "Ann's manager" is a noun, whatever stands around it
        before, after = any(j < i for j in named), any(j > i for j in named)
        if after and _is_finite(words, i):
            return "subject" if _subject_acts(parts, words[i]) else "value"
        if (
            before
            and not _MANNER & set(words)
            and any(words[j] in HELPERS and any(j < k < i for k in named) for j in range(i))
        ):
            if parts[-1] == "by":
                return "subject"
            if _subject_acts(parts, words[i]):
                return "value"
            acts = parts[-1].endswith(_AGENTIVE) and words[i] != parts[-1] and words[i][:4] == parts[-1][:4]
            return "subject" if acts or not _PERSONS.isdisjoint(words[:i]) else "value"
        if parts[-1] == "of" and (_is_of_name(words, i, named) or (i and i - 1 in named)):
            return "subject"
    return "value"


def _is_finite(words: Sequence[str], i: int) -> bool:
    """Return whether a word is the verb of "who owns", "which service uses"."""
    if not words[i].endswith(("s", "ed")) or (
        i + 1 < len(words) and words[i + 1] in _BEING | HELPERS | {"of", "has", "have", "had"}
    ):
        return False
    return i > 0 and (words[i - 1] in _AGENTS - {"which", "what"} or (i > 1 and words[i - 2] in {"which", "what"}) or
                      (words[i - 1] == "what" and words[i].endswith("s")))  # fmt: skip


def _subject_acts(parts: Sequence[str], word: str) -> bool:
    """Return whether a predicate says what its subject does: ``owns``, ``reports_to``."""
    if parts[-1] in _PREPOSITIONS and len(parts) > 1:
        return True
    return any(part.endswith("s") and part in (word, f"{word}s", f"{word}es") for part in parts)


def _is_of_name(words: Sequence[str], i: int, named: Sequence[int]) -> bool:
    """Return whether a noun is followed by "of" and a name: "the parent of Ann"."""
    if i + 1 >= len(words) or words[i + 1] not in _OF:
        return False
    nearest = i + 2
    while nearest < len(words) and words[nearest] in {"the", "a", "an", "our"}:
        nearest += 1
    return nearest in named
