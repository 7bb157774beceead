"""The server over HTTP, on loopback alone: one process for several clients."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from mcp.server.transport_security import TransportSecuritySettings

from lamina.loopback import HOST, Gate, listen, make_token, serve
from lamina.mcp.server import log_to_stderr, make_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from lamina.mcp.access import VaultAccess

PATH: Final = "/mcp"
TOKEN_VARIABLE: Final = "LAMINA_MCP_TOKEN"
_LEAST_TOKEN: Final = 16


def make_app(access: VaultAccess, tools: str, port: int, token: str | None) -> ASGIApp:
    """Return the application: for this host and port alone, and for whoever brings the token."""
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the gate checks
    app: ASGIApp = make_server(access, tools).streamable_http_app(
        streamable_http_path=PATH, transport_security=unchecked
    )
    return Gate(app, port, token)


def run_http(access: VaultAccess, tools: str, port: int) -> None:
    """Serve until the process is ended; the address and the token go to stderr."""
    import lamina

    log_to_stderr()
    token = os.environ.get(TOKEN_VARIABLE) or make_token()
    if len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable():
        raise lamina.InvalidConfig(f"${TOKEN_VARIABLE} must be {_LEAST_TOKEN} printable ASCII characters or more")
    listener = listen(port)
    port = listener.getsockname()[1]
    own = "" if os.environ.get(TOKEN_VARIABLE) else f" with the header 'Authorization: Bearer {token}'"
    sys.stderr.write(f"lamina: http://{HOST}:{port}{PATH}{own}\n")
    sys.stderr.flush()
    serve(make_app(access, tools, port, token), listener)
