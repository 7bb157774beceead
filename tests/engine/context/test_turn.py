from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs
from numpy.typing import NDArray

import lamina
from lamina import FixedClock, InvalidArgument, Vault
from lamina_engine.context import turn
from lamina_engine.context.evidence import Evidence
from lamina_engine.context.rendering import Item
from lamina_engine.context.tokens import count_tokens
from lamina_engine.store.journals import JOURNALS
from tests.engine.context.blocks import parse

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


@pytest.mark.parametrize("tier", ["stale", "expired"])
def test_what_is_stale_is_told_with_its_tier(known: Vault, monkeypatch: pytest.MonkeyPatch, tier: str) -> None:
    """Findings, seeds-b: stale memories about code were silently left out, where the seed wants them surfaced."""
    from lamina_engine.context import turn

    code = "From SQLite we moved to PostgreSQL: queue.py writes."
    known.add({"id": "old", "text": code, "collection": "code-patterns", "created_at": "2026-02-20"})
    from lamina_engine.chunks.reading import chunks_at as real

    monkeypatch.setattr(
        turn, "chunks_at", lambda *given: [structs.replace(each, freshness=tier) for each in real(*given)]
    )
    told = {item.id: item.freshness for item in known.inject(WHY, "s").items}
    assert told["old"] == told["why"] == tier
    silent = {f"FRESHNESS_PENALTY_{tier.upper()}": "0"}
    with lamina.open(known.path, clock=FixedClock(NOW), settings=silent) as vault:
        assert "old" not in {item.id for item in vault.inject(WHY, "t").items}  # whoever sets it so
    with lamina.open(known.path, clock=FixedClock(NOW), settings={**silent, "FRESHNESS_ENABLED": "false"}) as vault:
        assert "old" in {item.id for item in vault.inject(WHY, "t").items}


def test_of_two_versions_the_newer_comes_first(vault: Vault) -> None:
    vault.add(
        [
            {"id": f"v{year}", "text": f"Invoices are numbered by year and customer since {year}.", "created_at": f"{year}-01-05"}
            for year in (2025, 2023)
        ]
    )  # fmt: skip
    items = vault.inject("how are the invoices of a customer numbered?", "s").items
    assert [item.id for item in items] == ["v2025", "v2023"]


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        (
            "We hear the orchid pump every night. Write a friendly letter to the neighbours on the second floor.",
            ["pump"],
        ),
        ("The pump is loud. Draft a letter about the barrier for the plumber.", []),
    ],
    ids=["two of its words", "one of its words"],
)
def test_several_sentences_are_told_what_has_more_than_one_of_their_words(
    vault: Vault, prompt: str, told: list[str]
) -> None:
    """Strangers' prompts: most that nothing answers share one word of their subject with the nearest note."""
    rooms = ("cellar", "attic", "kitchen", "yard", "porch")
    vault.add([{"text": f"Chore {n}: swept the {rooms[n % 5]}, took {n} minutes."} for n in range(80)])
    vault.add(
        "The orchid house: its pump gurgles when there is air in it. Open the bleed screw, then empty it.", id="pump"
    )
    assert [item.id for item in vault.inject(prompt, "s").items] == told


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("add the deletion of leavers after ninety nights to ad.py", ["legal"]),
        ("run make seed against staging", ["seed"]),
        ("water the orchids on the porch", []),
        ("seed the orchids", []),
    ],
    ids=["taken back", "never", "no warning", "one word"],
)
def test_an_order_is_told_what_warns_of_it(vault: Vault, prompt: str, told: list[str]) -> None:
    """A stranger: an order to do what was taken back, or must never be done, was told nothing."""
    rooms = ("cellar", "attic", "kitchen", "yard", "porch")
    vault.add([{"text": f"Chore {n}: swept the {rooms[n % 5]}, took {n} minutes."} for n in range(80)])
    vault.add(
        "Legal wrote: no deletion of leavers at all, which takes back the deletion after ninety nights.", id="legal"
    )
    vault.add("Never run make seed against staging, it wipes the wallets.", id="seed")
    vault.add("The orchids on the porch get water twice a week.", id="orchids")
    assert [item.id for item in vault.inject(prompt, "s").items] == told


