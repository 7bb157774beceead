"""Vaults of every strange shape, by every door: nothing outside is lost, changed or made, and each call ends typed."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest

import lamina
from lamina.hooks import capture, events
from lamina.hooks.context import Request, context_of
from lamina.hooks.queue import Queue
from lamina.mcp.access import VaultAccess
from lamina.mcp.calls import answer_call
from lamina.mcp.tools import TOOLS
from lamina.view.server import Viewer, make_app
from lamina_engine.care.verify import verify
from lamina_engine.store.journals import journal_path
from tests.engine.store.test_shape import SHAPES, manifest, replaced
from tests.fuzz.sandbox import Wrong, run_cases

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="each call is bounded in a forked child")

_TEXT = "why did we leave SQLite for kafka"


def many(folder: Path, name: str) -> None:
    """Put a thousand files into a folder."""
    folder.mkdir(exist_ok=True)
    for i in range(1_000):
        (folder / name.format(i)).touch()


def bind(path: Path) -> None:
    """Open a socket in a vault; it stays there when it is closed."""
    path.unlink(missing_ok=True)
    here = Path.cwd()
    os.chdir(path.parent)  # its address may have a hundred characters
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(path.name)
    os.chdir(here)


def touch(name: bytes, *folders: Path) -> None:
    """Make an empty file of any name in some folders."""
    for folder in folders:
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).touch()


def replace(path: Path, make: Callable[[Path], object]) -> None:
    """Put something else in the place of a file."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    make(path)


def twin(path: Path, home: Path) -> None:
    """Give a file of the user's a second name in the vault."""
    replace(path, lambda here: here.hardlink_to(home / ".bashrc"))


def shared(path: Path, home: Path) -> None:
    """Give a file of the vault a second name at the user's."""
    (home / f"second-{path.name}").hardlink_to(path)


def device(path: Path, kind: int) -> None:
    """Make a device, where the machine lets us."""
    try:
        replace(path, lambda here: os.mknod(here, kind | 0o600, os.makedev(1, 5)))
    except PermissionError:
        pytest.skip("this machine makes no devices")


def longer(path: Path, size: int) -> None:
    """Make a file as long as this, without bytes on the disk."""
    path.parent.mkdir(exist_ok=True)
    with path.open("ab") as file:
        file.truncate(size)


def segment(v: Path) -> Path:
    return min((v / "log" / "chunks").glob("*.arrow"))


def term_file(v: Path) -> Path:
    return min((v / "index" / "terms").iterdir())


def accesses(v: Path) -> Path:
    return v / "journal" / "accesses"


