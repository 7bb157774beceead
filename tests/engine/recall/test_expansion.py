from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.errors import InvalidArgument
from lamina_engine.graph.log import Draft, write
from lamina_engine.recall.explain import recompute
from tests.conftest import NOW

DAY_S = 86_400
DIM = 8


def unit(cosine: float, axis: int = 1) -> Any:
    """A unit vector at a cosine to the first axis."""
    vector = np.zeros(DIM, np.float32)
    vector[0], vector[axis] = cosine, math.sqrt(1.0 - cosine * cosine)
    return vector


QUERY = unit(1.0)


def vault_of(path: Path, tasks: Mapping[str, tuple[float, float | None]], links: Sequence[Any] = ()) -> Vault:
    """Tasks by id: cosine to the question, age in days (None: no date)."""
    clock = FixedClock(NOW)
    embedder = CallableEmbedder(lambda texts: np.tile(QUERY, (len(texts), 1)), dim=DIM, identity="fixed")
    vault = lamina.open(path, create=True, clock=clock, embedder=embedder)
    now_s = clock.now_us() / 1e6
    records = [
        {
            "id": name, "text": f"task {name}", "type": "agent_task", "vector": unit(cosine, 1 + i % (DIM - 1)),
            **({} if age is None else {"created_at": now_s - age * DAY_S}),
        }
        for i, (name, (cosine, age)) in enumerate(tasks.items())
    ]  # fmt: skip
    vault.add(records)
    if links:
        write(vault._memory, [Draft(*link) for link in links])
    return vault


def scores(vault: Vault, **options: Any) -> dict[str, float]:
    return {hit.id: hit.score for hit in vault.recall("zzz", profile="task", vector=QUERY, **options)}


def test_the_worked_examples_tell_e_fold_from_half_life(tmp_path: Path) -> None:
    tasks: dict[str, tuple[float, float | None]] = {"A": (0.6, 3), "B": (0.7, 45), "X": (0.60, 14), "Y": (0.78, 90)}
    got = scores(vault_of(tmp_path / "v", tasks))
    assert got == {
        "A": pytest.approx(0.662135, abs=1e-6),
        "B": pytest.approx(0.502055, abs=1e-6),
        "X": pytest.approx(0.530364, abs=1e-6),
        "Y": pytest.approx(0.546484, abs=1e-6),
    }
    assert list(got) == ["A", "Y", "X", "B"]  # by half-lives X would come before Y


def test_a_neighbour_gets_half_of_the_hit_s_semantic_score_and_its_own_recency(tmp_path: Path) -> None:
    vault = vault_of(
        tmp_path / "v", {"hit": (0.6, 3), "near": (0.0, 3), "far": (0.0, 3)}, [("near", "hit", "derived_from")]
    )
    hits = vault.recall("zzz", k=2, profile="task", vector=QUERY)
    assert [hit.id for hit in hits] == ["hit", "near"]
    assert hits[1].score == pytest.approx(0.452135, abs=1e-6)
    assert hits[1].via == "hit <-derived_from- near"
    assert hits[1].terms["path"] == [
        {"source": "near", "target": "hit", "relation": "derived_from", "weight": 1.0, "outward": False}
    ]
    assert recompute(hits[1].terms) == pytest.approx(hits[1].score, abs=1e-9)
    assert hits[0].via is None


def test_a_fresh_neighbour_may_pass_its_own_old_hit(tmp_path: Path) -> None:
    vault = vault_of(tmp_path / "v", {"old": (0.6, 90), "new": (0.0, 0)}, [("old", "new", "blocks")])
    got = scores(vault, k=1)
    assert got == {"new": pytest.approx(0.51, abs=1e-6)}
    assert scores(vault, k=2)["old"] == pytest.approx(0.420484, abs=1e-6)


def test_at_most_three_neighbours_of_a_hit_the_freshest_and_hits_use_up_no_place(tmp_path: Path) -> None:
    tasks: dict[str, tuple[float, float | None]] = {"hit": (0.9, 1), "second": (0.8, 1)}
    tasks |= {f"n{i}": (0.0, 10.0 - i) for i in range(6)}
    links = [("hit", name, "related_to") for name in tasks if name != "hit"]
    vault = vault_of(tmp_path / "v", tasks, links)
    assert list(scores(vault, k=9)) == ["hit", "second", "n5", "n4", "n3"]
    assert list(scores(vault, k=3)) == ["hit", "second", "n5"]  # the limit counts what was brought in


