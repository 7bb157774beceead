"""From a request's filters to the rows it may return."""

from __future__ import annotations

import numpy as np

from lamina_engine.clock import MISSING_US
from lamina_engine.index.categories import facet
from lamina_engine.index.state import ACTIVE, FORGOTTEN, INVALIDATED
from lamina_engine.index.view import View
from lamina_engine.recall import mask, where
from lamina_engine.recall.lanes import Mask, Selection
from lamina_engine.recall.where import All, Node


def alive(view: View, node: Node, *, invalidated: bool, now_us: int | None = None) -> Mask:
    """Return bool (rows,): what may be returned before any filter.

    Active rows, and invalidated ones where the profile keeps them; everything but tombstones where the filter itself
    speaks of status. What is snoozed at ``now_us`` is left out unless the filter speaks of that.
    """
    status = view.state.status
    if where.mentions(node, "status"):
        return np.not_equal(status, FORGOTTEN)
    live = np.equal(status, ACTIVE)
    if invalidated:
        live |= np.equal(status, INVALIDATED)
    if now_us is not None and view.state.snoozed and not where.mentions(node, "snoozed_until"):
        live[view.state.asleep(now_us)] = False
    return live


def select(
    view: View,
    node: Node,
    since_us: int | None,
    until_us: int | None,
    *,
    invalidated: bool,
    now_us: int | None = None,
) -> Selection:
    """Return the rows that a request may return; at ``now_us``, for what is snoozed.

    Raises
    ------
    InvalidArgument
        When the filter names a field that no chunk has.
    """
    unfiltered = isinstance(node, All) and not node.parts and since_us is None and until_us is None
    if unfiltered and view.all_active:
        return Selection(None, view.rows, (), must_is_all=True)
    live = alive(view, node, invalidated=invalidated, now_us=now_us)
    if not unfiltered:
        live = mask.evaluate(node, view, live)
        live = _window(view, live, since_us, until_us)
    must = tuple(facet(field, value) for field, value in where.required_terms(node))
    only = where.is_only_required_terms(node) and since_us is None and until_us is None
    return Selection(live, int(np.count_nonzero(live)), must, must_is_all=unfiltered or only)


def _window(view: View, live: Mask, since_us: int | None, until_us: int | None) -> Mask:
    """Keep rows with since <= created_at < until; undated ones are in no window."""
    if since_us is None and until_us is None:
        return live
    created = view.created_us
    live = live & (created != MISSING_US)
    if since_us is not None:
        live &= created >= since_us
    if until_us is not None:
        live &= created < until_us
    return live
