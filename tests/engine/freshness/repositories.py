"""Real git repositories, built on the fly; every commit is dated by its number."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

DAY = 86_400
BEFORE = 1_700_000_000
"""Seconds; commits before anything was stored."""
AFTER = 1_800_000_000
"""Seconds; commits after: the clock of the tests' vaults stands between the two."""


class Git:
    """A work tree with its repository."""

    def __init__(self, root: Path, *, init: bool = True) -> None:
        self.root = root
        self.date_s = BEFORE
        root.mkdir(parents=True, exist_ok=True)
        if init:
            self("init", "-q", "-b", "main")

    def __call__(self, *arguments: str) -> str:
        names = {"NAME": "n", "EMAIL": "e@x"}
        who = {f"GIT_{role}_{what}": text for role in ("AUTHOR", "COMMITTER") for what, text in names.items()}
        date = f"{self.date_s} +0200"
        env = os.environ | who | {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        command = ["git", "-c", "protocol.file.allow=always", "-C", str(self.root), *arguments]
        return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout.strip()

    def later(self) -> None:
        """From now on commits are dated after what was stored."""
        self.date_s = max(self.date_s, AFTER)

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def commit(self) -> str:
        self.date_s += DAY
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", "m")
        return self("rev-parse", "HEAD")

    def touch(self, path: str, times: int = 1) -> None:
        """Commit so many changes of a file, in one run of git."""
        text = (self.root / path).read_text(encoding="utf-8")
        branch = self("symbolic-ref", "HEAD")
        stream = f"reset {branch}\nfrom {branch}^0\n\n" if times else ""
        for _ in range(times):
            self.date_s += DAY
            text += f"line at {self.date_s}\n"
            data = text.encode()
            stream += f"commit {branch}\nauthor n <e@x> {self.date_s} +0200\ncommitter n <e@x> {self.date_s} +0200\n"
            stream += f"data 1\nm\nM 100644 inline {path}\ndata {len(data)}\n{text}\n"
        if times:
            command = ["git", "-C", str(self.root), "fast-import", "--quiet", "--date-format=raw"]
            subprocess.run(command, input=stream.encode(), check=True, capture_output=True)
            self("reset", "-q", "--hard")


def body(name: str) -> str:
    """Return a text long enough for git to know it again after a small change."""
    return f"# {name}\n\n" + "".join(f"{name} says thing number {i}.\n" for i in range(20))