def test_equal_neighbours_go_by_the_newer_link_then_by_id(tmp_path: Path) -> None:
    tasks: Mapping[str, tuple[float, float | None]] = {"hit": (0.9, 1)} | dict.fromkeys("abcde", (-0.5, 5))
    when = {"a": 10, "b": 30, "c": 20, "d": 20, "e": 20}
    links = [("hit", name, "similar_to", 1.0, None, us) for name, us in when.items()]
    hits = vault_of(tmp_path / "v", tasks, links).recall("zzz", k=9, profile="task", vector=QUERY, lanes=["vector"])
    assert [hit.id for hit in hits] == ["hit", "b", "c", "d"]


def test_neighbours_obey_the_filter_and_removed_ones_stay_away(tmp_path: Path) -> None:
    tasks: dict[str, tuple[float, float | None]] = {"hit": (0.9, 1), "other": (-0.5, 1), "gone": (-0.5, 1)}
    vault = vault_of(tmp_path / "v", tasks, [("hit", "other", "blocks"), ("hit", "gone", "blocks")])
    vault.update("other", project="elsewhere")
    vault.forget(ids="gone", dry_run=False)
    assert "other" in scores(vault)
    assert list(scores(vault, where={"project": None})) == ["hit"]
    assert "gone" not in scores(vault)


def test_invalidated_tasks_stay_with_their_score(tmp_path: Path) -> None:
    vault = vault_of(tmp_path / "v", {"hit": (0.6, 3)})
    before = scores(vault)
    vault.invalidate("hit", "superseded")
    hits = vault.recall("zzz", profile="task", vector=QUERY)
    assert (hits[0].status, {hits[0].id: hits[0].score}) == ("invalidated", before)


# ---------------------------------------------------------------------- walks


def causal_vault(path: Path) -> Vault:
    tasks: dict[str, tuple[float, float | None]] = {
        "outage": (0.9, 1), "leak": (-0.1, 5), "upgrade": (-0.2, 9), "noise": (0.2, 2), "rumour": (-0.4, 3),
    }  # fmt: skip
    links = [
        ("outage", "leak", "causal"), ("leak", "upgrade", "causal", 0.8), ("outage", "rumour", "contradicts"),
    ]  # fmt: skip
    return vault_of(path, tasks, links)


def test_why_walks_to_what_no_lane_finds_and_never_above_the_best_hit(tmp_path: Path) -> None:
    vault = causal_vault(tmp_path / "v")
    hits = vault.recall("why zzz", profile="causal", vector=QUERY, lanes=["vector"])
    assert hits[0].id == "outage"
    found = {hit.id: hit for hit in hits}
    assert found["upgrade"].via == "outage -causal-> leak -causal-> upgrade"
    assert [step["relation"] for step in found["upgrade"].terms["path"]] == ["causal", "causal"]
    assert found["leak"].score > found["noise"].score
    assert found["upgrade"].score <= 0.8 * hits[0].score + 1e-12
    assert hits.explain()["intent"] == "why"
    for hit in hits:
        assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-9)


def test_what_contradicts_is_shown_marked_and_never_raised(tmp_path: Path) -> None:
    vault = causal_vault(tmp_path / "v")
    hits = {hit.id: hit for hit in vault.recall("why zzz", profile="causal", vector=QUERY, lanes=["vector"])}
    assert hits["rumour"].terms["contradicts"] is True
    assert hits["rumour"].score < hits["outage"].score
    vault.update("rumour", text="task rumour again")  # now at the question itself, by the embedder
    plain = {h.id: h.score for h in vault.recall("why zzz", profile="default", vector=QUERY, lanes=["vector"])}
    walked = {h.id: h.score for h in vault.recall("why zzz", profile="causal", vector=QUERY, lanes=["vector"])}
    assert walked["rumour"] == plain["rumour"]


def test_other_intents_walk_nothing_unless_asked(tmp_path: Path) -> None:
    vault = causal_vault(tmp_path / "v")
    options = {"profile": "causal", "vector": QUERY, "lanes": ["vector"]}
    assert "upgrade" not in {hit.id for hit in vault.recall("zzz", **options)}
    assert "upgrade" in {hit.id for hit in vault.recall("zzz", intent="why", **options)}
    with pytest.raises(InvalidArgument, match="intent"):
        vault.recall("zzz", intent="because", **options)  # type: ignore[arg-type]


def test_a_vault_without_links_answers_as_before(tmp_path: Path) -> None:
    vault = vault_of(tmp_path / "v", {"a": (0.9, 1), "b": (0.5, 2)})
    assert [h.id for h in vault.recall("why zzz", profile="causal", vector=QUERY, lanes=["vector"])] == ["a", "b"]
    assert vault.recall("why", profile="task", vector=QUERY).explain()["brought"] == 0
