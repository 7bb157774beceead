"""Clauses of a sentence: what it states of one subject, and nothing that it compares.

"The shed was built in 1990, before the barn was built" says when the shed was built, and of the barn nothing. A value answers only
in the clause whose subject is asked about, so a sentence is read clause by clause: the main one; those beside it and below it that
state something; and what a relative clause says, with the noun before it as its subject. Comparisons, conditions, addresses and
paths state nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lamina_engine.facts import vocabulary
from lamina_engine.facts.asking import Asking
from lamina_engine.facts.sentences import Sentence
from lamina_engine.facts.stating import CLAUSE
from lamina_engine.facts.values import COUNT, MONTH, WEEKDAY
from lamina_engine.facts.vocabulary import AUXILIARY, VERB, word_set
from lamina_engine.facts.wording import tokens

_FINITE: Final = re.compile(
    rf"\b{VERB}\b|(?<!\bthe )(?<!\bthis )(?<!\bour )(?<!\ba )(?<!\ban )\b\w{{3,}}ed\b", re.IGNORECASE
)
_REST: Final = rf"(?:(?!\s(?:and|but)\s+{AUXILIARY}\b)[^,;()–—])*"
"""The rest of a clause: up to a comma, or a verb that goes on with the subject of the main clause."""
_TARGET: Final = re.compile(r"(?<=\])\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)|\s?<\w+://[^<>\s]*>(?=`_)")
"""Target of a link in Markdown, or in reStructuredText."""
_ADDRESS: Final = re.compile(r"<?\b\w+://[^\s>)\]]+>?|(?<![\w.])~?/[\w.-]+/[\w./-]+|\b[\w-]+(?:/[\w.-]+){2,}|`[^`]*`")
"""Address, path, or code: its numbers are no dates and no sums."""
_NUMERIC: Final = word_set("when duration frequency count amount measure")
_COMPARISON: Final = re.compile(
    r"(?:,\s*)?\b(?:(?:by )?(?:much |far |a lot )?(?:(?:more|less|fewer|rather|anders|mehr|weniger|(?-i:[a-zäöü]{2,}er)) )?"
    rf"(?:than|als)\b(?!\s+(?:\w+ )?(?:\W?\d|(?:{COUNT})\b))"
    r"|(?P<half>(?:a|one|two) (?:third|quarter|fifth|tenth|fraction)s? of|"
    r"(?:half|twice|double|thrice|\w+ times|doppelt|halb) (?:the|that|those|its|his|her|their|our|as|so))\b"
    r"|as (?:\w+ ){0,2}as\b(?!\s+(?:\w+ )?\W?\d)|the same (?:\w+ )?as\b|so (?:\w+ )?how\b"
    r"|(?:unlike|in contrast to|compared (?:to|with)|im gegensatz zu|in gegensatz to|anders als)\b"
    rf"|(?:(?<=^)|(?<=, ))like\b){_REST}",
    re.IGNORECASE,
)  # fmt: skip
"""What something is compared with."""
_APART: Final = re.compile(r"(?:unlike|im gegensatz zu|in gegensatz to|anders als) (?:the )?[\w-]+", re.IGNORECASE)
"""Comparison that opens a sentence without a comma behind it, as German ones do."""
_STATING: Final = word_set(
    "before after until till once when while whereas although though because since as bevor nachdem während sobald obwohl da"
)
_CONJUNCTION: Final = (
    r"(?P<before>^|,\s*|(?<=\s)|(?<=\())(?P<word>before|after|until|till|when|whenever|while|whereas|although|though|because|since|if|unless|"
    r"provided|in case|as soon as|so that|once(?=\s+(?:the|it|they|we|you|all)\b)|as(?=\s+(?:the|it|they|we|this|these|an?)\b)|"
    r"bevor|nachdem|während|sobald|solange|obwohl|wenn|falls|sofern|damit)\b"
)
_SUBORDINATE: Final = re.compile(rf"{_CONJUNCTION}(?P<rest>\s{_REST})(?P<end>,?)", re.IGNORECASE)
"""Clause that a conjunction begins."""
_OPENING: Final = re.compile(_CONJUNCTION, re.IGNORECASE)
_MAY_BE_TIME: Final = word_set("before after until till since as")
"""Conjunctions that are prepositions too."""
_BESIDE_TIME: Final = word_set("before after")
_CAUSES: Final = word_set("because since as so")
_VERBS_WITH_AFTER: Final = re.compile(r"\b(?:look\w*|nam(?:ed|es?)|called|ask\w*|modell?ed|runs?)\s*$", re.IGNORECASE)
_DATED: Final = re.compile(rf"\d|\b(?:{MONTH}|{WEEKDAY}|{COUNT})\b", re.IGNORECASE)
_RELATIVE: Final = re.compile(
    rf"(?P<comma>,)?\s+(?:(?:of|in|for|with|from|on|to|at|by) )?(?P<word>which|who|whom|whose|(?<=, )where)\b"
    rf"(?P<rest>\s{_REST})(?P<end>,?)",
    re.IGNORECASE,
)
_GERMAN_RELATIVE: Final = re.compile(
    r"(?P<comma>,)\s+(?:(?:in|on|at|with|from|to|for|by|over|under|durch|until) )?(?P<word>the|whose|which|deren|dessen)\b"
    r"(?P<rest>[^,;:()–—]*)(?P<end>,|(?=[.;!)]?\s*$))",
    re.IGNORECASE,
)
"""Clause behind a comma that begins as an article and, unlike a main clause, ends with its verb."""
_GERMAN_VERB: Final = re.compile(rf"(?:{VERB}|rents|[a-zäöüß]{{2,}}(?:t|en|ete?n?|te))[.!]?\s*$")
_ASKS: Final = re.compile(
    r"\b(?:ask|know|knew|tell|told|see|check|decide|wonder|unclear|clear|remember|forg[eo]t|depend)\w*\b", re.IGNORECASE
)
"""Before "who" without a comma: a question in a sentence, and no noun that it goes on about."""
_OWN: Final = word_set("the a an our my your their its his her this that these those")
_BESIDE: Final = re.compile(
    rf"(?:,\s+(?:and\s+|but\s+)?|\s+(?:and|but)\s+)"
    rf"(?=(?:(?:the|our|its|my|your|their|his|her|this|that|it|they|we|he|she)|(?-i:[A-Z][\w-]+))\b[^,;:()]*?\b{VERB}\b)",
    re.IGNORECASE,
)
"""Between two main clauses, the second with a subject of its own."""
_HAS_VERB: Final = re.compile(rf"\b{VERB}\b", re.IGNORECASE)
_LINKS: Final = tuple((word,) for word in ("of", "to", "for", "in", "at", "near", "behind", "from"))
_SAYS_KIND: Final = word_set(
    "date day time hours start beginning begin end opening launch deadline half all most some each none"
)
"""First words of a sentence that are no thing apart from what has them: "the date of the fair"."""
_PREPOSITIONS: Final = word_set("with from to by about against near under over behind into")
"""Before a noun that another one has its value with: "paid with the price of the barn"."""
_AWAY: Final = word_set("from about against near behind")
_SINGLE: Final = word_set("one each every")
_MEASURED: Final = word_set("count amount measure")


def clauses_of(asking: Asking, sentence: Sentence) -> tuple[list[Sentence], list[Sentence]]:
    """Return the main clauses of a sentence, and those below them that state something."""
    begin = sentence.text.find(":") + 1 if sentence.value else 0
    if sentence.key or sentence.text.startswith("|"):
        begin = len(sentence.text)
    plain = _without_addresses(asking, sentence.text)
    begin = min(begin, len(plain))
    label, main = plain[:begin], plain[begin:]
    main, relative = _cut_relative(asking, main)
    main, subordinate = _cut_subordinate(asking, main)
    first, *beside = _split_beside(_cut_comparison(asking, main))
    if label + first == sentence.text:
        return [sentence], []
    below = (_cut_comparison(asking, _cut_subordinate(asking, each)[0]) for each in (*relative, *subordinate))
    main_clauses = [sentence.with_text(label + first), *(_without_label(sentence, each) for each in beside)]
    return main_clauses, [_without_label(sentence, each) for each in below]


def is_behind_preposition(asking: Asking, sentence: Sentence, hits: Mapping[int, int]) -> bool:
    """Return whether what is asked about belongs to another noun, which has the value.

    "It was paid with the price of the barn" says no price, and "four tables are joined from one view" not how many a view has.
    """
    words = sentence.lower
    for i, k in hits.items():
        before = k - 1
        while before >= 0 and (words[before] in _OWN | _SINGLE or before in hits.values()):
            before -= 1
        if before < 1:
            continue
        if i in asking.head:
            is_own = words[before] in _PREPOSITIONS and not _OWN.isdisjoint(words[before:k])
            after = next((word for word in words[k + 1 :] if not vocabulary.is_grammar(word)), "")
            if is_own and not re.search(r"\d", after):
                return True
        elif asking.kind in _MEASURED and words[before] in _AWAY and words[before] not in asking.words:
            return True
    return False


def is_part_of_subject(asking: Asking, sentence: Sentence, hits: Mapping[int, int]) -> bool:
    """Return whether a sentence is about a part: "the fence of the barn costs 40 EUR"."""
    if asking.kind not in {"amount", "measure", "when", "where"}:
        return False
    words = sentence.lower
    first = next((k for k, word in enumerate(words) if not vocabulary.is_grammar(word)), None)
    if (
        first is None
        or not _OWN.issuperset(words[:first])
        or first in hits.values()
        or words[first] in _SAYS_KIND
        or _DATED.search(words[first])
    ):
        return False
    after = first + 1
    if words[after : after + 1] not in _LINKS:
        return False
    owner = next((k for k in range(after + 1, len(words)) if not vocabulary.is_grammar(words[k])), None)
    goes_on = owner is not None and max(hits.values(), default=0) > owner and CLAUSE.search(sentence.text) is not None
    return owner in hits.values() and not goes_on


def _without_addresses(asking: Asking, text: str) -> str:
    """Return a text without the targets of links; for a number, also without addresses."""
    asks_address = asking.kind == "where" or not (vocabulary.LINKS | vocabulary.PLACES).isdisjoint(asking.words)
    text = text if asks_address else _TARGET.sub("", text)
    return _ADDRESS.sub(" ", text) if asking.kind in _NUMERIC else text


def _cut_relative(asking: Asking, text: str) -> tuple[str, list[str]]:
    """Return a text without its relative clauses, and those with their subjects."""
    found: list[str] = []

    def cut(clause: re.Match[str]) -> str:
        before = clause.string[: clause.start()]
        if not before.strip():
            return clause[0]
        if clause["comma"] or not _ASKS.search(before):
            noun, rest = _noun_before(before), clause["rest"].strip()
            found.append(f"{rest} in {noun}" if clause["word"].lower() == "where" else f"{noun} {rest}")
        is_opening = "," not in before and (_COMPARISON.match(before) or _OPENING.match(before))
        return " " if clause["comma"] and clause["end"] and not is_opening else clause["end"]

    text = _RELATIVE.sub(cut, text)
    if asking.is_german:
        text = _GERMAN_RELATIVE.sub(lambda each: cut(each) if _GERMAN_VERB.search(each["rest"]) else each[0], text)
    return text, found


def _noun_before(text: str) -> str:
    """Return the noun that a text ends with; all of a clause that says what its subject is."""
    clause = re.split(r"[,;()–—]\s*", text)[-1]
    words = clause.split()
    begin = len(words) - 1
    while begin > 0 and words[begin].lower() not in _OWN:
        is_name = words[begin][:1].isupper()
        if vocabulary.is_grammar(words[begin - 1].lower()) and words[begin - 1].lower() not in _OWN:
            break
        if is_name and not words[begin - 1][:1].isupper() and words[begin - 1].lower() not in _OWN:
            break
        begin -= 1
    while begin > 1 and words[begin - 1].lower() == "of":  # "the price of the barn"
        begin -= 2
        while begin > 0 and words[begin].lower() not in _OWN and not vocabulary.is_grammar(words[begin - 1].lower()):
            begin -= 1
        if begin > 0 and words[begin].lower() not in _OWN and words[begin - 1].lower() in _OWN:
            begin -= 1
    is_told = begin > 0 and words[begin - 1].lower() in vocabulary.BEING
    return clause if is_told else " ".join(words[begin:])


def _cut_subordinate(asking: Asking, text: str) -> tuple[str, list[str]]:
    """Return a text without the clauses that conjunctions begin, and those that state."""
    found: list[str] = []

    def cut(clause: re.Match[str]) -> str:
        word, rest, is_first = clause["word"].lower(), clause["rest"], not clause.string[: clause.start()].strip()
        if (is_first and not clause["end"]) or not _is_subordinate(asking, clause):
            return clause[0]
        if word in _STATING and (word not in _MAY_BE_TIME or _FINITE.search(rest)):
            found.append(rest.strip())
        return "" if is_first else " " if clause["before"] and clause["end"] else clause["end"]

    return _SUBORDINATE.sub(cut, text), found


def _is_subordinate(asking: Asking, clause: re.Match[str]) -> bool:
    """Return whether a conjunction begins a clause, or a time, that is not asked for."""
    word, rest = clause["word"].lower(), clause["rest"]
    if word in asking.words or (asking.kind == "why" and word.split()[0] in _CAUSES):
        return False
    if asking.kind == "duration" and word in {"until", "till"}:
        return False
    if word not in _MAY_BE_TIME or _FINITE.search(rest):
        return True
    if word not in _BESIDE_TIME or asking.kind != "when" or _DATED.search(rest):
        return False
    return bool(rest.strip()) and not _VERBS_WITH_AFTER.search(clause.string[: clause.start()])


def _cut_comparison(asking: Asking, text: str) -> str:
    """Return a text without what something is compared with."""

    def cut(clause: re.Match[str]) -> str:
        is_first = not clause.string[: clause.start()].strip()
        ends = clause.string[clause.end() : clause.end() + 1] == ","
        if is_first and not ends and (opening := _APART.match(clause[0])):
            return clause[0][opening.end() :]
        is_asked = not asking_words.isdisjoint(tokens(clause[0].lower())[:3])
        return clause[0] if is_asked or (is_first and not ends and not clause["half"]) else " "

    asking_words = {"than", "as", "twice", "half", "double", "unlike", "like", "times", "als"}.intersection(
        asking.words
    )
    return _COMPARISON.sub(cut, text)


def _split_beside(text: str) -> list[str]:
    """Return the main clauses of a text that have subjects of their own."""
    found, begin = [], 0
    for mark in _BESIDE.finditer(text):
        if _HAS_VERB.search(text[begin : mark.start()]):
            found.append(text[begin : mark.start()])
            begin = mark.end()
    return [*found, text[begin:]]


def _without_label(sentence: Sentence, text: str) -> Sentence:
    return sentence.with_text(text.strip())._replace(value=0, key=0)
