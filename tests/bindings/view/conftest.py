"""A vault to look at, the viewer that serves it, and a browser where there is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import lamina

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

CHROMIUM = os.environ.get("LAMINA_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
NOW = "2026-03-10T12:00:00Z"


class Served:
    """The program in a process, and where it listens."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lamina", "view", "--no-open", "--vault", str(folder), *options],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"(http://(?:127\.0\.0\.1|\[::1\]):(\d+))/#t=([\w-]+)", line)
        assert found, line
        self.base, self.port, self.token, self.address = found[1], int(found[2]), found[3], found[0]

    def get(self, path: str, *, token: str | None = "", method: str = "GET", **headers: str) -> httpx.Response:
        """Send one request, with the token unless another one or None is given."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["authorization"] = f"Bearer {token or self.token}"
        transport = httpx.HTTPTransport(retries=5)
        with httpx.Client(transport=transport, timeout=60) as client:
            return client.request(method, f"{self.base}{path}", headers=sent)

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()


def fill(folder: Path) -> Path:
    """Make a vault with two moments: what is recorded in January, and what March changed."""
    with lamina.open(folder, create=True, clock=lamina.FixedClock("2026-01-05T09:00:00Z")) as vault:
        vault.add(
            [
                {"id": "db", "text": "We use SQLite for the orders because it needs no server.", "type": "decision",
                 "title": "Database", "project": "shop", "created_at": "2026-01-05T08:00:00Z"},
                {"id": "cache", "text": "The cache of orders is cleared at midnight.", "type": "note", "project": "shop",
                 "created_at": "2026-01-05T08:30:00Z"},
                {"id": "soup", "text": "The soup of the canteen is too salty.", "type": "note", "project": "kitchen",
                 "created_at": "2026-01-04T08:00:00Z"},
            ]
        )  # fmt: skip
        vault.link("cache", "db", "causal")
    with lamina.open(folder, clock=lamina.FixedClock("2026-03-01T09:00:00Z")) as vault:
        vault.add(
            [
                {"id": "pg", "text": "Orders moved to PostgreSQL, as SQLite locked under load.", "type": "decision",
                 "title": "PostgreSQL", "project": "shop", "created_at": "2026-03-01T08:00:00Z"},
            ]
        )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("vault") / "v")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    it = Served(folder)
    yield it
    it.stop()


@pytest.fixture(scope="module")  # while it is open, a loop runs in this thread: other tests run their own
def browser() -> Iterator[Browser]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium: set $LAMINA_CHROMIUM or install one")
    with sync_api.sync_playwright() as playwright:
        sync_api.expect.set_options(timeout=30_000)  # a busy machine's five seconds are short
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


class Seen:
    """A page of the viewer, with all that it said and asked for."""

    def __init__(self, browser: Browser, served: Served, width: int = 1280, **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        self._page: Page = self.context.new_page()
        self._opened = False
        self.served = served
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._page.on("request", lambda request: self.requests.append(request.url))
        self._page.on("console", self._note)
        self._page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self._page.on("dialog", lambda dialog: self.complaints.append(dialog.message))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    @property
    def page(self) -> Page:
        """The tab; with the viewer's address in it, unless a path was opened."""
        return self._page if self._opened else self.go("/")

    def go(self, path: str) -> Page:
        """Open a path of the viewer in the same tab; the first brings the token, so that no page is loaded for it alone."""
        token = "" if self._opened else f"#t={self.served.token}"
        self._opened = True
        self._page.goto(f"{self.served.base}{path}{token}")
        self._page.locator("nav a[aria-current]").wait_for()
        return self._page


@pytest.fixture
def seen(browser: Browser, served: Served) -> Iterator[Seen]:
    it = Seen(browser, served)
    yield it
    it.context.close()
    assert [each for each in it.requests if not each.startswith((served.base, "data:", "blob:"))] == []
