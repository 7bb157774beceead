"""A page of one file: script, style and answers inline, allowed by their digests."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

import lamina
from lamina.vault import vault_at
from lamina.view.answers import ROUTES
from lamina.view.points import keep_points
from lamina.view.requests import Query
from lamina.view.stories import name_chunk

if TYPE_CHECKING:
    from lamina.view.answers import Document

_ENTRY: Final = "app.js"
_WORKER: Final = "layout.js"
_IMPORT: Final = re.compile(r'^import (?:(?:(\w+)|\{ ([^}]*) \}) from )?"/static/([\w.-]+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(
    r"^export (?:\{ ([^}]*) \};\n|(default) |(?=(?:async )?(?:function|const|class) (\w+)))", re.MULTILINE
)


MOST_CHUNKS: Final = 100_000
LONGEST_KEPT: Final = 20_000
"""Characters of a chunk's text that a page keeps."""


_LINKS: Final = 12
_FIELDS: Final = (
    "id", "source", "created_at", "recorded_at", "type", "collection", "project", "session", "agent", "tags", "status",
    "pinned", "freshness", "needs_review",
)  # fmt: skip


class Kept(NamedTuple):
    """Contents of a page that has no server."""

    about: str
    """What it contains, said on top of it."""
    views: tuple[str, ...]
    answers: Mapping[str, Document | bytes]
    """By path of the API."""
    data: str | None = None
    """Name of a file beside the page with the graph; None where the answers hold it."""


def keep_answers(vault: lamina.Vault, project: str | None = None, as_of: str | None = None) -> Kept:
    """Return the answers that a page shows without a server, every chunk among them.

    Raises
    ------
    InvalidArgument
        When there are more chunks than a browser opens from one file.
    """
    if as_of is not None:
        vault = vault_at(vault, as_of)
    chunks = vault.list(None if project is None else {"project": project}, limit=MOST_CHUNKS + 1)
    if len(chunks) > MOST_CHUNKS:
        raise lamina.InvalidArgument(
            f"there are more than {MOST_CHUNKS:,} chunks, too many for one file; name a --project, or use `lamina view`"
        )

    names = {chunk.id: name_chunk(chunk) for chunk in chunks}

    def answer(path: str, name: str = "", **given: str) -> Document | bytes:
        route = ROUTES[path]
        return route.answer(vault, Query([*given.items()], route.parameters, project, None), name)

    topics = vault.topics()
    overview = answer("/api/overview")
    graph = answer("/api/graph", limit="20000", history="1")
    assert isinstance(overview, dict)
    assert isinstance(graph, dict)
    answers = {
        "/api/overview": {
            **overview,
            "path": "",
            "now": f"{vault.now:%Y-%m-%d}",
        },  # where it lies is nobody's business who gets the page
        "/api/graph": {**graph, "now": f"{vault.now:%Y-%m-%d}T23:59:59Z"},  # pages of one day are equal
        "/api/topics": answer("/api/topics"),
        **{f"/api/topic/{topic.id}": answer("/api/topic/", topic.id) for topic in topics},
        **keep_points(vault, project),
        **{f"/api/chunk/{quote(chunk.id, safe='')}": _keep_chunk(vault, chunk, names) for chunk in chunks},
    }
    what = f"{len(chunks):,} chunk{'' if len(chunks) == 1 else 's'} with their texts"
    about = (
        f"{overview['name']}{'' if project is None else f', project {project},'} as it was on {vault.now:%Y-%m-%d}: {what}, "
        "the titles of what was known before, its entities and facts, its topics, and its sizes."
    )
    return Kept(about, ("map", "graph", "topics", "health"), answers)


def _keep_chunk(vault: lamina.Vault, chunk: lamina.Chunk, names: Mapping[str, str]) -> Document:
    """Return a chunk as the page shows it, with its links to chunks that the page has."""
    found, text = chunk.to_dict(), chunk.text[:LONGEST_KEPT]
    ends = [(link, link.target if link.source == chunk.id else link.source) for link in vault.links(chunk.id)]
    kept = [(link, other) for link, other in ends if other in names][:_LINKS]
    return {
        **{name: found[name] for name in _FIELDS}, "label": chunk.label, "text": text,
        "text_left_out": len(chunk.text) - len(text), "history": [], "similar": [], "links_left_out": len(ends) - len(kept),
        "links": [
            {"relation": link.relation, "outward": link.source == chunk.id, "other": other, "label": names[other]}
            for link, other in kept
        ],
    }  # fmt: skip


