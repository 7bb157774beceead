"""What the benches ask of every system, and Lamina behind it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, Self

import lamina
from bench.corpus import NOW_S, PROJECTS, Corpus, K, Query
from lamina_engine.profiles import BUILT_IN


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


def _only(project: int | None) -> dict[str, str] | None:
    return None if project is None else {"project": PROJECTS[project]}
