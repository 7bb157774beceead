"""The names that users rely on: none comes or goes by accident, and each says what it does and what it raises."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any

import pytest

import lamina
from lamina import Chunk, Hit, Hits, LaminaError, Vault
from lamina.context import Context
from lamina.facts import Facts
from lamina.freshness import Freshness
from lamina.links import Links
from lamina.sessions import Sessions
from lamina.topics import Topics

PUBLIC = {
    "Absence", "Answer", "Answers", "Cause", "Chunk", "Contradiction", "Diff", "Event", "Fact", "Link", "NamedScope", "Neighbor", "Project", "Reconstruction", "Results", "Session", "Snippet", "Story", "Timeline", "UnresolvedLink",
    "AmbiguousEntity", "AmbiguousId", "AsyncVault", "CallTimedOut", "CallableEmbedder", "ChunkExists", "ChunkNotFound", "ClusterBusy", "ClusterUnreachable", "EmbedderMismatch", "EmbeddingError",
    "EndpointEmbedder", "EntityNotFound", "FixedClock", "HDBSCAN", "Hit", "Hits", "IngestError", "InvalidArgument", "InvalidConfig",
    "LaminaError", "MissingExtra", "Redactor", "ReindexGateError", "SchemaMismatch", "SessionNotFound", "StoreDenied", "StoreUnreachable", "StoreUnsafe", "SystemClock", "TopicNotFound", "Vault", "VaultCorrupt",
    "VaultExists", "VaultIncomplete", "VaultLocked", "VaultNotFound", "VaultReadOnly", "VaultTooNew", "VaultTooOld", "VaultUntrusted", "aopen", "open",
}  # fmt: skip
ACCESSORS = {
    "facts": Facts, "links": Links, "topics": Topics, "sessions": Sessions, "context": Context, "freshness": Freshness,
}  # fmt: skip
METHODS = {
    "add", "close", "compact", "count", "now", "vectors", "export", "follow", "forget", "get", "get_many", "history", "import_", "incomplete", "ingest", "invalidate", "list", "path", "pin", "projects",
    "recall", "reindex", "restore", "shard", "snapshot", "stats", "to_arrow", "tz", "update", "verify", "version",
    "build_links", "causes", "link", "neighbors", "unlink", "used", "similar", "timeline", "traverse",
    "bootstrap", "inject", "cluster", "topic", "topic_map", "archive", "refresh", "review", "snooze", "chain", "content", "reconstruct",
    "diff", "judge", "tune", "why_not", *ACCESSORS,
}  # fmt: skip
CALLABLE = {"facts", "links", "topics", "sessions", "freshness"}
CANNOT_FAIL = {"close", "now", "path", "tz", *ACCESSORS}
BUILT_IN = {
    "AmbiguousEntity": LookupError, "AmbiguousId": LookupError, "EntityNotFound": KeyError, "ChunkExists": ValueError, "CallTimedOut": TimeoutError, "ChunkNotFound": KeyError, "ClusterBusy": BlockingIOError, "ClusterUnreachable": ConnectionError, "EmbedderMismatch": ValueError,
    "EmbeddingError": RuntimeError, "IngestError": OSError, "InvalidArgument": ValueError,
    "InvalidConfig": ValueError, "MissingExtra": ImportError, "ReindexGateError": RuntimeError, "SchemaMismatch": TypeError, "SessionNotFound": KeyError, "StoreDenied": PermissionError, "StoreUnreachable": ConnectionError, "StoreUnsafe": OSError, "TopicNotFound": KeyError, "VaultCorrupt": OSError,
    "VaultExists": FileExistsError, "VaultIncomplete": OSError, "VaultLocked": BlockingIOError, "VaultNotFound": FileNotFoundError,
    "VaultReadOnly": PermissionError, "VaultTooNew": OSError, "VaultTooOld": OSError, "VaultUntrusted": PermissionError,
}  # fmt: skip


def methods_of(kind: type) -> dict[str, Any]:
    parts = [each for each in reversed(kind.__mro__) if each.__module__.startswith("lamina")]
    return {name: value for each in parts for name, value in vars(each).items() if not name.startswith("_")}


def function_of(member: Any) -> Callable[..., Any] | None:
    found = (
        member.fget if isinstance(member, property) else member.func if isinstance(member, cached_property) else member
    )
    return found if inspect.isfunction(found) else None


def test_public_names_are_exactly_these() -> None:
    assert set(lamina.__all__) == PUBLIC
    assert sorted(lamina.__all__) == list(lamina.__all__)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_is_there_and_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(getattr(lamina, name))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lamina.nothing


def test_a_star_import_gives_the_public_names() -> None:
    names: dict[str, Any] = {}
    exec("from lamina import *", names)
    assert set(names) - {"__builtins__"} == PUBLIC


def test_methods_of_a_vault_are_exactly_these() -> None:
    assert set(methods_of(Vault)) == METHODS


@pytest.mark.parametrize("name", sorted(METHODS - CANNOT_FAIL))
def test_every_method_says_what_it_raises(name: str) -> None:
    text = inspect.getdoc(getattr(Vault, name)) or ""
    assert "Raises\n------\n" in text, f"Vault.{name} does not say what it raises"


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_parameter_of_a_vault_s_methods_is_typed(name: str) -> None:
    function = function_of(methods_of(Vault)[name])
    assert function is not None
    signature = inspect.signature(function)
    untyped = [p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name != "self"]
    assert untyped == []
    assert signature.return_annotation is not signature.empty


def test_options_after_the_first_are_given_by_name() -> None:
    for name in ("recall", "ingest"):
        signature = inspect.signature(getattr(Vault, name))
        options = [p for p in signature.parameters.values() if p.name not in ("self", "query", "k", "path")]
        assert {p.kind for p in options} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("name", sorted(ACCESSORS))
def test_every_call_of_an_accessor_says_what_it_raises(name: str) -> None:
    kind = ACCESSORS[name]
    assert ("__call__" in vars(kind)) == (name in CALLABLE)
    for method, member in {**methods_of(kind), "__call__": vars(kind).get("__call__")}.items():
        if member is not None:
            assert "Raises\n------\n" in (inspect.getdoc(member) or ""), f"{name}.{method} does not say what it raises"


def test_completion_offers_the_public_names_alone() -> None:
    assert dir(lamina) == list(lamina.__all__)


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_error_is_the_built_in_that_a_caller_expects(name: str) -> None:
    kind = getattr(lamina, name)
    assert issubclass(kind, LaminaError)
    assert issubclass(kind, BUILT_IN[name])
    assert str(kind("what was given")) == "what was given"


def test_no_error_is_left_out() -> None:
    errors = {n for n in PUBLIC if inspect.isclass(getattr(lamina, n)) and issubclass(getattr(lamina, n), LaminaError)}
    assert errors == {*BUILT_IN, "LaminaError"}


def test_hits_have_the_names_of_the_contract() -> None:
    assert {"explain", "to_arrow", "to_pandas", "to_polars", "to_dict"} <= set(methods_of(Hits))
    assert issubclass(Hit, Chunk)
    names = "id text score source title type collection project session created_at recorded_at status freshness via terms metadata"
    assert [name for name in names.split() if not hasattr(Hit, name)] == []
