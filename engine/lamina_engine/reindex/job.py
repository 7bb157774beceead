"""Reindex job: checks, build, gate and swap."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lamina_engine import config as configuration
from lamina_engine.arguments import whole_of
from lamina_engine.embed.protocol import Embedder
from lamina_engine.embed.resolve import EmbedderSpec as Spec
from lamina_engine.embed.resolve import embedder_name, resolve
from lamina_engine.errors import InvalidArgument, LaminaError, ReindexGateError
from lamina_engine.executor import Executor, InlineExecutor
from lamina_engine.index import textbuilder
from lamina_engine.index.tables import LEXICAL, VECTORS, Tables
from lamina_engine.index.vectors import VectorBlocks
from lamina_engine.index.view import View
from lamina_engine.recall.warming import KERNELS
from lamina_engine.reindex import gate
from lamina_engine.reindex.derived import BUILDING, IndexBuilder, build_dir, drop_unnamed_terms
from lamina_engine.reindex.space import SpaceBuilder
from lamina_engine.reports import ProgressListener, ProgressReporter, ReindexReport
from lamina_engine.store.manifest import Space
from lamina_engine.store.snapshot import Snapshot
from lamina_kernels._jit import compiled_before, warm

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.store.transaction import Transaction

ENGINES: Final = ("lexical", "vectors", "keys")
BATCH_ROWS: Final = 2_048
"""Rows a commit: a kill costs no more than these."""
MAX_BATCH_ROWS: Final = 65_536
_WARM_ROWS: Final = 32_768
"""Rows from which on loading the kernels of recall costs less than asking the gate's questions without them."""


def reindex(
    memory: Memory,
    *,
    embedder: Spec = None,
    resume: bool = True,
    engine: str | None = None,
    accept: bool = False,
    tolerance: float = gate.TOLERANCE,
    batch_rows: int = BATCH_ROWS,
    drop_old: bool = False,
    executor: Executor | None = None,
    listener: ProgressListener | None = None,
) -> ReindexReport:
    """Make everything derived again from the log; see ``Vault.reindex``."""
    _check(engine, tolerance, batch_rows, embedder)
    made = memory.embedder if embedder is None else resolve(embedder)
    with memory.store.exclusive(memory.lock_timeout_s):
        pass  # says at once where nothing can be written
    kind: type[Job] = Job
    if memory.shards:
        from lamina_engine.reindex.sharded import ShardedJob

        kind = ShardedJob
    with build_dir(memory.tables.folder) as place:
        job = kind(
            memory, made, engine, accept, tolerance, batch_rows, executor or InlineExecutor(), ProgressReporter(listener), resume=resume
        )  # fmt: skip
        try:
            return job.run(place, drop_old=drop_old or job.damaged)
        except BaseException:
            # forward lists of segments that went meanwhile must not stay
            with contextlib.suppress(LaminaError, OSError):
                job.tidy()
            raise


def _check(engine: str | None, tolerance: float, batch_rows: int, embedder: Spec) -> None:
    if engine is not None and engine not in ENGINES:
        raise InvalidArgument(f"engine={engine!r} must be one of {', '.join(ENGINES)}, or None for all")
    if engine is not None and embedder is not None:
        raise InvalidArgument("an embedder needs everything made again; leave out engine, or the embedder")
    if not 0.0 <= tolerance <= 1.0:
        raise InvalidArgument(f"tolerance={tolerance!r} must be a share from 0 to 1")
    whole_of(batch_rows, "batch_rows", 1, MAX_BATCH_ROWS)


def space_name(snapshot: Snapshot, identity: str) -> str:
    """Return the name of an embedder's space: its present one, or one from its identity."""
    known = [name for name, space in snapshot.manifest.spaces.items() if space.identity == identity]
    if snapshot.manifest.space in known:
        return snapshot.manifest.space
    return known[0] if known else _derived_name(identity)


def _derived_name(identity: str) -> str:
    return "s" + hashlib.blake2b(identity.encode(), digest_size=4).hexdigest()


def _other_name(former: str, identity: str) -> str:
    """Return a second name for a model's space; equal on every run, so that runs can resume."""
    derived = _derived_name(identity)
    return f"{derived}b" if former == derived else derived


