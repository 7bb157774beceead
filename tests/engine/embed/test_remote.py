""""""

from __future__ import annotations

import base64
import json
import time
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import numpy as np
import pytest

from lamina_engine.embed.protocol import Embedder
from lamina_engine.embed.remote import CallableEmbedder, EndpointEmbedder, endpoint_url
from lamina_engine.embed.transport import Backoff
from lamina_engine.errors import EmbeddingError, InvalidArgument, InvalidConfig


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


KEY = "sk-not-a-real-key-0123456789"
Answer = tuple[int, dict[str, str], bytes]


def vector(text: str) -> list[float]:
    return [float(len(text)), float(ord(text[0])), 1.0]


def unit(text: str) -> np.ndarray:
    row = np.array(vector(text))
    return np.asarray(row / np.linalg.norm(row))


def embeddings(request: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [vector(text) for text in request["input"]]
    if request["encoding_format"] == "base64":
        coded = [base64.b64encode(np.array(row, "<f4").tobytes()).decode() for row in rows]
        return [{"index": i, "embedding": text} for i, text in enumerate(coded)]
    return [{"index": i, "embedding": row[: request.get("dimensions")]} for i, row in enumerate(rows)]


def answer(data: object, status: int = 200, **headers: str) -> Answer:
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(data).encode()


class Server(ThreadingHTTPServer):
    """A server that speaks the protocol; ``script`` holds what to do instead, one entry for each next request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Callable[[Handler, dict[str, Any]], Answer | None]] = []
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        respond = (
            self.server.script.pop(0)
            if self.server.script
            else lambda _, request: answer({"data": embeddings(request)})
        )
        given = respond(self, body)
        if given is None:
            return  # hang up
        status, headers, content = given
        self.send_response_only(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


Make = Callable[..., EndpointEmbedder]


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def make(server: Server, waits: list[float]) -> Iterator[Make]:
    made: list[EndpointEmbedder] = []

    def build(url: str = "", **options: Any) -> EndpointEmbedder:
        settings = {"api_key_env": None, "timeout_s": 5.0, "sleep": waits.append, "jitter": lambda: 0.5} | options
        made.append(EndpointEmbedder(url or server.url, "tiny", **settings))
        return made[-1]

    yield build
    for embedder in made:
        embedder.close()


def say(status: int, text: str = "busy", **headers: str) -> Callable[[Handler, dict[str, Any]], Answer]:
    return lambda handler, request: answer({"error": text}, status, **headers)


def test_vectors_are_unit_in_order_and_batched(server: Server, make: Make) -> None:
    texts = [f"{chr(97 + i)}{'x' * i}" for i in range(7)]
    embedder = make(batch=3)
    got = embedder.embed_documents(texts)
    np.testing.assert_allclose(got, [unit(text) for text in texts], atol=1e-7)
    assert got.dtype == np.float32
    assert [len(request["input"]) for _, _, request in server.requests] == [3, 3, 1]
    assert {path for path, _, _ in server.requests} == {"/v1/embeddings"}
    assert {request["model"] for _, _, request in server.requests} == {"tiny"}
    np.testing.assert_array_equal(embedder.embed_query(texts[2]), got[2])
    assert isinstance(embedder, Embedder)


def test_reordered_data_is_put_right(server: Server, make: Make) -> None:
    server.script.append(lambda handler, request: answer({"data": embeddings(request)[::-1]}))
    np.testing.assert_allclose(
        make().embed_documents(["a", "bb", "ccc"]), [unit("a"), unit("bb"), unit("ccc")], atol=1e-7
    )


def test_a_server_without_indices_is_taken_in_order(server: Server, make: Make) -> None:
    server.script.append(
        lambda h, request: answer({"data": [{"embedding": e["embedding"]} for e in embeddings(request)]})
    )
    np.testing.assert_allclose(make().embed_documents(["a", "bb"]), [unit("a"), unit("bb")], atol=1e-7)


def test_base64(server: Server, make: Make) -> None:
    got = make(encoding_format="base64").embed_documents(["a", "bb"])
    np.testing.assert_allclose(got, [unit("a"), unit("bb")], atol=1e-7)
    assert server.requests[0][2]["encoding_format"] == "base64"
    server.script.append(lambda h, request: answer({"data": [{"index": 0, "embedding": "no base64!"}]}))
    with pytest.raises(EmbeddingError, match="base64"):
        make().embed_query("a")


def test_blank_texts_are_not_sent(server: Server, make: Make) -> None:
    embedder = make(dim=3)
    np.testing.assert_array_equal(embedder.embed_documents(["", " \n"]), np.zeros((2, 3)))
    assert embedder.embed_documents([]).shape == (0, 3)
    assert server.requests == []
    np.testing.assert_allclose(embedder.embed_documents(["", "a"]), [np.zeros(3), unit("a")], atol=1e-7)


def test_dimension_found_given_and_shortened(server: Server, make: Make) -> None:
    assert make().dim == 3
    assert make(dimensions=2).embed_query("a").shape == (2,)
    assert server.requests[-1][2]["dimensions"] == 2
    assert "dimensions" not in server.requests[0][2]
    with pytest.raises(EmbeddingError, match="3 dimensions, 4 are expected"):
        make(dim=4).embed_query("a")


def test_prefixes(server: Server, make: Make) -> None:
    embedder = make(dim=3, query_prefix="query: ", document_prefix="passage: ")
    embedder.embed_query("a")
    embedder.embed_documents(["b"])
    assert [request["input"] for _, _, request in server.requests] == [["query: a"], ["passage: b"]]
    assert embedder.identity == "endpoint:tiny;d=3;norm=l2;query='query: ';document='passage: '"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_busy_servers_are_asked_again_with_full_jitter(
    status: int, server: Server, make: Make, waits: list[float]
) -> None:
    server.script += [say(status), say(status)]
    np.testing.assert_allclose(make(backoff_s=2, cap_s=3).embed_query("a"), unit("a"), atol=1e-7)
    assert waits == [0.5 * 2, 0.5 * 3]
    server.script += [say(status)] * 3
    with pytest.raises(EmbeddingError, match=rf"3 tries.*HTTP {status}.*busy"):
        make().embed_query("a")


def test_retry_after_is_honoured(server: Server, make: Make, waits: list[float]) -> None:
    date = {"Date": "Wed, 21 Oct 2015 07:28:00 GMT"}
    server.script += [
        say(429, Retry_After="7"),
        say(503, Retry_After="Wed, 21 Oct 2015 07:28:09 GMT", **date),
        say(429, Retry_After="soon"),
        say(429, Retry_After="Wed, 21 Oct 2015 07:00:00 GMT", **date),
    ]
    make(max_retries=4, backoff_s=1).embed_query("a")
    assert waits == [7, 9, 2, 4]


def test_a_wait_beyond_the_cap_is_given_up(server: Server, make: Make, waits: list[float]) -> None:
    server.script.append(say(429, Retry_After="120"))
    with pytest.raises(EmbeddingError, match=r"120 s.*cap_s=15"):
        make().embed_query("a")
    assert waits == []


@pytest.mark.parametrize("status", [301, 400, 404, 422])
def test_other_answers_are_final(status: int, server: Server, make: Make, waits: list[float]) -> None:
    server.script.append(say(status, "no such\nmodel", Location="/elsewhere"))
    with pytest.raises(EmbeddingError, match=rf"HTTP {status}.*no such.*model"):
        make().embed_query("a")
    assert waits == []
    assert len(server.requests) == 1


def test_slow_answers_are_tried_again(server: Server, make: Make, waits: list[float]) -> None:
    def slow(handler: Handler, request: dict[str, Any]) -> Answer:
        time.sleep(0.25)
        return answer({"data": embeddings(request)})

    server.script.append(slow)
    np.testing.assert_allclose(make(timeout_s=0.1).embed_query("a"), unit("a"), atol=1e-7)
    server.script += [slow]
    with pytest.raises(EmbeddingError, match=r"timeout_s=0\.1"):
        make(timeout_s=0.1, max_retries=0).embed_query("a")
    assert len(waits) == 1


def test_broken_connections_are_tried_again(server: Server, make: Make, waits: list[float]) -> None:
    server.script += [lambda h, r: None, lambda h, r: (200, {"Content-Length": "1000"}, b'{"data": ')]
    np.testing.assert_allclose(make().embed_query("a"), unit("a"), atol=1e-7)
    assert len(waits) == 2


def test_no_server_at_all(make: Make) -> None:
    with Server() as gone:
        url = gone.url
    with pytest.raises(EmbeddingError, match=r"127\.0\.0\.1.*3 tries.*Connect"):
        make(url).embed_query("a")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", "no JSON"),
        (b"\xff\xfe\x00", "no JSON"),
        (b"[]", "'data'"),
        (b'{"data": {}}', "'data'"),
        (b'{"data": [1]}', "'data'"),
        (b'{"data": [{"index": 0}]}', "'data'"),
        (b'{"data": []}', "0 vectors"),
        (b'{"data": [{"index": 1, "embedding": [1]}]}', "indices"),
        (b'{"data": [{"index": true, "embedding": [1]}]}', "indices"),
        (b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}', "indices"),
        (b'{"data": [{"index": 0, "embedding": null}]}', "dtype|shape"),
        (b'{"data": [{"index": 0, "embedding": ["x"]}]}', "dtype"),
        (b'{"data": [{"index": 0, "embedding": []}]}', "shape"),
        (b'{"data": [{"index": 0, "embedding": [NaN]}]}', "NaN"),
    ],
)
def test_answers_that_make_no_sense(
    content: bytes, message: str, server: Server, make: Make, waits: list[float]
) -> None:
    server.script.append(lambda h, r: (200, {}, content))
    with pytest.raises(EmbeddingError, match=message):
        make().embed_query("a")
    assert waits == []


def test_batches_too_large_are_halved(server: Server, make: Make) -> None:
    def at_most_two(handler: Handler, request: dict[str, Any]) -> Answer:
        return answer({"data": embeddings(request)}) if len(request["input"]) <= 2 else answer("too large", 413)

    server.script += [at_most_two] * 20
    texts = [chr(97 + i) * (i + 1) for i in range(7)]
    np.testing.assert_allclose(make().embed_documents(texts), [unit(text) for text in texts], atol=1e-7)
    server.script[:] = [say(413)]
    with pytest.raises(EmbeddingError, match="1,000 characters"):
        make().embed_query("a" * 1000)


def echo(status: int) -> Callable[[Handler, dict[str, Any]], Answer]:
    return lambda handler, request: answer({"sent": handler.headers["Authorization"]}, status)


def test_the_key_is_read_late_and_shown_nowhere(
    server: Server, make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    embedder = make(api_key_env="LAMINA_TEST_KEY", dim=3)
    embedder.embed_query("a")
    assert "Authorization" not in server.requests[-1][1]

    monkeypatch.setenv("LAMINA_TEST_KEY", f" {KEY}\n")
    embedder.embed_query("a")
    assert server.requests[-1][1]["Authorization"] == f"Bearer {KEY}"

    for status in (401, 400, 413, 503):
        server.script += [echo(status)] * 3
        with pytest.raises(EmbeddingError) as caught:
            embedder.embed_query("a")
        shown = "".join(traceback.format_exception(caught.value))
        assert KEY not in shown
        assert status == 413 or "[key]" in shown
        assert status != 401 or "LAMINA_TEST_KEY" in shown
        server.script.clear()
    assert KEY not in caplog.text
    held = [vars(embedder), vars(embedder._transport), vars(embedder._transport._client)]
    assert KEY not in repr(held)

    monkeypatch.setenv("LAMINA_TEST_KEY", "sk-ключ")
    with pytest.raises(EmbeddingError, match="LAMINA_TEST_KEY") as caught:
        embedder.embed_query("a")
    assert "ключ" not in "".join(traceback.format_exception(caught.value))


def test_a_refusal_without_a_key_names_the_option(server: Server, make: Make) -> None:
    server.script.append(say(403))
    with pytest.raises(EmbeddingError, match="api_key_env"):
        make().embed_query("a")


def test_this_machine_is_not_reached_through_a_proxy(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    np.testing.assert_allclose(make().embed_query("a"), unit("a"), atol=1e-7)


def test_closed_and_used_again(make: Make) -> None:
    embedder = make()
    embedder.embed_query("a")
    embedder.close()
    embedder.close()
    np.testing.assert_allclose(embedder.embed_query("a"), unit("a"), atol=1e-7)


@pytest.mark.parametrize(
    ("given", "full"),
    [
        ("http://h:1", "http://h:1/v1/embeddings"),
        ("http://h:1/", "http://h:1/v1/embeddings"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1/embeddings"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1/embeddings"),
        ("http://h/v1/embeddings", "http://h/v1/embeddings"),
        ("http://h/api/v3/", "http://h/api/v3/embeddings"),
        ("https://h/openai/deployments/m?api-version=1", "https://h/openai/deployments/m/embeddings?api-version=1"),
        ("http://[::1]:8080", "http://[::1]:8080/v1/embeddings"),
    ],
)
def test_urls(given: str, full: str) -> None:
    assert endpoint_url(given) == full


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:11434",
        "ftp://h",
        "http://",
        "file:///x",
        "http://h:port",
        "http://h:99999",
        "http://h /v1",
        "http://h/\x01",
    ],
)
def test_urls_that_are_none(url: str) -> None:
    with pytest.raises(InvalidConfig, match="http or https"):
        EndpointEmbedder(url, "m")


def test_a_host_that_no_name_service_takes() -> None:
    with pytest.raises(EmbeddingError, match="check the endpoint's url"):
        EndpointEmbedder("http://xn--a-\u00e4/v1", "m", api_key_env=None).embed_query("a")


def test_a_password_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(InvalidConfig, match="api_key_env") as caught:
        EndpointEmbedder("https://me:hunter2@h/v1", "m")
    assert "hunter2" not in str(caught.value)


def test_a_query_string_stays_out_of_messages(server: Server, make: Make) -> None:
    server.script.append(say(400))
    with pytest.raises(EmbeddingError) as caught:
        make(server.url + "/v1?key=hunter2").embed_query("a")
    assert server.requests[0][0] == "/v1/embeddings?key=hunter2"
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"dim": 0}, {"dimensions": -1}, {"batch": 0}, {"timeout_s": 0}, {"timeout_s": float("inf")},
        {"lane_weight": -1},
        {"dim": 3, "dimensions": 2}, {"encoding_format": "int8"}, {"model": " "}, {"model": "a\nb"},
    ],
)  # fmt: skip
def test_bad_endpoint_options(options: dict[str, Any]) -> None:
    given: dict[str, Any] = {"url": "http://h", "model": "m"} | options
    with pytest.raises(InvalidConfig):
        EndpointEmbedder(**given)


def test_backoff() -> None:
    backoff = Backoff(base_s=1, cap_s=15)
    assert [backoff.wait_s(attempt, 1.0) for attempt in range(6)] == [1, 2, 4, 8, 15, 15]
    assert backoff.wait_s(10_000, 0.5) == 7.5
    options: list[dict[str, Any]] = [{"max_retries": -1}, {"base_s": float("nan")}, {"cap_s": -0.1}]
    for bad in options:
        with pytest.raises(InvalidArgument):
            Backoff(**bad)
