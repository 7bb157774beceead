"""Reindex: from the log alone, beside what serves, past any kill, through the gate, in one swap."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import lamina
from lamina_engine import columns
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.errors import InvalidArgument, ReindexGateError, VaultLocked
from lamina_engine.index.tables import LEXICAL, VECTORS
from lamina_engine.reindex.derived import BUILDING, IndexBuilder, build_dir
from lamina_engine.reindex.job import space_name
from lamina_engine.reindex.space import embedded_range
from lamina_engine.reports import Progress
from lamina_engine.schema import vector_log

WORDS = [
    "postgres",
    "redis",
    "session",
    "token",
    "queue",
    "cache",
    "index",
    "shard",
    "lease",
    "clock",
    "draft",
    "merge",
    "paper",
    "river",
    "stone",
    "cloud",
]


def bag(texts: list[str]) -> NDArray[np.float32]:
    """A small model: hashed words, counted."""
    out = np.zeros((len(texts), 48), np.float32)
    for i, text in enumerate(texts):
        for word in text.lower().split():
            out[i, int(hashlib.blake2b(word.encode(), digest_size=4).hexdigest(), 16) % 48] += 1.0
    return out


def model(name: str = "bag;v1", log: list[str] | None = None) -> lamina.CallableEmbedder:
    def embed(texts: list[str]) -> NDArray[np.float32]:
        if log is not None:
            log.extend(texts)
        return bag(texts)

    return lamina.CallableEmbedder(embed, 48, name)


def constant(name: str = "constant;v1") -> lamina.CallableEmbedder:
    return lamina.CallableEmbedder(lambda texts: np.ones((len(texts), 40), np.float32), 40, name)


def records(n: int, start: int = 0) -> list[dict[str, Any]]:
    draw = random.Random(n + start)
    return [
        {"id": f"n{i}", "text": " ".join(draw.choices(WORDS, k=9)) + f" number{i}", "title": f"{draw.choice(WORDS)} note{i} title{i}"}
        for i in range(start, start + n)
    ]  # fmt: skip


def manifest(vault: lamina.Vault) -> Any:
    return vault._memory.store.snapshot().manifest


def matrix(vault: lamina.Vault, space: str | None = None) -> NDArray[np.float32]:
    snapshot = vault._memory.store.snapshot()
    log = vector_log(space if space is not None else snapshot.manifest.space)
    parts = [columns.vectors(segment.column("vector")) for segment in snapshot.segments(log)]
    return np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)


def index_files(vault: lamina.Vault) -> set[str]:
    return {path.name for path in (vault.path / "index").iterdir()} - {"terms"}


@pytest.fixture
def filled(vault: lamina.Vault) -> lamina.Vault:
    vault.add(records(300))
    return vault


# ---------------------------------------------------------------------- what is embedded


def test_the_log_tells_what_was_embedded(vault: lamina.Vault) -> None:
    given = [
        {"text": "plain"}, {"text": "dated", "created_at": "2026-01-02"}, {"text": "both ", "title": "T", "created_at": "2026-01-02"},
        {"text": "trailing\n", "title": "T"},
    ]  # fmt: skip
    vault.add(given)
    note = vault.path.parent / "note.txt"
    note.write_text("a file whose title is only its name\n")
    vault.ingest(note)
    snapshot = vault._memory.store.snapshot()
    rows = embedded_range(snapshot, 0, snapshot.rows("chunks"))
    assert len(rows) == 5
    assert all(row.matched for row in rows)
    made = vault._memory.embedder.embed_documents([row.text for row in rows])
    np.testing.assert_array_equal(matrix(vault), made)


def test_a_row_whose_version_is_of_no_text_is_counted_and_embedded(
    filled: lamina.Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ChunkBatch, "identify", lambda batch: setattr(batch, "versions", [bytes([7]) * 16] * len(batch)))
        filled.add("an odd import", id="odd", title="Odd")
    report = filled.reindex(model())
    assert (report.unmatched, report.embedded) == (1, 301)
    np.testing.assert_array_equal(matrix(filled)[300], model().embed_documents(["Odd\nan odd import"])[0])


# ---------------------------------------------------------------------- a new model


def test_a_new_model_serves_after_the_swap(filled: lamina.Vault) -> None:
    log: list[str] = []
    report = filled.reindex(model(log=log), batch_rows=64)
    asked = Counter(log)
    assert (report.rows, report.embedded, report.swapped) == (300, 300, True)
    rows = embedded_range(filled._memory.store.snapshot(), 0, 300)
    assert {asked[row.text] for row in rows} == {1}
    assert manifest(filled).space == report.space == space_name(filled._memory.store.snapshot(), model().identity)
    assert filled.recall("note7 title7", k=1)[0].id == "n7"
    filled.add("a river of stone", id="late")
    np.testing.assert_array_equal(matrix(filled)[-1], model().embed_documents(["a river of stone"])[0])
    assert set(manifest(filled).spaces) == {"default", report.space}


def test_vectors_equal_those_of_a_vault_that_never_had_another_model(filled: lamina.Vault, tmp_path: Path) -> None:
    filled.reindex("wordllama-64", accept=True)
    with lamina.open(tmp_path / "other", create=True, embedder="wordllama-64") as other:
        other.add(records(300))
        np.testing.assert_array_equal(matrix(filled), matrix(other))


@pytest.mark.parametrize("workers", [1, 2])
def test_where_it_runs_makes_no_difference(filled: lamina.Vault, workers: int) -> None:
    report = filled.reindex("wordllama-64", workers=workers, batch_rows=100, accept=True)
    ref = filled._memory.embedder.embed_documents(
        [row.text for row in embedded_range(filled._memory.store.snapshot(), 0, 300)]
    )
    np.testing.assert_array_equal(matrix(filled), ref)
    assert report.embedded == 300


def test_equal_texts_are_embedded_once(vault: lamina.Vault) -> None:
    vault.add([{"id": f"n{i}", "text": f"the same {WORDS[i % 5]}"} for i in range(50)])
    log: list[str] = []
    report = vault.reindex(model(log=log), batch_rows=7, accept=True)
    assert sorted(set(log)) == sorted(log)
    assert (report.embedded, report.cached) == (5, 45)


def test_a_model_that_was_there_before_only_gets_what_it_lacks(filled: lamina.Vault) -> None:
    filled.reindex(model(), accept=True)
    filled.add(records(20, start=300))
    report = filled.reindex("wordllama", accept=True)
    assert (report.space, report.resumed, report.embedded) == ("default", 300, 20)
    assert manifest(filled).space == "default"


def test_the_old_vectors_go_where_that_is_asked_for(filled: lamina.Vault) -> None:
    report = filled.reindex(model(), drop_old=True)
    assert set(manifest(filled).spaces) == {report.space}
    assert not any((filled.path / "log" / "vectors.default").glob("*.arrow"))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_small_vaults(vault: lamina.Vault, n: int) -> None:
    if n:
        vault.add(records(n))
    report = vault.reindex(model())
    assert (report.rows, report.swapped) == (n, True)
    vault.add("one more", id="more")
    assert vault.recall("one more", k=1)[0].id == "more"


def test_vectors_can_be_given_up_and_taken_up(filled: lamina.Vault) -> None:
    filled.reindex("none")
    assert manifest(filled).space == ""
    assert filled.recall("note7 title7", k=1)[0].id == "n7"
    filled.add("words alone", id="words")
    report = filled.reindex("wordllama")
    assert (report.resumed, report.embedded) == (300, 1)
    assert len(matrix(filled)) == 301


def test_starting_anew_makes_every_vector_again(filled: lamina.Vault) -> None:
    before = matrix(filled)
    report = filled.reindex(resume=False)
    assert report.embedded == 300
    assert manifest(filled).space == report.space != "default"
    np.testing.assert_array_equal(matrix(filled), before)


def test_damaged_vectors_are_made_again(filled: lamina.Vault) -> None:
    before = matrix(filled).copy()
    path = next((filled.path / "log" / "vectors.default").glob("*.arrow"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    filled.close()
    path.unlink()
    path.write_bytes(content)
    with lamina.open(filled.path) as vault:
        report = vault.reindex()
        assert (report.embedded, set(manifest(vault).spaces)) == (300, {report.space})
        np.testing.assert_array_equal(matrix(vault), before)


# ---------------------------------------------------------------------- the configuration follows


def test_the_settings_keep_what_people_wrote(filled: lamina.Vault) -> None:
    text = '# mine\nname = "a"  # kept\n[embedding]  # which\n# model = "no"\nmodel = "wordllama" # now\n[profiles.mine]\nbase = "default"\n'
    path = filled.path / "vault.toml"
    path.write_text(text)
    filled.reindex("wordllama-64", accept=True)
    assert path.read_text() == text.replace('"wordllama"', '"wordllama-64"')
    filled.close()
    with lamina.open(filled.path) as vault:
        assert vault.recall("note7 title7", k=1)[0].id == "n7"


def test_a_vault_without_settings_gets_them(filled: lamina.Vault) -> None:
    filled.reindex(model())
    assert 'model = "custom"' in (filled.path / "vault.toml").read_text()


def test_another_process_that_has_the_vault_open_follows(filled: lamina.Vault) -> None:
    with lamina.open(filled.path) as other:
        assert other.recall("note7 title7", k=1)[0].id == "n7"
        filled.reindex("wordllama-64", accept=True)
        (filled.path / "vault.toml").unlink()  # as between the swap and the settings
        assert other.recall("note7 title7", k=1, lanes=["vector"])
        other.add("from the other", id="other")
    assert matrix(filled).shape == (301, 64)


# ---------------------------------------------------------------------- the gate


def test_a_bad_model_leaves_the_old_one_serving(filled: lamina.Vault) -> None:
    before, files = manifest(filled), index_files(filled)
    with pytest.raises(ReindexGateError, match="vectors recall@10 falls"):
        filled.reindex(constant())
    after = manifest(filled)
    assert (after.space, after.indexes, index_files(filled)) == (before.space, before.indexes, files)
    assert filled.recall("note7 title7", k=1)[0].id == "n7"
    report = filled.reindex(constant(), accept=True)  # what was embedded is kept
    assert (report.embedded, report.resumed, report.swapped) == (0, 300, True)


def test_lost_vectors_do_not_pass_even_when_accepted(filled: lamina.Vault) -> None:
    calls = 0

    def forgetful(texts: list[str]) -> NDArray[np.float32]:
        nonlocal calls
        calls += 1
        return bag(texts) * (calls != 2)

    with pytest.raises(ReindexGateError, match="number of vectors"):
        filled.reindex(lamina.CallableEmbedder(forgetful, 48, "forgetful"), batch_rows=100, accept=True)
    assert manifest(filled).space == "default"


def test_texts_without_tokens_are_no_lost_vectors(filled: lamina.Vault) -> None:
    filled.add("!!!", id="dots")
    embedder = lamina.CallableEmbedder(lambda texts: bag([t.replace("!", "") for t in texts]), 48, "words only")
    gate: dict[str, Any] = filled.reindex(embedder).gate
    assert gate["counts"]["vectors"]["found"] == 300


def test_a_comparison_that_cannot_be_made_is_said_before_the_work(filled: lamina.Vault, tmp_path: Path) -> None:
    filled.reindex(model())
    filled.close()
    log: list[str] = []
    with lamina.open(filled.path, embedder=model("bag;v2", log)) as vault:
        with pytest.raises(ReindexGateError, match="not available"):
            vault.reindex()
        assert log == []
        assert vault.reindex(accept=True).swapped


@pytest.mark.parametrize(
    "options", [{"engine": "graph"}, {"tolerance": 2.0}, {"batch_rows": 0}, {"engine": "lexical", "embedder": "minilm"}]
)
def test_arguments_are_checked(filled: lamina.Vault, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        filled.reindex(**options)


# ---------------------------------------------------------------------- derived indexes


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reindex") / "vault"
    with lamina.open(path, create=True, clock=lamina.FixedClock("2026-03-01")) as vault:
        vault.add([{**record, "text": record["title"]} for record in records(16_400)])
    return path


def test_damaged_indexes_are_built_again(large: Path) -> None:
    with lamina.open(large) as vault:
        ref = [hit.id for hit in vault.recall("redis note70 title70", k=5)]
        lexical, codes = (manifest(vault).indexes[name] for name in (LEXICAL, VECTORS))
    for path in (large / "index" / lexical["folder"]).rglob("*.*"):
        path.write_bytes(b"damaged")
    (large / "index" / codes["file"]).write_bytes(b"damaged")
    for path in (large / "index" / "terms").iterdir():
        path.write_bytes(b"damaged")
    with lamina.open(large) as vault:
        for engine in ("lexical", "vectors", "keys"):
            assert vault.reindex(engine=engine, accept=True).swapped
        snapshot = vault._memory.store.snapshot()
        named = {
            str(v)
            for record in snapshot.manifest.indexes.values()
            for k, v in record.items()
            if k in ("folder", "file", "ids", "versions")
        }
        assert index_files(vault) == named
        assert vault._memory.tables.text(snapshot).rows == 16_384  # type: ignore[union-attr]
        assert vault._memory.tables.quantised(snapshot).rows == 16_384  # type: ignore[union-attr]
        assert [hit.id for hit in vault.recall("redis note70 title70", k=5)] == ref


def test_nothing_of_the_old_generation_is_left(large: Path) -> None:
    with lamina.open(large) as vault:
        before = index_files(vault)
        vault.reindex()
        assert not before & index_files(vault)
        assert BUILDING not in index_files(vault)
        vault.add(records(1, start=50_000))
        assert vault.recall("note50000 title50000", k=1)[0].id == "n50000"


def test_what_follows_the_log_rests_meanwhile(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a forget of many rows both built the same text index, each at half of its speed."""
    built: list[bool] = []
    lexical = IndexBuilder.lexical

    def look(builder: IndexBuilder) -> None:
        built.append(vault._memory.indexer.text.is_paused)
        lexical(builder)

    monkeypatch.setattr(IndexBuilder, "lexical", look)
    with lamina.open(large) as vault:
        vault.reindex(accept=True)
        assert built == [True]
        assert not vault._memory.indexer.text.is_paused


