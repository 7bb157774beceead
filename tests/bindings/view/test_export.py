"""Pages of one file: from disk with what they hold, and beside a file of data under any static server."""

from __future__ import annotations

import base64
import functools
import hashlib
import http.server
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import lamina
from lamina.cli.app import program
from lamina.view.export import join_modules, keep_nothing, keep_vault, make_page

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, expect

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "v"
    with lamina.open(folder, create=True) as vault:
        vault.add(
            [
                {"id": f"c{i}", "title": f"Note {i}", "text": f"{('bread oven', 'postgres index')[i % 2]} {i}"}
                for i in range(40)
            ]
        )
        vault.link("c0", "c1", "causal")
        vault.link("c1", "c2", "supporting")
        vault.cluster()
        vault.facts.add("Ann", "works_at", "Acme", object_type="company")
        vault.facts.add("Ann", "motto", HOSTILE)
        vault.facts.add_entity(HOSTILE, "person")
    return folder


def run(*arguments: str) -> Result:
    """Run the program in this process."""
    return CliRunner().invoke(program(), list(arguments))


def test_a_page_allows_its_own_script_and_style_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "memory.html"
    assert run("view", "--vault", str(folder), "--export", str(page)).exit_code == 0
    text = page.read_text("utf-8")
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert found
    policy = found[1].replace("&#x27;", "'")
    script, style = (
        re.search(rf"<{tag}>(.*?)</{tag[:6].split()[0]}", text, re.DOTALL) for tag in ('script type="module"', "style")
    )
    for part in (script, style):
        assert part
        assert f"'sha256-{base64.b64encode(hashlib.sha256(part[1].encode()).digest()).decode()}'" in policy
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    assert "unsafe" not in policy
    assert len(re.findall(r"<script", text)) == 2
    assert HOSTILE not in text