def keep_nothing(data: str) -> Kept:
    """Return the contents of a page that reads the graph of a file beside it."""
    if not re.fullmatch(r"(?![./])[\w./-]+", data) or ".." in data:
        raise lamina.InvalidArgument(
            f"--data {data!r} is no name of a file beside the page; give letters, digits, `.`, `-`, `_` and `/`, such as graph-data.json"
        )
    overview: Document = {"name": data, "projects": [], "profiles": [], "snapshot": 0, "stats": {"chunks": 0}}
    about = f"This page holds no data. It shows the entities and relations of {data}, which lies beside it."
    return Kept(about, ("graph",), {"/api/overview": overview}, data)


def make_page(kept: Kept) -> bytes:
    """Return the page; it asks for nothing but the file of data that it names."""
    page = files("lamina.view") / "page"

    def read(name: str) -> str:
        return (page / name).read_text("utf-8")

    answers = {
        path: base64.b64encode(each).decode() if isinstance(each, bytes) else each
        for path, each in kept.answers.items()
    }
    worker = join_modules(_WORKER, read)
    packed = gzip.compress(json.dumps(answers, allow_nan=False, separators=(",", ":")).encode("ascii"), mtime=0)
    document = {
        "about": kept.about, "views": kept.views, "data": kept.data, "worker": worker,
        "answers": base64.b64encode(packed).decode(),
    }  # fmt: skip
    script, style = join_modules(_ENTRY, read), read("style.css")
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data: blob:; "
        "worker-src blob:; base-uri 'none'; form-action 'none'"
    )
    if kept.data is not None:
        policy += "; connect-src 'self'"
    icon = "data:image/svg+xml;base64," + base64.b64encode(read("icon.svg").encode()).decode()
    text = read("index.html").replace("/static/icon.svg", icon)
    text = text.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{_meta(policy)}', 1)
    text = text.replace('<link rel="stylesheet" href="/static/style.css">\n', f"<style>{style}</style>\n", 1)
    text = text.replace('<script type="module" src="/static/app.js"></script>\n', "", 1)
    data = json.dumps(document, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    end = f'<script type="application/json" id="kept">{data}</script>\n<script type="module">{script}</script>\n</body>'
    return text.replace("</body>", end, 1).encode("utf-8", "surrogatepass")


def join_modules(entry: str, read: Callable[[str], str]) -> str:
    """Return a module and all that it imports as one script, which imports nothing.

    Each module becomes a function that returns what it exports; the entry stands last, as it is. A library without imports
    and exports stays as it is too.
    """
    parts: dict[str, str] = {}

    def add(name: str) -> None:
        if name in parts:
            return
        text = read(name)
        for found in _IMPORT.finditer(text):
            add(found[3])
        parts[name] = text if name == entry else _enclose(name, text)

    add(entry)
    parts[entry] = _IMPORT.sub(_bind, parts[entry])
    script = "\n".join(parts.values())
    if odd := re.search(r"^(?:import|export)\b.*|</script|<!--", script, re.MULTILINE | re.IGNORECASE):
        raise ValueError(f"{odd[0]!r} in the page of the viewer cannot be joined into one file")
    return script


def _enclose(name: str, text: str) -> str:
    """Return a module as a constant that holds what it exports."""
    names: list[str] = []

    def note(found: re.Match[str]) -> str:
        names.extend((found[1] or found[3] or "default: $default").split(", "))
        return "const $default = " if found[2] else ""

    body = _EXPORT.sub(note, _IMPORT.sub(_bind, text))
    if not names:
        return text
    return f"const {_constant(name)} = (() => {{\n{body}return {{ {', '.join(names)} }};\n}})();"


def _bind(found: re.Match[str]) -> str:
    default, names, name = found.groups()
    if default is None and names is None:
        return ""
    bound = f"default: {default}" if default else names.replace(" as ", ": ")
    return f"const {{ {bound} }} = {_constant(name)};\n"


def _constant(name: str) -> str:
    return "$" + re.sub(r"\W", "_", name)


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _meta(policy: str) -> str:
    return f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy, quote=True)}">'
