"""Embedders that travel to workers, which load each model once."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Final

import numpy as np

from lamina_engine.embed.protocol import Embedder
from lamina_kernels.layouts import F32

_BUNDLED: Final = ("lamina_engine.embed.bundled", "lamina_engine.embed.minilm")
"""Modules of embedders that travel to another process as their options alone."""
_loaded: dict[bytes, Embedder] = {}
"""In a worker: embedders by the bytes they came as."""


class TravellingEmbedder:
    """A bundled embedder for worker processes."""

    def __init__(self, pickled: bytes) -> None:
        self._pickled = pickled

    @classmethod
    def of(cls, embedder: Embedder) -> TravellingEmbedder | None:
        """Return an embedder that travels; None for a caller's function, an endpoint, or none."""
        travels = type(embedder).__module__ in _BUNDLED and embedder.dim
        return cls(pickle.dumps(embedder)) if travels else None

    def __call__(self, texts: Sequence[str]) -> F32:
        """Return float32 (n, d) unit rows."""
        if not texts:
            return np.zeros((0, 0), np.float32)
        if self._pickled not in _loaded:
            _loaded[self._pickled] = pickle.loads(self._pickled)
        return _loaded[self._pickled].embed_documents(texts)
