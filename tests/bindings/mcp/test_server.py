"""The server by the SDK's client in one process, in both eras: every tool, resource and prompt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import methods

import lamina
from lamina.mcp.access import VaultAccess
from lamina.mcp.server import INSTRUCTIONS, make_server
from lamina.mcp.tools import TOOLS

ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "memory_get": {"ids": ["db"]},
    "memory_update": {"ids": ["db"], "action": "pin"},
    "memory_invalidate": {"id": "bread", "reason": "eaten"},
    "memory_forget": {"ids": ["bread"]},
    "find_causal_links": {"docid": "db"},
    "timeline": {"docid": "db"},
    "find_similar": {"file": "db"},
}


def talk(access: VaultAccess, mode: str, work: Callable[[Client], Awaitable[None]], tools: str = "all") -> None:
    async def run() -> None:
        with anyio.fail_after(120):
            async with Client(make_server(access, tools), mode=mode) as client:
                await work(client)

    anyio.run(run)


@pytest.mark.parametrize("mode", ERAS)
def test_every_tool_resource_and_prompt(access: VaultAccess, mode: str) -> None:
    version = ERAS[mode]

    def check(method: str, result: Any) -> None:
        shown = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        methods.validate_server_result(method, version, shown)  # generated from the published schema of the revision

    async def work(client: Client) -> None:
        assert client.protocol_version == version
        listed = await client.list_tools()
        check("tools/list", listed)
        for tool in TOOLS.values():
            result = await client.call_tool(tool.name, ARGUMENTS.get(tool.name, dict(tool.example)))
            check("tools/call", result)
            assert result.structured_content
            assert bool(result.is_error) == (tool.name == "repomap"), f"{tool.name}: {result.content}"
        resources = await client.list_resources()
        check("resources/list", resources)
        templates = await client.list_resource_templates()
        check("resources/templates/list", templates)
        assert len(templates.resource_templates) == 4
        for uri, says in [
            ("lamina://overview", "projects: api"), ("lamina://chunk/db", "  We moved to PostgreSQL"),
            ("lamina://entity/Keystone", "Keystone | port | 3055"), ("lamina://session/s1", "  Step one"),
        ]:  # fmt: skip
            read = await client.read_resource(uri)
            check("resources/read", read)
            assert says in read.contents[0].text  # type: ignore[union-attr]
        for wrong in (
            "lamina://chunk/nobody",
            "lamina://nothing/x",
            "lamina://topic/9",
            "file:///etc/passwd",
            "lamina://chunk/",
        ):
            with pytest.raises(MCPError) as error:
                await client.read_resource(wrong)
            assert error.value.code == -32602
        prompts = await client.list_prompts()
        check("prompts/list", prompts)
        for prompt, given in [
            ("recall_first", {"task": "ship it"}),
            ("handoff", {}),
            ("freshness_review", {"project": "api"}),
        ]:
            got = await client.get_prompt(prompt, given)
            check("prompts/get", got)
            assert all(value in got.messages[0].content.text for value in given.values())  # type: ignore[union-attr]
        asked: list[tuple[str, dict[str, str]]] = [("nothing", {}), ("recall_first", {})]
        for name, arguments in asked:
            with pytest.raises(MCPError):
                await client.get_prompt(name, arguments)
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("nothing", {})
        assert "memory_recall" in str(unknown.value)

    with access.write() as vault:
        vault.add("Step one of the deploy.", session="s1", project="api", created_at="2026-02-20")
    talk(access, mode, work)


def test_capabilities_are_those_that_are_served(access: VaultAccess) -> None:
    capabilities = make_server(access).get_capabilities(protocol_version="2026-07-28")
    assert set(capabilities.model_dump(exclude_none=True)) == {"tools", "resources", "prompts"}
    assert len(INSTRUCTIONS) <= 600


@pytest.mark.parametrize("mode", ERAS)
def test_progress_grows_where_it_is_asked_for(access: VaultAccess, mode: str) -> None:
    seen: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async def work(client: Client) -> None:
        await client.call_tool("build_graphs", {}, progress_callback=note)
        await client.call_tool("memory_recall", {"query": "PostgreSQL"}, progress_callback=note)

    talk(access, mode, work)
    assert seen
    assert seen == sorted(set(seen))


def test_a_topic_is_a_resource(access: VaultAccess) -> None:
    with access.write() as vault:
        vault.add([{"text": f"The kiln fires clay at {900 + n} degrees."} for n in range(12)])
        vault.add([{"text": f"The gateway retries request {n} after a timeout."} for n in range(12)])
        vault.cluster()
        topic = vault.topics()[0]

    async def work(client: Client) -> None:
        read = await client.read_resource(f"lamina://topic/{topic.id}")
        assert f"{topic.size} memories" in read.contents[0].text  # type: ignore[union-attr]

    talk(access, "auto", work)


def test_the_answers_are_those_of_the_vault(access: VaultAccess, data: Any) -> None:
    questions = [
        f"{word} {other}"
        for word in ("PostgreSQL", "writers", "sourdough", "connections")
        for other in ("why", "when", "cold")
    ]
    expected = [[hit.id for hit in access.read().recall(question, 8)] for question in questions]
    got: list[list[str]] = []

    async def work(client: Client) -> None:
        for question in questions:
            result = await client.call_tool("memory_recall", {"query": question, "max_tokens": 4_000})
            assert result.structured_content is not None
            got.append([hit["id"] for hit in result.structured_content["hits"]])

    talk(access, "auto", work, "core")
    assert got == expected


def test_lamina_mcp_has_a_name_and_a_version(access: VaultAccess) -> None:
    info = make_server(access).server_info
    assert (info.name, info.version) == ("lamina", lamina.__version__)
