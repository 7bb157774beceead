"""Replacements: statements that one of a later session takes back or changes.

Within a session `decisions` knows what talk was about and what edits undid. Between sessions there are only the statements
themselves, so one takes the place of another where it says so: it gives up what the other affirms, names the other's value as
the old one, or says that something is changed to a value, and the other gives the same thing another value. Two that merely
differ both stand. "Make it 14 days" names its thing in the reply that repeats the value: its echo.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from lamina_engine import after_fork
from lamina_engine.chunks.handoffs import ECHO
from lamina_engine.expressions import late
from lamina_engine.index.analysis import STOP_WORDS
from lamina_engine.index.languages import function_words
from lamina_engine.sessions import cues
from lamina_engine.time import changes

_TOLD: Final = late(
    r"(?:The person decided|Decided|A standing rule, in the person's words)(?: \(.*?\))?(?:, asked [\"“].*[\"”])?: "
    rf"[\"“](?P<told>.*)[\"”](?:\nThe agent had said: (?P<finding>.*))?(?:{ECHO}(?P<echo>.*))?"
)
"""An insight as `handoff` writes it."""
_MONTH: Final = r"(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-zä]*\b"
_UNIT: Final = (
    r"(?:m?s|milliseconds?|sec(?:ond)?s?|min(?:ute)?s?|h|hours?|days?|weeks?|months?|years?|[kmgt]i?b|percent|rows|times|"
    r"sekunden?|minuten?|stunden?|tagen?|wochen?|monaten?|jahren?|uhr|prozent|euros?|eur|dollars?|usd|pounds?|francs?|chf|cents?)"
)
_DAY: Final = late(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?\b"
)
_VALUES: Final = (
    ("date", late(
        rf"\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}\. ?(?:\d{{1,2}}\.(?: ?\d{{4}})?|{_MONTH})|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}|"
        rf"\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b(?!:)"
    )),
    ("day", _DAY),
    ("time", late(r"\b\d{1,2}:\d\d\b|\b\d{1,2} ?(?:am|pm|uhr)\b")),
    ("number", late(
        rf"(?<![\w.,-])\d+(?:[.,]\d+)*(?= ?(?:%|{_UNIT}\b))|"
        r"(?:\b(?:to|at|is|are|of|on|for|after|within|most|least|every|port|auf|ist|sind|bei|nach|alle)|[:=]) ?"
        r"\b(?:[1-9]\d*|0(?=[.,]\d))(?:[.,]\d+)*\b"
    )),
)  # fmt: skip
"""Kinds of values: each is looked for in what the kinds before it left. A number without a unit may be a name: migration 12."""
_UNITS: Final = late(rf"\b{_UNIT}\b")
_DIGITS: Final = late(r"\d+(?:[.,:]\d+)*")
_QUALIFIED: Final = late(
    r"\b(?:of|in|into|on|to|for|with|from|vo[nm]|zu[mr]?|ins|im|am|bei|beim|auf|für|mit|(?<=\w{4} )de[rs]) "
    r"(?:(?:the|our|de[nmrs]|die|das|eine?[nmrs]?) )?(?P<what>\w+)"
)
"""What a thing is told from its like by: "the retention on staging"."""
_WHO: Final = late(
    rf"\b(?:[^\W\d_]{{1,40}} ){{1,3}}(?<!is )(?<!are )(?<!was )(?<!were )(?<!been )(?<!wird )(?<!wurde )(?<!wurden )"
    rf"(?=(?:{changes.CHANGING}) (?!(?:to|from|by|back|off|on|auf|von|um)\b))"
)
"""Who changes something is not what it is about."""
_CHANGED: Final = late(
    rf"\b(?:{changes.CHANGING}|{changes.REVERTED}|(?:is|are) (?:{changes.NOW})|(?:{changes.NOW})(?: is| are)?|new|neue[rsn]?|was: ?|"
    rf"{changes.NO_LONGER}|{changes.ANY_MORE}|{changes.INSTEAD_OF}|{changes.FORMERLY}|{changes.FROM_NOW_ON})\b"
)
"""Says that something is not as it was."""
_WHAT: Final = r"(?P<what>(?:(?! (?:to|into|onto|in|by|with|and|as|for|from|auf|zu|nach|durch|mit|und|als|für)\b)[^,;:!?()]){1,40})"
"""What is named behind a word, up to what is said of it."""
_FORMER: Final = late(
    rf"\b(?:(?:was|were|war|waren)(?! (?:{changes.ANY})\b)|from(?! now| \S{{1,20}} on\b)|not|before|vo[nm]|vorher|"
    rf"{changes.INSTEAD_OF}|{changes.NO_LONGER}|{changes.FORMERLY})\b:? (?:on |at |the |am |um |de[nmr] |die |das )?{_WHAT}"
)
"""What is named as the old one."""
_MOVED: Final = late(
    rf"\b(?:(?:{changes.CHANGING})(?: (?P<what>[^,.;:!?]{{3,60}}?))? (?:over )?(?:to|into|onto|by|with|auf|nach|zu|durch|in)|"
    rf"{changes.NOW_CALLED}) (?P<place>[^,.;:!?]{{2,60}})"
)
_GIVES_UP: Final = late(
    rf"\b(?:{changes.ENDED}|{changes.REPLACED}|{changes.INSTEAD_OF}|{changes.FORMERLY}) {_WHAT}", re.IGNORECASE
)
"""What is over stands behind it: "we retired Solr"."""
_OVER: Final = late(
    rf"\b(?:(?:is|are|was|were|been)(?: now)? (?:{changes.ENDED}|{changes.REPLACED})|{changes.HANDED_OVER}|{changes.LAPSES}|"
    rf"{changes.ANY_MORE}|nicht mehr|doch nicht|(?:ist|sind|wird|wurden?)(?=.{{0,80}} (?:{changes.PARTICIPLES})\W*$))\b",
    re.IGNORECASE,
)
"""What is over stands before it: "Solr was shut down"."""
_DENIES: Final = late(rf"\b(?:{changes.DENIED})\b", re.IGNORECASE)
_LEAVES: Final = late(rf"\b(?:{changes.CHANGING}|{changes.TAKEN_OVER}|{changes.REVERTED})\b", re.IGNORECASE)
_LEFT: Final = late(rf"\b(?:from|out of|vo[nm]) {_WHAT}", re.IGNORECASE)
"""What is left stands behind it, in a clause with a verb that leaves: "moved from the hall"."""
_PLACED: Final = late(
    r"\b(?:called|named|heißt|in|into|on|onto|with|via|using|through|auf|mit|über|bei|per) (?P<place>[^,.;:!?]{2,60})"
)
_CLAUSE: Final = late(
    r"[,;()–—?!]|:(?! ?\d)|(?<=[^\d\s]{2})\.|\b(?:because|since|so that|as it|weil|damit|denn|but|aber)\b"
)
_ECHO_CLAUSE: Final = late(r"[,;()–—?!]|(?<=[^\d\s]{2})\.")
"""Ends a clause of a reply, where a colon stands behind what something is said of: "release lane: level 12"."""
_SETS: Final = late(r"\A\W*(?:please |bitte )?(?:set|put|make|setze?|stelle?)\b")
_SAID: Final = late(
    r"\b(?:said|says|according to|sagt|sagte|laut) [^\W\d_]+|\b[^\W\d_]+ (?:said|says|wants|decided|sagt|sagte|will)\b"
)
_SUBJECT: Final = late(
    r"\A(?P<what>.{2,60}?) (?:is|are|was|were|has|have|takes|costs|needs|does|doesn't|do|don't|can't|cannot|keeps|ist|sind|war|hat|haben|"
    r"braucht|kostet|macht|nervt)\b"
)
_TOO_MUCH: Final = late(rf"\b(?:{cues.TOO_MUCH}|fliegt)\b")
_PER: Final = late(r"\b(?:per|pro|je) \w+")
_DENIED: Final = late(r"\b(?:never|don't|do not|must not|mustn't|niemals|nie|kein\w*)\b[^,.;]*")
_FORBIDS: Final = late(
    r"\b(?:never|don't|do not|must not|mustn't|may not|nobody|no one|hands off|off[- ]limits|not allowed|forbidden|"
    r"niemals|nie|niemand|kein\w*|nicht|tabu|verboten)\b"
)
_PERMITS: Final = late(
    r"\b(?:may|(?:is|are) (?:fine|ok(?:ay)?|allowed|permitted)|allowed|free to|"
    r"(?:lift|waive|drop)(?:s|ed|ped)? the (?:ban|rule|lock|restriction)|"
    r"darf(?:st)?|dürfen|dürft|erlaubt|freigegeben)\b"
)
_FREELY: Final = late(r"\b(?:any|again|whenever|anywhere|wieder|jederzeit|beliebig\w*)\b")
"""Says of a permission that it is a new one, as words of change do."""
_REASON: Final = late(r"\b(?:because|since|so that|weil|denn|damit)\b[^,.;]*")
_ENDING: Final = late(r"(?<=\w{3})(?:ing|ed|en|es|s|e|n)\Z")
_LONGEST: Final = 200
"""Characters of a clause that are read for what it is about."""
_SHARE: Final = 0.1
"""A word that more of the statements have names none of them."""


class _Clause(NamedTuple):
    """A clause that gives something a value."""

    kind: str
    value: str
    about: list[str]
    text: str
    """Without the value."""
    is_change: bool
    """True where its sentence says that this is new."""
    unit: str

    @property
    def qualifiers(self) -> frozenset[str]:
        """Words that tell a thing from its like: "the retention on staging"."""
        return _words(" ".join(_QUALIFIED.findall(self.text)))

    @property
    def phrases(self) -> list[list[str]]:
        """Words of what it is about that stand together, but for qualifiers."""
        phrases: list[list[str]] = [[]]
        for word in re.findall(r"[^\W_]+|,", _QUALIFIED.sub(" , ", self.text)):
            if stems := content_words(word):
                phrases[-1] += stems
            else:
                phrases.append([])
        return [phrase for phrase in phrases if phrase]


@after_fork.track_property_locks
class Statement:
    """Statement of what was settled, read for what it takes the place of."""

    def __init__(self, text: str, echo: str = "") -> None:
        found = _TOLD.match(text)
        self.told = found["told"] if found is not None else text
        self._is_rule = found is not None and text.startswith("A standing rule")
        self._finding = (found["finding"] or "") if found is not None else ""
        self._echo = (found["echo"] or "") if found is not None else echo

    @cached_property
    def words(self) -> frozenset[str]:
        """Return the words that it affirms, but for its reasons."""
        return _words(_DENIED.sub(" ", _FORMER.sub(" ", _REASON.sub(" ", cues.affirmed(self.told).lower()))))

    @cached_property
    def _withdrawn(self) -> list[tuple[frozenset[str], bool, frozenset[str]]]:
        """Return what its sentences give up.

        With it come True for a sentence that says nothing else, and the words of what is moved away from it.
        """
        found: list[tuple[frozenset[str], bool, frozenset[str]]] = []
        before = self._finding
        for sentence in cues.sentences(self.told):
            if cues.is_question(sentence) or _DENIES.search(sentence) is not None:
                continue
            reverses = cues.is_reversal(sentence)
            named = _words(" ".join(cues.withdrawn_words(sentence)))
            if reverses and not named and _TOO_MUCH.search(sentence.lower()):
                named = _words(_TOO_MUCH.split(sentence.lower())[0])
            follows = cues.points_back(sentence) or not _words(before).isdisjoint(_words(sentence))
            if reverses and not named and follows and (subject := _SUBJECT.match(before.lower())) is not None:
                named = _words(subject["what"])
            if named:
                found.append((named, reverses, frozenset()))
            found += [(each, False, of) for each, of in _read_ended(sentence) if each]
            before = sentence
        return found

    @cached_property
    def _former(self) -> frozenset[str]:
        return frozenset(found["what"] for found in _FORMER.finditer(self.told.lower()))

    @cached_property
    def _clauses(self) -> list[_Clause]:
        """Return its clauses that give something a value, those of its echo with it."""
        own = [clause for sentence in cues.sentences(self.told) for clause in _read_clauses(sentence)]
        if self._echo:
            values = read_values(self.told)
            own += [clause for sentence in cues.sentences(self._echo) for clause in _read_clauses(sentence, values)]
            own = [clause._replace(is_change=True) for clause in own]
        return own

    @cached_property
    def _moves(self) -> list[tuple[frozenset[str], frozenset[str]]]:
        """Return what it moves or changes, and to what: "the tiles move from S3 to the disk"."""
        lowered = self.told.lower()
        found = []
        for match in _MOVED.finditer(lowered):
            what = _words(match["what"] or "")
            if not what or match["what"].startswith(("from ", "von ")):
                what = _words(_CLAUSE.split(lowered[max(0, match.start() - _LONGEST) : match.start()])[-1]) or what
            if what and (place := _words(match["place"])):
                found.append((what, place))
        return found

    @cached_property
    def _placed(self) -> frozenset[str]:
        return frozenset(word for found in _PLACED.finditer(self.told.lower()) for word in _words(found["place"]))

    def replaces(self, older: Statement, common: frozenset[str] = frozenset()) -> bool:
        """Return whether it takes an older one's place; ``common`` words tell none apart."""
        return (
            self._gives_up(older, common)
            or self._gives_another_value(older)
            or self._gives_another_place(older)
            or self._lifts(older)
        )

    def _gives_up(self, older: Statement, common: frozenset[str]) -> bool:
        for named, reverses, of in self._withdrawn:
            shared = named & older.words
            matter = (self.words - named) & older.words
            is_all = {word for word in older.words if not word[0].isdigit()} <= named or (
                reverses and named <= older.words and bool(shared - common)
            )
            if 2 * len(shared) > len(named) and of <= older.words and (is_all or matter - common):
                return True
        return False

    def _gives_another_value(self, older: Statement) -> bool:
        pairs = [
            (clause, other) for clause in self._clauses for other in older._clauses
            if clause.kind == other.kind and clause.value != other.value and clause.about and other.about
        ]  # fmt: skip
        here, there = (frozenset(word for each in pairs for word in each[side].qualifiers) for side in (0, 1))
        is_other = bool(here and there) and here.isdisjoint(there)  # "on staging" and "on production"
        return any(
            self._changes_value(clause, other) and not (is_other and {*clause.about} != {*other.about})
            for clause, other in pairs
        )

    def _changes_value(self, clause: _Clause, other: _Clause) -> bool:
        about, of = frozenset(clause.about), frozenset(other.about)
        is_former = any(other.value in read_values(former) or other.value in former for former in self._former)
        return (
            about == of
            or (clause.is_change and (about <= of or _is_named_alike(clause, other)))
            or ((clause.is_change or is_former) and clause.about[0] in of and len(about & of) > 1 - is_former)
        )

    def _lifts(self, older: Statement) -> bool:
        """Return whether it allows what an older one forbids, and no part of it alone."""
        for sentence in map(str.lower, cues.sentences(self.told)):
            if _FREELY.search(sentence) is None and not says_change(sentence):
                continue
            for clause in _CLAUSE.split(sentence):
                if _PERMITS.search(clause) is not None and _FORBIDS.search(clause) is None:
                    only = _words(_UNITS.sub(" ", " ".join(_QUALIFIED.findall(_CHANGED.sub(" ", clause)))))
                    if any(only <= words and len(words & _words(clause)) > 1 for words in older._forbidden):
                        return True
        return False

    @cached_property
    def _forbidden(self) -> list[frozenset[str]]:
        """Return the words of its sentences that forbid something, or of a rule."""
        said = map(str.lower, cues.sentences(self.told))
        return [_words(each) for each in said if self._is_rule or _FORBIDS.search(each) is not None]

    def _gives_another_place(self, older: Statement) -> bool:
        return any(
            what <= older.words and older._placed - what - place and not place & older.words
            for what, place in self._moves
        )


