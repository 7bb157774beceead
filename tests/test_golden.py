"""The guard itself: equal runs give equal answers, and a change is found."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests import golden


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(json.dumps(golden.record(recalls=40, commands=False, real=False)))
    return recorded


def test_two_runs_are_equal(answers: dict[str, Any]) -> None:
    assert len(answers["recalls"]) == 40
    assert sum(bool(recall.get("hits")) for recall in answers["recalls"].values()) > 20
    assert all(ran["exit"] == 0 for ran in answers["commands"].values())
    again = json.loads(json.dumps(golden.record(recalls=40, commands=False, real=False)))
    assert golden.compare(answers, again)[0] == []


def test_a_change_is_found_unless_it_is_allowed(answers: dict[str, Any]) -> None:
    changed = copy.deepcopy(answers)
    name = next(name for name, recall in answers["recalls"].items() if recall.get("hits") and name.startswith("plain"))
    hit = changed["recalls"][name]["hits"][0]
    hit["score"] *= 1 + 1e-12
    hit["snippet"] = "words"
    log = next(iter(changed["logs"]))
    changed["logs"][log] = "0 0"
    found, explained = golden.compare(answers, changed)
    assert [difference.where.split("/")[0] for difference in found] == ["logs", "recalls"]
    assert sum(explained.values()) == 1
    assert len(golden.compare(answers, changed, tolerance=1e-9)[0]) == 1


def test_a_file_of_another_data_set_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any]
) -> None:
    monkeypatch.setattr(golden, "record", lambda: answers)
    path = tmp_path / "golden.json"
    said: list[str] = []
    assert golden.main(["record", str(path)], said.append) == 0
    assert golden.main(["compare", str(path)], said.append) == 0
    assert said[-1] == "0 differences"
    path.write_text(json.dumps(answers | {"data": True}))
    assert golden.main(["compare", str(path)], said.append) == 1
