"""Values in time: what a new value does to those that are there already. Plain values in, plain values out.

Intervals are half-open. A value that is said holds from its own beginning to the next one's; what stood there ends that
instant, and goes on afterwards where the new one was said for a while only. So of a functional predicate there is one value
at every instant, and nothing that was said for another time is lost.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from lamina_engine.facts.shapes import MAX_TIME, MIN_TIME


class Stretch(Struct, frozen=True, gc=False):
    """A value over an interval."""

    row: int
    """Of the fact that says so; -1 for one that is not written yet."""
    value: object
    begin: int
    end: int


class Outcome(Struct, frozen=True, gc=False):
    """What to write."""

    row: int
    """Fact that says it already; -1 where ``begin`` and ``end`` are to be written."""
    begin: int
    end: int
    ended: Stretch | None = None
    """What ends at ``begin``."""
    resumed: Stretch | None = None
    """The rest of that, after ``end``."""


def put(
    there: Iterable[Stretch], value: object, begin: int | None, end: int | None, today: int, *, functional: bool
) -> Outcome:
    """Say that a value holds from ``begin`` to ``end``.

    Parameters
    ----------
    there : iterable of Stretch
        What is said: values of a functional predicate, which do not overlap, or the stretches of one value.
    value : object
    begin, end : int, optional
        Without a beginning it holds since ever where nothing was said before, else from today on.
    today : int
        When the present day began.
    functional : bool
        Whether other values end with this one's beginning.

    Returns
    -------
    Outcome
    """
    stretches = [stretch for stretch in there if stretch.begin < stretch.end]
    if begin is None:
        begin = today if stretches and (end is None or end > today) else MIN_TIME
    wanted = MAX_TIME if end is None else end
    covering = next((stretch for stretch in stretches if stretch.begin <= begin < stretch.end), None)
    if covering is not None and covering.value == value:
        if functional or wanted <= covering.end:
            return Outcome(covering.row, covering.begin, covering.end)
        begin, covering = covering.end, None  # said anew after it was closed
    following = min((stretch.begin for stretch in stretches if stretch.begin > begin), default=MAX_TIME)
    touching = next((stretch for stretch in stretches if stretch.begin == begin and stretch.value == value), None)
    if touching is not None:
        return Outcome(touching.row, touching.begin, touching.end)
    resumed = None
    if covering is not None and wanted < covering.end:
        resumed = replace(covering, row=-1, begin=wanted)
    return Outcome(-1, begin, min(wanted, following), covering, resumed)
