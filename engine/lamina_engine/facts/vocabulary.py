"""Words of questions by what they ask for, and values by what they are; English.

`lamina_engine.facts.intents` has the words that ask for a kind of fact; these are those around them.
"""

from __future__ import annotations

import re
from typing import Final


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


# ---------------------------------------------------------------------- words that ask for nothing

FLUFF: Final = word_set(
    """tell know known show give find list info information detail details thing things anything everything something describe
    summarise summarize summary overview current currently exactly exact please kind type sort say says said mean means remember remind
    recall lookup look need want wonder idea question answer fact facts actually today now latest still moment right days these
    chance possibly maybe hey hi hello thanks thank got quickly precisely exist exists cant usually usual everybody anybody
    anyone someone somebody one way us our we must may might shall name names whom whose which much many able
    behind inside within onto via per upon physically"""
)
"""Words that ask for nothing."""
LIGHT_NOUNS: Final = word_set(
    """number period amount date day days time length service services project projects tool tools system systems app apps machine
    person place content contents part parts item items size software"""
)
"""Nouns that ask for nothing beside what does, and for a predicate that they name where nothing else does."""
LIGHT_VERBS: Final = word_set(
    """use uses used using have has had hold holds held wear wears take takes taken go goes going went keep keeps kept run runs
    running get gets work works working happen happens happened called call set sets stand stands belong belongs serve serves
    served put live lives living stored saved located found installed based listed named discussed mentioned noted written
    needed required planned expected supposed send write open gives given done installed placed mounted racked housed"""
)
"""Verbs that ask for nothing beside what does."""
LIGHT: Final = LIGHT_NOUNS | LIGHT_VERBS | word_set("best long far week month year people")
"""Words that ask for nothing beside what does."""
GENERIC: Final = FLUFF | LIGHT | word_set("think team")
"""Words of questions that are no names of things."""
EVENTS: Final = LIGHT_VERBS - word_set("use have get happen take done called") | word_set("give gave")
"""Verbs that ask for an event where the question is of the past: "what did it serve" is not what it serves."""
PLAIN: Final = word_set(
    """who who's what what's is are was am do does did you i we me my your myself yourself about on of for the a an all and have
    has can could"""
)
"""Function words of questions for everything."""
SELVES: Final = (
    "who am i", "what am i", "who are you", "what are you", "about me", "about myself", "about you", "about yourself",
)  # fmt: skip
"""Phrases that ask for everything about the speaker, or the agent that is asked."""

# ---------------------------------------------------------------------- words that make it another question

NARROWING: Final = word_set("before after during not nor never other down off out than")
"""Function words that make it another question."""
DENIALS: Final = word_set("not nor never neither cannot")
"""Words that deny: no value that is so answers what is not so."""
RANKS: Final = word_set("last first next previous ever originally initially")
PASSING: Final = word_set("now today tonight currently moment")
"""Words for this moment, at which a place that is known may not be the place."""
PAST: Final = word_set("did had was were")
MEASURES: Final = word_set("size length amount")
"""Light nouns that ask for something by name: "the size of"."""

# ---------------------------------------------------------------------- words of grammar

