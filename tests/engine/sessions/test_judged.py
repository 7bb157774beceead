"""Observation blocks of sessions by a language model: golden answers, and a queue that neither loses nor repeats."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.chunks.writing import write
from lamina_engine.clock import US_PER_S, FixedClock
from lamina_engine.embed.chat import Answer, Budget, ChatEndpoint, InvalidAnswer
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.facts.view import fact_view_at
from lamina_engine.graph.judged import CAUSES_PROMPT
from lamina_engine.graph.links import claims_of
from lamina_engine.judging.queue import UNFIT, read_note
from lamina_engine.memory import Memory
from lamina_engine.sessions.judged import MOST, OBSERVE_PROMPT, judge, parse_answer, pending
from tests.engine.judging.chatserver import serving

START = 1_790_000_000
HOUR = 3_600

# the shape that ClawMem's observer answers with: prose around it, an attribute, unescaped signs, a second wrapper of triples
ANSWER = """Here is what I observed:
<observation number="1">
  <type>Decision</type>
  <title>Keys live in PostgreSQL</title>
  <facts>
    <fact>Idempotency keys are kept in PostgreSQL & not in Redis</fact>
    <fact>no</fact>
    <fact>Redis evicted keys in March</fact>
  </facts>
  <narrative>Redis evicted keys under memory pressure, so a customer was charged twice.</narrative>
  <triples>
    <triple><subject>Checkout</subject><predicate>migrated to</predicate><object>PostgreSQL</object></triple>
    <triple><subject>Checkout</subject><predicate>likes</predicate><object>Redis</object></triple>
    <triple><subject>entity</subject><predicate>uses</predicate><object>Redis</object></triple>
  </triples>
  <triples><triple><subject>Ada</subject><predicate>prefers</predicate><object>tabs</object></triple></triples>
</observation>
<observation><type>bugfix</type><title>Deadlock of the retry test</title>
  <facts><fact>The order was locked before the key</fact></facts>
  <triples><triple><subject>retry test</subject><predicate>caused_by</predicate><object>lock order</object></triple></triples>
