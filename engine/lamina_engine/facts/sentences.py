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

from lamina_engine.facts.wording import tokens

Read = Callable[[str], str]

_END: Final = re.compile(
    r"(?<!\b[DMHFS]r\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!\b[A-Z]\.)(?<=[.!?;])\s+"
    r"(?!(?<=\d\. )(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))|\n+"
)
_WRAP: Final = re.compile(r"^#.*\n|(?<=[^\s.!?:;`|])\n(?=[a-z(])(?![\w /-]{1,40}::?\s)", re.MULTILINE)
"""Heading with its end, or break within a sentence: a field (``owner:: Ann``, ``ip: 10.0.0.9``) begins a line of its own."""
_HEADING: Final = re.compile(r"(#+)(\s?)|\s*(?:\*\*[^*]+\*\*|__[^_]+__):?\s*$")
"""Heading, line of tags, or line in bold."""
_BOLD: Final = 98
_TAGS: Final = 99
"""Levels of a line in bold, which ends the section of another, and of a line of tags, which ends none."""
_ITEM: Final = re.compile(r"^[\s>#*+-]+")
_ENTRY: Final = re.compile(r"\||[-*+] |\d+[.)] ")
"""Begins a line of a list, or of a table."""
_LABEL: Final = re.compile(r"[\s>*+-]*(?P<label>[^\W\d_][^:|.!?;,]{0,39}?)[*_]*(?::[*_]*(?=\s|$)|[*_]{2}\s[–—-]\s)")
"""Words before a colon, or bold ones before a dash, at the start of a line."""

_ENTRY_LINK: Final = re.compile(r"[\s>*+-]*(?:\d+[.)]\s+)?(?:\[[^\]]*\]\([^)]*\)|\[\[[^\]]*\]\])\s*")
"""Line that is a link and no more, as in a table of contents."""

_RULE: Final = re.compile(r"\|[\s:|-]+")
"""Line below the head of a table."""
_NARROW: Final = 2
"""Columns of a table whose rows are sentences as they stand."""
_SUBJECT: Final = 3
"""Words that the subject of an opening sentence is among."""
_DATED: Final = re.compile(r"(?<!\d)(?:19|20)\d\d-(0[1-9]|1[0-2])(?!\d)")
_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip


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
    """True where its line has a label, or is the row of a table: no line before it has its subject."""
    headings: tuple[tuple[str, ...], ...] = ()
    """Words of each heading that it stands below, the outermost first; a heading stands below itself."""
    asked: tuple[str, ...] = ()
    """Words of the question that stands before it on its line."""

    def is_below(self, other: Sentence) -> bool:
        """Return whether it stands in the section of another, or in one of that."""
        return self.headings[: len(other.headings)] == other.headings


def split_text(text: str, read: Read = str) -> list[Sentence]:
    """Return the sentences of a text outside of fenced code; questions are none.

    ``read`` gives a text in the language of the question.
    """
    found: list[Sentence] = []
    fenced = False
    levels: list[tuple[int, tuple[str, ...]]] = []
    above: tuple[str, ...] = ()
    heads: Sequence[str] = ()
    lines = _WRAP.sub(lambda found: found[0] if found[0].startswith("#") else " ", text).splitlines()
    for number, line in enumerate(lines):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            continue
        if fenced or line.startswith(("    ", "\t")) or _ENTRY_LINK.fullmatch(line):
            continue
        label, heads = _LABEL.match(line), _heads(lines, number, heads)
        if (heading := _HEADING.match(line)) is not None:
            level = _BOLD if heading[1] is None else len(heading[1]) if heading[2] else _TAGS
            levels = [*(each for each in levels if each[0] < level), (level, read_words(line, read))]
        above = () if not _ENTRY.match(line) else above or _words_above(lines, number, read)
        setting = (*above, *(read_words(label["label"], read) if label else ()))
        headings = tuple(words for _, words in levels)
        asked: tuple[str, ...] = ()
        cells = list(_cells(line, heads))
        if cells:
            setting = ()  # a cell holds for its own column alone
        for piece in cells or _END.split(line):
            written = _ITEM.sub("", piece).strip()
            if written.endswith("?"):
                asked = read_words(written, read)
            elif written:
                said = read(written)
                words = tuple(tokens(said))
                lower = tuple(word.lower() for word in words)
                begins = label is not None or line.startswith("|")
                found.append(Sentence(said, words, lower, written, number, (*setting, *asked), begins, headings, asked))
                asked = ()
    return found


def _heads(lines: Sequence[str], number: int, former: Sequence[str]) -> Sequence[str]:
    """Return the heads of the columns of the table that a line is in; none outside of one."""
    if not lines[number].startswith("|"):
        return ()
    if number and lines[number - 1].startswith("|"):
        return former
    # no name but for an abbreviation
    heads = [head if head.isupper() else head.lower() for head in _split_row(lines[number])]
    return heads if _RULE.fullmatch("".join(lines[number + 1 : number + 2])) else ()


def _split_row(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _cells(line: str, heads: Sequence[str]) -> Iterator[str]:
    """Yield what the cells of a wide row say of its first: "week 47, primary: Ann"."""
    cells = _split_row(line) if len(heads) > _NARROW and not _RULE.fullmatch(line) else []
    if len(cells) == len(heads) and [cell.lower() for cell in cells] != [head.lower() for head in heads]:
        for head, cell in zip(heads[1:], cells[1:], strict=True):
            if head and cell and cells[0]:
                yield f"{heads[0]} {cells[0]}, {head}: {cell}"


def _words_above(lines: Sequence[str], number: int, read: Read) -> tuple[str, ...]:
    """Return the words of the line that a list or a table begins with."""
    head = lines[number] if lines[number].startswith("|") else lines[number - 1] if number else ""
    return () if head.rstrip().endswith((".", "!", "?")) else read_words(head, read)


def read_words(text: str, read: Read = str) -> tuple[str, ...]:
    """Return the words of a title or a label, in lower case."""
    return tuple(word.lower() for word in tokens(read(text)))


def title_words(title: str, source: str | None, read: Read = str) -> tuple[str, ...]:
    """Return the words of a text's title and of its file's name, with the months of its dates."""
    name = title if source is None else f"{title} {PurePath(source).parent.name} {PurePath(source).stem}"
    months = [_MONTHS[int(found[1]) - 1] for found in _DATED.finditer(name)]
    return (*read_words(name, read), *months)


def opening(said: Sequence[Sentence]) -> Sentence | None:
    """Return the first sentence of a text that is no heading; None where a table comes first."""
    first = next((each for each in said if not each.headings or each.lower != each.headings[-1]), None)
    return None if first is None or first.written.startswith("|") else first


def subject_words(sentence: Sentence) -> tuple[str, ...]:
    """Return the words that the subject of an opening sentence is among."""
    return sentence.lower[:_SUBJECT]
