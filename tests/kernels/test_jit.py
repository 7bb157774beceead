from __future__ import annotations

import inspect
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from lamina_kernels import _jit
from lamina_kernels._jit import Kernel, is_ready, kernel, warm
from lamina_kernels.layouts import F64, TermRows
from lamina_kernels.terms import find_entries

Named = dict[str, Kernel[..., object]]
compiled = pytest.mark.skipif(_jit._jit_disabled(), reason="asks about compiled code")


def examples() -> tuple[object, ...]:
    return np.zeros(2), 1.0, np.empty(2)


@kernel
def _square(x: float) -> float:
    return x * x


def _scaled_squares(values: F64, factor: float, out: F64) -> None:
    for i in range(values.size):
        out[i] = factor * _square(values[i])


def fresh() -> Kernel[[F64, float, F64], None]:
    return kernel(examples=[examples])(_scaled_squares)


def run(each: Kernel[[F64, float, F64], None]) -> list[float]:
    out = np.empty(3)
    each(np.array([1.0, 2.0, 3.0]), 2.0, out)
    return out.tolist()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(_jit, "_user_cache", lambda: tmp_path)
    _jit._cache_folder.cache_clear()
    yield tmp_path / "lamina"
    _jit._cache_folder.cache_clear()


def test_a_kernel_calls_a_kernel(cache: Path) -> None:
    each = fresh()
    assert not is_ready(each)
    assert each.signatures == []
    assert run(each) == [2.0, 8.0, 18.0]
    assert is_ready(each)


def test_keywords_and_metadata(cache: Path) -> None:
    each, out = fresh(), np.empty(1)
    each(np.array([3.0]), out=out, factor=1.0)  # type: ignore[call-arg]
    assert out.tolist() == [9.0]
    assert inspect.unwrap(each) is _scaled_squares
    assert list(inspect.signature(each).parameters) == ["values", "factor", "out"]
    assert each.py_func is _scaled_squares


@compiled
def test_read_only_and_writable_arrays_share_one_signature(cache: Path) -> None:
    each, values, out = fresh(), np.array([3.0]), np.empty(1)
    each(values, 1.0, out)
    values.flags.writeable = False
    each(values, 2, out)  # an int where a float is expected converts
    assert out.tolist() == [18.0]
    assert len(each.signatures) == 1


@compiled
@pytest.mark.parametrize("values", [np.zeros(4)[::2], np.zeros(2, np.float32), np.zeros((2, 2))])
def test_another_layout_or_dtype_is_refused(values: F64) -> None:
    with pytest.raises(TypeError, match="No matching definition"):
        shared(values, 1.0, np.empty(2))


shared = fresh()


@compiled
def test_output_must_be_writable() -> None:
    out = np.empty(2)
    out.flags.writeable = False
    with pytest.raises(TypeError, match="No matching definition"):
        shared(np.zeros(2), 1.0, out)


@compiled
def test_arrays_inside_a_tuple_may_be_read_only_or_writable() -> None:
    block = TermRows(
        indptr=np.array([0, 1]),
        hashes=np.array([7], np.uint32),
        body=np.array([1], np.uint8),
        header=np.array([0], np.uint8),
        context=np.array([0], np.uint8),
        lengths=np.array([[1, 0, 0]], np.uint16),
    )
    query, out, entries = np.array([7], np.uint32), np.empty(1, np.int64), np.empty(1, np.int64)
    for writeable in (True, False):
        for array in block:
            array.flags.writeable = writeable
        assert find_entries(block, query, out, entries) == 1
        assert (out.tolist(), entries.tolist()) == ([0], [0])
        assert block.hashes.flags.writeable is writeable  # the caller's own arrays stay as they are
    find_entries(block=block, query_hashes=query, out_terms=out, out_entries=entries)
    assert len(find_entries.signatures) == 1


@compiled
def test_every_kernel_has_the_signatures_of_its_examples_and_no_more(all_kernels: Named) -> None:
    assert len(all_kernels) >= 11
    for name, each in all_kernels.items():
        assert len(each.signatures) == len(each._examples), name
        assert len(each._examples) >= 1, name


def test_documented_parameters_are_those_of_the_signature(all_kernels: Named) -> None:
    for name, each in all_kernels.items():
        section = inspect.getdoc(each.py_func).split("Parameters\n----------\n")[1].split("\n\n")[0]  # type: ignore[union-attr]
        lines = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", section, re.MULTILINE)
        documented = [parameter for line in lines for parameter in line.split(", ")]
        assert documented == list(inspect.signature(each.py_func).parameters), name


