"""A forked child works, whatever the threads of its parent were doing."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import lamina_engine
from lamina_engine import after_fork

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")

BEGINNING = """
import functools, os, signal, sys, threading, warnings
warnings.simplefilter("ignore")
from lamina_engine import after_fork

def holding(*locks):
    "Hold some locks on a thread that goes on until the process ends."
    ready = threading.Event()
    def run():
        for each in locks:
            each.acquire()
        ready.set()
        threading.Event().wait()
    threading.Thread(target=run, daemon=True).start()
    ready.wait()

def in_child(work):
    "Return what a forked child's exit says: 0 where the work was done in time."
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            work()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]
"""


def run(code: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", BEGINNING + code, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.split()


def test_a_lock_that_a_thread_held_is_free_in_the_child_and_what_it_guards_is_reset() -> None:
    code = """
class Kept:
    anew = 0
    def reset_after_fork(self):
        self.anew += 1

@after_fork.track_property_locks
class Slow:
    @functools.cached_property
    def value(self):
        return 1

kept, free, plain, nested = Kept(), after_fork.make_lock(), after_fork.make_lock(), after_fork.make_rlock()
after_fork.register_after_fork(kept)
def nothing_was_held():
    assert free.acquire(blocking=False) and kept.anew == 0
print(in_child(nothing_was_held))
shared = getattr(vars(Slow)["value"], "lock", None)
holding(plain, nested, *([shared] if shared else []))
def all_is_free():
    assert plain.acquire(timeout=1) and nested.acquire(timeout=1) and Slow().value == 1 and kept.anew == 1
print(in_child(all_is_free))
print(int(plain.acquire(blocking=False)), kept.anew)
"""
    assert run(code) == ["0", "0", "0", "0"], "the parent's own lock stays held, and it begins nothing anew"


def test_a_child_recalls_and_writes_while_a_thread_of_its_parent_held_everything(tmp_path: Path) -> None:
    code = """
import lamina
after_fork._WAIT_S = 1.0  # a thread that imports waits for what is held below: the fork waits in vain
vault = lamina.open(sys.argv[1], create=True, embedder="none")
vault.add([{"text": f"note {i} of the gateway", "id": f"id{i}"} for i in range(20)])
def asked():
    return [(hit.id, hit.score) for hit in vault.recall("gateway note", k=5, now="2030-01-01")]
ref = asked()
memory = vault._memory
segments = [s for log in ("chunks", "events") for s in memory.store.snapshot().segments(log)]
shared = [p.lock for p in vars(type(memory.view())).values() if getattr(p, "lock", None) is not None]
vault.add("one more note", id="more")
ref = asked()
holding(memory._lock, memory._view_lock, memory.tables._lock, memory.tables.created._lock,
        *(s._lock for s in segments), *shared)
def used():
    assert asked() == ref
    vault.add("by the child", id="child")
    assert vault.get("child").text == "by the child"
print(in_child(used))
"""
    assert run(code, str(tmp_path / "vault")) == ["0"]


def test_a_child_imports_what_a_thread_of_its_parent_was_importing(tmp_path: Path) -> None:
    """findings, attack 10: the child waited for ever for the lock of a module that was half imported."""
    (tmp_path / "slow_module.py").write_text("import time\ntime.sleep(1.0)\nready = True\n")
    code = """
import time
sys.path.insert(0, sys.argv[1])
threading.Thread(target=lambda: __import__("slow_module")).start()
time.sleep(0.3)
def used():
    import slow_module
    assert slow_module.ready
print(in_child(used))
import slow_module
print(in_child(used), slow_module.ready)
"""
    assert run(code, str(tmp_path)) == ["0", "0", "True"]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="cached properties have no locks")
def test_every_cached_property_of_the_engine_is_free_in_a_forked_child() -> None:
    untracked = []
    for module in pkgutil.walk_packages(lamina_engine.__path__, "lamina_engine."):
        for name, cls in vars(importlib.import_module(module.name)).items():
            if isinstance(cls, type) and cls.__module__ == module.name:
                found = [each for each in vars(cls).values() if isinstance(each, functools.cached_property)]
                untracked += [f"{module.name}.{name}" for each in found if vars(each)["lock"] not in after_fork._locks]
    assert untracked == []


def test_a_fork_waits_for_a_kernel_that_is_being_loaded() -> None:
    """A child that was forked right behind a long add hung in its first recall, at Numba's lock."""
    code = """
import time
import numpy as np
from lamina_kernels import _jit, tokens
begun, loaded = threading.Event(), []
specialize = _jit.Kernel._specialize
def slowly(kernel, folder):
    begun.set()
    time.sleep(0.3)
    found = specialize(kernel, folder)
    loaded.append(kernel)
    return found
_jit.Kernel._specialize = slowly
thread = _jit.warm([tokens.join_spans])
begun.wait()
def ask():
    out = np.empty(3, np.uint8)
    tokens.join_spans(np.frombuffer(b"ab", np.uint8), np.array([0, 2]), 10, out)
    tokens.hash_spans(np.frombuffer(b"ab", np.uint8), np.array([0]), np.array([2]), np.empty(1, np.int64))
    assert out.tobytes() == b"ab\\n" and loaded
print(in_child(ask))
thread.join()
"""
    assert run(code) == ["0"]
