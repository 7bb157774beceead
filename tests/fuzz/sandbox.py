"""Cases in a forked child: a crash, a hang or an allocation beyond the bound ends the child, and names the case."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

import lamina

MOST_BYTES: Final = 512 << 20
"""What one case may allocate beyond what the process has when it begins."""
_ROOM: Final = 3
SECONDS: Final = 20
"""What one case may take of a processor."""
_WAITING: Final = 9
"""So many times longer it may wait, on a busy machine."""

T = TypeVar("T")


class Outcome(NamedTuple):
    """End of one case."""

    kind: str
    """``ok``, ``typed``, ``untyped``, ``wrong``, ``hang``, ``memory`` or ``crash``."""
    detail: str
    extra: dict[str, str]
    """What the case reports of itself."""

    @property
    def is_find(self) -> bool:
        """True for what must never happen."""
        return self.kind not in ("ok", "typed")


class Wrong(AssertionError):
    """Raised by a case for an answer that is wrong, where nothing was raised."""


def run_case(act: Callable[[T], dict[str, str]], case: T) -> Outcome:
    """Run one case in this process and classify its end."""
    try:
        extra = act(case)
    except lamina.LaminaError as error:
        return Outcome("typed", f"{type(error).__name__}: {error}"[:300], {})
    except Wrong as error:
        return Outcome("wrong", str(error)[:1000], {})
    except MemoryError:
        return Outcome("memory", traceback.format_exc()[-1500:], {})
    except BaseException:
        return Outcome("untyped", traceback.format_exc()[-1500:], {})
    return Outcome("typed" if extra.get("typed") else "ok", "", extra)


def run_cases(act: Callable[[T], dict[str, str]], cases: Sequence[T], seconds: int = SECONDS) -> Iterator[Outcome]:
    """Yield the outcome of each case; children are forked again after one that died."""
    done = 0
    while done < len(cases):
        reading, writing = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _work(act, cases[done:], writing, seconds)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            for line in pipe:
                if line.endswith(b"\n"):
                    kind, detail, extra = json.loads(line)
                    yield Outcome(kind, detail, extra)
                    done += 1
        _, status = os.waitpid(child, 0)
        if done < len(cases) and status:
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            kind = "hang" if number in (signal.SIGALRM, signal.SIGPROF) else "crash"
            yield Outcome(kind, f"signal {number}" if number else f"exit {os.WEXITSTATUS(status)}", {})
            done += 1


def _work(act: Callable[[T], dict[str, str]], cases: Sequence[T], writing: int, seconds: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)  # warnings of damage are what is meant to be there
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    for case in cases:
        # address space holds what a case maps and what its threads reserve, too: its bound is wider
        resource.setrlimit(resource.RLIMIT_AS, (_address_space() + _ROOM * MOST_BYTES, hard))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.alarm(_WAITING * seconds)
        outcome = run_case(act, case)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
        if grown > MOST_BYTES:
            outcome = Outcome("memory", f"{grown >> 20} MiB more than before", {})
        os.write(writing, json.dumps(outcome).encode() + b"\n")
    os._exit(0)


def _address_space() -> int:
    with open("/proc/self/statm", "rb") as numbers:  # noqa: PTH123
        return int(numbers.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
