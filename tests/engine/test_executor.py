"""Where work runs cannot be seen in what it gives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina
import lamina_engine
import lamina_kernels
from lamina_engine.errors import InvalidArgument
from lamina_engine.executor import Executor, InlineExecutor, ProcessExecutor


def square(number: int) -> int:
    if number < 0:
        raise ValueError(f"{number} is negative")
    return number * number


def process(_: int) -> int:
    return os.getpid()


@pytest.fixture(scope="module", params=["inline", "processes"])
def executor(request: pytest.FixtureRequest) -> Executor:
    return InlineExecutor() if request.param == "inline" else ProcessExecutor(2)


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_results_come_in_the_order_of_the_items(executor: Executor, n: int) -> None:
    assert list(executor.map(square, range(n))) == [i * i for i in range(n)]


def test_items_are_asked_for_as_they_are_needed(executor: Executor) -> None:
    asked: list[int] = []

    def items() -> Iterator[int]:
        for number in range(50):
            asked.append(number)
            yield number

    results = executor.map(square, items())
    assert next(results) == 0
    assert len(asked) <= 4


def test_an_error_is_raised_at_its_place(executor: Executor) -> None:
    results = executor.map(square, [1, -2, 3])
    assert next(results) == 1
    with pytest.raises(ValueError, match="-2"):
        next(results)


def test_only_the_pool_works_elsewhere() -> None:
    assert list(InlineExecutor().map(process, [0])) == [os.getpid()]
    assert os.getpid() not in set(ProcessExecutor(1).map(process, [0, 1]))
    assert (InlineExecutor().remote, ProcessExecutor(1).remote) == (False, True)


@pytest.mark.parametrize("workers", [0, -1, True, 1.5])
def test_a_pool_has_at_least_one_process(workers: int) -> None:
    with pytest.raises(InvalidArgument):
        ProcessExecutor(workers)


def test_nothing_else_knows_where_work_runs() -> None:
    packages = [Path(package.__path__[0]) for package in (lamina, lamina_engine, lamina_kernels)]
    sources = {path.name: path.read_text(encoding="utf-8") for root in packages for path in root.rglob("*.py")}
    knowing = {name for name, text in sources.items() if "ProcessPoolExecutor" in text or "multiprocessing" in text}
    assert knowing == {"executor.py"}
