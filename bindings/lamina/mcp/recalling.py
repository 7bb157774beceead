"""``memory_recall`` and ``memory_get``: an index first, whole texts on demand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import lamina
from lamina.mcp.answers import (
    NOTE,
    SNIPPET,
    Answer,
    clean,
    clean_data,
    counter,
    fill,
    headline,
    hit_line,
    indented,
    one_line,
    short_id,
)

if TYPE_CHECKING:
    from lamina.mcp.access import VaultAccess
    from lamina.options import Where

_MORE_TOKENS: Final = 4_000
_LEAST_PIECE: Final = 80
"""Characters of a text that is cut; with fewer it is left out."""
_SHOWN_LINKS: Final = 6
_OPTIONAL: Final = ("path", "line", "end_line", "tags", "pinned", "needs_review", "freshness", "success")


def where_of(
    where: Where | None, *, project: str | None = None, types: Sequence[str] | None = None, **others: str | None
) -> Where | None:
    """Join a filter and what else narrows a call."""
    parts: list[Where] = [where] if where else []
    parts += [{name: value} for name, value in {"project": project, **others}.items() if value]
    if types:
        parts.append({"type": {"in": list(types)}})
    return None if not parts else parts[0] if len(parts) == 1 else {"AND": parts}


def find_chunk(vault: lamina.Vault, name: str) -> lamina.Chunk:
    """Return a memory by its id, long or short, or by the path it was read from."""
    name = name.strip()
    try:
        return vault.get(name)
    except lamina.ChunkNotFound:
        if name.startswith("#"):
            return vault.get(name[1:])
        found = vault.list({"source": name}, 1)
        if not found:
            raise
        return found[0]


def recall(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``memory_recall``."""
    vault = access.read()
    project = access.scope(given["project"])
    hits = vault.recall(
        given["query"], given["k"], profile=given["profile"], since=given["since"], until=given["until"],
        as_of=given["as_of"], where=where_of(given["where"], project=project, types=given["types"]),
    )  # fmt: skip
    return index(vault, hits, given["max_tokens"], full=bool(given["full"]), narrowed=_narrowed(given, project))


def index(
    vault: lamina.Vault, hits: lamina.Hits, limit: int, *, full: bool = False, narrowed: Iterable[str] = ()
) -> Answer:
    """Return hits as lines, or whole texts, within a budget."""
    count = counter(vault)
    rows, items = [], []
    for hit in hits:
        row = hit_row(hit, one_line(hits.snippet(hit, SNIPPET).text, SNIPPET))
        type_ = hit.type if hit.status == "active" else f"{hit.type} [{hit.status}]"
        line = hit_line(vault.tz, hits, hit, type_, count)
        if full:
            title = headline(vault.tz, hit.id, row["date"], type_, hit.title, "", [f"{hit.score:.3f}"])
            items.append([f"{title}\n{indented(hit.text)}", line])
        else:
            items.append([line])
        rows.append(row)

    def advise(left: int) -> str:
        if not rows:
            return _nothing(vault, tuple(narrowed))
        if left:
            return f"{left} more: ask with max_tokens={max(_MORE_TOKENS, 2 * limit)}, or narrow the question"
        return "" if full else f"memory_get {short_id(hits[0].id)} for the text"

    said, taken = fill(NOTE if rows else "Nothing found.", items, advise, limit, count)
    if full:
        for row, hit, form in zip(rows, hits, taken, strict=False):
            row |= {"text": clean(hit.text)} if form == 0 else {"cut": True}
    found: dict[str, Any] = {"hits": rows[: len(taken)], "more": len(rows) - len(taken), "snapshot": hits.snapshot}
    return Answer(said, found)


def hit_row(hit: lamina.Hit, snippet: str) -> dict[str, Any]:
    """Return a hit as data."""
    shown = hit.to_dict()
    row = {
        "id": hit.id, "score": round(hit.score, 6), "title": hit.title, "date": shown["created_at"], "type": hit.type,
        "project": hit.project, "source": hit.source,
    }  # fmt: skip
    optional = {"status": None if hit.status == "active" else hit.status, "freshness": hit.freshness, "via": hit.via}
    row |= {name: value for name, value in optional.items() if value}
    cleaned: dict[str, Any] = clean_data(row | {"snippet": snippet})
    return cleaned


