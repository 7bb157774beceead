"""Trust in vaults: those of clones and other users are read, and not written until trusted.

Hooks and MCP do not open an untrusted vault at all: what a repository brings along would be somebody else's words in the
user's prompt. Trust is kept in the user's settings, by path and by the vault's random name, never in the vault.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from lamina.location import repository_root, user_settings
from lamina_engine.errors import LaminaError, VaultUntrusted
from lamina_engine.store import manifest as manifests

_FOLDER: Final = "trusted"
_GIT_LIMIT_S: Final = 5.0


def check_trusted(root: Path) -> None:
    """Raise `VaultUntrusted` for a vault that this user has neither made nor trusted."""
    reason = _suspicion(root)
    if reason and not _is_recorded(root):
        raise VaultUntrusted(
            f"{root} {reason}, and no `lamina init` of yours made it: it is read, never written, and hooks and MCP do "
            f"not open it; look at it with `lamina list`, then allow it with `lamina trust {root}`"
        )


def is_trusted(root: Path) -> bool:
    """Return True where hooks and servers may open a vault."""
    try:
        check_trusted(root)
    except VaultUntrusted:
        return False
    return True


def record_trust(root: Path) -> Path:
    """Trust a vault from now on, and return its path as it was recorded."""
    place = root.resolve()
    note = _note(manifests.load(root, manifests.read_current(root)).vault)
    paths = [*_recorded(note), str(place)]
    note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = note.with_name(f".{note.name}.{os.getpid()}")
    aside.write_text("".join(f"{path}\n" for path in dict.fromkeys(paths)), encoding="utf-8", errors="surrogateescape")
    aside.replace(note)
    return place


def _suspicion(root: Path) -> str | None:
    """Return an objection to a vault, its owner or that git tracks it; None for the user's own."""
    try:
        owner = root.stat().st_uid
    except OSError:
        return None  # what is missing is said better by whoever opens it
    if hasattr(os, "getuid"):
        me = os.getuid()
        if owner not in (me, 0) or (owner == 0 and me != 0 and os.access(root, os.W_OK)):
            return f"belongs to user id {owner}, you are {me}"
    # a link may be tracked as well as what it points at
    places = dict.fromkeys((Path(os.path.abspath(root)), root.resolve()))  # noqa: PTH100 - resolve would follow the link
    return "is tracked by git" if any(_is_tracked(place) for place in places) else None


def _is_tracked(root: Path) -> bool:
    if repository_root(str(root.parent)) is None:
        return False
    from lamina_engine.ingest.git import GitFailed, run_git

    try:
        return bool(run_git(root.parent, "ls-files", "-z", "--", root.name, timeout_s=_GIT_LIMIT_S))
    except GitFailed:  # no git, or a repository it does not read: nothing says that the vault is the user's own
        return True


def _is_recorded(root: Path) -> bool:
    try:
        note = _note(manifests.load(root, manifests.read_current(root)).vault)
    except (LaminaError, OSError):
        return False
    return str(root.resolve()) in _recorded(note)


def _note(vault: str) -> Path:
    """Return the file of the paths at which a vault is trusted."""
    name = vault if vault.isascii() and vault.isalnum() and len(vault) <= 64 else vault.encode().hex()[:128]
    return Path(user_settings()) / _FOLDER / (name or "unnamed")


def _recorded(note: Path) -> list[str]:
    try:
        return note.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
