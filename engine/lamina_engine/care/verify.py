"""Verification of a vault's log and indexes, and repair of what can be saved.

It reads through no cache, and works where the vault cannot be opened: CURRENT missing, torn or naming a lost manifest.
"""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine import columns, config
from lamina_engine.clock import SystemClock
from lamina_engine.errors import (
    InvalidConfig,
    LaminaError,
    VaultCorrupt,
    VaultNotFound,
    VaultReadOnly,
    VaultTooNew,
    VaultTooOld,
)
from lamina_engine.real_files import remove_file
from lamina_engine.reports import Report
from lamina_engine.shards.layout import shard_name, shard_place
from lamina_engine.store import manifest as manifests
from lamina_engine.store.files import Files
from lamina_engine.store.lock import write_lock
from lamina_engine.store.manifest import Manifest, SegmentRef, ShardRef
from lamina_engine.store.segments import LOG, Segment
from lamina_engine.store.shape import check_shape
from lamina_engine.store.snapshot import Snapshot
from lamina_engine.store.store import INDEX, Store
from lamina_kernels.layouts import TermRows

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.results import JSONValue


_UNIT_TOLERANCE = 1e-3
"""Of a squared length: far above what float32 loses over some thousand dimensions."""

_ATTEMPTS = 5
"""A version may be merged away while it is being read; then the next one is checked."""


@dataclass(frozen=True, slots=True)
class VerifyProblem:
    """One thing that is not as it was written."""

    code: str
    """Stable: ``object``, ``shape``, ``settings``, ``current``, ``manifest``, ``segment``, ``rows``, ``order``, ``event``,
    ``vector``, ``version``, ``index``, ``shard``, ``repair``."""
    where: str
    """The file, below the vault's folder."""
    message: str
    """What is wrong, and which rows it touches."""
    advice: str
    """What can be done, in words."""


@dataclass(slots=True, repr=False)
class VerifyReport(Report):
    """The outcome of `lamina_engine.care.verify.verify`."""

    checked: Counter[str] = field(default_factory=Counter)
    """How many of each kind were looked at: manifests, segments, rows, bytes, indexes, ..."""
    problems: list[VerifyProblem] = field(default_factory=list)
    """In the order found: the log before what is derived from it."""
    repaired: str | None = None
    """What was repaired, in words; None where nothing was."""

    @property
    def ok(self) -> bool:
        """True where nothing is wrong."""
        return not self.problems

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the fields as JSON values: the shape of the command's ``--json``."""
        counts: JSONValue = dict(self.checked)  # `asdict` cannot copy a counter
        return {**asdict(replace(self, checked=Counter())), "checked": counts}

    def add(self, code: str, where: str, message: str, advice: str) -> None:
        """Note a problem."""
        self.problems.append(VerifyProblem(code, where, message, advice))

    def note_repair(self, done: str) -> None:
        """Note what was repaired, behind what was before."""
        self.repaired = f"{self.repaired}; {done}" if self.repaired else done


def is_intact(root: Path, manifest: Manifest, *, deep: bool = False) -> bool:
    """Return whether all segments of a manifest have their sizes, and bytes where ``deep``."""
    for log, refs in manifest.logs.items():
        for ref in refs:
            try:
                segment = Segment(root, log, ref)
                if deep and not segment.is_intact():
                    return False
            except OSError:
                return False
    return True


