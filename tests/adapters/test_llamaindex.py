"""LlamaIndex's retriever and memory block over a vault."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip(
    "llama_index.core",
    reason="llama-index-core is not installed; .ci/run tests each adapter in an environment of its own",
)

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory

import lamina
from lamina.adapters.llamaindex import LaminaMemoryBlock, LaminaRetriever
from tests.adapters.hostile import survives

NOTES = [
    "We moved to PostgreSQL 16.",
    "The pool of connections ran out.",
    "Lunch is at noon.",
    "Deploys wait for Tuesday.",
]


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[lamina.Vault]:
    with lamina.open(tmp_path / "v", create=True) as opened:
        opened.add(
            [
                {"text": text, "id": f"n{i}", "project": "api", "created_at": "2026-02-15"}
                for i, text in enumerate(NOTES)
            ]
        )
        yield opened


def test_nodes_are_the_hits_of_a_recall(vault: lamina.Vault) -> None:
    retriever = LaminaRetriever(str(vault.path), similarity_top_k=3, profile="default")
    nodes = retriever.retrieve("which database: PostgreSQL, and the pool of connections")
    hits = vault.recall("which database: PostgreSQL, and the pool of connections", 3)
    assert [(node.node_id, node.text, node.score) for node in nodes] == [(hit.id, hit.text, hit.score) for hit in hits]
    scores = [node.score or 0.0 for node in nodes]
    assert scores == sorted(scores, reverse=True)
    assert nodes[0].metadata["project"] == "api"
    assert nodes[0].metadata["created_at"] == "2026-02-15T00:00:00+00:00"
    again = asyncio.run(LaminaRetriever(vault, 3).aretrieve("which database: PostgreSQL, and the pool of connections"))
    assert [node.to_json() for node in again] == [node.to_json() for node in nodes]
    assert LaminaRetriever(vault, where={"project": "web"}).retrieve("PostgreSQL") == []


def test_a_memory_brings_back_what_left_the_conversation(vault: lamina.Vault) -> None:
    block = LaminaMemoryBlock(vault=vault, where={"type": {"in": ["conversation", "note"]}})
    memory = Memory.from_defaults(
        session_id="chat-7", token_limit=60, chat_history_token_ratio=0.5, memory_blocks=[block]
    )

    async def talk() -> str:
        for i in range(8):
            said = (
                "the staging key is kept in drawer nine"
                if i == 0
                else f"message number {i} about the weather and lunch"
            )
            await memory.aput_messages(
                [ChatMessage(role="user", content=said), ChatMessage(role="assistant", content="Noted.")]
            )
        await memory.aput(ChatMessage(role="user", content="where is the staging key kept?"))
        return "\n".join(str(message.content) for message in await memory.aget())

    text = asyncio.run(talk())
    assert "drawer nine" in text
    assert {chunk.session for chunk in vault.list({"type": "conversation"})} == {"chat-7"}


def test_what_comes_back_keeps_to_the_budget_and_is_the_same_each_time(vault: lamina.Vault) -> None:
    asked = [ChatMessage(role="user", content="PostgreSQL, the pool, lunch and deploys")]
    block = LaminaMemoryBlock(vault=vault, token_budget=8)
    first = asyncio.run(block.aget(asked))
    assert first.count("\n") == 0
    assert first.startswith("- [2026-02-15] ")
    assert asyncio.run(block.aget(asked)) == first
    assert asyncio.run(block.aget([])) == "" == asyncio.run(block.aget(None))
    asyncio.run(block.aput([ChatMessage(role="user", content="  ")]))
    assert len(vault.list()) == 4


def test_a_block_makes_its_vault(tmp_path: Path) -> None:
    block = LaminaMemoryBlock(vault=tmp_path / "new", session="own")
    asyncio.run(block.aput([ChatMessage(role="user", content="the lamp is green")]))
    assert "lamp" in asyncio.run(block.aget([ChatMessage(role="user", content="lamp?")]))
    with pytest.raises(lamina.InvalidArgument, match="no vault"):
        asyncio.run(LaminaMemoryBlock(vault=None).aget([ChatMessage(role="user", content="lamp?")]))


def test_hostile_messages_cost_nothing_but_themselves(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True) as vault:
        block = LaminaMemoryBlock(vault=vault)

        def act(text: str, name: str, metadata: dict[str, object]) -> None:
            message = ChatMessage(role="user", content=text, additional_kwargs={"id": name, **metadata})
            asyncio.run(block.aput([message]))
            asyncio.run(block.aget([message]))
            LaminaRetriever(vault).retrieve(text)

        survives(tmp_path, act)
