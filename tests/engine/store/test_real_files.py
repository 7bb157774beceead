"""What a hostile vault holds beside links: second names of files outside, strange names, and how files are opened at all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import lamina
from lamina import FixedClock, VaultCorrupt
from lamina_engine.real_files import create_file, open_to_append, read_file, remove_file
from lamina_engine.store import segments
from lamina_engine.store.journals import journal_path

pytestmark = pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="this system has no links to follow")


def make(root: Path, clock: FixedClock, **fields: object) -> Path:
    with lamina.open(root, create=True, clock=clock) as vault:
        vault.add([{"id": f"c{i}", "text": f"note {i} about kafka", **fields} for i in range(20)])
        vault.inject("a note about kafka", session="monday")
        vault.recall("kafka")
    return root


def second_name(name: str) -> Callable[[Path, Path], None]:
    def put(root: Path, outside: Path) -> None:
        path = root / name
        path.unlink(missing_ok=True)
        path.parent.mkdir(exist_ok=True)
        os.link(outside, path)

    return put


def write(name: str, content: bytes = b"mine") -> Callable[[Path, Path], None]:
    def put(root: Path, outside: Path) -> None:
        path = root / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return put


def many(root: Path, outside: Path) -> None:
    for i in range(10_000):
        (root / "log" / "chunks" / f"mine-{i}.txt").touch()


MONDAY = journal_path(Path(), "context", "monday").as_posix()
SHAPES: dict[str, Callable[[Path, Path], None]] = {
    **{
        f"{name} is a second name": second_name(name)
        for name in ("CURRENT.tmp", "writer.lock", "journal/accesses", "journal/accesses.taken", MONDAY, f"{MONDAY}.tmp",
                     "log/chunks/000000000777-1-0123456789ab.arrow", "manifests/0000000000-0123456789abcdef.json",
                     "index/terms/000000000777-1-0123456789ab.terms", "index/keys-ids-000000004096.keys", "queue/capture.log",
                     "queue/judging.state", "index/thesis.tex", "log/x/thesis.tex", "vault.toml.new", ".gitignore")
    },
    **{
        f"a file named {name[-20:]!r}": write(name)
        for name in ("log/chunks/a\nb.arrow", "log/CHUNKS/twin.arrow", "log/chunks/" + "n" * 200, "index/lexical-x",
                     "index/not\udcff-utf8", "manifests/\x1b[2J.json", "journal/context/x.jsonl", "turns/1-2-3-4", "log/new/x")
    },
    "10,000 entries": many,
    "a folder in the place of an index": lambda root, _: (root / "index" / "keys-ids-000000004096.keys").mkdir(),
    "a giant sparse journal": lambda root, _: os.truncate(os.open(root / MONDAY, os.O_RDWR | os.O_CREAT), 1 << 40),
    "a folder that cannot be written": lambda root, _: (root / "journal").chmod(0o500),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_what_has_a_second_name_or_a_strange_one_is_left_as_it_is(
    shape: str, tmp_path: Path, clock: FixedClock
) -> None:
    """Findings, attack 2: every write, sweep and append, over files that are also somebody's own."""
    root, outside = make(tmp_path / "vault", clock), tmp_path / "thesis.tex"
    outside.write_text("ten years of work\n")
    before = outside.stat()
    SHAPES[shape](root, outside)
    with lamina.open(root, clock=clock) as vault:
        vault.add("one more note about kafka")
        assert vault.recall("kafka")
        vault.inject("a note about kafka", session="monday")
        vault.compact()
        vault.forget(ids="c3", dry_run=False)
        vault.reindex()
        assert vault.verify(deep=True).ok
    assert outside.read_text() == "ten years of work\n"
    assert (outside.stat().st_mtime_ns, outside.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["thesis.tex", "vault"]


TRACE = """
import os, sys
import lamina
root = os.path.realpath(sys.argv[1])
wrong = []
def look(event, given):
    path = os.fspath(given[0]) if given and isinstance(given[0], (str, bytes, os.PathLike)) else ""
    path = os.fsdecode(path)
    if event == "open" and path.startswith(root) and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR):
        if not given[2] & (os.O_NOFOLLOW | os.O_EXCL) or given[2] & os.O_TRUNC:
            wrong.append(f"written: {path} {given[2]:o}")
    elif event == "os.remove" and path.startswith(root) and given[1] == -1:
        wrong.append(f"removed by path: {path}")
with lamina.open(root, create=True) as vault:
    sys.addaudithook(look)
    vault.add([{"id": f"c{i}", "text": f"note {i} about kafka"} for i in range(2500)])
    vault.recall("kafka"); vault.inject("a note about kafka", session="monday"); vault.pin("c2")
    vault.facts.add("Anna", "works_on", "Keystone"); vault.build_links(kinds=["similar"])
    vault.forget(ids="c3", dry_run=False); vault.compact(); vault.add("late"); vault.reindex(); vault.verify(deep=True)
print("\\n".join(dict.fromkeys(wrong)))
"""


def test_no_file_of_a_vault_is_opened_through_a_link_or_removed_by_its_path(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TRACE, str(tmp_path / "v")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_files_are_created_read_appended_and_removed_where_they_are(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine\n")
    os.link(outside, tmp_path / "twin")
    os.close(create_file(tmp_path / "twin"))
    assert outside.read_text() == "mine\n"
    os.link(outside, tmp_path / "journal")
    descriptor = open_to_append(tmp_path / "journal")
    os.write(descriptor, b"more\n")
    os.close(descriptor)
    assert (outside.read_text(), (tmp_path / "journal").read_text()) == ("mine\n", "mine\nmore\n")
    with pytest.raises(OSError, match="more than 3 bytes"):
        read_file(outside, 3)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        read_file(tmp_path / "pipe", 3)
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(OSError):
        remove_file(tmp_path / "link" / "outside")
    assert outside.exists()


def test_damaged_rows_are_neither_read_nor_copied(
    tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Findings, attack 5: an update copied a flipped text into a row with a digest of its own, and export wrote it out."""
    root = make(tmp_path / "vault", clock)
    [path] = (root / "log" / "chunks").iterdir()
    path.write_bytes(path.read_bytes().replace(b"note 7 about", b"nose 7 about"))
    with lamina.open(root, clock=clock) as vault, pytest.raises(VaultCorrupt, match="rows 0 to 19 of chunks"):
        vault.get("c7")
    monkeypatch.setattr(segments, "CHECKED_BYTES", 0)  # as of a segment of a megabyte and more
    with lamina.open(root, clock=clock) as vault:
        assert vault.get("c7").text == "nose 7 about kafka"
        with pytest.raises(VaultCorrupt, match="rows 0 to 19 of chunks"):
            vault.update("c7", metadata={"a": 1})
        with pytest.raises(VaultCorrupt, match="is damaged"):
            vault.export(tmp_path / "out.jsonl")
        with pytest.raises(VaultCorrupt, match="is damaged"):
            vault.snapshot(tmp_path / "copy")
