from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import lamina
from lamina.startup import gc_paused


def test_the_collector_rests_and_goes_on() -> None:
    assert gc.isenabled()
    with gc_paused():
        assert not gc.isenabled()
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_error() -> None:
    with pytest.raises(KeyError), gc_paused():
        raise KeyError
    assert gc.isenabled()


def test_where_the_caller_has_turned_it_off_it_stays_off() -> None:
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_last_of_several_threads_turns_it_on() -> None:
    inside, leave = threading.Barrier(3), threading.Event()

    def rest() -> None:
        with gc_paused():
            inside.wait()
            leave.wait()

    threads = [threading.Thread(target=rest) for _ in range(2)]
    for thread in threads:
        thread.start()
    inside.wait()
    with gc_paused():
        pass
    assert not gc.isenabled()
    leave.set()
    for thread in threads:
        thread.join()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_collects() -> None:
    with gc_paused():
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.isenabled() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_is_on_when_a_vault_is_open_and_was_asked(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "vault", create=True, embedder="none") as vault:
        assert gc.isenabled()
        vault.add("a note about rivers")
        assert len(vault.recall("rivers")) == 1
        assert gc.isenabled()
    with pytest.raises(lamina.VaultNotFound):
        lamina.open(tmp_path / "nothing")
    assert gc.isenabled()


SAID = """
import gc, json, os, sys
import lamina.cli
code = lamina.cli.main({arguments})
print(json.dumps([code, os.environ.get("OPENBLAS_NUM_THREADS"), gc.isenabled(), gc.get_freeze_count() > 0]))
"""


def said(folder: Path, code: str, *arguments: str, **variables: str) -> list[object]:
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")} | variables
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=folder, check=True, env=environ
    )
    found: list[object] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("starting")
    with lamina.open(path / ".lamina", create=True, embedder="none") as vault:
        vault.add("a note about rivers")
    return path


def test_the_program_has_its_process_to_itself(folder: Path) -> None:
    code = SAID.format(arguments="")
    assert said(folder, code, "recall", "rivers") == [0, "1", False, True]
    assert said(folder, code, "recall", "rivers", OMP_NUM_THREADS="2") == [0, None, False, True]
    assert said(folder, code, "recall", "rivers", OPENBLAS_NUM_THREADS="2") == [0, "2", False, True]
    assert said(folder, code, "stats") == [0, None, False, True]  # only what looks one thing up


def test_called_with_arguments_it_leaves_the_process_as_it_was(folder: Path) -> None:
    assert said(folder, SAID.format(arguments='["recall", "rivers"]')) == [0, None, True, False]


def test_a_library_leaves_the_environment_alone(folder: Path) -> None:
    code = """
import json, os
before = dict(os.environ)
import lamina
with lamina.open() as vault:
    vault.recall("rivers")
print(json.dumps([dict(os.environ) == before]))
"""
    assert said(folder, code) == [True]


_TOLD = """
import sys, lamina
with lamina.open(sys.argv[1], lock_timeout_s=0.0) as vault:
    assert vault.inject("which database do we use for the ledger?", "s").text
print([name for name in sys.argv[2:] if name in sys.modules])
"""


def test_a_told_prompt_loads_no_more_than_it_needs(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.add("We decided to use PostgreSQL as the database of the ledger, because SQLite locks.", type="decision")
        vault.add("The bakery opens at seven.")
    needless = [
        "lamina.facts", "lamina.links", "lamina.topics", "lamina.sessions", "lamina.freshness", "click", "numba",
        "pyarrow.compute", "faiss", "lamina_engine.time.phrases", "lamina_engine.time.cjk", "lamina_engine.chunks.writing",
        "lamina_engine.store.transaction", "lamina_engine.graph.walks", "lamina_engine.recall.composite", "httpx",
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", _TOLD, str(tmp_path / "v"), *needless], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]", done.stdout
