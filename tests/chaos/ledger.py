"""The judge: a plain dictionary of what was acknowledged, and what a vault shows of it.

A key names one thing (a chunk by the mark its text begins with, a link by its ends, a fact by its subject), its value what
must be found. A write that was begun and not acknowledged has happened or not: all of it or nothing where it is one commit, else some of
it; what waits in the queue of captures may happen later.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeAlias

import lamina

Key: TypeAlias = str
Value: TypeAlias = str | None
"""None of what must not be there."""
Changes: TypeAlias = dict[Key, Value]

RELATION = "supporting"
PREDICATE = "port"
MAX_CHUNKS = 100_000


def observe(vault: lamina.Vault) -> dict[Key, str]:
    """Return everything in a vault that writers of chaos made."""
    seen: dict[Key, str] = {}
    for chunk in vault.list({"status": {"exists": True}}, MAX_CHUNKS):
        if chunk.status == "superseded" or chunk.role == "derived":  # a handoff tells of the turns
            continue
        for text in chunk.text.split("mark:")[1:]:  # a chunk of a session has several turns
            mark = text.split(maxsplit=1)[0]
            assert f"chunk {mark}" not in seen, f"{mark} is there twice: as {seen[f'chunk {mark}']}, and {chunk}"
            assert chunk.id == mark or mark[0] in "fimt", f"{chunk.id} has the text of {mark}"
            seen[f"chunk {mark}"] = shown(text, chunk.status)
    for fact in vault.facts.list(predicate=PREDICATE, limit=None):
        seen[f"fact {fact.subject}"] = str(fact.object)
    for mark in [key[6:] for key in seen if key.startswith("chunk b")]:
        for link in vault.links(mark, direction="out", relations=[RELATION]):
            seen[f"link {link.source} {link.target}"] = RELATION
    return seen


def shown(text: str, status: str = "active") -> str:
    """Return what must be seen of a text of chaos: its status, and what is its own."""
    return f"{status} {text.removeprefix('mark:').partition(' end')[0]}"


def mark_of(text: str) -> str | None:
    """Return the mark that a text of chaos begins with."""
    _, found, rest = text.partition("mark:")
    return rest.split(maxsplit=1)[0] if found else None


class Ledger:
    """What the writers said, and what was judged."""

    def __init__(self) -> None:
        self.expected: dict[Key, Value] = {}
        self.open: list[Changes] = []
        """Begun and not acknowledged; one entry for each commit."""
        self.waiting: Changes = {}
        """Asked for, and done by whoever works the queue off."""
        self.forgotten: set[Key] = set()
        self.acknowledged = 0
        self.looked_up = 0
        self.lost: list[str] = []
        self.torn: list[str] = []
        self.back: list[str] = []

    def _adopt(self, changes: Changes) -> None:
        for key, value in changes.items():
            (self.forgotten.discard if value is not None else self.forgotten.add)(key)
            self.expected[key] = value

    def read(self, journal: Path) -> list[str]:
        """Take in a writer's journal, its last line perhaps cut; return the errors that it noted."""
        begun: list[Changes] = []
        errors = []
        for line in journal.read_bytes().split(b"\n")[:-1] if journal.exists() else ():
            word, given = json.loads(line)
            if word == "begin":
                begun = [given]
            elif word == "begin parts":
                begun = [{key: value} for key, value in given.items()]
            elif word == "ask":
                self.waiting |= given
            elif word == "done":
                self.acknowledged += 1
                self._adopt(given)
                begun = []
            elif word == "error":
                errors.append(str(given))
        self.open += begun
        return errors

    def judge(self, seen: dict[Key, str]) -> None:
        """Compare with what a vault shows; what was begun is settled by it."""
        begun = [*self.open, *({key: value} for key, value in self.waiting.items())]
        # whole ones first: of two writers that were to forget a chunk, one may have, and the other not have begun
        for changes in sorted(begun, key=lambda each: any(seen.get(key) != value for key, value in each.items())):
            happened = {key for key, value in changes.items() if seen.get(key) == value}
            same = {key for key, value in changes.items() if self.expected.get(key) == value}
            if happened - same and happened != set(changes):
                self.torn.append(f"part of a write: {sorted(set(changes) - happened)[:3]}")
            if happened - same:
                self._adopt({key: changes[key] for key in happened})
        self.open.clear()
        for key in self.expected.keys() | seen.keys():
            want, got = self.expected.get(key), seen.get(key)
            self.looked_up += 1
            if want == got:
                continue
            (self.lost if want is not None else self.back).append(f"{key}: {want!r} was acknowledged, found {got!r}")
            if got is None:
                self.expected.pop(key)
            else:
                self.expected[key] = got

    def marks(self, letters: str, slot: int, slots: int) -> list[str]:
        """Return the chunks in force of some kinds that writers of one slot may change."""
        return [
            key[6:]
            for key, value in self.expected.items()
            if value is not None
            and key.startswith("chunk ")
            and key[6] in letters
            and sum(key.encode()) % slots == slot
        ]

    def failures(self) -> list[str]:
        """Return everything that must not be."""
        return [*self.lost, *self.torn, *self.back]


class Journal:
    """A writer's lines to the judge, whole whatever kills it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self._descriptor = path, descriptor

    def write(self, word: str, given: Any) -> None:
        """Append one line at once."""
        os.write(self._descriptor, json.dumps([word, given]).encode() + b"\n")
