from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina import FixedClock, Vault
from lamina_engine.chunks import lifecycle
from lamina_engine.embed.chat import Budget, ChatEndpoint
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.graph import judged
from lamina_engine.graph.generators import build
from lamina_engine.graph.judged import CAUSES_PROMPT, LINKS_PROMPT, judge_links, pending_groups, pending_notes
from lamina_engine.graph.links import claims_of, links_of
from lamina_engine.judging.queue import MAX_ATTEMPTS
from lamina_engine.memory import Memory
from tests.engine.graph.filling import claimed, fill
from tests.engine.graph.test_semantic import at
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


@pytest.fixture
def dense(tmp_path: Path) -> Iterator[Memory]:
    embedder = CallableEmbedder(lambda texts: np.eye(8)[[0] * len(texts)], 8, identity="axes")
    memory = Memory(tmp_path / "vault", create=True, clock=FixedClock(0), embedder=embedder)
    yield memory
    memory.close()


def verdict(
    index: int = 1, kind: str = "supporting", confidence: float = 0.75, why: str = "it says so"
) -> dict[str, Any]:
    return {"target_idx": index, "link_type": kind, "confidence": confidence, "reasoning": why}


def said(*verdicts: dict[str, Any]) -> str:
    return json.dumps(verdicts)


def test_a_note_is_linked_to_the_neighbours_that_the_model_names(
    dense: Memory, server: ChatServer, judge: ChatEndpoint
) -> None:
    fill(dense, list("abc"), vectors=at(0.9, 0.5), titles=["A", "B", "C"])
    server.script = [said(verdict(2, "contradicts", 0.75, "no"), verdict(1))]
    written, report = judge_links(dense, judge)
    assert claimed(dense, "judged") == {("a", "c", "contradicts"): 0.75, ("a", "b", "supporting"): 0.75}
    (link,) = links_of(dense.view(), "a", relations=["contradicts"])
    assert (link.note, link.origin) == ("no", "judged")
    assert (written.added, report.judged, report.left, report.requests, report.tokens) == (2, 3, 0, 3, 300)
    assert report.summary() is None
    _, _, body = server.requests[0]
    assert body["messages"][0]["content"] == LINKS_PROMPT
    question = json.loads(body["messages"][1]["content"])
    assert question["note"] == {"title": "A", "text": "text of a"}
    assert [each["title"] for each in question["neighbours"]] == ["B", "C"]
    assert [each["index"] for each in question["neighbours"]] == [1, 2]


def test_a_second_run_asks_nothing(dense: Memory, server: ChatServer, judge: ChatEndpoint) -> None:
    fill(dense, list("ab"), vectors=at(0.9))
    judge_links(dense, judge)
    before = len(server.requests)
    _written, report = judge_links(dense, judge)
    assert (report.requests, report.judged, len(server.requests)) == (0, 0, before)
    fill(dense, ["c"], vectors=at()[:1])
    assert [name for name, _ in pending_notes(dense.view())] == ["c"]


def test_one_malformed_element_rejects_all_and_is_asked_once_more(
    dense: Memory, server: ChatServer, judge: ChatEndpoint
) -> None:
    fill(dense, list("ab"), vectors=at(0.9))
    server.script = [said(verdict(), verdict(kind="contradict")), said(verdict())]
    _written, report = judge_links(dense, judge)
    assert claimed(dense, "judged") == {("a", "b", "supporting"): 0.75}
    assert "could not be used" in server.questions()[1]
    assert (report.requests, report.invalid) == (3, 0)


def test_nothing_is_written_from_an_invalid_answer_and_it_waits(
    dense: Memory, server: ChatServer, judge: ChatEndpoint
) -> None:
    fill(dense, list("ab"), vectors=at(0.9))
    server.otherwise = said(verdict(), verdict(confidence=1.2))
    for attempt in range(MAX_ATTEMPTS + 2):
        written, report = judge_links(dense, judge)
        assert (report.invalid, report.judged, written.added) == (2, 0, 0)
        assert len(server.requests) == 4 * (attempt + 1)
        assert report.left == 2  # a model that answers nothing usable gives up no question
        assert "none of 2 answers" in str(report.summary())
    assert claimed(dense, "judged") == {}


