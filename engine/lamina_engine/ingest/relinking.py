"""Wikilinks found anew: a note that came later may be what an older one means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from lamina_engine.ingest.drafts import SourceLink
from lamina_engine.ingest.wikilinks import resolve

_FIELDS: Final = tuple(SourceLink.__dataclass_fields__)


def resolver(
    links: Mapping[str, Sequence[Mapping[str, Any]]], sources: Iterable[str]
) -> Mapping[str, Sequence[str | None]]:
    """Return where the links of each source lead, as `lamina_engine.graph.wikilinks.build` asks.

    Parameters
    ----------
    links : mapping of str to sequence of mapping
        Links as the sources log has them, by source.
    sources : iterable of str
        All sources below the root.
    """
    found = {name: [_link(link) for link in each] for name, each in links.items()}
    return resolve(found, sources).targets


def _link(record: Mapping[str, Any]) -> SourceLink:
    fields: dict[str, Any] = {name: record.get(name) for name in _FIELDS}
    return SourceLink(**fields)
