"""A bounded run of the fuzzers, driven by Hypothesis; hours of it: ``python -m tests.fuzz``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.campaigns import VaultDamage
from tests.fuzz.inputs import TARGETS, check_batch, draw_inputs, kept_seeds
from tests.fuzz.sandbox import Outcome, run_cases
from tests.fuzz.vaults import draw_damage

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="cases run in forked children with bounds of Linux")


@pytest.fixture(scope="module")
def vault_damage(tmp_path_factory: pytest.TempPathFactory) -> VaultDamage:
    return VaultDamage(tmp_path_factory.mktemp("fuzz"), 1)


def failed(outcomes: Iterator[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.is_find]


@settings(max_examples=3)
@given(st.integers(0, 2**32))
def test_damage_to_a_file_of_a_vault_is_noticed_or_changes_nothing(vault_damage: VaultDamage, seed: int) -> None:
    """Findings, attack 5: of 798 damages 248 changed an answer without an error."""
    random = Random(seed)
    drawn = [draw_damage(vault_damage.base, vault_damage.files, random, resealed=False) for _ in range(10)]
    assert [(target, outcome) for target, outcome in vault_damage.check(drawn) if outcome.is_find] == []


@settings(max_examples=2)
@given(st.integers(0, 2**32))
def test_damage_with_digests_that_fit_is_typed(vault_damage: VaultDamage, seed: int) -> None:
    random = Random(seed)
    drawn = [draw_damage(vault_damage.base, vault_damage.files, random, resealed=True) for _ in range(10)]
    assert [(target, outcome) for target, outcome in vault_damage.check(drawn) if outcome.is_find] == []


@pytest.mark.parametrize("target", sorted(TARGETS))
@settings(max_examples=1)
@given(st.integers(0, 2**32))
def test_a_foreign_input_costs_itself_alone(tmp_path_factory: pytest.TempPathFactory, target: str, seed: int) -> None:
    """Findings, attack 9: errors of foreign files that were none of Lamina's."""
    folder = tmp_path_factory.mktemp("inputs")
    assert (
        failed(run_cases(lambda batch: check_batch(batch, folder / "v"), [draw_inputs(Random(seed), 4, target)])) == []
    )


@pytest.mark.parametrize("drawn", kept_seeds(), ids=lambda drawn: drawn.target)
def test_what_once_went_wrong(tmp_path: Path, drawn: object) -> None:
    assert failed(run_cases(lambda each: check_batch([each], tmp_path / "v"), [drawn])) == []  # type: ignore[list-item]


@pytest.mark.skipif(
    find_spec("atheris") is None, reason="atheris is not installed; it has wheels for some systems only"
)
def test_inputs_are_guided_by_coverage() -> None:
    words = [sys.executable, "-m", "tests.fuzz.guided", "vault.toml", "--cases", "30"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Done 30 runs" in done.stderr
