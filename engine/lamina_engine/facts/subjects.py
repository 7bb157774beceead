"""Subjects: whether what a sentence says is said of what the question is about.

"One by the operations manager" names no manager, "the owner of the action" is no owner of a program, and who holds a pole for ten
seconds says nothing of its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from lamina_engine.facts import vocabulary
from lamina_engine.facts.asking import DONE, RUNNING, Asking
from lamina_engine.facts.sentences import Sentence
from lamina_engine.facts.values import LENGTH, MONTH, WEEKDAY, is_name
from lamina_engine.facts.vocabulary import word_set

_AGENTS: Final = ("er", "or", "man", "woman", "person")
"""Ends of nouns for who somebody is."""
_APART: Final = word_set("and or in on at with from to for of into than between")
"""Between a name and what somebody is, these make them two: "Marta and the manager"."""
_ASIDE: Final = word_set("and or with to from than between in at on via")
"""The same between what somebody is and a name."""
_LINKS: Final = word_set("now currently today since also still called named by")
_BETWEEN: Final = re.compile(r"[;:–—]|\b(?:when|while|because|if|where|although)\b", re.IGNORECASE)
_BEFORE_NAME: Final = re.compile(
    r"(?:[:=(|–—]|\b(?:is|are|was|were|by|called|named|now))[*_\s]*(?:the |our |an? )?$", re.IGNORECASE
)
_POSSESSIVES: Final = word_set("its our their his her my your")
_LONG: Final = re.compile(r"m|km|metres?|meters?|miles?|feet|ft|cm|mm")
"""Units of the length of a thing."""
_DATE: Final = re.compile(rf"\d{{1,2}}|(?:19|20)\d\d(?:-\d\d?)*|{MONTH}|{WEEKDAY}", re.IGNORECASE)
_DATING: Final = word_set("on in of at from")


def is_own(words: Sequence[str], k: int) -> bool:
    """Return whether a word is the "own" of "its own", which says no owner."""
    return words[k] == "own" and k > 0 and words[k - 1] in _POSSESSIVES


def names_somebody_else(asking: Asking, sentence: Sentence, hits: Mapping[int, int], *, left_out: bool) -> bool:
    """Return whether a sentence's names are not those of who is asked for.

    ``left_out`` is True where it leaves out words of the question, which the text around it says.
    """
    if asking.kind != "who":
        return False
    deeds = [hits[i] for i in asking.head or [i for i, _ in asking.content] if i in hits][:1]
    for k in deeds:
        if left_out and _is_of_another_thing(sentence, k, hits.values()):
            return True
        if sentence.lower[k] in RUNNING and not _has_actor(sentence, k):
            return True
        is_person = bool(asking.head) or sentence.lower[k].rstrip("s").endswith(_AGENTS)
        if is_person and not any(
            _is_linked(sentence, i, k, hits.values()) for i in _free_names(sentence, hits.values())
        ):
            return True
    return False


def _free_names(sentence: Sentence, taken: Iterable[int]) -> list[int]:
    """Return the places of names that the question does not have."""
    held = set(taken)
    return [i for i in range(len(sentence.words)) if i not in held and is_name(sentence.words, i)]


def _is_of_another_thing(sentence: Sentence, k: int, taken: Iterable[int]) -> bool:
    """Return whether it goes on with another thing: "owner of the action"."""
    words, i = sentence.lower, k + 1
    if words[i : i + 1] not in (("of",), ("for",)):
        return False
    while i < len(words) and vocabulary.is_grammar(words[i]):
        i += 1
    return i < len(words) and i not in set(taken)


def _has_actor(sentence: Sentence, k: int) -> bool:
    """Return whether a name stands before a verb, or after its "by"."""
    words = sentence.words
    before = any(is_name(words, i) for i in range(k))
    after = any(word == "by" and is_name(words, i + 1) for i, word in enumerate(sentence.lower[:-1]) if i >= k)
    return before or after


def _is_linked(sentence: Sentence, i: int, k: int, taken: Iterable[int]) -> bool:
    """Return whether a sentence says that a name is what stands at another place."""
    between = range(min(i, k) + 1, max(i, k))
    plain = set(taken) | {j for j in between if is_name(sentence.words, j) or sentence.lower[j] in _LINKS}
    others = [j for j in between if j not in plain and not vocabulary.is_grammar(sentence.lower[j])]
    said = {sentence.lower[j] for j in between}
    if i < k:
        if i + 1 == k and sentence.lower[k].endswith("s"):
            return False  # "the Pallets maintainers" are those of Pallets
        return not others and _APART.isdisjoint(said) and not _BETWEEN.search(_text_between(sentence, i, k))
    before = _text_between(sentence, k, i)
    return (not others and _ASIDE.isdisjoint(said)) or _BEFORE_NAME.search(before) is not None


def _text_between(sentence: Sentence, first: int, last: int) -> str:
    """Return the text between two words of a sentence."""
    at = 0
    begin = end = 0
    for j, word in enumerate(sentence.words[: last + 1]):
        found = sentence.text.find(word, at)
        found = at if found < 0 else found
        at = found + len(word)
        if j == first:
            begin = at
        end = found
    return sentence.text[begin:end]


def asks_length(asking: Asking) -> bool:
    """Return whether "how long" asks for the length of a thing, or how long it is."""
    return (
        asking.kind == "duration"
        and asking.words[2:3] in {("is",), ("are",), ("was",), ("were",)}
        and not any(word.endswith(("ing", "ept", "eld", *DONE)) for _, word in asking.content)
    )


def is_length(sentence: Sentence, hits: Mapping[int, int]) -> bool:
    """Return whether a sentence says a length: "40 metres long", "a pole of 4 metres"."""
    if LENGTH.search(sentence.text):
        return True
    return any(
        sentence.lower[k + 1 : k + 2] == ("of",)
        and "".join(sentence.lower[k + 2 : k + 3])[:1].isdigit()
        and any(map(_LONG.fullmatch, sentence.lower[k + 3 : k + 4]))
        for k in hits.values()
    )


def dates_event(asking: Asking, sentence: Sentence, hits: Mapping[int, int]) -> bool:
    """Return whether a date stands right behind an event: "during the flood on 3 May"."""
    places = sorted(hits.values())
    if asking.kind != "when" or not places or len(hits) < len(asking.names) + len(asking.content):
        return False
    end = places[-1] + 1
    together = places[-1] - places[0] < len(places)
    after = sentence.lower[end : end + 2]
    return together and len(after) == 2 and after[0] in _DATING and _DATE.fullmatch(after[1]) is not None
