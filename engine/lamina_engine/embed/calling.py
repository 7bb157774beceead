"""What every endpoint is set up with: its URL, the checks of its options, its connection.

Nothing in a vault can name an endpoint or a key: both come from the caller or the environment.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any, Final, TypeVar, cast
from urllib.parse import urlsplit

from lamina_engine.embed.transport import Backoff, Transport
from lamina_engine.errors import InvalidConfig

T = TypeVar("T")

OPENAI_KEY: Final = "OPENAI_API_KEY"
_REPLACED_IN_TESTS: Final = ("sleep", "jitter")


def call_url(url: str, call: str) -> str:
    """Return the full URL of a call for a base URL with or without its version, or the full one.

    Parameters
    ----------
    url : str
        One without a path gets ``/v1`` first.
    call : str
        Such as ``/embeddings``.

    Raises
    ------
    InvalidConfig
        When it is no http or https URL, or holds a user name or password.
    """
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, usable = urlsplit(""), False
    if not usable or re.search(r"[\s\x00-\x1f\x7f]", url.strip()):
        raise InvalidConfig("the endpoint's url is no http or https URL; give one such as 'http://127.0.0.1:11434/v1'")
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
    """Return the way to a model behind a full URL; nothing is sent.

    Raises
    ------
    InvalidConfig
        For a model without a usable name, or a time that is none.
    InvalidArgument
        For retries and waits below zero.
    """
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


def construct(kind: Callable[..., T], options: Mapping[str, object], what: str) -> T:
    """Call a constructor with options from a configuration, reporting what does not fit before the call.

    Parameters
    ----------
    kind : callable
    options : mapping
    what : str
        What messages call it: ``embedder``.

    Raises
    ------
    InvalidConfig
        For unknown, missing or unusable options.
    """
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
