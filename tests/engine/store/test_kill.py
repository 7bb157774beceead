"""``kill -9`` from outside, at any moment: what a call returned for is there, and nobody else notices."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest

from lamina_engine.care.verify import verify
from lamina_engine.chunks.identities import find_row
from lamina_engine.chunks.reading import chunks_at
from lamina_engine.errors import ChunkNotFound
from lamina_engine.memory import Memory
from lamina_engine.store.lock import write_lock
from lamina_engine.store.store import Store

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")

READER = """
import sys, threading
from pathlib import Path
from lamina_engine.memory import Memory
from lamina_engine.recall.pipeline import recall
memory = Memory(Path(sys.argv[1]), mode="r", embedder="none")
stopped = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), stopped.set()), daemon=True).start()
print("ready", flush=True)
recalls = 0
last = 0
while not stopped.is_set():
    outcome = recall(memory, "text1", k=3)
    assert outcome.version >= last, (outcome.version, last)
    last = outcome.version
    for found in outcome.hits:
        assert found.text
    recalls += 1
print("recalls", recalls)
"""


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])}
    started = subprocess.Popen(
        [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


class Ledger:
    """What the writers have said: the state of each chunk that was acknowledged, and the one that may also be."""

    def __init__(self) -> None:
        self.text: dict[str, str | None] = {}
        """None of a chunk that was forgotten."""
        self.invalidated: set[str] = set()
        self.wanted: tuple[str, str, str] | None = None

    def note(self, line: str) -> None:
        word, kind, name, value = line.split()
        self.wanted = (kind, name, value)
        if word == "done":
            self.wanted = None
            self._apply(kind, name, value)

    def _apply(self, kind: str, name: str, value: str) -> None:
        if kind in ("compact", "reindex"):
            return
        if kind == "invalidate":
            self.invalidated.add(name)
        else:
            self.text[name] = None if kind == "forget" else value
            self.invalidated.discard(name)

    def fsync_all(self, memory: Memory) -> None:
        """Compare with the vault; a write that was not acknowledged has happened, or not."""
        if self.wanted is not None:
            kind, name, value = self.wanted
            text, invalidated = self._state(memory, name)
            if invalidated if kind == "invalidate" else text == (None if kind == "forget" else value):
                self._apply(kind, name, value)
            self.wanted = None
        got = {name: self._state(memory, name) for name in self.text}
        assert got == {name: (text, name in self.invalidated) for name, text in self.text.items()}

    def _state(self, memory: Memory, name: str) -> tuple[str | None, bool]:
        view = memory.view()
        try:
            chunk = chunks_at(view, np.array([find_row(view, name)], np.int64))[0]
        except ChunkNotFound:
            return None, False
        return chunk.text, chunk.status == "invalidated"


def kill_often(root: Path, kills: int, readers: int, seed: int) -> Ledger:
    ledger, moments = Ledger(), random.Random(seed)
    Store.create(root)
    with ExitStack() as stack:
        reading = [stack.enter_context(process("-c", READER, str(root))) for _ in range(readers)]
        writer = stack.enter_context(process(str(Path(__file__).with_name("killed_writer.py")), str(root)))
        assert writer.stdin is not None
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        for _ in range(kills):
            print(10 * len(ledger.text), file=writer.stdin, flush=True)
            lines = iter(writer.stdout.readline, "dead\n")
            early = []
            for line in lines:
                if line.startswith("pid "):
                    break
                early.append(line)
            pid = int(line.split()[1])
            if moments.random() < 0.8:  # else in the midst of the first write
                for line in lines:
                    early.append(line)
                    if line.startswith("done "):
                        break
            time.sleep(moments.uniform(0.0, 0.1))
            os.kill(pid, signal.SIGKILL)
            for line in [*early, *lines]:
                ledger.note(line)
            with write_lock(root, 1.0):  # free at once
                pass
            ledger.fsync_all(Memory(root, mode="r", embedder="none"))
            report = verify(root)
            assert report.ok, report.problems
        for reader in reading:
            got, _ = reader.communicate("stop\n")
            assert reader.returncode == 0, got
            assert int(got.split()[-1]) > 0
    return ledger


@pytest.mark.parametrize(
    ("kills", "readers"), [(14, 1), pytest.param(500, 4, marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_a_writer_is_killed_again_and_again(tmp_path: Path, kills: int, readers: int) -> None:
    root = tmp_path / "vault"
    ledger = kill_often(root, kills, readers, seed=11)
    assert len(ledger.text) > kills // 2
    report = verify(root, deep=True)
    assert report.ok, report.problems
    assert len([path for path in root.rglob("*.arrow") if path.is_file()]) < 100
