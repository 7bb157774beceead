"""Importing the kernels is cheap and drags nothing in: it stands between a bare process and its first answer."""

from __future__ import annotations

import json
import subprocess
import sys

ALLOWED = {"lamina_kernels", "numpy"}
SCRIPT = """
import importlib, json, pkgutil, sys
before = set(sys.modules)
import lamina_kernels
names = [info.name for info in pkgutil.walk_packages(lamina_kernels.__path__, "lamina_kernels.")]
for name in names:
    importlib.import_module(name)
print(json.dumps([names, sorted({each.split(".")[0] for each in set(sys.modules) - before})]))
"""


def test_kernels_import_numpy_and_themselves_only() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=True)
    names, roots = json.loads(done.stdout)
    assert {f"lamina_kernels.{name}" for name in ("_jit", "layouts", "graph.csr", "hdbscan.packed")} <= set(names)
    third_party = {root for root in roots if root.lstrip("_") not in sys.stdlib_module_names} - set(
        sys.stdlib_module_names
    )
    assert "numba" not in roots
    assert third_party <= ALLOWED
