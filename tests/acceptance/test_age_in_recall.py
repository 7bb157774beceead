"""What age does to recall: exact old answers keep their place, newer versions lead, dialogues lose nothing."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.evaluation import load_set

NOW: Final = datetime(2026, 6, 30, 12, tzinfo=UTC)
VERBS: Final = (
    "deployed", "rolled back", "reviewed", "refactored", "benchmarked", "documented", "tested", "migrated", "debugged",
    "renamed", "bumped", "translated",
)  # fmt: skip
THINGS: Final = (
    "the retry loop", "the cache layer", "the feature flag", "the settings page", "the CSV export", "the rate limiter",
    "the login form", "the health check", "the Dockerfile", "the config loader", "the queue consumer",
    "the metrics endpoint", "the e-mail template", "the date parser", "the permission check", "the invoice view",
    "the price table", "the onboarding guide", "the backup script", "the password dialog",
)  # fmt: skip
SERVICES: Final = (
    "billing", "search", "gateway", "notifications", "identity", "catalog", "shipping", "reporting", "pricing",
    "inventory", "laboratory", "customer",
)  # fmt: skip
TYPES: Final = ("note", "agent_memory", "agent_task", "github_commit", "decision", "session_summary")


def lines_of(part: str) -> list[list[str]]:
    """Return the fields of each line of a part of ``ages.txt``."""
    text = Path(__file__).with_name("ages.txt").read_text(encoding="utf-8")
    body = text.partition(f"[{part}]\n")[2].partition("\n[")[0]
    return [line.split(" | ") for line in body.splitlines() if line]


def ago(days: float) -> str:
    return (NOW - timedelta(days=days)).isoformat()


def strangers(count: int) -> list[dict[str, Any]]:
    """Return chores of the last six days."""
    rng = random.Random(7)
    return [
        {
            "id": f"s{i}",
            "text": f"{rng.choice(VERBS).capitalize()} {rng.choice(THINGS)} of the {rng.choice(SERVICES)} service, ticket {i}.",
            "type": rng.choice(TYPES),
            "created_at": ago(rng.random() * 6.0),
        }
        for i in range(count)
    ]


def filled(path: Path, records: list[dict[str, Any]]) -> Vault:
    vault = lamina.open(path, create=True, clock=FixedClock(NOW.isoformat()))
    vault.add(records)
    return vault


PARTS: Final = pytest.mark.parametrize("parts", [("dev",), ("held-out", "unseen")], ids="-".join)


@PARTS
@pytest.mark.parametrize("count", [30, 2_000])
def test_exact_old_answers_stay_first_among_fresh_strangers(tmp_path: Path, parts: tuple[str, ...], count: int) -> None:
    # findings, seeds-b gap 1: of six such answers one was first
    rng, told = random.Random(3), [line for part in parts for line in lines_of(f"answers {part}")]
    answers = [
        {"id": f"a{i}", "text": text, "type": type_, "created_at": ago(rng.uniform(95, 300))}
        for i, (_, type_, text) in enumerate(told)
    ]
    with filled(tmp_path / "vault", strangers(count) + answers) as vault:
        first = [vault.recall(question, 1, profile="temporal")[0].id for question, *_ in told]
    assert sum(id_ == f"a{i}" for i, id_ in enumerate(first)) >= 0.95 * len(told)


@PARTS
@pytest.mark.parametrize(("new", "old"), [((1, 60), (95, 300)), ((100, 160), (195, 400))])
def test_of_two_versions_of_a_rule_the_newer_leads(
    tmp_path: Path, parts: tuple[str, ...], new: tuple[float, float], old: tuple[float, float]
) -> None:
    rng, told = random.Random(4), [line for part in parts for line in lines_of(f"rules {part}")]
    rules = [
        {"id": f"{name}{i}", "text": text, "type": fields[1], "created_at": ago(rng.uniform(*ages))}
        for i, fields in enumerate(told)
        for name, text, ages in (("old", fields[2], old), ("new", fields[3], new))
    ]
    with filled(tmp_path / "vault", strangers(300) + rules) as vault:
        first = [vault.recall(question, 1, profile="temporal")[0].id for question, *_ in told]
    assert sum(id_ == f"new{i}" for i, id_ in enumerate(first)) >= 0.95 * len(told)


def test_dialogues_asked_at_their_end_lose_nothing_by_age(data: Path, tmp_path: Path) -> None:
    if not (data / "locomo-dev").is_dir():
        pytest.skip("locomo-dev is not beside the project")
    given = load_set(data / "locomo-dev")
    ends: dict[str, str] = {}
    for record in given.records:
        ends[str(record["project"])] = max(ends.get(str(record["project"]), ""), str(record.get("created_at", "")))
    asked = [query for query in given.queries if query.gold and query.where]

    def recall_at_10(vault: Vault, profile: str) -> float:
        found = 0.0
        for query in asked:
            assert query.where is not None
            now = ends[str(query.where["project"])]
            hits = vault.recall(query.text, 10, profile=profile, where=query.where, now=now)
            found += len({hit.id for hit in hits} & set(query.gold)) / len(query.gold)
        return found / len(asked)

    with lamina.open(tmp_path / "vault", create=True) as vault:
        vault.add(given.records)
        plain, aged = recall_at_10(vault, "default"), recall_at_10(vault, "temporal")
    print(f"recall@10: default {plain:.3f}, temporal {aged:.3f}")
    assert aged >= plain - 0.01
