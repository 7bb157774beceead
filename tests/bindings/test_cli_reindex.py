"""``lamina reindex``: a job with events and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.cli import main
from lamina.cli.failures import GATE, PROBLEM, USAGE
from lamina_engine.embed.bundled import WordLlamaEmbedder


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "vault"
    with lamina.open(path, create=True) as vault:
        vault.add([{"id": f"n{i}", "text": f"body {i}", "title": f"subject{i} of note{i}"} for i in range(60)])
    monkeypatch.setenv("LAMINA_VAULT", str(path))
    return path


def space(root: Path) -> str:
    with lamina.open(root, mode="r") as vault:
        return str(vault.stats()["embedding"]["model"])


def test_one_document_and_events(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = tmp_path / "events.jsonl"
    assert main(["reindex", "--embedder", "wordllama-64", "--accept", "--json", "--events", str(events)]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["rows"], document["embedded"], document["swapped"], err) == (60, 60, True, "")
    steps = [json.loads(line) for line in events.read_text().splitlines()]
    assert set(steps[0]) == {"stage", "done", "total", "rate", "remaining_s"}
    assert steps[-1]["stage"] == "swap"
    assert "d=64" in space(root)


def test_events_on_stderr_and_text_on_stdout(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reindex", "--engine", "lexical", "--events", "-"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("reindexed 60 rows in")
    assert json.loads(err.splitlines()[0])["stage"] == "lexical"


def test_a_gate_that_is_not_passed_has_its_own_code(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def same(self: WordLlamaEmbedder, texts: list[str]) -> np.ndarray:
        return np.full((len(texts), self.dim), self.dim**-0.5, np.float32)

    before = space(root)
    with monkeypatch.context() as patch:
        patch.setattr(WordLlamaEmbedder, "embed_documents", same)
        assert main(["reindex", "--embedder", "wordllama-64", "--json"]) == GATE == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert "the old one goes on serving" in err
    assert space(root) == before


def test_other_failures_have_other_codes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reindex", "--engine", "lexical", "--embedder", "minilm"]) == PROBLEM
    assert main(["reindex", "--engine", "graph"]) == USAGE
    assert main(["reindex", "--vault", str(root / "nowhere")]) == PROBLEM
