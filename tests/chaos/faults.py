"""Stages of a write, as seen from outside a process, and disks, clocks and files that misbehave."""

from __future__ import annotations

import errno
import mmap
import os
import random
import resource
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lamina
from lamina_engine.store import lock
from lamina_engine.store.files import Files

STAGES = (
    "starting",
    "between",
    "preparing",
    "waiting",
    "locked",
    "writing",
    "flushing",
    "renaming",
    "after",
    "removing",
)
"""Before the vault is open, between two calls; then within a call. After: CURRENT was swapped."""
WORKING = frozenset(STAGES[2:])
FAULTS = ("none", "none", "none", "none", "slow disk", "full disk", "short files", "clock", "slow disk")

_page = mmap.mmap(-1, mmap.PAGESIZE)
_slot = 0


def stage_of(slot: int) -> str:
    """Return the stage that the writer of a slot was last in."""
    return STAGES[_page[slot]]


def enter(stage: str, slot: int | None = None) -> None:
    """Note the stage of this process."""
    _page[_slot if slot is None else slot] = STAGES.index(stage)


def take_slot(slot: int) -> None:
    """Say which writer this process is."""
    global _slot
    _slot = slot
    enter("starting")


def watch() -> None:
    """Let every file step and the writer's lock of this process tell their stage; children inherit it."""
    _wrap(Files, "write_some", "writing")
    _wrap(Files, "flush", "flushing")
    _wrap(Files, "remove", "removing")
    replace, acquire = Files.replace, lock._acquire

    def replaced(self: Files, source: Any, target: Any) -> None:
        enter("renaming")
        replace(self, source, target)
        if os.fspath(target).endswith("CURRENT"):
            enter("after")

    def acquired(root: str, timeout_s: float) -> int | None:
        enter("waiting")
        descriptor = acquire(root, timeout_s)
        enter("locked")
        return descriptor

    Files.replace = replaced  # type: ignore[method-assign]
    lock._acquire = acquired


def _wrap(owner: type[Files], name: str, stage: str) -> None:
    step: Callable[..., Any] = getattr(owner, name)

    def run(*given: Any) -> Any:
        before = _page[_slot]
        enter(stage)
        made = step(*given)
        if STAGES[_page[_slot]] == stage and STAGES[before] == "after":
            enter("after")  # files of indexes are written behind the commit
        return made

    setattr(owner, name, run)


def suffer(fault: str, chance: random.Random) -> lamina.FixedClock | None:
    """Make this process's disk full or slow, or its clock wrong; return the clock to open a vault with."""
    if fault == "full disk":
        _fill_disk(chance.choice((0, 300, 5_000, 100_000)))
    elif fault == "slow disk":
        flush = Files.flush

        def late(self: Files, descriptor: int) -> None:
            enter("flushing")
            time.sleep(chance.uniform(0.0, 0.03))
            flush(self, descriptor)

        Files.flush = late  # type: ignore[method-assign]
    elif fault == "short files":  # also for libraries that write themselves
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        most = chance.choice((64, 4_096, 60_000))
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    elif fault == "clock":
        return lamina.FixedClock(f"{chance.choice((1999, 2019, 2026, 2038, 2099))}-03-01T00:00:00Z")
    return None


def _fill_disk(left: int) -> None:
    write_some, room, guard = Files.write_some, [left], threading.Lock()

    def written(self: Files, descriptor: int, view: memoryview) -> int:
        with guard:
            if room[0] <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            part = view[: room[0]]
            room[0] -= len(part)
        return write_some(self, descriptor, part)

    Files.write_some = written  # type: ignore[method-assign]


def damage_an_index(root: Path, chance: random.Random) -> str | None:
    """Damage one file that can be made again, as a disk would, behind the back of those who have it mapped."""
    files = sorted(path for path in (root / "index").rglob("*") if path.is_file())
    if not files:
        return None
    path = chance.choice(files)
    content = bytearray(path.read_bytes())
    how = chance.choice(("flip", "cut", "lose"))
    if how == "lose" or not content:
        path.unlink()
        return "lose"
    if how == "cut":
        del content[chance.randrange(len(content)) :]
    else:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    aside = path.with_name(path.name + ".damaged")
    aside.write_bytes(content)
    aside.replace(path)
    return how


def leave_litter(root: Path, chance: random.Random) -> None:
    """Leave what an interrupted writer may leave: a segment that no version names, a cut CURRENT under its other name."""
    (root / "CURRENT.tmp").write_bytes(b"00000")
    (root / "log" / "chunks" / f"{10**11:012}-{8:05}-{chance.randrange(16**12):012x}.arrow").write_bytes(
        b"ARROW1\0\0half"
    )
