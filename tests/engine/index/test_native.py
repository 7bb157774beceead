from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lamina_engine.index import native


def loaded(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the loaded libraries are read from /proc")
@pytest.mark.parametrize("name", ["ARROW", "FAISS"])
def test_libraries_are_there_before_their_package_is_imported(name: str) -> None:
    package, prefixes = getattr(native, name)
    spec = importlib.util.find_spec(package)
    assert spec is not None
    found = [p.name for p in Path(str(spec.origin)).parent.iterdir() if p.name.startswith(prefixes) and ".so" in p.name]
    if not found:
        pytest.skip(f"this {package} has no libraries beside its modules")
    code = f"""
import sys, threading
from lamina_engine.index import native
native.begin(*native.{name})
for thread in threading.enumerate():
    thread is threading.main_thread() or thread.join()
print(open('/proc/self/maps').read(), {package!r} in sys.modules)
import {package}
"""
    said = loaded(code)
    assert said.rstrip().endswith("False")
    assert all(name in said for name in found)


def test_a_package_that_is_not_there_is_left_to_its_import() -> None:
    before = threading.active_count()
    native.begin("no_such_package_at_all", ("lib",))
    native.begin("no_such_package_at_all", ("lib",))
    for thread in threading.enumerate():
        if thread.name == "lamina-load-no_such_package_at_all":
            thread.join()
    assert threading.active_count() == before
