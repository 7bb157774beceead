"""What an embedder is, to the rest of Lamina."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors.

    A text that has no tokens gives the zero vector, which keeps it out of the vector lane.
    """

    @property
    def identity(self) -> str:
        """Name, dimension, weights hash, normalisation, pooling and prefixes, as one line; equal identity, comparable vectors."""
        ...

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """Tokens it reads before it cuts; None where there is no limit."""
        ...

    @property
    def lane_weight(self) -> float:
        """Weight of its vector lane beside the lexical lane's 1.0 in rank fusion, where the profile does not say."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 (n, dim) unit rows, in order."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return float32 (dim,)."""
        ...
