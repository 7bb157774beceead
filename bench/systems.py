"""What the benches ask of every system, and Lamina behind it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Final, Protocol, Self

import numpy as np

import lamina
from bench.corpus import NOW_S, PROJECTS, Corpus, K, Query
from lamina_engine.profiles import BUILT_IN

MOST_ADDED: Final = 1_000
"""Most rows that one of many ingests adds."""


class System(Protocol):
    """A store that is filled from a corpus and then asked.

    ``hybrid`` returns texts, ``lexical`` and ``dense`` return row numbers; all of them `K`, best first. A project is
    a number of `PROJECTS`; a system that cannot filter, or has no such lane, says so by not being in that bench.
    """

    label: ClassVar[str]
    settings: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]
    """Import names, as in `bench.peers.PEERS`."""
    most_rows: ClassVar[int]
    """Larger corpora are left out: building takes too long."""

    @classmethod
    def build(cls, corpus: Corpus, folder: Path) -> Self: ...

    def close(self) -> None: ...


class Hybrid(System, Protocol):
    """One with words and vectors."""

    def hybrid(self, query: Query, project: int | None = None) -> list[str]: ...

    def dense(self, query: Query, project: int | None = None) -> list[int]: ...


class Lexical(System, Protocol):
    """One with words."""

    def lexical(self, query: Query) -> list[int]: ...


@dataclass
class Lamina:
    """A vault, asked with the profile under which scores age."""

    vault: lamina.Vault
    label: ClassVar[str] = "Lamina"
    settings: ClassVar[str] = f"profile temporal, depth {BUILT_IN['temporal@1'].depth}"
    packages: ClassVar[tuple[str, ...]] = ()
    most_rows: ClassVar[int] = 10_000_000

    @classmethod
    def build(cls, corpus: Corpus, folder: Path) -> Self:
        vault = lamina.open(folder / "vault", create=True)
        vault.add(corpus.table())
        return cls(vault)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open what `build` made."""
        return cls(lamina.open(folder / "vault"))

    def hybrid(self, query: Query, project: int | None = None) -> list[str]:
        hits = self.vault.recall(
            query.text, K, profile="temporal", where=_only(project), vector=query.vector, now=NOW_S
        )
        return [hit.text for hit in hits]

    def prompt(self, text: str) -> list[str]:
        return [hit.text for hit in self.vault.recall(text, K, profile="temporal", now=NOW_S)]

    def dense(self, query: Query, project: int | None = None) -> list[int]:
        hits = self.vault.recall(
            query.text, K, profile="default", lanes=["vector"], where=_only(project), vector=query.vector, now=NOW_S
        )
        return [int(hit.id) for hit in hits]

    def lexical(self, query: Query) -> list[int]:
        return [int(hit.id) for hit in self.vault.recall(query.text, K, profile="lexical", now=NOW_S)]

    def close(self) -> None:
        self.vault.close()


class GrownLamina(Lamina):
    """A vault that many ingests filled, a few hundred rows at a time: it has small segments, and more of them."""

    label: ClassVar[str] = f"Lamina, filled by adds of 1 to {MOST_ADDED:,} rows"

    @classmethod
    def build(cls, corpus: Corpus, folder: Path) -> Self:
        vault, table = lamina.open(folder / "vault", create=True), corpus.table()
        sizes = np.random.default_rng(0).integers(1, MOST_ADDED, corpus.size, endpoint=True)
        ends = np.minimum(np.cumsum(sizes), corpus.size)
        for start, stop in pairwise([0, *np.unique(ends).tolist()]):
            vault.add(table.slice(start, stop - start))
        return cls(vault)


def _only(project: int | None) -> dict[str, str] | None:
    return None if project is None else {"project": PROJECTS[project]}
