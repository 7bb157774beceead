"""Statements: sentences of texts that answer a question no fact does.

Prose states facts without naming predicates: "Login for riders is handled by Auth0". A sentence is the answer where it accounts for
every word of the question that asks for something, holds a value of the kind asked for that the question does not hold, and
neither denies nor only considers it. One word that is left makes it another question, as with facts (`coverage`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from lamina_engine.facts import vocabulary
from lamina_engine.facts.german import in_english_grammar, is_german
from lamina_engine.facts.values import COLOUR, COLOURED, IDENTIFIER, Kind, find_values, is_name
from lamina_engine.facts.wording import in_family, is_near, likeness, parts, tokens


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LEAST: Final = 0.5
"""Likeness from which on a word of a sentence says a word of a question."""
_SAME: Final = 0.9
"""Likeness of two forms of one word."""
_SAID_BEFORE: Final = 0.8
"""The same of a word of an earlier sentence."""
_BACK: Final = 2
"""Sentences before one in which its subject may be named."""
_DEGREES: Final = vocabulary.DEGREES | _words("old full cold hot warm expensive late heavy")
_SORTS: Final = _words(
    """company firm vendor supplier provider tool program product app library framework service system agency software thing person
    colleague people partner team solution package platform language city town country place village region number"""
)
_PEOPLE: Final = _words("people persons")
_PORT: Final = _words("port")
_UNSAID: Final = _words("number name names digits amount address")
"""Nouns that a value shows by its form."""
_PLACED: Final = _words("lie lies find stored kept located stand stands put store keep")
_TIMED: Final = _words("take takes took happen happens happened last hold planned scheduled made begin")
_IMPLIED: Final[dict[Kind, frozenset[str]]] = {
    "where": _PLACED, "when": _TIMED - {"last"}, "duration": _TIMED, "frequency": _words("happen happens take place"),
}  # fmt: skip
"""Verbs that the kind of value says already: "where is it kept"."""
_PAST: Final = _words("before formerly previously earlier former previous originally")
_ASKING: Final = _words("after off down else")
"""Function words that make it another question."""
_RUNNING: Final = _words("run runs")
"""Verbs that ask for something where a person does it."""
_DONE: Final = ("ed", "en", "ilt", "ade", "old")
"""Ends of participles."""
_WAS: Final = re.compile(
    r"\b(?:before|formerly|previously|earlier|used to|was|were|until|old|former|from|last|moved|instead|replaced|went|switched|ended)\b",
    re.IGNORECASE,
)
_NO_LONGER: Final = re.compile(r"\b(?:formerly|previously|used to|no longer)\b|\bbefore\s*(?:[.,;)]|$)", re.IGNORECASE)
_DENIED: Final = re.compile(
    r"\b(?:not|never|nobody|none|no|without|rejected|dropped|declined|refused|considered|considering|cancelled|thought about|looked at|"
    r"ideas?|plans?|maybe|perhaps|might|wish|wanted|wants|talks|discussion|gone|killed|removed|deleted|torn|proposed|proposal)\b|"
    r"n['’]t\b|\b(?:is|was|are|were|switched|turned) off\b",
    re.IGNORECASE,
)
_NUMERO: Final = re.compile(r"\bno\. ?(?=\d)", re.IGNORECASE)
_CLAUSE: Final = re.compile(r"[;:,()–—]|\bbut\b")
_REFERRING: Final = _words("it its it's he she they her his their there that this these those them then him the")
_IT_IS: Final = re.compile(rf"it (?:is|was) (?:\w+ )?(?:[€$£~]? ?\d|{COLOUR})", re.IGNORECASE)
"""Begins a sentence all of whose subject stands before it."""
_GENERAL: Final = re.compile(
    r"what(?:'s| is| are) (?:an?|the difference)\b|what does .* (?:mean|stand for)\W*$|.*\busually\b", re.IGNORECASE
)
_SHORT: Final = re.compile(r"\b(wh\w+|how)['’]s\b", re.IGNORECASE)
_END: Final = re.compile(
    r"(?<!\b[DMHFS]r\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!\b[A-Z]\.)(?<=[.!?;])\s+"
    r"(?!(?<=\d\. )(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))|\n+"
)
_WRAP: Final = re.compile(r"(?<=[^\s.!?:;`|])\n(?=[a-z(])")
"""Break within a sentence."""
_ITEM: Final = re.compile(r"^[\s>#*+-]+")


class Sentence(NamedTuple):
    """Sentence of a text, with its words."""

    text: str
    words: tuple[str, ...]
    lower: tuple[str, ...]
    written: str
    """The text as it stands; a German one is read in English grammar."""


class Missing(NamedTuple):
    """Word of a question that a sentence does not say."""

    place: int
    word: str
    named: bool


class Asking(Struct, frozen=True):
    """Question, read for the sentences that answer it."""

    kind: Kind
    words: tuple[str, ...]
    """All of them, in lower case."""
    noun: tuple[int, ...]
    """Positions of the words after "which" or "how many", or of the thing asked for."""
    content: tuple[tuple[int, str], ...]
    names: tuple[tuple[int, str], ...]
    is_copular: bool
    """True for "which company is our edge": the sentence must say that the one is the other."""
    is_passive: bool
    """True for "who was hired": not who did it is asked for."""
    is_past: bool
    is_denied: bool
    is_german: bool

    @property
    def shown(self) -> frozenset[str]:
        """Nouns that a value shows by itself: "listens on 8443" needs no word for port."""
        if self.kind == "count":
            return _PEOPLE
        return COLOURED | _PORT if any(word[:6] == "listen" for _, word in self.content) else COLOURED


def split_text(text: str, *, german: bool = False) -> list[Sentence]:
    """Return the sentences of a text outside of fenced code; questions are none."""
    found: list[Sentence] = []
    fenced = False
    for line in _WRAP.sub(" ", text).splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not line.startswith(("    ", "\t")):
            for piece in _END.split(line):
                written = _ITEM.sub("", piece).strip()
                if written and not written.endswith("?"):
                    said = in_english_grammar(written) if german else written
                    words = tuple(tokens(said))
                    found.append(Sentence(said, words, tuple(word.lower() for word in words), written))
    return found


def read_question(text: str) -> Asking | None:
    """Return a question as read, or None where it asks for no value that one sentence can hold."""
    german = is_german(text)
    text = in_english_grammar(text) if german else text
    words = tokens(_SHORT.sub(r"\1 is", text))
    lower = [word.lower() for word in words]
    at = next((i for i, word in enumerate(lower) if word in vocabulary.QUESTION_WORDS), None)
    if _GENERAL.match(text.strip()) or not lower or lower[0] in vocabulary.BEING | vocabulary.HELPERS:
        return None
    found = _read_kind(words, lower, at)
    if found is None:
        return None
    kind, skipped, noun = found
    content, names = [], []
    for i, word in enumerate(words):
        if i in skipped or not word:
            continue
        if _is_name_of_question(words, i):
            names.append((i, word))
        elif lower[i] in _PAST:
            continue  # `_is_stated` asks for it
        elif not vocabulary.is_grammar(lower[i]) or lower[i] in _ASKING or (kind == "who" and lower[i] in _RUNNING):
            content.append((i, lower[i]))
    after = (at or 0) + len(noun) + 1
    copular = (
        kind == "which"
        and COLOURED.isdisjoint(lower)
        and lower[after : after + 1] in (["is"], ["are"])
        and not any(i > after + 1 and word.endswith(("ing", *_DONE)) for i, word in content)
    )
    return Asking(
        kind, tuple(lower), tuple(noun), tuple(content), tuple(names), copular, _is_passive(lower, at), not _PAST.isdisjoint(lower),
        _DENIED.search(text) is not None, german,
    )  # fmt: skip


def _is_passive(lower: Sequence[str], at: int | None) -> bool:
    after = lower[at + 1 :] if at is not None else []
    return len(after) > 1 and after[0] in vocabulary.BEING and after[1].endswith(_DONE)


def _read_kind(words: Sequence[str], lower: Sequence[str], at: int | None) -> tuple[Kind, set[int], list[int]] | None:
    """Return the kind of value asked for, the words that say so, and the noun asked about."""
    if at is None:
        return "what", set(), _noun_phrase(words, lower, 0)
    word, after = lower[at], lower[at + 1] if at + 1 < len(lower) else ""
    if word == "how":
        skipped = {at, at + 1}
        if after in {"many", "much"}:
            return ("count" if after == "many" else "amount"), skipped, _noun_phrase(words, lower, at + 2)
        if after in {"long", "often"}:
            return ("duration" if after == "long" else "frequency"), skipped, []
        return ("measure", skipped, [at + 1]) if after in _DEGREES else None
    if word in {"which", "what"}:
        if after in {"caused", "causes"}:
            return "why", {at, at + 1}, []
        if after in {"time", "day", "days", "date", "year", "month", "weekday"}:
            return "when", {at, at + 1}, []
        if after in vocabulary.BEING and lower[at + 2 : at + 3] in (["in"], ["on"], ["at"]):
            return None  # "what was in the box"
        if not vocabulary.PRICING.isdisjoint(lower):
            return "amount", {at}, []
        if not after or after in vocabulary.BEING | vocabulary.HELPERS | vocabulary.HAVING:
            begin = at + 2
            while begin < len(lower) and lower[begin] in vocabulary.ARTICLES:
                begin += 1
            return "what", {at}, _noun_phrase(words, lower, begin) if after in vocabulary.BEING else []
        noun = _without_verb(words, lower, _noun_phrase(words, lower, at + 1))
        return ("which" if noun else "what"), {at}, noun
    kinds: dict[str, Kind] = {"when": "when", "where": "where", "why": "why"}
    return kinds.get(word, "who"), {at}, []


def _noun_phrase(words: Sequence[str], lower: Sequence[str], begin: int) -> list[int]:
    """Return the positions of a noun and what stands before it."""
    found: list[int] = []
    for i in range(begin, min(begin + 4, len(lower))):
        if vocabulary.is_grammar(lower[i]):
            break
        found.append(i)
    return found


def _without_verb(words: Sequence[str], lower: Sequence[str], noun: list[int]) -> list[int]:
    """Return the noun of "which agency sells space", without the verb."""
    end = noun[-1] + 1 if noun else 0
    if noun and end < len(lower) and lower[end] in vocabulary.BEING | vocabulary.HELPERS | vocabulary.HAVING:
        return noun
    verb = next(
        (n for n in range(len(noun) - 1, -1, -1) if words[noun[n]].islower() and lower[noun[n]].endswith(("s", "ed"))),
        None,
    )
    return noun if verb is None else noun[:verb]


def _is_name_of_question(words: Sequence[str], i: int) -> bool:
    word = words[i]
    if _is_letter(words, i):
        return True
    if word.lower() in vocabulary.QUESTION_WORDS or vocabulary.is_grammar(word.lower()):
        return False
    if IDENTIFIER.search(word) or word.isdigit():
        return not (word.islower() and word.replace("-", "").isalpha())
    return word[:1].isupper() and (i > 0 or is_name(words, 0) or (len(word) > 1 and word.isupper()))


def _is_letter(words: Sequence[str], i: int) -> bool:
    """Return whether a word is a letter that tells one thing from others: "building A"."""
    return i > 0 and len(words[i]) == 1 and words[i].isalpha() and words[i].isupper() and words[i] != "I"


def rate_sentence(asking: Asking, said: Sequence[Sentence], at: int, year: str = "") -> float | None:
    """Return how well a sentence of a text answers a question; None where it does not.

    ``year`` is the year of the text: a question of another one is answered only where the sentence names that.
    """
    sentence = said[at]
    hits: dict[int, int] = {}
    missing: list[Missing] = []
    for i, name in asking.names:
        said_words = sentence.words if len(name) == 1 and name.isalpha() else sentence.lower
        wanted = name if said_words is sentence.words else name.lower()
        place = next((k for k, word in enumerate(said_words) if _is_called(wanted, word)), None)
        if place is not None:
            hits[i] = place
        elif name != year:
            missing.append(Missing(i, name.lower(), True))
    likely = _pair_words(asking, sentence, hits)
    missing += [Missing(i, word, False) for i, word in asking.content if i not in hits]
    count = len(missing)
    missing = [each for each in missing if not _is_implied(asking, each)]
    implied = count - len(missing)
    if (
        implied
        and asking.kind == "which"
        and not any(asking.words[i] in asking.shown for i in asking.noun)
        and len(asking.content) + len(asking.names) < 2 + implied
    ):
        return None
    near = [
        k for k in range(len(sentence.lower)) if k not in hits.values() and not vocabulary.is_grammar(sentence.lower[k])
    ]
    back = _count_back(said, at, hits, missing)
    if back is None and len(missing) == 1 and not missing[0].named and len(hits) > 1:
        i, word, _ = missing[0]
        place = next((k for k in near if is_near(word, sentence.lower[k])), None)
        if place is None:
            return None
        hits[i], back = place, 0
    if back is None or not (hits or _is_bare(asking, sentence)) or not _is_stated(asking, sentence, hits):
        return None
    noun = [asking.words[i] for i in asking.noun]
    if asking.kind == "who" and (
        _lacks_deed(asking, hits) or (not asking.is_passive and _lacks_agent(asking, sentence, hits))
    ):
        return None
    alone = len(asking.content) + len(asking.names) == 1
    if alone and hits and asking.kind in {"who", "what", "which"} and not _defines(sentence, next(iter(hits.values()))):
        return None
    if not find_values(asking.kind, sentence.text, sentence.words, hits, noun, asking.noun):
        return None
    if asking.is_copular and not all(i in hits for i in asking.noun) and not _links_name(sentence, hits):
        return None
    return likely / max(1, len(asking.content)) + 0.3 * len(hits) - 0.2 * back


def _is_bare(asking: Asking, sentence: Sentence) -> bool:
    """Return whether a sentence says only how much, or which colour, of what stands before it."""
    return (asking.kind in {"measure", "amount"} or not COLOURED.isdisjoint(asking.words)) and (
        _IT_IS.match(sentence.text) is not None
    )


def _is_called(name: str, word: str) -> bool:
    """Return whether a word of a sentence is a name of a question."""
    return name in parts(word) or (len(name) > 3 and name.rstrip("s") in (part.rstrip("s") for part in parts(word)))


def _pair_words(asking: Asking, sentence: Sentence, hits: dict[int, int]) -> float:
    """Add the places that say the question's words, each at most one; return their likeness."""
    pairs: list[tuple[float, int, int]] = []
    named = set(hits.values())
    for i, word in asking.content:
        for k, said in enumerate(sentence.lower):
            if (k in named and "-" not in said) or (
                said != word and vocabulary.is_grammar(said) and not in_family(said)
            ):
                continue
            if "-" in word:
                like = float(set(word.split("-")) <= {*sentence.lower, *parts(said)} or word == said)
            else:
                like = max((likeness(word, part) for part in parts(said)), default=0.0)
            upon = said in _RUNNING and sentence.lower[k + 1 : k + 2] in {("on",), ("at",), ("under",)}
            if (upon or (word in _RUNNING and asking.kind != "who")) and like < _SAME:
                continue  # what a server runs on says nobody who runs it
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


