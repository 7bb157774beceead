"""Terms: identifiers that a text explains, each on a line or in a heading of its own.

"work_mem (integer)" holds for what stands below it as a heading does, and what stands there says nothing of another parameter that
it names.
"""

from __future__ import annotations

import re
from typing import Final

_IDENTIFIER: Final = r"(?=[\w.:-]*(?:[a-z][A-Z]|\w[_.]\w))[A-Za-z][\w.:-]*\w"
_ASIDE: Final = r"\([^()]*(?:\([^()]*\)[^()]*)*\)"
_TYPES: Final = (
    r"(?:default|integer|boolean|enum|string|floating|float|int|bool|str|list|dict|number|optional|required)"
)
TERM: Final = re.compile(
    rf"\s?`?\[?(?:{_IDENTIFIER}`?(?:\]\([^()]*\))? ?(?:{_ASIDE})?|[A-Za-z][\w-]*`? ?(?=\({_TYPES}\b){_ASIDE}):?\s*$"
)
"""Line that is an identifier, or a word with its type or its default in parentheses."""
_HEADING: Final = re.compile(rf"[#\s`\[]*(?:{_IDENTIFIER}|[A-Z][A-Z\d]{{3,}}\s*$)(?:\W|$)")


def is_term(heading: str) -> bool:
    """Return whether a heading, as written, is or begins with an identifier."""
    return (_HEADING.match(heading) or TERM.match(heading)) is not None


def is_part(name: str, word: str) -> bool:
    """Return whether a name is only a part of an identifier: "host" of "use_forwarded_host"."""
    return "_" in word and name != word and name in word.split("_")
