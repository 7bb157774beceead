"""Checks of derived indexes; a damaged one is deleted and built again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import LaminaError
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Snapshot
from lamina_kernels.layouts import TermRows

if TYPE_CHECKING:
    from lamina_engine.care.verify import VerifyReport

_SAMPLED = 8
"""Rows of a segment whose forward lists are made again from its text."""
_ADVICE = (
    "the next write builds it again where it cannot be opened; "
    "delete it, or verify with repair, to have that done in any case"
)


def check_indexes(folder: Path, snapshot: Snapshot, report: VerifyReport, *, deep: bool) -> list[Path]:
    """Check every index that a version names; return the files and folders that are damaged."""
    from lamina_engine.index.graphfile import open_graph
    from lamina_engine.index.keys import KeyIndex
    from lamina_engine.index.nodes import GRAPH
    from lamina_engine.index.quantised import QuantisedIndex
    from lamina_engine.index.tables import KEYS, LEXICAL, VECTORS
    from lamina_engine.index.textindex import open_index

    readers: dict[str, tuple[tuple[str, ...], str, Callable[[Path], int]]] = {
        LEXICAL: (("folder",), "chunks", lambda path: open_index(path, verify=deep, linked=True).rows),
        VECTORS: (("file",), snapshot.vector_log, lambda path: QuantisedIndex.open(path, verify=deep).rows),
        KEYS: (("ids", "versions"), "chunks", lambda path: KeyIndex.open(path, verify=deep).rows),
        GRAPH: (("file",), "links", lambda path: open_graph(path, path.with_suffix(".nodes"), verify=deep).rows),
    }
    damaged: list[Path] = []
    for name, record in snapshot.manifest.indexes.items():
        if name not in readers:
            continue
        fields, log, read = readers[name]
        for field in fields:
            path = folder / str(record.get(field))
            report.checked["indexes"] += 1
            wrong = _wrong(path, record, snapshot.rows(log), read)
            if wrong is not None:
                report.add("index", f"{folder.name}/{path.name}", wrong, _ADVICE)
                damaged.append(path)
    return damaged + _check_terms(folder, snapshot, report, deep=deep)


def _wrong(path: Path, record: dict[str, Any], rows: int, read: Callable[[Path], int]) -> str | None:
    try:
        found = read(path)
    except (LaminaError, OSError) as error:
        return str(error)
    if int(record.get("rows", 0)) > rows:
        return f"it is said to cover {record['rows']} rows, the log has {rows}"
    if found > rows:
        return f"it covers {found} rows, the log has {rows}"
    return None


def _check_terms(folder: Path, snapshot: Snapshot, report: VerifyReport, *, deep: bool) -> list[Path]:
    from lamina_engine.index.tables import terms_path
    from lamina_engine.index.terms import TermsDamaged, open_terms

    damaged = []
    for segment in snapshot.segments("chunks"):
        path = terms_path(folder, segment)
        if not path.exists():  # recall analyses the text anew, the next write keeps the result
            continue
        report.checked["indexes"] += 1
        try:
            rows = open_terms(path, verify=deep)
            wrong = (
                None
                if len(rows.lengths) == segment.rows
                else f"it has {len(rows.lengths)} rows, its segment {segment.rows}"
            )
            if wrong is None and deep and not _same_terms(snapshot, segment, rows):
                wrong = "its terms are not those of the text"
        except TermsDamaged as error:
            wrong = str(error)
        if wrong is not None:
            report.add("index", f"{folder.name}/{path.parent.name}/{path.name}", wrong, _ADVICE)
            damaged.append(path)
    return damaged


def _same_terms(snapshot: Snapshot, segment: Segment, rows: TermRows) -> bool:
    """Analyse some rows, evenly spread, again."""
    from lamina_engine.index.terms import build_term_rows, slice_terms
    from lamina_engine.index.zones import zones_of

    for offset in sorted(set(np.linspace(0, segment.rows - 1, _SAMPLED).astype(int).tolist())):
        at = segment.start + offset
        ref: tuple[NDArray[Any], ...] = build_term_rows(*zones_of(snapshot, at, at + 1))
        got: tuple[NDArray[Any], ...] = slice_terms(rows, offset, offset + 1)
        if any(a.tobytes() != b.tobytes() for a, b in zip(ref, got, strict=True)):
            return False
    return True


def remove(paths: list[Path]) -> None:
    """Remove damaged files of derived indexes; the next writer builds them again from the log."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
