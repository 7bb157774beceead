"""Difference of a vault between two moments, of a question's hits or of all it learnt.

With a question, two recalls are compared (`lamina_engine.recall.changes`). Without one, the chunks that are current and were not
are counted by project and type, and the newest of each told in turn until the budget is used up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
import numpy as np
from msgspec import Struct

from lamina_engine.arguments import whole_of
from lamina_engine.chunks.reading import chunks_at
from lamina_engine.clock import format_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.state import ACTIVE, FORGOTTEN, SUPERSEDED
from lamina_engine.index.view import View
from lamina_engine.recall.changes import BY_STATUS, HitChange, compare_recalls
from lamina_engine.recall.filters import evaluate, parse_filter
from lamina_engine.recall.pack import count_tokens

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.results import JSONValue
    from lamina_kernels.layouts import BOOL, I64

BUDGET: Final = 1_000
"""Tokens of what a vault learnt, unless the caller says otherwise."""
_LEAST_BUDGET: Final = 50
_LEAST_TOKENS: Final = 8
"""Of a line about a chunk: so many lines are read for a budget."""
_LABEL_CHARS: Final = 100
_SHOWN_CAUSES: Final = 3
_DAY: Final = 10
_KINDS: Final = {"entered": "entered", "left": "left", "moved": "moved", "same": "where they were"}
_NEW, _REWRITTEN = "new", "rewritten"


class LearntChunk(Struct, frozen=True):
    """A chunk that a vault learnt, or no longer holds to be true."""

    id: str
    label: str
    kind: str
    """``new``, ``rewritten``, ``invalidated``, ``removed`` or ``archived``."""
    created_at_us: int | None


class LearntGroup(Struct, frozen=True):
    """Chunks of one project and type that a vault learnt."""

    project: str | None
    type: str
    counts: dict[str, int]
    """Chunks by kind, told or not."""
    chunks: tuple[LearntChunk, ...]
    """Those that the budget has room for, the newest first."""


class Diff(Struct, frozen=True, kw_only=True):
    """Difference of a vault, or of the hits of a question, between two moments."""

    query: str | None
    profile: str | None
    since_us: int
    until_us: int
    changes: tuple[HitChange, ...] = ()
    """Of a question: its hits now, best first, then those that left."""
    groups: tuple[LearntGroup, ...] = ()
    """Without a question: what was learnt, most first."""
    counts: dict[str, int]
    """Changes by kind."""
    known_then: int
    """Chunks that the vault knew at the earlier moment; 0 before its first."""
    forgotten: int
    """Chunks that were forgotten: they are shown at neither moment."""
    passing: int = 0
    """Without a question: chunks that came and went between the moments, which neither shows."""
    left_out: int
    """Changes that the budget has no room for in the text."""
    tokens: int
    text: str
    """The same in words, within the budget."""

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the document of ``lamina diff --json``."""
        found = cast("dict[str, JSONValue]", msgspec.to_builtins(self))
        since, until = found.pop("since_us"), found.pop("until_us")
        assert isinstance(since, int)
        assert isinstance(until, int)
        return {"since": format_instant(since), "until": format_instant(until), **found}


def diff(
    memory: Memory,
    query: str | None,
    since_us: int,
    until_us: int | None,
    budget: int | None,
    options: Mapping[str, Any],
) -> Diff:
    """Return what changed between two moments; the later is the present unless given."""
    end_us = memory.clock.now_us() if until_us is None else until_us
    if since_us >= end_us:
        raise InvalidArgument(
            f"since={format_instant(since_us)} is not before until={format_instant(end_us)}: give an earlier moment"
        )
    if budget is not None:
        budget = whole_of(budget, "budget", _LEAST_BUDGET, of=" of tokens", instead=", or None")
    if isinstance(query, str) and not query.strip():
        raise InvalidArgument(f"query={query!r} has no words: give a question, or none for all that the vault learnt")
    if query is None:
        return _learnt(memory, since_us, until_us, end_us, BUDGET if budget is None else budget, options)
    earlier, ranked, changes = compare_recalls(memory, query, since_us, until_us, options)
    known = earlier.view.rows
    counts = dict(Counter(str(change.kind) for change in changes))
    parts = [f"{counts.get(kind, 0)} {word}" for kind, word in _KINDS.items()]
    head = _head(since_us, end_us, memory.clock.now_us(), known, parts)
    names = {change.id: _label(change.label, change.text) for change in changes}
    lines = _forgotten_lines(ranked.view.forgotten) + [
        _line_of(change, names) for change in changes if change.kind != "same"
    ]
    text, left_out = _fit([head], lines, budget)
    return Diff(
        query=query, profile=ranked.request.profile.id, since_us=since_us, until_us=end_us, changes=tuple(changes),
        counts=counts, known_then=known, forgotten=ranked.view.forgotten, left_out=left_out, tokens=count_tokens(text), text=text,
    )  # fmt: skip


