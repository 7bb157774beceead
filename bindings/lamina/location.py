"""Places: the vault of a working directory, the user's own vault, the user's settings.

One rule for commands, the Python API, hooks, MCP and the viewer. A hook asks it before anything else is imported, so this
module needs `os` alone.
"""

from __future__ import annotations

import os

ENVIRONMENT = "LAMINA_VAULT"
FOLDER = ".lamina"
SERVED = ("http://", "https://")
"""Beginnings of the addresses of vaults that a cluster serves."""
_REPOSITORY = ".git"


def find_vault(start: str | None = None) -> str | None:
    """Return ``$LAMINA_VAULT``, else the nearest ``.lamina``, else the user's vault or None.

    The search goes from ``start`` (by default the working directory) up to the root of its repository. Outside a
    repository it goes up to the home folder, and does not enter it.
    """
    named = os.environ.get(ENVIRONMENT)
    if named:
        return named
    for folder in _folders_searched(os.path.realpath(start or os.getcwd())):  # no pathlib: see above
        found = os.path.join(folder, FOLDER)
        if os.path.isdir(found):
            return found
    own = user_vault()
    return own if os.path.isdir(own) else None


def is_url(place: str) -> bool:
    """Return True for the address of a vault on object storage, such as ``s3://bucket/vault``."""
    return "://" in place


def repository_root(start: str) -> str | None:
    """Return the nearest folder from ``start`` upward that holds ``.git``, or None."""
    return next((each for each in _upward(start) if os.path.lexists(os.path.join(each, _REPOSITORY))), None)


def user_vault() -> str:
    """Return the place of the user's own vault, whether it exists or not."""
    return os.path.join(_base("XDG_DATA_HOME", "LOCALAPPDATA", ".local/share"), "lamina", "vault")


def user_settings() -> str:
    """Return the folder of what Lamina keeps for this user, whether it exists or not."""
    return os.path.join(_base("XDG_CONFIG_HOME", "APPDATA", ".config"), "lamina")


def _folders_searched(start: str) -> list[str]:
    root = repository_root(start)
    home = os.path.realpath(os.path.expanduser("~"))
    folders = []
    for folder in _upward(start):
        if root is None and folder == home and folder != start:
            break
        folders.append(folder)
        if folder == root:
            break
    return folders


def _upward(start: str) -> list[str]:
    folders = [start]
    while (parent := os.path.dirname(folders[-1])) != folders[-1]:
        folders.append(parent)
    return folders


def _base(variable: str, windows: str, below_home: str) -> str:
    named = os.environ.get(variable) or (os.environ.get(windows) if os.name == "nt" else None)
    if named and os.path.isabs(named):  # a relative one is to be ignored, as its specification says
        return named
    return os.path.join(os.path.expanduser("~"), *below_home.split("/"))
