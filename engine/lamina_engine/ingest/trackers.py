"""Records of trackers (requests, issues, comments) into chunks: one id for each, a later export updates what changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from lamina_engine.chunks import writing
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.clock import parse_instant
from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.ingest.adding import redact
from lamina_engine.ingest.drafts import Problem

if TYPE_CHECKING:
    from lamina_engine.chunks.writing import Written
    from lamina_engine.memory import Memory


class Record(Struct):
    """One thing of a tracker, as a chunk says it."""

    id: str
    """The same in every export."""
    title: str
    text: str
    type: str
    project: str | None
    agent: str | None
    """Who opened or wrote it."""
    source: str | None
    """Where it can be looked at."""
    created_us: int | None
    """When the last thing happened to it that makes it what it is: opened, merged or closed; never when it was read."""
    tags: list[str]
    success: bool | None
    metadata: dict[str, Any]


@dataclass(slots=True)
class TrackerReport:
    """What an import did."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    problems: list[Problem] = field(default_factory=list)


def imported(
    memory: Memory, values: Sequence[Any], reader: Any, source: str, what: str, collection: str
) -> TrackerReport:
    """Write the records of some values into a collection; parameters as for `checked` and `write`.

    Raises
    ------
    EmbedderMismatch, EmbeddingError, VaultReadOnly, VaultLocked, OSError
    """
    report = TrackerReport()
    records = list(checked(values, reader, source, what, report.problems))
    if records:
        written = write(memory, records, collection)
        report.added, report.updated, report.unchanged = written.added, written.updated, written.unchanged
    return report


def documents(path: Path, what: str) -> list[Any]:
    """Return the values of a file of JSON (one value, or a list) or JSON lines.

    Raises
    ------
    IngestError
        When it cannot be read, or is neither.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise IngestError(f"{path} cannot be read ({error}); give {what}") from error
    try:
        found = msgspec.json.decode(content) if content.strip() else []
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            found = [msgspec.json.decode(line) for line in content.split(b"\n") if line.strip()]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise IngestError(f"{path} is no JSON ({error}); give {what}") from error
    return found if isinstance(found, list) else [found]


def checked(values: Sequence[Any], reader: Any, source: str, what: str, problems: list[Problem]) -> Iterator[Record]:
    """Yield the records of some values; one that cannot be read is reported and passed over.

    Parameters
    ----------
    values : sequence
        Parsed JSON.
    reader : callable
        Gives the records of one value; a ``ValueError``, ``TypeError`` or ``KeyError`` of it says what is wrong.
    source, what : str
        The file's name, and what its values are called.
    problems : list of Problem
        What was passed over is added to it.
    """
    for number, value in enumerate(values, 1):
        try:
            records = list(reader(value))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            told = f"{what} {number} cannot be used ({error}); it was passed over"
            problems.append(Problem(source, "record", told))
        else:
            yield from records


def write(memory: Memory, records: Sequence[Record], collection: str) -> Written:
    """Write records into a collection, secrets masked; of several with one id the last stands.

    Raises
    ------
    EmbedderMismatch, EmbeddingError, VaultReadOnly, VaultLocked, OSError
    """
    kept = list({record.id: record for record in records}.values())
    n = len(kept)
    batch = ChunkBatch(
        texts=[record.text for record in kept],
        ids=[record.id for record in kept],
        titles=[record.title for record in kept],
        headings=[[] for _ in kept],
        types=[record.type for record in kept],
        collections=[collection] * n,
        projects=[record.project for record in kept],
        sessions=[None] * n,
        agents=[record.agent for record in kept],
        sources=[record.source for record in kept],
        ordinals=[-1] * n,
        starts=[-1] * n,
        stops=[-1] * n,
        created_at=[record.created_us for record in kept],
        tags=[record.tags for record in kept],
        success=[record.success for record in kept],
        commits=[None] * n,
        blobs=[None] * n,
        metadata=[msgspec.json.encode(record.metadata, order="sorted").decode() for record in kept],
        fallback_created_at=[None] * n,  # pyright: ignore[reportArgumentType]
    )
    redact(memory, batch)
    return writing.write(memory, batch)


def moment(value: Any, what: str) -> int | None:
    """Return an instant of a tracker, us UTC; None where it has none.

    Raises
    ------
    InvalidArgument
    """
    if value is None or value == "" or (isinstance(value, str) and value.startswith("0001-")):  # gh's "not yet"
        return None
    if not isinstance(value, str):
        raise InvalidArgument(f"{what}={value!r} is no date")
    return parse_instant(value, what=what)


def name(value: Any, *keys: str) -> str | None:
    """Return a text that stands bare, or under one of some keys of an object; None where there is none."""
    if isinstance(value, dict):
        value = next((value[key] for key in keys if value.get(key)), None)
    return value.strip() or None if isinstance(value, str) else None


def names(values: Any, *keys: str) -> list[str]:
    """Return the texts of a list, each bare or under one of some keys."""
    found = [name(value, *keys) for value in values] if isinstance(values, list) else []
    return [each for each in found if each]


def body(text: Any, title: str) -> str:
    """Return a record's text: what was written, or its title where nothing was."""
    written = text.replace("\r\n", "\n").strip() if isinstance(text, str) else ""
    return written or title
