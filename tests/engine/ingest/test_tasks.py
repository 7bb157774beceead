from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lamina import FixedClock, IngestError, InvalidArgument, Vault
from lamina_engine.clock import parse_instant
from lamina_engine.ingest.tasks import TasksReport, import_tasks
from tests.engine.ingest.test_taskfile import edge, node

NOW = parse_instant("2026-03-01T12:00:00Z") / 1e6


def put(path: Path, *nodes: dict[str, Any], edges: Any = (), **top: Any) -> Path:
    content = {"nodes": {n["task_id"]: n for n in nodes}, "edges": list(edges), **top}
    content["_meta"] = {"saved_at": NOW, "node_count": len(nodes), "edge_count": len(content["edges"])} | top.get(
        "_meta", {}
    )
    path.write_text(json.dumps(content, indent=2))
    return path


def take(vault: Vault, path: Path, **options: Any) -> TasksReport:
    return import_tasks(vault._memory, path, **options)


def exported(vault: Vault, path: Path) -> dict[str, Any]:
    vault.export(path, "clawpy")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "graph.json"


def sample() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    nodes = [
        node("t1", title="Audit", description="found three things", timestamp=NOW - 5 * 86_400, success=None),
        node(
            "t2",
            title="Fix auth",
            description="line one\r\nline two  ",
            priority=3,
            labels=["x", 1.0],
            timestamp=NOW - 86_400,
        ),
        node("t3", title="Deploy", description="", success=False, timestamp=1739612345.678901),
        node("t4", title="", description="", timestamp=None),
    ]
    edges = [
        edge("t2", "t1", "derived_from", note="split off", created_at=NOW - 3_600),
        edge("t2", "t3", created_at=NOW - 60),
        edge("t3", "t4", "similar_to", created_at=NOW - 30, score=0.91),
        edge("t1", "t3", "related_to", created_at=NOW),
    ]
    return nodes, edges


def test_tasks_become_chunks_and_edges_links(lexical_vault: Vault, path: Path) -> None:
    nodes, edges = sample()
    report = take(lexical_vault, put(path, *nodes, edges=edges))
    assert (report.added, report.updated, report.links.added, report.problems) == (4, 0, 4, [])
    fixed = lexical_vault.get("t2")
    assert (fixed.title, fixed.type, fixed.success) == ("Fix auth", "agent_task", True)
    assert fixed.created_at_us == (NOW - 86_400) * 1e6
    assert (fixed.metadata["priority"], fixed.metadata["labels"]) == (3, ["x", 1.0])
    assert lexical_vault.get("t3").success is False
    assert lexical_vault.get("t1").success is None
    assert (lexical_vault.get("t3").text, lexical_vault.get("t4").text) == ("Deploy", "t4")
    (link,) = lexical_vault.links("t1", relations=["derived_from"])
    assert (link.source, link.target, link.note, link.origin) == ("t2", "t1", "split off", "clawpy")
    assert [hit.id for hit in lexical_vault.recall("auth", where={"metadata.priority": 3})] == ["t2"]


def test_a_second_import_adds_nothing(lexical_vault: Vault, path: Path) -> None:
    nodes, edges = sample()
    put(path, *nodes, edges=edges, beside={"a": 1})
    take(lexical_vault, path)
    before = lexical_vault._memory.view().snapshot.version
    report = take(lexical_vault, path)
    assert (report.added, report.updated, report.unchanged) == (0, 0, 4)
    assert (report.links.added, report.links.updated, report.links.unchanged) == (0, 0, 4)
    assert lexical_vault._memory.view().snapshot.version == before


def test_load_export_load_is_equal(lexical_vault: Vault, path: Path, tmp_path: Path) -> None:
    nodes, edges = sample()
    edges.append(edge("t1", "gone", note="dangling", odd=[1]))
    edges.append(
        {"source_id": "t1", "target_id": "t2", "relationship": "invented", "created_at": 1.0, "note": "", "z": 1}
    )
    put(path, *nodes, edges=edges, beside={"a": 1.0}, _meta={"by": "clawpy 2"})
    report = take(lexical_vault, path)
    assert [problem.code for problem in report.problems] == ["record", "record"]
    ref = json.loads(path.read_text())
    got = exported(lexical_vault, tmp_path / "out.json")
    assert got["nodes"] == ref["nodes"]
    key = lambda e: json.dumps(e, sort_keys=True)  # noqa: E731
    assert sorted(got["edges"], key=key) == sorted(ref["edges"], key=key)
    assert {k: v for k, v in got.items() if k not in ("nodes", "edges")} == {
        k: v for k, v in ref.items() if k not in ("nodes", "edges")
    }
    again = exported(lexical_vault, tmp_path / "again.json")
    assert again == got
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "out.json").read_bytes()
    report = take(lexical_vault, tmp_path / "out.json")
    assert (report.added, report.updated, report.links.added, report.links.updated) == (0, 0, 0, 0)


