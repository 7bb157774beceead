"""Servers on loopback: their socket, and the gate that strangers do not pass.

A page in any browser can reach a port of this machine, by its address or by a name of its own that it binds to 127.0.0.1. So
a request must name this host and port, come from no other origin, and bring the token.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NoReturn

import lamina

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST: Final = "127.0.0.1"
HOSTS: Final = (HOST, "::1")
"""Addresses of loopback; a server binds one of them and no other."""
WRONG_TOKENS: Final = 20
"""Wrong tokens within `WINDOW_S` after which no token is looked at."""
WINDOW_S: Final = 60.0


class Gate:
    """Gate for requests to this host, from no other origin, with the token where one is needed."""

    def __init__(
        self,
        app: ASGIApp,
        port: int,
        token: str | None,
        *,
        needs_token: Callable[[str], bool] = lambda path: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        names = [f"{name}:{port}" for name in (HOST, "localhost", "[::1]")]
        self._hosts = frozenset(name.encode() for name in names)
        self._origins = frozenset(f"http://{name}".encode() for name in names)
        self._app, self._clock, self._needs_token = app, clock, needs_token
        self._expected = None if token is None else f"Bearer {token}".encode()
        self._wrong: deque[float] = deque(maxlen=WRONG_TOKENS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        status = self._objection(scope) if scope["type"] == "http" else None
        if status is None:
            await self._app(scope, receive, send)
            return
        headers = [(b"content-length", b"0"), (b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if status == 429:
            headers.append((b"retry-after", b"60"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _objection(self, scope: Scope) -> int | None:
        """Return the status of a refusal, or None."""
        sent: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            sent.setdefault(name, []).append(value)
        if len(sent.get(b"host", ())) != 1 or sent[b"host"][0] not in self._hosts:
            return 403
        if any(origin not in self._origins for origin in sent.get(b"origin", ())):
            return 403
        if any(site not in (b"same-origin", b"none") for site in sent.get(b"sec-fetch-site", ())):
            return 403
        if self._expected is None or not self._needs_token(scope["path"]):
            return None
        return self._token_objection(sent.get(b"authorization", []))

    def _token_objection(self, brought: list[bytes]) -> int | None:
        now = self._clock()
        if len(self._wrong) == WRONG_TOKENS and now - self._wrong[0] < WINDOW_S:
            return 429
        if len(brought) == 1 and hmac.compare_digest(brought[0], self._expected or b""):
            return None
        if brought:
            self._wrong.append(now)
        return 401


def make_token() -> str:
    """Return a new token of 256 bits."""
    return secrets.token_urlsafe(32)


def listen(port: int, host: str = HOST) -> socket.socket:
    """Bind a port of loopback, a free one for 0; it accepts nobody yet.

    Raises
    ------
    InvalidArgument
        When the port is taken, or not this user's, or this machine has no such address.
    """
    if host not in HOSTS:
        raise lamina.InvalidArgument(f"host={host!r} is no address of loopback; give {' or '.join(HOSTS)}")
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    if sys.platform != "win32":  # there it would let another program take the port over
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise lamina.InvalidArgument(
            f"port {port} of {host} cannot be used ({error.strerror}); give another one, or none for a free one"
        ) from error
    return listener


def address_of(listener: socket.socket) -> str:
    """Return the address of a bound port as a browser takes it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: ASGIApp, listener: socket.socket, **options: int | str) -> NoReturn:
    """Serve until the process is ended, which Ctrl-C does without an error."""
    import uvicorn

    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1, **options)  # type: ignore[arg-type]
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again when it has closed its connections
        uvicorn.Server(config).run(sockets=[listener])
    os._exit(0)
