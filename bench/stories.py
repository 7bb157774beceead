"""Planted stories: sessions in which what caused a trouble was done some chunks before the trouble was met.

A question is asked in the words of the trouble. Two causes in three share no content word with it, so only the order of
the session leads to them; one in three names the same place. Between the two lie unrelated chunks of the same project,
each session ends with some more, and other sessions meet the same kind of trouble in another part of the system.
"""

from __future__ import annotations

import random
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple

PLACES: Final = (
    "checkout", "billing", "search page", "upload form", "login screen", "export job", "invoice printer", "map view",
    "mail gateway", "image resizer", "report builder", "price feed", "stock ledger", "chat widget", "calendar sync",
    "label printer", "route planner", "video encoder", "backup agent", "survey editor", "profile page", "refund desk",
    "audit trail", "coupon engine",
)  # fmt: skip
TROUBLES: Final = (
    ("hangs for thirty seconds and then gives up", "why does the {place} hang and give up"),
    ("shows yesterday's numbers until it is reloaded twice", "why does the {place} show old numbers"),
    ("crashes with a segmentation fault on large files", "why does the {place} crash on large files"),
    ("writes every line twice", "why does the {place} write lines twice"),
    ("refuses names with accents", "why does the {place} refuse accents"),
    ("forgets who is signed in after lunch", "why does the {place} forget who is signed in"),
    ("answers with an empty body on the second try", "why does the {place} answer with an empty body"),
    ("eats all memory overnight", "why does the {place} eat memory overnight"),
)
CAUSES: Final = (
    "Raised the connection pool from 10 to 40 and kept the idle timeout as it was.",
    "Moved the cron entry one hour earlier so that both nodes start it together.",
    "Switched the compiler flags to aggressive vectorisation in the release profile.",
    "Replaced the queue consumer by two workers without a shared lock.",
    "Set the locale of the container to plain C to make the base layer smaller.",
    "Lowered the token lifetime to four hours after the security review.",
    "Turned on response compression in the proxy for everything under one kilobyte.",
    "Dropped the cache eviction rule because the tests complained about flakiness.",
)
NAMED: Final = 3
"""One in so many causes names the place, so that a search has a chance."""
ACTIONS: Final = (
    "Renamed", "Sorted", "Reviewed", "Documented", "Split", "Merged", "Benchmarked", "Linted", "Translated", "Drew",
    "Counted", "Archived", "Checked", "Drafted", "Labelled", "Measured",
)  # fmt: skip
THINGS: Final = (
    "the onboarding checklist", "fixtures for the parser tests", "icons of the toolbar", "the glossary of terms",
    "the changelog for the next release", "colours of the dark theme", "the licence headers", "the holiday rota",
    "typos in the handbook", "the folder of old screenshots", "keyboard shortcuts", "the dependency list",
    "the style of commit messages", "slides for the Friday meeting", "the map of services", "names of the test cases",
)  # fmt: skip
REMARKS: Final = (
    "Nothing else depended on it.", "The diff is small and green.", "Asked for a second pair of eyes.",
    "It took longer than planned.", "Left a note for the next person.", "Two open points remain for tomorrow.",
    "Nobody objected.", "Will come back to it after the freeze.",
)  # fmt: skip


class Planted(NamedTuple):
    """One planted story."""

    question: str
    cause: str
    """Id of the chunk that caused the trouble."""
    hit: str
    """Id of the chunk that tells of the trouble."""
    distance: int
    """Chunks from the cause to the hit."""


class Corpus(NamedTuple):
    """Records for `Vault.add`, links between their ids, and the stories in them."""

    records: list[dict[str, Any]]
    links: list[tuple[str, str]]
    stories: list[Planted]


