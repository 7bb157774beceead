from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.ingest import taskfile
from lamina_engine.ingest.taskfile import CorruptTasks, instant, read_task_file, seconds, write_task_file


def node(name: str, **given: Any) -> dict[str, Any]:
    return {"task_id": name, "title": f"Task {name}", "timestamp": 1.5e9, "success": True, "description": "", **given}


def edge(source: str, target: str, relation: str = "blocks", **given: Any) -> dict[str, Any]:
    ends = {"source_id": source, "target_id": target, "relationship": relation}
    return {**ends, "created_at": 1.5e9, "note": "", **given}


def document(*nodes: dict[str, Any], edges: Any = (), **top: Any) -> bytes:
    return json.dumps({"nodes": {n["task_id"]: n for n in nodes}, "edges": list(edges), "_meta": {}, **top}).encode()


def test_what_is_known_of_a_task() -> None:
    found = read_task_file(
        document(node("a", success=None, description="what\n[invalidated:s1] no\n[invalidated:] never"))
    ).nodes["a"]
    assert (found.title, found.success, found.description) == ("Task a", None, "what")
    assert found.marks == (("s1", "no"), ("", "never"))
    assert instant(found.timestamp) == 1_500_000_000_000_000
    assert found.extra == {}


@pytest.mark.parametrize(
    "text",
    ["what", "", "\n[invalidated:] gone", "a\n[invalidated:x] one\ntwo\n[invalidated:y] ", "[invalidated:x] at the start",
     "a\n[invalidated:x]no space", "a\n[invalidated:b]c] d", "a \n[invalidated:2026-01-01T00:00:00Z] because [it] was"],
)  # fmt: skip
def test_a_description_and_its_marks_give_it_again(text: str) -> None:
    found = read_task_file(document(node("a", description=text))).nodes["a"]
    assert taskfile.description(found.description, found.marks) == text


@given(st.text(alphabet="ab\n[]: invalidated", max_size=60))
def test_any_description_and_its_marks_give_it_again(text: str) -> None:
    found = read_task_file(document(node("a", description=f"x\n[invalidated:{text}"))).nodes["a"]
    assert taskfile.description(found.description, found.marks) == f"x\n[invalidated:{text}"


def test_unknown_fields_are_kept_byte_for_byte() -> None:
    odd = '{ "b" : 1.0,"a":[1e3, "\\u00e9"] }'
    text = (
        '{"nodes": {"a": {"task_id": "a", "title": "t", "timestamp": 1, "success": null, "description": "d", "odd": '
        + odd
        + '}}, "edges": [{"source_id": "a", "target_id": "gone", "relationship": "blocks", "w": '
        + odd
        + '}], "_meta": {"node_count": 67, "by": '
        + odd
        + '}, "beside": '
        + odd
        + "}"
    )
    found = read_task_file(text.encode())
    assert (found.nodes["a"].extra, found.top, found.meta) == ({"odd": odd}, {"beside": odd}, {"by": odd})
    written = write_task_file(found, 0).decode()
    assert written.count(odd) == 4
    assert json.loads(written)["_meta"] | {"by": 0} == {"saved_at": 0.0, "node_count": 1, "edge_count": 1, "by": 0}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"nodes": []}',
        b'{"edges": {}}',
        b"\xff",
        b'{"nodes": {"a": {}}',
        b'{"x": 01}',
        b'{"_meta": 3}',
    ],
)
def test_what_is_no_task_file_is_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptTasks):
        read_task_file(data)


@pytest.mark.parametrize(
    "bad",
    [{"success": "yes"}, {"title": 3}, {"description": []}, {"timestamp": "now"}, {"timestamp": True}, {"task_id": "b"},
     {"timestamp": 1e300}],
)  # fmt: skip
def test_a_bad_task_among_many_is_reported(bad: dict[str, Any]) -> None:
    nodes = {"a": node("a"), "x": node("x", **bad)}
    found = read_task_file(json.dumps({"nodes": nodes, "edges": [edge("x", "a")]}).encode())
    assert list(found.nodes) == ["a"]
    assert len(found.problems) == 2
    assert "'x'" in found.problems[0]
    assert "has a missing end" in found.problems[1]
    assert len(found.loose) == 1


def test_an_edge_that_is_none_is_kept_and_reported() -> None:
    found = read_task_file(document(node("a"), edges=[3, {"source_id": "a"}, edge("a", "gone")]))
    assert (len(found.loose), len(found.problems), found.edges) == (3, 3, [])


def test_an_empty_file_and_missing_parts() -> None:
    assert read_task_file(b"{}").nodes == {}
    assert json.loads(write_task_file(read_task_file(b"{}"), 1_500_000)) == {
        "nodes": {}, "edges": [], "_meta": {"saved_at": 1.5, "node_count": 0, "edge_count": 0},
    }  # fmt: skip


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.text(min_size=1).filter(lambda name: name not in taskfile.NODE_FIELDS), values, max_size=3),
    st.booleans(),
)
def test_read_and_written_is_the_same(extra: dict[str, Any], ascii_only: bool) -> None:
    given_ = {
        "nodes": {"a": {**extra, **node("a")}, "b": node("b", timestamp=1739612345.678901)},
        "edges": [{**extra, **edge("b", "a")}],
        "_meta": {"saved_at": 0.0, "node_count": 2, "edge_count": 1},
    }
    got = json.loads(
        write_task_file(read_task_file(json.dumps(given_, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")), 0)
    )
    assert got == given_


@given(st.integers(0, 4_000_000_000_000_000))
def test_instants_survive(us: int) -> None:
    assert instant(seconds(us)) == us
