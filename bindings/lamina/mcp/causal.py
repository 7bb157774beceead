"""Tools by ClawMem's names: intent search, causal links, facts, builds, Beads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import lamina
from lamina.mcp import progress
from lamina.mcp.answers import (
    NOTE,
    SNIPPET,
    Answer,
    clean_data,
    counter,
    fill,
    fitted,
    headline,
    hit_line,
    one_line,
    short_id,
)
from lamina.mcp.knowledge import fact_line, no_entity
from lamina.mcp.parameters import WrongArguments
from lamina.mcp.recalling import find_chunk, where_of
from lamina.mcp.tracing import show_steps, step_of

if TYPE_CHECKING:
    from lamina.mcp.access import VaultAccess

_TOKENS: Final = 2_000
_DIRECTIONS: Final = {"both": "both", "outgoing": "out", "incoming": "in"}
_EXPORTS: Final = ("issues.jsonl", "beads.jsonl")


def intent_search(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``intent_search``."""
    vault = access.read()
    walks = given["enable_graph_traversal"]
    hits = vault.recall(
        given["query"], given["limit"], profile="causal" if walks else "default",
        intent=given["force_intent"] if walks else None, where=where_of(None, project=access.project),
    )  # fmt: skip
    intent = hits.explain()["intent"] or given["force_intent"] or "what"
    count = counter(vault)
    results = [
        {
            "docid": short_id(hit.id), "path": hit.source, "title": hit.title, "score": round(hit.score, 6),
            "snippet": one_line(hits.snippet(hit, SNIPPET).text, SNIPPET),
        }
        for hit in hits
    ]  # fmt: skip
    lines = [[hit_line(vault.tz, hits, hit, hit.type, count)] for hit in hits]

    def advise(left: int) -> str:
        if not results:
            return "Nothing found; memory_status says what there is."
        return f"{left} more: ask with a smaller limit" if left else "find_causal_links(docid) shows what led there"

    said, taken = fill(f"{NOTE}\nintent: {intent}", lines, advise, _TOKENS, count)
    return Answer(said, clean_data({"intent": intent, "results": results[: len(taken)]}))