def test_a_question_is_given_up_where_the_model_could_answer_others(
    dense: Memory, server: ChatServer, judge: ChatEndpoint
) -> None:
    fill(dense, list("ab"), vectors=at(0.9))
    bad = said(verdict(confidence=1.2))
    for attempt in range(MAX_ATTEMPTS):
        server.script = [bad, bad, bad, bad, "[]"]
        fill(dense, [f"c{attempt}"], vectors=at()[:1])
        assert judge_links(dense, judge)[1].invalid == 2
    assert judge_links(dense, judge)[1].requests == 0


def test_a_failing_endpoint_ends_the_run_and_the_next_one_goes_on(
    dense: Memory, server: ChatServer, judge: ChatEndpoint
) -> None:
    fill(dense, list("abcd"), vectors=at(0.9, 0.8, 0.7))
    server.script = [said(verdict()), 500]
    written, report = judge_links(dense, judge)
    assert (written.added, report.judged, report.left) == (1, 1, 3)
    assert report.stopped is not None
    assert "500" in report.stopped
    assert [name for name, _ in pending_notes(dense.view())] == list("bcd")
    written, report = judge_links(dense, judge)
    assert (report.judged, report.left, report.stopped) == (3, 0, None)


def test_the_queue_outlives_the_process(tmp_path: Path, server: ChatServer, judge: ChatEndpoint) -> None:
    embedder = CallableEmbedder(lambda texts: np.eye(8)[[0] * len(texts)], 8, identity="axes")
    first = Memory(tmp_path / "vault", create=True, clock=FixedClock(0), embedder=embedder)
    fill(first, list("abc"), vectors=at(0.9, 0.8))
    judge_links(first, judge, budget=Budget(requests=1))
    first.close()
    second = Memory(tmp_path / "vault", clock=FixedClock(0), embedder=embedder)
    assert [name for name, _ in pending_notes(second.view())] == ["b", "c"]
    second.close()


def test_a_run_costs_no_more_than_its_budget(dense: Memory, server: ChatServer, judge: ChatEndpoint) -> None:
    fill(dense, list("abcd"), vectors=at(0.9, 0.8, 0.7))
    _written, report = judge_links(dense, judge, budget=Budget(requests=2))
    assert (report.requests, report.left) == (2, 2)
    assert report.stopped is not None
    assert "budget" in report.stopped
    assert judge_links(dense, judge, budget=Budget(tokens=1_000))[1].requests == 0  # an answer alone may take more
    assert judge_links(dense, judge, budget=Budget(tokens=3_000))[1].tokens <= 3_000


def test_neighbours_of_ones_own_document_are_not_asked_about(
    dense: Memory, server: ChatServer, judge: ChatEndpoint
) -> None:
    fill(dense, list("abc"), vectors=at(0.99, 0.5), sources=["s", "s", None], ordinals=[0, 1, -1])
    judge_links(dense, judge)
    asked = [json.loads(question) for question in server.questions()]
    assert [len(each["neighbours"]) for each in asked] == [1, 1]  # a to c, and c to the nearest of s
    assert asked[0]["neighbours"][0]["text"] == "text of c"


def test_a_note_without_neighbours_is_settled_unasked(dense: Memory, server: ChatServer, judge: ChatEndpoint) -> None:
    fill(dense, ["a"], vectors=at())
    assert judge_links(dense, judge)[1].judged == 1
    assert server.requests == []


def test_an_edited_note_is_judged_anew_and_what_is_not_said_again_goes(
    dense: Memory, server: ChatServer, judge: ChatEndpoint
) -> None:
    fill(dense, list("abc"), vectors=at(0.9, 0.5))
    server.script = [said(verdict(1), verdict(2))]
    judge_links(dense, judge)
    lifecycle.update(dense, "a", {"text": "it is not so"})
    assert [name for name, _ in pending_notes(dense.view())] == ["a"]
    server.otherwise = said(verdict(1, confidence=0.5))
    written, _report = judge_links(dense, judge)
    assert (written.updated + written.added, written.withdrawn) == (1, 1)
    assert len(claimed(dense, "judged")) == 1


