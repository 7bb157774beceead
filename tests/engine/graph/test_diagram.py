"""Links as nodes and edges: whole, around a chunk, cut, and at an earlier moment."""

from __future__ import annotations

from pathlib import Path

import pytest

import lamina
from lamina.vault import vault_at


def test_linked_chunks_are_nodes_and_links_edges(tmp_path: Path) -> None:
    with lamina.open(
        tmp_path / "v", create=True, embedder="none", clock=lamina.FixedClock("2026-01-01T00:00:00Z")
    ) as vault:
        vault.add(
            [{"id": f"c{i}", "text": f"text {i}", "title": f"T{i}", "created_at": "2025-05-01"} for i in range(8)]
        )
        assert vault.links.graph()["nodes"] == []
        for source, target in (("c0", "c1"), ("c1", "c2"), ("c1", "c3"), ("c3", "c4"), ("c5", "c6")):
            vault.link(source, target, "causal")
    with lamina.open(tmp_path / "v", clock=lamina.FixedClock("2026-02-01T00:00:00Z")) as vault:
        vault.link("c6", "c0", "supporting")
        vault.forget(["c5"], dry_run=False)
        whole = vault.links.graph()
        assert [node["id"] for node in whole["nodes"]] == ["c0", "c1", "c2", "c3", "c4", "c6"]  # type: ignore[attr-defined]
        assert {"source": "c6", "target": "c0", "predicate": "supporting"} in whole["edges"]  # type: ignore[operator]
        assert whole["stats"] == {"chunks": 6, "links": 5}
        assert whole["facts"]["c0"][0] == {"key": "written", "value": "2025-05-01"}  # type: ignore[index]
        near = vault.links.graph("c2", hops=1)
        assert [node["id"] for node in near["nodes"]] == ["c1", "c2"]  # type: ignore[attr-defined]
        assert (near["center"], near["left_out"]) == ("c2", 4)
        cut = vault.links.graph(limit=4)
        assert cut["center"] == "c1"
        assert len(cut["nodes"]) == 4  # type: ignore[arg-type]
        alone = vault.links.graph("c7")
        assert [node["id"] for node in alone["nodes"]] == ["c7"]  # type: ignore[attr-defined]
        then = vault_at(vault, "2026-01-15").links.graph()
        assert "supporting" not in {edge["predicate"] for edge in then["edges"]}  # type: ignore[attr-defined]
        with pytest.raises(lamina.ChunkNotFound):
            vault.links.graph("nobody")
        with pytest.raises(lamina.InvalidArgument):
            vault.links.graph(limit=0)
