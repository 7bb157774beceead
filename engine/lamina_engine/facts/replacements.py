"""Replacements: later sentences that end what a text says.

"Mira owns the import" is over once a newer text says "Tobias takes over the import from Mira". A sentence replaces another where it
tells of a change, and either names the old value beside the subject of the question, or says of the old value itself that it
is gone, or of the subject that it goes elsewhere. Plans replace nothing, and what happened once stays as it was.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple

from lamina_engine.facts import vocabulary
from lamina_engine.facts.asking import Asking
from lamina_engine.facts.defaults import asks_default, list_subjects
from lamina_engine.facts.releases import asks_release
from lamina_engine.facts.sentences import Sentence
from lamina_engine.facts.values import PATTERNS, find_values, is_name
from lamina_engine.facts.vocabulary import word_set
from lamina_engine.facts.wording import likeness, tokens
from lamina_engine.time import changes

_GOES: Final = f"{changes.REPLACED}|{changes.ENDED}"
_TURNS: Final = f"{changes.SWITCHED}|{changes.RENAMED}|{changes.REVERTED}"
_PASSES: Final = f"{changes.TAKEN_OVER}|{changes.HANDED_OVER}|{changes.ADJUSTED}|{_TURNS}|{_GOES}"
_CHANGES: Final = {
    kind: re.compile(rf"(?<!-)\b(?:{verbs})\b(?!-)", re.IGNORECASE)
    for kind, verbs in {
        "who": _PASSES,
        "when": f"{changes.MOVED}|{changes.ADJUSTED}|{changes.ENDED}",
        **dict.fromkeys(("where", "which", "what"), f"{changes.MOVED}|{_PASSES}"),
        **dict.fromkeys(("duration", "frequency", "amount", "measure"), changes.ADJUSTED),
    }.items()
}
"""Verbs that end a value of a kind."""
_NO_LONGER: Final = rf"(?:{changes.NO_LONGER}|{changes.ANY_MORE}|not mehr)"
_WAS: Final = rf"(?:\((?:was|before)|before(?: that)?,? (?:it was|with)?|{changes.FORMERLY}|{changes.INSTEAD_OF})"
_BEFORE: Final = rf"(?:(?:before|earlier)(?! \w)|{changes.FORMERLY}|{_NO_LONGER})"
_MOVED: Final = re.compile(rf"(?<!-)\b(?:{changes.MOVED})\b(?!-)", re.IGNORECASE)
_ADJUSTED: Final = re.compile(rf"(?<!-)\b(?:{changes.ADJUSTED}|{changes.RENAMED})\b(?!-)", re.IGNORECASE)
_CANCELLED: Final = re.compile(
    rf"\b(?:(?:is|was|has been) (?:now )?(?:{changes.ENDED})|{changes.LAPSES})\b", re.IGNORECASE
)
_SWAPPED: Final = re.compile(rf"(?<!-)\b(?:{changes.REPLACED})\b(?!-)", re.IGNORECASE)
_TAKEN: Final = re.compile(rf"(?<!-)\b(?:{changes.TAKEN_OVER})\b(?!-)", re.IGNORECASE)
_LEFT: Final = re.compile(rf"{changes.MOVED}|{_TURNS}", re.IGNORECASE)
_LEAVES: Final = rf"(?:we|they|i|have|has)\s+(?:\w+\s+)?(?:{changes.MOVED}|{_TURNS}) (?:away )?from"
_UNSURE: Final = re.compile(
    r"\b(?:maybe|perhaps|might|could|would|should|will|plans?|planned|planning|consider\w*|think\w*|thought|ideas?|propos\w+|if|wants?|"
    r"wanted|wish\w*|discuss\w*|reject\w+|refus\w+|next (?:week|month|year|spring|summer|autumn|winter)|überleg\w+|woll\w+|soll\w*|"
    rf"falls|{changes.DENIED})\b",
    re.IGNORECASE,
)  # fmt: skip
"""Words of plans, and denials of a change."""
_DONE_ONCE: Final = re.compile(
    r"\b(?:\w{3,}ed|wrote|built|bought|sold|made|won|lost|found|drew|chose|gave|came|began|said|told|paid|taught|met|left|broke|sent|born|"
    r"schrieb|kaufte|baute|gründete)\b",
    re.IGNORECASE,
)  # fmt: skip
"""Verb of an event, which no later one changes."""
_HELD_BY: Final = word_set(
    """own owns owner maintain maintains maintainer lead leads leader run runs manage manages manager responsible charge keep keeps look
    looks handle handles contact care cares do does is administer administers admin"""
)
"""Words of questions for whoever takes a thing over."""
_PREFIXES: Final = word_set("statt an auf aus ab ein vor")
"""Ends of German questions that belong to the verb."""
_ADVERBS: Final = word_set(
    "yesterday tomorrow again back forward away out off up early late home gestern wieder zurück weg"
)
_FOR: Final = re.compile(r"\bfor (?:the |our |a |an |its |this |that )?([\w-]+(?: [\w-]+)?)", re.IGNORECASE)
_ABOUT: Final = word_set("about of for with from on in at to during after before near behind")
_OF: Final = word_set("of about with near beside")
_SAME: Final = 0.8
"""Likeness from which on two words are one."""
_GAP: Final = 6
"""Words between a subject and the verb that ends its clause in German."""


class Value(NamedTuple):
    """Words of a sentence that answer a question: names, and numbers."""

    names: frozenset[str]
    numbers: frozenset[str]

    def is_in(self, words: Collection[str]) -> bool:
        """Return whether some words name it."""
        return (
            self.numbers <= set(words)
            and (not self.names or not self.names.isdisjoint(words))
            and bool(self.names or self.numbers)
        )


def may_be_replaced(asking: Asking) -> bool:
    """Return whether a question asks for what may change: no event, and no number of things."""
    is_state = not vocabulary.BEING.isdisjoint(asking.words) or _DONE_ONCE.search(" ".join(asking.words)) is None
    return (
        asking.kind in _CHANGES
        and asking.is_present
        and not asking.is_negated
        and is_state
        and not asks_release(asking)
    )


def read_value(asking: Asking, sentence: Sentence, other: Value | None = None) -> Value:
    """Return names and numbers of a sentence that neither the question nor another value has."""
    if asking.kind == "when":
        dated = PATTERNS["when"].fullmatch
        found = [k for k, word in enumerate(sentence.lower) if dated(word) or any(map(str.isdigit, word))]
    else:
        found = [
            k
            for k, word in enumerate(sentence.words)
            if not vocabulary.is_grammar(word.lower()) and (is_name(sentence.words, k) or word.isdigit())
        ]
    asked = [word for _, word in (*asking.content, *asking.names)]
    gone = other.names | other.numbers if other is not None else frozenset()
    words = {
        sentence.lower[k]
        for k in found
        if sentence.lower[k] not in gone
        and not any(likeness(word.lower(), sentence.lower[k]) >= _SAME for word in asked)
    }
    numbers = {word for word in words if any(map(str.isdigit, word))}
    names = words - numbers
    if names and asking.kind in {"who", "where"}:
        numbers = set()  # "in Redis for 12 hours": Redis is where
    return Value(frozenset(names), frozenset(numbers))


def read_replacement(asking: Asking, old: Value, sentence: Sentence) -> bool | None:
    """Return whether a sentence that ends a value holds another; None where it ends none."""
    if _UNSURE.search(sentence.text) or _comes(old, sentence):
        return None
    subject = find_subject(asking)
    places = [
        next((k for k, said in enumerate(sentence.lower) if likeness(word, said) >= _SAME), None) for word in subject
    ]
    said = [k for k in places if k is not None]
    is_whole = bool(subject) and len(said) == len(subject)
    if old.is_in(sentence.lower):
        is_over = (
            bool(said) and 2 * len(said) >= len(subject) and (_was(old, sentence) or _ends(asking, old, sentence, said))
        )
        if not is_over and not _is_gone(asking, old, sentence):
            return None
        is_clear = is_whole or _SWAPPED.search(sentence.text) is not None
        return is_clear and _tells(asking, old, sentence, said)
    if is_whole and _goes(asking, sentence, said) and _tells(asking, old, sentence, said):
        return True
    if is_whole and asking.kind == "when" and _is_cancelled(sentence, said):
        return False
    return None


def _is_cancelled(sentence: Sentence, said: list[int]) -> bool:
    """Return whether a sentence says that its subject is called off."""
    found = _CANCELLED.search(sentence.text)
    return (
        found is not None
        and not _is_aside(sentence, said, found.start())
        and max(said) < len(tokens(sentence.text[: found.start()]))
    )


def find_subject(asking: Asking) -> list[str]:
    """Return the words for the subject of a question: nouns behind an article, and names."""
    if asks_default(asking):
        return [word for _, word in list_subjects(asking)]
    found = {i: word.lower() for i, word in asking.names}
    noun = asking.noun[: 1 if asking.is_german else None] if asking.kind == "which" else ()
    asks_do = not {"do", "does"}.isdisjoint(asking.words)
    for i, word in asking.content:
        is_verb = word.endswith("ed") or word in vocabulary.LIGHT_VERBS or (asks_do and i == len(asking.words) - 1)
        is_behind = i - 1 in found and not is_verb and not asking.is_german  # whose nouns are one word
        if i in noun or is_behind or (i and asking.words[i - 1] in vocabulary.ARTICLES):
            found[i] = word
    if asking.is_german and asking.words[-1] in _PREFIXES:
        found.pop(len(asking.words) - 1, None)
    return list(found.values())


def _comes(old: Value, sentence: Sentence) -> bool:
    """Return whether a sentence says that a value comes: "moved to Redis", "Mira takes over"."""
    return any(
        re.search(
            rf"(?<!longer )(?<!not )(?<!used )\b(?:to|into|onto|by|with)\s+(?:(?:the|our|a)\s+)?(?:\w+\s+)?{word}(?!\w)|"
            rf"\b(?:{changes.MOVED})\b.*\bon the {word}(?!\w)|\bon the {word}(?!\w).*\b(?:{changes.MOVED})\b|"
            rf"(?<!\w){word}\s+(?:\w+\s+)?(?:{changes.TAKEN_OVER})\b",
            sentence.text,
            re.IGNORECASE,
        )
        for word in map(re.escape, old.numbers or old.names)
    )


def _was(old: Value, sentence: Sentence) -> bool:
    """Return whether a sentence says that a value was so before: "(was Mira)", "Mira before"."""
    text = sentence.text
    return any(
        re.search(
            rf"(?<!\w){_WAS}\W+(?:[\w-]+\W+){{0,2}}?{word}(?!\w)|(?<!\w){word}\W+(?:\w+\W+)?{_BEFORE}\b",
            text,
            re.IGNORECASE,
        )
        for word in map(re.escape, old.numbers or old.names)
    )


def _ends(asking: Asking, old: Value, sentence: Sentence, said: list[int]) -> bool:
    """Return whether a verb of change is said of a subject or its value, of nothing else."""
    change = _CHANGES[asking.kind].search(sentence.text)
    if change is None or _is_aside(sentence, said, change.start()):
        return False
    subjects = {sentence.lower[k] for k in said} | old.names | old.numbers
    after = (word.lower() for word in tokens(sentence.text[change.end() :]))
    first = next((word for word in after if not vocabulary.is_grammar(word)), "")
    if first in subjects:
        return True
    left = "|".join(map(re.escape, old.names | old.numbers))
    if (not first or _LEFT.fullmatch(change[0])) and re.search(
        rf"\bfrom\s+(?:\w+\s+)?(?:{left})(?!\w)", sentence.text, re.IGNORECASE
    ):
        return True
    before = [word.lower() for word in tokens(sentence.text[: change.start()])]
    begin = next((k for k, word in enumerate(before) if word in subjects), None)
    # who replaces something else is not replaced
    is_done = begin is not None and not vocabulary.BEING.isdisjoint(before[begin:])
    return is_done or (begin is not None and re.match(rf"{changes.MOVED}|hand", change[0], re.IGNORECASE) is not None)


def _is_aside(sentence: Sentence, said: list[int], change: int) -> bool:
    """Return whether a sentence is about something else: "the meeting about the fair"."""
    begin = min(said)
    if any(re.search(rf"\b{re.escape(sentence.words[k])}['’]s\b", sentence.text) for k in said):
        return True  # "the barn's roof"
    while begin and sentence.lower[begin - 1] in vocabulary.ARTICLES:
        begin -= 1
    before = sentence.lower[begin - 1] if begin else ""
    is_earlier = sentence.text.find(sentence.words[min(said)]) < change
    return begin > 1 and (before in _OF or (before in _ABOUT and is_earlier))


def _is_gone(asking: Asking, old: Value, sentence: Sentence) -> bool:
    """Return whether a sentence says that a value itself is gone: "we cancelled Helvetia"."""
    if asking.kind == "when" or any(
        not _has_word(asking, words[1].lower().split()) for words in _FOR.finditer(sentence.text)
    ):
        return False  # for something else
    article = r"(?:(?:the|our|a|an|all|from|with)\s+)*"
    return any(
        re.search(
            rf"\b(?:{_GOES}|{_LEAVES}|{_NO_LONGER}(?:\s+\w+){{0,2}})\s+{article}{name}(?!['’\w-])|"
            rf"(?<![\w-]){name}\s+(?:(?:is|are|was|were|has|have|been|now)\s+)+(?:{_GOES}|history)\b|"
            rf"(?<![\w-]){name}\s+(?:{_NO_LONGER}|{changes.LAPSES}|(?:(?:is|are|was|were)\s+(?:\w+\s+){{0,6}}?)?(?:{changes.PARTICIPLES}))\b",
            sentence.text,
            re.IGNORECASE,
        )
        for name in map(re.escape, old.names)
    )


def _has_word(asking: Asking, words: Collection[str]) -> bool:
    return any(likeness(each, word) >= _SAME for _, each in (*asking.content, *asking.names) for word in words)


def _goes(asking: Asking, sentence: Sentence, said: list[int]) -> bool:
    """Return whether a sentence says that its subject is moved, or taken over."""
    if asking.kind in {"when", "where"}:
        pattern = _MOVED
    elif asking.kind != "who":
        pattern = _ADJUSTED
    elif not _HELD_BY.isdisjoint(asking.words):
        pattern = _TAKEN
    else:
        return False
    begin, end = min(said), max(said)
    before = begin
    while before and (sentence.lower[before - 1] in vocabulary.ARTICLES or sentence.lower[before - 1] == "over"):
        before -= 1
    if any(_is_aside(sentence, said, change.start()) for change in pattern.finditer(sentence.text)):
        return False
    if pattern.search(" ".join(sentence.words[max(0, before - 1) : begin])):
        return not _is_of_another(sentence, end)
    return pattern.search(" ".join(sentence.words[end + 1 : end + 2 + _GAP])) is not None


def _is_of_another(sentence: Sentence, end: int) -> bool:
    """Return whether a noun follows what was named: "we moved the meeting room chairs"."""
    after = re.search(rf"\b{re.escape(sentence.words[end])} ([^\W\d_]+)", sentence.text)
    if after is None:
        return False
    word = after[1].lower()
    return not (vocabulary.is_grammar(word) or word.endswith("ly") or word in _ADVERBS)


def _tells(asking: Asking, old: Value, sentence: Sentence, said: list[int]) -> bool:
    """Return whether a sentence holds a value of the kind asked for beside the old one."""
    new = read_value(asking, sentence, old)
    if asking.kind == "when":
        return bool(new.numbers)
    if asking.kind == "where" and not new.names and not new.numbers:
        gone = (k for k, word in enumerate(sentence.lower) if word in old.names | old.numbers)
        taken = dict(enumerate([*said, *gone]))
        return find_values("where", sentence.text, sentence.words, taken, (), ())
    return bool(new.names) or (asking.kind != "who" and bool(new.numbers))
