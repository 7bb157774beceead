"""Sentences of a text, each with its setting: its heading and its label.

"Backups are kept for 35 days" says of which system where it stands in a page that is called so. A title and a label ("Cache: …")
hold for what follows them, a heading for its section: in a page of people each has an e-mail address. A label and the row of a
table also say that a line goes on with nothing before it; each cell of a wide table is a sentence of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import Final, NamedTuple

from lamina_engine.facts.lines import read_lines
from lamina_engine.facts.releases import is_release
from lamina_engine.facts.wording import tokens

Read = Callable[[str], str]

_END: Final = re.compile(
    r"(?<!\b[DMHFS]r\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bProf\.)(?<!\bSt\.)(?<!\b[A-Z]\.)(?<=[.!?;])\s+"
    r"(?!(?<=\d\. )(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))|\n+"
)
_HEADING: Final = re.compile(r"(#+)(\s?)|\s*(?:\*\*[^*]+\*\*|__[^_]+__):?\s*$")
"""Heading, line of tags, or line in bold."""
_TERM: Final = 97
_BOLD: Final = 98
_LONGEST: Final = 1_000
"""Characters of a sentence that are read: a log without ends, or a table in one line, is none."""
_LONGEST_HEAD: Final = 80
"""Characters of the line that a list begins with, unless it ends with a colon."""
_LONGEST_ABOVE: Final = 120
"""Characters of a heading above a part of a text: a longer one is a paragraph that looks like a heading."""
_TAGS: Final = 99
"""Levels of a term and of a line in bold, which end the section of another, and of a line of tags, which ends none."""
_ITEM: Final = re.compile(r"^[\s>#*+-]+(?:\[[ xX]\]\s+)?")
_ENTRY: Final = re.compile(r"\||\s*(?:[-*+]|\d+[.)]) ")
"""Begins a line of a list, or of a table."""
_LABEL: Final = re.compile(r"[\s>*+-]*(?P<label>[^\W\d_][^:|.!?;,]{0,39}?)[*_]*(?::[*_]*(?=\s|$)|[*_]{2}\s[–—-]\s)")
"""Words before a colon, or bold ones before a dash, at the start of a line."""

_ENTRY_LINK: Final = re.compile(r"[\s>*+-]*(?:\d+[.)]\s+)?(?:\[[^\]]*\]\([^)]*\)|\[\[[^\]]*\]\])\s*")
"""Line that is a link and no more, as in a table of contents."""

_DATED: Final = re.compile(r"(?<!\d)(?:19|20)\d\d-(0[1-9]|1[0-2])(?!\d)")
_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip

_IDENTIFIER: Final = r"(?=[\w.:-]*(?:[a-z][A-Z]|\w[_.]\w))[A-Za-z][\w.:-]*\w"
_IN_PARENTHESES: Final = r"\([^()]*(?:\([^()]*\)[^()]*)*\)"
_TYPES: Final = (
    r"(?:default|integer|boolean|enum|string|floating|float|int|bool|str|list|dict|number|optional|required)"
)
TERM: Final = re.compile(
    rf"\s?`?\[?(?:{_IDENTIFIER}`?(?:\]\([^()]*\))? ?(?:{_IN_PARENTHESES})?|[A-Za-z][\w-]*`? ?(?=\({_TYPES}\b){_IN_PARENTHESES}):?\s*$"
)
"""Line that is an identifier, or a word with its type or its default in parentheses."""
_IDENTIFIED: Final = re.compile(rf"[#\s`\[]*(?:{_IDENTIFIER}|[A-Z][A-Z\d]{{3,}}\s*$)(?:\W|$)")
_RULE: Final = re.compile(r"\|[\s:|-]+")
"""Line below the head of a table."""
_NARROW: Final = 2
"""Columns of a table whose rows are sentences as they stand."""

_NOTHING: Final = re.compile(r"[\W_]*(?:n/?a|t\.?b\.?[acd]\.?|unknown|none|nil|unklar|unbekannt)?[\W_]*", re.IGNORECASE)


class Sentence(NamedTuple):
    """Sentence of a text, with its words."""

    text: str
    words: tuple[str, ...]
    lower: tuple[str, ...]
    written: str
    """The text as it stands; a German one is read in English grammar."""
    line: int = 0
    setting: tuple[str, ...] = ()
    """Words of the label of its line, of the head of its list or table, or of the question before it."""
    begins: bool = False
    """True where its line has a label, or is an item of a list or the row of a table: no line before it has its subject."""
    headings: tuple[tuple[str, ...], ...] = ()
    """Words of each heading that it stands below, the outermost first; a heading stands below itself."""
    asked: tuple[str, ...] = ()
    """Words of the question that stands before it on its line."""
    key: int = 0
    """Number of words that say which row the cell of a table is of, with the head of their column; 0 elsewhere."""
    value: int = 0
    """Number of words before what a label, or the head of a column, is followed by; 0 without one."""
    section: str = ""
    """The innermost heading that it stands below, as written."""
    release: str = ""
    """The same of those that name a release."""

    def with_text(self, text: str) -> Sentence:
        """Return the sentence with another text, and the words of that."""
        words = tuple(tokens(text))
        return self._replace(text=text, words=words, lower=tuple(word.lower() for word in words))

    def is_below(self, other: Sentence) -> bool:
        """Return whether it stands in the section of another, or in one of that."""
        return self.headings[: len(other.headings)] == other.headings


def split_text(text: str, read: Read = str, above: Sequence[str] = ()) -> list[Sentence]:
    """Return the sentences of a text outside of code; questions are none.

    ``read`` gives a text in the language of the question, ``above`` are the headings that a part of a text stands below, the
    outermost first.
    """
    found: list[Sentence] = []
    lines = read_lines(text)
    around = _Around(read, _without_own(above, lines))
    for number, line in enumerate(lines):
        if line and not _ENTRY_LINK.fullmatch(line):
            around.follow(lines, number)
            found += _sentences(line, number, around, read)
    return found


def _without_own(above: Sequence[str], lines: Sequence[str]) -> Sequence[str]:
    """Return headings without the one that a text itself begins with."""
    first = next(filter(None, lines), "")
    above = [each for each in above if len(each) <= _LONGEST_ABOVE]
    return above[:-1] if above and _HEADING.match(first) and _written(first) == above[-1] else above


class _Around:
    """Surroundings of a line: headings, the line above its list, heads of columns."""

    def __init__(self, read: Read, above: Sequence[str]) -> None:
        self._read = read
        # those above a part of a text are taken for one level less than they can be: an unknown release ends rather than stays
        self._levels = [(level, each, read_words(each, read)) for level, each in enumerate(above, 2)]
        self.release = self._find_release()
        """The innermost heading that names a release; empty without one."""
        self.above: tuple[str, ...] | None = None
        """Words of the line above a list or a table; None outside of one."""
        self.heads: Sequence[str] = ()

    @property
    def headings(self) -> tuple[tuple[str, ...], ...]:
        return tuple(words for _, _, words in self._levels)

    @property
    def section(self) -> str:
        """The innermost heading that is no line of tags."""
        return next((written for level, written, _ in reversed(self._levels) if level < _TAGS), "")

    def _find_release(self) -> str:
        return next((written for _, written, _ in reversed(self._levels) if is_release(written)), "")

    def follow(self, lines: Sequence[str], number: int) -> None:
        """Go on to a line."""
        line = lines[number]
        self.heads = column_heads(lines, number, self.heads)
        heading = _HEADING.match(line)
        if heading is not None or TERM.match(line):
            level = (
                _TERM if heading is None else _BOLD if heading[1] is None else len(heading[1]) if heading[2] else _TAGS
            )
            kept = (each for each in self._levels if each[0] < level)
            self._levels = [*kept, (level, _written(line).rstrip(":"), read_words(line, self._read))]
            self.release = self._find_release()
        if not _ENTRY.match(line):
            self.above = None
        elif self.above is None:
            self.above = _words_above(lines, number, self._read)


def _sentences(line: str, number: int, around: _Around, read: Read) -> Iterator[Sentence]:
    """Yield the sentences of one line."""
    cells = read_cells(line, around.heads)
    label = None if cells else _LABEL.match(line)
    if (
        (not cells and is_wide(line, around.heads))
        or is_headless(line, around.heads)
        or (label and says_nothing(line[label.end() :]))
    ):
        return
    if cells:
        pieces = [(cell.text, _written(cell.written), cell.key, cell.before) for cell in cells]
    else:
        pieces = [(each, each, "", "") for each in map(_written, map(_shorten, _END.split(line)))]
        if label:
            pieces[0] = (*pieces[0][:3], label["label"])
    # a cell holds for its own column alone
    setting = () if cells else (*(around.above or ()), *(read_words(label["label"], read) if label else ()))
    asked: tuple[str, ...] = ()
    for text, written, key, before in pieces:
        if written.endswith("?") and not cells:
            asked = read_words(text, read)
        elif written:
            said = read(text)
            words = tuple(tokens(said))
            if not words:
                continue
            yield Sentence(
                said, words, tuple(word.lower() for word in words), written, number, (*setting, *asked),
                label is not None or bool(_ENTRY.match(line)), around.headings, asked, len(tokens(read(key))),
                len(tokens(read(before))), around.section, around.release,
            )  # fmt: skip
            asked = ()


def _shorten(piece: str) -> str:
    """Return the beginning of what is too long to be a sentence: each rule looks at all of it."""
    return piece if len(piece) <= _LONGEST else piece[:_LONGEST].rpartition(" ")[0] or piece[:_LONGEST]


def _written(piece: str) -> str:
    """Return a sentence without the signs of lists, tasks, headings and bold text."""
    return _ITEM.sub("", piece).replace("**", "").strip()


def _words_above(lines: Sequence[str], number: int, read: Read) -> tuple[str, ...]:
    """Return the words of the line that a list or a table begins with."""
    head = (lines[number] if lines[number].startswith("|") else lines[number - 1] if number else "").rstrip()
    is_head = (
        head.startswith("|")
        or head.endswith(":")
        or (len(head) <= _LONGEST_HEAD and not head.endswith((".", "!", "?")))
    )
    return read_words(head, read) if is_head else ()


def read_words(text: str, read: Read = str) -> tuple[str, ...]:
    """Return the words of a title or a label, in lower case."""
    return tuple(word.lower() for word in tokens(read(text)))


def title_words(title: str, source: str | None, read: Read = str) -> tuple[str, ...]:
    """Return the words of a text's title and of its file's name, with the months of its dates."""
    name = title if source is None else f"{title} {PurePath(source).parent.name} {PurePath(source).stem}"
    months = [_MONTHS[int(found[1]) - 1] for found in _DATED.finditer(name)]
    return (*read_words(name, read), *months)


def opening(said: Sequence[Sentence]) -> Sentence | None:
    """Return the first sentence of a text behind its headings, if it is a whole one."""
    first = next((each for each in said if not each.headings or each.lower != each.headings[-1]), None)
    is_whole = first is not None and not first.value and not first.begins and first.written.endswith((".", "!", ";"))
    return first if is_whole else None


def is_term(heading: str) -> bool:
    """Return whether a heading, as written, is or begins with an identifier."""
    return (_IDENTIFIED.match(heading) or TERM.match(heading)) is not None


def is_part(name: str, word: str) -> bool:
    """Return whether a name is only a part of an identifier: "host" of "use_forwarded_host"."""
    return "_" in word and name != word and name in word.split("_")


# ---------------------------------------------------------------------- tables


class Cell(NamedTuple):
    """Cell of a table, as a sentence."""

    text: str
    """Heads are in lower case, but for abbreviations: they are no names."""
    written: str
    key: str
    """The part of the text that says which row it is of."""
    before: str
    """The part of the text before the value."""


def column_heads(lines: Sequence[str], number: int, former: Sequence[str]) -> Sequence[str]:
    """Return the heads of the columns of the table that a line is in.

    ``former`` are those of the line before it. Empty outside of a table, or of one without a head.
    """
    if not lines[number].startswith("|"):
        return ()
    if number and lines[number - 1].startswith("|"):
        return former
    is_head = number + 1 < len(lines) and _RULE.fullmatch(lines[number + 1])
    return _split_row(lines[number]) if is_head else ()


def read_cells(line: str, heads: Sequence[str]) -> list[Cell]:
    """Return the cells of a row of a wide table: "week 47, primary: Ann".

    None of its head, and of another line.
    """
    cells = _split_row(line) if is_wide(line, heads) else []
    if not cells or cells == heads or not cells[0]:
        return []
    found = []
    for head, cell in zip(heads[1:], cells[1:], strict=True):
        if head and not says_nothing(cell):
            key, before = _join(_plain(heads[0]), cells[0]), _plain(head)
            written = f"{_join(heads[0], cells[0])}, {head}: {cell}"
            found.append(Cell(f"{key}, {before}: {cell}", written, key, f"{key}, {before}"))
    return found


def is_wide(line: str, heads: Sequence[str]) -> bool:
    """Return whether a line is part of a table whose cells are sentences of their own."""
    return len(heads) > _NARROW and len(_split_row(line)) == len(heads)


def is_headless(line: str, heads: Sequence[str]) -> bool:
    """Return whether a line is a row of a table that was cut off its head."""
    return not heads and line.startswith("|") and len(_split_row(line)) > _NARROW


def says_nothing(value: str) -> bool:
    """Return whether a value is empty, or stands for one that is missing."""
    return _NOTHING.fullmatch(value) is not None


def _split_row(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _plain(head: str) -> str:
    return head if head.isupper() else head.lower()


def _join(head: str, cell: str) -> str:
    """Return "Week 47", and "Room 3" where the cell says that it is a room."""
    return cell if not head or cell.lower().startswith(head.lower()) else f"{head} {cell}"