@compiled
def test_cache_is_written_read_and_numba_s_own_setting_restored(cache: Path) -> None:
    import numba

    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    run(fresh())
    assert before == numba.config.CACHE_DIR  # type: ignore[attr-defined]
    (index,) = cache.rglob("*_scaled_squares*.nbi")
    assert index.is_relative_to(cache / "numba" / _jit._digest())
    again = fresh()
    assert run(again) == [2.0, 8.0, 18.0]
    assert again._dispatcher is not None
    assert sum(again._dispatcher.stats.cache_hits.values()) == 1


@compiled
def test_a_torn_cache_costs_time_only(cache: Path) -> None:
    run(fresh())
    for file in cache.rglob("*.nb*"):
        file.write_bytes(b"")
    assert run(fresh()) == [2.0, 8.0, 18.0]


@compiled
def test_numba_s_own_variable_wins(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert _jit._cache_folder() == tmp_path / "chosen" / _jit._digest()


@compiled
def test_without_a_writable_place_there_is_no_cache(cache: Path) -> None:
    cache.write_text("a file where the folder would be")
    assert _jit._cache_folder() is None
    assert run(fresh()) == [2.0, 8.0, 18.0]


@compiled
def test_an_error_in_a_kernel_is_not_taken_for_a_cache_fault(cache: Path) -> None:
    from numba.core.errors import TypingError

    @kernel(examples=[examples])
    def wrong(values: F64, factor: float, out: F64) -> None:
        out[0] = values.no_such_attribute  # type: ignore[attr-defined]

    with pytest.raises(TypingError, match="no_such_attribute"):
        wrong(np.zeros(1), 1.0, np.empty(1))


@pytest.mark.parametrize(
    ("platform", "variable", "ending"),
    [
        ("linux", "XDG_CACHE_HOME", ""),
        ("linux", "HOME", ".cache"),
        ("darwin", "HOME", "Library/Caches"),
        ("win32", "LOCALAPPDATA", ""),
    ],
)
def test_user_cache(platform: str, variable: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    assert _jit._user_cache() == tmp_path / ending


@compiled
def test_digest_follows_every_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jit, "__file__", str(tmp_path / "_jit.py"))
    seen = {_jit._digest()}
    for name, text in [("a.py", "x = 1"), ("a.py", "x = 2"), ("b.py", "x = 2"), ("note.txt", "")]:
        (tmp_path / name).write_text(text)
        seen.add(_jit._digest())
    assert len(seen) == 4  # the text file changes nothing


@compiled
def test_bounds_checked_code_has_its_own_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    before = _jit._digest()
    monkeypatch.setattr("numba.config.BOUNDSCHECK", "changed")
    assert _jit._digest() != before


def test_jit_switched_off_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    each = fresh()
    assert run(each) == [2.0, 8.0, 18.0]
    assert each._entry is _scaled_squares


@compiled
def test_jit_switched_off_in_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    each = fresh()
    assert run(each) == [2.0, 8.0, 18.0]
    assert each._entry is _scaled_squares


def test_first_call_from_many_threads(cache: Path) -> None:
    each, results = fresh(), list[list[float]]()
    start = threading.Barrier(6)

    def work() -> None:
        start.wait()
        results.append(run(each))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[2.0, 8.0, 18.0]] * 6
    assert len(each.signatures) == (0 if _jit._jit_disabled() else 1)


def test_warm_makes_ready(cache: Path) -> None:
    each, other = fresh(), fresh()
    thread = warm([each, other])
    thread.join()
    assert is_ready(each)
    assert is_ready(other)


@compiled
def test_fastmath_is_what_was_named(all_kernels: Named) -> None:
    flagged = {name: sorted(each._fastmath) for name, each in all_kernels.items() if each._fastmath}
    products = {name: ["contract", "reassoc"] for name in ("distances.gather_dots", "distances.row_dots")}
    assert flagged == products


def test_a_helper_called_from_python() -> None:
    each: Callable[[float], float] = kernel(_square.py_func)
    assert each(3.0) == 9.0


LEAVE_WHILE_WARMING = """
import sys
from lamina_kernels import _jit, scoring, terms
assert "numba" not in sys.modules
thread = _jit.warm([scoring.score_rows_kernel, terms.scan_bm25])
if sys.argv[1] == "wait":
    thread.join()
    assert _jit.is_ready(terms.scan_bm25)
"""


@compiled
@pytest.mark.parametrize("what", ["wait", "leave"])
def test_a_process_may_end_while_kernels_warm(what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVE_WHILE_WARMING, what], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
