"""What the experiments read of a vault: its sessions as lines of chunks, with topics, vectors and links; nothing is written."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

import lamina
from lamina_engine.index import nodes
from lamina_engine.recall.sessions import find_sessions
from lamina_engine.topics.catalog import current_topics

NONE: Final = -1
LINKED: Final = ("next", "brief", "debrief")


class Line(NamedTuple):
    """One session, in the order of time."""

    session: str
    project: str | None
    rows: NDArray[np.int64]
    topics: list[int]
    """Topic of each chunk by number; -1 for none."""
    metadata: list[dict[str, Any]]


class Episodes(NamedTuple):
    """The sessions of a vault, oldest first."""

    lines: list[Line]
    topics: int
    """How many topics there are; numbers are below it."""
    links: list[tuple[int, int]]
    """Rows that a chain may go between, from the earlier to the later."""


def read(vault: lamina.Vault) -> Episodes:
    """Return the sessions of a vault; where it was never clustered its vectors are, for this reading alone."""
    view = vault._memory.view()
    found = list(find_sessions(view))[::-1]
    owner, count = _topics(view)
    lines = []
    for session in found:
        texts = view.snapshot.values("chunks", "metadata", session.rows)
        metadata = [msgspec.json.decode(text) if text else {} for text in texts]
        topics = [owner.get(row, NONE) for row in session.rows.tolist()]
        lines.append(Line(session.info.session, session.info.project, session.rows, topics, metadata))
    return Episodes(lines, count, _links(view))


def _topics(view: Any) -> tuple[dict[int, int], int]:
    found = current_topics(view)
    if found.topics:
        number = {topic.topic: i for i, topic in enumerate(found.topics)}
        rows = found.members.rows.tolist()
        return {row: number[name] for row, name in zip(rows, found.members.topics, strict=True)}, len(number)
    rows = np.flatnonzero(view.state.active())
    rows = rows[rows < view.vector_rows]
    if len(rows) < 2:
        return {}, 0
    vectors = view.vectors.gather(rows)
    some = vectors.any(axis=1)
    labels = lamina.HDBSCAN(min_cluster_size=4).fit(vectors[some]).labels_
    pairs = zip(rows[some].tolist(), labels.tolist(), strict=True)
    return {row: int(label) for row, label in pairs if label >= 0}, int(labels.max(initial=-1)) + 1


def _links(view: Any) -> list[tuple[int, int]]:
    state = nodes.state_of(view)
    links = state.graph.forward
    wanted = [code for code, name in enumerate(state.graph.relations) if name in LINKED]
    kept = np.isin(links.relations, wanted)
    sources = np.repeat(np.arange(state.graph.nodes), np.diff(links.indptr))[kept]
    ends = zip(state.rows[sources].tolist(), state.rows[links.indices[kept]].tolist(), strict=True)
    return [(source, target) for source, target in ends if source >= 0 and target >= 0]


def run(name: str, about: str | None, measure: Any, lines: Any, given: Sequence[str] | None = None) -> int:
    """Be a script: read a vault, measure, print lines or one JSON document.

    Parameters
    ----------
    name : str
        Of the module.
    about : str
        What it measures.
    measure : callable
        From a vault to a dict of JSON values.
    lines : callable
        From that dict to lines for people.
    given : sequence of str, optional
        Arguments; those of the process unless given.
    """
    parser = argparse.ArgumentParser(prog=f"python -m bench.{name}", description=about)
    parser.add_argument("vault", help="folder of a vault; it is only read")
    parser.add_argument("--json", action="store_true", dest="as_json", help="one JSON document")
    chosen = parser.parse_args(given)
    with lamina.open(chosen.vault, mode="r") as vault:
        found = measure(vault)
    text = json.dumps(found) if chosen.as_json else "\n".join(lines(found))
    sys.stdout.write(text + "\n")
    return 0


def table(rows: Sequence[Sequence[object]]) -> list[str]:
    """Return rows as lines, columns two spaces apart; floats to three digits."""
    said = [[f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in said) for i in range(len(said[0]))] if said else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in said]
