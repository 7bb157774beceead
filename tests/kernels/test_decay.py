from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels import decay
from tests.oracles import decay as oracle

# hops and weights as published with the system that these curves come from: linear backward, delayed linear forward
BACKWARD = {0: 1.0, 1: 0.9, 5: 0.5, 9: 0.1, 10: 0.0, 11: 0.0}
FORWARD = {0: 1.0, 4: 1.0, 5: 1.0, 6: 0.933, 10: 0.667, 15: 0.333, 19: 0.067, 20: 0.0, 40: 0.0}


def test_hop_decay_backward_is_linear_and_dies_at_ten() -> None:
    got = decay.linear_hop_decay(np.array(list(BACKWARD), np.int32), 0.0, 10.0)
    np.testing.assert_allclose(got, list(BACKWARD.values()), atol=1e-12)


def test_hop_decay_forward_holds_five_and_dies_at_twenty() -> None:
    got = decay.linear_hop_decay(np.array(list(FORWARD), np.int64), 5.0, 20.0)
    np.testing.assert_allclose(got, list(FORWARD.values()), atol=5e-4)


def test_hop_decay_of_the_research_variants() -> None:
    hops = np.arange(40)
    backward = decay.exponential_hop_decay(hops, 0.87, 0.01)
    np.testing.assert_allclose(backward[:3], [1.0, 0.87, 0.7569], rtol=1e-12)
    assert (backward[33] > 0.01, backward[34]) == (True, 0.0)
    forward = decay.linear_hop_decay(hops, 0.0, 1.0 / 0.033)
    np.testing.assert_allclose(forward[[1, 10, 30]], [0.967, 0.67, 0.01], atol=1e-12)
    assert forward[31] == 0.0


@given(hops=st.lists(st.integers(0, 60), max_size=9), hold=st.integers(0, 9), more=st.integers(1, 30))
def test_linear_hop_decay_equals_oracle_and_never_rises(hops: list[int], hold: int, more: int) -> None:
    got = decay.linear_hop_decay(np.array(sorted(hops), np.int32), float(hold), float(hold + more))
    ref = [oracle.linear_hops(hop, hold, hold + more) for hop in sorted(hops)]
    np.testing.assert_allclose(got, ref, atol=1e-12)
    assert (np.diff(got) <= 0).all()


@given(hops=st.lists(st.integers(0, 60), max_size=9), base=st.floats(0.1, 0.99), least=st.floats(1e-6, 0.5))
def test_exponential_hop_decay_equals_oracle(hops: list[int], base: float, least: float) -> None:
    got = decay.exponential_hop_decay(np.array(hops, np.int32), base, least)
    ref = [oracle.exponential_hops(hop, base, least) for hop in hops]
    np.testing.assert_allclose(got, ref, rtol=1e-12)
