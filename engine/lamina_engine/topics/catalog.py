"""Catalog of the current topics, with chunks added and removed since the clustering.

Nothing is written: chunks beyond the generation's watermarks are assigned to the nearest topic on each read, so every
reader of one version of the vault gets the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lamina_engine.errors import InvalidArgument, TopicNotFound
from lamina_engine.index.view import View
from lamina_engine.topics.clustering import assign_new
from lamina_engine.topics.drift import rows_at, usable_rows
from lamina_engine.topics.generation import (
    Members,
    TopicRow,
    current_space,
    latest,
    read_members,
    read_topics,
    resize_topics,
)

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.results import JSONValue
    from lamina_kernels.layouts import I64


_ASSIGNED = "assigned"


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic as it is now: chunks that came since count, chunks that went do not.

    Texts (name, words) come from the vault: escape them where they are rendered.
    """

    id: str
    parent: str | None
    children: tuple[str, ...]
    name: str
    words: tuple[str, ...]
    size: int
    """Chunks in it, those of the topics below it included."""
    persistence: float
    medoid: str | None
    exemplars: tuple[str, ...]

    def to_dict(self) -> dict[str, JSONValue]:
        """Return one element of ``topics`` of ``lamina topics --json``."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Member:
    """A chunk in a topic.

    ``origin`` is ``tree`` (by density alone), ``smoothed`` (by the density of smoothed vectors), ``exemplar`` (noise
    that lies within the threshold of the centroid) or ``assigned`` (came since; likewise within the threshold).
    """

    chunk: str
    topic: str
    probability: float
    origin: str


@dataclass(frozen=True, slots=True)
class TopicMembers:
    """A topic and its members, the surest first."""

    topic: Topic
    members: tuple[Member, ...]

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the shape of ``lamina topics ID --json``."""
        return asdict(self)


class CurrentTopics(NamedTuple):
    """Topics in ascending order of their ids, and their members by row, as they are now."""

    topics: list[TopicRow]
    members: Members


def current_topics(view: View, rows: I64 | None = None) -> CurrentTopics:
    """Return the topics of a version with their active members, or those among some rows."""
    detail = latest(view.snapshot, view.state.events)
    if detail is None:
        return CurrentTopics([], Members([], [], np.empty(0, np.int64), np.empty(0, np.float32), []))
    topics = read_topics(view.snapshot, detail.generation)
    members = read_members(view.snapshot, detail.generation)
    usable = usable_rows(view) if rows is None else rows
    if members.rows.size:
        kept = view.state.active()[members.rows] if rows is None else np.isin(members.rows, rows)
        members = members.select(np.flatnonzero(kept))
    if detail.space == current_space(view):  # vectors of another model have nothing to do with these centroids
        then = rows_at(view, detail.rows, detail.events)
        fresh = np.setdiff1d(usable, then, assume_unique=True)
        late = assign_new(view, topics, fresh, detail.threshold)
        members = members.join(
            Members(late.topics, late.chunks, late.rows, late.probabilities, [_ASSIGNED] * late.rows.size)
        )
    return CurrentTopics(resize_topics(topics, members.topics), members)


def topics(memory: Memory) -> list[Topic]:
    """Return the topics of a vault, largest first, parents before children of equal size."""
    found = current_topics(memory.view()).topics
    return sorted(_topic_results(found).values(), key=lambda topic: (-topic.size, not topic.children, topic.id))


def members_of(memory: Memory, identities: Iterable[str]) -> list[TopicMembers]:
    """Return topics with their members, a parent's from all below it. O(rows) for the first."""
    wanted = list(identities)
    for identity in wanted:
        if not isinstance(identity, str) or not identity:
            raise InvalidArgument(f"id={identity!r} must be the text of a topic's id; `lamina topics` lists them")
    found = current_topics(memory.view())
    shown = _topic_results(found.topics)
    own: dict[str, list[Member]] = {name: [] for name in shown}
    for chunk, name, share, origin in zip(
        found.members.chunks, found.members.topics, found.members.probabilities.tolist(), found.members.origins,
        strict=True,
    ):  # fmt: skip
        own[name].append(Member(chunk, name, share, origin))

    def below(identity: str) -> Iterator[Member]:
        open_ids = [identity]
        while open_ids:
            at = open_ids.pop()
            yield from own[at]
            open_ids += shown[at].children

    for identity in wanted:
        if identity not in shown:
            raise TopicNotFound(f"no topic has the id {identity!r}; `lamina topics` lists them")
    return [TopicMembers(shown[each], tuple(sorted(below(each), key=_by_sureness))) for each in wanted]


def _by_sureness(member: Member) -> tuple[float, str]:
    return -member.probability, member.chunk


def _topic_results(rows: list[TopicRow]) -> dict[str, Topic]:
    children: dict[str, list[str]] = {}
    for row in rows:
        if row.parent is not None:
            children.setdefault(row.parent, []).append(row.topic)
    return {
        row.topic: Topic(
            row.topic, row.parent, tuple(children.get(row.topic, ())), row.name, row.words, row.size, row.persistence,
            row.medoid, row.exemplars,
        )
        for row in rows
    }  # fmt: skip