def test_unknown_fields_keep_their_bytes(lexical_vault: Vault, path: Path, tmp_path: Path) -> None:
    odd = '{ "b" : 1.0,"a":[1e3, "\\u00e9"] }'
    put(path, node("t1", odd="HERE"))
    path.write_text(path.read_text().replace('"HERE"', odd))
    take(lexical_vault, path)
    exported(lexical_vault, tmp_path / "out.json")
    assert odd in (tmp_path / "out.json").read_text()
    lexical_vault.update("t1", metadata={**lexical_vault.get("t1").metadata, "odd": 7})
    assert exported(lexical_vault, tmp_path / "out.json")["nodes"]["t1"]["odd"] == 7


def test_a_later_state_updates_what_changed(lexical_vault: Vault, path: Path) -> None:
    nodes, edges = sample()
    take(lexical_vault, put(path, *nodes, edges=edges))
    nodes[0] = {**nodes[0], "success": True, "description": "done"}
    report = take(lexical_vault, put(path, *nodes, node("t5"), edges=[edges[0], edges[2], edge("t5", "t1")]))
    assert (report.added, report.updated, report.unchanged) == (1, 1, 3)
    assert (report.links.added, report.links.withdrawn, report.links.unchanged) == (1, 2, 2)
    assert lexical_vault.get("t1").success is True
    assert [link.relation for link in lexical_vault.links("t3")] == ["similar_to"]


def test_two_files_leave_each_other_s_links_alone(lexical_vault: Vault, path: Path, tmp_path: Path) -> None:
    take(lexical_vault, put(path, node("a"), node("b"), edges=[edge("a", "b")]))
    take(lexical_vault, put(tmp_path / "other.json", node("c"), node("d"), edges=[edge("c", "d")]))
    assert len(lexical_vault.links("a")) == len(lexical_vault.links("c")) == 1


# ---------------------------------------------------------------------- edges


def test_edges_are_one_for_each_relation_and_pair(lexical_vault: Vault, path: Path) -> None:
    """Duplicate: one; another relation: two; mirrored symmetric: one; of a task to itself: none."""
    edges = [
        edge("a", "b", created_at=20.0), edge("a", "b", created_at=10.0), edge("a", "b", "related_to", created_at=30.0),
        edge("b", "a", "related_to", created_at=5.0, note="first"), edge("a", "a"),
    ]  # fmt: skip
    report = take(lexical_vault, put(path, node("a"), node("b"), edges=edges))
    assert report.links.added == 2
    assert [problem.message for problem in report.problems if "itself" in problem.message]
    links = {link.relation: link for link in lexical_vault.links("a")}
    assert (links["blocks"].to_dict()["created_at"], links["related_to"].to_dict()["created_at"]) == (
        "1970-01-01T00:00:10Z",
        "1970-01-01T00:00:05Z",
    )
    assert (links["related_to"].source, links["related_to"].note) == ("a", "first")


def test_a_task_that_left_the_file_is_withdrawn_and_comes_back(
    lexical_vault: Vault, path: Path, tmp_path: Path
) -> None:
    # findings, seeds-a table 1 row 34
    take(lexical_vault, put(path, node("a"), node("b"), edges=[edge("a", "b")]))
    other = tmp_path / "other.json"
    take(lexical_vault, put(other, node("c"), node("d")))
    lexical_vault.add("not of a file", id="e", type="agent_task")
    assert take(lexical_vault, put(path, node("a"))).removed == 1
    assert {chunk.id for chunk in lexical_vault.list()} == {"a", "c", "d", "e"}
    assert take(lexical_vault, put(other, node("a"), node("c"))).removed == 1
    assert take(lexical_vault, put(path, node("b"))).removed == 0, "the other file lists a"
    assert {chunk.id for chunk in lexical_vault.list()} == {"a", "b", "c", "e"}
    assert exported(lexical_vault, tmp_path / "out.json")["nodes"].keys() == {"a", "b", "c", "e"}


# ---------------------------------------------------------------------- invalidation


