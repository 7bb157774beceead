"""How the benches time, and what they note beside each time for the history and the tables."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any, Final, Literal, TypeVar

from pytest_benchmark.fixture import BenchmarkFixture

T = TypeVar("T")
R = TypeVar("R")
Kind = Literal["latency", "rate", "value"]

SLOW_S: Final = 0.02
"""A call from which on each question is timed once and not three times."""


def over(benchmark: BenchmarkFixture, ask: Callable[[T], R], asked: Sequence[T], **note: Any) -> R:
    """Time a call on many arguments, each call a round of its own; note p50, p90 and p99 in seconds.

    Arguments are asked in turn, after all of them were asked once untimed; ``note`` goes to `describe`. Without timing
    one call is made.
    """
    rounds = 1
    if benchmark.enabled:
        slowest = max(_seconds(ask, argument) for argument in asked)
        rounds = len(asked) * (1 if slowest > SLOW_S else 3)
    turn = cycle(asked)
    pedantic: Any = benchmark.pedantic
    started = processor_seconds()
    result: R = pedantic(ask, setup=lambda: ((next(turn),), {}), rounds=rounds)
    describe(benchmark, kind="latency", cpu=(processor_seconds() - started) / rounds, **note)
    return result


def repeat(benchmark: BenchmarkFixture, work: Callable[[], R], *, rounds: int, warm: int = 0) -> R:
    """Time a piece of work a number of times, after ``warm`` untimed ones, and return what it gave."""
    pedantic: Any = benchmark.pedantic  # it has no types
    started = processor_seconds()
    result: R = pedantic(work, rounds=rounds, warmup_rounds=warm)
    benchmark.extra_info["cpu"] = (processor_seconds() - started) / (rounds + warm)
    return result


def processor_seconds() -> float:
    """Return the processor time of this process, all its threads, and the processes that it has waited for."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def whole(benchmark: BenchmarkFixture, work: Callable[[], R], amount: float, *, rounds: int = 5, **note: Any) -> R:
    """Time one piece of work of an amount, such as a number of rows; note the amount, from which a rate follows.

    Short work is repeated for about half a second, 200 times at most.
    """
    if benchmark.enabled:
        work()  # compiled, mapped and in the caches
        once = _seconds(lambda _: work(), None)
        rounds = max(rounds, min(200, int(0.5 / max(once, 1e-6))))
    result = repeat(benchmark, work, rounds=rounds)
    describe(benchmark, kind="rate", amount=amount, **note)
    return result


def describe(
    benchmark: BenchmarkFixture,
    *,
    group: str,
    system: str,
    kind: Kind,
    settings: str = "",
    size: int | None = None,
    **more: Any,
) -> None:
    """Note whose time it is and what it stands for; the names are read by `bench.history` and `bench.report`.

    Parameters
    ----------
    group : str
        The claim: systems and sizes of one group share a table.
    system, settings : str
        What was timed, with its settings.
    kind : {"latency", "rate", "value"}
        Whether the table shows seconds, ``amount`` divided by them, or ``value``.
    size : int, optional
        Rows.
    **more
        ``amount``, ``unit``, ``value``, ``recall``, ``versions``, or anything worth keeping.
    """
    benchmark.group = f"{group}, {size_name(size)}" if size else group
    benchmark.extra_info.update(group=group, system=system, kind=kind, settings=settings, size=size, **more)
    if benchmark.enabled:
        benchmark.extra_info.update(percentiles(benchmark.stats.stats.sorted_data))  # type: ignore[union-attr]


def percentiles(ordered: Sequence[float]) -> dict[str, float]:
    """Return p50, p90 and p99 by nearest rank of ascending values."""
    return {f"p{p}": ordered[max(0, -(-p * len(ordered) // 100) - 1)] for p in (50, 90, 99)}


def size_name(size: int) -> str:
    """Return 10k for 10,000 and 1M for 1,000,000."""
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)


def parse_size(text: str) -> int:
    """Return 10000 for 10k; the reverse of `size_name`.

    Raises
    ------
    ValueError
        For anything but a whole number of at least 1000 with k, M or nothing after it.
    """
    number, unit = text.strip()[:-1], text.strip()[-1:].lower()
    scale = {"k": 1_000, "m": 1_000_000}.get(unit)
    size = int(number) * scale if scale else int(text)
    if size < 1_000:
        raise ValueError(f"a size of {text!r} is too small; give 1000 rows or more, such as 10k, 100k or 1M")
    return size


def _seconds(call: Callable[[T], object], argument: T) -> float:
    started = time.perf_counter()
    call(argument)
    return time.perf_counter() - started
