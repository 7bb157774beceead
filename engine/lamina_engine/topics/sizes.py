"""Sizes of topics from their members: each topic counts those of the topics below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from lamina_engine.topics.generation import TopicRow


def resized(topics: Sequence[TopicRow], members: Sequence[str]) -> list[TopicRow]:
    """Return topics with the sizes that these members (topic ids, one a member) give them."""
    above = {topic.topic: topic.parent for topic in topics}
    sizes: Counter[str] = Counter()
    for name, count in Counter(members).items():
        at: str | None = name
        while at is not None:
            sizes[at] += count
            at = above.get(at)
    return [replace(topic, size=sizes[topic.topic]) for topic in topics]
