"""What walks from a few rows come to, by rows: no id is read before it is known which of all this is shown.

A recall goes from its hits to what they lead to and keeps a handful of that. Ids, paths and dates of the rest would
take most of its time.
"""

from __future__ import annotations

import functools
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from lamina_engine.errors import InvalidArgument
from lamina_engine.graph.intents import AFFINITY, PATHS, gains
from lamina_engine.graph.question import WHAT, check_intent
from lamina_engine.graph.registry import STANDARD, Registry
from lamina_engine.index import nodes
from lamina_engine.index.state import ACTIVE, INVALIDATED
from lamina_engine.results import Step
from lamina_kernels.graph import beam, hops, push

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lamina_engine.index.nodes import NodeState
    from lamina_engine.index.view import View
    from lamina_kernels.layouts import F32, F64, I32, I64, U8, Walk

CONTRADICTS: Final = "contradicts"


class Starts(NamedTuple):
    """Where walks begin: rows that have links, best first, and rows that have none.

    Attributes
    ----------
    nodes : int32 (s,)
    scores : float64 (s,)
    lone : int64 (a,)
        Rows without links: a walk finds them and goes no further.
    lone_scores : float64 (a,)
    """

    nodes: I32
    scores: F64
    lone: I64
    lone_scores: F64


class Pushed(NamedTuple):
    """What pushed mass came to, in no order.

    Attributes
    ----------
    rows : int64 (k,)
    scores : float64 (k,)
    paths : int64 (k,)
        Which of the intent's paths gave the score.
    """

    rows: I64
    scores: F64
    paths: I64


class _Plan(NamedTuple):
    """What an intent makes of the relations of a graph."""

    outward: U8
    inward: U8
    gains: F64
    paths: tuple[tuple[int, ...], ...]


@functools.lru_cache(maxsize=64)
def _plan(names: tuple[str, ...], intent: str, registry: Registry, known: int) -> _Plan:
    """Return the plan of an intent; ``known`` is how many relations are registered, for there may be more later."""
    code = {name: i for i, name in enumerate(names)}
    # along a relation that no link has, mass goes nowhere
    paths = tuple(tuple(code[name] for name in takewhile(code.__contains__, path)) for path in PATHS[intent])
    plan = _Plan(*registry.masks(names), gains(names, intent, registry), paths)
    for table in plan[:3]:
        table.flags.writeable = False
    return plan


def starts(view: View, rows: I64, scores: F64, *, invalidated: bool) -> Starts:
    """Return rows as starts, without those whose chunk may not be walked.

    Parameters
    ----------
    rows : int64 (n,)
        Distinct and current.
    scores : float64 (n,)
        ≥ 0; equal ones go by id.
    invalidated : bool
        Whether invalidated chunks may be walked.
    """
    if not view.all_active:
        status = view.state.status[rows]
        kept = (status == ACTIVE) | (invalidated & (status == INVALIDATED))
        rows, scores = rows[kept], scores[kept]
    worse = -scores
    order = np.argsort(worse, kind="stable")
    if (worse[order[1:]] == worse[order[:-1]]).any():
        names = view.snapshot.values("chunks", "id", rows)
        order = np.array(sorted(range(len(rows)), key=lambda i: (worse[i], names[i])), np.int64)
    rows, scores = rows[order], scores[order]
    found = nodes.nodes_of_rows(view, rows)
    linked = found >= 0
    return Starts(found[linked], scores[linked], rows[~linked], scores[~linked])


def current(view: View, rows: I64, scores: F64) -> tuple[I64, F64]:
    """Return the current rows of the chunks that rows are versions of, each once; of several scores the last counts."""
    found = nodes.current_rows(view, rows)
    latest = dict(zip(found.tolist(), scores.tolist(), strict=True))
    if len(latest) == len(rows):
        return found, scores
    return np.array(list(latest), np.int64), np.array(list(latest.values()), np.float64)


def walk(
    view: View,
    begin: Starts,
    *,
    intent: str | None,
    depth: int,
    beam_width: int,
    budget: int,
    vector: F32 | None = None,
    relations: Sequence[str] | None = None,
    without: Sequence[str] = (),
    invalidated: bool = True,
    registry: Registry = STANDARD,
) -> Walk:
    """Walk best-first; arguments as for `lamina_engine.graph.walks.traverse`. The lone ones are not part of it."""
    state = nodes.state_of(view)
    graph = state.graph
    plan = _plan(graph.relations, check_intent(intent) or WHAT, registry, len(registry))
    walk_out, walk_in = (plan.outward, plan.inward) if relations is None else registry.masks(graph.relations, relations)
    blocked = _without(view, state, state.blocked if invalidated else state.blocked_invalid, without)
    return beam.beam(
        graph.forward, graph.backward, begin.nodes, begin.scores, plan.gains, walk_out, walk_in, blocked, beam_width,
        depth, budget, _lift(view, state, vector),
    )  # fmt: skip


