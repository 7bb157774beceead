from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bench import record
from bench.machine import busy_cores
from tests.conftest import ROOT


def test_a_busy_core_is_counted() -> None:
    if not Path("/proc/stat").exists():
        pytest.skip("this system does not tell what its cores do")
    stop = threading.Event()

    def spin() -> None:
        while not stop.is_set():
            pass

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        assert busy_cores(0.5) > 0.5
    finally:
        stop.set()
        thread.join()


def test_cores_that_wait_are_not_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 0 50 1000 10 0 0 0 0 0\ncpu0 1 1 1 1\n")
    after = "cpu  125 0 75 1140 20 0 0 0 0 0\n"  # of 200 ticks 50 at work, 140 idle, 10 waiting for a disk
    monkeypatch.setattr(time, "sleep", lambda _: stat.write_text(after))
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert busy_cores(stat=stat) == pytest.approx(1.0)


def test_without_such_a_file_the_load_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (1.5, 0.0, 0.0), raising=False)
    assert busy_cores(stat=tmp_path / "missing") == 1.5
    (tmp_path / "other").write_text("intr 1 2 3\n")
    assert busy_cores(stat=tmp_path / "other") == 1.5


def test_nothing_is_recorded_on_a_busy_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(record, "busy_cores", lambda: 1.25)
    assert record.main(["--all"]) == 2
    assert "use 1.2 cores" in capsys.readouterr().err


PENDING = """
import sys
from bench import record
from lamina_engine.recall.warming import KERNELS, WALK_KERNELS

record.run = lambda benches, folder: sys.exit(repr([e.py_func.__name__ for e in KERNELS + WALK_KERNELS if not e.ready]))
record.main(["--only", "recall", "--busy"])
"""


def test_what_recall_compiles_on_a_thread_is_compiled_before_the_first_bench() -> None:
    done = subprocess.run([sys.executable, "-c", PENDING], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1:] == ["[]"]
