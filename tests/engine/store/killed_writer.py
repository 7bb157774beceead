"""A writer to be killed: for every line on its input it forks a child that writes until somebody kills it.

Arguments: the vault. Output, one line each: ``pid N``; then from the child ``want KIND ID VALUE`` before a write and
``done KIND ID VALUE`` once the call has returned; ``dead`` when the child is gone.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from pathlib import Path

from lamina_engine.care.compaction import compact
from lamina_engine.care.forgetting import forget
from lamina_engine.chunks import lifecycle
from lamina_engine.ingest import adding
from lamina_engine.memory import Memory
from lamina_engine.reindex.job import reindex

KINDS = ("add", "update", "add", "invalidate", "compact", "add", "reindex", "add", "add", "forget", "add", "bulk")
FIRST = ("add", "add")
"""So that there is something to update, whatever comes next."""


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def act(memory: Memory, kind: str, number: int) -> None:
    """Do one write about the chunk of that number, or of the one before."""
    name = f"c{number}"
    if kind == "bulk":
        say("want", "add", name, f"text{number}")
        adding.add(memory, [{"text": f"text{number}", "id": name}, *({"text": f"{name} {i}"} for i in range(200))], {})
        say("done", "add", name, f"text{number}")
        return
    if kind in ("compact", "reindex"):
        say("want", kind, "-", "-")
        compact(memory) if kind == "compact" else reindex(memory)
        say("done", kind, "-", "-")
        return
    value = {"add": f"text{number}", "update": f"new{number}"}.get(kind, "gone")
    about = name if kind == "add" else f"c{number - 1}"
    say("want", kind, about, value)
    if kind == "add":
        adding.add(memory, value, {"id": name})
    elif kind == "update":
        adding.update(memory, about, {"text": value})
    elif kind == "invalidate":
        lifecycle.invalidate(memory, about, "no longer true")
    else:
        forget(memory, ids=about, dry_run=False)
    say("done", kind, about, value)


def write_on(root: Path, first: int) -> None:
    memory = Memory(root, embedder="none")
    number, begin = first, first // 10 % len(KINDS)
    for kind in itertools.chain(FIRST, itertools.islice(itertools.cycle(KINDS), begin, None)):
        number += kind in ("add", "bulk")
        act(memory, kind, number)


def main() -> None:
    root = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:  # everything is loaded before the first fork
        memory = Memory(Path(scratch) / "vault", create=True, embedder="none")
        adding.add(memory, "loaded", {"id": "c"})
        adding.update(memory, "c", {"text": "changed"})
        lifecycle.invalidate(memory, "c", "done")
        compact(memory)
        reindex(memory)
        forget(memory, ids="c", dry_run=False)
        memory.close()
    say("ready")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                write_on(root, int(line))
            finally:
                os._exit(1)
        say("pid", child)
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    main()
