"""Defaults: whether a sentence says of the thing that is asked about what its default is.

Pages about settings say "default" of many things at once: "the default setting of -1 selects a part of shared_buffers" is said of another
setting, and "should be 40" of no default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lamina_engine.facts import vocabulary
from lamina_engine.facts.asking import Asking
from lamina_engine.facts.sentences import Sentence, is_term
from lamina_engine.facts.vocabulary import word_set

_DEFAULT: Final = word_set("default defaults standardwert vorgabe vorgabewert voreinstellung standard")
_VALUES: Final = word_set("value setting values settings")
_SAYS: Final = re.compile(
    r"\bdefaults to\b|\bdefaults? (?:is|are|was|were|=)\b|\bdefaults?[\W\d]*[:=]|\(\s*defaults?\b|\b(?:by|per) default\b"
    r"|\bdefault\W*\||\b(?:default|standardwert|vorgabe(?:wert)?|voreinstellung|standard)\b[^,;()]*? (?:is|are|was|=)\s"
    r"(?!(?:stored|determined|defined|taken|read|kept|computed|chosen|described)\b)"
    r"|(?:is|=) the default\b(?! (?!on |in |for |if |when |and |but )\w)",
    re.IGNORECASE,
)
"""Says which value is the default: "the default is 5", "defaults to 5", "(default: 5)"."""
_IS_BY_DEFAULT: Final = re.compile(
    r"\b(?:by|per) default,?(?: [\w.-]+){0,3} (?:is|are|was)\b|\b(?:is|are|was)(?: [^\s,;]+){0,3} by default\b",
    re.IGNORECASE,
)
_ASIDE: Final = re.compile(r"\(\s*defaults?\b", re.IGNORECASE)
"""Default in parentheses, which is that of what stands before it."""
_BESIDE: Final = 4
"""Words from "default" within which what has it is named, if that stands behind it: "the default value of work_mem"."""
_SET_BY: Final = word_set("by via with see")
"""Before the name of what sets a default, however far it stands from that."""


def asks_default(asking: Asking) -> bool:
    """Return whether a question asks for a default."""
    return _find_default(asking) is not None


def list_subjects(asking: Asking) -> list[tuple[int, str]]:
    """Return the words of a question for what has the property asked for, by their places."""
    named = [(i, name.lower()) for i, name in asking.names]
    return [*named, *((i, word) for i, word in asking.content if i not in asking.noun)]


def lacks_default(asking: Asking, sentence: Sentence, hits: Mapping[int, int]) -> bool:
    """Return whether a sentence leaves out the default of the thing that is asked about."""
    asked = _find_default(asking)
    if asked is None:
        return False
    if asked not in hits:  # a label or a heading may say it; a term has its own default in it
        heading = () if not sentence.headings or is_term(sentence.section) else sentence.headings[-1]
        return _DEFAULT.isdisjoint((*sentence.setting, *heading))
    if "whether" in sentence.lower:
        return True
    at = hits[asked]
    return (
        not _SAYS.search(sentence.text)
        or _is_of_another_name(asking, sentence, hits, at)
        or _is_of_another_noun(sentence, hits, at)
        or (asked in asking.noun and _is_by(sentence, at) and not _is_so_by_default(asking, sentence, hits))
    )


def _find_default(asking: Asking) -> int | None:
    return next((i for i, word in asking.content if word in _DEFAULT), None)


def _is_of_another_name(asking: Asking, sentence: Sentence, hits: Mapping[int, int], at: int) -> bool:
    """Return whether the name asked for has no default there: "1/32 of shared_buffers"."""
    end = at if _ASIDE.search(sentence.text) else at + _BESIDE
    named = [hits[i] for i, _ in asking.names if i in hits]
    return any(k > end and _SET_BY.isdisjoint(sentence.lower[max(at, k - _BESIDE) : k]) for k in named)


def _is_of_another_noun(sentence: Sentence, hits: Mapping[int, int], at: int) -> bool:
    """Return whether another noun has the default: "the default time unit is d"."""
    words = sentence.lower
    if words[at] == "defaults" or _is_by(sentence, at):
        return False
    link = next((k for k in range(at + 1, len(words)) if words[k] in vocabulary.BEING), at)
    return any(
        not vocabulary.is_grammar(words[k]) and words[k] not in _DEFAULT | _VALUES and k not in hits.values()
        for k in range(at + 1, link)
    )


def _is_so_by_default(asking: Asking, sentence: Sentence, hits: Mapping[int, int]) -> bool:
    """Return whether a sentence says what a thing itself is by default."""
    places = [hits[i] for i, _ in list_subjects(asking) if i in hits]
    if not _IS_BY_DEFAULT.search(sentence.text):
        return False
    after = sentence.lower[max(places) + 1 : max(places) + 4] if places else ()
    return not places or (not vocabulary.BEING.isdisjoint(after) and vocabulary.RELATIVE.isdisjoint(after[:1]))


def _is_by(sentence: Sentence, at: int) -> bool:
    """Return whether it is the "default" of "by default"."""
    return sentence.lower[at - 1 : at] in (("by",), ("per",))
