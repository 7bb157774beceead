from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.index.claims import LinkRows, origin_ranks, squash
from lamina_engine.index.graph import LinkGraph, empty
from lamina_engine.index.graphfile import GraphDamaged, open_graph, write_graph
from lamina_engine.index.keys import hash_ids
from lamina_kernels.graph import csr
from tests.oracles.links import PRIORITY, Row, standing

IDS = [f"chunk-{i}" for i in range(9)]
NAMES = dict(zip(hash_ids(IDS).tolist(), IDS, strict=True))
row = st.builds(
    Row, st.sampled_from(IDS), st.sampled_from(IDS), st.sampled_from(["causal", "usage", "mine"]),
    st.sampled_from([0.25, 0.5, 1.0]), st.sampled_from(PRIORITY), st.booleans(),
).filter(lambda each: each.source != each.target)  # fmt: skip


def columns(rows: Sequence[Row], first: int = 0) -> LinkRows:
    return LinkRows(
        hash_ids([each.source for each in rows]), hash_ids([each.target for each in rows]),
        [each.relation for each in rows], [each.origin for each in rows],
        np.array([each.weight for each in rows], np.float32), np.array([each.active for each in rows], np.bool_),
        np.arange(first, first + len(rows)),
    )  # fmt: skip


def listed(graph: LinkGraph) -> list[tuple[tuple[str, str, str], float]]:
    """Links in the order of the rows."""
    names = [NAMES[value] for value in graph.hashes.tolist()]
    sources = csr.sources(graph.forward).tolist()
    ends = zip(
        sources, graph.forward.indices.tolist(), graph.forward.relations.tolist(), graph.forward.weights.tolist(),
        strict=True,
    )  # fmt: skip
    return [((names[u], names[v], graph.relations[r]), w) for u, v, r, w in ends]


def grown(rows: Sequence[Row], cuts: Sequence[int]) -> LinkGraph:
    graph, at = empty(), 0
    for cut in (*sorted(cuts), len(rows)):
        graph = graph.extended(columns(rows[at:cut], at), cut)
        at = cut
    return graph


@given(st.lists(row, max_size=40))
def test_links_are_those_that_stand(rows: list[Row]) -> None:
    got = grown(rows, [])
    assert dict(listed(got)) == pytest.approx(standing(rows))
    assert got.links == len(standing(rows))
    assert csr.check(got.forward) is None
    assert csr.check(got.backward) is None


@given(st.lists(row, max_size=40), st.data())
def test_a_tail_merged_on_read_gives_the_same(rows: list[Row], data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=6))
    ref, got = grown(rows, []), grown(rows, cuts)
    assert dict(listed(got)) == dict(listed(ref))
    assert got.rows == ref.rows
    # by target: the same links turned round
    turned = got._replace(forward=got.backward)
    assert {(key[1], key[0], key[2]): weight for key, weight in listed(turned)} == dict(listed(ref))


@given(st.lists(row, max_size=30, unique_by=lambda each: each[:3]), st.randoms(use_true_random=False))
def test_rows_do_not_depend_on_the_order_of_writing(rows: list[Row], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    def by_owner(graph: LinkGraph) -> dict[str, list[tuple[tuple[str, str, str], float]]]:
        found: dict[str, list[tuple[tuple[str, str, str], float]]] = {}
        for link in listed(graph):
            found.setdefault(link[0][0], []).append(link)
        return found

    ref, got = grown(rows, []), grown(shuffled, [len(rows) // 2])
    assert by_owner(got) == by_owner(ref)
    assert by_owner(got._replace(forward=got.backward)) == by_owner(ref._replace(forward=ref.backward))


@given(rows=st.lists(row, max_size=20))
def test_saved_and_opened_again(rows: list[Row], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("graph")
    graph = grown(rows, [])
    write_graph(graph, folder / "g", folder / "k")
    got = open_graph(folder / "g", folder / "k", verify=True)
    assert listed(got) == listed(graph)
    more = [Row("chunk-0", "chunk-8", "new", 1.0, "user", active=True)]
    longer = got.extended(columns(more, len(rows)), len(rows) + 1)
    assert dict(listed(longer)) == pytest.approx(standing([*rows, *more]))


@pytest.mark.parametrize("at", [9, 70, -1])
def test_damage_is_noticed(tmp_path: Path, at: int) -> None:
    rows = [Row("chunk-0", "chunk-1", "causal", 1.0, "user", active=True)]
    write_graph(grown(rows, []), tmp_path / "g", tmp_path / "k")
    content = bytearray((tmp_path / "g").read_bytes())
    content[at] ^= 0xFF
    (tmp_path / "g").write_bytes(content)
    with pytest.raises(GraphDamaged):
        open_graph(tmp_path / "g", tmp_path / "k", verify=True)


def test_an_offset_outside_is_noticed_without_reading_it_all(tmp_path: Path) -> None:
    graph = grown([Row("chunk-0", "chunk-1", "causal", 1.0, "user", active=True)], [])
    wrong = graph._replace(backward=graph.backward._replace(indices=np.array([7], np.int32)))
    write_graph(wrong, tmp_path / "g", tmp_path / "k")
    with pytest.raises(GraphDamaged, match="outside"):
        open_graph(tmp_path / "g", tmp_path / "k")
    write_graph(graph._replace(origins=()), tmp_path / "g", tmp_path / "k")
    with pytest.raises(GraphDamaged, match="code without a name"):
        open_graph(tmp_path / "g", tmp_path / "k")
    write_graph(graph, tmp_path / "g", tmp_path / "k")
    empty().keys.save(tmp_path / "k")
    with pytest.raises(GraphDamaged, match="keys"):
        open_graph(tmp_path / "g", tmp_path / "k")


def test_too_many_relations() -> None:
    rows = [Row("chunk-0", "chunk-1", f"r{i}", 1.0, "user", active=True) for i in range(257)]
    with pytest.raises(InvalidArgument, match="at most 256"):
        grown(rows, [])


def test_priority_of_origins() -> None:
    names = ["zeta", "semantic", "user", "alpha", "beads"]
    assert [names[i] for i in np.argsort(origin_ranks(names))] == ["user", "beads", "semantic", "alpha", "zeta"]


def test_counts_are_squashed() -> None:
    assert squash(np.array([1, 3, 9], np.float32)).tolist() == [0.25, 0.5, 0.75]
