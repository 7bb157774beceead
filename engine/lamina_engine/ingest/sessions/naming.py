"""What the place of a file says about its session: ids in names, and the project in the working folder."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_WORKTREE: Final = re.compile(r"/(?:\.[\w-]+/)?\.?worktrees/")
_CALLED: Final = "subagents"
_PREFIX: Final = "agent-"


class FileName(NamedTuple):
    """What a file's path says."""

    stem: str
    session: str | None
    """Id of the session, where name or folder is a UUID."""
    agent: str | None
    """Id of the agent, where the file is that of one that was called."""


def file_name(path: str) -> FileName:
    """Read a path with ``/``; the nearest folders count, those further up do not."""
    *folders, last = path.split("/")
    stem = last.rpartition(".")[0] or last
    called = _CALLED in folders[-2:]
    agent = stem.removeprefix(_PREFIX) if called or stem.startswith(_PREFIX) else None
    if agent is None:
        return FileName(stem, _uuid(stem), None)
    above = folders[: folders.index(_CALLED)] if called else []
    return FileName(stem, _uuid(above[-1]) if above else None, agent or stem)


def _uuid(name: str) -> str | None:
    return name if _UUID.fullmatch(name) else None


def project_of(folder: str | None) -> str | None:
    """Return the project of a working folder: its last part; a worktree belongs to the repository it is of."""
    if not folder:
        return None
    path = folder.replace("\\", "/").rstrip("/")
    if len(path) > 1 and path[1] == ":":
        path = path[2:]
    found = _WORKTREE.search(f"{path}/")
    if found is not None and found.start() > 0:
        path = path[: found.start()]
    return path.rpartition("/")[2] or None
