"""Rows by word: made, joined, saved, and damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.facts import wordlists
from lamina_engine.facts.wordlists import WordRows, WordsDamaged, joined, made, open_words, packed, save, word_key

Entries = list[tuple[int, int, bool]]
"""Hash, row, whether the row is a relation."""
entries = st.lists(
    st.tuples(st.sampled_from([0, 1, 7, 2**31, 2**32 - 1]), st.integers(0, 99)), unique=True, max_size=60
).map(lambda found: [(hash, row, row % 3 == 0) for hash, row in found])


def lists_of(found: Entries, start: int = 0, stop: int = 100) -> WordRows:
    hashes, rows, kinds = (np.array([entry[at] for entry in found]) for at in range(3))
    return made(start, stop, packed(hashes.astype(np.uint32), rows.astype(np.int64), kinds.astype(np.bool_)))


def as_dict(words: WordRows) -> dict[int, list[int]]:
    return {key: words.of(key).tolist() for key in words.keys.tolist()}


def reference(found: Entries) -> dict[int, list[int]]:
    lists: dict[int, list[int]] = {}
    for hash, row, relation in sorted(found):
        lists.setdefault(2 * hash + relation, []).append(row)
    return lists


@given(found=entries)
def test_each_word_has_its_rows(found: Entries) -> None:
    words = lists_of(found)
    assert as_dict(words) == reference(found)
    for hash in (0, 5, 2**32 - 1):
        for relation in (False, True):
            key = word_key(hash, relation=relation)
            assert words.of(key).tolist() == reference(found).get(key, [])


@given(found=entries, at=st.integers(0, 100))
def test_joined_stretches_are_the_whole(found: Entries, at: int) -> None:
    parts = [
        lists_of([entry for entry in found if entry[1] < at], 0, at),
        lists_of([entry for entry in found if entry[1] >= at], at, 100),
    ]
    got, ref = joined(parts), lists_of(found)
    assert got[:2] == ref[:2]
    for a, b in ((got.keys, ref.keys), (got.starts, ref.starts), (got.rows, ref.rows)):
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist()


@pytest.mark.parametrize("found", [[], [(7, 3, True)], [(7, 3, True), (2**32 - 1, 2**31 - 1, False)]])
def test_saved_and_read(found: Entries, tmp_path: Path) -> None:
    ref = lists_of(found, 0, 2**31)
    save(tmp_path / "some.words", ref)
    got = open_words(tmp_path / "some.words")
    assert got[:2] == ref[:2]
    assert as_dict(got) == as_dict(ref) == reference(found)


def test_damage_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.words"
    save(path, lists_of([(7, 3, True), (9, 4, False)]))
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), b"", whole[:20]):
        path.write_bytes(damaged)
        with pytest.raises(WordsDamaged):
            open_words(path)
    path.write_bytes(whole)
    monkeypatch.setattr(wordlists, "ANALYSIS_ID", "lamina-text@0")
    with pytest.raises(WordsDamaged, match="other rules"):
        open_words(path)


def test_lists_that_do_not_fit_their_header(tmp_path: Path) -> None:
    path, words = tmp_path / "some.words", lists_of([(7, 3, True), (9, 4, False)])
    save(path, words._replace(starts=np.array([0, 2, 1], np.int64)))
    with pytest.raises(WordsDamaged, match="out of order"):
        open_words(path)
    save(path, words._replace(starts=words.starts[:-1]))
    with pytest.raises(WordsDamaged, match="header says"):
        open_words(path)
