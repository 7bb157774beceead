"""Markup of plain text: reStructuredText and AsciiDoc in files called ``.txt``.

Documentation is often kept so (Django's and the Sphinx sources of a site, git's). What a file is is told by its own marks, which
prose does not have: a heading alone is none, as people underline in plain text too.
"""

from __future__ import annotations

import re
from typing import Final

MOST_CHARS: Final = 1 << 16
"""Characters that are looked at."""
LEAST_MARKS: Final = 2
"""Kinds of marks that AsciiDoc has beside its headings; each of them alone may stand in other texts."""

_UNDERLINED: Final = re.compile(r"^\S.{2,198}\n([=\-~^*+\"'#`:.])\1{2,200}[ \t]*$", re.MULTILINE)
_RST: Final = re.compile(
    r"^\.\. (?:_[^:\n]{1,200}:|[a-z][\w.-]{0,60}::|\|[^|\n]{1,100}\| [\w-]+::)|:[a-z][\w.:-]{0,40}:`[^`\n]{1,200}`",
    re.MULTILINE,
)
_HEADING: Final = re.compile(r"^={1,6}[ \t]+\S[^\n]{0,200}$", re.MULTILINE)
_ASCIIDOC: Final = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^\[\[[\w.:-]{1,100}\]\]$|<<[\w.:-]{1,100}(?:,[^<>\n]{0,200})?>>",
        r"^\[(?:source|verse|quote|listing|horizontal|NOTE|TIP|WARNING|IMPORTANT|CAUTION)\b[^\[\]\n]{0,200}\]$",
        r"^:[a-z][\w-]{0,60}!?:(?: \S.{0,300})?$",
        r"^(?:include|image|ifdef|ifndef|ifeval|endif)::\S{0,200}\[",
        r"\b(?:link|xref|linkgit|footnote|kbd|image):[^\s\[\]]{0,200}\[",
        r"^\+$",
        r"^[^\s:][^:\n]{0,100}::$",
        r"^(?:NOTE|TIP|WARNING|IMPORTANT|CAUTION): ",
        r"^(?:-{4}|\|={3}|\.{4}|/{4})$",
    )
)


def markup_of(text: str) -> str:
    """Return the kind of a plain text by its marks: ``rst``, ``asciidoc`` or ``text``. O(n)."""
    head = text[:MOST_CHARS]
    is_underlined = _UNDERLINED.search(head) is not None
    if is_underlined and _RST.search(head):
        return "rst"
    if (is_underlined or _HEADING.search(head)) and sum(
        mark.search(head) is not None for mark in _ASCIIDOC
    ) >= LEAST_MARKS:
        return "asciidoc"
    return "text"
