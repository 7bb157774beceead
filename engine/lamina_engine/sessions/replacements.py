"""Replacements: statements that one of a later session takes back or changes.

Within a session `decisions` knows what talk was about and what edits undid. Between sessions there are only the statements
themselves, so one takes the place of another where it says so: it gives up what the other affirms, names the other's value as
the old one, or says that something is changed to a value, and the other gives the same thing another value. Two that merely
differ both stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from lamina_engine import after_fork
from lamina_engine.index.analysis import STOP_WORDS
from lamina_engine.index.languages import function_words
from lamina_engine.sessions import cues

_TOLD: Final = re.compile(
    r"(?:The person decided|Decided|A standing rule, in the person's words)(?: \(.*?\))?(?:, asked [\"“].*[\"”])?: "
    r"[\"“](?P<told>.*)[\"”](?:\nThe agent had said: (?P<finding>.*))?"
)
"""An insight as `handoff` writes it."""
_MONTH: Final = r"(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-zä]*\b"
_UNIT: Final = (
    r"(?:m?s|milliseconds?|sec(?:ond)?s?|min(?:ute)?s?|h|hours?|days?|weeks?|months?|years?|[kmgt]i?b|percent|rows|times|"
    r"sekunden?|minuten?|stunden?|tagen?|wochen?|monaten?|jahren?|uhr)"
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
_CHANGING: Final = (
    r"(?:mov|postpon|push|shift|chang|rais|lower|reduc|increas|extend|shorten|delay|bump|"
    r"verschieb|verschob|verleg|änder|erhöh|senk)\w*"
)
_CHANGED: Final = re.compile(
    rf"(?:\b[^\W\d_]+ (?:has |have |had |hat |haben )?(?={_CHANGING} (?!(?:to|from|by|back|on|auf|von|um)\b)))?"
    rf"\b{_CHANGING}|"
    r"\b(?:bring|brought|put)\b(?= .{2,40}\b(?:forward|off)\b)|\b(?:is|are) now\b|\bnow(?: is| are)?\b|\bnew\b|\bneue[rsn]?\b|"
    r"\b(?:jetzt|nun)\b|\bwas\b: ?|\binstead of\b|\brather than\b|\bstatt\b|\bno longer\b|\bnicht mehr\b"
)
"""Says that something is not as it was; with who did it, who is not what it is about."""
_FORMER: Final = re.compile(
    r"\b(?:was|were|from(?! now)|instead of|rather than|not|no longer|before|previously|"
    r"statt|anstelle von|nicht mehr|von|war|bisher|vorher)\b:? "
    r"(?:on |at |the |am |um |den |dem |der |die |das )?(?P<what>[^,;:!?()]{1,40})"
)
"""What is named as the old one."""
_MOVED: Final = re.compile(
    r"\b(?:switch|migrat|mov|chang|replac|wechsel|umstell|umzieh|zieh)\w* (?P<what>[^,.;:!?]{3,60}?) (?:over )?"
    r"(?:to|into|onto|by|with|auf|nach|zu|durch|in) (?P<place>[^,.;:!?]{2,60})"
)
_PLACED: Final = re.compile(
    r"\b(?:in|into|on|onto|with|via|using|through|auf|mit|über|bei|per) (?P<place>[^,.;:!?]{2,60})"
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
_TOO_MUCH: Final = re.compile(
    r"\b(?:(?:is|are|would be) (?:overkill|too (?:heavy|much)|not worth)|(?:ist|sind) (?:zu (?:schwer|viel|teuer)|übertrieben)|fliegt)\b"
)
_PER: Final = re.compile(r"\b(?:per|pro|je) \w+")
_DENIED: Final = re.compile(r"\b(?:never|don't|do not|must not|mustn't|niemals|nie|kein\w*)\b[^,.;]*")
_REASON: Final = re.compile(r"\b(?:because|since|so that|weil|denn|damit)\b[^,.;]*")
_ENDING: Final = re.compile(r"(?<=\w{3})(?:ing|ed|en|es|s|e|n)\Z")
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
    def _withdrawn(self) -> list[tuple[frozenset[str], bool]]:
        """Return what its sentences give up, each with True for one that says nothing else."""
        found: list[tuple[frozenset[str], bool]] = []
        before = self._finding
        for sentence in cues.sentences(self.told):
            reverses = cues.is_reversal(sentence)
            named = _words(" ".join(cues.withdrawn_words(sentence)))
            if reverses and not named and _TOO_MUCH.search(sentence.lower()):
                named = _words(_TOO_MUCH.split(sentence.lower())[0])
            if (
                reverses
                and not named
                and (cues.points_back(sentence) or not _words(before).isdisjoint(_words(sentence)))
            ):
                of = _SUBJECT.match(before.lower())
                named = _words(of["what"]) if of is not None else frozenset()
            if named:
                found.append((named, reverses))
            before = sentence
        return found

    @cached_property
    def _former(self) -> frozenset[str]:
        return frozenset(found["what"] for found in _FORMER.finditer(self.told.lower()))

    @cached_property
    def _clauses(self) -> list[tuple[str, str, frozenset[str], bool]]:
        """Return kind, value and subject of clauses, and whether they say that this is new."""
        found = []
        for sentence in cues.sentences(self.told):
            lowered = _SAID.sub(" ", _FORMER.sub(" ", sentence.lower()))
            changes = _CHANGED.search(sentence.lower()) is not None
            for clause in _CLAUSE.split(lowered):
                rest = clause
                for kind, pattern in _VALUES:
                    values = pattern.findall(rest)
                    rest = pattern.sub(" ", rest)
                    if len(values) == 1:
                        about = _words(_UNITS.sub(" ", _CHANGED.sub(" ", rest))) | {*_PER.findall(rest)}
                        found.append((kind, values[0].replace(" ", ""), about, changes))
        return found

    @cached_property
    def _moves(self) -> list[tuple[frozenset[str], frozenset[str]]]:
        """Return what it moves or changes, and to what: "the tiles move from S3 to the disk"."""
        lowered = self.told.lower()
        found = []
        for match in _MOVED.finditer(lowered):
            what = _words(match["what"])
            if match["what"].startswith(("from ", "von ")):
                what = _words(_CLAUSE.split(lowered[: match.start()])[-1]) or what
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
        for named, reverses in self._withdrawn:
            shared = named & older.words
            matter = (self.words - named) & older.words
            is_all = older.words <= named or (reverses and named <= older.words and bool(shared - common))
            if 2 * len(shared) > len(named) and (is_all or matter - common):
                return True
        return False

    def _gives_another_value(self, older: Statement) -> bool:
        for kind, value, about, changes in self._clauses:
            for other_kind, other, of, _ in older._clauses:
                if kind != other_kind or value == other or not about or not of:
                    continue
                is_former = any(other in former.replace(" ", "") for former in self._former)
                if (
                    about == of
                    or (changes and about <= of)
                    or ((changes or is_former) and len(about & of) > 1 - is_former)
                ):
                    return True
        return False

    def _gives_another_place(self, older: Statement) -> bool:
        return any(
            what <= older.words and older._placed - what - place and not place & older.words
            for what, place in self._moves
        )


def find_replaced(texts: Sequence[str]) -> dict[int, int]:
    """Return replaced statements with their successors, by number; the oldest is 0."""
    statements = [Statement(text) for text in texts]
    return dict(_find_replaced(statements))


def _find_replaced(statements: Sequence[Statement]) -> Iterator[tuple[int, int]]:
    counts: dict[str, int] = {}
    for statement in statements:
        for word in statement.words:
            counts[word] = counts.get(word, 0) + 1
    most = max(2, _SHARE * len(statements))
    common = frozenset(word for word, count in counts.items() if count > most)
    for number, older in enumerate(statements):
        for later in range(len(statements) - 1, number, -1):
            if statements[later].replaces(older, common):
                yield number, later
                break


def content_words(text: str) -> list[str]:
    """Return the words of a text that say what it is about, in their order, without endings."""
    found = re.findall(r"\d[\d.]*\b|[^\W_]{2,}", text.lower())
    return [
        _ENDING.sub("", word) for word in found
        if word not in STOP_WORDS and word not in cues.TALK and word not in function_words("german")
    ]  # fmt: skip


def _words(text: str) -> frozenset[str]:
    return frozenset(content_words(text))
