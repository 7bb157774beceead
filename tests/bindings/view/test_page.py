"""The page in a real browser: what is clicked, typed and shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, expect

import lamina
from tests.bindings.view.conftest import Seen, Served


def test_the_token_leaves_the_address_and_stays_in_the_tab(seen: Seen, served: Served) -> None:
    assert served.token not in seen.page.url
    assert seen.page.evaluate("document.cookie") == ""
    seen.page.reload()
    expect(seen.page.locator("#vault")).to_have_text("v")
    stranger = seen.context.new_page()
    stranger.goto(served.base + "/search")
    expect(stranger.get_by_role("alert")).to_contain_text("lamina view")


def test_search_shows_hits_with_bars_and_every_term(seen: Seen) -> None:
    page = seen.page
    page.keyboard.press("/")
    page.keyboard.type("which database for orders")
    page.keyboard.press("Enter")
    hits = page.locator("ol.hits > li")
    expect(hits.first).to_be_visible()
    assert "q=which+database+for+orders" in page.url
    assert page.locator("svg.bar rect.f1").count() >= 1
    hits.first.get_by_text("every term").click()
    expect(hits.first.locator("table")).to_contain_text("coverage")
    expect(page.locator("code.command").first).to_contain_text("lamina recall 'which database for orders'")
    page.get_by_label("Beside it").select_option("lexical")
    expect(page.locator(".pair > section")).to_have_count(2)
    page.go_back()
    expect(page.locator(".pair")).to_have_count(0)
    assert seen.complaints == []


def test_search_shows_why_not_and_what_changed_beside_its_hits(seen: Seen) -> None:
    page = seen.go("/search?q=orders+SQLite&type=nothing")
    page.get_by_label("Why not (id or path)").fill("pg")
    page.keyboard.press("Enter")
    why = page.get_by_label("Why not", exact=True)
    expect(why).to_contain_text('it does not pass {"type":"nothing"}')
    expect(why.locator("li").first).to_contain_text("hit 2")
    page = seen.go("/search?q=orders+SQLite&k=20&profile=lexical&since=2026-03-01")
    changed = page.get_by_label("What changed")
    expect(changed).to_contain_text("2026-03-01 00:00 to ")
    expect(changed).to_contain_text("entered")
    assert seen.complaints == []
    for wrong in ("why_not=nobody", "since=2999-01-01"):  # a wrong id or date hides no hit, and says what is wrong
        page = seen.go(f"/search?q=orders+SQLite&{wrong}")
        expect(page.locator("section p.note").first).to_contain_text(wrong.split("=")[1])
        expect(page.locator("ol.hits > li").first).to_be_visible()


def test_bars_add_up_to_the_score(seen: Seen) -> None:
    page = seen.go("/search?q=orders+SQLite")
    label = page.locator("ol.hits > li svg.bar").first.get_attribute("aria-label")
    assert label is not None
    score, _, parts = label.removeprefix("score ").partition(": ")
    assert sum(float(part.rsplit(" ", 1)[1]) for part in parts.split(", ")) == pytest.approx(float(score), abs=0.003)


def test_details_open_beside_the_view_and_close_by_key(seen: Seen) -> None:
    page = seen.go("/search?q=orders+SQLite")
    page.locator("[data-open=db]").first.click()
    details = page.get_by_label("Details", exact=True)
    expect(details).to_contain_text("We use SQLite for the orders")
    expect(details).to_contain_text("causal")
    details.get_by_role("link", name="cache").first.click()
    expect(details).to_contain_text("cleared at midnight")
    assert "chunk=cache" in page.url
    page.keyboard.press("Escape")
    expect(details).to_be_hidden()


def test_context_says_what_would_be_told_and_what_the_gate_said(seen: Seen) -> None:
    page = seen.go("/context")
    page.get_by_label("A prompt").fill("Why did the orders move to PostgreSQL?")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("The gate is")).to_be_visible()
    expect(page.locator("pre.block")).to_contain_text("<lamina-context")
    page.get_by_label("A prompt").fill("/help")
    page.get_by_role("button", name="Show what it would be told").click()
    expect(page.get_by_text("Nothing would be told")).to_be_visible()


def test_health_counts_and_checks(seen: Seen) -> None:
    page = seen.go("/health")
    expect(page.locator(".numbers")).to_contain_text("4chunks")
    page.get_by_role("button", name="Check the files").click()
    expect(page.get_by_text("Every file has the name")).to_be_visible()


def test_views_by_keys_and_history(seen: Seen) -> None:
    page = seen.page
    for key, view in (("8", "Context"), ("9", "Health"), ("2", "Map"), ("1", "Search")):
        page.keyboard.press(key)
        expect(page.locator("nav a[aria-current]")).to_contain_text(view)
    page.go_back()
    expect(page.locator("nav a[aria-current]")).to_contain_text("Map")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("details of a hit")
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    page.keyboard.press("/")
    page.keyboard.type("orders")
    page.keyboard.press("Enter")
    page.locator("ol.hits > li").first.wait_for()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Details", exact=True)).to_be_visible()


def test_news_are_offered_and_never_jump(browser: Browser, tmp_path: Path) -> None:
    from tests.bindings.view.conftest import fill

    served = Served(fill(tmp_path / "v"))
    it = Seen(browser, served)
    try:
        expect(it.go("/search?q=turbots").locator("main h2")).to_have_text("turbots")
        with lamina.open(tmp_path / "v") as vault:
            vault.add([{"id": "new", "text": "Turbots are flat."}])
        offer = it.page.get_by_role("button", name="Show it as it is now")
        expect(offer).to_be_visible()
        expect(it.page.locator("[data-open=new]")).to_have_count(0)
        offer.click()
        expect(it.page.locator("[data-open=new]")).to_have_count(1)
    finally:
        it.context.close()
        served.stop()


def test_tab_goes_from_the_question_to_the_views_to_the_filters_to_the_hits(seen: Seen) -> None:
    page = seen.go("/search?q=orders")
    page.locator("ol.hits > li").first.wait_for()
    parts: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        part = page.evaluate(
            "document.activeElement.closest('.skip, #find, #theme, #views, #controls, #view')?.id || document.activeElement.className"
        )
        parts += [part] if part not in parts[-1:] else []
        if part == "view":
            break
    assert parts == ["skip", "find", "theme", "views", "controls", "view"]
    assert page.evaluate("document.activeElement.matches(':focus-visible')")


HOSTILE = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "javascript:alert(1)", "\u202egnp.exe\u2066\u061c", "a\0b\x1b[31m",
    "<svg onload=alert(1)>", "</pre></title><script src=//evil.example/x.js></script>", "[x](javascript:alert(1))",
    "{{constructor.constructor('alert(1)')()}}", "data:text/html,<script>alert(1)</script>",
)  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("hostile") / "v"
    with lamina.open(folder, create=True) as vault:
        vault.add(
            [
                {"id": f"h{i}", "text": f"hostile {HOSTILE[i % 10]} number {i}", "title": HOSTILE[(i + 1) % 10],
                 "type": "note", "source": HOSTILE[(i + 2) % 10], "project": HOSTILE[(i + 3) % 10], "tags": [HOSTILE[(i + 4) % 10]]}
                for i in range(299)
            ]
            + [{"id": "../../<b>#?%2e", "text": "hostile line " + "x" * 1_000_000}]
        )  # fmt: skip
    it = Served(folder)
    yield it
    it.stop()


def test_hostile_texts_are_shown_as_what_they_are(browser: Browser, hostile: Served) -> None:
    it = Seen(browser, hostile)
    try:
        page = it.go("/search?q=hostile&k=50")
        expect(page.locator("ol.hits > li")).to_have_count(50)
        expect(page.locator("ol.hits")).to_contain_text("<svg onload=alert(1)>")
        assert page.locator("main img, main script, main iframe").count() == 0
        for i in range(10):
            it.go(f"/search?q=hostile+{i}&chunk=h{i}")
            expect(page.get_by_label("Details", exact=True)).to_contain_text(f"number {i}")
        it.go("/search?q=hostile&chunk=" + "../../%3Cb%3E%23%3F%252e")
        expect(page.get_by_label("Details", exact=True)).to_contain_text("more characters")
        it.go("/context?prompt=hostile+script+number+one")
        expect(page.get_by_text("gate")).not_to_have_count(0)
        links = page.locator("a").evaluate_all("all => all.map(a => a.protocol)")
        assert set(links) <= {"http:", "vscode:"}
        assert it.complaints == []
        assert {each.startswith((hostile.base, "data:")) for each in it.requests} == {True}
    finally:
        it.context.close()


def test_an_empty_vault_says_which_command_fills_it(browser: Browser, tmp_path: Path) -> None:
    lamina.open(tmp_path / "v", create=True, embedder="none").close()
    served = Served(tmp_path / "v")
    it = Seen(browser, served)
    try:
        for path in ("/search", "/map", "/context", "/health"):
            it.go(path)
            expect(it.page.locator("main")).to_contain_text("lamina ingest")
    finally:
        it.context.close()
        served.stop()


def test_a_memory_without_a_title_is_called_by_its_words(browser: Browser, tmp_path: Path) -> None:
    # what agents and `lamina add` write has no title: hits, the map and the context named it by 32 hexadecimal digits
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.add("We moved the ledger to PostgreSQL 16.", id="a" * 32)
    served = Served(tmp_path / "v")
    it = Seen(browser, served)
    try:
        name = it.go("/search?q=ledger").locator("ol.hits .name")
        expect(name).to_have_text("We moved the ledger to PostgreSQL 16.")
        expect(name.locator("mark")).to_have_text("ledger")
        expect(it.page.locator("ol.hits > li > p")).to_have_count(0)
        it.go("/context?prompt=did+we+move+the+ledger+to+PostgreSQL%3F")
        expect(it.page.locator("ol.hits .name")).to_have_text("We moved the ledger to PostgreSQL 16.")
        assert served.get("/api/ids?from=0&n=1").json()["titles"] == ["We moved the ledger to PostgreSQL 16."]
    finally:
        it.context.close()
        served.stop()


def test_text_that_is_written_from_the_right_is_read_from_there(browser: Browser, tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add("هذا هو القرار حول PostgreSQL", title="قرار", id="right")
        vault.add("A decision about PostgreSQL: قرار", title="Decision", id="left")
    served = Served(tmp_path / "v")
    it = Seen(browser, served)
    try:
        page = it.go("/search?q=PostgreSQL")
        for name in ("right", "left"):
            row = page.locator(f"li:has([data-open={name}])")
            mark, text = row.locator("mark").bounding_box(), row.locator("p").bounding_box()
            assert mark
            assert text
            is_right = mark["x"] + mark["width"] / 2 > text["x"] + text["width"] / 2
            assert is_right == (name == "right")
    finally:
        it.context.close()
        served.stop()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_contrast_and_small_screens(browser: Browser, served: Served, scheme: str) -> None:
    it = Seen(browser, served, 360, color_scheme=scheme)
    try:
        for path in ("/search?q=orders&beside=lexical&chunk=db", "/context?prompt=orders", "/health"):
            page = it.go(path)
            page.wait_for_timeout(500)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
            unnamed = page.evaluate(
                """[...document.querySelectorAll("button, a, input, select, textarea")].filter(each =>
                each.checkVisibility() && !(each.textContent.trim() || each.labels?.length || each.getAttribute("aria-label"))).length"""
            )
            assert unnamed == 0, path
            assert json.loads(page.evaluate(CONTRAST)) == [], path
    finally:
        it.context.close()


CONTRAST = """(() => {
  const luminance = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (!/, 0\\)$|transparent/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const poor = [];
  for (const each of document.querySelectorAll("body *")) {
    if (!each.checkVisibility() || ![...each.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const [a, b] = [luminance(getComputedStyle(each).color), luminance(ground(each))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(each.tagName + " " + each.className + " " + each.textContent.slice(0, 30));
  }
  return JSON.stringify(poor);
})()"""
