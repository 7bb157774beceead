"""The growth experiment runs on a small vault, and its made-up rows are what it says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lamina
from bench import corpus as corpora
from bench import experiment_growth
from bench.corpus import Corpus, load
from bench.harvest import Chunk
from bench.systems import Lamina


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A corpus of 600 rows of made-up words, with ten questions of each kind."""
    words = np.array([f"word{i}" for i in range(3000)])
    rng = np.random.default_rng(0)
    real = [Chunk(" ".join(words[rng.integers(0, 3000, 150)]), (f"what word{i} is all about",)) for i in range(600)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpora, "chunks", lambda: iter(real))
        found = load(tmp_path_factory.mktemp("corpora"), 600)
    return replace(found, queries=found.queries[:10], held_out=found.held_out[:10])


def test_growth_is_measured_on_a_vault_of_made_up_rows(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment_growth, "PROCESSES", 1)
    monkeypatch.setattr(experiment_growth, "FACTS", 2_000)
    monkeypatch.setattr("os.sync", lambda: None)  # waits for all that anybody on the machine writes
    found = experiment_growth.measure(corpus, 1_500, tmp_path, reindex=True, peer=True)
    assert found["rows"] == 1_500
    assert "peer_hybrid_ms" not in found  # it has the rows of the corpus alone
    assert found["recall_at_10"] > 0.95
    for name, value in found.items():
        if name.endswith("_ms"):
            assert 0.0 < value[0] <= value[1] <= value[2]
    assert found["reindex_s"] > 0.0


def test_the_hand_written_stack_is_asked_of_the_same_rows(corpus: Corpus, tmp_path: Path) -> None:
    with lamina.open(tmp_path / "vault", create=True) as vault:
        vault.add(corpus.table())
        found = experiment_growth.ask_peer(corpus, tmp_path / "peer", Lamina(vault))
    assert set(found) == {"beside_peer_ms", "peer_hybrid_ms", "peer_vectors_ms", "peer_words_ms"}
    for value in found.values():
        assert 0.0 < value[0] <= value[1] <= value[2]
    assert not (tmp_path / "peer").exists()


def test_made_up_rows_are_two_halves_with_the_middle_of_their_vectors(corpus: Corpus) -> None:
    first, _, third = experiment_growth.tables(corpus, 1_500)
    assert (len(first), len(third)) == (600, 300)
    assert first["text"].to_pylist() == corpus.texts.to_pylist()
    other = 2 * experiment_growth.STRIDE % 600
    text = third["text"][0].as_py()
    assert text.startswith(corpus.texts[0].as_py()[:400])
    assert corpus.texts[other].as_py()[400:800] in text
    middle = corpus.vectors[0] + corpus.vectors[other]
    assert third["vector"][0].as_py() == pytest.approx((middle / np.linalg.norm(middle)).tolist(), abs=1e-6)
    assert third["id"].to_pylist()[:2] == ["1200", "1201"]


def test_the_page_shows_what_was_recorded() -> None:
    lines = [json.loads(line) for line in experiment_growth.LINES.read_text(encoding="utf-8").splitlines()]
    page = Path(__file__).parents[2] / "docs" / "benchmarks.md"
    assert experiment_growth.table(lines) in page.read_text(encoding="utf-8")
