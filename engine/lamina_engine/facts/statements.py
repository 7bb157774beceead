"""Statements: sentences of texts that answer a question no fact does.

Prose states facts without naming predicates: "Login for riders is handled by Auth0". A sentence is the answer where it accounts for
every word of the question that asks for something, holds a value of the kind asked for that the question does not hold, and
neither denies nor only considers it. One word that is left makes it another question, as with facts (`coverage`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from lamina_engine.facts import vocabulary
from lamina_engine.facts.asking import DENIED, DONE, RUNNING, Asking
from lamina_engine.facts.dictionary import in_english
from lamina_engine.facts.german import in_english_grammar
from lamina_engine.facts.labels import is_of_another_field, is_place, is_role_of_section
from lamina_engine.facts.sentences import Read, Sentence, opening, read_words, split_text, subject_words, title_words
from lamina_engine.facts.stating import CLAUSE, NOW, OVER, is_stated, without_afterthought
from lamina_engine.facts.subjects import asks_length, dates_event, is_length, is_own, names_somebody_else
from lamina_engine.facts.values import (
    BYTES,
    COLOUR,
    COLOURED,
    COUNT,
    CURRENCIES,
    MONTH,
    STORED,
    WEEKDAY,
    Kind,
    find_values,
    is_name,
)
from lamina_engine.facts.wording import in_family, is_near, likeness, parts, tokens
from lamina_engine.index.languages import language_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


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
_BACK: Final = 2
"""Sentences before one in which its subject may be named."""
_EXTRA: Final = 0.01
"""What each word of a sentence takes from it: of two that say all, the one that says least beside."""
TENSE: Final = 0.3
"""What a word for the present adds to an answer to a question of the present, and a past form takes from it."""
_HELD: Final = 0.9
"""Likeness that a word of the setting counts with."""
_ENDING: Final = _words("with through from by via in on for at")
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
_SORTS: Final = _words(
    """company firm vendor supplier provider tool program product app library framework service system agency software thing person
    colleague people partner team solution package platform language city town country place village region number"""
)
_UNSAID: Final = _words("number name names digits amount address")
"""Nouns that a value shows by its form."""
_PLACED: Final = _words("lie lies find stored kept located stand stands put store keep")
_TIMED: Final = _words("take takes took happen happens happened last hold planned scheduled made begin")
_IMPLIED: Final[dict[Kind, frozenset[str]]] = {
    "where": _PLACED, "when": _TIMED - {"last"}, "duration": _TIMED, "frequency": _words("happen happens take place"),
}  # fmt: skip
"""Verbs that the kind of value says already: "where is it kept"."""
_CALLED: Final = _words("called named")
_LISTENS: Final = re.compile(r"\b(?:listen|lausch|hört)\w* (?:\w+ )?(?:on|at|auf) :?\d", re.IGNORECASE)
"""Says a port without the word."""
_QUOTED: Final = re.compile(r"[`\"“„«]\w")
_LASTING: Final = _words("valid live lives last lasts kept keep stored retained")
_IS_SO_LONG: Final = re.compile(r":[*_]*\s*(?:about |~ ?)?\d")
VERSIONS: Final = _words("version release")
_PROVIDERS: Final = _words("provider supplier vendor company firm service")
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
_PRONOUNS: Final = _words("it he she they we i you this these")
_REFERRING: Final = _words("it its it's he she they her his their there that this these those them then him the")
_IT_IS: Final = re.compile(rf"it (?:is|was) (?:\w+ )?(?:[€$£~]? ?\d|{COLOUR})", re.IGNORECASE)
"""Begins a sentence all of whose subject stands before it."""


class Missing(NamedTuple):
    """Word of a question that a sentence does not say."""

    place: int
    word: str
    named: bool


def rate_sentence(
    asking: Asking, said: Sequence[Sentence], at: int, year: str = "", about: Sequence[str] = ()
) -> float | None:
    """Return how well a sentence of a text answers a question; None where it does not.

    ``year`` is the year of the text: a question of another one is answered only where the sentence names that. ``about`` are the
    words of the text's title and opening, which its sentences need not repeat.
    """
    sentence = said[at]
    if not asking.is_denied and DENIED.search(sentence.text):
        sentence = without_afterthought(sentence)
        said = [*said[:at], sentence, *said[at + 1 :]]
    if is_role_of_section(asking, sentence):
        is_so = is_stated(asking, sentence, dict(enumerate(range(len(sentence.words)))))
        return 1.0 - _EXTRA * len(sentence.words) if is_so else None
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
    likely = _pair_words(asking, sentence, hits)
    degree = _find_degree(asking, sentence)
    if degree is not None:
        hits[asking.noun[0]] = degree
    missing += [Missing(i, word, False) for i, word in asking.content if i not in hits]
    gone = {i for i, _ in asking.content if i not in hits}
    through = (
        any(i in gone and asking.words[i] in _PROVIDERS for i in asking.head) and _find_agent(sentence) is not None
    )
    count = len(missing)
    missing = [each for each in missing if not _is_implied(asking, each, sentence, hits)]
    implied = count - len(missing)
    if (
        implied
        and asking.kind == "which"
        and not through
        and not any(_is_shown(asking, asking.words[i], sentence) for i in asking.noun)
        and len(asking.content) + len(asking.names) < 2 + implied
    ):
        return None
    near = [
        k for k in range(len(sentence.lower)) if k not in hits.values() and not vocabulary.is_grammar(sentence.lower[k])
    ]
    held = [each for each in missing if _is_held(asking, each, sentence, hits, about)]
    back = _count_back(asking, said, at, hits, [each for each in missing if each not in held])
    if back is None and len(missing) == 1 and _may_be_near(asking, missing[0]) and len(hits) > 1:
        i, word, _ = missing[0]
        place = next((k for k in near if is_near(word, sentence.lower[k])), None)
        if place is None:
            return None
        hits[i], back = place, 0
    if (
        back is None
        or not (hits or _is_bare(asking, sentence) or _is_labelled(asking, sentence))
        or not (is_stated(asking, sentence, hits) or dates_event(asking, sentence, hits))
    ):
        return None
    noun = [asking.words[i] for i in asking.noun] or ["name"] * (asking.kind == "what" and "name" in asking.words)
    if asking.kind == "who" and (
        _lacks_deed(asking, hits) or (not asking.is_passive and _lacks_agent(asking, sentence, hits))
    ):
        return None
    if names_somebody_else(asking, sentence, hits, left_out=bool(missing)):
        return None
    sized = asks_length(asking) and is_length(sentence, hits)
    if asks_length(asking) and not sized and _has_own_subject(asking, sentence, hits):
        return None
    alone = len(asking.content) + len(asking.names) == 1
    if alone and hits and asking.kind in {"who", "what", "which"} and not _defines(sentence, next(iter(hits.values()))):
        return None
    if _is_of_another(asking, sentence, hits) or is_of_another_field(asking, sentence, hits, held=bool(held)):
        return None
    if (
        not through
        and not sized
        and not is_place(asking, sentence)
        and not find_values(asking.kind, sentence.text, sentence.words, hits, noun, asking.noun, sentence.value)
    ):
        return None
    versioned = not VERSIONS.isdisjoint(noun)
    if (
        asking.is_copular
        and not versioned
        and not all(i in hits or _is_shown(asking, asking.words[i], sentence) for i in asking.noun)
        and not _links_name(sentence, hits)
    ):
        return None
    rating = (likely + _HELD * len(held)) / max(1, len(asking.content)) + 0.3 * (len(hits) + len(held)) - 0.2 * back
    rating -= _EXTRA * len(sentence.words)
    if asking.is_present:
        rating += TENSE * ((NOW.search(sentence.text) is not None) - (OVER.search(sentence.text) is not None))
    if asking.words[-1] in _ENDING and asking.words[-1] in sentence.lower:
        rating += TENSE
    return rating


def _is_of_another(asking: Asking, sentence: Sentence, hits: dict[int, int]) -> bool:
    """Return whether a sentence is about what a thing has, and the question about the thing."""
    said = {sentence.lower[k] for k in hits.values()}
    return any(
        owner.lower() in said and not said.intersection(tokens(thing.lower()))
        for owner, thing in _OWNED.findall(sentence.text)
    )


def _may_be_near(asking: Asking, missing: Missing) -> bool:
    """Return whether a word may be said by its neighbour: no name, nor who somebody is."""
    return not missing.named and missing.place not in {*asking.head, *asking.noun}


def _find_degree(asking: Asking, sentence: Sentence) -> int | None:
    """Return the place of the word for what is measured: "weight" for "how heavy"."""
    if asking.kind != "measure":
        return None
    said = {asking.words[asking.noun[0]], *_MEASURED_BY.get(asking.words[asking.noun[0]], ())}
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
            if "-" in word:
                like = float(set(word.split("-")) <= {*sentence.lower, *parts(said)} or word == said)
            else:
                like = _likeness(word, said)
            upon = said in RUNNING and sentence.lower[k + 1 : k + 2] in {("on",), ("at",), ("under",)}
            done = said == "run" and word != "run" and sentence.lower[k + 1 : k + 2] != ("by",)
            if (done or upon or (word in RUNNING and asking.kind != "who")) and like < _SAME:
                continue  # what a server runs on, or has run, says nobody who runs it
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
    if not VERSIONS.isdisjoint(asking.words[k] for k in asking.noun):
        return word in VERSIONS | RUNNING and _shows_version(sentence, hits)
    if i in asking.head and len(asking.noun) > 1 and word in _PROVIDERS:
        return asking.noun[-2] in hits and _find_agent(sentence) is not None
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


def _find_agent(sentence: Sentence) -> int | None:
    """Return the place of a name by which something is done: "payments go through Mollie"."""
    for k, word in enumerate(sentence.lower[:-1]):
        if word in {"through", "by", "via", "with", "from", "using"} and is_name(sentence.words, k + 1):
            return k + 1
    return None


def _is_held(asking: Asking, missing: Missing, sentence: Sentence, hits: dict[int, int], about: Sequence[str]) -> bool:
    """Return whether the setting of a sentence says a word: label, heading, or title."""
    if _is_among(missing, sentence.setting):
        return True
    return (
        missing.place not in asking.head
        and _is_among(missing, (*itertools.chain(*sentence.headings), *about))
        and not _has_own_subject(asking, sentence, hits)
    )


def _count_back(
    asking: Asking, said: Sequence[Sentence], at: int, hits: dict[int, int], missing: Sequence[Missing]
) -> int | None:
    """Return how far back the words are that a sentence leaves out; None where they are nowhere."""
    words, count = said[at].lower, 0
    begins = next((k for k, word in enumerate(words) if not vocabulary.is_grammar(word) and not word.isdigit()), None)
    refers = not _REFERRING.isdisjoint(words) or begins in hits.values()
    if missing and _has_own_subject(asking, said[at], hits):
        return None
    for each in missing:
        back = _find_back(each, said, at) if refers and each.place not in asking.head else None
        if back is None:
            return None
        count += back
    return count


def _find_back(missing: Missing, said: Sequence[Sentence], at: int) -> int | None:
    """Return how many sentences before one a word is said; None where none of its own is."""
    for back in range(1, at + 1):
        earlier = said[at - back]
        if not said[at].is_below(earlier):
            return None
        if back > _BACK and earlier.line != said[at].line:
            return None
        if said[at].begins and earlier.line != said[at].line:
            return None
        if _is_among(missing, earlier.lower):
            return min(back, _BACK)
    return None


def _is_among(missing: Missing, words: Sequence[str]) -> bool:
    """Return whether some words say one that is missing."""
    if missing.named:
        return any(_is_called(missing.word, each) for each in words)
    return any(_likeness(missing.word, each) >= _SAID_BEFORE for each in words)


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
    is_named = asking.kind in {"who", "which", "what"}
    return any(
        not vocabulary.is_grammar(word)
        and word not in sentence.setting
        and not _TIMES.fullmatch(word)
        and not (asking.kind == "count" and _COUNTING.fullmatch(word))
        and not (is_named and is_name(sentence.words, k))
        for k, word in enumerate(sentence.lower[begin:first], begin)
    )


def _defines(sentence: Sentence, k: int) -> bool:
    """Return whether a sentence says that one word is something: "CI: GitLab"."""
    word = re.escape(sentence.words[k])
    if sentence.text.startswith("|"):
        return re.search(rf"\|\s*{word}\s*[|,]", sentence.text) is not None
    return (
        re.search(
            rf"(?<![\w-]){word}(?:\s*[:=(]|,?{_IS}\b)",
            sentence.text,
        )
        is not None
    )


def _lacks_deed(asking: Asking, hits: dict[int, int]) -> bool:
    """Return whether a sentence leaves out what somebody does or is: "who pays the chef"."""
    done = [i for i, _ in asking.content if asking.words[i - 1] == "who"] or [i for i, _ in asking.content]
    return bool(done) and hits.keys().isdisjoint(done)


def _lacks_agent(asking: Asking, sentence: Sentence, hits: dict[int, int]) -> bool:
    """Return whether a sentence says that something was done, and not by whom."""
    words = sentence.lower
    done = {hits[i] for i, _ in asking.content if i in hits}
    is_done = any(words[k].endswith(DONE) and not vocabulary.BEING.isdisjoint(words[max(0, k - 2) : k]) for k in done)
    return is_done and not any(
        word in {"by", "with", "from"} and any(is_name(sentence.words, j) for j in range(i + 1, min(i + 4, len(words))))
        for i, word in enumerate(words)
    )


def _links_name(sentence: Sentence, hits: dict[int, int]) -> bool:
    """Return whether a sentence says that what is asked about is a name: "the edge is Fastly"."""
    for i, word in enumerate(sentence.lower):
        if (
            word in {"is", "are", "="}
            and 0 < i < len(sentence.words) - 1
            and any(is_name(sentence.words, k) for k in (i - 1, i + 1))
        ):
            return True
    return False


def sentences_of(
    asking: Asking, text: str, year: str = "", title: str = "", source: str | None = None, tags: Sequence[str] = ()
) -> Iterator[tuple[float, Sentence]]:
    """Yield the sentences of a text that answer a question, with how well they do.

    Title, file and tags say what the text is about.
    """
    read = _reading(asking, text)
    said = split_text(text, read)
    about = (*title_words(title, source, read), *read_words(" ".join(tags), read))
    first = opening(said)
    for at, sentence in enumerate(said):
        opened = subject_words(first) if first is not None and sentence.is_below(first) else ()
        rating = rate_sentence(asking, said, at, year, (*about, *opened))
        if rating is not None:
            if is_role_of_section(asking, sentence):  # the answer is the person
                sentence = sentence._replace(written=f"{sentence.section}, {sentence.written}")
            yield rating, sentence


def read_sentences(asking: Asking, text: str) -> list[Sentence]:
    """Return the sentences of a text in the language of a question."""
    return split_text(text, _reading(asking, text))


def _reading(asking: Asking, text: str) -> Read:
    """Return the function that gives a text in the language of a question."""
    if asking.is_german:
        return in_english_grammar
    is_german = language_of([word.lower() for word in _WORD.findall(text[:_READ])]) == "german"
    return in_english if is_german else str
