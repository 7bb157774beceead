"""Vaults that are empty, lack vectors or facts, or are damaged: each path says so, and the server goes on."""

from __future__ import annotations

from pathlib import Path

import lamina
from lamina.view.answers import ROUTES
from tests.bindings.view.conftest import Served, fill

ASKED = {
    "/api/recall": "?q=orders", "/api/context": "?prompt=What+about+the+orders%3F",
    "/api/why-not": "?q=orders&id=nobody", "/api/diff": "?since=2026-01-01",
}  # fmt: skip
NAMES_A_CHUNK = ("/api/why-not",)


def statuses(folder: Path) -> dict[str, int]:
    served = Served(folder)
    try:
        found = {}
        for path in ROUTES:
            got = served.get(f"{path}{'nobody' if path.endswith('/') else ''}{ASKED.get(path, '')}")
            found[path] = got.status_code
            assert "Traceback" not in got.text
            if got.status_code != 200:
                assert set(got.json()) >= {"error", "given", "allowed", "do"}
        return found
    finally:
        served.stop()


def test_an_empty_vault_and_one_of_words_alone_answer_everywhere(tmp_path: Path) -> None:
    lamina.open(tmp_path / "empty", create=True).close()
    with lamina.open(tmp_path / "words", create=True, embedder="none") as vault:
        vault.add("orders are found by their words alone")
    for name in ("empty", "words"):
        for path, status in statuses(tmp_path / name).items():
            assert status == (404 if path.endswith("/") or path in NAMES_A_CHUNK else 200), path


def test_a_damaged_log_is_said_and_the_server_goes_on(tmp_path: Path) -> None:
    folder = fill(tmp_path / "v")
    for path in (folder / "log").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    served = Served(folder)
    try:
        for _ in range(2):
            got = served.get("/api/overview")
            assert (got.status_code, got.json()["kind"]) == (500, "VaultCorrupt")
        assert served.get("/map").status_code == 200
    finally:
        served.stop()
