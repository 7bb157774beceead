""""""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import Vault
from lamina_engine.errors import InvalidArgument
from lamina_engine.ingest import sources
from lamina_engine.ingest.sources import (
    PRESENT,
    RACY_NS,
    REMOVED,
    UNSETTLED_MTIME_NS,
    Changes,
    Move,
    Reading,
    ScanPlan,
    Source,
    SourceState,
    continued_sources,
    is_settled,
    plan_scan,
    resolve_changes,
    settled_mtime_ns,
)
from lamina_engine.ingest.walk import FileEntry
from tests.notes import write
from tests.oracles.scan import pair_moves

SCANNED_US = 1_000_000_000
OLD_NS = SCANNED_US * 1000 - RACY_NS - 1


def entry(path: str, *, size: int = 1, mtime_ns: int = OLD_NS) -> FileEntry:
    return FileEntry(path, Path("/root") / path, size, mtime_ns, 1, None)


def state(digest: bytes = b"d", *, size: int = 1, mtime_ns: int = OLD_NS, settings: str = "s") -> SourceState:
    return SourceState(digest, size, mtime_ns, settings, ("c1",), SCANNED_US)


def plain(found: FileEntry) -> str:
    return "s"


def test_nothing_known_and_nothing_found() -> None:
    assert plan_scan({}, [], plain) == ScanPlan((), (), ())
    assert resolve_changes({}, ScanPlan((), (), ()), {}) == Changes((), (), (), (), (), (), ())


def test_equal_size_time_and_settings_are_not_read() -> None:
    got = plan_scan({"a": state(), "gone": state()}, [entry("b"), entry("a")], plain)
    assert got == ScanPlan(("a",), (entry("b"),), ("gone",))


@pytest.mark.parametrize("different", [{"size": 2}, {"mtime_ns": OLD_NS - 1}, {"mtime_ns": OLD_NS + 1}])
def test_any_other_size_or_time_is_read(different: dict[str, int]) -> None:
    assert plan_scan({"a": state()}, [entry("a", **different)], plain).unchanged == ()


def test_other_settings_are_read_and_changed() -> None:
    previous = {"a": state(settings="old")}
    planned = plan_scan(previous, [entry("a")], plain)
    assert planned.unchanged == ()
    assert resolve_changes(previous, planned, {"a": Reading(b"d", "s")}).changed == ("a",)


@pytest.mark.parametrize(("age_ns", "settled"), [(RACY_NS + 1, True), (RACY_NS, False), (0, False), (-1, False)])
def test_recent_times_prove_nothing(age_ns: int, settled: bool) -> None:
    mtime_ns = SCANNED_US * 1000 - age_ns
    assert is_settled(mtime_ns, SCANNED_US) is settled
    got = plan_scan({"a": state(mtime_ns=mtime_ns)}, [entry("a", mtime_ns=mtime_ns)], plain)
    assert got.unchanged == (("a",) if settled else ())
    assert settled_mtime_ns(mtime_ns, SCANNED_US) == (mtime_ns if settled else UNSETTLED_MTIME_NS)


def test_an_unsettled_time_equals_no_file() -> None:
    got = plan_scan({"a": state(mtime_ns=UNSETTLED_MTIME_NS)}, [entry("a", mtime_ns=UNSETTLED_MTIME_NS)], plain)
    assert got.unchanged == ()


def test_a_file_with_another_time_is_read_and_found_the_same() -> None:
    previous = {"a": state()}
    later = entry("a", mtime_ns=entry("a").mtime_ns + 1)
    planned = plan_scan(previous, [later], plain)
    assert planned.to_read == (later,)
    got = resolve_changes(previous, planned, {"a": Reading(b"d", "s")})
    assert (got.unchanged, got.touched) == (("a",), ("a",))


def test_double_paths_and_foreign_readings_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="'a'"):
        plan_scan({}, [entry("a"), entry("a")], plain)
    with pytest.raises(InvalidArgument, match="'x'"):
        resolve_changes({}, ScanPlan((), (entry("a"),), ()), {"x": Reading(b"d", "s")})


