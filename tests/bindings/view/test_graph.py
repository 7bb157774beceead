"""The graph: what hover, click, drag, filters, search, the slider and keys do, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Locator, Page, expect

from lamina.view.export import keep_nothing, make_page
from tests.bindings.view.conftest import Seen, Served

RESTED = re.compile(r"^\d+$")
SLOW = 4
"""How many times as long as on a quiet machine the times of the page's own counter may be here."""
HOSTILE = "<img src=x onerror=alert(1)>\u202e"


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("graph") / "v"
    with lamina.open(folder, create=True, embedder="none") as vault:
        facts = vault.facts
        facts.add("Ann", "works_at", "Acme", object_type="company", valid_from="2024-01-01", valid_to="2025-01-01")
        for i in range(7):
            facts.add("Ann", "knows", f"Friend {i}", object_type="friend")
        for i in range(10):
            facts.add("Ann", f"key_{i}", f"value {i}")
        facts.add_entity("Mars", "planet")
        facts.add("Mars", "orbits", "Sol", object_type="star")
        facts.add("Acme", "motto", HOSTILE)
        facts.add_entity(HOSTILE, "event")
        vault.add(
            [
                {"id": "a", "text": "first " + HOSTILE, "title": HOSTILE},
                {"id": "b", "text": "second"},
                {"id": "c", "text": "third"},
            ]
        )
        vault.link("a", "b", "causal")
        vault.link("b", "c", "supporting")
    it = Served(folder)
    yield it
    it.stop()


@pytest.fixture
def graph(browser: Browser, known: Served) -> Iterator[Page]:
    it = Seen(browser, known)
    page = it.go("/graph")
    expect(canvas_of(page)).to_have_attribute("data-rest", RESTED, timeout=30_000)
    page.wait_for_timeout(100)
    yield page
    it.context.close()
    assert it.complaints == []


def canvas_of(page: Page) -> Locator:
    return page.locator(".net canvas").first


def spot(page: Page, category: str) -> tuple[float, float, float]:
    """Return where the nodes of a category are drawn, in pixels of the canvas, and how opaque they are at most."""
    dot = page.locator("fieldset.filters label", has_text=category).locator("circle")
    colour = [int(each) for each in re.findall(r"\d+", dot.evaluate("each => getComputedStyle(each).fill"))]
    found = page.evaluate(PIXELS.replace("COLOUR", json.dumps(colour)))
    return found["x"], found["y"], found["opacity"]


PIXELS = """(() => {
  const canvas = document.querySelector(".net canvas");
  const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const near = (at) => [0, 1, 2].every((i) => Math.abs(data[at + i] - COLOUR[i]) <= 16);
  let [x, y, n, opacity] = [0, 0, 0, 0];
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] > 20 && near(at)) [x, y, n, opacity] = [x + (at / 4) % width, y + Math.floor(at / 4 / width), n + 1, Math.max(opacity, data[at + 3])];
  }
  return { x: x / n, y: y / n, opacity: opacity / 255 };
})()"""


def click(page: Page, category: str) -> None:
    x, y, _ = spot(page, category)
    canvas_of(page).click(position={"x": x, "y": y})
    page.wait_for_timeout(150)


def test_hover_tells_id_category_eight_facts_and_six_relations(graph: Page) -> None:
    x, y, _ = spot(graph, "company")
    canvas_of(graph).hover(position={"x": x, "y": y})
    tip = graph.get_by_role("tooltip")
    expect(tip).to_contain_text("Acme")
    expect(tip).to_contain_text("company")
    expect(tip).to_contain_text("<img src=x onerror=alert(1)>")
    graph.get_by_role("button", name="Ann", exact=True).click()  # its node comes into the middle
    graph.wait_for_timeout(200)
    box = canvas_of(graph).bounding_box()
    assert box is not None
    canvas_of(graph).hover(position={"x": box["width"] / 2, "y": box["height"] / 2})
    expect(tip.locator("b")).to_have_text("Ann")
    expect(tip.get_by_text("key ")).to_have_count(8)
    expect(tip.get_by_text("→")).to_have_count(6)
    expect(tip).to_contain_text("more: click")
    canvas_of(graph).hover(position={"x": 4, "y": 4})
    expect(tip).to_be_hidden()


def test_a_click_leaves_a_node_and_its_neighbours_bright_and_the_background_resets(graph: Page) -> None:
    assert spot(graph, "star")[2] == pytest.approx(0.9, abs=0.05)
    click(graph, "planet")
    expect(graph.get_by_label("Chosen node")).to_contain_text("orbits")
    assert "node=Mars" in graph.url
    assert spot(graph, "star")[2] > 0.8
    assert spot(graph, "friend")[2] < 0.2
    canvas_of(graph).click(position={"x": 5, "y": 5})
    expect(graph.get_by_label("Chosen node")).to_be_hidden()
    graph.wait_for_timeout(150)
    assert spot(graph, "friend")[2] > 0.8
    graph.go_back()
    expect(graph.get_by_label("Chosen node")).to_contain_text("Mars")
    graph.get_by_label("Chosen node").get_by_role("button", name="Sol").click()
    expect(graph.get_by_label("Chosen node")).to_contain_text("orbits (from)")


