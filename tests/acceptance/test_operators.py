"""Real notes: questions with a misspelt word find what they found, and snippets show what matched."""

from __future__ import annotations

import random
import string
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.index.analysis import STOP_WORDS, Analyzer
from lamina_engine.recall import retrieval

QUESTIONS = 300
SHORT = 60
RARE_ROWS = 12


@pytest.fixture(scope="module")
def notes(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    bundle = data / "notes-vault" / "til.bundle"
    if not bundle.is_file():
        pytest.skip("the notes are not beside the project")
    top = tmp_path_factory.mktemp("til")
    subprocess.run(["git", "clone", "-q", str(bundle), str(top / "notes")], check=True)
    with lamina.open(top / "vault", create=True, clock=FixedClock("2026-03-01")) as vault:
        vault.ingest(top / "notes")
        yield vault


def questions(vault: Vault, count: int) -> list[tuple[str, str]]:
    """A sentence's rare word and some of its others, and the same with one letter of the rare word changed."""
    rng, analyzer = random.Random(11), Analyzer()
    chunks = vault.list(limit=None)
    rows = Counter(word for chunk in chunks for word in {term.surface for term in analyzer.tokens(chunk.text)})
    made: list[tuple[str, str]] = []
    while len(made) < count:
        words = [word for word in rng.choice(chunks).text.lower().split() if word.isascii() and word.isalpha()]
        words = [word for word in dict.fromkeys(words) if word not in STOP_WORDS and len(word) > 3]
        rare = [word for word in words if len(word) > 4 and 1 < rows[word] <= RARE_ROWS]
        if not rare or len(words) < 8:
            continue
        word = rng.choice(rare)
        others = rng.sample([other for other in words if other != word], 4)
        at = rng.randrange(len(word))
        letter = rng.choice([each for each in string.ascii_lowercase if each != word[at]])
        wrong = word[:at] + letter + word[at + 1 :]
        made.append((" ".join(["which", *others, word]), " ".join(["which", *others, wrong])))
    return made


def share_found(vault: Vault, asked: list[tuple[str, str]]) -> float:
    """The share of the ten hits of each question that its misspelt form finds too."""
    right = found = 0
    for question, misspelt in asked:
        wanted = {hit.id for hit in vault.recall(question, 10)}
        right += len(wanted)
        found += len(wanted & {hit.id for hit in vault.recall(misspelt, 10)})
    return found / right


def check_misspelt(vault: Vault, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = questions(vault, count)
    corrected = share_found(vault, asked)
    monkeypatch.setattr(retrieval, "_correct", lambda _memory, _view, _request, _words: {})
    plain = share_found(vault, asked)
    print(
        f"\n{count} questions with a letter changed: {corrected:.1%} of the hits come back, {plain:.1%} without correction"
    )
    assert corrected >= 0.85
    assert plain < corrected


def test_misspelt_questions_find_the_same_notes(notes: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    check_misspelt(notes, SHORT, monkeypatch)


@pytest.mark.slow
def test_many_misspelt_questions_find_the_same_notes(notes: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    check_misspelt(notes, QUESTIONS, monkeypatch)


def test_snippets_hold_a_matched_word(notes: Vault) -> None:
    """Of hits whose own text holds a word of the question; titles and the chunk before are shown elsewhere, or not at all."""
    analyzer = Analyzer()
    shown: list[bool] = []
    own: list[bool] = []
    for pair in questions(notes, SHORT):
        for question in pair:
            hits = notes.recall(question, 10, lanes=["lexical"])
            for hit in hits:
                asked = set(hit.terms["words"])
                shown.append(bool(hits.snippet(hit).ranges))
                own.append(not asked.isdisjoint(term.stem for term in analyzer.tokens(hit.text)))
    print(
        f"\n{np.mean(np.array(shown)[own]):.2%} of {sum(own)} snippets hold a matched word, {np.mean(shown):.2%} of all {len(own)}"
    )
    assert np.mean(np.array(shown)[own]) >= 0.99
    assert np.mean(shown) >= 0.97
