from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from lamina_engine.subprocesses import MAX_WORKERS, SubprocessExecutor, count_workers

PID = "__import__('os').getpid()"
ELSEWHERE = f"{PID} != {os.getpid()}"


def there(*expressions: str, workers: int = 1) -> list[object]:
    """What expressions give, evaluated by processes."""
    return list(SubprocessExecutor(workers).map(eval, expressions))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_results_come_in_the_order_of_the_items(workers: int, n: int) -> None:
    assert SubprocessExecutor(workers).remote
    assert list(SubprocessExecutor(workers).map(partial(max, 3), range(n))) == [max(3, i) for i in range(n)]


def test_the_work_is_done_elsewhere() -> None:
    first, second = there(PID, PID)
    assert first == second != os.getpid()


def test_answers_of_many_megabytes_pass() -> None:
    assert there("'x' * 10 ** 7", "[0] * 10 ** 5") == ["x" * 10**7, [0] * 10**5]


def test_what_the_work_prints_does_not_disturb_it(capfd: pytest.CaptureFixture[str]) -> None:
    assert there("print('said')", "__import__('os').write(1, b'said')", "7") == [None, 4, 7]
    assert capfd.readouterr() == ("", "")


def test_an_error_is_raised_at_its_place() -> None:
    results = SubprocessExecutor(1).map(eval, ["1", "1 / 0", "3"])
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        next(results)


def test_an_error_that_cannot_travel_is_told_in_words() -> None:
    odd = "(_ for _ in ()).throw(type('Odd', (Exception,), {})('so it is'))"
    with pytest.raises(RuntimeError, match=r"Odd\('so it is'\)"):
        there(odd)


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), 9)", "os.close(0) or os._exit(0)"])
def test_what_a_process_takes_with_it_is_done_here(end: str) -> None:
    dies = f"(lambda os: ({end}) if {ELSEWHERE} else 'here')(__import__('os'))"
    assert there("1", dies, PID, workers=1) == [1, "here", os.getpid()]


def test_work_that_no_process_can_take_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert there(PID, "2") == [os.getpid(), 2]


def test_work_that_no_process_knows_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("only_here")
    exec("import os\ndef known(item): return item, os.getpid()", module.__dict__)
    monkeypatch.setitem(sys.modules, "only_here", module)
    assert list(SubprocessExecutor(1).map(module.known, [1, 2])) == [(1, os.getpid()), (2, os.getpid())]


def test_work_that_cannot_travel_is_done_here() -> None:
    assert list(SubprocessExecutor(1).map(lambda item: (item, os.getpid()), [1, 2])) == [
        (1, os.getpid()),
        (2, os.getpid()),
    ]


def test_items_are_asked_for_as_they_are_needed() -> None:
    asked: list[int] = []

    def items() -> Iterator[int]:
        for i in range(100):
            asked.append(i)
            yield i

    results = SubprocessExecutor(1).map(abs, items())
    assert next(results) == 0
    assert len(asked) < 5
    results.close()  # type: ignore[attr-defined]


def test_a_script_that_guards_nothing_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            from lamina_engine.subprocesses import SubprocessExecutor
            print("begun", list(SubprocessExecutor(2).map(abs, [-1, -2, -3])))
        """)
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("begun [1, 2, 3]\n", "")


def test_modules_of_the_folder_one_stands_in_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit('not this one')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    assert there(PID) != [os.getpid()]


def test_each_of_two_cpus_gets_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {1: 0, 2: 2, 64: MAX_WORKERS}
    for cpus, workers in counts.items():
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=cpus: set(range(n)), raising=False)
        assert count_workers() == workers
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert count_workers() == 0
