"""Stable order: the first n hits of any k are the hits of k = n, in every profile; deeper pages stand below."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.profiles import BUILT_IN
from lamina_engine.recall.explain import recompute
from tests.conftest import NOW

KS = (3, 10, 50, 200)
TOPICS = (
    "harbour crane",
    "orchard press",
    "night train",
    "stone bridge",
    "paper mill",
    "copper mine",
    "salt road",
    "glass oven",
)
VERBS = ("repaired", "painted", "measured", "moved", "closed", "bought", "insured", "photographed")
CUSTOM = {
    "varied": {"base": "default", "diversity": {"mmr": 0.6, "near_duplicate": 0.97}},
    "blended": {"base": "default", "composite": {"on": True}},
    "linked": {"base": "task", "diversity": {"mmr": 0.6}, "neighbours": {"best": True}},
}


def _sentence(rng: np.random.Generator) -> str:
    topic, verb = TOPICS[rng.integers(len(TOPICS))], VERBS[rng.integers(len(VERBS))]
    return f"The {topic} was {verb} in spring {rng.integers(1990, 2026)} for {rng.integers(10, 900)} crowns"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """Notes, sessions, tasks and copies, with links, topics and facts."""
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(19)
    notes = folder / "notes"
    notes.mkdir()
    for i in range(40):
        parts = "\n\n".join(f"## Part {j}\n\n{_sentence(rng)}. {'Filler about nothing. ' * 40}" for j in range(6))
        (notes / f"n{i}.md").write_text(f"# {_sentence(rng)[:30]}\n\n{parts}\n")
    (folder / "v").mkdir()
    lines = "".join(
        f"[profiles.{name}]\n" + "".join(
            f"{key} = {_toml(value)}\n" for key, value in settings.items()
        ) for name, settings in CUSTOM.items()
    )  # fmt: skip
    with lamina.open(folder / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.ingest(notes)
        vault.add([
            {"id": f"t{i}", "text": _sentence(rng), "type": ("agent_task", "note", "decision", "handoff")[i % 4],
             "created_at": f"2026-0{1 + i % 6}-{1 + i % 27:02d}", "session": f"s{i // 20}", "agent": ("ann", "bob")[i % 2]}
            for i in range(500)
        ])  # fmt: skip
        vault.add(
            [{"text": "The harbour crane was closed, told again and again", "session": f"c{i}"} for i in range(30)]
        )
        for i, j in zip(rng.integers(0, 500, 800).tolist(), rng.integers(0, 500, 800).tolist(), strict=True):
            if i != j:
                vault.link(f"t{i}", f"t{j}", ("blocks", "related_to", "causal", "supporting")[i % 4])
        vault.facts.add("Harbour Crane", "owner", "Ann Lee", source="t3")
        vault.facts.add("Night Train", "speed", "90 km/h")
        vault.cluster()
    with (folder / "v" / "vault.toml").open("a") as file:
        file.write(f"\n{lines}")
    with lamina.open(folder / "v", clock=FixedClock(NOW)) as vault:
        yield vault


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _questions(n: int) -> list[str]:
    rng = np.random.default_rng(7)
    forms = (
        "why was the {} {}?",
        "{} {}",
        "who {1} the {0} in March 2026",
        "when was the {} {} last month",
        "latest {} {}",
    )
    pairs = itertools.product(forms, TOPICS, VERBS, ("", " for how many crowns", " in spring 2001", " by Ann Lee"))
    found = [form.format(topic, verb) + end for form, topic, verb, end in pairs]
    order = rng.permutation(len(found))
    return [found[i] for i in np.resize(order, n)]


def _bytes(hits: Sequence[lamina.Hit]) -> list[Any]:
    return [repr((hit.id, hit.score, hit.via, hit.terms)) for hit in hits]


def check(vault: Vault, question: str, profile: str, **options: Any) -> None:
    deepest = _bytes(vault.recall(question, KS[-1], profile=profile, **options))
    for k in KS[:-1]:
        assert _bytes(vault.recall(question, k, profile=profile, **options)) == deepest[:k], (question, profile, k)


PROFILES = sorted([*BUILT_IN, *CUSTOM])


@pytest.mark.parametrize("profile", PROFILES)
def test_the_first_n_of_any_k_are_the_hits_of_k_n(world: Vault, profile: str) -> None:
    for question in _questions(8):
        check(world, question, profile)


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_the_first_n_of_any_k_are_the_hits_of_k_n_long_form(world: Vault, profile: str) -> None:
    for question in _questions(1_000):
        check(world, question, profile)


@pytest.mark.parametrize(
    "options",
    [
        {"fill": True}, {"per_source": 1}, {"per_source": None}, {"token_budget": 600}, {"time": "filter"}, {"syntax": True},
        {"lanes": ["vector"]}, {"where": {"session": "s3"}}, {"where": {"session": "s3"}, "fill": True}, {"session": "s1"},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("profile", ["default", "temporal@1", "task", "episodic", "entity"])
def test_so_they_are_with_every_option(world: Vault, profile: str, options: dict[str, Any]) -> None:
    if options.get("lanes") and profile == "entity":
        options = {**options, "lanes": ["lexical", "facts"]}
    for question in _questions(2):
        check(world, question, profile, **options)


@pytest.mark.parametrize("profile", PROFILES)
def test_an_offset_pages(world: Vault, profile: str) -> None:
    question = "why was the harbour crane closed"
    whole = _bytes(world.recall(question, 60, profile=profile))
    paged = [hit for at in range(0, 60, 7) for hit in _bytes(world.recall(question, 7, profile=profile, offset=at))]
    assert paged[:60] == whole


def test_k_hits_are_filled_as_long_as_k_are_selected(world: Vault) -> None:
    everything = len(world)
    for k in (3, 200, everything, everything + 5):
        hits = world.recall("salt road", k, fill=True)
        assert len(hits) == min(k, everything)
        assert len({hit.id for hit in hits}) == len(hits)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_deeper_pages_hold_what_is_left_and_never_pass_the_first(world: Vault) -> None:
    hits = world.recall("the harbour crane was repaired", 600, per_source=None)
    assert len(hits) > 300
    assert len({hit.id for hit in hits}) == len(hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert any("ceiling" in hit.terms for hit in hits)
    for hit in hits:
        assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-6)
    texts = [hit.text for hit in hits]
    assert texts.count("The harbour crane was closed, told again and again") == 1, "repeats are folded on every page"


def test_a_time_that_filters_gives_what_lies_inside_first(world: Vault) -> None:
    hits = world.recall("harbour crane in March 2026", 200, time="filter")
    inside = [
        (
            hit.created_at_us is not None
            and hit.created_at is not None
            and (hit.created_at.year, hit.created_at.month) == (2026, 3)
        )
        for hit in hits
    ]
    assert 20 < inside.count(True) < 200
    assert all(inside[:20])
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
