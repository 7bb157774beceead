"""Dates in words, and the zone that the terminal shows: findings, stranger 20."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina
from lamina import FixedClock, InvalidArgument, Vault
from lamina.cli import main

NOW = "2026-03-10T12:00:00Z"
"""A Tuesday."""


@pytest.fixture
def dated(tmp_path: Path) -> Iterator[Vault]:
    with lamina.open(tmp_path / "vault", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        yield vault


def test_words_are_dates_wherever_python_takes_one(dated: Vault) -> None:
    dated.add("old cache", id="old", created_at="last month")
    dated.add([{"text": "new cache", "id": "new", "created_at": "yesterday 9:30"}])
    assert str(dated.get("old").created_at) == "2026-02-01 00:00:00+00:00"
    assert str(dated.get("new").created_at) == "2026-03-09 09:30:00+00:00"
    assert [hit.id for hit in dated.recall("cache", since="last week")] == ["new"]
    assert [hit.id for hit in dated.recall("cache", until="yesterday")] == ["old"]
    assert [hit.id for hit in dated.recall("cache", where={"created_at": {"gte": "3 days ago"}})] == ["new"]
    assert [hit.id for hit in dated.recall("cache", now="last month", since="yesterday")] == ["new", "old"]
    assert list(dated.recall("cache", as_of="an hour ago")) == []
    assert dated.update("old", created_at="last friday").created_at_us == 1_772_755_200_000_000
    assert str(dated.snooze("old", "tomorrow").snoozed_until) == "2026-03-11 00:00:00+00:00"
    fact = dated.facts.add("Anna", "works_on", "Redis", valid_from="last year")
    assert str(fact.valid_from) == "2025-01-01 00:00:00+00:00"
    assert dated.forget(where={"created_at": {"lt": "yesterday"}}).ids == ("old",)
    with pytest.raises(InvalidArgument, match="'some day' is not a date"):
        dated.recall("cache", since="some day")


def test_words_are_dates_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--vault", str(tmp_path / "vault")]
    assert main(["init", *place]) == 0
    assert main(["add", "cache A", "--id", "a", "--created-at", "yesterday", *place]) == 0
    assert main(["add", "cache B", "--id", "b", "--created-at", "40 days ago", *place]) == 0
    capsys.readouterr()
    assert main(["recall", "cache", "--since", "2 days ago", "--json", *place]) == 0
    assert [hit["id"] for hit in json.loads(capsys.readouterr().out)["hits"]] == ["a"]


@pytest.mark.parametrize(
    ("tz", "machine", "shown", "day"),
    [
        ("Europe/Berlin", "UTC", "2026-03-09 23:30", "2026-03-08"),
        ("UTC", "America/New_York", "2026-03-09 18:30", "2026-03-08"),
        ("UTC", "UTC", "2026-03-09 22:30Z", "2026-03-08"),
    ],
)
def test_the_terminal_shows_the_vault_s_zone_or_the_machine_s(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tz: str, machine: str, shown: str, day: str
) -> None:  # fmt: skip
    monkeypatch.setenv("TZ", machine)
    time.tzset()
    place = ["--vault", str(tmp_path / "vault")]
    assert main(["init", "--tz", tz, *place]) == 0
    assert main(["add", "cache A", "--created-at", "2026-03-09T22:30:00Z", *place]) == 0
    assert main(["add", "cache B", "--created-at", "2026-03-08", *place]) == 0
    capsys.readouterr()
    assert main(["recall", "cache", *place]) == 0
    out = capsys.readouterr().out
    assert f"{shown} · " in out
    assert f"{day} · " in out
    assert main(["recall", "cache", "--json", *place]) == 0
    assert '"2026-03-09T22:30:00Z"' in capsys.readouterr().out
    monkeypatch.undo()
    time.tzset()
