"""Inserts and deletes in a stream: topics are continued, and agree with a clustering of everything."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from lamina import FixedClock
from lamina_engine.chunks import writing
from lamina_engine.memory import Memory
from lamina_engine.topics.catalog import current_topics
from lamina_engine.topics.clustering import cluster
from lamina_engine.topics.drift import LEAST_AGREEMENT, adjusted_rand, usable_rows
from lamina_engine.topics.points import unit_rows
from lamina_kernels.layouts import F32, I64
from tests.engine.topics.vaults import Given, fill

STEPS = 4


class Wide(Given):
    dim = 64


@pytest.mark.parametrize(
    ("rows", "seed", "share"),
    [
        pytest.param(1_500, 1, None, id="short"),
        pytest.param(20_000, 1, 0.10, id="long-1", marks=pytest.mark.slow),
        pytest.param(20_000, 2, 0.10, id="long-2", marks=pytest.mark.slow),
    ],
)
def test_a_stream_of_a_fifth(tmp_path: Path, clock: FixedClock, rows: int, seed: int, share: float | None) -> None:
    """A fifth comes and a fifth goes, in steps; ``share``: the most of a whole run's time that a step may take."""
    rng = np.random.default_rng(seed)
    vectors, owners = _topical(rng, rows + rows // 5)
    memory = Memory(tmp_path / "vault", create=True, clock=clock, embedder=Wide())
    fill(memory, vectors[:rows], owners[:rows].tolist())
    cluster(memory)
    full_s = _timed(memory, full=True)
    going = rng.permutation(rows)[: rows // 5]
    for step in range(STEPS):
        part = slice(rows + step * rows // 5 // STEPS, rows + (step + 1) * rows // 5 // STEPS)
        fill(memory, vectors[part], owners[part].tolist(), prefix=f"s{step}-")
        _remove(memory, going[step * rows // 5 // STEPS : (step + 1) * rows // 5 // STEPS])
        started = time.process_time()
        report = cluster(memory)
        step_s = time.process_time() - started
        assert report.incremental
        got = _labels(memory)
        twin = _batch_labels(memory)
        print(f"step {step}: ARI {adjusted_rand(got, twin):.4f}, {step_s / full_s:.1%} of {full_s:.2f} s")
        assert adjusted_rand(got, twin) >= LEAST_AGREEMENT
        assert share is None or step_s <= share * full_s
    memory.close()


def _topical(rng: np.random.Generator, n: int) -> tuple[F32, I64]:
    """Unit rows of 40 topics of unequal size, with a tenth that belongs to none."""
    centres = rng.standard_normal((40, 64))
    owners = rng.choice(40, n, p=(weights := rng.random(40) + 0.2) / weights.sum())
    rows = 1.6 * centres[owners] + rng.standard_normal((n, 64))
    stray = rng.random(n) < 0.1
    rows[stray] = rng.standard_normal((int(stray.sum()), 64))
    return unit_rows(rows), owners


def _remove(memory: Memory, rows: I64) -> None:
    with memory.write() as (transaction, view):
        ids = view.snapshot.values("chunks", "id", rows)
        writing.add_events(transaction, "remove", ids, rows, transaction.stamps(len(rows)), [None] * len(rows))


def _timed(memory: Memory, *, full: bool) -> float:
    started = time.process_time()
    cluster(memory, full=full)
    return time.process_time() - started


def _labels(memory: Memory) -> I64:
    view = memory.view()
    rows, members = usable_rows(view), current_topics(view).members
    names = {name: label for label, name in enumerate(sorted(set(members.topics)))}
    labels = np.full(rows.size, -1)
    labels[np.searchsorted(rows, members.rows)] = [names[name] for name in members.topics]
    return labels


def _batch_labels(memory: Memory) -> I64:
    """What a clustering of everything gives, without putting it in force."""
    from lamina_engine.topics.partition import Settings, fill_labels, partition

    view = memory.view()
    vectors = unit_rows(view.vectors.gather(usable_rows(view)))
    return fill_labels(vectors, partition(vectors.copy, Settings(), threshold=None))
