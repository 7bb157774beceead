"""The seven tools that are always listed, and all tools by name.

Names, descriptions and parameters are data, so that listing them needs nothing else. Models pay for each character of
it in every session: all seven are to stay below 5,600.
"""

from __future__ import annotations

from typing import Final

from lamina.mcp.other_tools import OTHERS, SETS
from lamina.mcp.parameters import Tool, choice, flag, mapping, text, tokens, whole, words

CORE: Final = (
    Tool(
        "memory_recall",
        "Search what is already known: decisions, notes, past sessions, code patterns. Call before re-deciding, "
        "re-reading files, or answering from the past. Returns an index; memory_get has the full text.",
        {
            "query": text("What you want to know, in plain words; times such as 'last Tuesday' count.", required=True),
            "k": whole("1-50 hits.", 8, 1, 50),
            "project": text("Only this project."),
            "types": words("Only these, such as decision."),
            "since": text("ISO date, inclusive."),
            "until": text("ISO date, exclusive."),
            "as_of": text("What was known then."),
            "profile": text("default, lexical, temporal, task, causal, episodic, entity."),
            "where": mapping('Filter: {"tags": {"contains": "db"}}.'),
            "full": flag("Whole texts."),
            "max_tokens": tokens(1_000),
        },
        {"query": "why did we switch to PostgreSQL", "k": 8},
        "recalling:recall",
        brief=False,
    ),
    Tool(
        "memory_get",
        "Full text, source and links of memories by id, long or short.",
        {
            "ids": words("Up to 20, such as #a1b2c3d4.", most=20, required=True),
            "history": flag("Also what happened to each."),
            "max_tokens": tokens(4_000),
        },
        {"ids": ["#a1b2c3d4"]},
        "recalling:get",
        brief=False,
    ),
    Tool(
        "memory_trace",
        "Follow links from a memory: causes and effects, the story it is part of, what is near in time or meaning. Use "
        "for 'why did we', 'what came of', 'what else'.",
        {
            "mode": choice("causes chain timeline similar links", None, "What to follow.", required=True),
            "id": text("Where to begin; or give query."),
            "query": text("Finds where to begin."),
            "direction": choice("both backward forward", None, "Default both; for chain backward."),
            "depth": whole("1-10.", 3, 1, 10),
            "max_tokens": tokens(1_500),
        },
        {"mode": "causes", "query": "switch to PostgreSQL"},
        "tracing:trace",
        any_of=("id", "query"),
        brief=False,
    ),
    Tool(
        "memory_facts",
        "Exact facts about a person, project or thing: port, owner, birthday, depends_on.",
        {
            "question": text("Such as 'what port does Keystone run on'; or give entity."),
            "entity": text("Name, alias or vault:type:slug, for all that holds of it."),
            "valid_at": text("What was true then."),
            "as_of": text("What was known then."),
            "k": whole("Most answers.", 6, 1, 100),
        },
        {"question": "what port does Keystone run on"},
        "knowledge:facts",
        any_of=("question", "entity"),
        brief=False,
    ),
    Tool(
        "memory_add",
        "Store one lasting memory: a decision with its reason, a preference, a fix and its cause. No logs, nothing that "
        "files already say, no secrets.",
        {
            "text": text("One statement that stands on its own.", required=True),
            "type": text("decision, preference, insight, pattern, handoff, task, note.", "note"),
            "title": text("Short title."),
            "project": text("Its project."),
            "tags": words("Tags."),
            "supersedes": text("Id of the memory it replaces."),
            "facts": words("Lines 'subject | predicate | object'."),
        },
        {"text": "We moved to PostgreSQL 16: SQLite locked under four writers.", "type": "decision"},
        "writing:add",
        "write",
        brief=False,
    ),
    Tool(
        "memory_update",
        "Say that memories are no longer true, restore, pin, snooze, or ask for a review. Nothing is erased.",
        {
            "ids": words("Their ids.", most=100, required=True),
            "action": choice("invalidate restore pin unpin snooze review", None, "What to say.", required=True),
            "reason": text("Why."),
            "until": text("ISO date, for snooze."),
        },
        {"ids": ["#a1b2c3d4"], "action": "invalidate", "reason": "we moved to PostgreSQL 17"},
        "writing:update",
        "update",
        brief=False,
    ),
    Tool(
        "memory_status",
        "What this vault holds and how fresh it is.",
        {
            "section": choice("overview projects sessions topics freshness", "overview", "Which part."),
            "project": text("Only this project."),
            "limit": whole("Lines.", 20, 1, 200),
        },
        {"section": "projects"},
        "knowledge:status",
        brief=False,
    ),
)  # fmt: skip

__all__ = ["CORE", "SETS", "TOOLS", "listed"]

TOOLS: Final = {tool.name: tool for tool in (*CORE, *OTHERS)}
"""All tools by name; calls are answered whether or not a tool is listed."""


def listed(name: str) -> list[Tool]:
    """Return the tools of a set: the core, then what it adds."""
    return [*CORE, *(TOOLS[each] for each in SETS[name])]