MORE: dict[str, Callable[[Path, Path], object]] = {
    "accesses is a hard link": lambda v, h: twin(accesses(v), h),
    "a journal is a hard link": lambda v, h: twin(journal_path(v, "context", "monday"), h),
    "CURRENT is a hard link": lambda v, h: twin(v / "CURRENT", h),
    "vault.toml is a hard link": lambda v, h: twin(v / "vault.toml", h),
    "the lock is a hard link": lambda v, h: twin(v / "writer.lock", h),
    "a segment is a hard link": lambda v, h: twin(segment(v), h),
    "a manifest is a hard link": lambda v, h: twin(manifest(v), h),
    "a file of terms is a hard link": lambda v, h: twin(term_file(v), h),
    "a segment has a second name": lambda v, h: shared(segment(v), h),
    "a manifest has a second name": lambda v, h: shared(manifest(v), h),
    "CURRENT has a second name": lambda v, h: shared(v / "CURRENT", h),
    "names with newlines": lambda v, h: touch(b"a\nb\x1b[2J", v / "log" / "chunks", v / "index", v / "manifests", v / "journal"),
    "a folder with a newline": lambda v, h: (v / "log" / "x\ny").mkdir(),
    "names that are no text": lambda v, h: touch(b"\xff\xfe", v / "log" / "chunks", v / "index"),
    "a name of 255 bytes": lambda v, h: (v / "log" / "chunks" / ("x" * 249 + ".arrow")).touch(),
    "1,000 entries in a log": lambda v, h: many(v / "log" / "chunks", "{:012}-8-0123456789ab.arrow"),
    "1,000 entries of an index": lambda v, h: many(v / "index", "keys-{}.keys"),
    "1,000 journals": lambda v, h: many(v / "journal" / "context", "{}.jsonl"),
    "1,000 entries in the queue": lambda v, h: many(v / "queue", "{}.note"),
    "CURRENT is a socket": lambda v, h: bind(v / "CURRENT"),
    "a socket in a log": lambda v, h: bind(v / "log" / "chunks" / "s"),
    "CURRENT is a device": lambda v, h: device(v / "CURRENT", stat.S_IFCHR),
    "vault.toml is a device": lambda v, h: device(v / "vault.toml", stat.S_IFCHR),
    "a block device in an index": lambda v, h: device(v / "index" / "d", stat.S_IFBLK),
    "CURRENT is a folder": lambda v, h: replace(v / "CURRENT", lambda p: p.mkdir()),
    "vault.toml is a folder": lambda v, h: replace(v / "vault.toml", lambda p: p.mkdir()),
    "a manifest is a folder": lambda v, h: replace(manifest(v), lambda p: p.mkdir()),
    "a segment is a folder": lambda v, h: replace(segment(v), lambda p: p.mkdir()),
    "CURRENT leads out": lambda v, h: (v / "CURRENT").write_text("../../home/.bashrc\n"),
    "CURRENT is long": lambda v, h: longer(v / "CURRENT", 1 << 40),
    "vault.toml is long": lambda v, h: longer(v / "vault.toml", 1 << 40),
    "a manifest is long": lambda v, h: longer(manifest(v), 1 << 40),
    "a journal is long": lambda v, h: longer(accesses(v), 1 << 40),
    "the queue is a link": lambda v, h: replaced(v / "queue", h),
    "a capture is a link": lambda v, h: replaced(v / "queue" / "a.json", h / ".bashrc"),
    "turns are a link": lambda v, h: replaced(v / "turns", h),
}  # fmt: skip


def ask_viewer(root: Path) -> None:
    """Ask the viewer for some pages."""
    app = make_app(Viewer(lambda: lamina.open(root, mode="r", trust=True)), 80, "t" * 32)

    async def ask() -> None:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), headers={"authorization": f"Bearer {'t' * 32}", "host": "127.0.0.1:80"}
        ) as client:
            for path in ("/api/overview", f"/api/recall?q={_TEXT}", "/api/chunk/c1"):
                answer = await client.get(f"http://127.0.0.1:80{path}")
                if "Traceback" in answer.text or (answer.status_code >= 500 and "error" not in answer.json()):
                    raise Wrong(f"{path}: {answer.status_code} {answer.text[:200]}")

    asyncio.run(ask())


def call_tools(root: Path) -> None:
    """Call tools of the MCP server that read and write."""
    access = VaultAccess(root, trust=True)
    for name, given in (
        ("memory_recall", {"query": _TEXT}), ("memory_add", {"text": "one more note"}), ("stats", {}),
        ("memory_invalidate", {"id": "c1", "reason": "wrong"}), ("memory_forget", {"ids": ["c2"]}),
    ):  # fmt: skip
        if "unexpectedly" in (told := answer_call(access, TOOLS[name], given).text):
            raise Wrong(f"{name}: {told}")


def run_hooks(root: Path) -> None:
    """Do what hooks do, in the order of a session; the program itself answers nothing where one of them fails."""
    failed: list[str] = []
    transcript = root.parent / "t.jsonl"
    transcript.write_text("")

    def ask() -> None:
        Queue(str(root)).ask("s1", str(transcript), "claude-code")

    def inject() -> None:
        context_of(Request(events.PROMPT, str(root), "s1", str(root.parent), _TEXT, "", "", False))

    for step in (ask, inject, lambda: capture.work(str(root))):
        try:
            step()
        except (OSError, lamina.LaminaError) as error:
            failed.append(repr(error))


def through(call: Callable[[lamina.Vault], object]) -> Callable[[Path], None]:
    """Open a vault as its owner does, and do one thing."""

    def run(root: Path) -> None:
        with lamina.open(root, trust=True) as vault:
            call(vault)

    return run


