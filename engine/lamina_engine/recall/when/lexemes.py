"""A question cut into lexemes of time: words with their meanings, numbers, written dates, and what can be none of these.

What stands between blanks is one piece. A piece that is a path, an address, a version, an identifier or an amount of money is
opaque: nothing inside it is read, so a date in a file's name is part of the name.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from lamina_engine.recall.when import calendar
from lamina_engine.recall.when.phrases import ALL_LANGUAGES, Sense, Senses, expressions, fold, vocabulary
from lamina_engine.recall.when.written import PATTERN, SPANS, Written, written_quarter

_PIECE: Final = re.compile(r"\S+")
_OPENING: Final = "([{<\"'“‘«„¿¡*_`"
_CLOSING: Final = ".,;:!?)]}>\"'”’»*_`…。，、？！"
_STOPS: Final = frozenset(".;:!?…。？！")
_WORDS: Final = re.compile(r"[^\W\d_]+(?:['’ʼ\-–—][^\W\d_]+)*['’ʼ]?")
_PART: Final = re.compile(r"[^\W\d_]+|[\-–—]")
_RANGE: Final = re.compile(r"(.+?)(?:\.\.+|…|→|/(?=[12][0-9]{3}-))(.+)")
_DASHES: Final = frozenset("-–—~→")


class Lexeme(NamedTuple):
    """A piece of a question: its place, its folded text, what it can mean, and the span of a written date."""

    start: int
    end: int
    text: str
    senses: Senses
    written: Written | None = None


_NOTHING: Final[Senses] = {}
STOP: Final = Lexeme(0, 0, "", {"stop": Sense("stop", ALL_LANGUAGES)})
"""The end of a sentence: no phrase goes over it."""


def lexemes(text: str) -> list[Lexeme]:
    """Cut a text; O(length).

    Parameters
    ----------
    text : str

    Returns
    -------
    list of Lexeme
        In order. Commas, dashes and the ends of sentences are lexemes of their own.
    """
    found: list[Lexeme] = []
    known = vocabulary()
    for match in _PIECE.finditer(text):
        piece = match.group()
        if piece.isalpha():
            folded = fold(piece)
            found.append(Lexeme(match.start(), match.end(), folded, known.get(folded, _NOTHING)))
        else:
            _read_piece(piece, match.start(), found)
    return _join_expressions(found)


def _read_piece(piece: str, start: int, found: list[Lexeme]) -> None:
    if all(letter in _DASHES for letter in piece) and len(piece) <= 2:
        found.append(_mark(start, "dash", len(piece)))
        return
    body = piece.lstrip(_OPENING)
    start += len(piece) - len(body)
    inner = body.rstrip(_CLOSING)
    tail = body[len(inner) :]
    if inner:
        _read_body(inner, start, found)
    if tail:
        last = found[-1].senses if found else _NOTHING
        dotted = tail == "." and ("abbreviation" in last or "weekday_short" in last or "number" in last)
        if not dotted and any(letter in _STOPS for letter in tail):
            found.append(STOP)
        elif "," in tail:
            found.append(_mark(start + len(inner), "comma", 1))


def _read_body(body: str, start: int, found: list[Lexeme]) -> None:
    if _WORDS.fullmatch(body):
        _read_words(body, start, found)
        return
    range_ = _RANGE.fullmatch(body) if len(body) <= 64 else None
    if range_ and all(PATTERN.fullmatch(part) for part in range_.groups()):
        _read_written(range_[1], start, found)
        found.append(_mark(start + range_.end(1), "dash", 1))
        _read_written(range_[2], start + range_.start(2), found)
    elif len(body) > 40 or not _read_written(body, start, found):
        found.append(Lexeme(start, start + len(body), "", _NOTHING))


def _read_words(body: str, start: int, found: list[Lexeme]) -> None:
    """Read words joined by apostrophes and hyphens; a hyphen between two names of dates is a range."""
    known = vocabulary()
    parts = list(_PART.finditer(body))
    for place, part in enumerate(parts):
        if part.group() in "-–—":
            before, after = found[-1].senses, known.get(fold(parts[place + 1].group()), _NOTHING)
            if _is_name(before) and _is_name(after):
                found.append(_mark(start + part.start(), "dash", 1))
            continue
        folded = fold(part.group())
        found.append(Lexeme(start + part.start(), start + part.end(), folded, known.get(folded, _NOTHING)))


def _is_name(senses: Senses) -> bool:
    return any(category in senses for category in ("month", "abbreviation", "weekday", "weekday_short"))


def _read_written(body: str, start: int, found: list[Lexeme]) -> bool:
    """Append what a piece with digits says; False when it says nothing of time."""
    match = PATTERN.fullmatch(body)
    if match is None:
        return False
    kind = _outermost(match)
    end = start + len(body)
    if kind in SPANS:
        written = SPANS[kind](match)
        if written is None:
            return False
        found.append(Lexeme(start, end, body, {"written": Sense(kind, ALL_LANGUAGES)}, written))
        return True
    return _FORMS[kind](match, start, found)


def _outermost(match: re.Match[str]) -> str:
    return next(name for name in (*SPANS, *_FORMS) if match[name] is not None)


def _quarter(match: re.Match[str], start: int, found: list[Lexeme]) -> bool:
    letter, number = match["kind"].lower(), int(match["n"])
    if number * (3 if letter == "q" else 6) > 12:
        return False
    if match["y"]:
        written = written_quarter(int(match["y"]) + (2000 if len(match["y"]) == 2 else 0), letter, number)
        senses = {"written": Sense("quarter", ALL_LANGUAGES)}
        found.append(Lexeme(start, start + match.end(), "", senses, written))
    else:
        senses = {"quarter" if letter == "q" else "half": Sense(number, ALL_LANGUAGES)}
        found.append(Lexeme(start, start + match.end(), "", senses))
    return True


def _day_month_year(match: re.Match[str], start: int, found: list[Lexeme]) -> bool:
    month = _month_number(match["dm"])
    span = calendar.day(int(match["dyear"]), month, int(match["dd"])) if month else None
    if span is None:
        return False
    senses = {"written": Sense("date", ALL_LANGUAGES)}
    found.append(Lexeme(start, start + match.end(), "", senses, Written(span, "date", 0.97)))
    return True


def _month_year(match: re.Match[str], start: int, found: list[Lexeme]) -> bool:
    """Read ``Jan-2024``, and ``mid-2024``."""
    part = vocabulary().get(fold(match["mname"]), _NOTHING).get("part")
    if part is not None:
        found.append(Lexeme(start, start + match.end("mname"), "", {"part": part}))
        found.append(_number(start + match.start("myear"), start + match.end(), match["myear"]))
        return True
    month = _month_number(match["mname"])
    span = calendar.months(int(match["myear"]), month) if month else None
    if span is None:
        return False
    senses = {"written": Sense("month", ALL_LANGUAGES)}
    found.append(Lexeme(start, start + match.end(), "", senses, Written(span, "month", 0.95)))
    return True


def _month_number(name: str) -> int | None:
    senses = vocabulary().get(fold(name), _NOTHING)
    sense = senses.get("month") or senses.get("abbreviation")
    return int(sense.value) if sense else None


def _pair(match: re.Match[str], start: int, found: list[Lexeme]) -> bool:
    """Read ``10-15`` (days, counts) and ``2023-2025`` (years); anything else is a name or a number of something."""
    first, second = match["p1"], match["p2"]
    if not (len(first) <= 2 and len(second) <= 2) and not (len(first) == len(second) == 4 and int(first) < int(second)):
        return False
    found.append(_number(start, start + match.end("p1"), first))
    found.append(_mark(start + match.end("p1"), "dash", 1))
    found.append(_number(start + match.start("p2"), start + match.end(), second))
    return True


def _day_comma_year(match: re.Match[str], start: int, found: list[Lexeme]) -> bool:
    found.append(_number(start, start + match.end("c1"), match["c1"]))
    found.append(_number(start + match.start("c2"), start + match.end(), match["c2"]))
    return True


def _ordinal(match: re.Match[str], start: int, found: list[Lexeme]) -> bool:
    number = int(match["on"])
    senses = {"nth": Sense(number, ALL_LANGUAGES)}
    if number in (1, 2, 3, 4):
        senses["ordinal"] = Sense(number, ALL_LANGUAGES)
    found.append(Lexeme(start, start + match.end(), "", senses))
    return True


def _counted(match: re.Match[str], start: int, found: list[Lexeme]) -> bool:
    """Read ``3d`` and ``1mon``: a number with a unit stuck to it."""
    unit = vocabulary().get(fold(match["cu"]), _NOTHING).get("unit")
    if unit is None:
        return False
    found.append(_number(start, start + match.end("cn"), match["cn"]))
    found.append(Lexeme(start + match.start("cu"), start + match.end(), fold(match["cu"]), {"unit": unit}))
    return True


def _clock(match: re.Match[str], start: int, found: list[Lexeme]) -> bool:
    found.append(Lexeme(start, start + match.end(), "", {"clock": Sense("clock", ALL_LANGUAGES)}))
    return True


def _plain(match: re.Match[str], start: int, found: list[Lexeme]) -> bool:
    found.append(_number(start, start + match.end(), match.group()))
    return True


_FORMS: Final = {
    "q": _quarter,
    "dmy": _day_month_year,
    "my": _month_year,
    "pair": _pair,
    "comma": _day_comma_year,
    "ordinal": _ordinal,
    "counted": _counted,
    "clock": _clock,
    "number": _plain,
}


def _number(start: int, end: int, digits: str) -> Lexeme:
    senses: Senses = {"number": Sense(int(digits), ALL_LANGUAGES)}
    if len(digits) <= 2:
        senses["nth"] = senses["number"]
    if len(digits) == 4:
        senses["year"] = senses["number"]
    return Lexeme(start, end, digits, senses)


def _mark(start: int, category: str, length: int) -> Lexeme:
    return Lexeme(start, start + length, "", {category: Sense(category, ALL_LANGUAGES)})


def _join_expressions(pieces: list[Lexeme]) -> list[Lexeme]:
    """Join words that make one expression (``day before yesterday``, ``fin de semana``), the longest first."""
    groups, known = expressions(), vocabulary()
    if not any(piece.text in groups for piece in pieces):
        return pieces
    found: list[Lexeme] = []
    place = 0
    while place < len(pieces):
        piece = pieces[place]
        for words in groups.get(piece.text, ()):
            run = pieces[place : place + len(words)]
            if tuple(each.text for each in run) == words:
                senses = known[" ".join(words)]
                found.append(Lexeme(piece.start, run[-1].end, " ".join(words), senses))
                place += len(words)
                break
        else:
            found.append(piece)
            place += 1
    return found
