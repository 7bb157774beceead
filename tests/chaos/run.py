"""The course of chaos: writers forked from this warm process and killed at random moments, readers beside them.

A round is the life of one vault. Its writers are killed while they work, and what every one of them had told its journal
is looked up; between kills files of indexes are damaged and litter is left behind.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import lamina
from lamina.hooks import capture
from tests.chaos import faults
from tests.chaos.ledger import Journal, Ledger, mark_of, observe
from tests.chaos.operations import OPERATIONS, Job

ROUND = 120
"""Kills in the life of one vault."""
JUDGED_EVERY = 8
DEEP_EVERY = 80
BASE = 30
READERS = 1
SLOTS = 3
"""Writers at once, at most; what they change is divided between them."""
_PATIENCE_S = 60.0


@dataclass
class Tally:
    """What happened in a run."""

    kills: int = 0
    early: int = 0
    """Kills before a vault was open, and between two calls; they do not count."""
    by_operation: Counter[str] = field(default_factory=Counter)
    by_stage: Counter[str] = field(default_factory=Counter)
    by_fault: Counter[str] = field(default_factory=Counter)
    operations: int = 0
    acknowledged: int = 0
    looked_up: int = 0
    reads: int = 0
    refused: int = 0
    """Calls that ended in a typed error: a full disk, a lock."""
    deep_verifies: int = 0
    damaged: int = 0
    lost: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Untyped errors, problems that `verify` found, readers that failed."""

    def summary(self) -> dict[str, object]:
        """Return the figures of the run, fit for one line of JSON."""
        figures: dict[str, object] = dict(vars(self))
        figures |= {name: len(value) for name, value in vars(self).items() if isinstance(value, list)}
        figures |= {name: dict(sorted(value.items())) for name, value in vars(self).items() if name.startswith("by_")}
        return figures

    @property
    def failures(self) -> list[str]:
        """Everything that must not be."""
        return [*self.lost, *self.torn, *self.back, *self.wrong]


def unleash(
    seed: int, kills: int, minutes: float, folder: Path, tell: Callable[[Tally], None] = lambda tally: None
) -> Tally:
    """Kill writers until there were so many that struck during work, or until the time is up."""
    tally, chance, stop = Tally(), random.Random(seed), time.monotonic() + 60 * minutes
    warm_up(folder)
    number = 0
    while tally.kills < kills and time.monotonic() < stop and len(tally.failures) < 20:
        root = folder / f"round-{number}"
        root.mkdir()
        Round(root, tally, chance).run(min(ROUND, kills - tally.kills), stop)
        shutil.rmtree(root, ignore_errors=not tally.failures)
        number += 1
        tell(tally)
    return tally


def warm_up(folder: Path) -> None:
    """Load everything once, so that a forked child is at work within milliseconds."""
    capture._SETTLE_S = 0.0
    faults.watch()
    scratch = folder / "warm"
    scratch.mkdir(parents=True)
    journal = _journal(scratch, "warm")
    with _seeded(scratch / "vault") as vault:
        base = [f"b{i}" for i in range(BASE)]
        job = Job(scratch / "vault", scratch, "warm", journal, random.Random(1), base, base)
        for name, operation in OPERATIONS.items():
            if name != "forget":
                operation(vault, job, 0)
        vault.verify(deep=True)
        vault.recall("kafka gateway")
    os.close(journal._descriptor)


def _seeded(root: Path) -> lamina.Vault:
    vault = lamina.open(root, create=True, lock_timeout_s=_PATIENCE_S)
    vault.add([{"id": f"b{i}", "text": f"mark:b{i} of the kafka gateway, case {i * 7 % 13} end"} for i in range(BASE)])
    return vault


def _journal(folder: Path, name: str) -> Journal:
    path = folder / f"{name}.journal"
    return Journal(path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))