def check_log(
    root: Path, manifest: Manifest, report: VerifyReport, *, deep: bool, mends: bool = True
) -> dict[str, list[Segment]]:
    """Check all logs of a version; return the segments that can be read, by log.

    ``mends`` says whether a repair writes damaged ones again.
    """
    readable: dict[str, list[Segment]] = {}
    for log, refs in manifest.logs.items():
        readable[log] = []
        last_us = -(2**63)
        for ref in refs:
            report.checked["segments"] += 1
            segment = _open(root, log, ref, refs, report, deep=deep, mends=mends)
            if segment is None:
                continue
            readable[log].append(segment)
            report.checked["rows"] += ref.rows
            report.checked["bytes"] += ref.size
            _check_order(segment, last_us, report, deep=deep)
            last_us = ref.last_us
        if refs and last_us > manifest.last_us + (log == "links"):  # their moment is that of the row to come
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
    root: Path, log: str, ref: SegmentRef, refs: list[SegmentRef], report: VerifyReport, *, deep: bool, mends: bool
) -> Segment | None:
    advice = _advice(log, ref, refs, mends=mends)
    try:
        segment = Segment(root, log, ref)
        wrong = segment.check() if deep else None
        for name in segment.batch.schema.names:
            segment.column(name)
    except FileNotFoundError:
        wrong = "it is missing"
    except VaultCorrupt as error:
        wrong = _damage(error)
    except OSError as error:  # it is there, and may be whole
        wrong = str(error)
        advice = f"see that it can be read, and check again; else move it out of the vault: then it counts as missing, and {advice}"
    if wrong is None:
        return segment
    rows = f"rows {ref.start} to {ref.start + ref.rows - 1} of {log}"
    report.add("segment", f"{LOG}/{log}/{ref.name}", f"{rows}: {wrong}", advice)
    return None


def _damage(error: VaultCorrupt) -> str:
    """Return the damage alone, without the advice to run what is running."""
    return str(error).partition("; `lamina verify")[0]


def _where(segment: Segment) -> str:
    return f"{LOG}/{segment.log}/{segment.ref.name}"


_AGAIN: Final[Mapping[str, str]] = {
    "chunks": "then ingest again what came from files",
    "sources": "and which files were read is lost: their chunks stay, and a file that is ingested after that counts as new",
    "links": "then make the links again with `lamina links build`",
    "topics": "then make them again with `lamina cluster`",
    "members": "then make them again with `lamina cluster`",
    "freshness": "then make them again with `lamina freshness`",
    "origins": "and which files memories speak of is noted again when you update them",
}
"""By log: what follows for rows that a repair cannot read; others are lost."""


def _advice(log: str, ref: SegmentRef, refs: list[SegmentRef], *, mends: bool) -> str:
    """Describe the loss from a damaged segment, and the repair; ``mends`` as of `check_log`."""
    total = refs[-1].start + refs[-1].rows
    sides = ((0, ref.start), (ref.start + ref.rows, total))
    others = " and ".join(f"{begin} to {end - 1}" for begin, end in sides if begin < end)
    rest = f"rows {others} of {log} lie in other files" if others else f"{log} has no other rows"
    copy = f"put back {ref.name} from a copy: its bytes never change, any copy of the vault that has it will do"
    if not mends:
        return f"{copy}; {rest}"
    known = "then make the vectors again with `lamina reindex`" if log.startswith("vectors.") else _AGAIN.get(log)
    again = f", {known}" if known else ""
    return f"{copy}; else run `lamina verify --repair`, which keeps what can be read{again}; {rest}"


def _check_order(segment: Segment, before_us: int, report: VerifyReport, *, deep: bool) -> None:
    """recorded_at grows: within chunks and vectors by every row, within other logs it may stay."""
    where = _where(segment)
    stamps = segment.numbers("recorded_at").astype(np.int64)
    strict = segment.log == "chunks" or segment.log.startswith("vectors.")
    if int(stamps[-1]) != segment.ref.last_us:
        message = f"its last row was recorded at {int(stamps[-1])} us, the manifest says {segment.ref.last_us}"
        report.add("order", where, message, "put it back from a copy")
    if int(stamps[0]) < before_us + strict:
        message = f"its first row was recorded at {int(stamps[0])} us, the row before it at {before_us}"
        report.add("order", where, message, "recall as of a moment near these rows may be wrong; all else works")
    back = np.flatnonzero(np.diff(stamps) < strict) if deep else np.empty(0, np.int64)
    if len(back):
        message = f"row {segment.start + int(back[0]) + 1} was recorded before the row in front of it"
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
            report.add("event", _where(segment), message, "they are ignored; nothing needs to be done")


