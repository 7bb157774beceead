"""Tools by the names of other memory systems, and the sets in which they are listed."""

from __future__ import annotations

from typing import Final

from lamina.mcp.parameters import Tool, choice, flag, mapping, number, text, tokens, whole, words

_PROJECT: Final = text("")
_AGENT: Final = text("")
_DOCID: Final = text("", required=True)
_BUDGET: Final = tokens(2_000, "")

OTHERS: Final = (
    Tool(
        "intent_search",
        "Search by intent; docids go to find_causal_links.",
        {
            "query": text("", required=True),
            "limit": whole("", 10, 1, 50),
            "force_intent": choice("why when entity what", None, ""),
            "enable_graph_traversal": flag("", default=True),
        },
        {"query": "why did we switch to PostgreSQL"},
        "causal:intent_search",
    ),
    Tool(
        "find_causal_links",
        "What led to a document (caused_by), what it led to (causes).",
        {
            "docid": _DOCID,
            "direction": choice("both causes caused_by", "both", ""),
            "depth": whole("1-10", 5, 1, 10),
        },
        {"docid": "#a1b2c3d4", "direction": "both", "depth": 5},
        "causal:find_causal_links",
    ),
    Tool(
        "kg_query",
        "All facts of an entity, with validity.",
        {
            "entity": text("", required=True),
            "as_of": text(""),
            "direction": choice("both outgoing incoming", "both", ""),
        },
        {"entity": "Keystone"},
        "causal:kg_query",
    ),
    Tool(
        "find_similar",
        "Documents nearest in meaning.",
        {"file": _DOCID, "limit": whole("", 5, 1, 50)},
        {"file": "#a1b2c3d4"},
        "causal:find_similar",
    ),
    Tool(
        "timeline",
        "What came just before and after a document.",
        {
            "docid": _DOCID,
            "before": whole("", 5, 0, 50),
            "after": whole("", 5, 0, 50),
            "same_collection": flag(""),
        },
        {"docid": "#a1b2c3d4"},
        "causal:timeline",
    ),
    Tool(
        "build_graphs",
        "Make links anew.",
        {
            "graph_types": words("", "temporal semantic all", most=3),
            "semantic_threshold": number("", 0.7, 0, 1),
        },
        {"graph_types": ["semantic"]},
        "causal:build_graphs",
        "update",
    ),
    Tool(
        "beads_sync",
        "Read issues of Beads (project_path/.beads).",
        {"project_path": text("")},
        {"project_path": "."},
        "causal:beads_sync",
        "update",
    ),
    Tool(
        "freshness_report",
        "Which memories still hold, by the git history of their files.",
        {
            "collection": text(""),
            "tier": choice("fresh aging stale expired unknown", None, ""),
            "git_check": flag("", default=True),
        },
        {"tier": "stale"},
        "temporal:freshness_report",
        "update",
    ),
    Tool(
        "memory_refresh",
        "Read sources again, store what changed, list what is left to decide.",
        {
            "id": text(""),
            "collection": text(""),
            "tier": choice("fresh aging stale expired unknown", None, ""),
            "filter": choice("needs_review", None, ""),
        },
        {"filter": "needs_review"},
        "temporal:memory_refresh",
        "update",
        any_of=("id", "collection", "tier", "filter"),
    ),
    Tool(
        "context_bootstrap",
        "What to know when a session begins.",
        {
            "session": text(""),
            "project": _PROJECT,
            "budget": whole("", None, 1, 50_000),
            "trigger": choice("startup resume compact clear", "startup", ""),
        },
        {"session": "8f31"},
        "temporal:context_bootstrap",
    ),
    Tool(
        "context_turn",
        "What to know for one prompt, as a hook's JSON.",
        {
            "prompt": text("", required=True),
            "session": text("", required=True),
            "project": _PROJECT,
        },
        {"prompt": "why did we leave SQLite", "session": "8f31"},
        "temporal:context_turn",
    ),
    Tool(
        "search",
        "Search memories by words and meaning.",
        {"query": text("", required=True), "project": _PROJECT, "agent": _AGENT, "max_tokens": _BUDGET},
        {"query": "PgBouncer connections"},
        "episodic:search",
    ),
    Tool(
        "recall",
        "The story that led to something, oldest first.",
        {"query": text("", required=True), "project": _PROJECT, "agent": _AGENT, "max_tokens": _BUDGET},
        {"query": "how did we end up with PgBouncer"},
        "episodic:recall",
    ),
    Tool(
        "predict",
        "What followed last time in a situation like this.",
        {"context": text("", required=True), "project": _PROJECT, "agent": _AGENT, "max_tokens": _BUDGET},
        {"context": "the deploy fails with a stale cache"},
        "episodic:predict",
    ),
    Tool("list-projects", "Projects with sizes and dates.", {}, {}, "episodic:list_projects"),
    Tool(
        "list-sessions",
        "Sessions of a project, newest first.",
        {
            "project": text("", required=True),
            "from": text(""),
            "to": text(""),
            "days_back": number("", None, 0, 36_525),
            "limit": whole("", 30, 1, 500),
        },
        {"project": "api", "days_back": 7},
        "episodic:list_sessions",
    ),
    Tool(
        "reconstruct",
        "A session, or some days, in order.",
        {
            "project": text("", required=True),
            "mode": choice("timeline briefing", "timeline", ""),
            "session_id": text(""),
            "from": text(""),
            "to": text(""),
            "days_back": number("", None, 0, 36_525),
            "previous_session": flag(""),
            "current_session_id": text(""),
            "keep_newest": flag("", default=True),
            "agent": _AGENT,
            "max_tokens": tokens(4_000, ""),
        },
        {"project": "api", "previous_session": True},
        "episodic:reconstruct",
    ),
    Tool("hook-status", "Last runs of the capture that hooks start.", {}, {}, "episodic:hook_status"),
    Tool(
        "forget",
        "Erase memories of a project: a dry run, then with its confirm word.",
        {
            "project": text("", required=True),
            "before": text(""),
            "after": text(""),
            "session_id": text(""),
            "query": text(""),
            "threshold": number("", 0.6, -1, 1),
            "dry_run": flag("", default=True),
            "confirm": text(""),
        },
        {"project": "api", "before": "2026-01-01"},
        "forgetting:forget",
        "destroy",
    ),
    Tool(
        "chain",
        "The story before or after a memory.",
        {
            "query": text(""),
            "id": text(""),
            "direction": choice("backward forward", "backward", ""),
            "agent": _AGENT,
            "max_tokens": _BUDGET,
        },
        {"query": "PgBouncer connections"},
        "episodic:chain",
        any_of=("query", "id"),
    ),
    Tool("topics", "Topics, largest first.", {"limit": whole("", 20, 1, 200)}, {"limit": 10}, "episodic:topics"),
    Tool("stats", "Counts and sizes of the vault.", {}, {}, "episodic:stats"),
    Tool(
        "repomap",
        "No map of code: Lamina keeps memory.",
        {
            "project": _PROJECT,
            "focus_files": words(""),
            "max_tokens": tokens(1_024, ""),
        },
        {},
        "episodic:repomap",
    ),
    Tool(
        "kg_ask",
        "Answer a question from facts alone.",
        {
            "question": text("", required=True),
            "k": whole("", 6, 1, 100),
            "valid_at": text(""),
            "as_of": text(""),
        },
        {"question": "what port does Keystone run on"},
        "knowledge:kg_ask",
    ),
    Tool(
        "traverse",
        "Walk links best-first from a question or a memory.",
        {
            "query": text(""),
            "id": text(""),
            "intent": choice("why when entity what", None, ""),
            "depth": whole("", 2, 1, 10),
            "beam": whole("", 5, 1, 50),
            "budget": whole("", 30, 1, 200),
        },
        {"query": "why did we switch to PostgreSQL"},
        "causal:traverse",
        any_of=("query", "id"),
    ),
    Tool(
        "memory_invalidate",
        "Say that a memory is no longer true.",
        {"id": text("", required=True), "reason": text("", required=True)},
        {"id": "#a1b2c3d4", "reason": "we moved on"},
        "writing:invalidate",
        "update",
    ),
    Tool(
        "memory_forget",
        "Erase memories: the first call shows what would go and gives a confirm word.",
        {
            "ids": words("", most=1_000),
            "where": mapping(""),
            "confirm": text(""),
        },
        {"ids": ["#a1b2c3d4"]},
        "forgetting:memory_forget",
        "destroy",
        any_of=("ids", "where"),
    ),
)  # fmt: skip

_CAUSAL: Final = (
    "intent_search", "find_causal_links", "kg_query", "find_similar", "timeline", "build_graphs", "beads_sync",
)  # fmt: skip
_TEMPORAL: Final = ("freshness_report", "memory_refresh", "context_bootstrap", "context_turn")
_EPISODIC: Final = (
    "search", "recall", "predict", "list-projects", "list-sessions", "reconstruct", "hook-status", "forget", "chain",
    "topics",
)  # fmt: skip

SETS: Final[dict[str, tuple[str, ...]]] = {
    "core": (),
    "causal": _CAUSAL,
    "temporal": _TEMPORAL,
    "episodic": _EPISODIC,
    "entity": ("kg_ask",),
    "task": ("traverse",),
    "all": tuple(tool.name for tool in OTHERS if tool.name != "repomap"),
}
"""By the name of a set, the tools that it lists after the core."""
