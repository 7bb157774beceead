""""""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.clock import parse_instant
from lamina_engine.errors import AmbiguousId, ChunkNotFound, InvalidArgument, LaminaError, VaultReadOnly
from lamina_engine.results import Chunk


def kinds(vault: Vault, id_: str) -> list[str]:
    return [entry.kind for entry in vault.history(id_)]


def test_invalidating_hides_and_restoring_brings_back(lexical_vault: Vault) -> None:
    (id_,) = lexical_vault.add("we use MySQL")
    got = lexical_vault.invalidate(id_, "we moved", stamp="2026-02")
    assert got.status == "invalidated"
    assert len(lexical_vault.recall("MySQL")) == 0
    assert lexical_vault.list() == []
    entry = lexical_vault.history(id_)[-1]
    assert (entry.kind, entry.reason, entry.detail) == ("invalidate", "we moved", {"stamp": "2026-02"})
    assert lexical_vault.restore(id_, "we moved back").status == "active"
    assert [hit.id for hit in lexical_vault.recall("MySQL")] == [id_]
    assert kinds(lexical_vault, id_) == ["added", "invalidate", "restore"]


def test_a_second_time_changes_nothing(lexical_vault: Vault) -> None:
    (id_,) = lexical_vault.add("x")
    calls: list[Callable[[], Chunk]] = [
        lambda: lexical_vault.restore(id_), lambda: lexical_vault.pin(id_), lambda: lexical_vault.pin(id_, pinned=False),
    ]  # fmt: skip
    lexical_vault.invalidate(id_, "first")
    for call in calls:
        first = call()
        before = lexical_vault.stats()
        assert call() == first
        assert lexical_vault.stats() == before
    assert kinds(lexical_vault, id_) == ["added", "invalidate", "restore", "pin", "unpin"]


def test_every_reason_is_kept_and_the_newest_is_shown(lexical_vault: Vault) -> None:
    # findings, seeds-a gap 6
    (id_,) = lexical_vault.add("moved to MySQL", type="agent_task", success=True)
    lexical_vault.invalidate(id_, "first", "s1")
    chunk = lexical_vault.invalidate(id_, "second", "s2")
    assert (chunk.status, chunk.reason, chunk.success) == ("invalidated", "second", None)
    events = [entry for entry in lexical_vault.history(id_) if entry.kind == "invalidate"]
    assert [(entry.reason, entry.detail) for entry in events] == [
        ("first", {"stamp": "s1"}),
        ("second", {"stamp": "s2"}),
    ]
    hit = lexical_vault.recall("MySQL", profile="task", where={"status": "invalidated"}, lanes=["lexical"])[0]
    document = hit.to_dict()
    assert (document["reason"], document["success"], document["needs_review"]) == ("second", None, False)
    assert lexical_vault.list({"success": True, "status": "invalidated"}) == []
    back = lexical_vault.restore(id_)
    assert (back.reason, back.success) == (None, True)
    assert [chunk.id for chunk in lexical_vault.list({"success": True})] == [id_]


def test_reason_and_outcome_pass_to_what_repeats_the_text(lexical_vault: Vault) -> None:
    (id_,) = lexical_vault.add("x", success=False)
    lexical_vault.invalidate(id_, "because")
    assert lexical_vault.update(id_, title="named").reason == "because"
    assert lexical_vault.restore(id_).success is False


def test_an_export_keeps_reason_and_outcome(lexical_vault: Vault, tmp_path: Path) -> None:
    (id_,) = lexical_vault.add("x", success=True)
    lexical_vault.invalidate(id_, "because")
    lexical_vault.export(tmp_path / "all.jsonl")
    with lamina.open(tmp_path / "other", create=True, embedder="none") as other:
        other.import_(tmp_path / "all.jsonl")
        assert other.get(id_).reason == "because"
        assert other.restore(id_).success is True


def test_pins_survive_updates_and_status(lexical_vault: Vault) -> None:
    (id_,) = lexical_vault.add("x", id="x")
    lexical_vault.pin(id_)
    lexical_vault.update(id_, text="y")
    lexical_vault.add("z", id="x")
    lexical_vault.invalidate(id_, "no")
    assert lexical_vault.get(id_).pinned
    assert [c.id for c in lexical_vault.list({"pinned": True, "status": "invalidated"})] == ["x"]
    lexical_vault.pin(id_, pinned=False)
    lexical_vault.update(id_, text="w")
    assert not lexical_vault.get(id_).pinned


def test_an_update_makes_an_invalidated_chunk_current(lexical_vault: Vault) -> None:
    (id_,) = lexical_vault.add("wrong")
    lexical_vault.invalidate(id_, "no")
    assert lexical_vault.update(id_, text="right").status == "active"
    assert [hit.text for hit in lexical_vault.recall("right wrong")] == ["right"]


