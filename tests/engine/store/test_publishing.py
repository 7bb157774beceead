"""Vaults on object storage: what one machine commits, the others see; nothing is lost, whatever fails."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina_engine.errors import (
    InvalidArgument,
    InvalidConfig,
    StoreDenied,
    StoreUnreachable,
    StoreUnsafe,
    VaultCorrupt,
    VaultLocked,
    VaultNotFound,
)
from lamina_engine.store import cachefolders, publishing
from lamina_engine.store.lock import write_lock
from lamina_engine.store.objects import Objects
from lamina_engine.store.publishing import PublishedFiles
from lamina_engine.store.store import Store
from tests.conftest import NOW
from tests.engine.store.appends import add_links, commit_links, link_sources
from tests.engine.store.objectstores import BUCKET, SECRET, Machines, SeaweedFS

CLOCK = lamina.FixedClock(NOW)


def texts(vault: lamina.Vault) -> set[str]:
    return {chunk.text for chunk in vault}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers look for newer commits at each call."""
    monkeypatch.setattr(publishing, "REFRESH_S", 0.0)


@pytest.fixture
def no_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every writer believes that it is the only one, as after a pause with a lease that ran out."""
    monkeypatch.setattr(PublishedFiles, "lease", lambda self, timeout_s: contextlib.nullcontext())


def test_machines_see_one_vault_and_answer_as_a_local_one(machines: Machines, tmp_path: Path, at_once: None) -> None:
    records = [
        {"id": f"n{i}", "text": f"note {i} on {word} and water", "type": "decision", "source": f"{i % 3}.md"}
        for i, word in enumerate(["PostgreSQL", "Redis", "cheese", "bread", "wine", "Redis"] * 4)
    ]
    with lamina.open(tmp_path / "local", create=True, clock=CLOCK) as local:
        local.add(records[:20])
        local.add(records[20:])
        local.invalidate("n3", "no longer")
        with machines.open("a", create=True, clock=CLOCK, embedder=None) as a:
            a.add(records[:20])
            with machines.open("b", clock=CLOCK, embedder=None) as b:
                b.add(records[20:])
                a.invalidate("n3", "no longer")
                for vault in (a, b):
                    for query in ("Redis water", "PostgreSQL", "cheese or wine"):
                        for profile in ("default", "lexical", "temporal"):
                            want = local.recall(query, 12, profile=profile)
                            got = vault.recall(query, 12, profile=profile)
                            assert [(h.id, h.score, h.terms) for h in got] == [(h.id, h.score, h.terms) for h in want]
        with machines.open("c", mode="r", clock=CLOCK, embedder=None) as c:
            assert texts(c) == texts(local)
            assert c.verify(deep=True).ok
            with pytest.raises(lamina.VaultReadOnly):
                c.add("a reader writes nothing")


def test_of_two_writers_on_one_commit_only_one_commits(folder_machines: Machines, no_leases: None) -> None:
    """A hundred forced races: what a writer was told is committed is there, what it was told is not is not."""
    _race(folder_machines, 100)


def test_of_two_writers_on_a_server_only_one_commits(s3_machines: Machines, no_leases: None) -> None:
    _race(s3_machines, 20)


def _race(machines: Machines, rounds: int) -> None:
    a, b = _store(machines, "a"), _store(machines, "b")
    committed: list[str] = []
    for i in range(rounds):
        both = threading.Barrier(2)
        refused: list[BaseException] = []

        def write(store: Store, text: str, both: threading.Barrier = both, refused: Any = refused) -> None:
            try:
                with store.transaction() as transaction:
                    add_links(transaction, [text])
                    both.wait(10)  # both have begun, on the same commit
                committed.append(text)
            except VaultLocked as error:
                refused.append(error)

        threads = [threading.Thread(target=write, args=(store, f"{i}{name}")) for store, name in ((a, "a"), (b, "b"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 1, f"round {i}"
        assert "another writer has committed" in str(refused[0])
    assert len(committed) == rounds
    assert link_sources(_store(machines, "c")) == committed
    objects = Objects(machines.url)
    assert not list(PublishedFiles(machines.url).find_damage(deep=True))
    manifest = _newest(objects)
    named = {publishing.part_path(log, ref) for log, refs in manifest.logs.items() for ref in refs}
    assert set(objects.names("parts")) >= named


def _store(machines: Machines, name: str, *, create: bool = True) -> Store:
    machines.use(name)
    files = PublishedFiles(machines.url)
    return Store.create(files.root, files=files, clock=CLOCK) if create else Store(files.root, files=files, clock=CLOCK)


def _newest(objects: Objects) -> Any:
    files = PublishedFiles(objects.url)
    number = files._newest(0)
    assert number is not None
    found = files._commit(number)
    assert found is not None
    return found


def test_a_writer_that_slept_past_many_commits_is_refused(
    machines: Machines, no_leases: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number is free again, as old commits are removed: it must not be taken anew."""
    monkeypatch.setattr(publishing, "KEPT_COMMITS", 3)
    a, b = _store(machines, "a"), _store(machines, "b")

    def sleep_and_commit() -> None:
        with a.transaction() as transaction:
            add_links(transaction, ["slept"])
            for i in range(9):
                commit_links(b, f"b{i}")
            _settle(machines)

    with pytest.raises(VaultLocked, match="another writer has committed"):
        sleep_and_commit()
    assert len(Objects(machines.url).names("commits")) <= 5
    commit_links(a, "awake")
    assert link_sources(_store(machines, "c")) == [*(f"b{i}" for i in range(9)), "awake"]


