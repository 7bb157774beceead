"""A vault against a dictionary: any sequence of calls, crashes and other writers leaves both the same."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lamina.vault import Vault
from lamina_engine.care.verify import verify
from lamina_engine.clock import FixedClock
from lamina_engine.memory import Memory
from lamina_engine.store.files import Files
from lamina_engine.store.store import Store
from tests.conftest import MEMORY
from tests.engine.store.faults import Crash, FaultyFiles, Quick, orphans


@dataclass
class Known:
    """What the model knows of a chunk."""

    texts: list[str]
    invalidated: bool = False
    pinned: bool = False
    events: list[str] = field(default_factory=list)

    def copy(self) -> Known:
        return Known(list(self.texts), self.invalidated, self.pinned, list(self.events))


class VaultModel(RuleBasedStateMachine):
    """Two handles on one vault, either of which may write, crash and come back."""

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp(prefix="lamina-model-", dir=MEMORY))
        self.root = self.top / "vault"
        self.clock = FixedClock("2026-03-01")
        self.known: dict[str, Known] = {}
        # words without a part or a stem in common: "word1" would be found by the "word" of "word0"
        self.words = ("".join("bcdfghjklm"[int(digit)] for digit in f"{number:05}") for number in itertools.count())
        Store.create(self.root, clock=self.clock, files=Quick())
        self.vaults = [self.handle(), self.handle()]

    def handle(self, files: Files | None = None) -> Vault:
        return Vault(Memory(self.root, embedder="none", clock=self.clock, files=files or Quick()))

    def teardown(self) -> None:
        for vault in self.vaults:
            vault.close()
        report = verify(self.root, deep=True)
        assert report.ok, report.problems
        shutil.rmtree(self.top)

    def pick(self, data: st.DataObject) -> tuple[str, Known]:
        name = data.draw(st.sampled_from(sorted(self.known)), label="chunk")
        return name, self.known[name]

    which = st.integers(0, 1)

    @initialize(n=st.integers(0, 20))
    def begin(self, n: int) -> None:
        self.add_many(0, n)

    @rule(which=which, n=st.integers(0, 20))
    def add_many(self, which: int, n: int) -> None:
        texts = [next(self.words) for _ in range(n)]
        names = self.vaults[which].add([{"text": text} for text in texts])
        assert len(set(names)) == n
        assert not set(names) & self.known.keys()
        self.known.update({name: Known([text]) for name, text in zip(names, texts, strict=True)})

    @precondition(lambda self: self.known)
    @rule(which=which, data=st.data())
    def add_the_same_again(self, which: int, data: st.DataObject) -> None:
        name, known = self.pick(data)
        before = self.version()
        assert self.vaults[which].add({"id": name, "text": known.texts[-1]}) == [name]
        assert self.version() == before

    @precondition(lambda self: self.known)
    @rule(which=which, data=st.data())
    def update(self, which: int, data: st.DataObject) -> None:
        name, known = self.pick(data)
        text = next(self.words)
        chunk = self.vaults[which].update(name, text=text)
        self.updated(known, text)
        assert (chunk.id, chunk.text, chunk.pinned, chunk.status) == (name, text, known.pinned, "active")

    def updated(self, known: Known, text: str) -> None:
        known.texts.append(text)
        known.invalidated = False
        known.events.append("updated")
        if known.pinned:
            known.events.append("pin")

    @precondition(lambda self: self.known)
    @rule(which=which, data=st.data(), kind=st.sampled_from(["invalidate", "restore", "pin", "unpin"]))
    def say(self, which: int, data: st.DataObject, kind: str) -> None:
        name, known = self.pick(data)
        vault = self.vaults[which]
        changes = {
            "invalidate": not known.invalidated, "restore": known.invalidated,
            "pin": not known.pinned, "unpin": known.pinned,
        }[kind]  # fmt: skip
        if kind in ("invalidate", "restore"):
            chunk = vault.invalidate(name, "because") if kind == "invalidate" else vault.restore(name)
            known.invalidated = kind == "invalidate"
        else:
            chunk = vault.pin(name, pinned=kind == "pin")
            known.pinned = kind == "pin"
        if changes:
            known.events.append(kind)
        assert (chunk.status == "invalidated", chunk.pinned) == (known.invalidated, known.pinned)

    @rule(which=which, at=st.integers(1, 30), kind=st.sampled_from(["nospace", "io", "crash", "crash after"]))
    def add_with_a_fault(self, which: int, at: int, kind: str) -> None:
        text = next(self.words)
        vault = self.handle(FaultyFiles(at, kind))
        try:
            (name,) = vault.add(text)
        except (OSError, Crash):
            found = [c for c in self.vaults[1 - which].list(limit=None) if c.text == text]
            if found:  # it is there as a whole, or not at all
                self.known[found[0].id] = Known([text])
        else:
            self.known[name] = Known([text])

    @precondition(lambda self: self.known)
    @rule(data=st.data(), at=st.integers(1, 30), kind=st.sampled_from(["io", "crash"]))
    def update_with_a_fault(self, data: st.DataObject, at: int, kind: str) -> None:
        name, known = self.pick(data)
        text = next(self.words)
        try:
            self.handle(FaultyFiles(at, kind)).update(name, text=text)
        except (OSError, Crash):
            if self.vaults[0].get(name).text == text:
                self.updated(known, text)
        else:
            self.updated(known, text)

    @rule(which=which)
    def reopen(self, which: int) -> None:
        self.vaults[which].close()
        self.vaults[which] = self.handle()

    @rule(seconds=st.sampled_from([-3600.0, 0.5, 86_400.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(which=which)
    def no_leftovers_after_a_write(self, which: int) -> None:
        text = next(self.words)
        (name,) = self.handle().add(text)
        self.known[name] = Known([text])
        assert orphans(self.root) == []

    @precondition(lambda self: self.known)
    @rule(which=which, data=st.data())
    def look_at_one(self, which: int, data: st.DataObject) -> None:
        name, known = self.pick(data)
        vault = self.vaults[which]
        chunk = vault.get(name)
        assert (chunk.text, chunk.pinned) == (known.texts[-1], known.pinned)
        history = vault.history(name)
        assert [entry.chunk.text for entry in history if entry.chunk is not None] == known.texts
        assert [entry.kind for entry in history][1:] == known.events
        where = {"status": {"in": ["active", "invalidated"]}}
        hits = vault.recall(known.texts[-1], k=1, where=where)
        assert [hit.id for hit in hits] == [name]
        if len(known.texts) > 1:
            assert name not in [hit.id for hit in vault.recall(known.texts[0], k=3)]

    @invariant()
    def lists_agree(self) -> None:
        for vault in self.vaults:
            active: Any = vault.list(limit=None)
            assert {c.id: (c.text, c.pinned) for c in active} == {
                name: (k.texts[-1], k.pinned) for name, k in self.known.items() if not k.invalidated
            }
            gone = vault.list({"status": "invalidated"}, limit=None)
            assert {c.id for c in gone} == {name for name, k in self.known.items() if k.invalidated}

    def version(self) -> int:
        return Store(self.root).snapshot().version


QUICK = settings(
    max_examples=12, stateful_step_count=20, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def test_a_vault_is_what_a_dictionary_says() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(VaultModel, settings=QUICK)


@pytest.mark.slow
def test_a_vault_is_what_a_dictionary_says_at_length() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        VaultModel, settings=settings(QUICK, max_examples=300, stateful_step_count=60, derandomize=False)
    )
