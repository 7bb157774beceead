"""Path and lines of chunks: those of the last ingest, whatever has moved since they were written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lamina
from lamina_engine import columns
from lamina_engine.redact.redactor import Redactor

NOTE = (
    "---\ntitle: Retry\n---\n\n# Retry\n\nBack off twice.\n\n## Limits\n\n"
    + "word " * 400
    + "\n\n## Last\n\nfive times\n"
)


def place(vault: lamina.Vault, words: str) -> tuple[str | None, int | None, int | None]:
    hit = vault.recall(words, k=1)[0]
    assert (hit.to_dict()["path"], hit.to_dict()["line"], hit.to_dict()["end_line"]) == (
        hit.path,
        hit.line,
        hit.end_line,
    )
    got = vault.get(hit.id)
    assert (got.path, got.line, got.end_line) == (hit.path, hit.line, hit.end_line)
    return hit.path, hit.line, hit.end_line


def test_a_hit_can_be_opened(tmp_path: Path) -> None:  # findings, stranger 4
    for name, text in (("x", "# One\n\nsame title apples\n"), ("y", "\n\n# Two\n\nsame title pears\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "n.md").write_text(text)
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.ingest([str(tmp_path / "x"), str(tmp_path / "y")])
        assert place(vault, "apples") == (f"{tmp_path}/x/n.md", 1, 3)
        assert place(vault, "pears") == (f"{tmp_path}/y/n.md", 3, 5)
        vault.add("plums, typed by hand", id="plums")
        assert place(vault, "plums") == (None, None, None)


def test_lines_are_those_of_the_file_as_it_is(tmp_path: Path) -> None:
    note = tmp_path / "n" / "a.md"
    note.parent.mkdir()
    note.write_text(NOTE)
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.ingest(str(note.parent))
        before = vault.recall("five times", k=1)[0]
        lines = NOTE.splitlines()
        assert before.text.strip().splitlines()[0] in lines[(before.line or 0) - 1]
        assert lines[(before.end_line or 0) - 1] == "five times"
        note.write_text("\n\n\n" + NOTE.removeprefix("---\ntitle: Retry\n---\n\n").replace("Back", "\n\nBack"))
        vault.ingest(str(note.parent))
        after = vault.recall("five times", k=1)[0]
        assert (after.id, after.row) == (before.id, before.row), "an unchanged chunk is not written anew"
        assert note.read_text().splitlines()[(after.end_line or 0) - 1] == "five times"
        note.parent.rename(tmp_path / "m")
        vault.ingest(str(tmp_path / "m"))
        assert vault.recall("five times", k=1)[0].path == f"{tmp_path}/m/a.md"


def test_a_past_recall_shows_the_lines_of_then(tmp_path: Path) -> None:
    note = tmp_path / "n" / "a.md"
    note.parent.mkdir()
    note.write_text("---\ntags: [a]\n---\n# A\n\nquince\n")
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.ingest(str(note))
        row = vault.recall("quince")[0].row
        vault.add("a later moment", id="later")
        then = vault.get("later").recorded_at
        note.write_text("---\ntags:\n- a\n---\n# A\n\nquince\n")
        vault.ingest(str(note))
        now, past = vault.recall("quince", k=1)[0], vault.recall("quince", k=1, as_of=then)[0]
        assert (now.row, now.line, past.row, past.line) == (row, 5, row, 4)


def test_rows_of_a_file_are_its_lines_and_many_chunks_are_placed_as_few(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text("\n".join(f'{{"text": "record number {i} alpha"}}' for i in range(60)) + "\n")
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.ingest(str(file))
        listed = vault.list()
        assert sorted(chunk.line or 0 for chunk in listed) == list(range(1, 61))
        for chunk in listed[:10]:
            assert chunk == vault.get(chunk.id)
            assert f"number {(chunk.line or 0) - 1} " in chunk.text


def test_masked_secrets_move_no_line(tmp_path: Path) -> None:
    note = tmp_path / "a.md"
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAx\n" * 6 + "-----END RSA PRIVATE KEY-----"
    note.write_text(f"# A\n\n{key}\n\n## B\n\n" + "filler " * 300 + "\n\n## C\n\nkumquat\n")
    with lamina.open(tmp_path / "v", create=True, redactor=Redactor("mask")) as vault:
        assert vault.ingest(str(note)).redactions == 1
        hit = vault.recall("kumquat", k=1)[0]
        assert note.read_text().splitlines()[(hit.end_line or 0) - 1] == "kumquat"


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_offsets_of_a_text(kind: pa.DataType) -> None:
    array = pa.array(["x", "ab", None, "", "ba", "ab", "é"], kind)
    assert columns.offsets_of(array, "ab").tolist() == [1, 5]
    assert columns.offsets_of(array.slice(2), "ab").tolist() == [3]
    assert columns.offsets_of(array, "").tolist() == [3]
    assert columns.offsets_of(array, "é").tolist() == [6]
    assert columns.offsets_of(array.slice(0, 0), "ab").tolist() == []
