""""""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from lamina_engine.care.forgetting import forget
from lamina_engine.memory import Memory
from lamina_engine.topics import labels
from lamina_engine.topics.catalog import topics
from lamina_engine.topics.clustering import cluster
from lamina_engine.topics.generation import latest, read_members, read_topics, write
from lamina_engine.topics.labels import WordReader, make_name, make_names, sample_size, select_words
from tests.engine.topics.vaults import blobs, fill

count_words = WordReader().count


def test_words_that_tell_topics_apart_come_first() -> None:
    rose = count_words(["We planted roses in the garden.", "Roses need soil, the garden too."])
    code = count_words(["We wrote the array code in the garden.", "Array code, again: arrays!"])
    got = select_words([rose, code], [0, 1])
    assert got[0][0] == "roses"
    assert got[1][0] == "array", "the form that is written most often"
    assert "the" not in got[0] + got[1]
    assert got[0].index("garden") > 0


def test_numbers_letters_and_nothing_at_all() -> None:
    assert select_words([count_words(["1234 x 5.6", ""])], [0]) == [[]]
    assert make_name([]) == "untitled"
    assert make_name(["a1", "b1", "c1", "d1"]) == "a1, b1, c1"


def test_topics_above_are_weighed_against_those_below() -> None:
    a, b = count_words(["alpha beta beta"]), count_words(["gamma beta"])
    both = count_words([])
    both.add(a)
    both.add(b)
    got = select_words([both, a, b], [1, 2])
    assert got[1:] == select_words([a, b], [0, 1])
    assert set(got[0]) == {"alpha", "beta", "gamma"}


def test_no_two_topics_have_the_same_name() -> None:
    words = [["git", "commit", "file", "branch"], ["commit", "git", "file", "branch", "log"], ["a1"], ["a1"], [], []]
    got = make_names(words, [None] * 6, [0, 1, 2, 3, 4, 5])
    assert got == ["git, commit, file", "commit, git, branch", "a1", "a1 (2)", "untitled", "untitled (2)"]
    assert make_names(words, [None] * 6, [5, 4, 3, 2, 1, 0])[:2] == ["git, commit, branch", "commit, git, file"]


def test_names_that_stay_are_not_given_again() -> None:
    got = make_names([["a1", "b1", "c1", "d1"], ["x1"], ["x1"]], [None, "c1, b1, A1", "Roses"], [0, 1, 2])
    assert got == ["a1, b1, d1", "c1, b1, A1", "Roses"]
    assert make_names([["x1"]], [""], [0]) == ["x1"]
    assert make_names([], [], []) == []


def test_of_many_topics_fewer_texts_are_read() -> None:
    assert [sample_size(topics) for topics in (0, 1, 100, 200, 1_000, 10_000)] == [200, 200, 200, 100, 20, 20]


def test_a_piece_counts_as_often_as_it_stands_there() -> None:
    got = count_words(["roses grow, roses bloom", "fooBar roses fooBar"])
    assert got.forms == {
        ("rose", "roses"): 3,
        ("grow", "grow"): 1,
        ("bloom", "bloom"): 1,
        ("foobar", "fooBar"): 2,
    }
    assert got.stems()["rose"] == 3


def test_names_are_words_as_people_write_them() -> None:
    # findings, seeds-b 003 #33: "os, app, android" for iOS, "bouncer, pg, pool" for PgBouncer, "shi, shipping"
    pool = count_words([
        "PgBouncer ran out of connections.", "The PgBouncer pool is in transaction mode now.", "pgbouncer: pool_size is 40 connections.",
    ])  # fmt: skip
    phone = count_words(
        ["The iOS app crashes.", "Ship the iOS app and the Android app.", "Shipping to iOS takes two days."]
    )
    table = count_words(
        ["PostgreSQL has an index.", "The index of PostgreSQL, and its Vacuum.", "Vacuum of an index. Vacuum!"]
    )
    got = select_words([pool, phone, table], [0, 1, 2])
    assert got[0][:1] == ["PgBouncer"]
    assert {"iOS", "app"} == set(got[1][:2])
    assert {"PostgreSQL", "index", "Vacuum"} == set(got[2][:3])
    assert not {"pg", "bouncer", "os", "shi", "postgre", "sql"} & {word for words in got for word in words}