def test_what_a_user_said_stands(dense: Memory, server: ChatServer, judge: ChatEndpoint) -> None:
    from lamina_engine.graph import log

    fill(dense, list("ab"), vectors=at(0.9))
    log.write(dense, [log.Draft("a", "b", "supporting", 0.1, "mine")])
    server.script = [said(verdict())]
    judge_links(dense, judge)
    (link,) = links_of(dense.view(), "a", relations=["supporting"])
    assert (link.note, link.origin) == ("mine", "user")


def test_secrets_in_a_reason_are_masked(dense: Memory, server: ChatServer, judge: ChatEndpoint) -> None:
    fill(dense, list("ab"), vectors=at(0.9))
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    server.script = [said(verdict(why=f"it uses {token}"))]
    judge_links(dense, judge)
    assert token not in str(claims_of(dense.view(), "judged")[0].note)


# ---------------------------------------------------------------------- causes


def test_causes_within_a_session(lexical_vault: Vault, server: ChatServer, judge: ChatEndpoint) -> None:
    memory = lexical_vault._memory
    facts = [["The disk was full.", "Nobody looked."], ["The build failed."]]
    fill(
        memory,
        ["x", "y", "z"],
        sessions=["s1", "s1", "s2"],
        metadata=[json.dumps({"facts": facts[0]}), json.dumps({"facts": facts[1]}), None],
    )
    server.script = [
        json.dumps(
            [
                {"source_fact_idx": 0, "target_fact_idx": 2, "confidence": 0.6, "reasoning": "no room"},
                {"source_fact_idx": 1, "target_fact_idx": 2, "confidence": 0.59, "reasoning": "too late"},
                {"source_fact_idx": 0, "target_fact_idx": 1, "confidence": 0.9, "reasoning": "one document"},
            ]
        )
    ]
    written, _report = judge_links(memory, judge)
    assert written.added == 1
    (link,) = claims_of(memory.view(), "judged")
    assert (link.source, link.target, link.relation, link.note) == ("x", "y", "causal", "no room")
    assert link.weight == pytest.approx(0.6)
    assert len(server.requests) == 1  # one document alone is not asked about
    assert server.requests[0][2]["messages"][0]["content"] == CAUSES_PROMPT
    assert [fact["fact"] for fact in json.loads(server.questions()[0])["facts"]] == facts[0] + facts[1]
    assert judge_links(memory, judge)[1].requests == 0
    fill(memory, ["w"], sessions=["s2"])
    assert len(pending_groups(memory.view())) == 1


def test_an_unreadable_answer_about_causes_waits(lexical_vault: Vault, server: ChatServer, judge: ChatEndpoint) -> None:
    memory = lexical_vault._memory
    fill(memory, ["x", "y"], sessions=["s", "s"])
    server.otherwise = "I do not know."
    _written, report = judge_links(memory, judge)
    assert (report.invalid, report.requests, report.judged) == (1, 2, 0)
    server.otherwise = "[]"
    assert judge_links(memory, judge)[1].judged == 1
    assert claimed(memory, "judged") == {}


def test_a_long_session_is_asked_about_in_parts(lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = lexical_vault._memory
    fill(memory, [f"n{i}" for i in range(7)], sessions=["s"] * 7)
    monkeypatch.setattr(judged, "_MAX_STATEMENTS", 3)
    groups = pending_groups(memory.view())
    assert [len(facts) for _, facts in groups] == [3, 3, 1]
    assert [fact.document for _, facts in groups for fact in facts] == [f"n{i}" for i in range(7)]


def test_through_build(dense: Memory, server: ChatServer, judge: ChatEndpoint) -> None:
    fill(dense, list("ab"), vectors=at(0.9))
    server.script = [said(verdict())]
    report = build(dense, ["judged"], judge=judge, budget=Budget(requests=1)).kinds["judged"]
    assert report.added == 1
    assert report.note is not None
    assert "1 still wait" in report.note
