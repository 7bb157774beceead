"""Statements: sentences of texts that answer a question no fact does.

Prose states facts without naming predicates: "Login for riders is handled by Auth0". A sentence is the answer where it accounts for
every word of the question that asks for something, holds a value of the kind asked for that the question does not hold, and
neither denies nor only considers it. One word that is left makes it another question, as with facts (`coverage`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from lamina_engine.facts import vocabulary
from lamina_engine.facts.asking import DENIED, DONE, RUNNING, Asking
from lamina_engine.facts.clauses import clauses_of, is_behind_preposition, is_part_of_subject
from lamina_engine.facts.defaults import asks_default, lacks_default, list_subjects
from lamina_engine.facts.german import in_english, in_english_grammar
from lamina_engine.facts.labels import is_of_another_field, is_place, is_role_of_section
from lamina_engine.facts.releases import (
    ASKING,
    RELEASED,
    asks_release,
    asks_successor,
    is_of_another_release,
    is_release,
    names_release,
    names_successor,
    says_deed,
)
from lamina_engine.facts.sentences import Read, Sentence, is_part, is_term, opening, read_words, split_text, title_words
from lamina_engine.facts.stating import CLAUSE, NOW, OVER, is_stated, without_afterthought
from lamina_engine.facts.subjects import asks_length, dates_event, is_length, is_own, names_somebody_else
from lamina_engine.facts.values import (
    BYTES,
    COLOUR,
    COLOURED,
    COUNT,
    CURRENCIES,
    IDENTIFIER,
    MONTH,
    STORED,
    VERSIONS,
    WEEKDAY,
    Kind,
    find_values,
    is_name,
)
from lamina_engine.facts.vocabulary import VERB, word_set
from lamina_engine.facts.wording import in_family, is_near, likeness, parts, tokens
from lamina_engine.index.languages import language_of

_WORD: Final = re.compile(r"[^\W\d_]+")
_READ: Final = 2_000
"""Characters of a text that tell its language."""
_IS: Final = r"(?: now| currently| today| (?:at|in|of|for|on) (?:the )?\w+)? (?:is|are|was|were|called|amounts)"
_OWNED: Final = re.compile(r"(\w[\w.-]*)['’]s? ((?:[\w-]+ ?){1,3})")
_LEAST: Final = 0.5
"""Likeness from which on a word of a sentence says a word of a question."""
_SAME: Final = 0.9
"""Likeness of two forms of one word."""
_SAID_BEFORE: Final = 0.8
"""The same of a word of an earlier sentence."""
_SUBJECT: Final = 2
"""Words that the subject of a sentence is among, if that is an identifier."""
_OPENED: Final = 3
"""The same of the sentence that opens a text."""
_BACK: Final = 2
"""Sentences before one in which its subject may be named."""
_FARTHEST: Final = 64
"""Sentences of one line that are looked back at."""
_EXTRA: Final = 0.01
"""What each word of a sentence takes from it: of two that say all, the one that says least beside."""
TENSE: Final = 0.3
"""What a word for the present adds to an answer to a question of the present, and a past form takes from it."""
_HELD: Final = 0.8
"""Likeness that a word of the setting counts with."""
_ENDING: Final = word_set("with through from by via in on for at")
"""Prepositions that end a question: "what is it fed with"."""
_MEASURED_BY: Final = {
    word: frozenset(nouns)
    for words, nouns in (
        (("heavy",), ("weight", "weighs", "weighed")), (("long",), ("length",)), (("wide",), ("width",)), (("deep",), ("depth",)),
        (("tall", "high"), ("height",)), (("old",), ("age", "aged", "born")), (("big", "large", "small"), ("size", "area")),
        (("hot", "cold", "warm"), ("temperature",)), (("fast",), ("speed",)), (("expensive",), ("price", "cost", "costs")),
    ) for word in words
}  # fmt: skip
"""Nouns for what adjectives measure."""
_SORTS: Final = word_set(
    """company firm vendor supplier provider tool program product app library framework service system agency software thing person
    colleague people partner team solution package platform language city town country place village region number"""
)
_EXTREMES: Final = word_set("minimum maximum min max least most lowest highest smallest largest")
"""Words that tell the values of one thing apart: a page that opens with both says neither of a line."""
_NOT: Final = re.compile(r"\b(?:not|never|cannot|no)\b|n['’]t\b", re.IGNORECASE)
_RANGE: Final = re.compile(
    r"\d\W*(?:,|and|or|to|through|[–+-])\W*(?:v?\d|above|newer|later|higher|up\b)|\d\+|[≥>]=? ?\d"
)
"""Several versions."""
_USING: Final = word_set("use uses need needs want wants has have buy buys")
"""Verbs of those who are provided for."""
_SAYS: Final = re.compile(rf"[:=→]|\d|\b{VERB}\b", re.IGNORECASE)
"""In a heading that states something: "Port: 8080"."""
_UNSAID: Final = word_set("number name names digits amount address")
"""Nouns that a value shows by its form."""
_PLACED: Final = word_set("lie lies find stored kept located stand stands put store keep")
_TIMED: Final = word_set("take takes took happen happens happened last hold planned scheduled made begin")
_IMPLIED: Final[dict[Kind, frozenset[str]]] = {
    "where": _PLACED, "when": _TIMED - {"last"}, "duration": _TIMED, "frequency": word_set("happen happens take place"),
}  # fmt: skip
"""Verbs that the kind of value says already: "where is it kept"."""
_CALLED: Final = word_set("called named")
_LISTENS: Final = re.compile(r"\b(?:listen|lausch|hört)\w* (?:\w+ )?(?:on|at|auf) :?\d", re.IGNORECASE)
"""Says a port without the word."""
_QUOTED: Final = re.compile(r"[`\"“„«]\w")
_LASTING: Final = word_set("valid live lives last lasts kept keep stored retained")
_IS_SO_LONG: Final = re.compile(r":[*_]*\s*(?:about |~ ?)?\d")
_PROVIDERS: Final = word_set("provider supplier vendor company firm service")
_JOINED: Final = re.compile(r"\w[./:@_]\w")
"""Addresses and paths, whose parts say a word only in full."""
_TIMES: Final = re.compile(
    rf"(?:{MONTH}|{WEEKDAY}|\W*\d.*|since|from|until|by|last|next|spring|summer|autumn|winter|year|years|month|week|day|mid|early|late|beginning|end)",
    re.IGNORECASE,
)
"""Words that say when, before the subject of a sentence."""
_COUNTING: Final = re.compile(
    rf"{COUNT}|only|just|exactly|about|around|roughly|almost|nearly|altogether", re.IGNORECASE
)
"""Words before what is counted."""
_ASIDE_BEFORE: Final = re.compile(r"[)\"”“»],?\s*$")
"""Ends an aside, behind which the subject before it goes on."""
_PRONOUNS: Final = word_set("it he she they we i you this these")
_REFERRING: Final = word_set("it its it's he she they her his their there that this these those them then him the")
_IT_IS: Final = re.compile(rf"it (?:is|was) (?:\w+ )?(?:[€$£~]? ?\d|{COLOUR})", re.IGNORECASE)
"""Begins a sentence all of whose subject stands before it."""


class Missing(NamedTuple):
    """Word of a question that a sentence does not say."""

    place: int
    word: str
    named: bool


class _Match(NamedTuple):
    """Words of a question as a sentence says them."""

    hits: dict[int, int]
    """Places of words of the sentence, by their places in the question."""
    likeness: float
    """How far they say them, added up."""
    missing: list[Missing]
    """Words that the text around the sentence says."""
    held: int
    """Number of those that its setting says."""
    back: int
    """How far back the others are."""
    through: bool
    """True where the provider that is asked for stands behind a preposition."""


def _rate_sentence(
    asking: Asking, said: Sequence[Sentence], at: int, year: str, about: Sequence[str]
) -> tuple[float, Sentence] | None:
    """Return how well a sentence answers a question, with its clause that does, or None.

    ``year`` is the year of the text: a question of another one is answered only where the sentence names that. ``about`` are the
    words of the text's title and opening, which its sentences need not repeat.
    """
    sentence = said[at]
    if not asking.is_denied and DENIED.search(sentence.text):
        sentence = without_afterthought(sentence)
    if is_role_of_section(asking, sentence):
        is_so = is_stated(asking, sentence, dict(enumerate(range(len(sentence.words)))))
        person = sentence._replace(written=f"{sentence.section}, {sentence.written}")  # who is the answer
        return (1.0 - _EXTRA * len(sentence.words), person) if is_so else None
    beside, below = clauses_of(asking, sentence)
    readings = [[*said[:at], *beside[: i + 1]] for i in range(len(beside))] + [[*said[:at], each] for each in below]
    rated = ((_rate_clause(asking, reading, year, about), reading[-1]) for reading in readings)
    return max(((rating, clause) for rating, clause in rated if rating is not None), key=itemgetter(0), default=None)


def _rate_clause(asking: Asking, said: Sequence[Sentence], year: str, about: Sequence[str]) -> float | None:
    """Return how well the last of some sentences answers a question; None where it does not."""
    sentence = said[-1]
    match = _match_words(asking, said, year, about)
    if match is None or not _holds_true(asking, sentence, match) or not _is_of_subject(asking, sentence, match):
        return None
    if match.back and asks_release(asking):
        return None  # "This fixes an issue of 3.15.0" is of whatever
    if _is_bare_heading(asking, sentence) or not _has_value(asking, sentence, match):
        return None
    words = match.likeness + _HELD * match.held
    rating = words / max(1, len(asking.content)) + 0.3 * (len(match.hits) + match.held) - 0.2 * match.back
    rating -= _EXTRA * len(sentence.words)
    if asking.is_present:
        rating += TENSE * ((NOW.search(sentence.text) is not None) - (OVER.search(sentence.text) is not None))
    if asking.words[-1] in _ENDING and asking.words[-1] in sentence.lower:
        rating += TENSE
    return rating


def _match_words(asking: Asking, said: Sequence[Sentence], year: str, about: Sequence[str]) -> _Match | None:
    """Return where the last of some sentences says a question's words, or None."""
    sentence = said[-1]
    hits, missing = _find_names(asking, sentence, year)
    likely = _pair_words(asking, sentence, hits)
    degree = _find_degree(asking, sentence)
    if degree is not None:
        hits[asking.noun[0]] = degree
    gone = {i for i, _ in asking.content if i not in hits}
    missing += [Missing(i, word, False) for i, word in asking.content if i in gone]
    through = _names_agent(sentence) and any(
        i in gone and asking.words[i] in _PROVIDERS and _USING.isdisjoint(asking.words[i + 1 : i + 2])
        for i in asking.head
    )
    left = [each for each in missing if not _is_implied(asking, each, sentence, hits)]
    if not through and _is_sort_alone(asking, sentence, implied=len(missing) - len(left)):
        return None
    outside = [each for each in left if not _is_held(asking, each, sentence, hits, about)]
    held = len(left) - len(outside)
    back = _count_back(asking, said, hits, outside)
    if back is None and len(left) == 1 and len(hits) > 1 and not asks_release(asking):
        place = _find_near(asking, left[0], sentence, hits)
        if place is not None:
            hits[left[0].place], back = place, 0
    return None if back is None else _Match(hits, likely, left, held, back, through)


