"""Commands about a whole vault."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.cli import main
from lamina.cli.command import GATE, PROBLEM, USAGE
from lamina_engine.embed.bundled import WordLlamaEmbedder

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "vault"
    with lamina.open(path, create=True, clock=lamina.FixedClock("2026-03-01T12:00:00Z"), embedder="none") as vault:
        for i in range(4):
            vault.add(f"note {i}", id=f"a1b2c3d{i}", project="api" if i % 2 else "web", created_at="2026-02-01")
    return path


@pytest.fixture
def run(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("LAMINA_VAULT", str(root))
    monkeypatch.setenv("LAMINA_EMBEDDER", "none")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def ids(root: Path) -> list[str]:
    with lamina.open(root, mode="r") as vault:
        return sorted(chunk.id for chunk in vault.list())


def test_forget_counts_first_and_forgets_with_yes(root: Path, run: Run) -> None:
    code, out, err = run("forget", "--project", "api")
    assert (code, "would forget 2 chunks" in out, "--yes" in err) == (0, True, True)
    assert "a1b2c3d1" in out
    assert len(ids(root)) == 4
    code, out, err = run("forget", "a1b2c3d1", "--yes")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "forgot 1 chunk"
    assert ids(root) == ["a1b2c3d0", "a1b2c3d2", "a1b2c3d3"]


def test_forget_says_the_same_in_json(root: Path, run: Run) -> None:
    code, out, err = run("forget", "--where", '{"project": "web"}', "--yes", "--json")
    document: dict[str, Any] = json.loads(out)
    assert (code, err) == (0, "")
    assert document.pop("bytes") > 0
    assert document == {
        "chunks": 2, "rows": 2, "vectors": 0, "events": 0, "sources": 0, "links": 0, "dry_run": False, "facts": 0,
        "ids": ["a1b2c3d0", "a1b2c3d2"], "likeness": [], "median": None,
    }  # fmt: skip
    assert ids(root) == ["a1b2c3d1", "a1b2c3d3"]


@pytest.mark.parametrize(
    ("arguments", "code"), [((), 2), (("a1b2c3d1", "--project", "api"), 2), (("nothing",), 3), (("--where", "{}"), 2)]
)
def test_forget_refuses(root: Path, run: Run, arguments: tuple[str, ...], code: int) -> None:
    got, out, err = run("forget", *arguments, "--yes")
    assert (got, out) == (code, "")
    assert err
    assert len(ids(root)) == 4


def test_compact(root: Path, run: Run) -> None:
    assert run("compact")[1] == "joined 4 files into 1\n"
    assert run("compact")[1] == "nothing to join: 1 file\n"
    code, out, _ = run("compact", "--json")
    document = json.loads(out)
    assert (code, document["segments_before"], document["segments_after"]) == (0, 1, 1)


def test_backup(root: Path, run: Run, tmp_path: Path) -> None:
    code, out, _ = run("backup", str(tmp_path / "copy"), "--json")
    document = json.loads(out)
    assert (code, document["path"], document["rows"]) == (0, str(tmp_path / "copy"), 4)
    assert ids(tmp_path / "copy") == ids(root)
    code, out, err = run("backup", str(tmp_path / "copy"))
    assert (code, out) == (1, "")
    assert "not empty" in err
    code, out, _ = run("backup", str(tmp_path / "other"))
    assert out.startswith("copied version ")


def test_methods(root: Path, tmp_path: Path) -> None:
    with lamina.open(root, embedder="none") as vault:
        assert vault.forget({"project": "api"}) == vault.forget(where={"project": "api"})
        assert vault.forget("a1b2c3d1") == vault.forget(["a1b2c3d1"]) == vault.forget(ids="a1b2c3d1", dry_run=True)
        wrongs: list[Any] = [{}, [], None]
        for wrong in wrongs:
            with pytest.raises(lamina.InvalidArgument):
                vault.forget(wrong, False)
        with pytest.raises(lamina.InvalidArgument, match="once"):
            vault.forget("a1b2c3d1", where={"project": "api"})
        with pytest.raises(lamina.ChunkNotFound):
            vault.forget("nothing", dry_run=False)
        assert vault.forget("#a1b2c3d1", dry_run=False).ids == ("a1b2c3d1",)
        with pytest.raises(lamina.ChunkNotFound):
            vault.get("a1b2c3d1")
        assert vault.compact().segments_after == 2
        assert vault.snapshot(tmp_path / "copy").rows == 4
    assert len(ids(tmp_path / "copy")) == 3


def test_a_damaged_vault_is_a_finding_and_not_a_failure_of_the_command(root: Path, run: Run) -> None:
    [segment, *_] = sorted((root / "log" / "chunks").glob("*.arrow"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    for form in ((), ("--json",)):
        code, out, err = run("verify", "--deep", *form)
        assert (code, err) == (1, "")
        assert segment.name in out


@pytest.fixture
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "vault"
    with lamina.open(path, create=True) as vault:
        vault.add([{"id": f"n{i}", "text": f"body {i}", "title": f"subject{i} of note{i}"} for i in range(60)])
    monkeypatch.setenv("LAMINA_VAULT", str(path))
    return path


def space(embedded: Path) -> str:
    with lamina.open(embedded, mode="r") as vault:
        return str(vault.stats()["embedding"]["model"])


def test_one_document_and_events(embedded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = tmp_path / "events.jsonl"
    assert main(["reindex", "--embedder", "wordllama-64", "--accept", "--json", "--events", str(events)]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["rows"], document["embedded"], document["swapped"], err) == (60, 60, True, "")
    steps = [json.loads(line) for line in events.read_text().splitlines()]
    assert set(steps[0]) == {"stage", "done", "total", "rate", "remaining_s"}
    assert steps[-1]["stage"] == "swap"
    assert "d=64" in space(embedded)


def test_what_a_library_prints_meanwhile_does_not_stand_before_the_document(
    embedded: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    embed = WordLlamaEmbedder.embed_documents

    def loud(self: WordLlamaEmbedder, texts: list[str]) -> np.ndarray:
        print("(raylet) a node has been marked dead")  # as Ray does
        return embed(self, texts)

    monkeypatch.setattr(WordLlamaEmbedder, "embed_documents", loud)
    assert main(["reindex", "--embedder", "wordllama-64", "--accept", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["embedded"] == 60
    assert "marked dead" in err


def test_events_on_stderr_and_text_on_stdout(embedded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reindex", "--engine", "lexical", "--events", "-"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("reindexed 60 rows in")
    assert json.loads(err.splitlines()[0])["stage"] == "lexical"


def test_a_gate_that_is_not_passed_has_its_own_code(
    embedded: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def same(self: WordLlamaEmbedder, texts: list[str]) -> np.ndarray:
        return np.full((len(texts), self.dim), self.dim**-0.5, np.float32)

    before = space(embedded)
    with monkeypatch.context() as patch:
        patch.setattr(WordLlamaEmbedder, "embed_documents", same)
        assert main(["reindex", "--embedder", "wordllama-64", "--json"]) == GATE == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert "the old one stays in use" in err
    assert space(embedded) == before


def test_other_failures_have_other_codes(embedded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reindex", "--engine", "lexical", "--embedder", "minilm"]) == PROBLEM
    assert main(["reindex", "--engine", "graph"]) == USAGE
    assert main(["reindex", "--vault", str(embedded / "nowhere")]) == PROBLEM
