"""Ids given as paths of sources, in every call that takes an id."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamina import AmbiguousId, ChunkNotFound, Vault
from tests.notes import prose, write


@pytest.fixture
def folder(lexical_vault: Vault, tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    write(root, "decisions/2026-02-15-database.md", "# Database\n\nWe chose PostgreSQL.\n")
    write(root, "decisions/2026-02-10-outage.md", "# Outage\n\nThe old one fell over.\n")
    write(root, "long.md", f"# Long\n\n## One\n\n{prose('one')}\n\n## Two\n\n{prose('two')}\n")
    lexical_vault.ingest(root)
    return root


def test_a_path_stands_for_the_chunk_of_its_source(lexical_vault: Vault, folder: Path) -> None:
    # findings, seeds-a 001 row 34
    vault, path = lexical_vault, "decisions/2026-02-15-database.md"
    (chunk,) = vault.list({"source": path})
    for spelling in (path, "2026-02-15-database.md", f"./{path}", (folder / path).as_posix(), f"{path}:3"):
        assert vault.get(spelling).id == chunk.id
    vault.link("decisions/2026-02-10-outage.md", path, "causal")
    assert [cause.direction for cause in vault.causes(path)] == ["caused_by"]
    assert len(vault.links(path)) == len(vault.neighbors(path)) == 1
    assert vault.invalidate(path, "moved on").id == chunk.id
    assert vault.get(path).status == "invalidated"
    assert vault.restore(path).status == "active"
    assert vault.history(path)


def test_several_chunks_are_named_with_their_lines(lexical_vault: Vault, folder: Path) -> None:
    chunks = lexical_vault.list({"source": "long.md"})
    assert len(chunks) > 1
    with pytest.raises(AmbiguousId, match=r"long\.md:.* give one of these ids") as error:
        lexical_vault.get("long.md")
    assert all(chunk.id in str(error.value) for chunk in chunks[:4])
    two = lexical_vault.get("long.md#two")
    assert "Two" in two.headings
    assert two.line is not None
    for place in (
        f":{two.end_line}",
        f":{two.line}:7",
        f":{two.line}-{two.end_line}",
        f"#L{two.line}",
        f"#L{two.line}-L99",
    ):
        assert lexical_vault.get(f"long.md{place}").id == two.id
    before = lexical_vault.get(f"long.md:{two.line - 1}")  # an empty line belongs to what is above it
    assert (before.end_line or 0) < two.line


def test_two_files_of_one_name_and_none(lexical_vault: Vault, folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "other", "2026-02-15-database.md", "# Database\n\nAnother one.\n")
    lexical_vault.ingest(tmp_path / "other")
    assert "Another" in lexical_vault.get("2026-02-15-database.md").text  # its whole path
    assert "chose" in lexical_vault.get("decisions/2026-02-15-database.md").text
    with pytest.raises(ChunkNotFound, match=r"nearest files are decisions/2026-02-15-database\.md"):
        lexical_vault.get("decisions/2026-02-16-database.md")
    with pytest.raises(ChunkNotFound, match=r"no chunk of long\.md holds line 9999; it has .* at long\.md:"):
        lexical_vault.get("long.md:9999")


def test_a_source_with_a_line_is_an_id_wherever_one_is_read(lexical_vault: Vault, folder: Path) -> None:
    # findings, seeds-b 002 row 14 and "Smaller"
    vault = lexical_vault
    cited = vault.add("The pool is made on line 12.", source="src/pool.py:12", type="implementation")[0]
    other = vault.add("It is closed elsewhere.", source="src/pool.py:40")[0]
    outage = vault.get("2026-02-10-outage.md:3").id
    assert vault.get("src/pool.py:12").id == vault["src/pool.py:12"].id == cited
    assert [chunk.id for chunk in vault.get_many(["src/pool.py:40", cited[:8]])] == [other, cited]
    assert vault.link("src/pool.py:12", "decisions/2026-02-10-outage.md:3", "causal").target == outage
    assert [cause.id for cause in vault.causes("src/pool.py:12")] == [outage]
    assert {near.id for near in vault.traverse(anchors=["src/pool.py:12"])} == {cited, outage}
    assert vault.chain(["2026-02-10-outage.md:3"]) is not None
    hits = vault.recall(
        "pool", candidates=[("src/pool.py:12", 0.1), ("2026-02-10-outage.md:3", 0.2), ("no/such.py:1", 0.3)]
    )
    assert [hit.id for hit in hits] == [cited, outage]
    assert hits.unknown == ("no/such.py:1",)
    vault.archive(["src/pool.py:40"], dry_run=False)
    assert vault.restore("src/pool.py:40").status == "active"
    assert vault.forget(["src/pool.py:12"], dry_run=False).chunks == 1