def _find_names(asking: Asking, sentence: Sentence, year: str) -> tuple[dict[int, int], list[Missing]]:
    """Return where a sentence says the names of a question, and those that it does not."""
    hits: dict[int, int] = {}
    missing: list[Missing] = []
    for i, name in asking.names:
        said_words = sentence.words if len(name) == 1 and name.isalpha() else sentence.lower
        wanted = name if said_words is sentence.words else name.lower()
        # an address is a value: whose it is stands beside it
        stop = sentence.key if name.isdigit() and sentence.key else len(said_words)  # a number in a name is no value
        place = next(
            (k for k, word in enumerate(said_words[:stop]) if "@" not in word and _is_called(wanted, word)), None
        )
        if place is not None:
            hits[i] = place
        elif name != year:
            missing.append(Missing(i, name.lower(), True))
    return hits, missing


def _is_sort_alone(asking: Asking, sentence: Sentence, *, implied: int) -> bool:
    """Return whether a question only names a sort of thing, and a value implies that."""
    return (
        bool(implied)
        and asking.kind == "which"
        and not any(_is_shown(asking, asking.words[i], sentence) for i in asking.noun)
        and len(asking.content) + len(asking.names) < 2 + implied
    )


def _find_near(asking: Asking, missing: Missing, sentence: Sentence, hits: dict[int, int]) -> int | None:
    """Return the place of a neighbour of a word; a name has none, nor has who somebody is."""
    if missing.named or missing.place in {*asking.head, *asking.noun}:
        return None
    free = (k for k, word in enumerate(sentence.lower) if k not in hits.values() and not vocabulary.is_grammar(word))
    return next((k for k in free if is_near(missing.word, sentence.lower[k])), None)


