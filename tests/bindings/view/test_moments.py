"""Every path of the viewer at a moment says what was known then, as a vault does that was fed no more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import lamina
from lamina.view.answers import ROUTES
from tests.bindings.view.conftest import Served
from tests.bindings.view.test_map import THEMES, columns

THEN = "2026-02-01T00:00:00Z"


def feed(folder: Path, *, later: bool) -> Path:
    with lamina.open(folder, create=True, clock=lamina.FixedClock("2026-01-05T09:00:00Z")) as vault:
        vault.add(
            [
                {"id": f"n{i}", "title": f"Note {i}", "text": f"{THEMES[i % 3]} number {i}", "project": "shop",
                 "session": "s1", "type": "note", "created_at": f"2026-01-0{1 + i % 4}T08:00:00Z"}
                for i in range(24)
            ]
        )  # fmt: skip
        vault.link("n1", "n4", "causal")
        vault.facts.add("Ann", "works_at", "Acme", object_type="company", valid_from="2025-06-01")
        vault.cluster()
    if later:
        with lamina.open(folder, clock=lamina.FixedClock("2026-03-01T09:00:00Z")) as vault:
            vault.add([{"id": f"m{i}", "text": f"{THEMES[i % 3]} later {i}", "project": "new"} for i in range(12)])
            vault.invalidate("n0", "wrong")
            vault.update("n2", text="bicycle tyre pump, written anew")
            vault.link("n4", "n7", "causal")
            vault.facts.add("Ann", "works_at", "Globex", object_type="company", valid_from="2026-02-20")
            vault.cluster(full=True)
    return folder


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served]]:
    """The viewer of a vault that has gone on, and of one that stopped then; folders of one name."""
    root = tmp_path_factory.mktemp("moments")
    (root / "a").mkdir()
    (root / "b").mkdir()
    both = Served(feed(root / "a" / "v", later=True)), Served(feed(root / "b" / "v", later=False))
    yield both
    for each in both:
        each.stop()


ASKED = {
    "/api/recall": "q=bicycle+tyre", "/api/context": "prompt=What+about+the+bicycle+tyre+pump%3F", "/api/facts": "entity=Ann",
    "/api/ids": "n=5000", "/api/why-not": "q=bicycle+tyre&id=n0", "/api/diff": "since=2025-01-01",
}  # fmt: skip
NAMES = {
    "/api/chunk/": ("n0", "n2", "n4"),
    "/api/session/": ("s1",),
    "/api/chain/": ("n1",),
    "/api/causes/": ("n4",),
    "/api/timeline/": ("n4",),
}
OF_THE_FILES = ("snapshot", "took_ms", "path", "bytes", "segments", "indexes", "rows", "explain", "version")
"""What says how a vault lies on disk, or how long an answer took; not what is known."""


def told(served: Served, path: str, query: str) -> object:
    got = served.get(f"{path}?{query}&as_of={quote(THEN)}")
    assert got.status_code == 200, got.text
    return json.loads(got.text, object_hook=lambda found: {k: v for k, v in found.items() if k not in OF_THE_FILES})


@pytest.mark.parametrize("path", sorted(set(ROUTES) - {"/api/points", "/api/ids", "/api/version", "/api/verify"}))
def test_a_past_answer_is_that_of_a_vault_that_stopped_then(pair: tuple[Served, Served], path: str) -> None:
    names = NAMES.get(path, ("",))
    if path == "/api/topic/":
        names = tuple(topic["id"] for topic in pair[1].get("/api/topics").json()["topics"])
        assert names
    for name in names:
        mine, expected = (told(each, path + name, ASKED.get(path, "")) for each in pair)
        assert mine == expected


def test_the_map_of_a_moment_holds_what_recall_knew(pair: tuple[Served, Served]) -> None:
    found = []
    for served in pair:
        header, columns_ = columns(served.get(f"/api/points?as_of={quote(THEN)}").content)
        ids = served.get(f"/api/ids?n=5000&as_of={quote(THEN)}").json()["ids"]
        assert len(ids) == header["n"] == (columns_["gone"] > 2**62).sum()
        hits = served.get(f"/api/recall?q=number&k=50&as_of={quote(THEN)}").json()["hits"]
        assert sorted(hit["id"] for hit in hits) == sorted(ids)
        found.append(sorted(ids))
    assert found[0] == found[1]
    assert "n0" in found[0]
    assert not any(each.startswith("m") for each in found[0])


def test_moments_are_words_too_and_wrong_ones_are_refused(pair: tuple[Served, Served]) -> None:
    served = pair[0]
    for path in ("/api/overview", "/api/topics", "/api/points", "/api/chunk/n1"):
        refused = served.get(f"{path}?as_of=someday")
        assert (refused.status_code, "someday" in refused.text) == (400, True)
    assert served.get("/api/overview?as_of=2025-01-01").json()["stats"]["chunks"] == 0
    assert served.get("/api/chunk/m1?as_of=2026-02-01").status_code == 404
    assert served.get("/api/overview?as_of=yesterday").json()["as_of"] > "2026-03"