def test_joined_modules_have_their_own_names_and_an_unknown_form_is_refused() -> None:
    modules = {
        "a.js": 'import { x as y, count } from "/static/b.js";\nimport c from "/static/c.js";\nimport "/static/lib.js";\nrun(y, c, count);\n',
        "b.js": 'import { count } from "/static/c.js";\nconst own = 1;\nexport const x = own;\nexport { count };\n',
        "c.js": "export function count() {}\nexport default {\n  own: 2,\n};\n",
        "lib.js": "!function(t){t.lib=1}(globalThis);",
    }
    joined = join_modules("a.js", modules.__getitem__)
    assert joined.index("$c_js = ") < joined.index("$b_js = ") < joined.index("const { x: y, count } = $b_js;")
    assert "return { x, count };" in joined
    assert "const { default: c } = $c_js;" in joined
    assert not re.search(r"^(import|export)", joined, re.MULTILINE)
    for odd in ('import * as all from "/static/b.js";\n', "export async (x) => x;\n", 'const a = "</script>";\n'):
        with pytest.raises(ValueError, match="cannot be joined"):
            join_modules("odd.js", {**modules, "odd.js": odd}.__getitem__)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--data", "graph-data.json"), "--export"),
        (("--export", "page.txt"), ".html"),
        (("--export", "page.html", "--data", "https://evil.example/x.json"), "graph-data.json"),
        (("--export", "page.html", "--data", "../../etc/passwd"), "graph-data.json"),
        (("--export", "no/such/folder/page.html", "--data", "x.json"), "not a folder"),
    ],
)
def test_wrong_arguments_say_what_to_give(
    arguments: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("view", *arguments)
    assert done.exit_code in (1, 2)
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


class Opened:
    """A page in the browser, with what it asked for and complained of."""

    def __init__(self, browser: Browser, address: str, **options: object) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)  # type: ignore[arg-type]
        self.page: Page = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on(
            "console", lambda message: self.complaints.append(message.text) if message.type == "error" else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(address)
        self.page.locator("nav a[aria-current]").wait_for()


def test_an_exported_page_opens_from_disk_and_asks_for_nothing(browser: Browser, folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "memory.html"
    assert run("view", "--vault", str(folder), "--export", str(page)).exit_code == 0
    it = Opened(browser, page.as_uri(), offline=True)
    try:
        expect(it.page.locator("#about")).to_contain_text("40 chunks with their texts")
        it.page.locator(".map canvas[data-drawn]").wait_for()
        it.page.locator(".map canvas").press("0")
        it.page.locator(".map canvas").press("-")
        for _ in range(3):
            it.page.locator(".map canvas").press("-")
        it.page.locator(".map canvas").press("Enter")
        expect(it.page.get_by_label("Chosen chunks")).to_contain_text("40 chunks chosen")
        it.page.get_by_label("Chosen chunks").get_by_role("link", name="Note 7", exact=True).click()
        expect(it.page.get_by_label("Details", exact=True)).to_contain_text("postgres index 7")
        it.page.get_by_role("link", name="Graph").click()
        expect(it.page.locator(".net canvas").first).to_have_attribute("data-rest", re.compile(r"\d+"), timeout=30_000)
        it.page.get_by_role("button", name="Ann", exact=True).click()
        expect(it.page.get_by_label("Chosen node")).to_contain_text("works at")
        expect(it.page.get_by_label("Chosen node")).to_contain_text(HOSTILE)
        box = it.page.locator(".net canvas").bounding_box()
        assert box is not None
        it.page.locator(".net canvas").hover(position={"x": box["width"] / 2, "y": box["height"] / 2})
        expect(it.page.get_by_role("tooltip")).to_contain_text("motto")
        it.page.locator("#controls select").first.select_option("links")
        expect(it.page.locator("main .note").first).to_contain_text("3 chunks, 2 links")
        it.page.get_by_role("button", name="Note 1", exact=True).click()
        it.page.get_by_role("link", name="Open the chunk").click()
        expect(it.page.get_by_label("Details", exact=True)).to_contain_text("causal (from)")
        it.page.get_by_label("Details", exact=True).get_by_role("button", name="Graph of its links").click()
        expect(it.page.get_by_role("button", name="The whole graph")).to_be_visible()
        it.page.get_by_role("link", name="Topics").click()
        it.page.locator("main ol.hits [data-open]").first.click()
        expect(it.page.locator("main ol.hits a").first).to_contain_text("Note")
        it.page.go_back()
        it.page.go_back()
        expect(it.page.locator("nav a[aria-current]")).to_contain_text("Graph")
        it.page.reload()
        expect(it.page.locator("nav a[aria-current]")).to_contain_text("Graph")
        assert it.complaints == []
        assert {each.partition("#")[0] for each in it.requests if not each.startswith(("blob:", "data:"))} == {
            page.as_uri()
        }
    finally:
        it.context.close()


def test_20_000_chunks_are_a_page_of_at_most_12_mb(tmp_path: Path) -> None:
    words = (Path(__file__).parents[3] / "engine" / "README.md").read_text("utf-8").split()
    texts = (" ".join(words[(i * 7 + j * j) % len(words)] for j in range(60)) for i in range(2_000))
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.add(
            [{"id": f"c{i}", "title": text[:50], "text": text, "project": "docs"} for i, text in enumerate(texts)]
        )
        report = vault.topic_map(tmp_path / "page.html")
        assert report.chunks == 2_000
        assert (report.bytes - len(make_page(keep_nothing("graph-data.json")))) * 10 <= 12_000_000
    with lamina.open(tmp_path / "v", mode="r") as vault:
        pages = []
        for name in ("a.html", "b.html"):
            vault.topics.map(tmp_path / name)
            pages.append((tmp_path / name).read_bytes())
    assert pages[0] == pages[1]


def test_a_page_of_a_moment_and_a_project_holds_what_was_known_then(tmp_path: Path) -> None:
    from tests.bindings.view.conftest import fill

    with lamina.open(fill(tmp_path / "v"), mode="r") as vault:
        for as_of, project, ids in (
            (None, None, {"db", "cache", "soup", "pg"}), ("2026-02-01", None, {"db", "cache", "soup"}),
            ("2026-02-01", "kitchen", {"soup"}),
        ):  # fmt: skip
            kept = keep_vault(vault, project, as_of)
            assert set(kept.held["chunks"]["id"]) == ids  # type: ignore[index]
            assert str(len(ids)) in kept.about
            assert str(vault.path) not in json.dumps({k: v for k, v in kept.held.items() if not isinstance(v, bytes)})


def test_a_page_of_a_project_tells_nothing_of_the_others(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.add(
            [
                {"id": f"{name}{i}", "title": f"{name} {i}", "text": f"{theme} {i}", "project": name, "type": name}
                for name, theme in (("bakery", "bread oven"), ("secret", "postgres index"))
                for i in range(20)
            ]
        )
        vault.cluster()
        vault.link("bakery1", "secret1", "causal")
        vault.link("bakery1", "bakery2", "causal")
        vault.facts.add("secret Ann", "works_at", "Acme")
        kept = keep_vault(vault, "bakery")
    held = {name: value for name, value in kept.held.items() if name != "points"}
    assert "secret" not in json.dumps(held)
    assert "postgres" not in json.dumps(held)
    assert b"postgres" not in kept.held["points"]  # type: ignore[operator]
    assert len(held["links"]["edges"]) == 3  # type: ignore[index]


def test_a_page_of_many_topics_reads_them_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lamina_engine.index.view import View
    from lamina_engine.topics import catalog
    from lamina_kernels.layouts import I64

    words = [
        f"{a}{b}"
        for a in ("bread", "index", "tyre", "loom", "kiln")
        for b in ("oven", "query", "pump", "thread", "clay")
    ]
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.add([{"id": f"c{i}", "text": f"{words[i % 25]} {words[i % 25][::-1]} {i}"} for i in range(500)])
        vault.cluster()
        assert len(vault.topics()) > 10
        looks: list[int] = []
        look = catalog.current_topics

        def count(view: View, rows: I64 | None = None) -> catalog.CurrentTopics:
            looks.append(1)
            return look(view, rows)

        monkeypatch.setattr(catalog, "current_topics", count)
        kept = keep_vault(vault)
        assert len(looks) <= 4  # however many topics there are
        found = {topic.id: vault.topic(topic.id) for topic in vault.topics()}
    members = kept.held["members"]
    ids = kept.held["chunks"]["id"]  # type: ignore[index]
    assert {name: [ids[i] for i in flat[::2]] for name, flat in members.items()} == {  # type: ignore[attr-defined]
        name: [member.chunk for member in each.members] for name, each in found.items()
    }


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield tmp_path, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_page_beside_its_data_shows_the_graph_under_any_static_server(
    browser: Browser, folder: Path, site: tuple[Path, str]
) -> None:
    place, base = site
    assert run("view", "--export", str(place / "graph.html"), "--data", "graph-data.json").exit_code == 0
    assert (
        run("export", "--vault", str(folder), "--format", "graph-json", str(place / "graph-data.json")).exit_code == 0
    )
    it = Opened(browser, f"{base}/graph.html")
    try:
        expect(it.page.locator("#about")).to_contain_text("graph-data.json")
        expect(it.page.locator(".net canvas").first).to_have_attribute("data-rest", re.compile(r"\d+"), timeout=30_000)
        it.page.get_by_role("button", name="Ann", exact=True).click()
        expect(it.page.get_by_label("Chosen node")).to_contain_text("Acme")
        assert {each.partition("#")[0] for each in it.requests if not each.startswith(("blob:", "data:"))} == {
            f"{base}/graph.html", f"{base}/graph-data.json"
        }  # fmt: skip
        assert it.complaints == []
    finally:
        it.context.close()


SEEDS = {  # the shape that the original users' own script writes
    "nodes": [{"id": "Keystone", "category": "project"}, {"id": "Ann", "category": "person"}, {"id": HOSTILE, "category": HOSTILE}],
    "edges": [{"source": "Ann", "target": "Keystone", "predicate": "works_on"}, {"source": "Ann", "target": "nobody", "predicate": "x"}],
    "facts": {"Keystone": [{"key": "port", "value": "3055"}, {"key": "stack", "value": HOSTILE}]},
    "stats": {"entities": 3, "relations": 2, "facts": 2, "aliases": 0},
}  # fmt: skip


def test_a_file_of_the_original_script_and_a_hostile_one_are_shown_as_they_are(
    browser: Browser, site: tuple[Path, str]
) -> None:
    place, base = site
    assert run("view", "--export", str(place / "graph.html"), "--data", "graph-data.json").exit_code == 0
    (place / "graph-data.json").write_text(json.dumps(SEEDS))
    it = Opened(browser, f"{base}/graph.html")
    try:
        it.page.get_by_role("button", name="Keystone", exact=True).click()
        expect(it.page.get_by_label("Chosen node")).to_contain_text("3055")
        expect(it.page.get_by_label("Chosen node")).to_contain_text(HOSTILE)
        assert it.page.locator("main img, main script").count() == 0
        assert it.complaints == []
    finally:
        it.context.close()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "lamina export --format graph-json"),
        ("{", "no JSON"),
        ("[1]", "holds no graph"),
        ('{"nodes": []}', "no entities"),
    ],
)
def test_a_missing_or_broken_file_is_named_with_the_command_that_writes_it(
    browser: Browser, site: tuple[Path, str], content: str | None, said: str
) -> None:
    place, base = site
    assert run("view", "--export", str(place / "graph.html"), "--data", "graph-data.json").exit_code == 0
    if content is not None:
        (place / "graph-data.json").write_text(content)
    it = Opened(browser, f"{base}/graph.html")
    try:
        expect(it.page.locator("main")).to_contain_text(said)
    finally:
        it.context.close()


def test_from_disk_a_page_without_data_says_which_server_to_start(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "graph.html"
    assert run("view", "--export", str(page), "--data", "graph-data.json").exit_code == 0
    it = Opened(browser, page.as_uri())
    try:
        expect(it.page.get_by_role("alert")).to_contain_text("python -m http.server")
    finally:
        it.context.close()
