"""Captures: transcripts read into the vault by processes that no agent waits for.

One worker a session, held by a lock that dies with its process. Exactly-once comes from ingest: a transcript read twice is
read once. A worker may be killed at any moment; what it was asked for waits in the queue for the next event's worker.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time

from lamina.hooks.queue import FOLDER, Queue
from lamina_engine.real_files import open_to_append, remove_file

LOG = "capture.log"
_LONGEST_LOG = 1_000_000
_WRITER_WAIT_S = 120.0
_ROUNDS = 3
"""Times a transcript is read again because it grew meanwhile: agents write the last lines late."""
_SETTLE_S = 0.3


def start_worker(vault: str) -> None:
    """Start a worker that outlives this process, its terminal and its agent."""
    command = [sys.executable, "-m", "lamina.hooks.capture", vault]
    if hasattr(os, "fork"):
        if os.fork():
            return
        try:  # in the child: nothing of the agent's may be kept open
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            os.execv(command[0], command)
        finally:
            os._exit(127)
    import subprocess

    detached = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    nowhere = subprocess.DEVNULL
    subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, creationflags=detached)


def work(root: str) -> None:
    """Capture what waits in a vault's queue, then ask the user's language model."""
    queue = Queue(root)
    captured = [_capture_all(root, queue, key) for key in queue.waits()]
    if any(captured) or queue.waits_for_model():
        _judge(root, queue)
    queue.tidy()


def _capture_all(root: str, queue: Queue, key: str) -> bool:
    """Capture one session until nothing more is asked; False where another worker does so."""
    from lamina_engine.store.lock import try_lock

    new = False
    while key in queue.waits():
        with try_lock(os.path.join(queue.folder, f"{key}.lock")) as mine:
            if not mine:
                return new
            while (asked := queue.take(key)) is not None:
                if not _capture(root, queue, asked):
                    return new  # it waits in the queue
                queue.done(key)
                new = True
    return new


def _capture(root: str, queue: Queue, asked: dict[str, str]) -> bool:
    """Read one transcript; False where it must be tried again later."""
    import lamina
    from lamina_engine.ingest.pipeline import ingest

    transcript, session = asked.get("transcript", ""), asked.get("session", "")
    if queue.is_private(session):
        return True
    began = time.monotonic()
    try:
        with lamina.open(root, lock_timeout_s=_WRITER_WAIT_S) as vault:
            for _ in range(_ROUNDS):
                read = os.stat(transcript)
                report = ingest(vault._memory, [transcript], kind="sessions", folder=asked.get("folder", ""))
                time.sleep(_SETTLE_S)
                if _is_same(read, transcript):
                    break
    except (lamina.VaultLocked, lamina.VaultReadOnly) as error:
        _log(queue, session, asked, began, error=type(error).__name__)
        return False
    except (lamina.LaminaError, OSError) as error:  # it will be no better next time: a file that is gone, another vault
        _log(queue, session, asked, began, error=type(error).__name__)
        return not isinstance(error, OSError) or isinstance(error, (FileNotFoundError, lamina.LaminaError))
    except Exception as error:  # a defect of Lamina, of which nobody else would hear
        _log(queue, session, asked, began, error=f"{type(error).__name__}: {error}"[:200])
        return False
    _log(queue, session, asked, began, chunks=report.chunks, problems=len(report.problems))
    queue.note(session, transcript, asked.get("agent", ""), asked.get("folder", ""), read.st_size)
    if os.path.dirname(transcript) == queue.folder:  # handed over by an agent that keeps none
        with contextlib.suppress(OSError):
            if _is_same(read, transcript):
                remove_file(transcript)
    return True


def _is_same(read: os.stat_result, transcript: str) -> bool:
    now = os.stat(transcript)
    return (now.st_size, now.st_mtime_ns) == (read.st_size, read.st_mtime_ns)


def _judge(root: str, queue: Queue) -> None:
    """Ask the user's language model; without one, the vault keeps the questions.

    One process at a time asks. Another that finds it at work leaves: what it captured was committed before, so the one at
    work finds it when it looks again, after it let go.
    """
    if not (os.environ.get("LAMINA_JUDGE_URL") or os.environ.get("LAMINA_JUDGE_MODEL")):
        return
    import lamina
    from lamina_engine.store.lock import try_lock

    asked = time.monotonic()
    while True:
        with try_lock(os.path.join(queue.folder, "judging.lock")) as mine:
            if not mine:
                return
            try:
                with lamina.open(root, lock_timeout_s=_WRITER_WAIT_S) as vault:
                    private = [
                        each.session
                        for each in vault.sessions(limit=None)
                        if queue.is_private(each.session.partition("@")[0])
                    ]
                    report = vault.judge(over=queue.sessions_over(), private=private)
            except (lamina.LaminaError, OSError) as error:
                _log(queue, "", {}, asked, judging=type(error).__name__)
                return
        _log(
            queue, "", {}, asked, observations=report.observations, links=report.links, requests=report.requests,
            left=report.left, stopped=report.stopped is not None,
        )  # fmt: skip
        if report.stopped is not None or not report.requests:
            return
        asked = time.monotonic()


def _log(queue: Queue, session: str, asked: dict[str, str], began: float, **facts: object) -> None:
    """Append one line of ids, counts and times, and no text."""
    line = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "agent": asked.get("agent"), "session": session,
        "seconds": round(time.monotonic() - began, 3), **facts,
    }  # fmt: skip
    path = os.path.join(queue.folder, LOG)
    with contextlib.suppress(OSError):
        if os.path.exists(path) and os.path.getsize(path) > _LONGEST_LOG // 2:
            os.replace(path, f"{path}.1")
        descriptor = open_to_append(path)
        try:
            os.write(descriptor, json.dumps(line).encode() + b"\n")
        finally:
            os.close(descriptor)


def read_log(root: str) -> list[dict[str, object]]:
    """Return the runs that a vault's log of captures has, oldest first."""
    runs = []
    for name in (f"{LOG}.1", LOG):
        with contextlib.suppress(OSError), open(os.path.join(root, FOLDER, name), encoding="utf-8") as lines:
            for line in lines:
                with contextlib.suppress(ValueError):
                    runs.append(json.loads(line))
    return [run for run in runs if isinstance(run, dict)]


def main() -> None:
    """Work for the vault that the command line names, at the lowest priority."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(19)
    if len(sys.argv) == 2 and os.path.isdir(os.path.join(sys.argv[1], FOLDER)):
        work(sys.argv[1])


if __name__ == "__main__":
    main()
