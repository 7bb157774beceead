from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lamina_engine.chunks import lifecycle
from lamina_engine.embed.chat import Budget, ChatEndpoint, InvalidAnswer
from lamina_engine.errors import InvalidArgument, InvalidConfig
from lamina_engine.judging.verdicts import parse_names
from lamina_engine.memory import Memory
from lamina_engine.topics.catalog import topics
from lamina_engine.topics.clustering import cluster
from lamina_engine.topics.naming import ASKED_AT_ONCE, PROMPT
from tests.engine.judging.chatserver import ChatServer, serving
from tests.engine.topics.vaults import blobs, fill


@pytest.fixture(autouse=True)
def _nobody_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LAMINA_JUDGE_URL", "LAMINA_JUDGE_MODEL", "LAMINA_JUDGE_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as running:
        yield running


@pytest.fixture
def namer(server: ChatServer) -> Iterator[ChatEndpoint]:
    made = ChatEndpoint(server.url, "tiny", api_key_env=None, max_retries=0)
    yield made
    made.close()


@pytest.fixture
def three(memory: Memory) -> Memory:
    """Three topics: of gardens, of Python, of bread."""
    fill(memory, *blobs((40, 30, 20)))
    return memory


def said(*names: str, **more: Any) -> str:
    return json.dumps([{"topic": i, "name": name, **more} for i, name in enumerate(names, 1)])


def names_of(memory: Memory) -> dict[str, str]:
    return {topic.id: topic.name for topic in topics(memory)}


def test_a_model_names_topics_by_their_words_and_exemplars(
    three: Memory, server: ChatServer, namer: ChatEndpoint
) -> None:
    server.script = [said("First things", '"Second things"', "Third things")]
    report = cluster(three, namer=namer)
    assert (report.named, report.note) == (3, None)
    assert set(names_of(three).values()) == {"First things", "Second things", "Third things"}
    ((_, _, body),) = server.requests
    assert body["messages"][0]["content"] == PROMPT
    shown = json.loads(body["messages"][1]["content"])["topics"]
    assert [each["topic"] for each in shown] == [1, 2, 3]
    garden = next(each for each in shown if "garden" in each["words"])
    assert all(note.startswith("garden rose soil") for note in garden["notes"])
    # the topic that was shown under a number has the name that was given to that number
    first = next(topic for topic in topics(three) if topic.name == "First things")
    assert list(first.words) == shown[0]["words"]


def test_names_stay_over_new_clusterings_and_only_new_topics_are_asked_about(
    three: Memory, server: ChatServer, namer: ChatEndpoint
) -> None:
    server.script = [said("One", "Two", "Three")]
    cluster(three, namer=namer)
    before = names_of(three)
    assert cluster(three, namer=namer, full=True).named == 0
    assert names_of(three) == before
    vectors, owners = blobs((0, 0, 0, 40), seed=5)
    fill(three, vectors, owners, prefix="d")
    server.script = [said("Four")]
    report = cluster(three, namer=namer, full=True)
    assert (report.named, len(server.requests)) == (1, 2)
    after = names_of(three)
    assert before.items() <= after.items()
    assert set(after.values()) == {"One", "Two", "Three", "Four"}
    for chunk in ("c3", "c50"):
        lifecycle.invalidate(three, chunk, "old")
    assert cluster(three, names="words").incremental
    assert names_of(three) == after
    assert cluster(three, namer=namer).named == 0
    assert len(server.requests) == 2


def test_an_endpoint_that_comes_later_names_what_words_named(
    three: Memory, server: ChatServer, namer: ChatEndpoint
) -> None:
    assert cluster(three).named == 0
    before = names_of(three)
    server.script = [said("One", "Two", "Three")]
    report = cluster(three, namer=namer)
    assert (report.named, report.written, report.incremental) == (3, True, True)
    assert names_of(three).keys() == before.keys()
    assert set(names_of(three).values()) == {"One", "Two", "Three"}
    assert not cluster(three, namer=namer).written


def test_a_bad_answer_is_asked_for_once_more_and_then_words_do(
    three: Memory, server: ChatServer, namer: ChatEndpoint
) -> None:
    server.script = [said("One", "Two", "x" * 61), said("One", "Two", "Three")]
    assert cluster(three, namer=namer).named == 3
    assert "could not be used" in server.questions()[1]
    server.script = ["no", "nothing"]
    vectors, owners = blobs((0, 0, 0, 40), seed=5)
    fill(three, vectors, owners, prefix="d")
    report = cluster(three, namer=namer, full=True)
    assert (report.named, report.note) == (
        0,
        "1 topic keeps its words as names: none of 1 answers could be used, the last because the answer contains no JSON",
    )
    assert "guitar" in next(name for name in names_of(three).values() if name not in ("One", "Two", "Three"))


