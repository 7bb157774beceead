from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import lamina
from lamina.cli.app import program


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "vault"
    with lamina.open(path, create=True, embedder="none") as vault:
        vault.add([{"id": day, "text": "cache notes", "created_at": day} for day in ("2025-01-20", "2025-06-15")])
    return path


def test_time_in_a_question_is_read_filtered_by_or_left_alone(folder: Path) -> None:
    def ids(*options: str) -> list[str]:
        words = ["--vault", str(folder), "recall", "cache notes 5 months ago", "--now", "2025-06-20", "--json"]
        return [hit["id"] for hit in json.loads(CliRunner().invoke(program(), [*words, *options]).stdout)["hits"]]

    assert ids() == ["2025-01-20", "2025-06-15"]
    assert ids("-k", "1", "--time", "filter") == ["2025-01-20"]
    assert ids("--time", "off") == ["2025-06-15", "2025-01-20"]  # of equal scores the newer one first
    wrong = CliRunner().invoke(program(), ["--vault", str(folder), "recall", "x", "--time", "now"])
    assert wrong.exit_code == 1
    assert "prefer, filter, off" in wrong.stderr
