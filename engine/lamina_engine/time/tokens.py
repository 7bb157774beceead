"""Tokens of a question: words with their senses, numbers, and dates in digits.

The text between blanks is one piece. A path, an address, a version, an identifier or an amount of money is opaque: nothing
inside it is read, so a date in a file's name is part of the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Final, NamedTuple

from lamina_engine.time import calendar
from lamina_engine.time.calendar import Span
from lamina_engine.time.lexicon import ALL_LANGUAGES, Sense, Senses, expressions, fold, vocabulary

DIGITS: Final = re.compile(
    r"(?P<iso>(?P<iy>[0-9]{4})(?P<sep>[-/])(?P<im>[0-9]{1,2})(?P=sep)(?P<id>[0-9]{1,2})(?:[Tt][0-9]{2}:?[0-9]{2}[0-9:.,]*(?:[Zz]|[+-][0-9:]{2,5})?)?)"
    r"|(?P<local>(?P<a>[0-9]{1,2})(?P<mark>[-/.])(?P<b>[0-9]{1,2})(?P=mark)(?P<ly>[0-9]{4}))"
    r"|(?P<ym>(?P<yy>(?:19|20)[0-9]{2})[-/](?P<mm>0[1-9]|1[0-2]))"
    r"|(?P<mmy>(?P<m0>0[1-9]|1[0-2])/(?P<y0>(?:19|20)[0-9]{2}))"
    r"|(?P<yq>(?P<qy>[12][0-9]{3})[-/]?(?P<qkind>[QqHh])(?P<qn>[1-4]))"
    r"|(?P<q>(?P<kind>[QqHh])(?P<n>[1-4])(?:[-/'’]?(?P<y>(?:19|20)?[0-9]{2}))?)"
    r"|(?P<week>(?P<wy>[12][0-9]{3})-?[Ww](?P<wn>[0-9]{2}))"
    r"|(?P<decade>['’]?(?P<dy>(?:19|20)[0-9]0)['’]?s)"
    r"|(?P<dmy>(?P<dd>[0-9]{1,2})[-–](?P<dm>[^\W\d_]{3,9})[-–](?P<dyear>[0-9]{4}))"
    r"|(?P<my>(?P<mname>[^\W\d_]{3,9})[-–](?P<myear>[0-9]{4}))"
    r"|(?P<pair>(?P<p1>[0-9]{1,4})[-–—](?P<p2>[0-9]{1,4})(?:st|nd|rd|th)?)"
    r"|(?P<comma>(?P<c1>[0-9]{1,2})(?:st|nd|rd|th)?,(?P<c2>[0-9]{4}))"
    r"|(?P<ordinal>(?P<on>[0-9]{1,2})(?:st|nd|rd|th|er|re|e|º|ª|°|\.))"
    r"|(?P<counted>(?P<cn>[0-9]{1,9})[-]?(?P<cu>[^\W\d_]{1,9}))"
    r"|(?P<clock>[0-9]{1,2}(?::[0-9]{2}){1,2}(?:[AaPp]\.?[Mm]\.?)?)"
    r"|(?P<number>[0-9]{1,12})"
)


class DigitDate(NamedTuple):
    """A date in digits: its span, kind and confidence."""

    span: Span
    kind: str
    confidence: float


def _iso(match: re.Match[str]) -> DigitDate | None:
    span = calendar.day(int(match["iy"]), int(match["im"]), int(match["id"]))
    return span and DigitDate(span, "date", 0.98)


def _local(match: re.Match[str]) -> DigitDate | None:
    """Read a date with its year last.

    Dots are day first; slashes and dashes only where one order is possible.
    """
    a, b, year = int(match["a"]), int(match["b"]), int(match["ly"])
    day_first, month_first = calendar.day(year, b, a), calendar.day(year, a, b)
    if match["mark"] == ".":
        return day_first and DigitDate(day_first, "date", 0.95)
    if day_first and month_first and day_first != month_first:
        return DigitDate(month_first, "ambiguous", 0.4)
    span = day_first or month_first
    return span and DigitDate(span, "date", 0.95)


def _year_month(match: re.Match[str]) -> DigitDate | None:
    span = calendar.months(int(match["yy"]), int(match["mm"]))
    return span and DigitDate(span, "month", 0.8)


def _slash_year(match: re.Match[str]) -> DigitDate | None:
    """Read ``09/2026``, as forms and bills have it; without the nought it may be a fraction."""
    span = calendar.months(int(match["y0"]), int(match["m0"]))
    return span and DigitDate(span, "month", 0.8)


def _year_quarter(match: re.Match[str]) -> DigitDate | None:
    return quarter_of_year(int(match["qy"]), match["qkind"], int(match["qn"]))


def quarter_of_year(year: int, letter: str, number: int) -> DigitDate | None:
    """Return the quarter (Q) or half (H) of a year."""
    size = 3 if letter in "Qq" else 6
    if number * size > 12:
        return None
    span = calendar.months(year, (number - 1) * size + 1, size)
    return span and DigitDate(span, "quarter" if size == 3 else "half", 0.95)


def _week(match: re.Match[str]) -> DigitDate | None:
    try:
        monday = date.fromisocalendar(int(match["wy"]), int(match["wn"]), 1)
    except ValueError:
        return None
    span = calendar.span_of_days(monday, 7)
    return span and DigitDate(span, "week", 0.95)


def _decade(match: re.Match[str]) -> DigitDate | None:
    span = calendar.months(int(match["dy"]), 1, 120)
    return span and DigitDate(span, "decade", 0.8)


DIGIT_DATES: Final[dict[str, Callable[[re.Match[str]], DigitDate | None]]] = {
    "iso": _iso,
    "local": _local,
    "ym": _year_month,
    "mmy": _slash_year,
    "yq": _year_quarter,
    "week": _week,
    "decade": _decade,
}
"""By the name of the form's group in the pattern of written dates."""


