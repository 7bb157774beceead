"""The map: its bytes, and the page that draws them."""

from __future__ import annotations

import itertools
import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import lamina
from tests.bindings.view.conftest import Seen, Served

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Locator, Page, expect

THEMES = ("postgres index query", "bread flour oven", "bicycle tyre pump")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("map") / "v"
    for month in (1, 3):
        with lamina.open(folder, create=True, clock=lamina.FixedClock(f"2026-0{month}-01T00:00:00Z")) as vault:
            vault.add(
                [
                    {"id": f"m{month}-{i}", "title": f"Note {month} {i}", "text": f"{THEMES[i % 3]} number {i} {month}",
                     "type": "note" if i % 2 else "decision", "project": ("shop", "kitchen")[i // 2 % 2], "created_at": f"2025-{1 + i % 12:02}-01T00:00:00Z"}
                    for i in range(30)
                ]
            )  # fmt: skip
            vault.cluster()
    with lamina.open(folder, clock=lamina.FixedClock("2026-03-05T00:00:00Z")) as vault:
        for name in ("m1-0", "m1-1"):
            vault.invalidate(name, "wrong")
    return folder


@pytest.fixture(scope="module")
def mapped(folder: Path) -> Iterator[Served]:
    it = Served(folder)
    yield it
    it.stop()


def columns(body: bytes) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    """Return the header and the columns of the binary answer."""
    (length,) = struct.unpack("<I", body[:4])
    header = json.loads(body[4 : 4 + length])
    found, at = {}, 4 + length
    for name, kind in header["columns"]:
        found[name] = np.frombuffer(body, kind, header["n"], at)
        at += -(-found[name].nbytes // 8) * 8
    assert at == len(body)
    return header, found


def test_points_are_the_places_of_the_vault(mapped: Served, folder: Path) -> None:
    got = mapped.get("/api/points")
    assert got.headers["content-type"] == "application/octet-stream"
    header, found = columns(got.content)
    with lamina.open(folder, mode="r") as vault:
        table = vault.topics.places(history=True)
        assert len(vault.topics.places()) == 58
    assert header["n"] == len(table) == 60
    assert found["x"].tolist() == table["x"].to_pylist()
    assert found["recorded"].tolist() == table["recorded_us"].to_pylist()
    ids = mapped.get("/api/ids?from=10&n=5").json()["ids"]
    assert ids == table["id"].to_pylist()[10:15]
    assert mapped.get("/api/points").content == got.content


def place_of(page: Page, served: Served, position: int) -> tuple[float, float]:
    """Return where a point is drawn, in pixels of the canvas."""
    _, found = columns(served.get("/api/points").content)
    x, y, scale = map(float, str(page.locator(".map canvas").get_attribute("data-view")).split())
    return x + scale * float(found["x"][position]), y + scale * float(found["y"][position])


@pytest.fixture
def page(browser: Browser, mapped: Served) -> Iterator[Page]:
    it = Seen(browser, mapped)
    it.go("/map").locator(".map canvas[data-drawn]").wait_for(timeout=90_000)
    yield it.page
    assert it.complaints == []
    it.context.close()


def test_a_click_opens_the_chunk_and_hovering_names_it(page: Page, mapped: Served) -> None:
    x, y = place_of(page, mapped, 5)
    page.locator(".map canvas").hover(position={"x": x, "y": y})
    expect(page.locator(".map .tip")).to_contain_text("Note 1 5")
    page.locator(".map canvas").click(position={"x": x, "y": y})
    expect(page.get_by_label("Details", exact=True)).to_contain_text("m1-5")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Details", exact=True)).to_be_hidden()


def test_the_slider_shows_what_was_known_then_what_is_gone_since_too(page: Page) -> None:
    said = page.locator(".time output")
    expect(said).to_have_text("58 chunks")
    page.get_by_label("Known on").fill("0")
    expect(said).to_have_text("30 chunks known on 2026-01-01 00:00")
    assert "as_of=2026-01-01" in page.url
    page.get_by_label("Known on").fill("1")
    expect(said).to_have_text("60 chunks known on 2026-03-01 00:00")
    page.reload()
    expect(said).to_have_text("60 chunks known on 2026-03-01 00:00")
    page.get_by_label("Known on").fill("2")
    expect(said).to_have_text("58 chunks")
    assert "as_of" not in page.url


def test_filters_and_colours_are_in_the_address(page: Page) -> None:
    page.get_by_label("Colour by").select_option("type")
    expect(page.locator(".tools .legend")).to_contain_text("decision 29")
    page.locator("select[name=type]").select_option("note")
    expect(page.locator(".time output")).to_have_text("29 chunks")
    page.locator("select[name=project]").select_option("shop")
    expect(page.locator(".time output")).to_have_text("15 chunks")
    assert "type=note" in page.url
    page.go_back()
    expect(page.locator(".time output")).to_have_text("29 chunks")
    for field, says in (("age", "2025-01-01"), ("freshness", "lamina freshness"), ("project", "others")):
        page.get_by_label("Colour by").select_option(field)
        expect(page.locator(".tools .legend")).to_contain_text(says if field != "project" else "shop")


def test_a_brush_over_the_dates_chooses_a_span(page: Page) -> None:
    box = page.locator("svg.dates").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 2, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, y, steps=4)
    page.mouse.up()
    expect(page.locator(".time output")).not_to_have_text("58 chunks")
    assert page.get_by_label("Written from").input_value().startswith("2025-01")
    page.get_by_label("Written from").fill("2025-12-01")
    page.get_by_label("Written before").fill("2026-01-01")
    expect(page.locator(".time output")).to_have_text("4 chunks")
    page.mouse.click(box["x"] + 5, y)
    expect(page.locator(".time output")).to_have_text("58 chunks")
    assert "since" not in page.url


def test_a_lasso_and_the_keyboard_list_what_lies_inside(page: Page, mapped: Served) -> None:
    canvas = page.locator(".map canvas")
    box = canvas.bounding_box()
    assert box is not None
    left, top, right, bottom = box["x"] + 4, box["y"] + 4, box["x"] + box["width"] - 4, box["y"] + box["height"] - 4
    page.get_by_role("button", name="Choose an area").click()
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top + 9)):
        page.mouse.move(x, y, steps=2)
    page.mouse.up()
    chosen = page.get_by_label("Chosen chunks")
    expect(chosen).to_contain_text("58 chunks chosen")
    expect(chosen.locator("li")).to_have_count(58)
    newest = page.get_by_label("Chosen chunks").locator("li").first
    expect(newest).to_contain_text("2025-12-01")
    newest.get_by_role("link").click()
    expect(page.get_by_label("Details", exact=True)).to_contain_text("2025-12-01")
    page.keyboard.press("Escape")
    canvas.focus()
    x, y = place_of(page, mapped, 5)
    for _ in range(40):  # bring a point into the ring, as a hand without a mouse does
        dx, dy = x - box["width"] / 2, y - box["height"] / 2
        if max(abs(dx), abs(dy)) < box["height"] / 12:
            break
        drawn = canvas.get_attribute("data-drawn")
        page.keyboard.press(
            ("ArrowRight" if dx > 0 else "ArrowLeft") if abs(dx) > abs(dy) else "ArrowDown" if dy > 0 else "ArrowUp"
        )
        expect(canvas).not_to_have_attribute("data-drawn", str(drawn))
        x, y = place_of(page, mapped, 5)
    page.keyboard.press("Enter")
    expect(chosen).not_to_contain_text("58 chunks chosen")
    expect(chosen).to_contain_text("Note 1 5")
    page.keyboard.press("Escape")
    expect(chosen).to_be_empty()