def plant(stories: int = 120, furthest: int = 12, seed: int = 6, *, across: bool = False) -> Corpus:
    """Return sessions with stories at distances 1 to ``furthest`` in turn; every (place, trouble) occurs once.

    With ``across``, the last chunk of a session is linked to the first of the next, as it is for sessions of one project.
    """
    rng = random.Random(seed)
    pairs = [(place, trouble) for place in PLACES for trouble in range(len(TROUBLES))]
    rng.shuffle(pairs)
    if stories > len(pairs):
        raise ValueError(f"{stories} stories asked for, there are {len(pairs)} troubles")
    records: list[dict[str, Any]] = []
    links: list[tuple[str, str]] = []
    found: list[Planted] = []
    for number, (place, trouble) in enumerate(pairs[:stories]):
        distance = 1 + number % furthest
        session = f"s{number:04d}"
        before, after = rng.randint(0, 6), rng.randint(0, 6)
        texts = [_unrelated(rng) for _ in range(before + 1 + distance + after)]
        named = f" That was for the {place}." if rng.randrange(NAMED) == 0 else ""
        texts[before] = f"[User] go on\n\n[Assistant] {rng.choice(CAUSES)}{named} {rng.choice(REMARKS)}"
        texts[before + distance] = f"[User] look, the {place} {TROUBLES[trouble][0]}\n\n[Assistant] I see it too."
        ids = [f"{session}-{i:02d}" for i in range(len(texts))]
        records += [
            {
                "id": name, "text": text, "type": "conversation", "collection": "discussions", "project": "shop",
                "session": session, "created_at": f"2026-01-{1 + number % 28:02d}T{8 + number // 28:02d}:{i:02d}:00Z",
            }
            for i, (name, text) in enumerate(zip(ids, texts, strict=True))
        ]  # fmt: skip
        links += list(pairwise(ids))
        question = TROUBLES[trouble][1].format(place=place)
        found.append(Planted(question, ids[before], ids[before + distance], distance))
    if across:
        records.sort(key=lambda record: (record["created_at"], record["session"]))
        by_start = [list(some) for _, some in groupby(records, key=lambda record: record["session"])]
        links += [(before[-1]["id"], after[0]["id"]) for before, after in pairwise(by_start)]
    return Corpus(records, links, found)


def _unrelated(rng: random.Random) -> str:
    lines = [f"{rng.choice(ACTIONS)} {rng.choice(THINGS)}. {rng.choice(REMARKS)}" for _ in range(rng.randint(1, 6))]
    return f"[User] next: {rng.choice(THINGS)}\n\n[Assistant] " + " ".join(lines)


class Shares(NamedTuple):
    """In how many of the stories the cause was among what was returned."""

    chain: float
    """In the chain."""
    search: float
    """Among the first ten hits of a search."""
    as_long: float
    """Among as many hits of a search as have the tokens of the chain."""
    tokens: float
    """Of a chain, on average."""
    by_distance: dict[int, tuple[float, float]]
    """Chain and ten hits, by distance."""


def measure(vault: Any, stories: list[Planted], budget: int = 20_000) -> Shares:
    """Ask every story's question, by chain and by search."""
    told: list[tuple[int, bool, bool, bool, int]] = []
    for story in stories:
        chain = vault.chain(story.question, token_budget=budget)
        in_chain = chain.mode == "chain" and story.cause in {chunk.id for chunk in chain.chunks}
        ten = story.cause in {hit.id for hit in vault.recall(story.question, k=10)}
        long = vault.recall(story.question, k=1_000, token_budget=max(chain.tokens, 1))
        told.append((story.distance, in_chain, ten, story.cause in {hit.id for hit in long}, chain.tokens))
    distances = sorted({row[0] for row in told})
    by_distance = {
        d: (_share([row[1] for row in told if row[0] == d]), _share([row[2] for row in told if row[0] == d]))
        for d in distances
    }
    chain, search, as_long = (_share([bool(row[i]) for row in told]) for i in (1, 2, 3))
    return Shares(chain, search, as_long, _mean([row[4] for row in told]), by_distance)


def fill(vault: Any, corpus: Corpus) -> None:
    """Put a corpus into a vault, links included."""
    from lamina_engine.graph.log import Draft, write

    vault.add(corpus.records)
    write(vault._memory, [Draft(source, target, "next") for source, target in corpus.links])


def _share(found: list[bool]) -> float:
    return sum(found) / len(found) if found else 0.0


def _mean(values: list[int]) -> float:
    return sum(values) / len(values) if values else 0.0
