"""Generations: one clustering each, written in one transaction, never changed.

The newest event of the kind ``cluster`` names the current generation; its topics and members are in their own logs under
its number. All three are committed in one transaction, so a crash leaves the former generation current.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from lamina_engine import columns
from lamina_engine.chunks.writing import add_events
from lamina_engine.errors import VaultCorrupt
from lamina_engine.index.state import ACTIVE
from lamina_engine.stored_json import read_json
from lamina_kernels.layouts import F32, I64

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.segments import Segment
    from lamina_engine.store.snapshot import Snapshot

KIND: Final = "cluster"


class Detail(msgspec.Struct, frozen=True):
    """Detail of a generation's event.

    ``rows`` and ``events`` are the watermarks of what was clustered, ``full_rows`` and the like those of the
    last clustering of everything, on which the topics rest; ``agreement`` is how well that one agreed with one of a
    sample.
    ``named`` are the ids of topics whose names a language model gave.
    """

    generation: int
    min_cluster_size: int
    min_samples: int
    method: str
    selection: str
    threshold: float
    auto: bool
    space: str
    rows: int
    events: int
    clustered: int
    full_generation: int
    full_rows: int
    full_events: int
    full_clustered: int
    agreement: float
    sample: float
    named: tuple[str, ...] = ()


msgspec.json.Decoder(
    Detail
)  # on import: two threads that are the first to ask for a kind of struct crash the process (msgspec 0.22)


@dataclass(frozen=True, slots=True)
class TopicRow:
    """One topic as its log has it; see `lamina_engine.schema.TOPICS`."""

    topic: str
    parent: str | None
    name: str
    words: tuple[str, ...]
    size: int
    persistence: float
    medoid: str | None
    exemplars: tuple[str, ...]
    centroid: F32 = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Members:
    """Members of the topics of a generation, row by row of the chunks log.

    Attributes
    ----------
    topics, chunks, origins : list of str
    rows : int64 (m,)
    probabilities : float32 (m,)
    """

    topics: list[str]
    chunks: list[str]
    rows: I64
    probabilities: F32
    origins: list[str]

    def select(self, positions: I64) -> Members:
        """Return some of them."""
        some = positions.tolist()
        return Members(
            [self.topics[i] for i in some], [self.chunks[i] for i in some], self.rows[positions],
            self.probabilities[positions], [self.origins[i] for i in some],
        )  # fmt: skip

    def join(self, other: Members) -> Members:
        """Return both, in ascending row order."""
        both = Members(
            self.topics + other.topics, self.chunks + other.chunks, np.concatenate([self.rows, other.rows]),
            np.concatenate([self.probabilities, other.probabilities]), self.origins + other.origins,
        )  # fmt: skip
        return both.select(np.argsort(both.rows, kind="stable"))


def latest(snapshot: Snapshot, stop: int | None = None) -> Detail | None:
    """Return the newest generation's detail, below a row of the events; None before the first."""
    for segment in reversed(snapshot.segments("events")):
        kind = segment.column("kind")
        names = kind.dictionary.to_pylist()
        if KIND not in names:
            continue
        codes = columns.numbers(kind.indices)[: None if stop is None else max(stop - segment.start, 0)]
        hits = np.flatnonzero(codes == names.index(KIND))
        if hits.size:
            found = _detail(segment.values("detail", hits[-1:])[0])
            return (
                _renumbered(found, snapshot, int(segment.numbers("recorded_at")[hits[-1]]))
                if snapshot.missing
                else found
            )
    return None


def _renumbered(detail: Detail, snapshot: Snapshot, moment_us: int) -> Detail:
    """Return the detail with watermarks by its moment: without shards, rows have other numbers."""
    rows, events = (snapshot.watermark(log, moment_us) for log in ("chunks", "events"))
    return msgspec.structs.replace(
        detail,
        rows=rows,
        events=events,
        full_rows=min(rows, detail.full_rows),
        full_events=min(events, detail.full_events),
    )


def _detail(text: str | None) -> Detail:
    return read_json(text or "", Detail)


def read_topics(snapshot: Snapshot, generation: int) -> list[TopicRow]:
    """Return the topics of a generation, in the order they were written: by id."""
    found = []
    for record in _records(snapshot, "topics", generation):
        centroid = np.array(record["centroid"], np.float32)
        found.append(
            TopicRow(
                record["topic"],
                record["parent"],
                record["name"],
                tuple(record["words"]),
                record["size"],
                record["persistence"],
                record["medoid"],
                tuple(record["exemplars"]),
                centroid,
            )
        )
    _require_tree(found)
    return found


def _require_tree(topics: Sequence[TopicRow]) -> None:
    above = {topic.topic: topic.parent for topic in topics}
    known: set[str | None] = {None}
    for name in above:
        way: list[str] = []
        at: str | None = name
        while at not in known and at in above and len(way) <= len(above):
            way.append(at)
            at = above[at]
        if len(way) > len(above):
            raise VaultCorrupt(f"topic {name!r} lies below itself; `lamina verify` names what can be saved")
        known.update(way)


