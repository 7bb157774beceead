from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina_engine.errors import InvalidConfig
from lamina_engine.profiles import COLLECTION_HALF_LIFE_DAYS, TYPE_HALF_LIFE_DAYS, Profiles
from lamina_engine.settings import NAMES, Decay, Injection, Settings, load

NOWHERE = Path("/nonexistent/.env")


def read(**environ: str) -> Settings:
    return load({}, environ=environ, dotenv=NOWHERE)


# each row of the table: name, default, bounds, and just outside of them

ROWS = [
    ("INJECTION_ENABLED", "enabled", True, [("true", True), ("no", False)], ["maybe", "2"]),
    ("BOOTSTRAP_TOKEN_BUDGET", "bootstrap_token_budget", 2500, [("500", 500), ("5000", 5000)], ["499", "5001", "2.5"]),
    ("INJECTION_CONFIDENCE_THRESHOLD", "confidence_threshold", 0.6, [("0", 0.0), ("1", 1.0)], ["-0.01", "1.01", "nan"]),
    ("INJECTION_BUDGET_FLOOR", "budget_floor", 500, [("100", 100), ("1500", 1500)], ["99", "2001"]),
    ("INJECTION_BUDGET_CEILING", "budget_ceiling", 1500, [("500", 500), ("5000", 5000)], ["499", "5001"]),
    ("INJECTION_SCORE_GAP_THRESHOLD", "score_gap_threshold", 0.7, [("0.5", 0.5), ("0.95", 0.95)], ["0.49", "0.96"]),
    ("INJECTION_HARD_FLOOR", "hard_floor", 0.45, [("0", 0.0), ("1", 1.0)], ["-1", "1.1"]),
    ("INJECTION_THRESHOLD_CONVENTIONS", "threshold_conventions", 0.65, [("0", 0.0), ("1", 1.0)], ["2"]),
    ("INJECTION_THRESHOLD_CODE_PATTERNS", "threshold_code_patterns", 0.55, [("0", 0.0), ("1", 1.0)], ["x"]),
    ("INJECTION_THRESHOLD_DISCUSSIONS", "threshold_discussions", 0.6, [("0", 0.0), ("1", 1.0)], ["-0.1"]),
    ("MAX_RETRIEVALS", "max_retrievals", 10, [("1", 1), ("50", 50)], ["0", "51"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "field", "default", "allowed", "refused"), ROWS, ids=[row[0] for row in ROWS])
def test_default_bounds_and_just_outside(
    name: str, field: str, default: Any, allowed: list[tuple[str, Any]], refused: list[str]
) -> None:
    assert getattr(read().injection, field) == default
    for text, ref in allowed:
        assert getattr(read(**{name: text}).injection, field) == ref
    for text in refused:
        with pytest.raises(InvalidConfig, match=name):
            read(**{name: text})


def test_floor_and_ceiling_and_the_weights_must_fit_together() -> None:
    with pytest.raises(InvalidConfig, match="INJECTION_BUDGET_FLOOR=1600"):
        read(INJECTION_BUDGET_FLOOR="1600")
    with pytest.raises(InvalidConfig, match=r"add up to 1\.1"):
        read(INJECTION_QUALITY_WEIGHT="0.6")
    weights = {"INJECTION_QUALITY_WEIGHT": "0.2", "INJECTION_DENSITY_WEIGHT": "0.2", "INJECTION_DRIFT_WEIGHT": "0.6"}
    assert read(**weights).injection.drift_weight == 0.6
    assert read(INJECTION_QUALITY_WEIGHT="0.505").injection.quality_weight == 0.505  # within a hundredth


def test_decay_settings_change_the_profiles() -> None:
    said = read(
        DECAY_SEMANTIC_WEIGHT="0.9",
        DECAY_TYPE_OVERRIDES=" foo : 7 , bar:14, ",
        DECAY_HALF_LIFE_DISCUSSIONS="5",
        DECAY_HALF_LIFE_JIRA_DATA="3",
    )
    decay = Profiles({}, said.adjustments()).get("temporal").decay
    assert decay.semantic_weight == 0.9
    assert decay.type_half_life_days == {**TYPE_HALF_LIFE_DAYS, "foo": 7, "bar": 14}
    assert decay.collection_half_life_days == {**COLLECTION_HALF_LIFE_DAYS, "discussions": 5, "jira-data": 3}
    derived = Profiles({"mine": {"base": "temporal"}}, said.adjustments()).get("mine")
    assert derived.decay.semantic_weight == 0.9


def test_decay_switched_off_ranks_by_meaning_alone_in_every_profile() -> None:
    profiles = Profiles({}, read(DECAY_ENABLED="false").adjustments())
    assert {profiles.get(name).decay.semantic_weight for name in profiles.ids()} == {1.0}


def test_nothing_said_changes_nothing() -> None:
    assert (read().injection, read().decay, read().type_half_lives, read().given) == (Injection(), Decay(), None, {})
    profiles = Profiles({}, read().adjustments())
    assert profiles.get("temporal").decay.type_half_life_days == TYPE_HALF_LIFE_DAYS


@pytest.mark.parametrize("text", ["-0.1", "1.1", "half"])
def test_a_semantic_weight_outside_0_to_1_is_refused(text: str) -> None:
    with pytest.raises(InvalidConfig, match="DECAY_SEMANTIC_WEIGHT"):
        read(DECAY_SEMANTIC_WEIGHT=text)
    with pytest.raises(InvalidConfig, match="DECAY_HALF_LIFE_GITHUB"):
        read(DECAY_HALF_LIFE_GITHUB="0")


@pytest.mark.parametrize(("text", "ref"), [("", None), (",", {}), ("a:3", {"a": 3.0})])
def test_overrides_that_are_empty_are_none_and_a_comma_is_an_empty_map(text: str, ref: dict[str, float] | None) -> None:
    assert read(DECAY_TYPE_OVERRIDES=text).type_half_lives == ref


def test_the_error_of_an_override_names_the_piece() -> None:
    with pytest.raises(InvalidConfig, match="'a:b:7'"):
        read(DECAY_TYPE_OVERRIDES="foo:7,a:b:7")


# where a setting is said


def test_a_later_place_wins(tmp_path: Path) -> None:
    table = {
        "injection_budget_floor": 200,
        "BOOTSTRAP_TOKEN_BUDGET": 600,
        "max_retrievals": 3,
        "decay_semantic_weight": 0.1,
    }
    dotenv = tmp_path / ".env"
    dotenv.write_text(
        "# settings\nINJECTION_BUDGET_FLOOR=300 # low\nexport BOOTSTRAP_TOKEN_BUDGET='700'\nMAX_RETRIEVALS=\"4\"\n"
        "SECRET_OF_OTHERS=x\nno line\nINJECTION_ENABLED=\n"
    )
    got = load(
        table, environ={"BOOTSTRAP_TOKEN_BUDGET": "800", "MAX_RETRIEVALS": "5", "HOME": "/"}, dotenv=dotenv,
        arguments={"max_retrievals": 6},
    )  # fmt: skip
    found = got.injection
    assert (found.budget_floor, found.bootstrap_token_budget, found.max_retrievals) == (300, 800, 6)
    assert (got.decay.semantic_weight, found.enabled) == (0.1, True)
    assert set(got.given) <= NAMES


def test_the_error_says_where_it_was_said(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text("MAX_RETRIEVALS=none\n")
    with pytest.raises(InvalidConfig, match=r"MAX_RETRIEVALS='none' \(\.env\)"):
        load({}, environ={}, dotenv=dotenv)
    with pytest.raises(InvalidConfig, match="which is not a setting"):
        load({"injection_budget": 3}, environ={}, dotenv=NOWHERE)


def test_a_vault_reads_its_settings_when_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lamina.open(tmp_path / "vault", create=True, embedder="none").close()
    (tmp_path / ".env").write_text("DECAY_SEMANTIC_WEIGHT=0.5\nFRESHNESS_COMMIT_THRESHOLD_STALE=4\n")
    with lamina.open(tmp_path / "vault", embedder="none") as vault:
        assert vault._memory.profiles.get("temporal").decay.semantic_weight == 0.5
    with lamina.open(tmp_path / "vault", embedder="none", settings={"DECAY_SEMANTIC_WEIGHT": 0.25}) as vault:
        assert vault._memory.profiles.get("temporal").decay.semantic_weight == 0.25
    monkeypatch.setenv("FRESHNESS_COMMIT_THRESHOLD_AGING", "10")
    with pytest.raises(InvalidConfig, match="ascend"):
        lamina.open(tmp_path / "vault")
    (tmp_path / "vault" / "vault.toml").write_text("[settings]\ndecay_type_overrides = { rule = 0 }\n")
    with pytest.raises(InvalidConfig, match="'rule:0'"):
        lamina.open(tmp_path / "vault")
