from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from lamina_engine.clock import FixedClock
from lamina_engine.errors import (
    VaultCorrupt,
    VaultExists,
    VaultLocked,
    VaultNotFound,
    VaultReadOnly,
    VaultTooNew,
    VaultUntrusted,
)
from lamina_engine.schema import FORMAT_VERSION
from lamina_engine.store import manifest as manifests
from lamina_engine.store.lock import LOCK, write_lock
from lamina_engine.store.store import Store
from tests.engine.store.appends import add_links, commit_links, link_sources
from tests.engine.store.faults import Quick

NOBODY = 65534
root_only = pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs the superuser")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "vault", clock=FixedClock("2026-01-01"), files=Quick())


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Run code in another process that has this one's modules."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])},
    )


HOLD = """
import sys
from pathlib import Path
from lamina_engine.store.lock import write_lock
with write_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_create_opens_what_is_there(store: Store) -> None:
    commit_links(store, "a")
    again = Store.create(store.root, files=Quick())
    assert link_sources(again) == ["a"]
    assert again.snapshot().manifest.vault == store.snapshot().manifest.vault


def test_create_refuses_what_is_no_vault(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").touch()
    with pytest.raises(VaultExists, match=r"letter\.txt"):
        Store.create(tmp_path / "full")
    (tmp_path / "file").touch()
    with pytest.raises(VaultExists, match="is a file"):
        Store.create(tmp_path / "file")
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "vault.toml").touch()
    assert Store.create(tmp_path / "settings").snapshot().version == 1
    with pytest.raises(VaultNotFound):
        Store(tmp_path / "nothing")


def test_create_does_not_bury_a_vault_that_lost_current(store: Store) -> None:
    commit_links(store, "a")
    (store.root / manifests.CURRENT).unlink()
    with pytest.raises(VaultExists, match="lamina verify"):
        Store.create(store.root)
    with pytest.raises(VaultCorrupt, match="lamina verify"):
        Store(store.root)


def test_two_processes_create_one_vault(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\nfrom lamina_engine.store.store import Store\nprint('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "print(Store.create(pathlib.Path(sys.argv[1])).snapshot().manifest.vault)"
    )
    started = [python(code, tmp_path / "vault") for _ in range(3)]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    names = {process.communicate("\n")[0] for process in started}
    assert names == {Store(tmp_path / "vault").snapshot().manifest.vault + "\n"}


def test_a_reader_keeps_its_version_while_merges_remove_its_files(store: Store) -> None:
    for i in range(7):
        commit_links(store, f"s{i}")
    reader = Store(store.root, mode="r")
    old = reader.snapshot()
    paths = [segment.path for segment in old.segments("links")]
    for i in range(7, 30):
        commit_links(store, f"s{i}")
    assert not any(path.exists() for path in paths)
    rows = old.column("links", "recorded_at")
    assert len(rows) == 7
    assert [record["source"] for record in old.records("links", rows * 0)] == ["s0"] * 7
    assert link_sources(reader) == [f"s{i}" for i in range(30)]
    assert reader.snapshot() is reader.snapshot()


def test_a_version_that_vanishes_when_it_is_opened_has_a_successor(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(7):
        commit_links(store, f"s{i}")
    reader = Store(store.root, mode="r")
    commit_links(store, "s7")
    load = manifests.load
    calls = []

    def late(root: Path, name: str) -> manifests.Manifest:
        calls.append(name)
        found = load(root, name)
        if len(calls) == 1:
            monkeypatch.setattr(manifests, "load", load)
            for i in range(8, 64):  # merged away, and its manifest removed
                commit_links(store, f"s{i}")
            assert not (root / manifests.MANIFESTS / name).exists()
        return found

    monkeypatch.setattr(manifests, "load", late)
    assert link_sources(reader) == [f"s{i}" for i in range(64)]


def test_two_handles_never_build_on_an_old_version(store: Store) -> None:
    """Without flushes, commits come faster than the file system's clock ticks, and inode numbers are used again."""
    other = Store(store.root, files=Quick())
    for i in range(150):
        commit_links(store, f"a{i}")
        commit_links(store, f"b{i}")
        commit_links(other, f"c{i}")
    ref = [f"{letter}{i}" for i in range(150) for letter in "abc"]
    assert link_sources(store) == ref
    assert link_sources(Store(store.root)) == ref