</observation>
<observation><type>thought</type><title>Something else</title></observation>
<observation><type>discovery</type><title>title</title><facts><fact>It is a placeholder</fact></facts></observation>
"""
OTHER = (
    "<observation><type>preference</type><title>Ask before migrations</title><facts><fact>Migrations need a yes</fact></facts>"
    "<narrative>Ada wants to be asked first.</narrative></observation>"
)
CAUSE = '[{"source_fact_idx": 2, "target_fact_idx": 0, "confidence": 0.9, "reasoning": "evicted keys made them move"}]'


class Model:
    """Answers observations by a script, then with ``otherwise``; links with none, and causes with ``causes``."""

    max_answer_tokens = 100

    def __init__(self, *script: str, otherwise: str = "<nothing/>", causes: str = "[]") -> None:
        self.script, self.otherwise, self.causes = list(script), otherwise, causes
        self.asked: list[str] = []
        """Excerpts that it was shown."""
        self.requests = 0

    def ask(self, system: str, user: str) -> Answer:
        self.requests += 1
        if system == OBSERVE_PROMPT:
            self.asked.append(user)
            return Answer(self.script.pop(0) if self.script else self.otherwise, 10)
        return Answer(self.causes if system == CAUSES_PROMPT else "[]", 10)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    axes = CallableEmbedder(lambda texts: np.eye(8)[[len(text) % 8 for text in texts]], 8, identity="axes")
    made = Memory(tmp_path / "v", create=True, clock=FixedClock(START + 10 * HOUR), embedder=axes)
    yield made
    made.close()


def say(memory: Memory, *texts: str, session: str = "s", at_s: int = START, first: int = 0) -> None:
    """Write the chunks of a session, a minute apart."""
    n = len(texts)
    write(
        memory,
        ChunkBatch(
            list(texts), [f"{session}-{first + i}" for i in range(n)], ["conversation"] * n, ["discussions"] * n,
            sessions=[session] * n, projects=["shop"] * n, agents=["claude-code"] * n,
            created_at=[(at_s + 60 * (first + i)) * US_PER_S for i in range(n)],
        ),
    )  # fmt: skip


def observed(memory: Memory) -> list[dict[str, Any]]:
    view = memory.view()
    rows = np.flatnonzero(view.state.status == 0)
    fields = ("id", "title", "type", "text", "collection", "session", "project", "agent", "created_at")
    found = view.snapshot.records("chunks", rows, fields)
    return [record for record in found if record["collection"] == "observations"]


def test_an_answer_is_read_as_the_source_system_reads_it() -> None:
    found, dropped = parse_answer(ANSWER)
    assert [(each.type, each.title, each.facts) for each in found] == [
        ("decision", "Keys live in PostgreSQL",
         ("Idempotency keys are kept in PostgreSQL & not in Redis", "Redis evicted keys in March")),
        ("bugfix", "Deadlock of the retry test", ("The order was locked before the key",)),
    ]  # fmt: skip
    assert [(tuple(t), each.confidence) for each in found for t in each.triples] == [
        (("Checkout", "migrated_to", "PostgreSQL"), 0.9)
    ]
    assert len(dropped) == 6  # a short fact, two triples, a bugfix's triples, an unknown type, a placeholder
    assert parse_answer("<nothing/>") == ([], [])
    assert len(parse_answer(OTHER * (MOST + 2))[0]) == MOST
    for rubbish in ("", "I cannot do that.", "[]", "<observation><type>idea</type><title>x y</title></observation>"):
        with pytest.raises(InvalidAnswer):
            parse_answer(rubbish)


def test_a_session_becomes_observations_facts_and_causes(memory: Memory) -> None:
    say(memory, "[User] where do the keys live?", "[Agent] In PostgreSQL: Redis evicted them.")
    model = Model(ANSWER.replace("memory pressure", "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"), causes=CAUSE)
    report = judge(memory, model)
    assert (report.observations, report.facts, report.links, report.left, report.stopped) == (2, 1, 1, 0, None)
    assert model.asked == ["[User] where do the keys live?\n\n[Agent] In PostgreSQL: Redis evicted them."]
    decision, bugfix = observed(memory)
    assert (decision["type"], decision["title"]) == ("decision", "Keys live in PostgreSQL")
    assert decision["text"].startswith("Redis evicted keys under ")
    assert decision["text"].endswith("- Redis evicted keys in March")
    assert "ghp_" not in decision["text"]
    for each in (decision, bugfix):
        assert (each["session"], each["project"], each["agent"]) == ("s", "shop", "claude-code")
        assert each["created_at"] == (START + 60) * US_PER_S
    (fact,) = fact_view_at(memory).find(predicate=None)
    assert (fact.subject, fact.predicate, fact.object) == ("Checkout", "migrated_to", "PostgreSQL")
    assert fact.confidence == pytest.approx(0.9)
    assert fact.valid_from_us == (START + 60) * US_PER_S
    causes = [link for link in claims_of(memory.view(), "judged") if link.relation == "causal"]
    assert [(link.source, link.target) for link in causes] == [(bugfix["id"], decision["id"])]


def test_what_was_shown_is_not_shown_again_whatever_row_it_has(memory: Memory) -> None:
    say(memory, "[User] one", "[User] two")
    model = Model(OTHER)
    judge(memory, model)
    say(memory, "[User] one", "[User] two", session="copy")  # the same content under other ids
    write(
        memory,
        ChunkBatch(
            ["[User] one"], ["s-0"], ["conversation"], ["elsewhere"], sessions=["s"], created_at=[START * US_PER_S]
        ),
    )
    say(memory, "[User] three", first=2)
    judge(memory, model)
    assert model.asked == ["[User] one\n\n[User] two", "[User] three"]
    before = model.requests
    assert judge(memory, model).requests == 0
    assert model.requests == before
    assert len(observed(memory)) == 1


def test_a_session_that_goes_on_is_shown_by_full_excerpts(memory: Memory) -> None:
    long = "word " * 1_000
    now_us = (START + 5 * 60) * US_PER_S
    say(memory, *(f"{i} {long}" for i in range(5)))
    found = pending(memory.view(), now_us)
    assert [excerpt.rows for excerpt in found] == [(0, 1), (2, 3)]  # the last chunk may grow
    assert [excerpt.rows for excerpt in pending(memory.view(), now_us, over=["s"])] == [(0, 1), (2, 3), (4,)]
    assert [excerpt.rows for excerpt in pending(memory.view(), now_us + HOUR * US_PER_S)] == [(0, 1), (2, 3), (4,)]
    assert pending(memory.view(), now_us, over=["s"], private=["s"]) == []


def test_the_newest_session_is_shown_first(memory: Memory) -> None:
    say(memory, "old", session="a")
    say(memory, "new", session="b", at_s=START + HOUR)
    assert [excerpt.session for excerpt in pending(memory.view(), memory.clock.now_us())] == ["b", "a"]


@pytest.mark.parametrize("trouble", [500, 401, 429, "silence"])
def test_a_model_in_trouble_leaves_the_queue_with_the_reason(memory: Memory, trouble: int | str) -> None:
    say(memory, "[User] one")
    say(memory, "[User] two", session="t")
    with serving() as server:
        server.delay_s = 2.0 if trouble == "silence" else 0.0
        server.otherwise = trouble if isinstance(trouble, int) else OTHER
        model = ChatEndpoint(server.url, "tiny", api_key_env=None, max_retries=0, timeout_s=0.3)
        report = judge(memory, model)
        model.close()
    assert (report.observations, report.left) == (0, 2)
    assert str(trouble).replace("silence", "0.3") in str(report.stopped)
    gone = judge(memory, ChatEndpoint(server.url, "tiny", api_key_env=None, max_retries=0))  # nobody listens any more
    assert gone.left == 2
    note = read_note(memory.root)
    assert note is not None
    assert (note.left, note.stopped) == (2, gone.stopped)
    assert judge(memory, Model(OTHER)).observations == 1
    assert read_note(memory.root).left == 0  # type: ignore[union-attr]


def test_a_model_that_answers_rubbish_gives_up_no_question(memory: Memory) -> None:
    for i in range(UNFIT + 2):
        say(memory, f"[User] {i}", session=f"s{i}")
    for _ in range(5):
        model = Model(otherwise="As a language model, I")
        report = judge(memory, model)
        assert (report.observations, report.left) == (0, UNFIT + 2)
        assert "neither <observation> nor <nothing/>" in str(report.stopped)
        assert model.requests == 2 * UNFIT  # it costs little to find out
    assert judge(memory, Model(otherwise=OTHER)).left == 0
    assert len(observed(memory)) == 1  # all of them said the same


def test_a_question_that_cannot_be_answered_is_given_up_where_others_were_answered(memory: Memory) -> None:
    say(memory, "[User] poison", session="p")
    for attempt in range(3):
        say(memory, f"[User] fine {attempt}", session=f"f{attempt}", at_s=START + HOUR)
        assert judge(memory, Model(OTHER, "rubbish", "rubbish")).invalid == 1
    say(memory, "[User] fine again", session="g")
    model = Model()
    judge(memory, model)
    assert model.asked == ["[User] fine again"]


def test_the_budget_ends_a_run_and_the_next_goes_on(memory: Memory) -> None:
    for i in range(3):
        say(memory, f"[User] {i}", session=f"s{i}")
    model = Model(otherwise=OTHER)
    report = judge(memory, model, budget=Budget(requests=2))
    assert (report.requests, report.left) == (2, 1)
    assert "budget" in str(report.stopped)
    assert judge(memory, model).stopped is None
    assert sorted(model.asked) == ["[User] 0", "[User] 1", "[User] 2"]


class _Killed(Exception):
    pass


def test_a_run_killed_before_its_verdict_leaves_no_second_copy(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    say(memory, "[User] one", "[User] two")

    def die(*_: object, **__: object) -> None:
        raise _Killed

    with monkeypatch.context() as patch:
        patch.setattr("lamina_engine.sessions.judged.record_verdict", die)
        with pytest.raises(_Killed):
            judge(memory, Model(ANSWER))
    assert len(observed(memory)) == 2
    judge(memory, Model(OTHER))  # it says something else the second time
    assert [each["title"] for each in observed(memory)] == ["Ask before migrations"]
