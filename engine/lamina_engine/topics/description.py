"""Topic rows from a partition: ids, names, words, examples, members.

Topics keep their id and name over a new clustering while most of their chunks stay in one topic.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Final, NamedTuple

import numpy as np

from lamina_engine.index.view import View
from lamina_engine.topics.assignment import assign_positions, directions, measure_confidence, sum_by_label
from lamina_engine.topics.generation import Members, TopicRow, chunk_ids
from lamina_engine.topics.labels import WordCounts, WordReader, make_names, sample_size, select_words
from lamina_engine.topics.partition import Partition
from lamina_kernels.layouts import F32, F64, I64

ALIKE: Final = 0.5
"""Jaccard index from which a topic is the same."""


_EXEMPLARS: Final = 5

_BLOCK: Final = 8192
"""Rows looked at at once."""


def match_topics(old: Mapping[str, Set[str]], new: Sequence[Set[str]]) -> dict[int, str]:
    """Return for new topics the id of the old one that each continues.

    Notes
    -----
    Greedy, the most alike first; of equals the smaller old id, then the first new one. Linear in common members.
    """
    owners: dict[str, list[str]] = {}
    for identity in sorted(old):
        for chunk in old[identity]:
            owners.setdefault(chunk, []).append(identity)
    pairs: list[tuple[float, str, int]] = []
    for position, chunks in enumerate(new):
        common: dict[str, int] = {}
        for chunk in chunks:
            for identity in owners.get(chunk, ()):
                common[identity] = common.get(identity, 0) + 1
        for identity, both in common.items():
            alike = both / (len(chunks) + len(old[identity]) - both)
            if alike >= ALIKE:
                pairs.append((-alike, identity, position))
    found: dict[int, str] = {}
    taken: set[str] = set()
    for _, identity, position in sorted(pairs):
        if position not in found and identity not in taken:
            found[position] = identity
            taken.add(identity)
    return found


def make_topic_id(chunks: Set[str], generation: int, used: Set[str]) -> str:
    """Return a new topic's id: ``t`` and eight hex digits of its members and generation."""
    attempt = 0
    while True:
        digest = hashlib.blake2b(f"{generation}:{attempt}".encode(), digest_size=4)
        for chunk in sorted(chunks):
            digest.update(b"\0" + chunk.encode("utf-8", "surrogatepass"))
        identity = "t" + digest.hexdigest()
        if identity not in used:
            return identity
        attempt += 1


ProgressCallback = Callable[[int, int], None]


class FormerTopics(NamedTuple):
    """Topics of the former generation.

    Attributes
    ----------
    chunks : dict
        Chunk ids by topic id, without those that exemplars brought in; parents have those of the topics below.
    names : dict
    """

    chunks: dict[str, set[str]]
    names: dict[str, str]


class Description(NamedTuple):
    """Topics by id, their members, and how many continue a former topic."""

    topics: list[TopicRow]
    members: Members
    kept: int


class _Tree(NamedTuple):
    """Topics that have members, in ascending order of their ids.

    ``lowest`` are the positions of those with rows of their own, in order; ``labels`` point into ``lowest``.
    """

    ids: list[str]
    parents: I64
    lowest: I64
    labels: I64
    centroids: F32
    persistence: F64


def group_members(topics: list[TopicRow], members: Members) -> FormerTopics:
    """Return the former topics' members by topic, for matching."""
    above = {topic.topic: topic.parent for topic in topics}
    chunks: dict[str, set[str]] = {topic.topic: set() for topic in topics}
    for topic, chunk, origin in zip(members.topics, members.chunks, members.origins, strict=True):
        at: str | None = topic if origin != "exemplar" else None
        while at is not None and at in chunks:
            chunks[at].add(chunk)
            at = above[at]
    return FormerTopics({name: found for name, found in chunks.items() if found}, {t.topic: t.name for t in topics})


def describe(
    view: View,
    rows: I64,
    vectors: F32,
    found: Partition,
    before: FormerTopics,
    *,
    generation: int,
    plain: bool,
    progress: ProgressCallback = lambda done, total: None,
) -> Description:
    """Return the topic rows and members of a partition."""
    chunks = chunk_ids(view.snapshot, rows)
    tree, kept = _match_names(chunks, found, before, generation)
    labels, probabilities = tree.labels.copy(), found.probabilities.astype(np.float32)
    noise = np.flatnonzero(labels < 0)
    origins = np.where(labels >= 0, "tree" if plain else "smoothed", "exemplar")
    if not plain:
        near = assign_positions(vectors, noise, tree.centroids, found.threshold)
        labels[noise] = near.topics
        probabilities[noise] = measure_confidence(near.distances, found.threshold)
    inside = np.flatnonzero(labels >= 0)
    members = Members(
        [tree.ids[tree.lowest[label]] for label in labels[inside].tolist()], [chunks[i] for i in inside.tolist()],
        rows[inside], probabilities[inside], origins[inside].tolist(),
    )  # fmt: skip
    return Description(_topics(view, rows, vectors, chunks, tree, labels, before.names, progress), members, kept)


