from __future__ import annotations

import importlib
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lamina.clustering import HDBSCAN
from lamina_engine.errors import InvalidArgument, LaminaError, SchemaMismatch
from tests.engine.topics.test_hdbscan import blobs, text_vectors


def test_attributes_after_fitting() -> None:
    rows = blobs(300)
    model = HDBSCAN(min_cluster_size=10, metric="euclidean")
    assert model.fit(rows) is model
    assert model.labels_.shape == model.probabilities_.shape == model.outlier_scores_.shape == (300,)
    assert model.labels_.max() >= 3
    assert model.n_features_in_ == 16
    assert model.condensed_tree_.to_arrow().column_names == ["parent", "child", "lambda_val", "child_size"]
    assert model.single_linkage_tree_.to_arrow().column_names == ["node", "parent", "height", "size"]
    assert model.single_linkage_tree_.to_numpy().shape == (299, 4)
    assert HDBSCAN(min_cluster_size=10, metric="euclidean").fit_predict(rows).tolist() == model.labels_.tolist()
    again = pickle.loads(pickle.dumps(model))
    assert again.condensed_tree_.to_arrow().equals(model.condensed_tree_.to_arrow())


def test_a_recut_equals_a_new_fit() -> None:
    rows = blobs(300)
    model = HDBSCAN(min_cluster_size=10, min_samples=5).fit(rows)
    got = model.set_params(min_cluster_size=20, cluster_selection_method="leaf").recut().labels_
    ref = HDBSCAN(min_cluster_size=20, min_samples=5, cluster_selection_method="leaf").fit_predict(rows)
    assert got.tolist() == ref.tolist()
    with pytest.raises(InvalidArgument, match="call fit"):
        HDBSCAN().recut()


def test_parameters() -> None:
    model = HDBSCAN(7, metric="euclidean")
    assert repr(model) == "HDBSCAN(min_cluster_size=7, metric='euclidean')"
    assert HDBSCAN(**model.get_params()).get_params() == model.get_params()
    with pytest.raises(InvalidArgument, match="no parameter 'eps'"):
        model.set_params(eps=1)
    for wrong in (
        {"n_jobs": 0}, {"n_jobs": "2"}, {"n_jobs": -2}, {"min_cluster_size": 1}, {"min_samples": 0}, {"metric": "l1"},
        {"method": "fast"}, {"cluster_selection_method": "best"}, {"cluster_selection_epsilon": -0.1},
        {"max_cluster_size": 3}, {"allow_single_cluster": "no"},
    ):  # fmt: skip
        with pytest.raises(InvalidArgument, match=next(iter(wrong))):
            HDBSCAN().set_params(**wrong).fit(blobs(9))
    assert HDBSCAN(n_jobs=-1).fit_predict(blobs(50)).tolist() == HDBSCAN(n_jobs=1).fit_predict(blobs(50)).tolist()


def test_arrow_columns_are_read_where_they_are() -> None:
    rows = blobs(60)
    column = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 16)
    ref = HDBSCAN().fit(rows)
    for given in (column, pa.chunked_array([column]), pa.chunked_array([column[:20], column[20:]])):
        assert HDBSCAN().fit_predict(given).tolist() == ref.labels_.tolist()
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(rows)
    assert HDBSCAN().fit_predict(tensors).tolist() == ref.labels_.tolist()
    with_null = pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2))
    null_within = pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2.0, 3.0, None], pa.float32()), 2)
    for given in (with_null, null_within, pa.chunked_array([null_within])):
        with pytest.raises(InvalidArgument, match="row 1 is null or has one"):
            HDBSCAN().fit(given)
    with pytest.raises(SchemaMismatch, match="not vectors"):
        HDBSCAN().fit(pa.array([1.0]))
    with pytest.raises(SchemaMismatch, match="give its column"):
        HDBSCAN().fit(pa.table({"vector": column}))