def find_replaced(texts: Sequence[str]) -> dict[int, int]:
    """Return replaced statements with their last successors, by number; the oldest is 0."""
    statements = [Statement(text) for text in texts]
    counts = Counter(word for statement in statements for word in statement.words)
    most = max(2, _SHARE * len(statements))
    common = frozenset(word for word, count in counts.items() if count > most)
    found = {}
    for number, older in enumerate(statements):
        later = range(len(statements) - 1, number, -1)
        if last := next((each for each in later if statements[each].replaces(older, common)), None):
            found[number] = last
    return found


def read_values(text: str) -> frozenset[str]:
    """Return the numbers and days of a text, times and dates in parts of them."""
    lowered = text.lower()
    return frozenset([*_DIGITS.findall(lowered), *(day.removesuffix("s") for day in _DAY.findall(lowered))])


def find_values(text: str) -> frozenset[str]:
    """Return the numbers and days of a text that are values; "issue 12" has a name."""
    lowered = text.lower()
    return frozenset(
        value for _, pattern in _VALUES for found in pattern.findall(lowered) for value in read_values(found)
    )


def split_clauses(echo: str) -> list[str]:
    """Return the clauses of a reply's sentence, each with the label before its colon."""
    return _ECHO_CLAUSE.split(echo)


def without_former(text: str) -> str:
    """Return a text without its old values: "down from 40 minutes"."""
    return _FORMER.sub(" ", text.lower())