def test_only_one_at_a_time(filled: lamina.Vault) -> None:
    with build_dir(filled.path / "index"), pytest.raises(VaultLocked, match="another reindex"):
        filled.reindex()
    assert filled.reindex().swapped


# ---------------------------------------------------------------------- beside readers and writers


def test_readers_and_writers_go_on(filled: lamina.Vault) -> None:
    problems: list[BaseException] = []
    done = threading.Event()
    added: list[str] = []

    def read() -> None:
        try:
            while not done.is_set():
                assert filled.recall("note7 title7", k=1)[0].id == "n7"
                assert filled.recall("note8 title8", k=3, lanes=["vector"])
        except BaseException as error:
            problems.append(error)

    def write() -> None:
        try:
            while not done.is_set():
                added.append(f"n{1000 + len(added)}")
                filled.add(records(1, start=1000 + len(added) - 1))
                time.sleep(0.005)
        except BaseException as error:
            problems.append(error)

    def slow(texts: list[str]) -> NDArray[np.float32]:
        time.sleep(0.01)
        return bag(texts)

    threads = [threading.Thread(target=read), threading.Thread(target=write)]
    for thread in threads:
        thread.start()
    try:
        report = filled.reindex(lamina.CallableEmbedder(slow, 48, "slow"), batch_rows=20)
        time.sleep(0.05)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not problems
    assert report.swapped
    assert len(added) > 3
    vectors = matrix(filled)
    snapshot = filled._memory.store.snapshot()
    rows = embedded_range(snapshot, 0, snapshot.rows("chunks"))
    assert len(vectors) == 300 + len(added)
    np.testing.assert_array_equal(vectors, filled._memory.embedder.embed_documents([row.text for row in rows]))