FRESH = [
    f"Chore {n}: moved the {word} into its own module."
    for n, word in enumerate(("picker", "banner", "footer", "slider", "cart") * 80)
]


def test_an_old_answer_is_told_among_fresh_strangers(vault: Vault) -> None:
    """Findings, seeds-b gap 2: candidates with an old right answer were cut by age before the gate looked."""
    vault.add([{"text": text, "created_at": "2026-02-28"} for text in FRESH])
    vault.add(
        {
            "id": "rule",
            "text": "Prices are stored as integer cents, never as float, since rounding lost us money.",
            "created_at": "2025-03-01",
        }
    )
    prompt = (
        "Please add a column for the price to the order lines. Are prices stored as float or as integer cents? "
        "Also move the footer below the totals while you are there."
    )
    assert "rule" in {item.id for item in vault.inject(prompt, "s").items}


def test_a_question_of_few_words_is_answered_in_a_vault_of_six(known: Vault) -> None:
    """Findings, seeds-b gap 2: "what SLA does Nordwind have" was skipped at a coverage of 0.443."""
    known.add({"id": "sla", "text": "Nordwind's SLA is four hours, on weekdays.", "created_at": "2026-02-20"})
    assert "sla" in {item.id for item in known.inject("what SLA does Nordwind have", "s").items}


def test_a_young_vault_answers_about_its_main_subject(vault: Vault) -> None:
    vault.add(
        [
            *({"text": f"Pillow turned photo {i} of album {i * 7} by its exif orientation."} for i in range(7)),
            *({"text": f"Step {i} of the upload keeps file {i * 3} in a bucket of its own."} for i in range(13)),
            {"text": "We stay with Pillow until the base image has libvips."},
        ]
    )
    for prompt in ("why do we use Pillow?", "what did we decide about Pillow?"):
        assert "libvips" in vault.inject(prompt, prompt).text
    assert not vault.inject("how do I reverse a list?", "s").text


def test_one_word_of_a_subject_of_three_is_no_subject_of_the_vault(vault: Vault) -> None:
    vault.add([{"text": f"Note {n} on birds and trees, the {n}th of its kind."} for n in range(40)])
    vault.add({"id": "string", "text": "A name is a string of at most nine letters."})
    assert [item.id for item in vault.inject("what is a string?", "a").items] == ["string"]
    assert vault.inject("how do I reverse a string in Haskell?", "b").items == ()
    assert [item.id for item in vault.inject("how do I reverse a string of letters in Haskell?", "c").items] == [
        "string"
    ]