def _narrowed(given: Mapping[str, Any], project: str | None) -> list[str]:
    named = [f"project={project}"] if project else []
    return named + [f"{name}={given[name]}" for name in ("types", "since", "until", "as_of", "where") if given[name]]


def _nothing(vault: lamina.Vault, narrowed: Sequence[str]) -> str:
    if not vault.stats()["chunks"]:
        return "The vault is empty: memory_add stores a memory, `lamina ingest PATH` reads notes and sessions."
    if narrowed:
        return one_line(f"Asked with {', '.join(narrowed)}; ask without, or see memory_status section=projects.", 300)
    return "Other words may help; memory_status says what there is."


def get(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``memory_get``."""
    vault = access.read()
    rows, pieces, missing, notes = list[dict[str, Any]](), list[list[int]](), list[str](), list[str]()
    for wanted in given["ids"]:
        try:
            chunk = find_chunk(vault, wanted)
        except lamina.ChunkNotFound:
            missing.append(clean(wanted))
        except lamina.AmbiguousId as error:
            missing.append(clean(wanted))
            notes.append(one_line(str(error), 300))
        else:
            rows.append(chunk_row(vault, chunk, history=bool(given["history"])))
            pieces.append(_pieces(len(rows[-1]["text"])))

    def advise(left: int) -> str:
        parts = [one_line(f"not found: {', '.join(missing)}", 200)] if missing else []
        if left:
            parts.append(f"{left} left out for want of room: ask for fewer, or with a larger max_tokens")
        return "; ".join(parts + notes)

    items = [[_block(row, size, vault.tz) for size in sizes] for row, sizes in zip(rows, pieces, strict=True)]
    said, taken = fill(NOTE if rows else "Nothing found.", items, advise, given["max_tokens"], counter(vault))
    for row, sizes, form in zip(rows, pieces, taken, strict=False):
        row["text"] = row["text"][: sizes[form]]
    cut = [row["id"] for row, form in zip(rows, taken, strict=False) if form] + [
        row["id"] for row in rows[len(taken) :]
    ]
    return Answer(said, {"items": rows[: len(taken)], "missing": missing, "cut": cut})


def chunk_row(vault: lamina.Vault, chunk: lamina.Chunk, *, history: bool = False) -> dict[str, Any]:
    """Return a memory as data, with its links."""
    shown = chunk.to_dict()
    names = ("id", "text", "title", "type", "project", "source", "created_at", "status")
    row: dict[str, Any] = {name: shown[name] for name in names}
    links = [
        {
            "relation": link.relation,
            "direction": "out" if link.source == chunk.id else "in",
            "id": link.target if link.source == chunk.id else link.source,
        }
        for link in vault.links(chunk.id)[:20]
    ]
    row |= {"links": links, "metadata": chunk.metadata}
    row |= {name: shown[name] for name in _OPTIONAL if shown.get(name)}
    if history:
        row["history"] = [
            {name: value for name, value in event.to_dict().items() if name != "chunk" and value not in (None, {})}
            for event in vault.history(chunk.id)
        ]
    cleaned: dict[str, Any] = clean_data(row)
    return cleaned


def _pieces(length: int) -> list[int]:
    """Return lengths at which a text may be cut, the whole first."""
    found = [length]
    while found[-1] * 3 // 4 >= _LEAST_PIECE:
        found.append(found[-1] * 3 // 4)
    return found


def _block(row: Mapping[str, Any], size: int, tz: str) -> str:
    """Return a memory as a headline, what is known of it, and its text."""
    known = [
        f"project {row['project']}" if row["project"] else None,
        f"{row['path']}:{row.get('line', 1)}" if row.get("path") else row["source"],
        row["status"],
        *(f"{link['direction']} {link['relation']} {short_id(link['id'])}" for link in row["links"][:_SHOWN_LINKS]),
    ]
    lines = [
        headline(tz, row["id"], row["created_at"], row["type"], row["title"]),
        one_line(" · ".join(each for each in known if each), 300),
        indented(row["text"][:size]),
    ]
    lines += [f"- {event['recorded_at']} {event['kind']}{_because(event)}" for event in row.get("history", ())]
    if left := len(row["text"]) - size:
        lines.append(f"[cut: {left:,} more characters]")
    return "\n".join(lines)


def _because(event: Mapping[str, Any]) -> str:
    return f": {one_line(event['reason'], SNIPPET)}" if event.get("reason") else ""
