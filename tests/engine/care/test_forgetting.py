"""What is forgotten is gone from every byte, and everything else is as if it had never been there."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import lamina
from lamina_engine.care.forgetting import ForgetReport, forget
from lamina_engine.care.verify import verify
from lamina_engine.chunks import lifecycle
from lamina_engine.chunks.identities import find_row
from lamina_engine.chunks.reading import history
from lamina_engine.clock import FixedClock
from lamina_engine.errors import ChunkNotFound, InvalidArgument, VaultCorrupt
from lamina_engine.ingest import adding
from lamina_engine.ingest.pipeline import ingest
from lamina_engine.memory import Memory
from lamina_engine.recall.pipeline import recall
from lamina_engine.store.files import Files
from lamina_engine.store.store import Store
from tests.engine.index.building import build_at_once
from tests.engine.store.faults import Crash, FaultyFiles, Quick, contents_at, copy, orphans

MOMENT = "2026-03-01T12:00:00Z"
LATER = "2026-03-05T12:00:00Z"
DIM = 12
NOUNS = [
    "harbour",
    "lantern",
    "ledger",
    "orchard",
    "piano",
    "quarry",
    "ribbon",
    "saddle",
    "teapot",
    "violin",
    "walnut",
    "zeppelin",
]


def embed(texts: list[str]) -> np.ndarray[Any, Any]:
    """Return vectors that any two different texts do not share."""
    rows = [np.random.default_rng(list(text.encode())).standard_normal(DIM) for text in texts]
    return np.array(rows, np.float32)


def opened(root: Path, files: Files | None = None, moment: str = MOMENT) -> Memory:
    return Memory(root, create=True, files=files or Quick(), clock=FixedClock(moment), embedder=embed)


def note(i: int) -> dict[str, Any]:
    words = " ".join(NOUNS[(i * k + k) % len(NOUNS)] for k in (1, 3, 5))
    return {
        "text": f"{words} unique{i}word", "id": f"identity{i:04d}", "title": f"Title{i}word" if i % 3 else None,
        "session": f"session{i % 7}" if i % 4 else None, "project": f"project{i}" if i % 10 == 3 else "common",
        "type": "decision" if i % 2 else "note", "created_at": f"2026-02-{1 + i % 27:02d}", "tags": [f"tag{i}word"],
        "metadata": {"key": f"metadata{i}word"},
    }  # fmt: skip


def build(root: Path, n: int, without: set[int] = frozenset()) -> Memory:  # type: ignore[assignment]
    """Return a vault of notes in several segments, with edits, invalidations and pins."""
    memory = opened(root)
    clock = memory.clock
    assert isinstance(clock, FixedClock)
    size = max(n // 5, 1)
    for start in range(0, n, size):
        kept = [note(i) for i in range(start, min(start + size, n)) if i not in without]
        if kept:
            adding.add(memory, kept, {})
        clock.advance(3600)
    for i in range(0, n, 9):
        if i not in without:
            lifecycle.invalidate(memory, f"identity{i:04d}", f"reason{i}word", f"stamp{i}word")
    for i in range(1, n, 9):
        if i not in without:
            adding.update(memory, f"identity{i:04d}", {"text": f"edited{i}word {note(i)['text']}"})
            lifecycle.pin(memory, f"identity{i:04d}")
    return memory


def answers(memory: Memory, n: int, **options: Any) -> list[list[tuple[str, float]]]:
    queries = [*NOUNS[:5], "harbour ledger", "2026", *(f"unique{i}word piano" for i in range(0, n, max(n // 5, 1)))]
    found = [recall(memory, query, k=15, now=LATER, **options).hits for query in queries]
    return [[(f.id, f.score) for f in hits] for hits in found]


def assert_equal(got: list[list[tuple[str, float]]], ref: list[list[tuple[str, float]]]) -> None:
    assert [[name for name, _ in hits] for hits in got] == [[name for name, _ in hits] for hits in ref]
    flat = [[score for hits in side for _, score in hits] for side in (got, ref)]
    np.testing.assert_allclose(flat[0], flat[1], rtol=0, atol=1e-9)


def secrets_of(memory: Memory, i: int) -> list[bytes]:
    """Return every byte string by which note ``i`` could be known."""
    view = memory.view()
    rows = view.all_rows_of_id(f"identity{i:04d}")
    versions = view.snapshot.values("chunks", "version", rows)
    vectors = [view.vectors.gather(rows[k : k + 1]).tobytes() for k in range(len(rows))]
    words = [
        f"identity{i:04d}",
        *(f"{kind}{i}word" for kind in ("unique", "Title", "tag", "metadata", "reason", "stamp", "edited")),
    ]
    project = [f"project{i}".encode()] if i % 10 == 3 else []
    return [*versions, *(v[:8] for v in versions), *vectors, *(w.encode() for w in words), *project]


def leaks(root: Path, secret: list[bytes]) -> list[tuple[str, bytes]]:
    found = []
    for path in root.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        found += [(path.name, s) for s in secret if s in content or s.lower() in content]
    return found


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes of 32 rows: a small vault has Tantivy's and the keys."""
    build_at_once(monkeypatch, 32)