def _check_vectors(parts: list[Segment], report: VerifyReport) -> None:
    for segment in parts:
        matrix = columns.vectors(segment.column("vector")).astype(np.float64)
        report.checked["vectors"] += len(matrix)
        squares = (matrix * matrix).sum(axis=1)
        bad = np.flatnonzero(~(np.isfinite(squares) & ((squares == 0) | (np.abs(squares - 1) <= _UNIT_TOLERANCE))))
        if len(bad):
            first = segment.start + int(bad[0])
            message = f"{len(bad)} vectors, the first in row {first}, are neither of length one nor all zero"
            report.add("vector", _where(segment), message, "make them again with `lamina reindex`")


def _check_versions(parts: list[Segment], report: VerifyReport) -> None:
    """Hash every row's content again; a row without text is a tombstone and keeps no promise."""
    from lamina_engine.reindex.space import embedded_of

    for segment in parts:
        batch = segment.batch
        try:
            columns = [batch.column(n).to_pylist() for n in ("version", "text", "title", "headings", "created_at")]
        except (UnicodeDecodeError, pa.ArrowException) as error:
            report.add("segment", _where(segment), f"its text is not UTF-8: {error}", "put it back from a copy")
            continue
        report.checked["versions"] += batch.num_rows
        bad = [i for i, row in enumerate(zip(*columns, strict=True)) if not embedded_of(*row).matched]
        if bad:
            message = (
                f"{len(bad)} rows, the first {segment.start + bad[0]}, do not have the content that their version says"
            )
            report.add("version", _where(segment), message, "add these chunks again")


def verify(
    vault: Memory | Store | Path, *, deep: bool = False, repair: bool = False, files: Files | None = None
) -> VerifyReport:
    """Check a vault's log against its manifests, and its indexes against the log.

    Of a vault on object storage, whose ``files`` a bare path does not tell, the objects are checked first.

    Notes
    -----
    O(bytes) when deep, else O(rows) of the offsets.
    """
    store = None if isinstance(vault, Path) else vault if isinstance(vault, Store) else vault.store
    root = vault if isinstance(vault, Path) else vault.root
    if files is None:
        files = Files() if store is None else store.files
    if repair and store is not None:
        if store.mode == "r":
            raise VaultReadOnly(f"{root} is open for reading; open it with mode='w' to repair it")
        store.require_trust()
    report = VerifyReport()
    for path, wrong in files.find_damage(deep=deep):
        report.add("object", path, f"it {wrong}", "put it back from a copy, or from an older version the storage keeps")
    if not report.ok:
        return report
    files.fetch(root)
    try:
        check_shape(root)
    except VaultCorrupt as error:  # nothing is read through a link or from a pipe
        report.add("shape", root.name, str(error), "remove what Lamina did not make, or restore the vault from a copy")
        return report
    _check_settings(root, report)
    name = _current(root, report)
    if name is None:
        name = _set_current(root, report, deep=deep, repair=repair)
    if name is None:
        return report
    for attempt in range(_ATTEMPTS):
        found = VerifyReport()
        try:
            manifest = manifests.load(root, name)
        except FileNotFoundError:  # a writer has moved on
            name, manifest = manifests.load_newest(root)
        mends = not (files.is_cache or manifest.shards or manifest.whole)  # what shards hold is numbered by the whole
        segments = check_log(root, manifest, found, deep=deep, mends=mends)
        newer = name
        with contextlib.suppress(VaultCorrupt):  # there may be no CURRENT, and then nobody writes
            newer = manifests.read_current(root)
        if attempt + 1 == _ATTEMPTS or found.ok or newer == name:
            break
        name = newer
    if all(len(segments[log]) == len(refs) for log, refs in manifest.logs.items()):
        snapshot = Snapshot(manifest, {log: tuple(parts) for log, parts in segments.items()}, name)
        damaged = check_indexes(root / INDEX, snapshot, found, deep=deep)
        if damaged and repair:
            with write_lock(root):
                remove_files(damaged)
            report.note_repair(f"removed {len(damaged)} damaged index files; the next write builds them again")
    elif repair and mends:
        _mend(root, vault, files, report)
    report.problems += found.problems
    report.checked += found.checked
    _check_older(root, name, manifest, report, repair=repair)
    for number, ref in enumerate(manifest.shards):
        _verify_shard(report, root, files, number, ref, deep=deep, repair=repair)
    return report


