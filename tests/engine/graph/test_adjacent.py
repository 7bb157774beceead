from __future__ import annotations

import numpy as np

from lamina_engine.chunks import lifecycle
from lamina_engine.graph import log
from lamina_engine.graph.adjacent import Adjacent, around, chosen, step_to
from lamina_engine.graph.log import Draft
from lamina_engine.index import nodes
from lamina_engine.memory import Memory
from tests.engine.graph.filling import fill, tie


def near(memory: Memory, names: list[str], relations: list[str]) -> Adjacent:
    view = memory.view()
    return around(view, view.rows_of_ids(names), relations)


def listed(memory: Memory, found: Adjacent, places: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None) -> str:
    rows = found.rows if places is None else found.rows[places]
    return "".join(memory.view().snapshot.values("chunks", "id", rows))


def test_what_lies_around_each_hit_and_the_link_to_it(memory: Memory) -> None:
    fill(memory, list("abcdef"))
    tie(memory, "a>b c>a", "blocks", 0.5)
    tie(memory, "b>a a>d", "related_to", 0.25)
    found = near(memory, ["a", "f", "b"], ["blocks", "related_to", "derived_from"])
    assert (sorted(listed(memory, found)), found.owners.tolist()) == (list("abcd"), [0, 0, 0, 2])
    steps = {listed(memory, found, np.array([i])): step_to(memory.view(), found, i) for i in range(3)}
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
        got = chosen(view, found, equal, equal, most, best=False)
        assert "".join(sorted(listed(memory, found, got))) == ref


def test_an_old_version_of_a_hit_stands_for_its_chunk(memory: Memory) -> None:
    fill(memory, list("abc"))
    tie(memory, "a>b", "blocks")
    old = memory.view().rows_of_ids(["a"])
    fill(memory, ["a"], texts=["another text of a"])
    view = memory.view()
    assert nodes.current_rows(view, old).tolist() == view.rows_of_ids(["a"]).tolist() != old.tolist()
    found = around(view, old, ["blocks"])
    assert listed(memory, found) == "b"
    assert step_to(view, found, 0).source == "a"


def test_removed_chunks_are_not_around(memory: Memory) -> None:
    fill(memory, list("abc"))
    tie(memory, "a>b a>c", "blocks")
    lifecycle._event(memory, "b", "remove", None, None, unless=lambda *_: False)
    assert listed(memory, near(memory, ["a"], ["blocks"])) == "c"
    assert nodes.nodes_of_rows(memory.view(), memory.view().rows_of_ids(["a", "c"])).tolist() != [-1, -1]


def test_nothing_is_around_without_links(memory: Memory) -> None:
    fill(memory, list("ab"))
    found = near(memory, ["a", "b"], ["blocks"])
    assert (found.rows.size, found.hit_nodes.tolist()) == (0, [-1, -1])
    empty = np.empty(0)
    assert chosen(memory.view(), found, empty, empty, 3, best=True).size == 0
