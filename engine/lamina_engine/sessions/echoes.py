"""Echoes: values of a person's words that the agent's reply repeats as what holds now.

"The auditor wants 45 days" settles something in no words of settling. That the reply says "done, 45 days" or "raw traces are kept
for 45 days now" says so, and names the thing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from lamina_engine.sessions import cues
from lamina_engine.sessions.replacements import (
    find_values,
    has_date,
    read_values,
    says_change,
    says_over,
    split_clauses,
    without_former,
)

_LONGEST: Final = 200
"""Characters of a sentence of a reply that is kept."""
_BARE: Final = 4
"""Words of a sentence that says no more than the value: "done, 45 days"."""
_STATES: Final = re.compile(
    r"\b(?:is|are|stays?|ist|sind|steht|stehen|bleibt|bleiben)\b[^,;]*? \d|: *\D{0,30}\d", re.IGNORECASE
)
"""Says a value as one that lasts: what was done once has another verb."""


def find_echoes(prompt: str, reply: str) -> Iterator[tuple[str, str]]:
    """Yield sentences of a prompt whose value a reply repeats, with those of the reply.

    One of the two sentences has it as its value, and does not only hold its words.
    """
    if read_values(prompt).isdisjoint(read_values(reply)):
        return
    said = [each for each in cues.sentences(reply) if len(each) <= _LONGEST and not each.endswith("?")]
    repeated: dict[str, int] = {}
    stated: dict[str, int] = {}
    for number, echo in enumerate(said):
        own = find_values(echo)
        for value in read_values(echo):
            repeated.setdefault(value, number)
            if value in own:
                stated.setdefault(value, number)
    for sentence in cues.sentences(prompt):
        values = read_values(sentence)
        if values.isdisjoint(repeated) or cues.is_question(sentence):
            continue
        own = find_values(sentence)
        numbers = [each[value] for value in values if value in (each := repeated if value in own else stated)]
        if numbers:
            yield sentence, said[min(numbers)]


def settles(sentence: str, echo: str, put: Collection[str]) -> bool:
    """Return whether a sentence that says nothing of settling does so, as its echo has it.

    ``put`` are the words that edits since then put into files.
    """
    if (
        cues.is_for_once(sentence) or cues.is_cause(echo) or (cues.reports(sentence) and not has_date(echo))
    ):  # "the producer says we get a week"
        return False
    values = read_values(sentence)
    clauses = [each for each in split_clauses(echo) if not values.isdisjoint(read_values(without_former(each)))]
    if not clauses or any(map(says_over, clauses)):  # "down from 40 minutes", "the 30 seconds are gone"
        return False
    if says_change(sentence) or any(map(says_change, clauses)):
        return True
    if has_date(sentence):  # one that nothing changed is an appointment, and passes
        return False
    states = any(_STATES.search(each) for each in clauses)
    return states or len(echo.split()) <= _BARE or not values.isdisjoint(put)
