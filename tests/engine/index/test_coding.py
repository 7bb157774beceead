"""Vector codes made ahead are those made afterwards, whatever was expected and whatever came."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lamina_engine.errors import LaminaError
from lamina_engine.index import quantised
from lamina_engine.index.coding import Coding
from lamina_engine.index.quantised import STEPS, QuantisedIndex
from lamina_engine.index.vectors import F32, VectorBlocks

DIM = 32
STEP = STEPS[1]
ROWS = 3 * STEP


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantised, "MIN_ROWS", STEP)
    monkeypatch.setattr(quantised, "TRAINING_STEPS", (STEP, 2 * STEP))


@pytest.fixture(scope="module")
def vectors() -> F32:
    found = np.random.default_rng(5).normal(size=(ROWS + 100, DIM))
    unit: F32 = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
    return unit


def blocks(vectors: F32, rows: int) -> VectorBlocks:
    return VectorBlocks([vectors[:rows]], DIM)


def saved(index: QuantisedIndex | None, folder: Path) -> bytes:
    assert index is not None
    index.save(folder / "codes")
    return (folder / "codes").read_bytes()


def test_codes_ahead_are_extended_to_those_of_the_whole(vectors: F32, tmp_path: Path) -> None:
    whole = QuantisedIndex.build(blocks(vectors, ROWS), ROWS)
    coding = Coding()
    coding.begin("a", None, blocks(vectors, STEP), STEP, ROWS)  # the prefix that trains is not there yet
    assert coding.take("a") is None
    coding.begin("a", None, blocks(vectors, 2 * STEP + 5), 2 * STEP + 5, ROWS)
    coding.begin("a", None, blocks(vectors, 2 * STEP + 9), 2 * STEP + 9, ROWS)  # nothing more to code: the same goes on
    coding.begin("a", None, blocks(vectors, ROWS + 1), ROWS + 1, ROWS + 1)
    ahead = coding.take("a")
    assert coding.take("a") is None
    assert ahead is not None
    assert ahead.rows == ROWS
    assert saved(ahead, tmp_path) == saved(whole, tmp_path)


def test_another_number_of_rows_than_expected(vectors: F32, tmp_path: Path) -> None:
    coding = Coding()
    coding.begin("a", None, blocks(vectors, STEP), STEP, STEP + 1)  # trained on the shorter prefix
    ahead = coding.take("a")
    assert ahead is not None
    assert ahead.trained_on == STEP
    got = ahead.extend(blocks(vectors, ROWS), ROWS)
    assert saved(got, tmp_path) == saved(QuantisedIndex.build(blocks(vectors, ROWS), ROWS), tmp_path)


def test_what_was_saved_before_is_extended(vectors: F32, tmp_path: Path) -> None:
    known = QuantisedIndex.build(blocks(vectors, 2 * STEP), 2 * STEP)
    coding = Coding()
    coding.begin("a", known, blocks(vectors, ROWS), ROWS, ROWS)
    assert saved(coding.take("a"), tmp_path) == saved(QuantisedIndex.build(blocks(vectors, ROWS), ROWS), tmp_path)


def test_codes_of_another_space_are_not_taken(vectors: F32) -> None:
    coding = Coding()
    coding.begin("a", None, blocks(vectors, ROWS), ROWS, ROWS)
    assert coding.take("b") is None


def test_what_fails_is_made_again_by_who_asks(
    vectors: F32, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise LaminaError("out of luck")

    monkeypatch.setattr(QuantisedIndex, "build", failing)
    coding = Coding()
    coding.begin("a", None, blocks(vectors, ROWS), ROWS, ROWS)
    assert coding.take("a") is None
    assert "out of luck" in caplog.text
