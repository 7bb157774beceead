"""Blocks read back."""

from __future__ import annotations

import re

from lamina_engine.context.rendering import Item

_VALUES = {"amp": "&", "lt": "<", "quot": '"'}


def parse(text: str) -> list[Item]:
    """Return the items of a block as `render` wrote them."""
    found = []
    for attributes, body in re.findall(r"<memory((?: [a-z]+=\"[^\"<]*\")*)>\n([^<]*)\n</memory>", text):
        values = {name: _unescape(value) for name, value in re.findall(r' ([a-z]+)="([^"<]*)"', attributes)}
        fields = {name: values.get(name, "") for name in Item.__struct_fields__ if name not in ("text", "needs_review")}
        found.append(Item(**fields, text=_unescape(body), needs_review="review" in values))
    return found


def _unescape(text: str) -> str:
    return re.sub(r"&(?:(amp|lt|quot)|#(\d+));", lambda at: _VALUES[at[1]] if at[1] else chr(int(at[2])), text)