def test_arrow_s_memory_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    from lamina_engine.topics import hdbscan, points

    rows, used = blobs(60), []
    column = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 16)
    real = points.as_points

    def watched(vectors: Any, metric: Any) -> Any:
        used.append(real(vectors, metric))
        return used[-1]

    monkeypatch.setattr(hdbscan, "as_points", watched)
    HDBSCAN().fit(column[10:])
    assert used[0].values.ctypes.data == column.values.buffers()[1].address + 10 * 16 * 4


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.empty((0, 4)), "0 sample"),
        (np.empty((4, 0)), "0 feature"),
        (np.zeros(4), "Reshape your data"),
        (np.zeros((4, 2), complex), "Complex"),
        ([["a", "b"], ["c", "d"]], "dtype"),
        ([[1.0, 2.0], [3.0]], "rows of one length"),
        (None, "NoneType, not vectors"),
        ("text", "str, not vectors"),
        (np.array([[object(), 1.0]], object), "no numbers"),
    ],
)
def test_what_cannot_be_clustered_is_refused(given: Any, words: str) -> None:
    with pytest.raises(LaminaError, match=words) as caught:
        HDBSCAN().fit(given)
    assert isinstance(caught.value, (ValueError, TypeError))


@pytest.mark.filterwarnings("ignore:.*does not inherit:UserWarning")  # it need not be installed
def test_scikit_learn_takes_it_for_one_of_its_own() -> None:
    base = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed")
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    assert base.clone(HDBSCAN(min_cluster_size=7)).min_cluster_size == 7
    for model, not_for_it in ((HDBSCAN(metric="euclidean"), set()), (HDBSCAN(), {"check_estimators_dtypes"})):
        results = checks.check_estimator(model, on_fail=None, on_skip=None)
        failed = {each["check_name"]: str(each["exception"]) for each in results if each["status"] == "failed"}
        assert failed.keys() == not_for_it
        assert all("is zero" in why for why in failed.values()), "rows that it gives have no direction"
        assert len(results) > 30


def test_it_is_a_step_of_scikit_learn_s_pipelines() -> None:
    pipeline = pytest.importorskip("sklearn.pipeline", reason="scikit-learn is not installed")
    scaler = importlib.import_module("sklearn.preprocessing").StandardScaler()
    selection = importlib.import_module("sklearn.model_selection")
    rows = blobs(200)
    model = pipeline.make_pipeline(scaler, HDBSCAN(10, metric="euclidean"))
    ref = HDBSCAN(10, metric="euclidean").fit_predict(scaler.fit_transform(rows))
    assert model.fit_predict(rows).tolist() == ref.tolist()
    assert model.set_params(hdbscan__min_cluster_size=20).fit_predict(rows).max() <= ref.max()
    search = selection.GridSearchCV(
        HDBSCAN(metric="euclidean"), {"min_cluster_size": np.array([5, 60])}, cv=2,
        scoring=lambda model, given, _=None: float(model.fit_predict(given).max()),
    )  # fmt: skip
    assert search.fit(rows).best_params_ == {"min_cluster_size": 5}


def test_numbers_of_numpy_are_numbers() -> None:
    """Such as a search over parameters gives."""
    rows = blobs(60)
    ref = HDBSCAN(6, min_samples=3, cluster_selection_epsilon=0.5, max_cluster_size=40, n_jobs=1).fit_predict(rows)
    given: dict[str, Any] = {
        "min_cluster_size": np.int64(6), "min_samples": np.int32(3), "cluster_selection_epsilon": np.float32(0.5),
        "max_cluster_size": np.uint8(40), "n_jobs": np.int64(1), "allow_single_cluster": np.False_,
    }  # fmt: skip
    assert HDBSCAN(**given).fit_predict(rows).tolist() == ref.tolist()


@pytest.mark.parametrize("size", [60, 61, 10**9, 10**30])
def test_sizes_beyond_all_rows(size: int) -> None:
    rows = blobs(60)
    assert set(HDBSCAN(min_cluster_size=size, min_samples=3).fit_predict(rows).tolist()) == {-1}
    assert set(HDBSCAN(min_samples=size).fit_predict(rows)) == set(HDBSCAN(min_samples=59).fit_predict(rows))
    ref = HDBSCAN(min_samples=3).fit_predict(rows)
    assert HDBSCAN(min_samples=3, max_cluster_size=size).fit_predict(rows).tolist() == ref.tolist()
    assert HDBSCAN(min_cluster_size=size).fit_predict(rows[:1]).tolist() == [-1]


