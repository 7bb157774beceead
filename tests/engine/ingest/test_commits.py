from __future__ import annotations

from lamina_engine.ingest.commits import Change, Commit, PathHistory, commits_of, replay


def commit(number: int, *changes: Change) -> Commit:
    return Commit(f"c{number}", number, changes)


def test_replay_of_parallel_branches() -> None:
    rename = Change("R", "b", "a")
    got = replay([commit(5, Change("A", "a")), commit(6, rename), commit(7, Change("M", "a")), commit(8, rename)])
    assert got["b"] == PathHistory(5, 8, "c8")
    got = replay([commit(5, Change("A", "a")), commit(3, Change("A", "a"))])
    assert got["a"].first_us == 3
    got = replay([commit(5, Change("M", "lost")), commit(6, Change("R", "n", "never seen"))])
    assert (got["lost"].first_us, got["n"].first_us) == (5, 6)
    got = replay([commit(5, Change("A", "a")), commit(6, Change("A", "a"))], frozenset({"c6"}))
    assert got["a"].first_us is None
    assert replay([]) == {}


def test_a_log_is_read_with_renames_merges_and_absurd_dates() -> None:
    fields = [
        b"\x01c1 5 ",
        b"\nA",
        b"a",
        b"\x01c2 99999999999999 c1",
        b"\nR100",
        b"a",
        b"b",
        b"\x01c3 7 c1 c2",
        b"",
        b"MM",
        b"b",
    ]
    got = list(commits_of(b"\0".join(fields) + b"\0"))
    assert got == [
        Commit("c1", 5_000_000, (Change("A", "a"),)),
        Commit("c2", None, (Change("R", "b", "a"),), ("c1",)),
        Commit("c3", 7_000_000, (Change("MM", "b"),), ("c1", "c2")),
    ]
    assert list(commits_of(b"")) == []