def _settle(machines: Machines) -> None:
    """Wait until what commits remove in the background is gone."""
    objects = Objects(machines.url)
    last, deadline = None, time.monotonic() + 10
    while (found := objects.names("")) != last and time.monotonic() < deadline:
        last = found
        time.sleep(0.2)


def test_a_lease_holds_writers_back_and_runs_out_with_its_holder(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "LEASE_S", 0.6)
    a, b = _store(machines, "a"), _store(machines, "b")
    with a.exclusive(), pytest.raises(VaultLocked, match="another machine"), b.transaction(1.5):
        pytest.fail("two hold the lease")
    commit_links(b, "after")
    objects = Objects(machines.url)
    assert "lease" not in objects.names("")
    objects.write("lease", b"of a machine that was switched off")
    started = time.monotonic()
    commit_links(a, "next")
    assert time.monotonic() - started > 0.5
    assert link_sources(b) in (["after"], ["after", "next"])


def test_a_lease_that_a_machine_left_behind_is_taken_over_at_once(machines: Machines) -> None:
    """Of a writer that was killed, or could not reach the storage at its end; another machine waits until it runs out."""
    a, b = _store(machines, "a"), _store(machines, "b")
    commit_links(b, "first")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PublishedFiles, "_holds", lambda self, token: False)  # neither renewed nor given back
        commit_links(a, "left")
    objects = Objects(machines.url)
    assert "lease" in objects.names("")
    with pytest.raises(VaultLocked, match="another machine"), b.transaction(0.5):
        pytest.fail("two hold the lease")
    started = time.monotonic()
    commit_links(_store(machines, "a"), "again")  # as another process of that machine does
    assert time.monotonic() - started < 3.0
    assert "lease" not in objects.names("")
    assert link_sources(b) in (["first"], ["first", "left"], ["first", "left", "again"])


