from __future__ import annotations

import numpy as np
import pytest

from lamina_engine.topics.layout import lay_out, place, principal
from lamina_engine.topics.points import unit_rows
from lamina_kernels.layouts import F32, I64


def rows_of(n: int, *, groups: int = 6, dim: int = 24, seed: int = 0) -> tuple[F32, I64]:
    """Return unit rows around some centres, and the centre of each."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((groups, dim))
    owners = np.arange(n) % groups
    return unit_rows((centres[owners] + 0.4 * rng.standard_normal((n, dim))).astype(np.float32)), owners


def preserved(vectors: F32, places: F32, k: int = 10) -> float:
    """Return the share of each row's k nearest that are among its k nearest on the map."""
    near = np.argsort(-(vectors @ vectors.T), axis=1, kind="stable")[:, 1 : k + 1]
    apart = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    found = np.argsort(apart, axis=1, kind="stable")[:, 1 : k + 1]
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(near, found, strict=True)]))


def test_the_first_axes_are_those_of_the_covariance() -> None:
    rows = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32) * np.array(
        [5, 3, 1, 1, 1, 1], np.float32
    )
    got = principal(rows).astype(np.float64)
    _, _, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    ref = (rows - rows.mean(axis=0)) @ axes[:2].T
    ref *= np.sign((ref * got).sum(axis=0))
    np.testing.assert_allclose(got / np.abs(got).max(), ref / np.abs(ref).max(), atol=1e-4)


@pytest.mark.parametrize("n", range(7))
def test_few_and_equal_rows_have_places_too(n: int) -> None:
    for vectors in (np.eye(8, dtype=np.float32)[:n], unit_rows(np.ones((n, 8), np.float32))):
        got = lay_out(vectors)
        assert got.shape == (n, 2)
        assert got.dtype == np.float32
        assert np.isfinite(got).all()


def test_the_same_bytes_on_one_and_two_threads() -> None:
    vectors, _ = rows_of(2500)
    assert lay_out(vectors, threads=1).tobytes() == lay_out(vectors, threads=2).tobytes()


def test_neighbours_stay_together_better_than_on_the_axes() -> None:
    vectors, owners = rows_of(600)
    places = lay_out(vectors)
    assert preserved(vectors, places) > 1.7 * preserved(vectors, principal(vectors))
    apart = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    assert (owners[apart.argmin(axis=1)] == owners).mean() > 0.98


def test_added_rows_come_to_their_neighbours_and_move_nobody() -> None:
    vectors, owners = rows_of(900)
    places = lay_out(vectors[:800])
    before = places.copy()
    added = place(vectors[:800], places, vectors[800:])
    assert places.tobytes() == before.tobytes()
    assert added.tobytes() == place(vectors[:800], places, vectors[800:], threads=1).tobytes()
    nearest = ((added[:, None] - places[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert (owners[nearest] == owners[800:]).mean() > 0.95


def test_progress_rises_to_the_end() -> None:
    seen: list[int] = []
    lay_out(rows_of(300)[0], progress=lambda progress: seen.append(progress.done))
    assert seen == sorted(seen)
    assert seen[-1] == 100
