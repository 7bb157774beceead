"""Absences: the stage at which a chunk lost is right, its numbers recompute, and every remedy brings it in."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.embed.bundled import WordLlamaEmbedder
from lamina_engine.profiles import BUILT_IN
from lamina_engine.recall.absence import Absence, Stage, drop_parts
from lamina_engine.recall.explain import recompute

TOPICS = ("harbour crane", "orchard press", "night train", "stone bridge", "paper mill", "copper mine", "salt road")
VERBS = ("repaired", "painted", "measured", "moved", "closed", "bought", "insured")
PLACES = ("Aarhus", "Bergen", "Cork", "Delft", "Espoo", "Faro", "Gdansk", "Honfleur", "Izola")
PROFILES = (*BUILT_IN, "varied")
VARIED = '[profiles.varied]\nbase = "default"\ndiversity = { mmr = 0.6, near_duplicate = 0.97 }\n'
OPERATORS = ("", "", "", "+harbour ", "-train ", '"stone bridge" ', "project:north ")
FILTERS: tuple[dict[str, Any] | None, ...] = (
    None, None, None, {"project": "north"}, {"type": {"in": ["note", "decision"]}}, {"OR": [{"project": "south"}, {"type": "note"}]},
    {"AND": [{"project": "south"}, {"created_at": {"gte": "2026-01-10", "lt": "2026-02-20"}}]},
    {"NOT": {"type": "note"}}, {"NOT": [{"project": "north"}, {"tags": {"contains": "urgent"}}]},
)  # fmt: skip

STAGES = get_args(Stage)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """Notes, turns, tasks and copies in every state, with links, topics and facts, written over ten days."""
    folder, clock, rng = tmp_path_factory.mktemp("absence"), FixedClock("2026-02-20T12:00:00Z"), random.Random(5)
    notes = folder / "notes"
    notes.mkdir()

    def sentence() -> str:
        return f"The {rng.choice(TOPICS)} in {rng.choice(PLACES)} was {rng.choice(VERBS)} for {rng.randint(10, 900)} crowns"

    for i in range(15):
        parts = "\n\n".join(f"## Part {j}\n\n{sentence()}. {'Nothing else here. ' * 30}" for j in range(5))
        (notes / f"n{i}.md").write_text(f"# {sentence()[:30]}\n\n{parts}\n")
    (folder / "v").mkdir()
    with lamina.open(folder / "v", create=True, clock=clock) as vault:
        with (folder / "v" / "vault.toml").open("a") as file:
            file.write(f"\n{VARIED}")
        vault.ingest(notes)
        for day in range(5):
            clock.advance(2 * 86_400)
            vault.add([
                {"id": f"t{day}-{i}", "agent": "Jonas" if i % 4 == 0 else "Mara", "text": f"{sentence()}{'. And so on' * rng.choice((0, 0, 8))}", "project": ("north", "south")[i % 2],
                 "type": ("agent_task", "note", "decision")[i % 3], "session": f"s{i // 10}", "tags": ["urgent"] if i % 5 == 0 else [],
                 "created_at": f"2026-0{1 + i % 2}-{1 + i % 27:02d}"}
                for i in range(60)
            ])  # fmt: skip
        vault.add(
            [{"id": f"c{i}", "text": "The harbour crane was closed, told again", "session": f"c{i}"} for i in range(15)]
        )
        for i in range(250):
            one, other = (f"t{rng.randint(0, 4)}-{rng.randint(0, 59)}" for _ in range(2))
            if one != other:
                vault.link(one, other, ("blocks", "related_to", "causal", "mention")[i % 4])
        vault.facts.add("Harbour Crane", "owner", "Ann Lee", source="t1-3")
        vault.facts.add("Night Train", "speed", "90 km/h")
        vault.cluster()
        clock.advance(3_600)
        for i in range(6):
            vault.invalidate(f"t1-{i}", "wrong")
            vault.update(f"t2-{i}", text=f"{sentence()}, newly")
            vault.snooze(f"t3-{i}", "2026-12-01")
        vault.forget(["t0-0", "t0-1"], dry_run=False)
    with lamina.open(folder / "v", clock=FixedClock("2026-03-02T14:00:00Z")) as vault:
        yield vault


def draw(rng: random.Random, ids: list[str]) -> tuple[str, str, dict[str, Any]]:
    form = rng.choice(
        ("why was the {} {}", "{} {}", "who {1} the {0} last month", "latest {} {}", "{} {} in February 2026",
         "which {} was {} in the south", "what did Mara say of the {} {}", "Jonas, Mara and the {} {}")
    )  # fmt: skip
    words = rng.choice(TOPICS), rng.choice(VERBS)
    options: dict[str, Any] = {"profile": rng.choice(PROFILES), "k": rng.choice((1, 3, 10, 40))}
    if (where := rng.choice(FILTERS)) is not None:
        options["where"] = where
    options |= rng.choice(({}, {}, {"as_of": f"2026-02-{rng.randint(20, 28)}"}))
    options |= rng.choice(({}, {}, {}, {"token_budget": rng.choice((20, 60, 300))}))
    options |= rng.choice(
        ({}, {}, {}, {"since": "2026-01-15"}, {"until": "2026-02-10"}, {"time": "filter"}, {"offset": 4})
    )
    options |= rng.choice(({}, {}, {}, {"per_source": 1}, {"min_confidence": 0.9}, {"lanes": ["lexical"]}))
    options |= rng.choice(({}, {"scope": "filter"}, {"scope": "off"}, {"scope": "prefer", "session": "s3"}))
    return rng.choice(OPERATORS) + form.format(*words), rng.choice(ids), options


SWITCHED_OFF: dict[str, dict[str, Any]] = {
    "unwritten": {"as_of": None},
    "filter": {"where": None, "since": None, "until": None, "time": "off", "syntax": False, "scope": "off"},
    "candidates": {"candidates": None},
    "lanes": {"k": 9_000, "lanes": None, "token_budget": None},
    "folded": {"fill": True, "token_budget": None},
    "source": {"per_source": None},
    "budget": {"token_budget": None},
    "variety": {"k": 9_000},
    "k": {"k": 9_000},
    "offset": {"offset": 0},
    "confidence": {"min_confidence": None},
}
"""By stage: arguments with which a recall goes past it, whatever the code proposes."""
PACKING = {"variety", "budget", "k"}
"""Limits of one stage, which act together."""


def check(vault: Vault, query: str, id_: str, options: dict[str, Any]) -> Absence:
    """Check an absence against recalls, and against an absence where its stage is switched off."""
    found = vault.why_not(query, id_, **options)
    ids = [hit.id for hit in vault.recall(query, **options)]
    said = (query, id_, options, found)
    assert (found.stage == "hit") == (id_ in ids), said
    if found.stage == "hit":
        assert found.rank == ids.index(id_) + 1, said
        return found
    if found.terms is not None and found.score is not None:
        assert recompute(found.terms) == pytest.approx(found.score, abs=1e-6), said
        if found.differences:
            assert found.other_score is not None
            assert sum(found.differences.values()) == pytest.approx(found.other_score - found.score, abs=1e-6), said
    if found.status == "forgotten":
        assert found.remedies == (), said
        return found
    if found.stage == "lanes":
        assert all(lane.own <= lane.cut or lane.own <= 0.0 for lane in found.lanes), said
    if found.stage in SWITCHED_OFF:
        matches = found.stage != "lanes" or any(lane.own > 0.0 for lane in found.lanes)
        off = SWITCHED_OFF[found.stage] if matches else {**SWITCHED_OFF["lanes"], "fill": True}
        if found.stage == "offset":  # the hits are those of so many places further down
            off = {**off, "k": options["k"] + options["offset"]}
        later = vault.why_not(query, id_, **{**options, **off})
        if found.stage == "budget" and later.stage in ("filter", "lanes"):
            # without a budget k is reached on a page before: within the time that was meant, or of shorter lanes
            assert len(vault.recall(query, **{**options, **off})) == options["k"], (said, later)
            off = {**off, "k": 9_000}
            later = vault.why_not(query, id_, **{**options, **off})
        assert later.stage != found.stage, (said, later)
        packed = {later.stage, found.stage} <= PACKING  # these limits act together
        assert packed or STAGES.index(later.stage) > STAGES.index(found.stage), (said, later)
    else:
        assert found.stage == "state", said
        chunk = vault.get(id_)
        assert found.status != "active" or chunk.snoozed_until is not None, said
    assert found.remedies, said
    for remedy in found.remedies:
        changed = {"query": query, **options, **remedy.arguments}
        again = [hit.id for hit in vault.recall(**changed)]
        assert again[remedy.rank - 1] == id_, (said, remedy)
    return found


def check_pairs(vault: Vault, n: int, seed: int) -> set[str]:
    rng = random.Random(seed)
    ids = [chunk.id for chunk in vault.list(limit=None)]
    in_a_state = [*vault.list({"status": "invalidated"}, limit=None), *vault.list({"snoozed_until": "*"}, limit=None)]
    ids += [chunk.id for chunk in in_a_state] * 3
    return {check(vault, *draw(rng, ids)).stage for _ in range(n)}


def test_the_stage_is_right_and_every_remedy_brings_it_in(world: Vault) -> None:
    assert {"filter", "lanes", "k"} <= check_pairs(world, 15, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_the_stage_is_right_and_every_remedy_brings_it_in_long_form(world: Vault, seed: int) -> None:
    assert {"filter", "lanes", "k", "state"} <= check_pairs(world, 100, seed=100 + seed)


@pytest.mark.parametrize(
    ("id_", "query", "options", "stage"),
    [
        ("t1-2", "harbour crane", {}, "state"),
        ("t3-2", "harbour crane", {}, "state"),
        ("t4-9", "harbour crane", {"as_of": "2026-02-23"}, "unwritten"),
        ("t4-9", "harbour crane", {"where": {"project": "elsewhere"}}, "filter"),
        ("t4-9", "harbour crane project:north", {}, "filter"),
        ("t4-9", "last week", {}, "filter"),
        ("t4-9", "harbour crane", {"candidates": [("t4-8", 0.1)]}, "candidates"),
        ("t4-9", "zzzz", {"lanes": ["facts"]}, "lanes"),
        ("c4", "harbour crane closed told again", {}, "folded"),
        ("c4", "harbour crane closed told again", {"token_budget": 200}, "folded"),
    ],
)
def test_each_stage(world: Vault, id_: str, query: str, options: dict[str, Any], stage: str) -> None:
    assert check(world, query, id_, options).stage == stage


def test_what_a_page_passes_over_is_named_by_its_document(world: Vault) -> None:
    hits = world.recall("crowns nothing else here", 40, per_source=None)
    passed = next(hit.id for i, hit in enumerate(hits) if hit.path and sum(h.path == hit.path for h in hits[:i]) >= 2)
    found = check(world, "crowns nothing else here", passed, {"k": 40})
    assert (found.stage, found.remedies[0].arguments) == ("source", {"per_source": None})


def test_what_does_not_fit_says_how_much_room_there_was(world: Vault) -> None:
    query = "harbour crane closed told again"
    found = [check(world, query, hit.id, {"token_budget": 30}) for hit in world.recall(query, 8)]
    full = [each for each in found if each.stage == "budget"]
    assert full
    assert all(each.tokens is not None and each.room is not None and each.tokens > each.room >= 0 for each in full)


def test_what_is_forgotten_cannot_be_brought_in(world: Vault) -> None:
    for as_of in (None, "2026-02-25"):
        with pytest.raises(lamina.ChunkNotFound, match="2 were forgotten, and of these no id is left"):
            world.why_not("harbour crane", "t0-0", as_of=as_of)


def test_a_fact_that_no_chunk_states(world: Vault) -> None:
    hits = world.recall("how fast is the Night Train?")
    fact = next(hit.id for hit in hits if hit.id.startswith("fact:"))
    assert world.why_not("how fast is the Night Train?", fact).stage == "hit"
    assert world.why_not("salt road", fact).stage == "lanes"


def test_wrong_ids_and_options_are_refused(world: Vault) -> None:
    with pytest.raises(lamina.ChunkNotFound):
        world.why_not("crane", "no such id")
    with pytest.raises(lamina.AmbiguousId):
        world.why_not("crane", "n3.md")
    with pytest.raises(lamina.InvalidArgument):
        world.why_not("crane", "t4-9", k=0)
    with pytest.raises(lamina.InvalidArgument):
        world.why_not("crane", "t4-9", as_of="no date")
    with pytest.raises(TypeError, match="no limit="):
        world.why_not("crane", "t4-9", limit=3)  # type: ignore[call-arg]
    assert world.why_not("crane", "t4-9", as_of="1999-01-01").stage == "unwritten"


@pytest.mark.parametrize(
    ("id_", "options", "error"),
    [
        ("", {}, "not an id; give non-empty text"),
        (None, {}, "not an id"),
        ("t4-9", {"query": None}, "must be text"),
        ("t4-9", {"k": True}, "k=True must be a whole number"),
        ("t4-9", {"since": "2026-02-01", "until": "2026-01-01"}, "is not before until"),
        ("t4-9", {"scope": "all"}, "must be one of prefer, filter, off"),
        ("t4-9", {"session": 3}, "session=3 is an int; give text"),
        ("t4-9", {"lanes": []}, "must name some of lexical, vector, facts"),
        ("t4-9", {"where": {"nofield": 1}}, "which no chunk of this vault has"),
        ("t4-9", {"min_confidence": 3}, "from 0 to 1"),
    ],
    ids=str,
)
def test_what_is_wrong_is_named_with_what_to_do(world: Vault, id_: Any, options: dict[str, Any], error: str) -> None:
    with pytest.raises(lamina.InvalidArgument, match=error):
        world.why_not(**(dict[str, Any](query="harbour crane", id=id_) | options))


def test_an_empty_question_and_moments_to_come_are_answered(world: Vault) -> None:
    for query in ("", "  "):
        found = check(world, query, "t4-9", {})
        assert (found.stage, "the question is empty" in found.reason) == ("lanes", True)
    assert check(world, "salt road", "t4-9", {"as_of": "2050-01-01"}).stage in STAGES


def test_a_place_in_a_source_is_an_id(tmp_path: Path, clock: FixedClock) -> None:
    (tmp_path / "a.md").write_text("# Backups\n\nThe backup of the shop runs at night.\n")
    with lamina.open(tmp_path / "v", create=True, clock=clock) as vault:
        vault.ingest(tmp_path / "a.md")
        vault.add([{"text": f"shop {i}"} for i in range(20)])
        found = vault.why_not("shop", "a.md", where={"type": "nothing"})
        assert (found.stage, found.clauses) == ("filter", ('{"type":"nothing"}',))
        assert found.to_dict()["remedies"]


@pytest.mark.parametrize("lanes", [None, ["vector"]], ids=str)
def test_a_question_may_bring_its_vector(world: Vault, lanes: list[str] | None) -> None:
    vector = WordLlamaEmbedder().embed_query("the orchard press")
    found = check(world, "harbour crane", "t4-9", {"vector": vector, "lanes": lanes, "k": 1})
    assert found.stage != "hit"
    assert found.remedies


def test_a_word_of_the_chunk_is_proposed(lexical_vault: Vault) -> None:
    lexical_vault.add([{"text": f"deploy number {i}", "id": f"d{i}"} for i in range(30)])
    lexical_vault.add("The turbine was greased", id="turbine")
    found = lexical_vault.why_not("deploy", "turbine", k=5)
    assert found.stage == "lanes"
    assert found.remedies[0].arguments in ({"query": "deploy turbine"}, {"query": "deploy greased"})


def test_filters_lose_only_the_parts_that_fail() -> None:
    where = {
        "a": 1,
        "b": {"gt": 1, "lt": 5},
        "AND": [{"c": 1}, {"d": 2}],
        "OR": [{"e": 1}],
        "NOT": [{"f": 1}, {"g": 2}],
    }
    failing = ({"b": {"lt": 5}}, {"c": 1}, {"OR": [{"e": 1}]}, {"NOT": {"g": 2}})
    failed, rest = drop_parts(where, lambda part: part in failing)
    assert failed == ['{"b":{"lt":5}}', '{"c":1}', '{"OR":[{"e":1}]}', '{"NOT":{"g":2}}']
    assert rest == {"a": 1, "b": {"gt": 1}, "AND": [{"d": 2}], "NOT": [{"f": 1}]}
