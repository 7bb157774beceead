"""A vault that somebody else made loses and changes nothing outside itself, whatever it holds."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import lamina
from lamina import FixedClock, Vault, VaultCorrupt
from lamina_engine.store.journals import append, journal_path
from lamina_engine.store.shape import SEGMENT_NAME, check_shape, own_files, own_folders

pytestmark = pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="this system has no symbolic links to follow")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "docs").mkdir(parents=True)
    (home / ".bashrc").write_text("alias ll='ls -l'\n")
    (home / "thesis.tex").write_text("ten years of work\n")
    (home / "docs" / "a.txt").write_text("a")
    return home


@pytest.fixture
def root(tmp_path: Path, clock: FixedClock) -> Path:
    root = tmp_path / "vault"
    with lamina.open(root, create=True, clock=clock) as vault:
        vault.add([{"text": f"note {i} about kafka"} for i in range(20)])
        vault.inject("a note about kafka", session="monday")
    return root


def content(home: Path) -> dict[str, bytes]:
    return {str(p.relative_to(home)): p.read_bytes() for p in home.rglob("*") if p.is_file()}


def replaced(path: Path, target: Path | str) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(target)


def moved(path: Path, home: Path) -> None:
    """Move a folder out of the vault, and leave a link to it."""
    shutil.copytree(path, home / "outside")
    (home / "outside" / "mine.tmp").write_text("mine")
    replaced(path, home / "outside")


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)


def manifest(root: Path) -> Path:
    return root / "manifests" / (root / "CURRENT").read_text().strip()


SHAPES: dict[str, Callable[[Path, Path], object]] = {
    "a log that is a link": lambda v, h: (v / "log" / "x").symlink_to(h),
    "chunks is a link": lambda v, h: moved(v / "log" / "chunks", h),
    "all logs are a link": lambda v, h: moved(v / "log", h),
    "index is a link": lambda v, h: replaced(v / "index", h),
    "terms is a link": lambda v, h: replaced(v / "index" / "terms", h),
    "an index is a link": lambda v, h: replaced(v / "index" / "lexical-0000000001", h),
    "a file of an index is a link": lambda v, h: replaced(v / "index" / "keys-ids-000000000000.keys", h / ".bashrc"),
    "manifests is a link": lambda v, h: moved(v / "manifests", h),
    "a manifest is a link": lambda v, h: replaced(v / "manifests" / ("0" * 10 + "-" + "0" * 16 + ".json"), h / ".bashrc"),
    "a manifest leads to a device": lambda v, h: replaced(manifest(v), "/dev/zero"),
    "CURRENT is a link": lambda v, h: replaced(v / "CURRENT", h / ".bashrc"),
    "CURRENT is a pipe": lambda v, h: pipe(v / "CURRENT"),
    "CURRENT.tmp is a link": lambda v, h: replaced(v / "CURRENT.tmp", h / ".bashrc"),
    "the lock is a link": lambda v, h: replaced(v / "writer.lock", h / "made-by-lamina"),
    "the lock is a pipe": lambda v, h: pipe(v / "writer.lock"),
    "vault.toml is a link": lambda v, h: replaced(v / "vault.toml", h / ".bashrc"),
    "vault.toml is a pipe": lambda v, h: pipe(v / "vault.toml"),
    "vault.toml leads to a device": lambda v, h: replaced(v / "vault.toml", "/dev/zero"),
    "journal is a link": lambda v, h: replaced(v / "journal", h),
    "a journal is a link": lambda v, h: replaced(journal_path(v, "context", "monday"), h / ".bashrc"),
    "accesses is a link": lambda v, h: replaced(v / "journal" / "accesses", h / ".bashrc"),
    "accesses is a pipe": lambda v, h: pipe(v / "journal" / "accesses"),
    "a folder beyond all depth": lambda v, h: (v / "index" / "a" / "b" / "c" / "d" / "e" / "f").mkdir(parents=True),
}  # fmt: skip
CALLS: dict[str, Callable[[Vault], object]] = {
    "add": lambda vault: vault.add("one more note"),
    "recall": lambda vault: vault.recall("kafka"),
    "compact": lambda vault: vault.compact(),
    "reindex": lambda vault: vault.reindex(),
    "forget": lambda vault: vault.forget(where={"type": "note"}, dry_run=False),
    "inject": lambda vault: vault.inject("a note about kafka", session="monday"),
    "stats": lambda vault: vault.stats(),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("call", CALLS)
def test_nothing_outside_a_hostile_vault_is_touched(
    shape: str, call: str, root: Path, home: Path, clock: FixedClock
) -> None:
    SHAPES[shape](root, home)
    before = content(home)
    with pytest.raises(VaultCorrupt, match=r"vault"), lamina.open(root, clock=clock) as vault:
        CALLS[call](vault)
    assert content(home) == before


@pytest.mark.parametrize("shape", SHAPES)
def test_creating_over_a_hostile_vault_touches_nothing(shape: str, root: Path, home: Path, clock: FixedClock) -> None:
    SHAPES[shape](root, home)
    before = content(home)
    with pytest.raises(VaultCorrupt):
        lamina.open(root, create=True, clock=clock)
    assert content(home) == before


def test_verify_names_the_shape(root: Path, home: Path, clock: FixedClock) -> None:
    from lamina_engine.care.verify import verify

    (root / "log" / "x").symlink_to(home)
    report = verify(root, deep=True)
    assert not report.ok
    assert "symbolic link" in report.problems[0].message


def test_a_link_made_while_the_vault_is_open_is_not_swept(root: Path, home: Path, clock: FixedClock) -> None:
    before = content(home)
    with lamina.open(root, clock=clock) as vault:
        (root / "log" / "x").symlink_to(home)
        moved(root / "index", home)
        before = content(home)
        vault.add("one more note")
    assert {name: data for name, data in content(home).items() if name in before} == before


def test_a_sweep_leaves_alone_what_lamina_never_makes(root: Path, clock: FixedClock) -> None:
    mine = [root / "log" / "chunks" / "thesis.tex", root / "manifests" / "notes.tmp", root / "index" / "thesis.tex", root / "draft.tmp"]  # fmt: skip
    for path in mine:
        path.write_text("mine")
    orphan = root / "log" / "chunks" / "000000000777-1-0123456789ab.arrow"
    orphan.write_bytes(b"left behind")
    with lamina.open(root, clock=clock) as vault:
        vault.add("one more note")
        vault.compact()
    assert all(path.exists() for path in mine)
    assert not orphan.exists()


def test_a_journal_is_not_written_through_a_link(root: Path, home: Path) -> None:
    path = journal_path(root, "context", "tuesday")
    path.symlink_to(home / ".bashrc")
    before = content(home)
    with pytest.raises(OSError, match=r"symbolic|[Ll]ink|loop"):
        append(path, {"ids": []})
    assert content(home) == before


def test_the_path_of_a_vault_itself_may_be_a_link(root: Path, tmp_path: Path, clock: FixedClock) -> None:
    (tmp_path / "alias").symlink_to(root)
    with lamina.open(tmp_path / "alias", clock=clock) as vault:
        assert vault.recall("kafka")


def test_a_list_of_files_that_names_others_is_not_believed(root: Path, home: Path, clock: FixedClock) -> None:
    """The list that Tantivy keeps of its files, with names outside it: it removes what is listed and no segment needs."""
    with lamina.open(root, clock=clock) as vault:
        vault.add([{"text": f"filler {i}"} for i in range(-vault.stats()["rows"] % 2048 + 2047 + 2048)])
    lists = list((root / "index").glob("lexical-*/*/.managed.json"))
    assert lists
    for path in lists:
        names = json.loads(path.read_text())
        path.write_text(json.dumps([*names, os.path.relpath(home / "thesis.tex", path.parent), str(home / ".bashrc")]))
    before = content(home)
    with lamina.open(root, clock=clock) as vault:
        vault.add("one note of the victim")
        assert vault.recall("victim", k=1)[0].text == "one note of the victim"
        vault.add([{"text": f"more {i}"} for i in range(5000)])
    assert content(home) == before
    assert all(".." not in path.read_text() for path in (root / "index").glob("lexical-*/*/.managed.json"))


def test_names_and_kinds(tmp_path: Path) -> None:
    check_shape(tmp_path / "missing")
    (tmp_path / "000000000000-1-0123456789ab.arrow").write_bytes(b"")
    (tmp_path / "000000000001-1-0123456789ab.arrow").symlink_to(tmp_path / "000000000000-1-0123456789ab.arrow")
    (tmp_path / "a.arrow").write_bytes(b"")
    assert [path.name for path in own_files(tmp_path, SEGMENT_NAME)] == ["000000000000-1-0123456789ab.arrow"]
    (tmp_path / "link").symlink_to(tmp_path)
    assert list(own_files(tmp_path / "link", SEGMENT_NAME)) == []
    assert list(own_folders(tmp_path / "link", SEGMENT_NAME)) == []
