"""Two hundred kills in every run of the tests, and a judge that would notice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lamina
from tests.chaos.faults import STAGES
from tests.chaos.ledger import Ledger, observe
from tests.chaos.operations import OPERATIONS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


@pytest.mark.parametrize("kills", [200, pytest.param(2_000, marks=pytest.mark.slow)], ids=["short", "long"])
def test_whoever_is_killed_loses_nothing_acknowledged(tmp_path: Path, kills: int) -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos", "--kills", str(kills), "--minutes", "20", "--seed", "11", "--folder", tmp_path],
        capture_output=True, text=True, env=environ,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    tally = json.loads(done.stdout)
    assert kills <= tally["kills"] < kills + 3
    assert (tally["lost"], tally["torn"], tally["back"], tally["wrong"]) == (0, 0, 0, 0)
    assert sum(tally["by_operation"].values()) == sum(tally["by_stage"].values()) == tally["kills"]
    assert set(tally["by_stage"]) <= set(STAGES[2:]), "a kill before the vault is open does not count"
    assert len(tally["by_stage"]) >= 6
    assert len(tally["by_operation"]) >= len(OPERATIONS) - 2
    assert tally["looked_up"] > kills
    assert tally["reads"] > 0


@pytest.fixture
def judged(tmp_path: Path) -> tuple[lamina.Vault, Ledger]:
    """A vault with a chunk, a link and a fact, and a ledger that expects them."""
    vault = lamina.open(tmp_path / "vault", create=True, embedder="none")
    vault.add([{"id": f"b{i}", "text": f"mark:b{i} kafka end"} for i in range(4)])
    vault.link("b1", "b2", "supporting")
    vault.facts.add("E1", "port", "80")
    ledger = Ledger()
    ledger.expected = dict(observe(vault))
    assert len(ledger.expected) == 6
    return vault, ledger


def test_the_judge_finds_what_is_lost_torn_or_back(judged: tuple[lamina.Vault, Ledger]) -> None:
    vault, ledger = judged
    seen = observe(vault)
    ledger.judge(seen)
    assert ledger.failures() == []
    for key in ("chunk b0", "link b1 b2", "fact E1"):
        ledger.judge({name: value for name, value in seen.items() if name != key})
        assert ledger.lost.pop().startswith(key)
        ledger.expected = dict(seen)
    ledger.expected["chunk b0"] = None
    ledger.judge(seen)
    assert ledger.back.pop().startswith("chunk b0")
    ledger.expected = dict(seen)
    ledger.open = [{"chunk x1": "active x1", "chunk x2": "active x2"}]
    ledger.judge({**seen, "chunk x1": "active x1"})
    assert "x2" in ledger.torn.pop()


def test_of_two_that_were_to_forget_a_chunk_one_may_have(judged: tuple[lamina.Vault, Ledger]) -> None:
    vault, ledger = judged
    seen = observe(vault)
    ledger.judge(seen)
    # killed before it began, and killed before it could say that it was done
    ledger.open = [{"chunk b0": None, "chunk b1": None}, {"chunk b0": None, "chunk b2": None}]
    left = {key: value for key, value in seen.items() if key not in ("chunk b0", "chunk b2")}
    ledger.judge(left)
    assert ledger.failures() == []
    assert ledger.expected["chunk b1"] is not None
    ledger.open = [{"chunk b1": None, "chunk b3": None}]
    ledger.judge({key: value for key, value in left.items() if key != "chunk b1"})
    assert "b3" in ledger.torn.pop()


def test_what_was_begun_may_have_happened(judged: tuple[lamina.Vault, Ledger]) -> None:
    vault, ledger = judged
    seen = observe(vault)
    for now in ({**seen}, {**seen, "chunk x1": "active x1"}):
        ledger.expected = dict(seen)
        ledger.open = [{"chunk x1": "active x1"}]
        ledger.judge(now)
        assert ledger.failures() == []
        assert ledger.expected == now
