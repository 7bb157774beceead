"""What a fresh process loads: the first answer of a hook or a command must not wait for what it does not need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "numba", "llvmlite", "pyarrow.compute", "pyarrow.dataset", "pandas", "scipy", "faiss", "onnxruntime", "onnx",
    "tokenizers", "safetensors", "wordllama", "httpx", "requests", "typer", "rich", "markdown_it", "frontmatter",
    "yaml",
}  # fmt: skip

WRITING = {
    "lamina_engine.chunks.batch", "lamina_engine.index.coding", "lamina_engine.index.indexer",
    "lamina_engine.redact.redactor", "lamina_engine.store.transaction", "secrets", "sqlite3", "zoneinfo",
}  # fmt: skip
"""What answering needs none of."""


def loaded_by(code: str, folder: Path) -> set[str]:
    """Return the modules that are there after some code has run in a process of its own."""
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_import_lamina_loads_the_standard_library_only(tmp_path: Path) -> None:
    bare = loaded_by("", tmp_path)
    got = {name.split(".")[0] for name in loaded_by("import lamina", tmp_path) - bare}
    got = {name for name in got if not name.startswith("_sysconfigdata")}  # the standard library's, named by platform
    assert got - set(sys.stdlib_module_names) == {"lamina"}


def test_the_first_answer_of_a_process_needs_no_heavy_package(tmp_path: Path) -> None:
    made = "import lamina\nwith lamina.open('v', create=True) as vault: vault.add('We moved to PostgreSQL 16.')"
    assert loaded_by(made, tmp_path) & HEAVY == set()
    asked = "import lamina\nassert len(lamina.open('v', mode='r').recall('postgres', k=1)) == 1"
    assert loaded_by(asked, tmp_path) & HEAVY == set()


def test_a_recall_loads_nothing_that_only_writers_and_other_commands_need(tmp_path: Path) -> None:
    made = "import lamina\nwith lamina.open('v', create=True) as vault: vault.add('We moved to PostgreSQL 16.')"
    loaded_by(made, tmp_path)
    asked = "from lamina.cli import main\nassert main(['recall', 'postgres', '--vault', 'v', '--json']) == 0"
    got = loaded_by(asked, tmp_path)
    assert got & (HEAVY | WRITING) == set()
    assert {name for name in got if name.startswith("lamina.cli.")} == {
        f"lamina.cli.{name}" for name in ("app", "command", "recalling", "terminal")
    }


def test_every_part_of_the_engine_can_be_imported_without_a_heavy_package(tmp_path: Path) -> None:
    code = """
import importlib, pkgutil, lamina_engine
for info in pkgutil.walk_packages(lamina_engine.__path__, "lamina_engine."):
    importlib.import_module(info.name)
"""
    assert loaded_by(code, tmp_path) & HEAVY == set()


def test_kernels_need_numpy_and_nothing_else(tmp_path: Path) -> None:
    code = """
import importlib, pkgutil, lamina_kernels
for info in pkgutil.walk_packages(lamina_kernels.__path__, "lamina_kernels."):
    importlib.import_module(info.name)
"""
    numpy_alone = loaded_by("import numpy, numpy.typing", tmp_path)
    got = {name.split(".")[0] for name in loaded_by(code, tmp_path) - numpy_alone}
    assert got - set(sys.stdlib_module_names) == {"lamina_kernels"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["recall", "--help"]])
def test_the_command_line_says_hello_without_numpy(arguments: list[str], tmp_path: Path) -> None:
    code = f"from lamina.cli import main\nassert main({arguments!r}) == 0"
    assert loaded_by(code, tmp_path) & (HEAVY | {"numpy", "pyarrow"}) == set()
