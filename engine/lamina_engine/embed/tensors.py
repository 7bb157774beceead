"""Reading a safetensors file: the tensors of it, memory-mapped, with nothing imported but NumPy.

Layout: header length (little-endian uint64), JSON header (name → dtype, shape, [begin, end) in what follows), data.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import EmbeddingError

_DTYPES = {"F16": "<f2", "F32": "<f4", "I64": "<i8"}
_LONGEST_HEADER_BYTES = 100_000_000  # the format's own limit


def map_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Map the tensors of a safetensors file, read-only; pages are read when touched.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    dict of str to ndarray
        float16, float32 or int64 arrays, by tensor name.

    Raises
    ------
    EmbeddingError
        When the file cannot be read, is cut short, or holds a dtype other than the three.
    """
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r")
        length = int.from_bytes(data[:8].tobytes(), "little")
        if len(data) < 8 or length > min(_LONGEST_HEADER_BYTES, len(data) - 8):
            raise ValueError(f"header of {length:,} bytes in a file of {len(data):,}")
        header = json.loads(data[8 : 8 + length].tobytes())
        body = np.asarray(data[8 + length :])
        return {name: _tensor(body, name, entry) for name, entry in header.items() if name != "__metadata__"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbeddingError(f"{path} is no readable safetensors file ({error}); install its package again") from error


def _tensor(body: NDArray[np.uint8], name: str, entry: dict[str, Any]) -> NDArray[Any]:
    dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(entry["shape"])
    begin, end = entry["data_offsets"]
    if not 0 <= begin <= end <= len(body) or end - begin != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"tensor {name!r} lies at bytes {begin} to {end} of {len(body)}, for shape {shape} of {dtype}")
    return body[begin:end].view(dtype).reshape(shape)


def check_sha256(path: Path, expected: str, *, remedy: str) -> None:
    """Compare a file's SHA-256 with a pinned one; about 1 ms for each MB.

    Raises
    ------
    EmbeddingError
        When the file cannot be read or differs; the message ends with ``remedy``.
    """
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbeddingError(f"{path} cannot be read ({error.strerror}); {remedy}") from error
    if found != expected:
        raise EmbeddingError(f"{path} has SHA-256 {found[:16]}…, allowed is {expected[:16]}…; {remedy}")