def test_names_of_topics_do_not_overlap(page: Page) -> None:
    for key in ("0", "+", "+", "-", "-", "-"):
        page.locator(".map canvas").press(key)
        page.wait_for_timeout(80)
        names = json.loads(str(page.locator(".map canvas").get_attribute("data-names")))
        assert names or key != "0"
        for (_, *a), (_, *b) in itertools.combinations(names, 2):
            assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3]


def test_keys_move_and_zoom(page: Page) -> None:
    canvas = page.locator(".map canvas")
    canvas.press("0")
    expect(canvas).to_have_attribute("data-view", re.compile("."))
    page.wait_for_timeout(100)
    before = canvas.get_attribute("data-view")
    for key in ("ArrowRight", "+"):
        canvas.press(key)
        expect(canvas).not_to_have_attribute("data-view", str(before))
    canvas.press("0")
    expect(canvas).to_have_attribute("data-view", str(before))


def test_new_chunks_take_places_and_move_no_other(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.add([{"id": f"n{i}", "text": f"{THEMES[i % 3]} number {i}"} for i in range(30)])
        served = Served(tmp_path / "v")
        try:
            _, before = columns(served.get("/api/points").content)
            vault.add([{"id": f"late{i}", "text": f"{THEMES[i % 3]} and late {i}"} for i in range(5)])
            vault.invalidate("n3", "wrong")
            _, after = columns(served.get("/api/points").content)
        finally:
            served.stop()
    assert len(after["x"]) == 35
    assert after["x"][:30].tobytes() == before["x"].tobytes()
    assert after["y"][:30].tobytes() == before["y"].tobytes()
    assert (after["gone"][:30] < np.iinfo(np.int64).max).tolist() == [i == 3 for i in range(30)]


def test_ids_are_those_of_the_version_that_is_looked_at(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.add([{"id": f"n{i}", "text": f"{THEMES[i % 3]} number {i}"} for i in range(9)])
        served = Served(tmp_path / "v")
        try:
            header, _ = columns(served.get("/api/points").content)
            vault.add([{"id": "late", "text": "another bicycle"}])
            then = served.get(f"/api/ids?at=0,8&snapshot={header['snapshot']}").json()
            vault.forget(ids=["n0"], dry_run=False)
            now = served.get(f"/api/ids?at=0,8&snapshot={header['snapshot']}").json()
            for wrong in ("9", "-1", "a", "1,,2", ",".join("1" * 600)):
                refused = served.get(f"/api/ids?at={wrong}")
                assert (refused.status_code, "positions" in refused.text) == (400, True)
        finally:
            served.stop()
    assert (then["ids"], then["snapshot"]) == (["n0", "n8"], header["snapshot"])
    assert (now["ids"], now["snapshot"] > then["snapshot"]) == (
        ["n1", "late"],
        True,
    )  # nothing forgotten is served again


def test_without_vectors_the_page_says_what_brings_them(browser: Browser, tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add("words alone")
    served = Served(tmp_path / "v")
    it = Seen(browser, served)
    try:
        expect(it.go("/map").locator("main")).to_contain_text("lamina reindex")
    finally:
        it.context.close()
        served.stop()


def test_a_vault_that_is_not_trusted_is_mapped_and_not_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lamina_engine.store.store import Store

    for path in (folder / "index").glob("map-*"):
        path.unlink()
    monkeypatch.setattr(Store, "is_trusted", property(lambda self: False))
    with lamina.open(folder, mode="r") as vault:
        assert len(vault.topics.places(history=True)) == 60
    assert list((folder / "index").glob("map-*")) == []


def test_where_one_looks_and_what_is_chosen_are_in_the_address(page: Page) -> None:
    canvas = page.locator(".map canvas")
    for key in ("+", "+", "ArrowRight"):
        canvas.press(key)
    expect(page).to_have_url(re.compile(r"at=-?[\d.]+%2C-?[\d.]+%2C1\.96"))
    there = [float(each) for each in str(canvas.get_attribute("data-view")).split()]
    canvas.press("Enter")
    expect(page).to_have_url(re.compile("area="))
    said = str(page.get_by_label("Chosen chunks").locator("h3").text_content())
    page.reload()
    canvas.and_(page.locator("[data-drawn]")).wait_for()
    page.wait_for_timeout(200)
    again = [float(each) for each in str(canvas.get_attribute("data-view")).split()]
    assert again == pytest.approx(there, rel=0.01, abs=1.5)
    expect(page.get_by_label("Chosen chunks").locator("h3")).to_have_text(said)
    page.go_back()
    expect(page.get_by_label("Chosen chunks")).to_be_empty()
    page.get_by_role("button", name="Show all").click()
    assert "at=" not in page.url
    page.goto(page.url.partition("?")[0] + "?at=1,2&area=9;;")  # nonsense shows everything
    canvas.and_(page.locator("[data-drawn]")).wait_for()
    expect(page.get_by_label("Chosen chunks")).to_be_empty()


def test_what_is_gone_and_other_filters(page: Page) -> None:
    said = page.locator(".time output")
    page.locator("select[name=status]").select_option("gone")
    expect(said).to_have_text("2 chunks")
    page.locator("select[name=status]").select_option("all")
    expect(said).to_have_text("60 chunks")
    page.reload()
    expect(said).to_have_text("60 chunks")
    expect(page.locator("select[name=status]")).to_have_value("all")
    assert page.locator("select[name=collection] option").count() >= 2


def pinch(page: Page, canvas: Locator, apart: tuple[int, int]) -> None:
    """Put two fingers on a canvas, side by side, and draw them apart."""
    box = canvas.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    line = page.context.new_cdp_session(page)
    for kind, wide in (("touchStart", apart[0]), ("touchMove", (apart[0] + apart[1]) // 2), ("touchMove", apart[1])):
        points = [{"x": x - wide / 2, "y": y, "id": 0}, {"x": x + wide / 2, "y": y, "id": 1}]
        line.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    line.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(200)


def test_two_fingers_zoom_where_they_are(browser: Browser, mapped: Served) -> None:
    it = Seen(browser, mapped, 390, has_touch=True)
    try:
        page = it.go("/map")
        canvas = page.locator(".map canvas")
        canvas.and_(page.locator("[data-drawn]")).wait_for()
        canvas.scroll_into_view_if_needed()
        before = [float(each) for each in str(canvas.get_attribute("data-view")).split()]
        pinch(page, canvas, (60, 180))
        x, y, scale = [float(each) for each in str(canvas.get_attribute("data-view")).split()]
        box = canvas.bounding_box()
        assert box is not None
        assert scale == pytest.approx(3 * before[2], rel=0.1)
        middle = box["width"] / 2, box["height"] / 2
        assert (middle[0] - x) / scale == pytest.approx((middle[0] - before[0]) / before[2], abs=12 / scale)
        assert (middle[1] - y) / scale == pytest.approx((middle[1] - before[1]) / before[2], abs=12 / scale)
        expect(page.get_by_label("Details", exact=True)).to_be_hidden()  # two fingers are no click
        assert it.complaints == []
    finally:
        it.context.close()


ZOOM = """() => new Promise((done) => {
  const canvas = document.querySelector(".map canvas");
  const box = canvas.getBoundingClientRect();
  let i = 0;
  const step = () => {
    const at = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: i % 40 < 20 ? -8 : 8, bubbles: true, cancelable: true, ...at }));
    i += 1;
    if (i < 80) requestAnimationFrame(step); else done();
  };
  step();
})"""
HOVER = """() => {
  const canvas = document.querySelector(".map canvas");
  const box = canvas.getBoundingClientRect();
  const begun = performance.now();
  for (let i = 0; i < 200; i += 1) canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 2, clientY: box.top + 2 + i, bubbles: true }));
  return (performance.now() - begun) / 200;
}"""


def test_100_000_points_are_drawn_within_a_frame(browser: Browser, mapped: Served) -> None:
    n, rng = 100_000, np.random.default_rng(0)
    header, _ = columns(mapped.get("/api/points").content)
    kinds = {"x": "<f4", "y": "<f4", "created": "<i8", "recorded": "<i8", "gone": "<i8"}
    values = {
        "x": rng.standard_normal(n),
        "y": rng.standard_normal(n),
        "created": np.arange(n),
        "recorded": np.zeros(n),
    }
    values["gone"] = np.full(n, np.iinfo(np.int64).max)
    values["x"][7] = 1_000.0  # far from all others, which it must not make small
    parts = []
    for name, _ in header["columns"]:  # type: ignore[attr-defined]
        column = np.asarray(values.get(name, np.zeros(n)), kinds.get(name, "<u2")).tobytes()
        parts.append(column + bytes(-len(column) % 8))
    text = json.dumps({**header, "n": n}).encode()
    text += b" " * (-(4 + len(text)) % 8)
    body = struct.pack("<I", len(text)) + text + b"".join(parts)
    it = Seen(browser, mapped)
    try:
        it.page.route("**/api/points", lambda route: route.fulfill(body=body, content_type="application/octet-stream"))
        canvas = it.go("/map").locator(".map canvas[data-drawn]")
        canvas.wait_for()
        box = canvas.bounding_box()
        assert box is not None
        assert float(str(canvas.get_attribute("data-view")).split()[2]) > box["height"] / 12
        line = it.context.new_cdp_session(it.page)
        line.send("Performance.enable", {"timeDomain": "threadTicks"})

        def spent(work: str) -> float:
            """Return the processor time of the page's thread for some work, in ms."""
            spans = []
            for each in ("0", work):
                it.page.evaluate(each)
                metrics = line.send("Performance.getMetrics")["metrics"]
                spans.append({metric["name"]: metric["value"] for metric in metrics}["TaskDuration"])
            return 1000 * float(spans[1] - spans[0])

        assert spent(ZOOM) / 80 <= 2 * 8
        assert spent(HOVER) / 200 <= 2 * 1  # a look at every point: no grid is needed
        assert {"drawing", "frame"} <= set(canvas.evaluate("each => Object.keys(each.dataset)"))
    finally:
        it.context.close()
