from __future__ import annotations

import numpy as np
import pytest

from lamina_kernels.hdbscan import certified
from lamina_kernels.hdbscan.certified import leader_order
from lamina_kernels.hdbscan.packed import pack
from lamina_kernels.threads import ThreadTeam
from tests.kernels.hdbscan.test_neighbors import as_points


@pytest.mark.parametrize("n", [1, 2, 41, 200])
@pytest.mark.parametrize("threads", [1, 2])
def test_every_row_once_and_the_same_for_any_number_of_threads(n: int, threads: int) -> None:
    points = as_points(np.random.default_rng(1).standard_normal((n, 8)).astype(np.float32))
    packed = pack(points, "int16-portable", centred=True)
    got = leader_order(points, packed, np.arange(n), ThreadTeam(threads))
    assert sorted(got.tolist()) == list(range(n))
    assert got.tolist() == leader_order(points, packed, np.arange(n), ThreadTeam(1)).tolist()


def test_groups_that_have_leaders_stand_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certified, "_SHARE", 5)
    rng = np.random.default_rng(2)
    group = rng.permutation(np.repeat(np.arange(10), 20))
    rows = (rng.standard_normal((10, 8))[group] + 0.05 * rng.standard_normal((200, 8))).astype(np.float32)
    points = as_points(rows)
    order = leader_order(points, pack(points, "float32", centred=True), np.arange(200), ThreadTeam(1))
    assert np.count_nonzero(np.diff(group[order])) == 9