@pytest.mark.parametrize("reason", ["", "  ", None, 3])
def test_a_reason_is_needed(lexical_vault: Vault, reason: Any) -> None:
    (id_,) = lexical_vault.add("x")
    with pytest.raises(InvalidArgument, match="reason"):
        lexical_vault.invalidate(id_, reason)
    assert lexical_vault.get(id_).status == "active"


def test_an_unknown_id_is_a_key_error_with_a_readable_message(lexical_vault: Vault) -> None:
    for vault_is_empty in (True, False):
        for call in (
            lambda: lexical_vault.get("nope"), lambda: lexical_vault.invalidate("nope", "x"), lambda: lexical_vault.restore("nope"),
            lambda: lexical_vault.pin("nope"), lambda: lexical_vault.update("nope", text="x"), lambda: lexical_vault.history("nope"),
            lambda: lexical_vault.get("#abcd"),
        ):  # fmt: skip
            with pytest.raises(KeyError) as error:
                call()
            assert isinstance(error.value, ChunkNotFound)
            assert str(error.value).startswith("no chunk has the id")
        if vault_is_empty:
            lexical_vault.add("x")


@pytest.mark.parametrize("id_", ["", None, 3])
def test_what_is_no_id_is_refused(lexical_vault: Vault, id_: Any) -> None:
    with pytest.raises(InvalidArgument):
        lexical_vault.get(id_)


def test_short_ids(lexical_vault: Vault, clock: FixedClock) -> None:
    a, b, c = "abcd" + "0" * 28, "abcd" + "1" * 28, "beef" + "2" * 28
    lexical_vault.add([{"text": f"text {id_}", "id": id_} for id_ in (a, b, c, "abcd")])
    lexical_vault.update(c, text="other")  # one chunk, two rows
    for given_, ref in (("#abcd0", a), ("abcd1", b), ("#beef", c), ("beef", c), ("#" + a, a), ("abcd", "abcd"), (a, a)):
        assert lexical_vault.get(given_).id == ref
    with pytest.raises(AmbiguousId, match="fits 3 chunks") as error:
        lexical_vault.get("#abcd")
    assert isinstance(error.value, LookupError | LaminaError)
    for given_ in ("#bee", "#ABCD0", "#beef3", "bee"):
        with pytest.raises(ChunkNotFound):
            lexical_vault.get(given_)
    assert lexical_vault.invalidate("#beef", "x").id == c


def test_history_tells_every_version_in_order(lexical_vault: Vault, clock: FixedClock) -> None:
    (id_,) = lexical_vault.add("one", id="x")
    lexical_vault.add("unrelated")
    steps: list[Callable[[], Chunk]] = [
        lambda: lexical_vault.update(id_, text="two"), lambda: lexical_vault.invalidate(id_, "r"), lambda: lexical_vault.pin(id_),
        lambda: lexical_vault.restore(id_), lambda: lexical_vault.update(id_, text="three"),
    ]  # fmt: skip
    for step in steps:
        clock.advance(60)
        step()
    got = lexical_vault.history(id_)
    assert [entry.kind for entry in got] == ["added", "updated", "invalidate", "pin", "restore", "updated", "pin"]
    assert [entry.chunk.text for entry in got if entry.chunk is not None] == [
        "one",
        "two",
        "three",
    ]
    assert [entry.recorded_at for entry in got] == sorted(entry.recorded_at for entry in got)


def test_lists_are_newest_first_and_cut_by_the_same_order(lexical_vault: Vault) -> None:
    for name, day in (("b", 1), ("a", 1), ("d", 3), ("c", 1), ("e", 2)):
        lexical_vault.add(f"text {name}", id=name, created_at=f"2026-01-0{day}")
    ref = ["d", "e", "a", "b", "c"]
    for limit in (1, 2, 3, 4, 5, 9, None):
        assert [c.id for c in lexical_vault.list(limit=limit)] == ref[:limit]
    assert lexical_vault.get_many([]) == []
    assert [c.id for c in lexical_vault.get_many(["e", "a", "e"])] == ["e", "a", "e"]


def found(vault: Vault, **options: object) -> list[str]:
    return sorted(hit.id for hit in vault.recall("words", **options))  # type: ignore[arg-type]


