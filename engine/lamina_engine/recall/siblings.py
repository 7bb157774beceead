"""What the topics of the best hits bring along: chunks of the same topic, nearest to its centre first.

A sibling counts as much as the hit that brought it, times one less its angular distance to the topic's centre; in the
answer it stands below every direct hit (see `lamina_engine.recall.arranging`). Nothing is added for having been
brought before: in the system this comes from such feedback outgrew every score, so what was returned once came back.

Members are those of the clustering in force. A hit that came after it belongs to the nearest topic within the
profile's threshold, or to none. Members that no density put there keep to that threshold too.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_engine.recall.brought import Brought
from lamina_kernels.layouts import F64, I64

if TYPE_CHECKING:
    from lamina_engine.index.tables import Tables
    from lamina_engine.index.view import View
    from lamina_engine.recall.candidates import Candidates
    from lamina_engine.recall.lanes import Selection
    from lamina_engine.recall.request import Request
    from lamina_engine.topics.generation import TopicRow

_BY_DENSITY: Final = "tree"


class TopicTable:
    """Topics of one clustering, and their members by row of the chunks log."""

    def __init__(self, view: View, generation: int) -> None:
        from lamina_engine.topics.generation import read_members, read_topics

        self.generation = generation
        topics = read_topics(view.snapshot, generation)
        members = read_members(view.snapshot, generation)
        above = {topic.parent for topic in topics}
        place = {topic.topic: i for i, topic in enumerate(topics)}
        order = np.argsort(members.rows, kind="stable")
        self.topics: list[TopicRow] = topics
        self.rows: I64 = members.rows[order]
        self.owners: I64 = np.array([place[name] for name in members.topics], np.int64)[order]
        self.dense = np.array([origin == _BY_DENSITY for origin in members.origins], np.bool_)[order]
        self.lowest = np.array([i for i, topic in enumerate(topics) if topic.topic not in above], np.int64)
        self._near: dict[int, tuple[I64, F64]] = {}

    def topic_of(self, view: View, row: int, threshold: float) -> int:
        """Return the position of a row's topic, -1 for none."""
        from lamina_engine.topics.assignment import assign
        from lamina_engine.topics.points import unit_rows

        at = int(np.searchsorted(self.rows, row))
        if at < self.rows.size and self.rows[at] == row:
            return int(self.owners[at])
        if row >= view.vector_rows or not self.lowest.size:
            return -1
        centroids = np.stack([self.topics[i].centroid for i in self.lowest.tolist()])
        found = int(assign(unit_rows(view.vectors.gather(np.array([row]))), centroids, threshold).topics[0])
        return int(self.lowest[found]) if found >= 0 else -1

    def members(self, view: View, topic: int, threshold: float) -> tuple[I64, F64]:
        """Return rows of a topic and their angular distances to its centre, nearest first; equals by row."""
        if topic not in self._near:
            from lamina_engine.topics.assignment import angular
            from lamina_engine.topics.points import unit_rows

            mine = np.flatnonzero(self.owners == topic)
            centroid = self.topics[topic].centroid[None]
            distances = angular(unit_rows(view.vectors.gather(self.rows[mine])), centroid)[:, 0]
            kept = self.dense[mine] | (distances < threshold)
            mine, distances = mine[kept], distances[kept]
            order = np.lexsort((self.rows[mine], distances))
            self._near[topic] = self.rows[mine[order]], distances[order]
        return self._near[topic]


_tables: weakref.WeakKeyDictionary[Tables, tuple[float, TopicTable]] = weakref.WeakKeyDictionary()


def siblings(
    view: View, request: Request, selection: Selection, candidates: Candidates, order: list[int]
) -> list[Brought]:
    """Return what the topics of the hits bring along, none of it a candidate already.

    Parameters
    ----------
    order : list of int
        Positions of the hits among the candidates, best first.

    Returns
    -------
    list of Brought
        Empty where the vault was never clustered, or not in the space in use, and for past moments: topics are of the
        present.
    """
    settings = request.profile.siblings
    table = _table(view, settings.threshold)
    if table is None:
        return []
    taken, used, found = set(candidates.rows.tolist()), set[int](), list[Brought]()
    for position in order:
        if len(used) == settings.topics:
            break
        row = int(candidates.rows[position])
        topic = table.topic_of(view, row, settings.threshold)
        if topic < 0 or topic in used:
            continue
        used.add(topic)
        rows, distances = table.members(view, topic, settings.threshold)
        active = view.state.active()[rows] if selection.live is None else selection.live[rows]
        free = [i for i in np.flatnonzero(active).tolist() if int(rows[i]) not in taken][: settings.most]
        taken.update(rows[free].tolist())
        found += _brought(view, table.topics[topic], row, rows[free], distances[free], candidates.semantic[position])
    return found


def _table(view: View, threshold: float) -> TopicTable | None:
    from lamina_engine.topics.generation import current_space, latest

    if view.is_past or not view.vector_rows or not view.snapshot.rows("topics"):
        return None
    detail = latest(view.snapshot)
    if detail is None or detail.space != current_space(view):
        return None
    known = _tables.get(view.tables)
    if known is None or known[0] != threshold or known[1].generation != detail.generation:
        known = _tables[view.tables] = threshold, TopicTable(view, detail.generation)
    return known[1]


def _brought(view: View, topic: TopicRow, hit: int, rows: I64, distances: F64, semantic: float) -> list[Brought]:
    names = [str(name) for name in view.snapshot.values("chunks", "id", np.append(rows, hit))]
    start = names.pop()
    out = []
    for row, name, distance in zip(rows.tolist(), names, distances.tolist(), strict=True):
        step: dict[str, Any] = {
            "source": start, "target": name, "relation": "topic", "weight": 1.0 - distance, "outward": True,
            "topic": topic.topic,
        }  # fmt: skip
        via = f"{start} -topic {topic.name}-> {name}"
        out.append(Brought(row, float(semantic) * (1.0 - distance), via, (step,), contradicts=False, sibling=True))
    return out