def test_soft_invalidation_appends_its_mark_and_resets_the_outcome(
    lexical_vault: Vault, path: Path, tmp_path: Path
) -> None:
    nodes, edges = sample()
    take(lexical_vault, put(path, *nodes, edges=edges))
    lexical_vault.invalidate("t2", "reversed", "2026-02-15")
    lexical_vault.invalidate("t1", "wrong")
    got = exported(lexical_vault, tmp_path / "out.json")
    assert got["nodes"]["t2"] == {
        **nodes[1], "success": None, "description": f"{nodes[1]['description']}\n[invalidated:2026-02-15] reversed",
    }  # fmt: skip
    assert got["nodes"]["t1"]["description"] == "found three things\n[invalidated:] wrong"
    assert len(got["edges"]) == 4
    assert lexical_vault.get("t2").text == "line one\nline two  "
    report = take(lexical_vault, tmp_path / "out.json")
    assert (report.updated, report.invalidated, report.unchanged) == (0, 0, 4)
    assert lexical_vault.get("t2").success is None
    assert lexical_vault.restore("t2").success is True  # the vault keeps what it was


def test_marks_of_a_file_become_events(lexical_vault: Vault, path: Path, tmp_path: Path) -> None:
    marked = node("a", success=None, description="what\n[invalidated:s1] no\n[invalidated:] never")
    report = take(lexical_vault, put(path, marked))
    assert report.invalidated == 1
    chunk = lexical_vault.get("a")
    assert (chunk.status, chunk.text, chunk.success) == ("invalidated", "what", None)
    assert [event.reason for event in lexical_vault.history("a")[1:]] == ["no", "never"]
    assert exported(lexical_vault, tmp_path / "out.json")["nodes"]["a"] == marked
    assert take(lexical_vault, path).invalidated == 0
    assert len(lexical_vault.history("a")) == 3


def test_a_mark_more_is_an_event_more_and_a_new_text_stays_invalidated(
    lexical_vault: Vault, path: Path, tmp_path: Path
) -> None:
    one = "\n[invalidated:s1] no"
    take(lexical_vault, put(path, node("a", success=None, description=f"what{one}")))
    later = node("a", success=None, description=f"what{one}\n[invalidated:s2] still no")
    assert take(lexical_vault, put(path, later)).invalidated == 1
    assert exported(lexical_vault, tmp_path / "out.json")["nodes"]["a"] == later
    other = {**later, "description": later["description"].replace("what", "which")}
    assert take(lexical_vault, put(path, other)).updated == 1
    assert lexical_vault.get("a").status == "invalidated"
    assert exported(lexical_vault, tmp_path / "out.json")["nodes"]["a"] == other
    renamed = {**other, "title": "Another name"}
    take(lexical_vault, put(path, renamed))
    assert exported(lexical_vault, tmp_path / "out.json")["nodes"]["a"] == renamed


def test_what_was_restored_stays_restored(lexical_vault: Vault, path: Path, tmp_path: Path) -> None:
    take(lexical_vault, put(path, node("a", success=None, description="what\n[invalidated:s1] no")))
    lexical_vault.restore("a")
    assert exported(lexical_vault, tmp_path / "out.json")["nodes"]["a"]["description"] == "what"
    assert take(lexical_vault, path).invalidated == 0
    assert lexical_vault.get("a").status == "active"


# ---------------------------------------------------------------------- files


def test_a_corrupt_file_is_an_error_and_stays(lexical_vault: Vault, path: Path) -> None:  # findings, seeds-a gap 5
    path.write_text('{"nodes": {')
    with pytest.raises(IngestError, match="left as it is"):
        take(lexical_vault, path)
    assert [p.name for p in path.parent.glob("graph*")] == ["graph.json"]
    assert lexical_vault.list() == []


def test_a_corrupt_file_is_recovered_from_when_asked(lexical_vault: Vault, path: Path) -> None:
    path.write_text("nonsense")
    report = take(lexical_vault, path, recover=True)
    assert report.aside == f"{path}.corrupt-1"
    assert [problem.code for problem in report.problems] == ["corrupt"]
    assert Path(report.aside).read_text() == "nonsense"  # pyright: ignore[reportArgumentType]


def test_files_that_are_not_there(lexical_vault: Vault, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="cannot be read"):
        take(lexical_vault, tmp_path / "nothing.json")
    with pytest.raises(IngestError, match="cannot be read"):
        take(lexical_vault, tmp_path)