def resolved(previous: Mapping[str, SourceState], found: Mapping[str, bytes], unseen: tuple[str, ...] = ()) -> Changes:
    planned = plan_scan(previous, [entry(path, size=2) for path in found], plain)
    return resolve_changes(
        previous, planned, {path: Reading(digest, "s") for path, digest in found.items()}, unseen=unseen
    )


def test_added_changed_removed_touched() -> None:
    got = resolved({"a": state(b"1"), "b": state(b"2"), "c": state(b"3")}, {"a": b"1", "b": b"x", "d": b"4"})
    assert got == Changes(
        unchanged=("a",), touched=("a",), moved=(), changed=("b",), added=("d",), removed=("c",), unseen=()
    )


def test_a_move_prefers_the_same_file_name_then_order() -> None:
    previous = {"a/x": state(), "b/y": state(), "c/z": state()}
    got = resolved(previous, {"n/q": b"d", "n/y": b"d"})
    assert got.moved == (Move("n/q", "a/x"), Move("n/y", "b/y"))
    assert got.removed == ("c/z",)
    assert got.added == ()


def test_more_copies_than_vanished_are_additions() -> None:
    got = resolved({"a": state()}, {"c": b"d", "b": b"d"})
    assert (got.moved, got.added, got.removed) == ((Move("b", "a"),), ("c",), ())


def test_a_copy_of_a_file_that_stays_is_an_addition() -> None:
    got = resolved({"a": state()}, {"a": b"d", "b": b"d"})
    assert (got.unchanged, got.added, got.moved) == (("a",), ("b",), ())


def test_a_move_to_other_settings_is_a_move() -> None:
    previous = {"a.md": state()}
    planned = plan_scan(previous, [entry("a.txt")], plain)
    got = resolve_changes(previous, planned, {"a.txt": Reading(b"d", "text")})
    assert got.moved == (Move("a.txt", "a.md"),)


def test_what_could_not_be_seen_stays() -> None:
    previous = {path: state(b"d" + path.encode()) for path in ("a", "dir/b", "dir/sub/c", "dirt", "gone")}
    planned = plan_scan(previous, [entry("a", size=9), entry("new")], plain)
    got = resolve_changes(previous, planned, {}, unseen=["dir"])
    assert got.unseen == ("a", "dir/b", "dir/sub/c")
    assert got.removed == ("dirt", "gone")
    assert got.added == ()
    assert resolve_changes(previous, planned, {}, unseen=["."]).removed == ()


def test_what_could_not_be_seen_has_not_moved() -> None:
    got = resolved({"dir/a": state()}, {"a": b"d"}, ("dir",))
    assert (got.moved, got.added, got.unseen) == ((), ("a",), ("dir/a",))


PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)
FOLDERS = st.dictionaries(PATHS, st.sampled_from([b"1", b"2", b"3"]), max_size=12)


@settings(max_examples=40)
@given(FOLDERS, FOLDERS, st.randoms(use_true_random=False))
def test_every_source_has_one_fate_and_moves_are_the_oracles(
    before: dict[str, bytes], after: dict[str, bytes], order: object
) -> None:
    previous = {path: state(digest) for path, digest in before.items()}
    shuffled = dict(sorted(after.items(), key=lambda item: order.random()))  # type: ignore[attr-defined]
    got = resolved(previous, shuffled)
    assert got == resolved(dict(sorted(previous.items())), dict(sorted(after.items())))

    new = {path: digest for path, digest in after.items() if path not in before}
    vanished = {path: digest for path, digest in before.items() if path not in after}
    ref = pair_moves(new, vanished)
    assert {move.source: move.former for move in got.moved} == ref
    assert set(got.added) == new.keys() - ref.keys()
    assert set(got.removed) == vanished.keys() - set(ref.values())
    both = before.keys() & after.keys()
    assert set(got.unchanged) == {path for path in both if before[path] == after[path]}
    assert set(got.changed) == {path for path in both if before[path] != after[path]}
    assert got.unseen == ()
    for paths in (got.unchanged, got.touched, got.changed, got.added, got.removed):
        assert list(paths) == sorted(paths)
    assert [move.source for move in got.moved] == sorted(move.source for move in got.moved)


