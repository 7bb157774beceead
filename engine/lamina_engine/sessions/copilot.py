"""Sessions of Copilot CLI, and of agents in VS Code: the same events, a JSON object a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from lamina_engine.sessions.events import Event, FileName, Thread, Times, TranscriptReader, project_of_folder
from lamina_engine.sessions.streams import Unreadable
from lamina_engine.sessions.toolcalls import call_event, result_event
from lamina_engine.sessions.tooltext import result_text, text_of

AGENT: Final = "copilot"
VSCODE: Final = "vscode"
NAME: Final = "copilot"


class CopilotReader(TranscriptReader):
    """Reader of one session; agents that it called come after it, each a thread of its own."""

    def __init__(self, name: FileName, times: Times) -> None:
        self._name, self._times = name, times
        self._thread: Thread | None = None
        self._tools: dict[str, str] = {}
        self._called: dict[str, list[Event]] = {}
        self._titles: dict[str, str] = {}

    def _read(self, row: dict[str, Any]) -> Sequence[Thread | Event]:
        kind, given = row.get("type"), row.get("data")
        if not isinstance(kind, str) or not isinstance(given, dict):
            raise Unreadable("it has no type or no data")
        found: list[Thread | Event] = []
        if self._thread is None:
            self._thread = self._begin(given if kind == "session.start" else {})
            found.append(self._thread)
        events = list(self._events(kind, given, *self._times.read(row.get("timestamp"))))
        agent = text_of(row.get("agentId"))
        if agent is None:
            return found + events
        self._called.setdefault(agent, []).extend(events)
        if kind == "subagent.started":
            self._titles[agent] = text_of(given.get("agentDisplayName")) or ""
        return found

    def finish(self) -> Sequence[Thread | Event]:
        """Return the threads of called agents."""
        found: list[Thread | Event] = []
        for agent, events in self._called.items():
            main = self._thread or Thread(self._name.stem, AGENT)
            facts = {**main.facts, "agent_id": agent}
            title = self._titles.get(agent) or None
            found += [Thread(main.session, f"{main.agent}/{agent}", main.project, title, facts), *events]
        return found

    def _begin(self, start: dict[str, Any]) -> Thread:
        facts: dict[str, Any] = {"format": NAME}
        context = start.get("context")
        folder = text_of(context.get("cwd")) if isinstance(context, dict) else None
        if folder is not None:
            facts["cwd"] = folder
        if isinstance(context, dict) and text_of(context.get("branch")):
            facts["branch"] = context["branch"]
        session = text_of(start.get("sessionId")) or self._name.session or self._name.stem
        return Thread(session, VSCODE if "vscodeVersion" in start else AGENT, project_of_folder(folder), facts=facts)

    def _events(self, kind: str, given: dict[str, Any], at: str | None, at_us: int | None) -> Iterator[Event]:
        text = text_of(given.get("content"))
        if kind == "user.message" and text is not None:
            yield Event("user", text, at, at_us)
        elif kind == "assistant.message":
            thought, model = text_of(given.get("reasoningText")), text_of(given.get("model"))
            if thought is not None:
                yield Event("thought", thought, at, at_us)
            if text is not None:
                yield Event("said", text, at, at_us, facts={"model": model} if model else None)
        elif kind == "tool.execution_start":
            name, ref = text_of(given.get("toolName")) or "tool", text_of(given.get("toolCallId"))
            if ref is not None:
                self._tools[ref] = name
            yield call_event(name, ref, given.get("arguments"), at, at_us)
        elif kind == "tool.execution_complete":
            ref, result = text_of(given.get("toolCallId")), given.get("result") or given.get("error")
            called = self._tools.pop(ref, None) if ref is not None else None
            content = result.get("content", result.get("message")) if isinstance(result, dict) else result
            yield result_event(called, ref, result_text(content), _failed(given), at, at_us)
        elif kind == "session.compaction_complete" and text_of(given.get("summaryContent")):
            yield Event("summary", given["summaryContent"], at, at_us)
        else:
            yield Event("touch", "", at, at_us)


def _failed(given: dict[str, Any]) -> bool | None:
    """Return whether a command failed: a tool that ran it to its end has succeeded all the same."""
    shell = given.get("shellExecution")
    code = shell.get("exitCode") if isinstance(shell, dict) else None
    if isinstance(code, int):
        return code != 0
    return True if given.get("success") is False else None
