"""Many calls: writers beside one another, budgets, and the answers of the vault itself."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

import lamina
from lamina.mcp.access import VaultAccess
from lamina.mcp.answers import Answer
from lamina.mcp.server import make_server
from lamina.mcp.tools import TOOLS
from lamina_engine.evaluation.reader import load_set
from tests.bindings.mcp.conftest import caller
from tests.bindings.mcp.test_stdio import Wire

BEGINNINGS = (
    "We decided",
    "The deploy of",
    "Ann prefers",
    "网关会重试",
    "Кэш устарел",
    "SELECT * FROM",
    "def retry(n):",
)


@pytest.mark.parametrize(("clients", "calls"), [(3, 10), pytest.param(8, 200, marks=pytest.mark.slow)])
def test_servers_lose_no_memory_of_one_another(folder: Path, clients: int, calls: int) -> None:
    wires = [Wire(folder).begin() for _ in range(clients)]
    for number in range(calls):
        for place, wire in enumerate(wires):
            wire.send(
                id=number + 1, method="tools/call",
                params={"name": "memory_add", "arguments": {"text": f"Client {place} writes memory {number}."}},
            )  # fmt: skip
        for wire in wires:
            answer = wire.answer(number + 1)["result"]
            assert answer["structuredContent"].get("stored") is True, answer
    for wire in wires:
        wire.end()
        wire.close()
    with lamina.open(folder, mode="r") as vault:
        texts = {chunk.text for chunk in vault.list({"project": {"exists": False}}, None)}
        assert texts == {
            f"Client {place} writes memory {number}." for place in range(clients) for number in range(calls)
        }
        assert vault.verify().ok


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault of texts in several scripts and of all lengths, with links, sessions and facts."""
    source = random.Random(7)
    path = tmp_path_factory.mktemp("mixed") / "vault"
    with lamina.open(path, create=True, clock=lamina.FixedClock("2026-03-01")) as vault:
        ids = vault.add([
            {
                "text": " ".join(f"{source.choice(BEGINNINGS)} {source.random():.6f}" for _ in range(source.choice((1, 4, 40, 900)))),
                "title": f"{source.choice(BEGINNINGS)} {n} " * source.choice((0, 1, 20)) or None,
                "session": f"s{n % 5}", "project": source.choice(("api", "kitchen")), "source": f"notes/{'deep/' * (n % 9)}{n}.md",
                "created_at": f"2026-02-{n % 27 + 1:02d}",
            }
            for n in range(120)
        ])  # fmt: skip
        for before, after in itertools.pairwise(ids):
            vault.link(before, after, source.choice(("causal", "next", "supporting")))
        for n in range(40):
            vault.facts.add(f"Service {n % 7}", f"property_{n}", f"value {n} " * 20)
    return path


def random_calls(vault: lamina.Vault, source: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    ids = [chunk.id for chunk in vault.list(None, None)]

    def question() -> str:
        return " ".join(
            source.choice([*BEGINNINGS, "why", "retry", "0.5", "Service 3"]) for _ in range(source.randint(1, 6))
        )

    while True:
        limit = source.choice((100, 101, 130, 200, 500, 1_000, 4_000))
        calls: list[tuple[str, dict[str, Any]]] = [
            ("memory_recall", {"query": question(), "k": source.randint(1, 50), "full": source.random() < 0.5, "max_tokens": limit}),
            ("memory_get", {"ids": source.sample(ids, source.randint(1, 20)), "history": source.random() < 0.5, "max_tokens": limit}),
            ("memory_trace", {"mode": source.choice(("causes", "chain", "timeline", "similar", "links")), "id": source.choice(ids),
                              "depth": source.randint(1, 10), "max_tokens": limit}),
            ("search", {"query": question(), "max_tokens": limit}),
            ("recall", {"query": question(), "max_tokens": limit}),
            ("chain", {"id": source.choice(ids), "max_tokens": limit}),
            ("reconstruct", {"project": "api", "keep_newest": source.random() < 0.5, "max_tokens": limit}),
        ]  # fmt: skip
        yield source.choice(calls)


@pytest.mark.parametrize("calls", [60, pytest.param(2_000, marks=pytest.mark.slow)])
def test_no_answer_has_more_tokens_than_were_allowed(mixed: Path, calls: int) -> None:
    access = VaultAccess(mixed, clock=lamina.FixedClock("2026-03-01"))
    call, vault = caller(access), access.read()
    source = random_calls(vault, random.Random(11))
    for _ in range(calls):
        tool, given = next(source)
        answer = call(tool, **given)
        assert not answer.failed, answer.text
        assert vault.context.count_tokens(answer.text) <= given["max_tokens"], (tool, given)


@pytest.mark.parametrize("calls", [60, pytest.param(2_000, marks=pytest.mark.slow)])
def test_wrong_arguments_of_any_kind_are_answered(mixed: Path, calls: int) -> None:
    call = caller(VaultAccess(mixed, read_only=True))
    source = random.Random(3)
    odd: list[Any] = [
        None, "", "x", " ", -1, 0, 1e308, True, [], {}, ["x", 1], {"a": {"b": []}}, "\x00", "\ud800", "x" * 30_000, "#", "2026-13-40",
        {"AND": 1}, "[", "99999999999999999999", {"created_at": {"gt": "never"}},
    ]  # fmt: skip
    tools = list(TOOLS.values())
    for _ in range(calls):
        tool = source.choice(tools)
        given = {name: source.choice(odd) for name in tool.parameters if source.random() < 0.7}
        answer: Answer = call(tool.name, **given)
        assert "Traceback" not in answer.text
        assert "unexpectedly" not in answer.text, (tool.name, given)
        assert len(answer.text) < 40_000


@pytest.mark.parametrize(
    ("name", "questions"),
    [
        ("multihop-dev", 20),
        *(pytest.param(name, 100, marks=pytest.mark.slow) for name in ("multihop-dev", "locomo-dev")),
    ],
)  # fmt: skip
def test_questions_of_people_get_the_hits_that_recall_gives(
    data: Path, tmp_path: Path, name: str, questions: int
) -> None:
    labelled = load_set(data / name)
    asked = [query.text for query in labelled.queries][:questions]
    assert len(asked) == questions
    clock = lamina.FixedClock("2026-03-01")
    with lamina.open(tmp_path / "v", create=True, clock=clock) as vault:
        vault.add(labelled.records)
        expected = [[hit.id for hit in vault.recall(question, 8)] for question in asked]
    got: list[list[str]] = []

    async def run() -> None:
        async with Client(make_server(VaultAccess(tmp_path / "v", clock=clock))) as client:
            for question in asked:
                result = await client.call_tool("memory_recall", {"query": question})
                assert result.structured_content is not None
                got.append([hit["id"] for hit in result.structured_content["hits"]])

    anyio.run(run)
    assert got == expected