def test_what_ranks_before_a_result_that_is_told_passes_the_floor_by_itself(
    known: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 26 such memories, told over fresh notes for their rank alone, 3 were about the prompt."""
    rows = {chunk.id: chunk.row for chunk in known.list(limit=None)}

    def gather(*_: object) -> Evidence:
        order = np.array([rows["far"], rows["why"], rows["cost"]])
        return Evidence(order, np.array([0.3, 0.9, 0.3]), np.array([0.5, 0.48, 0.47]), np.ones(3), None, {})

    monkeypatch.setattr(turn, "_gather", gather)
    assert [item.id for item in known.inject(WHY, "s").items if item.part == "search"] == ["why"]


def test_a_plain_question_in_the_vaults_own_words_is_answered(tmp_path: Path) -> None:
    # of the words of such a question none is rare in a vault about its subject
    with lamina.open(tmp_path / "v", create=True) as vault:
        parts = ("commit", "stash", "remote", "tag", "merge", "rebase", "submodule", "hook")
        vault.add([{"text": f"Git branch note {n}: a branch and its {parts[n % 8]}, in {n} lines."} for n in range(60)])
        vault.add([{"text": f"Rename note {n}: rename a {parts[n % 8]} with care."} for n in range(20)])
        vault.add([{"text": f"Kitchen note {n}: flour, water and salt for {n} loaves."} for n in range(120)])
        vault.add("To rename a branch, run git branch -m with the new name.", id="rename")
        assert vault.inject("how do I rename a branch", "a").items[0].id == "rename"
        assert vault.inject("how do I rename the branch?", "b").items[0].id == "rename"
        for prompt in ("who did rename this branch?", "did you rename it?", "rename the branch", "what is the time"):
            assert not vault.inject(prompt, "c").items, prompt


@pytest.mark.parametrize(
    "prompt", ["continue where we left off", "what's next?", "what was I working on", "mach weiter", "继续"]
)
def test_going_on_with_the_work_brings_the_active_task_alone(known: Vault, prompt: str) -> None:
    """Findings, seeds-b gap 9: it hung on the search's gate."""
    block = known.inject(prompt, "s")
    assert [(item.part, item.id) for item in block.items] == [("task", "todo")]
    assert known.inject(prompt, "s").items == ()  # once a session


def test_another_projects_task_is_not_mine(vault: Vault, tmp_path: Path) -> None:
    vault.add(
        [
            {"id": "mine", "text": "Add the price column.", "type": "agent_task", "project": "payments", "created_at": "2026-02-20"},
            {"id": "theirs", "text": "Rate limits.", "type": "agent_task", "project": "gateway", "created_at": "2026-02-22"},
        ]
    )  # fmt: skip
    folder = tmp_path / "payments"
    folder.mkdir()
    go_on = "continue where we left off"
    assert [item.id for item in vault.inject(go_on, "a", project="payments").items] == ["mine"]
    assert [item.id for item in vault.inject(go_on, "b", repo=folder).items] == ["mine"]
    assert vault.inject(go_on, "c").items == ()


def test_a_fact_that_answers_is_a_line_of_its_own(vault: Vault) -> None:
    """Findings, seeds-a gap 7: facts without their note never reached an agent."""
    vault.facts.add("Beacon", "port", "4300")
    vault.facts.add("Beacon", "owner", "Ada")
    (item,) = vault.inject("What port does Beacon run on?", "s").items
    assert (item.part, item.type, item.text) == ("facts", "fact", "Beacon · port · 4300")
    assert vault.inject("What is the weather like in Beacon Hill today?", "t").items == ()
    assert vault.inject("commit this", "u").items == ()
    vault.add({"id": "todo", "text": "Rebuild the reports.", "type": "agent_task", "created_at": "2026-02-24"})
    both = vault.inject("Continue where we left off. Which port does Beacon run on?", "v").items
    assert [item.part for item in both] == ["task", "facts"]


def test_a_fact_of_another_time_says_until_when_and_what_is_not_so_is_told_by_none(vault: Vault) -> None:
    vault.facts.add("Beacon", "port", "4300", valid_from="2026-01-10")
    vault.facts.add("Beacon", "port", "4400", valid_from="2026-02-01")

    def told(prompt: str) -> list[str]:
        return [item.text for item in vault.inject(prompt, session=prompt).items if item.part == "facts"]

    assert told("what was the old port of Beacon?") == ["Beacon · port · 4300 (until 2026-02-01)"]
    assert told("which port must Beacon never use?") == []
    assert [hit.text for hit in vault.recall("what port did Beacon use before 4400?")][:1] == [
        "Beacon port 4300, until 2026-02-01"
    ]


@pytest.mark.parametrize("prompt", [f"{WHY} see example.com", f"{WHY} said Mr.Hyde", f"/etc/hosts {WHY}"])
def test_what_looks_like_a_file_hides_no_collection(known: Vault, prompt: str) -> None:
    """AI Memory takes example.com for a file and then looks at code alone."""
    assert "why" in {item.id for item in known.inject(prompt, "s").items}


def test_a_soft_gate_gives_half_and_never_less_than_the_floor(known: Vault) -> None:
    prompt = "how much memory does the database take?"
    best = known.inject(prompt, "probe").best
    assert 0.3 < best < 1.0
    names = ("CONFIDENCE_THRESHOLD", "THRESHOLD_DISCUSSIONS", "THRESHOLD_CONVENTIONS")
    limits = {f"INJECTION_{name}": min(best + 0.01, 1.0) for name in names} | {"INJECTION_HARD_FLOOR": 0.1}
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

    monkeypatch.setattr(turn, "gather_evidence", broken)
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
        ((3, "s"), "prompt must be text"), (("x", ""), "session=''"), (("x", "s", 0), "floor=0"),
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


def test_sections_of_the_best_document_come_along_sooner_than_others(tmp_path: Path) -> None:
    from lamina_engine.context.turn import Result, _nearness

    item = Item(
        part="search", id="a", text="x", type="note", collection="notes", source="a.md", date="", age="", freshness=""
    )
    results = [
        Result(item, score, 0.9, document)
        for score, document in ((0.5, "a.md"), (0.4, "a.md"), (0.4, "b.md"), (0.4, None))
    ]
    best, same, other, none = _nearness(results)
    assert best == 1.0
    assert same == pytest.approx(0.8)
    assert other == none == pytest.approx(0.8**2.5)


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


def _write_sessions(folder: Path, *sessions: tuple[str, ...], project: str = "shop") -> None:
    """Write sessions of an agent, each a day and what user and agent said in turns."""
    folder.mkdir(exist_ok=True)
    for n, (day, *said) in enumerate(sessions):
        lines = []
        for i, text in enumerate(said):
            role = ("user", "assistant")[i % 2]
            content: Any = text if role == "user" else [{"type": "text", "text": text}]
            lines.append({
                "type": role, "uuid": f"{n}-{i}", "parentUuid": f"{n}-{i - 1}" if i else None, "sessionId": f"{project}{n}",
                "cwd": f"/home/ada/{project}", "timestamp": f"{day}T10:{i:02}:00Z", "message": {"role": role, "content": content},
            })  # fmt: skip
        (folder / f"{project}{n}.jsonl").write_text("\n".join(map(json.dumps, lines)))


SHOP = (
    ("2026-01-12", "Let's set up the booking backend. Which database should we use?", "Given the small team, I recommend SQLite to begin with.",
     "ok, we go with SQLite for now. The launch deadline is 2026-05-01, said Petra.", "We decided to use SQLite, because the team is small. Noted: launch on 2026-05-01."),
    ("2026-01-16", "Users have to log in. Where do we keep the login sessions?", "I suggest Redis, as sessions expire by themselves there.",
     "ok, Redis it is.", "We decided to keep login sessions in Redis, because they expire by themselves."),
    ("2026-01-22", 'Bookings get lost when two terminals write: "database is locked". Find out why.', "SQLite takes one writer at a time; the second one times out after 5 s.",
     "Then we switch to PostgreSQL 16 instead of SQLite. Jonas agreed in the call.", "We moved from SQLite to PostgreSQL 16, because SQLite could not take two writers."),
    ("2026-01-27", "The Redis server is one more thing to run. Drop it. Put login sessions into PostgreSQL, table login_session.", "Done: Redis is removed, login sessions are rows of login_session."),
    ("2026-01-29", "Petra moved the launch to 2026-05-15, the pier is not ready.", "Noted. New launch date: 2026-05-15 (was 2026-05-01)."),
    ("2026-02-18", "Add the tests for the nightly report job.", "Added tests/test_report.py with 7 tests, all pass.\n\nStill open:\n- the ferry timetable import fails on Sundays"),
    ("2026-02-27", "Children under 6 travel free, put that into the fare module.", "Done: fare.py has child_fare(age). We decided to round fares to 10 cents.\n\nStill open:\n- the group discount is not decided"),
)  # fmt: skip


@pytest.fixture
def shop(vault: Vault, tmp_path: Path) -> Vault:
    """A vault of seven sessions about one project."""
    _write_sessions(tmp_path / "sessions", *SHOP)
    vault.ingest(tmp_path / "sessions", kind="sessions")
    return vault


@pytest.mark.parametrize(("count", "others"), [(3, 0), (12, 12)])
def test_a_project_is_asked_about_what_most_of_its_memories_name(vault: Vault, count: int, others: int) -> None:
    """The README's own question was silent where the word stood in every chunk of a vault."""
    vault.add(
        [
            {"text": f"The SQLite file of branch {n} is copied at {n % 12}:00.", "created_at": "2026-01-20"}
            for n in range(count)
        ]
    )
    vault.add(
        [{"text": f"Ticket {n + 700} has a label of its own.", "created_at": "2026-01-20"} for n in range(others)]
    )
    vault.add(
        {
            "id": "why",
            "text": "We moved from SQLite to PostgreSQL: SQLite could not take two writers.",
            "created_at": "2026-02-20",
        }
    )
    for n, prompt in enumerate(
        ("why did we leave SQLite?", "why not SQLite?", "warum sind wir von SQLite weg?", "who moved us off SQLite?")
    ):
        assert "why" in [item.id for item in vault.inject(prompt, f"a{n}").items], prompt
    for n, prompt in enumerate(
        ("what does this do in SQLite", "copy the SQLite file", "why did we do that?", "warum haben wir das gemacht?")
    ):
        assert not vault.inject(prompt, f"b{n}").items, prompt


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("wer hat entschieden, auf PostgreSQL zu wechseln?", "Jonas agreed"), ("warum sind wir von SQLite weg?", "two writers"),
        ("why did we drop SQLite?", "two writers"), ("warum ist der nightly report so langsam gewesen?", "nightly report"),
    ],
)  # fmt: skip
def test_words_of_talk_in_german_are_no_subject_that_a_vault_lacks(shop: Vault, prompt: str, told: str) -> None:
    assert told in shop.inject(prompt, "s").text


