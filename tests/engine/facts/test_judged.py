from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lamina_engine.embed.chat import Budget, ChatEndpoint
from lamina_engine.facts.contradictions import contradictions_of
from lamina_engine.facts.judged import DISPUTES_PROMPT, TRIPLES_PROMPT, extract_judged, judge_contradictions, pending
from lamina_engine.facts.log import write
from lamina_engine.facts.schema import Draft
from lamina_engine.facts.view import fact_view_at
from lamina_engine.memory import Memory
from tests.engine.graph.filling import fill
from tests.engine.judging.chatserver import ChatServer, serving


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as running:
        yield running


@pytest.fixture
def judge(server: ChatServer) -> Iterator[ChatEndpoint]:
    made = ChatEndpoint(server.url, "tiny", api_key_env=None, max_retries=0)
    yield made
    made.close()


def triple(subject: str = "Keystone", predicate: str = "uses", object: str = "SQLite", **more: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": object, **more}


def dispute(new: int = 1, old: int = 0, relation: str = "contradiction", sure: float = 0.9) -> dict[str, Any]:
    return {"new_idx": new, "old_idx": old, "relation": relation, "confidence": sure, "reasoning": "it cannot be"}


def said(memory: Memory) -> set[tuple[str, str, str, float]]:
    kg = fact_view_at(memory)
    return {(f.subject, f.predicate, f.object, round(f.confidence, 3)) for f in kg.find(predicate=None)}


def test_triples_of_a_chunk(memory: Memory, server: ChatServer, judge: ChatEndpoint) -> None:
    fill(memory, list("ab"), types=["decision", "note"])
    server.script = [json.dumps([triple(), triple(predicate="likes")])]
    report = extract_judged(memory, judge)
    assert said(memory) == {("Keystone", "uses", "SQLite", 0.7)}
    assert (report.added, report.requests, report.tokens, report.left) == (1, 1, 100, 0)
    assert len(report.dropped) == 1
    assert server.requests[0][2]["messages"][0]["content"] == TRIPLES_PROMPT
    assert json.loads(server.questions()[0])["text"] == "text of a"
    assert {f.chunk for f in fact_view_at(memory).find(predicate="uses")} == {"a"}


def test_a_second_run_asks_nothing(memory: Memory, server: ChatServer, judge: ChatEndpoint) -> None:
    fill(memory, ["a"], types=["decision"])
    extract_judged(memory, judge)
    assert extract_judged(memory, judge).requests == 0
    assert pending(memory.view()) == []


def test_one_malformed_element_rejects_all_and_is_asked_once_more(
    memory: Memory, server: ChatServer, judge: ChatEndpoint
) -> None:
    fill(memory, ["a"], types=["decision"])
    server.script = [
        json.dumps([triple(), triple(sure=1)]),
        "```json\n" + json.dumps({"triples": [triple()]}) + "\n```",
    ]
    report = extract_judged(memory, judge)
    assert (report.requests, report.added) == (2, 1)
    assert "could not be used" in server.questions()[1]


def test_nothing_is_written_from_invalid_answers_and_it_is_given_up_in_the_end(
    memory: Memory, server: ChatServer, judge: ChatEndpoint
) -> None:
    fill(memory, ["a"], types=["decision"])
    for number in range(3):
        fill(memory, [f"b{number}"], types=["decision"])
        server.script = ["no JSON at all", "nor here", "[]"]
        assert extract_judged(memory, judge).requests == 3
    assert extract_judged(memory, judge).requests == 0
    assert said(memory) == set()


def test_a_failing_endpoint_ends_the_run_and_the_next_goes_on(
    memory: Memory, server: ChatServer, judge: ChatEndpoint
) -> None:
    fill(memory, list("abc"), types=["decision"] * 3)
    server.script = [json.dumps([triple()]), 500]
    report = extract_judged(memory, judge)
    assert (report.added, report.left) == (1, 2)
    assert report.stopped is not None
    assert extract_judged(memory, judge).left == 0


def test_the_budget_ends_a_run(memory: Memory, server: ChatServer, judge: ChatEndpoint) -> None:
    fill(memory, list("abc"), types=["decision"] * 3)
    report = extract_judged(memory, judge, budget=Budget(requests=1))
    assert (report.requests, report.left) == (1, 2)
    assert "budget" in str(report.stopped)


def test_judged_contradictions_lower_the_older_fact_once(
    memory: Memory, server: ChatServer, judge: ChatEndpoint
) -> None:
    write(memory, [Draft("Dana", "likes", "tea"), Draft("Dana", "dislikes", "tea"), Draft("Eve", "likes", "tea")])
    server.script = [json.dumps([dispute(), dispute()])]
    noted, report = judge_contradictions(memory, judge)
    assert server.requests[0][2]["messages"][0]["content"] == DISPUTES_PROMPT
    assert [each["fact"] for each in json.loads(server.questions()[0])["facts"]] == [
        "Dana likes tea",
        "Dana dislikes tea",
    ]
    assert (len(noted), report.asked, report.requests) == (1, 1, 1)
    assert ("Dana", "likes", "tea", 0.75) in said(memory)
    assert judge_contradictions(memory, judge)[1].requests == 0
    assert len(contradictions_of(memory.view())) == 1


@pytest.mark.parametrize(
    "answer",
    [[dispute(sure=0.69)], [dispute(), dispute(relation="update")], [dispute(), dispute(relation="same")], [dispute(relation="same")],
     [dispute(new=7)], [dispute(new=0)]],
)  # fmt: skip
def test_unsure_split_and_absent_pairs_change_nothing(
    memory: Memory, server: ChatServer, judge: ChatEndpoint, answer: list[dict[str, Any]]
) -> None:
    write(memory, [Draft("Dana", "likes", "tea"), Draft("Dana", "dislikes", "tea")])
    server.script = [json.dumps(answer)]
    assert judge_contradictions(memory, judge)[0] == []
    assert {each[3] for each in said(memory)} == {1.0}


def test_something_new_is_asked_about_again(memory: Memory, server: ChatServer, judge: ChatEndpoint) -> None:
    write(memory, [Draft("Dana", "likes", "tea"), Draft("Dana", "dislikes", "tea")])
    judge_contradictions(memory, judge)
    write(memory, [Draft("Dana", "likes", "coffee")])
    assert judge_contradictions(memory, judge)[1].requests == 1