def pushed(
    view: View,
    begin: Starts,
    *,
    intent: str | None,
    budget: int,
    invalidated: bool = True,
    registry: Registry = STANDARD,
) -> Pushed:
    """Push mass along an intent's paths; the ``budget`` rows with most of it, lone starts included."""
    state = nodes.state_of(view)
    graph = state.graph
    plan = _plan(graph.relations, check_intent(intent) or WHAT, registry, len(registry))
    blocked = state.blocked if invalidated else state.blocked_invalid
    found = push.push(
        graph.forward, graph.backward, begin.nodes, begin.scores, plan.paths, plan.inward, blocked, budget
    )  # fmt: skip
    rows = np.concatenate([state.rows[found.nodes], begin.lone])
    scores = np.concatenate([found.scores, push.ALPHA * begin.lone_scores])
    paths = np.concatenate([found.paths, np.zeros(len(begin.lone), np.int64)])
    kept = among_first(view, rows, scores, budget)
    return Pushed(rows[kept], scores[kept], paths[kept])


def paths_of(intent: str | None) -> Sequence[tuple[str, ...]]:
    """Return the paths of relations that an intent pushes mass along."""
    return PATHS[check_intent(intent) or WHAT]


def among_first(view: View, rows: I64, scores: F64, k: int) -> I64:
    """Return the positions of the first k by score, then newer, then by id; in no order."""
    if len(rows) <= k:
        return np.arange(len(rows))
    older = ~view.created_us[rows]  # the other way round, and unlike a minus it cannot overflow
    order = np.lexsort((older, -scores))
    last, next_ = order[k - 1], order[k]
    if scores[last] == scores[next_] and older[last] == older[next_]:
        equal = np.flatnonzero((scores[order] == scores[last]) & (older[order] == older[last]))
        names = view.snapshot.values("chunks", "id", rows[order[equal]])
        order[equal] = order[equal[sorted(range(len(equal)), key=names.__getitem__)]]
    return order[:k]


def rows_led(view: View, walk: Walk, begin: Starts, budget: int) -> I64:
    """Return int64 (k,): the row of each position of a walk; -1 for starts, and for what lone starts leave no room for."""
    state = nodes.state_of(view)
    rows = state.rows[walk.nodes]
    if len(rows) + len(begin.lone) > budget:
        scores = np.concatenate([walk.scores, begin.lone_scores])
        kept = among_first(view, np.concatenate([rows, begin.lone]), scores, budget)
        away = np.ones(len(rows), np.bool_)
        away[kept[kept < len(rows)]] = False
        rows[away] = -1
    rows[walk.hops == 0] = -1
    return rows


def contradicted(view: View, walk: Walk) -> U8:
    """Return uint8 (k,): 1 where a link on the way says that its two ends contradict each other."""
    found = np.zeros(walk.nodes.size, np.uint8)
    graph = nodes.state_of(view).graph
    if CONTRADICTS not in graph.relations:
        return found
    code = graph.relations.index(CONTRADICTS)
    for hop in range(1, int(walk.hops.max(initial=0)) + 1):
        here = np.flatnonzero(walk.hops == hop)
        found[here] = found[walk.parents[here]]
        for links, outward in ((graph.forward, 1), (graph.backward, 0)):
            side = here[walk.outward[here] == outward]
            found[side] |= links.relations[walk.entries[side]] == code
    return found


def path_to(view: View, walk: Walk, position: int) -> tuple[Step, ...]:
    """Return the links from where a walk began to a position of it."""
    state = nodes.state_of(view)
    way = [position]
    while walk.parents[way[-1]] >= 0:
        way.append(int(walk.parents[way[-1]]))
    way.reverse()
    names = [str(name) for name in view.snapshot.values("chunks", "id", state.rows[walk.nodes[way]])]
    return tuple(
        step_of(state, int(walk.entries[at]), bool(walk.outward[at]), before, name)
        for at, before, name in zip(way[1:], names, names[1:], strict=False)
    )


def step_of(state: NodeState, entry: int, outward: bool, before: str, name: str) -> Step:
    """Return a link that was walked from one id to another; ``entry`` as `lamina_kernels.layouts.Walk` has it."""
    links = state.graph.forward if outward else state.graph.backward
    source, target = (before, name) if outward else (name, before)
    return Step(source, target, state.graph.relations[links.relations[entry]], float(links.weights[entry]), outward)


def _without(view: View, state: NodeState, blocked: U8, collections: Sequence[str]) -> U8:
    """Block the nodes of some collections too."""
    if not collections or not state.graph.nodes:
        return blocked
    known = np.flatnonzero(state.rows >= 0)
    found = view.categories.gather(view.snapshot, "collection", state.rows[known])  # first: it reads the names
    out = np.zeros(state.graph.nodes, np.bool_)
    out[known] = np.isin(found, [view.categories.code("collection", name) for name in collections])
    more: U8 = blocked | ~hops.block(out)
    return more


def _lift(view: View, state: NodeState, vector: F32 | None) -> beam.Lift | None:
    if vector is None or not view.vector_rows:
        return None
    norm = float(np.linalg.norm(vector))
    if not np.isfinite(norm) or norm == 0.0:
        raise InvalidArgument("the question's vector is all zero, or holds NaN or infinity; give another, or none")
    query = np.ascontiguousarray(vector / norm, np.float32)

    def lift(met: I32) -> F64:
        cosines = view.vectors.dots(state.rows[met], query).astype(np.float64)
        raised: F64 = np.exp(AFFINITY * cosines)
        return raised

    return lift
