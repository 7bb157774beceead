"""A Python function as an embedder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lamina_engine.embed.rows import check_query, check_texts, describe_prefixes, prefixed, unit_rows
from lamina_engine.errors import EmbeddingError, InvalidArgument

EmbedFunction = Callable[[list[str]], object]
"""Texts in; one row of numbers for each out, as an array or nested lists."""


class CallableEmbedder:
    """Any function from texts to vectors; its rows are checked and brought to unit length.

    Blank texts are not handed to the function: they get the zero vector.

    Parameters
    ----------
    fn : callable
        Takes a list of texts, returns an array-like of shape (texts, d).
    dim : int or None
        Dimensions it gives; None finds out at the first call, or, when asked earlier, by embedding one word.
    identity : str
        One line that changes whenever the vectors do: model, version, revision.
    max_tokens : int or None
        Tokens it reads before it cuts.
    lane_weight : float
        Weight of its vector lane beside the lexical lane's 1.0.
    query_prefix, document_prefix : str
        Put before every query, and every document, as some models want it.

    Raises
    ------
    InvalidArgument
        When an option is outside what is allowed.

    Examples
    --------
    >>> embedder = CallableEmbedder(lambda texts: [[len(text), 1] for text in texts], 2, "length;v1")
    >>> embedder.embed_documents(["four", ""]).shape
    (2, 2)
    """

    def __init__(
        self,
        fn: EmbedFunction,
        dim: int | None = None,
        identity: str = "",
        *,
        max_tokens: int | None = None,
        lane_weight: float = 0.5,
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        if not callable(fn):
            raise InvalidArgument(
                f"fn is a {type(fn).__name__}; give a function that takes a list of texts and returns an array of "
                "shape (texts, d)"
            )
        if not identity.strip() or not identity.isprintable():
            raise InvalidArgument(
                f"identity={identity!r}; give one line that names the model and its version, so that vectors of "
                "two models never mix"
            )
        if dim is not None and dim < 1:
            raise InvalidArgument(
                f"dim={dim}; give the number of dimensions (≥ 1), or None to find out at the first call"
            )
        if lane_weight < 0:
            raise InvalidArgument(f"lane_weight={lane_weight}; give a number ≥ 0")
        self._fn = fn
        self._dim = dim
        self._name = identity.strip()
        self._max_tokens = max_tokens
        self._lane_weight = lane_weight
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._lock = threading.Lock()

    @property
    def identity(self) -> str:
        """The name given, with dimension, normalisation and prefixes."""
        return (
            f"callable:{self._name};d={self.dim};norm=l2{describe_prefixes(self._query_prefix, self._document_prefix)}"
        )

    @property
    def dim(self) -> int:
        """Number of dimensions; asks the function where it is not known yet."""
        return self._dim if self._dim is not None else self._ask(["dimension"]).shape[1]

    @property
    def max_tokens(self) -> int | None:
        """Tokens it reads before it cuts; None where nobody said."""
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
            When the function fails or gives what cannot be used.
        """
        return self._embed([check_query(text)], self._query_prefix).reshape(-1)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 (n, dim): unit rows in order, zeros for blank texts.

        Raises
        ------
        InvalidArgument
            When it is not a sequence of texts.
        EmbeddingError
            When the function fails or gives what cannot be used.
        """
        return self._embed(check_texts(texts), self._document_prefix)

    def _embed(self, texts: list[str], prefix: str) -> NDArray[np.float32]:
        asked, rows = prefixed(texts, prefix)
        vectors = self._ask(asked) if asked else None
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        if vectors is not None:
            out[rows] = vectors
        return out

    def _ask(self, texts: list[str]) -> NDArray[np.float32]:
        source = f"the embedding function {self._name!r}"
        try:
            given = self._fn(texts)
        except Exception as error:  # the caller's own code: any error is possible, and all mean the same here
            raise EmbeddingError(
                f"{source} failed on {len(texts)} texts with {type(error).__name__}: {error}"
            ) from error
        vectors = unit_rows(given, len(texts), self._dim, source=source)
        with self._lock:
            if self._dim is None:
                self._dim = vectors.shape[1]
        return vectors