NEW_DOORS: dict[str, Callable[[Path], object]] = {
    "verify": lambda root: verify(root, deep=True, repair=True),
    "view": ask_viewer,
    "mcp": call_tools,
    "hook": run_hooks,
}
DOORS = {
    **NEW_DOORS,
    "add": through(lambda vault: vault.add("one more note")),
    "recall": through(lambda vault: vault.recall(_TEXT)),
    "compact": through(lambda vault: vault.compact()),
    "reindex": through(lambda vault: vault.reindex()),
    "forget": through(lambda vault: vault.forget(where={"type": "note"}, dry_run=False)),
}  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile") / "vault"
    with lamina.open(root, create=True) as vault:
        vault.add([{"id": f"c{i}", "text": f"note {i}: we left SQLite for kafka"} for i in range(20)])
        vault.inject(_TEXT, session="monday")
    return root


def outside(folder: Path) -> dict[str, bytes]:
    """Return everything beside the vault by its path."""
    found = {}
    for path in folder.rglob("*"):
        if not path.is_relative_to(folder / "vault") and path.name != "t.jsonl":
            found[str(path)] = path.read_bytes() if path.is_file() else b""
    return found


def enter(door: Callable[[Path], object], root: Path) -> dict[str, str]:
    """Go through a door."""
    door(root)
    return {}


def meet(base: Path, folder: Path, make: Callable[[Path, Path], object], door: Callable[[Path], object]) -> None:
    """Make a hostile vault, go through one door, and look around."""
    (folder / "home" / "docs").mkdir(parents=True)
    for name in (".bashrc", "thesis.tex", "docs/a.txt"):
        (folder / "home" / name).write_text(f"{name}: ten years of work\n")
    shutil.copytree(base, folder / "vault", symlinks=True)
    make(folder / "vault", folder / "home")
    before = outside(folder)
    try:
        door(folder / "vault")
    finally:
        after = outside(folder)
        if after != before:
            changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
            raise Wrong(f"outside the vault: {changed}")


def check(
    base: Path, folder: Path, make: Callable[[Path, Path], object], doors: dict[str, Callable[[Path], object]]
) -> None:
    """Try all doors, each in a fresh copy."""

    def act(name: str) -> dict[str, str]:
        try:
            meet(base, folder / name, make, doors[name])
        except pytest.skip.Exception as reason:
            return {"skipped": str(reason)}
        return {}

    outcomes = dict(zip(doors, run_cases(act, list(doors)), strict=True))
    assert {name: outcome for name, outcome in outcomes.items() if outcome.is_find} == {}
    if any("skipped" in outcome.extra for outcome in outcomes.values()):
        pytest.skip("this machine makes no devices")


@pytest.mark.parametrize("shape", MORE)
def test_more_shapes_by_every_door(base: Path, tmp_path: Path, shape: str) -> None:
    check(base, tmp_path, MORE[shape], DOORS)


@pytest.mark.parametrize("shape", SHAPES)
def test_known_shapes_by_the_new_doors(base: Path, tmp_path: Path, shape: str) -> None:
    check(base, tmp_path, SHAPES[shape], NEW_DOORS)


@pytest.mark.skipif(shutil.which("mount") is None, reason="there is no mount")
@pytest.mark.parametrize("place", ["log/x", "index", "index/terms", "journal/context"])
def test_a_mount_point_in_a_vault(base: Path, tmp_path: Path, place: str) -> None:
    """What is mounted lies in the vault as well: things may come there, but none of the user's may go or change."""
    for door, call in DOORS.items():
        folder = tmp_path / door
        home, at = folder / "home", folder / "vault" / place
        home.mkdir(parents=True)
        for name in (".bashrc", "thesis.tex"):
            (home / name).write_text(f"{name}: ten years of work\n")
        shutil.copytree(base, folder / "vault")
        at.mkdir(exist_ok=True)
        done = subprocess.run(["mount", "--bind", home, at], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"this machine mounts nothing: {done.stderr.strip()}")
        try:
            (outcome,) = run_cases(partial(enter, call), [folder / "vault"])
        finally:
            subprocess.run(["umount", "--lazy", at], check=True)
        assert not outcome.is_find, (door, outcome)
        assert {name: (home / name).read_text() for name in (".bashrc", "thesis.tex")} == {
            name: f"{name}: ten years of work\n" for name in (".bashrc", "thesis.tex")
        }
