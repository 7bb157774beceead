from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina_engine.chunks import lifecycle
from lamina_engine.errors import InvalidArgument, MissingExtra
from lamina_engine.memory import Memory
from lamina_engine.topics.clustering import cluster
from lamina_engine.topics.map import plain, principal, topic_map
from tests.engine.topics.vaults import blobs, fill

HOSTILE = '</script><img src=x onerror="alert(1)"> $$x$$ \u202e\u0007'


def test_a_missing_package_is_named(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match=r"lamina\[viz\]"):
        topic_map(memory, tmp_path / "map.html")
    assert not (tmp_path / "map.html").exists()


def test_a_layout_that_does_not_exist(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="pca"):
        topic_map(memory, tmp_path / "map.html", layout="round")  # type: ignore[arg-type]


def test_principal_components_are_those_of_the_covariance() -> None:
    rows = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32) * np.array(
        [5, 3, 1, 1, 1, 1], np.float32
    )
    got = principal(rows)
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    ref = np.linalg.svd(centred, compute_uv=False)[:2]
    np.testing.assert_allclose(np.linalg.norm(got, axis=0), ref, rtol=1e-9)
    np.testing.assert_allclose(got, principal(rows), rtol=0)
    assert abs(got[:, 0] @ got[:, 1]) < 1e-9 * ref[0] ** 2


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows_have_places_too(n: int) -> None:
    assert principal(np.eye(3, dtype=np.float32)[:n]).shape == (n, 2)
    assert principal(np.ones((n, 1), np.float32)).shape == (n, 2)


def test_hidden_characters_and_length() -> None:
    assert plain("a\u202eb\x07c\n d") == "a b c d"
    assert len(plain("x" * 1000)) == 160
    assert plain("x" * 160) == "x" * 160


def test_one_page_that_needs_nothing_else_and_runs_nothing(memory: Memory, tmp_path: Path) -> None:
    pytest.importorskip("bokeh", reason="the map needs bokeh")
    vectors, owners = blobs([30, 20])
    ids = fill(memory, vectors, owners)
    lifecycle.update(memory, ids[0], {"text": HOSTILE})
    cluster(memory)
    report = topic_map(memory, tmp_path / "map.html")
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert (report.points, report.topics, report.bytes) == (49, 2, (tmp_path / "map.html").stat().st_size)
    assert "<img" not in page
    assert "onerror=&quot;" in page or 'onerror=\\"' not in page
    assert "\u202e" not in page
    assert not re.search(r"<(?:script|link)[^>]+(?:src|href)=", page), "nothing is fetched"


def test_a_vault_without_topics_has_a_map_too(memory: Memory, tmp_path: Path) -> None:
    pytest.importorskip("bokeh", reason="the map needs bokeh")
    assert topic_map(memory, tmp_path / "map.html").points == 0
    fill(memory, *blobs([3]))
    assert topic_map(memory, tmp_path / "map.html").points == 3
    assert importlib.import_module("bokeh").__version__