def says_over(clause: str) -> bool:
    """Return whether a clause says that something is over."""
    return _OVER.search(clause) is not None or _GIVES_UP.search(clause) is not None


def has_date(text: str) -> bool:
    """Return whether a text names a day, or a time of one."""
    lowered = text.lower()
    return any(pattern.search(lowered) is not None for kind, pattern in _VALUES if kind != "number")


def says_change(sentence: str) -> bool:
    """Return whether a sentence says that something is not as it was."""
    return _CHANGED.search(sentence.lower()) is not None


def _read_clauses(sentence: str, repeated: Collection[str] | None = None) -> Iterator[_Clause]:
    """Yield the clauses of a sentence that give one value, of an echo a ``repeated`` one."""
    lowered = _WHO.sub(" ", _SAID.sub(" ", _FORMER.sub(" ", sentence.lower())))
    is_change, before = says_change(sentence), ""
    for clause in _CLAUSE.split(lowered) if repeated is None else map(_cut_label, _ECHO_CLAUSE.split(lowered)):
        rest, found = clause, list[tuple[str, str]]()
        for kind, pattern in _VALUES:
            values = pattern.findall(rest)
            rest = pattern.sub(" ", rest)
            if len(values) == 1 and (repeated is None or not read_values(values[0]).isdisjoint(repeated)):
                found.append((kind, values[0]))
        if (
            repeated is not None
            and not found
            and len(bare := [each for each in _DIGITS.findall(rest) if each in repeated]) == 1
        ):
            rest = rest.replace(bare[0], " ")
            found.append(("number", bare[0]))
        text = _SETS.sub(" ", _UNITS.sub(" ", _CHANGED.sub(" ", _PER.sub(" ", rest))))
        about = content_words(text)
        for kind, value in found:
            plain = _DIGITS.search(value) if kind == "number" else None
            named = (about or content_words(before)) + _PER.findall(rest)
            unit = _UNITS.search(rest if plain is not None else "")
            yield _Clause(
                kind, plain[0] if plain is not None else value.replace(" ", ""), named, text if about else before, is_change,
                unit[0] if unit is not None else "",
            )  # fmt: skip
        before = text if about else before