def test_a_missing_segment_is_named(store: Store) -> None:
    commit_links(store, "a")
    store.snapshot().segments("links")[0].path.unlink()
    with pytest.raises(VaultCorrupt, match="is missing"):
        Store(store.root)
    (store.root / manifests.MANIFESTS / manifests.read_current(store.root)).unlink()
    with pytest.raises(VaultCorrupt, match="is missing"):
        Store(store.root)


def test_a_newer_format_is_refused(store: Store) -> None:
    newer = msgspec.structs.replace(store.snapshot().manifest, format=FORMAT_VERSION + 1)
    manifests.publish(Quick(), store.root, newer)
    with pytest.raises(VaultTooNew):
        Store(store.root)
    with pytest.raises(VaultTooNew):
        store.snapshot()


def test_a_vault_open_for_reading_writes_nothing(store: Store) -> None:
    before = sorted(store.root.rglob("*"))
    reader = Store(store.root, mode="r")
    with pytest.raises(VaultReadOnly, match="mode='w'"), reader.transaction():
        pass
    assert sorted(store.root.rglob("*")) == before


def test_what_is_not_trusted_is_read_and_never_written(store: Store) -> None:
    asked = []

    def refuse(root: Path) -> None:
        asked.append(root)
        raise VaultUntrusted("not yours")

    read = Store(store.root, check_trust=refuse)
    assert read.snapshot().version == 1
    assert not asked  # only writers ask
    with pytest.raises(VaultUntrusted, match="not yours"), read.transaction():
        pass
    assert not read.is_trusted
    trusted = Store(store.root, check_trust=asked.append)
    for _ in range(2):
        with trusted.transaction():
            pass
    assert trusted.is_trusted
    assert len(asked) == 3  # asked once


def test_a_new_vault_is_for_its_owner_s_eyes_and_out_of_git_s(tmp_path: Path) -> None:
    # findings, stranger 21: `git add -A` staged whole vaults, and other users could read them
    root = Store.create(tmp_path / "a" / "vault").root
    assert (root.stat().st_mode & 0o777, (root / ".gitignore").read_bytes()) == (0o700, b"*\n")
    (tmp_path / "shared").mkdir(mode=0o750)
    (tmp_path / "shared" / ".gitignore").write_text("index/\n")
    root = Store.create(tmp_path / "shared").root  # a folder that somebody made keeps what they gave it
    assert (root.stat().st_mode & 0o777, (root / ".gitignore").read_text()) == (0o750, "index/\n")


@root_only
def test_a_folder_that_cannot_be_written(quick_path: Path) -> None:
    store = Store.create(quick_path / "vault")
    commit_links(store, "a")
    for folder in (store.root, quick_path, quick_path.parent):  # a vault is made for its owner alone
        folder.chmod(0o755)
    code = """
import os, sys, pathlib
from lamina_engine.errors import VaultReadOnly
from lamina_engine.store.store import Store
import tests.engine.store.appends as appends
os.setuid(65534)
root = pathlib.Path(sys.argv[1])
store = Store(root)
print(appends.link_sources(store))
try:
    appends.commit_links(store, "b")
except VaultReadOnly as error:
    print("read-only", "mode='r'" in str(error))
try:
    Store.create(root.parent / "another")
except VaultReadOnly:
    print("read-only")
"""
    got, _ = python(code, quick_path / "vault").communicate()
    assert got.split("\n")[:3] == ["['a']", "read-only True", "read-only"]


