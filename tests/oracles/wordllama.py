"""WordLlama's vectors by the tokenizers and safetensors libraries: words tokenised, rows added, unit length."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def folder() -> Path:
    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations)))


@cache
def tokenizer() -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(folder() / "tokenizers" / "l2_supercat_tokenizer_config.json"))


@cache
def table() -> NDArray[np.float64]:
    from safetensors.numpy import load_file

    tensors = load_file(folder() / "weights" / "l2_supercat_256.safetensors")
    return np.asarray(tensors["embedding.weight"], dtype=np.float64)


def word_ids(words: list[str]) -> list[list[int]]:
    return [encoding.ids for encoding in tokenizer().encode_batch(words, add_special_tokens=False)]


def embed_words(text: str, dim: int = 256) -> NDArray[np.float64]:
    ids = [token for ids in word_ids(text.split()) for token in ids]
    return _unit(ids, dim)


def embed_whole(text: str, dim: int = 256) -> NDArray[np.float64]:
    """What WordLlama's own ``embed(norm=True)`` does: the text tokenised as it stands."""
    return _unit(tokenizer().encode(text, add_special_tokens=False).ids, dim)


def _unit(ids: list[int], dim: int) -> NDArray[np.float64]:
    total = table()[ids, :dim].sum(axis=0)
    norm = float(np.linalg.norm(total))
    return np.asarray(total / norm if norm > 0 else total)
