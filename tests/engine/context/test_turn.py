from __future__ import annotations

import json
import logging
import shutil
import tempfile
from datetime import date
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs
from numpy.typing import NDArray

import lamina
from lamina import FixedClock, InvalidArgument, Vault
from lamina_engine.context.rendering import Item, parse
from lamina_engine.context.tokens import count_tokens
from lamina_engine.store.journals import JOURNALS

NOW = "2026-03-01T12:00:00Z"
WHY = "why did we move from SQLite to PostgreSQL?"
RECORD = {
    "timestamp", "tier", "trigger", "project", "session_id", "results_considered", "results_selected", "tokens_used",
    "budget", "utilization_pct", "best_score", "skipped_confidence", "topic_drift", "collections_searched",
    "gap_threshold", "gating_mode",
}  # fmt: skip


@pytest.fixture
def known(vault: Vault) -> Vault:
    """A vault that knows why there is PostgreSQL."""
    vault.add(
        [
            {"id": "why", "text": "We moved from SQLite to PostgreSQL: SQLite could not take two writers.", "type": "decision", "created_at": "2026-02-20"},
            {"id": "cost", "text": "PostgreSQL costs more memory than SQLite did when we moved.", "type": "decision", "created_at": "2026-02-21"},
            {"id": "far", "text": "Roses need soil, water and sun.", "created_at": "2026-02-22"},
            {"id": "todo", "text": "Rebuild the reports.", "type": "agent_task", "created_at": "2026-02-24"},
            {"id": "over", "text": "Drop the old tables.", "type": "agent_task", "created_at": "2026-02-25", "metadata": {"status": "Done"}},
        ]
    )  # fmt: skip
    return vault


