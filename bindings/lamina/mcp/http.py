"""The server over HTTP, on loopback alone: one process for several clients."""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import sys
from typing import TYPE_CHECKING, Final

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from lamina.mcp.server import log_to_stderr, make_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from lamina.mcp.access import VaultAccess

HOST: Final = "127.0.0.1"
PATH: Final = "/mcp"
TOKEN_VARIABLE: Final = "LAMINA_MCP_TOKEN"
_LEAST_TOKEN: Final = 16


class TokenGate:
    """Lets requests through that bring the token; others get 401 and reach nothing."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            brought = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(brought, self._expected):
                headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)


def make_app(access: VaultAccess, tools: str, port: int, token: str | None) -> ASGIApp:
    """Return the application: for this host and port alone, and for whoever brings the token."""
    names = [f"{name}:{port}" for name in (HOST, "localhost")]
    security = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
    app: ASGIApp = make_server(access, tools).streamable_http_app(
        streamable_http_path=PATH, transport_security=security
    )
    return app if token is None else TokenGate(app, token)


def run_http(access: VaultAccess, tools: str, port: int) -> None:
    """Serve until the process is ended; the address and the token go to stderr."""
    import lamina

    log_to_stderr()
    token = os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(32)
    if len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable():
        raise lamina.InvalidConfig(f"${TOKEN_VARIABLE} must be {_LEAST_TOKEN} printable ASCII characters or more")
    listener = socket.socket(socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        raise lamina.InvalidArgument(
            f"port {port} of {HOST} cannot be used ({error.strerror}); give another one, or none for a free one"
        ) from error
    port = listener.getsockname()[1]
    own = "" if os.environ.get(TOKEN_VARIABLE) else f" with the header 'Authorization: Bearer {token}'"
    sys.stderr.write(f"lamina: http://{HOST}:{port}{PATH}{own}\n")
    sys.stderr.flush()
    config = uvicorn.Config(
        make_app(access, tools, port, token), log_config=None, access_log=False, timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run(sockets=[listener])
    os._exit(0)
