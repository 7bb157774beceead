"""Transcripts of working days, line by line as Claude Code and Codex write them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lamina
from lamina import FixedClock, Vault
from lamina_engine.clock import format_instant, parse_instant


class ClaudeCodeDay:
    """A session of Claude Code that is being written."""

    def __init__(self, session: str, cwd: str, start: str, branch: str = "main") -> None:
        self.session, self.cwd, self.branch = session, cwd, branch
        self.now_us = parse_instant(start)
        self.lines: list[dict[str, Any]] = []
        self._parent: str | None = None
        self._n = 0

    def wait(self, minutes: float) -> None:
        """Let time pass."""
        self.now_us += round(minutes * 60e6)

    def row(self, kind: str, **more: Any) -> dict[str, Any]:
        """Write a line."""
        self._n += 1
        self.now_us += 7_000_000
        line = {
            "parentUuid": self._parent, "isSidechain": False, "userType": "external", "cwd": self.cwd,
            "sessionId": self.session, "version": "2.0.76", "gitBranch": self.branch, "type": kind,
            "uuid": f"{self.session[:8]}-{self._n:06d}", "timestamp": str(format_instant(self.now_us)), **more,
        }  # fmt: skip
        if not line["isSidechain"]:
            self._parent = str(line["uuid"])
        self.lines.append(line)
        return line

    def ask(self, text: str) -> None:
        """Write what the person types."""
        self.row("user", message={"role": "user", "content": text}, thinkingMetadata={"level": "none"})

    def say(self, text: str) -> None:
        """Write what the agent says."""
        self._assistant([{"type": "text", "text": text}])

    def think(self, text: str) -> None:
        """Write what the agent thinks."""
        self._assistant([{"type": "thinking", "thinking": text, "signature": "Eo8="}])

    def _assistant(self, content: list[dict[str, Any]]) -> None:
        message = {
            "id": f"msg_{self._n:05d}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
            "content": content, "stop_reason": None, "usage": {"input_tokens": 4, "output_tokens": 90},
        }  # fmt: skip
        self.row("assistant", message=message, requestId=f"req_{self._n:05d}")

    def use(
        self, name: str, arguments: dict[str, Any], result: Any = None, *, failed: bool = False, **more: Any
    ) -> str:
        """Write a tool's use and its result; None for a use without one."""
        ref = f"toolu_{self._n:06d}"
        self._assistant([{"type": "tool_use", "id": ref, "name": name, "input": arguments}])
        if result is not None:
            block = {"tool_use_id": ref, "type": "tool_result", "content": result}
            if failed or name == "Bash":
                block["is_error"] = failed
            outcome: Any = f"Error: {result}" if failed else {"stdout": result, "stderr": "", "interrupted": False}
            self.row("user", message={"role": "user", "content": [block]}, toolUseResult=outcome, **more)
        return ref

    def run(self, command: str, output: str = "", *, code: int = 0) -> None:
        """Write a command that was run."""
        text = f"Exit code {code}\n{output}" if code else output
        self.use("Bash", {"command": command, "description": "Run a command"}, text, failed=code != 0)

    def edit(self, path: str, before: str = "a = 1", after: str = "a = 2") -> None:
        """Write a change of a file."""
        full = f"{self.cwd}/{path}"
        arguments = {"file_path": full, "old_string": before, "new_string": after}
        self.use(
            "Edit", arguments, f"The file {full} has been updated. Here's the result of running `cat -n`\n     1→a = 2"
        )

    def read(self, path: str, text: str = "     1→import os\n     2→") -> None:
        """Write a look into a file."""
        self.use("Read", {"file_path": f"{self.cwd}/{path}"}, text)

    def todos(self, *entries: tuple[str, str]) -> None:
        """Write the agent's list: status and text of each entry."""
        todos = [{"content": text, "status": status, "activeForm": text} for status, text in entries]
        self.use("TodoWrite", {"todos": todos}, "Todos have been modified successfully.")

    def compact(self, summary: str) -> None:
        """Write a compaction."""
        self.row("system", subtype="compact_boundary", content="Conversation compacted", isMeta=False, level="info",
                 compactMetadata={"trigger": "auto", "preTokens": 155_000})  # fmt: skip
        text = f"This session is being continued from a previous conversation that ran out of context.\n{summary}"
        self.row(
            "user", message={"role": "user", "content": text}, isCompactSummary=True, isVisibleInTranscriptOnly=True
        )

    def agent(
        self, description: str, prompt: str, steps: Sequence[tuple[str, str]], answer: str, *, inline: bool
    ) -> list[dict[str, Any]]:
        """Write the call of an agent; return its own lines where they are not within this file."""
        ref = self.use("Task", {"description": description, "prompt": prompt, "subagent_type": "general-purpose"})
        name = f"a{self._n:06x}"
        before = self._parent
        self._parent = None
        taken = len(self.lines)
        side: dict[str, Any] = {"isSidechain": True} if inline else {"isSidechain": True, "agentId": name}
        parent: str | None = None
        contents: list[tuple[str, Any]] = [("user", prompt)]
        for number, (command, output) in enumerate(steps):
            inner = f"toolu_{name}_{number}"
            contents.append(
                ("assistant", [{"type": "tool_use", "id": inner, "name": "Bash", "input": {"command": command}}])
            )
            contents.append(("user", [{"tool_use_id": inner, "type": "tool_result", "content": output}]))
        contents.append(("assistant", [{"type": "text", "text": answer}]))
        for role, content in contents:
            line = self.row(role, message={"role": role, "content": content}, **side)
            line["parentUuid"], parent = parent, str(line["uuid"])
        self._parent = before
        apart = [] if inline else self.lines[taken:]
        if apart:
            del self.lines[taken:]
        block = {"tool_use_id": ref, "type": "tool_result", "content": [{"type": "text", "text": answer}]}
        outcome = {"status": "completed", "content": block["content"], **({} if inline else {"agentId": name})}
        self.row("user", message={"role": "user", "content": [block]}, toolUseResult=outcome)
        return apart

    def write(self, folder: Path) -> Path:
        """Write the file as the program names it."""
        path = folder / f"{self.session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), encoding="utf-8")
        return path


