from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock
from lamina_engine.chunks.reading import chunks_at
from lamina_engine.errors import IngestError
from lamina_engine.graph.links import claims_of
from lamina_engine.graph.log import LinkCounts
from lamina_engine.ingest.beads import import_beads
from lamina_engine.memory import Memory
from lamina_engine.results import Link

CAUSAL = {"blocks", "conditional-blocks", "waits-for", "caused-by"}
SUPPORTING = {"discovered-from", "supersedes", "duplicates"}


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Memory]:
    opened = Memory(tmp_path / "vault", create=True, clock=clock, embedder="none")
    yield opened
    opened.close()


def issue(name: str, *dependencies: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {
        "id": name, "title": f"Title of {name}", "status": "open", "issue_type": "bug",
        "created_at": "2025-12-16T18:17:18.169927-08:00", "updated_at": "2025-12-16T18:17:18.169927-08:00",
        "dependencies": [
            {"issue_id": name, "depends_on_id": to, "type": kind, "created_at": "2025-12-17T00:00:00Z"}
            for to, kind in dependencies
        ],
    } | more  # fmt: skip


def export(folder: Path, *issues: dict[str, Any] | str) -> Path:
    path = folder / "issues.jsonl"
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in issues))
    return path


def links(memory: Memory) -> list[Link]:
    return claims_of(memory.view(), "beads")


def test_the_whole_export(data: Path, memory: Memory) -> None:
    path = data / "beads" / "issues.jsonl.gz"
    records = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    alive = {record["id"] for record in records if record["status"] != "tombstone"}
    ref: Counter[str] = Counter()
    pairs = set()
    for record in records:
        for dependency in record.get("dependencies") or []:
            ends = (dependency["depends_on_id"], record["id"])
            if record["id"] not in alive or ends[0] not in alive or ends[0] == ends[1]:
                continue
            kind = dependency["type"]
            relation = "causal" if kind in CAUSAL else "supporting" if kind in SUPPORTING else "semantic"
            key = (relation, *(sorted(ends) if relation == "semantic" else ends))
            if key not in pairs:
                pairs.add(key)
                ref[relation] += 1
    report = import_beads(memory, path)
    assert (report.added, report.deleted) == (len(alive), len(records) - len(alive))
    assert Counter(link.relation for link in links(memory)) == ref
    assert report.links == LinkCounts(added=sum(ref.values()))
    again = import_beads(memory, path)
    assert (again.added, again.updated, again.links) == (0, 0, LinkCounts(unchanged=sum(ref.values())))


def test_directions_and_texts(tmp_path: Path, memory: Memory) -> None:
    path = export(
        tmp_path,
        issue(
            "bd-1",
            ("bd-2", "blocks"),
            ("bd-3", "discovered-from"),
            ("bd-1", "blocks"),
            description="Body.",
            labels=["x"],
        ),
        issue("bd-2", ("bd-3", "tracks"), status="closed", close_reason="Done."),
        issue("bd-3", priority=1),
    )
    report = import_beads(memory, path)
    assert {(link.source, link.target, link.relation, link.note) for link in links(memory)} == {
        ("bd-2", "bd-1", "causal", "blocks"), ("bd-1", "bd-3", "supporting", "discovered-from"),
        ("bd-2", "bd-3", "semantic", "tracks"),
    }  # fmt: skip
    assert report.problems == []
    view = memory.view()
    first, second, third = chunks_at(view, view.rows_of_ids(["bd-1", "bd-2", "bd-3"]))
    assert (first.text, first.title, first.type, first.collection, first.tags) == (
        "Body.", "Title of bd-1", "bug", "beads", ("x",),
    )  # fmt: skip
    assert (second.text, second.success, third.success) == ("Done.", True, None)
    assert third.metadata["priority"] == 1


def test_a_later_state_updates_what_changed(tmp_path: Path, memory: Memory) -> None:
    import_beads(memory, export(tmp_path, issue("bd-1", ("bd-2", "blocks")), issue("bd-2"), issue("bd-3")))
    later = export(
        tmp_path, issue("bd-1", ("bd-3", "blocks"), status="closed"), issue("bd-2", status="tombstone"), issue("bd-3")
    )
    report = import_beads(memory, later)
    assert (report.added, report.updated, report.unchanged, report.deleted) == (0, 1, 1, 1)
    assert report.links == LinkCounts(added=1, withdrawn=1)
    assert [(link.source, link.target) for link in links(memory)] == [("bd-3", "bd-1")]
    view = memory.view()
    assert [chunk.status for chunk in chunks_at(view, view.rows_of_ids(["bd-1", "bd-2"]))] == ["active", "removed"]
    import_beads(memory, export(tmp_path, issue("bd-2")))
    view = memory.view()
    assert chunks_at(view, view.rows_of_ids(["bd-2"]))[0].status == "active"


def test_broken_lines_are_reported_and_the_rest_is_imported(tmp_path: Path, memory: Memory) -> None:
    path = export(
        tmp_path, "{", "[]", '{"id": "bd-8"}', "", json.dumps(issue("bd-9") | {"created_at": "yesterday"}),
        json.dumps(issue("bd-9") | {"dependencies": 5}), issue("bd-1", ("bd-7", "blocks")),
        json.dumps(issue("bd-2") | {"dependencies": [1e308, {"depends_on_id": ["bd-1"], "type": "blocks"}]}),
        json.dumps(issue("bd-3") | {"dependencies": [
            {"depends_on_id": "bd-1", "type": "blocks", "created_at": "yesterday"},
        ]}),
    )  # fmt: skip
    report = import_beads(memory, path)
    assert report.added == 3
    assert [problem.code for problem in report.problems] == ["record"] * 5 + ["dependency"] * 3
    assert "line 1" in report.problems[0].message
    assert "bd-7" in report.problems[5].message
    assert report.links.added == 1


def test_a_file_that_cannot_be_read(tmp_path: Path, memory: Memory) -> None:
    with pytest.raises(IngestError):
        import_beads(memory, tmp_path / "none.jsonl")
    (tmp_path / "issues.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(IngestError):
        import_beads(memory, tmp_path / "issues.jsonl.gz")


def test_secrets_are_masked(tmp_path: Path, memory: Memory) -> None:
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    import_beads(memory, export(tmp_path, issue("bd-1", description=f"token {secret}", assignee=secret)))
    (chunk,) = chunks_at(memory.view(), memory.view().rows_of_ids(["bd-1"]))
    assert secret not in chunk.text + str(chunk.metadata)


def test_an_export_is_a_kind_of_ingest_and_its_links_are_its_own(tmp_path: Path) -> None:
    path = tmp_path / "issues.jsonl"
    lines = [
        '{"id": "b-1", "title": "Move to Postgres", "issue_type": "task", "created_at": "2026-01-05T10:00:00Z"}',
        '{"id": "b-2", "title": "Drop SQLite", "issue_type": "task", "created_at": "2026-01-06T10:00:00Z",'
        ' "dependencies": [{"issue_id": "b-2", "depends_on_id": "b-1", "type": "blocks"}]}',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    with lamina.open(tmp_path / "vault", create=True, embedder="none") as vault:
        report = vault.ingest(path, kind="beads")
        assert (report.added, report.links, report.problems) == (2, 1, [])
        assert vault.stats()["links"] == 1
        again = vault.ingest(path, kind="beads")
        assert (again.added, again.unchanged, again.links) == (0, 2, 0)