def _holds_true(asking: Asking, sentence: Sentence, match: _Match) -> bool:
    """Return whether a sentence states what is asked, and who did it."""
    hits = match.hits
    if not (hits or _is_bare(asking, sentence) or _is_labelled(asking, sentence)):
        return False
    is_entry = asks_release(asking) and _NOT.search(sentence.text) is None  # "deprecated, will be removed"
    if not (is_entry or is_stated(asking, sentence, hits) or dates_event(asking, sentence, hits)):
        return False
    if asking.kind == "who" and sentence.release and not any(word.endswith(DONE) for _, word in asking.content):
        return False  # who did it then, and not who does it now
    return asking.kind != "who" or not (
        _lacks_deed(asking, hits) or (not asking.is_passive and _lacks_agent(asking, sentence, hits))
    )


def _is_of_subject(asking: Asking, sentence: Sentence, match: _Match) -> bool:
    """Return whether a sentence is about the thing, person and field that are asked about."""
    hits = match.hits
    if names_somebody_else(asking, sentence, hits, left_out=bool(match.missing)):
        return False
    if asks_length(asking) and not is_length(sentence, hits) and _has_own_subject(asking, sentence, hits):
        return False
    alone = len(asking.content) + len(asking.names) == 1
    if alone and hits and asking.kind in {"who", "what", "which"} and not _defines(sentence, next(iter(hits.values()))):
        return False
    if is_behind_preposition(asking, sentence, hits) or is_part_of_subject(asking, sentence, hits):
        return False
    if _asks_several(asking, sentence, hits):
        return False
    return (
        not _is_of_another(asking, sentence, hits)
        and not is_of_another_release(asking, sentence, hits)
        and not is_of_another_field(asking, sentence, hits, held=bool(match.held))
        and not lacks_default(asking, sentence, hits)
    )