@pytest.mark.parametrize(
    ("prompt", "newest"),
    [
        ("what is the launch deadline?", "2026-05-15"), ("where do we keep the login sessions?", "login_session"), ("do we still use Redis?", "removed"),
        ("which database do we use?", "instead of SQLite"), ("when do we launch?", "2026-05-15"),
    ],
)  # fmt: skip
def test_what_was_said_later_comes_before_what_it_replaces(shop: Vault, prompt: str, newest: str) -> None:
    """An agent that is told the older statement alone builds the wrong thing."""
    assert newest in shop.inject(prompt, "s").items[0].text


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("on which day are invoices sent?", ["12th", "5th"]), ("wer ist unsere Ansprechpartnerin beim Hafenamt?", ["neue", "unsere"]),
        ("what is the staging server called?", ["papaya", "mango"]), ("do we log with structlog?", ["logging", "json"]),
        ("where is the API key of the map service?", ["key"]), ("how many people does Aurora seat?", ["aurora"]),
    ],
)  # fmt: skip
def test_of_memories_that_were_added_the_newer_comes_first_and_others_stay_away(
    vault: Vault, prompt: str, told: list[str]
) -> None:
    texts = {
        "aurora": "The meeting room on the second floor is called Aurora and seats eight.", "5th": "Invoices are sent on the 5th of each month by Karin.",
        "json": "We log in JSON with structlog.", "key": "The API key of the map service is with the ops team.",
        "unsere": "Die Ansprechpartnerin beim Hafenamt ist Frau Petersen.", "mango": "The staging server is called Mango and has 4 GB of memory.",
        "cost": "The map service costs 40 euros a month now.", "12th": "From October on invoices go out on the 12th; the bank needs a week.",
        "neue": "Frau Petersen ist in Rente, die neue Ansprechpartnerin beim Hafenamt ist Frau Lindqvist.",
        "logging": "structlog is out, we use the standard logging module now.", "papaya": "Staging moved to the server Papaya with 16 GB.",
        "price": "Papaya was chosen for its price.", "room": "The kitchen on the second floor was painted.",
    }  # fmt: skip
    vault.add(
        [{"id": id_, "text": text, "created_at": f"2026-01-{n + 1:02}"} for n, (id_, text) in enumerate(texts.items())]
    )
    assert [item.id for item in vault.inject(prompt, "s").items] == told


