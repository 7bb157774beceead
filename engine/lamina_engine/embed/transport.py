"""JSON over HTTP to a configured endpoint: one POST with retries.

Retried: time-outs, broken connections, 408, 429 and 5xx. Waits follow full jitter, uniform in
[0, min(cap, base · 2^k)] [1]_, and never less than the server's ``Retry-After``. Anything else is an answer and is
reported at once. Nothing in a vault can name an endpoint or a key: both come from the caller or the environment.

References
----------
.. [1] Brooker: Exponential Backoff and Jitter, 2015.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import urlsplit

from lamina_engine import after_fork
from lamina_engine.errors import EmbeddingError, InvalidArgument, InvalidConfig

if TYPE_CHECKING:
    import httpx

_TRANSIENT = frozenset({408, 429, *range(500, 600)})
_TOO_LARGE = 413
_EXCERPT_CHARS = 200


T = TypeVar("T")

OPENAI_KEY: Final = "OPENAI_API_KEY"

_REPLACED_IN_TESTS: Final = ("sleep", "jitter")


class PayloadError(EmbeddingError):
    """The server refused a request for its size (413)."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Retry policy: number of attempts and waits between them.

    Attributes
    ----------
    max_retries : int
        Tries after the first, ≥ 0.
    base_s : float
        Bound of the first wait, doubled each time, ≥ 0.
    cap_s : float
        Bound of every wait, ≥ 0; a server that asks for more is given up at once.
    """

    max_retries: int = 2
    base_s: float = 1.0
    cap_s: float = 15.0

    def __post_init__(self) -> None:
        for name in ("max_retries", "base_s", "cap_s"):
            value = getattr(self, name)
            if not value >= 0:
                raise InvalidArgument(f"{name}={value!r}; give a number ≥ 0")

    def wait_s(self, attempt: int, draw: float) -> float:
        """Return the wait after try number ``attempt`` (from 0), for ``draw`` uniform in [0, 1)."""
        return draw * min(self.cap_s, self.base_s * 2.0 ** min(attempt, 64))


class Transport:
    """A kept connection to one URL."""

    def __init__(
        self,
        url: str,
        *,
        api_key_env: str | None,
        timeout_s: float,
        backoff: Backoff,
        sleep: Callable[[float], None],
        jitter: Callable[[], float],
    ) -> None:
        self._url = url
        # what stands in messages: a query string may hold a secret
        self.place = urlsplit(url)._replace(query="", fragment="").geturl()
        self._api_key_env = api_key_env
        self._timeout_s = timeout_s
        self._backoff = backoff
        self._sleep = sleep
        self._jitter = jitter
        self._client: httpx.Client | None = None
        self._lock = after_fork.make_lock()

    def post(self, payload: dict[str, object]) -> object:
        """Send JSON and return the JSON that comes back."""
        body = json.dumps(payload, ensure_ascii=True).encode("ascii")
        failure = ""
        for attempt in range(self._backoff.max_retries + 1):
            key = self._key()
            response, failure = self._send(body, key)
            asked_s = 0.0
            if response is not None:
                if response.is_success:
                    return self._decode(response)
                failure = f"HTTP {response.status_code}{_excerpt(response, key)}"
                self._refuse(response.status_code, failure)
                asked_s = _retry_after_s(response)
                if asked_s > self._backoff.cap_s:
                    raise EmbeddingError(
                        f"{self.place} answered {failure} and asks to wait {asked_s:g} s, allowed is "
                        f"cap_s={self._backoff.cap_s:g}; try later or raise cap_s"
                    )
            if attempt < self._backoff.max_retries:
                self._sleep(max(asked_s, self._backoff.wait_s(attempt, self._jitter())))
        tries = self._backoff.max_retries + 1
        raise EmbeddingError(
            f"{self.place} did not answer in {tries} tries, the last: {failure}; check that the server runs, or "
            "raise max_retries"
        )

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _send(self, body: bytes, key: str | None) -> tuple[httpx.Response | None, str]:
        import httpx

        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        try:
            return self._connection().post(self._url, content=body, headers=headers), ""
        except httpx.TimeoutException as error:
            return None, f"no answer within timeout_s={self._timeout_s:g} ({type(error).__name__})"
        except httpx.TransportError as error:
            return None, f"{type(error).__name__}: {error}"
        except httpx.InvalidURL as error:
            raise EmbeddingError(f"{self.place} is not a valid URL ({error}); check the endpoint's url") from None
        except httpx.HTTPError as error:
            # not chained: the request inside would carry the key
            raise EmbeddingError(f"{self.place} gave an answer that cannot be read ({type(error).__name__})") from None

    def _connection(self) -> httpx.Client:
        import ssl

        import httpx

        with self._lock:
            if self._client is None:
                address = urlsplit(self._url)
                local = address.hostname in ("localhost", "127.0.0.1", "::1")
                # reading the certificates takes 40 ms, which plain HTTP on this machine never needs; without any,
                # no certificate would be trusted
                plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if local and address.scheme == "http" else True
                # a proxy from the environment is right for the world outside and wrong for this machine
                self._client = httpx.Client(timeout=self._timeout_s, trust_env=not local, verify=plain)
            return self._client

    def _key(self) -> str | None:
        key = os.environ.get(self._api_key_env, "").strip() if self._api_key_env else ""
        if not key:
            return None
        if not key.isascii() or not key.isprintable():
            raise EmbeddingError(
                f"the environment variable {self._api_key_env} holds characters that no API key has; set it again"
            )
        return key

    def _refuse(self, status: int, failure: str) -> None:
        """Raise for an answer that another try would not change."""
        if status == _TOO_LARGE:
            raise PayloadError(f"{self.place} answered {failure}: the request is too large; lower batch")
        if status in _TRANSIENT:
            return
        if status in (401, 403):
            where = (
                f"set the environment variable {self._api_key_env} to a valid key"
                if self._api_key_env
                else "name the key's environment variable in api_key_env"
            )
            raise EmbeddingError(f"{self.place} answered {failure}; {where}")
        raise EmbeddingError(f"{self.place} answered {failure}; check the endpoint's url, model and options")

    def _decode(self, response: httpx.Response) -> object:
        try:
            return json.loads(response.content)
        except ValueError as error:
            raise EmbeddingError(
                f"{self.place} answered with {len(response.content)} bytes that are no JSON ({error}); check the "
                "endpoint's url"
            ) from error


def _excerpt(response: httpx.Response, key: str | None) -> str:
    """Return the beginning of an error's text on one line, without the key."""
    text = response.text
    if key is not None:
        text = text.replace(key, "[key]")
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f" ({text[:_EXCERPT_CHARS]})" if text else ""


