from __future__ import annotations

import numpy as np
import pytest

from lamina_kernels.frames import _BLOCK, frame_of, pack_others, pack_some
from lamina_kernels.layouts import Points
from lamina_kernels.packed import Arithmetic, gather, pack, score
from lamina_kernels.threads import Crew

PORTABLE: tuple[Arithmetic, ...] = ("float32", "int16-portable", "int8-portable")


def points_of(n: int) -> Points:
    rng = np.random.default_rng(1)
    return Points(rng.standard_normal(n * 16).astype(np.float32), rng.uniform(0.5, 1.0, n), 16)


@pytest.mark.parametrize("arithmetic", PORTABLE)
@pytest.mark.parametrize("centred", [True, False])
def test_all_rows_in_their_order_are_packed_as_before(arithmetic: Arithmetic, centred: bool) -> None:
    points = points_of(70)
    ref = pack(points, arithmetic, centred=centred)
    got = pack_some(frame_of(points, arithmetic, centred=centred), points, np.arange(70))
    assert got.words.tobytes() == ref.words.tobytes()
    assert got.margin.tobytes() == ref.margin.tobytes()
    assert got._replace(words=ref.words, margin=ref.margin) == ref


@pytest.mark.parametrize("arithmetic", PORTABLE)
def test_an_order_and_threads(arithmetic: Arithmetic) -> None:
    points = points_of(_BLOCK + 40)
    order = np.random.default_rng(2).permutation(_BLOCK + 40)
    sorted_points = Points(points.values.reshape(-1, 16)[order].reshape(-1), points.factors[order], 16)
    frame = frame_of(points, arithmetic, centred=False)
    ref = pack(sorted_points, arithmetic, centred=False)
    for crew in (None, Crew(2)):
        got = pack_some(frame, points, order, crew)
        assert got.words.tobytes() == ref.words.tobytes()
        assert got.margin.tobytes() == ref.margin.tobytes()


@pytest.mark.parametrize("arithmetic", PORTABLE)
def test_rows_of_the_same_space_are_compared(arithmetic: Arithmetic) -> None:
    points = points_of(30)
    frame = frame_of(points, arithmetic, centred=True)
    others = np.random.default_rng(3).standard_normal((5, 16)).astype(np.float32)
    packed, columns = pack_some(frame, points, np.arange(30)), pack_others(frame, others)
    out = np.empty((30, columns.words.size // (columns.groups + 3)), np.float32)
    score(columns, gather(packed, np.arange(30)), 0, 5, out)
    rows = points.values.reshape(-1, 16) * points.factors[:, None]
    ref = -0.5 * frame.scale**2 * ((rows[:, None] - others[None]) ** 2).sum(axis=2)
    assert np.abs(out[:, :5] - ref).max() < (0.05 if arithmetic.startswith("int8") else 1e-3)