@settings(max_examples=40)
@given(FOLDERS, FOLDERS)
def test_applying_the_changes_gives_the_new_folder(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    got = resolved({path: state(digest) for path, digest in before.items()}, after)
    built = {path: before[path] for path in got.unchanged}
    built |= {move.source: before[move.former] for move in got.moved}
    built |= {path: after[path] for path in (*got.changed, *got.added)}
    assert built == after


def source(root: Path, path: str, digest: bytes, *, state: str = REMOVED, chunks: tuple[str, ...] = ("c",)) -> Source:
    return Source(root.as_posix(), path, state, SourceState(digest, 1, 1, "", chunks, 1), 0)


def known(*given: Source) -> dict[str, Source]:
    return {each.path: each for each in given}


def test_a_source_is_found_under_its_newest_row(lexical_vault: Vault, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    write(folder, "a.md", "First.")
    lexical_vault.ingest(folder)
    write(folder, "a.md", "Second.")
    lexical_vault.ingest(folder)
    everything = sources.load_sources(lexical_vault._memory.view().snapshot)
    (got,) = everything.values()
    assert (got.path, got.source, got.root, got.state) == (f"{folder}/a.md", "a.md", str(folder), PRESENT)
    assert got.facts.chunks == tuple(chunk.id for chunk in lexical_vault.list())
    assert sources.sources_below(everything, tmp_path) == {"notes/a.md": got}
    assert sources.sources_below(everything, tmp_path / "note") == {}


def test_a_scan_that_finds_new_times_keeps_what_is_known_of_a_source(lexical_vault: Vault, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    write(folder, "b.md", "Another.")
    write(folder, "a.md", "See [[b]].")
    lexical_vault.ingest(folder)
    before = sources.load_sources(lexical_vault._memory.view().snapshot)
    write(folder, "a.md", "See [[b]].")
    assert lexical_vault.ingest(folder).unchanged == 2
    snapshot = lexical_vault._memory.view().snapshot
    after = sources.load_sources(snapshot)
    names = [f"{folder}/a.md"]
    ref = sources.source_contents(snapshot, [before[name] for name in names])
    got = sources.source_contents(snapshot, [after[name] for name in names])
    assert after[names[0]].row > before[names[0]].row
    assert got == ref
    assert got[0]["links"] is not None
    assert got[0]["stops"] == [len("See [[b]].")]


def test_a_new_path_continues_its_own_past_first_then_one_of_equal_bytes(tmp_path: Path) -> None:
    everything = known(source(tmp_path, "a", b"1"), source(tmp_path, "b", b"1"))
    readings = {name: Reading(b"1", "") for name in ("a", "c", "d")}
    got = continued_sources(everything, tmp_path, ["a", "c", "d"], readings)
    assert {name: each.source for name, each in got.items()} == {"a": "a", "c": "b"}


def test_what_is_still_there_or_taken_or_empty_is_not_continued(tmp_path: Path) -> None:
    write(tmp_path, "here", "x")
    everything = known(
        source(tmp_path, "here", b"1", state=PRESENT),
        source(tmp_path, "taken", b"1"),
        source(tmp_path, "empty", b"1", chunks=()),
    )
    taken = {f"{tmp_path}/taken"}
    assert continued_sources(everything, tmp_path, ["new"], {"new": Reading(b"1", "")}, taken) == {}


def test_a_root_that_was_renamed_is_continued(tmp_path: Path) -> None:
    everything = known(source(tmp_path / "old", "a", b"1", state=PRESENT))
    got = continued_sources(everything, tmp_path / "new", ["a"], {"a": Reading(b"1", "")})
    assert [each.root for each in got.values()] == [str(tmp_path / "old")]
