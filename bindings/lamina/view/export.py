"""A page of one file: script, style and answers inline, allowed by their digests."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import lamina
from lamina.vault import vault_at
from lamina.view.answers import answer_overview
from lamina.view.points import keep_points
from lamina.view.requests import Query
from lamina.view.stories import MEMBERS

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


_FIELDS: Final = (
    "id", "source", "created_at", "recorded_at", "type", "collection", "project", "session", "agent", "tags", "status",
    "pinned", "freshness", "needs_review",
)  # fmt: skip


class Kept(NamedTuple):
    """Contents of a page that has no server."""

    about: str
    """What it contains, said on top of it."""
    views: tuple[str, ...]
    held: Mapping[str, object]
    """What the page makes its answers of; chunks as columns, and by number elsewhere."""
    chunks: int = 0
    topics: int = 0
    data: str | None = None
    """Name of a file beside the page with the graph; None where the page holds it."""


def keep_vault(vault: lamina.Vault, project: str | None = None, as_of: str | None = None) -> Kept:
    """Return all that a page shows without a server. O(rows · depth of the topics).

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
    numbers = {chunk.id: number for number, chunk in enumerate(chunks)}
    overview = _keep_overview(vault, chunks, project)
    topics, members = _keep_topics(vault, numbers)
    held = {
        "overview": overview,
        "chunks": _keep_chunks(chunks),
        "topics": topics,
        "members": members,
        **keep_points(vault, project, numbers),
        "links": _keep_links(vault, numbers),
    }
    parts = ["the titles of what was known before", "the links between them", "their topics"]
    if project is None:  # facts are of no project
        graph = vault.facts.graph(history=True)
        held["graph"] = {**graph, "now": f"{vault.now:%Y-%m-%d}T23:59:59Z"}  # pages of one day are equal
        parts = [*parts, "entities and facts", "sizes"]
    about = (
        f"{overview['name']}{'' if project is None else f', project {project},'} as it was on {vault.now:%Y-%m-%d}: "
        f"{len(chunks):,} chunk{'' if len(chunks) == 1 else 's'} with their texts, {', '.join(parts[:-1])}, and {parts[-1]}."
    )
    views = ("map", "graph", "topics", *(("health",) if project is None else ()))
    return Kept(about, views, held, len(chunks), len(topics))


def _keep_overview(vault: lamina.Vault, chunks: Sequence[lamina.Chunk], project: str | None) -> Document:
    """Return counts and names; where the vault lies is nobody's business who gets the page."""
    found = answer_overview(vault, Query([], frozenset(), project, None), "")
    if project is not None:
        types = Counter(chunk.type for chunk in chunks)
        whole = vault.stats()
        found["stats"] = {
            "chunks": len(chunks),
            "types": dict(sorted(types.items())),
            "facts": 0,
            "embedding": whole["embedding"],
        }
        found["projects"] = [{"project": project}]
    return {**found, "path": "", "now": f"{vault.now:%Y-%m-%d}"}


def _keep_chunks(chunks: Sequence[lamina.Chunk]) -> dict[str, list[object]]:
    """Return chunks as the page shows them: like values side by side take half the room."""
    columns: dict[str, list[object]] = {name: [] for name in (*_FIELDS, "label", "text", "text_left_out")}
    for chunk in chunks:
        found, text = chunk.to_dict(), chunk.text[:LONGEST_KEPT]
        own = {**found, "label": chunk.label, "text": text, "text_left_out": len(chunk.text) - len(text)}
        for name, column in columns.items():
            column.append(own[name])
    return columns


def _keep_topics(vault: lamina.Vault, numbers: Mapping[str, int]) -> tuple[list[Document], dict[str, list[int]]]:
    """Return the topics of some chunks, each with its surest members."""
    found = vault.topics.get_many(topic.id for topic in vault.topics())
    inside = {each.topic.id: [member for member in each.members if member.chunk in numbers] for each in found}
    topics: list[Document] = [
        {
            **each.topic.to_dict(), "size": len(inside[each.topic.id]),
            "children": [child for child in each.topic.children if inside[child]], "medoid": None, "exemplars": [],
        }
        for each in found
        if inside[each.topic.id]
    ]  # fmt: skip
    members = {  # chunk and sureness in hundredths, in turn
        name: [part for each in some[:MEMBERS] for part in (numbers[each.chunk], round(100 * each.probability))]
        for name, some in inside.items()
        if some
    }
    return topics, members


def _keep_links(vault: lamina.Vault, numbers: Mapping[str, int]) -> dict[str, object]:
    """Return the links between some chunks as numbers: source, target, relation in turn."""
    found = cast("list[dict[str, str]]", vault.links.graph()["edges"])
    edges = [each for each in found if each["source"] in numbers and each["target"] in numbers]
    codes = {name: code for code, name in enumerate(sorted({each["predicate"] for each in edges}))}
    flat = [
        part for each in edges for part in (numbers[each["source"]], numbers[each["target"]], codes[each["predicate"]])
    ]
    return {"relations": list(codes), "edges": flat}


def keep_nothing(data: str) -> Kept:
    """Return the contents of a page that reads the graph of a file beside it."""
    if not re.fullmatch(r"(?![./])[\w./-]+", data) or ".." in data:
        raise lamina.InvalidArgument(
            f"--data {data!r} is no name of a file beside the page; give letters, digits, `.`, `-`, `_` and `/`, such as graph-data.json"
        )
    overview: Document = {"name": data, "projects": [], "profiles": [], "snapshot": 0, "stats": {"chunks": 0}}
    about = f"This page holds no data. It shows the entities and relations of {data}, which lies beside it."
    return Kept(about, ("graph",), {"overview": overview}, data=data)


def make_page(kept: Kept) -> bytes:
    """Return the page; it asks for nothing but the file of data that it names."""
    page = files("lamina.view") / "page"

    def read(name: str) -> str:
        return (page / name).read_text("utf-8")

    held = {
        name: base64.b64encode(each).decode() if isinstance(each, bytes) else each for name, each in kept.held.items()
    }
    worker = join_modules(_WORKER, read)
    packed = gzip.compress(json.dumps(held, allow_nan=False, separators=(",", ":")).encode("ascii"), mtime=0)
    document = {
        "about": kept.about, "views": kept.views, "data": kept.data, "worker": worker,
        "held": base64.b64encode(packed).decode(),
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
