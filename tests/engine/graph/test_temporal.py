from __future__ import annotations

from lamina_engine.chunks import lifecycle
from lamina_engine.graph import temporal
from lamina_engine.graph.log import Written
from lamina_engine.memory import Memory
from tests.engine.graph.filling import claimed, fill


def line(memory: Memory) -> str:
    return " ".join(f"{source}{target}" for source, target, _ in sorted(claimed(memory, "temporal")))


def test_n_documents_make_n_minus_one_links_and_a_second_run_none(memory: Memory) -> None:
    assert temporal.build(memory) == Written()
    fill(memory, list("dcba"))
    assert temporal.build(memory) == Written(added=3)
    assert line(memory) == "ba cb dc"
    assert temporal.build(memory) == Written(unchanged=3)


def test_equal_moments_go_by_id_and_the_undated_are_left_out(memory: Memory) -> None:
    fill(memory, list("cbax"), created_at=[5, 5, 5, None], fallback_created_at=[None] * 4)
    temporal.build(memory)
    assert line(memory) == "ab bc"


def test_the_neighbours_of_a_removed_document_are_joined(memory: Memory) -> None:
    fill(memory, list("abc"))
    temporal.build(memory)
    lifecycle._event(memory, "b", "remove", None, None, unless=lambda *_: False)
    assert temporal.build(memory) == Written(added=1, withdrawn=2)
    assert line(memory) == "ac"
    lifecycle.restore(memory, "b")
    assert temporal.build(memory) == Written(added=2, withdrawn=1)


def test_chunks_of_one_file_stand_on_it_through_one_of_them(memory: Memory) -> None:
    fill(memory, list("abcde"), sources=["f", "f", None, "g", "f"], ordinals=[1, 0, -1, 0, 2])
    temporal.build(memory)
    assert line(memory) == "bc cd"
    lifecycle._event(memory, "b", "remove", None, None, unless=lambda *_: False)
    temporal.build(memory)
    assert line(memory) == "ac cd"


def test_records_of_a_table_are_documents_each(memory: Memory) -> None:
    fill(memory, list("ab"), sources=["t.csv", "t.csv"])
    temporal.build(memory)
    assert line(memory) == "ab"
