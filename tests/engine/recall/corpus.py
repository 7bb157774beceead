"""A small made-up project diary: sessions, decisions and notes whose words overlap as those of real ones do."""

from __future__ import annotations

import random
from typing import Any

_SUBJECTS = (
    "the billing database", "our search index", "the login page", "Redis", "the deploy script", "PostgreSQL 16",
    "the nightly backup", "the token parser", "Ada", "Grace", "the staging cluster", "error_handler",
)  # fmt: skip
_ACTIONS = (
    "was moved to another host", "fails when the queue is empty", "needs an index on created_at", "was reviewed by",
    "replaces the old cache", "should retry three times", "times out after 30 seconds", "has no tests yet",
    "broke the build", "is faster than before", "was rolled back",
)  # fmt: skip
_TYPES = ("note", "decision", "agent_task", "rule", "github_commit", "session")
_COLLECTIONS = ("notes", "discussions", "code-patterns", "elsewhere")
QUERIES = (
    "why was the billing database moved", "Redis cache", "who reviewed the token parser", "time out after 30 seconds",
    "error_handler retries", "nightly backup fails", "index on created_at", "staging", "Ada", "the of and", "zebra",
    "what broke the build in february 2026", "PostgreSQL 16 faster than before queue host index cache",
)  # fmt: skip


def records(n: int, seed: int = 7) -> list[dict[str, Any]]:
    """Return ``n`` records; about a third follow each other in sessions, a tenth have no date."""
    rng = random.Random(seed)
    made: list[dict[str, Any]] = []
    for i in range(n):
        sentences = [
            f"{rng.choice(_SUBJECTS)} {rng.choice(_ACTIONS)} {rng.choice(_SUBJECTS)}"
            for _ in range(rng.choice((1, 1, 2, 9)))
        ]
        record: dict[str, Any] = {
            "text": f"{'. '.join(sentences)} ({i}).", "type": rng.choice(_TYPES), "collection": rng.choice(_COLLECTIONS),
            "project": rng.choice(("api", "web", None)), "metadata": {"n": i, "owner": rng.choice(("ada", "bob"))},
        }  # fmt: skip
        if rng.random() < 0.9:
            record["created_at"] = f"2026-{rng.randint(1, 2):02}-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:00:00Z"
        if rng.random() < 0.35:
            record["session"] = f"s{rng.randint(1, 4)}"
        if rng.random() < 0.3:
            record["tags"] = rng.sample(["db", "infra", "urgent"], 2)
        if rng.random() < 0.3:
            record["title"] = rng.choice(_SUBJECTS)
        made.append(record)
    return made


def same_part(document: dict[str, Any]) -> dict[str, Any]:
    """Return what must be equal between equal recalls."""
    return {name: value for name, value in document.items() if name not in ("snapshot", "took_ms")}