def _has_value(asking: Asking, sentence: Sentence, match: _Match) -> bool:
    """Return whether a sentence holds a value of the kind asked for, and links its name."""
    hits = match.hits
    if asks_release(asking) and (asking.kind != "when" or names_release(asking, sentence, hits)):
        return names_release(asking, sentence, hits)
    if asks_successor(asking) and not names_successor(asking, sentence, hits):
        return False
    noun = [asking.words[i] for i in asking.noun] or ["name"] * (asking.kind == "what" and "name" in asking.words)
    is_shown = match.through or (asks_length(asking) and is_length(sentence, hits)) or is_place(asking, sentence)
    if not is_shown and not find_values(
        asking.kind, sentence.text, sentence.words, hits, noun, asking.noun, sentence.value
    ):
        return False
    if not asking.is_copular or not VERSIONS.isdisjoint(noun):
        return True
    return all(i in hits or _is_shown(asking, asking.words[i], sentence) for i in asking.noun)


def _is_bare_heading(asking: Asking, sentence: Sentence) -> bool:
    """Return whether a sentence is a heading that only names things."""
    is_heading = bool(sentence.headings) and sentence.lower == sentence.headings[-1]
    return is_heading and asking.kind in {"which", "what"} and not _SAYS.search(sentence.text)


