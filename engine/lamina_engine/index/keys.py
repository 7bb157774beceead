"""From a key to its rows: sorted 64-bit hashes beside row numbers, over an append-only log.

A key is the hash of a chunk id, or the first half of a content version. Two keys may share a hash: the answer is rows
to look at, and the caller compares what it finds there with what it meant. Rows live in a few sorted runs; a commit
adds a run and joins neighbours of its size, so a row is moved O(log n) times and a lookup visits O(log n) runs. The newest
few rows are no run yet: single adds would pay more for arrays of one key than for looking at some dozen keys.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import InvalidArgument, LaminaError
from lamina_engine.index.sealed import Seal

Hashes: TypeAlias = NDArray[np.uint64]
Rows: TypeAlias = NDArray[np.int64]

MAX_ROWS: Final = 2**32
"""Row numbers are kept in four bytes."""
_FEW: Final = 4
"""Keys up to which each is looked up, or added, by itself."""
_LATE: Final = 32
"""Keys of single adds that are looked at one by one before they become a run."""


class KeysDamaged(LaminaError, OSError):
    """A saved key index that is torn, altered or not one; rebuild it from the log."""


_SEAL: Final = Seal(b"LMNAKEY\n", 2, "QQ", what="key index", damaged=KeysDamaged)
"""Fields: keys, rows covered. Payload: the hashes, uint64; then their rows, uint32."""


def hash_ids(ids: Iterable[str]) -> Hashes:
    """Return uint64 (n,): BLAKE2b-64 of each id's UTF-8. About 1 us each."""
    blake2b = hashlib.blake2b
    digests = [blake2b(i.encode("utf-8", "surrogatepass"), digest_size=8).digest() for i in ids]
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64, copy=False)


def hash_versions(versions: Sequence[bytes] | bytes) -> Hashes:
    """Return the first eight bytes of each 16-byte version, uint64 (n,).

    Parameters
    ----------
    versions : sequence of bytes, or bytes
        Versions, or all of them end to end as a fixed-size column stores them.

    Raises
    ------
    InvalidArgument
        A version that does not have 16 bytes.
    """
    joined = versions if isinstance(versions, bytes) else b"".join(versions)
    if len(joined) % 16 or (not isinstance(versions, bytes) and any(len(version) != 16 for version in versions)):
        raise InvalidArgument("a version has 16 bytes; at least one of these has not")
    return np.frombuffer(joined, "<u8")[::2].astype(np.uint64)


class _Run(NamedTuple):
    """Keys of one range of rows, by hash, equal hashes by row."""

    hashes: Hashes
    rows: NDArray[np.uint32]


