"""The map: its bytes, and the page that draws them."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import lamina
from tests.bindings.view.conftest import Seen, Served

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, expect

THEMES = ("postgres index query", "bread flour oven", "bicycle tyre pump")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("map") / "v"
    for month in (1, 3):
        with lamina.open(folder, create=True, clock=lamina.FixedClock(f"2026-0{month}-01T00:00:00Z")) as vault:
            vault.add(
                [
                    {"id": f"m{month}-{i}", "title": f"Note {month} {i}", "text": f"{THEMES[i % 3]} number {i} {month}",
                     "type": "note" if i % 2 else "decision", "created_at": f"2025-{1 + i % 12:02}-01T00:00:00Z"}
                    for i in range(30)
                ]
            )  # fmt: skip
            vault.cluster()
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
        table = vault.topics.places()
    assert header["n"] == len(table) == 60
    assert found["x"].tolist() == table["x"].to_pylist()
    assert found["recorded"].tolist() == table["recorded_us"].to_pylist()
    ids = mapped.get("/api/ids?from=10&n=5").json()["ids"]
    assert ids == table["id"].to_pylist()[10:15]
    assert mapped.get("/api/points").content == got.content


def test_a_click_opens_the_chunk_and_time_hides_what_was_not_yet_recorded(browser: Browser, mapped: Served) -> None:
    it = Seen(browser, mapped)
    try:
        page = it.go("/map")
        canvas = page.locator(".map canvas").first
        expect(canvas).to_have_attribute("data-drawn", "1", timeout=15_000)
        box = canvas.bounding_box()
        assert box is not None
        drawn = page.evaluate(PIXELS)
        assert len(drawn) == 2
        canvas.click(position={"x": drawn[0] + 1, "y": drawn[1] + 1})
        expect(page.get_by_label("Details", exact=True)).to_contain_text("Note")
        page.keyboard.press("Escape")
        slider = page.get_by_label("Recorded by")
        expect(page.locator(".time output")).to_have_text("60 chunks, all")
        slider.fill("30")
        expect(page.locator(".time output")).to_have_text("30 chunks recorded by 2026-01-01")
        expect(page.locator("ul.topics > li").first).to_be_visible()
        page.get_by_label("Colour by").select_option("type")
        expect(page.locator("main")).to_contain_text("decision 30")
        assert it.complaints == []
    finally:
        it.context.close()


PIXELS = """(() => {
  const canvas = document.querySelector(".map canvas");
  const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const at = data.findIndex((value, i) => i % 4 === 3 && value > 0) >> 2;
  return [at % width, Math.floor(at / width)];
})()"""


def test_keys_move_and_zoom(browser: Browser, mapped: Served) -> None:
    it = Seen(browser, mapped)
    try:
        page = it.go("/map")
        canvas = page.locator(".map canvas").first
        expect(canvas).to_have_attribute("data-drawn", "1", timeout=15_000)
        before = page.evaluate(PIXELS)
        canvas.focus()
        page.keyboard.press("ArrowRight")
        expect(canvas).to_have_attribute("data-drawn", "2")
        assert page.evaluate(PIXELS) != before
        page.keyboard.press("+")
        page.keyboard.press("0")
        page.wait_for_timeout(200)
        assert page.evaluate(PIXELS) == before
        assert "/map" in page.url
    finally:
        it.context.close()


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
        assert len(vault.topics.places()) == 60
    assert list((folder / "index").glob("map-*")) == []