def test_secrets_are_masked_wherever_they_stand(lexical_vault: Vault, path: Path, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    nodes = [
        node("a", description=f"use {token}\n[invalidated:{token}] {token}", x=f"{token} "),
        node("b", title=token),
    ]
    put(path, *nodes, edges=[edge("a", "b", note=token), edge("a", "gone", note=token)], top=token, _meta={"y": token})
    take(lexical_vault, path)
    exported(lexical_vault, tmp_path / "out.json")
    assert token not in (tmp_path / "out.json").read_text()
    for file in (lexical_vault.path / "log").rglob("*.arrow"):
        assert token.encode() not in file.read_bytes()
    assert take(lexical_vault, path).invalidated == 0


def test_tasks_of_the_vault_itself_are_exported_and_nothing_else(lexical_vault: Vault, tmp_path: Path) -> None:
    lexical_vault.add(
        "Fix it", id="a", type="agent_task", title="Fix", success=True, created_at="2026-02-01", metadata={"p": 1}
    )
    lexical_vault.add("Then that", id="b", type="agent_task", created_at="2026-02-02")
    lexical_vault.add("no task", id="c", created_at="2026-02-02")
    lexical_vault.link("a", "b", "blocks", note="first this", created_at="2026-02-03")
    lexical_vault.link("a", "c", "blocks")
    lexical_vault.link("a", "b", "causal")
    out = tmp_path / "out.json"
    out.write_text("old")
    out.chmod(0o640)
    assert lexical_vault.export(out, "clawpy") == 2
    got = json.loads(out.read_text())
    assert got["nodes"]["a"] == {
        "task_id": "a", "title": "Fix", "timestamp": 1769904000.0, "success": True, "description": "Fix it", "p": 1,
    }  # fmt: skip
    assert got["edges"] == [edge("a", "b", note="first this", created_at=1770076800.0)]
    assert got["_meta"] == {"saved_at": NOW, "node_count": 2, "edge_count": 1}
    assert out.stat().st_mode & 0o777 == 0o640
    assert lexical_vault.export(out, "clawpy", where={"id": "a"}) == 1
    assert json.loads(out.read_text())["edges"] == []
    with pytest.raises(InvalidArgument, match="jsonl, parquet, clawpy"):
        lexical_vault.export(out, "yaml")  # type: ignore[arg-type]


def test_a_failed_write_leaves_the_old_file(
    lexical_vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    out = tmp_path / "out.json"
    out.write_text("old")

    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space"):
        lexical_vault.export(out, "clawpy")
    assert out.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir() if "tmp" in p.name] == []


def test_a_vault_with_tasks_is_whole(lexical_vault: Vault, path: Path, clock: FixedClock) -> None:
    nodes, edges = sample()
    take(lexical_vault, put(path, *nodes, edges=[*edges, edge("t1", "gone")]))
    assert lexical_vault.verify(deep=True).ok
    lexical_vault.forget(ids=["t2"], dry_run=False)
    assert lexical_vault.verify(deep=True).ok


def test_import_reads_a_task_file_and_leaves_a_damaged_one_alone(lexical_vault: Vault, path: Path) -> None:
    nodes, edges = sample()
    assert lexical_vault.import_(put(path, *nodes, edges=edges)) == ["t1", "t2", "t3", "t4"]
    assert len(lexical_vault.links("t3")) == 3
    path.write_text('{"nodes": {')
    with pytest.raises(InvalidArgument, match="not a record of an export"):
        lexical_vault.import_(path)
    assert path.exists()


def test_ingest_recovers_from_a_corrupt_file_when_asked(lexical_vault: Vault, path: Path) -> None:
    path.write_text("{")
    report = lexical_vault.ingest(path, kind="tasks", recover=True)
    assert (report.skipped, [problem.code for problem in report.problems]) == (1, ["corrupt"])
    assert path.with_name("graph.json.corrupt-1").read_text() == "{"
    path.write_text("{")
    lexical_vault.ingest(path, kind="tasks", recover=True)
    assert path.with_name("graph.json.corrupt-2").read_text() == "{"


@pytest.mark.parametrize("kind", ["auto", "beads", "markdown"])
def test_only_task_files_are_recovered_from(kind: Any, lexical_vault: Vault, path: Path) -> None:
    path.write_text("{}")
    with pytest.raises(InvalidArgument, match="recover=True is for kind='tasks'"):
        lexical_vault.ingest(path, kind=kind, recover=True)