def _is_implied(asking: Asking, missing: Missing) -> bool:
    """Return whether the form of a value says a word of the question."""
    i, word, named = missing
    if named:
        return False
    if i in asking.noun:
        return (
            word in _UNSAID
            or word in asking.shown
            or (asking.kind == "which" and len(asking.noun) == 1 and word in _SORTS)
        )
    return word in _IMPLIED.get(asking.kind, ())


def _count_back(said: Sequence[Sentence], at: int, hits: dict[int, int], missing: Sequence[Missing]) -> int | None:
    """Return how far back the words are that a sentence leaves out; None where they are nowhere."""
    words, count = said[at].lower, 0
    begins = next((k for k, word in enumerate(words) if not vocabulary.is_grammar(word) and not word.isdigit()), None)
    refers = not _REFERRING.isdisjoint(words) or begins in hits.values()
    for _, word, named in missing:
        for back in (1, _BACK, at):
            if at < back or not refers:
                return None
            earlier = said[at - back].lower
            if any(_is_called(word, each) if named else likeness(word, each) >= _SAID_BEFORE for each in earlier):
                count += back
                break
        else:
            return None
    return count


def _is_stated(asking: Asking, sentence: Sentence, hits: dict[int, int]) -> bool:
    """Return whether a sentence states what it says, of the time that is asked about."""
    if asking.is_past:
        if not _WAS.search(sentence.text):
            return False
    elif _shows(_NO_LONGER, sentence, hits):
        return False
    return asking.is_denied or not _shows(_DENIED, sentence, hits)


