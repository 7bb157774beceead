"""Calls of a served vault without a cluster: what they bring back is what the vault itself returns."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

import lamina
from lamina.cli.demo import tour
from lamina.serving import calls, replicas
from lamina.serving.client import Connection, ServedVault
from tests.conftest import NOW


class Loop(Connection):
    """A connection that ends in this process: the same bytes, and no network."""

    def __init__(self, vault: lamina.Vault) -> None:
        self.address, self.name, self.timeout_s, self.vault = "http://loop/vault", "vault", 30.0, vault
        self._incomplete = False

    def _send(self, body: bytes) -> tuple[bytes, list[str]] | None:
        try:
            return calls.answer(self.vault, calls.decode_question(body)), []
        except Exception as error:
            raise calls.decode_error(calls.encode_error(error)) from None

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lamina.Vault]:
    """The demo's vault, with facts, links, topics and a session."""
    root = tmp_path_factory.mktemp("served") / "vault"
    for _ in tour(root):
        pass
    with lamina.open(root, clock=lamina.FixedClock(NOW)) as vault:
        vault.add("The harbour crane was repaired.", session="s1", metadata={"crane": {"tons": 40, "parts": ["hook"]}})
        vault.add("The repair cost 400 euros, see [[Slow Monday mornings]].", session="s1", id="cost")
        vault.cluster(min_cluster_size=2)
        vault.build_links()
    with lamina.open(root, mode="r", clock=lamina.FixedClock(NOW)) as vault:
        yield vault


@pytest.fixture(scope="module")
def there(here: lamina.Vault) -> ServedVault:
    return ServedVault(Loop(here))


def document(value: Any) -> Any:
    """Return a result as bytes of JSON, without what may differ between equal runs."""
    if isinstance(value, pa.Table):
        return value.to_pylist()
    if isinstance(value, np.ndarray):
        return value.dtype, value.tolist()
    found = value.to_dict() if hasattr(value, "to_dict") else value
    if isinstance(value, lamina.Results) and not hasattr(value, "to_dict"):
        found = value.to_dicts()
    if isinstance(found, dict):
        found = {name: each for name, each in found.items() if name != "took_ms"}
    return json.dumps(found, default=msgspec.to_builtins)


RECALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("why did we choose PostgreSQL", {}),
    ("depot uploads", {"profile": "temporal", "now": datetime(2026, 2, 1, tzinfo=UTC)}),
    ("label_ttl_days", {"profile": "lexical", "k": 3}),
    ("postgre* -mongo", {"where": {"project": {"in": ["tracking-api"]}}}),
    ("what happened in January 2026", {"as_of": date(2026, 2, 15)}),
    ("crane", {"profile": "causal", "intent": "why"}),
    ("crane", {"profile": "episodic", "session": "s1", "per_source": None}),
    ("payments", {"profile": "task", "token_budget": 60, "lanes": ("lexical",)}),
    ("payments", {"vector": np.ones(256, np.float32) / 16, "fill": True, "tz": "Europe/Berlin"}),
    ("payments", {"candidates": [("inc-041", 0.2), ("nobody", 0.1)]}),
    ("who is on call", {"min_confidence": 0.99}),
    ("notes of nobody on dragons", {"profile": "entity", "offset": 2}),
    ("why does the tracking api use PostgreSQL", {"scope": "prefer"}),
)


@pytest.mark.parametrize(("query", "options"), RECALLS, ids=range(len(RECALLS)))
def test_a_recall_is_that_of_the_vault(
    here: lamina.Vault, there: ServedVault, query: str, options: dict[str, Any]
) -> None:
    own, served = here.recall(query, **options), there.recall(query, **options)
    assert document(served) == document(own)
    assert document(served.explain()) == document(own.explain())
    assert [hit.terms for hit in served] == json.loads(json.dumps([hit.terms for hit in own]))
    assert served.to_arrow().equals(own.to_arrow())
    assert (served.unknown, served.confidence, served.read_as) == (own.unknown, own.confidence, own.read_as)
    for hit in own:
        assert served.snippet(hit, 60) == own.snippet(hit, 60)


QUESTIONS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "get": (("adr-001",), {}),
    "get_many": ((["adr-001", "inc-041"],), {}),
    "vectors": ((["adr-001", "inc-041"],), {}),
    "history": (("adr-001",), {}),
    "list": ((), {"where": {"type": "incident"}, "limit": 5}),
    "count": ((), {}),
    "version": ((), {}),
    "tz": ((), {}),
    "incomplete": ((), {}),
    "projects": ((), {}),
    "to_arrow": ((), {}),
    "timeline": (("inc-044",), {}),
    "similar": (("inc-044",), {"k": 3}),
    "neighbors": (("cost",), {}),
    "traverse": (("database",), {}),
    "causes": (("inc-044",), {}),
    "chain": (("crane repaired",), {}),
    "reconstruct": (("s1",), {}),
    "why_not": (("PostgreSQL", "tokyo"), {}),
    "diff": (("PostgreSQL",), {"since": "2025-12-01"}),
    "stats": ((), {}),
    "content": ((), {}),
    "links": (("cost",), {}),
    "links.unresolved": ((), {}),
    "links.neighbors": (("cost",), {}),
    "links.traverse": (("database",), {}),
    "links.graph": ((), {}),
    "links.causes": (("inc-044",), {}),
    "links.timeline": (("inc-044",), {}),
    "links.similar": (("inc-044",), {}),
    "topics": ((), {}),
    "topics.places": ((), {}),
    "sessions": ((), {}),
    "sessions.handoff": ((), {}),
    "sessions.chain": (("crane repaired",), {}),
    "sessions.reconstruct": (("s1",), {}),
    "facts": ((), {}),
    "facts.list": ((), {}),
    "facts.contradictions": ((), {}),
    "facts.entities": ((), {}),
    "facts.aliases": ((), {}),
    "facts.predicates": ((), {}),
    "facts.graph": ((), {}),
}


