"""``memory_trace``: causes, stories, neighbours in time and meaning, links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import lamina
from lamina.mcp.answers import NOTE, SNIPPET, Answer, clean_data, counter, fill, fitted, headline, one_line, short_id
from lamina.mcp.recalling import find_chunk, where_of

if TYPE_CHECKING:
    from lamina.mcp.access import VaultAccess

Step: TypeAlias = dict[str, Any]

_CAUSES: Final = {"backward": "caused_by", "forward": "causes", "both": "both"}
_LINKS: Final = {"backward": "in", "forward": "out", "both": "both"}
_SIMILAR: Final = 10
_STORY_TOKENS: Final = 20_000


def trace(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``memory_trace``."""
    vault, mode = access.read(), given["mode"]
    anchor = find_anchor(access, vault, given["id"], given["query"], "causal" if mode == "causes" else None)
    if anchor is None:
        return Answer(
            "Nothing found to begin with; other words may help, or give id.",
            {"anchor": None, "steps": [], "stopped_by": "nothing found"},
        )
    steps, end = _WALKS[mode](vault, anchor, given)
    return show_steps(vault, anchor, steps, given["max_tokens"], end)


_ANCHORS: Final = 8
"""Hits among which the first that is no fact is the anchor."""


def find_anchor(
    access: VaultAccess, vault: lamina.Vault, identity: str | None, query: str | None, profile: str | None = None
) -> lamina.Chunk | None:
    """Return the memory that a call names, else the best hit of its question."""
    if identity:
        return find_chunk(vault, identity)
    hits = vault.recall(query or "", _ANCHORS, profile=profile, where=where_of(None, project=access.project))
    return next((hit for hit in hits if hit.type != "fact"), None)  # nothing leads from a fact by itself


def show_steps(
    vault: lamina.Vault, anchor: lamina.Chunk, steps: Sequence[Step], limit: int, end: str, head: str = "from"
) -> Answer:
    """Return steps from a memory, one a line, within a budget."""
    count = counter(vault)
    first = step_of(anchor, "anchor", "", 0)
    lines = [[fitted(_line(step, vault.tz), count)] for step in steps]

    def advise(left: int) -> str:
        if left:
            return f"{left} more: ask with a larger max_tokens or a smaller depth"
        return f"memory_get {short_id(steps[0]['id'])} for the text" if steps else f"Nothing there: {end}."

    begin = f"{NOTE}\n{head} {fitted(_line(first, vault.tz), count)}"
    said, taken = fill(begin, lines, advise, limit, count)
    shown = list(steps[: len(taken)])
    stopped = "max_tokens" if len(shown) < len(steps) else end
    return Answer(said, {"anchor": _anchor(first), "steps": shown, "stopped_by": stopped})


def _anchor(step: Step) -> Step:
    return {name: step[name] for name in ("id", "title", "date", "type", "snippet")}


def _line(step: Step, tz: str) -> str:
    lead = [one_line(f"{step['direction']} {step['relation']}".strip(), 40)] if step["direction"] else []
    if step["hops"]:
        lead.append(f"{step['hops']} hop{'s' if step['hops'] > 1 else ''}")
    said = f"({step['reason']}) {step['snippet']}" if step.get("reason") else step["snippet"]
    return headline(tz, step["id"], step["date"], step["type"], step["title"], said, lead)


def step_of(chunk: Any, relation: str, direction: str, hops: int, **more: Any) -> Step:
    """Return one memory of a walk as data."""
    shown = chunk.to_dict()
    row = {name: shown[name] for name in ("id", "title", "type")} | {"date": shown["created_at"]}
    row |= {"relation": relation, "direction": direction, "hops": hops}
    row |= {name: value for name, value in more.items() if value not in (None, "")}
    if shown.get("status", "active") != "active":
        row["status"] = shown["status"]
    cleaned: Step = clean_data(row | {"snippet": one_line(chunk.text, SNIPPET)})
    return cleaned


def causes(vault: lamina.Vault, anchor: lamina.Chunk, given: Mapping[str, Any]) -> tuple[list[Step], str]:
    """Return causes and effects, the nearest first."""
    found = vault.causes(anchor.id, _CAUSES[given["direction"] or "both"], given["depth"])  # type: ignore[arg-type]
    steps = [
        step_of(
            cause, "causal", "backward" if cause.direction == "caused_by" else "forward", cause.depth,
            score=round(cause.product, 6), reason=one_line(cause.reason or "", SNIPPET),
        )
        for cause in found
    ]  # fmt: skip
    deepest = max((cause.depth for cause in found), default=0)
    return steps, "depth" if deepest >= given["depth"] else "no further causal links"


def story(vault: lamina.Vault, anchor: lamina.Chunk, given: Mapping[str, Any]) -> tuple[list[Step], str]:
    """Return the chunks of the story around a memory, in its order."""
    steps, end = list[Step](), "end of the story"
    direction = given["direction"] or "backward"
    for way in ("backward", "forward") if direction == "both" else (direction,):
        found = vault.chain(
            None if given["id"] else given["query"], way, _STORY_TOKENS, seeds=[anchor.id]  # type: ignore[arg-type]
        )  # fmt: skip
        if found.mode != "chain":
            end = found.reason or end
            continue
        steps += [
            step_of(chunk, "next", way, chunk.hops or 0, score=chunk.score)
            for chunk in found.chunks
            if chunk.id != anchor.id
        ]
    return steps, end


def timeline(vault: lamina.Vault, anchor: lamina.Chunk, given: Mapping[str, Any]) -> tuple[list[Step], str]:
    """Return what came just before and after a memory, oldest first."""
    direction, depth = given["direction"] or "both", given["depth"]
    before = 0 if direction == "forward" else depth
    after = 0 if direction == "backward" else depth
    found = vault.timeline(anchor.id, before, after)
    steps = [step_of(chunk, "time", "backward", 0) for chunk in found.before]
    steps += [step_of(chunk, "time", "forward", 0) for chunk in found.after]
    return steps, "depth" if len(steps) >= before + after else "end of time"


def similar(vault: lamina.Vault, anchor: lamina.Chunk, given: Mapping[str, Any]) -> tuple[list[Step], str]:
    """Return the nearest memories in meaning."""
    found = vault.similar(anchor.id, _SIMILAR)
    steps = [step_of(near, "similar", "", 0, score=round(near.score, 6)) for near in found]
    return steps, f"{_SIMILAR} nearest" if len(steps) == _SIMILAR else "no others"


def linked(vault: lamina.Vault, anchor: lamina.Chunk, given: Mapping[str, Any]) -> tuple[list[Step], str]:
    """Return what links reach, the nearest first."""
    direction = given["direction"] or "both"
    found = vault.neighbors(anchor.id, given["depth"], direction=_LINKS[direction])  # type: ignore[arg-type]
    steps = [
        step_of(
            near, near.path[-1].relation, "forward" if near.path[-1].outward else "backward", near.hops, via=near.via
        )
        for near in found
        if near.path
    ]
    return steps, "depth" if any(step["hops"] >= given["depth"] for step in steps) else "no further links"


Walk: TypeAlias = "Callable[[lamina.Vault, lamina.Chunk, Mapping[str, Any]], tuple[list[Step], str]]"
_WALKS: Final[Mapping[str, Walk]] = {
    "causes": causes, "chain": story, "timeline": timeline, "similar": similar, "links": linked,
}  # fmt: skip
