from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, Vault
from tests.notes import write


def public_methods() -> set[str]:
    members = inspect.getmembers(Vault, inspect.isfunction)
    return {name for name, _ in members if not name.startswith("_")}


def test_methods_of_a_vault_can_be_awaited(tmp_path: Path, clock: FixedClock) -> None:
    used: set[str] = set()

    async def tour() -> None:
        vault = await lamina.aopen(tmp_path / "v", create=True, clock=clock, embedder="none")

        async def call(name: str, *args: Any, **options: Any) -> Any:
            used.add(name)
            return await getattr(vault, name)(*args, **options)

        (name,) = await call("add", "We moved to PostgreSQL 16.", type="decision")
        write(tmp_path / "notes", "a.md", "A note.")
        assert (await call("ingest", tmp_path / "notes")).added == 1
        assert (await call("recall", "postgres", k=1))[0].id == name
        assert (await call("get", name)).type == "decision"
        assert [chunk.id for chunk in await call("get_many", [name])] == [name]
        assert len(await call("list")) == 2
        assert (await call("update", name, title="Database")).title == "Database"
        assert (await call("pin", name)).pinned
        assert (await call("invalidate", name, "it was wrong")).status == "invalidated"
        assert (await call("restore", name)).status == "active"
        assert len(await call("history", name)) == 5
        assert (await call("stats"))["chunks"] == 2
        assert await call("export", tmp_path / "out.jsonl") == 2
        assert len(await call("import_", tmp_path / "out.jsonl")) == 2
        assert vault.path == tmp_path / "v"
        await call("close")

    asyncio.run(tour())
    assert used <= public_methods()
    twin = lamina.AsyncVault(lamina.open(tmp_path / "v", embedder="none"))
    assert [name for name in public_methods() if not inspect.iscoroutinefunction(getattr(twin, name))] == []


def test_a_vault_is_opened_and_closed_by_a_block(tmp_path: Path, clock: FixedClock) -> None:
    async def tour() -> list[str]:
        async with lamina.aopen(tmp_path / "v", create=True, clock=clock, embedder="none") as vault:
            await vault.add("First words.")
        async with await lamina.aopen(tmp_path / "v", clock=clock, embedder="none") as vault:
            return [hit.text for hit in await vault.recall("words")]

    assert asyncio.run(tour()) == ["First words."]


def test_opening_is_a_coroutine_like_any_other(tmp_path: Path) -> None:
    vault = asyncio.run(lamina.aopen(tmp_path / "v", create=True, embedder="none"))
    assert isinstance(vault, lamina.AsyncVault)

    async def together() -> list[int]:
        opening = asyncio.create_task(lamina.aopen(tmp_path / "v", embedder="none"))
        other = await asyncio.wait_for(opening, 60)
        await asyncio.gather(*(other.add(f"Text {i}.") for i in range(8)))
        found = await asyncio.gather(*(other.recall(f"text {i}", k=1) for i in range(8)))
        return [len(hits) for hits in found]

    assert asyncio.run(together()) == [1] * 8


def test_errors_come_through(tmp_path: Path) -> None:
    async def missing() -> None:
        async with lamina.aopen(tmp_path / "nothing"):
            pass

    async def wrong() -> None:
        async with lamina.aopen(tmp_path / "v", create=True, embedder="none") as vault:
            await vault.get("0" * 32)

    with pytest.raises(lamina.VaultNotFound):
        asyncio.run(missing())
    with pytest.raises(lamina.ChunkNotFound):
        asyncio.run(wrong())


def test_what_a_vault_does_not_have_its_twin_does_not_have(tmp_path: Path) -> None:
    twin = lamina.AsyncVault(lamina.open(tmp_path / "v", create=True, embedder="none"))
    assert public_methods() <= set(dir(twin))
    for name in ("nonsense", "_memory", "__len__"):
        with pytest.raises(AttributeError, match=name):
            getattr(twin, name)
    assert inspect.signature(twin.recall) == inspect.signature(twin.vault.recall)


def test_the_event_loop_goes_on_while_a_vault_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    vault = lamina.open(tmp_path / "v", create=True, embedder="none")
    release = threading.Event()
    monkeypatch.setattr(vault, "stats", release.wait)

    async def both() -> bool:
        waiting = asyncio.create_task(lamina.AsyncVault(vault).stats(30))
        await asyncio.sleep(0.01)
        release.set()  # only a loop that is free gets here
        return bool(await waiting)

    assert asyncio.run(both())
