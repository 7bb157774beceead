from __future__ import annotations

from pathlib import Path

from lamina import Vault
from lamina_engine.ingest import sources
from lamina_engine.ingest.scan import Reading, SourceState
from lamina_engine.ingest.sources import PRESENT, REMOVED, Source, continued
from tests.notes import write


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
    everything = sources.load(lexical_vault._memory.view().snapshot)
    (got,) = everything.values()
    assert (got.path, got.source, got.root, got.state) == (f"{folder}/a.md", "a.md", str(folder), PRESENT)
    assert got.facts.chunks == tuple(chunk.id for chunk in lexical_vault.list())
    assert sources.below(everything, tmp_path) == {"notes/a.md": got}
    assert sources.below(everything, tmp_path / "note") == {}


def test_a_scan_that_finds_new_times_keeps_what_is_known_of_a_source(lexical_vault: Vault, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    write(folder, "b.md", "Another.")
    write(folder, "a.md", "See [[b]].")
    lexical_vault.ingest(folder)
    before = sources.load(lexical_vault._memory.view().snapshot)
    write(folder, "a.md", "See [[b]].")
    assert lexical_vault.ingest(folder).unchanged == 2
    snapshot = lexical_vault._memory.view().snapshot
    after = sources.load(snapshot)
    names = [f"{folder}/a.md"]
    ref = sources.contents(snapshot, [before[name] for name in names])
    got = sources.contents(snapshot, [after[name] for name in names])
    assert after[names[0]].row > before[names[0]].row
    assert got == ref
    assert got[0]["links"] is not None
    assert got[0]["stops"] == [len("See [[b]].")]


def test_a_new_path_continues_its_own_past_first_then_one_of_equal_bytes(tmp_path: Path) -> None:
    everything = known(source(tmp_path, "a", b"1"), source(tmp_path, "b", b"1"))
    readings = {name: Reading(b"1", "") for name in ("a", "c", "d")}
    got = continued(everything, tmp_path, ["a", "c", "d"], readings)
    assert {name: each.source for name, each in got.items()} == {"a": "a", "c": "b"}


def test_what_is_still_there_or_taken_or_empty_is_not_continued(tmp_path: Path) -> None:
    write(tmp_path, "here", "x")
    everything = known(
        source(tmp_path, "here", b"1", state=PRESENT),
        source(tmp_path, "taken", b"1"),
        source(tmp_path, "empty", b"1", chunks=()),
    )
    taken = {f"{tmp_path}/taken"}
    assert continued(everything, tmp_path, ["new"], {"new": Reading(b"1", "")}, taken) == {}


def test_a_root_that_was_renamed_is_continued(tmp_path: Path) -> None:
    everything = known(source(tmp_path / "old", "a", b"1", state=PRESENT))
    got = continued(everything, tmp_path / "new", ["a"], {"a": Reading(b"1", "")})
    assert [each.root for each in got.values()] == [str(tmp_path / "old")]
