"""Timeline, chains and freshness: what the paths answer, and what is clicked."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, expect

from tests.bindings.view.conftest import Seen, Served

HOSTILE = "<img src=x onerror=alert(1)>\u202e"


def git(folder: Path, *arguments: str) -> None:
    """Run git without anybody's settings."""
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *settings, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def tales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("stories")
    notes = base / "notes"
    notes.mkdir()
    git(notes, "init", "-q")
    for name in ("busy.md", "calm.md", "gone.md"):
        (notes / name).write_text(f"# {name} {HOSTILE}\n\nWhat {name} says about harbours.\n")
    git(notes, "add", ".")
    git(notes, "commit", "-qm", "first")
    with lamina.open(
        base / "v", create=True, embedder="none", clock=lamina.FixedClock("2026-01-05T09:00:00Z")
    ) as vault:
        vault.add(
            [
                {"id": f"s{i}", "text": f"Turn {i} about harbours {HOSTILE}", "session": "morning", "project": "port", "agent": "claude-code",
                 "created_at": f"2026-01-05T08:0{i}:00Z"}
                for i in range(4)
            ]
        )  # fmt: skip
        vault.build_links(["sequence"])
        vault.link("s0", "s2", "causal", note="the tide")
        vault.link("s2", "s3", "causal")
        vault.ingest(notes)
    with lamina.open(base / "v", clock=lamina.FixedClock("2026-03-01T09:00:00Z")) as vault:
        vault.add(
            [{"id": "late", "text": "An evening turn", "session": "evening", "created_at": "2026-02-20T20:00:00Z"}]
        )
    for i in range(12):
        (notes / "busy.md").write_text(f"# busy {i}\n\nNow it says {i}.\n")
        git(notes, "commit", "-qam", f"change {i}")
    git(notes, "rm", "-q", "gone.md")
    git(notes, "commit", "-qm", "gone")
    return base / "v"


@pytest.fixture(scope="module")
def told(tales: Path) -> Iterator[Served]:
    it = Served(tales)
    yield it
    it.stop()


def test_paths_answer_what_the_vault_does(told: Served, tales: Path) -> None:
    with lamina.open(tales, mode="r") as vault:
        backward, forward = (vault.chain(seeds=["s2"], direction=way) for way in ("backward", "forward"))
        causes = vault.causes("s2")
        sessions = vault.sessions()
        timeline = vault.timeline("s2", 6, 6)
        counts = vault.freshness().counts
    assert [each["id"] for each in told.get("/api/chain/s2").json()["chunks"]] == [each.id for each in backward.chunks]
    got = told.get("/api/chain/s2?direction=forward").json()["chunks"]
    assert [each["id"] for each in got] == [each.id for each in forward.chunks]
    assert (
        [each["id"] for each in told.get("/api/causes/s2").json()["causes"]]
        == [each.id for each in causes]
        == ["s0", "s3"]
    )
    assert [each["session"] for each in told.get("/api/sessions").json()["sessions"]] == [
        each.session for each in sessions
    ]
    assert [each["id"] for each in told.get("/api/timeline/s2").json()["before"]] == [
        each.id for each in timeline.before
    ]
    assert [each["id"] for each in told.get("/api/session/morning").json()["chunks"]] == ["s0", "s1", "s2", "s3"]
    assert told.get("/api/freshness").json()["counts"] == counts
    assert told.get("/api/session/nobody").status_code == 404
    assert told.get("/api/chain/nobody").status_code == 404
    assert told.get("/api/chain/s2?direction=up").status_code == 400


def test_an_earlier_moment_shows_the_sessions_that_were_known_then(told: Served) -> None:
    assert [each["session"] for each in told.get("/api/sessions?as_of=2026-02-01").json()["sessions"]] == ["morning"]
    assert told.get("/api/session/evening?as_of=2026-02-01").status_code == 404


