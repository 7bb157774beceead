"""Evidence that memories are about a prompt: its subject, and the confidence of a recall.

The confidence is the one that every recall has (`lamina_engine.recall.relevance`): that a chunk is about the words of a question.
It cannot tell that they are a question. "Hurry up" and "put it in a table with two columns" are met by many a vault in full, better
than any question of three sentences. So a turn, which nobody asked for, first looks at the prompt: its words for a subject, no
words of talk nor of the work at hand, have to weigh as much in this vault as some that a few chunks have; more where a question
points at what is at hand, and nearly as much as three that a single chunk has where nothing is asked. What passes has odds that a
bare confidence has not.

A prompt of several sentences is met by halves: a confidence is a share of all its words, and most of them are setting. There what
counts beside it is how much of the subject a memory has at all. Of 301 such prompts by strangers 253 have two and more words of their
subject in the best memory, of 40 that it nearly answers 7.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from lamina_engine.context.content import asks, owner_words, points, role_words, seeks, subject_words
from lamina_engine.expressions import late
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.languages import ENGLISH, language_of
from lamina_engine.index.scoring import Bm25, inverse_document_frequency
from lamina_engine.recall.lanes import Words
from lamina_engine.recall.pipeline import recall_rows
from lamina_engine.recall.scopes import named_projects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import F32, F64, I64

ASKED: Final = 0.6
"""Weight that the subject of a question needs, in words that one chunk of the vault has."""
POINTED: Final = 1.1
"""The same where the question points at what is at hand: "what does this regex match"."""
ORDERED: Final = 2.9
"""The same for what asks nothing: most orders are about what agent and user have before them."""
ODDS: Final = 2.75
"""Odds that a prompt with such a subject brings with it, times those of a recall squared: 0.40 of a recall is 0.55 of a turn.

Squared, as prompts that the vault answers and prompts about something else lie farther apart than questions do.
"""
_PLAIN_ODDS: Final = 2 / 3
"""The same for one sentence in a large vault: 0.6 stays 0.6, and no turn tells what a recall calls not near enough."""
_MET: Final = 1.0
"""What a memory needs of the subject of several sentences, in the same words: as much neither adds to its odds nor takes from them."""
_SLOPE: Final = 2.0
"""What each such word more adds to the logarithm of the odds."""
_WELL_MET: Final = 1.3
"""Of this much a memory speaks for itself, where the prompt asks nothing: two words and more, one of them rare."""
_ENOUGH: Final = 3
"""Of so many words of a subject a single one is no subject of a vault: "how do I reverse a string in python"."""
_SHORT: Final = 3
"""A subject of so many words and fewer is met by most of them: half of "our refund policy" is a policy of restarts."""
_HELD: Final = 0.55
"""Share of such a subject that some memory needs, in a large vault; words that the vault does not know are part of it."""
_LARGE: Final = 100
"""In a vault of so many chunks half of that is enough, and the odds are between: that it lacks a word says the less, the fewer they are."""
_FEW: Final = 5
"""In a vault of so many chunks, where no word is rare, half of that is enough."""
_YOUNG: Final = 100
"""In a vault of so many chunks half of a subject is enough for a question: what the first sessions are about stands in many of them."""
_POINTED_YOUNG: Final = 10
"""The same where it points at what is at hand."""
CANDIDATES: Final = 20
_LONGEST: Final = 4_000
"""Characters of a prompt, or of one of its sentences, that are read: a pasted log is no question."""
_WORD: Final = late(r"\w+")
_SENTENCE: Final = late(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
_FORBIDS: Final = late(
    r"\b(?:never|don['’]?t|do not|must not|mustn['’]?t|not allowed|forbidden|tak(?:es?|en) back|no longer|nie(?:mals)?|nicht mehr"
    r"|darf(?:st)? nicht|verboten|auf keinen fall)\b",
    re.IGNORECASE,
)
_FAILED: Final = late(
    r"\b(?:not|cannot|can['’]?t|\w+n['’]t|doesnt|wont|unsupported|bad idea|too (?:slow|expensive|dear)|gave up|given up|back (?:on|to|out)"
    r"|revert\w*|rolled back|removed|dropped|thrown out|went out|goes out|nicht|keine?[nmrs]?|schlechte idee|zu (?:langsam|teuer)"
    r"|aufgegeben|verworfen|rausgeworfen|ausgebaut|entfernt|vergiss)\b",
    re.IGNORECASE,
)
"""Says what failed, or was taken back: of the order where it has two words of it, as few sentences deny nothing at all."""
_SPOKEN: Final = 0.2
"""Share of the candidates that are in a language, for its stems to count."""
_TOLD_BY: Final = 1_000
"""Characters of a text that say its language."""
_LEAST_BEGINNING: Final = 4
"""Letters that a word of a subject and one of a text have in common, at least."""
_analyzer: Final = Analyzer()


class Evidence(Struct, frozen=True):
    """Candidates of a prompt, best first, and the prompt's vector."""

    rows: I64
    confidences: F64
    """For the gate: odds of a recall and of the prompt."""
    scores: F64
    """Of the recall, for the rank and the floor of an item."""
    shared: F64
    """Weight of the subject's words that each has."""
    vector: F32 | None
    """Of the whole prompt; None without vectors."""
    stems: Mapping[str, float]
    """Words of the prompt, by which a part of a memory is chosen."""


