from __future__ import annotations

import numpy as np
import pytest

from lamina import FixedClock, Vault
from lamina_engine.chunks.writing import add_events
from lamina_engine.index.state import FORGOTTEN, STATUS_NAMES, State
from lamina_engine.index.view import View

MEANING = {
    "supersede": "superseded",
    "invalidate": "invalidated",
    "restore": "active",
    "remove": "removed",
    "forget": "forgotten",
}


def replay(events: list[tuple[str, int]], rows: int) -> tuple[list[str], list[int]]:
    status, pinned = ["active"] * rows, [0] * rows
    for kind, row in events:
        if 0 <= row < rows:
            status[row] = MEANING.get(kind, status[row])
            pinned[row] = {"pin": 1, "unpin": 0}.get(kind, pinned[row])
    return status, pinned


def write(vault: Vault, events: list[tuple[str, int]]) -> None:
    with vault._memory.write() as (transaction, _):
        for kind, row in events:
            add_events(transaction, kind, ["x"], np.array([row]), transaction.stamps(1), [None])


def test_events_replayed_at_once_or_in_parts_or_up_to_a_moment(lexical_vault: Vault, clock: FixedClock) -> None:
    lexical_vault.add([{"text": f"t{i}"} for i in range(4)])
    rng = np.random.default_rng(1)
    kinds = ["supersede", "invalidate", "restore", "remove", "pin", "unpin", "review"]
    events: list[tuple[str, int]] = []
    former: State | None = None
    marks: list[tuple[int, int]] = []
    for _ in range(7):
        part = [
            (kinds[int(rng.integers(len(kinds)))], int(rng.integers(-1, 4))) for _ in range(int(rng.integers(0, 5)))
        ]
        clock.advance(60)
        write(lexical_vault, part)
        events += part
        snapshot = lexical_vault._memory.view().snapshot
        ref = replay(events, 4)
        for state in (State(snapshot), State(snapshot, former)):
            assert [STATUS_NAMES[s] for s in state.status] == ref[0]
            assert state.pinned.tolist() == ref[1]
        former = State(snapshot)
        marks.append((clock.now_us() + 1000, len(events)))
    write(lexical_vault, [("forget", 2)])
    view = lexical_vault._memory.view()
    assert view.state.status[2] == FORGOTTEN
    for moment, count in marks:
        past = View(view.snapshot, view.tables, as_of_us=moment).state
        status, pinned = replay(events[:count], 4)
        status[2] = "forgotten"  # what is forgotten now, no moment of the past has any more
        assert ([STATUS_NAMES[s] for s in past.status], past.pinned.tolist()) == (status, pinned)


def test_a_state_cannot_be_changed(lexical_vault: Vault) -> None:
    lexical_vault.add("x")
    with pytest.raises(ValueError, match="read-only"):
        lexical_vault._memory.view().state.status[0] = 3


def test_versions_with_rows_alone_share_their_columns_and_an_event_never_reaches_an_older_one(
    lexical_vault: Vault,
) -> None:
    memory = lexical_vault._memory
    lexical_vault.add([{"text": f"t{i}"} for i in range(40)])
    write(lexical_vault, [("pin", 3), ("remove", 5)])
    states = [memory.view().state]
    for i in range(6):  # enough to outgrow the room
        lexical_vault.add(f"more {i}")
        states.append(memory.view().state)
    assert np.shares_memory(states[-1].status, states[-2].status)
    tiers = memory.view().freshness.tier
    write(lexical_vault, [("remove", 45), ("review", 44)])
    lexical_vault.add("the last")
    for rows, state in enumerate(states, 40):
        assert np.flatnonzero(state.status).tolist() == [5]
        assert (len(state.status), state.pinned.sum(), state.forgotten, state.all_active) == (rows, 1, 0, False)
    now = memory.view()
    assert np.flatnonzero(now.state.status).tolist() == [5, 45]
    assert np.flatnonzero(now.freshness.manual).tolist() == [44]
    assert not tiers.flags.writeable
