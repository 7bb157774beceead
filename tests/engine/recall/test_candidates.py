"""Candidates are ranked in one call where scores allow it, and answers do not depend on that."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lamina
from lamina import FixedClock
from lamina_engine.profiles import BUILT_IN
from lamina_engine.recall import candidates
from lamina_engine.recall.warming import KERNELS
from tests.conftest import NOW

WORDS = ["database", "deploy", "index", "vault", "cache", "timeout", "release", "schema", "queue", "worker"]
QUESTIONS = (
    "which database do we deploy",
    "cache timeout",
    "what did Anna say of the release?",
    "queue last month",
    "zebra",
)


def records() -> list[dict[str, Any]]:
    """Return chunks of several types, ages and speakers; made up."""
    start, found = datetime.fromisoformat("2024-01-01T00:00:00+00:00"), list[dict[str, Any]]()
    for i in range(120):
        text = f"{WORDS[i % 10]} {WORDS[(i * 7 + 3) % 10]} and {WORDS[(i // 10) % 10]}: note {i % 50}"
        record: dict[str, Any] = {"id": f"n{i:03}", "text": text, "created_at": start + timedelta(days=7 * (i % 90))}
        if i % 9 == 0:
            del record["created_at"]
        if i % 3 == 0:
            record |= {"type": ("decision", "handoff", "note")[i % 9 // 3], "project": ("api", "web")[i % 2]}
        if i % 4 == 0:
            record |= {"session": f"s{i // 40}", "agent": ("Anna", "Ben")[i % 8 // 4]}
        found.append(record)
    return found


@pytest.mark.parametrize("profile", sorted({name.partition("@")[0] for name in BUILT_IN}))
def test_answers_do_not_depend_on_how_candidates_are_ranked(
    profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kernel in KERNELS:
        kernel.warm()
    calls = list[bool]()
    at_once = candidates._rank_at_once

    def counted(*args: Any) -> Any:
        found = at_once(*args)
        calls.append(found is not None)
        return found

    monkeypatch.setattr(candidates, "_rank_at_once", counted)
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.add(records())
        vault.invalidate("n010", reason="wrong")

        def answers() -> list[dict[str, Any]]:
            asked = [(question, session) for question in QUESTIONS for session in (None, "s1")]
            return [
                hit.to_dict()
                for question, session in asked
                for hit in vault.recall(question, k=25, profile=profile, session=session)
            ]

        fast = answers()
        if profile != "episodic":  # whose scores have factors by length
            assert any(calls), "no question was ranked at once"
        monkeypatch.setattr(candidates, "rank_candidates", SimpleNamespace(ready=False))
        assert answers() == fast