ARTICLES: Final = word_set("the a an our my your their")
HELPERS: Final = word_set("do does did should can could must may will would")
HAVING: Final = word_set("has have")
BEING: Final = word_set("is are was were be been")
ASKERS: Final = word_set("i we you one")
WHICH: Final = word_set("which what")
LINKING: Final = word_set("of for to behind")
RELATIVE: Final = word_set("that which who whom")
DEGREES: Final = word_set("big large high long low tall wide deep heavy small fast much")
"""Adjectives after "how" that ask for a measure."""
ASKING: Final = {
    "who": "who", "whom": "who", "whose": "who", "when": "when", "where": "where", "whereabouts": "where", "why": "why",
}  # fmt: skip
"""Question words, with the kind of value that they want."""
ASKING_PAIRS: Final = {
    ("how", "many"): "number",
    **dict.fromkeys(((ask, noun) for ask in ("which", "what") for noun in ("machine", "server", "host")), "machine"),
    **dict.fromkeys(((ask, noun) for ask in ("which", "what") for noun in ("date", "year")), "when"),
    **dict.fromkeys((("how", "often"), ("how", "old"), ("what", "time")), "when"),
}
"""The same of two words."""
SORTS: Final = {
    **dict.fromkeys(("city", "town", "village", "country", "place"), "where"),
    **dict.fromkeys(("person", "colleague", "man", "woman"), "who"),
}
"""Nouns after "which" that say no more than a question word."""
_TYPES: Final = """
machine server host box node computer
company firm vendor supplier business
city town village
person colleague
team group squad
database datastore db store
data_centre datacentre datacenter facility site
"""
PRICING: Final = word_set("cost costs pay paid charge charges earn earns spend spent")
"""Verbs after "what" that ask for a sum."""
TYPE_WORDS: Final = {
    kind: word_set(line) for line in _TYPES.strip().split("\n") for kind in line.split()
}  # fmt: skip
"""Words for things of a type, by each of them: a question calls a machine a server."""
MOMENT: Final = word_set("when since what which on date day")
"""Words that ask for the moment of the thing itself, where they stand alone."""
SPOT: Final = word_set("where where's is are")
"""The same for its place."""
HAPPENING: Final = word_set("happen happens happened take takes taken place planned expected supposed date day time")
"""Light words that go with these."""
UNITS: Final = frozenset(
    f"{unit}{end}" for unit in ("second", "minute", "hour", "day", "week", "month", "year", "time") for end in ("", "s")
)
"""Units of time: a value that has them is not for that what is counted."""

QUESTION_WORDS: Final = word_set("who whom whose what which when where why how")
_GRAMMAR: Final = (
    BEING | HELPERS | HAVING | QUESTION_WORDS | ARTICLES
    | word_set(
        """be been being had having of for to in on at by with from into onto us i me you they them his her its it he she this that these
        those and or not no there here as than then so too if up out any some much many more one ones get gets got please exactly just still
        now today currently nowadays use uses used using about per via let need needs want name named kind sort type roughly ever also both
        each every these days under within right actually again allowed able we"""
    )
)  # fmt: skip

AUXILIARY: Final = r"(?:is|are|was|were|been|has|have|had|can|could|will|would|shall|should|(?-i:may)|might|must|does|did|do|gets?|got)"
VERB: Final = (
    rf"(?:{AUXILIARY}|costs?|owns?|runs?|ran|uses?|holds?|held|weighs?|takes?|took|keeps?|kept|stands?|stood|lies|comes?|came|goes|went|"
    r"leaves?|left|begins?|began|starts?|ends?|opens?|closes?|carries|pays?|paid|sold|bought|built|broke|stopped|lives?|leads|led|manages|"
    r"defaults)"
)
"""Verbs of clauses, so far as they are known without a dictionary."""


def is_grammar(word: str) -> bool:
    """Return whether a word of a question or a sentence says nothing by itself."""
    return word in _GRAMMAR


def is_helper(word: str) -> bool:
    """Return whether a word begins a question that is answered by yes or no: "isn't", "does"."""
    return word.removesuffix("n't") in BEING | HELPERS | HAVING | {"ca", "wo"}


def denies(word: str) -> bool:
    """Return whether a word denies what stands beside it."""
    return word in DENIALS or word.endswith("n't")


# ---------------------------------------------------------------------- parts of predicates

