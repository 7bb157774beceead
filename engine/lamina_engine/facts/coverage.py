"""Coverage of a question by a fact: is it what is asked, and is nothing else asked?

A question asks for one thing of an entity in a few words. A fact answers it where each of these words is accounted for: by the
entity's name, by words that show an intent of the fact, by its predicate, its value or the types of its ends, or by being a word
that asks for nothing. One word that is left ("staging", "assistant", "before") makes it another question. What kind of value
is asked for counts too: "when" wants a date, "who" a name, "where" a place.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from lamina_engine import after_fork
from lamina_engine.facts import vocabulary
from lamina_engine.facts.intents import is_trigger, matches_predicate, words_of
from lamina_engine.facts.names import DEFAULT_TYPE
from lamina_engine.facts.voice import wanted_end
from lamina_engine.facts.wording import is_akin, nearest, nearness, stem
from lamina_engine.index.analysis import STOP_WORDS

if TYPE_CHECKING:
    from lamina_engine.facts.intents import Intent
    from lamina_engine.facts.parsing import Question
    from lamina_engine.facts.predicates import Registry
    from lamina_engine.results import Fact

_NEAR: Final = 0.5
"""Cosine from which on a word that nothing knows stands for the nearest predicate."""
_BESIDE: Final = 0.45
"""The same for a word beside others that ask for it."""
_PREPOSITIONS: Final = frozenset({"at", "in", "on", "from", "under", "near"})
"""Ends of predicates that say where."""
_CAUSES: Final = frozenset({"cause", "fix", "purpose"})
"""Intents that answer why."""
_OVERVIEWS: Final = frozenset({"relationship"})
"""Intents that a question for everything shows too: "who is Ann?"."""


@functools.lru_cache(1 << 14)
def key_stems(key: str) -> tuple[str, ...]:
    """Return the stems of a predicate's words that carry content."""
    return tuple(stem(part) for part in key.split("_") if part not in STOP_WORDS and part not in vocabulary.PRESENT)


@functools.lru_cache(8)
def _stems_of(predicates: tuple[str, ...]) -> frozenset[str]:
    return frozenset(part for key in predicates for part in key_stems(key))


def _asks(word: str) -> bool:
    """Return whether a word asks for something."""
    if word in vocabulary.NARROWING or word in vocabulary.LIGHT:
        return True
    return not (
        word in vocabulary.FLUFF
        or word in vocabulary.ASKING
        or word in STOP_WORDS
        or word.replace("'", "") in STOP_WORDS
    )


def satisfies(intent: Intent, fact: Fact) -> bool:
    """Return whether a fact answers an intent, by its predicate or that one's inverse."""
    inward = fact.direction == "in"
    if inward and fact.key != fact.predicate and matches_predicate(intent, fact.key, inverse=False):
        return True
    return matches_predicate(intent, fact.predicate, inverse=inward)


class Evidence(NamedTuple):
    """Words of a question that speak for a fact."""

    words: frozenset[int]
    """Their positions; empty where the question does not ask for it."""
    is_named: bool
    """True where they name its predicate in full."""
    is_sort: bool = False
    """True where they name the type of its value alone, so that it must be the only one of its type."""


_NOTHING: Final = Evidence(frozenset(), False)


