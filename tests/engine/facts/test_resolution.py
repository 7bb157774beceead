from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.errors import AmbiguousEntity, InvalidArgument
from lamina_engine.facts.book import Book, book_at
from lamina_engine.facts.entities import Named, add_entity, alias, ensure, merge, unalias
from lamina_engine.facts.log import Draft, known_entity, write
from lamina_engine.facts.resolution import one_edit
from lamina_engine.memory import Memory


def found(book: Book, name: str, *, prefix: bool = False, edits: bool = False) -> tuple[list[str], str]:
    resolution = book.resolve(name, prefix=prefix, edits=edits)
    return [entity.name for entity in resolution.entities], resolution.how


def test_levels_in_their_order(memory: Memory) -> None:
    ensure(memory, [Named("Ümit", "person", ["Chef", "Mutti"]), Named("Project Keystone", "project", ["Keystone"])])
    book = book_at(memory)
    assert found(book, "vault:person:ümit") == (["Ümit"], "id")
    assert found(book, "Ümit") == (["Ümit"], "name")
    assert found(book, "Keystone") == (["Project Keystone"], "alias")
    assert found(book, "project  KEYSTONE") == (["Project Keystone"], "folded name")
    assert found(book, "umit") == (["Ümit"], "folded name")
    assert found(book, "MUTTI") == (["Ümit"], "folded alias")
    assert found(book, "Projekt Keystone") == ([], "none")
    assert found(book, "Proj") == ([], "none")
    assert found(book, "Proj", prefix=True) == (["Project Keystone"], "prefix")
    assert found(book, "Pr", prefix=True) == ([], "none")
    assert found(book, "Keystome", edits=True) == (["Project Keystone"], "edit")
    assert found(book, "Projec Keystone", edits=True) == (["Project Keystone"], "edit")
    assert found(book, "umjt", edits=True) == ([], "none")  # four letters are too few


def test_an_alias_never_hijacks_a_name(memory: Memory) -> None:
    ensure(memory, [Named("Keystone"), Named("Arch", None, ["Keystone"])])
    assert found(book_at(memory), "Keystone") == (["Keystone"], "name")
    assert found(book_at(memory), "keystone") == (["Keystone"], "folded name")


def test_an_ambiguous_alias_shows_all_and_guesses_none(memory: Memory) -> None:
    ensure(memory, [Named("Zed", "person", ["Boss"]), Named("Abe", "person", ["Boss"])])
    book = book_at(memory)
    resolution = book.resolve("boss")
    assert resolution.ambiguous
    assert resolution.entity is None
    assert [entity.name for entity in resolution.entities] == ["Abe", "Zed"]
    with pytest.raises(AmbiguousEntity, match=r"vault:person:abe, vault:person:zed"):
        known_entity(book, "Boss")
    with pytest.raises(AmbiguousEntity):
        write(memory, [Draft("Boss", "phone", "1")])
    assert book_at(memory).facts == 0


def test_a_canonical_id_is_exact_whatever_else_has_its_name(memory: Memory) -> None:
    ensure(memory, [Named("Mercury", "person"), Named("Mercury", "project")])
    write(memory, [Draft("vault:person:mercury", "phone", str(i)) for i in range(5)])
    entity = book_at(memory).resolve("vault:project:mercury").entity
    assert entity is not None
    assert entity.type == "project"
    assert book_at(memory).resolve("Mercury").ambiguous
    assert book_at(memory).resolve("Mercury", type="person").entity is not None


def test_a_removed_alias_resolves_no_more_and_did_before(memory: Memory) -> None:
    add_entity(memory, "Ada", "person", ["Mum"])
    before = memory.store.snapshot().manifest.last_us
    assert unalias(memory, "MUM") == 1
    assert unalias(memory, "Mum") == 0
    assert found(book_at(memory), "Mum") == ([], "none")
    assert found(book_at(memory, before), "Mum") == (["Ada"], "alias")
    alias(memory, "Mum", "Ada")
    assert found(book_at(memory), "mum") == (["Ada"], "folded alias")


def test_unalias_of_one_leaves_the_other(memory: Memory) -> None:
    ensure(memory, [Named("Zed", None, ["Boss"]), Named("Abe", None, ["Boss"])])
    assert unalias(memory, "boss", "Zed") == 1
    assert found(book_at(memory), "Boss") == (["Abe"], "alias")


def test_names_of_what_was_merged_lead_on(memory: Memory) -> None:
    ensure(
        memory,
        [Named("Keystone", "project", ["KS"]), Named("Cornerstone", "project", ["CS"]), Named("Base", "project")],
    )
    before = memory.store.snapshot().manifest.last_us
    merge(memory, "Cornerstone", "Keystone")
    merged = merge(memory, "Keystone", "Base")
    assert merged.name == "Base"
    assert set(merged.aliases) == {"Cornerstone", "Keystone", "KS", "CS"}
    assert set(merged.merged) == {"vault:project:keystone", "vault:project:cornerstone"}
    book = book_at(memory)
    for name in ("CS", "cornerstone", "Keystone", "vault:project:cornerstone"):
        assert found(book, name)[0] == ["Base"]
    assert book.entities == 1
    assert found(book_at(memory, before), "CS") == (["Cornerstone"], "alias")
    with pytest.raises(InvalidArgument, match="one entity already"):
        merge(memory, "Base", "CS")


def test_scanning_takes_whole_words_the_longest_at_a_place(memory: Memory) -> None:
    ensure(memory, [
        Named("Project Keystone", "project", ["Keystone"]), Named("Ann", "person", ["the boss"]), Named("東京", "place"),
        Named("C++", "tool"), Named("Café Noir", "place"),
    ])  # fmt: skip
    book = book_at(memory)

    def named(text: str) -> list[tuple[str, str]]:
        return [(mention.text, mention.entities[0].name) for mention in book.scan(text)]

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
    ensure(memory, [Named("Zed", None, ["Boss"]), Named("Abe", None, ["Boss"])])
    (mention,) = book_at(memory).scan("where is the boss?")
    assert [entity.name for entity in mention.entities] == ["Abe", "Zed"]
    unalias(memory, "Boss")
    assert book_at(memory).scan("where is the boss?") == []


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_one_edit_is_an_edit_distance_of_one(first: str, second: str) -> None:
    letters = "abc"
    near = {first[:i] + first[i + 1 :] for i in range(len(first))}
    near |= {first[:i] + letter + first[i:] for i in range(len(first) + 1) for letter in letters}
    near |= {first[:i] + letter + first[i + 1 :] for i in range(len(first)) for letter in letters}
    assert one_edit(first, second) == (second in near - {first})


def test_one_edit_is_found_wherever_it_is(memory: Memory) -> None:
    ensure(memory, [Named("keystone"), Named("capstone"), Named("keystore")])
    book = book_at(memory)
    for at in range(len("capstone")):
        slipped = "capstone"[:at] + "x" + "capstone"[at + 1 :]
        assert found(book, slipped, edits=True) == (["capstone"], "edit")
        assert found(book, "capstone"[:at] + "capstone"[at + 1 :], edits=True) == (["capstone"], "edit")
    assert found(book, "keystoxe", edits=True) == (["keystone", "keystore"], "edit")