def _mend(root: Path, vault: Memory | Store | Path, files: Files, report: VerifyReport) -> None:
    """Write damaged segments again with what can be read of them."""
    from lamina_engine.care.salvage import salvage

    clock = SystemClock() if isinstance(vault, Path) else vault.clock
    with write_lock(root):
        name, manifest = manifests.load_newest(root)
        try:
            report.note_repair(str(salvage(root, files, clock, manifest, name)))
        except OSError as error:
            report.add("repair", LOG, f"the log was not repaired: {error}", "mend the cause, and run it again")


def _check_settings(root: Path, report: VerifyReport) -> None:
    """Check that ``vault.toml`` can be read: people may edit it, so no more is known."""
    try:
        config.load(root)
    except InvalidConfig as error:
        advice = f"correct it in an editor, put it back from a copy, or delete it: then the defaults hold; {config.FILE} has no rows"
        report.add("settings", config.FILE, str(error).removeprefix(f"{root / config.FILE}: "), advice)


def _check_older(root: Path, current: str, newest: Manifest, report: VerifyReport, *, repair: bool) -> None:
    """Check the older manifests, on which a repair falls back, by the digests in their names."""
    damaged = []
    for name in _names(root):
        # of others, the next writer removes whatever an interrupted commit has left
        if name == current or not newest.rewritten <= manifests.version_of(name) < newest.version:
            continue
        try:
            manifests.load(root, name)
        except VaultCorrupt as error:
            where = f"{manifests.MANIFESTS}/{name}"
            advice = "the newest version does not need it; remove it with `lamina verify --repair`"
            report.add("manifest", where, _damage(error).removeprefix(f"{root / where} "), advice)
            damaged.append(root / where)
        except (FileNotFoundError, VaultTooNew, VaultTooOld):  # a writer has removed it
            continue
        report.checked["manifests"] += 1
    if damaged and repair:
        with write_lock(root):
            remove_files(damaged)
        report.note_repair(f"removed {len(damaged)} damaged older manifests")


def _verify_shard(
    report: VerifyReport, root: Path, files: Files, number: int, ref: ShardRef, *, deep: bool, repair: bool
) -> None:
    """Check one shard as the vault that it is, and against what the root names."""
    name = shard_name(number)
    report.checked["shards"] += 1
    try:
        place, own = shard_place(root, files, number)
        found = verify(place, deep=deep, repair=repair, files=own)
        manifest = manifests.load_newest(place)[1]
    except VaultNotFound:
        report.add("shard", name, "it is missing", "put the shard back from a copy")
        return
    except (LaminaError, OSError) as error:
        report.add("shard", name, str(error), "put the shard back from a copy")
        return
    for each in found.problems:
        others = (
            "; `lamina export FILE --incomplete` takes out what the other shards hold" if each.code == "segment" else ""
        )
        report.problems.append(replace(each, where=f"{name}/{each.where}", advice=each.advice + others))
    report.checked += found.checked
    if found.repaired is not None:
        report.note_repair(f"{name}: {found.repaired}")
    if manifest.vault != ref.vault:
        report.add("shard", name, f"it is vault {manifest.vault}, the root names {ref.vault}", "put the right one back")
    elif manifest.commits < ref.commits:
        message = f"it has commit {manifest.commits}, the root names {ref.commits}"
        report.add("shard", name, message, "restore all shards and the root from one moment")
    elif manifest.built_on > (root_commits := manifests.load_newest(root)[1].commits):
        message = f"it was written to after the root's commit {manifest.built_on}, the root has {root_commits}"
        report.add("shard", name, message, "restore all shards and the root from one moment")


