from __future__ import annotations

from pathlib import Path

import pytest

from lamina_engine.index.view import View
from lamina_engine.memory import Memory
from lamina_engine.store.transaction import LogWriter, Transaction


class Steps(LogWriter[str, int]):
    """Notes the order of its steps; appends one event."""

    def __init__(self, memory: Memory, *, bad: bool = False) -> None:
        super().__init__(memory)
        self.steps: list[str] = []
        self.bad = bad

    def plan(self, view: View) -> str:
        self.steps.append(f"plan {view.snapshot.rows('events')}")
        return "pin"

    def append(self, transaction: Transaction, view: View, plan: str) -> int:
        values = {"kind": [plan], "chunk": [""], "row": [-1], "reason": [None], "detail": [None]}
        transaction.append("events", values, transaction.stamps(1))
        self.steps.append("append")
        if self.bad:
            raise ValueError("bad")
        return 1

    def sync_index(self, counts: int) -> None:
        self.steps.append(f"sync {self.memory.store.snapshot().rows('events')} {counts}")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "vault", create=True, embedder="none")


def test_what_is_derived_is_synced_after_the_commit(memory: Memory) -> None:
    writer = Steps(memory)
    assert writer.write() == 1
    assert writer.steps == ["plan 0", "append", "sync 1 1"]


def test_a_failure_writes_and_syncs_nothing(memory: Memory) -> None:
    writer = Steps(memory, bad=True)
    with pytest.raises(ValueError, match="bad"):
        writer.write()
    assert writer.steps == ["plan 0", "append"]
    assert memory.store.snapshot().rows("events") == 0


def test_within_a_transaction_its_owner_syncs(memory: Memory) -> None:
    first, second = Steps(memory), Steps(memory)
    with memory.write() as (transaction, view):
        assert first.append_to(transaction, view) + second.append_to(transaction, view) == 2
    assert first.steps + second.steps == ["plan 0", "append"] * 2
    assert memory.store.snapshot().rows("events") == 2
