from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels import adaptive, frontier
from lamina_kernels.frontier import RELATIONS
from lamina_kernels.khop import empty_walk
from lamina_kernels.layouts import F64, Walk
from tests.kernels.test_khop import Case, cases

MOST = float(np.exp(0.4))
GAIN = np.exp(np.random.default_rng(1).uniform(0.0, 3.0, RELATIONS))
GAIN[255] = 0.0


def begun(case: Case, width: int) -> tuple[Walk, int]:
    """A walk that has taken its anchors."""
    nodes = np.array([seed for seed in dict.fromkeys(case.seeds) if seed not in case.blocked], np.int32)
    out = empty_walk(nodes.size + width)
    out.nodes[: nodes.size] = nodes
    out.scores[: nodes.size] = 0.1 * np.arange(1, nodes.size + 1)
    return out, nodes.size


@given(case=cases(), width=st.integers(1, 4), few=st.integers(0, 3), seed=st.integers(0, 9))
def test_what_is_left_out_could_not_have_been_taken(case: Case, width: int, few: int, seed: int) -> None:
    out, at = begun(case, width)
    forward, backward = case.csr
    walk_out, walk_in, blocked = case.masks
    met, slots, owners, entries, outward, open_ = adaptive.meet_hop(
        forward, backward, out.nodes[:at], 0, out.scores[:at], walk_out, walk_in, blocked, GAIN, MOST, width, few
    )
    links, ref_slots, ref_met = frontier.gather_numpy(forward, backward, out.nodes[:at], 0, walk_out, walk_in, blocked)
    assert met.tolist() == ref_met.tolist()
    assert slots.tolist() == ref_slots.tolist()
    assert (owners.tolist(), entries.tolist()) == (links.owners.tolist(), links.entries.tolist())
    assert outward.tolist() == links.outward.tolist()
    assert met.size > max(few, width) or open_.tolist() == list(range(met.size))
    lift = np.exp(np.random.default_rng(seed).uniform(-0.4, 0.4, met.size))
    best, first = frontier.settle_numpy(forward, backward, links, slots, out.scores[:at], GAIN, lift)
    ref = sorted(range(met.size), key=lambda i: (-best[i], i))[:width]
    assert set(ref) <= set(open_.tolist())
    known: F64 = np.full(met.size, 1.0 / MOST)
    known[open_] = lift[open_]
    stop = adaptive.take_hop(
        forward, backward, met, slots, owners, entries, outward, known, GAIN, width, 0, at, 1,
        out.nodes, out.scores, out.hops, out.parents, out.entries, out.outward,
    )  # fmt: skip
    assert out.nodes[at:stop].tolist() == met[ref].tolist()
    assert out.scores[at:stop].tolist() == best[ref].tolist()
    via = first[ref]
    assert out.parents[at:stop].tolist() == links.owners[via].tolist()
    assert out.entries[at:stop].tolist() == links.entries[via].tolist()
    assert out.outward[at:stop].tolist() == links.outward[via].tolist()
    assert set(out.hops[at:stop].tolist()) <= {1}


def test_a_frontier_without_links_meets_nothing() -> None:
    case = Case(3, [], [0], (0,), (0,), ())
    out, at = begun(case, 2)
    found = adaptive.meet_hop(
        *case.csr, out.nodes[:at], 0, out.scores[:at], *case.masks, GAIN, MOST, 2, 0
    )  # fmt: skip
    assert [part.size for part in found] == [0] * 6
