"""Chains and reconstructions as JSON, and through the awaitable twin."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import lamina
from lamina import Vault


def line(vault: Vault) -> None:
    texts = ["we raised the pool", "we renamed icons", "the checkout hangs"]
    vault.add(
        [
            {"id": f"a{i}", "text": text, "session": "a", "project": "shop", "created_at": f"2026-02-01T08:0{i}:00Z"}
            for i, text in enumerate(texts)
        ]
    )
    vault.link("a0", "a1", "next")
    vault.link("a1", "a2", "next")


def test_a_story_is_json_values(lexical_vault: Vault) -> None:
    line(lexical_vault)
    story = lexical_vault.chain("the checkout hangs")
    document = json.loads(json.dumps(story.to_dict()))
    assert [chunk["id"] for chunk in document["chunks"]] == ["a0", "a1", "a2"]
    assert (document["mode"], document["seed"], document["lengths"]) == ("chain", "a2", [3])
    assert document["chunks"][0]["created_at"] == "2026-02-01T08:00:00Z"
    assert story.text == "we raised the pool\n\nwe renamed icons\n\nthe checkout hangs"
    assert story.tokens == sum(chunk.tokens or 0 for chunk in story.chunks)


def test_a_reconstruction_is_json_values(lexical_vault: Vault) -> None:
    line(lexical_vault)
    told = lexical_vault.reconstruct("a")
    document = json.loads(json.dumps(told.to_dict()))
    assert [chunk["id"] for chunk in document["chunks"]] == ["a0", "a1", "a2"]
    assert document["sessions"] == [session.to_dict() for session in lexical_vault.sessions()]
    assert (document["since"], document["tokens"], document["left_out"]) == (None, told.tokens, 0)


def test_the_awaitable_twin_has_them_too(tmp_path: Path) -> None:
    async def work() -> list[object]:
        async with lamina.aopen(tmp_path / "vault", create=True, embedder="none") as vault:
            await vault.add([{"id": "a0", "text": "one", "session": "a"}, {"id": "a1", "text": "two", "session": "a"}])
            await vault.link("a0", "a1", "next")
            story = await vault.chain("two")
            told = await vault.reconstruct("a")
            sessions = await vault.sessions()
            return [len(story.chunks), len(told.chunks), len(sessions)]

    assert asyncio.run(work()) == [2, 2, 1]
