from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.graph import csr
from lamina_kernels.layouts import F32, I32, U8, Csr
from tests.oracles import csr as oracle
from tests.oracles.csr import Link, transpose

WEIGHTS = st.sampled_from([0.125, 0.25, 0.5, 1.0])


@st.composite
def graphs(draw: st.DrawFn, most: int = 8) -> tuple[int, list[Link]]:
    n = draw(st.integers(0, most))
    if n == 0:
        return 0, []
    node = st.integers(0, n - 1)
    return n, draw(st.lists(st.builds(Link, node, node, st.sampled_from([0, 1, 7, 255]), WEIGHTS), max_size=24))


def columns(links: list[Link]) -> tuple[I32, I32, F32, U8]:
    return (
        np.array([each.source for each in links], np.int32),
        np.array([each.target for each in links], np.int32),
        np.array([each.weight for each in links], np.float32),
        np.array([each.relation for each in links], np.uint8),
    )


def built(n: int, links: list[Link]) -> Csr:
    return csr.build(n, *columns(links))


def equal(a: Csr, b: Csr) -> bool:
    for name in Csr._fields:
        one, other = getattr(a, name), getattr(b, name)
        if one.dtype != other.dtype or not np.array_equal(one, other):
            return False
    return True


@given(graphs())
def test_rows_keep_the_order_given(graph: tuple[int, list[Link]]) -> None:
    n, links = graph
    ref = oracle.rows(n, links)
    got = built(n, links)
    assert oracle.unpack(got) == ref
    assert equal(csr.build_numpy(n, *columns(links)), got)
    assert csr.check(got) is None


@given(graphs())
def test_transposed_rows_ascend_by_source(graph: tuple[int, list[Link]]) -> None:
    n, links = graph
    assert oracle.unpack(transpose(built(n, links))) == oracle.turned(n, links)
    assert csr.sources(built(n, links)).tolist() == sorted(each.source for each in links)


def test_many_nodes_take_several_buckets() -> None:
    n = 3 * csr._WIDTH + 5
    rng = np.random.default_rng(2)
    ends = np.concatenate([[0, n - 1, csr._WIDTH, csr._WIDTH - 1], rng.integers(0, n, 600)]).astype(np.int32)
    weight, relation = rng.random(ends.size, np.float32), rng.integers(0, 256, ends.size).astype(np.uint8)
    ref = csr.build_numpy(n, ends, ends[::-1].copy(), weight, relation)
    out = csr._empty(n, ends.size)
    csr.fill_csr(ends, ends[::-1].copy(), weight, relation, *out)
    assert equal(out, ref)


@given(graphs(), st.data())
def test_replaced_rows_are_as_if_built_anew(graph: tuple[int, list[Link]], data: st.DataObject) -> None:
    n, links = graph
    more = n + data.draw(st.integers(0, 3))
    node = st.integers(0, more - 1)
    changed = sorted(data.draw(st.sets(node))) if more else []
    fresh = [
        Link(u, data.draw(node), 1, data.draw(WEIGHTS)) for u in changed for _ in range(data.draw(st.integers(0, 3)))
    ]
    ref = built(more, [each for each in links if each.source not in changed] + fresh)
    for many in (0, more + 1):  # as where few rows of many change, and as where many do
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(csr, "_MANY", many)
            got = csr.replace_rows(built(n, links), np.array(changed, np.int64), built(more, fresh))
        assert equal(got, ref)


@given(graphs(), st.data())
def test_entries_of_some_rows(graph: tuple[int, list[Link]], data: st.DataObject) -> None:
    n, links = graph
    nodes = data.draw(st.lists(st.integers(0, n - 1))) if n else []
    owners, found = csr.entries(built(n, links).indptr, np.array(nodes, np.int64))
    rows = oracle.rows(n, links)
    flat = [entry for row in rows for entry in row]
    ref = [(position, entry) for position, u in enumerate(nodes) for entry in rows[u]]
    assert [(o, flat[e]) for o, e in zip(owners.tolist(), found.tolist(), strict=True)] == ref


def damaged(what: str) -> Csr:
    good = built(2, [Link(0, 1, 3, 0.5), Link(1, 0, 3, 0.5)])
    change = {
        "offsets fall": good._replace(indptr=np.array([0, 3, 2])),
        "offsets begin late": good._replace(indptr=np.array([1, 1, 2])),
        "offsets end early": good._replace(indptr=np.array([0, 1, 1])),
        "no offsets": good._replace(indptr=np.empty(0, np.int64)),
        "a node too high": good._replace(indices=np.array([1, 2], np.int32)),
        "a node below 0": good._replace(indices=np.array([1, -1], np.int32)),
        "weights missing": good._replace(weights=np.ones(1, np.float32)),
        "relations missing": good._replace(relations=np.ones(3, np.uint8)),
    }
    return change[what]


@pytest.mark.parametrize(
    "what",
    [
        "offsets fall", "offsets begin late", "offsets end early", "no offsets", "a node too high", "a node below 0",
        "weights missing", "relations missing",
    ],
)  # fmt: skip
def test_damage_is_named(what: str) -> None:
    assert csr.check(damaged(what)) is not None


def test_bytes_a_link() -> None:
    links = built(2, [Link(0, 1, 3, 0.5)] * 1000)
    assert sum(column.nbytes for column in links[1:]) <= 12 * 1000