def _learnt(
    memory: Memory, since_us: int, until_us: int | None, end_us: int, budget: int, options: Mapping[str, Any]
) -> Diff:
    """Return what a vault learnt between two moments."""
    beside = sorted(
        name for name, value in options.items() if name not in ("where", "tz", "syntax") and value is not None
    )
    if beside:
        raise InvalidArgument(
            f"{beside[0]}= was given without a question; what a vault learnt takes where= and tz= alone"
        )
    snapshot = memory.view().snapshot
    now = memory.view() if until_us is None else View(snapshot, memory.view().tables, as_of_us=until_us)
    then = View(snapshot, now.tables, as_of_us=since_us)
    kinds, rows, passing = _kinds(then, now)
    node = parse_filter(options.get("where"), options.get("tz") or memory.config.tz, memory.clock.now_us())
    accepted = evaluate(node, now, np.ones(now.rows, np.bool_)) if options.get("where") else None
    if accepted is not None:
        kept = accepted[rows]
        kinds, rows = [kind for kind, keep in zip(kinds, kept.tolist(), strict=True) if keep], rows[kept]
    groups = _group(now, kinds, rows)
    counts = dict(Counter(kinds))
    parts = [f"{n} {kind}" for kind, n in counts.items()] or ["nothing learnt"]
    head = _head(since_us, end_us, memory.clock.now_us(), then.rows, parts)
    first = [head, *_forgotten_lines(now.forgotten)]
    told, text = _tell(now, groups, first, budget)
    left = len(kinds) - sum(len(group.chunks) for group in told)
    return Diff(
        query=None, profile=None, since_us=since_us, until_us=end_us, groups=told, counts=counts, known_then=then.rows,
        forgotten=now.forgotten, passing=passing, left_out=left, tokens=count_tokens(text), text=text,
    )  # fmt: skip


def _kinds(then: View, now: View) -> tuple[list[str], I64, int]:
    """Return kind and row of each chunk learnt or lost, and the number that came and went."""
    status = now.state.status
    fresh = np.arange(then.rows, now.rows)
    current: BOOL = status[fresh] == ACTIVE
    rows = fresh[current]
    names = now.snapshot.values("chunks", "id", rows)
    before = then.rows_of_ids([str(name) for name in names])
    kinds = [_REWRITTEN if row >= 0 else _NEW for row in before.tolist()]
    was = then.state.active()
    lost = np.flatnonzero(was & (status[: then.rows] != ACTIVE) & (status[: then.rows] != SUPERSEDED))
    back = np.flatnonzero(~was & (status[: then.rows] == ACTIVE))
    kinds += [BY_STATUS[code] for code in status[lost].tolist()] + ["restored"] * len(back)
    gone = status[fresh[~current]]
    passing = int(np.count_nonzero((gone != SUPERSEDED) & (gone != FORGOTTEN)))
    return kinds, np.concatenate([rows, lost, back]), passing


def _group(view: View, kinds: list[str], rows: I64) -> dict[tuple[str | None, str], list[tuple[int, str]]]:
    """Return rows and kinds by project and type: largest group first, newest row first."""
    projects, types = (view.categories.gather(view.snapshot, field, rows).tolist() for field in ("project", "type"))
    value = view.categories.value
    found: dict[tuple[str | None, str], list[tuple[int, str]]] = {}
    for row, kind, project, type_ in zip(rows.tolist(), kinds, projects, types, strict=True):
        found.setdefault((value("project", project), str(value("type", type_))), []).append((row, kind))
    for members in found.values():
        members.sort(key=lambda member: -member[0])
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0][0] or "", item[0][1])))


