from __future__ import annotations

import numpy as np
import pytest

from lamina_engine.embed.callable import CallableEmbedder
from lamina_engine.embed.protocol import Embedder
from lamina_engine.errors import EmbeddingError, InvalidArgument


def lengths(texts: list[str]) -> list[list[int]]:
    return [[len(text), 1, 0] for text in texts]


def test_rows_are_unit_and_in_order() -> None:
    embedder = CallableEmbedder(lengths, 3, "lengths;v1")
    got = embedder.embed_documents(["a", "bbb"])
    ref = np.array([[1, 1, 0], [3, 1, 0]]) / np.sqrt([[2], [10]])
    np.testing.assert_allclose(got, ref, atol=1e-7)
    np.testing.assert_array_equal(embedder.embed_query("bbb"), got[1])
    assert got.dtype == np.float32
    assert isinstance(embedder, Embedder)


def test_blank_texts_are_not_asked_for() -> None:
    asked: list[list[str]] = []

    def record(texts: list[str]) -> list[list[float]]:
        asked.append(texts)
        return [[1.0, 0.0]] * len(texts)

    embedder = CallableEmbedder(record, 2, "r")
    np.testing.assert_array_equal(embedder.embed_documents(["", "x", "\n"]), [[0, 0], [1, 0], [0, 0]])
    np.testing.assert_array_equal(embedder.embed_query(" "), [0, 0])
    assert embedder.embed_documents([]).shape == (0, 2)
    assert asked == [["x"]]


def test_the_dimension_is_found_at_the_first_call_and_kept() -> None:
    sizes = iter([2, 3])
    embedder = CallableEmbedder(lambda texts: np.ones((len(texts), next(sizes))), None, "changing")
    assert embedder.embed_query("a").shape == (2,)
    assert embedder.dim == 2
    with pytest.raises(EmbeddingError, match="3 dimensions, 2 are expected"):
        embedder.embed_query("a")


def test_the_dimension_is_asked_for_when_needed_earlier() -> None:
    assert CallableEmbedder(lengths, None, "l").dim == 3
    assert CallableEmbedder(lengths, None, "l").embed_documents([""]).shape == (1, 3)
    assert CallableEmbedder(lengths, None, "l").identity == "callable:l;d=3;norm=l2"


def test_prefixes_reach_the_function_and_the_identity() -> None:
    asked: list[str] = []

    def record(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[1.0]] * len(texts)

    embedder = CallableEmbedder(record, 1, "e5", query_prefix="query: ", document_prefix="passage: ")
    embedder.embed_query("a")
    embedder.embed_documents(["b"])
    assert asked == ["query: a", "passage: b"]
    assert embedder.identity == "callable:e5;d=1;norm=l2;query='query: ';document='passage: '"


def test_errors_of_the_function_are_named() -> None:
    def broken(texts: list[str]) -> object:
        raise RuntimeError("model not loaded")

    with pytest.raises(EmbeddingError, match="RuntimeError: model not loaded") as caught:
        CallableEmbedder(broken, 2, "b").embed_query("a")
    assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(EmbeddingError, match="shape"):
        CallableEmbedder(lambda texts: [[1.0, 2.0]], 2, "b").embed_documents(["a", "b"])


def test_bad_options() -> None:
    with pytest.raises(InvalidArgument, match="function"):
        CallableEmbedder("not a function", 2, "x")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="identity"):
        CallableEmbedder(lengths, 2)
    with pytest.raises(InvalidArgument, match="identity"):
        CallableEmbedder(lengths, 2, "two\nlines")
    with pytest.raises(InvalidArgument, match="dim=0"):
        CallableEmbedder(lengths, 0, "x")
    with pytest.raises(InvalidArgument, match="lane_weight"):
        CallableEmbedder(lengths, 2, "x", lane_weight=-1)
    with pytest.raises(InvalidArgument, match="embed_query"):
        CallableEmbedder(lengths, 3, "x").embed_documents("text")