@after_fork.track_property_locks
class Coverage:
    """Words of a question, and what a fact leaves of them."""

    def __init__(
        self, question: Question, predicates: Callable[[], Iterable[str]], registry: Registry, kind_of: Callable[[Fact], str]
    ) -> None:  # fmt: skip
        self._question, self._predicates, self._registry, self._kind_of = question, predicates, registry, kind_of
        words = [word.removesuffix("'s") for word in question.words]
        self._words, self._stems = words, [stem(word) for word in words]
        self._content = [
            i
            for i in question.asking
            if (_asks(words[i]) or (self._is_past and words[i] in vocabulary.EVENTS))
            and words[i + 1 : i + 2] != ["how"]
        ]
        """Positions of words that ask for something, the light ones among them."""
        self._light = {
            i
            for i in self._content
            if words[i] in vocabulary.LIGHT
            and not (self._is_past and words[i] in vocabulary.EVENTS)
            and words[max(0, i - 1) : i + 1] != ["who", "runs"]
        }
        self._wants = self._wanted(words)
        self._found: dict[tuple[int, str], Evidence] = {}

    def answers(self, path: Sequence[Fact], kinds: Iterable[str] = ()) -> bool:
        """Return whether a fact is what is asked for: the last of a path of one or two.

        ``kinds`` are the types of the entities it starts from. Of two facts each needs words of its own, and what stands right
        beside the name of the entity is asked of the first.
        """
        found = [self.evidence(fact) for fact in path]
        if not all(each.words for each in found):
            return False
        seen: frozenset[int] = frozenset().union(*(each.words for each in found))
        heavy = set(self._content) - self._light
        is_chain = not seen.isdisjoint(self._beside) and not (seen & heavy).issubset(self._beside)
        if len(path) == 1 and is_chain and not found[0].is_sort and "or" not in self._words:
            is_repeated = len({self._stems[i] for i in seen & heavy}) < len(seen & heavy)
            if is_repeated or (path[0].object_id is not None and len(key_stems(path[0].key)) == 1):
                return False  # "the boss of Ann's boss" is not Ann's
        if len(path) == 1 and self._wants[:1] == [(0, "where")] and self._kind_words(path[0]):
            return False  # "where is the machine that Atlas runs on" asks for its place
        if self._is_other_type(path[-1]):
            return False
        if len(path) > 1:
            first, last = (each.words for each in found)
            if not first.isdisjoint(self._sort) and last.isdisjoint(self._sort):
                return False  # "which team" asks for a team, at the end
            own, others = (self._akin(fact) for fact in path)
            first, last = first - (others - own), last - (own - others)
            if not ((first - last and last - first) or is_chain) or (self._beside and self._beside.isdisjoint(first)):
                return False
        asked_in = {self._question.sentences[i] for i in seen}
        left = {i for i in self._content if self._question.sentences[i] in asked_in} - seen - self._light
        left -= self._deeds
        if vocabulary.URL.match(path[-1].value):
            left -= {i for i in left if self._words[i] in vocabulary.LINKS}
        if all(each.is_named for each in found):
            left -= self._verbs
        left -= {
            i for i in left if self._words[i - 1] in vocabulary.WHICH and self._fits(self._sorts.get(i, ""), path[-1])
        }
        words = {self._words[i] for i in seen}
        if words <= vocabulary.MOMENT or words <= vocabulary.SPOT:
            # "when" alone asks for the moment of the thing itself, not for when somebody gets up; "where" for its place
            left |= {i for i in self._light if self._words[i] not in vocabulary.HAPPENING}
            left |= {i for i in self._question.asking if self._words[i] in vocabulary.PASSING}
        left |= {i for i in self._main_verbs - seen if self._words[i] not in vocabulary.LIGHT}
        left |= {i for i in self._denials | self._once if self._question.sentences[i] in asked_in}
        left |= (self._measures | ((self._beside & heavy) - self._deeds)) - seen
        if left:
            told = (f"{fact.value} {fact.category} {fact.key.replace('_', ' ')}" for fact in path)
            kinds = (*kinds, *(self._kind_of(fact).replace("_", " ") for fact in path))
            spoken = {stem(word) for text in (*told, *kinds) for word in words_of(text)}
            left = {i for i in left if self._stems[i] not in spoken or self._words[i] in vocabulary.RANKS}
        left = {i for i in left if not any(self._is_near(i, fact.key) for fact in path)}
        return not left and all(self._is_wanted(want, path, at) for at, want in self._wants)

    @cached_property
    def _beside(self) -> set[int]:
        """Positions of the words right beside a name: "Ann's manager", "the owner of Ann"."""
        words, asking, found = self._words, set(self._question.asking), set[int]()
        for start in (i for i in range(len(words)) if i not in asking and (i == 0 or i - 1 in asking)):
            stop = next((i for i in range(start, len(words)) if i in asking), len(words))
            before = start - 1
            while before >= 0 and words[before] in vocabulary.ARTICLES:
                before -= 1
            if self._question.words[stop - 1].endswith(("'s", "'")):
                found |= set(self._run(stop, 1)) - self._main_verbs
            elif before > 0 and words[before] in vocabulary.LINKING:
                found |= set(self._run(before - 1, -1))
            elif before > 1 and any(words[i].endswith("ing") for i in (before, before - 1)):
                found |= {i for i in (before, before - 1) if i in asking}  # "the person looking after Atlas"
            elif before > 0 and words[before] in vocabulary.RELATIVE:
                found |= {i for i in self._run(stop, 1) if words[i] not in vocabulary.LIGHT}
        return found

    @cached_property
    def _main_verbs(self) -> set[int]:
        """Positions of the verbs of "whom does Ann's manager report to"."""
        words, asking, found = self._words, set(self._question.asking), set[int]()
        for start in range(1, len(words)):
            if start not in asking or not self._question.words[start - 1].endswith(("'s", "'")):
                continue
            run = [
                i
                for i in itertools.takewhile(asking.__contains__, range(start, len(words)))
                if words[i] not in STOP_WORDS
            ]
            if len(run) > 1 and not vocabulary.HELPERS.isdisjoint(words[:start]):
                found.add(run[-1])
        return found

    def _run(self, start: int, step: int) -> Iterator[int]:
        """Yield the positions of the words that ask for something, from one on."""
        while 0 <= start < len(self._words) and start in self._question.asking and self._words[start] not in STOP_WORDS:
            yield start
            if step > 0 and self._question.words[start].endswith("'s"):
                break
            start += step

    def evidence(self, fact: Fact) -> Evidence:
        """Return the words of the question that ask for a fact."""
        place = fact.row, fact.direction
        if place not in self._found:
            self._found[place] = self._find_evidence(fact)
        return self._found[place]

    def _akin(self, fact: Fact) -> set[int]:
        """Return the positions of forms of a predicate's own words."""
        keys = key_stems(fact.key)
        return {i for i in self._question.asking if any(is_akin(self._stems[i], key) for key in keys)}

    def _find_evidence(self, fact: Fact) -> Evidence:
        keys = key_stems(fact.key)
        by_key = self._akin(fact)
        by_key |= {i + d for i in self._joined if self._joined[i] in keys for d in (0, 1)}
        against: set[int] = set()
        if wanted_end(self._question.words, self._question.asking, by_key, fact.key) != self._end_of(fact):
            by_key, against = against, by_key
        is_named = bool(by_key) and self._names(keys)
        if counted := self._counted(fact):
            return Evidence(frozenset(counted | by_key), True)
        shown = self._shown(fact, keys)
        if shown & against:
            shown = set()
        heavy = {i for i in by_key if i not in self._light or self._question.words[i] in vocabulary.LIGHT_NOUNS}
        sort = self._kind_words(fact)
        if not shown and not heavy and not is_named and self._end_of(fact) == "value":
            shown = {i for i in self._unknown if self._is_nearest(i, fact.key)}
            if not shown and sort and not against:
                return Evidence(frozenset(sort), True, is_sort=True)
            return Evidence(frozenset(shown | by_key), bool(shown))
        if (not shown and not heavy and not is_named) or not self._names_head(fact):
            return _NOTHING
        others = {part for part in fact.key.split("_") if stem(part) in keys and not self._shows(part)}
        is_named = is_named or (bool(shown) and self._names(tuple(map(stem, others))))
        return Evidence(frozenset(shown | by_key | sort), is_named)

    def _shows(self, part: str) -> bool:
        """Return whether the question shows an intent that a part of a predicate answers by itself."""
        return any(part in intent.predicates for intent in self._question.intents)

    def _kind_words(self, fact: Fact) -> set[int]:
        """Return the positions of the words that name the type of a fact's value."""
        kind = self._kind_of(fact)
        stems = {stem(word) for word in kind.split("_")} if kind not in ("", DEFAULT_TYPE) else set()
        others = vocabulary.TYPE_WORDS.get(kind, frozenset())
        found = {i for i in self._question.asking if self._words[i] in others}
        if found:
            return found
        found = {i for i in self._question.asking if self._stems[i] in stems}
        return found if len({self._stems[i] for i in found}) == len(stems) else set()

    def _is_other_type(self, fact: Fact) -> bool:
        """Return whether the question asks for a thing of another type: a data centre is no city."""
        asked = self._type_words
        if not asked or not asked.isdisjoint(fact.key.split("_")):
            return False
        return self._kind_of(fact) not in {"", DEFAULT_TYPE, *asked}

    @cached_property
    def _type_words(self) -> frozenset[str]:
        """Words for things of the type that "which machine" asks for."""
        known = [found for i in self._sort if (found := vocabulary.TYPE_WORDS.get(self._words[i]))]
        return known[-1] if known else frozenset()

    def _counted(self, fact: Fact) -> set[int]:
        """Return the positions of the sort of thing asked for, where the value names it: "rack 3"."""
        if not self._sort:
            return set()
        spoken = {stem(word): word for word in re.findall(r"[\w.-]+", fact.value)}
        rest = [word for each, word in spoken.items() if each not in {self._stems[i] for i in self._sort}]
        if not self._is_count and not (rest and all(vocabulary.IDENTIFIER.match(word) for word in rest)):
            return set()
        return set(self._sort) if all(self._stems[i] in spoken for i in self._sort) else set()

    @cached_property
    def _is_count(self) -> bool:
        return ("how", "many") in set(itertools.pairwise(self._words))

    @cached_property
    def _sort(self) -> list[int]:
        """Positions of the words that say what sort of thing is asked for, where they say something."""
        words, found = self._words, list[int]()
        opens = ("many",) if self._is_count else ("which", "what")
        start = next((i + 1 for i, word in enumerate(words) if word in opens), len(words))
        for i in range(start, len(words)):
            if words[i] in vocabulary.HELPERS | vocabulary.BEING or i not in self._question.asking:
                break
            if found and words[i] in vocabulary.ARTICLES:
                break  # "which agency sells the space"
            found += [i] * (words[i] not in STOP_WORDS)
        return found if any(words[i] not in vocabulary.UNITS | vocabulary.LIGHT for i in found) else []

    def _end_of(self, fact: Fact) -> str:
        """Return which end of a predicate a fact answers with."""
        inward = fact.direction == "in" and self._registry.inverse(fact.predicate) is None
        return "subject" if inward else "value"

    def _is_nearest(self, i: int, key: str) -> bool:
        """Return whether of all predicates a word is nearest to one."""
        phrase, cosine = nearest(self._words[i], self._phrases)
        return cosine >= _NEAR and phrase == key.replace("_", " ")

    @cached_property
    def _phrases(self) -> tuple[str, ...]:
        return tuple(sorted(key.replace("_", " ") for key in self._predicates()))

    def _is_near(self, i: int, key: str) -> bool:
        return i in self._unknown and nearness(self._words[i], key.replace("_", " ")) >= _BESIDE

    @cached_property
    def _sorts(self) -> dict[int, str]:
        """Positions of words that say no more than a question word, as no predicate has them."""
        found = {i: vocabulary.SORTS[self._words[i]] for i in self._content if self._words[i] in vocabulary.SORTS}
        return {i: want for i, want in found.items() if self._stems[i] not in self._known}

    @cached_property
    def _known(self) -> frozenset[str]:
        return _stems_of(tuple(self._predicates()))

    @cached_property
    def _unknown(self) -> set[int]:
        """Positions of words that no intent knows and no predicate of the vault has."""
        known = self._known
        heavy = [i for i in self._content if i not in self._light and self._words[i] not in vocabulary.NARROWING]
        return {
            i
            for i in heavy
            if not any(is_akin(self._stems[i], part) for part in known) and not is_trigger(self._words[i])
        }

    @cached_property
    def _joined(self) -> dict[int, str]:
        """Stems of two words as one, by position of the first: "time out"."""
        asking = set(self._question.asking)
        return {i: stem(self._words[i] + self._words[i + 1]) for i in asking if i + 1 in asking}

    @cached_property
    def _is_past(self) -> bool:
        return not vocabulary.PAST.isdisjoint(self._question.words)

    def asks_for_all(self) -> bool:
        """Return whether the question asks for nothing particular: "tell me about Keystone"."""
        if any(intent.name not in _OVERVIEWS for intent in self._question.intents) or self._content:
            return False
        text = f" {' '.join(self._question.words)} "
        if not any(named.words for named in self._question.named) and not any(
            f" {each} " in text for each in vocabulary.SELVES
        ):
            return False  # "what should I do" names oneself by the way
        words = [word for i in self._question.asking if (word := self._words[i]) not in vocabulary.FLUFF]
        return not words or (words[0] not in vocabulary.BEING and vocabulary.PLAIN.issuperset(words))

    def _shown(self, fact: Fact, keys: tuple[str, ...]) -> set[int]:
        """Return the positions of words that show an intent of a fact."""
        found: set[int] = set()
        for intent, at in self._question.triggers:
            if not satisfies(intent, fact) or not self._fills(intent, fact):
                continue
            # an intent's own predicates name something else: "cpu" is no "memory limit", though both are hardware
            others = {i for i in at if self._words[i] in intent.predicates and fact.key not in intent.predicates}
            found |= {i for i in at if i not in others or any(is_akin(self._stems[i], key) for key in keys)}
        return found - set(self._sort) if self._is_other_type(fact) else found

    def _fills(self, intent: Intent, fact: Fact) -> bool:
        """Return whether an intent accounts for a whole predicate: a "DNS server" is no server."""
        parts = fact.key.split("_")
        if fact.key in intent.predicates or fact.predicate in {*intent.predicates, *intent.inverse}:
            return True
        rest = {part for part in parts if part not in intent.predicates and part not in STOP_WORDS}
        asked = {self._stems[i] for i in self._question.asking}
        return all(part in vocabulary.KINDS or any(is_akin(stem(part), each) for each in asked) for part in rest)

    def _names_head(self, fact: Fact) -> bool:
        """Return whether the question asks for the end of a predicate: no password is its hint."""
        head = next((part for part in reversed(fact.key.split("_")) if part not in STOP_WORDS), "")
        others = {stem(part) for part in fact.key.split("_")} - {stem(head)}
        counted = self._is_count and any(is_akin(self._stems[i], other) for i in self._sort for other in others)
        if counted and head not in vocabulary.COUNTS and not any(is_akin(stem(head), each) for each in self._stems):
            return False  # "how many episodes" does not ask for an "episode length"
        if any(word in self._words and head in heads for word, heads in vocabulary.TARGETS.items()):
            return True
        if (
            not head
            or head in vocabulary.HEADS | vocabulary.PLACES | vocabulary.LIGHT_NOUNS
            or len(key_stems(fact.key)) < 2
        ):
            return True
        if any(is_akin(stem(head), self._stems[i]) for i in self._question.asking):
            return True
        return any(
            {fact.key, fact.predicate, head} & {*each.predicates, *each.inverse} for each in self._question.intents
        )

    @cached_property
    def _measures(self) -> set[int]:
        """Positions of measures that are asked for by name: "the size of"."""
        words = self._words
        return {i for i in self._light if words[i] in vocabulary.MEASURES and words[i + 1 : i + 2] == ["of"]}

    @cached_property
    def _deeds(self) -> set[int]:
        """Positions of what the asker does: "should I dial", "can we use"."""
        words = self._words
        return {
            i for i in self._content
            if i > 1 and words[i - 1] in vocabulary.ASKERS and words[i - 2] in vocabulary.HELPERS
            and ("whom" not in words[:i] or not any(i in at for _, at in self._question.triggers))
        }  # fmt: skip

    @cached_property
    def _denials(self) -> set[int]:
        """Positions of words that deny what a fact would say: "which port must Keystone never use".

        Whether something is not so, or why, is another matter, and so is what one does not know.
        """
        words = self._words
        asks = next((i for i, word in enumerate(words) if word in vocabulary.QUESTION_WORDS), None)
        if "why" in words or (asks is None and words and vocabulary.is_helper(words[0])):
            return set()
        return {
            i for i, word in enumerate(words)
            if i >= (asks or 0) and vocabulary.denies(word)
            and next((each for each in words[i + 1 :] if each not in vocabulary.ASKERS), "") not in vocabulary.FLUFF
        }  # fmt: skip

    @cached_property
    def _once(self) -> set[int]:
        """Positions of "used to" in questions for what is over: "where did Tove use to live"."""
        words = self._words
        return {
            i
            for i, pair in enumerate(itertools.pairwise(words))
            if pair in {("use", "to"), ("used", "to")} and vocabulary.BEING.isdisjoint(words[:i])
        }

    @cached_property
    def _verbs(self) -> set[int]:
        """Positions of verbs and measures: "should I order", "is deployed", "how high"."""
        words, found = self._question.words, set[int]()
        asking = set(self._question.asking)
        for i in self._content:
            if words[i] in vocabulary.RANKS | vocabulary.DENIALS or (i and words[i - 1] in vocabulary.ARTICLES):
                continue
            before = i - 1
            while before >= 0 and (before not in asking or words[before] in vocabulary.ARTICLES):
                before -= 1  # the subject stands between: "does Keystone serve", "can I reach"
            helper = words[before] if before >= 0 and not words[i - 1].endswith("'s") else ""
            is_state = helper in vocabulary.BEING and (words[i].endswith(("ed", "en")) or i - 1 not in asking)
            if (helper == "how" and words[i] in vocabulary.DEGREES) or (
                helper not in vocabulary.PAST
                and ((helper in vocabulary.HELPERS | vocabulary.HAVING and before < i - 1) or is_state)
            ):
                found.add(i)
            after = i + 1 + (i + 1 < len(words) and words[i + 1] in _PREPOSITIONS)
            if (
                i > 1
                and words[i].endswith("s")
                and words[i - 2] in vocabulary.WHICH
                and after < len(words)
                and after not in asking
            ):
                found.add(i)  # "which insurer covers Truck 7"
        return found

    def _names(self, keys: tuple[str, ...]) -> bool:
        return bool(keys) and {*(self._stems[i] for i in self._question.asking), *self._joined.values()}.issuperset(
            keys
        )

    def _wanted(self, words: list[str]) -> list[tuple[int, str]]:
        """Return the kinds of value that are asked for, with the positions of the words that say so."""
        wants = [(i, vocabulary.ASKING[word]) for i, word in enumerate(words) if word in vocabulary.ASKING]
        pairs = list(itertools.pairwise(words))
        asked = vocabulary.ASKING_PAIRS
        wants += [
            (i, asked[pair])
            for i, pair in enumerate(pairs)
            if pair in asked and pairs[i + 1 : i + 2] != [("time", "zone")]
        ]
        wants += [(i, "origin") for i, want in wants if want == "where" and "from" in words]
        return wants

    def _is_wanted(self, want: str, path: Sequence[Fact], at: int) -> bool:
        """Return whether the kind of value fits; within a clause that of the first fact may."""
        return any(self._fits(want, fact) for fact in (path if at else path[-1:]))

    def _fits(self, want: str, fact: Fact) -> bool:
        value = fact.value
        if not want:
            return False
        if want == "who":
            if fact.object_id is not None or vocabulary.NAME.fullmatch(next(iter(value.split()), "")):
                return True
            return self._is_agent(fact) and not vocabulary.NUMBER.search(value) and not vocabulary.URL.match(value)
        if want == "when":
            return fact.object_id is None and vocabulary.DATE.search(value) is not None
        if want == "machine":
            return vocabulary.FIGURE.fullmatch(value) is None
        if want == "origin":
            return any(satisfies(intent, fact) for intent in self._question.intents if intent.name == "birthplace")
        if want == "number":
            return vocabulary.NUMBER.search(value) is not None
        if want == "why":
            return any(satisfies(intent, fact) for intent in self._question.intents if intent.name in _CAUSES)
        if vocabulary.URL.match(value) or not vocabulary.PLACES.isdisjoint(fact.key.split("_")):
            return True
        if vocabulary.FIGURE.fullmatch(value) or vocabulary.DAY.search(value) or self._is_agent(fact):
            return False
        return fact.key.rpartition("_")[2] not in STOP_WORDS - _PREPOSITIONS

    def _is_agent(self, fact: Fact) -> bool:
        """Return whether a predicate is a role of people: ``lender``, ``curator``, ``led_by``."""
        last = fact.key.rpartition("_")[2]
        if last in vocabulary.PERSONS or last == "by":
            return True
        return (
            last.endswith(("er", "or", "ist", "ant"))
            and bool(self.evidence(fact).words)
            and last not in vocabulary.THINGS
        )
