"""Wikilink and embed links: from a chunk to the note or heading it names."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from lamina_engine.graph.log import Draft, LinkCounts, sync
from lamina_engine.index.state import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

    Resolve = Callable[[Mapping[str, Sequence[Mapping[str, Any]]], Iterable[str]], Mapping[str, Sequence[str | None]]]
    """Finds where links lead: links by source, and all sources below the root; see `build`."""

ORIGIN: Final = "wikilink"
RELATION: Final = "related"


def build(memory: Memory, resolve: Resolve | None = None) -> LinkCounts:
    """Link chunks as their wikilinks say.

    A link to a note leads to its first active chunk; one to a heading to the first chunk below it, where there is one.
    Several from one chunk to another are one link.
    """
    drafts = list(wikilink_drafts(memory.view(), resolve))
    return sync(memory, drafts, origin=ORIGIN, relations=[RELATION], redacted=True)


def wikilink_drafts(view: View, resolve: Resolve | None = None) -> Iterable[Draft]:
    """Yield the drafts of wikilinks in present sources."""
    for sources in _current_sources(view).values():
        links = {name: msgspec.json.decode(record["links"] or "[]") for name, record in sources.items()}
        links = {name: found for name, found in links.items() if found}
        if resolve is not None:
            targets = resolve(links, sources)
        else:
            targets = {name: [link.get("source") for link in found] for name, found in links.items()}
        active = _active(view, [identity for record in sources.values() for identity in record["chunks"]])
        for name in sorted(links):
            for link, target in zip(links[name], targets[name], strict=True):
                draft = _draft(sources, name, link, target, active)
                if draft is not None:
                    yield draft


def _draft(
    sources: Mapping[str, Mapping[str, Any]],
    name: str,
    link: Mapping[str, Any],
    target: str | None,
    active: Mapping[str, tuple[str, ...]],
) -> Draft | None:
    chunks = sources[name]["chunks"]
    if target is None or target not in sources or not 0 <= link["chunk"] < len(chunks):
        return None
    here = chunks[link["chunk"]]
    there = [identity for identity in sources[target]["chunks"] if identity in active]
    heading = (link.get("heading") or "").strip().casefold()
    under = [identity for identity in there if heading and heading in active[identity]]
    if here not in active or not there or (under or there)[0] == here:
        return None
    return Draft(here, (under or there)[0], RELATION, 1.0, "embed" if link.get("embed") else None)


def _current_sources(view: View) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the newest row of every present source, by root and path."""
    newest: dict[tuple[str, str], dict[str, Any]] = {}
    snapshot, past = view.snapshot, view.as_of_us
    rows = np.arange(snapshot.rows("sources") if past is None else snapshot.watermark("sources", past))
    for record in view.snapshot.records("sources", rows, ("root", "source", "state", "chunks", "links")):
        newest[record["root"], record["source"]] = record
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for (root, name), record in sorted(newest.items()):
        if record["state"] == "present":
            found[root][name] = record
    return found


def _active(view: View, identities: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the folded headings of chunks that are active."""
    rows = view.rows_of_ids(identities)
    kept = [i for i, row in enumerate(rows.tolist()) if row >= 0 and view.state.status[row] == ACTIVE]
    headings = view.snapshot.values("chunks", "headings", rows[kept])
    return {
        identities[i]: tuple(heading.strip().casefold() for heading in path or ())
        for i, path in zip(kept, headings, strict=True)
    }