_PIECE: Final = re.compile(r"\S+")
_OPENING: Final = "([{<\"'“‘«„¿¡*_`"
_CLOSING: Final = ".,;:!?)]}>\"'”’»*_`…。，、？！"
_STOPS: Final = frozenset(".;:!?…。？！")
_WORDS: Final = re.compile(r"[^\W\d_]+(?:['’ʼ\-–—][^\W\d_]+)*['’ʼ]?")
_PART: Final = re.compile(r"[^\W\d_]+|[\-–—]")
_RANGE: Final = re.compile(r"(.+?)(?:\.\.+|…|→|/(?=[12][0-9]{3}-))(.+)")
_DASHES: Final = frozenset("-–—~→")


class Token(NamedTuple):
    """A piece of a question: position, folded text, senses, and the span of a date in digits."""

    start: int
    end: int
    text: str
    senses: Senses
    written: DigitDate | None = None


_NOTHING: Final[Senses] = {}
STOP: Final = Token(0, 0, "", {"stop": Sense("stop", ALL_LANGUAGES)})
"""The end of a sentence: no phrase goes over it."""


def tokenize(text: str) -> list[Token]:
    """Cut a text into tokens; commas, dashes and ends of sentences are tokens too. O(length)."""
    found: list[Token] = []
    known = vocabulary()
    for match in _PIECE.finditer(text):
        piece = match.group()
        if piece.isalpha():
            folded = fold(piece)
            found.append(Token(match.start(), match.end(), folded, known.get(folded, _NOTHING)))
        else:
            _read_piece(piece, match.start(), found)
    return _join_expressions(found)


def _read_piece(piece: str, start: int, found: list[Token]) -> None:
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


def _read_body(body: str, start: int, found: list[Token]) -> None:
    if _WORDS.fullmatch(body):
        _read_words(body, start, found)
        return
    range_ = _RANGE.fullmatch(body) if len(body) <= 64 else None
    if range_ and all(DIGITS.fullmatch(part) for part in range_.groups()):
        _read_written(range_[1], start, found)
        found.append(_mark(start + range_.end(1), "dash", 1))
        _read_written(range_[2], start + range_.start(2), found)
    elif len(body) > 40 or not _read_written(body, start, found):
        found.append(Token(start, start + len(body), "", _NOTHING))


def _read_words(body: str, start: int, found: list[Token]) -> None:
    """Read words joined by apostrophes and hyphens; a hyphen between two dates is a range."""
    known = vocabulary()
    parts = list(_PART.finditer(body))
    for place, part in enumerate(parts):
        if part.group() in "-–—":
            before, after = found[-1].senses, known.get(fold(parts[place + 1].group()), _NOTHING)
            if _is_name(before) and _is_name(after):
                found.append(_mark(start + part.start(), "dash", 1))
            continue
        folded = fold(part.group())
        found.append(Token(start + part.start(), start + part.end(), folded, known.get(folded, _NOTHING)))


def _is_name(senses: Senses) -> bool:
    return any(category in senses for category in ("month", "abbreviation", "weekday", "weekday_short"))


def _read_written(body: str, start: int, found: list[Token]) -> bool:
    """Append the tokens of a piece with digits; False when it is no date or number."""
    match = DIGITS.fullmatch(body)
    if match is None:
        return False
    kind = _outermost(match)
    end = start + len(body)
    if kind in DIGIT_DATES:
        written = DIGIT_DATES[kind](match)
        if written is None:
            return False
        found.append(Token(start, end, body, {"written": Sense(kind, ALL_LANGUAGES)}, written))
        return True
    return _FORMS[kind](match, start, found)


def _outermost(match: re.Match[str]) -> str:
    return next(name for name in (*DIGIT_DATES, *_FORMS) if match[name] is not None)