def _asks_several(asking: Asking, sentence: Sentence, hits: dict[int, int]) -> bool:
    """Return whether a question asks for all of a sort, and a sentence tells of one.

    "Which shells", and "the Fish shell".
    """
    if asking.kind not in {"which", "what"} or not asking.noun:
        return False
    i = asking.head[-1] if asking.head else asking.noun[-1]
    asked, said = asking.words[i], sentence.lower[hits[i]] if i in hits else ""
    if asked in VERSIONS and asked.endswith("s") and not _RANGE.search(sentence.text):
        return True
    return asked.endswith("s") and not asked.endswith("ss") and said in {asked[:-1], asked[:-2]}


def _is_of_another(asking: Asking, sentence: Sentence, hits: dict[int, int]) -> bool:
    """Return whether a sentence is about what a thing has, and the question about the thing."""
    said = {sentence.lower[k] for k in hits.values()}
    return any(
        owner.lower() in said and not said.intersection(tokens(thing.lower()))
        for owner, thing in _OWNED.findall(sentence.text)
    )


def _find_degree(asking: Asking, sentence: Sentence) -> int | None:
    """Return the place of the word for what is measured: "weight" for "how heavy"."""
    if asking.kind != "measure":
        return None
    degree = asking.words[asking.noun[0]]
    said = {degree, *_MEASURED_BY.get(degree, ())}
    return next((k for k, word in enumerate(sentence.lower) if word in said), None)


def _is_bare(asking: Asking, sentence: Sentence) -> bool:
    """Return whether a sentence says only how much, or which colour, of what stands before it."""
    return (asking.kind in {"measure", "amount"} or not COLOURED.isdisjoint(asking.words)) and (
        _IT_IS.match(sentence.text) is not None
    )


def _is_labelled(asking: Asking, sentence: Sentence) -> bool:
    """Return whether a sentence says what holds of its label, or answers a question.

    "Food: was X. Since May Y" is the one, "Where is the key? In the safe." the other.
    """
    if sentence.asked:
        return all(any(_likeness(word, each) >= _SAID_BEFORE for each in sentence.asked) for _, word in asking.content)
    is_label = any(asking.words[i] in sentence.setting for i in asking.head)
    return is_label and sentence.begins and NOW.search(sentence.text) is not None


def _is_called(name: str, word: str) -> bool:
    """Return whether a word of a sentence is a name of a question."""
    if name.isdigit() and "." in word:
        return name == word  # no part of a version
    return name in parts(word) or (len(name) > 3 and name.rstrip("s") in (part.rstrip("s") for part in parts(word)))