GONE = {i for i in range(200) if i % 10 == 3}


@pytest.mark.usefixtures("small_blocks")
def test_recall_of_the_rest_is_that_of_a_vault_that_never_had_them(tmp_path: Path) -> None:
    memory, ref = build(tmp_path / "got", 200), build(tmp_path / "ref", 200, GONE)
    secret = [s for i in sorted(GONE) for s in secrets_of(memory, i)]
    assert leaks(tmp_path / "got", secret)
    before = answers(memory, 200)
    report = forget(memory, ids=[f"identity{i:04d}" for i in sorted(GONE)], dry_run=False)
    edited, invalid = (sum(i % 9 == rest for i in GONE) for rest in (1, 0))
    assert (report.chunks, report.rows, report.vectors) == (20, 20 + edited, 20 + edited)
    assert report.events == 2 * edited + invalid  # a supersede and a pin each; an invalidate each
    assert leaks(tmp_path / "got", secret) == []
    assert before != answers(ref, 200)
    moments = [{"as_of": f"2026-03-01T1{hour}:30:00Z"} for hour in (3, 6)]
    fresh = opened(tmp_path / "got")
    every: list[dict[str, Any]] = [
        {},
        {"profile": "lexical"},
        {"profile": "temporal"},
        {"where": {"project": "common", "type": "note"}},
        *moments,
    ]
    for options in every:
        expected = answers(ref, 200, **options)
        assert_equal(answers(memory, 200, **options), expected)
        assert_equal(answers(fresh, 200, **options), expected)
    wrong = [p for p in verify(tmp_path / "got", deep=True).problems if p.code != "version"]
    assert wrong == []
    assert {p.name for p in (tmp_path / "got" / "index").iterdir()} == {
        "terms", *(str(v) for r in memory.store.snapshot().manifest.indexes.values() for k, v in r.items() if k in ("folder", "file", "ids", "versions")),
    }  # fmt: skip


