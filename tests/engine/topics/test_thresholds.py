from __future__ import annotations

import numpy as np
import pytest

from lamina_engine.errors import InvalidArgument
from lamina_engine.topics.thresholds import calibrate, checked_threshold, curve, regained
from tests.engine.topics.vaults import blobs


@pytest.mark.parametrize("wrong", [0, 0.0, -0.1, 1.5, "tight", None, True, float("nan")])
def test_what_is_no_threshold_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidArgument, match="auto"):
        checked_threshold(wrong)


def test_thresholds() -> None:
    assert checked_threshold("auto") is None
    assert checked_threshold(0.09) == 0.09
    assert type(checked_threshold(np.float32(0.25))) is float
    assert checked_threshold(1) == 1.0


def test_the_curve_by_hand() -> None:
    got = curve(np.array([0.1, 0.2, 0.3, 0.4]), np.array([True, True, False, True]), np.array([0.1, 0.25, 0.5]))
    np.testing.assert_allclose(got.precision, [1.0, 1.0, 0.75])
    np.testing.assert_allclose(got.recall, [0.0, 0.5, 0.75])
    np.testing.assert_allclose(got.f1, [0.0, 2 / 3, 0.75])


@pytest.mark.parametrize("spread", [0.05, 0.15])
def test_calibrated_thresholds_hold_the_members_and_not_the_others(spread: float) -> None:
    rows, owners = blobs([60, 50, 40], spread=spread)
    labels = np.array(owners)
    got = calibrate(rows, labels)
    distances, right = regained(rows, labels, 3)
    assert right.all()
    assert (distances < got).mean() > 0.98
    assert got < 0.35, "topics stand at right angles: half of the way between them is 0.25"


def test_noise_does_not_count_and_few_topics_have_a_threshold() -> None:
    rows, owners = blobs([30, 30, 30])
    labels = np.array(owners)
    cut = np.where(labels == 2, -1, labels)
    assert calibrate(rows, cut) == calibrate(rows[labels < 2], labels[labels < 2])
    one = np.where(labels == 0, 0, -1)
    assert 0 < calibrate(rows, one) < 0.5
    assert calibrate(rows, np.full(90, -1)) == 0.5
    assert calibrate(rows[:0], labels[:0]) == 0.5
    assert 0 < calibrate(rows[:1], np.zeros(1, np.int64)) <= 0.5
