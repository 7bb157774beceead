"""Values in sentences: the places at which one can say who, when, where, why or how much.

A sentence answers a question only where it holds a value of the kind asked for that the question does not hold itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal

from lamina_engine.facts import vocabulary
from lamina_engine.facts.vocabulary import word_set

Kind = Literal["who", "when", "where", "why", "duration", "frequency", "count", "amount", "measure", "which", "what"]


MONTH: Final = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|"
    r"dec(?:ember)?"
)
WEEKDAY: Final = r"mon(?:day)?s?|tue(?:s(?:day)?)?s?|wed(?:nesday)?s?|thu(?:rs(?:day)?)?s?|fri(?:day)?s?|sat(?:urday)?s?|sun(?:day)?s?"
COUNT: Final = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand|half|dozen"
_UNIT: Final = r"(?:s|ms|secs?|mins?|h|hrs?|d|seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?)"
_DAY: Final = re.compile(rf"(?:{MONTH}|{WEEKDAY})", re.IGNORECASE)
PATTERNS: Final[dict[str, re.Pattern[str]]] = {
    "when": re.compile(
        rf"\b(?:{MONTH}|{WEEKDAY})\b|\b(?:19|20)\d\d\b|\b\d\d?:\d\d\b|\bweek \d|\b\d+ ?{_UNIT} (?:after|before|later|ago|in)\b|"
        r"\b(?:noon|midnight|mornings?|evenings?|nightly|weekends?|yesterday|tomorrow|christmas|easter|spring|summer|autumn|winter)\b",
        re.IGNORECASE,
    ),
    "duration": re.compile(
        rf"(?:\d|\b(?:{COUNT}|an?)\b)[\d.,–½-]*\s*-?{_UNIT}\b|\buntil\b|\bforever\b", re.IGNORECASE
    ),
    "frequency": re.compile(
        r"\b(?:every|each|daily|weekly|monthly|hourly|yearly|nightly|quarterly|once|twice|(?:mon|tues|wednes|thurs|fri|satur|sun)days)\b|"
        rf"\b(?:first|second|third|fourth|last) (?:{WEEKDAY}|day)\b|"
        r"\b(?:per|an?|times an?) (?:minute|hour|day|week|month|year)\b",
        re.IGNORECASE,
    ),
    "why": re.compile(
        r"\b(?:because|since(?! (?:v?\d|version|release))|due to|"
        r"as(?= (?:it|they|we|he|she|this|that|these|those|there|the|our|its|you)\b)|"
        r"reason|cause[sd]?|thanks to|so|owing|on account|too|in order|to (?:save|avoid|keep))\b|(?<=.)→",
        re.IGNORECASE,
    ),
}  # fmt: skip
"""Kinds of value that a phrase shows."""
BYTES: Final = re.compile(r"\d ?(?:[kmgtp]i?b|(?:kilo|mega|giga|tera)?bytes?)\b", re.IGNORECASE)
STORED: Final = word_set("memory ram disk space storage data swap")
"""What is measured in bytes."""
_CLOCK: Final = re.compile(r"\d\d?:\d\d")
_SAYS_SUM: Final = re.compile(r"\||it (?:is|was)\b|.*[:=]\s*[^\w\s]?\d", re.IGNORECASE | re.DOTALL)
"""Begins a sentence whose number may be a sum without a word for money: a row, a label."""
_SOLE: Final = word_set("is are was were has have had there only just exactly")
"""Of these one stands before "one" where that counts: "there is one press", unlike a heading "One press for all"."""
LENGTH: Final = re.compile(r"\d ?(?:m|km|metres?|meters?|miles?|feet|ft|cm|mm)\b[^.]*\blong\b", re.IGNORECASE)
"""How long a thing is, which is asked as how long something takes is."""
COLOURED: Final = word_set("colour color colours colors")
COLOUR: Final = (
    r"\b(?:red|green|blue|yellow|black|white|gr[ae]y|brown|orange|purple|violet|pink|silver|gold|golden|beige|turquoise|teal|cream|navy|"
    r"maroon|ochre)\b"
)
_DATED: Final = re.compile(r"(?:19|20)\d\d-\d\d?(?:-\d\d?)?")
_NUMBER: Final = re.compile(rf"[~<>≥≤]?\d[\d.,:–-]*[kKmM]?|{COUNT}", re.IGNORECASE)
_MEASURES: Final = word_set(
    """kg litres litre km degrees hours hour minutes minute days day weeks months years seconds ms h min gb mb tb a v kw cm mm metres
    january february march april may june july august september october november december"""
)
_MEASURED: Final = (
    (word_set("degrees degree celsius fahrenheit"), word_set("hot cold warm high low")),
    (word_set("kg g tonnes tons"), word_set("heavy big large high low much")),
    (word_set("hours hour minutes minute days day weeks months years seconds ms h min"),
     word_set("long late fast high low big large much")),
    (word_set("km m cm mm metres metre meters"), word_set("long tall high low deep wide big large small")),
)  # fmt: skip
"""Units, and what they are a measure of."""
_OPENING: Final = word_set("because since while when although but after before")
CURRENCIES: Final = word_set("€ $ £ % euro euros eur dollars usd francs chf pounds kroner cents")
_BEFORE_THINGS: Final = word_set("in at near on for of a an since until")
_BESIDE: Final = 3
"""Words from a noun within which its name stands: "an electrician named Bos"."""
_AFTER_COUNT: Final = _MEASURES | word_set("% € $ £ euros euro francs dollars percent and or in at for to on per by")
_AGE: Final = re.compile(
    r"\d[ -](?:year|month|week|day)s?[ -]old\b|\baged? \d|\bborn\b|\bturn(?:s|ed) \d", re.IGNORECASE
)
VERSIONS: Final = word_set("version release versions releases")
_COMPARING: Final = re.compile(r"[~<>≥≤=]*[\d.]*\w?|least|than|newer|later|older|up")
"""Between what a version is of and its number, with grammar and the word itself."""
_SECRETS: Final = word_set("code password passphrase pin key id serial")
_FIGURES: Final = _SECRETS | word_set(
    """port version number ip extension channel plate amount limit size capacity rate share percentage temperature quota budget price cost
    fee rent salary height weight length speed age digits minimum maximum factor excess discount fine bonus release"""
)
_MONEY: Final = word_set(
    "price cost costs fee rent budget salary earn earns premium fine excess bonus deposit pay charge charges"
)
_PLACES: Final = word_set("city town country countries place village region")
_BEFORE_PLACES: Final = word_set("in at on to from near under behind with into via inside through above beside")
_ARTICLES: Final = word_set("the a an our my your their its host room")
_FINITE: Final = word_set("is are was were has had will can = does did wants")
IDENTIFIER: Final = re.compile(r"[a-z][A-Z]|\w[._/-]\w|\d[A-Za-z]|[A-Za-z]\d")
_QUOTED: Final = re.compile(r"`([^`]+)`|[\"“„«]([^\"“”»]+)[\"”“»]")
_ADDRESS: Final = re.compile(r"[/#]\w|\w\.\w{2,}")


def find_values(
    kind: Kind, text: str, words: Sequence[str], hits: Mapping[int, int], noun: Collection[str], heads: Collection[int],
    value: int = 0,
) -> bool:  # fmt: skip
    """Return whether a sentence holds a value of a kind.

    ``words`` are the sentence's, ``hits`` the places of the question's words among them by their places in the question, ``noun``
    the words after "which" or "how many", ``heads`` their places in the question, ``value`` the place of
    the first word behind a label, or 0.
    """
    if kind == "duration" and LENGTH.search(text):
        return True
    if not COLOURED.isdisjoint(noun):
        return re.search(COLOUR, text, re.IGNORECASE) is not None
    if kind in PATTERNS:
        return PATTERNS[kind].search(text) is not None
    taken = set(hits.values())
    left = [i for i, word in enumerate(words) if i not in taken and not vocabulary.is_grammar(word.lower())]
    left = [i for i in left if i == value > 0 or not _continues_name(words, i, taken)]
    numbers = [i for i, word in enumerate(words) if i not in taken and _NUMBER.fullmatch(word)]
    if kind == "who":
        asked = {words[k].lower() for k in taken}
        return any(
            is_name(words, i)
            and words[i].lower() not in asked
            and _BEFORE_THINGS.isdisjoint(_before(words, i))
            and words[i][:1].isupper()
            for i in left
        )
    if kind == "where":
        return any(_is_place(words, i) for i in left)
    if kind == "count":
        counted = {hits[i] for i in heads if i in hits}
        if counted and all(re.search(r"[-_./]", words[k]) for k in counted):
            return False  # a part of a name: "--files-cache" counts no files
        counted = counted or taken
        numbers = [i for i in numbers if not _DATED.fullmatch(words[i])]
        return any(_counts(words, i, counted) and not _is_numbered(words, i, noun) for i in numbers)
    if kind == "amount":
        if not STORED.isdisjoint(noun) and BYTES.search(text):
            return True
        held = [hits[i] for i in heads if i in hits]
        paid = _SAYS_SUM.match(text) is not None or not (_MONEY | vocabulary.PRICING | CURRENCIES).isdisjoint(
            word.lower() for word in words
        )
        numbers = [i for i in numbers if not _CLOCK.fullmatch(words[i])]
        return any(
            (_is_sum(words, i) and (paid or not vocabulary.BEING.isdisjoint(_before(words, i))))
            or not _MONEY.isdisjoint(noun)
            or any(0 < k - i <= 2 for k in held)
            for i in numbers
        )
    if kind == "measure":
        return _AGE.search(text) is not None if "old" in noun else any(_measures(words, i, noun) for i in numbers)
    quotes = [re.findall(r"[\w./-]*\w", found[0]) for found in _QUOTED.finditer(text)]
    # what says something is a message, and no name: "database is locked"
    quoted = {word for quote in quotes if vocabulary.BEING.isdisjoint(quote) for word in quote}
    names = [i for i in left if is_name(words, i) or words[i] in quoted]
    return _says_what(kind, words, hits, noun, heads, left, numbers, names)


def _says_what(
    kind: Kind, words: Sequence[str], hits: Mapping[int, int], noun: Collection[str], heads: Collection[int],
    left: Sequence[int], numbers: Sequence[int], names: Sequence[int],
) -> bool:  # fmt: skip
    """Return whether a sentence holds what "which port" or "what code" asks for."""
    if not _SECRETS.isdisjoint(noun):
        places = [hits[i] for i in heads if i in hits]
        return any(re.search(r"\d", words[i]) and any(0 < i - at <= 3 for at in places) for i in left)
    if "port" in noun:
        return any(re.fullmatch(r"\d{2,5}", words[i]) for i in numbers)
    if not _MONEY.isdisjoint(noun):
        return any(_is_sum(words, i) or not re.fullmatch(r"(?:19|20)\d\d", words[i]) for i in numbers)
    if not VERSIONS.isdisjoint(noun):
        return any(
            re.search(r"\d", words[i]) and not _is_of_another(words, i, hits.values()) for i in {*left, *numbers}
        )
    if not _FIGURES.isdisjoint(noun):
        return bool(numbers) or any(
            re.search(r"\d", words[i]) and "_" not in words[i] and not _is_day(words, i) for i in left
        )
    if not {"mail", "email", "e-mail"}.isdisjoint(noun):
        return any("@" in words[i] for i in left)
    if "address" in noun and max(heads) not in hits:
        return any(re.search(r"\d|@", words[i]) for i in left)
    if "name" in noun and hits:
        return any(_is_one_clause(words, i, k) for i in names for k in hits.values())
    if not _PLACES.isdisjoint(noun) or "name" in noun:
        return bool(names)
    if kind != "which":
        return bool(left)
    places = [hits[i] for i in heads if i in hits]
    if not places:
        return bool(names)  # the noun is no more than a sort of thing
    return any(abs(i - at) <= _BESIDE and _is_one_clause(words, i, at) for i in {*names, *numbers} for at in places)


def _before(words: Sequence[str], i: int) -> tuple[str, ...]:
    """Return the word before another, if there is one."""
    return (words[i - 1].lower(),) if i else ()


def _is_one_clause(words: Sequence[str], i: int, k: int) -> bool:
    """Return whether no clause of a reason or a time begins between two words."""
    return _OPENING.isdisjoint(word.lower() for word in words[min(i, k) : max(i, k)])


def _measures(words: Sequence[str], i: int, noun: Collection[str]) -> bool:
    """Return whether a number can be the measure asked for: no moment, nor another one."""
    if _is_day(words, i) or re.fullmatch(r"(?:19|20)\d\d(?:-\d\d?)*|\d\d?:\d\d", words[i]):
        return "late" in noun
    if not _is_unit(words, i) and not _is_so(words, i, noun):
        return False
    after = [word.lower() for word in words[i + 1 : i + 3]]
    if not (vocabulary.DEGREES - {"much"} - set(noun)).isdisjoint(after):
        return False
    return all(not units.issuperset(after[:1]) or not degrees.isdisjoint(noun) for units, degrees in _MEASURED if after)


def _is_unit(words: Sequence[str], i: int) -> bool:
    """Return whether a number has a unit: "48 px", "3GB", "40 %"."""
    after = words[i + 1].lower() if i + 1 < len(words) else ""
    return re.search(r"\d[^\W\d]", words[i]) is not None or (bool(after) and not vocabulary.is_grammar(after))


def _is_so(words: Sequence[str], i: int, noun: Collection[str]) -> bool:
    """Return whether a bare number is said to be the measure: "it is 40", "40 deep"."""
    near = [word.lower() for word in words[max(0, i - 2) : i + 3]]
    is_said = not (vocabulary.BEING | {"="}).isdisjoint(_before(words, i))
    return is_said or not ({*noun, "room", "space", "capacity"}).isdisjoint(near)


def _is_modifier(words: Sequence[str], i: int, k: int) -> bool:
    """Return whether what a number counts only tells a sort of it: "two revision streams"."""
    is_one = words[i].lower() in {"1", "one"} or words[k].lower().endswith(("s", "men", "ren"))
    after = "".join(words[k + 1 : k + 2])
    return (
        not is_one
        and k > i
        and after.isalpha()
        and after.islower()
        and after.endswith("s")
        and not vocabulary.is_grammar(after)
    )


def _is_of_another(words: Sequence[str], i: int, taken: Collection[int]) -> bool:
    """Return whether a number is the version of another thing: "Bash (version 4.4)"."""
    for k in range(i - 1, max(-1, i - 5), -1):
        word = words[k].lower()
        if not (word in VERSIONS or vocabulary.is_grammar(word) or _COMPARING.fullmatch(word)):
            return k not in taken and is_name(words, k)
    return False


def _continues_name(words: Sequence[str], i: int, taken: Collection[int]) -> bool:
    """Return True for the rest of a name that the question has: "Ferrer" of Paloma Ferrer."""
    return words[i][:1].isupper() and any(k in taken and words[k][:1].isupper() for k in (i - 1, i + 1))


def _is_sum(words: Sequence[str], i: int) -> bool:
    """Return whether a number can be a sum of money."""
    after = words[i + 1].lower() if i + 1 < len(words) else ""
    if re.fullmatch(r"(?:19|20)\d\d", words[i]) or _is_day(words, i):
        return after in CURRENCIES
    return not after or after in CURRENCIES or vocabulary.is_grammar(after)


def is_name(words: Sequence[str], i: int) -> bool:
    """Return whether a word of a sentence is a name, or part of one."""
    word = words[i]
    if _DAY.fullmatch(word) or not re.search(r"[^\W\d_]", word):
        return False
    if not word[:1].isupper():
        return IDENTIFIER.search(word) is not None
    if i:
        return True
    after = words[1] if len(words) > 1 else ""
    return after[:1].isupper() or after.lower() in _FINITE or after.endswith(("s", "ed"))


def _is_day(words: Sequence[str], i: int) -> bool:
    """Return whether a number is a day of a month, also the first of "5 to 9 March"."""
    if i + 2 < len(words) and words[i + 1] in {"to", "and", "until"} and words[i + 2].isdigit():
        return _is_day(words, i + 2)
    return any(_DAY.fullmatch(words[k]) for k in (i - 1, i + 1) if 0 <= k < len(words))


def _is_place(words: Sequence[str], i: int) -> bool:
    """Return whether a word is an address, a name, or what follows a preposition of place."""
    word = words[i]
    acts = "".join(words[i + 1 : i + 2]).endswith("ed")  # somebody who did something
    is_there = i > 0 and is_name(words, i) and not acts and not (word.islower() and word.replace("-", "").isalpha())
    if _ADDRESS.search(word):
        return True
    before = i - 1
    while before >= 0 and words[before].lower() in _ARTICLES:
        before -= 1
    if before < 0 or words[before].lower() not in _BEFORE_PLACES:
        return is_there
    return is_there or (word.isalpha() and not _DAY.fullmatch(word))


def _is_numbered(words: Sequence[str], i: int, noun: Collection[str]) -> bool:
    """Return whether a number tells one thing from the several asked for: "Table 54"."""
    return any(not {f"{word}s", f"{word}es"}.isdisjoint(noun) for word in _before(words, i))


def _counts(words: Sequence[str], i: int, counted: Collection[int]) -> bool:
    """Return whether a number counts one of some words: "nine vans", "vans: nine"."""
    if words[i].lower() == "one" and _SOLE.isdisjoint(word.lower() for word in words[:i]):
        return False
    for k in range(i + 1, min(i + 4, len(words))):
        if k in counted:
            return not _is_modifier(words, i, k)
        if words[k].lower() in _AFTER_COUNT:
            break
    if i + 1 < len(words) and words[i + 1].lower() in _AFTER_COUNT - {"in", "at", "and"}:
        return False
    return i - 1 in counted or (i > 1 and words[i - 1].lower() in {"=", "is", "are", "of"} and i - 2 in counted)