@pytest.fixture(autouse=True)
def long_forms_when_asked(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("slow") and "slow" not in str(request.config.getoption("-m")):
        pytest.skip("long form; run with -m slow")


@pytest.mark.slow
def test_a_hundred_thousand(tmp_path: Path) -> None:
    gone = {i for i in range(100_000) if i % 100 == 3}
    memories = []
    for name, without in (("got", set[int]()), ("ref", gone)):
        memory = opened(tmp_path / name)
        for start in range(0, 100_000, 10_000):
            adding.add(memory, [note(i) for i in range(start, start + 10_000) if i not in without], {})
        memories.append(memory)
    secret = [f"unique{i}word".encode() for i in sorted(gone)[::50]]
    report = forget(memories[0], ids=[f"identity{i:04d}" for i in sorted(gone)], dry_run=False)
    assert report.rows == 1000
    assert leaks(tmp_path / "got", secret) == []
    assert_equal(answers(memories[0], 100_000), answers(memories[1], 100_000))


def test_a_dry_run_counts_and_changes_nothing(tmp_path: Path) -> None:
    memory = build(tmp_path / "vault", 30)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    counted = forget(memory, {"project": "project3"})
    assert counted == forget(memory, ids="identity0003")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert (counted.chunks, counted.ids, counted.dry_run) == (1, ("identity0003",), True)
    done = forget(memory, {"project": "project3"}, dry_run=False)
    assert dataclasses.replace(done, dry_run=True) == counted


def test_a_filter_reaches_invalidated_and_removed_chunks_and_all_versions(tmp_path: Path) -> None:
    memory = build(tmp_path / "vault", 30)
    report = forget(memory, {"status": "invalidated"}, dry_run=False)
    assert report.ids == ("identity0000", "identity0009", "identity0018", "identity0027")
    report = forget(memory, {"tags": {"contains": "tag1word"}}, dry_run=False)
    assert (report.ids, report.rows) == (("identity0001",), 2)
    assert forget(memory, {"tags": {"contains": "tag1word"}}, dry_run=False).chunks == 0
    version = memory.store.snapshot().version
    assert forget(memory, {"project": "nowhere"}, dry_run=False) == ForgetReport(0, 0, 0, 0, 0, 0, 0, False, ())
    assert memory.store.snapshot().version == version


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        (None, None),
        ({}, None),
        (None, []),
        ({"AND": []}, None),
        ({"NOT": {"OR": []}}, None),
        ({"type": "note"}, ["x"]),
        (None, ""),
    ],
)
def test_everything_by_mistake_is_refused(tmp_path: Path, where: Any, ids: Any) -> None:
    memory = build(tmp_path / "vault", 5)
    for dry_run in (True, False):
        with pytest.raises(InvalidArgument):
            forget(memory, where, ids, dry_run=dry_run)
    with pytest.raises(InvalidArgument, match="dry_run"):
        forget(memory, ids="identity0001", dry_run=0)  # type: ignore[arg-type]
    assert memory.view().forgotten == 0


def test_an_unknown_id_spares_the_others(tmp_path: Path) -> None:
    memory = build(tmp_path / "vault", 5)
    with pytest.raises(ChunkNotFound):
        forget(memory, ids=["identity0001", "nothing"], dry_run=False)
    assert find_row(memory.view(), "identity0001") >= 0


def test_a_forgotten_chunk_is_found_by_no_id_and_may_come_again(tmp_path: Path) -> None:
    memory = build(tmp_path / "vault", 12)
    forget(memory, ids=["identity0001"], dry_run=False, token=iter(["0" * 16]).__next__)
    for name in ("identity0001", "forgotten-" + "0" * 16):
        with pytest.raises(ChunkNotFound):
            history(memory.view(), name)
        with pytest.raises(ChunkNotFound):
            forget(memory, ids=name)
    records = memory.view().snapshot.records("chunks", memory.view().all_rows_of_id("forgotten-" + "0" * 16))
    assert len(records) == 2
    expected = {
        "id": "forgotten-" + "0" * 16, "version": bytes(16), "text": "", "type": "", "collection": "", "ordinal": -1,
        "start": -1, "stop": -1, "previous": -1,
    }  # fmt: skip
    for record in records:
        assert record.pop("recorded_at") > 0
        assert {name: value for name, value in record.items() if value is not None} == expected
    assert adding.add(memory, note(1)["text"], {"id": "identity0001"}) == ["identity0001"]
    assert [e.kind for e in history(memory.view(), "identity0001")] == ["added"]


def test_followers_are_indexed_with_what_is_left(tmp_path: Path) -> None:
    memory = opened(tmp_path / "vault")
    for i, text in enumerate(["alpha first", "bravo second", "charlie third", "delta fourth"]):
        adding.add(memory, text, {"id": text, "session": "s", "created_at": f"2026-02-0{i + 1}"})
    assert "delta fourth" in {f.id for f in recall(memory, "bravo", lanes=("lexical",)).hits}
    forget(memory, ids=["bravo second", "charlie third"], dry_run=False)
    assert recall(memory, "bravo charlie", lanes=("lexical",)).hits == []
    assert {f.id for f in recall(memory, "alpha", lanes=("lexical",)).hits} == {"alpha first", "delta fourth"}
    assert memory.view().snapshot.numbers("chunks", "previous", np.arange(4)).tolist() == [-1, -1, -1, 0]


