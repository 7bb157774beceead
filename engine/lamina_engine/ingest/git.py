"""Running git on a repository that may come from anyone.

Its own ``.git/config`` can name programs. Every call therefore runs with hooks, the file-system monitor, external diff,
text conversion, signature checks and every transport off, without the system's configuration or any ``GIT_*`` variable
of the caller (so a hook's ``GIT_DIR`` does not redirect it), without a shell, and with a time limit. The user's own
global configuration is read, because it holds their decision which folders of other owners are safe; that decision is
never made here.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

TIMEOUT_S = 60.0
"""Limit of one git call. One pass over 2,400 commits takes about 0.1 s."""

_OPTIONS = (
    "--no-pager",
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "diff.external="),
    *("-c", "protocol.allow=never"),
    *("-c", "log.showSignature=false"),
)
_KEPT_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CEILING_DIRECTORIES")


class GitFailed(Exception):
    """A git call that did not succeed.

    Attributes
    ----------
    reason : str
        no_git, no_repo, untrusted (owned by another user), bare, timeout or broken.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def run(folder: Path, *arguments: str, timeout_s: float) -> bytes:
    """Run git in a folder and return what it wrote.

    Raises
    ------
    GitFailed
        When it is not there, takes too long or complains.
    """
    try:
        done = subprocess.run(
            ["git", "-C", os.fspath(folder.absolute()), *_OPTIONS, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=_environment(),
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise GitFailed("no_git", "the program git was not found; files are read without commit facts") from error
    except subprocess.TimeoutExpired as error:
        raise GitFailed("timeout", f"git took longer than {timeout_s:g} s") from error
    except (OSError, ValueError) as error:
        raise GitFailed("broken", f"git cannot be run ({error})") from error
    if done.returncode == 0:
        return done.stdout
    said = done.stderr.decode("utf-8", "replace").strip()
    raise GitFailed(_reason(said), said.splitlines()[0] if said else f"git exited with {done.returncode}")


def _reason(said: str) -> str:
    """Name what git complained about; its messages are in English under ``LC_ALL=C``."""
    if "dubious ownership" in said or "unsafe repository" in said:
        return "untrusted"
    if "must be run in a work tree" in said:
        return "bare"
    if "not a git repository" in said:
        return "no_repo"
    return "broken"


def _environment() -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_") or name in _KEPT_VARIABLES}
    return kept | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }
