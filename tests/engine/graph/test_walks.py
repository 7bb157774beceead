from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import FixedClock
from lamina_engine.chunks import lifecycle
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.errors import ChunkNotFound, InvalidArgument
from lamina_engine.graph import log, walks
from lamina_engine.graph.log import Draft
from lamina_engine.graph.walks import (
    AdjacentRows,
    find_adjacent,
    neighbours,
    select_adjacent,
    trace_step,
    traverse,
)
from lamina_engine.index import nodes
from lamina_engine.memory import Memory
from lamina_engine.results import Neighbor
from tests.engine.graph.filling import fill, tie

NAMES = "abcdefgh"


@pytest.fixture
def small(memory: Memory) -> Memory:
    fill(memory, list(NAMES))
    return memory


def remove(memory: Memory, identity: str) -> None:
    lifecycle._event(memory, identity, "remove", lambda *_: True)


def ids(found: list[Neighbor]) -> str:
    return "".join(reached.id for reached in found)


def test_neighbours_and_their_paths(small: Memory) -> None:
    tie(small, "a>b b>c c>a")
    tie(small, "a>d", "semantic", 0.5)
    found = neighbours(small.view(), "a", hops=2, direction="out")
    assert [(each.id, each.hops) for each in found] == [("d", 1), ("b", 1), ("c", 2)]
    path = found[2].path
    assert [(step.source, step.target, step.relation, step.outward) for step in path] == [
        ("a", "b", "causal", True), ("b", "c", "causal", True),
    ]  # fmt: skip
    assert ids(neighbours(small.view(), "a", relations=["causal"], direction="in")) == "c"
    assert ids(neighbours(small.view(), "d", direction="out")) == "a"  # semantic has no direction
    assert ids(neighbours(small.view(), "a", hops=2, limit=1)) == "d"
    assert neighbours(small.view(), "h") == []


def test_removed_chunks_are_not_walked_and_invalidated_ones_are(small: Memory) -> None:
    tie(small, "a>b b>c")
    lifecycle.invalidate(small, "b", "wrong")
    found = neighbours(small.view(), "a", hops=2)
    assert [(each.id, each.status) for each in found] == [("b", "invalidated"), ("c", "active")]
    assert neighbours(small.view(), "a", hops=2, invalidated=False) == []
    remove(small, "b")
    assert neighbours(small.view(), "a", hops=2) == []
    assert ids(traverse(small.view(), ["a"], intent="why")) == "a"
    assert ids(traverse(small.view(), ["a", "b"], intent="why")) == "a"


def test_golden_numbers_of_the_adaptive_traversal(small: Memory) -> None:
    tie(small, "b>a", "causal", 0.8)  # why: from the effect to its cause
    tie(small, "c>d", "semantic", 1.0)
    tie(small, "e>f", "next", 1.0)
    score = {each.id: each.score for each in traverse(small.view(), {"a": 0.5}, intent="WHY", depth=1)}
    assert score["b"] == pytest.approx(0.45 + np.exp(3.0) * 0.8, abs=1e-6)  # 20.076 with a cosine of 0.5
    score = {each.id: each.score for each in traverse(small.view(), {"c": 0.05}, intent="what", depth=1)}
    assert score["d"] == pytest.approx(20.1305, abs=1e-4)
    score = {each.id: each.score for each in traverse(small.view(), {"e": 0.0}, depth=1)}
    assert score["f"] == pytest.approx(1.8221, abs=1e-4)


def test_the_question_s_vector_counts(tmp_path: Path, clock: FixedClock) -> None:
    memory = Memory(
        tmp_path / "v",
        create=True,
        clock=clock,
        embedder=CallableEmbedder(lambda texts: np.eye(4)[: len(texts)], 4, identity="axes"),
    )
    fill(memory, ["a", "b"], vectors=np.array([[1, 0, 0, 0], [0.5, 0.75**0.5, 0, 0]], np.float32))
    tie(memory, "b>a", "causal", 0.8)
    vector = np.array([1, 0, 0, 0], np.float32)
    score = {each.id: each.score for each in traverse(memory.view(), {"a": 0.5}, intent="why", vector=vector)}
    assert score["b"] == pytest.approx(20.076, abs=1e-4)
    memory.close()


