from __future__ import annotations

import json
from pathlib import Path

import pytest

from lamina import FixedClock
from lamina_engine.clock import parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.facts.book import book_at
from lamina_engine.facts.entities import Named, ensure, merge
from lamina_engine.facts.exporting import export_facts, export_graph, import_facts, is_fact_file
from lamina_engine.facts.log import Draft, amend_confidence, close, retract, write
from lamina_engine.facts.predicates import declare
from lamina_engine.memory import Memory
from lamina_engine.transfer import export, import_


@pytest.fixture
def filled(memory: Memory) -> Memory:
    declare(memory, "mentors", inverse="mentored_by", object="entity", functional=True)
    ensure(memory, [Named("Keystone", "project", ["KS"]), Named("Mercury", "person"), Named("Mercury", "project")])
    written = write(memory, [
        Draft("Keystone", "port", "3055", source="keystone.md"), Draft("Ann", "mentors", "Bob", weight=0.25, source="USER.md"),
        Draft("Keystone", "port", "4100", valid_from=parse_instant("2026-02-01")), Draft("Ann", "phone", "1"),
        Draft("vault:person:mercury", "uses", "Keystone", confidence=0.5), Draft("Ann", "phone", "2"), Draft("Ann", "phone", "3"),
    ])  # fmt: skip
    write(memory, [Draft("Anna", "phone", "9")], origin="seed")
    merge(memory, "Anna", "Ann")
    amend_confidence(memory, {written.rows[3]: 0.5})
    retract(memory, written.rows[6:])
    close(memory, "Ann", "phone", "2")
    return memory


def test_out_in_and_out_again_gives_the_same_bytes(filled: Memory, tmp_path: Path, clock: FixedClock) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert export_facts(filled, first) == 7
    other = Memory(tmp_path / "other", create=True, clock=clock, embedder="none")
    assert import_facts(other, first) == 7
    export_facts(other, second)
    assert second.read_bytes() == first.read_bytes()
    assert import_facts(other, first) == 0
    book, there = book_at(filled), book_at(other)
    for name in ("Keystone", "Ann", "Bob", "vault:person:mercury"):
        mine, its = book.resolve(name).entity, there.resolve(name).entity
        assert mine is not None
        assert its is not None
        for when in (None, filled.clock.now_us(), parse_instant("2026-01-01")):
            ours = [(f.key, f.value, f.source, f.weight, f.confidence) for f in book.about(mine.row, valid_at=when)]
            assert [
                (f.key, f.value, f.source, f.weight, f.confidence) for f in there.about(its.row, valid_at=when)
            ] == ours
    other.close()


def test_the_graph_has_both_ends_of_every_edge_and_counts_that_fit(filled: Memory, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    assert export(filled, path, "graph-json", None) == 5
    graph = json.loads(path.read_text())
    assert list(graph) == ["nodes", "edges", "facts", "stats"]
    ids = [node["id"] for node in graph["nodes"]]
    assert ids == sorted(ids)
    assert {"Keystone", "vault:person:mercury", "vault:project:mercury", "Ann", "Bob"} == set(ids)
    assert all(edge["source"] in ids and edge["target"] in ids for edge in graph["edges"])
    assert graph["facts"]["Keystone"] == [{"key": "port", "value": "4100"}]
    assert graph["facts"]["Ann"] == [{"key": "phone", "value": "1"}, {"key": "phone", "value": "9"}]
    assert graph["stats"] == {"entities": 5, "relations": 2, "facts": 3, "aliases": 2}
    again = tmp_path / "again.json"
    export_graph(filled, again)
    assert again.read_bytes() == path.read_bytes()
    assert path.read_text().startswith('{\n  "nodes": [\n    {\n      "id"')


def test_transfer_takes_facts_too(filled: Memory, tmp_path: Path, clock: FixedClock) -> None:
    path = tmp_path / "facts.jsonl"
    assert export(filled, path, "facts", None) == 7
    assert is_fact_file(path)
    other = Memory(tmp_path / "other", create=True, clock=clock, embedder="none")
    assert import_(other, path) == []
    assert len(book_at(other).find()) == 7
    with pytest.raises(InvalidArgument, match="chooses chunks"):
        export(filled, path, "facts", {"type": "note"})
    other.close()


def test_lines_that_are_none_write_nothing(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"record":"entity","name":"a","type":"b"}\n{"record":"fact","subject":"a"}\n')
    with pytest.raises(InvalidArgument, match=":2"):
        import_facts(memory, path)
    assert book_at(memory).entities == 0
    assert not is_fact_file(tmp_path / "nowhere")
    path.write_text("[]\n")
    assert not is_fact_file(path)
