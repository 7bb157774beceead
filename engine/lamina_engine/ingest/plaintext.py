"""The blocks of plain text: paragraphs between blank lines."""

from __future__ import annotations

import re

from lamina_engine.ingest.chunking import Block, Outline

_GAP = re.compile(r"\n[ \t]*\n\s*")


def outline(text: str) -> Outline:
    """Return the paragraphs of a text; it has no title and no headings of its own.

    Parameters
    ----------
    text : str
        Text with LF newlines.

    Returns
    -------
    Outline
        Blank lines belong to the paragraph before them; indentation after them to it too.
    """
    blocks: list[Block] = []
    start = 0
    for gap in _GAP.finditer(text):
        # the next paragraph keeps its indentation
        stop = text.rfind("\n", gap.start(), gap.end()) + 1
        if text[start:stop].strip():
            blocks.append(Block(start, stop, "paragraph"))
            start = stop
    if start < len(text):
        blocks.append(Block(start, len(text), "paragraph"))
    return Outline(blocks)