def test_a_snoozed_chunk_is_left_out_until_its_moment(lexical_vault: Vault, clock: FixedClock) -> None:
    a, b = (lexical_vault.add(f"words {name}", id=name)[0] for name in "ab")
    chunk = lexical_vault.snooze(a, "2026-04-01")
    assert chunk.snoozed_until_us is not None
    assert found(lexical_vault) == [b]
    assert [c.id for c in lexical_vault.list()] == [b, a]
    assert found(lexical_vault, now="2026-04-01") == [a, b]
    assert found(lexical_vault, now="2026-03-31T23:59:59Z") == [b]
    assert found(lexical_vault, where={"snoozed_until": "*"}) == [a]
    assert [c.id for c in lexical_vault.list({"snoozed_until": {"lt": "2026-05-01"}})] == [a]
    clock.advance(31 * 86_400)
    assert found(lexical_vault) == [a, b]
    assert lexical_vault.get(a).status == "active"


def test_waking_and_sleeping_twice(lexical_vault: Vault) -> None:
    (a,) = lexical_vault.add("words", id="a")
    lexical_vault.snooze(a, "2026-04-01")
    before = lexical_vault.stats()["snapshot"]
    lexical_vault.snooze(a, "2026-04-01")
    assert lexical_vault.stats()["snapshot"] == before
    assert lexical_vault.snooze(a, None).snoozed_until_us is None
    lexical_vault.snooze(a, None)
    assert kinds(lexical_vault, a) == ["added", "snooze", "wake"]
    assert found(lexical_vault) == [a]
    lexical_vault.snooze(a, "2026-04-01T00:00", tz="Europe/Berlin")
    assert found(lexical_vault, now="2026-03-31T22:00:00Z") == [a]
    assert lexical_vault.restore(a).snoozed_until_us is None
    for wrong in ("soon", object()):
        with pytest.raises(InvalidArgument):
            lexical_vault.snooze(a, wrong)  # type: ignore[arg-type]
    with pytest.raises(ChunkNotFound):
        lexical_vault.snooze("nothing", None)


def test_a_snooze_passes_to_the_new_version_and_survives_reopening(lexical_vault: Vault) -> None:
    (a,) = lexical_vault.add("words", id="a")
    lexical_vault.snooze(a, "2026-04-01")
    lexical_vault.update(a, text="other words")
    assert found(lexical_vault) == []
    with lamina.open(lexical_vault.path, mode="r", clock=FixedClock("2026-03-02")) as again:
        assert found(again) == []
        assert found(again, now="2026-04-02") == [a]


def test_marks_pass_to_the_last_version_that_one_call_gives(lexical_vault: Vault) -> None:
    """As they do from call to call: an id given twice in a call has the later record, and the marks of its chunk."""
    for name in ("asleep", "wrong", "asked", "mended"):
        lexical_vault.add("as it was", id=name)
    lexical_vault.snooze("asleep", "2026-04-01")
    lexical_vault.invalidate("wrong", "it never was")
    lexical_vault.invalidate("mended", "it never was")
    lexical_vault.review("asked", "look again")
    two = [{"id": name, "text": "as it was", "title": title} for name in ("wrong", "asked") for title in ("one", "two")]
    two += [{"id": "asleep", "text": text} for text in ("else", "else again")]
    two += [{"id": "mended", "text": text} for text in ("mended", "as it was")]
    lexical_vault.add(two)
    assert lexical_vault.get("asleep").snoozed_until_us == parse_instant("2026-04-01")
    assert (lexical_vault.get("wrong").title, lexical_vault.get("wrong").status) == ("two", "invalidated")
    assert lexical_vault.get("wrong").reason == "it never was"
    assert lexical_vault.get("asked").needs_review
    assert lexical_vault.get("mended").status == "active"


def test_the_past_knows_no_later_snooze(lexical_vault: Vault, clock: FixedClock) -> None:
    (a,) = lexical_vault.add("words", id="a")
    then = clock.now_us() / 1e6 + 1
    clock.advance(60)
    lexical_vault.snooze(a, "2026-04-01")
    assert found(lexical_vault, as_of=then) == [a]
    assert found(lexical_vault) == []


def test_archiving_named_chunks(lexical_vault: Vault) -> None:
    a, b = (lexical_vault.add(f"words {name}", id=name)[0] for name in "ab")
    dry = lexical_vault.archive(a)
    assert (dry.chunks, dry.ids, dry.dry_run) == (1, (a,), True)
    assert found(lexical_vault) == [a, b]
    assert lexical_vault.archive([a], dry_run=False).chunks == 1
    assert found(lexical_vault) == [b]
    assert [c.id for c in lexical_vault.list()] == [b]
    assert [c.id for c in lexical_vault.list({"status": "archived"})] == [a]
    assert found(lexical_vault, where={"status": "archived"}) == [a]
    assert lexical_vault.archive(a, dry_run=False).chunks == 0
    assert lexical_vault.restore(a).status == "active"
    assert kinds(lexical_vault, a) == ["added", "archive", "restore"]
    assert found(lexical_vault) == [a, b]
    assert lexical_vault.stats()["status"]["archived"] == 0


