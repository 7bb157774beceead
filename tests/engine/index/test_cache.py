"""Values that other rooms derive from a view or from the tables: made once per key."""

import threading

import pytest

from lamina_engine.index.cache import Cache


def test_a_value_is_made_once_per_key() -> None:
    cache = Cache()
    made: list[int] = []

    def make() -> list[int]:
        made.append(1)
        return [len(made)]

    first = cache.cached("a", make)
    assert cache.cached("a", make) is first
    assert cache.cached(("a", 1), make) == [2]
    assert len(made) == 2


def test_making_may_ask_for_other_keys() -> None:
    cache = Cache()
    assert cache.cached("outer", lambda: cache.cached("inner", lambda: 1) + 1) == 2
    assert cache.peek_cached("inner") == 1


def test_a_failure_is_not_remembered() -> None:
    cache = Cache()
    with pytest.raises(ZeroDivisionError):
        cache.cached("a", lambda: 1 // 0)
    assert cache.peek_cached("a") is None
    assert cache.cached("a", lambda: 3) == 3


def test_a_value_can_be_replaced() -> None:
    cache = Cache()
    cache.cached("a", lambda: 1)
    assert cache.put_cached("a", 2) == 2
    assert cache.cached("a", lambda: 3) == 2


def test_threads_make_one_value() -> None:
    cache = Cache()
    made: list[int] = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        cache.cached("a", lambda: made.append(1))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
