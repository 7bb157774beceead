"""Files for others to read, written whole or not at all: exports and reports, beside what stood there before."""

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
def whole_file(path: Path) -> Iterator[Path]:
    """Give a place to write to; on leaving, what was written is durable and stands at ``path``, in one step.

    A failure leaves what stood there as it was. The mode of a former file is kept, a link keeps pointing at the file
    that is renewed, and what is no file (a pipe, ``/dev/stdout``) is written into and not replaced.

    Parameters
    ----------
    path : Path
        Where the file is to be.

    Raises
    ------
    InvalidArgument
        When it is a folder, or lies in none.
    OSError
        When the disk refuses.
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
        _flush(aside)
        if target.exists():
            shutil.copymode(target, aside)
        aside.replace(target)
        if os.name != "nt":
            _flush(target.parent)
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR if path.is_file() and os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
