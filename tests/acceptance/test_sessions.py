"""Chains over sessions: pauses, unrelated sessions, unrelated questions; on texts that no rule was written from.

HotpotQA's passages and questions were not looked at while the thresholds were chosen (on notes about programming, and on
everyday questions).
"""

from __future__ import annotations

import gzip
import json
import random
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pytest

import lamina
from bench.stories import Corpus, plant
from lamina import FixedClock, Vault
from tests.engine.sessions.workday import ClaudeCodeDay

PAIRS: Final = 100
QUESTIONS: Final = 50


@pytest.fixture(scope="module")
def passages(data: Path) -> list[list[str]]:
    """Sentences of passages that are long enough to be cut in two."""
    with gzip.open(data / "multihop-dev" / "hotpotqa_train_corpus.json.gz", "rt", encoding="utf-8") as file:
        corpus = json.load(file)
    texts = corpus.values() if isinstance(corpus, dict) else [entry.get("text", entry) for entry in corpus]
    found = [_sentences(text) for text in texts]
    return [sentences for sentences in found if len(sentences) >= 4]


@pytest.fixture(scope="module")
def questions(data: Path) -> list[str]:
    with gzip.open(data / "multihop-dev" / "hotpotqa_train.json.gz", "rt", encoding="utf-8") as file:
        return [entry["question"] for entry in json.load(file)]


def _sentences(text: Any) -> list[str]:
    joined = " ".join(text) if isinstance(text, list) else str(text)
    return [f"{part.strip().rstrip('.')}." for part in joined.split(". ") if part.strip()]


def pair(vault: Vault, project: str, first: list[str], second: list[str], *, transcript: Path | None) -> bool:
    """Whether the second of two sessions of a project is joined to the first."""
    if transcript is None:
        for day, sentences in ((1, first), (4, second)):
            records = [{"text": s, "created_at": f"2026-05-{day:02}T09:{i:02}:00Z"} for i, s in enumerate(sentences)]
            vault.add(records, session=f"{project}-{day}", project=project)
        return True
    for day, sentences in ((1, first), (4, second)):
        written = ClaudeCodeDay(f"{project}-{day}", f"/code/{project}", f"2026-05-{day:02}T09:00:00Z")
        for question, answer in zip(sentences[::2], sentences[1::2], strict=False):
            written.ask(question)
            written.say(answer)
            written.run("git status", "On branch main\nnothing to commit, working tree clean")
        written.write(transcript / project)
    return True


def joined(vault: Vault) -> int:
    """How many projects have a step from their first session to the second."""
    found = set()
    for chunk in vault.list({"session": {"contains": "-1"}}, limit=10_000):
        for link in vault.links(chunk.id, direction="out", relations=["next"]):
            other = vault.get(link.target)
            if other.session != chunk.session:
                found.add(chunk.project)
    return len(found)


@pytest.mark.parametrize("kind", ["added", "transcripts"])
@pytest.mark.parametrize(("alike", "least", "most"), [(False, 0, 5), (True, 70, 100)])
def test_sessions_are_joined_where_the_matter_goes_on(
    passages: list[list[str]], tmp_path: Path, clock: FixedClock, kind: str, alike: bool, least: int, most: int
) -> None:
    rng = random.Random(17)
    folder = tmp_path / "projects" if kind == "transcripts" else None
    with lamina.open(tmp_path / "vault", create=True, clock=clock) as vault:
        for number in range(PAIRS):
            one, other = rng.sample(passages, 2)
            half = len(one) // 2
            first, second = (one[:half], one[half:]) if alike else (one, other)
            pair(vault, f"p{number:03}", first, second, transcript=folder)
        if folder is not None:
            vault.ingest(folder, kind="sessions")
        else:
            vault.build_links(["sequence"])
        got = joined(vault)
    assert least <= got <= most


@pytest.mark.parametrize("embedder", ["wordllama", "none"])
def test_a_pause_of_31_minutes_keeps_the_chain(tmp_path: Path, clock: FixedClock, embedder: str) -> None:
    corpus = paused(plant(60, seed=23))
    with lamina.open(tmp_path / "vault", create=True, clock=clock, embedder=embedder) as vault:
        vault.add(corpus.records)
        vault.build_links(["sequence"])
        told = 0
        for story in corpus.stories:
            found = vault.chain(story.question)
            told += found.mode == "chain" and story.cause in {chunk.id for chunk in found.chunks}
    assert told >= 0.95 * len(corpus.stories)


def paused(corpus: Corpus) -> Corpus:
    """The same stories as added sessions, each of a project of its own, with 31 minutes between any two chunks."""
    records = []
    for session, some in groupby(corpus.records, key=lambda record: record["session"]):
        for i, record in enumerate(some):
            minute = 31 * i
            created = f"2026-01-{1 + minute // 1440:02}T{minute // 60 % 24:02}:{minute % 60:02}:00Z"
            records.append({**record, "type": "note", "project": session, "created_at": created})
    return Corpus(records, [], corpus.stories)


@pytest.mark.parametrize("embedder", ["wordllama", "none"])
def test_questions_about_something_else_get_no_chain(
    questions: list[str], tmp_path: Path, clock: FixedClock, embedder: str
) -> None:
    corpus = plant(120, seed=23)
    with lamina.open(tmp_path / "vault", create=True, clock=clock, embedder=embedder) as vault:
        vault.add(corpus.records)
        vault.build_links(["sequence"])
        stories = [vault.chain(question) for question in random.Random(17).sample(questions, QUESTIONS)]
    told = [story.query for story in stories if story.mode == "chain"]
    assert len(told) <= 2, told
    assert all(story.reason for story in stories if story.mode == "search")