def test_steps_are_told() -> None:
    steps: list[Any] = []
    HDBSCAN().fit_predict(blobs(900), progress=steps.append)
    assert steps
    assert all(0 <= step.done <= step.total for step in steps)


SETTINGS = [
    {"cluster_selection_method": "eom"},
    {"cluster_selection_method": "leaf"},
    {"cluster_selection_method": "leaf", "cluster_selection_epsilon": 0.2},
    {"allow_single_cluster": True, "cluster_selection_epsilon": 0.9},
    {"max_cluster_size": 100},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("name", ["clusterable", "text"])
def test_hdbscan_gives_the_same_without_ties(name: str, settings: dict[str, Any], data: Path) -> None:
    """With one other point no two rows share a core distance, so that hardly any heights are equal."""
    hdbscan = pytest.importorskip("hdbscan", reason="hdbscan is not installed")
    clusterable = np.load(data / "clustering" / "clusterable_data.npy").astype(np.float32)
    rows = clusterable if name == "clusterable" else text_vectors(1000, data)
    got = HDBSCAN(10, min_samples=1, metric="euclidean", **settings).fit(rows)
    peer = settings | {"max_cluster_size": settings.get("max_cluster_size", 0)}
    ref = hdbscan.HDBSCAN(10, min_samples=1, algorithm="generic", **peer).fit(rows.astype(np.float64))
    pairs = set(zip(ref.labels_.tolist(), got.labels_.tolist(), strict=True))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert dict(pairs).get(-1, -1) == -1
    np.testing.assert_allclose(got.probabilities_, ref.probabilities_, atol=1e-6)
    np.testing.assert_allclose(got.outlier_scores_, ref.outlier_scores_, atol=1e-6)


@pytest.mark.parametrize("samples", [4, 5])
def test_hdbscan_s_tree_code_gives_the_same_in_binary_mode(samples: int, data: Path) -> None:
    """With ties hdbscan and scikit-learn follow their own spanning tree; over Lamina's theirs and ours agree."""
    linkage = pytest.importorskip("hdbscan._hdbscan_linkage", reason="hdbscan is not installed")
    package = pytest.importorskip("hdbscan.hdbscan_")
    from lamina_engine.topics.hdbscan import cut, grow

    rows = np.load(data / "clustering" / "clusterable_data.npy").astype(np.float32)
    hierarchy = grow(rows, min_samples=samples, metric="euclidean", ties="binary")
    tree = hierarchy.spanning_tree
    single = linkage.label(np.column_stack([tree.source, tree.target, tree.weights]).astype(np.float64))
    for method in ("eom", "leaf"):
        labels, probabilities, *_ = package._tree_to_labels(rows, single, 5, cluster_selection_method=method)
        got = cut(hierarchy, min_cluster_size=5, method=method)
        pairs = set(zip(labels.tolist(), got.labels.tolist(), strict=True))
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
        np.testing.assert_allclose(got.probabilities, probabilities, atol=1e-6)


def test_scikit_learn_s_clusters_are_the_same_without_ties(data: Path) -> None:
    cluster = pytest.importorskip("sklearn.cluster", reason="scikit-learn is not installed")
    rows = np.load(data / "clustering" / "clusterable_data.npy").astype(np.float32)
    ref = cluster.HDBSCAN(min_cluster_size=10, min_samples=2, algorithm="brute", copy=True).fit(rows.astype(np.float64))
    got = HDBSCAN(10, min_samples=1, metric="euclidean").fit(rows)
    pairs = set(zip(ref.labels_.tolist(), got.labels_.tolist(), strict=True))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


LONG = """
import numpy as np
from lamina.clustering import HDBSCAN
rows = np.random.default_rng(0).standard_normal((60_000, 256)).astype(np.float32)
HDBSCAN(n_jobs=2).fit(rows[:500])
print("ready", flush=True)
try:
    HDBSCAN(n_jobs=2).fit(rows)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_ctrl_c_ends_a_long_run_within_a_second() -> None:
    with subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        time.sleep(1.0)
        run.send_signal(signal.SIGINT)
        asked = time.monotonic()
        assert run.stdout.readline() == "stopped\n"
        assert time.monotonic() - asked < 1.0
        assert run.wait(30) == 0
