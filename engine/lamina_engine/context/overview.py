"""Overview of a vault of notes: its extent, its folders, and what changed last."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.chunks.reading import chunks_at
from lamina_engine.clock import MISSING_US, US_PER_S
from lamina_engine.context.memories import day_text
from lamina_engine.context.rendering import Item, age_text
from lamina_engine.recall.filters import evaluate, live_mask, parse_filter

if TYPE_CHECKING:
    from lamina_engine.context.scope import Scope
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import I64

ID: Final = "vault:overview"
TYPE: Final = "overview"
_NEWEST: Final = 10
_FOLDERS: Final = 12
_READ: Final = 400
"""Newest chunks among which the newest sources are looked for."""
_SMALL: Final = 5
"""A vault of fewer sources has no folders worth a line."""


def vault_overview(memory: Memory, scope: Scope, now_us: int) -> list[Item]:
    """Return the overview as one item, none for a vault without chunks."""
    view, tz = memory.view(), memory.config.tz
    node = parse_filter(scope.filter({}), tz, now_us)
    rows = np.flatnonzero(evaluate(node, view, live_mask(view, node, invalidated=False, now_us=now_us)))
    if not rows.size:
        return []
    created = view.created_us[rows]
    dated = created[created != MISSING_US]
    newest = int(dated.max()) if dated.size else None
    sources = _sources(view, rows)
    lines = [_extent(len(rows), len(sources), dated, tz)]
    if len(sources) >= _SMALL:
        lines.append(f"Folders: {_folders(sources)}")
    order = rows[np.lexsort((rows, created))][::-1]  # undated ones, by the least number there is, come last
    lines += ["Newest:", *_lines(view, order[:_READ], _NEWEST, tz)]
    age = age_text(None if newest is None else max(now_us - newest, 0) / US_PER_S)
    name = memory.config.name or memory.root.name
    return [
        Item("overview", ID, "\n".join(lines), TYPE, "", name, day_text(newest, tz), age, "fresh", title="What this vault holds")
    ]  # fmt: skip


def _extent(chunks: int, sources: int, dated: I64, tz: str) -> str:
    size = f"{sources:,} sources, {chunks:,} chunks" if sources else f"{chunks:,} chunks"
    if not dated.size:
        return f"{size}, undated"
    first, last = day_text(int(dated.min()), tz), day_text(int(dated.max()), tz)
    return f"{size}, of {first}" if first == last else f"{size}, from {first} to {last}"


def _sources(view: View, rows: I64) -> Counter[str]:
    found: Counter[str] = Counter()
    chosen = set(rows.tolist())
    for segment in view.snapshot.segments("chunks"):
        names = segment.texts("source")
        found.update(str(name) for row, name in enumerate(names, segment.start) if name and row in chosen)
    return found


def _folders(sources: Counter[str]) -> str:
    folders = Counter(name.rpartition("/")[0].partition("/")[0] or "." for name in sources)
    parts = [f"{name} {count}" for name, count in sorted(folders.items(), key=lambda pair: (-pair[1], pair[0]))]
    return ", ".join(parts[:_FOLDERS]) + (f", and {len(parts) - _FOLDERS} more" if len(parts) > _FOLDERS else "")


def _lines(view: View, rows: I64, most: int, tz: str) -> list[str]:
    """Return a line for each of the first sources: date, title, source and id."""
    found: dict[str, str] = {}
    for chunk in chunks_at(view, rows):
        name = chunk.source or chunk.id
        if name not in found:
            title = chunk.title or chunk.text.strip().partition("\n")[0][:80]
            place = f" ({chunk.source})" if chunk.source else ""
            found[name] = f"- {day_text(chunk.created_at_us, tz) or 'undated'} {title}{place} {chunk.id}"
        if len(found) == most:
            break
    return list(found.values())