def _pair_words(asking: Asking, sentence: Sentence, hits: dict[int, int]) -> float:
    """Add the places that say the question's words, each at most one; return their likeness."""
    pairs: list[tuple[float, int, int]] = []
    named = set(hits.values())
    for i, word in asking.content:
        for k, said in enumerate(sentence.lower):
            unsaid = said != word and ("@" in said or (vocabulary.is_grammar(said) and not in_family(said)))
            if is_own(sentence.lower, k) or (k in named and "-" not in said) or unsaid:
                continue
            if is_part(word, said):
                continue  # "cache" of BORG_CACHE_DIR
            if "-" in word:
                like = float(set(word.split("-")) <= {*sentence.lower, *parts(said)} or word == said)
            else:
                like = float(says_deed(word, said)) * _SAID_BEFORE or _likeness(word, said)
            upon = said in RUNNING and sentence.lower[k + 1 : k + 2] in {("on",), ("at",), ("under",)}
            done = said == "run" and word != "run" and sentence.lower[k + 1 : k + 2] != ("by",)
            if (done or upon or (word in RUNNING and asking.kind != "who")) and like < _SAME:
                continue  # what a server runs on, or has run, says nobody who runs it
            if i in asking.head and like >= _SAME and said.endswith("ed") and not word.endswith("ed"):
                continue  # what is licensed is no license
            if like >= _LEAST:
                pairs.append((-like, i, k))
    taken: set[int] = set()
    sum = 0.0
    for like, i, k in sorted(pairs):
        if i not in hits and (k not in taken or "-" in sentence.words[k]):
            hits[i] = k
            taken.add(k)
            sum -= like
    return sum


def _is_implied(asking: Asking, missing: Missing, sentence: Sentence, hits: dict[int, int]) -> bool:
    """Return whether the form of a value says a word of the question."""
    i, word, named = missing
    if named:
        return False
    if asks_release(asking) and word in ASKING:
        return True
    if asks_successor(asking) and i == asking.content[0][0]:
        return names_successor(asking, sentence, hits)
    if asking.kind == "when" and word in RELEASED and is_release(sentence.written):
        return True
    if not VERSIONS.isdisjoint(asking.words[k] for k in asking.noun):
        return word in VERSIONS | RUNNING and _shows_version(sentence, hits)
    if i in asking.head and len(asking.noun) > 1 and word in _PROVIDERS:
        return asking.noun[-2] in hits and _names_agent(sentence)
    if asking.kind == "what" and word in _CALLED:
        return any(k not in hits.values() and is_name(sentence.words, k) for k in range(1, len(sentence.words))) or (
            _QUOTED.search(sentence.text) is not None
        )
    if asking.kind == "amount" and i in asking.noun and word in STORED:
        return BYTES.search(sentence.text) is not None
    if asking.kind == "when" and word in _LASTING | RUNNING and "until" in asking.words:
        return "until" in sentence.lower
    if asking.kind == "duration" and word in _LASTING:
        return _IS_SO_LONG.search(sentence.text) is not None
    if i in asking.head and len(asking.noun) > 1 and asking.kind == "which" and word in _SORTS:
        return True
    if word in vocabulary.LIGHT_VERBS and any(asking.words[k] in sentence.setting for k in asking.head):
        return True
    if i in asking.noun:
        return (
            word in _UNSAID
            or _is_shown(asking, word, sentence)
            or (asking.kind == "which" and len(asking.noun) == 1 and word in _SORTS)
        )
    return word in _IMPLIED.get(asking.kind, ())


def _is_shown(asking: Asking, word: str, sentence: Sentence) -> bool:
    """Return whether a value shows its sort by itself: "listens on 8443" is a port."""
    return word in asking.shown or (word == "port" and _LISTENS.search(sentence.text) is not None)


def _shows_version(sentence: Sentence, hits: dict[int, int]) -> bool:
    """Return whether a number stands behind a word of the question: "Ruby 3.3"."""
    return any(
        re.fullmatch(r"v?\d+(?:\.\d+)*", word) is not None
        for k in hits.values()
        for word in sentence.lower[k + 1 : k + 2]
    )


def _names_agent(sentence: Sentence) -> bool:
    """Return whether a sentence names by what something is done: "payments go through Mollie"."""
    by = {"through", "by", "via", "with", "from", "using"}
    return any(word in by and is_name(sentence.words, k) for k, word in enumerate(sentence.lower[:-1], 1))


