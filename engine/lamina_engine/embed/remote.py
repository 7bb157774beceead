"""Embedders whose vectors come from a Python function or an ``/embeddings`` endpoint."""

from __future__ import annotations

import base64
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.embed.protocol import add_prefixes, check_query, check_texts, describe_prefixes, unit_rows
from lamina_engine.embed.transport import OPENAI_KEY, PayloadError, connection, join_url
from lamina_engine.errors import EmbeddingError, InvalidArgument, InvalidConfig, name_type


class RemoteEmbedder(ABC):
    """Base of embedders whose vectors come from elsewhere; blank texts get the zero vector.

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
        """Most tokens that the model reads; None where unknown."""
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
        asked, rows = add_prefixes(texts, prefix)
        batch = self._batch or max(len(asked), 1)
        parts = [self._ask(asked[start : start + batch]) for start in range(0, len(asked), batch)]
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        if parts:
            out[rows] = np.concatenate(parts)
        return out


EmbedFunction = Callable[[list[str]], object]
"""Texts in; one row of numbers for each out, as an array or nested lists."""


class CallableEmbedder(RemoteEmbedder):
    """Embedder around a function from texts to vectors; rows are checked and normalised.

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
                f"fn is {name_type(fn)}; give a function that takes a list of texts and returns an array of "
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


class EndpointEmbedder(RemoteEmbedder):
    """Vectors from an OpenAI-compatible server; nothing is sent before the first text.

    Blank texts are not sent: they get the zero vector. Texts are sent in order, ``batch`` at a time; a batch that is
    too large for the server (413) is halved.

    Parameters
    ----------
    url : str
        Base URL (``http://127.0.0.1:11434``, ``https://api.openai.com/v1``) or the full one ending in ``/embeddings``.
        A URL without a path gets ``/v1/embeddings``, any other ``/embeddings``. No place for a key: httpx logs URLs.
    model : str
        The model's name, as the server knows it.
    dim : int or None
        Dimensions it gives; None takes ``dimensions``, or else finds out at the first answer.
    api_key_env : str or None
        Environment variable that holds the key. Read at each request, kept nowhere; an unset one sends no key.
    batch : int
        Texts in a request.
    timeout_s : float
        Longest wait for a connection, and for each next part of an answer.
    max_retries, backoff_s, cap_s
        See `Backoff`.
    dimensions : int or None
        Asks the server to shorten its vectors to this many.
    query_prefix, document_prefix : str
        Put before every query, and every document, as some models want it.
    encoding_format : {"float", "base64"}
        What to ask for; either is understood.
    max_tokens : int or None
        Tokens the model reads before it cuts.
    lane_weight : float
        Weight of its vector lane beside the lexical lane's 1.0.
    sleep, jitter : callable
        Replaced in tests. Jitter spreads waits and never reaches a result.

    Raises
    ------
    InvalidConfig
        When an option is outside what is allowed.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        dim: int | None = None,
        api_key_env: str | None = OPENAI_KEY,
        batch: int = 64,
        timeout_s: float = 30.0,
        max_retries: int = 2,
        backoff_s: float = 1.0,
        cap_s: float = 15.0,
        dimensions: int | None = None,
        query_prefix: str = "",
        document_prefix: str = "",
        encoding_format: Literal["float", "base64"] = "float",
        max_tokens: int | None = None,
        lane_weight: float = 0.5,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        _check_options(dim, batch, dimensions, encoding_format, lane_weight)
        # the model, not the URL: a server may move
        super().__init__(
            f"endpoint:{model}", dim=dim if dim is not None else dimensions, batch=batch, max_tokens=max_tokens,
            lane_weight=lane_weight, query_prefix=query_prefix, document_prefix=document_prefix,
        )  # fmt: skip
        self._model = model
        self._dimensions = dimensions
        self._encoding_format = encoding_format
        self._transport = connection(
            endpoint_url(url), model, api_key_env=api_key_env, timeout_s=timeout_s, max_retries=max_retries,
            backoff_s=backoff_s, cap_s=cap_s, sleep=sleep, jitter=jitter,
        )  # fmt: skip

    def close(self) -> None:
        """Close the connection; the next text opens another."""
        self._transport.close()

    def _ask(self, texts: list[str]) -> NDArray[np.float32]:
        payload: dict[str, object] = {"model": self._model, "input": texts, "encoding_format": self._encoding_format}
        if self._dimensions is not None:
            payload["dimensions"] = self._dimensions
        try:
            answer = self._transport.post(payload)
        except PayloadError as error:
            if len(texts) == 1:
                raise EmbeddingError(
                    f"{self._transport.place} refuses a text of {len(texts[0]):,} characters as too large (413); "
                    "cut it into smaller chunks"
                ) from error
            half = len(texts) // 2
            return np.concatenate([self._ask(texts[:half]), self._ask(texts[half:])])
        source = f"{self._transport.place} (model {self._model!r})"
        vectors = unit_rows(_in_order(answer, len(texts), source), len(texts), self._dim, source=source)
        self._dim = vectors.shape[1]
        return vectors


def endpoint_url(url: str) -> str:
    """Return the full URL of the embeddings call for a base URL with or without its version.

    Raises
    ------
    InvalidConfig
        When it is not an http or https URL, or contains a user name or password.
    """
    return join_url(url, "/embeddings")


def _check_options(
    dim: int | None, batch: int, dimensions: int | None, encoding_format: str, lane_weight: float
) -> None:
    for name, count in (("dim", dim), ("dimensions", dimensions), ("batch", batch)):
        if count is not None and count < 1:
            raise InvalidConfig(f"{name}={count}; give a whole number ≥ 1")
    if dim is not None and dimensions is not None and dim != dimensions:
        raise InvalidConfig(f"dim={dim} and dimensions={dimensions} contradict each other; give one of them")
    if encoding_format not in ("float", "base64"):
        raise InvalidConfig(f"encoding_format={encoding_format!r}; give 'float' or 'base64'")
    if not lane_weight >= 0:
        raise InvalidConfig(f"lane_weight={lane_weight}; give a number ≥ 0")


def _in_order(answer: object, n: int, source: str) -> list[object]:
    """Return an answer's vectors by their ``index``, or in their order where none has one."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) and "embedding" in item for item in data):
        raise EmbeddingError(
            f"{source} gave an answer without 'data' of 'embedding' objects; check that it is an embeddings endpoint"
        )
    indices = [item.get("index") for item in data]
    if all(index is None for index in indices):
        indices = list(range(len(data)))
    if sorted(index for index in indices if type(index) is int) != list(range(n)) or len(indices) != n:
        raise EmbeddingError(
            f"{source} gave {len(data)} vectors with indices {str(indices)[:80]} for {n} texts; every index must "
            "come once"
        )
    vectors: list[object] = [None] * n
    for index, item in zip(indices, data, strict=True):
        vectors[index] = _numbers(item["embedding"], source)
    return vectors


def _numbers(embedding: object, source: str) -> object:
    """Return an embedding as it is, or decoded from base64 of little-endian float32."""
    if not isinstance(embedding, str):
        return embedding
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    except ValueError as error:
        raise EmbeddingError(
            f"{source} returned text that is not base64 of float32 numbers ({error}); ask for encoding_format='float'"
        ) from error
