"""Foreign inputs: one small example of every format that is read from outside, and what must hold of its mutations.

One bad file costs that file only, and every error is typed.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import hashlib
import io
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

import lamina
from lamina.hooks.payload import Payload
from lamina.install import jsonc, toml
from lamina.mcp.access import VaultAccess
from lamina.mcp.calls import answer_call
from lamina.mcp.tools import TOOLS
from lamina.view.server import Viewer, make_app
from tests.fuzz.mutators import mutate_bytes, mutate_text, mutate_value
from tests.fuzz.sandbox import Wrong

SEEDS: Final = Path(__file__).with_name("seeds")
"""Every input that once went wrong, by target; small ones alone."""
_LARGEST_SEED: Final = 20_000
_TRANSCRIPTS: Final = Path(__file__).parents[1] / "engine" / "sessions" / "real"
_GOOD: Final = "The good note is about the lighthouse."

_MARKDOWN: Final = """---
title: Deploys
tags: [kafka, deploy]
created: 2026-02-01
aliases: {a: 1}
---
# Deploys

We moved to **PostgreSQL 16** because [[SQLite]] locked; see [the note](other.md#part) and `code`.

| name | port |
|------|-----:|
| Keystone | 7411 |

> quoted
> - nested
>   1. list

```python
def f(x): return x
```
key:: value <b>html</b> &amp; ~~gone~~ ![i](i.png)
"""
_RST: Final = """=====
Title
=====

.. note:: Careful with *kafka*.

Section
-------
A :ref:`label <x>` and a table::

    code

+---+---+
| a | b |
+---+---+

.. csv-table::
   :file: other.csv
"""
_PYTHON: Final = (
    '"""Module."""\nimport os\n\n\nclass A:\n    """Doc."""\n\n    def f(self, x: int) -> str:\n        return f"{x}"\n'
)
_JSON: Final = {"name": "kafka", "items": [{"id": 1, "text": "a note"}, {"id": 2, "deep": {"x": [1, 2.5, None, True]}}]}
_HTML: Final = "<!doctype html><html><head><title>Kafka</title><script>x()</script></head><body><h1>Queue</h1><p>It <b>moved</b>.</p><ul><li>a<li>b</ul><table><tr><td>1</td></tr></table></body></html>"
_XML: Final = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><x a="1"><y>kafka &a;</y><![CDATA[z]]></x>'
_NOTEBOOK: Final = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Kafka\n", "text"], "metadata": {}},
        {"cell_type": "code", "source": "print(1)", "metadata": {}, "outputs": [{"output_type": "stream", "text": ["1\n"]}]},
    ],
    "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5,
}  # fmt: skip
_ROWS: Final = [
    {
        "id": f"r{i}",
        "text": f"row {i} of kafka",
        "title": "t",
        "created_at": "2026-01-01",
        "tags": ["a"],
        "n": i,
        "vector": None,
    }
    for i in range(5)
]
_BEAD: Final = {
    "id": "bd-1", "title": "t", "description": "d kafka", "status": "open", "priority": 1, "issue_type": "task",
    "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z", "labels": ["x"],
    "dependencies": [{"issue_id": "bd-1", "depends_on_id": "bd-2", "type": "blocks"}],
}  # fmt: skip
_GITHUB: Final = [
    {"number": 1, "title": "k", "body": "fixes #2", "user": {"login": "a"}, "labels": [{"name": "bug"}], "created_at": "2026-01-01T00:00:00Z",
     "comments": [{"body": "yes", "user": {"login": "b"}}], "pull_request": {"merged_at": "2026-01-02T00:00:00Z"}, "files": [{"path": "a.py"}]},
]  # fmt: skip
_JIRA: Final = {
    "issues": [
        {"key": "A-1", "fields": {"summary": "k", "description": {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "x"}]}]},
         "issuelinks": [{"type": {"outward": "blocks"}, "outwardIssue": {"key": "A-2"}}], "created": "2026-01-01T00:00:00.000+0000",
         "comment": {"comments": [{"body": "c"}]}, "labels": ["l"], "status": {"name": "Done"}}}
    ]
}  # fmt: skip
_TASKS: Final = {
    "nodes": {"t1": {"id": "t1", "description": "kafka", "node_type": "agent_task", "timestamp": "2026-01-01T00:00:00Z", "metadata": {}}},
    "edges": [{"source": "t1", "target": "t1", "edge_type": "blocks", "weight": 1.0}], "_meta": {"version": 1},
}  # fmt: skip
_CHAT: Final = [
    {"title": "c", "mapping": {"a": {"id": "a", "parent": None, "children": ["b"], "message": None}, "b": {"id": "b", "parent": "a", "children": [],
     "message": {"author": {"role": "user"}, "create_time": 1.7e9, "content": {"content_type": "text", "parts": ["why kafka"]}}}}, "current_node": "b"}
]  # fmt: skip
_SEED: Final = (
    '[entities]\nAnna = {type = "person"}\n\n[[facts]]\nsubject = "Anna"\npredicate = "works_on"\nobject = "Keystone"\n'
)
_SETTINGS: Final = """{
  // comment
  "mcpServers": {"other": {"command": "x", "args": ["--a"]},},
  "hooks": {"Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "y"}]}]}
}
"""
_CONFIG: Final = 'name = "x"\ntz = "Europe/Berlin"\nprofile = "default"\n[embedding]\nmodel = "none"\n[profiles.m]\nbase = "temporal"\n'
_TOML: Final = '# mine\nmodel = "o"\n[mcp_servers.other]\ncommand = "x"\nargs = ["a"]\n'
_EVENT: Final = {
    "hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/tmp", "prompt": "why did kafka fail", "transcript_path": "/tmp/t.jsonl",
    "workspace_roots": ["/tmp"], "messages": [{"role": "user", "parts": [{"text": "x"}]}],
}  # fmt: skip


def _encoded(value: Any, *, lines: bool = False) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in value) if lines else json.dumps(value).encode()


def _parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([{**row, "vector": [0.5, 0.5]} for row in _ROWS]), out, compression="zstd")
    return out.getvalue()


def _arrow() -> bytes:
    out = io.BytesIO()
    table = pa.Table.from_pylist([{**row, "vector": [0.5, 0.5]} for row in _ROWS])
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def _docx() -> bytes:
    import docx

    document, out = docx.Document(), io.BytesIO()
    document.add_heading("Kafka", 1)
    document.add_paragraph("It moved.")
    document.add_table(1, 2).cell(0, 0).text = "x"
    document.save(out)
    return out.getvalue()


def _pdf() -> bytes:
    body = b"BT /F1 12 Tf 72 720 Td (The kafka queue moved.) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(body), body), b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]  # fmt: skip
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(out),
    )


def _facts_db() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "facts.db"
        database = sqlite3.connect(path)
        database.execute(
            "CREATE TABLE facts (id INTEGER PRIMARY KEY, entity TEXT, key TEXT, value TEXT, category TEXT, source TEXT, created_at TEXT)"
        )
        database.execute("INSERT INTO facts VALUES (1, 'Anna', 'works_on', 'Keystone', 'person', 's', '2026-01-01')")
        database.execute("CREATE TABLE relations (subject TEXT, predicate TEXT, object TEXT)")
        database.execute("CREATE TABLE aliases (alias TEXT, entity TEXT)")
        database.commit()
        database.close()
        return path.read_bytes()


def _transcript(folder: str) -> bytes:
    path = min(path for path in (_TRANSCRIPTS / folder).rglob("*") if path.is_file())
    return b"\n".join(path.read_bytes().split(b"\n")[:40]) if path.suffix == ".jsonl" else path.read_bytes()


Mutator = Callable[[bytes, Random], bytes]


class Target(NamedTuple):
    """One format: where it is read, under which name, an example and how that is mutated."""

    way: Any
    """``auto`` or another kind of ingest, or a name of `_WAYS`."""
    name: str
    example: Callable[[], bytes]
    mutate: Mutator = mutate_text


def _value(content: bytes, random: Random) -> bytes:
    """Mutate parsed JSON half of the time, its text else."""
    if random.random() < 0.5:
        return mutate_text(content, random)
    value = json.loads(content)
    for _ in range(random.choice((1, 2, 5))):
        value = mutate_value(value, random)
    return json.dumps(value).encode()


TARGETS: Final[dict[str, Target]] = {
    "markdown": Target("auto", "a.md", _MARKDOWN.encode),
    "rst": Target("auto", "a.rst", _RST.encode),
    "code": Target("auto", "a.py", _PYTHON.encode),
    "text": Target("auto", "a.txt", (_MARKDOWN * 2).encode),
    "json": Target("auto", "a.json", lambda: _encoded(_JSON), _value),
    "html": Target("auto", "a.html", _HTML.encode),
    "xml": Target("auto", "a.xml", _XML.encode),
    "yaml": Target("auto", "a.yaml", lambda: _MARKDOWN.split("---")[1].encode()),
    "notebook": Target("auto", "a.ipynb", lambda: _encoded(_NOTEBOOK), _value),
    "jsonl": Target("auto", "a.jsonl", lambda: _encoded(_ROWS, lines=True)),
    "csv": Target("auto", "a.csv", lambda: b'id,text,title\n1,"a, ""kafka"" note",t\n2,x,y\n'),
    "arrow": Target("auto", "a.arrow", _arrow, mutate_bytes),
    "parquet": Target("auto", "a.parquet", _parquet, mutate_bytes),
    "docx": Target("auto", "a.docx", _docx, mutate_bytes),
    "pdf": Target("auto", "a.pdf", _pdf, mutate_bytes),
    "claude code": Target("sessions", "a.jsonl", lambda: _transcript("claude-code")),
    "codex": Target("sessions", "rollout-a.jsonl", lambda: _transcript("codex")),
    "gemini": Target("sessions", "session-a.jsonl", lambda: _transcript("gemini")),
    "copilot": Target("sessions", "events.jsonl", lambda: _transcript("copilot")),
    "opencode": Target("sessions", "session.json", lambda: _transcript("opencode")),
    "chat": Target("sessions", "conversations.json", lambda: _encoded(_CHAT), _value),
    "chat log": Target("sessions", "a.txt", lambda: b"Human: why kafka\n\nAssistant: because\n" * 4),
    "beads": Target("beads", "issues.jsonl", lambda: _encoded([_BEAD, {**_BEAD, "id": "bd-2"}], lines=True)),
    "beads.gz": Target("beads", "issues.jsonl.gz", lambda: gzip.compress(_encoded([_BEAD], lines=True)), mutate_bytes),
    "tasks": Target("tasks", "tasks.json", lambda: _encoded(_TASKS), _value),
    "github": Target("github", "g.json", lambda: _encoded(_GITHUB), _value),
    "jira": Target("jira", "j.json", lambda: _encoded(_JIRA), _value),
    "import": Target("import", "e.jsonl", lambda: _encoded([{"record": "vault", "vault": "x"}, *_ROWS], lines=True)),
    "facts seed": Target("seed", "s.toml", _SEED.encode),
    "facts seed yaml": Target("seed", "s.yaml", lambda: b"entities:\n  Anna: {type: person}\nfacts:\n- {subject: Anna, predicate: p, object: o}\n"),
    "facts.db": Target("load", "facts.db", _facts_db, mutate_bytes),
    "vault.toml": Target("config", "vault.toml", _CONFIG.encode),
    "settings json": Target("jsonc", "settings.json", _SETTINGS.encode),
    "settings toml": Target("toml", "config.toml", _TOML.encode),
    "hook payload": Target("hook", "p.json", lambda: _encoded(_EVENT), _value),
    "mcp call": Target("mcp", "m.json", lambda: b"[]", lambda _, random: _tool_call(random)),
    "viewer request": Target("view", "v.txt", lambda: b"/", lambda _, random: _request(random)),
}  # fmt: skip


class Drawn(NamedTuple):
    """One mutated input."""

    target: str
    content: bytes


@functools.cache
def _example(target: str) -> bytes:
    return TARGETS[target].example()


def draw_inputs(random: Random, count: int, target: str | None = None) -> list[Drawn]:
    """Draw mutated inputs of one format."""
    name = target or random.choice(sorted(TARGETS))
    return [Drawn(name, TARGETS[name].mutate(_example(name), random)) for _ in range(count)]


def draw_example(target: str) -> Drawn:
    """Return an input of a format that nothing has changed."""
    chance = Random(0)
    return Drawn(target, TARGETS[target].mutate(b"[]", chance) if target == "mcp call" else _example(target))


def _tool_call(random: Random) -> bytes:
    tool = TOOLS[random.choice(sorted(TOOLS))]
    names = [*tool.parameters, "query", "id", "surprise"]
    values: tuple[Any, ...] = (
        "kafka",
        "c1",
        "",
        5,
        -1,
        1e300,
        None,
        True,
        [],
        ["c1"],
        {},
        {"a": 1},
        "\ud800",
        "9999-99-99",
        "x" * 50_000,
        [[[]]],
    )
    return json.dumps(
        [tool.name, {name: random.choice(values) for name in random.sample(names, min(len(names), 4))}]
    ).encode()


def _request(random: Random) -> bytes:
    from lamina.view.answers import ROUTES

    path = random.choice([*ROUTES, "/", "/static/../../x", "/api/chunk/%00", "/api//", "/%ff"])
    names = ["q", "id", "k", "as_of", "project", "profile", "where", "budget", "limit", "offset", "x"]
    values = (
        "kafka",
        "c1",
        "",
        "-1",
        "9" * 400,
        "1e999",
        "\x00",
        "☃" * 500,
        "2026-02-30",
        "a&b=c",
        '"unclosed',
        "null",
        "../..",
    )
    query = "&".join(f"{random.choice(names)}={quote(random.choice(values))}" for _ in range(random.randint(0, 5)))
    return mutate_bytes(f"{path}?{query}".encode(), random) if random.random() < 0.2 else f"{path}?{query}".encode()


def check_batch(batch: list[Drawn], root: Path) -> dict[str, str]:
    """Read mutated inputs of one format as Lamina does; called in a child of its own."""
    target = TARGETS[batch[0].target]
    for path in (root, root.with_name("inputs")):
        shutil.rmtree(path, ignore_errors=True)
    folder = root.with_name("inputs")
    folder.mkdir(parents=True)
    if target.way in _WAYS:
        _WAYS[target.way](target, batch, root, folder)
        return {}
    for i, drawn in enumerate(batch):
        place = folder / f"{i}" if target.name in ("tasks.json", "issues.jsonl", "events.jsonl") else folder
        place.mkdir(exist_ok=True)
        (place / (target.name if place != folder else f"{i}-{target.name}")).write_bytes(drawn.content)
    with lamina.open(root, create=True, embedder="none") as vault:
        if target.way in ("auto", "sessions"):
            (folder / "zz-good.md").write_text(_GOOD)
            vault.ingest(folder, kind=target.way)
            if target.way == "auto" and not any(hit.text == _GOOD for hit in vault.recall("lighthouse", k=3)):
                raise Wrong("another file was not ingested")
            vault.ingest(folder, kind=target.way)
        else:
            _each(
                vault,
                batch,
                lambda path: vault.ingest(path, kind=target.way),
                sorted(p for p in folder.rglob("*") if p.is_file()),
            )
        vault.recall("kafka", k=3)
        if problems := vault.verify(deep=True).problems:
            raise Wrong(f"the vault is damaged: {problems[:2]}")
    return {}


def _each(vault: lamina.Vault, batch: list[Drawn], read: Callable[[Path], object], paths: list[Path]) -> None:
    for path in paths[: len(batch)]:
        try:
            read(path)
        except lamina.LaminaError:
            continue


def _write_each(target: Target, batch: list[Drawn], folder: Path) -> list[Path]:
    paths = [folder / f"{i}-{target.name}" for i in range(len(batch))]
    for path, drawn in zip(paths, batch, strict=True):
        path.write_bytes(drawn.content)
    return paths


def _call_each(name: str, target: Target, batch: list[Drawn], root: Path, folder: Path) -> None:
    paths = _write_each(target, batch, folder)
    with lamina.open(root, create=True, embedder="none") as vault:
        calls: dict[str, Callable[[Path], object]] = {
            "import": vault.import_,
            "seed": vault.facts.seed,
            "load": vault.facts.load,
        }
        _each(vault, batch, calls[name], paths)
        vault.recall("kafka", k=3)


def _configure(target: Target, batch: list[Drawn], root: Path, folder: Path) -> None:
    lamina.open(root, create=True, embedder="none").close()
    for drawn in batch:
        (root / "vault.toml").write_bytes(drawn.content)
        try:
            with lamina.open(root, mode="r") as vault:
                vault.recall("kafka")
        except lamina.LaminaError:
            continue


def _settings(target: Target, batch: list[Drawn], root: Path, folder: Path) -> None:
    """Entries come into a file and out of it again, or it is refused: every other byte stays."""
    module: Any = jsonc if target.way == "jsonc" else toml
    place = ("mcpServers", "lamina") if target.way == "jsonc" else ("mcp_servers", "lamina")
    for drawn in batch:
        try:
            text = drawn.content.decode("utf-8")
            before = module.read(text)
            after = module.read(module.add(text, place, {"command": "lamina", "args": ["mcp"]}))
        except (UnicodeDecodeError, lamina.LaminaError):
            continue
        if not isinstance(before, dict):
            continue
        inner = {name: value for name, value in after[place[0]].items() if name != place[1]}
        if {**after, place[0]: inner} != {
            **before,
            place[0]: {k: v for k, v in before.get(place[0], {}).items() if k != place[1]},
        }:
            raise Wrong(f"another entry has changed: {text[:200]!r}")


def _hook(target: Target, batch: list[Drawn], root: Path, folder: Path) -> None:
    for drawn in batch:
        payload = Payload(drawn.content)
        _ = (
            payload.event,
            payload.session,
            payload.folder,
            payload.prompt,
            payload.transcript,
            payload.messages,
            payload.source,
        )


def _fill(root: Path) -> None:
    with lamina.open(root, create=True, embedder="none", clock=lamina.FixedClock("2026-03-01")) as vault:
        vault.add([{"id": f"c{i}", "text": f"note {i} about kafka", "session": "s"} for i in range(5)])
        vault.facts.add("Anna", "works_on", "Keystone")


def _mcp(target: Target, batch: list[Drawn], root: Path, folder: Path) -> None:
    _fill(root)
    access = VaultAccess(root, trust=True, embedder="none")
    for drawn in batch:
        name, arguments = json.loads(drawn.content)
        if "unexpectedly" in (answer := answer_call(access, TOOLS[name], arguments)).text:
            raise Wrong(f"{name}({arguments}): {answer.text}"[:400])


def _view(target: Target, batch: list[Drawn], root: Path, folder: Path) -> None:
    _fill(root)
    viewer = Viewer(lambda: lamina.open(root, mode="r", trust=True))
    app = make_app(viewer, 80, "t" * 32)

    async def ask() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:80") as client:
            for drawn in batch:
                raw = drawn.content.decode("latin-1").replace("\n", "").replace("\r", "")
                try:
                    request = client.build_request(
                        "GET",
                        f"http://127.0.0.1:80{raw}",
                        headers={"host": "127.0.0.1:80", "authorization": f"Bearer {'t' * 32}"},
                    )
                except (httpx.InvalidURL, UnicodeError, ValueError):
                    continue
                if (answer := await client.send(request)).status_code >= 500:
                    raise Wrong(f"{raw}: {answer.status_code} {answer.text[:300]}")

    asyncio.run(ask())


_WAYS: Final[dict[str, Callable[[Target, list[Drawn], Path, Path], None]]] = {
    "import": functools.partial(_call_each, "import"),
    "seed": functools.partial(_call_each, "seed"),
    "load": functools.partial(_call_each, "load"),
    "config": _configure,
    "jsonc": _settings,
    "toml": _settings,
    "hook": _hook,
    "mcp": _mcp,
    "view": _view,
}


def keep_seed(drawn: Drawn) -> None:
    """Keep an input that went wrong: the tests run it from then on."""
    if len(drawn.content) <= _LARGEST_SEED:
        folder = SEEDS / drawn.target.replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha256(drawn.content).hexdigest()[:12]).write_bytes(drawn.content)


def kept_seeds() -> list[Drawn]:
    """Return all inputs that once went wrong."""
    names = {name.replace(" ", "-"): name for name in TARGETS}
    return [Drawn(names[path.parent.name], path.read_bytes()) for path in sorted(SEEDS.glob("*/*"))]