def test_inbound_causal_is_not_followed_and_inbound_semantic_is(small: Memory) -> None:
    tie(small, "b>a")
    tie(small, "c>a", "semantic", 0.9)
    assert ids(traverse(small.view(), ["a"], intent="what")) == "ca"


def test_why_goes_back_along_causes_and_supports_and_never_along_the_order_of_time(small: Memory) -> None:
    # findings, seeds-a gaps 1 and 2
    tie(small, "b>a a>c")
    tie(small, "d>a a>e", "supporting")
    tie(small, "f>a a>g", "temporal")
    view = small.view()
    assert sorted(ids(traverse(view, ["a"], intent="why"))) == list("abd")
    assert sorted(ids(traverse(view, ["a"], intent="why", relations=["causal"]))) == list("ab")
    assert sorted(ids(traverse(view, ["a"], intent="why", relations=["temporal"]))) == list("ag")  # named, so meant
    assert sorted(ids(traverse(view, ["a"], intent="what"))) == list("aceg")


def test_contradictions_are_walked_marked_and_never_scored_up(small: Memory) -> None:
    tie(small, "a>b", "contradicts")
    tie(small, "c>a")
    found = {each.id: each for each in traverse(small.view(), {"a": 0.5}, intent="why")}
    assert (found["b"].score, found["b"].contradicts) == (0.45, True)
    assert not found["c"].contradicts
    assert found["b"].score < found["a"].score < found["c"].score


