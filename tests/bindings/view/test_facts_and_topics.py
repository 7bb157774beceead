"""Facts and topics in the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import lamina
from tests.bindings.view.conftest import Seen, Served

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, expect


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("facts") / "v"
    with lamina.open(folder, create=True) as vault:
        vault.facts.add(
            "Ann <b>Example</b>",
            "works_at",
            "Acme",
            object_type="company",
            valid_from="2020-01-01",
            valid_to="2024-01-01",
        )
        vault.facts.add("Ann <b>Example</b>", "works_at", "Globex", object_type="company", valid_from="2024-01-01")
        vault.add(
            [
                {"id": f"c{i}", "text": f"{('bread flour oven', 'postgres index query')[i % 2]} number {i}"}
                for i in range(40)
            ]
        )
        vault.cluster()
    it = Served(folder)
    yield it
    it.stop()


def test_facts_are_those_that_hold_and_those_that_held(browser: Browser, known: Served) -> None:
    it = Seen(browser, known)
    try:
        page = it.go("/facts")
        page.get_by_role("button", name="company").click()
        expect(page.locator("ol.hits > li")).to_have_count(2)
        page.get_by_role("button", name="all", exact=True).click()
        page.get_by_role("button", name="Ann <b>Example</b>").click()
        table = page.locator("main table")
        expect(table).to_contain_text("Globex")
        expect(table).not_to_contain_text("Acme")
        page.get_by_label("Show").select_option("1")
        expect(table).to_contain_text("2024-01-01")
        expect(table).to_contain_text("Acme")
        page.get_by_label("Show").select_option("")
        page.get_by_label("True on").fill("2022-06-01")
        page.get_by_label("True on").blur()
        expect(table).to_contain_text("Acme")
        expect(table).not_to_contain_text("Globex")
        assert it.complaints == []
    finally:
        it.context.close()


def test_topics_are_a_tree_with_sizes_and_open_their_chunks(browser: Browser, known: Served) -> None:
    it = Seen(browser, known)
    try:
        page = it.go("/topics")
        found = known.get("/api/topics").json()["topics"]
        expect(page.locator("main ol.hits li")).to_have_count(len(found))
        page.locator("main ol.hits [data-open]").first.click()
        expect(page.get_by_role("button", name="All topics")).to_be_visible()
        page.locator("main ol.hits a").first.click()
        expect(page.get_by_label("Details", exact=True)).to_contain_text("number")
        assert it.complaints == []
    finally:
        it.context.close()


def test_without_facts_and_topics_the_page_says_what_brings_them(browser: Browser, served: Served) -> None:
    it = Seen(browser, served)
    try:
        expect(it.go("/facts").locator("main")).to_contain_text("lamina facts add")
        expect(it.go("/topics").locator("main")).to_contain_text("lamina cluster")
    finally:
        it.context.close()
