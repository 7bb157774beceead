"""Tiny rows for tests of the log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lamina_engine.store.store import Store
from lamina_engine.store.transaction import Transaction


def add_links(transaction: Transaction, sources: Sequence[str]) -> int:
    """Append one link for each source; return the row of the first."""
    n = len(sources)
    values = {
        "source": list(sources), "target": ["there"] * n, "relation": ["next"] * n, "weight": [1.0] * n,
        "origin": ["user"] * n, "active": [True] * n, "created_at": [None] * n, "note": [None] * n,
    }  # fmt: skip
    return transaction.append("links", values, transaction.stamps(n))


def add_events(transaction: Transaction, kinds: Sequence[str], stamps: Sequence[int] | None = None) -> int:
    """Append one event of each kind; return the row of the first."""
    n = len(kinds)
    when = transaction.stamps(n) if stamps is None else np.array(stamps, np.int64)
    values = {"kind": list(kinds), "chunk": ["c"] * n, "row": [-1] * n, "reason": [None] * n, "detail": [None] * n}
    return transaction.append("events", values, when)


def commit_links(store: Store, *sources: str) -> None:
    """Commit one link for each source."""
    with store.transaction() as transaction:
        add_links(transaction, sources)


def link_sources(store: Store) -> list[str]:
    """Return the source of every link, in row order."""
    snapshot = store.snapshot()
    found: list[str] = snapshot.values("links", "source", np.arange(snapshot.rows("links"), dtype=np.int64))
    return found