def test_what_is_forgotten_meanwhile_has_no_vector(filled: lamina.Vault) -> None:
    calls = 0

    def embed(texts: list[str]) -> NDArray[np.float32]:
        nonlocal calls
        calls += 1
        if calls == 3:  # n5 is written already, n120 is just being embedded
            filled.forget(["n5", "n120"], dry_run=False)
        return bag(texts)

    report = filled.reindex(lamina.CallableEmbedder(embed, 48, "bag;v3"), batch_rows=50, accept=True)
    vectors = matrix(filled)
    assert report.swapped
    assert np.flatnonzero(~vectors.any(axis=1)).tolist() == [5, 120]
    for path in filled.path.rglob("*"):
        assert not path.is_file() or b"number120" not in path.read_bytes()


def test_progress_has_stages_rates_and_an_end(filled: lamina.Vault) -> None:
    steps: list[Progress] = []
    filled.reindex(model(), batch_rows=50, progress=steps.append)
    stages = list(dict.fromkeys(step.stage for step in steps))
    assert stages == ["embedding", "lexical", "keys", "vectors", "gate", "swap"]
    embedding = [step for step in steps if step.stage == "embedding"]
    assert [step.done for step in embedding] == [0, 50, 100, 150, 200, 250, 300]
    assert embedding[0].remaining_s is None
    assert embedding[-1].remaining_s == 0.0
    assert embedding[-1].rate > 0


