from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import FixedClock
from lamina_engine.memory import Memory
from lamina_engine.sessions.turns import find_shift
from tests.conftest import MEMORY, NOW
from tests.engine.sessions.transcripts import (
    SMALL,
    at,
    gets,
    ingest,
    says,
    state,
    user,
    uses,
)

MINUTE = 60_000_000


def test_a_pause_of_thirty_minutes_is_no_shift_and_one_second_more_is() -> None:
    assert find_shift(0, 30 * MINUTE, "and the tests?") is None
    assert find_shift(0, 30 * MINUTE + 1_000_000, "and the tests?") == "gap"
    assert find_shift(0, 30 * MINUTE + 1, "and the tests?") == "gap"


def test_times_that_are_missing_or_run_backwards_are_no_pause() -> None:
    assert find_shift(None, 99 * MINUTE, "x") is None
    assert find_shift(0, None, "x") is None
    assert find_shift(99 * MINUTE, 0, "x") is None


@pytest.mark.parametrize(
    "text",
    [
        "btw, where is the config?", "By the way, ...", "  Actually, let's do the parser first", "actually can we stop",
        "Actually, could we use SQLite", "New question: why?", "different topic", "another issue came up",
        "switching gears", "Switching to the API", "on a different note", "about a separate topic", "Moving on to docs",
        "forget that", "Forget about this", "let's change the subject", "let\u2019s move on", "Let's switch",
        "unrelated: is it slow?", "Separately, ...", "okay now the README", "ok, now tests",
    ],
)  # fmt: skip
def test_words_that_begin_another_topic(text: str) -> None:
    assert find_shift(0, MINUTE, text) == "phrase"


@pytest.mark.parametrize(
    "text",
    [
        "ok so what next?", "Okay so the test fails", "ok", "so btw is not at the start", "actually it works",
        "forgetting that is easy", "let's continue", "movingon", "btwx", "new file please", "a different topic", "",
    ],
)  # fmt: skip
def test_words_that_go_on_with_it(text: str) -> None:
    assert find_shift(0, MINUTE, text) is None


WORDS = st.lists(
    st.sampled_from(["cache", "index", "query", "slow", "disk", "shard", "é", "数据", "retry"]), max_size=30
).map(" ".join)
FENCED = WORDS.map(lambda words: f"before\n\n```py\n{words}\n\n{words}\n```\nafter {words}")
TALK = st.one_of(WORDS, FENCED, st.sampled_from(["btw, something else", "ok so we go on", "moving on"]))
KINDS = st.sampled_from(
    ["user", "user", "says", "says", "uses", "gets", "thinks", "summary", "side", "broken", "progress", "image"]
)
STEPS = st.lists(st.tuples(KINDS, TALK, st.sampled_from([1, 5, 600, 1800, 1801, 4000])), min_size=1, max_size=14)
CUTS = st.lists(st.floats(0, 1), min_size=1, max_size=4)


def transcript(steps: list[tuple[str, str, int]]) -> bytes:
    """A file of one session."""
    lines: list[bytes] = []
    now, tools = 0.0, 0
    for kind, words, pause in steps:
        now += pause
        line: Any
        if kind == "user":
            line = user(now, words or "and?")
        elif kind == "says":
            line = says(now, [{"type": "text", "text": words}])
        elif kind == "uses":
            tools += 1
            line = uses(now, f"t{tools}", "Task" if "disk" in words else "Bash", command=words, prompt=words)
        elif kind == "gets":
            line = gets(now, f"t{max(tools - (pause == 5), 1)}", words)
        elif kind == "thinks":
            line = says(now, [{"type": "thinking", "thinking": words}])
        elif kind == "summary":
            line = {"type": "summary", "summary": words or "all", "leafUuid": "x"}
        elif kind == "side":
            line = user(now, words, isSidechain=True)
        elif kind == "image":
            line = user(now, [{"type": "image", "source": {}}, {"type": "text", "text": words}])
        elif kind == "progress":
            data = {"type": "agent_progress", "agentId": "a1"}
            line = {"type": "progress", "timestamp": at(now), "sessionId": "s1",
                    "parentToolUseID": f"t{tools}", "data": data}  # fmt: skip
        else:
            line = '{"type": "user", "mess'
        lines.append((line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)).encode())
    return b"\n".join(lines) + b"\n"


@contextmanager
def vault(folder: Path, name: str) -> Iterator[Memory]:
    opened = Memory(folder / name, create=True, clock=FixedClock(NOW), embedder="none")
    yield opened
    opened.close()


def put(path: Path, data: bytes, mtime: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (1_700_000_000 + mtime, 1_700_000_000 + mtime))


@settings(max_examples=25)
@given(st.lists(STEPS, min_size=1, max_size=3), CUTS, st.booleans())
def test_reading_a_session_as_it_grows_is_reading_it_once(
    sessions: list[list[tuple[str, str, int]]], cuts: list[float], called: bool
) -> None:
    names = ["one.jsonl", "two.jsonl", "one/subagents/agent-a1.jsonl" if called else "three.jsonl"]
    files = [
        (
            name,
            transcript(steps).replace(b'"s1"', f'"{name[:3] if name != names[2] or not called else "one"}"'.encode()),
        )
        for name, steps in zip(names, sessions, strict=False)
    ]
    with tempfile.TemporaryDirectory(dir=MEMORY) as temporary:
        folder = Path(temporary)
        with vault(folder, "growing") as memory:
            for step, cut in enumerate([*sorted(cuts), 1.0]):
                for name, data in files:
                    put(folder / "files" / name, data[: round(len(data) * cut)], step)
                ingest(memory, folder / "files", SMALL)
            got = state(memory)
        with vault(folder, "once") as memory:
            ingest(memory, folder / "files", SMALL)
            ref = state(memory)
    assert got == ref