class Job:
    """One run."""

    def __init__(
        self, memory: Memory, embedder: Embedder, engine: str | None, accept: bool, tolerance: float, batch_rows: int,
        executor: Executor, progress: ProgressReporter, *, resume: bool,
    ) -> None:  # fmt: skip
        self.memory, self.embedder, self.engine = memory, embedder, engine
        self.accept, self.tolerance, self.batch_rows = accept, tolerance, batch_rows
        self.executor, self.progress = executor, progress
        self.resume = resume
        self.snapshot = memory.store.snapshot()
        self.former = self.snapshot.manifest.space
        if engine is None:
            self.space = space_name(self.snapshot, embedder.identity) if embedder.dim else ""
        else:
            self.space = self.former
        self.damaged = False
        if engine is None and self.space and self.space == self.former:
            log = self.snapshot.segments(self.snapshot.vector_log)
            self.damaged = not all(segment.is_intact() for segment in log) or self._lacks_vectors()
            if self.damaged or not resume:  # the same model, from nothing: beside what serves, under another name
                self.space = _other_name(self.former, embedder.identity)
        self.changes = self.space != self.former
        self.report = ReindexReport(engine or "all", self.space, embedder.identity)
        self.before: Embedder | None = None
        self.space_builder: SpaceBuilder | None = None
        """Builder of the new space's vectors; None where vectors stay or are dropped."""
        self.derived: IndexBuilder

    def _lacks_vectors(self) -> bool:
        """Return True if texts have no vector: those that a repair could not read."""
        if self.memory.shards or not self.embedder.dim:
            return False
        view = self.memory.view_of(self.snapshot)
        blocks = view.vectors
        has_all = all(part.any(axis=1).all() for _, part in blocks.slices(0, blocks.rows))
        # texts are read only where one is lacking
        return not has_all and gate.missing_vectors(view, blocks, self.embedder)["missing"] > 0

    def run(self, place: Path, *, drop_old: bool) -> ReindexReport:
        """Build in a folder, judge, and swap."""
        started = time.monotonic()
        self._preflight()
        self._begin_space()
        self._level()
        with ExitStack() as resting:
            # what follows the log builds of words what is being made anew
            for memory in self._indexed if self.engine in (None, "lexical") else ():
                resting.enter_context(memory.indexer.text.paused())
            self._build(place)
        self._gate(place)
        self._catch_up()  # what came meanwhile, so that little is left for the time under the lock
        self._swap(drop_old=drop_old)
        report = self.report
        report.rows = self.snapshot.rows("chunks")
        report.seconds = round(time.monotonic() - started, 3)
        report.rate = round(report.rows / report.seconds, 1) if report.seconds else 0.0
        return report

    @property
    def _indexed(self) -> list[Memory]:
        """Vaults with indexes of their own."""
        return [self.memory]

    # ------------------------------------------------------------------ before

    def _preflight(self) -> None:
        """Check the preconditions of the swap before the work starts."""
        space = self.snapshot.space
        if space is not None:
            self.before = self._maker(space)
        if self.changes:
            self._settings(self.memory.root)
            if space is not None and self.embedder.dim and self.before is None and not (self.accept or self.damaged):
                raise ReindexGateError(
                    f"the embedder that made the present vectors ({space.identity}) is not available, so the new ones cannot be "
                    "compared with them; open the vault with it, or skip the comparison (accept=True, --accept)"
                )

    def _maker(self, space: Space) -> Embedder | None:
        """Return the embedder of the current vectors: the vault's, the caller's, bundled, or None."""
        with contextlib.suppress(LaminaError):
            found = self.memory.embedder_for(space)
            if found.identity == space.identity:
                return found
        for name in configuration.EMBEDDERS:
            with contextlib.suppress(LaminaError):
                found = resolve(name)
                if found.identity == space.identity:
                    return found
        return None

    def _settings(self, root: Path) -> str | None:
        """Return the text that ``vault.toml`` will have; None where it stays."""
        path = root / configuration.FILE
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        changed = configuration.set_model(text, embedder_name(self.embedder))
        return None if changed == text else changed

    def _begin_space(self) -> None:
        """Declare the new space, and see what earlier runs have made of it."""
        if self.changes and self.space:
            self.space_builder = self._open_space(self.memory, self.progress)

    def _open_space(
        self,
        memory: Memory,
        progress: ProgressReporter,
        guard: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> SpaceBuilder:
        space = Space(self.embedder.identity, self.embedder.dim)
        with guard(), memory.store.transaction(memory.lock_timeout_s) as transaction:
            known = self.space in transaction.snapshot.manifest.spaces
            if known and not self.resume:
                transaction.drop_space(self.space)
            if not known or not self.resume:
                transaction.set_space(self.space, space, default=False)
        builder = SpaceBuilder(
            memory, self.space, self.embedder, self.executor, self.batch_rows, self.report, progress, guard
        )
        builder.index_texts()
        return builder

    def _catch_up(self) -> None:
        """Make the vectors that are missing."""
        if self.space_builder is not None:
            self.space_builder.catch_up()

    def _level(self) -> None:
        """Make the vectors that are missing, and choose the version that is indexed."""
        self._catch_up()
        self.snapshot = self.memory.store.snapshot()

    def _build(self, place: Path) -> None:
        self.derived = IndexBuilder(self.memory, place, self.snapshot, self.executor, self.progress)
        made = self.space_builder
        blocks = made.blocks(self.snapshot) if made else View(self.snapshot, self.memory.tables).vectors
        self._index(self.derived, blocks)

    def _index(self, derived: IndexBuilder, blocks: VectorBlocks) -> None:
        """Build the indexes of one version."""
        coded = self.engine in (None, "vectors") and bool(self.space)
        if coded and self.engine is None:
            derived.begin_vectors(blocks)
        try:
            if self.engine in (None, "lexical"):
                derived.lexical()
            if self.engine in (None, "keys"):
                derived.keys(blocks, self.space)
            if self.engine in (None, "lexical"):
                derived.finish_text()
        except BaseException:
            derived.give_up()
            raise
        if coded:
            derived.vectors(blocks, self.space)
        elif self.changes:
            derived.records[VECTORS] = None

    # ------------------------------------------------------------------ judging

    def _gate(self, place: Path) -> None:
        old = View(self.snapshot, self.memory.tables)
        new = self._new_view(place)
        counts: dict[str, Any] = {}
        right: dict[str, bool] = {}
        rows = self.snapshot.rows("chunks")
        if self.engine in (None, "lexical"):
            covered, indexed, wanted = self._count_words(new)
            counts["lexical"] = {"expected": rows, "found": covered, "indexed": indexed}
            right["lexical rows"] = covered == rows and indexed == wanted
        if self.changes and self.space:
            found = self._count_vectors(new)
            counts["vectors"] = found
            # rows that came since are embedded under the lock
            right["the number of vectors"] = not found["missing"]
        recalls: dict[str, tuple[float | None, float | None]] = {}
        queries = [] if self.accept or self.engine == "keys" else gate.sample_queries(old)
        if rows >= _WARM_ROWS and compiled_before(KERNELS):
            warm(KERNELS).join()
        if queries:
            recalls = self._recalls(old, new, queries)
        self.report.gate = gate.describe_gate(counts, recalls, len(queries), self.tolerance)
        wrong = gate.judge(right, recalls, self.tolerance)
        if wrong:
            kept = "the vectors made so far are kept; " if self.changes and self.space else ""
            raise ReindexGateError(
                f"the new generation does not pass: {'; '.join(wrong)}; the old one stays in use; {kept}"
                "mend the cause and run it again, or accept another recall with accept=True (--accept)"
            )

    def _recalls(self, old: View, new: View, queries: list[gate.Query]) -> dict[str, tuple[float | None, float | None]]:
        found: dict[str, tuple[float | None, float | None]] = {}
        total = 2 * len(queries)

        def gate_progress(start: int) -> Any:
            return lambda done: self.progress("gate", start + done, total)

        if self.engine in (None, "lexical"):
            profile = self.memory.profiles.get("lexical")
            found["lexical"] = (
                gate.lexical_recall(old, profile, queries, gate_progress(0)),
                gate.lexical_recall(new, profile, queries, gate_progress(len(queries))),
            )
        if self.engine in (None, "vectors") and self.space:
            after = self.embedder if self.engine is None else self.before
            found["vectors"] = (
                gate.vector_recall(old, self.before, queries, gate_progress(0))
                if self.before is not None and old.vector_rows and not self.damaged
                else None,
                gate.vector_recall(new, after, queries, gate_progress(len(queries))) if after is not None else None,
            )
        return found

    def _count_words(self, new: View) -> tuple[int, int, int]:
        """Return how many rows have forward lists, are in the text index, and should be."""
        return count_words(new, self.derived)

    def _count_vectors(self, new: View) -> dict[str, int]:
        """Return how many rows should have vectors, have some, and lack them."""
        assert self.space_builder is not None
        blocks = self.space_builder.blocks(self.snapshot)
        return {**gate.missing_vectors(new, blocks, self.embedder), "rows": blocks.rows}

    def _new_view(self, place: Path) -> View:
        """Return the view after the swap, over the indexes in the build folder."""
        return new_view(self.snapshot, self.memory.tables.folder, self.space, self.derived)

    # ------------------------------------------------------------------ swapping

    def _swap(self, *, drop_old: bool) -> None:
        """Make the new generation the one that serves, in one commit, under the lock."""
        memory = self.memory
        memory.cache_embedders(
            self.before, self.embedder
        )  # whichever version a reader of this process has, its model is at hand
        self.progress("swap", 0, 1)
        with memory.store.exclusive(memory.lock_timeout_s):
            with memory.store.transaction() as transaction:
                if self.space_builder is not None:
                    self.space_builder.finish(transaction)
                self._use(transaction, self.derived, self.snapshot, drop_old=drop_old)
            self._follow(memory)
            memory.indexer.catch_up(memory.view)
            memory.indexer.remove_stale()
            self.snapshot = memory.store.snapshot()
            self.tidy()
        self.report.generation, self.report.swapped = self.snapshot.version, True
        self.progress("swap", 1, 1)

    def _use(self, transaction: Transaction, derived: IndexBuilder, of: Snapshot, *, drop_old: bool) -> None:
        """Make the new space and indexes those of the next version; they were built of another one."""
        if self.changes:
            transaction.use_space(self.space)
            if drop_old and self.former:
                transaction.drop_space(self.former)
        # rows forgotten since this was built may be in it: then the writer after this builds it anew
        whole = transaction.snapshot.manifest.rewritten == of.manifest.rewritten
        if whole:
            derived.move()
        for name, record in derived.records.items():
            transaction.set_index(name, record if whole else None)

    def tidy(self) -> None:
        """Remove forward lists that no version needs."""
        with self.memory.store.exclusive(self.memory.lock_timeout_s):
            drop_unnamed_terms(self.memory.tables.folder, self.memory.store.snapshot())

    def _follow(self, memory: Memory) -> None:
        """Let the configuration and this process go with the vault."""
        if not self.changes:
            return
        text = self._settings(memory.root)
        if text is not None:
            memory.store.write_settings(text)
        memory.set_embedder(self.embedder)


def count_words(new: View, derived: IndexBuilder) -> tuple[int, int, int]:
    """Return how many rows have forward lists, are in the text index, and should be."""
    text, rows = new.tables.text(new.snapshot), new.snapshot.rows("chunks")
    wanted = rows // textbuilder.BLOCK_ROWS * textbuilder.BLOCK_ROWS if derived.records[LEXICAL] is not None else 0
    return new.forward.statistics(new.rows).rows, text.rows if text else 0, wanted


def new_view(snapshot: Snapshot, folder: Path, space: str, derived: IndexBuilder) -> View:
    """Return the view after a swap, over the indexes in the build folder."""
    indexes = dict(snapshot.manifest.indexes)
    for name, record in derived.records.items():
        if record is None:
            indexes.pop(name, None)
        else:
            indexes[name] = {**record, "folder": f"{BUILDING}/{LEXICAL}"} if name == LEXICAL else record
    manifest = msgspec.structs.replace(snapshot.manifest, space=space, indexes=indexes)
    logs = {log: snapshot.segments(log) for log in manifest.logs}
    tables = Tables(folder)
    if derived.codes is not None:
        tables.put_quantised(str((derived.records[VECTORS] or {})["file"]), derived.codes)
    return View(Snapshot(manifest, logs, snapshot.name), tables)
