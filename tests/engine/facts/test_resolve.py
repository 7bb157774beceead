"""Saved keys of names: opened, added to, and never trusted."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.care.backup import backup
from lamina_engine.errors import AmbiguousEntity, InvalidArgument
from lamina_engine.facts.columns import RowGroups
from lamina_engine.facts.entities import (
    EntityDraft,
    add_alias,
    add_entity,
    ensure_entities,
    merge_entities,
    remove_alias,
)
from lamina_engine.facts.log import entity_row, write
from lamina_engine.facts.resolve import NAMES_INDEX, NamesDamaged, is_one_edit, name_index, open_keys
from lamina_engine.facts.schema import Draft
from lamina_engine.facts.view import FactView, fact_view_at
from lamina_engine.memory import Memory


@pytest.fixture
def many(memory: Memory) -> Memory:
    ensure_entities(
        memory,
        [EntityDraft(f"Thing {at}", None, [f"T{at} of the north"] if at % 10 == 0 else ()) for at in range(4_100)],
    )
    return memory


def test_names_are_saved_once_there_are_many_and_found_by_the_next_process(many: Memory) -> None:
    record = many.store.snapshot().manifest.indexes[NAMES_INDEX]
    assert (record["rows"], record["aliases"]) == (4_100, 410)
    write(many, [Draft("Newcomer", "phone", "1")])
    assert many.store.snapshot().manifest.indexes[NAMES_INDEX] == record  # one more is no reason
    other = Memory(many.root, mode="r", embedder="none")
    kg = fact_view_at(other)
    for name in ("thing 7", "Newcomer", "t10 of the NORTH"):
        assert kg.resolve(name).entity is not None
    assert [mention.text for mention in kg.scan("ask T20 of the north about Thing 4099")] == [
        "T20 of the north",
        "Thing 4099",
    ]
    snapshot = other.store.snapshot()
    mine, its = name_index(many.tables, snapshot), name_index(other.tables, snapshot)
    assert np.array_equal(mine.name_keys.values, its.name_keys.values)
    assert mine.longest == its.longest
    other.close()


def test_damage_is_noticed_and_costs_time_alone(many: Memory, caplog: pytest.LogCaptureFixture) -> None:
    path = many.tables.folder / str(many.store.snapshot().manifest.indexes[NAMES_INDEX]["file"])
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(NamesDamaged):
        open_keys(path)
    other = Memory(many.root, mode="r", embedder="none")
    with caplog.at_level(logging.WARNING):
        assert fact_view_at(other).resolve("thing 7").entity is not None
    assert "made again" in caplog.text
    other.close()


def test_a_backup_makes_them_again(many: Memory) -> None:
    copy = many.root.with_name("copy")
    backup(many, copy)
    other = Memory(copy, mode="r", embedder="none")
    assert fact_view_at(other).resolve("thing 7").entity is not None
    other.close()


@pytest.mark.parametrize("sizes", [(0,), (1, 2), (9_000, 3, 5), (3, 9_000, 9_000)])
def test_rows_by_number_are_those_of_a_scan(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    grouped, parts = RowGroups(), []
    for size in sizes:
        parts.append(rng.integers(-1, 50, size))
        grouped.append(sum(map(len, parts[:-1])), parts[-1])
    numbers = np.concatenate(parts)
    for number in range(51):
        for below in (0, len(numbers) // 2, len(numbers)):
            ref = np.flatnonzero(numbers[:below] == number)
            assert np.array_equal(grouped.of(number, below), ref)


def found(kg: FactView, name: str, *, prefix: bool = False, edits: bool = False) -> tuple[list[str], str]:
    resolution = kg.resolve(name, prefix=prefix, edits=edits)
    return [entity.name for entity in resolution.entities], resolution.how


def test_levels_in_their_order(memory: Memory) -> None:
    ensure_entities(
        memory,
        [EntityDraft("Ümit", "person", ["Chef", "Mutti"]), EntityDraft("Project Keystone", "project", ["Keystone"])],
    )
    kg = fact_view_at(memory)
    assert found(kg, "vault:person:ümit") == (["Ümit"], "id")
    assert found(kg, "Ümit") == (["Ümit"], "name")
    assert found(kg, "Keystone") == (["Project Keystone"], "alias")
    assert found(kg, "project  KEYSTONE") == (["Project Keystone"], "folded name")
    assert found(kg, "umit") == (["Ümit"], "folded name")
    assert found(kg, "MUTTI") == (["Ümit"], "folded alias")
    assert found(kg, "Projekt Keystone") == ([], "none")
    assert found(kg, "Proj") == ([], "none")
    assert found(kg, "Proj", prefix=True) == (["Project Keystone"], "prefix")
    assert found(kg, "Pr", prefix=True) == ([], "none")
    assert found(kg, "Keystome", edits=True) == (["Project Keystone"], "edit")
    assert found(kg, "Projec Keystone", edits=True) == (["Project Keystone"], "edit")
    assert found(kg, "umjt", edits=True) == ([], "none")  # four letters are too few


def test_an_alias_never_hijacks_a_name(memory: Memory) -> None:
    ensure_entities(memory, [EntityDraft("Keystone"), EntityDraft("Arch", None, ["Keystone"])])
    assert found(fact_view_at(memory), "Keystone") == (["Keystone"], "name")
    assert found(fact_view_at(memory), "keystone") == (["Keystone"], "folded name")


def test_an_ambiguous_alias_shows_all_and_guesses_none(memory: Memory) -> None:
    ensure_entities(memory, [EntityDraft("Zed", "person", ["Boss"]), EntityDraft("Abe", "person", ["Boss"])])
    kg = fact_view_at(memory)
    resolution = kg.resolve("boss")
    assert resolution.ambiguous
    assert resolution.entity is None
    assert [entity.name for entity in resolution.entities] == ["Abe", "Zed"]
    with pytest.raises(AmbiguousEntity, match=r"vault:person:abe, vault:person:zed"):
        entity_row(kg, "Boss")
    with pytest.raises(AmbiguousEntity):
        write(memory, [Draft("Boss", "phone", "1")])
    assert fact_view_at(memory).fact_rows == 0


def test_a_canonical_id_is_exact_whatever_else_has_its_name(memory: Memory) -> None:
    ensure_entities(memory, [EntityDraft("Mercury", "person"), EntityDraft("Mercury", "project")])
    write(memory, [Draft("vault:person:mercury", "phone", str(i)) for i in range(5)])
    entity = fact_view_at(memory).resolve("vault:project:mercury").entity
    assert entity is not None
    assert entity.type == "project"
    assert fact_view_at(memory).resolve("Mercury").ambiguous
    assert fact_view_at(memory).resolve("Mercury", type="person").entity is not None


def test_a_removed_alias_resolves_no_more_and_did_before(memory: Memory) -> None:
    add_entity(memory, "Ada", "person", ["Mum"])
    before = memory.store.snapshot().manifest.last_us
    assert remove_alias(memory, "MUM") == 1
    assert remove_alias(memory, "Mum") == 0
    assert found(fact_view_at(memory), "Mum") == ([], "none")
    assert found(fact_view_at(memory, before), "Mum") == (["Ada"], "alias")
    add_alias(memory, "Mum", "Ada")
    assert found(fact_view_at(memory), "mum") == (["Ada"], "folded alias")


def test_unalias_of_one_leaves_the_other(memory: Memory) -> None:
    ensure_entities(memory, [EntityDraft("Zed", None, ["Boss"]), EntityDraft("Abe", None, ["Boss"])])
    assert remove_alias(memory, "boss", "Zed") == 1
    assert found(fact_view_at(memory), "Boss") == (["Abe"], "alias")


def test_names_of_what_was_merged_lead_on(memory: Memory) -> None:
    ensure_entities(
        memory,
        [
            EntityDraft("Keystone", "project", ["KS"]),
            EntityDraft("Cornerstone", "project", ["CS"]),
            EntityDraft("Base", "project"),
        ],
    )
    before = memory.store.snapshot().manifest.last_us
    merge_entities(memory, "Cornerstone", "Keystone")
    merged = merge_entities(memory, "Keystone", "Base")
    assert merged.name == "Base"
    assert set(merged.aliases) == {"Cornerstone", "Keystone", "KS", "CS"}
    assert set(merged.merged) == {"vault:project:keystone", "vault:project:cornerstone"}
    kg = fact_view_at(memory)
    for name in ("CS", "cornerstone", "Keystone", "vault:project:cornerstone"):
        assert found(kg, name)[0] == ["Base"]
    assert kg.entities == 1
    assert found(fact_view_at(memory, before), "CS") == (["Cornerstone"], "alias")
    with pytest.raises(InvalidArgument, match="one entity already"):
        merge_entities(memory, "Base", "CS")


def test_scanning_takes_whole_words_the_longest_at_a_place(memory: Memory) -> None:
    ensure_entities(memory, [
        EntityDraft("Project Keystone", "project", ["Keystone"]), EntityDraft("Ann", "person", ["the boss"]), EntityDraft("東京", "place"),
        EntityDraft("C++", "tool"), EntityDraft("Café Noir", "place"),
    ])  # fmt: skip
    kg = fact_view_at(memory)

    def named(text: str) -> list[tuple[str, str]]:
        return [(mention.text, mention.entities[0].name) for mention in kg.scan(text)]

    assert named("Is Project Keystone like keystone’s port?") == [
        ("Project Keystone", "Project Keystone"),
        ("keystone", "Project Keystone"),
    ]
    assert named("Annabel annoys the bosses of keystones") == []
    assert named("ask THE BOSS, or Ann's team") == [("THE BOSS", "Ann"), ("Ann", "Ann")]
    assert named("昨日東京に行った") == [("東京", "東京")]
    assert named("is C++ faster than C?") == [("C++", "C++")]
    assert named("cafe noir") == [("cafe noir", "Café Noir")]
    assert named("") == []


def test_scanning_shows_what_is_ambiguous_and_forgets_what_was_removed(memory: Memory) -> None:
    ensure_entities(memory, [EntityDraft("Zed", None, ["Boss"]), EntityDraft("Abe", None, ["Boss"])])
    (mention,) = fact_view_at(memory).scan("where is the boss?")
    assert [entity.name for entity in mention.entities] == ["Abe", "Zed"]
    remove_alias(memory, "Boss")
    assert fact_view_at(memory).scan("where is the boss?") == []


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_one_edit_is_an_edit_distance_of_one(first: str, second: str) -> None:
    letters = "abc"
    near = {first[:i] + first[i + 1 :] for i in range(len(first))}
    near |= {first[:i] + letter + first[i:] for i in range(len(first) + 1) for letter in letters}
    near |= {first[:i] + letter + first[i + 1 :] for i in range(len(first)) for letter in letters}
    assert is_one_edit(first, second) == (second in near - {first})


def test_one_edit_is_found_wherever_it_is(memory: Memory) -> None:
    ensure_entities(memory, [EntityDraft("keystone"), EntityDraft("capstone"), EntityDraft("keystore")])
    kg = fact_view_at(memory)
    for at in range(len("capstone")):
        slipped = "capstone"[:at] + "x" + "capstone"[at + 1 :]
        assert found(kg, slipped, edits=True) == (["capstone"], "edit")
        assert found(kg, "capstone"[:at] + "capstone"[at + 1 :], edits=True) == (["capstone"], "edit")
    assert found(kg, "keystoxe", edits=True) == (["keystone", "keystore"], "edit")
