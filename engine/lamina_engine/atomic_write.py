"""Atomic file replacement for exports and reports."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lamina_engine.errors import InvalidArgument


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path; on exit its content is durable and replaces ``path`` in one step.

    A failure keeps the old file. Its mode is kept, a symbolic link keeps its target, and what is not a regular file (a
    pipe, ``/dev/stdout``) is written into.
    """
    if path.exists() and not path.is_dir() and not stat.S_ISREG(path.stat().st_mode):
        with tempfile.TemporaryDirectory() as folder:
            aside = Path(folder) / "written"
            yield aside
            # by the name given: that of a pipe behind /dev/stdout is nothing that could be opened
            with aside.open("rb") as written, path.open("wb") as out:
                shutil.copyfileobj(written, out)
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InvalidArgument(f"{path} is a folder; give the path of a file")
    if not target.parent.is_dir():
        raise InvalidArgument(f"{path.parent} is not a folder; give a path in one that exists")
    aside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield aside
        _fsync(aside)
        if target.exists():
            shutil.copymode(target, aside)
        aside.replace(target)
        if os.name != "nt":
            _fsync(target.parent)
    except OSError as error:
        if error.filename == str(aside):
            error.filename = str(path)  # nobody knows of the temporary one
        raise
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR if path.is_file() and os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
