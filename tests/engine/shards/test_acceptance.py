"""The acceptance of sharding: 100,000 real chunks, 1,000 recalls over every profile, filter and moment; long form."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lamina
from bench import harvest
from lamina import FixedClock, Vault
from tests.engine.shards.corpus import PROFILES, plain

SIZE, RECALLS = 100_000, 1_000
NOW, LATER = "2026-09-01T00:00:00Z", "2026-10-01T00:00:00Z"
MOMENTS = (None, "2026-05-15T00:00:00Z", None, "2026-08-15T00:00:00Z")
FILTERS: tuple[dict[str, Any] | None, ...] = (
    None,
    {"project": "project-03"},
    {"type": {"in": ["note", "guideline"]}},
    {"created_at": {"gte": "2026-01-01"}, "NOT": {"project": "project-01"}},
    {"metadata.part": 7},
)


def real_texts(count: int) -> list[str]:
    """Return distinct passages of 25 to 60 words that people wrote: docstrings, comments, documents of packages."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("LEAST_WORDS", 25), ("ENOUGH_WORDS", 40), ("MOST_WORDS", 60), ("MOST_OF_A_FILE", 400)):
            patch.setattr(harvest, name, value)
        return [chunk.text for chunk in itertools.islice(harvest.chunks(), count)]


def questions_of(texts: list[str]) -> list[str]:
    """Return passages of twelve words, of which every fifth is left out."""
    words = [text.split()[6:18] for text in texts[:: max(len(texts) // 211, 1)]]
    return [" ".join(word for n, word in enumerate(each) if n % 5 != 2) for each in words]


def records(texts: list[str], start: int, stop: int) -> list[dict[str, Any]]:
    """Return texts as chunks of files of some forty, in projects, with dates."""
    return [
        {
            "id": str(n), "text": texts[n], "source": f"{n // 40}.md", "project": f"project-{n * 7919 % 20:02d}",
            "type": ("note", "guideline", "decision", "agent_memory")[n * 31 % 4], "metadata": {"part": n % 9},
            "created_at": f"202{4 + n % 3}-0{1 + n * 13 % 9}-{1 + n * 17 % 28:02d}T{n % 24:02d}:00:00Z",
        }
        for n in range(start, stop)
    ]  # fmt: skip


def change(vault: Vault, first: int) -> None:
    """Update, invalidate, link, and say facts of some chunks."""
    ids = [str(first + n) for n in range(0, 4_000, 40)]
    for name in ids[:20]:
        vault.update(name, text=f"Told again of {name}: the cache of the parser was moved.")
    for name in ids[20:40]:
        vault.invalidate(name, "no longer so")
    for one, other in itertools.pairwise(ids[40:70]):
        vault.link(one, other, "causal")
    vault.facts.add("The parser", "port", f"{9000 + first % 900}", source=ids[70])


def answers(vault: Vault, questions: list[str], count: int) -> Iterator[bytes]:
    """Yield the bytes of the answers to every question in every profile, with every filter, at every moment."""
    import msgspec

    asked = itertools.product(PROFILES, FILTERS, MOMENTS)
    for n, (profile, where, moment) in enumerate(itertools.islice(itertools.cycle(asked), count)):
        query = questions[n % len(questions)]
        if n % 7 == 3:
            query = f"why {query}"
        found = vault.recall(query, profile=profile, where=where, as_of=moment)
        yield msgspec.json.encode([n, query, profile, where, moment, plain(found.to_dict()), found.explain()])


def reopened(place: Path) -> Vault:
    return lamina.open(place, clock=FixedClock(LATER))


@pytest.mark.slow
def test_100_000_chunks_in_1_2_and_8_shards_give_equal_bytes(tmp_path: Path) -> None:
    texts = real_texts(SIZE)
    if len(texts) < SIZE:
        pytest.skip(f"the packages installed here hold {len(texts):,} passages")
    questions = questions_of(texts)
    for month in range(4, 9):
        start, step = (month - 4) * SIZE // 5, SIZE // 5
        with lamina.open(tmp_path / "local", create=True, clock=FixedClock(f"2026-0{month}-01T00:00:00Z")) as vault:
            vault.add(records(texts, start, start + step))
            change(vault, start)
    with lamina.open(tmp_path / "local", clock=FixedClock(NOW)) as local:
        for shards in (1, 2, 8):
            local.shard(tmp_path / f"in-{shards}", shards)
    places = [tmp_path / "local", *(tmp_path / f"in-{shards}" for shards in (1, 2, 8))]
    for written in (False, True):
        if written:
            for place in places:
                with lamina.open(place, clock=FixedClock(LATER)) as vault:
                    vault.add([{**each, "id": f"new-{each['id']}"} for each in records(texts, 0, 2_000)])
                    change(vault, 8_000)
                    vault.forget(ids=[str(n) for n in range(50_000, 50_040)], dry_run=False)
        with reopened(places[0]) as local:
            ours = list(answers(local, questions, RECALLS))
        for place in places[1:]:
            with reopened(place) as sharded:
                differing = [a for a, b in zip(ours, answers(sharded, questions, RECALLS), strict=True) if a != b]
            assert not differing, (place.name, written, len(differing), differing[0][:200])
