"""A vault of everything, and questions over every profile, filter and moment of it."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.index import quantised, vectors

NOW = "2026-06-01T12:00:00Z"
PROFILES = ("default", "lexical", "temporal", "task", "causal", "episodic", "entity")
MOMENTS = (None, "2026-03-10T00:00:00Z", "2026-04-20T00:00:00Z")
QUERIES = (
    "why did we move the database", "PostgreSQL budget", "deploi tokn", "what does Anna own", 'title:Runbook +deploy', '"index cache"',
    "Datenbank Umzug", "tok* auth~1", "what happened last week", "which port does atlas use", "sprint review of the api", "tag:urgent",
)  # fmt: skip
FILTERS: tuple[dict[str, Any] | None, ...] = (
    None,
    {"project": "api"},
    {"type": {"in": ["decision", "note"]}, "NOT": {"session": "s1"}},
    {"metadata.owner": "anna"},
    {"status": "invalidated"},
    {"freshness": "unknown", "tags": {"contains": "urgent"}},
)
_WORDS = [
    "postgres", "database", "moved", "deploy", "release", "token", "auth", "budget", "sprint", "cache", "index", "memory",
    "vector", "lane", "meeting", "plan", "bug", "fix", "test", "server", "backup", "restore", "latency", "schema", "migration",
    "queue", "worker", "login", "review", "cost", "port", "atlas", "anna",
]  # fmt: skip
_GERMAN = [
    "die", "Datenbank", "zieht", "um", "und", "der", "Umzug", "der", "Server", "dauert", "bis", "Montag", "weil", "das",
]  # fmt: skip


def records(start: int, count: int) -> list[dict[str, Any]]:
    """Return records in projects, sessions, sources and two languages."""
    chance = random.Random(start)
    found = []
    for n in range(start, start + count):
        words = chance.choices(_GERMAN if n % 11 == 0 else _WORDS, k=chance.randint(3, 24))
        project, session = chance.choice(["api", "web", "ops", None]), chance.choice([None, None, "s1", "s2", "s3"])
        found.append(
            {
                "id": f"c{n:04d}", "text": " ".join(words) + (" index cache" if n % 17 == 0 else ""), "project": project,
                "type": chance.choice(["note", "decision", "task", "observation"]), "session": session,
                "source": None if session else f"{project}/{n % 13}.md", "agent": chance.choice(["anna", "ben", None]),
                "title": "Runbook deploy" if n % 9 == 0 else None, "tags": ["urgent"] if n % 7 == 0 else [],
                "created_at": f"2026-0{1 + n % 5}-{1 + n % 27:02d}T0{n % 9}:00:00Z" if n % 19 else None,
                "metadata": {"owner": "anna" if n % 3 else "ben", "n": n},
            }
        )  # fmt: skip
    return found


def change(vault: Vault, start: int) -> None:
    """Add, update, invalidate, restore, pin, link, and say facts."""
    ids = vault.add(records(start, 40))
    vault.update(ids[3], text="The atlas service uses port 8443 since we moved the database.", title="Atlas")
    vault.update(ids[4], project="api", tags=["urgent", "moved"])
    vault.update(ids[3], text="The atlas service uses port 9443, not 8443.")
    vault.invalidate(ids[5], "it was wrong")
    vault.invalidate(ids[6], "doubtful")
    vault.restore(ids[6])
    vault.pin(ids[7])
    vault.link(ids[8], ids[9], "causal", 0.9)
    vault.link(ids[9], ids[20], "causal", 0.7)
    vault.link(ids[21], ids[8], "supporting")
    vault.facts.add("Anna", "owns", "atlas", source=ids[8])
    vault.facts.add("atlas", "port", "9443", valid_from="2026-02-01", source=ids[3])
    vault.facts.alias("the map service", "atlas")


def make(place: Path | str) -> None:
    """Make a vault with some months of history."""
    for month, start in enumerate(range(0, 160, 40), 2):
        with lamina.open(place, create=True, clock=FixedClock(f"2026-0{month}-05T08:00:00Z")) as vault:
            change(vault, start)
            if month == 3:
                vault.build_links(["sequence", "semantic", "entity"])
            if month == 4:
                vault.cluster(min_cluster_size=4)
                vault.forget(ids=[f"c{start + 30:04d}", "c0031"], dry_run=False)


def reopened(place: Path | str, **options: Any) -> Vault:
    """Open a vault at the moment of the tests."""
    return lamina.open(place, **{"clock": FixedClock(NOW), **options})


@contextlib.contextmanager
def small_codes() -> Iterator[None]:
    """Make codes from 256 rows on instead of 8,192, and ask them whatever the filter."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("MIN_ROWS", 256), ("STEPS", (64, 64)), ("TRAINING_STEPS", (256, 512)), ("_SAMPLE", 64)):
            patch.setattr(quantised, name, value)
        for name in ("NARROW_ROWS", "NARROW_SHARE", "PAST_ROWS"):
            patch.setattr(vectors, name, 0)
        yield


def plain(found: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without what may differ between equal ones."""
    return {name: value for name, value in found.items() if name not in ("took_ms", "snapshot")}


def answers(vault: Vault, every: int = 1) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield the answer to every question in every profile, with every filter, at every moment; or to one in `every` of these."""
    for n, (query, profile, where) in enumerate(itertools.product(QUERIES, PROFILES, FILTERS)):
        if n % every == 0:  # asked only then: what is not compared costs nothing
            moment = MOMENTS[n % len(MOMENTS)]
            found = vault.recall(query, profile=profile, where=where, as_of=moment, k=12)
            yield (query, profile, where, moment), {**plain(found.to_dict()), "explained": found.explain()}
