from __future__ import annotations

from collections.abc import Iterator

import pytest

from lamina_engine.embed.chat import Budget, ChatEndpoint, chat_url, estimate_tokens
from lamina_engine.errors import EmbeddingError, InvalidArgument, InvalidConfig
from lamina_engine.judging.queue import resolve_judge
from tests.engine.judging.chatserver import ChatServer, serving


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as running:
        yield running


@pytest.mark.parametrize(
    ("url", "ref"),
    [
        ("http://h", "http://h/v1/chat/completions"), ("http://h/", "http://h/v1/chat/completions"),
        ("http://h:1/v1", "http://h:1/v1/chat/completions"), ("https://h/api/v2/", "https://h/api/v2/chat/completions"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1?key=x", "http://h/v1/chat/completions?key=x"),
    ],
)  # fmt: skip
def test_url_of_the_call(url: str, ref: str) -> None:
    assert chat_url(url) == ref


@pytest.mark.parametrize("url", ["", "h", "ftp://h", "http://user:secret@h", "http://user:secret@h/chat/completions"])
def test_bad_urls_are_refused_without_their_secrets(url: str) -> None:
    with pytest.raises(InvalidConfig) as error:
        ChatEndpoint(url, "m")
    assert "secret" not in str(error.value)


def test_a_question_and_its_answer(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-not-a-real-key")
    judge = ChatEndpoint(server.url, "tiny", api_key_env="MY_KEY")
    server.script = ["yes"]
    assert judge.ask("be brief", "is it?") == ("yes", 100)
    path, headers, body = server.requests[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer sk-not-a-real-key"
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("tiny", 0, 1_024)
    assert body["messages"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "is it?"}]
    judge.close()


def test_tokens_are_estimated_where_the_server_counts_none(server: ChatServer) -> None:
    server.tokens, server.script = None, ["yes"]
    judge = ChatEndpoint(server.url, "tiny", api_key_env=None)
    assert judge.ask("be brief", "is it?").tokens == estimate_tokens("be briefis it?yes") == 6
    judge.close()


def test_a_busy_server_is_asked_again_and_a_refusing_one_is_not(server: ChatServer) -> None:
    waits: list[float] = []
    judge = ChatEndpoint(server.url, "tiny", api_key_env=None, sleep=waits.append, jitter=lambda: 0.5)
    server.script = [503, "yes"]
    assert judge.ask("", "?").text == "yes"
    assert waits == [0.5]
    server.script = [401]
    with pytest.raises(EmbeddingError, match="401"):
        judge.ask("", "?")
    judge.close()


def test_an_answer_of_another_protocol_is_an_error(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.engine.judging.chatserver._completion", lambda said: {"data": []})
    judge = ChatEndpoint(server.url, "tiny", api_key_env=None)
    with pytest.raises(EmbeddingError, match="choices"):
        judge.ask("", "?")
    judge.close()


def test_who_the_judge_is() -> None:
    assert resolve_judge(None, {}) is None
    assert isinstance(resolve_judge(None, {"LAMINA_JUDGE_URL": "http://h", "LAMINA_JUDGE_MODEL": "m"}), ChatEndpoint)
    judge = ChatEndpoint("http://h", "m")
    assert resolve_judge(judge, {}) is judge
    assert isinstance(resolve_judge({"url": "http://h", "model": "m", "timeout_s": 3.0}, {}), ChatEndpoint)


@pytest.mark.parametrize(
    ("spec", "environ", "told"),
    [
        (None, {"LAMINA_JUDGE_URL": "http://h"}, r"\$LAMINA_JUDGE_MODEL is not set"),
        (None, {"LAMINA_JUDGE_MODEL": "m"}, r"\$LAMINA_JUDGE_URL is not set"),
        ({"url": "http://h"}, {}, "missing: model"),
        ({"url": "http://h", "model": "m", "key": "sk"}, {}, "unknown: key"),
        ({"url": "http://h", "model": " "}, {}, "model"),
        ({"url": "http://h", "model": "m", "timeout_s": 0}, {}, "timeout_s"),
        ({"url": "http://h", "model": "m", "max_answer_tokens": 1}, {}, "max_answer_tokens"),
        ({"url": 3, "model": "m"}, {}, "wrong type"),
    ],
)
def test_bad_configurations(spec: dict[str, object] | None, environ: dict[str, str], told: str) -> None:
    with pytest.raises(InvalidConfig, match=told):
        resolve_judge(spec, environ)


def test_a_budget_allows_what_fits() -> None:
    assert Budget(2, 100).allows(1, 60, 40)
    assert not Budget(2, 100).allows(2, 0, 1)
    assert not Budget(2, 100).allows(0, 60, 41)
    assert Budget(None, None).allows(10**9, 10**9, 10**9)
    for bad in (-1, True, 0.5):
        with pytest.raises(InvalidArgument, match="budget"):
            Budget(bad)  # type: ignore[arg-type]
