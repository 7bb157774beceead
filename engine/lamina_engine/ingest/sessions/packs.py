"""Chunks as columns, many at a time: the shape in which they travel between processes and into the log."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from lamina_engine.chunks import batch
from lamina_engine.ingest.sessions.events import Thread
from lamina_engine.ingest.sessions.turns import Cut

PACK_CHUNKS: Final = 256
"""Chunks that are handed over at once."""

_ENCODER: Final = msgspec.json.Encoder(order="sorted")

Place = tuple[str, str, int, int, bool]
"""Session, agent, turn and piece of a chunk, or number of a summary; whether it is one."""


class Pack(msgspec.Struct):
    """Chunks that follow each other in a file; each list but the first has one value a chunk."""

    threads: list[Thread] = []
    """Those that the chunks are of."""
    owners: list[int] = []
    """Which of them."""
    texts: list[str] = []
    metadata: list[str] = []
    """JSON."""
    ordinals: list[int] = []
    created_us: list[int | None] = []
    turns: list[int] = []
    """The first one of each; of a summary its number."""
    pieces: list[int] = []
    follows: list[bool] = []
    """Whether the chunk before it in its thread is about the same topic."""
    summaries: list[bool] = []
    """Whether it sums the session up."""


def packed(cuts: Iterable[Cut]) -> Iterator[Pack]:
    """Yield chunks in packs of `PACK_CHUNKS`, as they come."""
    rest = iter(cuts)
    while some := list(itertools.islice(rest, PACK_CHUNKS)):
        pack = Pack()
        last: Thread | None = None
        for cut in some:
            if cut.thread is not last:
                last = cut.thread
                pack.threads.append(last)
            pack.owners.append(len(pack.threads) - 1)
        pack.texts = [cut.text for cut in some]
        pack.metadata = [_ENCODER.encode(cut.facts).decode() for cut in some]
        pack.ordinals = [cut.ordinal for cut in some]
        pack.created_us = [cut.created_us for cut in some]
        pack.turns = [cut.turns[0] for cut in some]
        pack.pieces = [cut.piece for cut in some]
        pack.follows = [cut.follows for cut in some]
        pack.summaries = [cut.summary for cut in some]
        yield pack


def chunk_ids(places: Iterable[Place]) -> list[str]:
    """Return the ids of chunks of sessions: by their places, so that they stay when texts grow."""
    return batch.new_ids(
        ("summary" if summary else "session", session, agent, str(turn), str(piece))
        for session, agent, turn, piece, summary in places
    )


class Naming:
    """Names the chunks of a file, pack by pack.

    Parameters
    ----------
    key_of : callable
        Gives the session that a thread's chunks belong to; asked once for each session and agent.
    """

    def __init__(self, key_of: Callable[[Thread], str]) -> None:
        self._key_of = key_of
        self._keys: dict[tuple[str, str], str] = {}
        self._last: dict[tuple[str, str], str] = {}

    def __call__(self, pack: Pack) -> tuple[list[str], list[str | None], list[str]]:
        """Return ids, the id of the chunk before each where it is about the same, and sessions."""
        threads = [(thread.session, thread.agent) for thread in pack.threads]
        for told, thread in zip(threads, pack.threads, strict=True):
            if told not in self._keys:
                self._keys[told] = self._key_of(thread)
        keys = [self._keys[told] for told in threads]
        sessions = [keys[owner] for owner in pack.owners]
        agents = [threads[owner][1] for owner in pack.owners]
        names = chunk_ids(zip(sessions, agents, pack.turns, pack.pieces, pack.summaries, strict=True))
        after: list[str | None] = []
        last = self._last
        for name, owner, follows, summary in zip(names, pack.owners, pack.follows, pack.summaries, strict=True):
            after.append(last.get(threads[owner]) if follows else None)
            if not summary:
                last[threads[owner]] = name
        return names, after, sessions
