from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

import lamina
from lamina_engine.care.verify import VerifyReport, newest_intact, verify
from lamina_engine.chunks import lifecycle
from lamina_engine.clock import FixedClock
from lamina_engine.errors import VaultCorrupt, VaultNotFound
from lamina_engine.graph import links
from lamina_engine.graph import log as link_log
from lamina_engine.index import nodes, terms
from lamina_engine.index.sealed import Seal
from lamina_engine.ingest import adding
from lamina_engine.memory import Memory
from lamina_engine.recall.pipeline import recall
from lamina_engine.reindex.job import reindex
from lamina_engine.store import manifest as manifests
from lamina_engine.store import segments
from lamina_engine.store.store import Store
from tests.engine.index.building import build_at_once
from tests.engine.store.faults import Quick, contents_at, copy

MOMENT = "2026-03-01T12:00:00Z"
ROWS = 30


def embed(texts: list[str]) -> np.ndarray[Any, Any]:
    return np.array([[len(text), text.count("e") + 1.0, 1.0, 2.0] for text in texts], np.float32)


def opened(root: Path) -> Memory:
    return Memory(root, files=Quick(), clock=FixedClock(MOMENT), embedder=embed)


def fill(root: Path) -> None:
    Store.create(root, clock=FixedClock(MOMENT), files=Quick())
    memory = opened(root)
    records = [{"text": f"note word{i}", "id": f"id{i}", "title": f"title {i % 4}"} for i in range(ROWS)]
    adding.add(memory, records[:20], {"type": "decision"})
    adding.add(memory, records[20:], {})
    lifecycle.invalidate(memory, "id3", "wrong")
    adding.update(memory, "id4", {"text": "note word4 anew"})


