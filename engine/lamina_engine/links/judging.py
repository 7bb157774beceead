"""The language model that judges links: an endpoint that its user configured, what it may cost, and one question to it.

Nothing in a vault can name an endpoint or a key: both come from the caller or the environment.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, Final, NamedTuple, Protocol

from lamina_engine.embed.endpoint import endpoint_url
from lamina_engine.embed.transport import Backoff, Transport
from lamina_engine.errors import EmbeddingError, InvalidArgument, InvalidConfig

URL: Final = "LAMINA_JUDGE_URL"
MODEL: Final = "LAMINA_JUDGE_MODEL"
KEY: Final = "LAMINA_JUDGE_KEY"
_OPENAI_KEY: Final = "OPENAI_API_KEY"
_CALL: Final = "/chat/completions"
_CHARS_PER_TOKEN: Final = 3.0
"""Few characters to a token: an estimate that is rather too high."""

NO_JUDGE: Final = (
    f"no language model is configured for judged links; set ${URL} and ${MODEL}, or give judge={{'url': …, 'model': …}}"
)


class Answer(NamedTuple):
    """What a model said, and the tokens of question and answer."""

    text: str
    tokens: int


class Judge(Protocol):
    """What answers questions."""

    @property
    def max_answer_tokens(self) -> int:
        """Most tokens of an answer."""
        ...

    def ask(self, system: str, user: str) -> Answer:
        """Answer one question.

        Raises
        ------
        EmbeddingError
            When the endpoint fails or refuses.
        """
        ...


JudgeSpec = Judge | Mapping[str, object] | None
"""A judge, the options of a `ChatJudge`, or None for what the environment says."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one run may cost; whatever is reached first ends it, and the rest stays queued.

    Attributes
    ----------
    requests : int or None
        Most requests; None for any number.
    tokens : int or None
        Most tokens, questions and answers together, as the endpoint counts them.
    """

    requests: int | None = None
    tokens: int | None = 500_000

    def __post_init__(self) -> None:
        for name in ("requests", "tokens"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise InvalidArgument(f"{name}={value!r} of a budget must be a whole number from 0 up, or None")

    def allows(self, requests: int, tokens: int, next_tokens: int) -> bool:
        """Tell whether another request fits after so many of them."""
        fits = self.tokens is None or tokens + next_tokens <= self.tokens
        return fits and (self.requests is None or requests < self.requests)


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has, rather too many than too few."""
    return math.ceil(len(text) / _CHARS_PER_TOKEN)


class ChatJudge:
    """A model behind an OpenAI-compatible ``/chat/completions`` endpoint.

    Parameters
    ----------
    url : str
        Base URL (``http://127.0.0.1:8080``, ``https://api.openai.com/v1``) or the full one. No place for a key.
    model : str
        The model's name, as the server knows it.
    api_key_env : str or None
        Environment variable that holds the key; read at each request, kept nowhere.
    timeout_s : float
        Longest wait for a connection, and for each next part of an answer.
    max_retries, backoff_s, cap_s
        See `lamina_engine.embed.transport.Backoff`.
    max_answer_tokens : int
        Most tokens of an answer.
    sleep, jitter : callable
        Replaced in tests.

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
        api_key_env: str | None = _OPENAI_KEY,
        timeout_s: float = 120.0,
        max_retries: int = 2,
        backoff_s: float = 1.0,
        cap_s: float = 15.0,
        max_answer_tokens: int = 1_024,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        if not model.strip() or not model.isprintable():
            raise InvalidConfig(f"model={model!r}; give the model's name as the server knows it")
        if not 0 < timeout_s < math.inf:
            raise InvalidConfig(f"timeout_s={timeout_s}; give seconds > 0")
        if max_answer_tokens < 16:
            raise InvalidConfig(f"max_answer_tokens={max_answer_tokens}; give a whole number ≥ 16")
        self._model = model
        self._max_answer_tokens = max_answer_tokens
        self._transport = Transport(
            chat_url(url),
            api_key_env=api_key_env,
            timeout_s=timeout_s,
            backoff=Backoff(max_retries, backoff_s, cap_s),
            sleep=sleep,
            jitter=jitter,
        )

    @property
    def max_answer_tokens(self) -> int:
        """Most tokens of an answer."""
        return self._max_answer_tokens

    def ask(self, system: str, user: str) -> Answer:
        """Answer one question, as deterministically as the server can.

        Raises
        ------
        EmbeddingError
            When the server fails, refuses, or gives what is no chat completion.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        payload: dict[str, object] = {
            "model": self._model, "messages": messages, "temperature": 0, "seed": 0, "max_tokens": self._max_answer_tokens,
        }  # fmt: skip
        answer = self._transport.post(payload)
        try:
            text = answer["choices"][0]["message"]["content"]  # type: ignore[index]
            if not isinstance(text, str):
                raise TypeError("its content is no text")
        except (KeyError, IndexError, TypeError) as error:
            raise EmbeddingError(
                f"{self._transport.place} (model {self._model!r}) gave an answer without choices[0].message.content "
                f"({error}); check that it is a chat completions endpoint"
            ) from error
        return Answer(text, _tokens(answer, system + user + text))

    def close(self) -> None:
        """Close the connection; the next question opens another."""
        self._transport.close()


