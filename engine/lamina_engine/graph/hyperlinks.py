"""Links in texts: wikilinks, Markdown links, references of reStructuredText, URLs.

Code is exempt. Scanners instead of parsers, as in `lamina_engine.ingest.markdown`: offsets come for free and they never fail. The tests
hold the Markdown links against markdown-it-py over a real vault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from lamina_engine.graph.code_spans import Range, is_inside
from lamina_engine.graph.targets import url_key


class WrittenLink(NamedTuple):
    """A link as written, and its span."""

    start: int
    stop: int
    target: str
    """Name, path, label or URL's key, by form; empty for a link inside the same note."""
    heading: str | None = None
    block: str | None = None
    alias: str | None = None
    embed: bool = False
    form: str = "wiki"
    """See `lamina_engine.graph.references.SourceLink`."""
    relation: str | None = None
    """Word before the link where its line is ``- word [[Note]]``."""


_WIKI: Final = re.compile(r"(!?)\[\[([^\[\]\n]{1,1000})\]\]")
_RELATION: Final = re.compile(
    r"[ \t]*[-*+][ \t]+[*_]{0,2}([^\W\d_][\w-]*(?: [\w-]+){0,2}?)[*_]{0,2}:?[*_]{0,2}[ \t]+\Z"
)
_AFTER_RELATION: Final = re.compile(r"[ \t]*(?:\([^()\n]*\))?[ \t]*(?:\n|\Z)")
_INLINE: Final = re.compile(
    r"\]\(\s*(?:<([^<>\n]*)>|((?:[^\s()<>\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)
_DEFINITION: Final = re.compile(
    r"^ {0,3}\[(?!\^)([^\[\]\n]{1,200})\]:[ \t]*\n?[ \t]*(?:<([^<>\n]*)>|(\S+))", re.MULTILINE
)
_USE: Final = re.compile(r"(!?)\[((?:[^\[\]\\]|\\.){1,300})\](?:\[([^\[\]\n]{0,200})\])?(?![(:\[])")
_HREF: Final = re.compile(r"<a\s[^<>]*?href\s*=\s*[\"']([^\"'<>]+)[\"']", re.IGNORECASE)
_URL: Final = re.compile(r"https?://[^\s<>\"'`|\\^{}\[\]]+")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_BLOB: Final = re.compile(
    r"https?://(?:www\.)?[^/\s]+/[^/\s]+/([^/\s]+)/(?:-/)?(?:blob|tree|raw)/[^/\s]+/([^\s?#]+)(?:#(\S*))?"
)
_LONGEST_RELATION: Final = 80
_FARTHEST: Final = 600
"""Characters between the brackets of a Markdown link's text, at most."""


def find_links(text: str, kind: str, code: Sequence[Range]) -> list[WrittenLink]:
    """Return the links of a text of some kind outside code, in order. O(n)."""
    if kind == "markdown":
        found = [*find_wikilinks(text, code), *_markdown_links(text, code), *_urls(text, code)]
    elif kind == "rst":
        hidden = [span for span in code if text[span[0]] != "." or _HIDDEN.match(text, span[0])]
        code = sorted([*hidden, *(match.span() for match in _INLINE_LITERAL.finditer(text))])
        found = [*_rst_links(text, code), *_urls(text, code)]
    elif kind == "text":
        found = [*find_wikilinks(text, code), *_urls(text, code)]
    elif kind == "asciidoc":
        found = [*_asciidoc_links(text, code), *_urls(text, code)]
    elif kind == "org":
        found = [*_org_links(text, code), *_urls(text, code)]
    else:
        return []
    return sorted(found, key=lambda link: link[:2])


# ---------------------------------------------------------------------- wikilinks


def find_wikilinks(text: str, code: Sequence[Range]) -> list[WrittenLink]:
    """Return the wikilinks and embeds outside code, in order.

    Understood are ``[[note]]``, ``[[note|alias]]``, ``[[note#heading]]``, ``[[note#^block]]``, ``[[note^block]]``,
    ``[[#heading]]`` and each with ``!`` before it. In tables the bar may have a backslash before it.
    """
    if "[[" not in text:
        return []
    links: list[WrittenLink] = []
    for match in _WIKI.finditer(text):
        if not is_inside(code, match.start()):
            link = _parse_wikilink(match[2], match.span(), embed=bool(match[1]))
            if link is not None:
                links.append(link._replace(relation=_relation_before(text, *match.span())))
    return links


def _parse_wikilink(inner: str, span: Range, *, embed: bool) -> WrittenLink | None:
    place, bar, alias = inner.partition("|")
    if bar and place.endswith("\\"):
        place = place[:-1]
    target, sharp, heading = place.partition("#")
    block = ""
    if sharp:
        heading, caret, block = heading.partition("^")
    else:
        target, caret, block = target.partition("^")
    if not (target.strip() or heading.strip() or block.strip()):
        return None
    return WrittenLink(
        *span,
        target.strip(),
        heading.strip().strip("#").strip() or None,
        block.strip() or None if caret else None,
        alias.strip() or None,
        embed,
    )


def _relation_before(text: str, start: int, stop: int) -> str | None:
    """Return the word of a line ``- word [[Note]]`` that holds nothing else."""
    line = text.rfind("\n", 0, start) + 1
    match = _RELATION.match(text[line:start]) if start - line <= _LONGEST_RELATION else None
    return match[1] if match and _AFTER_RELATION.match(text, stop) else None


# ---------------------------------------------------------------------- Markdown


def _markdown_links(text: str, code: Sequence[Range]) -> Iterator[WrittenLink]:
    for match in _INLINE.finditer(text) if "](" in text else ():
        start = _opening(text, match.start())
        if start >= 0 and not is_inside(code, match.start()):
            embed = start > 0 and text[start - 1] == "!"
            yield from _destination(match[1] or match[2] or "", (start, match.end()), embed=embed)
    if "]:" in text:
        yield from _reference_links(text, code)
    for match in _HREF.finditer(text) if "<a" in text.lower() else ():
        if not is_inside(code, match.start()):
            yield from _destination(match[1], match.span())


def _opening(text: str, close: int) -> int:
    """Return the position of a closing bracket's opening one; -1 if it is too far away."""
    depth = 0
    for at in range(close, max(close - _FARTHEST, 0) - 1, -1):
        if text[at] == "]" and (at == 0 or text[at - 1] != "\\"):
            depth += 1
        elif text[at] == "[" and (at == 0 or text[at - 1] != "\\"):
            depth -= 1
            if not depth:
                return at
    return -1


def _reference_links(text: str, code: Sequence[Range]) -> Iterator[WrittenLink]:
    """Yield links by a defined label: ``[text][label]``, ``[label][]`` and ``[label]``."""
    defined: dict[str, str] = {}
    spans: list[Range] = []
    for match in _DEFINITION.finditer(text):
        if not is_inside(code, match.start()):
            defined.setdefault(_label(match[1]), match[2] or match[3])
            spans.append(match.span())
    for match in _USE.finditer(text) if defined else ():
        destination = defined.get(_label(match[3] or match[2]))
        if destination is not None and not is_inside(code, match.start()) and not is_inside(spans, match.start()):
            yield from _destination(destination, match.span(), embed=bool(match[1]))


def _label(text: str) -> str:
    return " ".join(text.casefold().split())


def _destination(written: str, span: Range, *, embed: bool = False) -> Iterator[WrittenLink]:
    """Yield the link to a Markdown destination; none for mail addresses and the like."""
    written = _ESCAPE.sub(r"\1", written.strip())
    if _SCHEME.match(written) or written.startswith("//"):
        yield from _url_link(written, span)
        return
    path, _, anchor = written.partition("#")
    path = unquote(path.partition("?")[0])
    if path or anchor:
        yield WrittenLink(*span, path, unquote(anchor) or None, embed=embed, form="path")


# ---------------------------------------------------------------------- URLs


def _urls(text: str, code: Sequence[Range]) -> Iterator[WrittenLink]:
    for match in _URL.finditer(text) if "://" in text else ():
        if not is_inside(code, match.start()):
            yield from _url_link(match[0], match.span())


def _url_link(written: str, span: Range) -> Iterator[WrittenLink]:
    """Yield the link of a URL by its key; of a file in a hosted repository also its path."""
    written = written.rstrip(".,;:!?*_)") if written.count("(") < written.count(")") else written.rstrip(".,;:!?*_")
    if not written.lower().startswith(("http://", "https://")):
        return
    blob = _BLOB.match(written)
    if blob:
        yield WrittenLink(*span, f"{blob[1]}/{unquote(blob[2])}", blob[3] or None, form="hosted")
    yield WrittenLink(*span, url_key(written), form="url")


# ---------------------------------------------------------------------- AsciiDoc and Org

_MACRO: Final = re.compile(
    r"\b(?:xref|link|include):{1,2}([^\s\[\]]{1,1000})\[|<<([^<>\s,]{1,1000}\.[^<>\s,]{1,200})(?:,[^<>]{0,300})?>>"
)
_BRACKETED: Final = re.compile(r"\[\[([^\[\]\n]{1,1000})\](?:\[[^\[\]\n]{0,1000}\])?\]")


def _asciidoc_links(text: str, code: Sequence[Range]) -> Iterator[WrittenLink]:
    for match in _MACRO.finditer(text):
        if not is_inside(code, match.start()):
            yield from _destination(match[1] or match[2], match.span(), embed=match[0].startswith("include"))


def _org_links(text: str, code: Sequence[Range]) -> Iterator[WrittenLink]:
    """Yield links to files, with the headline after ``::``."""
    for match in _BRACKETED.finditer(text) if "[[" in text else ():
        path, _, place = match[1].removeprefix("file:").partition("::")
        if not is_inside(code, match.start()) and "://" not in path and "." in path:
            yield from _destination(f"{path}#{place.lstrip('*#')}" if place else path, match.span())


# ---------------------------------------------------------------------- reStructuredText

_HIDDEN: Final = re.compile(
    r"\.\.[ \t]+(?!_)(?:(?:code|code-block|sourcecode|literalinclude|highlight|parsed-literal|testcode|testoutput|testsetup|"
    r"doctest|prompt|math|raw|graphviz|ipython|productionlist)::|(?![\w:+.-]+::))"
)
"""Directives whose text is code, and comments; other directives hold prose."""
_INLINE_LITERAL: Final = re.compile(r"``[^`\n](?:[^`]|`(?!`)){0,500}?``")
_ROLE: Final = re.compile(r":(?:[a-z]+:)?(doc|ref|numref|pep|rfc):`([^`]{1,500})`")
_TITLED: Final = re.compile(r"\A(.*?)\s*<([^<>]+)>\Z", re.DOTALL)
_PHRASE: Final = re.compile(r"(?<![:`\w])`([^`]{1,500})`__?(?!\w)")
_NAMED: Final = re.compile(r"(?<![\w`:/.-])([A-Za-z0-9](?:[\w.+-]*[A-Za-z0-9])?)_(?![\w_])")
_TARGET: Final = re.compile(r"^[ \t]*\.\. _(`[^`\n]+`|[^:`\n]+):[ \t]*(\S.*)?$", re.MULTILINE)
_BLANK: Final = re.compile(r"\s*")
_TOCTREE: Final = re.compile(r"^([ \t]*)\.\. toctree::[^\n]*\n((?:\1[ \t]+[^\n]*\n|[ \t]*\n)*)", re.MULTILINE)
_INCLUDE: Final = re.compile(r"^[ \t]*\.\. include::[ \t]+(\S+)", re.MULTILINE)


def _rst_links(text: str, code: Sequence[Range]) -> Iterator[WrittenLink]:
    named: dict[str, str] = {}
    for match in _TARGET.finditer(text) if ".. _" in text else ():
        if is_inside(code, match.start()):
            continue
        name, to = _label(match[1].strip("`").replace("\\", "")), (match[2] or "").strip()
        if not to:
            below = _BLANK.match(text, match.end())  # it names what follows it
            start = min(below.end(), len(text) - 1) if below else match.start()
            yield WrittenLink(start, start + 1, name, form="anchor")
        named[name] = to or f"{name}_"
    for match in _ROLE.finditer(text) if "`" in text else ():
        if not is_inside(code, match.start()):
            yield from _role_link(match[1], match[2], match.span())
    for match in _PHRASE.finditer(text) if "`_" in text else ():
        if not is_inside(code, match.start()):
            titled = _TITLED.match(match[1])
            yield from _rst_destination(titled[2] if titled else f"{match[1]}_", match.span(), named)
    for match in _NAMED.finditer(text) if named else ():
        if _label(match[1]) in named and not is_inside(code, match.start()):
            yield from _rst_destination(match[0], match.span(), named)
    for match in _TOCTREE.finditer(text) if "toctree::" in text else ():
        yield from _toctree_links(match[2], match.start(2))
    for match in _INCLUDE.finditer(text) if "include::" in text else ():
        yield WrittenLink(*match.span(), match[1], embed=True, form="path")


def _role_link(role: str, inner: str, span: Range) -> Iterator[WrittenLink]:
    titled = _TITLED.match(inner)
    alias, target = (titled[1], titled[2]) if titled else (None, inner)
    if role in ("pep", "rfc"):
        number, _, anchor = target.strip().partition("#")
        if number.strip().isdigit():
            yield WrittenLink(*span, f"{role} {int(number)}", anchor or None, alias=alias, form="number")
    elif role == "doc":
        yield WrittenLink(*span, target.strip(), alias=alias, form="path")
    else:
        yield WrittenLink(*span, _label(target.lstrip("!~")), alias=alias, form="label")


def _rst_destination(written: str, span: Range, named: dict[str, str], depth: int = 0) -> Iterator[WrittenLink]:
    """Yield the link of an embedded URI, or of a name through the file's targets."""
    written = " ".join(written.split())
    if written.endswith("_") and not written.endswith("\\_"):
        name = _label(written[:-1].strip("`"))
        to = named.get(name)
        if to is None or to == f"{name}_":
            yield WrittenLink(*span, name, form="label")
        elif depth < 5:
            yield from _rst_destination(to, span, named, depth + 1)
    else:
        yield from _destination(written.replace(" ", ""), span)


def _toctree_links(block: str, start: int) -> Iterator[WrittenLink]:
    for line in block.splitlines(keepends=True):
        entry = line.strip()
        if entry and not entry.startswith((":", "..")) and entry != "self" and "*" not in entry:
            titled = _TITLED.match(entry)
            if not _SCHEME.match(titled[2] if titled else entry):
                yield WrittenLink(start, start + len(line), titled[2] if titled else entry, form="path")
        start += len(line)
