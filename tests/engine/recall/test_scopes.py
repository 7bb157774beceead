"""Scopes that a question names: projects, people, folders; preferred, required or ignored, and always told."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from bench.talks import make_dialogues
from lamina import FixedClock, Hits, InvalidArgument, NamedScope, Vault
from lamina_engine.index.analysis import Analyzer, term_hash
from lamina_engine.profiles import BUILT_IN
from lamina_engine.recall.explain import recompute
from lamina_engine.recall.scopes import Names, Place, _choose_project, _place_of_form, known_names
from tests.conftest import NOW
from tests.fuzz.vaults import Damage, copy_with

DEPLOYS = [
    ("shop", "deploy", "Deploys go out on Friday by hand, Ruth presses the button."),
    ("borg-backup", "deploy", "Deploys go out on Monday through the pipeline."),
    ("py.test", "deploy", "Deploys go out on Tuesday after the release meeting."),
    ("click", "deploy", "Deploys go out when somebody asks for one in the channel."),
]
FILLER = "Notes of the {project} team, number {number}: meetings, plans and who brings the cake."


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.add(
            [{"id": f"{project}-{id_}", "text": text, "project": project} for project, id_, text in DEPLOYS]
            + [
                {"id": f"{project}-{i}", "text": FILLER.format(project=project, number=i), "project": project}
                for project, _, _ in DEPLOYS
                for i in range(5)
            ]
            + [
                {"id": f"press-{i}", "text": f"Click the button {i} to see the next page.", "project": "web"}
                for i in range(40)
            ]
        )
        yield vault


def scope_of(hits: Hits) -> NamedScope:
    (found,) = hits.scope
    return found


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("When do the shop's deploys go out?", "shop-deploy"),
        ("when do deploys go out on the Shop", "shop-deploy"),
        ("When do deploys of borg-backup go out?", "borg-backup-deploy"),
        ("When do deploys of Borg Backup go out?", "borg-backup-deploy"),
        ("When do deploys of borgbackup go out?", "borg-backup-deploy"),
        ("borg: when do deploys go out?", "borg-backup-deploy"),
        ("When do deploys go out in pytest?", "py.test-deploy"),
        ("When do deploys go out in py.test?", "py.test-deploy"),
    ],
)
def test_the_named_project_comes_first_in_any_of_its_forms(vault: Vault, question: str, first: str) -> None:
    hits = vault.recall(question)
    assert hits[0].id == first
    assert scope_of(hits).names == (f"project {first.removesuffix('-deploy')}",)


def test_it_is_a_preference_with_a_stated_confidence(vault: Vault) -> None:
    hits = vault.recall("When do the shop's deploys go out?")
    found = scope_of(hits)
    assert (found.words, found.filtered, found.is_shared, found.chunks) == ("shop", False, False, 6)
    assert found.confidence > 0.9
    assert {hit.project for hit in hits} > {"shop", "click"}  # the others are still there
    for hit in hits:
        scope = hit.terms["scope"]
        assert scope["factor"] == (1.0 if hit.project == "shop" else 1.0 - found.weight)
        assert scope["inside" if hit.project == "shop" else "outside"] == ["project shop"]
        assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-6)
    assert hits.explain()["scope"] == [found.to_dict()]
    assert hits.to_dict()["scope"] == [found.to_dict()]


def test_a_name_that_is_a_common_word_counts_little(vault: Vault) -> None:
    shop, click = (scope_of(vault.recall(f"deploys of {name}")).confidence for name in ("shop", "click"))
    assert click < 0.6 < shop


@pytest.mark.parametrize(
    "question", ["When do deploys go out?", "who brings the cake", "deploys of the zyxomat", "", "?", "it"]
)
def test_a_question_that_names_nothing_is_answered_as_without_scopes(vault: Vault, question: str) -> None:
    with_scopes, without = vault.recall(question), vault.recall(question, scope="off")
    assert with_scopes.scope == without.scope == ()
    assert [(hit.id, hit.score, hit.terms) for hit in with_scopes] == [
        (hit.id, hit.score, hit.terms) for hit in without
    ]


def test_off_reads_no_name(vault: Vault) -> None:
    hits = vault.recall("When do the shop's deploys go out?", scope="off")
    assert hits.scope == ()
    assert all("scope" not in hit.terms for hit in hits)


def test_filter_says_by_what_it_filtered(vault: Vault) -> None:
    hits = vault.recall("When do the shop's deploys go out?", scope="filter")
    assert {hit.project for hit in hits} == {"shop"}
    assert scope_of(hits).filtered
    assert vault.recall("When do deploys go out?", scope="filter").scope == ()


def test_filter_only_prefers_what_is_not_sure(vault: Vault) -> None:
    vault.add([{"text": f"Click on {i}, then click again.", "project": "help"} for i in range(200)])
    vault.add([{"id": "c", "text": "Nothing.", "project": "click"} for _ in range(1)])
    vault.invalidate("click-deploy", "old")
    hits = vault.recall("deploys of click", scope="filter")
    assert scope_of(hits).confidence < 0.5
    assert not scope_of(hits).filtered
    assert {hit.project for hit in hits} > {"shop"}


def test_two_projects_are_both_preferred(vault: Vault) -> None:
    places = [hit.id for hit in vault.recall("deploys: what differs between the shop and borg-backup?", k=30)]
    assert max(map(places.index, ("shop-deploy", "borg-backup-deploy"))) < places.index("click-deploy")
    filtered = vault.recall("deploys: what differs between the shop and borg-backup?", scope="filter")
    assert {hit.project for hit in filtered} == {"shop", "borg-backup"}


def test_why_not_names_the_scope(vault: Vault) -> None:
    found = vault.why_not("the shop's deploys", "click-deploy", scope="filter")
    assert (found.stage, found.clauses) == ("filter", ('the scope "shop"',))
    assert any(remedy.arguments.get("scope") == "off" for remedy in found.remedies)


@pytest.mark.parametrize("mode", ["on", "", 1, True])
def test_an_unknown_mode_is_refused(vault: Vault, mode: Any) -> None:
    with pytest.raises(InvalidArgument, match="prefer, filter, off"):
        vault.recall("deploys", scope=mode)


def test_an_empty_vault_knows_no_names(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True) as vault:
        assert vault.recall("the shop's deploys", scope="filter").scope == ()


def test_a_vault_of_one_project_has_nothing_to_prefer(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.add([{"text": "Deploys of the shop are by hand.", "project": "shop"}])
        assert vault.recall("the shop's deploys").scope == ()


TALK = [
    ("family", "Anna", "I moved to Lisbon in spring."), ("family", "Ben", "How is the weather there?"),
    ("work", "Anna", "I moved to the platform team in spring."), ("work", "Priya", "Welcome!"),
    ("club", "Leo", "I moved to Porto in spring."), ("club", "Sofia", "Lovely town."),
]  # fmt: skip


@pytest.fixture
def talks(tmp_path: Path) -> Iterator[Vault]:
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.add(
            [
                {"id": f"{p}-{who}", "text": f"{who}: {text}", "project": p, "agent": who, "session": f"{p}-1"}
                for p, who, text in TALK
            ]
        )
        yield vault


def test_a_speaker_stands_for_the_dialogues_she_is_in(talks: Vault) -> None:
    hits = talks.recall("Where did Anna move in spring?", scope="filter")
    assert {hit.project for hit in hits} == {"family", "work"}
    assert scope_of(hits).names == ("agent Anna in family", "agent Anna in work")
    assert scope_of(hits).is_shared


def test_the_session_that_asks_decides_among_several(talks: Vault) -> None:
    hits = talks.recall("Where did Anna move in spring?", session="work-1")
    assert hits[0].id == "work-Anna"
    assert [scope.names for scope in hits.scope] == [
        ("agent Anna in family", "agent Anna in work"),
        ("project work",),
    ]
    assert hits.scope[1].words == ""
    assert talks.recall("Who moved in spring?", session="club-1")[0].id == "club-Leo"
    assert talks.recall("Where did Leo move?", session="work-1")[0].id == "club-Leo"
    assert talks.recall("Who moved in spring?", session="unknown").scope == ()


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """Four dialogues of forty turns; Anna speaks in three, with Ben in two; what is said of her dog is said in one."""
    pairs = {"north": ("Anna", "Ben"), "south": ("Anna", "Ben"), "east": ("Anna", "Priya"), "west": ("Leo", "Sofia")}
    with lamina.open(tmp_path_factory.mktemp("pool") / "v", create=True, clock=FixedClock(NOW)) as vault:
        for project, pair in pairs.items():
            told = {"south": "My dog hid the guitar", "east": "My parrot hid the key", "west": "Our dog hid the key"}
            texts = [f"{told[project]} again, day {i}" if project in told and i % 10 == 0 else f"Fine, thank you, {i}"
                     for i in range(40)]  # fmt: skip
            vault.add(
                [{"id": f"{project}-{i}", "text": f"{pair[i % 2]}: {text}", "project": project, "agent": pair[i % 2],
                  "session": f"{project}-1"} for i, text in enumerate(texts)]
            )  # fmt: skip
        yield vault


@pytest.mark.parametrize(
    ("question", "project"),
    [
        ("What did Anna's dog hide?", "south"),
        ("What did Anna's parrot hide?", "east"),
        ("Where did the guitar of Anna and Ben go?", "south"),
        ("What do Anna and Priya say?", "east"),
        ("What did Leo's dog hide?", "west"),
    ],
)
def test_of_several_of_one_name_she_is_meant_whose_project_tells_of_it(
    pool: Vault, question: str, project: str
) -> None:
    hits = pool.recall(question, k=20)
    one = hits.scope[-1]
    assert project in one.names[0]
    assert (one.is_shared, one.filtered) == (False, False)
    assert one.weight == pytest.approx(3.0 * BUILT_IN["default@2"].scope * one.confidence)
    assert hits[0].project == project
    for hit in hits:
        assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-6)
    for k in (1, 3, 7):
        assert [hit.id for hit in pool.recall(question, k=k)] == [hit.id for hit in hits][:k]
    assert {hit.project for hit in pool.recall(question, k=20, scope="filter")} >= {project}


def test_where_nothing_tells_them_apart_none_is_chosen(pool: Vault) -> None:
    for question in ("What does Anna say?", "Is Anna fine, thank you?", "Anna xyzzy"):
        (scope,) = pool.recall(question).scope
        assert scope.is_shared


def test_of_several_the_project_is_chosen_that_a_plain_count_chooses(pool: Vault) -> None:
    view, rng, names = pool._memory.view(), random.Random(2), ("north", "south", "east")
    codes = view.categories.column(view.snapshot, "project")[: view.rows]
    projects = np.array([view.categories.code("project", name) for name in names])
    stems = {word: Analyzer().query(word)[0].stem for word in ("dog", "parrot", "guitar", "key", "day", "thank")}
    rows_of = {
        word: view.rows_with_all(np.array([term_hash(stem)], np.uint32)).tolist() for word, stem in stems.items()
    }
    rarity = {word: math.log1p((view.rows - len(rows) + 0.5) / (len(rows) + 0.5)) for word, rows in rows_of.items()}
    for _ in range(40):
        words, match = rng.sample(list(stems), rng.randint(1, 3)), dict[str, float]()
        for name, project in zip(names, projects.tolist(), strict=True):
            own = [
                [word for word in words if row in rows_of[word]] for row in range(view.rows) if codes[row] == project
            ]
            best = max(sum(rarity[word] for word in held) for held in own)
            match[name] = math.sqrt(best * sum(rarity[word] for word in {word for held in own for word in held}))
        (first, one), (_, other), _ = sorted(match.items(), key=lambda item: -item[1])
        code, share = _choose_project(view, " ".join(words), [], codes, projects)
        assert share == pytest.approx(1.0 - (other / one) ** 4, abs=1e-9)
        assert one == pytest.approx(other) or view.categories.value("project", code) == first


def test_why_not_and_a_comparison_know_the_chosen_project(pool: Vault) -> None:
    question = "What did Anna's dog hide?"
    found = pool.why_not(question, "west-30", k=3)
    assert found.terms is not None
    assert found.score is not None
    assert recompute(found.terms) == pytest.approx(found.score, abs=1e-6)
    assert found.terms["scope"]["outside"][-1] == "project south"
    for remedy in found.remedies:
        changed: dict[str, Any] = {"query": question, "k": 3, **remedy.arguments}
        again = pool.recall(**changed)
        assert again[remedy.rank - 1].id == "west-30"


def test_an_alias_names_what_its_entity_names(vault: Vault) -> None:
    vault.facts.add_entity("shop", "project", aliases=["Emporium", "sh"])
    hits = vault.recall("When do deploys of the Emporium go out?")
    assert (hits[0].id, scope_of(hits).names) == ("shop-deploy", ("project shop",))
    assert vault.recall("SH: when do deploys go out?")[0].id == "shop-deploy"


def test_folders_and_roots_are_names_and_several_may_share_one(tmp_path: Path) -> None:
    for root, folder, text in [
        ("one", "alpha", "The cache is cleared at night."),
        ("one", "beta", "The cache is cleared by hand."),
        ("two", "beta", "The cache is never cleared."),
        ("two", "gamma", "The cache is cleared hourly."),
    ]:
        path = tmp_path / root / folder / "notes" / "cache.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"# Cache\n\n{text}\n", encoding="utf-8")
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.ingest(tmp_path / "one")
        vault.ingest(tmp_path / "two")
        hits = vault.recall("When is alpha's cache cleared?")
        assert hits[0].source == "alpha/notes/cache.md"
        assert scope_of(hits).names == ("folder alpha",)
        beta = vault.recall("When is the cache of beta cleared?", scope="filter", per_source=None)
        assert len(beta) == 2
        gamma = vault.recall("When is the cache of gamma cleared, in two?", scope="filter")
        assert [hit.source for hit in gamma] == ["gamma/notes/cache.md"]


@pytest.mark.parametrize("question", ["what did we decide in 2026", "deploys on 2026-02-07", "room 2026"])
def test_digits_alone_name_no_folder(tmp_path: Path, question: str) -> None:
    # a stranger's trial: transcripts of Codex lie in folders of years, so every dated question was about them
    for folder in ("codex/2026/02/07", "codex/2026-trips", "notes"):
        path = tmp_path / "files" / folder / "deploys.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"# Deploys\n\nOne more room for deploys is in {folder}.\n", encoding="utf-8")
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.ingest(tmp_path / "files")
        assert vault.recall(question).scope == ()
        assert scope_of(vault.recall("deploys of codex")).names == ("folder codex",)


def test_the_past_knows_the_names_of_the_past(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock("2026-01-01")) as vault:
        vault.add(
            [{"text": "Deploys are by hand.", "project": "shop"}, {"text": "Deploys are done.", "project": "api"}]
        )
    with lamina.open(tmp_path / "v", clock=FixedClock("2026-03-01")) as vault:
        vault.add([{"text": "Deploys of the depot are at night.", "project": "depot"}])
        assert scope_of(vault.recall("deploys of the depot")).names == ("project depot",)
        assert vault.recall("deploys of the depot", as_of="2026-02-01").scope == ()


def test_a_pool_of_dialogues_keeps_whose_they_are(tmp_path: Path) -> None:
    records = make_dialogues(12, sessions=4)
    speakers: dict[object, set[object]] = {}
    for record in records:
        speakers.setdefault(record["agent"], set()).add(record["project"])
    assert sum(len(projects) > 1 for projects in speakers.values()) >= 6
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.add(records)
        for name, projects in sorted(speakers.items(), key=str):
            assert vault.recall(f"What did {name} start doing?")[0].project in projects
            hits = vault.recall(f"What did {name} start doing?", scope="filter")
            assert {hit.project for hit in hits} <= projects
            assert len(scope_of(hits).names) == len(projects)


def test_the_preference_is_a_factor_and_nothing_else(vault: Vault) -> None:
    question = "When do the shop's deploys go out?"
    plain = {hit.id: hit.score for hit in vault.recall(question, k=60, scope="off")}
    for hit in vault.recall(question, k=60, scope="prefer"):
        assert hit.score == pytest.approx(plain[hit.id] * hit.terms["scope"]["factor"], abs=1e-9)


def test_a_form_is_that_of_the_only_name_that_begins_it_or_begins_with_it() -> None:
    rng = random.Random(3)
    names = ["".join(rng.choices("ab", k=rng.randint(3, 12))) for _ in range(300)]
    places = {name: (Place("project", name),) for name in names} | {"abba": (Place("folder", "x"),)}
    known = Names.of(places)
    for _ in range(3_000):
        word = "".join(rng.choices("ab", k=rng.randint(3, 14)))
        found = {
            place for name, place in places.items()
            if len(word) >= 4 and (name.startswith(word) or (len(name) >= 4 and word.startswith(name) and len(word) - len(name) <= 6))
        }  # fmt: skip
        if word not in places:  # a name itself is none of its forms
            assert _place_of_form(known, word, word) == (found.pop() if len(found) == 1 else ()), word


@pytest.mark.parametrize(
    ("log", "before", "after"),
    [
        ("sources", b"docs/plan.md", b"docs\xffplan.md"),
        ("aliases", (1).to_bytes(8, "little") * 3, (-9).to_bytes(8, "little", signed=True) * 3),
    ],
)
def test_names_of_a_vault_that_somebody_made_are_typed_errors_or_none(
    tmp_path: Path, log: str, before: bytes, after: bytes
) -> None:  # found by `python -m tests.fuzz hostile`
    (tmp_path / "notes" / "docs").mkdir(parents=True)
    (tmp_path / "notes" / "docs" / "plan.md").write_text("The crane is mended in May.")
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as made:
        made.ingest(tmp_path / "notes")
        made.facts.add_entity("Ann", aliases=("Anna", "Annie"))
        made.facts.add_entity("Cleo", aliases=("Clea", "Clio", "Chloe"))
    (name,) = [path.name for path in (tmp_path / "v" / "log" / log).iterdir() if before in path.read_bytes()]
    content = (tmp_path / "v" / "log" / log / name).read_bytes().replace(before, after)
    copy_with(Damage(tmp_path / "v", f"log/{log}/{name}", content, True), tmp_path / "w")
    with contextlib.suppress(lamina.VaultCorrupt), lamina.open(tmp_path / "w", mode="r") as read:
        read.recall("when does Ann mend the crane of the docs?")


def test_names_that_writes_bring_and_take_are_those_of_a_look_at_all(vault: Vault) -> None:
    rng, view = random.Random(3), vault._memory.view
    ids: list[str] = []
    for i in range(60):
        if ids and rng.random() < 0.3:
            vault.invalidate(ids.pop(rng.randrange(len(ids))), "wrong")
        else:
            ids += vault.add(f"note {i}", project=f"team{rng.randrange(12)}")
        with lamina.open(vault.path, mode="r") as other:
            assert known_names(view()) == known_names(other._memory.view())
        if i == 30:
            early = view().snapshot.manifest.last_us
    past = vault._memory.at(early).view()
    used = {
        view().categories.value("project", code)
        for code in past.categories.column(past.snapshot, "project")[: past.rows][past.state.active()]
    }
    assert {place.name for places in known_names(past).places.values() for place in places} == used - {None}
