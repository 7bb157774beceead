"""A Python function as an embedder."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.embed.asked import AskedEmbedder
from lamina_engine.embed.rows import unit_rows
from lamina_engine.errors import EmbeddingError, InvalidArgument

EmbedFunction = Callable[[list[str]], object]
"""Texts in; one row of numbers for each out, as an array or nested lists."""


class CallableEmbedder(AskedEmbedder):
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
        super().__init__(
            f"callable:{identity.strip()}", dim=dim, batch=None, max_tokens=max_tokens, lane_weight=lane_weight,
            query_prefix=query_prefix, document_prefix=document_prefix,
        )  # fmt: skip
        self._fn = fn
        self._function = identity.strip()
        self._lock = after_fork.make_lock()

    def _ask(self, texts: list[str]) -> NDArray[np.float32]:
        source = f"the embedding function {self._function!r}"
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
