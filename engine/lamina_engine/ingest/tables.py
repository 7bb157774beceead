"""Files of records into the log: JSON lines, CSV, Parquet and Arrow, in group commits as they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lamina_engine.chunks import adding, writing
from lamina_engine.errors import InvalidArgument
from lamina_engine.ingest.drafts import Problem
from lamina_engine.ingest.records import Record, normalise_record

if TYPE_CHECKING:
    from lamina_engine.ingest.report import IngestReport
    from lamina_engine.memory import Memory

GROUP_RECORDS = 16_384


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
    """

    def __init__(self, memory: Memory, report: IngestReport, name: str, overrides: Mapping[str, Any]) -> None:
        self._memory, self._report, self._name = memory, report, name
        self._overrides = {field: value for field, value in overrides.items() if value is not None}
        self._records: list[Record] = []
        self.ids: list[str] = []
        """Ids of all records written so far, in order."""
        self.found_new = False
        """True where some record was new or had changed."""

    def add(self, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        """Take rows with their positions in the file; one that cannot be used is reported and left out."""
        for position, row in rows:
            try:
                record = normalise_record({"source": self._name, **row, **self._overrides}, tz=self._memory.config.tz)
            except InvalidArgument as error:
                self._report.problems.append(Problem(f"{self._name}:{position}", "record", f"{error}; the record was left out"))
                continue
            self._records.append(record)
            if len(self._records) >= GROUP_RECORDS:
                self.flush()

    def flush(self) -> None:
        """Commit what was taken."""
        records, self._records = self._records, []
        for group in _by_vector(records):
            batch = adding.batch_of_records(group)
            findings = adding.redact(self._memory, batch)
            self._report.redactions += sum(map(len, findings.values()))
            if findings and self._memory.redactor.policy == "skip":
                for position, kinds in findings.items():
                    text = f"a record holds a secret ({', '.join(sorted(set(kinds)))}); it was left out"
                    self._report.problems.append(Problem(self._name, "redacted_skip", text))
                batch = batch.select([i for i in range(len(batch)) if i not in findings])
            written = writing.write(self._memory, batch)
            self.ids += written.ids
            self.found_new |= bool(written.added or written.updated)
            self._report.chunks += written.added + written.updated
            self._report.embedded += written.embedded


def _by_vector(records: list[Record]) -> list[list[Record]]:
    """Split records into those that bring a vector and those that do not: a file may mix them."""
    groups = [[r for r in records if r.vector is not None], [r for r in records if r.vector is None]]
    return [group for group in groups if group]
