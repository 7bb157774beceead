"""What walks make of own scores, over dictionaries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

BELOW = 1.0 - 1e-9


def merge(
    own: Mapping[int, float],
    top: float,
    shares: Sequence[float],
    dead: Collection[int],
    begun: Collection[int],
    led: Sequence[tuple[int, float, bool]],
    greatest: float,
    pushed: Sequence[tuple[int, float]],
    most: float,
) -> dict[tuple[str, int], float]:
    """The new score of each row that moves, by the walk that tells it."""
    strong, raised, added, raised_by_push, added_by_push = shares
    relative = {row: score / top for row, score in own.items()}
    moved: dict[int, float] = {}
    told: dict[int, str] = {}
    for row, score, silent in led:
        if row < 0 or row in dead:
            continue
        share = raised if relative.get(row, -1.0) >= strong and row in own else added
        lift = 0.0 if silent and row in own else min(share * score / greatest, BELOW)
        if lift > relative.get(row, -1.0):
            moved[row], told[row] = min(lift * top, 1.0), "led"
    for row, score in pushed:
        if row in begun or row in dead:
            continue
        share = raised_by_push if relative.get(row, -1.0) >= strong and row in own else added_by_push
        lift = min(share * score / most, BELOW)
        if lift > (moved[row] / top if row in moved else relative.get(row, -1.0)):
            moved[row] = min(lift * top, 1.0)
            told.setdefault(row, "pushed")
    return {(told[row], row): score for row, score in moved.items()}
