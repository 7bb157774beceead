"""Misspelt words: the nearest words of the dictionary, the same in any batching, segments and past."""

from __future__ import annotations

import random
import string
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lamina
from lamina import FixedClock, Vault
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.tables import Tables
from lamina_engine.index.textindex import TextIndex, TextIndexDamaged
from lamina_engine.index.view import View
from lamina_engine.recall import spelling
from lamina_engine.recall.spelling import WEIGHT, corrected_text, edit_distance, nearest_words, variants, words_near
from tests.conftest import NOW
from tests.engine.index.building import build_at_once, never_build
from tests.engine.recall.corpus import records
from tests.engine.recall.test_clauses import distance

WORDS = st.text("abcd", max_size=6)


def view_of(vault: Vault) -> View:
    return vault._memory.view()


@given(WORDS, WORDS, st.integers(0, 3))
def test_edits_are_counted(left: str, right: str, most: int) -> None:
    assert edit_distance(left, right, most) == min(distance(left, right), most + 1)


@given(WORDS, st.lists(st.one_of(WORDS, st.text(max_size=6)), max_size=12), st.integers(0, 3))
def test_near_words_are_those_of_few_edits(word: str, words: list[str], most: int) -> None:
    words = [other for other in words if "\0" not in other]
    assert words_near(word, words, most) == [other for other in words if edit_distance(word, other, most) <= most]


@given(st.text("ab", min_size=1, max_size=5))
def test_variants_are_the_words_one_edit_away(word: str) -> None:
    found = variants(word)
    assert all(distance(word, other) == 1 for other in found)
    rng = random.Random(word)
    for _ in range(200):
        other = "".join(rng.choice("abz") for _ in range(len(word) + rng.randint(-1, 1)))
        assert (other in found) == (distance(word, other) == 1)


def test_variants_know_other_scripts() -> None:
    assert "сервер" in variants("сервир")
    assert "grüße" in variants("größe")


def fill(vault: Vault, clock: FixedClock, batch: int) -> None:
    given = records(300)
    for start in range(0, len(given), batch):
        vault.add(given[start : start + batch])
    clock.advance(86_400)
    vault.add([{"text": f"late words: backups backyard {'backup ' * i}", "id": f"late-{i}"} for i in range(40)])


