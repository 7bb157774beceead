"""Conversion of HTML, notebooks, mail, PDF and DOCX to text.

HTML, notebooks and mail need nothing but Python; PDF and DOCX are read by pypdf and python-docx, which are extras. What comes
out is Markdown, or the pages of a PDF. A foreign file may be anything: every failure is a `Refusal`.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import zipfile
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from itertools import accumulate
from typing import Any, Final, NamedTuple

import msgspec

from lamina_engine.errors import install_command
from lamina_engine.ingest.chunking import DEEPEST, ENTRY, Block, Outline, shorten_term
from lamina_engine.ingest.decoding import Refusal, decode
from lamina_engine.ingest.frontmatter import Json

EXTRAS: Final = {"pdf": "pypdf", "docx": "docx"}
"""Package that an extra of the kind's name brings."""
MAX_UNPACKED: Final = 200 * 2**20
"""Bytes that the parts of a DOCX may unpack to."""
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_SILENT: Final = frozenset({"script", "style", "template", "noscript", "svg", "nav", "search"})
_REGIONS: Final = frozenset(["div", "section", "header", "footer", "aside", "form", "ul", "ol", "table"])
"""Elements that may be marked as beside the page's text; each has an end tag, so one ends where its author says."""
_OUTER: Final = _SILENT | _REGIONS | {"main", "article"}
_BESIDE_ROLES: Final = frozenset(["navigation", "search", "banner", "contentinfo", "complementary", "menu", "menubar"])
_BESIDE_CLASSES: Final = frozenset(["related", "sphinxsidebar", "navheader", "navfooter", "docnav"])
"""Classes that Sphinx, DocBook and Publican give to lists and divisions with navigation, with or without a role."""
_NOTE_CLASSES: Final = frozenset(
    re.findall(
        r"\w+", "note tip warning important caution admonition attention danger error hint callout alert sidebar"
    )
)
"""Classes that DocBook, docutils, Asciidoctor and Bootstrap give to boxes within a text."""
_BOXES: Final = frozenset(["aside", "blockquote", "figure"])
_CELLS: Final = frozenset(["td", "th"])
_BOXED: Final = _BOXES | _CELLS | {"div", "section", "table"}
"""Elements that are boxes or may be, and those by whose end a cell without one ends."""
_BREAKS: Final = frozenset(
    re.findall(
        r"\w+",
        "p div section article main header footer ul ol table tr blockquote figure figcaption dl dt dd form hr aside",
    )
)
_DEFINITIONS: Final = frozenset(["dl", "dt", "dd"])
_MARKUP: Final = (("<!--", "-->"), ("<![", "]>"))
"""What opens and closes comments and sections; one that is never closed is text, which the parser tells by reading on to the end
each time: 20,000 of them took it half a minute."""
_WORD: Final = re.compile(r"\w")


class Entry(NamedTuple):
    """Beginning of an entry of a definition list, or the end of such a list."""

    start: int
    """Character of the text."""
    level: int
    """As that of a heading."""
    term: str
    """What the entry explains; empty at an end."""


class Converted(NamedTuple):
    """Text of a converted file, and the fields it tells of itself."""

    text: str
    fields: dict[str, Json]
    lines: Sequence[tuple[int, int]] = ()
    """First and last line of the file for each line of the text; empty where the file has no lines."""
    entries: Sequence[Entry] = ()
    """Where entries of definition lists begin and end, in order."""

    def encode(self) -> bytes:
        """Return the text as a file would hold it."""
        return self.text.encode("utf-8", "replace")

    def line_of(self, line: int, end: int = 0) -> int:
        """Return the first line of the file for a line of the text; the last with ``end=1``.

        Lines count from 1; 0 where the file has none.
        """
        return self.lines[line - 1][end] if line <= len(self.lines) else 0


def convert(data: bytes, kind: str) -> Converted | Refusal:
    """Convert a file of one of `CONVERTERS`; anything that goes wrong is the refusal's reason."""
    try:
        return CONVERTERS[kind](data)
    except ModuleNotFoundError as error:
        if error.name != EXTRAS.get(kind):
            raise
        return Refusal("extra", f"reading .{kind} needs {EXTRAS[kind]}: {install_command(kind)}")
    except Exception as error:  # a foreign library on a foreign file
        return Refusal("failed", f"cannot be read as {kind} ({type(error).__name__}: {error})")


