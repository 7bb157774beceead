"""Questions to a language model behind an OpenAI-compatible endpoint, within a budget.

An answer is strict JSON or it is asked for once more, with what was wrong; a purse says how much a run may cost.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from lamina_engine.arguments import check_methods, whole_of
from lamina_engine.embed.transport import OPENAI_KEY, connection, construct_client, join_url
from lamina_engine.errors import EmbeddingError, InvalidConfig

T = TypeVar("T")

_CALL: Final = "/chat/completions"
_CHARS_PER_TOKEN: Final = 3.0
"""Few characters to a token: an estimate that is rather too high."""
_TRIES: Final = 2
_FENCE: Final = re.compile(r"```(?:json)?\s*\n?(.*?)```", re.DOTALL | re.IGNORECASE)


class Answer(NamedTuple):
    """A model's answer, and the tokens of question and answer."""

    text: str
    tokens: int


class Chat(Protocol):
    """Protocol of a language model that answers questions."""

    @property
    def max_answer_tokens(self) -> int:
        """Most tokens of an answer."""
        ...

    def ask(self, system: str, user: str) -> Answer:
        """Answer one question."""
        ...


ChatSpec = Chat | Mapping[str, object] | None
"""Something that answers, the options of a `ChatEndpoint`, or None for what the environment says."""


class ChatEndpoint:
    """A model behind an OpenAI-compatible ``/chat/completions`` endpoint."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key_env: str | None = OPENAI_KEY,
        timeout_s: float = 120.0,
        max_retries: int = 2,
        backoff_s: float = 1.0,
        cap_s: float = 15.0,
        max_answer_tokens: int = 1_024,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        if max_answer_tokens < 16:
            raise InvalidConfig(f"max_answer_tokens={max_answer_tokens}; give a whole number ≥ 16")
        self._model = model
        self._max_answer_tokens = max_answer_tokens
        self._transport = connection(
            chat_url(url), model, api_key_env=api_key_env, timeout_s=timeout_s, max_retries=max_retries,
            backoff_s=backoff_s, cap_s=cap_s, sleep=sleep, jitter=jitter,
        )  # fmt: skip

    @property
    def max_answer_tokens(self) -> int:
        """Most tokens of an answer."""
        return self._max_answer_tokens

    def ask(self, system: str, user: str) -> Answer:
        """Answer one question, as deterministically as the server can."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        payload: dict[str, object] = {
            "model": self._model, "messages": messages, "temperature": 0, "seed": 0, "max_tokens": self._max_answer_tokens,
        }  # fmt: skip
        answer = self._transport.post(payload)
        try:
            text = answer["choices"][0]["message"]["content"]  # type: ignore[index]
            if not isinstance(text, str):
                raise TypeError("its content is not text")
        except (KeyError, IndexError, TypeError) as error:
            raise EmbeddingError(
                f"{self._transport.place} (model {self._model!r}) gave an answer without choices[0].message.content "
                f"({error}); check that it is a chat completions endpoint"
            ) from error
        return Answer(text, _tokens(answer, system + user + text))

    def close(self) -> None:
        """Close the connection; the next question opens another."""
        self._transport.close()


def chat_url(url: str) -> str:
    """Return the full URL of the chat call for a base URL with or without its version."""
    return join_url(url, _CALL)


def resolve_chat(spec: ChatSpec, prefix: str, what: str, environ: Mapping[str, str] | None = None) -> Chat | None:
    """Return the chat model that the caller or the environment names, or None."""
    if isinstance(spec, Mapping):
        return construct_client(ChatEndpoint, spec, what)
    if spec is not None:
        check_methods(spec, what, ("ask",), "{'url': ..., 'model': ...}, or an object with ask()")
        return spec
    environ = os.environ if environ is None else environ
    url, model, key = f"{prefix}_URL", f"{prefix}_MODEL", f"{prefix}_KEY"
    missing = [f"${name}" for name in (url, model) if not environ.get(name)]
    if len(missing) == 2:
        return None
    if missing:
        raise InvalidConfig(
            f"{missing[0]} is not set, and its other half is; name both, such as {url}=http://127.0.0.1:8080/v1 {model}=qwen"
        )
    return ChatEndpoint(environ[url], environ[model], api_key_env=key if environ.get(key) else OPENAI_KEY)


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has, rather too many than too few."""
    return math.ceil(len(text) / _CHARS_PER_TOKEN)


def _tokens(answer: Any, said: str) -> int:
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return total if type(total) is int and total > 0 else estimate_tokens(said)


# ---------------------------------------------------------------------- a run of questions


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one run; the first that is reached ends it, and the rest stays queued.

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
            if value is not None:
                whole_of(value, name, 0, instead=" in a budget, or None")

    def allows(self, requests: int, tokens: int, next_tokens: int) -> bool:
        """Return True if another request fits after so many of them."""
        fits = self.tokens is None or tokens + next_tokens <= self.tokens
        return fits and (self.requests is None or requests < self.requests)


class InvalidAnswer(ValueError):
    """An answer that cannot be used; its text gives the reason, fit to send to the model."""


class Stopped(Exception):
    """A run that ended early: the budget is spent, or the endpoint is unreachable."""


@dataclass(slots=True)
class BudgetedChat:
    """Chat model with a budget: requests, tokens and invalid answers so far."""

    chat: Chat
    budget: Budget
    requests: int = 0
    tokens: int = 0
    invalid: int = 0
    """Questions whose answers could not be used, the second try included."""
    valid: int = 0
    complaint: str = ""
    """What was wrong with the last answer that could not be used."""

    def ask(self, system: str, user: str, parse: Callable[[str], T]) -> T | None:
        """Return a valid answer; None when a second try fails, too."""
        question = user
        for _ in range(_TRIES):
            need = estimate_tokens(system + question) + self.chat.max_answer_tokens
            if not self.budget.allows(self.requests, self.tokens, need):
                raise Stopped(f"the budget is spent ({self.requests} requests, {self.tokens} tokens)")
            try:
                answer = self.chat.ask(system, question)
            except EmbeddingError as error:
                raise Stopped(str(error)) from error
            self.requests += 1
            self.tokens += answer.tokens
            try:
                found = parse(answer.text)
            except InvalidAnswer as error:
                self.complaint = str(error)[:200]
                question = (
                    f"{user}\n\nThe answer before this one could not be used: {self.complaint}. "
                    "Answer again, exactly as asked."
                )
            else:
                self.valid += 1
                return found
        self.invalid += 1
        return None


def parse_json(text: str) -> Any:
    """Return the JSON value in an answer: bare, fenced, or within text."""
    fenced = _FENCE.search(text)
    body = (fenced[1] if fenced else text).strip()
    start = min((at for at in (body.find("["), body.find("{")) if at >= 0), default=-1)
    if start < 0:
        raise InvalidAnswer("the answer contains no JSON")
    try:
        # the standard decoder: it stops at the end of the value, and knows NaN, which is then refused by name
        found, _ = json.JSONDecoder().raw_decode(body, start)
    except (ValueError, RecursionError) as error:
        raise InvalidAnswer(f"the answer is not valid JSON ({error})") from error
    return found