NOTHING: Final = Evidence(np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0), None, {})


def gather_evidence(
    memory: Memory, prompt: str, where: Mapping[str, Any], now_us: int, *, meaning: bool = True
) -> Evidence:
    """Return the candidates of a prompt with their confidence; none where it asks too little.

    Raises
    ------
    EmbeddingError
        Where the model fails; without ``meaning`` it is not asked.
    """
    view = memory.view()
    whole = prompt[:_LONGEST]
    if not view.statistics.rows:
        return NOTHING
    named = subject_words(whole)
    words = list(dict.fromkeys(named or role_words(whole)))
    subject, unit = _subject(view, words, view.languages), _unit(view)
    several = len(split_sentences(whole)) > 1
    if not several and len(words) >= _ENOUGH and len(subject.query.terms) == 1:
        return NOTHING
    weight, least = float(subject.query.idf.sum()) / unit, _least_subject(view, whole, is_named=bool(named))
    if not weight or weight < min(_WELL_MET, least):
        return NOTHING
    options: dict[str, Any] = {"where": dict(where)} if where else {}
    options |= {} if meaning else {"lanes": ("lexical",)}
    found = recall_rows(memory, whole, profile="default", k=CANDIDATES, now=now_us / 1e6, time="off", **options)
    projects = " ".join(named_projects(view, whole).values()).lower().split()
    own = [word for word in words if word not in projects] or words  # what is of a project need not name it
    texts = [record["text"] for record in view.snapshot.records("chunks", found.rows, ("text",))]
    spoken = _spoken(view, whole, texts)
    if (own, spoken) != (words, view.languages):
        words, subject = own, _subject(view, own, spoken)
    shared = _rarity_held(subject, found.rows) / unit
    odds = (
        ODDS
        * (1.0 if several else (_PLAIN_ODDS / ODDS) ** _trust(view))
        * (found.confidences / np.maximum(1.0 - found.confidences, 1e-9)) ** 2
    )
    if not several and len(words) <= _SHORT and not _is_held(view, words, subject, shared * unit):
        return NOTHING
    if several or weight < least:
        odds = odds * np.exp(_SLOPE * (shared - _MET))
    owners = [] if several else [word for word in owner_words(whole) if word not in projects]
    if owners:  # another thing has a version too
        odds = odds * (_rarity_held(_subject(view, owners, spoken), found.rows) > 0.0)
    if weight < least:  # an order is told what speaks for itself; one of a sentence only what warns
        odds = odds * (shared >= _WELL_MET) * (1.0 if several else _warnings(words, texts))
    return Evidence(found.rows, odds / (1.0 + odds), found.scores, shared, found.vector, found.stems)