def test_names_in_dictionaries_shared_between_segments_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamina_engine.store.segments.SEGMENT_ROWS", 8)
    memory = opened(tmp_path / "vault")
    adding.add(memory, [note(i) | {"project": "hushhush" if i == 2 else "common"} for i in range(20)], {})
    assert len(memory.store.snapshot().segments("chunks")) == 3
    forget(memory, ids=["identity0002"], dry_run=False)
    assert leaks(tmp_path / "vault", [b"hushhush"]) == []


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    parts = [f"# Part {i}\n\n" + f"Sentence number{i} leads to [[other{i}]]. " * 20 for i in range(3)]
    (folder / "one.md").write_text("\n\n".join(parts))
    (folder / "other0.md").write_text("Other zero.")
    (folder / "other2.md").write_text("Other two.")
    return folder


def test_sources_keep_their_rows_and_bring_nothing_back_unchanged(tmp_path: Path, notes: Path) -> None:
    memory = opened(tmp_path / "vault")
    ingest(memory, [str(notes)])
    view = memory.view()
    identity = next(f.id for f in recall(memory, "number1", k=1, lanes=("lexical",)).hits)
    report = forget(memory, ids=identity, dry_run=False)
    assert (report.sources, report.chunks) == (1, 1)
    assert leaks(tmp_path / "vault", [identity.encode(), b"number1", b"other1"]) == []
    row = next(r for r in memory.store.snapshot().records("sources", np.arange(3)) if r["source"] == "one.md")
    old = next(r for r in view.snapshot.records("sources", np.arange(3)) if r["source"] == "one.md")
    kept = [i for i, name in enumerate(old["chunks"]) if name != identity]
    assert row["chunks"] == [old["chunks"][i] for i in kept]
    assert (row["starts"], row["stops"]) == ([old["starts"][i] for i in kept], [old["stops"][i] for i in kept])
    links = [(link["target"], row["chunks"][link.get("chunk", 0)]) for link in msgspec.json.decode(row["links"])]
    before = [(link["target"], link.get("chunk", 0)) for link in msgspec.json.decode(old["links"])]
    wanted = [(target, old["chunks"][chunk]) for target, chunk in before if chunk in kept]
    assert links == wanted
    assert ingest(memory, [str(notes)]).unchanged == 3
    os.utime(notes / "one.md", ns=(0, 0))
    ingest(memory, [str(notes)])
    assert not any("number1" in f.text for f in recall(memory, "number1", lanes=("lexical",)).hits)
    (notes / "one.md").write_text((notes / "one.md").read_text() + "\nOne more line.\n")
    ingest(memory, [str(notes)])
    assert "number1" in recall(memory, "number1", k=1, lanes=("lexical",)).hits[0].text
    others = {f.id for f in recall(memory, "number0 number2", lanes=("lexical",)).hits}
    assert set(row["chunks"]) & others


def test_the_names_of_a_file_a_collection_and_a_session_go_with_their_last_chunk(tmp_path: Path, notes: Path) -> None:
    """findings, attack 8: journals kept the collection, the session and the prompt's vector, sources the file's name."""
    vault = lamina.open(tmp_path / "vault", create=True, embedder=embed)
    (notes / "sunolibaru.md").write_text("# Plan\n\nnumber7 of the gateway\n")
    vault.ingest(notes)
    vault.add("number8 of the gateway", collection="gorivetulo", project="mapikelosu", session="dubanifero", id="n8")
    vault.inject("number8 of the gateway", session="dubanifero")
    vault.inject("number1 of the gateway", session="other")
    gone = ["n8", *(chunk.id for chunk in vault.list({"source": "sunolibaru.md"}))]
    vault.forget(gone, dry_run=False)
    names = [b"sunolibaru", b"gorivetulo", b"mapikelosu", b"dubanifero", b'"vector"', *map(str.encode, gone)]
    assert leaks(tmp_path / "vault", names) == []
    assert vault.verify(deep=True).ok
    for _ in range(2):
        assert vault.ingest(notes).added == 0, "its bytes are known"
        assert not vault.list({"source": "sunolibaru.md"})
        os.utime(notes / "sunolibaru.md", ns=(0, 0))
    assert leaks(tmp_path / "vault", [b"sunolibaru"]) == []
    (notes / "sunolibaru.md").write_text("# Plan\n\nnumber9 of the gateway\n")
    assert vault.ingest(notes).updated == 1
    assert ["number9" in chunk.text for chunk in vault.list({"source": "sunolibaru.md"})] == [True]


