from __future__ import annotations

from pathlib import Path

import pytest

from lamina_engine.evaluation import load_set

DATA = Path(__file__).parents[3].parent / "shared" / "data"
pytest.importorskip("wordllama", reason="the recipe reads the bundled vectors")


@pytest.mark.parametrize(("folder", "lexical", "fused"), [("locomo-dev", 0.759, 0.785), ("multihop-dev", 0.890, 0.910)])
def test_the_recipe_reaches_its_recorded_recall(folder: str, lexical: float, fused: float) -> None:
    from bench.recipe_dialogue import run

    if not (DATA / folder).is_dir():
        pytest.skip(f"{folder} is not beside the project")
    got = {name: report.overall.measures["recall@10"].value for name, report in run(load_set(DATA / folder)).items()}
    # Recorded by another hand with another spelling of the date and titles: equal to half a point.
    assert got == pytest.approx({"lexical": lexical, "fused": fused}, abs=0.0051)
