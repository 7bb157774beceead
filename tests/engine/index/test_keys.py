from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.index.keys import MAX_ROWS, Hashes, KeyIndex, KeysDamaged, hash_ids, hash_versions

Commits = st.lists(st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=12), max_size=10)


def u64(values: list[int]) -> Hashes:
    return np.array(values, np.uint64)


def build(commits: list[list[tuple[int, bool]]]) -> KeyIndex:
    index = KeyIndex()
    for commit in commits:
        index = index.extend(
            u64([key for key, _ in commit]), present=np.array([there for _, there in commit], np.bool_)
        )
    return index


@settings(max_examples=40)
@given(Commits, st.integers(0, 130))
def test_lookup_is_a_dict_of_lists(commits: list[list[tuple[int, bool]]], n_rows: int) -> None:
    log = [entry for commit in commits for entry in commit]
    index = build(commits)
    assert index.rows == len(log)
    assert index.keys == sum(there for _, there in log)
    keys = u64(list(range(8)))
    rows = [[row for row, (held, there) in enumerate(log) if held == key and there] for key in range(8)]
    np.testing.assert_array_equal(index.lookup(keys), [held[-1] if held else -1 for held in rows])
    past = [[row for row in held if row < n_rows] for held in rows]
    np.testing.assert_array_equal(index.lookup(keys, n_rows=n_rows), [held[-1] if held else -1 for held in past])
    for key in range(8):  # one key goes another way than many
        ref = past[key][-1] if past[key] else -1
        assert index.lookup(keys[key : key + 1], n_rows=n_rows).tolist() == [ref]
        got = index.all_rows(key)
        assert got.dtype == np.int64
        assert got.tolist() == rows[key]


@settings(max_examples=12)
@given(Commits)
def test_saved_index_answers_the_same(
    tmp_path_factory: pytest.TempPathFactory, commits: list[list[tuple[int, bool]]]
) -> None:
    path = tmp_path_factory.mktemp("keys") / "ids"
    index = build(commits)
    index.save(path)
    got = KeyIndex.open(path)
    assert (got.rows, got.keys) == (index.rows, index.keys)
    keys = u64(list(range(8)))
    np.testing.assert_array_equal(got.lookup(keys), index.lookup(keys))
    assert [got.all_rows(key).tolist() for key in range(8)] == [index.all_rows(key).tolist() for key in range(8)]
    once = KeyIndex().extend(
        u64([key for c in commits for key, _ in c]), present=np.array([t for c in commits for _, t in c], np.bool_)
    )
    once.save(path)
    first = path.read_bytes()
    index.save(path)
    assert path.read_bytes() == first  # the file does not depend on how rows came in


def test_extending_leaves_the_former_index_alone(tmp_path: Path) -> None:
    old = KeyIndex().extend(u64([5, 6]))
    old.save(tmp_path / "ids")
    opened = KeyIndex.open(tmp_path / "ids")
    for index in (old, opened):
        new = index.extend(u64([5])).extend(u64([7, 7, 7, 7]))
        assert index.lookup(u64([5, 7])).tolist() == [0, -1]
        assert new.lookup(u64([5, 7])).tolist() == [2, 6]
        assert new.all_rows(7).tolist() == [3, 4, 5, 6]


def test_small_commits_leave_few_runs() -> None:
    index = KeyIndex()
    for row in range(2000):
        index = index.extend(u64([row * 7919 % 1009]))
    assert len(index._runs) <= 12
    assert index.lookup(u64([0])).tolist() == [1009]


def test_extreme_keys() -> None:
    top = 2**64 - 1
    index = KeyIndex().extend(u64([top, 0, top, 2**63]))
    assert index.lookup(u64([top, 0, 2**63, 1])).tolist() == [2, 1, 3, -1]
    assert index.all_rows(top).tolist() == [0, 2]
    assert KeyIndex().lookup(u64([0])).tolist() == [-1]
    assert KeyIndex().lookup(u64([])).tolist() == []
    assert KeyIndex().all_rows(0).tolist() == []


def test_many_keys_at_once() -> None:
    hashes = np.random.default_rng(0).integers(0, 2**64, 200_000, dtype=np.uint64)
    hashes[100_000:120_000] = hashes[:20_000]
    index = KeyIndex().extend(hashes[:180_000]).extend(hashes[180_000:])
    ref = np.concatenate([np.arange(100_000, 120_000), np.arange(20_000, 100_000)])
    picked = np.random.default_rng(1).permutation(100_000)[:20_000]
    np.testing.assert_array_equal(index.lookup(hashes[:100_000][picked]), ref[picked])
    assert (index.lookup(hashes[:20_000], n_rows=100_000) == np.arange(20_000)).all()


@pytest.mark.parametrize("at", [0, 30, 70, -1])
def test_a_flipped_bit_is_found(tmp_path: Path, at: int) -> None:
    path = tmp_path / "ids"
    KeyIndex().extend(u64([3, 1, 2])).save(path)
    raw = bytearray(path.read_bytes())
    raw[at] ^= 4
    path.write_bytes(raw)
    with pytest.raises(KeysDamaged, match="rebuild"):
        KeyIndex.open(path)


@pytest.mark.parametrize("keep", [0, 64, 99])
def test_a_torn_file_is_found_without_reading_it(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "ids"
    KeyIndex().extend(u64([3, 1, 2])).save(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(KeysDamaged, match="rebuild"):
        KeyIndex.open(path, verify=False)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        KeyIndex.open(path)


def test_hashes() -> None:
    ids = ["", "a", "ü", "\udc80", "x" * 1000]
    ref = [
        int.from_bytes(hashlib.blake2b(i.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
        for i in ids
    ]
    assert hash_ids(ids).tolist() == ref
    assert hash_ids([]).shape == (0,)
    versions = [bytes(range(16)), bytes(16), b"\xff" * 16]
    ref = [int.from_bytes(version[:8], "little") for version in versions]
    assert hash_versions(versions).tolist() == ref
    assert hash_versions(b"".join(versions)).tolist() == ref
    assert hash_versions([]).shape == (0,)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="16 bytes"):
        hash_versions([b"short", b"x" * 27])
    with pytest.raises(InvalidArgument, match="16 bytes"):
        hash_versions(b"x" * 17)
    with pytest.raises(InvalidArgument, match="one each"):
        KeyIndex().extend(u64([1]), present=np.ones(2, np.bool_))
    with pytest.raises(InvalidArgument, match="past the last"):
        KeyIndex((), MAX_ROWS).extend(u64([1]))
