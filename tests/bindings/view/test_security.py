"""The viewer's rules: loopback, this host's names, a token, GET, fixed paths, a strict policy."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from lamina.loopback import WRONG_TOKENS, Gate
from tests.bindings.view.conftest import Served

PAGE = files("lamina.view") / "page"


def test_strangers_are_refused_and_nothing_is_read(tmp_path: Path) -> None:
    # The vault does not exist any more: whoever reached it would get another status.
    from tests.bindings.view.conftest import fill

    served = Served(fill(tmp_path / "v"))
    try:
        path = "/api/overview"
        assert served.get("/").status_code == 200
        (tmp_path / "v").rename(tmp_path / "away")
        assert served.get(path, token=None).status_code == 401
        assert served.get(path, token="wrong").status_code == 401
        for host in ("evil.example", f"evil.example:{served.port}", "127.0.0.1", f"127.0.0.1:{served.port + 1}"):
            assert served.get(path, host=host).status_code == 403
            assert served.get("/", host=host).status_code == 403
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1", f"https://127.0.0.1:{served.port}"):
            assert served.get(path, origin=origin).status_code == 403
        for site in ("cross-site", "same-site", "anything"):
            assert served.get(path, sec_fetch_site=site).status_code == 403
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
            assert served.get(path, method=method).status_code == 405
        for odd in (
            "/static/../server.py",
            "/static/%2e%2e/server.py",
            "/..%2f..%2fetc/passwd",
            "/etc/passwd",
            "/api/",
            "/api/nothing",
        ):
            assert served.get(odd).status_code == 404
        away = served.get(path)
        assert away.status_code == 500
        assert away.json()["kind"] == "VaultNotFound"
    finally:
        served.stop()


def test_names_of_this_host_are_let_in(served: Served) -> None:
    for name in ("127.0.0.1", "localhost", "[::1]"):
        host = f"{name}:{served.port}"
        got = served.get("/api/version", host=host, origin=f"http://{host}", sec_fetch_site="same-origin")
        assert got.status_code == 200
    assert served.get("/api/version", sec_fetch_site="none").status_code == 200
    assert served.get("/api/version", method="HEAD").content == b""


def test_every_answer_has_the_policy_and_no_cors(served: Served) -> None:
    for path in ("/", "/search", "/static/app.js", "/api/version", "/api/nothing"):
        headers = served.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert not [name for name in headers if name.startswith("access-control")]
        assert "server" not in headers


def test_the_static_page_holds_no_data_and_reads_no_vault(served: Served) -> None:
    for path in ("/", "/search", "/context", "/health", "/static/style.css"):
        assert served.get(path, token=None).status_code == 200
    assert served.token not in served.get("/", token=None).text


def test_twenty_wrong_tokens_and_the_server_rests() -> None:
    moment = [0.0]
    statuses: list[int] = []

    async def app(scope: object, receive: object, send: object) -> None:
        statuses.append(200)

    async def send(message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(int(str(message["status"])))

    gate = Gate(app, 80, "right", clock=lambda: moment[0])

    def ask(token: str) -> int:
        headers = [(b"host", b"127.0.0.1:80"), (b"authorization", f"Bearer {token}".encode())]
        answer = gate({"type": "http", "path": "/api/version", "headers": headers}, None, send)  # type: ignore[arg-type]
        with pytest.raises(StopIteration):  # no event loop is needed, and a browser of these tests runs one
            answer.send(None)
        return statuses[-1]

    assert [ask("wrong") for _ in range(WRONG_TOKENS)] == [401] * WRONG_TOKENS
    assert ask("right") == 429
    moment[0] = 59.0
    assert ask("right") == 429
    moment[0] = 61.0
    assert ask("right") == 200


def test_requests_are_small_and_have_no_body(served: Served) -> None:
    assert served.get(f"/api/recall?q={'a' * 5000}").status_code == 400
    with socket.create_connection(("127.0.0.1", served.port)) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX: %s\r\n\r\n" % (served.port, b"x" * 20_000))
        assert b" 431 " in line.recv(100)
    with socket.create_connection(("127.0.0.1", served.port)) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 4\r\n\r\nbody" % served.port)
        assert b" 413 " in line.recv(100)


def test_the_other_loopback_on_request(folder: Path) -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no ::1")
    served = Served(folder, "--host", "::1")
    try:
        assert served.base == f"http://[::1]:{served.port}"
        assert served.get("/api/version").status_code == 200
        assert served.get("/api/version", token="wrong").status_code == 401
        assert served.get("/api/version", host=f"evil.example:{served.port}").status_code == 403
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", served.port), 1)
    finally:
        served.stop()
    done = subprocess.run(
        [sys.executable, "-m", "lamina", "view", "--no-open", "--host", "0.0.0.0", "--vault", str(folder)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert "'127.0.0.1', '::1'" in done.stderr


def test_only_loopback_listens(served: Served) -> None:
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("no /proc/net/tcp here")
    addresses = {line.split()[1] for line in table.read_text().splitlines()[1:]}
    assert {each for each in addresses if each.endswith(f":{served.port:04X}")} <= {f"0100007F:{served.port:04X}"}


@pytest.mark.parametrize("name", sorted(each.name for each in PAGE.iterdir()))
def test_our_files_hold_no_way_to_run_text(name: str) -> None:
    text = (PAGE / name).read_text("utf-8")
    if name.endswith(".js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setTimeout\(\s*['\"]", text
        )
        assert "cookie" not in text
    if name == "index.html":
        assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", text)
    assert not re.search(
        r"(?:src|href|from|import|url)\W{1,3}(?:https?:)?//", text.replace("http://www.w3.org/2000/svg", "")
    )


def test_our_modules_are_small() -> None:
    ours = [each for each in PAGE.iterdir() if each.name.endswith(".js") and each.name not in LIBRARIES]
    assert sum(len(each.read_bytes()) for each in ours) <= 150_000


LIBRARIES = {
    "d3-dispatch.min.js": "94b3bbdb6b98dc1325a15762b051013e8253999b0e0436b27d1da17b952ba0af",
    "d3-force.min.js": "1e07b473241328795d5ea9ad479a7bbabd765012fa2ef95633c83b69868dff6b",
    "d3-quadtree.min.js": "57e2ad12824ed82893ba447523f2a2fb9beeb9222aafb2c778a9f5b313348b0e",
    "d3-timer.min.js": "911ceda305f014b6b53ca68d5c896a9a387da120cfd56a421a2c60cca2fc9b36",
}


def test_libraries_are_as_published_and_their_licence_lies_beside() -> None:
    found = {
        each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in PAGE.iterdir() if ".min." in each.name
    }
    assert found == LIBRARIES
    licence = (PAGE / "d3-licence.txt").read_text("utf-8")
    assert "Permission to use, copy, modify, and/or distribute" in licence
    assert all(name.partition(".")[0] in licence for name in LIBRARIES)


def test_the_static_page_needs_neither_numpy_nor_arrow() -> None:
    code = (
        "import sys; from lamina.view.server import Viewer; Viewer(lambda: None);"
        "import json; print(json.dumps([m for m in ('numpy', 'pyarrow', 'faiss', 'numba', 'tantivy') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