def test_of_two_equal_names_one_stands(three: Memory, server: ChatServer, namer: ChatEndpoint) -> None:
    server.script = [said("Same", "same", "Other")]
    report = cluster(three, namer=namer)
    assert (report.named, report.note) == (2, "1 topic keeps its words as names")
    assert sorted(names_of(three).values())[:2] == ["Other", "Same"]


def test_a_failing_endpoint_leaves_words_and_says_so(three: Memory, server: ChatServer, namer: ChatEndpoint) -> None:
    server.script = [500]
    report = cluster(three, namer=namer)
    assert (report.named, report.topics) == (0, 3)
    assert report.note is not None
    assert "3 topics keep their words as names" in report.note
    assert "500" in report.note


def test_the_budget_ends_it(memory: Memory, server: ChatServer, namer: ChatEndpoint) -> None:
    fill(memory, *blobs((12,) * (ASKED_AT_ONCE + 3), spread=0.05))
    server.otherwise = said(*"abcdefgh")
    report = cluster(memory, namer=namer, budget=Budget(requests=1))
    assert (report.topics, report.named, len(server.requests)) == (ASKED_AT_ONCE + 3, ASKED_AT_ONCE, 1)
    assert report.note == "3 topics keep their words as names: the budget is spent (1 requests, 100 tokens)"
    server.otherwise = said("i", "j", "k")
    assert cluster(memory, namer=namer).named == 3


def test_secrets_in_a_name_are_masked(three: Memory, server: ChatServer, namer: ChatEndpoint) -> None:
    server.script = [said("One", "key sk-ant-api03-" + "Ab9dE" * 7, "Three")]
    cluster(three, namer=namer)
    assert not any("Ab9dE" in name for name in names_of(three).values())


def test_who_names(three: Memory, server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidConfig, match="LAMINA_JUDGE_URL"):
        cluster(three, names="model")
    with pytest.raises(InvalidArgument, match="names="):
        cluster(three, names="nobody")  # type: ignore[arg-type]
    with pytest.raises(InvalidConfig, match="unknown: key"):
        cluster(three, namer={"url": server.url, "model": "tiny", "key": "x"})
    monkeypatch.setenv("LAMINA_JUDGE_URL", server.url)
    monkeypatch.setenv("LAMINA_JUDGE_MODEL", "tiny")
    server.otherwise = said("One", "Two", "Three")
    assert cluster(three, names="words").named == 0
    assert server.requests == []
    assert cluster(three).named == 3


def test_its_steps_are_told(three: Memory, server: ChatServer, namer: ChatEndpoint) -> None:
    server.script = [said("One", "Two", "Three")]
    steps: list[Any] = []
    cluster(three, namer=namer, progress=steps.append)
    assert [(step.done, step.total) for step in steps if step.stage == "naming"] == [(0, 3)]


@pytest.mark.parametrize(
    "answer",
    [
        "", "none", "{", "[]", '[{"topic": 1}]', '[{"topic": 1, "name": "a", "why": "b"}]', '[{"topic": "1", "name": "a"}]',
        '[{"topic": 0, "name": "a"}]', '[{"topic": 3, "name": "a"}]', '[{"topic": 1, "name": "a"}, {"topic": 1, "name": "b"}]',
        '[{"topic": 1, "name": ""}]', '[{"topic": 1, "name": "…"}]', '[{"topic": 1, "name": "a\\nb"}]',
        '[{"topic": 1, "name": "Topic name"}]', '[{"topic": 1, "name": "\\u001b[2J"}]', '["a", "b"]',
        json.dumps([{"topic": 1, "name": "x" * 61}]),
    ],
)  # fmt: skip
def test_answers_that_cannot_be_used(answer: str) -> None:
    with pytest.raises(InvalidAnswer):
        parse_names(answer, 2)


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ('[{"topic": 2, "name": " Roses "}]', {2: "Roses"}),
        ('{"topics": [{"topic": 1, "name": "Bread"}]}', {1: "Bread"}),
        ('{"topic": 1, "name": "Bread"}', {1: "Bread"}),
        ('Here:\n```json\n[{"topic": 1, "name": "日本"}]\n```', {1: "日本"}),
    ],
)
def test_answers_that_can(answer: str, names: dict[int, str]) -> None:
    assert parse_names(answer, 2) == names
