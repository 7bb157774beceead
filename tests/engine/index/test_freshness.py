from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import lamina
from lamina import FixedClock, Vault
from lamina_engine.index.freshness import TIERS, Freshness
from lamina_engine.index.state import State
from tests.conftest import MEMORY

KINDS = ("review", "reviewed", "scan", "snooze", "wake", "update", "add")
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 3), st.integers(0, 4)), max_size=12)


class Model:
    """What should be known of four chunks, kept in plain dicts by id."""

    def __init__(self, vault: Vault) -> None:
        self.vault, self.memory = vault, vault._memory
        self.names = [f"c{i}" for i in range(4)]
        vault.add([{"text": f"words of {name}", "id": name} for name in self.names])
        self.tier: dict[str, str] = {}
        self.found: dict[str, bool] = {}
        self.manual: dict[str, bool] = {}
        self.asleep: dict[str, int] = {}

    def step(self, kind: str, name: str, n: int) -> None:
        view = self.memory.view()
        row = int(view.rows_of_ids([name])[0])
        if kind == "review":
            self.vault.review(name, "look")
            self.manual[name] = True
        elif kind == "reviewed":
            self.vault.review(name, needed=False)
            self.manual[name] = self.found[name] = False
        elif kind == "scan":
            verdict: dict[str, Any] = {
                "tier": [TIERS[n]],
                "reason": ["commits"],
                "commits": [0],
                "review": [n % 2 == 1],
            }
            with self.memory.write() as (transaction, _):
                verdict |= {"chunk": [name], "row": [row], "path": [None]}
                transaction.append("freshness", verdict, transaction.stamps(1))
            self.tier[name], self.found[name] = TIERS[n], n % 2 == 1
        elif kind == "snooze":
            self.vault.snooze(name, 2_000_000_000 + n)
            self.asleep[name] = (2_000_000_000 + n) * 1_000_000
        elif kind == "wake":
            self.vault.snooze(name, None)
            self.asleep.pop(name, None)
        elif kind == "update":
            self.vault.update(name, text=f"words of {name} at {view.rows}")
            for facts in (self.tier, self.found, self.manual):
                facts.pop(name, None)
        else:
            self.vault.add(f"more at {view.rows}")

    def check(self) -> None:
        view = self.memory.view()
        rows = view.rows_of_ids(self.names)
        assert view.freshness.tiers_of(rows) == [self.tier.get(name) for name in self.names]
        ref = [self.manual.get(name, False) or self.found.get(name, False) for name in self.names]
        assert view.freshness.review_of(rows) == ref == view.freshness.review[rows].tolist()
        assert [view.state.snoozed.get(row) for row in rows.tolist()] == [self.asleep.get(name) for name in self.names]

    def check_against_a_new_reading(self) -> None:
        view = self.memory.view()
        events, scans = (view.snapshot.rows(log) for log in ("events", "freshness"))
        ref = Freshness(view.snapshot, rows=view.rows, events=events, scans=scans)
        for name in ("tier", "found", "manual"):
            assert np.array_equal(getattr(view.freshness, name), getattr(ref, name))
        assert view.state.snoozed == State(view.snapshot).snoozed


@given(STEPS)
def test_going_on_from_a_former_version_gives_what_a_new_reading_gives(steps: list[tuple[str, int, int]]) -> None:
    with (
        tempfile.TemporaryDirectory(dir=MEMORY) as folder,
        lamina.open(folder, create=True, embedder="none", clock=FixedClock("2026-03-01")) as vault,
    ):
        model = Model(vault)
        for kind, i, n in steps:
            model.step(kind, model.names[i], n)
            model.check()
            model.check_against_a_new_reading()