def test_every_category_has_a_filter_that_hides_its_nodes(graph: Page) -> None:
    assert graph.locator("fieldset.filters label").count() == 6
    graph.locator("fieldset.filters label", has_text="friend").locator("input").uncheck()
    expect(graph.locator("main h3", has_text="nodes")).to_have_text("5 nodes")
    graph.reload()
    expect(graph.locator("main h3", has_text="nodes")).to_have_text("5 nodes")
    expect(graph.locator("fieldset.filters label", has_text="friend").locator("input")).not_to_be_checked()
    expect(graph.get_by_role("button", name="Friend 1")).to_have_count(0)


def test_search_dims_what_does_not_match_and_enter_chooses(graph: Page) -> None:
    graph.get_by_label("Find").fill("MAR")
    graph.wait_for_timeout(200)
    assert spot(graph, "planet")[2] > 0.8
    assert spot(graph, "friend")[2] < 0.2
    expect(graph.locator("main h3", has_text="found")).to_have_text("1 node found")
    graph.keyboard.press("Enter")
    expect(graph.get_by_label("Chosen node")).to_contain_text("Mars")


def test_the_slider_shows_what_was_true_then(graph: Page) -> None:
    slider = graph.get_by_label("True on")
    said = graph.locator(".time output")
    expect(said).to_contain_text("true now: 19 of 20 facts")  # no longer at Acme
    graph.get_by_role("button", name="Ann", exact=True).click()
    expect(graph.get_by_label("Chosen node")).not_to_contain_text("Acme")
    slider.focus()
    graph.keyboard.press("Home")
    expect(said).to_contain_text("true on 2024-01-01: 20 of 20 facts")
    expect(graph.get_by_label("Chosen node")).to_contain_text("Acme")
    expect(graph.get_by_label("Chosen node")).to_contain_text("since 2024-01-01 until 2025-01-01")
    graph.keyboard.press("ArrowRight")
    expect(said).to_contain_text("true on 2025-01-01: 19 of 20 facts")
    graph.reload()
    expect(graph.locator(".time output")).to_contain_text("true on 2025-01-01")


def test_drag_moves_a_node_or_the_plane_and_wheel_and_keys_zoom_and_move(graph: Page) -> None:
    box = canvas_of(graph).bounding_box()
    assert box is not None
    x, y, _ = spot(graph, "company")
    star = spot(graph, "star")

    def drag(x: float, y: float, dx: float, dy: float) -> None:
        assert box is not None
        graph.mouse.move(box["x"] + x, box["y"] + y)
        graph.mouse.down()
        graph.mouse.move(box["x"] + x + dx, box["y"] + y + dy, steps=5)
        graph.mouse.up()
        graph.wait_for_timeout(1500)

    drag(x, y, 60, 0)
    assert spot(graph, "company")[0] == pytest.approx(x + 60, abs=4)
    star = spot(graph, "star")
    drag(5, 5, -30, 20)
    assert spot(graph, "star")[:2] == pytest.approx((star[0] - 30, star[1] + 20), abs=3)

    def apart() -> float:
        (ax, ay, _), (bx, by, _) = spot(graph, "company"), spot(graph, "star")
        return float(((ax - bx) ** 2 + (ay - by) ** 2) ** 0.5)

    before = apart()
    canvas_of(graph).focus()
    graph.keyboard.press("-")
    graph.wait_for_timeout(150)
    assert apart() == pytest.approx(before / 1.4, rel=0.05)
    moved = spot(graph, "star")
    graph.keyboard.press("ArrowUp")
    graph.wait_for_timeout(150)
    assert spot(graph, "star")[1] > moved[1] + 20
    graph.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    graph.mouse.wheel(0, -135)
    graph.wait_for_timeout(150)
    assert apart() > before / 1.4 * 1.2
    graph.get_by_role("button", name="Show all").click()
    assert "at=" not in graph.url


def test_where_one_looks_is_in_the_address(graph: Page) -> None:
    for key in ("+", "ArrowLeft"):
        canvas_of(graph).press(key)
    expect(graph).to_have_url(re.compile(r"at=-?[\d.]+%2C-?[\d.]+%2C[\d.]+"))
    there = spot(graph, "planet")[:2]
    graph.reload()
    expect(canvas_of(graph)).to_have_attribute("data-rest", RESTED, timeout=30_000)
    graph.wait_for_timeout(300)
    assert spot(graph, "planet")[:2] == pytest.approx(there, abs=4)