def test_links_that_begin_or_end_there_say_nothing(tmp_path: Path) -> None:
    memory = build(tmp_path / "vault", 6)
    pairs = [("identity0001", "identity0002"), ("identity0003", "identity0004"), ("identity0004", "identity0001")]
    with memory.write() as (transaction, _):
        values = {
            "source": [a for a, _ in pairs], "target": [b for _, b in pairs], "relation": ["causes"] * 3, "weight": [1.0] * 3,
            "origin": ["user"] * 3, "active": [True] * 3, "created_at": [5, 5, 5], "note": ["because"] * 3,
        }  # fmt: skip
        transaction.append("links", values, transaction.stamps(3))
    assert forget(memory, ids="identity0001", dry_run=False).links == 2
    got = memory.store.snapshot().records("links", np.arange(3), ("source", "target", "active", "note"))
    assert [tuple(r.values()) for r in got] == [
        ("", "", False, None),
        (*pairs[1], True, "because"),
        ("", "", False, None),
    ]


def test_topics_no_longer_name_them(tmp_path: Path) -> None:
    memory = build(tmp_path / "vault", 6)
    with memory.write() as (transaction, _):
        topics = {
            "generation": [1, 1], "topic": ["a", "b"], "parent": [None, "a"], "name": ["x", "y"], "words": [["w"], []],
            "size": [4, 2], "persistence": [0.5, 0.25], "medoid": ["identity0001", "identity0003"],
            "exemplars": [["identity0002", "identity0001"], ["identity0003"]], "centroid": [[1.0, 0.0], [0.0, 1.0]],
        }  # fmt: skip
        members = {
            "generation": [1, 1], "topic": ["a", "b"], "chunk": ["identity0001", "identity0003"], "row": [1, 3],
            "probability": [1.0, 0.5], "origin": ["tree", "tree"],
        }  # fmt: skip
        transaction.append("topics", topics, transaction.stamps(2))
        transaction.append("members", members, transaction.stamps(2))
    forget(memory, ids="identity0001", dry_run=False)
    snapshot = memory.store.snapshot()
    got = snapshot.records("topics", np.arange(2), ("topic", "medoid", "exemplars", "words", "centroid"))
    assert [tuple(r.values()) for r in got] == [
        ("a", None, ["identity0002"], ["w"], [1.0, 0.0]),
        ("b", "identity0003", ["identity0003"], [], [0.0, 1.0]),
    ]
    left = snapshot.records("members", np.arange(2), ("topic", "chunk", "row", "probability", "origin"))
    assert [tuple(r.values()) for r in left] == [("", "", -1, 0.0, ""), ("b", "identity0003", 3, 0.5, "tree")]


def test_a_damaged_file_is_not_written_anew(tmp_path: Path) -> None:
    memory = build(tmp_path / "vault", 20)
    path = memory.store.snapshot().segments("chunks")[0].path
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(VaultCorrupt, match="is damaged"):
        forget(opened(tmp_path / "vault"), ids="identity0001", dry_run=False)
    assert path.exists()