def test_a_repeated_request_that_meets_its_own_lease_has_it(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The storage created it, and was gone before it could say so."""
    a = _store(machines, "a")
    commit_links(a, "first")
    create = Objects.create

    def repeat(self: Objects, path: str, content: bytes) -> bool:
        return create(self, path, content) and (path != "lease" or create(self, path, content))

    monkeypatch.setattr(Objects, "create", repeat)
    started = time.monotonic()
    commit_links(a, "second")
    assert time.monotonic() - started < 3.0
    assert link_sources(a) == ["first", "second"]


def test_forgotten_bytes_are_in_no_object(machines: Machines) -> None:
    """Not in parts of interrupted commits, not in what was merged away, not in another machine's cache."""
    secret = "the word is xyzzyplugh"
    with machines.open("a", create=True) as a, machines.open("b") as b:
        ids = a.add(secret)
        for i in range(10):
            b.add(f"note {i}")
        objects = Objects(machines.url)
        part = next(path for path in objects.names("parts") if "/chunks/" in path)
        left = f"parts/000000000003/chunks/{part.rpartition('/')[2]}"
        objects.write(left, secret.encode())  # as an interrupted commit leaves it
        a.forget(ids=ids, dry_run=False)
        everything = {path: objects.read(path) or b"" for path in objects.names("")}
        assert left not in everything
        assert not [path for path, content in everything.items() if b"xyzzyplugh" in content]
        b.add("one more")
        caches = [vault.path for vault in (a, b)]
    for cache in caches:
        assert not [path for path in cache.rglob("*") if path.is_file() and b"xyzzyplugh" in path.read_bytes()]
    with machines.open("c", mode="r") as c:
        assert len(texts(c)) == 11
        assert c.verify(deep=True).ok


@pytest.mark.parametrize("harm", ["missing", "flipped"])
def test_a_part_that_is_missing_or_flipped_is_named(machines: Machines, harm: str) -> None:
    with machines.open("a", create=True) as a:
        a.add("something to lose")
        objects = Objects(machines.url)
        part = next(path for path in objects.names("parts") if "/chunks/" in path)
        content = objects.read(part)
        assert content is not None
        if harm == "missing":
            objects.delete([part])
        else:
            objects.write(part, content[:200] + bytes([content[200] ^ 1]) + content[201:])
        report = a.verify(deep=True)
        assert not report.ok
        assert [problem.where for problem in report.problems] == [part]
        with pytest.raises(VaultCorrupt, match=f"{part}.*{'missing' if harm == 'missing' else 'changed'}"):
            machines.open("b", mode="r")
        assert texts(a) == {"something to lose"}  # its cache is whole


def test_a_flipped_or_foreign_commit_is_named(machines: Machines) -> None:
    with machines.open("a", create=True) as a:
        a.add("x")
    objects = Objects(machines.url)
    newest = max(objects.names("commits"))
    content = objects.read(newest) or b""
    for wrong in (content[:-20] + b"!" + content[-19:], b"what is this?", content.replace(b"\n", b"", 1)):
        objects.write(newest, wrong)
        with pytest.raises(VaultCorrupt, match=newest):
            machines.open("b", mode="r")


def test_storage_without_conditional_writes_is_refused_for_writing(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    with machines.open("a", create=True) as a:
        a.add("safe")

    def overwrite(self: Objects, path: str, content: bytes) -> bool:
        self.write(path, content)
        return True

    monkeypatch.setattr(Objects, "create", overwrite)
    with pytest.raises(StoreUnsafe, match="If-None-Match"):
        machines.open("b")
    with machines.open("b", mode="r") as b:
        assert texts(b) == {"safe"}
    assert not [path for path in Objects(machines.url).names("") if path.startswith("probe")]


def test_a_wrong_bucket_wrong_keys_and_no_server(
    s3_machines: Machines, s3: SeaweedFS, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with s3_machines.open("a", create=True) as a:
        a.add("there")
    with pytest.raises(VaultNotFound, match="no such bucket"):
        lamina.open("s3://lamina-no-such-bucket/vault", create=True)
    with pytest.raises(VaultNotFound, match=r"no commits.*lamina init"):
        lamina.open(f"s3://{BUCKET}/nothing/here")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    for mode in ("r", "w"):
        with pytest.raises(StoreDenied, match="SignatureDoesNotMatch") as found:
            s3_machines.open("b", mode=mode)
        assert "wrong" not in str(found.value)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StoreUnreachable, match="can be reached"):
        s3_machines.open("b")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://host/vault", "give s3://"),
        ("s3://key:secret@bucket/vault", "no credentials"),
        ("s3://bucket/vault?access_key=1", "no credentials"),
        ("s3:///vault", "s3://bucket/folder"),
    ],
)
def test_addresses_that_cannot_be_used(url: str, says: str) -> None:
    pytest.importorskip("obstore", reason="needs lamina[cluster]")
    with pytest.raises(InvalidArgument, match=says) as found:
        lamina.open(url)
    assert "secret@" not in str(found.value)


def test_the_server_is_killed_and_started_again(
    tmp_path_factory: pytest.TempPathFactory, s3_machines: Machines, monkeypatch: pytest.MonkeyPatch, at_once: None
) -> None:
    """While it is away every call is a typed error; afterwards all that was acknowledged is there."""
    server = SeaweedFS(tmp_path_factory.mktemp("killed"))
    server.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    known: set[str] = set()
    monkeypatch.setattr("lamina_engine.store.objects._RETRIES", 1)
    try:
        with s3_machines.open("a", create=True) as a:
            for i in range(2):
                a.add(f"before {i}")
                known.add(f"before {i}")
                server.kill()
                with pytest.raises(StoreUnreachable):
                    a.add(f"while away {i}")
                with pytest.raises(StoreUnreachable):
                    a.recall("before")
                server.start()
                a.add(f"after {i}")
                known.add(f"after {i}")
            assert texts(a) >= known
        with s3_machines.open("b", mode="r") as b:
            assert known <= texts(b) <= known | {f"while away {i}" for i in range(2)}
            assert b.verify(deep=True).ok
    finally:
        server.kill()


