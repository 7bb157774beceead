"""The `Embedder` protocol, and checks of its input texts and output vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import EmbeddingError, InvalidArgument, name_type


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors.

    A text that has no tokens gives the zero vector, which keeps it out of the vector lane.
    """

    @property
    def identity(self) -> str:
        """Name, dimension, weights hash and options on one line; equal identities compare."""
        ...

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """Maximum number of tokens of a text; the rest is cut. None for no limit."""
        ...

    @property
    def lane_weight(self) -> float:
        """Default weight of its vector lane in rank fusion; the lexical lane has 1.0."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 (n, dim) unit rows, in order."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return float32 (dim,)."""
        ...


def check_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts as a list.

    Raises
    ------
    InvalidArgument
        When it is one text instead of several, or holds something other than text.
    """
    if isinstance(texts, (str, bytes)):
        raise InvalidArgument("embed_documents was given one text; give a list of texts, or call embed_query")
    checked = list(texts)
    for row, text in enumerate(checked):
        if not isinstance(text, str):
            raise InvalidArgument(f"text {row} is {name_type(text)}; every text must be a str")
    return checked


def check_query(text: str) -> str:
    """Return the text.

    Raises
    ------
    InvalidArgument
        When it is not text.
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"embed_query was given a {type(text).__name__}; give a str")
    return text


def add_prefixes(texts: list[str], prefix: str) -> tuple[list[str], list[int]]:
    """Return the texts that are not blank, each with the prefix, and their rows."""
    rows = [row for row, text in enumerate(texts) if text and not text.isspace()]
    return [prefix + texts[row] for row in rows], rows


def describe_prefixes(query_prefix: str, document_prefix: str) -> str:
    """Return an identity's part about prefixes: empty without them, else quoted, on one line."""
    named = (("query", query_prefix), ("document", document_prefix))
    return "".join(f";{name}={prefix!r}" for name, prefix in named if prefix)


def unit_rows(vectors: object, n: int, dim: int | None, *, source: str) -> NDArray[np.float32]:
    """Check the vectors that a model gave and bring them to unit length.

    Parameters
    ----------
    vectors : array-like (n, d)
        Integers or floats of any width, as an array or nested lists.
    n : int
        Number of texts that were asked for.
    dim : int or None
        Dimensions that are expected; None accepts any (≥ 1).
    source : str
        Who made them, for the error message.

    Returns
    -------
    float32 (n, d)
        Unit rows; a row of zeros stays zero. A row does not depend on the rows beside it.

    Raises
    ------
    EmbeddingError
        When shape, dtype, row count or dimension do not fit, or a number is not finite.
    """
    try:
        given = np.asarray(vectors)
    except (ValueError, TypeError) as error:
        raise EmbeddingError(
            f"{source} gave rows of different lengths or no numbers ({error}); return an array of shape (texts, d)"
        ) from error
    if given.dtype.kind not in "fiu":
        raise EmbeddingError(f"{source} gave dtype {given.dtype}; return real numbers as an array of shape (texts, d)")
    if given.ndim != 2 or given.shape[0] != n or given.shape[1] == 0:
        raise EmbeddingError(
            f"{source} gave shape {given.shape} for {n} texts; return one row per text, shape ({n}, d) with d ≥ 1"
        )
    if dim is not None and given.shape[1] != dim:
        raise EmbeddingError(
            f"{source} gave {given.shape[1]} dimensions, {dim} are expected; set dim to what the model gives, or "
            "name the right model"
        )
    rows = np.ascontiguousarray(given, dtype=np.float64)
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise EmbeddingError(
            f"{source} gave NaN or infinity for text {int(np.argmin(finite))} of {n}; every number must be finite"
        )
    # scaled by its largest number first, so that squares neither overflow nor vanish
    peak = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    rows = rows / np.where(peak > 0, peak, 1.0)
    norm = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return (rows / np.where(norm > 0, norm, 1.0)).astype(np.float32)