def _tell(
    view: View, groups: Mapping[tuple[str | None, str], list[tuple[int, str]]], first: list[str], budget: int
) -> tuple[tuple[LearntGroup, ...], str]:
    """Tell of each group in turn, one chunk at a time, as long as there is room."""
    most = budget // _LEAST_TOKENS
    titles = {key: _title(key, Counter(kind for _, kind in members)) for key, members in groups.items()}
    shown: dict[tuple[str | None, str], list[LearntChunk]] = {}
    used = count_tokens("\n".join(first)) + 1
    for key, title in titles.items():
        size = count_tokens(title) + 1
        if used + size > budget:
            break
        used, shown[key] = used + size, []
    told = {key: _read(view, groups[key][: max(most // max(len(shown), 1), 1) + 1]) for key in shown}
    open_to = list(shown)
    while open_to:
        for key in list(open_to):
            place = len(shown[key])
            line = _item(told[key][place]) if place < len(told[key]) else None
            repeated = line in [_item(chunk) for chunk in shown[key]]  # several chunks of one note are one line
            size = 0 if line is None or repeated else count_tokens(line) + 1
            if line is None or used + size > budget:
                open_to.remove(key)
                continue
            used += size
            shown[key].append(told[key][place])
    lines = [*first]
    for key, chunks in shown.items():
        lines += [titles[key], *dict.fromkeys(map(_item, chunks))]
    found = tuple(
        LearntGroup(key[0], key[1], dict(Counter(kind for _, kind in members)), tuple(shown.get(key, ())))
        for key, members in groups.items()
    )
    return found, "\n".join(lines)


def _read(view: View, members: list[tuple[int, str]]) -> list[LearntChunk]:
    chunks = chunks_at(view, np.array([row for row, _ in members], np.int64))
    return [
        LearntChunk(chunk.id, _label(chunk.label, chunk.text), kind, chunk.created_at_us)
        for chunk, (_, kind) in zip(chunks, members, strict=True)
    ]


def _item(chunk: LearntChunk) -> str:
    day = (format_instant(chunk.created_at_us) or "")[:_DAY]
    kind = "" if chunk.kind == _NEW else f" ({chunk.kind})"
    return f"  {f'{day} ' if day else ''}{chunk.label}{kind}"


def _title(key: tuple[str | None, str], counts: Mapping[str, int]) -> str:
    name = f"{key[0]} · {key[1]}" if key[0] else key[1]
    return f"{_label(name, '')}: {', '.join(f'{n} {kind}' for kind, n in counts.items())}"


def _label(label: str | None, text: str) -> str:
    line = " ".join((label or text[: 4 * _LABEL_CHARS]).split())
    return line if len(line) <= _LABEL_CHARS else f"{line[: _LABEL_CHARS - 1]}…"


def _head(since_us: int, until_us: int, now_us: int, known: int, parts: Iterable[str]) -> str:
    early = "" if known else "; the vault knew nothing before"
    ahead = f"; it is {_moment(now_us)} only" if until_us > now_us else ""
    return f"{_moment(since_us)} to {_moment(until_us)}: {', '.join(parts)}{early}{ahead}"


def _moment(us: int) -> str:
    return (format_instant(us) or "")[:16].replace("T", " ")


def _forgotten_lines(count: int) -> list[str]:
    return [f"{count} forgotten: shown at neither moment"] if count else []


def _line_of(change: HitChange, names: Mapping[str, str]) -> str:
    was, now = change.rank_then or "-", change.rank_now or "-"
    causes = sorted(change.causes.items(), key=lambda cause: (-abs(cause[1]), cause[0]))[:_SHOWN_CAUSES]
    said = [f"{name} {value:+.3f}" for name, value in causes]
    said += [f"passed by {names[each]}" for each in change.passed_by[:1] if change.rank_then]
    said += [f"no longer below {names[each]}" for each in change.passes[:1] if change.rank_then and change.rank_now]
    return f"{change.kind} {was} > {now}  {names[change.id]}: {', '.join(said)}"


def _fit(first: list[str], lines: list[str], budget: int | None) -> tuple[str, int]:
    """Return the lines that a budget has room for, and the number left out."""
    if budget is None:
        return "\n".join([*first, *lines]), 0
    kept = [*first]
    used = count_tokens("\n".join(first)) + 1
    for place, line in enumerate(lines):
        used += count_tokens(line) + 1
        if used > budget:
            return "\n".join(kept), len(lines) - place
        kept.append(line)
    return "\n".join(kept), 0