@pytest.mark.usefixtures("small_blocks")
def test_others_who_have_the_vault_open_go_on(tmp_path: Path) -> None:
    memory = build(tmp_path / "vault", 60)
    reader, writer = (
        Memory(tmp_path / "vault", mode=m, clock=FixedClock(MOMENT), embedder=embed, files=Quick()) for m in "rw"
    )
    old = reader.view()
    before = answers(reader, 60)
    answers(writer, 60)
    secret = secrets_of(writer, 13)
    forget(memory, ids="identity0013", dry_run=False)
    assert old.snapshot.values("chunks", "id", np.array([13])) == ["identity0013"]
    assert len(old.forward.blocks) > 0  # what the view had not read yet is analysed again from what it has mapped
    ref = build(tmp_path / "ref", 60, {13})
    assert before != answers(ref, 60)
    assert_equal(answers(reader, 60), answers(ref, 60))
    for later in (writer, ref):
        adding.add(later, [note(i) for i in range(60, 120)], {})
    assert_equal(answers(writer, 120), answers(ref, 120))
    assert_equal(answers(reader, 120), answers(ref, 120))
    assert leaks(tmp_path / "vault", secret) == []


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("forgetting")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        build_at_once(patch, 8)
        build(folder / "base", 14)
    yield folder / "base"
    shutil.rmtree(folder)


def without(token: str) -> Callable[[Memory], ForgetReport]:
    return lambda memory: forget(
        memory, ids=["identity0001", "identity0013"], dry_run=False, token=iter([token] * 2).__next__
    )


@pytest.mark.parametrize(
    "kind", ["crash", *(pytest.param(k, marks=pytest.mark.slow) for k in ("nospace", "io", "crash after"))]
)
def test_every_step_may_fail(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    build_at_once(monkeypatch, 8)
    operation = without("f" * 16)
    secret = [s for i in (1, 13) for s in secrets_of(opened(base), i)]
    files = FaultyFiles()
    operation(opened(copy(base, tmp_path / "whole"), files))
    old, new = contents_at(base), contents_at(tmp_path / "whole")
    assert "remove" in files.steps
    for at in range(1, len(files.steps) + 1):
        root = copy(base, tmp_path / f"at{at}")
        faulty = FaultyFiles(at, kind)
        memory = opened(root, faulty)
        returned = True
        try:
            operation(memory)
        except (OSError, Crash):
            returned = False
        got = contents_at(root)
        assert got in ((new,) if returned else (old, new)), f"step {at}, {files.steps[at - 1]}"
        memory = opened(root) if faulty.dead else memory
        adding.add(memory, "written afterwards", {"id": "afterwards"})
        assert orphans(root) == []
        if got == new:
            assert [p for p in verify(root, deep=True).problems if p.code != "version"] == []
            assert leaks(root, secret) == [], f"step {at}, {files.steps[at - 1]}"
        shutil.rmtree(root)


@pytest.mark.parametrize(
    "what",
    [
        "index.indexer.write_terms",
        "index.textbuilder.write_part",
        "index.textbuilder.write_lists",
        "index.keys.KeyIndex.save",
    ],
)
def test_indexes_that_cannot_be_built_again_are_gone_all_the_same(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    build_at_once(monkeypatch, 8)
    root = copy(base, tmp_path / "vault")
    before = {path.name for path in (root / "index").iterdir()} - {"terms"}
    memory = opened(root)
    secret = [s for i in (1, 13) for s in secrets_of(memory, i)]

    def fails(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(f"lamina_engine.{what}", fails)
        without("f" * 16)(memory)
    assert before
    assert before.isdisjoint(path.name for path in (root / "index").iterdir())
    assert leaks(root, secret) == []
    ref = build(tmp_path / "ref", 14, {1, 13})
    assert_equal(answers(memory, 14), answers(ref, 14))
    assert_equal(answers(opened(root), 14), answers(ref, 14))


def test_store_without_a_space(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "vault", create=True, clock=FixedClock(MOMENT), embedder="none", files=Quick())
    adding.add(memory, [note(i) for i in range(3)], {})
    report = forget(memory, ids=[f"identity{i:04d}" for i in range(3)], dry_run=False)
    assert (report.rows, report.vectors) == (3, 0)
    assert recall(memory, "harbour").hits == []
    assert Store(tmp_path / "vault").snapshot().rows("chunks") == 3


def test_a_report_of_many_chunks_shows_a_few_ids(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add([{"text": f"text {i}", "id": f"c{i}", "project": "a"} for i in range(500)])
        report = vault.forget({"project": "a"})
    assert len(report.ids) == report.to_dict()["chunks"] == 500
    assert "chunks=500" in repr(report)
    assert "dry_run=True" in repr(report)
    assert len(repr(report)) < 400