@pytest.mark.parametrize(
    ("prompt", "older", "newer"),
    [
        ("where are the invoices archived?", "The invoices are archived in Paperless.", "The invoices were relocated to Docspell."),
        ("who maintains the greenhouse?", "Ines maintains the greenhouse.", "Paul took over the greenhouse from Ines."),
        ("which chat do we use?", "We use Mattermost as our chat.", "We phased out Mattermost, our chat is Zulip."),
        ("welche Kasse nehmen wir?", "Wir nehmen Lightspeed als Kasse.", "Lightspeed wurde durch Orderbird als Kasse abgelöst."),
        ("wie heißt das Lager?", "Das Lager heißt Nordhof.", "Das Lager wurde in Südhof umbenannt."),
    ],
)  # fmt: skip
def test_a_change_is_told_by_whatever_verb(vault: Vault, prompt: str, older: str, newer: str) -> None:
    rest = [
        "Ducks sleep on one leg.",
        "Karl bakes bread with rye.",
        "Die Heizung im Flur ist laut.",
        "Olives are sold by weight.",
    ]
    vault.add([{"text": text, "created_at": "2026-01-01"} for text in rest])
    vault.add(
        [
            {"id": "older", "text": older, "created_at": "2026-01-02"},
            {"id": "newer", "text": newer, "created_at": "2026-02-03"},
        ]
    )
    assert [item.id for item in vault.inject(prompt, "s").items] == ["newer", "older"]