class CodexDay:
    """A rollout of Codex that is being written."""

    def __init__(self, session: str, cwd: str, start: str, branch: str = "main") -> None:
        self.session, self.now_us = session, parse_instant(start)
        self.lines: list[dict[str, Any]] = []
        self._n = 0
        git = {"commit_hash": "4f1c09a2b7", "branch": branch, "repository_url": "git@example.org:x/y.git"}
        self.row(
            "session_meta",
            id=session,
            timestamp=start,
            cwd=cwd,
            originator="codex_cli_rs",
            cli_version="0.65.0",
            git=git,
        )
        instructions = f"<environment_context>\n  <cwd>{cwd}</cwd>\n</environment_context>"
        self.item(type="message", role="user", content=[{"type": "input_text", "text": instructions}])

    def wait(self, minutes: float) -> None:
        """Let time pass."""
        self.now_us += round(minutes * 60e6)

    def row(self, kind: str, /, **payload: Any) -> None:
        """Write a line."""
        self._n += 1
        self.now_us += 5_000_000
        self.lines.append({"timestamp": str(format_instant(self.now_us)), "type": kind, "payload": payload})

    def item(self, **payload: Any) -> None:
        """Write an item of the response."""
        self.row("response_item", **payload)

    def ask(self, text: str) -> None:
        """Write what the person types; the program writes it twice."""
        self.item(type="message", role="user", content=[{"type": "input_text", "text": text}])
        self.row("event_msg", type="user_message", message=text, kind="plain")

    def say(self, text: str) -> None:
        """Write what the agent says."""
        self.item(type="message", role="assistant", content=[{"type": "output_text", "text": text}])
        self.row("event_msg", type="agent_message", message=text)

    def run(self, command: str, output: str = "", *, code: int = 0) -> None:
        """Write a command that was run."""
        ref = f"call_{self._n:05d}"
        self.item(type="function_call", name="exec_command", arguments=json.dumps({"cmd": command}), call_id=ref)
        text = f"Chunk ID: 9f31\nWall time: 0.42 seconds\nProcess exited with code {code}\nOriginal token count: 61\nOutput:\n{output}"
        self.item(type="function_call_output", call_id=ref, output=text)

    def edit(self, *paths: str, before: str = "a", after: str = "b") -> None:
        """Write a patch."""
        ref = f"call_{self._n:05d}"
        patch = "\n".join(f"*** Update File: {path}\n@@\n-{before}\n+{after}" for path in paths)
        self.item(type="custom_tool_call", status="completed", call_id=ref, name="apply_patch",
                  input=f"*** Begin Patch\n{patch}\n*** End Patch\n")  # fmt: skip
        output = json.dumps(
            {
                "output": "Success. Updated the following files:\nM x\n",
                "metadata": {"exit_code": 0, "duration_seconds": 0.1},
            }
        )
        self.item(type="custom_tool_call_output", call_id=ref, output=output)

    def plan(self, *steps: tuple[str, str]) -> None:
        """Write the agent's plan: status and text of each step."""
        ref = f"call_{self._n:05d}"
        plan = [{"status": status, "step": text} for status, text in steps]
        self.item(type="function_call", name="update_plan", arguments=json.dumps({"plan": plan}), call_id=ref)
        self.item(type="function_call_output", call_id=ref, output="Plan updated")

    def write(self, folder: Path) -> Path:
        """Write the file as the program names it."""
        path = folder / "2026" / "10" / f"rollout-2026-10-14T09-00-00-{self.session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), encoding="utf-8")
        return path


def days(tmp_path: Path, *sessions: tuple[str, Sequence[tuple[str, str]]]) -> Vault:
    """A vault of sessions: each with its day, and what was asked and replied."""
    vault = lamina.open(tmp_path / "vault", create=True, embedder="none", clock=FixedClock("2026-11-28T12:00:00Z"))
    for number, (day, talk) in enumerate(sessions):
        written = ClaudeCodeDay(
            f"{number}a0e7c7a-1a2b-4c3d-8e4f-5a6b7c8d9e0f", "/home/ida/code/ferry", f"{day}T09:00:00Z"
        )
        for asked, replied in talk:
            written.ask(asked)
            written.say(replied)
        vault.ingest(written.write(tmp_path / f"logs{number}"), kind="sessions")
    return vault
