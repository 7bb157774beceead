"""What callers get: the report of a clustering, topics, and their members."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from lamina_engine.errors import TopicNotFound


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """What a clustering found, or continued."""

    generation: int
    topics: int
    """Topics that chunks lie in."""
    parents: int
    """Wider topics above them."""
    chunks: int
    """Current chunks with a vector."""
    members: int
    noise: int
    """Chunks in no topic."""
    threshold: float
    """Angular distance, arccos(cosine)/π, that members and new chunks keep to."""
    incremental: bool
    """True where the topics of before were continued."""
    written: bool
    """False where nothing had changed: the generation is the former one."""
    added: int
    removed: int
    """Chunks that came and went since everything was last clustered."""
    kept: int
    """Topics and parents that continue one of before."""
    agreement: float
    """Adjusted Rand index with a clustering of a sample (1 where the sample would be everything)."""
    seconds: float
    named: int = 0
    """Topics that a language model named in this run."""
    note: str | None = None
    """What its user should know, such as why topics were not named."""

    def to_dict(self) -> dict[str, Any]:
        """Return the shape of ``lamina cluster --json``."""
        return asdict(self)


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

    def to_dict(self) -> dict[str, Any]:
        """Return the shape of ``lamina topics ID --json``."""
        return asdict(self)


__all__ = ["ClusterReport", "Member", "Topic", "TopicMembers", "TopicNotFound"]