def _retry_after_s(response: httpx.Response) -> float:
    """Return the seconds that ``Retry-After`` asks for; 0 where it is absent or unreadable.

    A date is read against the answer's own ``Date``, which needs no clock here.
    """
    value = response.headers.get("Retry-After", "").strip()
    try:
        if value.replace(".", "", 1).isdigit():
            return float(value)
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(response.headers.get("Date", ""))
        return max(0.0, wait.total_seconds())
    except (ValueError, TypeError):
        return 0.0


def join_url(url: str, call: str) -> str:
    """Return the full URL of a call for a base URL with or without its version, or the full one."""
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, usable = urlsplit(""), False
    if not usable or re.search(r"[\s\x00-\x1f\x7f]", url.strip()):
        raise InvalidConfig(
            "the endpoint's url is not an http or https URL; give one such as 'http://127.0.0.1:11434/v1'"
        )
    if parts.username is not None or parts.password is not None:
        raise InvalidConfig(
            "the endpoint's url holds a user name or password; put the key into an environment variable and name "
            "it in api_key_env"
        )
    path = parts.path.rstrip("/")
    if not path.endswith(call):
        path = f"{path or '/v1'}{call}"
    return parts._replace(path=path, fragment="").geturl()


def connection(
    url: str,
    model: str,
    *,
    api_key_env: str | None,
    timeout_s: float,
    max_retries: int,
    backoff_s: float,
    cap_s: float,
    sleep: Callable[[float], None],
    jitter: Callable[[], float],
) -> Transport:
    """Return the way to a model behind a full URL; nothing is sent."""
    if not model.strip() or not model.isprintable():
        raise InvalidConfig(f"model={model!r}; give the model's name as the server knows it")
    if not 0 < timeout_s < math.inf:
        raise InvalidConfig(f"timeout_s={timeout_s}; give seconds > 0")
    return Transport(
        url,
        api_key_env=api_key_env,
        timeout_s=timeout_s,
        backoff=Backoff(max_retries, backoff_s, cap_s),
        sleep=sleep,
        jitter=jitter,
    )


def construct_client(kind: Callable[..., T], options: Mapping[str, object], what: str) -> T:
    """Call a constructor with configured options; report options that do not fit."""
    given = {str(name): value for name, value in options.items()}
    parameters = {name: each for name, each in signature(kind).parameters.items() if name not in _REPLACED_IN_TESTS}
    unknown = sorted(set(given) - set(parameters))
    missing = [name for name, each in parameters.items() if each.default is Parameter.empty and name not in given]
    if unknown or missing:
        wrong = [f"unknown: {', '.join(unknown)}"] * bool(unknown) + [f"missing: {', '.join(missing)}"] * bool(missing)
        raise InvalidConfig(f"{what} options {'; '.join(wrong)}; allowed are {', '.join(parameters)}")
    try:
        return kind(**cast("dict[str, Any]", given))
    except (TypeError, AttributeError) as error:
        kinds = ", ".join(f"{name}: {each.annotation}" for name, each in parameters.items() if name in given)
        raise InvalidConfig(
            f"a{'n' if what[0] in 'aeiou' else ''} {what} option has the wrong type ({error}); expected are {kinds}"
        ) from error
