"""An agent, as far as a hook sees one: it starts a process, writes JSON into it and reads JSON from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

PATIENT = "--deadline=60000"
"""The machine of a test may be busy."""


class Ran(NamedTuple):
    code: int
    out: bytes
    err: str
    seconds: float

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def context(self) -> str:
        found = self.document
        text = found.get("hookSpecificOutput", found).get("additionalContext", "")
        assert isinstance(text, str)
        return text


def hook(
    event: str, payload: object = None, *options: str, cwd: Path | None = None, code: str = "", **environ: str
) -> Ran:
    """Run a hook in a process of its own; ``code`` runs before it, in that process."""
    given = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    script = f"{code}\nfrom lamina.cli import main\nimport sys\nsys.exit(main({['hook', event, *options]!r}))"
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script], input=given, capture_output=True, cwd=cwd, timeout=120, check=False,
        env={**os.environ, **environ},
    )  # fmt: skip
    return Ran(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"), time.monotonic() - began)


def until(condition: Any, seconds: float = 60.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to hold"
        time.sleep(0.05)


def queued(vault: Path) -> list[str]:
    """Return what of the queue is still to be captured."""
    folder = vault / "queue"
    return (
        sorted(path.name for path in folder.glob("*") if path.suffix in (".json", ".taken")) if folder.exists() else []
    )
