from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina_engine.chunks import lifecycle
from lamina_engine.errors import InvalidArgument, MissingExtra
from lamina_engine.memory import Memory
from lamina_engine.topics.clustering import cluster
from lamina_engine.topics.generation import latest, read_members, read_topics, write
from lamina_engine.topics.map import plain, principal, topic_map
from tests.engine.topics.vaults import blobs, fill

HOSTILE = '</script><img src=x onerror="alert(1)"> $$x$$ \u202e\u0007'


def test_a_missing_package_is_named(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match=r"pip install .*\[viz\]"):
        topic_map(memory, tmp_path / "map.html")
    assert not (tmp_path / "map.html").exists()


def test_a_layout_that_does_not_exist(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="pca"):
        topic_map(memory, tmp_path / "map.html", layout="round")  # type: ignore[arg-type]


def test_principal_components_are_those_of_the_covariance() -> None:
    rows = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32) * np.array(
        [5, 3, 1, 1, 1, 1], np.float32
    )
    got = principal(rows)
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    ref = np.linalg.svd(centred, compute_uv=False)[:2]
    np.testing.assert_allclose(np.linalg.norm(got, axis=0), ref, rtol=1e-9)
    np.testing.assert_allclose(got, principal(rows), rtol=0)
    assert abs(got[:, 0] @ got[:, 1]) < 1e-9 * ref[0] ** 2


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows_have_places_too(n: int) -> None:
    assert principal(np.eye(3, dtype=np.float32)[:n]).shape == (n, 2)
    assert principal(np.ones((n, 1), np.float32)).shape == (n, 2)


def test_hidden_characters_and_length() -> None:
    assert plain("a\u202eb\x07c\n d") == "a b c d"
    assert len(plain("x" * 1000)) == 160
    assert plain("x" * 160) == "x" * 160


def test_one_page_that_needs_nothing_else_and_runs_nothing(memory: Memory, tmp_path: Path) -> None:
    pytest.importorskip("bokeh", reason="the map needs bokeh")
    vectors, owners = blobs([30, 20])
    ids = fill(memory, vectors, owners)
    lifecycle.update(memory, ids[0], {"text": HOSTILE})
    cluster(memory)
    report = topic_map(memory, tmp_path / "map.html")
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert (report.points, report.topics, report.bytes) == (49, 2, (tmp_path / "map.html").stat().st_size)
    assert "<img" not in page
    assert "onerror=&quot;" in page or 'onerror=\\"' not in page
    assert "\u202e" not in page
    assert "@text" in page
    assert "{safe}" not in page, "hover texts are escaped unless they are said to be safe"
    assert not re.search(r"<(?:script|link)[^>]+(?:src|href)=", page), "nothing is fetched"


def test_a_vault_without_topics_has_a_map_too(memory: Memory, tmp_path: Path) -> None:
    pytest.importorskip("bokeh", reason="the map needs bokeh")
    assert topic_map(memory, tmp_path / "map.html").points == 0
    fill(memory, *blobs([3]))
    assert topic_map(memory, tmp_path / "map.html").points == 3
    assert importlib.import_module("bokeh").__version__


PROBE = """
<script>
const failed = [];
window.addEventListener("error", event => failed.push(event.message));
setTimeout(() => {
  const all = [];
  const walk = node => { all.push(node); if (node.shadowRoot) walk(node.shadowRoot); [...node.children].forEach(walk); };
  walk(document.documentElement);
  const canvas = all.filter(n => n.tagName === "CANVAS")[0];
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const fetched = performance.getEntriesByType("resource").map(e => e.name).filter(name => !name.startsWith("data:"));
  fetch("ADDRESS", {method: "POST", mode: "no-cors", body: JSON.stringify({
    hacked: window.hacked ?? null, failed, fetched, documents: Bokeh.documents.length,
    images: all.filter(n => n.tagName === "IMG").length, drawn: pixels.some(value => value > 0),
  })});
}, 2000);
</script>
"""


def browser() -> str:
    """A browser that can be run without a screen: ``$LAMINA_BROWSER``, or one on the path."""
    names = (os.environ.get("LAMINA_BROWSER"), "chromium", "chromium-browser", "google-chrome", "chrome")
    found = next((path for path in map(shutil.which, filter(None, names)) if path), None)
    if found is None:
        pytest.skip("no Chromium on the path, and $LAMINA_BROWSER names none")
    return found


class Told(HTTPServer):
    """Keeps what the page says of itself."""

    said: bytes | None = None
    timeout = 60


class Listener(BaseHTTPRequestHandler):
    server: Told  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        self.server.said = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def looked_at(command: str, folder: Path) -> dict[str, Any]:
    """Open the map in a browser, and return what a probe in the page has seen."""
    page = (folder / "map.html").read_text(encoding="utf-8")
    at = page.rindex("</body>")
    with Told(("127.0.0.1", 0), Listener) as server:
        probe = PROBE.replace("ADDRESS", f"http://127.0.0.1:{server.server_port}/")
        (folder / "probed.html").write_text(page[:at] + probe + page[at:], encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0"]
        files = [f"--user-data-dir={folder / 'profile'}", (folder / "probed.html").as_uri()]
        job = subprocess.Popen([command, *options, *files], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            server.handle_request()
        finally:
            job.terminate()
            job.wait(30)
    assert server.said is not None, "the page said nothing for a minute"
    found: dict[str, Any] = json.loads(server.said)
    return found


def test_a_real_browser_draws_it_fetches_nothing_and_runs_no_text(memory: Memory, tmp_path: Path) -> None:
    pytest.importorskip("bokeh", reason="the map needs bokeh")
    command = browser()
    hostile = '</script><img src=x onerror="window.hacked=1"><script>window.hacked=2</script>'
    fill(memory, *blobs([12, 12]), prefix=f"{hostile} ")
    cluster(memory)
    snapshot = memory.view().snapshot
    detail = latest(snapshot)
    assert detail is not None
    called = [replace(topic, name=hostile) for topic in read_topics(snapshot, 1)]
    write(memory, detail, called, read_members(snapshot, 1))
    topic_map(memory, tmp_path / "map.html")
    got = looked_at(command, tmp_path)
    assert (got["hacked"], got["failed"], got["fetched"], got["images"]) == (None, [], [], 0)
    assert (got["documents"], got["drawn"]) == (1, True)