def _current(root: Path, report: VerifyReport) -> str | None:
    """Return the name in CURRENT if it is usable; else report the problem."""
    for _ in range(_ATTEMPTS):
        try:
            name = manifests.read_current(root)
            report.checked["manifests"] = 1
            manifests.load(root, name)
        except (VaultNotFound, VaultTooNew, VaultTooOld):
            raise
        except FileNotFoundError:
            if manifests.read_current(root) != name:  # a writer has moved on
                continue
            wrong = f"it names {name}, which is missing"
        except VaultCorrupt as error:
            wrong = _damage(error)
        else:
            return name
        newest = newest_intact(root)
        left = newest or newest_readable(root)
        advice = (
            f"version {left[1].version} ({left[0]}, {left[1].rows('chunks')} chunks) is {'whole' if newest else 'the newest left'}: "
            "keep a copy of the folder, then set CURRENT to it with `lamina verify --repair`"
            f"{'' if newest else ', which keeps what can be read of its files'}"
            if left
            else "no version can be read; put back the folder from a copy, or read what is left in log/ (Arrow files)"
        )
        report.add("current", manifests.CURRENT, wrong, advice)
        return None
    return manifests.read_current(root)


def newest_intact(root: Path, *, deep: bool = False) -> tuple[str, Manifest] | None:
    """Return the newest manifest whose segments are all there; None where no version is.

    A version without chunks does not count where segments of chunks are left: setting CURRENT to it would have the next
    writer remove them.
    """
    return _newest(root, lambda manifest: is_intact(root, manifest, deep=deep))


def newest_readable(root: Path) -> tuple[str, Manifest] | None:
    """Return the newest manifest that can be read, whatever its segments; None where none can."""
    return _newest(root, lambda _: True)


def _newest(root: Path, is_wanted: Callable[[Manifest], bool]) -> tuple[str, Manifest] | None:
    rows_are_left = any((root / LOG / "chunks").glob("*.arrow"))
    for name in sorted(_names(root), reverse=True):
        try:
            manifest = manifests.load(root, name)
        except (VaultCorrupt, FileNotFoundError):
            continue
        if (manifest.rows("chunks") or not rows_are_left) and is_wanted(manifest):
            return name, manifest
    return None


def _names(root: Path) -> list[str]:
    folder = root / manifests.MANIFESTS
    return [path.name for path in folder.iterdir() if manifests.is_manifest_name(path.name)] if folder.is_dir() else []


def _set_current(root: Path, report: VerifyReport, *, deep: bool, repair: bool) -> str | None:
    """Set CURRENT to the newest intact version where ``repair`` allows; return the one to check."""
    if not repair:
        found = newest_intact(root, deep=deep) or newest_readable(root)
        return found[0] if found else None
    with write_lock(root):
        found = newest_intact(root, deep=True) or newest_readable(root)
        if found is None:
            return None
        name, manifest = found
        newest = max(map(manifests.version_of, _names(root)))
        if manifests.version_of(name) < newest:
            # rows of the lost versions may be in the indexes, and versions must not run backwards
            manifest = msgspec.structs.replace(manifest, version=newest + 1, indexes={})
            name = manifests.encode(manifest)[0]
        manifests.publish(Files(), root, manifest)
    report.note_repair(f"CURRENT is set to version {manifest.version} ({name}) with {manifest.rows('chunks')} chunks")
    return name


_SAMPLED = 8
"""Rows of a segment whose forward lists are made again from its text."""
_ADVICE = "rebuild it from the log with `lamina reindex`, or remove it with `lamina verify --repair`: the next write rebuilds it"


def check_indexes(folder: Path, snapshot: Snapshot, report: VerifyReport, *, deep: bool) -> list[Path]:
    """Check every index that a version names; return the files and folders that are damaged."""
    damaged = []
    for path, wrong in _find_damage(folder, snapshot, report, deep=deep):
        report.add("index", path.relative_to(folder.parent).as_posix(), wrong, _ADVICE)
        damaged.append(path)
    return damaged


def _find_damage(folder: Path, snapshot: Snapshot, report: VerifyReport, *, deep: bool) -> Iterator[tuple[Path, str]]:
    """Yield damaged files and folders of indexes, with what is wrong."""
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
    for name, record in snapshot.manifest.indexes.items():
        if name not in readers:
            named = [folder / str(value) for value in record.values() if isinstance(value, str)]
            yield from _check_seals([path for path in named if path.is_file()], report, deep=deep)
            continue
        fields, log, read = readers[name]
        for key in fields:
            path = folder / str(record.get(key))
            report.checked["indexes"] += 1
            wrong = _wrong(path, record, snapshot.rows(log), read)
            if wrong is not None:
                yield path, wrong
    for unnamed in ("map-*.places", "codes-*.faiss"):
        yield from _check_seals(sorted(folder.glob(unnamed)), report, deep=deep)
    yield from _check_terms(folder, snapshot, report, deep=deep)


