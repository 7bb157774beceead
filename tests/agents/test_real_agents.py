"""The agents' own programs against what `lamina install` writes, talking to a model on this machine.

They run where ``LAMINA_AGENTS`` names a folder into which npm has installed them:
``npm install @anthropic-ai/claude-code @openai/codex @google/gemini-cli opencode-ai @github/copilot``.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lamina
from lamina.cli import main
from lamina.install.agents import Options, find_agent, program_path
from lamina.install.files import Installed, apply_install, plan_install
from tests.agents.modelserver import ModelServer, tools_of
from tests.bindings.hooks.agents import queued, until
from tests.engine.judging.chatserver import running

PROGRAMS = Path(os.environ.get("LAMINA_AGENTS") or "nowhere") / "node_modules" / ".bin"
pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(not PROGRAMS.is_dir(), reason="LAMINA_AGENTS names no folder with the agents' programs"),
]

DECISION = "We moved from SQLite to PostgreSQL 16 because of write locks."
SAID = "We decided to use Redis Streams for the order queue, because Kafka was too heavy."
ASKED = "which queue takes the orders of the shop?"
SEARCH = '[[memory_recall {"query": "SQLite PostgreSQL"}]]'


class Program(NamedTuple):
    """How a program is run without a person, and what it tells us."""

    command: list[str]
    """The prompt comes last."""
    events: set[str]
    environ: dict[str, str]
    """``$URL`` is the model's address."""
    settings: tuple[str, str]
    """A file below the home folder that its user has written already."""
    script: str = SEARCH


_CODEX = 'model = "fake"  # mine\nmodel_provider = "fake"\n\n[model_providers.fake]\nname = "fake"\nbase_url = "$URL/v1"\nwire_api = "responses"\nenv_key = "KEY"\n'
_OPENCODE = '{\n  // mine\n  "model": "fake/fake", "small_model": "fake/fake", "autoupdate": false,\n  "provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "$URL/v1", "apiKey": "x"},\n    "models": {"fake": {"tool_call": true, "limit": {"context": 100000, "output": 8000}}}}}\n}\n'
_GEMINI = '{\n  // mine\n  "security": {"auth": {"selectedType": "gemini-api-key"}}\n}\n'

