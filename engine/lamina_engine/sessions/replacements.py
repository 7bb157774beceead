"""Replacements: statements that one of a later session takes back or changes.

Within a session `decisions` knows what talk was about and what edits undid. Between sessions there are only the statements
themselves, so one takes the place of another where it says so: it gives up what the other affirms, names the other's value as
the old one, or says that something is changed to a value, and the other gives the same thing another value. Two that merely
differ both stand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from lamina_engine import after_fork
from lamina_engine.index.analysis import STOP_WORDS
from lamina_engine.index.languages import function_words
from lamina_engine.sessions import cues
from lamina_engine.time import changes

_TOLD: Final = re.compile(
    r"(?:The person decided|Decided|A standing rule, in the person's words)(?: \(.*?\))?(?:, asked [\"“].*[\"”])?: "
    r"[\"“](?P<told>.*)[\"”](?:\nThe agent had said: (?P<finding>.*))?"
)
"""An insight as `handoff` writes it."""
_MONTH: Final = r"(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-zä]*\b"
_UNIT: Final = (
    r"(?:m?s|milliseconds?|sec(?:ond)?s?|min(?:ute)?s?|h|hours?|days?|weeks?|months?|years?|[kmgt]i?b|percent|rows|times|"
    r"sekunden?|minuten?|stunden?|tagen?|wochen?|monaten?|jahren?|uhr|prozent|euros?|eur|dollars?|usd|pounds?|francs?|chf|cents?)"
)
_VALUES: Final = (
    ("date", re.compile(
        rf"\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}\. ?(?:\d{{1,2}}\.(?: ?\d{{4}})?|{_MONTH})|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}|"
        rf"\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b(?!:)"
    )),
    ("day", re.compile(
        r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?\b"
    )),
    ("time", re.compile(r"\b\d{1,2}:\d\d\b|\b\d{1,2} ?(?:am|pm|uhr)\b")),
    ("number", re.compile(
        rf"(?<![\w.,-])\d+(?:[.,]\d+)*(?= ?(?:%|{_UNIT}\b))|"
        r"(?:\b(?:to|at|is|are|of|on|for|after|within|most|least|every|port|auf|ist|sind|bei|nach|alle)|[:=]) ?\b[1-9]\d*(?:[.,]\d+)*\b"
    )),
)  # fmt: skip
"""Kinds of values: each is looked for in what the kinds before it left. A number without a unit may be a name: migration 12."""
_UNITS: Final = re.compile(rf"\b{_UNIT}\b")
_WHO: Final = re.compile(
    rf"\b(?:[^\W\d_]{{1,40}} ){{1,3}}(?<!is )(?<!are )(?<!was )(?<!were )(?<!been )(?<!wird )(?<!wurde )(?<!wurden )"
    rf"(?=(?:{changes.CHANGING}) (?!(?:to|from|by|back|off|on|auf|von|um)\b))"
)
"""Who changes something is not what it is about."""
_CHANGED: Final = re.compile(
    rf"\b(?:{changes.CHANGING}|{changes.REVERTED}|(?:is|are) (?:{changes.NOW})|(?:{changes.NOW})(?: is| are)?|new|neue[rsn]?|was: ?|"
    rf"{changes.NO_LONGER}|{changes.ANY_MORE}|{changes.INSTEAD_OF}|{changes.FORMERLY}|{changes.FROM_NOW_ON})\b"
)
"""Says that something is not as it was."""
_WHAT: Final = r"(?P<what>(?:(?! (?:to|into|onto|in|by|with|and|as|for|from|auf|zu|nach|durch|mit|und|als|für)\b)[^,;:!?()]){1,40})"
"""What is named behind a word, up to what is said of it."""
_FORMER: Final = re.compile(
    rf"\b(?:(?:was|were|war|waren)(?! (?:{changes.ANY})\b)|from(?! now| \S{{1,20}} on\b)|not|before|vo[nm]|vorher|"
    rf"{changes.INSTEAD_OF}|{changes.NO_LONGER}|{changes.FORMERLY})\b:? (?:on |at |the |am |um |de[nmr] |die |das )?{_WHAT}"
)
"""What is named as the old one."""
_MOVED: Final = re.compile(
    rf"\b(?:(?:{changes.CHANGING})(?: (?P<what>[^,.;:!?]{{3,60}}?))? (?:over )?(?:to|into|onto|by|with|auf|nach|zu|durch|in)|"
    rf"{changes.NOW_CALLED}) (?P<place>[^,.;:!?]{{2,60}})"
)
_GIVES_UP: Final = re.compile(
    rf"\b(?:{changes.ENDED}|{changes.REPLACED}|{changes.INSTEAD_OF}|{changes.FORMERLY}) {_WHAT}", re.IGNORECASE
)
"""What is over stands behind it: "we retired Solr"."""
_OVER: Final = re.compile(
    rf"\b(?:(?:is|are|was|were|been)(?: now)? (?:{changes.ENDED}|{changes.REPLACED})|{changes.HANDED_OVER}|{changes.LAPSES}|"
    rf"{changes.ANY_MORE}|nicht mehr|doch nicht|(?:ist|sind|wird|wurden?)(?=.{{0,80}} (?:{changes.PARTICIPLES})\W*$))\b",
    re.IGNORECASE,
)
"""What is over stands before it: "Solr was shut down"."""
_DENIES: Final = re.compile(rf"\b(?:{changes.DENIED})\b", re.IGNORECASE)
_LEAVES: Final = re.compile(rf"\b(?:{changes.CHANGING}|{changes.TAKEN_OVER}|{changes.REVERTED})\b", re.IGNORECASE)
_LEFT: Final = re.compile(rf"\b(?:from|out of|vo[nm]) {_WHAT}", re.IGNORECASE)
"""What is left stands behind it, in a clause with a verb that leaves: "moved from the hall"."""
_PLACED: Final = re.compile(
    r"\b(?:called|named|heißt|in|into|on|onto|with|via|using|through|auf|mit|über|bei|per) (?P<place>[^,.;:!?]{2,60})"
)
_CLAUSE: Final = re.compile(
    r"[,;()–—?!]|:(?! ?\d)|(?<=[^\d\s]{2})\.|\b(?:because|since|so that|as it|weil|damit|denn|but|aber)\b"
)
_SAID: Final = re.compile(
    r"\b(?:said|says|according to|sagt|sagte|laut) [^\W\d_]+|\b[^\W\d_]+ (?:said|says|wants|decided|sagt|sagte|will)\b"
)
_SUBJECT: Final = re.compile(
    r"\A(?P<what>.{2,60}?) (?:is|are|was|were|has|have|takes|costs|needs|does|doesn't|do|don't|can't|cannot|keeps|ist|sind|war|hat|haben|"
    r"braucht|kostet|macht|nervt)\b"
)
_TOO_MUCH: Final = re.compile(rf"\b(?:{cues.TOO_MUCH}|fliegt)\b")
_PER: Final = re.compile(r"\b(?:per|pro|je) \w+")
_DENIED: Final = re.compile(r"\b(?:never|don't|do not|must not|mustn't|niemals|nie|kein\w*)\b[^,.;]*")
_REASON: Final = re.compile(r"\b(?:because|since|so that|weil|denn|damit)\b[^,.;]*")
_ENDING: Final = re.compile(r"(?<=\w{3})(?:ing|ed|en|es|s|e|n)\Z")
_LONGEST: Final = 200
"""Characters of a clause that are read for what it is about."""
_SHARE: Final = 0.1
"""A word that more of the statements have names none of them."""


@after_fork.track_property_locks
class Statement:
    """Statement of what was settled, read for what it takes the place of."""

    def __init__(self, text: str) -> None:
        found = _TOLD.match(text)
        self.told = found["told"] if found is not None else text
        self._finding = (found["finding"] or "") if found is not None else ""

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
    def _clauses(self) -> list[tuple[str, str, list[str], bool]]:
        """Return kind, value and subject of clauses, and whether they say that this is new."""
        found = []
        for sentence in cues.sentences(self.told):
            lowered = _WHO.sub(" ", _SAID.sub(" ", _FORMER.sub(" ", sentence.lower())))
            is_change = _CHANGED.search(sentence.lower()) is not None
            for clause in _CLAUSE.split(lowered):
                rest = clause
                for kind, pattern in _VALUES:
                    values = pattern.findall(rest)
                    rest = pattern.sub(" ", rest)
                    if len(values) == 1:
                        about = content_words(_UNITS.sub(" ", _CHANGED.sub(" ", rest))) + _PER.findall(rest)
                        found.append((kind, values[0].replace(" ", ""), about, is_change))
        return found

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
        return self._gives_up(older, common) or self._gives_another_value(older) or self._gives_another_place(older)

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
        for kind, value, subject, is_change in self._clauses:
            for other_kind, other, other_subject, _ in older._clauses:
                about, of = frozenset(subject), frozenset(other_subject)
                if kind != other_kind or value == other or not about or not of:
                    continue
                is_former = any(other in former.replace(" ", "") for former in self._former)
                if (
                    about == of
                    or (is_change and about <= of)
                    or ((is_change or is_former) and subject[0] in of and len(about & of) > 1 - is_former)
                ):
                    return True
        return False

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
