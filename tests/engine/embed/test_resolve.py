from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina_engine.embed.bundled import WordLlamaEmbedder
from lamina_engine.embed.protocol import Embedder
from lamina_engine.embed.remote import CallableEmbedder, EndpointEmbedder
from lamina_engine.embed.resolve import NoEmbedder, check_embedder, resolve
from lamina_engine.errors import InvalidArgument, InvalidConfig, MissingExtra


def two_numbers(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


@pytest.mark.parametrize(
    ("spec", "dim"),
    [
        (None, 256), ("default", 256), ("wordllama", 256), ("wordllama-256", 256), ("wordllama-128", 128),
        ("wordllama-64", 64), ({"name": "wordllama", "dim": 64}, 64), ({"name": "default"}, 256),
    ],
)  # fmt: skip
def test_the_bundled_table(spec: Any, dim: int) -> None:
    got = resolve(spec)
    assert isinstance(got, WordLlamaEmbedder)
    assert got.dim == dim
    assert got.identity == WordLlamaEmbedder(dim).identity


def test_none_gives_no_vectors() -> None:
    got = resolve("none")
    assert isinstance(got, NoEmbedder)
    assert isinstance(got, Embedder)
    assert (got.identity, got.dim, got.max_tokens, got.lane_weight) == ("none", 0, None, 0.0)
    assert got.embed_documents(["a", "b"]).shape == (2, 0)
    assert got.embed_documents([]).shape == (0, 0)
    assert got.embed_query("a").shape == (0,)
    assert got.embed_query("a").dtype == np.float32
    assert isinstance(resolve({"name": "none"}), NoEmbedder)
    with pytest.raises(InvalidArgument):
        got.embed_query(1)  # type: ignore[arg-type]


def test_an_embedder_stays_itself() -> None:
    for embedder in (NoEmbedder(), CallableEmbedder(two_numbers, 2, "two")):
        assert resolve(embedder) is embedder


def test_a_function_is_named_by_where_it_stands() -> None:
    got = resolve(two_numbers)
    assert isinstance(got, CallableEmbedder)
    assert got.embed_query("abc").shape == (2,)
    assert got.identity.endswith(".two_numbers;d=2;norm=l2")


def test_callables_that_share_names_are_refused() -> None:
    for spec in (lambda texts: two_numbers(texts), partial(two_numbers), [[1.0]].__getitem__):
        with pytest.raises(InvalidArgument, match="CallableEmbedder"):
            resolve(spec)  # type: ignore[arg-type]


def test_resolving_an_endpoint_asks_nothing() -> None:
    embedder = EndpointEmbedder("http://127.0.0.1:1", "m", max_retries=0)
    assert resolve(embedder) is embedder


def test_an_endpoint_from_a_configuration() -> None:
    got = resolve({"url": "http://127.0.0.1:1", "model": "nomic", "dim": 768, "query_prefix": "search_query: "})
    assert isinstance(got, EndpointEmbedder)
    assert got.identity == "endpoint:nomic;d=768;norm=l2;query='search_query: '"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "missing: url, model"),
        ({"url": "http://h"}, "missing: model"),
        ({"url": "http://h", "model": "m", "modle": 1, "sleep": 2}, "unknown: modle, sleep"),
        ({"url": "http://h", "model": "m", "api_key": "sk-1"}, "unknown: api_key"),
        ({"url": "http://h", "model": "m", "batch": "many"}, "wrong type.*batch: int"),
        ({"url": "http://h", "model": "m", "batch": 0}, "batch=0"),
        ({"url": "h", "model": "m"}, "http or https"),
        ({"url": 1, "model": "m"}, "wrong type"),
        ({"name": "wordllama", "width": 3}, "unknown: width"),
        ({"name": "none", "dim": 3}, "takes no options"),
    ],
)
def test_configurations_that_cannot_be_used(spec: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        resolve(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("wordlama", "wordlama.*default, wordllama"),
        ("", "default"),
        ("http://127.0.0.1/v1", "'model'"),
        (3, "default, wordllama"),
        (WordLlamaEmbedder, "instance"),
        ({"name": "other"}, "default, wordllama"),
    ],
)
def test_what_is_no_embedder(spec: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        resolve(spec)


def test_minilm_is_reached_by_name_and_options() -> None:
    try:
        got = resolve("minilm")
    except MissingExtra as error:
        pytest.skip(str(error))
    assert got.identity.startswith("minilm-l6-v2;d=384;")
    assert resolve({"name": "minilm", "threads": 1}).identity == got.identity
    with pytest.raises(InvalidConfig, match="unknown: thread"):
        resolve({"name": "minilm", "thread": 1})


def test_importing_it_imports_no_model_code() -> None:
    code = (
        "import sys, lamina_engine.embed.resolve\n"
        "heavy = {'httpx', 'onnx', 'onnxruntime', 'tokenizers', 'numba'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_object_of_another_library_says_which_method_to_wrap() -> None:
    class Model:
        def encode(self, texts: list[str]) -> list[list[float]]:
            return two_numbers(texts)

    with pytest.raises(InvalidArgument, match=r"is a Model; .*CallableEmbedder\(model\.encode, identity="):
        check_embedder(Model())


def test_a_function_without_a_name_is_refused_before_a_vault_is_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="has no name that tells its model"):
        lamina.open(tmp_path / "v", create=True, embedder=lambda texts: two_numbers(texts))
    assert not (tmp_path / "v").exists()
