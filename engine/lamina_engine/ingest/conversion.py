"""Conversion of HTML, notebooks, PDF and DOCX to text.

HTML and notebooks need nothing but Python; PDF and DOCX are read by pypdf and python-docx, which are extras. What comes
out is Markdown, or the pages of a PDF. A foreign file may be anything: every failure is a `Refusal`.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any, Final, NamedTuple

import msgspec

from lamina_engine.errors import install_command
from lamina_engine.ingest.chunking import Block, Outline
from lamina_engine.ingest.decoding import Refusal, decode
from lamina_engine.ingest.frontmatter import Json

EXTRAS: Final = {"pdf": "pypdf", "docx": "docx"}
"""Package that an extra of the kind's name brings."""
MAX_UNPACKED: Final = 200 * 2**20
"""Bytes that the parts of a DOCX may unpack to."""
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_SILENT: Final = frozenset({"script", "style", "template", "noscript", "svg", "nav"})
_BREAKS: Final = frozenset(
    re.findall(
        r"\w+",
        "p div section article main header footer ul ol table tr blockquote figure figcaption dl dt dd form hr aside",
    )
)
_WORD: Final = re.compile(r"\w")
_BLANKS: Final = re.compile(r"\n{3,}")


class Converted(NamedTuple):
    """Text of a converted file, and the fields it tells of itself."""

    text: str
    fields: dict[str, Json]

    def encode(self) -> bytes:
        """Return the text as a file would hold it."""
        return self.text.encode("utf-8", "replace")


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
    page = _Page()
    page.feed(decoded.text)
    page.close()
    return Converted(page.text(), page.fields)


class _Page(HTMLParser):
    """Writer of the Markdown of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.fields: dict[str, Json] = {}
        self._parts: list[str] = []
        self._silent: list[str] = []
        self._fixed = 0
        self._in_title = False
        self._links: list[tuple[str, int]] = []  # target, and place of its bracket
        self._in_heading = False

    def text(self) -> str:
        """Return what was written."""
        return _BLANKS.sub("\n\n", "".join(self._parts)).strip() + "\n"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        given = {name: value or "" for name, value in attrs}
        self._in_title = False  # one that is not closed must not take the page
        if tag == "meta":
            self._meta(given)
        elif tag == "title" and "title" not in self.fields:
            self._in_title = True
        elif tag in _SILENT:
            self._silent.append(tag)
        elif self._silent:
            return
        elif tag in _HEADINGS:
            self._in_heading = True
            self._parts.append(f"\n\n{'#' * _HEADINGS[tag]} ")
        elif tag == "pre":
            self._fixed += 1
            self._parts.append("\n\n```\n")
        elif tag == "li":
            self._parts.append("\n- ")
        elif tag == "br":
            self._parts.append("\n")
        elif tag in ("td", "th"):
            self._parts.append(" | ")
        elif tag == "a":
            self._links.append((given.get("href", ""), len(self._parts)))
            self._parts.append("[" if given.get("href") else "")
        elif tag in _BREAKS:
            self._in_heading = False
            self._parts.append("\n\n" if tag != "tr" else "\n")

    def handle_endtag(self, tag: str) -> None:
        """Close an element."""
        if tag == "title":
            self._in_title = False
        elif tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        elif self._silent:
            return
        elif tag == "pre" and self._fixed:
            self._fixed -= 1
            self._parts.append("\n```\n\n")
        elif tag == "a" and self._links:
            self._close_link(*self._links.pop())
        elif tag in _HEADINGS or (tag in _BREAKS and tag != "tr"):
            self._in_heading = False
            self._parts.append("\n\n")

    def _close_link(self, target: str, place: int) -> None:
        """End a link; one to its own page without words is left out, and in a heading is its words.

        So ¶, # and pictures that only mark a heading are no part of its title.
        """
        if not target.startswith("#"):
            self._parts.append(f"]({target})" if target else "")
        # from the end, where words are: a page may open a link ten thousand times before it closes one
        elif not any(_WORD.search(self._parts[i]) for i in range(len(self._parts) - 1, place - 1, -1)):
            del self._parts[place:]
        elif self._in_heading:
            self._parts[place] = ""
        else:
            self._parts.append(f"]({target})")

    def handle_data(self, data: str) -> None:
        """Take text."""
        if self._in_title:
            title = " ".join(f"{self.fields.get('title', '')} {data}".split())
            if title:
                self.fields["title"] = title
        elif not self._silent:
            self._parts.append(data if self._fixed else _squeezed(data, self._parts))

    def _meta(self, given: dict[str, str]) -> None:
        name = (given.get("name") or given.get("property") or "").lower().rpartition(":")[2]
        name = {"published_time": "date", "date.issued": "date"}.get(name, name)
        if name in ("author", "date", "description") and given.get("content"):
            self.fields.setdefault(name, given["content"].strip())


def _squeezed(data: str, before: list[str]) -> str:
    words = " ".join(data.split())
    if not words:
        return " " if before and before[-1][-1:].strip() and before[-1][-1:] != "[" else ""
    lead = " " if data[0].isspace() and before and before[-1][-1:].strip() and before[-1][-1:] != "[" else ""
    return f"{lead}{words}{' ' if data[-1].isspace() else ''}"


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


def _convert_pdf(data: bytes) -> Converted | Refusal:
    import pypdf

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


CONVERTERS: Final[dict[str, Callable[[bytes], Converted | Refusal]]] = {
    "html": _convert_html,
    "notebook": _convert_notebook,
    "pdf": _convert_pdf,
    "docx": _convert_docx,
}
"""By kind."""