def find_causal_links(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``find_causal_links``."""
    vault = access.read()
    anchor = find_chunk(vault, given["docid"])
    found = vault.causes(anchor.id, given["direction"], given["depth"])
    steps = [
        step_of(cause, "causal", cause.direction, cause.depth, reason=one_line(cause.reason or "", SNIPPET))
        for cause in found
    ]
    answer = show_steps(vault, anchor, steps, _TOKENS, "no causal links", "source")
    links = [
        {
            "docid": short_id(cause.id), "title": cause.title, "path": cause.source, "direction": cause.direction,
            "depth": cause.depth, "confidence": round(100 * cause.confidence), "reasoning": cause.reason,
            "chain": list(cause.chain),
        }
        for cause in found[: len(answer.data["steps"])]
    ]  # fmt: skip
    source = {"docid": short_id(anchor.id), "title": anchor.title, "path": anchor.source}
    return Answer(answer.text, clean_data({"source": source, "direction": given["direction"], "links": links}))


def kg_query(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``kg_query``: all facts of an entity, marked where they hold now or at a date."""
    vault, name = access.read(), given["entity"]
    try:
        entity = vault.facts.entity(name)
    except lamina.EntityNotFound:
        near = vault.facts.resolve(name, prefix=True)
        if len(near.entities) != 1:
            return Answer(no_entity(vault, name), {"entity": None, "facts": [], "stats": {"total": 0}})
        entity = near.entities[0]
    direction: Any = _DIRECTIONS[given["direction"]]
    every = vault.facts.about(entity.id, direction=direction, history=True)
    current = {fact.row for fact in vault.facts.about(entity.id, given["as_of"], direction=direction)}
    rows = []
    for fact in every:
        row = fact.to_dict()
        rows.append(
            {
                name: row[name]
                for name in ("subject", "predicate", "object", "valid_from", "valid_to", "confidence", "source")
            }
            | {"direction": "incoming" if fact.direction == "in" else "outgoing", "current": fact.row in current}
            | {"source_doc": None if fact.chunk is None else short_id(fact.chunk)}
        )
    rows = clean_data(sorted(rows, key=lambda row: not row["current"]))
    lines = [[f"{fact_line(row, vault.tz)}{'' if row['current'] else '  not current'}"] for row in rows]

    def advise(left: int) -> str:
        return f"{left} more: memory_facts answers one question" if left else ""

    said, taken = fill(f"{NOTE}\n{one_line(entity.name, 80)} ({entity.id})", lines, advise, _TOKENS, counter(vault))
    held = sum(row["current"] for row in rows)
    stats = {
        "total": len(rows),
        "current": held,
        "expired": len(rows) - held,
        "predicates": sorted({row["predicate"] for row in rows}),
    }
    return Answer(said, {"entity": entity.id, "facts": rows[: len(taken)], "stats": stats})


def find_similar(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``find_similar``."""
    vault = access.read()
    anchor = find_chunk(vault, given["file"])
    steps = [
        step_of(near, "similar", "", 0, score=round(near.score, 6), path=near.source)
        for near in vault.similar(anchor.id, given["limit"])
    ]
    answer = show_steps(vault, anchor, steps, _TOKENS, "no others")
    return Answer(answer.text, {"reference": answer.data["anchor"], "similar": answer.data["steps"]})


def timeline(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``timeline``."""
    vault = access.read()
    anchor = find_chunk(vault, given["docid"])
    found = vault.timeline(anchor.id, given["before"], given["after"], same_collection=bool(given["same_collection"]))
    steps = [step_of(chunk, "", "before", 0) for chunk in found.before]
    steps += [step_of(chunk, "", "after", 0) for chunk in found.after]
    answer = show_steps(vault, anchor, steps, _TOKENS, "nothing before or after", "focus")
    shown = answer.data["steps"]
    before = [step for step in shown if step["direction"] == "before"]
    data = {"focus": answer.data["anchor"], "before": before, "after": shown[len(before) :], "total": found.total}
    return Answer(answer.text, data)


def traverse(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``traverse``."""
    vault = access.read()
    start = [find_chunk(vault, given["id"]).id] if given["id"] else None
    found = vault.traverse(
        None if start else given["query"],
        given["intent"],
        given["depth"],
        given["beam"],
        given["budget"],
        anchors=start,
    )
    count = counter(vault)
    steps = [_reached(near) for near in found]
    lines = [[fitted(_walked(step, vault.tz), count)] for step in steps]

    def advise(left: int) -> str:
        return f"{left} more: ask with a smaller budget" if left else "" if steps else "Nothing to begin with."

    said, taken = fill(NOTE, lines, advise, _TOKENS, count)
    return Answer(said, {"steps": steps[: len(taken)], "more": len(steps) - len(taken)})


def _reached(near: lamina.Neighbor) -> dict[str, Any]:
    last = near.path[-1] if near.path else None
    direction = "" if last is None else "out" if last.outward else "in"
    relation = last.relation if last else ""
    return step_of(near, relation, direction, near.hops, score=round(near.score, 6), via=near.via)


def _walked(step: Mapping[str, Any], tz: str) -> str:
    way = one_line(step.get("via", "anchor"), 60)
    return headline(tz, step["id"], step["date"], step["type"], step["title"], step["snippet"], [way])


def build_graphs(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``build_graphs``: one kind after the other, with progress."""
    asked = given["graph_types"] or ["all"]
    kinds = ["temporal", "semantic"] if "all" in asked else list(dict.fromkeys(asked))
    data, said = dict[str, Any](), list[str]()
    with access.write() as vault:
        for done, kind in enumerate(kinds):
            progress.report(kind, done, len(kinds))
            report = vault.build_links([kind], threshold=given["semantic_threshold"]).kinds[kind]  # type: ignore[list-item]
            total = report.added + report.updated + report.unchanged
            data |= {kind: report.added, f"{kind}Total": total}
            said.append(f"{kind}: {report.added:,} new, {total:,} in all, {report.withdrawn:,} withdrawn")
            said += [report.note] if report.note else []
    progress.report("done", len(kinds), len(kinds))
    return Answer("\n".join(said), data)


def beads_sync(access: VaultAccess, given: Mapping[str, Any]) -> Answer:
    """Answer ``beads_sync``; a model names the folder, so only a tracker's export is read."""
    folder = Path(given["project_path"] or ".").expanduser()
    tracker = folder if folder.name == ".beads" else folder / ".beads"
    export = next((path for name in _EXPORTS if (path := tracker / name).is_file()), None)
    if export is None:
        text = f"No Beads tracker in {one_line(str(folder), 200)}: there is no .beads/issues.jsonl; `bd export` writes one."
        return Answer(text, {"synced": 0, "created": 0, "new_ids": []})
    if export.is_symlink() or tracker.is_symlink():
        raise WrongArguments(f"beads_sync: {one_line(str(export), 200)} is a link; give the folder that it leads to")
    with access.write() as vault:
        known = {chunk.id for chunk in vault.list({"collection": "beads"}, None)}
        report = vault.ingest(
            export, kind="beads", progress=lambda step: progress.report(step.stage, step.done, step.total)
        )
        new = [chunk.id for chunk in vault.list({"collection": "beads"}, None) if chunk.id not in known]
    synced = report.added + report.updated + report.unchanged
    said = [f"{synced:,} issues read, {len(new):,} of them new, {report.updated:,} updated."]
    said += [one_line(f"{problem.source}: {problem.message}", 200) for problem in report.problems[:5]]
    return Answer("\n".join(said), clean_data({"synced": synced, "created": len(new), "new_ids": new[:200]}))
