"""Intent of a question (why, when, entity or what), classified by its words.

What supports a thing is asked like what led to it, so *why* stands for both.

Each family of words in the question adds 3 points to its intent, a time phrase 2 to *when*, and a leading question word
2 to its own. The English tables are those of ClawMem's classifier and some more, matched on full words instead of prefixes; *why* is
read in the languages in which time is (`lamina_engine.time.lexicon`), and in Chinese, Japanese and Korean.
"""

from __future__ import annotations

import functools
import re
from typing import Final

from lamina_engine.expressions import late
from lamina_engine.profiles import INTENTS, WHAT

_FAMILY: Final = 3
_HINT: Final = 2

_MONTHS: Final = (
    "january|february|march|april|may|june|july|august|september|october|november|december|"
    "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)
_UNITS: Final = "second|minute|hour|day|week|month|quarter|year"
_NUMBER: Final = r"\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|few|couple of"

_FAMILIES: Final[dict[str, tuple[str, ...]]] = {
    "why": (
        r"why", r"caus(?:e|es|ed|ing)", r"because", r"reasons?|rationale", r"led to", r"result(?:s|ed|ing)? (?:in|from)",
        r"depend(?:s|ed|ing|ency|encies)?", r"block(?:s|ed|ing|er|ers)?", r"choose|chose|chosen", r"decisions?|decided?",
        r"trade-?offs?", r"instead of", r"how come", r"(?:root|main) causes?", r"what made", r"due to", r"evidence",
        r"(?:what|which|who)(?: \w+){0,3} (?:supports?|supported|backs?|backed)", r"supporting",
        # de
        r"warum|wieso|weshalb|weswegen|wodurch", r"woran (?:liegt|lag)", r"grund|gründe[ns]?|ursachen?", r"verursacht\w*|ausgelöst",
        r"stützt|stützen|untermauer\w+|belegt",
        # fr
        r"pourquoi", r"raisons?", r"à cause|en raison", r"provoqu\w+|caus(?:é|ée|ait)", r"appuie|étaye|soutient",
        # es, pt, it
        r"por qu[eéê]|porqu[eéê]", r"causas?|caus[oó]u?|causado|causato", r"motivos?|raz[oó]n|razones|raz[aã]o", r"debido a|devido a",
        r"perch[eé]|come mai", r"respalda|apoya|sustenta|apoia|sostiene", r"ragion[ei]",
        # nl
        r"waarom|hoezo", r"hoe komt", r"oorzak?e?n?|oorzaak|redenen|reden", r"veroorzaakt\w*", r"onderbouwt|ondersteunt",
        # ru, pl
        r"почему|отчего|зачем", r"причин\w*|из-за чего", r"вызвал\w*", r"подтверждает", r"dlaczego|czemu", r"przyczyn\w*|pow[oó]d\w*",
        r"spowodowa\w+", r"potwierdza|popiera",
        # sv, tr
        r"varför", r"hur kommer det sig", r"orsak\w*|anledning\w*", r"stöder|stödjer", r"neden|niçin|niye", r"sebep|sebebi",
        r"destekl\w+",
    ),
    "when": (
        r"when", r"timeline|chronology", r"dates?", r"yesterday|today", rf"(?:last|past|this|previous) (?:{_UNITS}|{_MONTHS})s?",
        rf"(?:{_NUMBER}) (?:{_UNITS})s? ago", r"(?:before|after) \d", rf"(?:in|since|during|until) (?:{_MONTHS}|(?:19|20)\d\d)",
    ),
    "entity": (
        r"who|whom|whose", r"persons?|people", r"teams?", r"projects?", r"relationships?", r"mention(?:s|ed|ing)?",
        r"organi[sz]ations?", r"compan(?:y|ies)",
    ),
}  # fmt: skip
_NAMED: Final = r"(?<![\w@#])[@#]\w"
_PHRASE: Final = (
    rf"(?<![\w-])(?:yesterday|today|(?:last|past|this) (?:(?:\d+ )?(?:{_UNITS})s?)|(?:{_NUMBER}) (?:{_UNITS})s? ago"
    rf"|(?:in|since) (?:{_MONTHS}|(?:19|20)\d\d))(?![\w-])"
)
_LEADING: Final = {"why": "why", "when": "when", "who": "entity"} | dict.fromkeys(
    ("warum", "wieso", "weshalb", "pourquoi", "perché", "perche", "waarom", "почему", "dlaczego", "varför", "neden", "niçin"), "why"
)  # fmt: skip
_WHY_CJK: Final = re.compile("なぜ|何故|どうして|なんで|为什么|為什麼|为何|为啥|怎么会|왜|이유|원인|原因|理由")
"""Written without spaces: no border of a word is asked for."""


_WORDS: Final = {
    intent: tuple(late(rf"(?<![\w-])(?:{family})(?![\w-])", re.IGNORECASE) for family in families)
    for intent, families in _FAMILIES.items()
}


@functools.lru_cache(maxsize=1024)
def classify(question: str) -> str:
    """Return the intent of a question; ties go to why, then when, then entity."""
    points = {intent: _FAMILY * sum(bool(word.search(question)) for word in words) for intent, words in _WORDS.items()}
    points["why"] += _FAMILY * bool(_WHY_CJK.search(question))
    points["entity"] += _FAMILY * bool(re.search(_NAMED, question))
    points["when"] += _HINT * bool(re.search(_PHRASE, question, re.IGNORECASE))
    first = question.split(maxsplit=1)[0].lower() if question.split() else ""
    if first in _LEADING:
        points[_LEADING[first]] += _HINT
    best = max(INTENTS[:3], key=lambda intent: points[intent])
    return best if points[best] else WHAT
