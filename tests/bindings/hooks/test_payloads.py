"""One real payload of each event of each agent, and the answer it must get, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina.hooks import events
from lamina.hooks.payload import Payload
from tests.bindings.hooks.agents import PATIENT, hook

PAYLOADS = Path(__file__).parent / "payloads"
FILES = sorted(PAYLOADS.glob("*/*.json"))
CODEX_FIELDS = {"continue", "decision", "hookSpecificOutput", "reason", "stopReason", "suppressOutput", "systemMessage"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_payload_of_every_agent(path: Path, project: Path) -> None:
    case = json.loads(path.read_text())
    agent, event = (
        path.parent.name,
        path.stem.split("-")[0] if path.parent.name != "opencode" else path.stem.removesuffix("-called"),
    )
    given = json.dumps(case["payload"]).replace("$CWD", str(project)).encode()
    expected = case["output"]
    if "$CONTEXT" in expected:
        payload = Payload(given)
        with lamina.open(project / ".lamina") as vault:
            same = vault.inject(payload.prompt, "x") if payload.prompt else vault.bootstrap("x", repo=project)
        assert "write locks" in same.text
        expected = expected.replace("$CONTEXT", json.dumps(same.text, ensure_ascii=False)[1:-1])
    got = hook(event, given, f"--agent={agent}", PATIENT)
    assert (got.code, got.out.decode(), got.err) == (0, expected + "\n", "")
    if agent == "codex":  # its published schemas forbid any other field
        document: dict[str, Any] = got.document
        assert set(document) <= CODEX_FIELDS
        inner = document.get("hookSpecificOutput", {})
        assert set(inner) <= {"hookEventName", "additionalContext"}
        assert inner.get("hookEventName") in (None, case["payload"]["hook_event_name"])


def test_every_agent_has_payloads() -> None:
    assert {path.parent.name for path in FILES} == set(events.AGENTS)


@pytest.mark.parametrize(
    ("agent", "most"), [("claude-code", 9_500), ("codex", 7_000), ("gemini", 9_500), ("copilot", 9_500)]
)
def test_over_an_agent_s_cap_the_last_memories_go_whole(agent: str, most: int) -> None:
    memories = [f'<memory id="{i}">\n{"x" * 1_000}\n</memory>\n' for i in range(20)]
    text = '<lamina-context tier="turn">\n' + "".join(memories) + "</lamina-context>\n"
    document = events.answer(agent, events.SESSION_START, text)
    inner: Any = document.get("hookSpecificOutput", document)
    got = inner["additionalContext"]
    kept = got.count("<memory")
    assert most - 1_100 < len(got) <= most
    assert got == '<lamina-context tier="turn">\n' + "".join(memories[:kept]) + "</lamina-context>\n"
    alone = '<lamina-context tier="turn">\n<memory id="1">\n' + "x" * most + "\n</memory>\n</lamina-context>\n"
    assert events.answer(agent, events.SESSION_START, alone) == {}