def _is_held(asking: Asking, missing: Missing, sentence: Sentence, hits: dict[int, int], about: Sequence[str]) -> bool:
    """Return whether the setting of a sentence says a word: label, heading, or title."""
    if _is_among(missing, sentence.setting):
        return True
    around = (*itertools.chain(*sentence.headings), *(() if missing.word in _EXTREMES else about))
    if asks_default(asking):
        around = tuple(each for each in around if not is_part(missing.word, each.replace("-", "_")))
    return (
        missing.place not in asking.head and _is_among(missing, around) and not _has_own_subject(asking, sentence, hits)
    )


def _count_back(
    asking: Asking, said: Sequence[Sentence], hits: dict[int, int], missing: Sequence[Missing]
) -> int | None:
    """Return how far back the words are that the last sentence leaves out; None where nowhere."""
    sentence, words = said[-1], said[-1].lower
    begins = next((k for k, word in enumerate(words) if not vocabulary.is_grammar(word) and not word.isdigit()), None)
    refers = not _REFERRING.isdisjoint(words) or begins in hits.values()
    if missing and (
        not refers
        or any(each.place in {*asking.head, *asking.noun} for each in missing)
        or _has_own_subject(asking, sentence, hits)
        or _is_of_another_term(asking, sentence, missing)
    ):
        return None
    found = [_find_back(asking, each, said) for each in missing]
    return None if None in found else sum(filter(None, found))


def _is_of_another_term(asking: Asking, sentence: Sentence, missing: Sequence[Missing]) -> bool:
    """Return whether a sentence stands below another identifier than the one asked about."""
    asked = {i for i, name in asking.names if IDENTIFIER.search(name)}
    if asks_default(asking):
        asked |= {i for i, _ in list_subjects(asking)}
    return is_term(sentence.section) and any(each.place in asked for each in missing)


def _find_back(asking: Asking, missing: Missing, said: Sequence[Sentence]) -> int | None:
    """Return how many sentences before the last a word is said; None where none of its own is.

    What has a default is the subject of the sentence before: many others are named beside it.
    """
    is_subject = missing.named and asks_default(asking)
    for back in range(1, min(len(said), _FARTHEST + 1)):
        earlier = said[-1 - back]
        is_elsewhere = earlier.line != said[-1].line and (back > _BACK or said[-1].begins)
        if is_elsewhere or not said[-1].is_below(earlier):
            return None
        words = clauses_of(asking, earlier)[0][0].lower[:_SUBJECT] if is_subject else earlier.lower
        if _is_among(missing, words):
            return min(back, _BACK)
    return None


def _is_among(missing: Missing, words: Sequence[str]) -> bool:
    """Return whether some words say one that is missing."""
    if missing.named:
        return any(_is_called(missing.word, each) for each in words)
    said = (each for each in words if each == missing.word or not vocabulary.is_grammar(each) or in_family(each))
    return any(_likeness(missing.word, each) >= _SAID_BEFORE for each in said)


def _likeness(word: str, said: str) -> float:
    """Return how far a word, or a part of it, says another; of an address the whole part has to."""
    if _JOINED.search(said):
        return float(word in parts(said))
    return max((likeness(word, part) for part in parts(said)), default=0.0)


def _has_own_subject(asking: Asking, sentence: Sentence, hits: dict[int, int]) -> bool:
    """Return whether a sentence is about something else: "the next call starts"."""
    if not _PRONOUNS.isdisjoint(sentence.lower[:1]):
        return False
    first = min(hits.values(), default=0)
    before = sentence.text[: max(0, sentence.text.find(sentence.words[first]))] if hits else ""
    clauses = [len(tokens(clause)) for clause in CLAUSE.split(before)]
    goes_on = _ASIDE_BEFORE.search(before) is not None or (bool(hits) and sentence.lower[first] in CURRENCIES)
    begin = 0 if goes_on else sum(clauses[:-1])
    is_named = asking.kind in {"which", "what"} or (asking.kind == "who" and not _is_done_by(asking, sentence, first))
    return any(
        not vocabulary.is_grammar(word)
        and word not in sentence.setting
        and not _TIMES.fullmatch(word)
        and not (asking.kind == "count" and _COUNTING.fullmatch(word))
        and not (is_named and is_name(sentence.words, k))
        for k, word in enumerate(sentence.lower[begin:first], begin)
    )