def _check_seals(paths: list[Path], report: VerifyReport, *, deep: bool) -> Iterator[tuple[Path, str]]:
    """Check sealed files by their checksums alone."""
    from lamina_engine.index.sealed import check_seal

    for path in paths:
        report.checked["indexes"] += 1
        try:
            check_seal(path, payload=deep)
        except OSError as error:
            yield path, str(error).removeprefix(f"{path}: ")


def _wrong(path: Path, record: dict[str, Any], rows: int, read: Callable[[Path], int]) -> str | None:
    try:
        found = read(path)
    except (LaminaError, OSError) as error:
        return str(error).removeprefix(f"{path}: ")
    if int(record.get("rows", 0)) > rows:
        return f"it is said to cover {record['rows']} rows, the log has {rows}"
    if found > rows:
        return f"it covers {found} rows, the log has {rows}"
    return None


def _check_terms(folder: Path, snapshot: Snapshot, report: VerifyReport, *, deep: bool) -> Iterator[tuple[Path, str]]:
    from lamina_engine.index.tables import lists_path, terms_path
    from lamina_engine.index.terms import TermsDamaged, open_terms

    for segment in snapshot.segments("chunks"):
        path, lists = terms_path(folder, segment), lists_path(folder, segment)
        if not path.exists():  # recall analyses the text anew, the next write keeps the result
            continue
        report.checked["indexes"] += 1
        rows = wrong = None
        try:
            rows = open_terms(path, verify=deep)
            if len(rows.lengths) != segment.rows:
                wrong = f"it has {len(rows.lengths)} rows, its segment {segment.rows}"
            elif deep and not _same_terms(snapshot, segment, rows):
                wrong = "its terms are not those of the text"
        except TermsDamaged as error:
            wrong = str(error).removeprefix(f"{path}: ")
        if wrong is not None:
            yield path, wrong
            rows = None
        if lists.exists():  # else the builder makes them after the next write
            report.checked["indexes"] += 1
            wrong = _wrong_lists(lists, segment.rows, rows, deep=deep)
            if wrong is not None:
                yield lists, wrong


def _wrong_lists(path: Path, n: int, rows: TermRows | None, *, deep: bool) -> str | None:
    """Return the fault of inverted lists; deep checks rebuild them from the forward lists."""
    from lamina_engine.index.inverted import open_lists
    from lamina_engine.index.terms import TermsDamaged
    from lamina_kernels.inverted import invert

    try:
        got = open_lists(path, n, verify=deep)
    except TermsDamaged as error:
        return str(error)
    if not deep or rows is None:
        return None
    ref: tuple[NDArray[Any], ...] = invert(rows)
    lists: tuple[NDArray[Any], ...] = got
    same = all(a.tobytes() == b.tobytes() for a, b in zip(ref, lists, strict=True))
    return None if same else "its postings are not those of the forward lists"


def _same_terms(snapshot: Snapshot, segment: Segment, rows: TermRows) -> bool:
    """Analyse some rows, evenly spread, again."""
    from lamina_engine.index.terms import build_zones, slice_terms
    from lamina_engine.index.zones import zones_of

    for offset in sorted(set(np.linspace(0, segment.rows - 1, _SAMPLED).astype(int).tolist())):
        at = segment.start + offset
        ref: tuple[NDArray[Any], ...] = build_zones(zones_of(snapshot, at, at + 1))
        got: tuple[NDArray[Any], ...] = slice_terms(rows, offset, offset + 1)
        if any(a.tobytes() != b.tobytes() for a, b in zip(ref, got, strict=True)):
            return False
    return True


def remove_files(paths: list[Path]) -> None:
    """Remove damaged files of derived indexes; the next writer builds them again from the log."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(FileNotFoundError):
                remove_file(path)
