"""The gate: what asks nothing of a memory costs next to nothing."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from lamina.hooks import gate
from lamina.prompts import needs_context
from lamina_engine.sessions.privacy import is_ignored, is_private
from tests.bindings.hooks.agents import PATIENT, hook

HEAVY = ("numpy", "pyarrow", "click", "lamina.vault", "lamina_engine.memory", "pathlib", "typing", "subprocess")


@pytest.mark.parametrize(
    "prompt",
    ["", "yes", "ok thanks", "Okay, thanks!".replace(",", ""), "/compact", "!ls -la", "Go ahead.", "thanks", "vielen Dank!",
     "commit this", "try again", "refactor", "run the tests", "  looks good to me  ", "谢谢"],
)  # fmt: skip
def test_prompts_that_ask_nothing(prompt: str) -> None:
    assert gate.skips_prompt(prompt, "user")


@pytest.mark.parametrize(
    "prompt",
    ["why did we move to PostgreSQL?", "continue where we left off", "fix the login bug", "run the tests of the parser",
     "what is still open?", "what did we do yesterday?", "wo waren wir stehen geblieben?", "was ist noch offen?", "who is on call?",
     "我们为什么换成PostgreSQL", "вернуться к миграции", "thanks, and what about Redis?"],
)  # fmt: skip
def test_prompts_that_ask_something(prompt: str) -> None:
    assert not gate.skips_prompt(prompt, "user")
    assert not gate.skips_prompt(prompt, "")
    assert gate.skips_prompt(prompt, "loop_wakeup")


@pytest.mark.parametrize(
    "prompt",
    ["de acuerdo", "grazie mille", "muchas gracias", "всё понятно", "очень хорошо", "спасибо большое", "ありがとう ございます",
     "sounds good", "danke schön", "d'accord merci", "it works", "well done"],
)  # fmt: skip
def test_hook_and_engine_know_one_list(prompt: str) -> None:  # the session before: 12 of 74 phrases differed
    assert gate.skips_prompt(prompt, "user")
    assert not needs_context(prompt)


@pytest.mark.parametrize(
    ("prompt", "private"),
    [("#private what is my salary", True), ("my diary (#private)", True), ("#privately", False), ("private", False)],
)
def test_the_mark_of_a_private_session(prompt: str, private: bool) -> None:
    assert is_private(prompt) == private


@pytest.mark.parametrize(
    ("content", "inner", "ignored"),
    [
        ("", "a/b", True), ("# nothing\n", "a", True), ("*\n", "a/b", True), ("secret/\n", "secret/x", True),
        ("secret/\n", "open/x", False), ("a/b\n", "a/b/c", True), ("a/b\n", "a", False), ("tmp-*\n", "x/tmp-1", True),
    ],
)  # fmt: skip
def test_folders_that_are_left_out(tmp_path: Path, content: str, inner: str, ignored: bool) -> None:
    (tmp_path / ".laminaignore").write_text(content)
    (tmp_path / inner).mkdir(parents=True)
    assert is_ignored(str(tmp_path / inner)) == ignored


def test_hooks_are_off_where_their_user_says_so(project: Path) -> None:
    payload = {"session_id": "s", "cwd": str(project), "prompt": "why did we move from SQLite to PostgreSQL?"}
    assert "write locks" in hook("prompt", payload, PATIENT).context
    assert hook("prompt", {**payload, "session_id": "t"}, PATIENT, LAMINA_HOOKS="off").out == b"{}\n"
    (project / ".laminaignore").write_text("")
    assert hook("prompt", {**payload, "session_id": "u"}, PATIENT).out == b"{}\n"


def test_the_same_prompt_fired_by_two_configurations_is_answered_once(project: Path) -> None:
    payload = {"session_id": "s", "cwd": str(project), "prompt": "why did we move from SQLite to PostgreSQL?"}
    assert hook("prompt", payload, PATIENT).context
    assert hook("prompt", payload, PATIENT).out == b"{}\n"


def test_what_is_gated_out_imports_nothing_and_costs_next_to_nothing(project: Path) -> None:
    code = f"""
import atexit, os, sys
bare = set(sys.modules)
leave = os._exit
def report(code):
    sys.stderr.write(" ".join(name for name in {HEAVY!r} if name in set(sys.modules) - bare))
    sys.stderr.flush()
    leave(code)
os._exit = report
"""
    for prompt in ("ok thanks", "yes", "/compact"):
        got = hook("prompt", {"session_id": "s", "cwd": str(project), "prompt": prompt}, code=code)
        assert (got.out, got.err) == (b"{}\n", "")
    got = hook("prompt", {"session_id": "s", "cwd": "/", "prompt": "why did we move to it?"}, code=code)
    assert (got.out, got.err) == (b"{}\n", "")  # no vault


def test_a_gated_prompt_costs_at_most_forty_milliseconds_above_a_bare_python(project: Path, tmp_path: Path) -> None:
    # with its bytecode, as a package that is installed
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(tmp_path / "bytecode")

    def cpu(command: list[str]) -> float:
        def once() -> float:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, input=b'{"prompt": "ok thanks"}', capture_output=True, check=True, env=env)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        return min(once() for _ in range(9))

    bare = cpu([sys.executable, "-c", "pass"])
    got = cpu([sys.executable, "-m", "lamina", "hook", "prompt"])
    assert got - bare <= 0.04, (got, bare)