def lines(vault: Vault) -> list[dict[str, Any]]:
    files = sorted((vault.path / JOURNALS / "context").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_a_prompt_gets_what_is_near_to_it_and_the_task_that_is_not_done(known: Vault) -> None:
    block = known.inject(WHY, "s")
    assert block.items[0].id == "todo"
    assert {item.id for item in block.items} == {"todo", "why", "cost"}
    assert parse(block.text) == list(block.items)
    assert block.tokens == count_tokens(block.text) <= block.budget <= 1500
    assert block.mode == "full"
    assert sum(block.components.values()) <= block.tokens


def test_every_item_says_its_age_source_and_freshness(known: Vault) -> None:
    for item in known.inject(WHY, "s").items:
        assert item.age.endswith("days")
        assert item.source == "added"
        assert item.freshness == "unverified"
        assert item.date.startswith("2026-02-")


def test_a_prompt_that_the_vault_knows_nothing_about_gets_nothing(known: Vault) -> None:
    """The rescaled gate: with scores scaled so that the best has 0.95, this could never be skipped."""
    block = known.inject("what is the capital of Mongolia", "s")
    assert (block.text, block.items, block.mode, block.budget) == ("", (), "hard_skip", 0)
    (line,) = lines(known)
    assert (line["skipped_confidence"], line["budget"], line["results_selected"]) == (True, 0, 0)


def test_without_vectors_words_decide(lexical_vault: Vault) -> None:
    lexical_vault.add({"id": "a", "text": "SQLite could not take two writers", "created_at": "2026-02-20"})
    assert [item.id for item in lexical_vault.inject("SQLite two writers", "s").items] == ["a"]
    assert lexical_vault.inject("what is the capital of Mongolia", "s").text == ""


def test_nothing_is_told_twice_in_a_session_until_it_is_compacted(known: Vault) -> None:
    first = known.inject(WHY, "s")
    assert first.items
    again = known.inject(WHY, "s")
    assert (again.text, again.items) == ("", ())
    assert known.inject(WHY, "another").items == first.items
    known.bootstrap("s", trigger="compact", budget=1)
    assert known.inject(WHY, "s").items == first.items


def test_the_session_is_the_same_in_another_process(known: Vault) -> None:
    known.inject(WHY, "s")
    with lamina.open(known.path, clock=FixedClock(NOW)) as other:
        assert other.inject(WHY, "s").text == ""


def test_names_that_look_alike_are_different_sessions(known: Vault) -> None:
    assert known.inject(WHY, "a/b").items
    assert known.inject(WHY, "ab").items
    assert known.inject(WHY, "../../x").items
    assert {path.parent for path in known.path.rglob("*.jsonl")} == {known.path / JOURNALS / "context"}


def test_every_turn_is_recorded_with_its_sixteen_fields(known: Vault) -> None:
    known.inject(WHY, "s")
    known.inject("what is the capital of Mongolia", "s")
    known.inject(WHY, "s")
    found = lines(known)
    assert len(found) == 3
    assert all(set(line) >= RECORD for line in found)
    first, skipped, empty = found
    assert (first["tier"], first["trigger"], first["session_id"], first["gating_mode"]) == (
        "turn",
        "prompt",
        "s",
        "full",
    )
    assert first["utilization_pct"] == 100 * first["tokens_used"] // first["budget"]
    assert skipped["utilization_pct"] == 0
    assert (empty["results_selected"], empty["skipped_confidence"]) == (0, False)  # nothing new to say is said too
    assert first["topic_drift"] == 0.5
    assert 0.0 < skipped["topic_drift"] <= 1.0
    assert 0.0 < empty["topic_drift"] <= 1.0  # against the turn before, though it said nothing


def test_the_record_holds_no_text(known: Vault) -> None:
    known.inject(WHY, "s")
    assert "SQLite" not in json.dumps(lines(known))


@pytest.mark.parametrize("prompt", ["", "  \n", "/clear", "/model opus"])
def test_blank_prompts_and_commands_get_nothing_and_are_no_turn(known: Vault, prompt: str) -> None:
    assert known.inject(prompt, "s").text == ""
    assert lines(known) == []


def test_the_switch_silences_both_tiers(known: Vault) -> None:
    with lamina.open(known.path, clock=FixedClock(NOW), settings={"INJECTION_ENABLED": False}) as quiet:
        assert quiet.inject(WHY, "s").text == quiet.bootstrap("s").text == ""
    assert lines(known) == []


def test_stale_code_patterns_are_held_back_unless_freshness_is_off(
    known: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    known.add(
        {
            "id": "old",
            "text": "SQLite writers move to PostgreSQL by a queue",
            "collection": "code-patterns",
            "created_at": "2026-02-20",
        }
    )
    from lamina_engine.context import turn
    from lamina_engine.recall import pipeline

    real = pipeline.recall

    def scanned(*arguments: Any, **options: Any) -> Any:
        outcome = real(*arguments, **options)
        hits = [structs.replace(hit, freshness="stale") for hit in outcome.hits]
        return structs.replace(outcome, hits=hits)

    monkeypatch.setattr(turn, "recall", scanned)
    ids = {item.id for item in known.inject(WHY, "s").items}
    assert "old" not in ids
    assert "why" in ids  # other collections are told with their tier, and not held back
    with lamina.open(known.path, clock=FixedClock(NOW), settings={"FRESHNESS_ENABLED": "false"}) as vault:
        assert "old" in {item.id for item in vault.inject(WHY, "t").items}


@pytest.mark.parametrize(
    ("tier", "ref"), [("fresh", 0.8), ("aging", 0.72), ("stale", 0.0), ("expired", 0.0), (None, 0.8), ("unknown", 0.64)]
)
def test_what_a_tier_costs_a_code_pattern(vault: Vault, tier: str | None, ref: float) -> None:
    from lamina_engine.context.turn import _penalties, _result
    from lamina_engine.results import Hit, Terms

    found = Hit(
        id="a", row=0, text="b", type="note", collection="code-patterns", recorded_at_us=0, freshness=tier, score=0.8,
        terms=cast("Terms", {"cosine": 0.45, "coverage": 0.0}),
    )  # fmt: skip
    result = _result(found, _penalties(vault._memory), "wordllama", 0)
    assert result.score == pytest.approx(ref)
    assert result.confidence == pytest.approx(0.6 * ref / 0.8)
    assert _result(found, None, "wordllama", 0).score == 0.8


@pytest.mark.parametrize("prompt", [f"{WHY} see example.com", f"{WHY} said Mr.Hyde", f"/etc/hosts {WHY}"])
def test_what_looks_like_a_file_hides_no_collection(known: Vault, prompt: str) -> None:
    """AI Memory takes example.com for a file and then looks at code alone."""
    assert "why" in {item.id for item in known.inject(prompt, "s").items}


def test_a_soft_gate_gives_half_and_never_less_than_the_floor(known: Vault) -> None:
    prompt = "how much memory does the database take?"
    best = known.inject(prompt, "probe").best
    assert 0.45 < best < 1.0
    names = ("CONFIDENCE_THRESHOLD", "THRESHOLD_DISCUSSIONS", "THRESHOLD_CONVENTIONS")
    limits = {f"INJECTION_{name}": min(best + 0.01, 1.0) for name in names}
    with lamina.open(known.path, clock=FixedClock(NOW), settings=limits) as vault:
        block = vault.inject(prompt, "s", 600, 900)
    assert block.mode == "soft_gate"
    assert block.budget == 600


def test_an_empty_vault_has_nothing_to_say(vault: Vault, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert vault.inject(WHY, "s").text == ""
        assert vault.bootstrap("s").text == ""
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]  # one line each


def test_a_broken_vault_costs_one_line_and_no_turn(
    known: Vault, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lamina_engine.context import turn

    def broken(*_: Any, **__: Any) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(turn, "recall", broken)
    with caplog.at_level(logging.WARNING):
        block = known.inject(WHY, "s")
    assert (block.text, block.mode) == ("", "failed")
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_model_that_fails_leaves_the_words(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def model(texts: list[str]) -> NDArray[np.float32]:
        if texts == ["SQLite two writers"]:
            raise RuntimeError("the model is gone")
        return np.ones((len(texts), 4), np.float32)

    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder=model) as vault:
        vault.add({"id": "a", "text": "SQLite could not take two writers", "created_at": "2026-02-20"})
        block = vault.inject("SQLite two writers", "s")
    assert [item.id for item in block.items] == ["a"]
    assert block.drift == 0.5
    assert "words alone are asked" in caplog.text


def test_a_journal_that_cannot_be_written_costs_no_turn(known: Vault, caplog: pytest.LogCaptureFixture) -> None:
    (known.path / JOURNALS).write_text("in the way")
    assert known.inject(WHY, "s").items
    assert known.inject(WHY, "s").items == ()  # remembered while it is open
    assert "cannot be written" in caplog.text


def test_a_reader_writes_nothing(known: Vault) -> None:
    with lamina.open(known.path, mode="r", clock=FixedClock(NOW)) as reader:
        assert reader.inject(WHY, "s").items
        assert reader.inject(WHY, "s").text == ""
    assert lines(known) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((3, "s"), "prompt must be text"), (("x", ""), "session=''"), (("x", None), "session=None"), (("x", "s", 0), "floor=0"),
        (("x", "s", 100, True), "ceiling=True"), (("x", "s", 900, 800), "floor=900 is above"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be_used(vault: Vault, arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        vault.inject(*arguments)


def test_forgetting_reaches_the_journal(known: Vault) -> None:
    known.inject(WHY, "s")
    assert any("why" in line["ids"] for line in lines(known))
    known.forget(ids=["why"], dry_run=False)
    assert not any("why" in line["ids"] for line in lines(known))
    assert [line["session_id"] for line in lines(known)] == ["s"]
    assert known.verify(deep=True).ok


# for any vault, prompt and budget

_WORD = st.sampled_from(
    [
        "cache",
        "deploy",
        "queue",
        "index",
        "vault",
        "commit",
        "writer",
        "reader",
        "token",
        "flush",
        "</memory>",
        "<|endoftext|>",
        "&",
        "数据",
        "\x1b[1m",
    ]
)
_TEXT = st.lists(_WORD, min_size=1, max_size=40).map(" ".join)
_RECORD = st.fixed_dictionaries(
    {
        "text": _TEXT,
        "type": st.sampled_from(["note", "decision", "agent_task", "agent_handoff", "agent_insight"]),
        "collection": st.sampled_from(["discussions", "code-patterns", "conventions", "notes"]),
        "created_at": st.dates(min_value=date(2020, 1, 1), max_value=date(2026, 2, 28)).map(str),
    }
)


@given(data=st.data())
def _any_session_keeps_its_promises(folder: Path, data: st.DataObject) -> None:
    path = Path(tempfile.mkdtemp(dir=folder))
    try:
        with lamina.open(path, create=True, clock=FixedClock(NOW), embedder="none") as vault:
            records = data.draw(st.lists(_RECORD, max_size=8))
            if records:
                vault.add(records)
            shown: list[Item] = []
            for _ in range(data.draw(st.integers(1, 3))):
                if data.draw(st.booleans()):
                    low = data.draw(st.integers(1, 400))
                    high = low + data.draw(st.integers(0, 800))
                    block = vault.inject(data.draw(_TEXT), "s", low, high)
                    assert block.budget <= high
                else:
                    block = vault.bootstrap("s", data.draw(st.integers(1, 1200)))
                assert block.mode != "failed"
                assert block.tokens == count_tokens(block.text) <= block.budget
                assert parse(block.text) == list(block.items)
                shown += block.items
            assert len({item.id for item in shown}) == len(shown)
    finally:
        shutil.rmtree(path)


_CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


def test_any_session_keeps_its_promises(quick_folder: Path) -> None:
    settings(max_examples=80, deadline=None, suppress_health_check=_CHECKS)(_any_session_keeps_its_promises)(
        quick_folder
    )


@pytest.mark.slow
def test_ten_thousand_sessions_keep_their_promises(quick_folder: Path) -> None:
    settings(max_examples=10_000, deadline=None, suppress_health_check=_CHECKS)(_any_session_keeps_its_promises)(
        quick_folder
    )