def _cut_label(clause: str) -> str:
    """Return a clause from the last colon before which it need not say what it is about."""
    parts = clause.split(":")
    for first in range(len(parts) - 1, 0, -1):
        rest = ":".join(parts[first:])
        if sum(not word[0].isdigit() for word in content_words(_UNITS.sub(" ", _PER.sub(" ", rest)))) > 1:
            return rest
    return clause


def _is_named_alike(clause: _Clause, other: _Clause) -> bool:
    """Return whether two clauses name a thing alike, and the first tells it from no other.

    They begin alike, or two words stand together in both with nothing of another name before them: "raw traces" are no "old traces".
    What only qualifies something else does not count: "the rehearsal for the harvest party".
    """
    if not clause.qualifiers <= {*other.about} or not (
        clause.unit.startswith(other.unit[:3]) or other.unit.startswith(clause.unit[:3])
    ):
        return False
    here, there = clause.phrases, other.phrases
    return here[:1] == there[:1] != [] or any(
        one[i : i + 2] == two[j : j + 2] and (i == 0 or j == 0 or one[i - 1] == two[j - 1])
        for one in here for two in there for i in range(len(one) - 1) for j in range(len(two) - 1)
    )  # fmt: skip


def _read_ended(sentence: str) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yield the words of what is over by a sentence, or left, with those of what leaves it."""
    for clause in _CLAUSE.split(sentence):
        yield from ((_words(found["what"]), frozenset()) for found in _GIVES_UP.finditer(clause))
        if (over := _OVER.search(clause)) is not None:
            yield _words(clause[: over.start()]), frozenset()
        verb, left = _LEAVES.search(clause), _LEFT.search(clause)
        if verb is not None and left is not None:
            moved = _words(clause[verb.end() : left.start()]) or _words(clause[: verb.start()])
            yield _words(left["what"]), moved if verb.end() < left.start() else frozenset()


def content_words(text: str) -> list[str]:
    """Return the words of a text that say what it is about, in their order, without endings."""
    found = re.findall(r"\d[\d.]*\b|[^\W_]{2,}", text.lower())
    return [
        _ENDING.sub("", word) for word in found
        if word not in STOP_WORDS and word not in cues.TALK and word not in function_words("german")
    ]  # fmt: skip


def _words(text: str) -> frozenset[str]:
    return frozenset(content_words(text))