class Stopped(BaseException):
    """The machine is switched off."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # threads die with their machine
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_writer_that_dies_at_any_request_loses_nothing(
    folder_machines: Machines, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    """At each request of an add and of a forget in turn; the next machine goes on from what was acknowledged."""
    monkeypatch.setattr(publishing, "LEASE_S", 0.05)
    machines = folder_machines
    real = {name: getattr(Objects, name) for name in ("create", "write", "delete", "read")}
    count, stop = [0], [0]

    def counted(name: str) -> Any:
        def act(self: Objects, *given: Any) -> Any:
            if stop[0] and count[0] >= stop[0]:
                raise Stopped
            count[0] += 1
            if count[0] == stop[0]:
                if after:
                    real[name](self, *given)
                raise Stopped
            return real[name](self, *given)

        return act

    for name in real:
        monkeypatch.setattr(Objects, name, counted(name))
    monkeypatch.setattr(PublishedFiles, "_renew", lambda self, token, done: None)
    with machines.open("first", create=True) as first:
        first.add("kept")
    at, ended = 1, False
    known = {"kept"}
    while not ended:
        vault = machines.open(f"m{at}")
        count[0], stop[0] = 0, at
        try:
            ids = vault.add(f"say {at}")
            known.add(f"say {at}")
            vault.forget(ids=ids, dry_run=False)
            known.discard(f"say {at}")
            ended = True
        except Stopped:
            pass
        stop[0] = 0
        with machines.open("reader", mode="r") as reader:
            found = texts(reader)
            assert known - {f"say {at}"} <= found <= known | {f"say {at}"}
            if f"say {at}" in known and not ended:
                assert f"say {at}" in found or count[0] > 8  # or it was forgotten, and that was not acknowledged
            known = found
            assert reader.verify(deep=True).ok
        shutil.rmtree(vault.path)
        at += 1
    assert at > 15


def test_a_cache_may_go_at_any_time(machines: Machines, at_once: None) -> None:
    with machines.open("a", create=True) as a:
        a.add("one")
        shutil.rmtree(a.path)
        assert texts(a) == {"one"}
        shutil.rmtree(a.path)
        a.add("two")
        assert texts(a) == {"one", "two"}
        for harm in ("CURRENT", "manifests", "log"):
            target = a.path / harm
            target.unlink() if target.is_file() else shutil.rmtree(target)
            with machines.open("a") as again:
                assert texts(again) == {"one", "two"}


def test_a_cache_that_lost_files_waits_for_whoever_writes_there(machines: Machines, at_once: None) -> None:
    with machines.open("a", create=True) as a:
        a.add("one")
        held, leave = threading.Event(), threading.Event()

        def hold() -> None:
            with write_lock(a.path, 10.0):
                held.set()
                leave.wait(10.0)

        holding = threading.Thread(target=hold)
        holding.start()
        assert held.wait(10.0)
        shutil.rmtree(a.path / "log")
        threading.Timer(0.3, leave.set).start()
        with machines.open("a", mode="r") as again:
            assert leave.is_set()
            assert texts(again) == {"one"}
        holding.join()


def test_a_commit_made_while_another_process_looks_does_not_empty_the_cache(
    machines: Machines, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    emptied: list[Path] = []
    look = PublishedFiles._newest
    with machines.open("a", create=True) as a:
        a.add("one")
        monkeypatch.setattr(cachefolders, "empty", emptied.append)

        def look_before_a_commit(files: PublishedFiles, known: int) -> int | None:
            found = look(files, known)
            monkeypatch.setattr(PublishedFiles, "_newest", look)
            a.add("two")
            return found

        monkeypatch.setattr(PublishedFiles, "_newest", look_before_a_commit)
        with machines.open("a", mode="r") as again:
            assert texts(again) == {"one", "two"}
    assert emptied == []


def test_another_vault_at_the_address_empties_the_cache(machines: Machines) -> None:
    with machines.open("a", create=True) as a:
        a.add("the old one")
    objects = Objects(machines.url)
    objects.delete(list(objects.names("")))
    with pytest.raises(VaultNotFound):
        machines.open("a")
    with machines.open("b", create=True) as b:
        b.add("the new one")
        b.add("and more")
    with machines.open("a", mode="r") as a:
        assert texts(a) == {"the new one", "and more"}


def test_caches_keep_to_their_limit(folder_machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore")
    cache = folder_machines.use("a")
    monkeypatch.setattr("lamina_engine.store.cachefolders.IN_USE_S", 0.0)
    urls = [f"file://{tmp_path / f'vault{i}'}" for i in range(3)]
    for url in urls:
        with lamina.open(url, create=True, embedder="none") as vault:
            vault.add("x" * 20_000)
        time.sleep(0.02)
    assert len(list(cache.iterdir())) == 3
    shutil.rmtree(cache / hashlib.sha256(f"{urls[2]} ".encode()).hexdigest()[:24])
    monkeypatch.setenv("LAMINA_CACHE_BYTES", "70000")
    with lamina.open(urls[2], mode="r", embedder="none") as vault:
        assert len(vault) == 1
    assert len(list(cache.iterdir())) < 3
    for url in urls:  # what was removed is fetched again
        with lamina.open(url, mode="r", embedder="none") as vault:
            assert len(vault) == 1
    monkeypatch.setenv("LAMINA_CACHE_BYTES", "1000")
    shutil.rmtree(cache)
    with pytest.raises(InvalidConfig, match="allows 1,000"):
        lamina.open(urls[0], mode="r", embedder="none")
    monkeypatch.setenv("LAMINA_CACHE_BYTES", "a lot")
    with pytest.raises(InvalidConfig, match="number of bytes"):
        lamina.open(urls[0], mode="r", embedder="none")


def test_readers_meet_no_gap_while_parts_are_merged_away(machines: Machines, at_once: None) -> None:
    """Cold readers open while a writer commits and its merges remove parts."""
    with machines.open("a", create=True) as a:
        failures: list[BaseException] = []
        written: list[int] = []

        def write() -> None:
            try:
                for i in range(40):
                    a.add(f"note {i}")
                    written.append(i)
            except BaseException as error:
                failures.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        n = 0
        while writer.is_alive():
            n += 1
            least = len(written)
            with machines.open(f"reader{n}", mode="r") as reader:
                assert len(texts(reader)) >= least
        writer.join()
        assert not failures
        assert n > 1


def test_settings_go_with_the_vault(machines: Machines) -> None:
    from lamina.vault import write_settings

    with machines.open("a", create=True) as a:
        write_settings(a, 'tz = "Asia/Tokyo"\n')
        with machines.open("b", mode="r") as b:
            assert b.tz == "Asia/Tokyo"
        a.add("x")
        a.reindex(embedder="wordllama-64")
    with machines.open("c", mode="r", embedder=None) as c:
        assert c.stats()["embedding"]["dim"] == 64
        assert (c.path / "vault.toml").read_text().count("wordllama-64") == 1
        assert c.verify(deep=True).ok


def test_every_command_takes_an_address(s3_machines: Machines, tmp_path: Path) -> None:
    s3_machines.use("cli")
    (tmp_path / "note.md").write_text("# Cheese\n\nWe moved the cheese to the cellar.\n")

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "lamina", *words, "--vault", s3_machines.url],
            capture_output=True, text=True, cwd=tmp_path, timeout=120,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    assert "no commits" in run("list", code=1)
    assert s3_machines.url in run("init", "--name", "shared", "--embedder", "none")
    assert "There is a vault already" in run("init")
    run("ingest", str(tmp_path / "note.md"))
    run("add", "We eat bread.")
    assert "cellar" in run("recall", "where is the cheese")
    assert "ok" in run("verify", "--deep")
    assert "shared" in run("init")
    run("compact")
    run("backup", str(tmp_path / "copy"))
    with lamina.open(tmp_path / "copy") as copy:
        copy.add("the copy is a vault of its own")
        assert len(copy) == 3
    assert "2" in run("stats")


def test_without_the_extra_nothing_of_it_is_imported(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["obstore"] = None
import lamina
with lamina.open({str(tmp_path / "v")!r}, create=True, embedder="none") as vault:
    vault.add("local")
    vault.recall("local")
assert not [name for name in sys.modules if name.startswith(("obstore.", "ray", "lamina_engine.store.publishing"))]
try:
    lamina.open("s3://bucket/vault")
except lamina.MissingExtra as error:
    assert "cluster" in str(error)
else:
    raise SystemExit("opened")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
