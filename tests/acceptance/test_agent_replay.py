"""An agent played end to end: start, prompts, tool results, compaction, end, and the next start that remembers.

Hooks are processes of their own, as the agent starts them; transcripts grow on disk as Claude Code and Codex write them. The
working day has 160 turns: episodes that a person would want to be told of, among routine that nobody would.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lamina
from lamina.cli import main
from tests.bindings.hooks.agents import PATIENT, Ran, hook, queued, until
from tests.engine.sessions.workday import ClaudeCodeDay, CodexDay

SECRET = "sk_live_" + "51Hq7TgBz0" + "KXo9aVbC4dEfGh1"
TURNS = 160

ROUTINE = (
    "rename the helper in {m}", "run the tests of {m}", "why is {m} red in CI?", "add a type hint to {m}", "format {m}",
    "what does {m} do again?", "move the constant of {m} up", "add a docstring to {m}", "sort the imports of {m}",
)  # fmt: skip
MODULES = (
    "cart",
    "catalog",
    "invoices",
    "refunds",
    "webhooks",
    "ledger",
    "mailer",
    "search",
    "sessions",
    "stock",
    "tax",
)

EPISODES: dict[int, tuple[str, str]] = {
    3: ("our goal today: make the checkout idempotent, a retry must never charge a card twice",
        "Understood. The plan: an idempotency key on each charge, stored with its response, and a test that retries."),
    21: ("should the idempotency keys live in Redis or in PostgreSQL?",
         "We decided to keep the idempotency keys in PostgreSQL instead of Redis, because Redis evicted keys under memory pressure "
         "in March and a customer was charged twice."),
    47: ("the retry test fails with a deadlock, look at it",
         "The deadlock was caused by locking the order before the key. Fixed: the key's row is locked first, then the order."),
    80: (f"use the live key {SECRET} for one manual charge",
         "I used it once and removed it again; it should be rotated."),
    112: ("never run migrations against the production replica, always ask me first",
          "Noted: migrations against production only after you have confirmed."),
    141: ("how long do we keep the keys?",
          "We agreed on 48 hours: longer than the longest retry of the payment provider, which gives up after 36 hours."),
    157: ("we stop here for today",
          "The checkout is idempotent in the API. Still open: the webhook handler does not read the idempotency key yet, and the "
          "nightly job that removes keys older than 48 hours is not written. Next step: wire the key through webhooks.py."),
}  # fmt: skip
COMPACTED_AT = 90

Day = ClaudeCodeDay | CodexDay


def live(day: Day, turn: int) -> str:
    """Write one turn of the day, and return its prompt."""
    asked, said = EPISODES.get(turn, (ROUTINE[turn % len(ROUTINE)].format(m=MODULES[turn % len(MODULES)]), ""))
    day.wait(2)
    day.ask(asked)
    if turn % 3 == 0 and turn not in EPISODES:
        day.run(
            f"pytest -q tests/test_{MODULES[turn % len(MODULES)]}.py",
            "." * 12 + f"\n{turn % 9 + 3} passed in 0.{turn}s",
        )
    if turn in (22, 48, 113, 142):
        day.edit("shop/checkout.py")
    day.say(said or f"Done: {MODULES[turn % len(MODULES)]} is as you asked.")
    return asked


class Player(NamedTuple):
    """An agent that calls hooks."""

    name: str
    folder: Path
    make: Callable[[str, str], Day]

    def fire(self, event: str, session: str, **fields: Any) -> Ran:
        payload = {"session_id": session, "cwd": str(self.folder), "hook_event_name": event, **fields}
        got = hook(event, payload, f"--agent={self.name}", PATIENT)
        assert (got.code, got.err) == (0, ""), (event, got)
        return got


PLAYERS: dict[str, Callable[[str, str, str], Day]] = {
    "claude-code": lambda session, cwd, start: ClaudeCodeDay(session, cwd, start),
    "codex": lambda session, cwd, start: CodexDay(session, cwd, start),
}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    assert main(["init", "--vault", str(folder / ".lamina")]) == 0
    return folder


def play(agent: str, shop: Path, tmp_path: Path, every: int) -> tuple[str, str, list[str]]:
    """Play a day and the next start; return both starts, and what the next day's prompts were told."""
    vault = shop / ".lamina"
    session = "0b1c2d3e-1111-4222-8333-444455556666"
    player = Player(agent, shop, lambda name, start: PLAYERS[agent](name, str(shop), start))
    day = player.make(session, "2026-10-14T09:00:00Z")
    logs = tmp_path / "logs"
    transcript = day.write(logs)
    first = player.fire("SessionStart", session, source="startup", transcript_path=str(transcript)).context
    for turn in range(TURNS):
        asked = live(day, turn)
        day.write(logs)
        if turn % every == 0 or turn in EPISODES:
            player.fire("UserPromptSubmit", session, prompt=asked, transcript_path=str(transcript))
        if turn % (4 * every) == 0:
            player.fire("Stop", session, transcript_path=str(transcript), stop_hook_active=False)
        if turn == COMPACTED_AT:
            player.fire("PreCompact", session, trigger="auto", transcript_path=str(transcript))
            if isinstance(day, ClaudeCodeDay):
                day.compact("We make the checkout idempotent; keys are kept in PostgreSQL.")
            day.write(logs)
            player.fire("SessionStart", session, source="compact", transcript_path=str(transcript))
    player.fire("SessionEnd", session, reason="exit", transcript_path=str(transcript))
    until(lambda: not queued(vault))
    next_ = "9f8e7d6c-1111-4222-8333-444455556666"
    second = player.fire("SessionStart", next_, source="startup", transcript_path=str(logs / "next.jsonl")).context
    prompts = (
        "why did we put the idempotency keys in PostgreSQL and not in Redis?",
        "how long are idempotency keys kept, and why?",
        "what caused the deadlock in the retry test?",
        "may I run the migration against the production replica?",
        "ok thanks",
        "what is the capital of Mongolia?",
    )
    told = [player.fire("UserPromptSubmit", f"{next_}-{i}", prompt=prompt).context for i, prompt in enumerate(prompts)]
    return first, second, told


