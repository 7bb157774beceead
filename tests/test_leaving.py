"""A test process that has had Ray leaves with its tests' own status, and without finalisation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

TESTS = """
import atexit, os, sys

class Last:
    def __del__(self, write=os.write):  # by then there is no print
        write(1, b"finalised")

sys.kept = Last()
atexit.register(print, "handled", flush=True)

def test_one():
    sys.modules.setdefault({module!r}, sys)
    assert {holds}
"""


@pytest.mark.parametrize(
    ("module", "holds", "status"), [("ray", True, 0), ("ray", False, 1), ("other", True, 0), ("other", False, 1)]
)
def test_the_status_is_that_of_the_tests(tmp_path: Path, module: str, holds: bool, status: int) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(TESTS.format(module=module, holds=holds))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        f"--rootdir={tmp_path}",
        str(file),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert ("1 passed" if holds else "1 failed") in done.stdout
    assert "handled" in done.stdout
    assert ("finalised" in done.stdout) == (module != "ray")
