"""Nodes of the link graph in a view: rows, walkable nodes, and the view's graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from lamina_engine import after_fork
from lamina_engine.clock import MISSING_US
from lamina_engine.index.claims import read_rows
from lamina_engine.index.graph import LinkGraph, build, empty
from lamina_engine.index.graphfile import GraphDamaged, are_whole, open_graph, write_graph
from lamina_engine.index.keys import hash_ids
from lamina_engine.index.row_columns import RowColumn
from lamina_engine.index.state import ACTIVE, INVALIDATED, SUPERSEDED
from lamina_kernels.graph.hops import block
from lamina_kernels.layouts import I32, I64, U8

if TYPE_CHECKING:
    from lamina_engine.index.view import View


GRAPH: Final = "graph"
"""Name of its record in a manifest: ``file``, ``keys``, and ``rows`` of the links log that it covers."""
_TAIL_ROWS: Final = 4_096
_TAIL_SHARE: Final = 4
_NO_STATUS: Final = 255


class NodeState(NamedTuple):
    """A graph, and what its nodes are in a view."""

    graph: LinkGraph
    rows: I64
    """int64 (n,): the newest row of each node's chunk, -1 where there is none."""
    status: U8
    """uint8 (n,): as `lamina_engine.index.state` has it, 255 where there is no row."""
    blocked: U8
    """Bits of nodes that are not walked: neither active nor invalidated; see `lamina_kernels.graph.hops.block`."""
    blocked_invalid: U8
    """The same, and invalidated ones."""


_extending = after_fork.make_lock()
"""Held while the newest graph of a vault's tables is put in place of the last one."""
_NEWEST_GRAPH: Final = "graph.newest"
_NEWEST_ROWS: Final = "graph.rows"
"""Key of the rows of the newest graph's nodes, with how many rows of the chunks log had been seen."""


def state_of(view: View) -> NodeState:
    """Return a view's graph with the rows and the liveness of its nodes; made once a view."""

    def make() -> NodeState:
        with _extending:
            return _state(view)

    return view.cached("graph.nodes", make)


def current_rows(view: View, rows: I64) -> I64:
    """Return the newest row of each row's chunk: itself, unless superseded."""
    if view.all_active:
        return rows
    old = np.flatnonzero(view.state.status[rows] == SUPERSEDED)
    if not old.size:
        return rows
    found = rows.copy()
    found[old] = view.rows_of_ids([str(name) for name in view.snapshot.values("chunks", "id", rows[old])])
    return found


def nodes_of_rows(view: View, rows: I64) -> I32:
    """Return the nodes of current rows, int32; -1 for chunks without links.

    Notes
    -----
    O(rows of the vault) the first time a view is asked, then a look at a table: without ids, whose hashes take longer.
    """

    def make() -> I32:
        state = state_of(view)
        found = np.full(view.rows, -1, np.int32)  # -1 for none
        has = np.flatnonzero(state.rows >= 0)
        found[state.rows[has]] = has
        return found

    out: I32 = view.cached("graph.nodes of rows", make)[rows]
    return out


def link_dates(view: View, rows: I64) -> I64:
    """Return the times of rows of the links log, int64 us UTC; `MISSING_US` if unknown."""
    column = view.tables.cached(
        "graph.dates", lambda: RowColumn(lambda _, segment: segment.numbers("created_at", MISSING_US), "links")
    )
    dates: I64 = column.of(view.snapshot)[rows]
    return dates


def _state(view: View) -> NodeState:
    graph = _graph_of(view)
    if not graph.nodes:
        return NodeState(
            graph, np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.uint8), np.empty(0, np.uint8)
        )
    rows = _rows_of(view, graph)
    status = np.full(graph.nodes, _NO_STATUS, np.uint8)
    status[rows >= 0] = view.state.status[rows[rows >= 0]]
    active = status == ACTIVE
    return NodeState(graph, rows, status, block(active | (status == INVALIDATED)), block(active))


def _rows_of(view: View, graph: LinkGraph) -> I64:
    """Return the newest row of each node's chunk: an earlier version's, updated."""
    former, seen = view.tables.peek_cached(_NEWEST_ROWS) or (np.empty(0, np.int64), 0)
    ids = view.tables.ids(view.snapshot)
    if view.as_of_us is not None or seen > view.rows or view.rows - seen > graph.nodes or len(former) > graph.nodes:
        rows = ids.lookup(graph.hashes, n_rows=view.rows)
    else:
        rows = np.concatenate([former, ids.lookup(graph.hashes[len(former) :], n_rows=view.rows)])
        later = np.arange(seen, view.rows)
        found = graph.keys.lookup(hash_ids(view.snapshot.values("chunks", "id", later)))
        rows[found[found >= 0]] = later[found >= 0]  # ascending: the newest stands
    if view.as_of_us is None:
        view.tables.put_cached(_NEWEST_ROWS, (rows, view.rows))
    return rows


def _graph_of(view: View) -> LinkGraph:
    snapshot = view.snapshot
    rows = snapshot.watermark("links", view.as_of_us)
    known: LinkGraph | None = view.tables.peek_cached(_NEWEST_GRAPH)
    if known is None:
        known = _saved(view) or empty()
    if known.rows > rows:  # a past moment, or a version that another thread has gone past
        return build(snapshot, rows)
    if known.rows < rows:
        known = known.extended(read_rows(snapshot, known.rows, rows), rows)
    if view.as_of_us is None:
        view.tables.put_cached(_NEWEST_GRAPH, known)
    return known


def _saved(view: View) -> LinkGraph | None:
    """Return the graph that a version names; None where there is none, or it cannot be read."""
    record = view.snapshot.manifest.indexes.get(GRAPH)
    name = str(record["file"]) if record is not None else ""
    if record is None or int(record["rows"]) > view.snapshot.rows("links") or not view.tables.trusts(name):
        return None
    folder = view.tables.folder
    try:
        return open_graph(folder / name, folder / str(record["keys"]), verify=True)
    except (GraphDamaged, OSError) as error:
        view.tables.distrust(name, error)
        return None


def is_damaged(view: View, *, look: bool) -> bool:
    """Return True if a version's graph is damaged; with ``look``, also if missing or torn."""
    record = view.snapshot.manifest.indexes.get(GRAPH)
    if record is None:
        return False
    folder, name = view.tables.folder, str(record["file"])
    return not view.tables.trusts(name) or (look and not are_whole(folder / name, folder / str(record["keys"])))


def is_behind(view: View) -> bool:
    """Return True if a quarter of the saved graph, or 4,096 log rows, are newer than it."""
    rows, record = view.snapshot.rows("links"), view.snapshot.manifest.indexes.get(GRAPH)
    covered = int(record["rows"]) if record is not None else 0
    return rows - covered >= max(_TAIL_ROWS, covered // _TAIL_SHARE)


def save(view: View, *, anew: bool = False) -> dict[str, Any] | None:
    """Save a view's graph if it `is_behind`, or always; return its record, or None."""
    snapshot = view.snapshot
    rows = snapshot.rows("links")
    if not anew and not is_behind(view):
        return None
    generation = snapshot.manifest.rewritten
    stem = f"{GRAPH}-{rows:012d}" + (f"-{generation}" if generation else "")
    names = {"file": f"{stem}.links", "keys": f"{stem}.nodes"}
    write_graph(state_of(view).graph, view.tables.folder / names["file"], view.tables.folder / names["keys"])
    view.tables.trust(names["file"])
    return {**names, "rows": rows}
