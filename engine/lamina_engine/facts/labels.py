"""Labels and heads of columns: whether a value is of the field that a question asks for.

"Title: account manager" says nobody's account, and the serial number of a drill not where it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lamina_engine.facts.asking import Asking
from lamina_engine.facts.sentences import Sentence
from lamina_engine.facts.values import Kind
from lamina_engine.facts.vocabulary import word_set
from lamina_engine.facts.wording import likeness, tokens

_WHERE: Final = word_set("location place room shelf rack site city town address position stored kept bin office where")
_FIELDS: Final[dict[Kind, frozenset[str]]] = {
    "where": _WHERE,
    "who": word_set("name who owner holder user person assigned responsible contact lead keeper driver"),
    "when": word_set("date day time when due"),
    "amount": word_set("price cost costs fee rate amount total value"),
    "count": word_set("count number quantity qty amount pieces stock"),
}
"""Heads of columns for what a question asks by its kind alone: "where is the drill"."""
_ROLES: Final = word_set("role title position job function")
"""Labels of what a person is, below a heading that names them."""
_SAYS_ITSELF: Final = re.compile(r":.*(?:[=:]| (?:is|are) )")
"""Value that says itself what it is of."""
_SAME: Final = 0.9
"""Likeness of two forms of one word."""


def is_of_another_field(asking: Asking, sentence: Sentence, hits: Mapping[int, int], *, held: bool) -> bool:
    """Return whether the label of a sentence, or its column, is not what is asked for.

    ``held`` is True where the text around it says a word of the question.
    """
    value = sentence.value
    if not value:
        return False
    asked = [hits[i] for i in asking.head if i in hits]
    if asking.kind in {"what", "which"} and asked and min(asked) >= value and not _SAYS_ITSELF.search(sentence.text):
        return True
    if sentence.release and asking.kind in {"what", "which"} and any(k < value for k in asked):
        return True  # the label of an entry says what it is about: "LICENSE: use the canonical wording"
    if (
        sentence.key
        and asked
        and min(asked) < value
        and set(hits.values()).issuperset(range(value, len(sentence.words)))
    ):
        return True  # the cell holds what is asked about, and not what is asked for
    field = sentence.lower[sentence.key : value]
    if asking.kind == "where" and _WHERE.isdisjoint(field) and all(k >= value for k in hits.values()):
        return True  # "database: ledger on puffin" says where the database is
    if not sentence.key or held or any(sentence.key <= k < value for k in hits.values()):
        return False
    fields = _FIELDS.get(asking.kind)
    return fields is None or fields.isdisjoint(field)


def is_rival(sentence: Sentence, other: Sentence) -> bool:
    """Return whether two sentences say the same field of two sections, or of two rows."""
    field = sentence.lower[sentence.key : sentence.value]
    if not field or field != other.lower[other.key : other.value] or bool(sentence.key) != bool(other.key):
        return False
    return sentence.headings != other.headings or (bool(sentence.key) and sentence.line != other.line)


def is_place(asking: Asking, sentence: Sentence) -> bool:
    """Return whether a label or a head of a column says that the value is a place."""
    return asking.kind == "where" and not _WHERE.isdisjoint(sentence.lower[sentence.key : sentence.value])


def is_role_of_section(asking: Asking, sentence: Sentence) -> bool:
    """Return whether it gives a person's section the role asked for: "role: cook"."""
    if asking.kind != "who" or sentence.key or _ROLES.isdisjoint(sentence.lower[: sentence.value]):
        return False
    asked = [*(name.lower() for _, name in asking.names), *(word for _, word in asking.content)]
    said, named = sentence.lower[sentence.value :], tokens(sentence.section)
    is_person = bool(named) and all(word[:1].isupper() and word.isalpha() for word in named)
    return is_person and bool(asked) and all(any(likeness(word, each) >= _SAME for each in said) for word in asked)
