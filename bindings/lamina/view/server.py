"""The viewer's server: fixed paths, a strict policy, a token for every path that holds data."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import threading
import webbrowser
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

import lamina
from lamina.loopback import HOST, Gate, address_of, listen, make_token, serve
from lamina.vault import vault_at
from lamina.view.answers import ROUTES, Route
from lamina.view.requests import Query, RequestError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

logger = logging.getLogger(__name__)

VIEWS: Final = ("search", "map", "graph", "timeline", "topics", "facts", "freshness", "context", "health")
"""Views of the page; each is a path of its own."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types lamina"
)
_HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_TYPES: Final = {
    "html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "txt": "text/plain"
}  # fmt: skip
_LONGEST_REQUEST: Final = 8_192
_AT_ONCE: Final = 32
_MOMENTS: Final = 8
"""Past moments that are kept ready beside the newest asked for."""


class Viewer:
    """Files of the page, and answers from one vault that the first of them opens."""

    def __init__(
        self, open_vault: Callable[[], lamina.Vault], *, project: str | None = None, as_of: str | None = None
    ) -> None:
        self._open, self._project, self._as_of = open_vault, project, as_of
        self._lock = threading.Lock()
        self._vault: lamina.Vault | None = None
        self._past: dict[str, lamina.Vault] = {}
        self._files = read_page()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError("the viewer speaks HTTP alone")
        request = Request(scope)
        response = await self._respond(request)
        response.headers.update(_HEADERS)
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        path: str = request.scope["path"]
        if request.method not in ("GET", "HEAD"):
            return _refusal(405, "the viewer reads only", request.method, ["GET", "HEAD"])
        if (request.headers.get("content-length") or "0") != "0" or "transfer-encoding" in request.headers:
            return _refusal(413, "a request has no body here", None, None)
        if len(request.url.query) + sum(len(a) + len(b) for a, b in request.headers.raw) > _LONGEST_REQUEST:
            return _refusal(431, "the request is too long", None, _LONGEST_REQUEST)
        if path in self._files:
            body, media = self._files[path]
            return Response(body, media_type=media)
        found = find_route(path)
        if found is None:
            return _refusal(404, "no such path", path[:100], ["/", *(f"/{view}" for view in VIEWS), *ROUTES])
        return await run_in_threadpool(self._answer, *found, request)

    def _answer(self, route: Route, identity: str, request: Request) -> Response:
        """Return the answer of one path of the API, or its error as a document."""
        try:
            pairs = parse_qsl(request.url.query, keep_blank_values=True, max_num_fields=32)
            query = Query(pairs, route.parameters | {"as_of"}, self._project, self._as_of)
            vault = self._reader(query)
            tag = f'"{vault.version}-{hashlib.sha256(str(request.url).encode()).hexdigest()[:16]}"'
            found = route.answer(vault, query, identity)
        except RequestError as error:
            return Response(_json(error.document), error.status, media_type="application/json")
        except (lamina.ChunkNotFound, lamina.EntityNotFound, lamina.TopicNotFound) as error:
            return _refusal(404, str(error), identity[:100], None)
        except (lamina.InvalidArgument, lamina.InvalidConfig) as error:
            return _refusal(400, str(error), None, None)
        except (lamina.LaminaError, OSError) as error:
            return _refusal(500, str(error), None, None, kind=type(error).__name__)
        except ValueError as error:
            return _refusal(400, str(error)[:200], None, None)
        except Exception:
            logger.exception("no answer for %s", request.scope["path"])
            return _refusal(500, "the viewer could not answer; its terminal says why", None, None)
        if isinstance(found, bytes):
            return Response(found, media_type="application/octet-stream", headers={"etag": tag})
        return Response(_json(found), media_type="application/json", headers={"etag": tag})

    def _reader(self, query: Query) -> lamina.Vault:
        """Return the vault, at the moment that is asked for."""
        with self._lock:
            if self._vault is None:
                self._vault = self._open()
            if query.as_of is None:
                return self._vault
            past = vault_at(self._vault, query.as_of)
            query.as_of = past.now.isoformat()
            if query.as_of not in self._past:
                self._past = {**dict(list(self._past.items())[-_MOMENTS:]), query.as_of: past}
            return self._past[query.as_of]


def find_route(path: str) -> tuple[Route, str] | None:
    """Return the route of a path and the id that follows it; None where there is none."""
    if path in ROUTES and not path.endswith("/"):
        return ROUTES[path], ""
    head, slash, identity = path[1:].partition("/")[2].partition("/")
    route = ROUTES.get(f"/api/{head}/") if path.startswith("/api/") and slash and identity else None
    return None if route is None else (route, identity)


def read_page() -> dict[str, tuple[bytes, str]]:
    """Return bytes and type of the page's files by path; one document stands for every view."""
    page = files("lamina.view") / "page"
    found = {
        f"/static/{each.name}": (each.read_bytes(), _TYPES[each.name.rpartition(".")[2]])
        for each in page.iterdir()
        if each.name != "index.html"
    }
    document = ((page / "index.html").read_bytes(), "text/html")
    return {**found, **dict.fromkeys(("/", *(f"/{view}" for view in VIEWS)), document)}


def make_app(viewer: Viewer, port: int, token: str) -> ASGIApp:
    """Return the application behind its gate: what holds data needs the token."""
    return Gate(viewer, port, token, needs_token=lambda path: path.startswith("/api"))


def run_viewer(viewer: Viewer, port: int, *, browse: bool, host: str = HOST) -> None:
    """Serve until the process is ended; the address, with the token, goes to stderr."""
    listener = listen(port, host)
    port = listener.getsockname()[1]
    listener.listen()  # a browser that is quicker than the server waits in the queue
    token = make_token()
    address = f"{address_of(listener)}/#t={token}"
    sys.stderr.write(f"lamina: {address}\nlamina: this address opens the vault to whoever has it; Ctrl-C ends it\n")
    sys.stderr.flush()
    if browse:
        threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
    serve(
        make_app(viewer, port, token), listener, lifespan="off", ws="none", http="h11",
        limit_concurrency=_AT_ONCE, h11_max_incomplete_event_size=_LONGEST_REQUEST, server_header=False,
    )  # fmt: skip


def _json(document: object) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")  # lone surrogates too


def _refusal(status: int, error: str, given: object, allowed: object, kind: str = "") -> Response:
    document = {"error": error, "given": given, "allowed": allowed, "do": "", "kind": kind}
    return Response(_json(document), status, media_type="application/json")
