"""Releases: in which one something was done.

An entry of a changelog says what was done, and the heading above it in which release: the numbers of the entry are those of something
else ("Drop support for Python 3.8"). The entry answers only for what it does: what it adds something to, or mentions, came at
another time. Elsewhere a sentence names the release itself ("deprecated since version 1.3").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from lamina_engine.facts import vocabulary
from lamina_engine.facts.values import MONTH, VERSIONS
from lamina_engine.facts.vocabulary import VERB, word_set
from lamina_engine.facts.wording import parts, tokens

if TYPE_CHECKING:
    from lamina_engine.facts.asking import Asking
    from lamina_engine.facts.sentences import Sentence

ASKING: Final = VERSIONS | {"since"}
"""Words of questions that the release itself says."""
RELEASED: Final = word_set("released release published out come came")
"""Words of questions that a heading with a release and its day says."""
_VERSION: Final = re.compile(r"v?\d+(?:\.\d+)+\w*")
_DEEDS: Final = (
    word_set("add adds added introduce introduces introduced new versionadded"),
    word_set("remove removes removed removal removals drop drops dropped delete deletes deleted versionremoved longer"),
    word_set("deprecate deprecates deprecated deprecation deprecations"),
    word_set("rename renames renamed"), word_set("change changes changed versionchanged"), word_set("fix fixes fixed"),
    word_set("replace replaces replaced"),
)  # fmt: skip
_REPLACING: Final = word_set("replace replaces replaced superseded supersedes")
_REPLACED: Final = (
    r"\breplac(?:es?|ed|ing|ement (?:for|of))\b\W+(?:\w+\W+){{0,3}}?{gone}(?![\w-])",
    r"(?<![\w-]){gone}(?![\w-])[^,;]{{0,60}}\b(?:(?:replaced|superseded) (?:by|with)|in favou?r of|renamed to)\b",
    r"\b(?:instead|in place) of (?:the |our )?\W?{gone}(?:\W*$|[^\w\s-]*[.,;)])",
    r"(?<![\w-]){gone}(?![\w-])[^;]*\b(?:deprecated|removed)\b[^;]*\b(?:use|instead)\b",
)
"""What took the place of something that is gone."""
_SUPPORT: Final = word_set("support supports supported supporting compatibility")
_LEAD: Final = re.compile(r"\W*(?:\[[^\]]{1,30}\]|[\w./ -]{1,30}:(?=\s))?", re.ASCII)
"""What stands before an entry: "[core]", "ASGI:"."""
_BEFORE: Final = word_set("we now also officially finally danger info warning note")
_BREAKS: Final = re.compile(
    r"[;:.(]\s|\b(?:to|when|so|that|which|who|if|by|because|while|with|after|before|in|on|from|as|instead|into|using|via|without|"
    r"where|unless|caused|due|about|like|than|between|works)\b",
    re.IGNORECASE,
)
"""Ends what something is done to."""
_STATES: Final = re.compile(rf"\b(?:now|also|use|see|{VERB})\b", re.IGNORECASE)
_FUTURE: Final = re.compile(
    r"\b(?:will|would|shall|to|may|might|should|scheduled|planned)\b(?: \w+){0,2}? ?$", re.IGNORECASE
)
_IN_RELEASE: Final = re.compile(
    r"^\W*(?:(?:deprecated|removed|removal|added|available|supported|new)?\s*(?:in|since|with|as of|from|for)\s+)?"
    r"(?:(?:the\s+)?(?!python\b)[A-Za-z][\w-]*\s+){0,2}?(?:version\s+|release\s+)?v?\d+(?:\.\d+)+",
    re.IGNORECASE,
)
_NO_RELEASE: Final = word_set("from before until pre upgrade upgrading migrate migrating migration to python")
_DATE: Final = re.compile(
    rf"\d+(?:st|nd|rd|th)?|\d+[-/.]\d+(?:[-/.:]\d+)*|{MONTH}|unreleased|released|yanked|upcoming", re.IGNORECASE
)
_TARGET: Final = re.compile(r"\]\([^)]*\)|`_+|<[^>]*>")


def is_release(heading: str) -> bool:
    """Return whether a heading names a release, and at most its day: "[1.4] - 2024-05-01"."""
    words = tokens(_TARGET.sub(" ", heading))
    at = next((i for i, word in enumerate(words) if _VERSION.fullmatch(word)), None)
    if at is None or at > 3 or not _NO_RELEASE.isdisjoint(word.lower() for word in words[:at]):
        return False
    return all(_DATE.fullmatch(word) for word in words[at + 1 :])


def asks_release(asking: Asking) -> bool:
    """Return whether a question asks in which release something was done, or when."""
    if asking.kind not in {"when", "which", "what"} or _find_deed(asking) is None:
        return False
    names = {i for i, _ in asking.names}
    is_version = any(asking.words[i] in VERSIONS for i in asking.noun) and names.isdisjoint(asking.noun)
    return asking.kind == "when" or is_version


def _find_deed(asking: Asking) -> int | None:
    """Return the place of the verb for what was done."""
    places = [i for i, word in asking.content if i not in asking.noun and any(word in family for family in _DEEDS)]
    return places[0] if places else None


def says_deed(word: str, said: str) -> bool:
    """Return whether a word of an entry says a verb of a question: "drop" and "removed"."""
    return any(word in family and said in family for family in _DEEDS)


def names_release(asking: Asking, sentence: Sentence, hits: Mapping[int, int]) -> bool:
    """Return whether a sentence, or a heading above it, names the release asked for."""
    deed = _find_deed(asking)
    if deed is None:
        return False
    at = hits.get(deed)
    if at is not None and _IN_RELEASE.match(_text_after(sentence, at)):
        return True
    if not sentence.release or (at is not None and _FUTURE.search(_text_before(sentence, at))):
        return False
    return _is_done(asking, sentence, hits, deed)


def is_of_another_release(asking: Asking, sentence: Sentence, hits: Mapping[int, int]) -> bool:
    """Return whether a sentence, or the heading above it, names another release than asked."""
    asked = [name for i, name in asking.names if i not in hits and _VERSION.fullmatch(name)]
    if not asked:
        return False
    said = {part for word in tokens(sentence.release) for part in (word, *parts(word))} if sentence.release else set()
    other = bool(sentence.release) or any(map(_VERSION.fullmatch, sentence.words))
    return other and not said.issuperset(asked)


def asks_successor(asking: Asking) -> bool:
    """Return whether a question asks what took the place of something: "what replaced argh?"."""
    return asking.kind == "what" and not asking.noun and any(word in _REPLACING for _, word in asking.content[:1])


def names_successor(asking: Asking, sentence: Sentence, hits: Mapping[int, int]) -> bool:
    """Return whether a sentence says that something took the place of what is asked about."""
    named = [(i, word) for i, word in (*asking.names, *asking.content) if i in hits and word not in _REPLACING]
    if not named or not all(_is_whole(name, sentence.lower[hits[i]]) for i, name in asking.names if i in hits):
        return False
    gone = re.escape(sentence.words[hits[named[0][0]]])
    return any(re.search(pattern.format(gone=gone), sentence.text, re.IGNORECASE) for pattern in _REPLACED)


def is_other_release(asking: Asking, sentence: Sentence, other: Sentence) -> bool:
    """Return whether two sentences answer a question for a release with two of them."""
    return asks_release(asking) and bool(other.release) and sentence.release != other.release


def _is_done(asking: Asking, sentence: Sentence, hits: Mapping[int, int], deed: int) -> bool:
    """Return whether an entry begins, or ends, with what the question says was done."""
    lead = _LEAD.match(sentence.text)
    begin = len(tokens(sentence.text[: lead.end()])) if lead else 0
    while begin < len(sentence.lower) and sentence.lower[begin] in _BEFORE:
        begin += 1
    objects = sorted({k for i, k in hits.items() if i != deed and i not in asking.noun and k >= begin})
    left_out = {
        i for i, word in (*asking.names, *asking.content) if not (i in hits or word in ASKING or _is_project(asking, i))
    }
    if left_out - {deed}:  # "tornado worker: add graceful stop support" adds no Tornado
        return False
    if not objects or not all(_is_whole(name, sentence.lower[hits[i]]) for i, name in asking.names if i in hits):
        return False
    at = hits.get(deed)
    if at is None:  # "### Removed", and below it what was; "X now has a method" below "### Added" adds no X
        below = any(says_deed(asking.words[deed], word.lower()) for word in tokens(sentence.section))
        is_first = all(map(vocabulary.is_grammar, sentence.lower[begin : objects[0]]))
        is_thing = _STATES.search(sentence.text) is None
        return below and is_first and is_thing and not any(_is_cut(asking, sentence, begin, k) for k in objects)
    if at <= begin:
        return objects[0] > at and not any(_is_cut(asking, sentence, at + 1, k) for k in objects)
    is_passive = not vocabulary.BEING.isdisjoint(sentence.lower[max(0, at - 3) : at]) or sentence.lower[at] == "longer"
    return (
        is_passive
        and objects[0] <= begin + 3
        and not any(_is_cut(asking, sentence, begin, k) for k in objects if k < at)
        and not any(k > at and _is_cut(asking, sentence, at + 1, k) for k in objects)
    )


def _is_project(asking: Asking, i: int) -> bool:
    """Return whether a word says of what the release is: "which version of click"."""
    words = asking.words
    return i in asking.noun or (words[i - 1] == "of" and words[i - 2] in VERSIONS)


def _is_whole(name: str, word: str) -> bool:
    """Return whether a word is all that a question names: ``os.fsync``, not ``no-fsync``."""
    name = name.lower()
    return word == name or word.endswith(tuple(f"{sign}{name}" for sign in "./:@"))


def _is_cut(asking: Asking, sentence: Sentence, begin: int, end: int) -> bool:
    """Return whether something else begins between two words: "Add X to Y" adds no Y."""
    between = _text_before(sentence, end, begin)
    if any(found[0].lower() not in asking.words for found in _BREAKS.finditer(between)):
        return True
    words = sentence.lower[begin:end]
    if any(word in words and word not in asking.words for word in ("for", "of")) and _SUPPORT.isdisjoint(words):
        return True
    listed = between.partition(",")[2]
    return "," in between and any(
        not (re.search(r"\d", word) or vocabulary.is_grammar(word.lower()) or word[:1].isupper() or "_" in word)
        for word in tokens(listed)
    )


def _offsets(sentence: Sentence) -> Iterator[tuple[int, int]]:
    end = 0
    for word in sentence.words:
        begin = max(end, sentence.text.find(word, end))
        end = begin + len(word)
        yield begin, end


def _text_before(sentence: Sentence, k: int, begin: int = 0) -> str:
    """Return the text from one word to another, which is left out."""
    places = list(_offsets(sentence))
    return sentence.text[places[begin][0] : places[k][0]] if begin < k else ""


def _text_after(sentence: Sentence, k: int) -> str:
    return sentence.text[list(_offsets(sentence))[k][1] :]
