"""Link graph files: one sealed, mapped file of arrays, and the keys of its nodes.

A file holds hashes of ids, codes and numbers; of a chunk's text and of its id there is nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import LaminaError
from lamina_engine.index.claims import Claims
from lamina_engine.index.graph import LinkGraph
from lamina_engine.index.keys import KeyIndex, KeysDamaged
from lamina_engine.index.sealed import Seal
from lamina_kernels.graph import csr
from lamina_kernels.layouts import Csr


class GraphDamaged(LaminaError, OSError):
    """A saved link graph that is torn, altered or not one; rebuild it from the log."""


_SEAL: Final = Seal(b"LMNAGRF\n", 1, "QQQQQ", what="link graph", damaged=GraphDamaged)
"""Fields: nodes, claims, links, rows of the links log covered, bytes of names. Payload: names, then `_COLUMNS`."""

_CHECKED_BYTES: Final = 1 << 24
"""Up to here all of a graph is read before the first write of a process: some ten milliseconds."""

_COLUMNS: Final = (
    (np.uint64, "nodes"), (np.int64, "rows"), (np.int64, "claims"), (np.int64, "rows"), (np.int64, "rows"),
    (np.int32, "claims"), (np.float32, "claims"), (np.int32, "links"), (np.float32, "links"),
    (np.int32, "links"), (np.float32, "links"),
    (np.uint8, "claims"), (np.uint8, "claims"), (np.uint8, "links"), (np.uint8, "links"),
)  # fmt: skip
"""Type and length of each array, wide ones first so that all are aligned."""


def write_graph(graph: LinkGraph, path: Path, keys: Path) -> None:
    """Write a graph, and the keys of its nodes, each aside and then renamed into place."""
    names = msgspec.json.encode([graph.relations, graph.origins])
    names += b" " * (-len(names) % 8)
    c, f, b = graph.claims, graph.forward, graph.backward
    arrays: list[NDArray[Any]] = [
        graph.hashes, c.indptr, c.rows, f.indptr, b.indptr, c.targets, c.weights, f.indices, f.weights,
        b.indices, b.weights, c.relations, c.origins, f.relations, b.relations,
    ]  # fmt: skip
    graph.keys.save(keys)
    fields = (graph.nodes, len(c.targets), graph.links, graph.rows, len(names))
    _SEAL.write(path, fields, [names, *(np.ascontiguousarray(array).data for array in arrays if array.size)])


def open_graph(path: Path, keys: Path, *, verify: bool = False) -> LinkGraph:
    """Map a graph.

    Parameters
    ----------
    path, keys : Path
        Written by `write_graph`.
    verify : bool
        Read everything and compare checksums. Sizes, and that no offset points outside, are always checked.

    Raises
    ------
    GraphDamaged
        The file is torn, altered, of another format, or no graph.
    FileNotFoundError
        There is no file.
    """
    (n, c, m, rows, named), data = _SEAL.open(path, verify=verify)
    lengths = {"nodes": n, "rows": n + 1, "claims": c, "links": m}
    if len(data) != named + sum(np.dtype(kind).itemsize * lengths[of] for kind, of in _COLUMNS):
        raise GraphDamaged(f"{path}: the link graph does not have the sizes its header says; rebuild it from the log")
    arrays: list[NDArray[Any]] = []
    at = named
    for kind, of in _COLUMNS:
        arrays.append(np.frombuffer(data, kind, lengths[of], at))
        at += arrays[-1].nbytes
    hashes, c_at, c_rows, f_at, b_at, c_to, c_w, f_to, f_w, b_to, b_w, c_rel, c_org, f_rel, b_rel = arrays
    try:
        relations, origins = msgspec.json.decode(bytes(data[:named]), type=tuple[tuple[str, ...], tuple[str, ...]])
        index = KeyIndex.open(keys, verify=verify)
    except (msgspec.DecodeError, KeysDamaged) as error:
        raise GraphDamaged(f"{path}: the link graph is damaged ({error}); rebuild it from the log") from error
    claims = Claims(c_at, c_to, c_rel, c_org, c_w, c_rows)
    forward, backward = Csr(f_at, f_to, f_w, f_rel), Csr(b_at, b_to, b_w, b_rel)
    graph = LinkGraph(rows, index, hashes, relations, origins, claims, forward, backward)
    wrong = _wrong(graph)
    if wrong is not None:
        raise GraphDamaged(f"{path}: the link graph is damaged: {wrong}; rebuild it from the log")
    return graph


def are_whole(path: Path, keys: Path) -> bool:
    """Return True if both files have their headers and sizes; small ones are read in full."""
    try:
        small = path.stat().st_size <= _CHECKED_BYTES
        _SEAL.open(path, verify=small)
        KeyIndex.open(keys, verify=small)
    except (GraphDamaged, KeysDamaged, OSError):
        return False
    return True


def _wrong(graph: LinkGraph) -> str | None:
    """Return what points outside, or None. O(nodes + links)."""
    c = graph.claims
    if graph.keys.rows != graph.nodes or graph.keys.keys != graph.nodes:
        return "its keys are those of another one"
    forward, backward, relations = graph.forward, graph.backward, len(graph.relations)
    coded = [(forward.relations, relations), (backward.relations, relations), (c.relations, relations)]
    for codes, named in (*coded, (c.origins, len(graph.origins))):
        if codes.size and int(codes.max()) >= named:
            return "it has a code without a name"
    for links in (forward, backward, Csr(c.indptr, c.targets, c.weights, c.relations)):
        wrong = csr.check(links)
        if wrong is not None:
            return wrong
    return None
