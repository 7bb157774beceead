"""Shape of a vault's folder: real folders and regular files with Lamina's own names.

A vault may come from another user: git and tar carry symbolic links, and a link inside a vault would let a write, or the
sweep of files that no version names, reach whatever it points at. So the shape is checked when a vault is opened, and
files are only ever removed by names of Lamina's own form, from folders that are real.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from lamina_engine.errors import VaultCorrupt

SEGMENT_NAME: Final = re.compile(r"\d{12,}-\d+-[0-9a-f]{12}\.arrow(\.tmp)?")
MANIFEST_NAME: Final = re.compile(r"\d{10,}-[0-9a-f]{16}\.json(\.tmp)?")
TERMS_NAME: Final = re.compile(r"\d{12,}-\d+-[0-9a-f]{12}\.(terms|lists)(\.tmp)?")
INDEX_NAME: Final = re.compile(r"(lexical|vectors|keys|graph|facts|mentions)-[\w.-]+")

_FOLDERS: Final = ("log", "manifests", "index", "journal", "queue", "turns")
_FILES: Final = ("CURRENT", "CURRENT.tmp", "vault.toml", "writer.lock")
_DEPTH: Final = 4
"""Levels of folders below the vault's own; no index needs more."""


def check_shape(root: Path) -> None:
    """Refuse a vault that holds anything but real folders and regular files."""
    # one listing of each folder, and no call for each file: the kind of an entry comes with its name
    for name in _FILES:
        mode = _mode(f"{root}{os.sep}{name}")
        if mode is not None and not stat.S_ISREG(mode):
            raise _strange(root / name, mode, "a regular file")
    for name in _FOLDERS:
        mode = _mode(f"{root}{os.sep}{name}")
        if mode is None:
            continue
        if not stat.S_ISDIR(mode):
            raise _strange(root / name, mode, "a real folder")
        _check_below(f"{root}{os.sep}{name}", _DEPTH)


def _check_below(folder: str, depth: int) -> None:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    continue
                if not entry.is_dir(follow_symlinks=False):
                    if (mode := _mode(entry.path)) is not None:  # else removed meanwhile
                        raise _strange(Path(entry.path), mode, "a real folder or a regular file")
                elif depth == 0:
                    raise VaultCorrupt(
                        f"{entry.path} lies deeper than anything that Lamina makes; move it out of the vault"
                    )
                else:
                    _check_below(entry.path, depth - 1)
    except FileNotFoundError:  # a writer has removed it meanwhile
        return


def _mode(path: str) -> int | None:
    """Return the mode of a path without following links; None if it does not exist."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


_KINDS: Final = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}


def _strange(path: Path, mode: int, wanted: str) -> VaultCorrupt:
    kind = _KINDS.get(stat.S_IFMT(mode), "something else")
    return VaultCorrupt(
        f"{path} is {kind}, and in a vault it must be {wanted}; Lamina did not make it: if you did not either, do not "
        "trust this vault, else put the real thing in its place"
    )


def own_files(folder: Path, form: re.Pattern[str]) -> Iterator[Path]:
    """Return a real folder's regular files whose names match, by name; none for a link."""
    return _own(folder, form, os.DirEntry.is_file)


def own_folders(folder: Path, form: re.Pattern[str]) -> Iterator[Path]:
    """Return a real folder's real subfolders whose names match, by name."""
    return _own(folder, form, os.DirEntry.is_dir)


def _own(folder: Path, form: re.Pattern[str], is_wanted: Callable[..., bool]) -> Iterator[Path]:
    if (mode := _mode(os.fspath(folder))) is None or not stat.S_ISDIR(mode):
        return
    with os.scandir(folder) as entries:
        names = sorted(e.name for e in entries if form.fullmatch(e.name) and is_wanted(e, follow_symlinks=False))
    yield from (folder / name for name in names)
