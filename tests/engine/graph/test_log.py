from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import FixedClock
from lamina_engine.care.forgetting import forget
from lamina_engine.chunks import lifecycle
from lamina_engine.errors import ChunkNotFound, InvalidArgument, LaminaError
from lamina_engine.graph import links, log
from lamina_engine.graph.log import Draft, LinkCounts
from lamina_engine.index import nodes
from lamina_engine.memory import Memory
from lamina_engine.results import Link
from tests.engine.graph.filling import claimed, fill, tie

A, B, C = "a" * 32, "b" * 32, "c" * 32


@pytest.fixture
def three(memory: Memory) -> Memory:
    fill(memory, [A, B, C])
    return memory


def only(memory: Memory, identity: str = A) -> Link:
    (link,) = links.links_of(memory.view(), identity)
    return link


def test_written_and_read(three: Memory, clock: FixedClock) -> None:
    draft = Draft(A, B, "causal", 0.5, "because")
    assert log.write(three, [draft]) == LinkCounts(added=1)
    got = only(three)
    assert (got.source, got.target, got.relation, got.weight, got.note) == (A, B, "causal", 0.5, "because")
    assert (got.origin, got.created_at_us, got.status, got.active, got.count) == (
        "user",
        clock.now_us(),
        "active",
        True,
        None,
    )
    assert only(three, B).status == "active"
    assert links.links_of(three.view(), B, direction="out") == []
    assert links.links_of(three.view(), B, relations=["semantic"]) == []


def test_a_second_time_changes_nothing(three: Memory) -> None:
    drafts = [Draft(A, B, "causal", 0.3, "because"), Draft(B, C, "causal")]
    log.write(three, drafts)
    rows = three.view().snapshot.rows("links")
    assert log.write(three, drafts) == LinkCounts(unchanged=2)
    assert three.view().snapshot.rows("links") == rows


def test_a_later_word_of_the_same_origin_replaces_the_earlier(three: Memory) -> None:
    tie(three, f"{A}>{B}", weight=0.5)
    assert log.write(three, [Draft(A, B, "causal", 0.75)]) == LinkCounts(updated=1)
    assert only(three).weight == 0.75


@pytest.mark.parametrize("first", ["user", "semantic"])
def test_the_priority_of_origins_decides_not_the_order(three: Memory, first: str) -> None:
    weights = {"user": 0.25, "semantic": 0.75}
    for origin in (first, *(weights.keys() - {first})):
        tie(three, f"{A}>{B}", weight=weights[origin], origin=origin)
    assert (only(three).origin, only(three).weight) == ("user", 0.25)
    log.withdraw(three, [(A, B, "causal")])
    assert (only(three).origin, only(three).weight) == ("semantic", 0.75)
    log.withdraw(three, [(A, B, "causal")], origin="semantic")
    assert links.links_of(three.view(), A) == []
    assert log.withdraw(three, [(A, B, "causal")]) == LinkCounts()


def test_a_symmetric_pair_is_stored_once_in_sorted_order(three: Memory) -> None:
    got = log.write(three, [Draft(B, A, "semantic", 0.5), Draft(A, B, "semantic", 0.75)])
    assert got == LinkCounts(added=1)
    assert (only(three).source, only(three).target, only(three).weight) == (A, B, 0.75)
    assert [link.source for link in links.links_of(three.view(), B, direction="out")] == [A]
    tie(three, f"{B}>{A} {A}>{B}", "causal")
    assert len(links.links_of(three.view(), A, relations=["causal"])) == 2


@pytest.mark.parametrize("weight", [0, -0.5, 1.01, math.nan, math.inf, 1e-60, True, "1", None])
def test_a_weight_outside_is_refused_and_nothing_is_written(three: Memory, weight: float) -> None:
    with pytest.raises(InvalidArgument, match="weight"):
        log.write(three, [Draft(A, C, "causal"), Draft(A, B, "causal", weight)])
    assert three.view().snapshot.rows("links") == 0


