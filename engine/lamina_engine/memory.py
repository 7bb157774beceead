"""Open vault: its store, embedder and indexes, and the view that calls read through."""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401  here, since nobody can once the process ends, and a handler may still write
import contextlib
import copy
import logging
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine import config as configuration
from lamina_engine.arguments import check_methods, seconds_of
from lamina_engine.chunks import access_journal as accesses
from lamina_engine.clock import Clock, FixedClock, Instant, utc_datetime
from lamina_engine.embed.protocol import Embedder
from lamina_engine.embed.resolve import EmbedderSpec as Spec
from lamina_engine.embed.resolve import check_embedder, embedder_name, resolve
from lamina_engine.errors import (
    EmbedderMismatch,
    EmbeddingError,
    InvalidArgument,
    LaminaError,
    VaultLocked,
    VaultReadOnly,
    describe_value,
)
from lamina_engine.index import native
from lamina_engine.index.tables import NO_MORE, BulkHint, Tables
from lamina_engine.index.view import View
from lamina_engine.profiles import Profiles
from lamina_engine.settings import load as load_settings
from lamina_engine.store import unlinked
from lamina_engine.store.files import Files
from lamina_engine.store.lock import LOCK_TIMEOUT_S
from lamina_engine.store.manifest import Space
from lamina_engine.store.segments import CHECKED_BYTES
from lamina_engine.store.snapshot import Snapshot
from lamina_engine.store.store import INDEX, Store

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from lamina_engine.index.indexer import Indexer
    from lamina_engine.redact.redactor import Redactor
    from lamina_engine.store.transaction import Transaction

DEFAULT_SPACE = "default"
_WARM_AT = 2
_CHECK_AFTER_S = 20.0
"""A process that lives so long reads large segments whole once; one that answers and ends does not."""
_CHECK_AT = 2
"""The second write of a process says that more will come: its indexes are then read whole once."""