PRESENT: Final = word_set("current latest present best own exact usual")
"""Parts that a question may leave out."""
HEADS: Final = word_set("address code id location name style url order info details size handle account username type")
"""Ends that need not be asked for: a "locker code" is what is asked of a locker."""
COUNTS: Final = word_set("count number size total limit capacity")
"""Ends that "how many" asks for."""
TARGETS: Final = {
    "where": word_set("target destination path folder bucket space spot"), "much": word_set("value price amount cost fee sum rent")
}  # fmt: skip
"""Ends that a question word asks for."""
PLACES: Final = word_set(
    """address home location residence city town country office room place path file folder repo repository github git url website
    site homepage domain fqdn email mail employer company machine server host birthplace origin hometown credentials credential
    token password key secret channel floor building shelf desk"""
)
"""Parts by which a value says where something is."""
PERSONS: Final = word_set(
    """owner maintainer lead leader author writer manager boss supervisor mentor teacher lecturer partner spouse wife husband
    mother father parent child son daughter brother sister sibling friend colleague deputy assistant contact director chair captain
    editor"""
)
"""Ends whose values are people, who are at no place that is known."""
THINGS: Final = word_set(
    "server router number order counter computer folder container cluster timer trigger layer paper weather"
)
"""Ends in -er that are no people."""
KINDS: Final = word_set(
    """work home office mobile cell main primary official direct personal private full whole monthly yearly annual current latest
    favourite favorite preferred own date time name number address id type lecture meeting"""
)
"""Parts that say only of what kind: a work phone is a phone."""
LINKS: Final = word_set("link url address page website")
"""Words for a value that is a link."""
SPELLINGS: Final = {
    word: standard
    for standard, *words in map(str.split, (
        "database db databases", "repository repo repos", "environment env", "configuration config", "language lang", "number num",
        "quantity qty", "average avg", "temperature temp", "address addr", "telephone tel", "documentation doc docs",
        "organisation org organization", "department dept", "favourite favorite", "colour color", "licence license", "centre center",
        "minimum min least lowest smallest minimal", "maximum max most highest largest biggest maximal", "timezone tz",
        "programme program", "requirement req requirements", "information info", "description desc", "administrator admin dba",
        "application app", "authentication auth", "certificate cert", "frequency freq", "volume vol", "manager mgr",
        "kilometre km kilometres kilometers kilometer", "kilogram kg kilograms", "gigabyte gb gigabytes", "megabyte mb megabytes",
        "tonne tonnes", "euro eur euros", "dollar usd dollars", "directory dir", "message msg", "password pwd passwd",
        "version ver", "photo pic picture", "theatre theater", "lead led leads leading", "lend lent", "drive drove driven", "build built",
        "sell sold", "buy bought", "speak spoke spoken", "choose chose chosen", "draw drew drawn", "teach taught", "write wrote written",
    ))
    for word in words
}  # fmt: skip
"""Short forms, other spellings and irregular forms, with the word they stand for."""

# ---------------------------------------------------------------------- values

_MONTHS_AND_DAYS: Final = (
    r"\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|mon|tues?|wed|wednes|thu|thurs?|fri|sat|satur|sun)"
    r"(?:day|[a-z]*ary|ch|il|e|y|ust|t?ember|ober)?s?\b"
)
DATE: Final = re.compile(
    rf"(?<![\w-])\d|{_MONTHS_AND_DAYS}|\b(?:day|dai|night|week|month|year|hour|minute|noon|morning|evening|quarter|fortnight|spring|"
    r"summer|autumn|winter|christmas|easter|always|never|once|twice|century|decade)",
    re.IGNORECASE,
)
"""Values that can say when."""
DAY: Final = re.compile(rf"\d{{4}}-\d\d|\d:\d\d|{_MONTHS_AND_DAYS}", re.IGNORECASE)
"""Values that say nothing but when."""
NUMBER: Final = re.compile(
    r"\d|\b(?:no|one|two|three|four|five|six|seven|eight|nine|ten|twelve|dozen|hundred|thousand|million)\b",
    re.IGNORECASE,
)
FIGURE: Final = re.compile(r"[\d.,:/\s-]+")
NAME: Final = re.compile(r"(?:[A-Z][a-z]{0,3}\. )?[^\W\d_a-z][\w'’.-]*|@\w+")
IDENTIFIER: Final = re.compile(r"[A-Z]|.*\d")
URL: Final = re.compile(r"\w+://")
