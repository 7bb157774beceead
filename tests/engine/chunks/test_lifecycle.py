from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lamina import FixedClock, Vault
from lamina_engine.chunks.reading import Chunk
from lamina_engine.errors import AmbiguousId, ChunkNotFound, InvalidArgument, LaminaError


def kinds(vault: Vault, id_: str) -> list[str]:
    return [entry["kind"] for entry in vault.history(id_)]


def test_invalidating_hides_and_restoring_brings_back(lexical_vault: Vault) -> None:
    (id_,) = lexical_vault.add("we use MySQL")
    got = lexical_vault.invalidate(id_, "we moved", stamp="2026-02")
    assert got.status == "invalidated"
    assert len(lexical_vault.recall("MySQL")) == 0
    assert lexical_vault.list() == []
    entry = lexical_vault.history(id_)[-1]
    assert (entry["kind"], entry["reason"], entry["detail"]) == ("invalidate", "we moved", '{"stamp":"2026-02"}')
    assert lexical_vault.restore(id_, "we moved back").status == "active"
    assert [hit.id for hit in lexical_vault.recall("MySQL")] == [id_]
    assert kinds(lexical_vault, id_) == ["added", "invalidate", "restore"]


def test_a_second_time_changes_nothing(lexical_vault: Vault) -> None:
    (id_,) = lexical_vault.add("x")
    calls: list[Callable[[], Chunk]] = [
        lambda: lexical_vault.invalidate(id_, "first"), lambda: lexical_vault.restore(id_), lambda: lexical_vault.pin(id_),
        lambda: lexical_vault.pin(id_, pinned=False),
    ]  # fmt: skip
    for call in calls:
        first = call()
        before = lexical_vault.stats()
        assert call() == first
        assert lexical_vault.stats() == before
    assert kinds(lexical_vault, id_) == ["added", "invalidate", "restore", "pin", "unpin"]


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
    assert [entry["kind"] for entry in got] == ["added", "updated", "invalidate", "pin", "restore", "updated", "pin"]
    assert [entry["chunk"].text for entry in got if "chunk" in entry and entry["kind"] in ("added", "updated")] == [
        "one",
        "two",
        "three",
    ]
    assert [entry["recorded_at"] for entry in got] == sorted(entry["recorded_at"] for entry in got)


def test_lists_are_newest_first_and_cut_by_the_same_order(lexical_vault: Vault) -> None:
    for name, day in (("b", 1), ("a", 1), ("d", 3), ("c", 1), ("e", 2)):
        lexical_vault.add(f"text {name}", id=name, created_at=f"2026-01-0{day}")
    ref = ["d", "e", "a", "b", "c"]
    for limit in (1, 2, 3, 4, 5, 9, None):
        assert [c.id for c in lexical_vault.list(limit=limit)] == ref[:limit]
    assert lexical_vault.get_many([]) == []
    assert [c.id for c in lexical_vault.get_many(["e", "a", "e"])] == ["e", "a", "e"]
