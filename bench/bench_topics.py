"""Topics beside labels that people gave: adjusted mutual information over all chunks, noise counted as one label.

Labels are dialogue and session (LoCoMo, development dialogues) and folder (notes). Clusters and share of noise stand
beside each number: agreement on clustered chunks alone would say nothing. Vectors are equal for all systems.
"""

from __future__ import annotations

import importlib
import math
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

import lamina
from bench.peers import peer_version, skip_unless
from bench.timing import describe, repeat
from lamina_engine.evaluation import load_set
from lamina_engine.memory import Memory
from lamina_engine.topics.assignment import Curve, regain_labels, threshold_curve
from lamina_engine.topics.drift import usable_rows
from lamina_engine.topics.hdbscan import cut, grow
from lamina_engine.topics.partition import Settings, fill_labels, partition
from lamina_engine.topics.points import unit_rows

Labels = NDArray[np.int64]
LABELS = {"dialogue": "LoCoMo", "session": "LoCoMo", "folder": "notes"}
THRESHOLDS = [0.05, 0.07, 0.09, 0.11, 0.13, 0.15, 0.2, 0.25, 0.3, 0.325, 0.35, 0.375, 0.4, 0.45]
"""Angular distances of the table in decision 0012."""
MODELS = {"wordllama": "bundled model", "minilm": "MiniLM"}

labels_of_people = pytest.mark.parametrize("label", LABELS)
models = pytest.mark.parametrize("model", MODELS)


class Labelled(NamedTuple):
    """Vectors of a vault, float32 (n, d), and people's labels of its chunks."""

    vectors: NDArray[np.float32]
    labels: dict[str, Labels]


@pytest.fixture(scope="session")
def load(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Labelled]:
    """``load(label, model)``: the vectors and labels of a set, embedded once a session."""

    @cache
    def load_one(corpus: str, model: str) -> Labelled:
        folder = tmp_path_factory.mktemp(f"{corpus}-{model}")
        with lamina.open(folder / "vault", create=True, embedder=model) as vault:
            if corpus == "LoCoMo":
                vault.add(load_set(data / "locomo-dev").records)
            else:
                bundle = str(data / "notes-vault" / "til.bundle")
                subprocess.run(["git", "clone", "-q", bundle, str(folder / "til")], check=True, capture_output=True)
                vault.ingest(folder / "til")
        return _labelled(folder / "vault", corpus)

    return lambda label, model: load_one(LABELS[label], model)


def _labelled(vault: Path, corpus: str) -> Labelled:
    memory = Memory(vault, mode="r")
    view = memory.view()
    rows = usable_rows(view)
    records = view.snapshot.records("chunks", rows, ["project", "session", "source"])
    if corpus == "LoCoMo":
        names = {"dialogue": [r["project"] for r in records], "session": [r["session"] for r in records]}
    else:
        names = {"folder": [str(Path(r["source"]).parent) for r in records]}
    vectors = unit_rows(view.vectors.gather(rows))
    memory.close()
    return Labelled(vectors, {label: np.unique(each, return_inverse=True)[1] for label, each in names.items()})


@labels_of_people
@models
def bench_lamina(benchmark: BenchmarkFixture, load: Callable[[str, str], Labelled], label: str, model: str) -> None:
    found = _load(benchmark, load, label, model)

    def topics() -> Labels:
        return fill_labels(found.vectors, partition(found.vectors.copy, Settings(), threshold=None))

    _describe(benchmark, "Lamina, topics", label, model, found, repeat(benchmark, topics, rounds=3, warm=1))


@labels_of_people
@models
@pytest.mark.parametrize("selection", ["eom", "leaf"])
def bench_plain(
    benchmark: BenchmarkFixture, load: Callable[[str, str], Labelled], label: str, model: str, selection: str
) -> None:
    found = _load(benchmark, load, label, model)

    def plain() -> Labels:
        hierarchy = grow(found.vectors, min_samples=4)
        return cut(hierarchy, method="eom" if selection == "eom" else "leaf").labels

    got = repeat(benchmark, plain, rounds=3, warm=1)
    _describe(benchmark, f"Lamina, plain {selection}", label, model, found, got)


@labels_of_people
@models
def bench_evoc(benchmark: BenchmarkFixture, load: Callable[[str, str], Labelled], label: str, model: str) -> None:
    skip_unless("evoc")
    EVoC = importlib.import_module("evoc").EVoC

    found = _load(benchmark, load, label, model)
    # seeds matter: its median of three
    runs = [EVoC(random_state=seed).fit_predict(found.vectors) for seed in (0, 1)]
    runs.append(repeat(benchmark, lambda: EVoC(random_state=2).fit_predict(found.vectors), rounds=1))
    values = [adjusted_mutual_information(found.labels[label], run) for run in runs]
    middle = int(np.argsort(values)[1])
    _describe(
        benchmark, f"EVoC {peer_version('evoc')}, median of 3 seeds", label, model, found, runs[middle],
        low=min(values), high=max(values),
    )  # fmt: skip