class KeyIndex:
    """Immutable index of the keys of rows [0, rows); `extend` shares most of it."""

    __slots__ = ("_late", "_sorted_runs", "rows")

    def __init__(self, runs: tuple[_Run, ...] = (), rows: int = 0, late: tuple[tuple[int, int], ...] = ()) -> None:
        self._sorted_runs = runs
        self._late = late
        """Hash and row of the newest keys, behind those of all runs."""
        self.rows = rows

    @property
    def keys(self) -> int:
        """Number of keys held; at most `rows`."""
        return sum(len(run.hashes) for run in self._sorted_runs) + len(self._late)

    @property
    def _runs(self) -> tuple[_Run, ...]:
        """All keys as runs."""
        return (*self._sorted_runs, _run_of(self._late)) if self._late else self._sorted_runs

    def extend(self, hashes: Hashes, *, present: NDArray[np.bool_] | None = None) -> KeyIndex:
        """Return the index with the next rows added.

        Parameters
        ----------
        hashes : uint64 (n,)
            Keys of rows [rows, rows + n).
        present : bool (n,), optional
            False where a row is passed over (a version whose row has no vector).

        Raises
        ------
        InvalidArgument
            Lengths that differ, or rows past `MAX_ROWS`.

        Notes
        -----
        O(n log n + n log rows) amortised.
        """
        stop = self.rows + len(hashes)
        if present is not None and len(present) != len(hashes):
            raise InvalidArgument(f"{len(hashes)} keys came with {len(present)} flags; there must be one each")
        if stop > MAX_ROWS:
            raise InvalidArgument(f"row {stop - 1} is past the last one a key index can hold ({MAX_ROWS - 1})")
        if len(hashes) <= _FEW and len(self._late) + len(hashes) <= _LATE:
            there = present.tolist() if present is not None else [True] * len(hashes)
            added = [pair for pair, held in zip(enumerate(hashes.tolist(), self.rows), there, strict=True) if held]
            return KeyIndex(self._sorted_runs, stop, (*self._late, *((key, row) for row, key in added)))
        rows = np.arange(self.rows, stop, dtype=np.uint32)
        if present is not None:
            hashes, rows = hashes[present], rows[present]
        if len(hashes) == 0:
            return KeyIndex(self._sorted_runs, stop, self._late)
        run = _sorted(np.asarray(hashes, np.uint64), rows)
        if self._late:
            run = _joined(_run_of(self._late), run)
        runs = list(self._sorted_runs)
        while runs and len(runs[-1].hashes) < 2 * len(run.hashes):
            run = _joined(runs.pop(), run)
        return KeyIndex((*runs, run), stop)

    def lookup(self, keys: Hashes, *, n_rows: int | None = None) -> Rows:
        """Return the newest row of each key.

        Parameters
        ----------
        keys : uint64 (m,)
        n_rows : int, optional
            Only rows below this watermark; all unless given.

        Returns
        -------
        int64 (m,)
            -1 where there is none. Another key of the same hash may own the row: compare, and ask `all_rows`.

        Notes
        -----
        O(m log rows log rows) at worst; with ``n_rows``, plus the newer rows of each key.
        """
        limit = self.rows if n_rows is None else n_rows
        asked = np.asarray(keys, np.uint64)
        if len(asked) <= _FEW:
            return np.array([self._newest(key, limit) for key in asked.tolist()], np.int64)
        found = np.full(len(asked), -1, np.int64)
        open_ = np.arange(len(asked))
        for run in reversed(self._runs):
            if len(open_) == 0:
                break
            hit = _newest_below(run, asked[open_], limit)
            found[open_] = hit
            open_ = open_[hit < 0]
        return found

    def _newest(self, key: int, limit: int) -> int:
        """Return what `lookup` gives for one key: a few keys cost more in arrays than one by one."""
        for held, row in reversed(self._late):
            if held == key and row < limit:
                return row
        hashed = np.uint64(key)
        for run in reversed(self._sorted_runs):
            at = int(run.hashes.searchsorted(hashed, "right")) - 1
            while at >= 0 and run.hashes[at] == hashed:
                row = int(run.rows[at])
                if row < limit:
                    return row
                at -= 1
        return -1

    def all_rows(self, key: int) -> Rows:
        """Return all rows that share a key's hash, int64 ascending. O(log² rows + rows found)."""
        hashed = np.uint64(key)
        parts = []
        for run in self._runs:
            begin, end = (int(np.searchsorted(run.hashes, hashed, side)) for side in ("left", "right"))
            parts.append(run.rows[begin:end].astype(np.int64))
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def save(self, path: Path) -> None:
        """Write all keys as one sorted run to a checksummed file, atomically."""
        run = _sealed(self._runs)
        arrays = [run.hashes.astype("<u8", copy=False), run.rows.astype("<u4", copy=False)]
        _SEAL.write(path, (len(run.hashes), self.rows), [array.data for array in arrays if len(array)])

    @classmethod
    def open(cls, path: Path, *, verify: bool = True) -> KeyIndex:
        """Map a saved index; pages are read when lookups touch them.

        Parameters
        ----------
        path : Path
            The file.
        verify : bool
            Read it all and compare the checksum. The header and the size are always checked.

        Raises
        ------
        KeysDamaged
            The file is torn, altered, of another format, or no key index; rebuild it.
        FileNotFoundError
            There is no file.
        """
        (keys, rows), data = _SEAL.open(path, verify=verify)
        if len(data) != 12 * keys:
            raise KeysDamaged(f"{path}: the key index does not hold the {keys} keys its header says; rebuild it")
        if not keys:
            return cls((), rows)
        return cls((_Run(np.frombuffer(data, "<u8", keys), np.frombuffer(data, "<u4", keys, 8 * keys)),), rows)


def _sorted(hashes: Hashes, rows: NDArray[np.uint32]) -> _Run:
    order = np.argsort(hashes, kind="stable")
    return _Run(hashes[order], rows[order])


def _run_of(late: Sequence[tuple[int, int]]) -> _Run:
    hashes, rows = zip(*late, strict=True)
    return _sorted(np.array(hashes, np.uint64), np.array(rows, np.uint32))


def _joined(older: _Run, newer: _Run) -> _Run:
    """Merge two runs by a stable sort, which keeps equal hashes by row."""
    return _sorted(np.concatenate([older.hashes, newer.hashes]), np.concatenate([older.rows, newer.rows]))


def _sealed(runs: tuple[_Run, ...]) -> _Run:
    if not runs:
        return _Run(np.empty(0, np.uint64), np.empty(0, np.uint32))
    run = runs[-1]
    for older in reversed(runs[:-1]):
        run = _joined(older, run)
    return run


def _newest_below(run: _Run, keys: Hashes, limit: int) -> Rows:
    """Return the highest row below ``limit`` of each key in one run; -1 where there is none."""
    at = np.searchsorted(run.hashes, keys, side="right") - 1
    found = np.full(len(keys), -1, np.int64)
    open_ = np.flatnonzero(at >= 0)
    while len(open_):
        open_ = open_[run.hashes[at[open_]] == keys[open_]]
        rows = run.rows[at[open_]].astype(np.int64)
        below = rows < limit
        found[open_[below]] = rows[below]
        open_ = open_[~below]
        at[open_] -= 1
        open_ = open_[at[open_] >= 0]
    return found
