"""Walks of folders: rules, links, limits, and files that are swapped."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.ingest.walk import (
    BINARY_SUFFIXES,
    KINDS,
    FileEntry,
    WalkReport,
    is_vault,
    read_entry,
    walk,
)


def put(root: Path, *paths: str) -> None:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"content of {path}\n", encoding="utf-8")


def paths(root: Path, **options: object) -> list[str]:
    return [entry.path for entry in walk(root, **options)]  # type: ignore[arg-type]


def codes(report: WalkReport) -> list[tuple[str, str]]:
    return [(problem.source, problem.code) for problem in report.problems]


def test_sorted_by_path_with_stat_facts(tmp_path: Path) -> None:
    put(tmp_path, "b.md", "a/z.md", "a-b.md", "a.md", "Ä.md", "with space.txt", "new\nline.md")
    got = list(walk(tmp_path))
    assert [e.path for e in got] == ["a-b.md", "a.md", "a/z.md", "b.md", "new\nline.md", "with space.txt", "Ä.md"]
    info = (tmp_path / "a/z.md").stat()
    entry = got[2]
    assert entry == FileEntry(
        "a/z.md",
        tmp_path.resolve() / "a" / "z.md",
        info.st_size,
        info.st_mtime_ns,
        info.st_ino,
        "markdown",
    )


def test_empty_folder_and_single_file(tmp_path: Path) -> None:
    assert paths(tmp_path) == []
    put(tmp_path, "note.md")
    assert paths(tmp_path / "note.md") == ["note.md"]


def test_root_must_exist_and_be_a_folder_or_file(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="nowhere"):
        walk(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IngestError, match="neither"):
        walk(tmp_path / "pipe")


def test_kinds_by_suffix_any_case_and_binaries_counted(tmp_path: Path) -> None:
    put(
        tmp_path,
        "A.MD",
        "b.rst",
        "c.py",
        "d.ndjson",
        "e.tsv",
        "f.feather",
        "g.unknown",
        "LICENSE",
        "h.log",
        "i.csv",
        "j.pq",
    )
    put(tmp_path, "x.png", "y.PDF", "z.zip")
    report = WalkReport()
    got = {entry.path: entry.kind for entry in walk(tmp_path, report=report)}
    assert got == {
        "A.MD": "markdown",
        "LICENSE": None,
        "b.rst": "rst",
        "c.py": "code",
        "d.ndjson": "jsonl",
        "e.tsv": "tsv",
        "f.feather": "arrow",
        "g.unknown": None,
        "h.log": "text",
        "i.csv": "csv",
        "j.pq": "parquet",
        "y.PDF": "pdf",
    }
    assert report.skipped == {"binary": 2}
    assert report.unread == {".png": 1, ".zip": 1}
    assert report.problems == []
    assert not KINDS.keys() & BINARY_SUFFIXES


def test_folders_that_are_no_sources(tmp_path: Path) -> None:
    skipped = [".git", ".obsidian", ".trash", ".venv", "node_modules", "dist", "build", "vendor", "__pycache__"]
    put(tmp_path, *(f"{name}/x.md" for name in skipped), *(f"deep/{name}/x.md" for name in skipped))
    put(tmp_path, "deep/builder/x.md", ".env", "notes.md~")
    report = WalkReport()
    assert [e.path for e in walk(tmp_path, report=report)] == ["deep/builder/x.md"]
    assert report.skipped == {"hidden": 9, "folder": 10, "backup": 1}


def test_root_itself_may_have_any_name(tmp_path: Path) -> None:
    put(tmp_path, ".hidden/node_modules/x.md")
    assert paths(tmp_path / ".hidden" / "node_modules") == ["x.md"]


def test_templates_outside_obsidian_only_exact_name_at_the_top(tmp_path: Path) -> None:
    put(tmp_path, "templates/a.md", "Templates/b.md", "_templates/c.md", "src/templates/d.md")
    report = WalkReport()
    assert [e.path for e in walk(tmp_path, report=report)] == [
        "Templates/b.md",
        "_templates/c.md",
        "src/templates/d.md",
    ]
    assert report.skipped["templates"] == 1


@pytest.mark.parametrize("prefix", ["", "inner/"])
def test_templates_of_an_obsidian_vault(tmp_path: Path, prefix: str) -> None:
    names = ["Templates/a.md", "_templates/b.md", "Meta/Forms/c.md", "Meta/d.md", "n/templates/e.md"]
    put(tmp_path, *(prefix + name for name in names))
    settings = tmp_path / prefix / ".obsidian" / "templates.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"folder": "Meta/Forms/"}))
    assert paths(tmp_path) == [prefix + "Meta/d.md", prefix + "n/templates/e.md"]


@pytest.mark.parametrize(
    "text", ["", "[", "[]", "{}", '{"folder": 3}', '{"folder": "/"}', '{"folder": "../.."}', "[" * 60_000, "x" * 70_000]
)
def test_unusable_template_settings_hide_nothing_else(tmp_path: Path, text: str) -> None:
    put(tmp_path, "templates/a.md", "b.md")
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian" / "templates.json").write_text(text)
    assert paths(tmp_path) == ["b.md"]


def test_template_settings_that_are_a_pipe_do_not_hang(tmp_path: Path) -> None:
    put(tmp_path, "b.md")
    (tmp_path / ".obsidian").mkdir()
    os.mkfifo(tmp_path / ".obsidian" / "templates.json")
    assert paths(tmp_path) == ["b.md"]


def test_own_vault_is_never_ingested(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "memory/CURRENT", "memory/log/x.txt", "memory/readme.md", "half/CURRENT", "half/b.md")
    report = WalkReport()
    assert [e.path for e in walk(tmp_path, report=report)] == ["a.md", "half/CURRENT", "half/b.md"]
    assert report.skipped == {"vault": 1}
    assert is_vault(tmp_path / "memory")
    assert not is_vault(tmp_path / "half")
    assert [e.path for e in walk(tmp_path / "memory", report=report)] == []
    assert codes(report) == [(".", "vault")]


def test_links_inside_are_not_counted_twice(tmp_path: Path) -> None:
    put(tmp_path, "real.md", "folder/x.md", ".hidden/y.md", ".hidden/sub/z.md")
    (tmp_path / "a-link.md").symlink_to("real.md")
    (tmp_path / "also").symlink_to("folder")
    (tmp_path / "shown.md").symlink_to(".hidden/y.md")
    (tmp_path / "shown-again.md").symlink_to(".hidden/y.md")
    (tmp_path / "sub").symlink_to(".hidden/sub")
    report = WalkReport()
    got = {e.path: e.absolute for e in walk(tmp_path, report=report)}
    root = tmp_path.resolve()
    assert got == {
        "folder/x.md": root / "folder/x.md",
        "real.md": root / "real.md",
        "shown-again.md": root / ".hidden/y.md",
        "sub/z.md": root / ".hidden/sub/z.md",
    }
    assert report.skipped["linked"] == 3
    assert report.problems == []


def test_links_out_of_the_root_dangling_and_cyclic(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(tmp_path, "secret.md", "rooted/x.md")
    put(root, "n/a.md")
    (root / "out.md").symlink_to("../secret.md")
    (root / "out-dir").symlink_to(tmp_path / "rooted")
    (root / "chain.md").symlink_to("out.md")
    (root / "gone.md").symlink_to("nothing.md")
    (root / "self.md").symlink_to("self.md")
    (root / "n" / "up").symlink_to("..")
    (root / "n" / "here").symlink_to(".")
    report = WalkReport()
    assert [e.path for e in walk(root, report=report)] == ["n/a.md"]
    assert sorted(codes(report)) == [(n, "symlink") for n in ["chain.md", "gone.md", "out-dir", "out.md", "self.md"]]
    assert report.skipped["linked"] == 2


def test_links_to_git_and_vaults_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path, ".git/config", "v/CURRENT", "v/log/x.txt")
    (tmp_path / "config.txt").symlink_to(".git/config")
    (tmp_path / "x.txt").symlink_to("v/log/x.txt")
    assert paths(tmp_path) == []


def test_a_root_that_is_a_link_is_fine(tmp_path: Path) -> None:
    put(tmp_path, "real/a.md")
    (tmp_path / "link").symlink_to("real")
    assert paths(tmp_path / "link") == ["a.md"]


def test_hard_links_are_files_of_their_own(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    os.link(tmp_path / "a.md", tmp_path / "b.md")
    assert paths(tmp_path) == ["a.md", "b.md"]


def test_special_files_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe.md")
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.md")
        report = WalkReport()
        assert [e.path for e in walk(tmp_path, report=report)] == ["a.md"]
    assert report.skipped == {"special": 2}


def test_too_large_is_reported_but_not_for_streamed_records(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "rows.jsonl", "b.csv")
    report = WalkReport()
    size = (tmp_path / "a.md").stat().st_size
    assert [e.path for e in walk(tmp_path, max_bytes=size - 1, report=report)] == ["b.csv", "rows.jsonl"]
    assert codes(report) == [("a.md", "too_large")]
    assert report.problems[0].message == (
        f"{size} bytes, more than the {size - 1} bytes that a file may have; cut it into parts, such as with `split -C 40m`; skipped"
    )
    assert paths(tmp_path, max_bytes=size) == ["a.md", "b.csv", "rows.jsonl"]
    with pytest.raises(InvalidArgument, match="max_bytes=-1"):
        walk(tmp_path, max_bytes=-1)


def test_names_that_are_not_utf8_are_reported(tmp_path: Path) -> None:
    os.mkdir(os.fsencode(tmp_path) + b"/d\xff")  # noqa: PTH102 - a name in bytes
    for name in (b"/a\xff.md", b"/d\xff/x.md", b"/ok.md"):
        with open(os.fsencode(tmp_path) + name, "wb") as file:  # noqa: PTH123 - a name in bytes
            file.write(b"x")
    report = WalkReport()
    assert [e.path for e in walk(tmp_path, report=report)] == ["ok.md"]
    assert codes(report) == [("a\\xff.md", "encoding"), ("d\\xff", "encoding")]


def test_unreadable_folder_is_reported_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "locked/a.md", "open/b.md")
    real = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    report = WalkReport()
    assert [e.path for e in walk(tmp_path, report=report)] == ["open/b.md"]
    assert codes(report) == [("locked", "unreadable")]
    with pytest.raises(IngestError, match="cannot be listed"):
        walk(tmp_path / "locked")


def test_read_entry_gives_the_bytes(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    (entry,) = walk(tmp_path)
    assert read_entry(entry) == b"content of a.md\n"
    assert read_entry(entry, max_bytes=16) == b"content of a.md\n"
    with pytest.raises(IngestError, match="more than the 15 bytes"):
        read_entry(entry, max_bytes=15)


def test_read_entry_refuses_what_was_swapped_in(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "secret")
    (entry,) = (e for e in walk(tmp_path) if e.path == "a.md")
    file = tmp_path / "a.md"
    file.unlink()
    with pytest.raises(IngestError, match="No such file"):
        read_entry(entry)
    file.symlink_to("secret")
    with pytest.raises(IngestError):
        read_entry(entry)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(IngestError, match="regular"):
        read_entry(entry)