def test_the_same_graph_lies_the_same_way(browser: Browser, known: Served) -> None:
    seen = []
    for _ in range(2):
        it = Seen(browser, known)
        page = it.go("/graph")
        expect(canvas_of(page)).to_have_attribute("data-rest", RESTED, timeout=30_000)
        page.wait_for_timeout(150)
        seen.append(page.evaluate("document.querySelector('.net canvas').toDataURL()"))
        it.context.close()
    assert seen[0] == seen[1]


def test_what_lies_around_a_node_and_the_links_of_chunks(graph: Page) -> None:
    graph.get_by_role("button", name="Mars").click()
    graph.get_by_role("button", name="Only what lies around it").click()
    expect(graph.locator("main h3", has_text="nodes")).to_have_text("2 nodes")
    expect(graph.locator("main .note").first).to_contain_text("around “Mars”")
    graph.get_by_role("button", name="The whole graph").click()
    expect(graph.locator("main h3", has_text="nodes")).to_have_text("12 nodes")
    graph.locator("#controls select").first.select_option("links")
    expect(graph.locator("main h2")).to_have_text("Links of chunks")
    expect(graph.locator("main h3", has_text="nodes")).to_have_text("3 nodes")
    graph.locator('[data-open="b"]').click()
    card = graph.get_by_label("Chosen node")
    expect(card).to_contain_text("causal (from)")
    card.get_by_role("link", name="Open the chunk").click()
    expect(graph.get_by_label("Details", exact=True)).to_contain_text("second")
    graph.get_by_role("button", name="Graph of its links").click()
    expect(graph.locator("main .note").first).to_contain_text("3 chunks")
    assert "center=b" in graph.url
    assert graph.locator("main img").count() == 0


def test_without_facts_the_page_says_what_brings_them_and_offers_links(browser: Browser, served: Served) -> None:
    it = Seen(browser, served)
    try:
        page = it.go("/graph")
        expect(page.locator("main")).to_contain_text("lamina facts add")
        page.get_by_role("button", name="Show the links of chunks instead").click()
        expect(page.locator("main h2")).to_have_text("Links of chunks")
    finally:
        it.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_graph_on_a_small_screen(browser: Browser, known: Served, scheme: str) -> None:
    from tests.bindings.view.test_page import CONTRAST

    it = Seen(browser, known, 360, color_scheme=scheme)
    try:
        page = it.go("/graph?node=Ann")
        expect(page.get_by_label("Chosen node")).to_contain_text("knows")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert json.loads(page.evaluate(CONTRAST)) == []
        page.get_by_role("button", name="Friend 2").first.press("Enter")
        expect(page.get_by_label("Chosen node")).to_contain_text("knows (from)")
    finally:
        it.context.close()


def made_up(nodes: int, edges: int) -> dict[str, object]:
    """Return a graph by the numbers of a generator."""
    state, names = 1, [f"N{i}" for i in range(nodes)]
    found = []
    for _ in range(edges):
        ends = []
        for _ in range(2):
            state = (state * 1_103_515_245 + 12_345) % 2**31
            ends.append(names[state % nodes])
        found.append({"source": ends[0], "target": ends[1], "predicate": "near"})
    return {
        "nodes": [{"id": name, "category": f"c{i % 9}"} for i, name in enumerate(names)],
        "edges": found,
        "facts": {},
        "stats": {},
    }


@pytest.mark.parametrize(
    ("nodes", "edges", "shown_ms", "rest_ms"),
    [(500, 1_000, 500, 2_000), (2_000, 6_000, 500, 6_000), (3_000, 9_000, 500, 6_000)],
)
def test_graphs_are_shown_soon_and_come_to_rest(
    browser: Browser, tmp_path: Path, nodes: int, edges: int, shown_ms: int, rest_ms: int
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    text = make_page(keep_nothing("graph-data.json"))
    data = json.dumps(made_up(nodes, edges))
    page.route("http://viewer.test/page.html", lambda route: route.fulfill(body=text, content_type="text/html"))
    page.route(
        "http://viewer.test/graph-data.json", lambda route: route.fulfill(body=data, content_type="application/json")
    )
    page.goto("http://viewer.test/page.html")
    expect(canvas_of(page)).to_have_attribute("data-rest", RESTED, timeout=60_000)
    shown, rest = (int(canvas_of(page).get_attribute(f"data-{name}") or 0) for name in ("shown", "rest"))
    assert shown <= SLOW * shown_ms
    assert rest <= SLOW * rest_ms
    dots = page.locator("fieldset.filters circle").evaluate_all(
        "all => all.map(e => [e.getAttribute('fill'), e.getAttribute('stroke')].join())"
    )
    assert len(dots) == len(set(dots)) == 9  # seven colours as dots, then as rings: no two categories look alike
    note = page.locator("main .note").first
    if nodes <= 2_000:
        expect(note).to_contain_text(f"{nodes:,} nodes")
    else:
        expect(note).to_contain_text("are left out")
        page.get_by_label("Find").fill("N77")
        page.get_by_label("Find").press("Enter")
        expect(page.locator("main .note").first).to_contain_text("around “N77”")
    page.close()
