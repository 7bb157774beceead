"""Embedders by name, function, endpoint or configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import getattr_static
from types import FunctionType
from typing import TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from lamina_engine.embed.protocol import Embedder, check_query, check_texts
from lamina_engine.errors import InvalidArgument, InvalidConfig, name_type

EmbedderSpec = str | Embedder | Mapping[str, object] | Callable[[list[str]], object] | None
"""A name, an embedder, a mapping of options, a function from texts to vectors, or None for the default."""

_WHOLE = "wordllama-256"
NAMES = ("default", "wordllama", "wordllama-128", "wordllama-64", "minilm", "none")


class NoEmbedder:
    """No vectors: a vault that is searched by words alone."""

    @property
    def identity(self) -> str:
        """The word ``none``."""
        return "none"

    @property
    def dim(self) -> int:
        """Zero."""
        return 0

    @property
    def max_tokens(self) -> None:
        """None."""
        return

    @property
    def lane_weight(self) -> float:
        """Zero."""
        return 0.0

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 (n, 0)."""
        return np.zeros((len(check_texts(texts)), 0), dtype=np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return float32 (0,)."""
        check_query(text)
        return np.zeros(0, dtype=np.float32)


def check_embedder(spec: object) -> None:
    """Raise `InvalidArgument` for what `resolve` takes for no embedder, without loading any.

    Options of a mapping are not looked at.
    """
    if isinstance(spec, str) and spec not in (*NAMES, _WHOLE):
        hint = "; an endpoint needs its model too: {'url': …, 'model': …}" if "://" in spec else ""
        raise InvalidArgument(f"embedder={spec!r} is not known; give one of {', '.join(NAMES)}{hint}")
    if isinstance(spec, type):
        raise InvalidArgument(f"embedder={spec.__name__} is a class; give an instance of it")
    if not (spec is None or isinstance(spec, str | Mapping) or _is_embedder(spec) or callable(spec)):
        method = next((name for name in ("encode", "embed_documents", "embed") if hasattr(spec, name)), None)
        wrapped = f"; wrap its method: {_wrapped(f'model.{method}')}" if method else ""
        raise InvalidArgument(
            f"embedder is {name_type(spec)}; give one of {', '.join(NAMES)}, an embedder, a function, or a mapping "
            f"with 'url' and 'model'{wrapped}"
        )
    if callable(spec) and not _is_embedder(spec):
        _function_name(spec)


def resolve(spec: EmbedderSpec = None) -> Embedder:
    """Return the embedder of a specification; its model is loaded at the first text.

    Examples
    --------
    >>> resolve("none").dim
    0
    """
    check_embedder(spec)
    if spec is None:
        return _make_named("default")
    if isinstance(spec, str):
        return _make_named(spec)
    if isinstance(spec, Mapping):
        return _make_configured(dict(spec))
    if _is_embedder(spec):
        return spec
    from lamina_engine.embed.remote import CallableEmbedder

    function = cast("Callable[[list[str]], object]", spec)
    return CallableEmbedder(function, None, _function_name(function))


def _make_named(name: str) -> Embedder:
    from lamina_engine.embed.bundled import WordLlamaEmbedder

    if name in ("default", "wordllama", _WHOLE):
        return WordLlamaEmbedder()
    if name in ("wordllama-128", "wordllama-64"):
        return WordLlamaEmbedder(int(name.rpartition("-")[2]))
    if name == "minilm":
        from lamina_engine.embed.minilm import MiniLMEmbedder

        return MiniLMEmbedder()
    return NoEmbedder()


def _make_configured(options: dict[str, object]) -> Embedder:
    name = options.pop("name", None)
    if name is None:
        from lamina_engine.embed.remote import EndpointEmbedder

        return _construct(EndpointEmbedder, options)
    if name in ("default", "wordllama"):
        from lamina_engine.embed.bundled import WordLlamaEmbedder

        return _construct(WordLlamaEmbedder, options)
    if name == "minilm":
        from lamina_engine.embed.minilm import MiniLMEmbedder

        return _construct(MiniLMEmbedder, options)
    if options:
        raise InvalidConfig(
            f"the embedder {name!r} takes no options here; allowed with options are 'wordllama' and 'minilm', or "
            "'url' and 'model' without a name"
        )
    return resolve(str(name))


def _construct(kind: Callable[..., object], options: dict[str, object]) -> Embedder:
    from lamina_engine.embed.transport import construct_client

    return cast("Embedder", construct_client(kind, options, "embedder"))


def _is_embedder(spec: object) -> TypeGuard[Embedder]:
    """Return whether the protocol's names are there, without reading them.

    Reading ``dim`` may ask a server.
    """
    names = ("identity", "dim", "max_tokens", "lane_weight", "embed_documents", "embed_query")
    missing = object()
    return all(getattr_static(spec, name, missing) is not missing for name in names)


def _function_name(function: Callable[..., object]) -> str:
    """Return a function's module and name.

    A method of two models, or two lambdas, would share one; vectors of different models must not share an identity.
    """
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        raise InvalidArgument(f"embedder={function!r} has no name that tells its model; give {_wrapped('function')}")
    return f"{function.__module__}.{function.__qualname__}"


def _wrapped(function: str) -> str:
    return f"lamina.CallableEmbedder({function}, identity='model and version')"


def embedder_name(embedder: Embedder) -> str:
    """Return an embedder's name in ``vault.toml``; ``custom`` where only a caller has it."""
    from lamina_engine.embed.bundled import DIMS, WordLlamaEmbedder
    from lamina_engine.embed.minilm import MiniLMEmbedder

    if isinstance(embedder, WordLlamaEmbedder):
        return "wordllama" if embedder.dim == max(DIMS) else f"wordllama-{embedder.dim}"
    if isinstance(embedder, MiniLMEmbedder):
        return "minilm"
    return "none" if isinstance(embedder, NoEmbedder) else "custom"
