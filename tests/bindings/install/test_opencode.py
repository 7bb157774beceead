"""The plugin of OpenCode, run by node as OpenCode would run it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import lamina
from lamina.cli import main
from lamina.install.agents import program_path
from lamina.install.opencode import plugin
from tests.bindings.hooks.agents import queued, until

AGENT = """
import { Lamina } from "./lamina.mjs"
const [folder] = process.argv.slice(2)
const messages = [
  { info: { id: "m1", role: "user", time: { created: 1795340000000 } }, parts: [{ type: "text", text: "Which port does the mailer use?" }] },
  { info: { id: "m2", role: "assistant", time: { created: 1795340060000 } }, parts: [{ type: "text", text: "The mailer listens on port 2525 since the move." }] },
]
const client = { session: { get: async () => ({ data: {} }), messages: async () => ({ data: messages }) } }
const hooks = await Lamina({ client, directory: folder })
const first = { parts: [{ type: "text", text: "why did we move from SQLite to PostgreSQL?" }] }
await hooks["chat.message"]({ sessionID: "ses_1" }, first)
const thanks = { parts: [{ type: "text", text: "ok thanks" }] }
await hooks["chat.message"]({ sessionID: "ses_1" }, thanks)
const compacting = { context: [] }
await hooks["experimental.session.compacting"]({ sessionID: "ses_1" }, compacting)
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } })
await hooks.event({ event: { type: "file.edited", properties: {} } })
console.log(JSON.stringify({ first: first.parts.map((part) => part.text), thanks: thanks.parts.map((part) => part.text), context: compacting.context }))
"""


def test_the_plugin_tells_and_captures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    assert main(["init", "--vault", str(project / ".lamina")]) == 0
    with lamina.open(project / ".lamina") as vault:
        vault.add("We moved from SQLite to PostgreSQL 16 because of write locks.", type="decision")
    text = plugin(program_path())
    assert len(text.splitlines()) <= 51
    (tmp_path / "lamina.mjs").write_text(text.replace("limit = 3000", "limit = 60000"))
    (tmp_path / "agent.mjs").write_text(AGENT)
    done = subprocess.run(
        [node, str(tmp_path / "agent.mjs"), str(project)], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    asked, told, *_ = got["first"]  # what is told stands beside the message, and not in it
    assert asked == "why did we move from SQLite to PostgreSQL?"
    assert "write locks" in told
    assert got["thanks"] == ["ok thanks"]
    assert len(got["context"]) == 1
    until(lambda: not queued(project / ".lamina"))
    with lamina.open(project / ".lamina", mode="r") as vault:
        assert "port 2525" in json.dumps([chunk.text for chunk in vault.list()])