def has_extra(kind: str) -> bool:
    """Return whether the package that a kind needs is installed."""
    from importlib.util import find_spec

    return kind not in EXTRAS or find_spec(EXTRAS[kind]) is not None


# ---------------------------------------------------------------------- HTML


def _convert_html(data: bytes) -> Converted | Refusal:
    decoded = decode(data)
    if isinstance(decoded, Refusal):
        return decoded
    page = _Page.read(decoded.text)
    if page.is_cut_off():
        page = _Page.read(decoded.text, heed_marks=False)
    return page.convert()


class _Extents:
    """Ranges of parts that elements of one sort take; what is nested belongs to the outermost."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []
        self.open_tag = ""
        self._depth = self._start = 0

    def enter(self, tag: str, place: int, *, begins: bool) -> None:
        if begins and not self.open_tag:
            self.open_tag, self._depth, self._start = tag, 1, place
        elif tag == self.open_tag:
            self._depth += 1

    def leave(self, tag: str, place: int) -> None:
        if tag and tag == self.open_tag:
            self._depth -= 1
            if not self._depth:
                self.end(place)

    def end(self, place: int) -> None:
        if self.open_tag:
            self.ranges.append((self._start, place))
            self.open_tag = ""


class _Boxes:
    """Ranges of parts that boxes within a text take: notes, quotes and figures, cells of tables."""

    def __init__(self) -> None:
        self.notes: list[tuple[int, int]] = []
        self.quotes: list[tuple[int, int]] = []
        self.cells: list[tuple[int, int]] = []
        self._open: list[tuple[str, int, list[tuple[int, int]] | None]] = []
        self._counts: Counter[str] = Counter()

    def enter(self, tag: str, given: dict[str, str], place: int) -> None:
        """Note where an element begins; a cell also ends the one before it."""
        if tag in _CELLS and self._open and self._open[-1][0] in _CELLS:
            self.leave(self._open[-1][0], place)
        ranges = self.quotes if tag in _BOXES else self.cells if tag in _CELLS else None
        if given.get("role") == "note" or not _NOTE_CLASSES.isdisjoint(given.get("class", "").lower().split()):
            ranges = self.notes
        self._open.append((tag, place, ranges))
        self._counts[tag] += 1

    def leave(self, tag: str, place: int) -> None:
        """Note where an element ends, and with it all in it; one that never ends is no box."""
        ended = ""
        while self._counts[tag] and ended != tag:
            ended, start, ranges = self._open.pop()
            self._counts[ended] -= 1
            if ranges is not None:
                ranges.append((start, place))


class _List:
    """Definition list that is being read."""

    def __init__(self, level: int) -> None:
        self.level = level
        self.place = -1  # of the first term of the entry
        self.terms: list[str] = []
        self.words: list[str] | None = None  # of the open term
        self.is_marked = False

    def begin_term(self, place: int) -> None:
        """Note a term: one more of the entry if nothing explains the one before."""
        self.end_term()
        if self.place < 0:
            self.place, self.terms = place, []
        self.words = []

    def end_term(self) -> None:
        """End the open term."""
        if self.words is not None:
            self.terms.append(shorten_term(" ".join("".join(self.words).replace("¶", "").split())))
            self.words = None

    def read_entry(self) -> tuple[int, str] | None:
        """Return place and terms of an entry when its first words are met, else None."""
        place, self.place = self.place, -1
        terms = ", ".join(filter(None, self.terms))
        if place < 0 or not terms:
            return None
        self.is_marked = True
        return place, terms


class _Page(HTMLParser):
    """Writer of the Markdown of a page.

    It writes the main part, where the page marks one, and nothing that the page marks as navigation.
    """

    def __init__(self, *, heed_marks: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.fields: dict[str, Json] = {}
        self._heed_marks = heed_marks
        self._parts: list[str] = []
        self._lines: list[tuple[int, int]] = []  # first and last of each part
        self._silent, self._main, self._articles = _Extents(), _Extents(), _Extents()
        self._boxes = _Boxes()
        self._lists: list[_List] = []
        self._entries: dict[int, tuple[int, str]] = {}  # level and term, by the part that stands before
        self._headings: list[int] = []  # places of their marks
        self._fixed = 0
        self._in_title = False
        self._links: list[tuple[str, int]] = []  # target, and place of its bracket
        self._in_heading = False

    @classmethod
    def read(cls, text: str, *, heed_marks: bool = True) -> _Page:
        """Return the page that a text is."""
        page = cls(heed_marks=heed_marks)
        for opening, closing in _MARKUP:
            end = text.rfind(closing) + 1
            text = text[:end] + text[end:].replace(opening, f"&lt;{opening[1:]}")
        page.feed(text)
        page.close()
        for extents in (page._main, page._articles):
            extents.end(len(page._parts))
        return page

    def is_cut_off(self) -> bool:
        """Return whether what is marked as beside the text has no end or leaves no text."""
        return self._heed_marks and (self._silent.open_tag in _REGIONS or not self._letters((0, len(self._parts))))

    def convert(self) -> Converted:
        """Return what was written, no two empty lines in a row."""
        self._end_headings_with_boxes()
        lines: list[str] = []
        places: list[tuple[int, int]] = []
        entries: list[Entry] = []
        length = 0
        for line, place, entry in self._written_lines():
            if line if lines else line.strip():
                if entry is not None:
                    entries.append(Entry(length, *entry))
                lines.append(line if lines else line.lstrip())
                places.append(place)
            elif lines and lines[-1]:
                lines.append("")
                places.append(place)
            else:
                continue
            length += len(lines[-1]) + 1
        while lines and not lines[-1].strip():
            del lines[-1], places[-1]
        return Converted("\n".join(lines).rstrip() + "\n", self.fields, places, entries)

    def _written_lines(self) -> Iterator[tuple[str, tuple[int, int], tuple[int, str] | None]]:
        """Yield the lines that were written.

        Each comes with its first and last line in the file, and the entry that it begins.
        """
        words: list[str] = []
        first = last = 0
        entry: tuple[int, str] | None = None
        for start, stop in self._text_ranges():
            for number in range(start, stop):
                part, (begin, end) = self._parts[number], self._lines[number]
                if "\n" not in part:
                    words.append(part)
                    if part.strip():
                        first, last = first or begin, end
                    continue
                head, *more = part.split("\n")
                step = (end - begin) // len(more)  # 1 in what is written as it is, else 0
                if head.strip():
                    first, last = first or begin, begin
                words.append(head)
                for line in more:
                    written = "".join(words)
                    yield written, (first or begin, max(first, last) or begin), entry
                    entry = None if written.strip() else entry
                    begin += step
                    words, first, last = [line], begin if line.strip() else 0, begin
                entry = self._entries.get(number, entry)
        yield "".join(words), (first, last), entry

    def _text_ranges(self) -> list[tuple[int, int]]:
        """Return the parts that are the page's text.

        They are its main part, else its only article if most of the page stands there, else all.
        """
        everything = [(0, len(self._parts))]
        if self._heed_marks and any(map(self._letters, self._main.ranges)):
            return self._main.ranges
        articles = self._articles.ranges
        if self._heed_marks and len(articles) == 1 and 2 * self._letters(articles[0]) > self._letters(everything[0]):
            return articles
        return everything

    def _end_headings_with_boxes(self) -> None:
        """Write the headings that stand in boxes as lines in bold.

        The title of a note is no section of what follows it. A quote or cell that holds most of the page is its layout, as are
        the cells of a table that no heading stands before.
        """
        boxes = self._boxes
        if not (self._headings and (boxes.notes or boxes.quotes or boxes.cells)):
            return
        n = len(self._parts)
        letters = [0, *accumulate(len(part) if _WORD.search(part) else 0 for part in self._parts)]
        most = sum(map(self._letters, self._text_ranges())) / 2

        def count_around(ranges: list[tuple[int, int]], limit: float) -> list[int]:
            borders = [0] * (n + 1)
            for start, stop in ((min(start, n), min(stop, n)) for start, stop in ranges):
                if letters[stop] - letters[start] <= limit:
                    borders[start] += 1
                    borders[stop] -= 1
            return list(accumulate(borders))

        notes, quotes, cells = (
            count_around(ranges, limit)
            for ranges, limit in ((boxes.notes, letters[-1]), (boxes.quotes, most), (boxes.cells, most))
        )
        has_heading = False
        for place in self._headings:
            if notes[place] or quotes[place] or (cells[place] and has_heading):
                self._embolden(place)
            has_heading |= not (notes[place] or quotes[place] or cells[place])

    def _embolden(self, place: int) -> None:
        """Write a heading as a line in bold."""
        stop = place + 1
        while stop < len(self._parts) and "\n" not in self._parts[stop]:
            stop += 1
        words = "".join(self._parts[place + 1 : stop]).strip()
        self._parts[place] = "\n\n"
        if words:
            self._parts[place + 1 : stop] = [f"**{words}**", *[""] * (stop - place - 2)]

    def _letters(self, extent: tuple[int, int]) -> int:
        return sum(len(part) for part in self._parts[slice(*extent)] if _WORD.search(part))

    def _write(self, part: str, first: int = 0, last: int = 0) -> None:
        first = first or self.lineno
        self._parts.append(part)
        self._lines.append((first, last or first))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        given = {name: value or "" for name, value in attrs}
        self._in_title = False  # one that is not closed must not take the page
        if tag == "meta":
            self._meta(given)
        elif tag == "title" and "title" not in self.fields:
            self._in_title = True
        place = len(self._parts)
        if tag in _BOXED:
            self._boxes.enter(tag, given, place)
        if tag in _OUTER:
            self._enter(tag, given, place)
        if self._silent.open_tag or tag in ("meta", "title"):
            return
        if tag in _HEADINGS:
            self._in_heading = True
            self._headings.append(place)
            self._write(f"\n\n{'#' * _HEADINGS[tag]} ")
        elif tag == "pre":
            self._fixed += 1
            self._write("\n\n```\n")
        elif tag == "li":
            self._write("\n- ")
        elif tag == "br":
            self._write("\n")
        elif tag in ("td", "th"):
            self._write(" | ")
        elif tag == "a":
            self._links.append((given.get("href", ""), place))
            self._write("[" if given.get("href") else "")
        elif tag in _BREAKS:
            self._in_heading = False
            if tag in _DEFINITIONS:
                self._follow_list(tag, place)
            self._write("\n\n" if tag != "tr" else "\n")

    def _follow_list(self, tag: str, place: int) -> None:
        """Note the beginning of a definition list, of a term or of what explains it."""
        if tag == "dl":
            self._lists.append(_List(min(ENTRY + len(self._lists), DEEPEST)))
        elif self._lists and tag == "dt":
            self._lists[-1].begin_term(place)
        elif self._lists:
            self._lists[-1].end_term()

    def _enter(self, tag: str, given: dict[str, str], place: int) -> None:
        """Note where the main part, an article or what stands beside the text begins."""
        is_main = tag == "main" or (given.get("role") == "main" and tag not in _SILENT)
        if is_main and self._silent.open_tag in _REGIONS:
            self._silent.end(place)
        self._silent.enter(tag, place, begins=tag in _SILENT or (self._heed_marks and _is_beside(tag, given)))
        if not self._silent.open_tag:
            self._main.enter(tag, place, begins=is_main)
            self._articles.enter(tag, place, begins=tag == "article")

    def handle_endtag(self, tag: str) -> None:
        """Close an element."""
        if tag in _BOXED:
            self._boxes.leave(tag, len(self._parts))
        if tag == "title":
            self._in_title = False
        elif self._silent.open_tag:
            self._silent.leave(tag, len(self._parts))
            return
        elif tag == "pre" and self._fixed:
            self._fixed -= 1
            self._write("\n```\n\n")
        elif tag == "a" and self._links:
            self._close_link(*self._links.pop())
        elif tag in _HEADINGS or (tag in _BREAKS and tag != "tr"):
            self._in_heading = False
            if self._lists and tag in ("dl", "dt"):
                self._lists[-1].end_term()
                if tag == "dl" and (ended := self._lists.pop()).is_marked:
                    self._entries[len(self._parts)] = (ended.level, "")
            self._write("\n\n")
        if tag in _OUTER:
            self._main.leave(tag, len(self._parts))
            self._articles.leave(tag, len(self._parts))

    def _close_link(self, target: str, place: int) -> None:
        """End a link; one that shows nothing is left out.

        One to its own page is left out also where it has no words, and in a heading is its words. So ¶, # and
        pictures that only mark a heading are no part of its title.
        """
        is_shown = _WORD.search if target.startswith("#") else str.strip
        # from the end, where words are: a page may open a link ten thousand times before it closes one
        if target and not any(is_shown(self._parts[i]) for i in range(len(self._parts) - 1, place, -1)):
            del self._parts[place:], self._lines[place:]
            while self._headings and self._headings[-1] >= place:
                self._headings.pop()
        elif self._in_heading and target.startswith("#"):
            self._parts[place] = ""
        else:
            self._write(f"]({target})" if target else "")

    def handle_data(self, data: str) -> None:
        """Take text."""
        if self._in_title:
            title = " ".join(f"{self.fields.get('title', '')} {data}".split())
            if title:
                self.fields["title"] = title
        elif not self._silent.open_tag:
            if self._lists:
                self._note_entry(data)
            first = self.lineno
            if self._fixed:
                data = data.replace("\r", "\n")
                self._write(data, first, first + data.count("\n"))
            elif "\n" in data:
                words = data.strip()
                first += data.count("\n", 0, data.find(words))
                self._write(_squeezed(data, self._parts), first, first + words.count("\n"))
            else:
                self._write(_squeezed(data, self._parts))

    def _note_entry(self, data: str) -> None:
        """Note words of a term; with the first that explain it, where its entry began."""
        current = self._lists[-1]
        if current.words is not None:
            current.words.append(data)
        elif data.strip() and (entry := current.read_entry()) is not None:
            place, term = entry
            self._entries[place] = (current.level, term)

    def _meta(self, given: dict[str, str]) -> None:
        name = (given.get("name") or given.get("property") or "").lower().rpartition(":")[2]
        name = {"published_time": "date", "date.issued": "date"}.get(name, name)
        if name in ("author", "date", "description") and given.get("content"):
            self.fields.setdefault(name, given["content"].strip())


def _is_beside(tag: str, given: dict[str, str]) -> bool:
    """Return whether an element says that it stands beside the text of its page."""
    if tag not in _REGIONS:
        return False
    if not _BESIDE_ROLES.isdisjoint(given.get("role", "").lower().split()):
        return True
    if tag not in ("div", "ul"):
        return False
    # an id by itself: of a section with a class it may be the title's word
    classes = given.get("class", "").split()
    return not _BESIDE_CLASSES.isdisjoint(classes) or (given.get("id") == "banner" and not classes)


def _squeezed(data: str, before: list[str]) -> str:
    words = " ".join(data.split())
    if not words:
        return " " if before and before[-1][-1:].strip() and before[-1][-1:] != "[" else ""
    lead = " " if data[0].isspace() and before and before[-1][-1:].strip() and before[-1][-1:] != "[" else ""
    return f"{lead}{words}{' ' if data[-1].isspace() else ''}"


def mark_entries(blocks: Sequence[Block], starts: Sequence[int], entries: Sequence[Entry]) -> list[Block]:
    """Return the blocks of a page, those that begin an entry as its heading.

    ``starts`` are the blocks' in the text before secrets were masked.
    """
    marked = list(blocks)
    for entry in entries:
        place = bisect_left(starts, entry.start)
        if place < len(marked) and starts[place] == entry.start and not marked[place].level:
            kind = "heading" if entry.term else marked[place].kind
            marked[place] = marked[place]._replace(kind=kind, level=entry.level, title=entry.term)
    return marked


# ---------------------------------------------------------------------- notebooks


def _convert_notebook(data: bytes) -> Converted | Refusal:
    book = msgspec.json.decode(data)
    cells = book["cells"] if "cells" in book else [cell for sheet in book["worksheets"] for cell in sheet["cells"]]
    about = book.get("metadata", {})
    language = about.get("language_info", {}).get("name") or about.get("kernelspec", {}).get("language") or ""
    text = "\n\n".join(part for cell in cells if (part := _cell_text(cell, language)))
    fields: dict[str, Json] = {"language": language} if language else {}
    if isinstance(about.get("title"), str):
        fields["title"] = about["title"]
    return Converted(f"{text}\n", fields)


def _cell_text(cell: dict[str, Any], language: str) -> str:
    """Return a cell as Markdown: prose as it is, code in a fence, then what it printed."""
    text = _joined(cell.get("source", cell.get("input", ""))).strip("\n")
    if cell.get("cell_type") != "code":
        level = cell.get("level") if cell.get("cell_type") == "heading" else None
        return f"{'#' * level} {text}" if isinstance(level, int) and text else text
    printed = [
        _joined(shown).rstrip()
        for output in cell.get("outputs", ())
        for shown in (output.get("text"), output.get("data", {}).get("text/plain"))
        if shown
    ]
    parts = [f"```{language}\n{text}\n```"] if text.strip() else []
    return "\n\n".join([*parts, *(f"```\n{shown}\n```" for shown in printed if shown.strip())])


def _joined(value: object) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value)


# ---------------------------------------------------------------------- PDF and DOCX


@contextlib.contextmanager
def _quiet(library: str) -> Iterator[None]:
    """Keep a library's log still.

    What it says names no file, and what it cannot read is a problem of its file.
    """
    log = logging.getLogger(library)
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


def _convert_pdf(data: bytes) -> Converted | Refusal:
    import pypdf

    with _quiet("pypdf"):
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return Refusal("encrypted", "the PDF is encrypted; save a copy without its password")
        pages = [(page.extract_text() or "").replace("\x00", "").strip() for page in reader.pages]
    if not any(pages):
        return Refusal("empty", f"{len(pages)} pages without text, so these are pictures; run it through OCR first")
    about = reader.metadata
    fields: dict[str, Json] = {}
    for name, value in (("title", about and about.title), ("author", about and about.author)):
        if value and value.strip():
            fields[name] = value.strip()
    if about and about.creation_date:
        fields["created"] = about.creation_date.isoformat()
    return Converted("".join(f"{page}\n\f\n" for page in pages), fields)


def outline_pages(text: str) -> Outline:
    """Return the outline of a PDF: a section for each page."""
    blocks: list[Block] = []
    start = 0
    for number, page in enumerate(text.split("\f"), 1):
        stop = min(start + len(page) + 1, len(text))
        if page.strip():
            blocks.append(Block(start if blocks else 0, stop, "definition", 1, f"page {number}"))
        elif blocks:
            blocks[-1] = blocks[-1]._replace(stop=stop)
        start = stop
    return Outline(blocks)


def _convert_docx(data: bytes) -> Converted | Refusal:
    import docx

    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        if sum(part.file_size for part in parts.infolist()) > MAX_UNPACKED:
            return Refusal("too_large", f"its parts unpack to more than {MAX_UNPACKED} bytes")
    document = docx.Document(io.BytesIO(data))
    about = document.core_properties
    fields: dict[str, Json] = {}
    for name, value in (("title", about.title), ("author", about.author)):
        if value and value.strip() and value != "python-docx":
            fields[name] = value.strip()
    if about.created is not None:
        fields["created"] = about.created.isoformat()
    return Converted("\n\n".join(_docx_parts(document)) + "\n", fields)


def _docx_parts(document: Any) -> Iterator[str]:
    """Yield paragraphs and tables as Markdown, in order."""
    for item in document.iter_inner_content():
        if hasattr(item, "rows"):
            yield "\n".join(" | ".join(" ".join(cell.text.split()) for cell in row.cells) for row in item.rows)
            continue
        text, style = item.text.strip(), (item.style.name if item.style is not None else "") or ""
        if text:
            level = 1 if style == "Title" else int(style[8:]) if re.fullmatch(r"Heading [1-6]", style) else 0
            mark = f"{'#' * level} " if level else "- " if style.startswith("List") else ""
            yield f"{mark}{text}"


# ---------------------------------------------------------------------- mail


def _convert_mail(data: bytes) -> Converted | Refusal:
    from lamina_engine.ingest.mail import messages_of

    def text_of(page: bytes) -> str:
        found = _convert_html(page)
        return found.text if isinstance(found, Converted) else ""

    return Converted(*messages_of(data, text_of))


CONVERTERS: Final[dict[str, Callable[[bytes], Converted | Refusal]]] = {
    "html": _convert_html,
    "notebook": _convert_notebook,
    "mail": _convert_mail,
    "pdf": _convert_pdf,
    "docx": _convert_docx,
}
"""By kind."""
