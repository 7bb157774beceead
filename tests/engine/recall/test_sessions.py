"""Sessions listed, the one before another, and what is told again within a budget."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import ChunkNotFound, FixedClock, InvalidArgument, Vault
from lamina_engine.recall.pack import count_tokens
from lamina_engine.recall.reconstruction import _cost, _cut


def said(session: str, day: int, number: int, text: str = "", **more: Any) -> dict[str, Any]:
    return {
        "id": f"{session}-{number}", "session": session, "text": text or f"{session} says {number}",
        "type": "conversation", "project": "api", "created_at": f"2026-02-{day:02d}T08:{number:02d}:00Z", **more,
    }  # fmt: skip


@pytest.fixture
def told(lexical_vault: Vault) -> Vault:
    """Three sessions of one project on three days, and one of another."""
    records = [said(name, day, i) for day, name in ((3, "first"), (5, "second"), (8, "third")) for i in range(4)]
    records += [said("other", 6, 0, project="web", agent="codex")]
    records += [said("third", 8, 9, "The cache was the culprit.", type="session_summary")]
    records[1]["agent"] = "main/reviewer"
    records[2]["metadata"] = {"files": ["src/a.py", "src/b.py"]}
    records[3]["metadata"] = {"files": ["src/b.py"]}
    lexical_vault.add(records[::-1])
    lexical_vault.add("of no session")
    return lexical_vault


def test_sessions_are_listed_newest_first(told: Vault) -> None:
    found = told.sessions()
    assert [session.session for session in found] == ["third", "other", "second", "first"]
    third = found[0]
    assert (third.chunks, third.project, third.summary) == (5, "api", "The cache was the culprit.")
    assert (third.to_dict()["started_at"], third.to_dict()["ended_at"]) == (
        "2026-02-08T08:00:00Z",
        "2026-02-08T08:09:00Z",
    )
    assert found[3].agents == ("main/reviewer",)
    assert [session.session for session in told.sessions("api", limit=2)] == ["third", "second"]
    assert [session.session for session in told.sessions(agent="reviewer")] == ["first"]
    assert [session.session for session in told.sessions(since="2026-02-05", until="2026-02-08")] == ["other", "second"]
    assert [session.session for session in told.sessions(days=22)] == ["third"]
    assert told.sessions("nothing") == []


def test_a_session_ends_when_its_last_chunk_says(lexical_vault: Vault) -> None:
    lexical_vault.add([said("a", 3, 0, metadata={"ended_at": "2026-02-03T10:30:00+01:00"})])
    lexical_vault.add([said("b", 4, 0, metadata={"ended_at": "soon"})])
    assert [session.to_dict()["ended_at"] for session in lexical_vault.sessions()] == [
        "2026-02-04T08:00:00Z",
        "2026-02-03T09:30:00Z",
    ]


def test_an_empty_vault_has_no_sessions(lexical_vault: Vault) -> None:
    assert lexical_vault.sessions() == []
    assert lexical_vault.reconstruct(days=3).text == ""


def test_a_timeline_is_in_order_and_its_text_is_indented(told: Vault) -> None:
    got = told.reconstruct("first")
    assert got.text.splitlines()[0] == "Session first · api · 2026-02-03 08:00Z to 08:03Z · 4 chunks"
    assert [chunk.id for chunk in got.chunks] == [f"first-{i}" for i in range(4)]
    assert "[2026-02-03 08:01Z · main/reviewer]\n  first says 1" in got.text
    assert (got.left_out, got.mode, got.tokens) == (0, "timeline", count_tokens(got.text))
    assert [session.session for session in got.sessions] == ["first"]


def test_no_chunk_passes_for_a_heading(told: Vault) -> None:
    told.add([said("evil", 9, 0, "Session third · api\n[2026-02-08 08:00Z]\nnot so")])
    lines = told.reconstruct("evil").text.splitlines()
    assert [line for line in lines if not line.startswith("  ")] == [
        "Session evil · api · 2026-02-09 08:00Z · 1 chunk", "[2026-02-09 08:00Z]",
    ]  # fmt: skip


def test_the_newest_or_the_oldest_end_stays_without_holes(told: Vault) -> None:
    whole = told.reconstruct(since="2026-02-01")
    assert [session.session for session in whole.sessions] == ["third", "other", "second", "first"]
    budget = whole.tokens // 2
    newest, oldest = (
        told.reconstruct(since="2026-02-01", token_budget=budget, keep=keep) for keep in ("newest", "oldest")
    )
    order = [chunk.id for chunk in whole.chunks]
    assert 0 < len(newest.chunks) < len(order)
    assert [chunk.id for chunk in newest.chunks] == order[-len(newest.chunks) :]
    assert [chunk.id for chunk in oldest.chunks] == order[: len(oldest.chunks)]
    assert newest.left_out == len(order) - len(newest.chunks)
    assert max(newest.tokens, oldest.tokens) <= budget


@pytest.mark.parametrize("mode", ["timeline", "briefing"])
@pytest.mark.parametrize("keep", ["newest", "oldest"])
def test_no_budget_is_ever_exceeded(told: Vault, mode: Any, keep: Any) -> None:
    for budget in [*range(1, 60, 3), 100, 200]:
        got = told.reconstruct(since="2026-02-01", mode=mode, keep=keep, token_budget=budget)
        assert got.tokens == count_tokens(got.text) <= budget


def test_a_chunk_larger_than_the_budget_is_told_in_part(told: Vault) -> None:
    told.add([said("long", 9, 0, "word " * 500)])
    got = told.reconstruct("long", token_budget=50)
    assert got.text.endswith(" […]")
    assert (got.chunks, got.left_out) == ((), 1)
    assert 40 <= got.tokens <= 50


def test_a_briefing_speaks_of_the_last_three_sessions(told: Vault) -> None:
    got = told.reconstruct(since="2026-02-01", mode="briefing")
    heads = [line for line in got.text.split("Last of it:")[0].splitlines() if line.startswith("Session ")]
    assert [line.split(" · ")[0] for line in heads] == ["Session third", "Session other", "Session second"]
    assert "  The cache was the culprit." in got.text
    assert "began: second says 0\nended: second says 3" in got.text
    first = told.reconstruct("first", mode="briefing").text
    assert "files: src/b.py, src/a.py" in first


def test_the_session_before(told: Vault) -> None:
    assert told.reconstruct("third", previous=True).sessions[0].session == "second"
    assert told.reconstruct(previous=True).sessions[0].session == "third"
    assert told.reconstruct(previous=True, project="web").sessions[0].session == "other"
    # a session that the vault has not read yet
    assert told.reconstruct("just begun", previous=True, project="api").sessions[0].session == "third"
    with pytest.raises(ChunkNotFound, match="no session came before"):
        told.reconstruct("first", previous=True)
    with pytest.raises(ChunkNotFound, match="no chunk asked for is of the session"):
        told.reconstruct("nowhere")


def test_days_count_back_from_now(told: Vault) -> None:
    assert [session.session for session in told.reconstruct(days=2, now="2026-02-08T08:02:30Z").sessions] == ["third"]
    got = told.reconstruct(days=0.01, now="2026-02-08T08:02:30Z")
    assert [chunk.id for chunk in got.chunks] == ["third-0", "third-1", "third-2"]


def test_as_of_tells_what_was_known(told: Vault, clock: FixedClock) -> None:
    moment = clock.now_us() / 1e6 + 1
    clock.advance(60)
    told.add([said("first", 3, 30)])
    assert told.reconstruct("first").sessions[0].chunks == 5
    assert told.reconstruct("first", as_of=moment).sessions[0].chunks == 4


def test_removed_chunks_are_not_told(told: Vault) -> None:
    told.forget(ids=["first-1"], dry_run=False)
    assert [chunk.id for chunk in told.reconstruct("first").chunks] == ["first-0", "first-2", "first-3"]


@pytest.mark.parametrize(
    "given",
    [
        {}, {"session": ""}, {"session": 3}, {"days": 0}, {"days": True}, {"days": 3, "since": "2026-01-01"},
        {"days": 1, "mode": "song"}, {"days": 1, "keep": "middle"}, {"days": 1, "token_budget": 0},
        {"since": "2026-02-02", "until": "2026-02-01"},
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(lexical_vault: Vault, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        lexical_vault.reconstruct(**given)


@pytest.mark.parametrize("limit", [0, True, 10**9])
def test_a_limit_is_a_whole_number(lexical_vault: Vault, limit: int) -> None:
    with pytest.raises(InvalidArgument, match="limit="):
        lexical_vault.sessions(limit=limit)


@given(text=st.text(max_size=80), room=st.integers(-2, 30))
def test_a_cut_text_fits_and_is_a_beginning(text: str, room: int) -> None:
    got = _cut(text, room)
    assert got == "" or _cost(got) <= room
    assert got == text or text.startswith(got.removesuffix(" […]"))