def _quarter(match: re.Match[str], start: int, found: list[Token]) -> bool:
    letter, number = match["kind"].lower(), int(match["n"])
    if number * (3 if letter == "q" else 6) > 12:
        return False
    if match["y"]:
        written = quarter_of_year(int(match["y"]) + (2000 if len(match["y"]) == 2 else 0), letter, number)
        senses = {"written": Sense("quarter", ALL_LANGUAGES)}
        found.append(Token(start, start + match.end(), "", senses, written))
    else:
        senses = {"quarter" if letter == "q" else "half": Sense(number, ALL_LANGUAGES)}
        found.append(Token(start, start + match.end(), "", senses))
    return True


def _day_month_year(match: re.Match[str], start: int, found: list[Token]) -> bool:
    month = _month_number(match["dm"])
    span = calendar.day(int(match["dyear"]), month, int(match["dd"])) if month else None
    if span is None:
        return False
    senses = {"written": Sense("date", ALL_LANGUAGES)}
    found.append(Token(start, start + match.end(), "", senses, DigitDate(span, "date", 0.97)))
    return True


def _month_year(match: re.Match[str], start: int, found: list[Token]) -> bool:
    """Read ``Jan-2024``, and ``mid-2024``."""
    part = vocabulary().get(fold(match["mname"]), _NOTHING).get("part")
    if part is not None:
        found.append(Token(start, start + match.end("mname"), "", {"part": part}))
        found.append(_number(start + match.start("myear"), start + match.end(), match["myear"]))
        return True
    month = _month_number(match["mname"])
    span = calendar.months(int(match["myear"]), month) if month else None
    if span is None:
        return False
    senses = {"written": Sense("month", ALL_LANGUAGES)}
    found.append(Token(start, start + match.end(), "", senses, DigitDate(span, "month", 0.95)))
    return True


def _month_number(name: str) -> int | None:
    senses = vocabulary().get(fold(name), _NOTHING)
    sense = senses.get("month") or senses.get("abbreviation")
    return int(sense.value) if sense else None


def _pair(match: re.Match[str], start: int, found: list[Token]) -> bool:
    """Read ``10-15`` (days, counts) and ``2023-2025`` (years); other pairs are names or numbers."""
    first, second = match["p1"], match["p2"]
    if not (len(first) <= 2 and len(second) <= 2) and not (len(first) == len(second) == 4 and int(first) < int(second)):
        return False
    found.append(_number(start, start + match.end("p1"), first))
    found.append(_mark(start + match.end("p1"), "dash", 1))
    found.append(_number(start + match.start("p2"), start + match.end(), second))
    return True


def _day_comma_year(match: re.Match[str], start: int, found: list[Token]) -> bool:
    found.append(_number(start, start + match.end("c1"), match["c1"]))
    found.append(_number(start + match.start("c2"), start + match.end(), match["c2"]))
    return True


def _ordinal(match: re.Match[str], start: int, found: list[Token]) -> bool:
    number = int(match["on"])
    senses = {"nth": Sense(number, ALL_LANGUAGES)}
    if number in (1, 2, 3, 4):
        senses["ordinal"] = Sense(number, ALL_LANGUAGES)
    found.append(Token(start, start + match.end(), "", senses))
    return True


def _counted(match: re.Match[str], start: int, found: list[Token]) -> bool:
    """Read ``3d`` and ``1mon``: a number with a unit stuck to it."""
    unit = vocabulary().get(fold(match["cu"]), _NOTHING).get("unit")
    if unit is None:
        return False
    found.append(_number(start, start + match.end("cn"), match["cn"]))
    found.append(Token(start + match.start("cu"), start + match.end(), fold(match["cu"]), {"unit": unit}))
    return True


def _clock(match: re.Match[str], start: int, found: list[Token]) -> bool:
    found.append(Token(start, start + match.end(), "", {"clock": Sense("clock", ALL_LANGUAGES)}))
    return True


def _plain(match: re.Match[str], start: int, found: list[Token]) -> bool:
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


def _number(start: int, end: int, digits: str) -> Token:
    senses: Senses = {"number": Sense(int(digits), ALL_LANGUAGES)}
    if len(digits) <= 2:
        senses["nth"] = senses["number"]
    if len(digits) == 4:
        senses["year"] = senses["number"]
    return Token(start, end, digits, senses)


def _mark(start: int, category: str, length: int) -> Token:
    return Token(start, start + length, "", {category: Sense(category, ALL_LANGUAGES)})


def _join_expressions(pieces: list[Token]) -> list[Token]:
    """Join words that make one expression (``day before yesterday``), the longest first."""
    groups, known = expressions(), vocabulary()
    if not any(piece.text in groups for piece in pieces):
        return pieces
    found: list[Token] = []
    place = 0
    while place < len(pieces):
        piece = pieces[place]
        for words in groups.get(piece.text, ()):
            run = pieces[place : place + len(words)]
            if tuple(each.text for each in run) == words:
                senses = known[" ".join(words)]
                found.append(Token(piece.start, run[-1].end, " ".join(words), senses))
                place += len(words)
                break
        else:
            found.append(piece)
            place += 1
    return found
