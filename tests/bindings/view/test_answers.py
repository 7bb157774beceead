"""What the viewer's paths answer: the public surface's own answers, at any moment, and errors that say what to do."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import lamina
from tests.bindings.view.conftest import Served


def test_search_gives_what_recall_gives(served: Served, folder: Path) -> None:
    got = served.get("/api/recall?q=which+database+for+orders&k=3").json()
    with lamina.open(folder, mode="r") as vault:
        hits = vault.recall("which database for orders", 3)
    assert [hit["id"] for hit in got["hits"]] == [hit.id for hit in hits]
    assert [round(hit["score"], 6) for hit in got["hits"]] == [round(hit.score, 6) for hit in hits]
    assert got["hits"][0]["terms"]["words"]


@pytest.mark.parametrize("moment", ["2026-02-01", "2026-03-05"])
def test_two_moments_show_what_recall_at_these_moments_knows(served: Served, folder: Path, moment: str) -> None:
    got = served.get(f"/api/recall?q=orders+SQLite&as_of={moment}").json()
    with lamina.open(folder, mode="r") as vault:
        hits = vault.recall("orders SQLite", as_of=moment)
    assert [hit["id"] for hit in got["hits"]] == [hit.id for hit in hits]
    assert ("pg" in {hit["id"] for hit in got["hits"]}) == (moment > "2026-03")


def test_search_says_why_not_and_what_changed(served: Served, folder: Path) -> None:
    got = served.get("/api/why-not?q=orders&id=pg&type=nothing").json()
    assert (got["id"], got["stage"]) == ("pg", "filter")
    assert got["remedies"]
    assert served.get("/api/why-not?q=orders&id=nobody").status_code == 404
    text = served.get("/api/diff?q=orders+SQLite&since=2026-03-01").json()["text"]
    with lamina.open(folder, mode="r") as vault:
        until = served.get("/api/overview").json()["now"]
        assert text.split("\n")[1:] == vault.diff("orders SQLite", since="2026-03-01", until=until).text.split("\n")[1:]
        one = vault.diff("orders SQLite", since="2026-03-01", until=until, k=1, profile="lexical").text
    text = served.get("/api/diff?q=orders+SQLite&since=2026-03-01&k=1&profile=lexical").json()["text"]
    assert text.split("\n")[1:] == one.split("\n")[1:]


def test_context_is_shown_and_leaves_no_trace(served: Served, folder: Path) -> None:
    before = sorted(path for path in folder.rglob("*"))
    first, second = (
        served.get("/api/context?prompt=Why+did+the+orders+move+to+PostgreSQL%3F").json() for _ in range(2)
    )
    assert first == second
    assert first["mode"] in ("full", "soft_gate")
    assert [item["id"] for item in first["items"]]
    assert first["tokens"] <= first["budget"]
    assert served.get("/api/context?prompt=/help").json()["mode"] == "off"
    assert sorted(path for path in folder.rglob("*")) == before


def test_a_chunk_has_its_links_history_and_neighbours(served: Served) -> None:
    got = served.get("/api/chunk/db").json()
    assert got["text"].startswith("We use SQLite")
    assert [
        (link["relation"], link["other"], link["outward"]) for link in got["links"] if link["relation"] == "causal"
    ] == [("causal", "cache", False)]
    assert got["history"][0]["kind"] == "added"
    assert {each["id"] for each in got["similar"]} <= {"cache", "soup", "pg"}


def test_project_of_the_viewer_holds_until_the_page_names_another(folder: Path) -> None:
    served = Served(folder, "--project", "kitchen", "--as-of", "2026-02-01")
    try:
        assert {hit["id"] for hit in served.get("/api/recall?q=orders+soup").json()["hits"]} <= {"soup"}
        assert "pg" not in {hit["id"] for hit in served.get("/api/recall?q=PostgreSQL&project=shop").json()["hits"]}
    finally:
        served.stop()


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/api/recall", 400, "q is missing"),
        ("/api/recall?q=a&k=0", 400, "1 to 50"),
        ("/api/recall?q=a&k=%C2%B2", 400, "1 to 50"),
        ("/api/recall?q=a&nonsense=1", 400, "nonsense"),
        ("/api/recall?q=a&q=b", 400, "once"),
        ("/api/recall?q=a&profile=nothing", 400, "nothing"),
        ("/api/recall?q=a&as_of=someday", 400, "someday"),
        ("/api/chunk/none-such", 404, "none-such"),
        ("/api/nothing", 404, "/api/recall"),
    ],
)
def test_errors_say_given_allowed_and_what_to_do(served: Served, path: str, status: int, says: str) -> None:
    got = served.get(path)
    assert got.status_code == status
    assert says in got.text
    assert set(got.json()) >= {"error", "given", "allowed", "do"}
    assert "Traceback" not in got.text


def test_a_growing_vault_is_seen_as_it_is_now(tmp_path: Path) -> None:
    from tests.bindings.view.conftest import fill

    served = Served(fill(tmp_path / "v"))
    try:
        before = served.get("/api/version").json()["snapshot"]
        with lamina.open(tmp_path / "v") as vault:
            vault.add([{"id": "new", "text": "Turbots are flat."}])
        assert served.get("/api/version").json()["snapshot"] > before
        assert served.get("/api/recall?q=turbots").json()["hits"][0]["id"] == "new"
    finally:
        served.stop()


@pytest.mark.skipif(sys.platform == "win32", reason="asks about POSIX signals")
def test_ctrl_c_ends_it_without_an_error(tmp_path: Path) -> None:
    from tests.bindings.view.conftest import fill

    served = Served(fill(tmp_path / "v"))
    assert served.get("/api/version").status_code == 200
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(60) == 0
    with served.process.stderr as errors:  # type: ignore[union-attr]
        said = errors.read()
    assert said == "lamina: this address opens the vault to whoever has it; Ctrl-C ends it\n"


def test_a_missing_vault_and_a_wrong_date_are_said_before_anything_is_served(tmp_path: Path) -> None:
    from tests.bindings.view.conftest import fill

    there = str(fill(tmp_path / "v"))
    for options, said in (
        (["--vault", str(tmp_path / "none")], "Lamina vault"),
        (["--vault", there, "--as-of", "banana"], "banana"),
    ):
        command = [sys.executable, "-m", "lamina", "view", "--no-open", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode in (1, 2)
        assert said in done.stderr
        assert "http://" not in done.stderr