def _is_done_by(asking: Asking, sentence: Sentence, k: int) -> bool:
    """Return whether a name before a verb is not who did it: "Heron is owned by"."""
    words = sentence.lower
    return not asking.is_passive and words[k + 1 : k + 2] == ("by",) and words[k].endswith(DONE)


def _defines(sentence: Sentence, k: int) -> bool:
    """Return whether a sentence says that one word is something: "CI: GitLab"."""
    word = re.escape(sentence.words[k])
    is_row = sentence.text.startswith("|")
    pattern = rf"\|\s*{word}\s*[|,]" if is_row else rf"(?<![\w-]){word}(?:\s*[:=(]|,?{_IS}\b)"
    return re.search(pattern, sentence.text) is not None


def _lacks_deed(asking: Asking, hits: dict[int, int]) -> bool:
    """Return whether a sentence leaves out what somebody does or is: "who pays the chef"."""
    done = [i for i, _ in asking.content if asking.words[i - 1] == "who"] or [i for i, _ in asking.content]
    return bool(done) and hits.keys().isdisjoint(done)


def _lacks_agent(asking: Asking, sentence: Sentence, hits: dict[int, int]) -> bool:
    """Return whether a sentence says that something was done, and not by whom."""
    words = sentence.lower
    done = {hits[i] for i, _ in asking.content if i in hits}
    is_done = any(_is_without_actor(sentence, k) for k in done)
    return is_done and not any(
        word in {"by", "with", "from"}
        and any(is_name(sentence.words, j) and words[j][0].isalpha() for j in range(i + 1, min(i + 4, len(words))))
        for i, word in enumerate(words)
    )


def _is_without_actor(sentence: Sentence, k: int) -> bool:
    """Return whether nobody does what a verb says: "was built", "Created using Sphinx".

    An entry of a changelog begins with a verb.
    """
    if k == 0 and sentence.release:
        return True
    if not sentence.lower[k].endswith(DONE) or k < sentence.value:
        return False
    is_passive = not vocabulary.BEING.isdisjoint(sentence.lower[max(0, k - 2) : k])
    return is_passive or not any(_is_actor(sentence, j) for j in range(k))


def _is_actor(sentence: Sentence, k: int) -> bool:
    """Return whether a word can name who does what follows."""
    return sentence.words[k][:1].isupper() and not vocabulary.is_grammar(sentence.lower[k])


def sentences_of(
    asking: Asking, text: str, year: str = "", title: str = "", source: str | None = None, tags: Sequence[str] = (),
    above: Sequence[str] = (),
) -> Iterator[tuple[float, Sentence]]:  # fmt: skip
    """Yield the sentences of a text that answer a question, with how well they do.

    Title, file and tags say what the text is about, and so do the headings above it.
    """
    read = _reading(asking, text)
    said = split_text(text, read, above)
    about = (*title_words(title, source, read), *read_words(" ".join(tags), read))
    first = opening(said)
    opened = () if first is None else clauses_of(asking, first)[0][0].lower[:_OPENED]
    for at, sentence in enumerate(said):
        below = opened if first is not None and sentence.is_below(first) else ()
        rated = _rate_sentence(asking, said, at, year, (*about, *below))
        if rated is not None:
            yield rated


def read_sentences(asking: Asking, text: str) -> list[Sentence]:
    """Return the sentences of a text in the language of a question."""
    return split_text(text, _reading(asking, text))


def _reading(asking: Asking, text: str) -> Read:
    """Return the function that gives a text in the language of a question."""
    if asking.is_german:
        return in_english_grammar
    is_german = language_of([word.lower() for word in _WORD.findall(text[:_READ])]) == "german"
    return in_english if is_german else str