def _warnings(words: Sequence[str], texts: Sequence[str]) -> F64:
    """Return 1 for each text that warns of some words, 0 for others.

    It says what must not be done, failed, or was taken back.
    """
    warns = (says_of(words, text, _FORBIDS) or says_of(words, text, _FAILED, least=2) for text in texts)
    return np.fromiter(warns, np.float64, len(texts))


def says_of(words: Sequence[str], text: str, pattern: re.Pattern[str], *, least: int = 1) -> bool:
    """Return whether a sentence says of some words what matches a pattern.

    It and the one before have at least so many of the words, or all.
    Of several one stands before the match: "htmx is not able to drag seats" says it of htmx.
    """
    parts = dict.fromkeys(part for word in words for part in _WORD.findall(word))
    begins = [re.escape(part[: max(_LEAST_BEGINNING, len(part) - 2)]) for part in parts]
    named = re.compile(rf"\b(?:{'|'.join(begins)})", re.IGNORECASE)
    before: set[str] = set()
    for sentence in split_sentences(text):
        here = {found.lower() for found in named.findall(sentence)}
        match = pattern.search(sentence) if len(here | before) >= min(least, len(begins)) else None
        if match is not None and (least == 1 or named.search(sentence, 0, match.start()) is not None):
            return True
        before = here
    return False


def _least_subject(view: View, prompt: str, *, is_named: bool) -> float:
    """Return the weight that the subject of a prompt needs, in words that one chunk has."""
    if not asks(prompt):
        return ORDERED
    size = view.statistics.rows
    if points(prompt):
        return POINTED * size / (size + _POINTED_YOUNG)
    # what a project is about stands in most of its chunks, and is what its people ask about: the form says that memory is meant
    return 0.0 if is_named and seeks(prompt) else ASKED * size / (size + _YOUNG)


def split_sentences(prompt: str) -> list[str]:
    """Return the sentences of a prompt, long ones cut."""
    return [text.strip()[:_LONGEST] for text in _SENTENCE.split(prompt) if text.strip()]


def _subject(view: View, words: Sequence[str], languages: tuple[str, ...]) -> Words:
    """Return the words of a prompt that name its subject, as the vault has them."""
    terms = _analyzer.query(" ".join(words), languages)
    return Words(view, terms, Bm25(surface=0.0))


def _is_held(view: View, words: Sequence[str], subject: Words, held: F64) -> bool:
    """Return True if a row holds enough of a short subject.

    ``held`` is the rarity of what each row has.
    """
    size, trust = view.statistics.rows, _trust(view)
    strange = len(words) - len(subject.query.terms)
    whole = float(subject.query.idf.sum()) + max(strange, 0) * inverse_document_frequency(0, size) * trust
    return float(held.max(initial=0.0)) >= _HELD * trust * whole


def _trust(view: View) -> float:
    """Return how far a vault is believed that lacks a word, 0 to 1."""
    size = view.statistics.rows
    return size / (size + _LARGE)


def _unit(view: View) -> float:
    """Return the rarity of a word that one chunk has."""
    size = view.statistics.rows
    return inverse_document_frequency(1, size) * size / (size + _FEW)


def _spoken(view: View, prompt: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the languages other than English of a prompt and of a good part of some texts.

    One row that was taken for Hungarian would make "pro" of every "probe".
    """
    if not view.languages:
        return ()
    among = (ENGLISH, *view.languages)
    asked = language_of(_WORD.findall(prompt.lower()), among)
    if view.languages == (asked,):
        return view.languages
    spoken = [language_of(_WORD.findall(text[:_TOLD_BY].lower()), among) for text in texts]
    least = max(1.0, _SPOKEN * len(spoken))
    return tuple(each for each in view.languages if each == asked or spoken.count(each) >= least)


def _rarity_held(subject: Words, rows: I64) -> F64:
    """Return the rarity of the subject's words that each row has."""
    rarity = dict(zip(subject.query.terms, subject.query.idf.tolist(), strict=True))
    return np.array([sum(rarity[term] for term in held) for held in subject.contributions(rows)])