def _tokens(answer: Any, said: str) -> int:
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return total if type(total) is int and total > 0 else estimated_tokens(said)


def chat_url(url: str) -> str:
    """Return the full URL of the chat call for a base URL with or without its version.

    Raises
    ------
    InvalidConfig
        When it is no http or https URL, or holds a user name or password.
    """
    base = url.strip().rstrip("/")
    if base.endswith(_CALL):
        endpoint_url(base)
        return base
    full = endpoint_url(base)
    head, _, query = full.partition("?")
    return f"{head.removesuffix('/embeddings')}{_CALL}{'?' if query else ''}{query}"


def resolve_judge(spec: JudgeSpec = None, environ: Mapping[str, str] | None = None) -> Judge | None:
    """Return the judge that is meant; None where neither the caller nor the environment names one.

    Parameters
    ----------
    spec : Judge, mapping or None
        A judge, returned as it is; options of `ChatJudge`; None for ``$LAMINA_JUDGE_URL`` and ``$LAMINA_JUDGE_MODEL``.
    environ : mapping, optional
        The process's environment unless given.

    Raises
    ------
    InvalidConfig
        For unknown, missing or unusable options, and where only one of the two variables is set.
    """
    if spec is None:
        return _from_environment(os.environ if environ is None else environ)
    if not isinstance(spec, Mapping):
        return spec
    options: dict[str, Any] = {str(name): value for name, value in spec.items()}
    parameters = {name: p for name, p in signature(ChatJudge).parameters.items() if name not in ("sleep", "jitter")}
    unknown = sorted(set(options) - set(parameters))
    missing = [name for name, p in parameters.items() if p.default is Parameter.empty and name not in options]
    if unknown or missing:
        wrong = [f"unknown: {', '.join(unknown)}"] * bool(unknown) + [f"missing: {', '.join(missing)}"] * bool(missing)
        raise InvalidConfig(f"judge options {'; '.join(wrong)}; allowed are {', '.join(parameters)}")
    try:
        return ChatJudge(**options)
    except (TypeError, AttributeError) as error:
        raise InvalidConfig(f"a judge option has the wrong type ({error})") from error


def _from_environment(environ: Mapping[str, str]) -> Judge | None:
    missing = [f"${name}" for name in (URL, MODEL) if not environ.get(name)]
    if len(missing) == 2:
        return None
    if missing:
        raise InvalidConfig(
            f"{missing[0]} is not set, and its other half is; name both, such as {URL}=http://127.0.0.1:8080/v1 {MODEL}=qwen"
        )
    return ChatJudge(environ[URL], environ[MODEL], api_key_env=KEY if environ.get(KEY) else _OPENAI_KEY)


def no_judge() -> InvalidConfig:
    """Return the error that says, in one line, that no language model is configured."""
    return InvalidConfig(NO_JUDGE)
