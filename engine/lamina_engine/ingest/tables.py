"""Files of records into the log: JSON lines, CSV, Parquet and Arrow, in group commits as they are read."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina_engine.chunks import identity, writing
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.errors import IngestError, InvalidArgument, LaminaError
from lamina_engine.ingest import adding
from lamina_engine.ingest.drafts import Problem
from lamina_engine.ingest.records import Record, normalise_record

if TYPE_CHECKING:
    from lamina_engine.ingest.report import IngestReport
    from lamina_engine.memory import Memory

GROUP_RECORDS = 16_384
"""Records of one commit."""


class RecordWriter:
    """Collects records and commits them in groups.

    Parameters
    ----------
    memory : Memory
        The vault.
    report : IngestReport
        Counts what is written, and receives a problem for each record left out.
    name : str
        Name of the file, for problems; records that name no source get it.
    overrides : mapping
        Fields that take the place of what records say.
    former : sequence of str
        Ids of the chunks that the file had: a record without an id that is not among them by all it says continues one
        of equal content, so ids survive a move of the file.
    """

    def __init__(
        self,
        memory: Memory,
        report: IngestReport,
        name: str,
        overrides: Mapping[str, Any],
        *,
        former: Sequence[str] = (),
    ) -> None:
        self._memory, self._report, self._name = memory, report, name
        self._overrides = {field: value for field, value in overrides.items() if value is not None}
        self._records: list[Record] = []
        self._identities = _Identities(memory, former)
        self._known_dim: int | None = None
        self.ids: list[str] = []
        """Ids of all records written so far, in order."""
        self.found_new = False
        """True where some record was new or had changed."""

    def add(self, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        """Take rows with their positions in the file; one that cannot be used is reported and left out."""
        for position, row in rows:
            try:
                record = self._checked(row)
            except InvalidArgument as error:
                self._problem("record", f"{position}: {error}; the record was left out")
                continue
            except LaminaError:
                raise
            except Exception as error:  # whatever one record does to the checks, the others are taken
                self._problem("record", f"{position}: {type(error).__name__}: {error}; the record was left out")
                continue
            self._records.append(record)
            if len(self._records) >= GROUP_RECORDS:
                self.flush()

    def flush(self) -> None:
        """Commit what was taken."""
        records, self._records = self._records, []
        ids: dict[int, str] = {}
        for positions in _by_vector(records):
            try:
                batch = adding.batch_of_records([records[i] for i in positions])
                kept = self._redact(batch)
            except Exception as error:  # a failure to prepare is this file's; a failure to write is the run's
                raise IngestError(f"its records could not be prepared ({type(error).__name__}: {error})") from error
            if len(kept) < len(batch):
                batch = batch.select(kept)
            self._identities.fill(batch)
            written = writing.write(self._memory, batch)
            ids |= zip((positions[i] for i in kept), written.ids, strict=True)
            self.found_new |= bool(written.added or written.updated)
            self._report.chunks += written.added + written.updated
            self._report.embedded += written.embedded
        self.ids += [ids[i] for i in sorted(ids)]

    def _checked(self, row: Mapping[str, Any]) -> Record:
        given = {**row, **self._overrides}
        if not given.get("source"):
            given["source"] = self._name
        record = normalise_record(given, tz=self._memory.config.tz)
        if record.vector is not None:
            dim = self._dim()
            if dim and len(record.vector) != dim:
                raise InvalidArgument(f"its vector has dimension {len(record.vector)}, this vault's space has {dim}")
        return record

    def _dim(self) -> int:
        """Return the dimension of the vault's vectors; 0 where it has none."""
        if self._known_dim is None:
            space = self._memory.view().snapshot.space
            self._known_dim = space.dim if space is not None else self._memory.embedder.dim
        return self._known_dim

    def _redact(self, batch: ChunkBatch) -> list[int]:
        """Mask secrets in place; return the positions that the policy keeps."""
        findings = adding.redact(self._memory, batch)
        self._report.redactions += sum(map(len, findings.values()))
        if self._memory.redactor.policy != "skip":
            return list(range(len(batch)))
        for kinds in findings.values():
            self._problem(
                "redacted_skip", f"a record holds a secret ({', '.join(sorted(set(kinds)))}); it was left out"
            )
        return [i for i in range(len(batch)) if i not in findings]

    def _problem(self, code: str, message: str) -> None:
        self._report.problems.append(Problem(self._name, code, message))


class _Identities:
    """Gives records without an id the one they have or had."""

    def __init__(self, memory: Memory, former: Sequence[str]) -> None:
        view = memory.view()
        rows = view.rows_of_ids(list(former))
        known = [(name, row) for name, row in zip(former, rows.tolist(), strict=True) if row >= 0]
        versions = view.snapshot.values("chunks", "version", np.array([row for _, row in known], np.int64))
        self._former = set(former)
        self._by_version: dict[bytes, deque[str]] = defaultdict(deque)
        for (name, _), version in zip(known, versions, strict=True):
            self._by_version[version].append(name)
        self._chosen: dict[str, str] = {}
        self._taken: set[str] = set()

    def fill(self, batch: ChunkBatch) -> None:
        """Fill in the ids of a batch. Equal records get one id, different ones never do."""
        given = list(batch.ids)
        batch.identify()
        for i, derived in enumerate(batch.ids):
            name = str(derived)
            if given[i] is None:
                if name not in self._chosen:
                    self._chosen[name] = self._choose(name, batch.versions[i])
                batch.ids[i] = self._chosen[name]
            self._taken.add(str(batch.ids[i]))

    def _choose(self, derived: str, version: bytes) -> str:
        if derived in self._former and derived not in self._taken:
            return derived
        same = self._by_version[version]
        while same:
            name = same.popleft()
            if name not in self._taken:
                return name
        # a record of other details may have taken the id over, so this one needs another
        name, count = derived, 0
        while name in self._taken:
            count += 1
            name = identity.new_id("add", derived, str(count))
        return name


def _by_vector(records: Sequence[Record]) -> list[list[int]]:
    """Split positions of records by the dimension of their vectors: a file may mix records with and without."""
    groups: dict[int, list[int]] = defaultdict(list)
    for i, record in enumerate(records):
        groups[0 if record.vector is None else len(record.vector)].append(i)
    return [groups[dim] for dim in sorted(groups, reverse=True)]
