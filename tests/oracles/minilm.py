"""A NumPy forward pass of a BERT encoder with mean pooling, in float64, for one sequence of token ids."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_erf = np.vectorize(math.erf, otypes=[float])


def embed(tensors: Mapping[str, NDArray[Any]], ids: list[int], *, layers: int, heads: int) -> NDArray[np.float64]:
    def get(name: str) -> NDArray[np.float64]:
        return tensors[name].astype(np.float64)

    def dense(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return x @ get(f"{name}.weight").T + get(f"{name}.bias")

    def norm(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred = x - x.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return np.asarray(centred / spread * get(f"{name}.weight") + get(f"{name}.bias"))

    words = tensors["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    x = words + get("embeddings.position_embeddings.weight")[: len(ids)]
    x = norm(x + get("embeddings.token_type_embeddings.weight")[0], "embeddings.LayerNorm")
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        q, k, v = (dense(x, f"{name}.attention.self.{part}") for part in ("query", "key", "value"))
        outs = []
        for q_h, k_h, v_h in zip(*(np.split(part, heads, axis=1) for part in (q, k, v)), strict=True):
            logits = q_h @ k_h.T / math.sqrt(q_h.shape[1])
            weights = np.exp(logits - logits.max(axis=1, keepdims=True))
            outs.append(weights / weights.sum(axis=1, keepdims=True) @ v_h)
        x = norm(dense(np.hstack(outs), f"{name}.attention.output.dense") + x, f"{name}.attention.output.LayerNorm")
        inner = dense(x, f"{name}.intermediate.dense")
        inner = 0.5 * inner * (1 + _erf(inner / math.sqrt(2)))
        x = norm(dense(inner, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")
    mean = x.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))