def test_a_page_is_told_before_a_newer_page_that_is_less_about_it(tmp_path: Path) -> None:
    """Files are replaced by their newest versions: which of two is newer says nothing."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "rename.md").write_text("# Rename A Branch\n\nUse `git branch -m` to rename a branch.\n")
    (folder / "zebra.md").write_text("# Copying\n\nThe new zebra branch copies files now, a branch of its own.\n")
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.ingest(folder)
        assert vault.inject("how do I rename a branch?", "s").items[0].source == "rename.md"


@pytest.mark.parametrize(
    ("prompt", "told", "not_told"),
    [
        ("what did we do yesterday?", "fare.py", None), ("what did we do last week?", "test_report", "fare.py"), ("what happened on 2026-01-22?", "PostgreSQL 16", "Redis"),
        ("was haben wir letzte Woche gemacht?", "test_report", "fare.py"), ("was wurde am 27. Januar gemacht?", "login_session", "fare.py"),
        ("what did we decide in January?", "SQLite", "10 cents"), ("was haben wir gestern entschieden?", "10 cents", "SQLite"),
    ],
)  # fmt: skip
def test_a_question_of_a_time_is_told_what_was_done_in_it(
    shop: Vault, prompt: str, told: str, not_told: str | None
) -> None:
    """It was held for talk, as it names nothing; its words are met by anything."""
    block = shop.inject(prompt, "s", now="2026-02-28T12:00:00Z" if "yest" in prompt or "gestern" in prompt else NOW)
    assert told in block.text
    assert not_told is None or not_told not in block.text
    assert {item.part for item in block.items} == {"history"}
    assert block.tokens == count_tokens(block.text) <= block.budget


@pytest.mark.parametrize(
    "prompt",
    [
        "what is still open?",
        "what's left to do?",
        "any open points?",
        "what remains?",
        "was ist noch offen?",
        "was steht noch aus?",
    ],
)
def test_a_question_of_what_is_open_is_told_the_last_handoffs_points(shop: Vault, prompt: str) -> None:
    items = shop.inject(prompt, "s").items
    assert "the group discount is not decided" in items[0].text
    assert "fare.py" not in items[0].text  # the points alone
    assert all("python" not in item.text for item in items)


def test_an_older_open_point_says_that_a_later_session_spoke_of_it(vault: Vault, tmp_path: Path) -> None:
    """Half of a list of eleven-day-old points was done, and nothing said so."""
    _write_sessions(
        tmp_path / "sessions",
        ("2026-02-10", "Set up the radio.", "We decided to use 3 dB.\n\nStill open:\n- the watchdog is not configured\n- the casing leaks at the cable"),
        ("2026-02-17", "Configure the watchdog.", "The watchdog resets after 8 s, we decided on that because the radio needs 5.\n\nStill open:\n- battery life is not measured"),
    )  # fmt: skip
    vault.ingest(tmp_path / "sessions", kind="sessions")
    newest, older = (item.text for item in vault.inject("what is still open?", "s").items)
    assert newest.splitlines()[1:] == ["Left open on 2026-02-17:", "- battery life is not measured"]
    assert older.splitlines()[1:] == [
        "Left open on 2026-02-10:", "- the watchdog is not configured (spoken of again on 2026-02-17)", "- the casing leaks at the cable",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "prompt",
    ["where did we leave off?", "wo waren wir stehen geblieben?", "where were we?", "was war der letzte Stand?"],
)
def test_where_the_work_was_left_off_is_told_by_the_last_session(shop: Vault, prompt: str) -> None:
    (item,) = shop.inject(prompt, "s").items
    assert "fare.py" in item.text
    assert shop.inject(prompt, "s2", project="garden").items == ()  # another project's


def test_a_time_of_plain_notes_is_told_as_recall_tells_it(vault: Vault) -> None:
    vault.add(
        [
            {"text": "The heat pump was serviced.", "created_at": "2026-02-25"},
            {"text": "Roses were cut.", "created_at": "2026-01-10"},
        ]
    )
    assert [item.text for item in vault.inject("what happened on 2026-02-25?", "s").items] == [
        "The heat pump was serviced."
    ]


@pytest.mark.parametrize(
    "prompt",
    [
        "which file is open?", "leave it open", "open it again", "why is it still open?", "is it done?", "what's the date today?", "is it Monday?",
        "do that tomorrow", "what happened?", "what did you change?", "what should I do today?", "the remaining tests fail", "where is it?",
        "lass das offen", "mach das morgen", "was ist heute für ein Tag?", "wo ist das?", "ist das noch offen?", "what will we do next week?",
    ],
)  # fmt: skip
def test_what_is_at_hand_is_no_history(shop: Vault, prompt: str) -> None:
    assert shop.inject(prompt, "s").items == ()


def test_a_question_of_who_is_answered_from_a_small_table(tmp_path: Path) -> None:
    """All its words are words of talk, and the table's head has them."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "team.md").write_text(
        "# Team\n\n| Week | On call |\n|---|---|\n| 47 | Mira |\n| 48 | Jonas |\n| 49 | Petra |\n"
    )
    (folder / "rooms.md").write_text("# Rooms\n\nAurora seats eight, Borealis seats twenty.\n")
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.ingest(folder)
        for prompt in ("who is on call?", "who is on call in week 48?", "and who will be on call next week?"):
            assert "Jonas" in vault.inject(prompt, prompt).text
        for prompt in (
            "who are you?",
            "who cares?",
            "who is next?",
            "wer war das?",
            "who wrote that?",
            "call me later",
        ):
            assert vault.inject(prompt, prompt).items == (), prompt