def misspelt(view: View, count: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    texts = view.snapshot.values("chunks", "text", np.arange(view.rows))
    words = sorted({term.surface for text in texts for term in Analyzer().tokens(text) if len(term.surface) > 3})
    out = []
    for _ in range(count):
        word = rng.choice(words)
        for _ in range(rng.randint(1, 2)):
            i = rng.randrange(len(word))
            word = word[:i] + rng.choice(string.ascii_lowercase) + word[i + rng.randint(0, 1) :]
        out.append(word)
    return out


def counts_of(view: View) -> dict[str, int]:
    """In how many chunks each word is, read off every text."""
    rows = np.arange(view.rows)
    counts: dict[str, int] = {}
    columns = (view.snapshot.values("chunks", name, rows) for name in ("title", "text"))
    for title, text in zip(*columns, strict=True):
        for held in {term.surface for term in Analyzer().tokens(f"{title or ''}\n{text or ''}")}:
            counts[held] = counts.get(held, 0) + 1
    return counts


def wanted(counts: dict[str, int], word: str) -> list[str]:
    """The rule, over all words."""
    words = [other for other in counts if other.isalpha() and abs(len(other) - len(word)) <= 2]
    near = [other for other in words if distance(word, other) == 1]
    if not near and len(word) >= 8:
        near = [other for other in words if other[:2] == word[:2] and distance(word, other) == 2]
    return sorted(near, key=lambda other: (-counts[other], other))[:3]


def test_corrections_are_the_same_in_any_batching_and_past(tmp_path: Path) -> None:
    views = []
    vaults = []
    for name, batch, block in (("a", 300, 64), ("b", 50, 17), ("c", 110, 0)):
        with pytest.MonkeyPatch.context() as patch:
            build_at_once(patch, block) if block else never_build(patch)
            clock = FixedClock(NOW)
            vault = lamina.open(tmp_path / name, create=True, clock=clock, embedder="none")
            fill(vault, clock, batch)
            vaults.append(vault)
            view = view_of(vault)
            views.append((view, View(view.snapshot, view.tables, as_of_us=clock.now_us() - 3_600_000_000)))
    corrected = 0
    held_now, held_past = (counts_of(view) for view in views[0])
    for word in [*misspelt(views[0][0], 60), "backp", "bacckup", "qqqqqqqq"]:
        now, past = [nearest_words(view, word) for view, _ in views], [nearest_words(view, word) for _, view in views]
        assert now == [wanted(held_now, word)] * 3
        assert past == [wanted(held_past, word)] * 3
        corrected += bool(now[0])
    assert corrected > 25
    for vault in vaults:
        vault.close()


@pytest.fixture
def vault(vault: Vault) -> Vault:
    vault.add(
        [
            {"text": "We moved to PostgreSQL, and postgres is slower.", "id": "pg"},
            {"text": "The cache is Redis; the deployment is by hand.", "id": "redis"},
            {"text": "The weather was fine.", "id": "fine"},
        ]
    )
    return vault


def test_a_misspelt_word_is_asked_as_the_nearest_and_named(vault: Vault) -> None:
    hits = vault.recall("is postgers slow")
    assert hits[0].id == "pg"
    assert hits[0].terms["corrected"] == {"postgers": ["postgres"]}
    assert hits.explain()["corrected"] == {"postgers": ["postgres"]}
    snippet = hits.snippet(hits[0])
    assert "postgres" in [snippet.text[start:stop] for start, stop in snippet.ranges]
    right = WEIGHT * vault.recall("is postgres slow", lanes=["lexical"])[0].terms["words"]["postgr"]
    assert vault.recall("is postgers slow", lanes=["lexical"])[0].terms["words"]["postgr"] == pytest.approx(right)
    assert vault.recall("deploimenz")[0].terms["corrected"] == {"deploimenz": ["deployment"]}


@pytest.mark.parametrize(
    "query", ["postgres", "thx", "the", "+postgers", "postgers~", '"postgers"', "c4che", "qwertyuiop"]
)
def test_other_words_are_left_as_they_are(vault: Vault, query: str) -> None:
    assert "corrected" not in vault.recall(query).explain()


def test_known_words_cost_no_look_at_the_dictionary(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(spelling, "find_corrections", fail)
    assert vault.recall("postgres and the Redis cache of the deployment")
    with pytest.raises(AssertionError):
        vault.recall("postgers")


def test_a_strange_word_is_looked_up_once_a_version(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = spelling.Dictionary.frequencies, list[int]()

    def count(self: spelling.Dictionary, words: set[str]) -> dict[str, int]:
        asked.append(len(words))
        return real(self, words)

    monkeypatch.setattr(spelling.Dictionary, "frequencies", count)
    found = [vault.recall("postgers", k=3).to_dicts() for _ in range(3)]
    assert found[0] == found[1] == found[2]
    assert len(asked) == 1
    vault.add("The postgers of a later version")
    assert "corrected" not in vault.recall("postgers", k=1).explain()


def test_the_vector_of_the_word_table_is_that_of_the_corrected_question(vault: Vault) -> None:
    wrong, right = vault.recall("postgers slower"), vault.recall("postgres slower")
    assert [hit.terms["cosine"] for hit in wrong if hit.id == "pg"] == [
        hit.terms["cosine"] for hit in right if hit.id == "pg"
    ]
    assert corrected_text("is Postgers? slow", {"postgers": ["postgres"]}, Analyzer()) == "is postgres slow"


def test_a_damaged_index_changes_no_correction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_at_once(monkeypatch, 16)
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        vault.add(records(60))
        view = view_of(vault)
        right = nearest_words(view, "bakcup")
        assert right == ["backup"]

        def fail(*_: object) -> int:
            raise TextIndexDamaged("flipped")

        monkeypatch.setattr(TextIndex, "frequencies", fail)
        fresh = View(view.snapshot, Tables(view.tables.folder))
        assert nearest_words(fresh, "bakcup") == right


def test_a_word_of_english_that_the_vault_lacks_is_not_corrected(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.add([{"text": "The garden hedge is prone to frost."}, {"text": "Postgres stopped at noon."}])
        assert "corrected" not in vault.recall("phone", k=1).explain()
        assert vault.recall("postgers", k=1).explain()["corrected"] == {"postgers": ["postgres"]}


def test_a_short_name_is_not_taken_for_another_by_one_letter(vault: Vault) -> None:
    # findings, stranger: Linus was read as Linux
    vault.add([{"text": "Linux runs on the build hosts.", "id": "linux"}, {"text": "Carla wrote it.", "id": "carla"}])
    assert "corrected" not in vault.recall("where does Linus live").explain()
    assert vault.recall("where does Calra live").explain()["corrected"] == {"calra": ["carla"]}
    assert vault.recall("does linix boot").explain()["corrected"] == {"linix": ["linux"]}


def test_a_word_the_vault_does_not_know_costs_nothing(vault: Vault) -> None:
    plain, strange = (
        vault.recall(text, lanes=["lexical"]) for text in ("postgres slower", "postgres slower zyxomatqu")
    )
    assert plain
    assert [(hit.id, hit.score) for hit in strange] == [(hit.id, hit.score) for hit in plain]


def test_a_strange_word_does_not_turn_the_vector_of_a_question(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.add([{"text": "The garden hedge is prone to frost."}, {"text": "Postgres stopped at noon."}])
        plain, strange = vault.recall("hedges in frost"), vault.recall("hedges in frost zyxomatqu")
        assert [(hit.id, hit.score) for hit in strange] == [(hit.id, hit.score) for hit in plain]