def test_budget_and_excluded_collections(memory: Memory) -> None:
    fill(memory, list(NAMES), collections=["x", "x", *["y"] * 6])
    tie(memory, "a>b", "causal", 1.0)
    tie(memory, "a>c a>d a>e", "causal", 0.5)
    assert len(traverse(memory.view(), ["a", "h"], budget=3)) == 3
    assert len(traverse(memory.view(), list(NAMES), budget=3)) == 3
    assert ids(traverse(memory.view(), ["c"], without=["y"])) == "c"
    found = traverse(memory.view(), ["a"], intent="what", beam=1, depth=1, without=["x"])
    assert (len(found), found[0].id in "cde") == (2, True)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"depth": 0}, "depth"), ({"depth": 17}, "depth"), ({"beam": 0}, "beam"), ({"budget": 0}, "budget"),
        ({"budget": 1.5}, "budget"), ({"intent": "how"}, "intent"), ({"relations": ["x"]}, "relation"),
    ],
)  # fmt: skip
def test_options_out_of_range(small: Memory, options: dict[str, object], told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        traverse(small.view(), ["a"], **options)  # type: ignore[arg-type]


def test_unknown_ids_and_bad_scores(small: Memory) -> None:
    for call in (neighbours, traverse):
        with pytest.raises(ChunkNotFound):
            call(small.view(), ["a", "nobody"])
    with pytest.raises(InvalidArgument, match="score"):
        traverse(small.view(), {"a": float("nan")})
    with pytest.raises(InvalidArgument, match="hops"):
        neighbours(small.view(), "a", hops=0)
    assert traverse(small.view(), []) == []


links = st.lists(
    st.builds(
        Draft, st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from(["causal", "semantic", "contradicts"]),
        st.sampled_from([0.25, 0.5, 1.0]), st.none(), st.none(),
    ).filter(lambda draft: draft.source != draft.target),
    max_size=14,
    unique_by=lambda draft: (*sorted(draft[:2]), draft.relation),
)  # fmt: skip


@settings(max_examples=12)
@given(drafts=links, cut=st.integers(0, 14), random=st.randoms(use_true_random=False))
def test_the_order_of_writing_changes_no_walk(
    drafts: list[Draft], cut: int, random: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shuffled = list(drafts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    answers = []
    for parts in ([drafts], [shuffled[:cut], shuffled[cut:]]):
        memory = Memory(tmp_path_factory.mktemp("v") / "vault", create=True, clock=FixedClock(0), embedder="none")
        fill(memory, list(NAMES))
        for part in parts:
            log.write(memory, part)
        view = memory.view()
        answers.append(
            [
                neighbours(view, "a", hops=3),
                neighbours(view, ["a", "b"], hops=2, limit=2),
                traverse(view, {"a": 0.5, "c": 0.5}, intent="why", beam=2, depth=3, budget=6),
            ]
        )
        memory.close()
    assert answers[0] == answers[1]


FIRST_WALK = """
import sys
from pathlib import Path
from lamina_engine.memory import Memory
from lamina_engine.graph.walks import neighbours, traverse
from lamina_engine.graph.links import causes
view = Memory(Path(sys.argv[1]), mode="r", embedder="none").view()
assert len(traverse(view, ["c"], intent="why")) == 3
assert len(neighbours(view, "a", hops=2)) == 2 and causes(view, "a")
heavy = {"numba", "pyarrow.compute", "pandas", "faiss", "tantivy"} & set(sys.modules)
assert not heavy, heavy
"""


FIRST_RECALL = """
import sys
import lamina
with lamina.open(sys.argv[1], mode="r", embedder="none") as vault:
    hits = vault.recall("why text of c", k=6, profile=sys.argv[2], lanes=["lexical"])
assert len(hits) == 6
assert sys.argv[2] == "causal" or hits.explain()["brought"]
heavy = {"numba", "pyarrow.compute", "pandas", "faiss"} & set(sys.modules)
assert not heavy, heavy
"""


@pytest.mark.parametrize("profile", ["causal", "task"])
def test_the_first_recall_along_links_does_not_load_numba(small: Memory, profile: str) -> None:
    tie(small, "a>b b>c")
    tie(small, "a>c b>a", "blocks")
    done = subprocess.run(
        [sys.executable, "-c", FIRST_RECALL, str(small.root), profile],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_the_first_walk_of_a_process_needs_no_heavy_package(small: Memory) -> None:
    tie(small, "a>b b>c")
    done = subprocess.run(
        [sys.executable, "-c", FIRST_WALK, str(small.root)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_starts_are_best_first_equal_ones_by_id_and_those_without_links_apart(memory: Memory) -> None:
    fill(memory, list("dcba"))
    tie(memory, "d>c b>c")
    view = memory.view()
    begin = walks.find_starts(view, np.arange(4), np.array([0.5, 0.9, 0.5, 0.7]), invalidated=True)
    graph = nodes.state_of(view).graph
    assert begin.nodes.tolist() == graph.node_of(["c", "b", "d"]).tolist()
    assert (begin.scores.tolist(), begin.lone.tolist(), begin.lone_scores.tolist()) == ([0.9, 0.5, 0.5], [3], [0.7])


def test_of_two_versions_of_a_chunk_the_last_counts(memory: Memory) -> None:
    fill(memory, list("ab"))
    fill(memory, ["a"], texts=["another text of a"])
    rows, scores = walks.latest_rows(memory.view(), np.array([0, 1, 2]), np.array([0.1, 0.2, 0.3]))
    assert (rows.tolist(), scores.tolist()) == ([2, 1], [0.3, 0.2])


def test_a_contradiction_marks_all_that_lies_behind_it(memory: Memory) -> None:
    fill(memory, list("abcde"))
    tie(memory, "a>b", "contradicts")
    tie(memory, "b>c a>d")
    tie(memory, "d>e", "contradicts")
    view = memory.view()
    begin = walks.find_starts(view, view.rows_of_ids(["a"]), np.ones(1), invalidated=True)
    walk = walks.walk_best_first(view, begin, intent="what", depth=3, beam_width=9, budget=9)
    state = nodes.state_of(view)
    names = view.snapshot.values("chunks", "id", state.rows[walk.nodes])
    assert dict(zip(names, walks.mark_contradicted(view, walk).tolist(), strict=True)) == dict(
        zip("abcde", [0, 1, 1, 0, 1], strict=True)
    )
    assert [step.target for step in walks.trace_path(view, walk, names.index("c"))] == ["b", "c"]
    assert walks.trace_path(view, walk, 0) == ()


def near(memory: Memory, names: list[str], relations: list[str]) -> AdjacentRows:
    view = memory.view()
    return find_adjacent(view, view.rows_of_ids(names), relations)


def listed(
    memory: Memory, found: AdjacentRows, places: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None
) -> str:
    rows = found.rows if places is None else found.rows[places]
    return "".join(memory.view().snapshot.values("chunks", "id", rows))


def test_what_lies_around_each_hit_and_the_link_to_it(memory: Memory) -> None:
    fill(memory, list("abcdef"))
    tie(memory, "a>b c>a", "blocks", 0.5)
    tie(memory, "b>a a>d", "related_to", 0.25)
    found = near(memory, ["a", "f", "b"], ["blocks", "related_to", "derived_from"])
    assert (sorted(listed(memory, found)), found.owners.tolist()) == (list("abcd"), [0, 0, 0, 2])
    steps = {listed(memory, found, np.array([i])): trace_step(memory.view(), found, i) for i in range(3)}
    assert (steps["b"].source, steps["b"].relation, steps["b"].weight, steps["b"].outward) == ("a", "blocks", 0.5, True)
    assert (steps["c"].source, steps["c"].target, steps["c"].outward) == ("c", "a", False)
    assert listed(memory, near(memory, ["a"], ["derived_from"])) == ""


def test_of_equal_chunks_the_newer_link_then_the_id(memory: Memory) -> None:
    fill(memory, list("abcdefg"))
    dated = {"b": 10, "c": 30, "d": 20, "e": 20, "g": 5}
    log.write(memory, [Draft("a", name, "blocks", 1.0, None, us) for name, us in dated.items()])
    log.write(memory, [Draft("g", "a", "causal", 1.0, None, 25)])  # any link between the two makes it newer
    found = near(memory, ["a"], ["blocks"])
    view, equal = memory.view(), np.ones(len(found.rows))
    assert nodes.link_dates(view, np.arange(6)).tolist() == [10, 30, 20, 20, 5, 25]
    for most, ref in ((1, "c"), (2, "cg"), (3, "cdg"), (4, "cdeg"), (9, "bcdeg")):
        got = select_adjacent(view, found, equal, equal, most, best=False)
        assert "".join(sorted(listed(memory, found, got))) == ref


def test_an_old_version_of_a_hit_stands_for_its_chunk(memory: Memory) -> None:
    fill(memory, list("abc"))
    tie(memory, "a>b", "blocks")
    old = memory.view().rows_of_ids(["a"])
    fill(memory, ["a"], texts=["another text of a"])
    view = memory.view()
    assert nodes.current_rows(view, old).tolist() == view.rows_of_ids(["a"]).tolist() != old.tolist()
    found = find_adjacent(view, old, ["blocks"])
    assert listed(memory, found) == "b"
    assert trace_step(view, found, 0).source == "a"


def test_removed_chunks_are_not_around(memory: Memory) -> None:
    fill(memory, list("abc"))
    tie(memory, "a>b a>c", "blocks")
    lifecycle._event(memory, "b", "remove", lambda *_: True)
    assert listed(memory, near(memory, ["a"], ["blocks"])) == "c"
    assert nodes.nodes_of_rows(memory.view(), memory.view().rows_of_ids(["a", "c"])).tolist() != [-1, -1]


def test_nothing_is_around_without_links(memory: Memory) -> None:
    fill(memory, list("ab"))
    found = near(memory, ["a", "b"], ["blocks"])
    assert (found.rows.size, found.hit_nodes.tolist()) == (0, [-1, -1])
    empty = np.empty(0)
    assert select_adjacent(memory.view(), found, empty, empty, 3, best=True).size == 0