WARD = (
    ("2026-01-05", "look round ward, the bed planner of our clinic", "Spring Boot 3.2, version 2.8.0. The planner answers on port 9300, beds are kept in Oracle."),
    ("2026-01-08", "9300 collides with the pager gateway", "The planner listens on 9455 now."),
    ("2026-01-11", "give Liquibase a go for the schema changes", "Liquibase can't read our old changelogs, the checksums do not match. We stay with Flyway."),
    ("2026-01-13", "visits are synced every 10 minutes", "Visits are synced every 10 minutes on all wards."),
    ("2026-01-18", "10 minutes is too long for intensive care. 1 minute there", "Intensive care is synced every minute, all other wards every 10."),
    ("2026-01-20", "don't ever restart the pager gateway by yourself", "The pager gateway is left alone."),
    ("2026-01-21", "warum dauert der Export so lange?", "Der Export liest jede Zeile einzeln.", "Dann weg mit Jasper, das reicht so", "Jasper ist ausgebaut, der Export braucht 2 Sekunden."),
)  # fmt: skip
LAB = (
    ("2026-01-22", "the centrifuge exporter runs nightly at 02:30", "The centrifuge exporter runs at 02:30."),
    ("2026-01-23", "samples are kept for 30 days", "Samples are kept for 30 days."),
)  # fmt: skip


