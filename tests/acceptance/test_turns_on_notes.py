"""Turns over a real notes vault: who should be told something is, who should not is not; findings, stranger 3, seeds-b gap 2."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina
from lamina import Vault

BUNDLE = Path(__file__).parents[2] / ".." / "shared" / "data" / "notes-vault" / "til.bundle"
PROMPTS = Path(__file__).parents[1] / "engine" / "context" / "prompts"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BUNDLE.exists(), reason="the notes vault til.bundle is not on this machine"),
]


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    folder = tmp_path_factory.mktemp("notes")
    subprocess.run(["git", "clone", "-q", str(BUNDLE), str(folder / "til")], check=True)
    with lamina.open(folder / "vault", create=True) as vault:
        vault.ingest(folder / "til")
        yield vault


def read(name: str) -> list[str]:
    return (PROMPTS / name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(("name", "most"), [("everyday.txt", 0), ("everyday-unseen.txt", 4)])
def test_everyday_prompts_get_nothing(notes: Vault, name: str, most: int) -> None:
    told = [prompt for n, prompt in enumerate(read(name)) if notes.inject(prompt, f"{name}{n}").items]
    assert len(told) <= most, told


def test_prompts_whose_answer_is_in_the_vault_receive_it(notes: Vault) -> None:
    lines = [line.split("\t") for name in ("answered.tsv", "answered-unseen.tsv") for line in read(name)]
    assert len(lines) == 100
    answers = items = 0
    for n, (source, prompt) in enumerate(lines):
        told = [item.source for item in notes.inject(prompt, f"a{n}").items]
        answers += source in told
        items += len(told)
    assert answers >= 78
    assert answers / items >= 0.5  # the note that was meant; others may be relevant as well


def test_plain_questions_in_the_words_of_a_title_are_answered(notes: Vault) -> None:
    # 156 of 200 passed the gate while a question needed a word that one chunk of the vault has
    titles = {
        chunk.source: chunk.title.partition("›")[0].strip()
        for chunk in notes.list(limit=None)
        if chunk.source and chunk.title and "README" not in chunk.source
    }
    asked = sorted(titles.items())[::9]
    told = sum(
        source in [item.source for item in notes.inject(f"how do I {title[0].lower()}{title[1:]}?", f"t{n}").items]
        for n, (source, title) in enumerate(asked)
    )
    assert len(asked) > 200
    assert told >= 0.85 * len(asked), told


NEAR_MISSES = (
    "what is the salary of the CEO?", "why is the sky blue?", "what is the capital of Mongolia?", "what is our refund policy?",
    "what is the population of Norway?", "how tall is the Eiffel Tower?", "who painted the Mona Lisa?", "what is our vacation policy?",
    "what is the wifi password of the office?", "what is the best pizza in town?", "what is the speed of light?", "who wrote Hamlet?",
    "what is the boiling point of water?", "what colour is the logo?", "which river flows through Paris?", "what is the price of gold?",
    "when was the treaty of Versailles signed?", "what does the contract with the landlord say?", "who pays for the flights?",
    "wie hoch ist der Eiffelturm?", "was ist die Hauptstadt der Mongolei?", "warum ist der Himmel blau?", "where do penguins live?",
    "what is the temperature on Mars?", "how do I bake bread?",
)  # fmt: skip


def test_questions_of_the_world_are_told_nothing_for_half_of_their_words(notes: Vault) -> None:
    # "Capitalize All The Words" had 0.98 for the capital of Mongolia
    told = [prompt for n, prompt in enumerate(NEAR_MISSES) if notes.inject(prompt, f"n{n}").items]
    assert told == []
