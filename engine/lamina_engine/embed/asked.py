"""Embedders that ask somebody else for their vectors: what is the same whoever is asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lamina_engine.embed.rows import check_query, check_texts, describe_prefixes, prefixed


class AskedEmbedder(ABC):
    """An embedder whose vectors are made elsewhere; blank texts are not asked about, they get the zero vector.

    Parameters
    ----------
    name : str
        What the identity begins with: who is asked, and for which model.
    dim : int or None
        Dimensions of the vectors; None finds out by asking for one word.
    batch : int or None
        Texts asked for at once; None for all.
    max_tokens : int or None
        Tokens the model reads before it cuts.
    lane_weight : float
        Weight of its vector lane beside the lexical lane's 1.0.
    query_prefix, document_prefix : str
        Put before every query, and every document, as some models want it.
    """

    def __init__(
        self,
        name: str,
        *,
        dim: int | None,
        batch: int | None,
        max_tokens: int | None,
        lane_weight: float,
        query_prefix: str,
        document_prefix: str,
    ) -> None:
        self._name = name
        self._dim = dim
        self._batch = batch
        self._max_tokens = max_tokens
        self._lane_weight = lane_weight
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix

    @property
    def identity(self) -> str:
        """Name, dimension, normalisation and prefixes."""
        return f"{self._name};d={self.dim};norm=l2{describe_prefixes(self._query_prefix, self._document_prefix)}"

    @property
    def dim(self) -> int:
        """Number of dimensions; asks where it is not known yet."""
        return self._dim if self._dim is not None else self._ask(["dimension"]).shape[1]

    @property
    def max_tokens(self) -> int | None:
        """Tokens the model reads before it cuts; None where nobody said."""
        return self._max_tokens

    @property
    def lane_weight(self) -> float:
        """Weight of its vector lane beside the lexical lane's 1.0."""
        return self._lane_weight

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return float32 (dim,): a unit vector, or zeros for a blank text.

        Raises
        ------
        InvalidArgument
            When it is not a text.
        EmbeddingError
            When who is asked fails, refuses, or gives what cannot be used.
        """
        return self._embed([check_query(text)], self._query_prefix).reshape(-1)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 (n, dim): unit rows in order, zeros for blank texts.

        Raises
        ------
        InvalidArgument
            When it is not a sequence of texts.
        EmbeddingError
            When who is asked fails, refuses, or gives what cannot be used.
        """
        return self._embed(check_texts(texts), self._document_prefix)

    @abstractmethod
    def _ask(self, texts: list[str]) -> NDArray[np.float32]:
        """Return float32 (n, dim) unit rows of texts that are not blank."""

    def _embed(self, texts: list[str], prefix: str) -> NDArray[np.float32]:
        asked, rows = prefixed(texts, prefix)
        batch = self._batch or max(len(asked), 1)
        parts = [self._ask(asked[start : start + batch]) for start in range(0, len(asked), batch)]
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        if parts:
            out[rows] = np.concatenate(parts)
        return out