def fork(work: Callable[[], None]) -> int:
    """Run a function in a child that ends with it, whatever happens."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    try:
        work()
    finally:
        os._exit(0)


class Round:
    """The life of one vault."""

    def __init__(self, folder: Path, tally: Tally, chance: random.Random) -> None:
        self.folder, self.tally, self.chance = folder, tally, chance
        self.root = folder / "vault"
        self.ledger = Ledger()
        self.typical_s: dict[str, float] = {}
        """How long an operation takes: a kill strikes at any moment of it."""
        self.writers = 0
        self.unjudged = 0
        self.damaged = False

    def run(self, kills: int, stop: float) -> None:
        """Kill so many writers, then look at everything once more."""
        with _seeded(self.root) as vault:
            self.ledger.judge(observe(vault))
            self.ledger.expected, self.ledger.back = dict(observe(vault)), []
        readers = [fork(lambda: read_on(self.root, self.folder)) for _ in range(READERS)]
        end = self.tally.kills + kills
        while self.tally.kills < end and time.monotonic() < stop:
            self._kill_some()
            if self.unjudged >= JUDGED_EVERY:
                self._judge(deep=self.chance.random() < JUDGED_EVERY / DEEP_EVERY)
        self._judge(deep=True)
        for reader in readers:
            os.kill(reader, signal.SIGKILL)
            os.waitpid(reader, 0)
        for report in self.folder.glob("reader-*"):
            lines = report.read_text().splitlines()
            self.tally.reads += lines.count("read")
            self.tally.wrong += [f"reader: {line}" for line in lines if line != "read"]
        self.tally.acknowledged += self.ledger.acknowledged
        self.tally.looked_up += self.ledger.looked_up
        self.tally.lost += self.ledger.lost
        self.tally.torn += self.ledger.torn
        self.tally.back += self.ledger.back

    def _kill_some(self) -> None:
        """Let one writer or two work, kill them, and take in their journals."""
        names = self.chance.choices(list(OPERATIONS), k=self.chance.choice((1, 2, SLOTS)))
        begun = [self._start(name, slot) for slot, name in enumerate(names)]
        for slot in range(len(names)):
            _wait_until_open(slot)
        # within the first call, or within one of those that follow
        calls = self.chance.choice((0.8, 1.6, 4.0))
        time.sleep(self.chance.random() * calls * min(0.6, self.typical_s.get(names[0], 0.05)))
        for slot, (child, name, fault, _) in enumerate(begun):
            os.kill(child, signal.SIGKILL)
            killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
            stage = faults.stage_of(slot)
            if killed and stage in faults.WORKING:
                self.tally.kills += 1
                self.tally.by_operation[name] += 1
                self.tally.by_stage[stage] += 1
                self.tally.by_fault[fault] += 1
                self.unjudged += 1
            elif killed:
                self.tally.early += 1
        for _, name, fault, journal in begun:
            before = self.ledger.acknowledged
            # one that was never done in time is given more
            self.typical_s[name] = 1.1 * self.typical_s.get(name, 0.05)
            for error in self.ledger.read(journal):
                if error.startswith("took "):
                    self.typical_s[name] = 0.5 * self.typical_s[name] + 0.5 * float(error[5:])
                elif error.startswith("refused"):
                    self.tally.refused += 1
                else:
                    self.tally.wrong.append(f"{name} with {fault}: {error}")
            self.tally.operations += self.ledger.acknowledged - before
            journal.unlink(missing_ok=True)
        if self.chance.random() < 0.05 and faults.damage_an_index(self.root, self.chance):
            self.tally.damaged += 1
            self.damaged = True
        if self.chance.random() < 0.05:
            faults.leave_litter(self.root, self.chance)

    def _start(self, name: str, slot: int) -> tuple[int, str, str, Path]:
        self.writers += 1
        fault = self.chance.choice(faults.FAULTS)
        journal = _journal(self.folder, f"w{self.writers}")
        marks = self.ledger.marks("c", slot, SLOTS)
        self.chance.shuffle(marks)
        base = [f"b{i}" for i in range(BASE) if i % SLOTS == slot]
        job = Job(self.root, self.folder, f"{self.writers}", journal, random.Random(self.chance.random()), marks, base)
        faults.enter("starting", slot)
        child = fork(lambda: write_on(job, name, slot, fault))
        os.close(journal._descriptor)
        return child, name, fault, journal.path

    def _judge(self, *, deep: bool) -> None:
        self.unjudged = 0
        try:
            with lamina.open(self.root, lock_timeout_s=_PATIENCE_S) as vault:
                self.ledger.judge(observe(vault))
                if self.damaged:  # `verify` says so, and that is right
                    vault.verify(repair=True, deep=True)
                    self.damaged = False
                vault.add("the judge was here")  # sweeps what the killed have left
                for hit in vault.recall("kafka gateway redis", k=20):
                    mark = mark_of(hit.text)
                    if mark and f"chunk {mark}" in self.ledger.forgotten:
                        self.ledger.back.append(f"{mark} was forgotten and is recalled")
                report = vault.verify(deep=deep)
                self.tally.deep_verifies += deep
                self.tally.wrong += [f"verify: {problem}" for problem in report.problems]
        except Exception:
            self.tally.wrong.append(f"judge: {traceback.format_exc()[-1500:]}")


def _wait_until_open(slot: int) -> None:
    until = time.monotonic() + _PATIENCE_S
    while faults.stage_of(slot) == "starting" and time.monotonic() < until:
        time.sleep(0.0005)


def write_on(job: Job, name: str, slot: int, fault: str) -> None:
    """Do one operation again and again until killed; a typed error ends it."""
    faults.take_slot(slot)
    try:
        clock = faults.suffer(fault, job.chance)
        with lamina.open(job.root, clock=clock, lock_timeout_s=_PATIENCE_S) as vault:
            if name in ("update", "invalidate", "forget") and not job.marks:
                name = "add"
            faults.enter("between")
            for turn in range(4):
                began = time.monotonic()
                OPERATIONS[name](vault, job, turn)
                job.journal.write("error", f"took {time.monotonic() - began:.4f}")
    except (lamina.LaminaError, OSError) as error:
        job.journal.write("error", f"refused: {type(error).__name__}: {error}"[:300])
    except BaseException:
        job.journal.write("error", traceback.format_exc()[-1500:])


def read_on(root: Path, folder: Path) -> None:
    """Read until killed: every text is whole and its own, versions only grow."""
    report, parent = _journal(folder, f"reader-{os.getpid()}"), os.getppid()
    chance = random.Random(os.getpid())
    try:
        vault, last = lamina.open(root, mode="r"), 0
        while os.getppid() == parent:
            hits = vault.recall(f"{chance.choice(('kafka', 'gateway', 'redis'))} case", k=5)
            assert hits.snapshot >= last, f"version {hits.snapshot} after {last}"
            last = hits.snapshot
            chunks = vault.get_many([f"b{i}" for i in range(0, BASE, 7)])
            for each in [*hits, *chunks, *vault.list(None, 30)]:
                mark = mark_of(each.text)
                assert mark is None or (" end" in each.text and (each.id == mark or mark[0] in "fimt")), (
                    f"torn: {each.text}"
                )
            assert len(chunks) == len(range(0, BASE, 7)), "a chunk that nobody forgets is missing"
            for link in vault.links("b2"):
                assert link.source.startswith("b") or link.target.startswith("b")
            os.write(report._descriptor, b"read\n")
            time.sleep(0.15)
    except BaseException:
        os.write(report._descriptor, traceback.format_exc()[-900:].replace("\n", " | ").encode() + b"\n")


def main_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for the vaults of a run."""
    return tempfile.TemporaryDirectory(prefix="lamina-chaos-")


def line(tally: Tally, seed: int, seconds: float) -> str:
    """Return the figures of a run as one line of JSON."""
    return json.dumps({"seed": seed, "seconds": round(seconds), **tally.summary()})
