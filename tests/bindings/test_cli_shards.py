"""``lamina shard`` as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock


def run(*words: str, code: int = 0) -> str:
    done = subprocess.run([sys.executable, "-m", "lamina", *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def hits(place: Path, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("recall", "PostgreSQL", "--vault", str(place), "--json", *options))[
        "hits"
    ]
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with lamina.open(tmp_path / "vault", create=True, clock=FixedClock("2026-03-01")) as vault:
        vault.add([{"text": f"PostgreSQL note {n}", "source": f"{n}.md", "project": f"p{n % 3}"} for n in range(12)])
    return tmp_path


def test_a_vault_is_cut_asked_and_written_to(place: Path) -> None:
    report = json.loads(
        run("shard", str(place / "vault"), str(place / "cut"), "--shards", "3", "--by", "project", "--json")
    )
    assert (report["shards"], report["by"], report["rows"]) == (3, "project", [4, 4, 4])
    at = ("--as-of", "2026-03-02")
    assert [h["id"] for h in hits(place / "cut", *at)] == [h["id"] for h in hits(place / "vault", *at)]
    run("add", "PostgreSQL once more", "--vault", str(place / "cut"))
    assert "PostgreSQL once more" in {hit["text"] for hit in hits(place / "cut")}
    assert json.loads(run("verify", "--vault", str(place / "cut"), "--json"))["ok"]
    assert json.loads(run("stats", "--vault", str(place / "cut"), "--json"))["chunks"] == 13


def test_a_sharded_vault_is_cut_again(place: Path) -> None:
    run("shard", str(place / "vault"), str(place / "cut"), "--shards", "3")
    told = run("shard", str(place / "cut"), str(place / "again"), "--shards", "1", "--by", "project")
    assert told.startswith("1 shard by project in ")
    at = ("--as-of", "2026-03-02")
    assert hits(place / "again", *at) == hits(place / "vault", *at)


def test_people_are_told_what_was_made_and_what_is_wrong(place: Path) -> None:
    told = run("shard", "--vault", str(place / "vault"), str(place / "cut"), "--shards", "2")
    assert told.startswith("2 shards by source in ")
    assert "is a vault already" in run("shard", "--vault", str(place / "vault"), str(place / "cut"), code=1)
    assert "from 1 to 256" in run("shard", str(place / "vault"), str(place / "new"), "--shards", "0", code=1)
    assert "at most one vault" in run("shard", "a", "b", "c", code=2)


def test_a_sharded_vault_gets_another_model(place: Path) -> None:
    run("shard", str(place / "vault"), str(place / "cut"), "--shards", "2")
    for name in ("vault", "cut"):
        report = json.loads(
            run("reindex", "--vault", str(place / name), "--embedder", "wordllama-64", "--accept", "--json")
        )
        assert (report["rows"], report["embedded"], report["swapped"]) == (12, 12, True)
    at = ("--as-of", "2026-03-02")
    assert [(h["id"], h["score"]) for h in hits(place / "cut", *at)] == [
        (h["id"], h["score"]) for h in hits(place / "vault", *at)
    ]
