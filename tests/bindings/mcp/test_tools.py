"""Tools as they are listed, and the check of what clients send."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from lamina.mcp.parameters import Tool, WrongArguments
from lamina.mcp.tools import CORE, SETS, TOOLS, listed

LIMITS = {"core": 5_600, "all": 14_000}


def compact(tools: list[Tool]) -> str:
    shown = [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.to_schema(),
            "annotations": tool.to_hints(),
        }
        for tool in tools
    ]
    return json.dumps({"tools": shown}, separators=(",", ":"), ensure_ascii=False)


def test_the_seven_come_first_and_in_their_order() -> None:
    names = [
        "memory_recall",
        "memory_get",
        "memory_trace",
        "memory_facts",
        "memory_add",
        "memory_update",
        "memory_status",
    ]
    for name in SETS:
        assert [tool.name for tool in listed(name)][:7] == names
    assert len(listed("core")) == 7


@pytest.mark.parametrize("name", [name for name in LIMITS if name in SETS])
def test_the_list_is_short_enough_to_be_paid_for_in_every_session(name: str) -> None:
    assert len(compact(listed(name))) <= LIMITS[name]


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_every_tool_describes_itself_and_its_parameters(tool: Tool) -> None:
    schema = tool.to_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert tool.description.endswith(".")
    assert all(len(parameter.description) <= 100 for parameter in tool.parameters.values())
    if tool in CORE:
        assert schema["additionalProperties"] is False
        assert all(parameter.description for parameter in tool.parameters.values())
    assert tool.read(tool.example).items() >= tool.example.items()
    jsonschema.validate(dict(tool.example), schema)


def test_a_set_adds_what_users_of_that_system_know() -> None:
    added = {name: [tool.name for tool in listed(name)][7:] for name in SETS}
    assert added["causal"] == [
        "intent_search", "find_causal_links", "kg_query", "find_similar", "timeline", "build_graphs", "beads_sync",
    ]  # fmt: skip
    assert added["temporal"] == ["freshness_report", "memory_refresh", "context_bootstrap", "context_turn"]
    assert added["episodic"] == [
        "search", "recall", "predict", "list-projects", "list-sessions", "reconstruct", "hook-status", "forget", "chain",
        "topics",
    ]  # fmt: skip
    assert (added["entity"], added["task"]) == (["kg_ask"], ["traverse"])
    assert set(added["all"]) == set(TOOLS) - {tool.name for tool in CORE} - {"repomap"}


def test_erasing_is_the_only_destructive_thing_and_the_core_cannot() -> None:
    assert {tool.name for tool in TOOLS.values() if tool.to_hints().get("destructiveHint")} == {
        "forget",
        "memory_forget",
    }
    assert "memory_forget" not in {tool.name for name in SETS if name != "all" for tool in listed(name)}


def test_annotations_say_what_a_tool_may_do() -> None:
    hints = {tool.name: tool.to_hints() for tool in CORE}
    assert {name for name, hint in hints.items() if not hint["readOnlyHint"]} == {"memory_add", "memory_update"}
    assert not any(hint.get("destructiveHint") or hint["openWorldHint"] for hint in hints.values())
    assert {name for name, hint in hints.items() if not hint["idempotentHint"]} == {"memory_add"}


@pytest.mark.parametrize(
    ("tool", "given", "says"),
    [
        ("memory_recall", {}, ["query is missing", "for example", "why did we"]),
        ("memory_recall", {"query": "x", "k": 51}, ["k=51", "from 1 to 50"]),
        ("memory_recall", {"query": "x", "k": True}, ["k=true", "a whole number"]),
        ("memory_recall", {"query": "x", "limit": 3}, ['"limit" is no parameter', "max_tokens"]),
        ("memory_recall", {"query": 7}, ["query=7", "text"]),
        ("memory_recall", {"query": "x", "max_tokens": 99}, ["max_tokens=99", "from 100"]),
        ("memory_recall", {"query": "x", "where": [1]}, ["where=[1]", "an object"]),
        ("memory_get", {"ids": ["a"] * 21}, ["at most 20"]),
        ("memory_get", {"ids": []}, ["ids is missing"]),
        ("memory_trace", {"mode": "why", "query": "x"}, ['mode="why"', "causes, chain, timeline, similar, links"]),
        ("memory_trace", {"mode": "causes"}, ["give id or query"]),
        ("memory_facts", {}, ["give question or entity"]),
        ("memory_update", {"ids": ["a"], "action": "erase"}, ['action="erase"', "invalidate, restore"]),
    ],
)  # fmt: skip
def test_wrong_arguments_say_what_was_given_what_is_allowed_and_show_an_example(
    tool: str, given: dict[str, Any], says: list[str]
) -> None:
    with pytest.raises(WrongArguments) as error:
        TOOLS[tool].read(given)
    for part in [*says, "for example"]:
        assert part in str(error.value)


def test_numbers_and_lists_that_models_write_as_text_are_read() -> None:
    given = TOOLS["memory_recall"].read({"query": "x", "k": "5", "full": "true", "types": "decision", "project": None})
    assert (given["k"], given["full"], given["types"], given["max_tokens"]) == (5, True, ["decision"], 1_000)
    assert TOOLS["memory_get"].read({"ids": '["a", "b"]'})["ids"] == ["a", "b"]
    assert TOOLS["memory_recall"].read({"query": "x", "where": '{"type": "note"}', "k": 4.0})["k"] == 4


def test_a_long_value_is_not_repeated_in_full() -> None:
    with pytest.raises(WrongArguments) as error:
        TOOLS["memory_trace"].read({"mode": "x" * 10_000})
    assert len(str(error.value)) < 400