def test_the_policy_takes_what_is_old_and_nothing_else(lexical_vault: Vault, clock: FixedClock) -> None:
    for name, fields in {
        "old": {}, "preference": {"type": "preference"}, "pinned": {}, "asleep": {}, "future": {"created_at": "2030-01-01"},
        "task": {"type": "agent_task"},
    }.items():  # fmt: skip
        lexical_vault.add({"text": f"words {name}", "id": name, "created_at": "2025-06-01", **fields})
    lexical_vault.pin("pinned")
    assert lexical_vault.archive().ids == ("old", "asleep", "task")
    clock.advance(30 * 86_400)
    lexical_vault.snooze("asleep", "2027-01-01")
    lexical_vault.add("words new", id="new")
    assert lexical_vault.archive().ids == ("old", "task")
    assert lexical_vault.archive(types={"agent_task": None}).ids == ("old",)
    assert lexical_vault.archive(types={"preference": 10}).ids == ("old", "preference", "task")
    assert lexical_vault.archive(where={"type": "agent_task"}).ids == ("task",)
    assert lexical_vault.archive(after_days=400).ids == ()
    clock.advance(100 * 86_400)
    assert "future" in lexical_vault.archive().ids
    assert lexical_vault.archive(dry_run=False).chunks == len(lexical_vault.list({"status": "archived"}))
    assert lexical_vault.archive(dry_run=False).chunks == 0


def test_wrong_policies_are_refused(lexical_vault: Vault) -> None:
    (a,) = lexical_vault.add("words")
    wrongs: list[dict[str, Any]] = [
        {"after_days": 0}, {"after_days": float("inf")}, {"after_days": True}, {"types": {"note": -1}}, {"dry_run": 1},
        {"ids": a, "where": {"type": "note"}},
    ]  # fmt: skip
    for wrong in wrongs:
        with pytest.raises(InvalidArgument):
            lexical_vault.archive(**wrong)
    with lamina.open(lexical_vault.path, mode="r") as reader:
        assert reader.archive(a).chunks == 1
        with pytest.raises(VaultReadOnly):
            reader.archive(a, dry_run=False)


def test_an_export_of_what_is_archived_comes_back_archived(lexical_vault: Vault, tmp_path: Path) -> None:
    for name in "ab":
        lexical_vault.add(f"words {name}", id=name)
    lexical_vault.archive("a", dry_run=False)
    lexical_vault.export(tmp_path / "all.jsonl", where={"status": {"in": ["active", "archived"]}})
    with lamina.open(tmp_path / "again", create=True, embedder="none") as again:
        again.import_(tmp_path / "all.jsonl")
        assert {chunk.id: chunk.status for chunk in again.get_many(["a", "b"])} == {"a": "archived", "b": "active"}


def test_an_archived_chunk_stays_so_when_its_file_is_read_again(lexical_vault: Vault) -> None:
    lexical_vault.add("words", id="a")
    lexical_vault.archive("a", dry_run=False)
    lexical_vault.add("words", id="a")
    assert lexical_vault.get("a").status == "archived"
    assert lexical_vault.update("a", text="other words").status == "active"


def test_what_was_written_anew_is_not_old(lexical_vault: Vault) -> None:
    for name in "ab":
        lexical_vault.add({"text": f"words {name}", "id": name, "created_at": "2020-01-01"})
    lexical_vault.update("a", text="other words")
    assert lexical_vault.archive().ids == ("b",)


def test_an_export_leaves_nothing_out(lexical_vault: Vault, tmp_path: Path) -> None:
    for name in "abc":
        lexical_vault.add(f"words {name}", id=name)
    lexical_vault.archive("a", dry_run=False)
    lexical_vault.snooze("b", "2031-01-01")
    for name in ("all.jsonl", "all.parquet"):
        assert lexical_vault.export(tmp_path / name) == 3
        with lamina.open(tmp_path / f"again-{name}", create=True, embedder="none") as again:
            again.import_(tmp_path / name)
            again.import_(tmp_path / name)
            assert [chunk.status for chunk in again.get_many(["a", "b", "c"])] == ["archived", "active", "active"]
            assert again.get("b").snoozed_until_us == parse_instant("2031-01-01")
            assert again.export(tmp_path / f"second-{name}") == 3
            assert len(again.history("b")) == 2  # the second import changed nothing


def test_a_snooze_until_the_past_is_refused(lexical_vault: Vault) -> None:
    lexical_vault.add("words", id="a")
    lexical_vault.snooze("a", "2031-01-01")
    with pytest.raises(InvalidArgument, match="past"):
        lexical_vault.snooze("a", "2020-01-01")
    assert lexical_vault.get("a").snoozed_until_us == parse_instant("2031-01-01")
