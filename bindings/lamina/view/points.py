"""Answers for the map: places and times as columns of bytes, ids and titles by position."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from lamina.vault import count_rewrites
from lamina.view.requests import RequestError
from lamina.view.stories import line_of

if TYPE_CHECKING:
    import pyarrow as pa

    import lamina
    from lamina.view.requests import Query

_MOST_AT_ONCE: Final = 500
_NONE: Final = 65_535
_CATEGORIES: Final = ("topic", "type", "project", "collection", "freshness")


class Points(NamedTuple):
    """The map of one version of a vault, at one moment."""

    table: pa.Table
    snapshot: str

    def encode(self, topics: dict[str, str]) -> bytes:
        """Return length and text of a JSON header, then columns, each from a multiple of 8 on."""
        import numpy as np

        table = self.table
        codes = {name: table[name].combine_chunks().dictionary_encode() for name in _CATEGORIES}
        still = np.iinfo(np.int64).max
        columns = [
            *((name, table[name].to_numpy().astype("<f4")) for name in ("x", "y")),
            *((name, table[f"{name}_us"].to_numpy().astype("<i8")) for name in ("created", "recorded")),
            ("gone", table["gone_us"].fill_null(still).to_numpy().astype("<i8")),
            *((name, code.indices.fill_null(_NONE).to_numpy().astype("<u2")) for name, code in codes.items()),
        ]
        values = {name: code.dictionary.to_pylist() for name, code in codes.items()}
        header = {
            "n": table.num_rows, "columns": [[name, column.dtype.str] for name, column in columns],
            **values, "topic": [{"id": each, "name": topics[each]} for each in values["topic"]],
            "snapshot": int(self.snapshot),
        }  # fmt: skip
        text = json.dumps(header, separators=(",", ":")).encode("ascii")
        text += b" " * (-(4 + len(text)) % 8)
        parts = [column.tobytes() for _, column in columns]
        return b"".join([np.uint32(len(text)).tobytes(), text, *(part + bytes(-len(part) % 8) for part in parts)])


@lru_cache(maxsize=4)
def _points_of(vault: lamina.Vault, rewrites: int, version: int, project: str | None) -> Points:
    """Return the points of a version: an older one stays until something is forgotten."""
    import pyarrow.compute as pc

    table = vault.topics.places(history=True)
    if project is not None:
        table = table.filter(pc.equal(table["project"], project))
    return Points(table, table.schema.metadata[b"snapshot"].decode())


def keep_points(vault: lamina.Vault, project: str | None, numbers: Mapping[str, int]) -> dict[str, object]:
    """Return the points for a page of one file, each with its chunk's number, or id and title."""
    points = _points_of(vault, count_rewrites(vault), vault.version, project)
    still = points.table["gone_us"].is_null().to_pylist()
    rows = zip(points.table["id"].to_pylist(), points.table["title"].to_pylist(), still, strict=True)
    named = [numbers[each] if active and each in numbers else [each, title] for each, title, active in rows]
    encoded = points.encode({topic.id: topic.name for topic in vault.topics()})
    return {"points": encoded, "ids": named, "snapshot": int(points.snapshot)}


def answer_points(vault: lamina.Vault, query: Query, _: str) -> bytes:
    """Return the points of all chunks that are known, or ever were."""
    points = _points_of(vault, count_rewrites(vault), vault.version, query.project)
    return points.encode({topic.id: topic.name for topic in vault.topics()})


def answer_ids(vault: lamina.Vault, query: Query, _: str) -> dict[str, object]:
    """Return ids, and titles or first lines, of points: of a range, or at some positions."""
    points = _points_of(vault, count_rewrites(vault), query.number("snapshot", vault.version, 2**53), query.project)
    table = points.table.select(["id", "title"])
    at = query.text("at")
    if at is None:
        found = table.slice(query.number("from", 0, 100_000_000, 0), query.number("n", _MOST_AT_ONCE, 5_000))
    else:
        found = table.take(_positions(at, table.num_rows))
    ids, titles = found["id"].to_pylist(), found["title"].to_pylist()
    untitled = [name for name, title in zip(ids, titles, strict=True) if not title]
    lines = {chunk.id: line_of(chunk.text) for chunk in vault.get_many(untitled)} if untitled else {}
    titles = [title or lines.get(name) for name, title in zip(ids, titles, strict=True)]
    return {"ids": ids, "titles": titles, "snapshot": int(points.snapshot)}


def _positions(text: str, most: int) -> list[int]:
    parts = text.split(",")
    found = [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 12]
    if len(found) < len(parts) or len(parts) > _MOST_AT_ONCE or max(found) >= most:
        allowed = f"at most {_MOST_AT_ONCE} numbers from 0 to {most - 1}, with commas"
        raise RequestError(400, "at is no list of positions on the map", text[:40], allowed, "ask /api/points first")
    return found