def read_members(snapshot: Snapshot, generation: int) -> Members:
    """Return the members of a generation's topics, without chunks forgotten since."""
    topics: list[str] = []
    chunks: list[str] = []
    origins: list[str] = []
    rows, probabilities = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
    for segment in snapshot.segments("members"):  # by column: a tenth of the time that whole rows take
        offsets = np.flatnonzero(segment.numbers("generation") == generation)
        own = segment.numbers("row")[offsets].astype(np.int64)
        if snapshot.missing:  # members of shards that are missing have no row
            offsets, own = offsets[own >= 0], own[own >= 0]
        if own.size and not 0 <= own.min() <= own.max() < snapshot.rows("chunks"):
            raise VaultCorrupt(f"{segment.path} names rows that there are not; `lamina verify` names what can be saved")
        topics += _texts(segment, "topic", offsets)
        chunks += _texts(segment, "chunk", offsets)
        origins += _texts(segment, "origin", offsets)
        rows.append(own)
        probabilities.append(segment.numbers("probability")[offsets].astype(np.float32))
    return Members(topics, chunks, np.concatenate(rows), np.concatenate(probabilities), origins)


def _texts(segment: Segment, name: str, offsets: I64) -> list[str]:
    """Return a column at ascending offsets; one slice is ten times faster than single values."""
    if not offsets.size:
        return []
    first = int(offsets[0])
    column = segment.column(name).slice(first, int(offsets[-1]) - first + 1)
    if isinstance(column, pa.DictionaryArray):
        names = column.dictionary.to_pylist()
        return [names[code] for code in columns.numbers(column.indices)[offsets - first].tolist()]
    found: list[str] = segment.texts(name, first, int(offsets[-1]) + 1)
    return found if len(found) == offsets.size else [found[i] for i in (offsets - first).tolist()]


def chunk_ids(snapshot: Snapshot, rows: I64) -> list[str]:
    """Return the ids of many chunks, given by ascending rows."""
    found: list[str] = []
    for segment, _, offsets in snapshot.groups("chunks", rows):
        found += _texts(segment, "id", offsets)
    return found


def _records(snapshot: Snapshot, log: str, generation: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for segment in snapshot.segments(log):
        offsets = np.flatnonzero(segment.numbers("generation") == generation)
        if offsets.size:
            found += snapshot.records(log, offsets.astype(np.int64) + segment.start)
    return found


def write(memory: Memory, detail: Detail, topics: Sequence[TopicRow], members: Members) -> Detail:
    """Write a generation, without chunks that were removed in the meantime."""
    with memory.write() as (transaction, view):
        newest = latest(transaction.snapshot)
        detail = msgspec.structs.replace(detail, generation=(newest.generation if newest else 0) + 1)
        if detail.full_generation == 0:
            detail = msgspec.structs.replace(detail, full_generation=detail.generation)
        gone = view.state.status[members.rows] != ACTIVE
        if gone.any():
            lost = {members.chunks[i] for i in np.flatnonzero(gone).tolist()}
            members, topics = members.select(np.flatnonzero(~gone)), [_without(topic, lost) for topic in topics]
        numbers = [detail.generation] * len(topics)
        transaction.append("topics", _topic_columns(topics, numbers), transaction.stamps(len(topics)))
        values = {
            "generation": np.full(members.rows.size, detail.generation), "topic": members.topics,
            "chunk": members.chunks, "row": members.rows, "probability": members.probabilities,
            "origin": members.origins,
        }  # fmt: skip
        transaction.append("members", values, transaction.stamps(members.rows.size))
        said = msgspec.json.encode(detail, order="sorted").decode()
        add_events(transaction, KIND, [""], np.array([-1], np.int64), transaction.stamps(1), [None], [said])
    return detail


def _without(topic: TopicRow, lost: set[str]) -> TopicRow:
    medoid = None if topic.medoid in lost else topic.medoid
    return replace(topic, medoid=medoid, exemplars=tuple(e for e in topic.exemplars if e not in lost))


def _topic_columns(topics: Sequence[TopicRow], numbers: list[int]) -> dict[str, Any]:
    return {
        "generation": numbers, "topic": [t.topic for t in topics], "parent": [t.parent for t in topics],
        "name": [t.name for t in topics], "words": [list(t.words) for t in topics], "size": [t.size for t in topics],
        "persistence": np.array([t.persistence for t in topics], np.float32), "medoid": [t.medoid for t in topics],
        "exemplars": [list(t.exemplars) for t in topics], "centroid": [t.centroid.tolist() for t in topics],
    }  # fmt: skip


def resize_topics(topics: Sequence[TopicRow], members: Sequence[str]) -> list[TopicRow]:
    """Return topics with the sizes that these members (topic ids, one a member) give them."""
    above = {topic.topic: topic.parent for topic in topics}
    sizes: Counter[str] = Counter()
    for name, count in Counter(members).items():
        at: str | None = name
        while at is not None:
            sizes[at] += count
            at = above.get(at)
    return [replace(topic, size=sizes[topic.topic]) for topic in topics]


def current_space(view: View) -> str:
    """Return the name and the model of the space in use; empty where there is none."""
    space = view.snapshot.space
    return f"{view.snapshot.manifest.space}:{space.identity}" if space else ""