def check(agent: str, shop: Path, tmp_path: Path, every: int) -> None:
    first, second, told = play(agent, shop, tmp_path, every)
    assert first == ""  # an empty vault has nothing to say
    assert "webhook" in second  # what is open
    assert "48 hours" in second
    assert "idempoten" in second
    assert "PostgreSQL" in second + told[0]
    assert "evicted keys" in told[0]
    assert "36 hours" in told[1] + second  # the start has said it
    assert "locking the order before the key" in told[2]
    assert "always ask me first" in told[3] + second
    assert told[4:] == ["", ""]
    everything = "".join([second, *told])
    assert SECRET not in everything
    assert everything.count("<lamina-context") == everything.count("</lamina-context>")
    assert len(second) <= 9_500
    vault = shop / ".lamina"
    for path in vault.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()
    transcript = next((tmp_path / "logs").rglob("*0b1c2d3e*.jsonl"))
    with lamina.open(tmp_path / "once", create=True) as once:
        once.ingest(transcript, kind="sessions")
        expected = sorted((chunk.id, chunk.type) for chunk in once.list(limit=10_000))
    with lamina.open(vault, mode="r") as opened:
        assert sorted((chunk.id, chunk.type) for chunk in opened.list(limit=10_000)) == expected
        assert opened.verify(deep=True).ok


@pytest.mark.parametrize("agent", PLAYERS)
def test_the_next_session_is_told_what_a_person_would_want(agent: str, shop: Path, tmp_path: Path) -> None:
    check(agent, shop, tmp_path, every=40)


@pytest.mark.slow
@pytest.mark.parametrize("agent", PLAYERS)
def test_a_whole_day_with_a_hook_at_every_turn(agent: str, shop: Path, tmp_path: Path) -> None:
    check(agent, shop, tmp_path, every=1)


@pytest.mark.parametrize(
    "name",
    [
        "causantic-sample-session.jsonl",
        "claude-code-log-edge_cases.jsonl",
        "claude-code-log-representative_messages.jsonl",
    ],
)
def test_real_transcripts_are_there_at_the_next_start(name: str, data: Path, shop: Path, tmp_path: Path) -> None:
    transcript = tmp_path / name
    shutil.copy(data / "sessions" / name, transcript)
    player = Player("claude-code", shop, lambda *_: ClaudeCodeDay("", "", "2026-10-14"))
    for event in ("Stop", "PreCompact", "SessionEnd", "SessionEnd"):
        player.fire(event, "real", transcript_path=str(transcript))
    until(lambda: not queued(shop / ".lamina"))
    with lamina.open(tmp_path / "once", create=True) as once:
        once.ingest(transcript, kind="sessions")
        expected = sorted((chunk.id, chunk.text) for chunk in once.list(limit=1_000))
    with lamina.open(shop / ".lamina", mode="r") as vault:
        assert sorted((chunk.id, chunk.text) for chunk in vault.list(limit=1_000)) == expected
        assert expected
    assert "<memory" in player.fire("SessionStart", "next", source="startup").context