def _shows(pattern: re.Pattern[str], sentence: Sentence, hits: dict[int, int]) -> bool:
    """Return whether a clause that says a word of the question matches a pattern."""
    text = _NUMERO.sub("", sentence.text)
    if not pattern.search(text):
        return False
    return any(
        pattern.search(clause) and any(sentence.words[k] in clause for k in hits.values())
        for clause in _CLAUSE.split(text)
    )


def _defines(sentence: Sentence, k: int) -> bool:
    """Return whether a sentence says that one word is something: "CI: GitLab"."""
    word = re.escape(sentence.words[k])
    return re.search(rf"(?<![\w-]){word}(?:\s*[:=(]|,? (?:is|are)\b)", sentence.text) is not None


def _lacks_deed(asking: Asking, hits: dict[int, int]) -> bool:
    """Return whether a sentence leaves out what somebody does or is: "who pays the chef"."""
    done = [i for i, _ in asking.content if asking.words[i - 1] == "who"] or [i for i, _ in asking.content]
    return bool(done) and hits.keys().isdisjoint(done)


def _lacks_agent(asking: Asking, sentence: Sentence, hits: dict[int, int]) -> bool:
    """Return whether a sentence says that something was done, and not by whom."""
    words = sentence.lower
    done = {hits[i] for i, _ in asking.content if i in hits}
    is_done = any(words[k].endswith(_DONE) and not vocabulary.BEING.isdisjoint(words[max(0, k - 2) : k]) for k in done)
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


def sentences_of(asking: Asking, text: str, year: str = "") -> Iterator[tuple[float, str]]:
    """Yield the sentences of a text that answer a question, with how well they do."""
    said = split_text(text, german=asking.is_german)
    for at, sentence in enumerate(said):
        rating = rate_sentence(asking, said, at, year)
        if rating is not None:
            yield rating, sentence.written