# ---------------------------------------------------------------------- kill -9

_JOB = textwrap.dedent(
    """
    import sys, time
    import lamina
    from tests.engine.test_reindex import bag

    root, journal, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])

    def embed(texts):
        with open(journal, "a") as file:
            file.write("".join(text.replace("\\n", " ") + "\\n" for text in texts) + "--\\n")
        time.sleep(0.004 * len(texts) ** 0.5)
        return bag(texts)

    with lamina.open(root) as vault:
        vault.reindex(lamina.CallableEmbedder(embed, 48, "bag;v1"), batch_rows=rows, accept=True)
    """
)


def test_a_kill_costs_the_batch_in_flight_only(filled: lamina.Vault, tmp_path: Path) -> None:
    journal, draw, sizes = tmp_path / "calls", random.Random(5), [64, 17, 50, 31]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    kills = 0
    for attempt in range(30):
        command = [sys.executable, "-c", _JOB, str(filled.path), str(journal), str(sizes[attempt % len(sizes)])]
        job = subprocess.Popen(command, env=environ)
        before = journal.stat().st_size if journal.exists() else 0
        while kills < 3 and job.poll() is None and (journal.stat().st_size if journal.exists() else 0) == before:
            time.sleep(0.002)
        if kills < 3 and job.poll() is None:
            time.sleep(draw.random() * 0.06)
            job.send_signal(signal.SIGKILL)
            kills += 1
        if job.wait() == 0:
            break
    assert kills == 3
    snapshot = filled._memory.store.snapshot()
    rows = embedded_range(snapshot, 0, 300)
    assert snapshot.manifest.space == space_name(snapshot, model().identity)
    np.testing.assert_array_equal(matrix(filled), model().embed_documents([row.text for row in rows]))
    asked = [line for line in journal.read_text().splitlines() if line != "--"]
    assert set(asked) == {row.text.replace("\n", " ") for row in rows}
    assert len(asked) - len(set(asked)) <= kills * max(sizes)
    assert not (filled.path / "index" / BUILDING).exists()