def _match_names(chunks: list[str], found: Partition, before: FormerTopics, generation: int) -> tuple[_Tree, int]:
    """Give ids to the topics that have members by the tree, and order them by id."""
    parents = found.layers.parents
    groups: list[set[str]] = [set() for _ in parents]
    for label, position in enumerate(found.clusters.tolist()):
        own = {chunks[i] for i in np.flatnonzero(found.labels == label).tolist()}
        at = position
        while at >= 0 and own:
            groups[at] |= own
            at = int(parents[at])
    held = [position for position, group in enumerate(groups) if group]
    continued = match_topics(before.chunks, [groups[p] for p in held])
    used = set(before.chunks)
    ids: dict[int, str] = {}
    for i, position in enumerate(held):
        ids[position] = continued[i] if i in continued else make_topic_id(groups[position], generation, used)
        used.add(ids[position])
    order = sorted(held, key=lambda position: ids[position])
    place = np.full(len(groups) + 1, -1)
    place[order] = np.arange(len(order))
    label_of = {position: label for label, position in enumerate(found.clusters.tolist())}
    lowest = np.array([i for i, position in enumerate(order) if position in label_of], np.int64)
    olds = np.array([label_of[order[i]] for i in lowest.tolist()], np.int64)
    renamed = np.full(found.clusters.size + 1, -1)
    renamed[olds] = np.arange(lowest.size)
    tree = _Tree(
        [ids[p] for p in order], place[parents[order]] if order else np.empty(0, np.int64), lowest,
        renamed[found.labels], found.centroids[olds], found.layers.persistence[order],
    )  # fmt: skip
    return tree, len(continued)


def _topics(
    view: View,
    rows: I64,
    vectors: F32,
    chunks: list[str],
    tree: _Tree,
    labels: I64,
    names: Mapping[str, str],
    progress: ProgressCallback,
) -> list[TopicRow]:
    inside = _inside(tree, labels)
    centroids = _centroids(tree, vectors, labels)
    words = _words(view, rows, vectors, tree, inside, centroids, progress)
    largest = sorted(range(len(tree.ids)), key=lambda i: (-inside[i].size, i))  # so wider ones before their parts
    called = make_names(words, [names.get(identity) for identity in tree.ids], largest, tree.parents.tolist())
    topics = []
    for i, identity in enumerate(tree.ids):
        nearest = [chunks[p] for p in _nearest(vectors, inside[i], centroids[i], _EXEMPLARS).tolist()]
        topics.append(
            TopicRow(
                identity,
                tree.ids[tree.parents[i]] if tree.parents[i] >= 0 else None,
                called[i],
                tuple(words[i]),
                inside[i].size,
                float(np.float32(tree.persistence[i])),
                nearest[0] if nearest else None,
                tuple(nearest),
                centroids[i],
            )
        )
    return topics


def _inside(tree: _Tree, labels: I64) -> list[I64]:
    """Return the rows of each topic, those of the topics below it included, ascending."""
    parts: list[list[I64]] = [[] for _ in tree.ids]
    for label, position in enumerate(tree.lowest.tolist()):
        own = np.flatnonzero(labels == label)
        at = position
        while at >= 0:
            parts[at].append(own)
            at = int(tree.parents[at])
    return [np.sort(np.concatenate(part)) if part else np.empty(0, np.int64) for part in parts]


def _centroids(tree: _Tree, vectors: F32, labels: I64) -> F32:
    """Return the centroids: of the lowest topics as found, of parents from all rows below."""
    totals = np.zeros((len(tree.ids), vectors.shape[1]))
    for label, total in enumerate(sum_by_label(vectors, labels, tree.lowest.size)):
        at = int(tree.lowest[label])
        while at >= 0:
            totals[at] += total
            at = int(tree.parents[at])
    centroids = directions(totals)
    centroids[tree.lowest] = tree.centroids
    return centroids


def _nearest(vectors: F32, positions: I64, centroid: F32, most: int) -> I64:
    """Return the rows nearest to a centroid, the nearest first, equally near ones in row order."""
    cosine = np.empty(positions.size)
    for start in range(0, positions.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        cosine[part] = np.einsum("nd,d->n", vectors[positions[part]], centroid, dtype=np.float64)
    return positions[np.lexsort((positions, -cosine))[:most]]


def _words(
    view: View, rows: I64, vectors: F32, tree: _Tree, inside: list[I64], centroids: F32, progress: ProgressCallback
) -> list[list[str]]:
    """Return the words of each topic, from the texts nearest to the lowest centroids."""
    reader, most = WordReader(), sample_size(tree.lowest.size)
    counts = [WordCounts() for _ in tree.ids]
    for done, position in enumerate(tree.lowest.tolist()):
        progress(done, tree.lowest.size)
        read = rows[_nearest(vectors, inside[position], centroids[position], most)]
        titles = view.snapshot.values("chunks", "title", read)
        texts = view.snapshot.values("chunks", "text", read)
        own = reader.count(f"{title or ''}\n{text}" for title, text in zip(titles, texts, strict=True))
        at = position
        while at >= 0:
            counts[at].add(own)
            at = int(tree.parents[at])
    return select_words(counts, tree.lowest.tolist())