def asked(vault: lamina.Vault, call: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    place, _, name = call.rpartition(".")
    found = getattr(getattr(vault, place) if place else vault, name)
    return found(*arguments, **options) if callable(found) else found


@pytest.mark.parametrize(
    "call", [*QUESTIONS, "topic", "topics.get", "facts.about", "facts.ask", "facts.entity", "facts.resolve"]
)
def test_a_call_returns_what_the_vault_returns(here: lamina.Vault, there: ServedVault, call: str) -> None:
    arguments, options = QUESTIONS.get(call, ((), {}))
    if call in ("topic", "topics.get"):
        arguments = (here.topics()[0].id,)
    elif call == "facts.ask":
        arguments = ("who is on call?",)
    elif call.startswith("facts.") and not arguments and call not in QUESTIONS:
        arguments = (here.facts.entities()[0].name,)
    own, served = asked(here, call, arguments, options), asked(there, call, arguments, options)
    assert type(served) is type(own)
    assert document(served) == document(own)
    if isinstance(own, lamina.Results):
        assert served.to_arrow().equals(own.to_arrow())


def test_every_served_call_is_tried_here() -> None:
    assert {
        *QUESTIONS,
        "recall",
        "topic",
        "topics.get",
        "facts.about",
        "facts.ask",
        "facts.entity",
        "facts.resolve",
    } == calls.CALLS


def test_every_other_call_is_refused_before_it_is_sent(there: ServedVault) -> None:
    accessors = ("facts", "links", "topics", "sessions", "context", "freshness")
    public = [name for name, each in vars(lamina.Vault).items() if inspect.isfunction(each) and name[0] != "_"]
    public += [
        f"{place}.{name}"
        for place in accessors
        for name, each in vars(type(getattr(there, place)).__mro__[1]).items()
        if inspect.isfunction(each) and name[0] != "_"
    ]
    others = {*public} - calls.CALLS - {"close"}
    assert {
        "add",
        "forget",
        "reindex",
        "export",
        "facts.add",
        "links.build",
        "context.turn",
        "freshness.refresh",
    } <= others
    for call in others:
        place, _, name = call.rpartition(".")
        with pytest.raises(lamina.VaultReadOnly, match="is not served"):
            getattr(getattr(there, place) if place else there, name)()


def test_a_request_is_data_and_only_calls_of_the_table_are_run(here: lamina.Vault) -> None:
    for body in (b"", b"\xc1", msgspec.msgpack.encode({"call": 7, "arguments": [], "options": {}})):
        with pytest.raises(lamina.InvalidArgument, match="no call"):
            calls.decode_question(body)
    for call in ("add", "_memory.store", "facts._memory", "__class__", "close"):
        with pytest.raises(lamina.VaultReadOnly):
            calls.decode_question(msgspec.msgpack.encode(calls.Question(call, [], {})))


class _Other(BaseHTTPRequestHandler):
    """A web server that is not Lamina's."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_something_else_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAMINA_SERVE_TOKEN", raising=False)
    with pytest.raises(lamina.StoreDenied, match="LAMINA_SERVE_TOKEN"):
        lamina.open("http://127.0.0.1:9/vault")
    monkeypatch.setenv("LAMINA_SERVE_TOKEN", "token")
    with HTTPServer(("127.0.0.1", 0), _Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(lamina.ClusterUnreachable, match="not as Lamina"):
            lamina.open(f"http://127.0.0.1:{server.server_port}/vault")
        server.shutdown()


def test_an_opening_that_fails_leaves_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_SERVE_TOKEN", "token")
    closed: list[None] = []
    close = Connection.close
    monkeypatch.setattr(Connection, "close", lambda self: closed.append(close(self)))
    with pytest.raises(lamina.ClusterUnreachable, match="nothing answers"):
        lamina.open("http://127.0.0.1:9/vault")
    assert len(closed) == 1


def test_an_answer_of_another_lamina_is_told_so() -> None:
    with pytest.raises(lamina.SchemaMismatch, match="the same Lamina"):
        calls.decode_answer("get", msgspec.msgpack.encode({"id": 7}))


def test_callers_need_no_ray_and_servers_are_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys, lamina.serving.client; assert not {'ray', 'obstore', 'starlette'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "ray.serve", None)
    with pytest.raises(lamina.MissingExtra, match="cluster"):
        replicas.start("127.0.0.1:9", {"a": "b"}, token="t")