def test_a_lock_held_by_another_process_times_out_and_dies_with_it(store: Store) -> None:
    holder = python(HOLD, store.root)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    started = time.monotonic()
    with pytest.raises(VaultLocked, match=r"more than 0\.2 s"), store.transaction(0.2):
        pass
    assert 0.15 < time.monotonic() - started < 5
    threading.Timer(0.2, holder.send_signal, [signal.SIGKILL]).start()
    with store.transaction(10) as transaction:
        add_links(transaction, ["a"])
    assert link_sources(store) == ["a"]
    holder.communicate()
    assert holder.returncode == -signal.SIGKILL


def test_a_lock_file_that_is_replaced_guards_nothing(store: Store) -> None:
    with write_lock(store.root):
        (store.root / LOCK).unlink()
        with write_lock(store.root, 0.5):
            pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
class TestFork:
    def test_a_child_neither_keeps_the_lock_nor_commits(self, store: Store) -> None:
        tried, release = os.pipe(), os.pipe()
        with store.transaction() as transaction:
            add_links(transaction, ["parent"])
            child = os.fork()
            if child == 0:
                status = 2
                try:
                    for _ in range(2):  # while the parent is writing, and after it has written twice
                        try:
                            transaction.commit()
                        except VaultLocked:
                            status -= 1
                        os.write(tried[1], b"x")
                        os.read(release[0], 1)
                finally:
                    os._exit(status)
            os.read(tried[0], 1)
        other = Store(store.root)
        commit_links(other, "other")  # the child lives, the lock is free
        os.write(release[1], b"xx")
        assert os.waitpid(child, 0)[1] == 0
        assert link_sources(store) == ["parent", "other"]
        for descriptor in (*tried, *release):
            os.close(descriptor)

    def test_a_child_that_outlives_its_killed_parent_does_not_keep_the_lock(self, store: Store) -> None:
        code = """
import os, sys, time
from pathlib import Path
from lamina_engine.store.lock import write_lock
with write_lock(Path(sys.argv[1])):
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    print(child, flush=True)
    sys.stdin.readline()
"""
        parent = python(code, store.root)
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        try:
            os.kill(child, 0)
            parent.kill()
            parent.wait()
            commit_links(store, "a")
        finally:
            os.kill(child, signal.SIGKILL)
            parent.communicate()

    def test_a_child_that_leaves_the_block_does_not_free_its_parents_lock(self, store: Store) -> None:
        child = -1
        try:
            with store.exclusive():
                child = os.fork()
                if child:
                    assert os.waitpid(child, 0)[1] == 0
                    with pytest.raises(VaultLocked), write_lock(store.root, 0.05):
                        pass
        finally:
            if child == 0:
                os._exit(0)

    def test_a_child_of_a_writing_thread_can_write_itself(self, store: Store) -> None:
        inside, go_on = threading.Event(), threading.Event()

        def write() -> None:
            with store.transaction() as transaction:
                add_links(transaction, ["thread"])
                inside.set()
                go_on.wait()

        thread = threading.Thread(target=write)
        thread.start()
        inside.wait()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                commit_links(store, "child")
                status = 0
            finally:
                os._exit(status)
        time.sleep(0.05)
        go_on.set()
        thread.join()
        assert os.waitpid(child, 0)[1] == 0
        assert link_sources(store) == ["thread", "child"]


def test_threads_and_handles_write_side_by_side(store: Store) -> None:
    handles = [store, Store(store.root, files=Quick())]
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(12):
                commit_links(handles[number % 2], f"{number}.{i}")
                mine = [name for name in link_sources(handles[number % 2]) if name.startswith(f"{number}.")]
                assert mine == [f"{number}.{j}" for j in range(i + 1)]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert sorted(link_sources(Store(store.root))) == sorted(f"{n}.{i}" for n in range(4) for i in range(12))


def test_exclusive_may_be_nested(store: Store) -> None:
    with store.exclusive():
        commit_links(store, "a")
        with store.exclusive():
            commit_links(store, "b")
        with pytest.raises(VaultLocked), Store(store.root).transaction(0.05):
            pass
    commit_links(Store(store.root), "c")
    assert link_sources(store) == ["a", "b", "c"]