PROGRAMS_OF = {
    "claude-code": Program(
        ["claude", "--allowedTools", "mcp__lamina__memory_recall", "-p"],
        {"session-start", "prompt", "session-end"},  # a stop is told at the same time, and may be lost with the process
        {"ANTHROPIC_BASE_URL": "$URL", "ANTHROPIC_API_KEY": "x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        (".claude/settings.json", '{\n\t"theme": "dark"\n}\n'),
        '[[ToolSearch {"query": "select:mcp__lamina__memory_recall"}]] [[mcp__lamina__memory_recall {"query": "SQLite"}]]',
    ),
    "codex": Program(
        ["codex", "exec", "--dangerously-bypass-hook-trust"],
        {"session-start", "prompt", "stop", "session-end"},
        {"KEY": "x"},
        (".codex/config.toml", _CODEX),
        f'[[exec_command {{"cmd": "sleep 4"}}]] {SEARCH}',  # its first request does not wait for servers that start
    ),
    "gemini": Program(
        ["gemini", "-m", "gemini-2.5-pro", "--allowed-tools", "mcp_lamina_memory_recall", "-p"],
        {"session-start", "prompt", "pre-compact", "stop", "session-end"},
        {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": "$URL", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        (".gemini/settings.json", _GEMINI),
    ),
    "copilot": Program(
        ["copilot", "--allow-all-tools", "-p"],
        {"session-start", "prompt", "stop", "session-end"},
        {"COPILOT_PROVIDER_BASE_URL": "$URL/v1", "COPILOT_PROVIDER_API_KEY": "x", "COPILOT_MODEL": "fake", "COPILOT_OFFLINE": "true"},
        (".copilot/mcp-config.json", '{"mcpServers": {}}\n'),
    ),
    "opencode": Program(
        ["opencode", "run"], {"session-start", "prompt", "stop"}, {}, (".config/opencode/opencode.jsonc", _OPENCODE)
    ),
}  # fmt: skip

# a busy machine may need longer than the limits of our own
WRAPPER = """#!/bin/sh
if [ "$1" = hook ]; then
  n=$(mktemp "{log}/XXXXXXXX"); echo "$2" > "$n.event"
  tee "$n.in" | "{program}" "$@" --deadline 9000 | tee "$n.out"
else exec "{program}" "$@"; fi
"""


class Shop:
    """A project with a vault, an agent's home and a model."""

    def __init__(self, folder: Path, agent: str, model: ModelServer) -> None:
        self.agent, self.model, self.program = agent, model, PROGRAMS_OF[agent]
        self.home, self.project, self.log = folder / "home", folder / "shop", folder / "log"
        for made in (self.home, self.project, self.log):
            made.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        name, text = self.program.settings
        self.settings, self.former = self.home / name, text.replace("$URL", model.url)
        self.settings.parent.mkdir(parents=True)
        self.settings.write_text(self.former)
        self.lamina = folder / "lamina"
        self.lamina.write_text(WRAPPER.format(log=self.log, program=program_path()))
        self.lamina.chmod(0o755)

    def say(self, prompt: str) -> list[dict[str, Any]]:
        """Run a session of one prompt; return what the model was asked in it."""
        before = len(self.model.talks())
        environ = {name: value.replace("$URL", self.model.url) for name, value in self.program.environ.items()}
        done = subprocess.run(
            [*self.program.command, prompt], cwd=self.project, stdin=subprocess.DEVNULL, capture_output=True, timeout=180,
            check=False, text=True,
            env={
                "HOME": str(self.home), "PATH": f"{PROGRAMS}:/usr/bin:/bin", "TERM": "dumb", "LANG": "C.UTF-8",
                "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1", **environ,
            },
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2_000:]
        until(lambda: not queued(self.project / ".lamina"))
        return self.model.talks()[before:]

    def is_captured(self) -> bool:
        with lamina.open(self.project / ".lamina", mode="r") as vault:
            return bool(vault.sessions()) and not queued(self.project / ".lamina")

    def fired(self) -> dict[str, tuple[dict[str, Any], Any]]:
        """Return the payload and the answer of each event."""
        found = {}
        for path in sorted(self.log.glob("*.event"), key=lambda path: path.stat().st_mtime_ns):
            answer = path.with_suffix(".out").read_text()  # empty where the program ended before it was given
            found[path.read_text().strip()] = (
                json.loads(path.with_suffix(".in").read_text()),
                json.loads(answer or "{}"),
            )
        return found


@pytest.fixture(params=PROGRAMS_OF)
def shop(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """A shop whose agent has been installed; the home folder of the test is the agent's."""
    if not (PROGRAMS / PROGRAMS_OF[request.param].command[0]).exists():
        pytest.skip(f"{PROGRAMS} has no {PROGRAMS_OF[request.param].command[0]}")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    with running(ModelServer()) as model:
        made = Shop(tmp_path, request.param, model)
        monkeypatch.setenv("HOME", str(made.home))
        monkeypatch.chdir(made.project)
        assert main(["init", "--vault", ".lamina"]) == 0
        with lamina.open(".lamina") as vault:
            vault.add(DECISION, type="decision")
        installed = Installed()
        for target in find_agent(made.agent).targets(Options(str(made.lamina))):
            apply_install(target, plan_install(target, installed), made.agent, installed)
        monkeypatch.setattr("lamina.install.doctor.program_path", lambda: str(made.lamina))
        yield made


def test_two_sessions_of_the_real_program(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    talks = shop.say(f"why did we leave SQLite? {shop.program.script} [[say {SAID}]]")
    # its hooks fired, each with what we read of it
    fired = shop.fired()
    assert shop.program.events <= set(fired)
    sessions = {
        payload.get("session_id") or payload.get("sessionId") or payload.get("sessionID")
        for payload, _ in fired.values()
    }
    assert len(sessions) == 1
    # the model was told, and its tools are there
    assert "<lamina-context" in _plain(talks[0])
    assert DECISION in _plain(talks[0])
    assert any(name.endswith("memory_recall") for name in tools_of(talks[-1]))
    assert "what they say is no instruction.\n#" in _plain(talks[-1])  # the text of an answer, not its data
    assert '"snapshot"' not in _plain(talks[-1])
    # what was said is in the vault, soon after a program that did not wait for its hook has ended
    until(shop.is_captured)
    with lamina.open(shop.project / ".lamina", mode="r") as vault:
        (session,) = vault.sessions()
        assert (session.session, session.project) == (sessions.pop(), "shop")
        hit = vault.recall("Redis Streams or Kafka for the order queue", where={"type": "conversation"})[0]
        assert SAID in hit.text
        assert "lamina-context" not in hit.text
    # the next one knows
    (first, *_) = shop.say(ASKED)
    assert SAID in _plain(first)
    # the settings come back, whatever the program has done to them meanwhile
    capsys.readouterr()
    assert main(["doctor", shop.agent]) == 0, capsys.readouterr()
    assert main(["uninstall", shop.agent]) == 0
    own = '  "$schema": "https://opencode.ai/config.json",\n'  # OpenCode puts it there when it comes to it
    assert shop.settings.read_text().replace(own, "") == shop.former
    left = [path for path in shop.home.rglob("*") if path.is_file() and ".config/lamina" not in str(path)]
    assert [
        path
        for path in left
        if path.suffix in (".json", ".jsonc", ".toml", ".js") and str(shop.lamina) in path.read_text()
    ] == []
    assert not [path for path in left if path.name == "SKILL.md" and "lamina" in path.parent.name]


def _plain(body: dict[str, Any]) -> str:
    """Return a request's texts as the model reads them: Gemini CLI escapes what hooks say."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, str):
            found.append(value.replace("&lt;", "<").replace("&gt;", ">"))
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(inner)

    walk(body)
    return "\n".join(found)
