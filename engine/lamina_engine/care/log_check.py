"""Checks of the log: every segment that a manifest names, alone and beside its neighbours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from lamina_engine import columns
from lamina_engine.care.findings import VerifyReport
from lamina_engine.errors import VaultCorrupt
from lamina_engine.store.manifest import Manifest, SegmentRef
from lamina_engine.store.segments import LOG, Segment

_UNIT_TOLERANCE = 1e-3
"""Of a squared length: far above what float32 loses over some thousand dimensions."""


def whole(root: Path, manifest: Manifest, *, deep: bool = False) -> bool:
    """Tell whether every segment that a manifest names is there with its size, and with its bytes where ``deep``."""
    for log, refs in manifest.logs.items():
        for ref in refs:
            try:
                segment = Segment(root, log, ref)
                if deep and not segment.is_intact():
                    return False
            except OSError:
                return False
    return True


def check_log(root: Path, manifest: Manifest, report: VerifyReport, *, deep: bool) -> dict[str, list[Segment]]:
    """Check all logs of a version; return the segments that can be read, by log."""
    readable: dict[str, list[Segment]] = {}
    for log, refs in manifest.logs.items():
        readable[log] = []
        last_us = -(2**63)
        for ref in refs:
            report.checked["segments"] += 1
            segment = _open(root, log, ref, refs, report, deep=deep)
            if segment is None:
                continue
            readable[log].append(segment)
            report.checked["rows"] += ref.rows
            report.checked["bytes"] += ref.size
            _check_order(segment, last_us, report, deep=deep)
            last_us = ref.last_us
        if refs and last_us > manifest.last_us:
            message = (
                f"its last row was recorded at {last_us} us, the manifest says nothing is newer than {manifest.last_us}"
            )
            report.add("order", f"{LOG}/{log}", message, "restore from a copy: no Lamina writes that")
    _check_lengths(manifest, report)
    _check_events(manifest, readable.get("events", []), report)
    if deep:
        for log, parts in readable.items():
            if log.startswith("vectors."):
                _check_vectors(parts, report)
        _check_versions(readable.get("chunks", []), report)
    return readable


def _open(
    root: Path, log: str, ref: SegmentRef, refs: list[SegmentRef], report: VerifyReport, *, deep: bool
) -> Segment | None:
    try:
        segment = Segment(root, log, ref)
        wrong = segment.check() if deep else None
        for name in segment.batch.schema.names:
            segment.column(name)
    except FileNotFoundError:
        wrong = "it is missing"
    except (VaultCorrupt, OSError) as error:
        wrong = str(error)
    if wrong is None:
        return segment
    report.add("segment", f"{LOG}/{log}/{ref.name}", f"{_rows(log, ref)}: {wrong}", _advice(log, ref, refs))
    return None


def _rows(log: str, ref: SegmentRef) -> str:
    return f"rows {ref.start} to {ref.start + ref.rows - 1} of {log}"


def _advice(log: str, ref: SegmentRef, refs: list[SegmentRef]) -> str:
    """Say what a damaged segment costs, and what can be saved."""
    total = refs[-1].start + refs[-1].rows
    sides = ((0, ref.start), (ref.start + ref.rows, total))
    others = " and ".join(f"{begin} to {end - 1}" for begin, end in sides if begin < end)
    rest = f"rows {others} of {log} lie in other files" if others else f"{log} has no other rows"
    copy = f"put back {ref.name} from a copy: its bytes never change, any copy of the vault that has it will do"
    if log == "chunks":
        return f"{copy}; else add the readable chunks to a new vault, and ingest again what came from files; {rest}"
    lost = {
        "events": "what was said about chunks (invalidate, restore, pin) is lost otherwise",
        "sources": "ingest the files again otherwise",
        "topics": "make them again with `lamina cluster`",
        "members": "make them again with `lamina cluster`",
        "freshness": "make them again with `lamina freshness`",
        "origins": "which files added memories speak of is lost otherwise: update them to note it again",
    }
    instead = (
        "make the vectors again with `lamina reindex`"
        if log.startswith("vectors.")
        else lost.get(log, "these rows are lost")
    )
    return f"{copy}; {instead}; {rest}"


def _check_order(segment: Segment, before_us: int, report: VerifyReport, *, deep: bool) -> None:
    """recorded_at grows: within chunks and vectors by every row, within other logs it may stay."""
    where = f"{LOG}/{segment.log}/{segment.ref.name}"
    stamps = segment.numbers("recorded_at").astype(np.int64)
    strict = segment.log == "chunks" or segment.log.startswith("vectors.")
    if int(stamps[-1]) != segment.ref.last_us:
        message = f"its last row was recorded at {int(stamps[-1])} us, the manifest says {segment.ref.last_us}"
        report.add("order", where, message, "put it back from a copy")
    if int(stamps[0]) < before_us + strict:
        message = f"its first row was recorded at {int(stamps[0])} us, the row before it at {before_us}"
        report.add("order", where, message, "recall as of a moment near these rows may be wrong; all else works")
    if deep and len(stamps) > 1 and bool((np.diff(stamps) < strict).any()):
        row = segment.start + int(np.flatnonzero(np.diff(stamps) < strict)[0]) + 1
        message = f"row {row} was recorded before the row in front of it"
        report.add("order", where, message, "recall as of a moment near these rows may be wrong; all else works")


def _check_lengths(manifest: Manifest, report: VerifyReport) -> None:
    rows = manifest.rows("chunks")
    for log in manifest.logs:
        if log.startswith("vectors.") and manifest.rows(log) > rows:
            message = f"it has {manifest.rows(log)} rows, chunks has {rows}"
            report.add("rows", f"{LOG}/{log}", message, "make the vectors again with `lamina reindex`")


def _check_events(manifest: Manifest, parts: list[Segment], report: VerifyReport) -> None:
    rows = manifest.rows("chunks")
    for segment in parts:
        about = segment.numbers("row").astype(np.int64)
        report.checked["events"] += len(about)
        outside = np.flatnonzero((about < -1) | (about >= rows))
        if len(outside):
            first = segment.start + int(outside[0])
            message = f"{len(outside)} events, the first in row {first}, are about rows that chunks does not have"
            report.add(
                "event", f"{LOG}/events/{segment.ref.name}", message, "they are passed over; nothing needs to be done"
            )


def _check_vectors(parts: list[Segment], report: VerifyReport) -> None:
    for segment in parts:
        matrix = columns.vectors(segment.column("vector")).astype(np.float64)
        report.checked["vectors"] += len(matrix)
        squares = (matrix * matrix).sum(axis=1)
        bad = np.flatnonzero(~(np.isfinite(squares) & ((squares == 0) | (np.abs(squares - 1) <= _UNIT_TOLERANCE))))
        if len(bad):
            first = segment.start + int(bad[0])
            message = f"{len(bad)} vectors, the first in row {first}, are neither of length one nor all zero"
            advice = "make them again with `lamina reindex`"
            report.add("vector", f"{LOG}/{segment.log}/{segment.ref.name}", message, advice)


def _check_versions(parts: list[Segment], report: VerifyReport) -> None:
    """Hash every row's content again; a row without text is a tombstone and keeps no promise."""
    from lamina_engine.reindex.texts import embedded_of

    for segment in parts:
        batch = segment.batch
        try:
            columns = [batch.column(n).to_pylist() for n in ("version", "text", "title", "headings", "created_at")]
        except (UnicodeDecodeError, pa.ArrowException) as error:
            report.add(
                "segment",
                f"{LOG}/chunks/{segment.ref.name}",
                f"its text is not UTF-8: {error}",
                "put it back from a copy",
            )
            continue
        report.checked["versions"] += batch.num_rows
        bad = [i for i, row in enumerate(zip(*columns, strict=True)) if not embedded_of(*row).matched]
        if bad:
            message = (
                f"{len(bad)} rows, the first {segment.start + bad[0]}, do not have the content that their version says"
            )
            report.add(
                "version",
                f"{LOG}/chunks/{segment.ref.name}",
                message,
                "add these chunks again",
            )