@pytest.mark.parametrize(
    ("draft", "error", "told"),
    [
        (Draft(A, B, "causes"), InvalidArgument, "is not known"),
        (Draft(A, A, "causal"), InvalidArgument, "to itself"),
        (Draft(A, "d" * 32, "causal"), ChunkNotFound, "no chunk has the id"),
        (Draft("", B, "causal"), InvalidArgument, "id"),
        (Draft(A, B, "causal", 1.0, 7), InvalidArgument, "note"),  # type: ignore[arg-type]
        (Draft(A, B, "usage", 0.5), InvalidArgument, "count"),
    ],
)
def test_bad_links_are_refused_and_nothing_is_written(
    three: Memory, draft: Draft, error: type[LaminaError], told: str
) -> None:
    with pytest.raises(error, match=told):
        log.write(three, [Draft(A, C, "causal"), draft])
    assert three.view().snapshot.rows("links") == 0
    with pytest.raises(InvalidArgument, match="origin"):
        log.write(three, [Draft(A, C, "causal")], origin=" ")


def test_short_ids(three: Memory) -> None:
    log.write(three, [Draft("#aaaa", "bbbbb", "causal")])
    assert only(three).target == B


def test_secrets_in_notes_are_masked(three: Memory) -> None:
    log.write(
        three, [Draft(A, B, "causal", 1.0, "key AKIAIOSFODNN7EXAMPLE and ghp_0123456789abcdefghijABCDEFGHIJ012345")]
    )
    assert "ghp_0123456789" not in str(only(three).note)


def test_usage_counts(three: Memory) -> None:
    log.write(three, [Draft(A, B, "usage", 3)], origin="usage")
    assert (only(three).count, only(three).weight) == (3, 0.5)
    assert nodes.state_of(three.view()).graph.forward.weights.tolist() == [0.5]


def test_a_removed_chunk_keeps_its_links_and_hides_them(three: Memory) -> None:
    tie(three, f"{A}>{B}")
    lifecycle._event(three, B, "remove", lambda *_: True)
    assert links.links_of(three.view(), A) == []
    (link,) = links.links_of(three.view(), A, hidden=True)
    assert (link.status, link.active) == ("removed", False)
    lifecycle.restore(three, B)
    assert only(three).active


def test_an_invalidated_chunk_keeps_its_links(three: Memory) -> None:
    tie(three, f"{A}>{B}")
    lifecycle.invalidate(three, B, "wrong")
    assert (only(three).status, only(three).active) == ("invalidated", True)


def test_a_new_version_of_a_chunk_keeps_its_links(three: Memory) -> None:
    tie(three, f"{A}>{B}")
    lifecycle.update(three, B, {"text": "other words"})
    assert only(three).target == B
    state = nodes.state_of(three.view())
    assert sorted(state.rows.tolist()) == [0, 3]


def test_rows_of_nodes_follow_later_versions(memory: Memory) -> None:
    names = [f"{i:032x}" for i in range(9)]
    fill(memory, names)
    tie(memory, " ".join(f"{names[0]}>{name}" for name in names[1:]))
    assert sorted(nodes.state_of(memory.view()).rows.tolist()) == list(range(9))
    for step in range(3):
        lifecycle.update(memory, names[4], {"text": f"again {step}"})
        fill(memory, [f"{100 + step:032x}"])
        tie(memory, f"{names[1]}>{100 + step:032x}")
        state, view = nodes.state_of(memory.view()), memory.view()
        ref = view.tables.ids(view.snapshot).lookup(state.graph.hashes, n_rows=view.rows)
        assert state.rows.tolist() == ref.tolist()


def test_forgetting_leaves_no_link(three: Memory) -> None:
    tie(three, f"{A}>{B} {A}>{C}")
    before = nodes.state_of(three.view()).graph
    assert before.links == 2
    forget(three, ids=[B], dry_run=False)
    assert [link.target for link in links.links_of(three.view(), A)] == [C]
    graph = nodes.state_of(three.view()).graph
    assert (graph.links, graph.nodes) == (1, 2)