def test_sessions_are_rows_and_their_chunks_stand_in_order(browser: Browser, told: Served) -> None:
    it = Seen(browser, told)
    try:
        page = it.go("/timeline")
        expect(page.locator("ol.hits > li")).to_have_count(2)
        page.get_by_role("link", name="morning").click()
        steps = page.locator("ol.steps > li")
        expect(steps).to_have_count(4)
        expect(steps.first).to_contain_text("Turn 0 about harbours <img src=x onerror=alert(1)>")
        expect(page.locator("code.command").first).to_have_text("lamina reconstruct morning")
        steps.nth(2).get_by_role("link", name="chain").click()
        expect(page.get_by_label("Details", exact=True)).to_contain_text("Turn 2")
        expect(page.get_by_role("heading", name="How did we get here")).to_be_visible()
        parts = page.locator("main ol.steps")
        assert [re.findall(r"Turn \d", text) for text in parts.all_inner_texts()][:2] == [
            ["Turn 0", "Turn 1", "Turn 2"], ["Turn 2", "Turn 3"]
        ]  # fmt: skip
        expect(parts.nth(2)).to_contain_text("caused by")
        expect(parts.nth(2)).to_contain_text("the tide")
        expect(parts.nth(3)).to_contain_text("causes")
        page.get_by_role("link", name="morning").click()
        expect(steps).to_have_count(4)
        page.go_back()
        expect(page.get_by_role("heading", name="What came next")).to_be_visible()
        assert page.locator("main img").count() == 0
        assert it.complaints == []
    finally:
        it.context.close()


def test_an_earlier_day_and_the_keys_in_the_timeline(browser: Browser, told: Served) -> None:
    it = Seen(browser, told)
    try:
        page = it.go("/timeline?as_of=2026-02-01")
        expect(page.locator("ol.hits > li")).to_have_count(1)
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator("ol.steps > li")).to_have_count(4)
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.get_by_label("Details", exact=True)).to_contain_text("Turn 0")
        page.get_by_role("button", name="What led here, and what came next").click()
        expect(page.get_by_role("heading", name="Causes", exact=True)).to_be_visible()
    finally:
        it.context.close()


def test_freshness_says_what_is_stale_why_and_which_command_mends_it(browser: Browser, told: Served) -> None:
    it = Seen(browser, told)
    try:
        page = it.go("/freshness")
        stale = page.get_by_label("stale chunks")
        expect(stale).to_contain_text("busy.md")
        expect(stale).to_contain_text("12 commits")
        expect(stale).to_contain_text("lamina refresh --tier stale --yes")
        expect(page.get_by_label("expired chunks")).to_contain_text("gone.md")
        expect(page.locator("table.tiers")).to_contain_text("deleted")
        stale.locator("[data-open]").first.click()
        details = page.get_by_label("Details", exact=True)
        expect(details).to_contain_text("busy.md")
        href = details.locator("a[href^=vscode]").get_attribute("href")
        assert href is not None
        assert re.fullmatch(r"vscode://file/.*/notes/busy\.md:1", href)
        page.get_by_label("Tier").select_option("expired")
        expect(page.get_by_label("stale chunks")).to_have_count(0)
        expect(page.locator("code.command").first).to_have_text("lamina freshness --tier expired")
        page.get_by_label("Judged by").select_option("1")
        expect(page.locator("main")).to_contain_text("by age")
        assert page.locator("main img").count() == 0
        assert it.complaints == []
    finally:
        it.context.close()


def test_without_sessions_the_page_says_what_brings_them(browser: Browser, served: Served) -> None:
    it = Seen(browser, served)
    try:
        page = it.go("/timeline")
        expect(page.locator("main")).to_contain_text("lamina ingest --kind sessions")
        expect(page.locator("ol.steps > li")).to_have_count(4)
        it.go("/freshness")
        expect(page.locator("main")).to_contain_text("by age")
        it.go("/timeline?from=soup")
        expect(page.locator("main")).to_contain_text("None recorded")
    finally:
        it.context.close()


def test_an_empty_vault_has_neither(browser: Browser, tmp_path: Path) -> None:
    lamina.open(tmp_path / "v", create=True, embedder="none").close()
    served = Served(tmp_path / "v")
    it = Seen(browser, served)
    try:
        for path in ("/graph", "/timeline", "/freshness"):
            expect(it.go(path).locator("main")).to_contain_text("lamina ingest")
    finally:
        it.context.close()
        served.stop()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_small_screens_and_contrast(browser: Browser, told: Served, scheme: str) -> None:
    from tests.bindings.view.test_page import CONTRAST

    it = Seen(browser, told, 360, color_scheme=scheme)
    try:
        for path in ("/timeline", "/timeline?from=s2", "/freshness"):
            page = it.go(path)
            page.locator("main h2").first.wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
            assert json.loads(page.evaluate(CONTRAST)) == [], path
    finally:
        it.context.close()