class Memory:
    """An open vault. Safe to use from several threads."""

    def __init__(
        self,
        root: Path,
        *,
        mode: str = "w",
        create: bool = False,
        clock: Clock | None = None,
        embedder: Spec = None,
        redactor: Redactor | None = None,
        files: Files | None = None,
        check_trust: Callable[[Path], None] | None = None,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        if mode not in ("r", "w"):
            raise InvalidArgument(f"mode={mode!r} must be 'r' (read) or 'w' (read and write)")
        check_methods(clock, "clock", ("now_us",), "lamina.FixedClock(moment)")
        check_methods(redactor, "redactor", ("clean", "clean_batch"), "lamina.Redactor(action)")
        seconds_of(lock_timeout_s, "lock_timeout_s")
        check_embedder(embedder)
        if not isinstance(settings, Mapping | None):
            raise InvalidArgument(f"{describe_value('settings', settings)}; give a mapping of names to values")
        if create and mode == "w":
            Store.create(root, clock=clock, files=files, lock_timeout_s=lock_timeout_s, check_trust=check_trust)
        self.root = root
        self.store = self._open_store(mode, clock, files, check_trust)
        self.config = configuration.load(root)
        self.settings = load_settings(self.config.settings, arguments=settings)
        self.profiles = Profiles(self.config.profiles, self.settings.adjustments())
        self.profiles.get(self.config.profile)
        self._redactor = redactor
        self.lock_timeout_s = lock_timeout_s
        self.tables = self._make_tables()
        self._indexer: Indexer | None = None
        self._spec: Spec = embedder
        self._embedder: Embedder | None = None
        self._embedders: dict[str, Embedder] = {}
        """Embedders by identity that a reindex of this process has had: one space is read while another is new."""
        self._view: View | None = None
        self._past: Clock | None = None
        self._generation = self.store.snapshot().generation
        self._recalls = 0
        self._writes = 0
        self._soundness: threading.Thread | None = None
        self._check_due = threading.Event()
        self._begun = False
        self._closed = False
        self._lock = after_fork.make_lock()
        self._view_lock = after_fork.make_lock()
        after_fork.register_after_fork(self)
        self._cache_indexer = self._index_cache() if self.store.files.is_cache else None
        if any(ref.size >= CHECKED_BYTES for refs in self.store.last_seen.manifest.logs.values() for ref in refs):
            self._check_in_background(_CHECK_AFTER_S)

    def _open_store(
        self, mode: str, clock: Clock | None, files: Files | None, check_trust: Callable[[Path], None] | None
    ) -> Store:
        return Store(self.root, mode=mode, clock=clock, files=files, check_trust=check_trust)

    def _make_tables(self, distrusted: Collection[str] = ()) -> Tables:
        return Tables(self.root / INDEX, distrusted)

    @property
    def shards(self) -> Sequence[Memory]:
        """The vaults that hold its rows, where it is sharded."""
        return ()

    @property
    def incomplete(self) -> tuple[str, ...]:
        """Shards without which the newest version seen is read, by name."""
        return self.store.last_seen.missing

    @property
    def redactor(self) -> Redactor:
        """Redactor of secrets, made on first use: readers need none of its patterns."""
        if self._redactor is None:
            from lamina_engine.redact.redactor import Redactor

            self._redactor = Redactor()
        return self._redactor

    @property
    def indexer(self) -> Indexer:
        """Indexer that syncs the indexes with the log, made on first use by a writer."""
        if self._indexer is None:
            from lamina_engine.index.indexer import Indexer

            with self._lock:
                if self._indexer is None:
                    self._indexer = Indexer(self.store, self.tables)
                return self._indexer
        return self._indexer

    def _index_cache(self) -> Indexer | None:
        """Build the indexes of a cache folder: none are published, so none were fetched."""
        from lamina_engine.index.indexer import Indexer

        plain = Store(self.root, clock=self.store.clock)  # its commits note indexes alone, and stay in the folder
        indexer = Indexer(plain, self.tables)
        if not indexer.is_behind():
            return None
        with contextlib.suppress(VaultLocked), plain.exclusive(0.0):  # else a writer of this machine sees to it
            indexer.catch_up(lambda: View(plain.snapshot(), self.tables))
        return indexer

    @property
    def clock(self) -> Clock:
        """Clock of the vault; at a past moment it stands there."""
        return self._past or self.store.clock

    @property
    def embedder(self) -> Embedder:
        """The embedder; loaded when first asked for."""
        if self._embedder is None:
            with self._lock:
                if self._embedder is None:
                    self._embedder = self._resolve()
        return self._embedder

    def _resolve(self) -> Embedder:
        if self._spec is None and self.config.embedding.model == "custom":
            raise EmbeddingError(
                f"{self.root} was made with an embedder of its caller's; open it with embedder=... (the same model)"
            )
        return resolve(self._spec if self._spec is not None else self.config.embedding.model)

    def embedder_for(self, space: Space | None) -> Embedder:
        """Return the embedder of a space if it is available, else the current one.

        Where the vault chooses its model and another process has changed it since, the new one is taken.
        """
        if space is None:
            return self.embedder
        known = self._embedders.get(space.identity)
        if known is None and self._spec is None:
            present = self._embedder
            known = present if present is not None and present.identity == space.identity else self._follow(space)
        return known if known is not None else self.embedder

    def vector_share(self, space: Space | None) -> float:
        """Return the share of vectors in a space: as tuned here, else as its model asks."""
        tuned = self.config.embedding.shares.get(space.identity) if space is not None else None
        return self.embedder_for(space).lane_weight if tuned is None else tuned

    def _follow(self, space: Space) -> Embedder | None:
        """Find a space's model in ``vault.toml``, or, as that is written later, among the bundled."""
        config = configuration.load(self.root)
        for name in dict.fromkeys((config.embedding.model, *configuration.EMBEDDERS)):
            if name == "custom":
                continue
            with contextlib.suppress(LaminaError):
                found = resolve(name)
                if found.identity == space.identity:
                    self.config, self._embedder = config, found
                    return found
        return None

    def cache_embedders(self, *embedders: Embedder | None) -> None:
        """Cache embedders by the identity of their spaces."""
        self._embedders.update({each.identity: each for each in embedders if each is not None and each.dim})

    def set_embedder(self, embedder: Embedder) -> None:
        """Replace the embedder, and reload the configuration."""
        self._embedder = embedder
        self._spec = (
            embedder if embedder_name(embedder) == "custom" else None
        )  # by name it is the vault's own choice from now on
        self.config = configuration.load(self.root)

    def view(self) -> View:
        """Return the newest version, ready to be read; the same object until something is committed."""
        self.check_open()
        view = self.view_of(self.store.snapshot())
        return view if self._past is None else view.at(self._past.now_us())

    def at(self, moment_us: int) -> Memory:
        """Return this memory as it was known at a moment, for reading; both share their files."""
        moment = utc_datetime(moment_us)
        if moment is None:
            raise InvalidArgument(f"moment {moment_us} is outside the years 1 to 9999")
        past = copy.copy(self)
        past._past = FixedClock(moment)
        return past

    @property
    def closed(self) -> bool:
        """True once the vault was closed."""
        return self._closed

    def check_open(self) -> None:
        """Refuse to go on with a vault that has been closed."""
        if self._closed:
            raise InvalidArgument(f"{self.root} was closed; open it again")

    def view_of(self, snapshot: Snapshot) -> View:
        """Return a version, ready to be read."""
        view = self._view
        if view is not None and view.snapshot is snapshot:
            return view
        generation = snapshot.generation
        with self._view_lock:
            if generation < self._generation:  # seen just before another thread began the next one
                return View(snapshot, self._make_tables())
            if generation > self._generation:
                self._begin_generation(generation)
            self._view = View(snapshot, self.tables, former=self._view)
            return self._view

    def _begin_generation(self, generation: int) -> None:
        """Replace the derived tables after a forget; older views keep theirs."""
        self._replace_tables(self._make_tables())
        self._generation = generation

    def reset_after_fork(self) -> None:
        """Reset derived state in a forked child, as a thread of the parent may have held it."""
        self._replace_tables(self._make_tables(self.tables.distrusted))

    def _replace_tables(self, tables: Tables) -> None:
        with self._lock:
            self.tables = tables
            if self._indexer is not None:
                self._indexer.text.give_up()
            self._indexer = None
        self._view = None

    @contextlib.contextmanager
    def write(self, *, journal: bool = True, hint: BulkHint = NO_MORE) -> Iterator[tuple[Transaction, View]]:
        """Write one batch under the lock: commit when the block ends, then sync the indexes.

        What readers noted in the access journal is written along, unless ``journal`` is False: then it is erased. A
        writer of many batches says with ``hint`` what follows this one.

        Where only the indexes fail, the write has happened: a warning is logged, recall scans what they lack, and the
        next writer catches up.
        """
        self.check_open()
        if self._past is not None:
            raise VaultReadOnly(f"{self.root} is looked at as it was at a past moment, and the past is not written")
        if self.store.last_seen.manifest.whole:
            raise VaultReadOnly(
                f"{self.root} is a shard of another vault, which would not show what is written to it alone; write to the whole: "
                "its address is that of the shard without shards/NN"
            )
        with self.store.exclusive(self.lock_timeout_s):
            try:
                with self.store.transaction(self.lock_timeout_s) as transaction:
                    view = self.view_of(transaction.snapshot)
                    if not journal:
                        accesses.erase(self.root)
                    taken = journal and accesses.take(self.root, transaction, view)
                    kind = unlinked.KIND.get()
                    with contextlib.nullcontext() if kind is None else unlinked.counted(transaction, kind):
                        yield transaction, view
                if taken:
                    accesses.drop(self.root)
            except BaseException:
                self.indexer.discard_staged()
                raise
            try:
                self.view()  # where rows were forgotten, another indexer takes over
                try:
                    if self.store.snapshot().generation > view.snapshot.generation:
                        self.indexer.carry_terms(view.snapshot)
                finally:
                    self.indexer.catch_up(self.view, hint)  # removes what was made of forgotten rows, whatever failed
            except Exception as error:  # whatever it is: the log is committed, and the caller must not write twice
                self.indexer.discard_staged()
                logger.warning("%s: the indexes are behind, the next write catches up: %r", self.root, error)
        self._writes += 1
        if self._writes == _CHECK_AT:
            self._check_in_background()

    def ensure_space(self, vectors: NDArray[np.float32] | None) -> None:
        """Declare the vault's first embedding space before its first chunk."""
        if _has_content(self.store.last_seen) or _has_content(self.store.snapshot()):
            return
        embedder = self.embedder
        if vectors is not None:
            from lamina_engine.chunks.batch import check_vectors

            check_vectors(vectors, len(vectors), embedder.dim or None)
        if embedder.dim:
            with self.store.transaction(self.lock_timeout_s) as transaction:
                if not transaction.snapshot.manifest.spaces:
                    transaction.set_space(DEFAULT_SPACE, Space(embedder.identity, embedder.dim), default=True)

    def check_space(self, snapshot: Snapshot, vectors: NDArray[np.float32] | None) -> None:
        """Refuse to mix models."""
        space = snapshot.space
        if space is None or vectors is not None:
            return
        embedder = self.embedder_for(space)
        if embedder.identity != space.identity:
            raise EmbedderMismatch(
                f"the vault's vectors were made by {space.identity!r}, the embedder in use is {embedder.identity!r}; "
                "open the vault with the first, or make new vectors with `lamina reindex`"
            )

    def embed(self, texts: Sequence[str], space: Space | None = None) -> NDArray[np.float32]:
        """Return float32 (n, d) unit rows for texts, by the embedder of a space."""
        return self.embedder_for(space).embed_documents(texts)

    def redact(self, text: str) -> str:
        """Return a text with its secrets masked, as the vault's policy says."""
        return self.redactor.clean(text)[0]

    def begin_recall(self) -> None:
        """Prefetch the vector codes on a thread before the first recall, while modules load.

        Reading them, and FAISS, is most of what a cold answer waits for, and most of it needs no lock.
        """
        if self._begun or self._closed:
            return
        self._begun = True
        snapshot = self.store.snapshot()
        if self.tables.has_codes(snapshot):
            native.begin(*native.FAISS)
            threading.Thread(target=_read_codes, args=(self.tables, snapshot), name="lamina-codes").start()

    @property
    def recalled(self) -> bool:
        """True once something has been recalled: all that it takes is loaded."""
        return self._recalls > 0

    def moment(self, value: Instant, what: str, tz: str | None = None) -> int:
        """Parse a date, ISO 8601 or words, to us UTC; in the vault's zone by default."""
        from lamina_engine.time.moments import parse_moment

        return parse_moment(value, tz or self.config.tz, self.clock.now_us(), what=what)

    def count_recall(self) -> None:
        """Count a recall; the second one of a process starts to warm the kernels on a thread.

        The first hit of a fresh process needs none of them, and a command that answers once should not load Numba.
        """
        self._recalls += 1
        if self._recalls == _WARM_AT:
            from lamina_engine.recall.warming import KERNELS, WALK_KERNELS
            from lamina_kernels._jit import warm

            warm(KERNELS + WALK_KERNELS if self.store.snapshot().rows("links") else KERNELS)
            self._check_in_background()

    def _check_in_background(self, wait_s: float = 0.0) -> None:
        """Verify, on a thread, segments and index files that were opened unread."""
        if self._soundness is None:
            from lamina_engine.index import soundness

            here = weakref.ref(self)  # a vault that nobody holds any more is not kept for this

            def check() -> None:
                if (memory := here()) is not None:
                    memory.check_files()

            self._soundness = soundness.on_a_thread(check, self._check_due, wait_s)
        if not wait_s:
            self._check_due.set()

    def check_files(self) -> None:
        """Verify every byte; damaged indexes are dropped and rebuilt by the next write."""
        from lamina_engine.index.soundness import damaged, name_damaged_segments

        if self._closed:
            return
        with contextlib.suppress(LaminaError, OSError):  # whoever reads next is told; a vault may be gone
            name_damaged_segments(self.store.snapshot())
            found = damaged(self.tables, self.store.snapshot())
            if found:  # what was removed while it was read has a successor
                again = damaged(self.tables, self.store.snapshot())
                found = {name: again[name] for name in found if name in again}
            if found and not self._closed:
                with self.store.pause_writes(), self._view_lock:
                    for name, wrong in found.items():
                        self.tables.distrust(name, wrong)
                    self._replace_tables(self._make_tables(self.tables.distrusted))

    def close(self) -> None:
        """Sync the text index, and unmap all files; every call that returned is on disk."""
        self._closed = True
        self._check_due.set()
        for indexer in (self._indexer, self._cache_indexer):
            if indexer is not None:
                indexer.text.join()
        self._view = None
        self.tables.close()

    def redact_json(self, text: str) -> tuple[str, list[str]]:
        """Return a JSON object's text with its secrets masked, and the kinds found."""
        value, findings = self.redactor.clean_value(msgspec.json.decode(text))
        if not findings:
            return text, []
        return msgspec.json.encode(value, order="sorted").decode(), [finding.kind for finding in findings]


def _has_content(snapshot: Snapshot) -> bool:
    """Return True if a version has a space or a chunk: every later one then has, too."""
    return bool(snapshot.manifest.spaces) or snapshot.rows("chunks") > 0


def _read_codes(tables: Tables, snapshot: Snapshot) -> None:
    with contextlib.suppress(ImportError, LaminaError, OSError):  # the vector lane meets it again, and says so
        tables.quantised(snapshot)