def test_as_of(three: Memory, clock: FixedClock) -> None:
    from lamina_engine.index.view import View

    clock.advance(60)
    tie(three, f"{A}>{B}")
    moment = clock.now_us() + 1
    clock.advance(60)
    tie(three, f"{A}>{C}")
    now = three.view()
    past = View(now.snapshot, now.tables, as_of_us=moment)
    assert [link.target for link in links.links_of(past, A)] == [B]
    assert len(links.links_of(now, A)) == 2


def test_sync_withdraws_what_it_no_longer_stands_by(three: Memory) -> None:
    def sync(*pairs: tuple[str, str]) -> LinkCounts:
        drafts = [Draft(source, target, "temporal") for source, target in pairs]
        return log.sync(three, drafts, origin="temporal", relations=["temporal"])

    assert sync((A, B), (B, C)) == LinkCounts(added=2)
    assert sync((A, B), (B, C)) == LinkCounts(unchanged=2)
    tie(three, f"{A}>{B}", "temporal", weight=0.5)
    assert sync((A, C)) == LinkCounts(added=1, withdrawn=2)
    assert claimed(three, "temporal") == {(A, C, "temporal"): 1.0}
    assert [(link.target, link.origin) for link in links.links_of(three.view(), A)] == [(B, "user"), (C, "temporal")]


def test_a_large_graph_is_saved_and_read_again(memory: Memory) -> None:
    names = [f"{i:032x}" for i in range(70)]
    fill(memory, names)
    pairs = [(u, v) for u in names for v in names if u != v]
    log.write(memory, [Draft(u, v, "causal", 0.5) for u, v in pairs])
    record = memory.view().snapshot.manifest.indexes[nodes.GRAPH]
    assert record["rows"] == len(pairs)
    tie(memory, f"{names[0]}>{names[1]}", weight=0.25)
    again = Memory(memory.root, mode="r", clock=memory.clock)
    ref, got = (nodes.state_of(each.view()).graph for each in (memory, again))
    assert [column.tolist() for column in got.forward] == [column.tolist() for column in ref.forward]
    (path,) = memory.tables.folder.glob("graph-*.links")
    assert not any(name.encode() in path.read_bytes() for name in names)
    again.close()
    path.write_bytes(b"torn")
    fresh = Memory(memory.root, mode="r", clock=memory.clock)
    assert nodes.state_of(fresh.view()).graph.links == ref.links
    fresh.close()


@given(weight=st.floats(0.001, 1.0))
def test_any_weight_is_read_as_it_is_kept(
    weight: float,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    memory = Memory(tmp_path_factory.mktemp("v") / "vault", create=True, clock=FixedClock(0), embedder="none")
    fill(memory, [A, B])
    log.write(memory, [Draft(A, B, "causal", weight)])
    assert log.write(memory, [Draft(A, B, "causal", weight)]) == LinkCounts(unchanged=1)
    assert only(memory).weight == pytest.approx(weight, rel=1e-6)
    memory.close()


def test_forgetting_removes_the_saved_graph(memory: Memory) -> None:
    names = [f"{i:032x}" for i in range(70)]
    fill(memory, names)
    log.write(memory, [Draft(u, v, "causal", 0.5) for u in names for v in names if u != v])
    assert list(memory.tables.folder.glob("graph-*"))
    forget(memory, ids=[names[0]], dry_run=False)
    assert not list(memory.tables.folder.glob("graph-*"))
    assert nodes.state_of(memory.view()).graph.links == 69 * 68
    tie(memory, f"{names[1]}>{names[2]}", weight=0.25)
    (path,) = memory.tables.folder.glob("graph-*.links")
    assert path.name == f"graph-{70 * 69 + 1:012d}-{memory.view().snapshot.manifest.rewritten}.links"
    fresh = Memory(memory.root, mode="r", clock=memory.clock)
    assert nodes.state_of(fresh.view()).graph.links == 69 * 68
    fresh.close()