def test_addresses_markup_speakers_and_code_beside_prose_name_nothing() -> None:
    text = "[User]\nsee https://example.com/md for the kettle\n\n[Tool:Bash]\nls\n\n```ruby\nclass Zebra\nend\n```\nThe kettle whistles again and the water boils over."
    (got,) = select_words([count_words([text])], [0])
    assert {"kettle", "water"} <= set(got)
    assert not {"User", "https", "com", "Tool", "Bash", "ruby", "Zebra"} & set(got)


def test_a_part_is_named_by_what_tells_it_from_the_whole() -> None:
    # findings, seeds-b: "git, git, branch"
    words = [["git", "commit", "file"], ["git", "branch", "commit", "merge", "file"], ["git", "stash"]]
    assert make_names(words, [None] * 3, [0, 1, 2], [-1, 0, 0]) == [
        "git, commit, file",
        "branch, merge, git",
        "stash, git",
    ]


SECRET = "zanzibar"


def vault(memory: Memory) -> str:
    """A vault of two topics, one of them with a word that a single chunk brought in; return that chunk's id."""
    vectors, owners = blobs([8, 8])
    ids = fill(memory, vectors, owners)
    [odd] = fill(memory, vectors[:1], [0], prefix=f"{SECRET} {SECRET} {SECRET} Zanzibars ")
    cluster(memory)
    assert {SECRET} < {word for topic in topics(memory) for word in topic.words}
    assert len(ids) == 16
    return odd


def on_disk(memory: Memory) -> list[Path]:
    return [path for path in memory.root.rglob("*") if path.is_file() and SECRET in path.read_bytes().decode("latin-1")]


def test_words_that_only_forgotten_chunks_said_are_gone(memory: Memory) -> None:
    odd = vault(memory)
    before = {topic.id: topic for topic in topics(memory)}
    forget(memory, ids=[odd], dry_run=False)
    assert on_disk(memory) == []
    for topic in topics(memory):
        assert topic.words == tuple(word for word in before[topic.id].words if word != SECRET)
        assert topic.name == ", ".join(topic.words[:3])
        assert {"garden", "python"} & set(topic.words), "what others say too stays"


def test_a_name_by_a_model_goes_with_the_word_it_is_made_of(memory: Memory) -> None:
    odd = vault(memory)
    snapshot = memory.view().snapshot
    detail = latest(snapshot)
    assert detail is not None
    called = [
        replace(topic, name="Zanzibars at home" if SECRET in topic.words else "Code of ours")
        for topic in read_topics(snapshot, 1)
    ]
    write(memory, detail, called, read_members(snapshot, 1))
    forget(memory, ids=[odd], dry_run=False)
    names = {", ".join(topic.words[:3]): topic.name for topic in topics(memory)}
    assert sorted(names.values()) == sorted(["Code of ours", next(words for words in names if "garden" in words)])


def test_words_that_another_chunk_says_stay(memory: Memory) -> None:
    odd = vault(memory)
    fill(memory, blobs([1])[0], [0], prefix="ZANZIBAR ")
    forget(memory, ids=[odd], dry_run=False)
    assert SECRET in {word for topic in topics(memory) for word in topic.words}


def test_every_generation_is_looked_at(memory: Memory) -> None:
    odd = vault(memory)
    cluster(memory, min_cluster_size=5, full=True)
    forget(memory, ids=[odd], dry_run=False)
    assert on_disk(memory) == []


def test_nothing_to_look_at(memory: Memory) -> None:
    fill(memory, *blobs([3]))
    snapshot = memory.view().snapshot
    assert labels.TopicErasure(snapshot, np.array([0]))._only_there() == {}
    cluster(memory)
    assert forget(memory, ids=["c0"], dry_run=False).chunks == 1
