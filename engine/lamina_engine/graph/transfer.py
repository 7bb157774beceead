"""Export and import of links as JSON lines: all current claims between exported chunks.

Exporting, importing into a vault that has the chunks and exporting again gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from msgspec import Meta, Struct

from lamina_engine.clock import MISSING_US, format_instant, parse_instant
from lamina_engine.graph.links import claim_rows
from lamina_engine.graph.log import Draft, write
from lamina_engine.index import nodes
from lamina_engine.index.state import FORGOTTEN, REMOVED
from lamina_engine.json_lines import write_json_lines

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

Text = Annotated[str, Meta(min_length=1)]
_AT_ONCE: Final = 65_536


class LinkLine(Struct, frozen=True, tag_field="record", tag="link"):
    """One claim of an origin; see `lamina_engine.schema.LINKS` for the fields."""

    source: Text
    target: Text
    relation: Text
    weight: float = 1.0
    origin: Text = "user"
    created_at: str | None = None
    note: str | None = None


def export_links(memory: Memory, path: Path) -> int:
    """Write all claims by origin, source, target and relation, atomically; return their number.

    Links of removed chunks are left out, as those are.
    """
    return write_json_lines(path, link_lines(memory.view()))


def link_lines(view: View) -> Iterator[LinkLine]:
    """Yield all claims between chunks that are there, by origin, source, target and relation."""
    names = ("source", "target", "relation", "weight", "note")
    for origin in sorted(nodes.state_of(view).graph.origins):
        rows = claim_rows(view, origin)
        created = view.snapshot.numbers("links", "created_at", rows, MISSING_US).tolist()
        found = [
            LinkLine(**record, origin=origin, created_at=format_instant(None if us == MISSING_US else us))
            for record, us in zip(view.snapshot.records("links", rows, names), created, strict=True)
        ]
        ends = sorted({end for line in found for end in (line.source, line.target)})
        at_rows = view.rows_of_ids(ends)
        kept = (at_rows >= 0) & ~np.isin(view.state.status[at_rows], (REMOVED, FORGOTTEN))
        there = {end for end, keep in zip(ends, kept.tolist(), strict=True) if keep}
        found = [line for line in found if line.source in there and line.target in there]
        yield from sorted(found, key=lambda line: (line.source, line.target, line.relation))


def write_links(memory: Memory, lines: Iterable[LinkLine]) -> int:
    """Write exported links whose chunks the vault has; return the number of new ones."""
    added = 0
    for origin, same in groupby(lines, key=lambda line: line.origin):
        while part := list(islice(same, _AT_ONCE)):
            added += write(memory, [_draft(line) for line in part], origin=origin).added
    return added


def _draft(line: LinkLine) -> Draft:
    made = None if line.created_at is None else parse_instant(line.created_at, what="created_at")
    return Draft(line.source, line.target, line.relation, line.weight, line.note, made)
