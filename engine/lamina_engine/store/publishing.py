"""Vaults on object storage: commits that only one writer can create, and a cache folder.

Below its address a vault has ``commits/<number>`` (a manifest, created once and never replaced), ``parts/<number>/<log>/...``
(the segments that a commit wrote), ``vault.toml``, and ``lease`` while somebody writes. Indexes are built in the cache
folder and not published: each machine has its own.

Two writers cannot both create commit n, whatever their clocks and leases say: the other one is refused, and its parts are
removed. The parts of commit n lie below n, so whoever removes what no commit names, up to its own number, never meets
those of a commit still under way. A commit's object goes only once `KEPT_COMMITS` newer ones are there, and a writer
that finds so many after its own was creating an old number anew: it is refused, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from lamina_engine import config
from lamina_engine.errors import StoreUnreachable, StoreUnsafe, VaultCorrupt, VaultLocked, VaultNotFound
from lamina_engine.real_files import create_file, read_file
from lamina_engine.store import cachefolders, segments
from lamina_engine.store import manifest as manifests
from lamina_engine.store.files import Files, PendingFile, run_in_background
from lamina_engine.store.lock import LOCK_TIMEOUT_S, write_lock
from lamina_engine.store.manifest import Manifest, SegmentRef
from lamina_engine.store.objects import Objects, damaged

T = TypeVar("T")

COMMITS: Final = "commits"
PARTS: Final = "parts"
LEASE: Final = "lease"
KEPT_COMMITS: Final = 64
REFRESH_S: Final = 1.0
"""Readers look for newer commits at most so often; writers do at every write."""
LEASE_S: Final = 6.0
"""A lease that has not been renewed for so long, on the watch of whoever waits, is over."""
_TOKEN_BYTES: Final = 16
_POLL_S: Final = 0.05
_AT_ONCE: Final = 8
"""Parts that are read or written side by side."""
_ATTEMPTS: Final = 20


def commit_path(number: int) -> str:
    """Return the object of a commit."""
    return f"{COMMITS}/{number:012d}"


def part_path(log: str, ref: SegmentRef) -> str:
    """Return the object of a segment, below the commit that wrote it."""
    return f"{PARTS}/{ref.commit:012d}/{log}/{ref.name}"


class _PartMissing(Exception):
    """A commit names a part that is gone: it was merged away, or lost."""


class PublishedFiles(Files):
    """Files of a cache folder that are published to object storage, commit by commit."""

    is_cache = True

    def __init__(self, url: str) -> None:
        self.objects = Objects(url)
        self.url = self.objects.url
        self.root = cachefolders.cache_folder(self.objects.identity)
        self._due = 0.0
        self._seen = False
        """True once this process has compared the cache with the storage."""
        self._checked = False
        self._fetching = threading.Lock()

    # ------------------------------------------------------------------ who may write

    def check_commits(self) -> None:
        """Raise StoreUnsafe unless the storage refuses to create an object twice; it is tried."""
        if self._checked:
            return
        path = f"probe-{os.urandom(8).hex()}"
        safe = self.objects.create(path, b"1") and not self.objects.create(path, b"2")
        self.objects.delete([path])
        if not safe:
            raise StoreUnsafe(
                f"{self.url}: this storage lets two writers create the same object (it ignores If-None-Match), so one could "
                "lose the other's commits; use one with conditional writes, or open the vault with mode='r'"
            )
        self._checked = True

    @contextlib.contextmanager
    def lease(self, timeout_s: float) -> Iterator[None]:
        """Hold the lease, so that writers of other machines wait; commits are safe without it, too."""
        token = os.urandom(8).hex()
        self._take_lease(token, timeout_s)
        done = threading.Event()
        renewing = threading.Thread(target=self._renew, args=(token, done), name="lamina-lease", daemon=True)
        process = os.getpid()
        renewing.start()
        try:
            yield
        finally:
            if os.getpid() == process:
                done.set()
                renewing.join()
                with contextlib.suppress(StoreUnreachable):  # it runs out by itself
                    if self._holds(token):
                        self.objects.delete([LEASE])

    def _take_lease(self, token: str, timeout_s: float) -> None:
        """Create the lease, or take over one that has run out or that this machine left behind.

        Under the lock of the cache folder, nobody else of this machine holds it: a writer that was killed, or that could not
        reach the storage at its end, left it. And a request that is repeated may meet the lease that it has just created.
        """
        mine = (token.encode(), self._note_token(token))
        deadline = time.monotonic() + timeout_s
        seen, since = None, 0.0
        while not self.objects.create(LEASE, f"{token} 0".encode()):
            now, found = time.monotonic(), self.objects.read(LEASE)
            if found is not None and found.startswith(mine):
                self.objects.write(LEASE, f"{token} 0".encode())
                return
            if found != seen:
                seen, since = found, now
            elif found is not None and now - since > LEASE_S:
                self.objects.delete([LEASE])
                continue
            if now > deadline:
                raise VaultLocked(
                    f"another machine has been writing to {self.url} for more than {timeout_s:g} s; "
                    "wait for it (lamina.open takes a longer lock_timeout_s)"
                )
            time.sleep(_POLL_S)

    def _note_token(self, token: str) -> bytes:
        """Note the lease that is about to be taken, beside its cache; return the one noted before."""
        path = self.root / LEASE
        try:
            former = read_file(path, _TOKEN_BYTES)
        except OSError:
            former = b""
        with os.fdopen(create_file(path), "wb") as file:
            file.write(token.encode())
        return former if len(former) == _TOKEN_BYTES else token.encode()

    def _renew(self, token: str, done: threading.Event) -> None:
        count = 0
        while not done.wait(LEASE_S / 3):
            count += 1
            with contextlib.suppress(Exception):  # a lease that is lost costs a refused commit, and no more
                if self._holds(token):
                    self.objects.write(LEASE, f"{token} {count}".encode())

    def _holds(self, token: str) -> bool:
        return (self.objects.read(LEASE) or b"").startswith(token.encode())

    # ------------------------------------------------------------------ from the storage

    def fetch(self, root: Path, *, again: bool = True, locked: bool = False) -> None:
        """Bring the cache folder to the newest commit; unless ``again``, only every `REFRESH_S`."""
        if root != self.root or (not again and time.monotonic() < self._due):
            return
        if not self._fetching.acquire(blocking=again):
            return
        try:
            self._fetch(locked=locked)
            self._due = time.monotonic() + REFRESH_S
        finally:
            self._fetching.release()

    def _fetch(self, *, locked: bool) -> None:
        here = self._local()
        known = here.commits if here is not None else 0
        newest = self._newest(known)
        if newest is None or here is None or newest != here.commits or not self._seen:
            self.make_vault_folder(self.root)
            if locked:
                self._bring(newest)
            else:
                self._bring_locked(known, wait=not self._is_whole())
        self._seen = True
        cachefolders.touch(self.root)

    def _bring_locked(self, known: int, *, wait: bool) -> None:
        """Bring the newest commit under the folder's lock, or leave it to whoever has that."""
        try:
            with write_lock(self.root, LOCK_TIMEOUT_S if wait else 0.0):
                self._bring(self._newest(known))  # such a writer may have committed meanwhile
        except VaultLocked:  # it began with the newest, and brings its own along
            if wait:
                raise

    def _newest(self, known: int) -> int | None:
        """Return the number of the newest commit; None where there is none."""
        after = commit_path(known - 1) if known > 0 else None
        found = self.objects.names(COMMITS, after) or (self.objects.names(COMMITS) if after else {})
        return max((int(path.rpartition("/")[2]) for path in found), default=None)

    def _bring(self, number: int | None) -> None:
        for _ in range(_ATTEMPTS):
            if number is None:
                cachefolders.empty(self.root)
                raise VaultNotFound(f"{self.url} is not a Lamina vault: it has no commits; make one with `lamina init`")
            found = self._commit(number)
            if found is None:  # so old by now that it is gone
                number = self._newest(number)
                continue
            here = self._local()
            if here is not None and (here.vault != found.vault or here.commits > found.version):
                cachefolders.empty(self.root)  # another vault is at this address now, or an older copy of this one
                here = None
            try:
                if here is None or here.commits < found.version or not self._has_all(found):
                    self._bring_commit(found, here)
                self._bring_settings()
            except _PartMissing as missing:
                newer = self._newest(number)
                if newer == number:
                    raise damaged(self.url, str(missing), "is missing") from None
                number = newer
                continue
            return
        raise VaultCorrupt(
            f"{self.url}: its commits change faster than they can be read; is something deleting its objects?"
        )

    def _commit(self, number: int) -> Manifest | None:
        """Return what a commit published; None where it is gone, or only its name is kept."""
        path = commit_path(number)
        content = self.objects.read(path)
        if not content:
            return None
        name, _, rest = content.partition(b"\n")
        text = name.decode("ascii", "replace")
        if not manifests.is_manifest_name(text) or manifests.version_of(text) != number:
            raise damaged(self.url, path, "is not a commit of Lamina's")
        return manifests.decode(text, rest, self.url, f"{self.url}/{path}")

    def _bring_commit(self, found: Manifest, here: Manifest | None) -> None:
        """Fetch the parts of a commit, and make it the folder's newest version."""
        parts = list(_parts(found).values())
        missing = [(log, ref) for log, ref in parts if not self._has(log, ref)]
        if missing:
            cachefolders.make_room(self.root, sum(ref.size for _, ref in parts), self.url)
        for name in (segments.LOG, manifests.MANIFESTS, "index"):
            self.make_folder(self.root / name)
        for log in {log for log, _ in missing}:
            self.make_folder(segments.log_folder(self.root, log))
        _each_at_once(lambda each: self._fetch_part(*each), missing)
        for log in {log for log, _ in missing}:
            self.flush_folder(segments.log_folder(self.root, log))
        version = found.version if here is None else here.version + 1
        rewritten = 0 if here is None else version if found.rewritten > here.commits else here.rewritten
        kept = (
            here is not None
            and rewritten == here.rewritten
            and (here.spaces, here.space) == (found.spaces, found.space)
        )
        plain = Files()  # which publishes nothing
        manifests.publish(
            plain, self.root,
            msgspec.structs.replace(
                found, version=version, commits=found.version, rewritten=rewritten,
                indexes=here.indexes if here is not None and kept else {},
            ),
        )  # fmt: skip

    def _is_whole(self) -> bool:
        """Return whether the folder has a version and all of its parts."""
        here = self._local()  # anew: since the last look it may have been merged away
        return here is not None and self._has_all(here)

    def _has_all(self, manifest: Manifest) -> bool:
        return all(self._has(*each) for each in _parts(manifest).values())

    def _has(self, log: str, ref: SegmentRef) -> bool:
        try:
            return os.lstat(segments.segment_path(self.root, log, ref.name)).st_size == ref.size
        except OSError:
            return False

    def _fetch_part(self, log: str, ref: SegmentRef) -> None:
        path = part_path(log, ref)
        content = self.objects.read(path)
        if content is None:
            raise _PartMissing(path)
        if hashlib.sha256(content).hexdigest() != ref.digest:
            raise damaged(self.url, path, "has changed since it was written")
        super().publish(segments.segment_path(self.root, log, ref.name), [content])

    def _bring_settings(self) -> None:
        content = self.objects.read(config.FILE)
        path = self.root / config.FILE
        if content is None:
            path.unlink(missing_ok=True)
        elif not path.exists() or read_file(path, config.MOST_BYTES) != content:
            super().write_settings(self.root, content)

    def _local(self) -> Manifest | None:
        """Return the version in the cache folder; None where none can be read."""
        try:
            return manifests.load_newest(self.root)[1]
        except (OSError, VaultCorrupt):
            return None

    # ------------------------------------------------------------------ to the storage

    def write_settings(self, root: Path, content: bytes) -> None:
        """Replace ``vault.toml`` on the storage, then here."""
        if root == self.root:
            self.objects.write(config.FILE, content)
        super().write_settings(root, content)

    def swap(self, file: PendingFile) -> None:
        """Publish the version that CURRENT is to name, then swap it here."""
        place = Path(file.path)
        if place.parent == self.root and place.name == manifests.CURRENT:
            name = Path(file.aside).read_text("ascii").strip()
            old, new = self._local(), manifests.load(self.root, name)
            if old is None or new.commits != old.commits:  # else it notes indexes alone
                self._publish(new, changes_rows=new.rewritten == new.version)
        super().swap(file)

    def _publish(self, new: Manifest, *, changes_rows: bool) -> None:
        number = new.commits
        before = self._commit(number - 1) if number > 1 else None
        if (before is None) != (number == 1) or (before is not None and before.vault != new.vault):
            raise self._refusal()
        named = {} if before is None else _parts(before)
        parts = {path: place for path, place in _parts(new).items() if path not in named}
        published = msgspec.structs.replace(
            new, version=number, indexes={},
            rewritten=number if changes_rows else 0 if before is None else before.rewritten,
        )  # fmt: skip
        name, content = manifests.encode(published)
        written = name.encode() + b"\n" + content
        try:
            _each_at_once(lambda each: self.objects.write(each[0], self._place(*each[1])), list(parts.items()))
            self._create_commit(number, written)
        except BaseException:
            self._withdraw(number, parts)
            raise
        gone = [path for path in named if path not in _parts(new)]
        if changes_rows:
            self._remove_unnamed(number, published)
        else:
            run_in_background(self._remove, gone, number - KEPT_COMMITS)

    def _create_commit(self, number: int, content: bytes) -> None:
        path = commit_path(number)
        try:
            created = self.objects.create(path, content)
        except StoreUnreachable as error:
            if self._read_again(path) != content:
                raise StoreUnreachable(
                    f"{error}; whether this write was committed is not known: look, or write it again (what is there already "
                    "is not added twice)"
                ) from None
            created = True
        if not created and self.objects.read(path) != content:  # a try that was repeated may meet what it created
            raise self._refusal()
        newest = self._newest(number)
        if newest is not None and newest >= number + KEPT_COMMITS:
            self.objects.delete([path])
            raise self._refusal()

    def _read_again(self, path: str) -> bytes | None:
        with contextlib.suppress(StoreUnreachable):
            return self.objects.read(path)
        return None

    def _refusal(self) -> VaultLocked:
        return VaultLocked(
            f"another writer has committed to {self.url} within this transaction; nothing was written, try again"
        )

    def _withdraw(self, number: int, parts: Iterable[str]) -> None:
        """Remove the parts of a commit that was refused, but those that the winner names, too."""
        with contextlib.suppress(Exception):  # the next forget removes them
            winner = self._commit(number)
            kept = _parts(winner) if winner is not None else {}
            if winner is not None:
                self.objects.delete([path for path in parts if path not in kept])

    def _remove(self, paths: Sequence[str], last_commit: int) -> None:
        with contextlib.suppress(Exception):  # costs room, and the next forget or compaction removes them
            self.objects.delete(paths)
            old = [path for path in self.objects.names(COMMITS) if path <= commit_path(last_commit)]
            self.objects.delete(sorted(old))

    def _remove_unnamed(self, number: int, manifest: Manifest) -> None:
        """Remove every part that no later commit can name, and empty the older commits."""
        kept = _parts(manifest)
        parts = self.objects.names(PARTS, None)
        self.objects.delete([path for path in parts if path not in kept and int(path.split("/")[1]) <= number])
        for path, size in self.objects.names(COMMITS).items():
            if path < commit_path(number) and size:
                self.objects.write(path, b"")

    def _place(self, log: str, ref: SegmentRef) -> Path:
        return Path(segments.segment_path(self.root, log, ref.name))

    # ------------------------------------------------------------------ verify

    def find_damage(self, *, deep: bool) -> Iterator[tuple[str, str]]:
        """Yield objects of the newest commit that are missing or changed, and the damage."""
        number = self._newest(0)
        found = self._commit(number) if number is not None else None
        if found is None:
            yield COMMITS, "has no commit"
            return
        sizes = self.objects.names(PARTS)
        for path, (_, ref) in _parts(found).items():
            if path not in sizes:
                yield path, "is missing"
            elif sizes[path] != ref.size:
                yield path, f"has {sizes[path]} bytes where {ref.size} were written"
            elif deep and hashlib.sha256(self.objects.read(path) or b"").hexdigest() != ref.digest:
                yield path, "has changed since it was written"


def _parts(manifest: Manifest) -> dict[str, tuple[str, SegmentRef]]:
    return {part_path(log, ref): (log, ref) for log, refs in manifest.logs.items() for ref in refs}


def _each_at_once(act: Callable[[T], None], items: Sequence[T]) -> None:
    """Apply a function to all items, some at once; raise the first failure."""
    if len(items) < 2:
        for item in items:
            act(item)
        return
    with ThreadPoolExecutor(min(_AT_ONCE, len(items))) as pool:
        for _ in pool.map(act, items):
            pass
