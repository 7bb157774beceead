"""Executors: run work in this process, in others, or on a Ray cluster.

Work is a function of its item alone and its results come back in the order of the items, so where it ran cannot be
seen in what it gave; an item that is done twice does no harm.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from lamina_engine.errors import ClusterUnreachable, InvalidArgument, MissingExtra

if TYPE_CHECKING:
    from concurrent.futures import Executor as Pool
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")

logger = logging.getLogger(__name__)

AHEAD = 2
"""Items under way for each worker: one that is worked on, one that waits for it."""


class Executor(Protocol):
    """Applies a function to items."""

    @property
    def remote(self) -> bool:
        """True where functions, items and results must be picklable."""
        ...

    def map(self, fn: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield ``fn(item)`` of each item in order; items are read a few ahead at most."""
        ...


class InlineExecutor:
    """Does the work in the calling thread, one item at a time, when its result is asked for."""

    @property
    def remote(self) -> bool:
        """False."""
        return False

    def map(self, fn: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield ``fn(item)`` of each item, in order."""
        return map(fn, items)


class ProcessExecutor:
    """Pool of freshly started processes, never forked: a parent may have threads.

    Notes
    -----
    As always with started processes, a script must guard its own entry with ``if __name__ == "__main__":``.
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
            raise InvalidArgument(f"workers={workers!r} must be a whole number from 1 up, or None for one per CPU")
        self.workers = workers or usable_cpus()

    @property
    def remote(self) -> bool:
        """True."""
        return True

    def map(self, fn: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield ``fn(item)`` of each item, in order; at most `AHEAD` items a worker are under way."""
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        # the function goes to each process once, and not with every item: it may hold all that items are compared with
        pool = ProcessPoolExecutor(self.workers, get_context("spawn"), initializer=_keep, initargs=(fn,))
        yield from map_in_pool(pool, _apply_kept, items, AHEAD * self.workers)


def map_in_pool(pool: Pool, fn: Callable[[T], R], items: Iterable[T], most: int) -> Iterator[R]:
    """Yield ``fn(item)`` of each item, in order, with at most so many under way.

    The pool ends with it.
    """
    pending: deque[Future[R]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(fn, item))
            if len(pending) >= most:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:  # also where the caller stops early
        pool.shutdown(wait=True, cancel_futures=True)


CONNECT_S: Final = 10.0
PATIENCE_S: Final = 60.0
"""A cluster may lose all nodes that can do the work for so long: others may come in their place."""
_RERUNS: Final = 100
_LOOPBACK: Final = "127.0.0.1"


class RayExecutor:
    """Tasks on a running Ray cluster, which runs them again where a worker or its node dies.

    Every node has the same Lamina installed as this process. ``resources`` are what Ray reserves for a task beside one CPU.
    """

    def __init__(self, address: str, resources: Mapping[str, float] | None = None) -> None:
        self._address, self._resources = address, dict(resources or {})
        self._ray, self._is_own = join_cluster(address)
        self._check_offers()
        if self._ray.available_resources().get("CPU", 0.0) < 1.0:
            logger.warning(
                "no CPU of the Ray cluster at %s is free, and the work waits for one: each replica that serves holds one, too; "
                "add a node, or stop what holds them", address,
            )  # fmt: skip
        self._task = self._ray.remote(_apply).options(num_cpus=1, resources=self._resources, max_retries=_RERUNS)

    @property
    def remote(self) -> bool:
        """True."""
        return True

    def map(self, fn: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield ``fn(item)`` of each item, in order; `AHEAD` items a CPU are under way."""
        function = self._ray.put(fn)  # once, and not with every item
        pending: deque[Any] = deque()
        # where the caller stops early, what is under way ends by itself: to cancel a task that is just ending aborts this
        # process (github.com/ray-project/ray/issues/54846)
        for item in items:
            pending.append(self._task.remote(function, item))
            if len(pending) >= AHEAD * max(1, int(self._offered().get("CPU", 1))):
                yield self._result(pending.popleft())
        while pending:
            yield self._result(pending.popleft())

    def close(self) -> None:
        """Leave the cluster, if this executor joined it."""
        if self._is_own:
            self._ray.shutdown()

    def _result(self, task: Any) -> Any:
        while not self._ray.wait([task], timeout=PATIENCE_S)[0]:
            self._check_offers()
        try:
            return self._ray.get(task)
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause or error) from None  # as `fn` raised it
        except self._ray.exceptions.RayError as error:
            raise ClusterUnreachable(
                f"the Ray cluster at {self._address} lost the work {_RERUNS} times: {error}; what was committed is kept"
            ) from error

    def _offered(self) -> dict[str, float]:
        return dict(self._ray.cluster_resources())

    def _check_offers(self) -> None:
        """Raise if no node could ever do the work: Ray would wait for one without end."""
        offered = self._offered()
        wanted = {"CPU": 1.0, **self._resources}
        missing = {name: count for name, count in wanted.items() if offered.get(name, 0.0) < count}
        if missing:
            own = {
                name: count for name, count in offered.items() if not name.startswith(("node:", "memory", "object_"))
            }
            raise ClusterUnreachable(
                f"the Ray cluster at {self._address} has no node with {missing}; it offers {own}; start one, or ask for less "
                "(what was committed is kept)"
            )


@contextlib.contextmanager
def open_executor(
    workers: int = 1, ray: str | None = None, resources: Mapping[str, float] | None = None
) -> Iterator[Executor]:
    """Yield the executor asked for: this process, a pool of processes, or a Ray cluster.

    Raises
    ------
    InvalidArgument, MissingExtra, ClusterUnreachable
    """
    if ray is not None:
        with contextlib.closing(RayExecutor(ray, resources)) as executor:
            yield executor
    elif resources:
        raise InvalidArgument(f"resources={dict(resources)!r} are those of a Ray cluster; name one, or leave them out")
    else:
        yield InlineExecutor() if workers == 1 and not isinstance(workers, bool) else ProcessExecutor(workers)


_kept: list[Callable[[Any], Any]] = []
"""The function of this process, where it is one of a pool."""


def _keep(fn: Callable[[Any], Any]) -> None:
    """Keep the function of a pool, in one of its processes."""
    _kept[:] = [fn]


def _apply_kept(item: Any) -> Any:
    """Apply the function of the pool."""
    return _kept[0](item)


def _apply(fn: Callable[[Any], Any], item: Any) -> Any:
    """Apply a function on a worker."""
    return fn(item)


def join_cluster(address: str) -> tuple[Any, bool]:
    """Join a running Ray cluster; return Ray's module, and whether this call has joined it.

    Raises
    ------
    MissingExtra, InvalidArgument, ClusterUnreachable
    """
    from importlib import import_module

    try:
        ray = import_module("ray")
    except ImportError as error:
        raise MissingExtra("a Ray cluster needs ray, which is not installed", "cluster") from error
    _check_answers(address)
    if ray.is_initialized():
        return ray, False
    try:
        # Ray takes a loopback address for that of the network card, where such a cluster does not listen
        place = {"_node_ip_address": _LOOPBACK} if address.startswith(f"{_LOOPBACK}:") else {}
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **place)
    except (OSError, RuntimeError, ValueError) as error:
        hint = ""
        if "AuthToken" in str(error) or "AuthToken" in str(error.__context__):
            hint = (
                "; the cluster wants its token: copy its ~/.ray/auth_token to this machine and set RAY_AUTH_MODE=token"
            )
        raise ClusterUnreachable(f"no Ray cluster could be joined at {address}: {error}{hint}") from error
    return ray, True


def _check_answers(address: str) -> None:
    """Raise unless something listens at an address: Ray itself would try for minutes."""
    import socket  # 4 ms, which the first answer of a process would pay for

    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise InvalidArgument(
            f"ray={address!r} must be the address of a running cluster: host:port, ray://host:port or auto"
        )
    try:
        with contextlib.closing(socket.create_connection((host, int(port)), CONNECT_S)):
            pass
    except (OSError, OverflowError) as error:
        raise ClusterUnreachable(
            f"nothing answers at {address} ({error}); start a cluster with `ray start --head`, or correct the address"
        ) from error


def usable_cpus() -> int:
    """Return how many CPUs this process may use; at least 1."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()) or 1
