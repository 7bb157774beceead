from __future__ import annotations

import threading
import time

import pytest

from lamina_kernels.threads import ThreadTeam


class Stop(Exception):
    pass


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_each_item_is_done_once_and_no_slot_twice_at_a_time(threads: int) -> None:
    busy, done, names = set[int](), list[int](), set[str]()

    def work(slot: int, item: int) -> None:
        assert slot not in busy
        busy.add(slot)
        time.sleep(0.001)
        names.add(threading.current_thread().name)
        done.append(item)
        busy.remove(slot)

    ThreadTeam(threads).run(work, range(40))
    assert sorted(done) == list(range(40))
    assert len(names) == threads  # the caller's own among them
    assert threading.current_thread().name in names


def test_progress_counts_the_costs_of_all_threads() -> None:
    shares: list[float] = []
    ThreadTeam(2, shares.append).run(lambda _, item: time.sleep(item), [0.001] * 10, costs=[3.0] * 10)
    assert shares == sorted(shares)
    assert 0.1 <= shares[0] <= shares[-1] <= 1.0


@pytest.mark.parametrize("failing", ["the caller", "a worker", "the tick"])
def test_a_failure_anywhere_ends_the_work_and_reaches_the_caller(failing: str) -> None:
    begun, own = list[int](), threading.current_thread()

    def work(_: int, item: int) -> None:
        begun.append(item)
        time.sleep(0.002)
        if item >= 4 and failing == ("the caller" if threading.current_thread() is own else "a worker"):
            raise Stop

    def tick(share: float) -> None:
        if failing == "the tick" and share > 0.1:
            raise Stop

    team = ThreadTeam(2, tick)
    with pytest.raises(Stop):
        team.run(work, range(1_000))
    assert len(begun) < 500
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("lamina-1")] == []
    team.check()  # the next piece of work may begin