@pytest.fixture(scope="module")
def base(quick_folder: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        build_at_once(patch, 8)
        fill(quick_folder / "base")
    return quick_folder / "base"


@pytest.fixture
def vault(base: Path, quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    build_at_once(monkeypatch, 8)
    return copy(base, quick_path / "vault")


def flip(path: Path, at: int = -100, bit: int = 1) -> None:
    content = bytearray(path.read_bytes())
    content[at % len(content)] ^= bit
    path.write_bytes(content)


def codes(report: VerifyReport) -> set[str]:
    return {problem.code for problem in report.problems}


@pytest.mark.parametrize("deep", [False, True])
def test_a_whole_vault_is_whole(vault: Path, deep: bool) -> None:
    for given in (vault, Store(vault), opened(vault)):
        got = verify(given, deep=deep)
        assert got.ok, got.problems
        assert got.repaired is None
        assert got.checked["rows"] == 2 * (ROWS + 1) + 2
        assert got.checked["indexes"] > 3
        assert (got.checked["versions"], got.checked["vectors"]) == ((ROWS + 1,) * 2 if deep else (0, 0))


def test_an_empty_vault_is_whole(tmp_path: Path) -> None:
    Store.create(tmp_path / "vault")
    assert verify(tmp_path / "vault", deep=True).ok
    with pytest.raises(VaultNotFound):
        verify(tmp_path / "nowhere")


@pytest.mark.parametrize("log", ["chunks", "events", "vectors.default"])
def test_a_flipped_byte_anywhere_in_the_log_is_found_and_named(vault: Path, log: str) -> None:
    path = min((vault / "log" / log).iterdir())
    content = path.read_bytes()
    for at in np.random.default_rng(5).integers(0, len(content), 12).tolist():
        path.write_bytes(content)
        flip(path, at, 0x10)
        got = verify(vault, deep=True)
        (problem,) = [p for p in got.problems if p.code == "segment"]
        assert problem.where == f"log/{log}/{path.name}"
        assert f"of {log}" in problem.message
        assert "copy" in problem.advice


@pytest.mark.parametrize("how", ["torn", "gone", "longer"])
def test_a_segment_of_another_size_is_found_without_reading_it(vault: Path, how: str) -> None:
    path = min((vault / "log" / "chunks").iterdir())
    content = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(content[:-9] if how == "torn" else content + b"x")
    with pytest.raises(VaultCorrupt):
        Store(vault)
    got = verify(vault)
    assert codes(got) == {"segment"}
    assert "rows 0 to 19 of chunks" in got.problems[0].message
    assert "rows 20 to 30 of chunks lie in other files" in got.problems[0].advice


@pytest.mark.parametrize("content", [None, b"", b"garbage\n", b"0000000099-0123456789abcdef.json\n"])
def test_a_lost_current_is_set_again(vault: Path, content: bytes | None) -> None:
    ref = contents_at(vault)
    current = vault / manifests.CURRENT
    name = current.read_bytes()
    current.unlink()
    if content is not None:
        current.write_bytes(content)
    got = verify(vault, deep=True)
    assert codes(got) == {"current"}
    assert name.decode().strip() in got.problems[0].advice
    assert (current.read_bytes() if current.exists() else None) == content  # looking changes nothing
    got = verify(vault, repair=True)
    assert name.decode().strip() in str(got.repaired)
    assert current.read_bytes() == name
    assert contents_at(vault) == ref
    assert verify(vault, deep=True).ok
    adding.add(opened(vault), "afterwards", {"id": "afterwards"})


def test_the_newest_whole_version_is_chosen_and_stale_indexes_are_left_out(vault: Path) -> None:
    before = Store(vault).snapshot()
    memory = opened(vault)
    adding.add(memory, [{"text": f"lost word{i}", "id": f"lost{i}"} for i in range(40)], {})
    for segment in memory.store.snapshot().segments("chunks"):
        if segment.start + segment.rows > before.rows("chunks"):
            flip(segment.path)
    (vault / manifests.MANIFESTS / manifests.read_current(vault)).unlink()
    newest = newest_intact(vault, deep=True)
    assert newest is not None
    assert newest[1].rows("chunks") == before.rows("chunks")
    assert verify(vault, repair=True).repaired is not None
    repaired = opened(vault)
    assert repaired.store.snapshot().manifest.indexes == {}
    adding.add(repaired, [{"text": f"other thing{i}", "id": f"other{i}"} for i in range(40)], {})
    assert recall(repaired, "thing7", k=1).hits[0].id == "other7"
    assert recall(repaired, "lost", k=5, lanes=("lexical",)).hits == []
    got = verify(vault, deep=True)
    assert got.ok, got.problems


def test_no_whole_version(vault: Path) -> None:
    """An empty first version is whole, but going back to it would cost all that is left: the newest is mended."""
    min((vault / "log" / "chunks").iterdir()).unlink()
    (vault / manifests.CURRENT).unlink()
    assert "no version is whole" not in verify(vault).problems[0].advice
    got = verify(vault, repair=True)
    assert codes(got) == {"current", "segment"}
    assert verify(vault, deep=True).ok
    left = contents_at(vault)["chunks"]
    assert [row["text"] for row in left if row["text"]] == [
        *(f"note word{i}" for i in range(20, 30)),
        "note word4 anew",
    ]


def rewritten(vault: Path, **changes: Any) -> None:
    manifest = manifests.load(vault, manifests.read_current(vault))
    manifests.publish(Quick(), vault, msgspec.structs.replace(manifest, **changes))


def test_a_manifest_that_does_not_fit_its_rows(vault: Path) -> None:
    manifest = manifests.load(vault, manifests.read_current(vault))
    refs = manifest.logs["chunks"]
    wrong = [msgspec.structs.replace(refs[0], last_us=refs[0].last_us + 10**12), *refs[1:]]
    rewritten(vault, logs={**manifest.logs, "chunks": wrong})
    assert codes(verify(vault)) == {"order"}
    rewritten(vault, logs={**manifest.logs, "chunks": refs[:1]})
    assert codes(verify(vault)) >= {"rows", "index"}
    rewritten(vault, last_us=1)
    assert codes(verify(vault)) >= {"order"}


def test_wrong_rows_are_found(quick_path: Path) -> None:
    store = Store.create(quick_path / "vault", clock=FixedClock(MOMENT), files=Quick())
    memory = opened(quick_path / "vault")
    adding.add(memory, [{"text": "a"}, {"text": "b"}], {})
    with store.transaction() as transaction:
        values = {name: [None] for name in ("reason", "detail")} | {"kind": ["pin"], "chunk": ["x"], "row": [99]}
        transaction.append("events", values, transaction.stamps(1))
        (part,) = transaction.snapshot.segments("chunks")
        columns = {name: part.batch.column(name) for name in part.batch.schema.names}
        columns["version"] = pa.array([b"0" * 16, b"1" * 16], pa.binary(16))
        transaction.append("chunks", columns, transaction.stamps(2)[::-1].copy())
        matrix = np.array([3, 0, 0, 0, np.nan, 0, 0, 0], np.float32)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(matrix), 4)
        transaction.append("vectors.default", {"vector": vectors}, transaction.stamps(2))
    got = verify(quick_path / "vault", deep=True)
    assert codes(got) == {"event", "version", "vector"}
    assert all(problem.advice and problem.where.startswith("log/") for problem in got.problems)


def index_files(vault: Path) -> list[Path]:
    named = {"lamina.json", ".managed.json"}
    found = [path for path in (vault / "index").rglob("*") if path.is_file() and path.name not in named]
    return sorted(
        path for path in found if not path.name.endswith((".lock", ".fieldnorm")) and path.stat().st_size > 100
    )


def test_flipped_index_files_are_found_and_built_again(vault: Path) -> None:
    files = index_files(vault)
    assert {path.suffix for path in files} >= {".terms", ".lists", ".keys", ".idx"}
    log = contents_at(vault)
    for path in files:
        if not path.exists():  # the indexes were built again under other names
            continue
        flip(path, path.stat().st_size // 2, 0x20)
        got = verify(vault, deep=True, repair=True)
        assert codes(got) == {"index"}, path
        assert "lamina reindex" in got.problems[0].advice
        assert "removed" in str(got.repaired)
        memory = opened(vault)
        adding.add(memory, "word1 once more", {"id": "again"})
        lifecycle.pin(memory, "id1", pinned=not memory.view().state.pinned[1])
        assert recall(memory, "word17", k=1).hits[0].id == "id17"
        got = verify(vault, deep=True)
        assert got.ok, (path, got.problems)
    assert contents_at(vault)["chunks"][: len(log["chunks"])] == log["chunks"]


def test_files_of_another_format_are_rebuilt_by_reindex(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "_SEAL", Seal(b"LAMTERMS", 99, "24sQQ", what="file", damaged=terms.TermsDamaged))
    got = verify(vault)
    assert codes(got) == {"index"}
    assert {problem.advice for problem in got.problems} == {
        "rebuild it from the log with `lamina reindex`, or remove it with `lamina verify --repair`: the next write rebuilds it"
    }
    assert all("expected 99" in problem.message for problem in got.problems)
    reindex(opened(vault))
    assert verify(vault, deep=True).ok


def answers(memory: Memory) -> list[Any]:
    found = [recall(memory, question, k=5).hits for question in ("word17", "note title 2", "anew word4")]
    said = [[(hit.id, hit.score) for hit in hits] for hits in found]
    return [said, [link.target for link in links.links_of(memory.view(), "id1", direction="out")]]


@pytest.mark.parametrize("how", ["flipped", "torn", "missing"])
@pytest.mark.parametrize("suffix", [".terms", ".lists", ".keys", ".idx", ".term", ".fast", ".links", ".nodes"])
def test_a_damaged_index_file_changes_no_answer_and_the_next_write_makes_it_again(
    vault: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, how: str
) -> None:
    monkeypatch.setattr(nodes, "_TAIL_ROWS", 1)
    memory = opened(vault)
    link_log.write(memory, [link_log.Draft("id0", "id1", "causal"), link_log.Draft("id1", "id2", "causal")])
    ref = answers(memory)
    memory.close()
    for path in sorted((vault / "index").rglob(f"*{suffix}")):
        if how == "missing":
            path.unlink()
        elif how == "torn":
            path.write_bytes(path.read_bytes()[:-9])
        else:
            flip(path, path.stat().st_size * 2 // 3, 0x10)
    assert answers(opened(vault)) == ref
    memory = opened(vault)
    lifecycle.pin(memory, "id1")
    got = verify(vault, deep=True)
    assert got.ok, got.problems
    assert answers(memory) == ref
    memory.close()
    assert answers(opened(vault)) == ref


@pytest.mark.parametrize("content", [b"", b"garbage" * 100])
def test_index_files_that_cannot_be_opened_are_built_again_by_the_next_writer(vault: Path, content: bytes) -> None:
    for path in (vault / "index").rglob("*"):
        if path.is_file():
            path.write_bytes(content)
    memory = opened(vault)
    assert recall(memory, "word17", k=1).hits[0].id == "id17"
    adding.add(memory, "one more", {"id": "more"})
    assert recall(memory, "word17", k=1).hits[0].id == "id17"
    got = verify(vault, deep=True)
    assert got.ok, got.problems
    assert len(list((vault / "index").glob("lexical-*"))) == 1


def test_no_index_at_all_is_no_problem(vault: Path) -> None:
    for path in sorted((vault / "index").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    memory = opened(vault)
    assert recall(memory, "word17", k=1).hits[0].id == "id17"
    assert codes(verify(vault)) == {"index"}
    adding.add(memory, "one more", {"id": "more"})
    assert verify(vault, deep=True).ok


def test_a_flipped_link_graph_is_found_and_its_repair_keeps_the_links(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "_TAIL_ROWS", 1)
    copy(base, tmp_path / "v")
    memory = opened(tmp_path / "v")
    link_log.write(memory, [link_log.Draft("id0", "id1", "causal"), link_log.Draft("id1", "id2", "causal")])
    assert verify(tmp_path / "v", deep=True).ok
    [graph] = (tmp_path / "v" / "index").glob("graph-*.links")
    content = bytearray(graph.read_bytes())
    content[-1] ^= 1
    graph.write_bytes(content)
    report = verify(tmp_path / "v", deep=True)
    assert [problem.where for problem in report.problems] == [f"index/{graph.name}"]
    assert not verify(tmp_path / "v", deep=True, repair=True).ok or not graph.exists()
    memory.close()
    assert [link.target for link in links.links_of(opened(tmp_path / "v").view(), "id1", direction="out")] == ["id2"]


def test_torn_names_are_found_without_reading_them_whole(tmp_path: Path) -> None:
    """A find of chaos: a repair that was not deep left them, and nothing rebuilt them."""
    with lamina.open(tmp_path / "v", create=True, embedder="none") as opened_vault:
        opened_vault.add(
            [{"id": f"n{i}", "text": f"The Kafka Gateway {i}, see Kafka Gateway {i + 1}"} for i in range(9)]
        )
        opened_vault.build_links(kinds=["mention"])
    [names] = (tmp_path / "v" / "index").glob("mentions-*.names")
    names.write_bytes(names.read_bytes()[:-9])
    report = verify(tmp_path / "v", repair=True)
    assert [problem.where for problem in report.problems] == [f"index/{names.name}"]
    assert not names.exists()
    assert verify(tmp_path / "v", deep=True).ok


@pytest.mark.parametrize("log", ["chunks", "vectors.default", "events"])
@pytest.mark.parametrize("letter", [b"x", b"\xff"])
def test_a_flip_in_the_name_of_a_column_is_damage(vault: Path, log: str, letter: bytes) -> None:
    path = next((vault / "log" / log).iterdir())
    path.write_bytes(path.read_bytes().replace(b"recorded_at", b"recorded_" + letter + b"t"))
    with pytest.raises(VaultCorrupt, match=path.name):
        recall(opened(vault), "word17", k=1)
    assert [problem.where for problem in verify(vault).problems] == [f"log/{log}/{path.name}"]


def test_text_that_is_no_longer_utf_8_names_its_file(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "CHECKED_BYTES", 0)  # as of a large segment, whose digest is not compared at once
    [path] = [path for path in (vault / "log" / "chunks").iterdir() if b"note word17" in path.read_bytes()]
    path.write_bytes(path.read_bytes().replace(b"note word17", b"not\xff word17"))
    with pytest.raises(VaultCorrupt, match=f"{path.name}.*column text"):
        recall(opened(vault), "word17", k=1)
    path.write_bytes(path.read_bytes().replace(b"decision", b"\xffecision"))
    with pytest.raises(VaultCorrupt, match=f"{path.name}.*column type"):
        recall(opened(vault), "word16", k=1)


def test_a_report_becomes_json(tmp_path: Path) -> None:
    """A counter of what was checked had no form as JSON."""
    with lamina.open(tmp_path / "vault", create=True, embedder="none") as vault:
        vault.add("one note")
        report = vault.verify(deep=True)
    assert json.loads(json.dumps(report.to_dict())) == {
        "checked": report.checked, "problems": [], "repaired": None
    }  # fmt: skip
    assert report.checked["rows"] >= 1
