"""How tokens are counted: always offline, always on the text as it is shown, and the block says by what."""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lamina_engine.recall.pack import count_tokens

ENCODING: Final = "cl100k_base"
_TABLE: Final = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
"""The name under which tiktoken keeps its table; only its digest is used, nothing is fetched."""
ESTIMATE: Final = "estimate"


@dataclass(frozen=True, slots=True)
class Counter:
    """What counts tokens."""

    name: str
    """``cl100k_base``, or ``estimate``: one for four characters, one for each character of CJK."""
    count: Callable[[str], int]


@functools.cache
def counter() -> Counter:
    """Return tiktoken's counter where the package and its table are on this machine, else the estimate.

    A text that holds one of the model's own markers is counted as the plain text it is.
    """
    if not _is_cached(os.environ):
        return Counter(ESTIMATE, count_tokens)
    try:
        import tiktoken

        encoding = tiktoken.get_encoding(ENCODING)
    except (ImportError, OSError, ValueError):
        return Counter(ESTIMATE, count_tokens)
    return Counter(ENCODING, lambda text: len(encoding.encode(text, disallowed_special=())))


def _is_cached(environ: Mapping[str, str]) -> bool:
    """Tell whether tiktoken would find its table on disk; it downloads it otherwise."""
    folder = environ.get("TIKTOKEN_CACHE_DIR", environ.get("DATA_GYM_CACHE_DIR"))
    if folder == "":  # tiktoken takes an empty name as: never keep, always fetch
        return False
    name = hashlib.sha1(_TABLE.encode(), usedforsecurity=False).hexdigest()
    return (Path(folder) if folder else Path(tempfile.gettempdir(), "data-gym-cache")).joinpath(name).is_file()