@pytest.fixture
def clinic(vault: Vault, tmp_path: Path) -> Vault:
    """A vault of the sessions of two projects."""
    _write_sessions(tmp_path / "ward", *WARD, project="ward")
    _write_sessions(tmp_path / "lab", *LAB, project="lab")
    for project in ("ward", "lab"):
        vault.ingest(tmp_path / project, kind="sessions")
    return vault


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("whats the planner port", "9455"), ("tell me the planner port again", "9455"), ("ok, what's the planners port", "9455"),
        ("which port does the planner use?", "9455"), ("gib mir den Port vom planner", "9455"), ("wheres the planner port set", "9455"),
        ("weswegen ist Jasper rausgeflogen", "ausgebaut"), ("wieso haben wir Jasper rausgeworfen", "ausgebaut"),
        ("how often are visits of intensive care synced?", "every minute"),
        ("use Liquibase for the schema changes", "checksums"),
    ],
)  # fmt: skip
def test_what_holds_now_is_told_first_however_it_is_asked(clinic: Vault, prompt: str, told: str) -> None:
    assert told in clinic.inject(prompt, "s", repo=Path("/elsewhere/ward")).items[0].text


@pytest.mark.parametrize(
    "prompt",
    [
        "which redis version do we use", "which kafka version are we on", "welche PHP-Version nutzen wir", "what is the port of the mail relay?",
        "make the changelogs of the schema changes shorter", "whats our grafana port", "tell me the time in Tokyo", "give me the list of files you changed", "gib mir ein Rezept", "wieso ist der Himmel blau",
    ],
)  # fmt: skip
def test_another_things_version_or_port_is_no_answer(clinic: Vault, prompt: str) -> None:
    assert clinic.inject(prompt, "s", repo=Path("/elsewhere/ward")).items == ()


def test_a_project_that_the_prompt_names_is_asked(clinic: Vault) -> None:
    lab = Path("/elsewhere/lab")
    assert "9455" in clinic.inject("which port does the planner of ward use?", "a", repo=lab).items[0].text
    told = clinic.inject("for how many days does ward keep samples?", "b", repo=lab)
    assert not any("30 days" in item.text for item in told.items)  # those are the lab's
    assert clinic.inject("which port does the planner use?", "c", repo=lab).items == ()
    # a caller that names a project gets that one's alone
    assert clinic.inject("which port does the planner of ward use?", "d", project="lab").items == ()


def test_a_stem_of_another_language_is_no_word_of_a_row(vault: Vault) -> None:
    """In Hungarian "probe" ends in a suffix, and one row that was taken for Hungarian is enough."""
    vault.add("Az elemzés kész, és a tesztek is jók, de a hiba még nem volt javítva.", id="hungarian")
    vault.add("Die Pumpe kostet 40 Euro pro Gerät, und das Regal bitte nie anfassen.", id="pump")
    vault.add([{"text": f"Ticket {n + 700} has a label of its own."} for n in range(40)])
    assert vault.inject("try the probe on the regal", "s").items == ()


@pytest.mark.skipif(sys.platform == "win32", reason="names of files are text there")
def test_a_folder_whose_name_is_no_utf8_gets_what_belongs_to_no_project(vault: Vault) -> None:
    vault.add("The planner listens on port 9455.", id="ours")
    vault.add("The shop listens on port 80.", id="theirs", project="shop")
    folder = Path("/elsewhere") / os.fsdecode(b"caf\xe9")
    assert [item.id for item in vault.inject("which port does the planner use?", "s", repo=folder).items] == ["ours"]
    assert vault.bootstrap("t", repo=folder).mode != "failed"


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "UTC"])
def test_a_day_is_told_as_the_vaults_zone_has_it(tmp_path: Path, zone: str) -> None:
    """In Berlin March 3 begins on March 2 of UTC."""
    clock, root, told = FixedClock("2026-04-01T12:00:00Z"), tmp_path / "v", "2026-03-03"
    with lamina.open(root, create=True, embedder="none", clock=clock):
        (root / "vault.toml").write_text(f'tz = "{zone}"\n[embedding]\nmodel = "none"\n')
    with lamina.open(root, clock=clock) as vault:
        text = "We left SQLite as it could not take two writers."
        vault.add(text, id="writers", type="decision", created_at=told)
        vault.facts.add("Ann", "role", "pilot", valid_from=told)
        assert [item.date for item in vault.inject("why did we leave SQLite writers?", "s").items] == [told]
        assert [item.date for item in vault.inject("what is Ann's role?", "t").items] == [told]
        assert {item.date for item in vault.bootstrap("u").items} == {told}
