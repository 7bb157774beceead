"""A server on this machine that speaks the chat protocol and says what its script says."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, TypeVar

Said = str | int
"""What it answers next: the content of a message, or the status of an error."""


class ChatServer(ThreadingHTTPServer):
    """Answers with ``script``, one entry a request, then with ``otherwise``."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), handler or _Handler)
        self.script: list[Said] = []
        self.otherwise: Said = "[]"
        self.tokens: int | None = 100
        self.delay_s = 0.0
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def questions(self) -> list[str]:
        """The user's part of each request."""
        return [body["messages"][1]["content"] for _, _, body in self.requests]


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        time.sleep(self.server.delay_s)
        said = self.server.script.pop(0) if self.server.script else self.server.otherwise
        status = said if isinstance(said, int) else 200
        answer: dict[str, Any] = {"error": "no"} if isinstance(said, int) else _completion(said)
        if self.server.tokens is not None and status == 200:
            answer["usage"] = {"total_tokens": self.server.tokens}
        content = json.dumps(answer).encode()
        with suppress(OSError):  # whoever asked may have gone
            self.send_response_only(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


def _completion(said: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": said}}]}


_Server = TypeVar("_Server", bound=ChatServer)


def serving() -> AbstractContextManager[ChatServer]:
    """Run a server while the block lasts."""
    return running(ChatServer())


@contextmanager
def running(given: _Server) -> Iterator[_Server]:
    """Run this server while the block lasts."""
    with given as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