@labels_of_people
@models
def bench_thresholds(benchmark: BenchmarkFixture, load: Callable[[str, str], Labelled], label: str, model: str) -> None:
    """How well chunks find back to the label that people gave, by threshold; labels of at least four chunks."""
    found = _load(benchmark, load, label, model)
    counts = np.bincount(found.labels[label])
    _, codes = np.unique(found.labels[label], return_inverse=True)
    kept = counts[found.labels[label]] >= 4
    names, inside = np.unique(codes[kept], return_inverse=True)
    labels = np.full(codes.size, -1)
    labels[kept] = inside

    def by_threshold() -> Curve:
        return threshold_curve(*regain_labels(found.vectors, labels, names.size), np.array(THRESHOLDS))

    got = repeat(benchmark, by_threshold, rounds=1)
    for each in zip(*got, strict=True):
        print(
            f"{LABELS[label]:7} {label:9} {model:10} threshold {each[0]:.3f}: "
            f"precision {each[1]:.3f}, recall {each[2]:.3f}, F1 {each[3]:.3f}"
        )
    best = int(got.f1.argmax())
    describe(
        benchmark, group=f"Thresholds for {LABELS[label]}, {label}, {MODELS[model]}", system="nearest centroid",
        kind="value", settings=f"best at {THRESHOLDS[best]}", value=float(got.f1[best]), unit="F1",
        curve={"threshold": THRESHOLDS, "precision": _short(got.precision), "recall": _short(got.recall),
               "f1": _short(got.f1)},
    )  # fmt: skip


def _short(values: NDArray[np.float64]) -> list[float]:
    return [round(value, 3) for value in values.tolist()]


def _load(benchmark: BenchmarkFixture, load: Callable[[str, str], Labelled], label: str, model: str) -> Labelled:
    if model == "minilm":
        pytest.importorskip("onnxruntime", reason="MiniLM needs lamina[quality]")
        if not benchmark.enabled:
            pytest.skip("embedding both sets with MiniLM takes minutes; timed runs do it")
    return load(label, model)


def _describe(
    benchmark: BenchmarkFixture, system: str, label: str, model: str, found: Labelled, got: Labels, **more: Any
) -> None:
    value = adjusted_mutual_information(found.labels[label], got)
    clusters, noise = int(got.max(initial=-1)) + 1, float(np.mean(got < 0))
    print(
        f"{LABELS[label]:7} {label:9} {model:10} {system:32} AMI {value:.3f}, {clusters:4} clusters, noise {noise:.2f}"
    )
    describe(
        benchmark, group=f"Topics of {LABELS[label]} against {label}, {MODELS[model]}", system=system, kind="value",
        settings=f"{clusters} clusters, noise {noise:.2f}", value=value, unit="adjusted mutual information", **more,
    )  # fmt: skip


def adjusted_mutual_information(a: Labels, b: Labels) -> float:
    """Return the mutual information of two labellings, adjusted for chance, by the mean of their entropies.

    Vinh, Epps and Bailey, "Information theoretic measures for clusterings comparison", 2010; the expectation is that
    of the hypergeometric model, equation 24a.
    """
    n = a.size
    _, codes_a, rows = np.unique(a, return_inverse=True, return_counts=True)
    _, codes_b, columns = np.unique(b, return_inverse=True, return_counts=True)
    cells, counts = np.unique(codes_a * columns.size + codes_b, return_counts=True)
    product = rows[cells // columns.size] * columns[cells % columns.size]
    mutual = float((counts / n * np.log(counts * n / product)).sum())
    expected = _expected(rows, columns, n)
    mean = (_entropy(rows / n) + _entropy(columns / n)) / 2
    return (mutual - expected) / max(mean - expected, 1e-15)


def _entropy(shares: NDArray[np.float64]) -> float:
    return float(-(shares * np.log(shares)).sum())


def _expected(rows: Labels, columns: Labels, n: int) -> float:
    factorial = np.array([math.lgamma(i + 1.0) for i in range(n + 1)])
    total = 0.0
    sizes_a, times_a = np.unique(rows, return_counts=True)
    sizes_b, times_b = np.unique(columns, return_counts=True)
    for x, many in zip(sizes_a.tolist(), times_a.tolist(), strict=True):
        for y, more in zip(sizes_b.tolist(), times_b.tolist(), strict=True):
            both = np.arange(max(1, x + y - n), min(x, y) + 1)
            log_share = (
                factorial[x] + factorial[y] + factorial[n - x] + factorial[n - y] - factorial[n]
                - factorial[both] - factorial[x - both] - factorial[y - both] - factorial[n - x - y + both]
            )  # fmt: skip
            total += many * more * float((both / n * np.log(n * both / (x * y)) * np.exp(log_share)).sum())
    return total
