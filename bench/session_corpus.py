"""Made-up sessions of an agent, as Claude Code writes them: turns with tools and their results, pauses, called agents.

Words are pseudo-words drawn by Zipf's law, so postings are as uneven as those of talk; none is a function word of a language,
which would make a text one of eleven languages at once. Everything follows from a seed.
A chunk has some 900 characters, about one turn each, which is what the rates of the benches are said of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

import numpy as np

from lamina_engine.index.languages import language_bits

TURNS: Final = 180
"""Turns of a session, each about one chunk."""
AGENTS: Final = 2
"""Agents that a session calls, at once."""
AGENT_TURNS: Final = 10
CHUNKS: Final = TURNS + AGENTS * AGENT_TURNS
"""About how many chunks a session gives."""

_WORDS: Final = 20_000
_PROJECTS: Final = 4
_START: Final = datetime(2025, 6, 1, 8, tzinfo=UTC)
_TOOLS: Final = ("Bash", "Read", "Grep", "Edit")
_GAP_SHARE: Final = 0.03


class Written(NamedTuple):
    """What `write_sessions` wrote."""

    files: int
    size: int
    """Bytes."""


def write_sessions(folder: Path, sessions: int, *, turns: int = TURNS, seed: int = 7) -> Written:
    """Write sessions below a folder, each with the agents that it calls.

    Parameters
    ----------
    folder : Path
    sessions : int
    turns : int
        Turns of each; `AGENTS` agents add `AGENT_TURNS` each.
    seed : int

    Notes
    -----
    A session does not depend on how many there are.
    """
    words = _vocabulary()
    files = size = 0
    for number in range(sessions):
        rng = np.random.default_rng((seed, number))
        session = str(UUID(bytes=rng.bytes(16), version=4))
        project = folder / f"-home-me-code-project{number % _PROJECTS}"
        writer = _Session(rng, words, session, number)
        for name, lines in writer.files(turns):
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            data = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines).encode()
            path.write_bytes(data)
            files, size = files + 1, size + len(data)
    return Written(files, size)


def _vocabulary() -> list[str]:
    rng = np.random.default_rng(1)
    syllables = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "it")]
    found: dict[str, None] = {}
    foreign = language_bits()
    while len(found) < _WORDS:
        word = "".join(syllables[i] for i in rng.integers(0, len(syllables), rng.integers(1, 5)))
        if not foreign.get(word):
            found[word] = None
    return list(found)


class _Session:
    """Writes the lines of one session."""

    def __init__(self, rng: np.random.Generator, words: list[str], session: str, number: int) -> None:
        self._rng, self._words, self._session = rng, words, session
        self._cwd = f"/home/me/code/project{number % _PROJECTS}"
        self._now = _START + timedelta(hours=3 * number)
        self._drawn = self._draw()
        self._refs = 0

    def files(self, turns: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield names and lines of the session's file and of its agents' files."""
        calling = turns // 2
        lines: list[dict[str, Any]] = []
        called: list[tuple[str, str, str, datetime]] = []
        for turn in range(turns):
            lines += self._turn()
            if turn == calling:
                for agent in range(AGENTS):
                    prompt, ref = self._text(20), self._ref()
                    called.append((f"{self._session[:7]}{agent}", ref, prompt, self._now))
                    given = {"description": "look", "prompt": prompt, "subagent_type": "Explore"}
                    lines.append(self._says([{"type": "tool_use", "id": ref, "name": "Task", "input": given}]))
                self._now += timedelta(minutes=10)
                for name, ref, _, _ in called:
                    lines.append(self._gets(ref, self._text(30)) | {"toolUseResult": {"agentId": name}})
        yield f"{self._session}.jsonl", lines
        after = self._now
        for name, _, prompt, begun in called:
            self._now = begun
            own = [self._line("user", {"role": "user", "content": prompt})]
            for _ in range(AGENT_TURNS):
                own += self._turn()
            more = {"isSidechain": True, "agentId": name}
            yield f"{self._session}/subagents/agent-{name}.jsonl", [line | more for line in own]
        self._now = after

    def _turn(self) -> list[dict[str, Any]]:
        rng = self._rng
        self._now += timedelta(seconds=3_000 if rng.random() < _GAP_SHARE else 40)
        tool, ref = _TOOLS[int(rng.integers(len(_TOOLS)))], self._ref()
        given = {"command": self._text(6)} if tool in ("Bash", "Grep") else {"file_path": f"/src/{self._text(1)}.py"}
        answer = self._text(35)
        if rng.random() < 0.2:
            answer += f"\n\n```python\n{self._text(8)}\n{self._text(8)}\n```\n\n{self._text(5)}"
        return [
            self._line("user", {"role": "user", "content": self._text(18)}),
            self._says([{"type": "thinking", "thinking": self._text(25)}]),
            self._says([{"type": "text", "text": self._text(15)}]),
            self._says([{"type": "tool_use", "id": ref, "name": tool, "input": given}]),
            self._gets(ref, self._text(int(rng.integers(5, 60)))),
            self._says([{"type": "text", "text": answer}]),
        ]

    def _says(self, content: list[Any]) -> dict[str, Any]:
        return self._line("assistant", {"role": "assistant", "model": "claude-opus-4-5", "content": content})

    def _gets(self, ref: str, text: str) -> dict[str, Any]:
        content = [{"type": "tool_result", "tool_use_id": ref, "content": text}]
        return self._line("user", {"role": "user", "content": content})

    def _line(self, kind: str, message: dict[str, Any]) -> dict[str, Any]:
        self._now += timedelta(seconds=5)
        self._refs += 1
        return {
            "parentUuid": f"{self._refs - 1:08x}-{self._session[9:]}", "isSidechain": False, "userType": "external",
            "cwd": self._cwd, "sessionId": self._session, "version": "2.0.14", "gitBranch": "main", "type": kind,
            "message": message, "uuid": f"{self._refs:08x}-{self._session[9:]}",
            "timestamp": self._now.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        }  # fmt: skip

    def _ref(self) -> str:
        self._refs += 1
        return f"toolu_{self._session[:8]}{self._refs:06d}"

    def _text(self, words: int) -> str:
        return " ".join(next(self._drawn) for _ in range(words))

    def _draw(self) -> Iterator[str]:
        """Yield words; the n-th most frequent one n times as seldom as the first."""
        weights = 1.0 / np.arange(3, _WORDS + 3)
        ladder = np.cumsum(weights / weights.sum())
        while True:
            for place in np.searchsorted(ladder, self._rng.random(4_096)).tolist():
                yield self._words[min(place, _WORDS - 1)]
