from __future__ import annotations

import asyncio
import inspect
import runpy
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina.aio import AsyncContext, AsyncFacts, AsyncFreshness, AsyncLinks, AsyncSessions, AsyncTopics
from lamina.context import Context
from lamina.facts import Facts
from lamina.freshness import Freshness
from lamina.links import Links
from lamina.sessions import Sessions
from lamina.topics import Topics
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


ACCESSORS = {
    "facts": (Facts, AsyncFacts), "links": (Links, AsyncLinks), "topics": (Topics, AsyncTopics),
    "sessions": (Sessions, AsyncSessions), "context": (Context, AsyncContext), "freshness": (Freshness, AsyncFreshness),
}  # fmt: skip


def methods(kind: type) -> dict[str, Any]:
    found = vars(kind).items()
    return {
        name: value
        for name, value in found
        if inspect.isfunction(value) and (not name.startswith("_") or name == "__call__")
    }


@pytest.mark.parametrize("name", ["vault", *ACCESSORS])
def test_the_awaitable_class_has_every_method_with_the_same_signature(name: str) -> None:
    plain, awaited = ACCESSORS.get(name, (Vault, lamina.AsyncVault))
    assert set(methods(awaited)) == set(methods(plain))
    for method, function in methods(plain).items():
        twin = methods(awaited)[method]
        assert inspect.iscoroutinefunction(twin), method
        assert inspect.signature(twin) == inspect.signature(function), method
        assert inspect.getdoc(twin)
    assert not hasattr(awaited, "__getattr__")


def test_aopen_takes_what_open_takes() -> None:
    ref = inspect.signature(lamina.open)
    assert inspect.signature(lamina.aopen).parameters == ref.parameters


def test_the_generated_file_is_the_one_that_is_checked_in() -> None:
    pytest.importorskip("ruff")
    script = Path(__file__).parents[2] / "bindings" / "generate_async.py"
    generated = runpy.run_path(str(script))
    assert generated["generate"]() == generated["TARGET"].read_text(encoding="utf-8")


def test_accessors_are_not_awaited_and_their_calls_are(tmp_path: Path, clock: FixedClock) -> None:
    async def tour() -> None:
        async with lamina.aopen(tmp_path / "v", create=True, clock=clock, embedder="none") as vault:
            first, second = await vault.add([{"text": "One."}, {"text": "Two.", "session": "s"}])
            await vault.link(first, second, "causal")
            assert [link.relation for link in await vault.links(first)] == ["causal"]
            assert [link.relation for link in await vault.links(first, relations=["blocks"])] == []
            await vault.facts.add("Ann", "phone", "1")
            assert (await vault.facts.ask("what is Ann's phone?"))[0].object == "1"
            assert await vault.topics() == []
            assert [session.session for session in await vault.sessions()] == ["s"]
            assert (await vault.freshness(git_check=False)).counts
            assert (await vault.context.turn("hello", "s")) == (await vault.inject("hello", "s"))
            assert repr(vault) == "<AsyncVault 'v': 2 chunks>"
            assert vault.links is vault.links

    asyncio.run(tour())


TYPOS = """
import lamina

async def work() -> None:
    async with lamina.aopen("v") as vault:
        await vault.recal("x")
        await vault.facts.aks("x")
        await vault.recall("x", profil="lexical")
        hits: int = await vault.recall("x")
"""


def test_a_typo_in_an_awaited_call_is_a_type_error(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    (tmp_path / "typos.py").write_text(TYPOS)
    root = Path(lamina.__file__).parents[2]
    # the project's own cache and options: what CI's mypy has read is not read again
    given = ["--config-file", str(root / "pyproject.toml"), "--cache-dir", str(root / ".mypy_cache")]
    out, _, code = api.run([*given, str(tmp_path / "typos.py")])
    lines = [line for line in out.splitlines() if ": error:" in line]
    assert code == 1
    assert [line.split(":")[1] for line in lines] == ["6", "7", "8", "9"], out


def test_the_event_loop_goes_on_while_a_vault_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    vault = lamina.open(tmp_path / "v", create=True, embedder="none")
    release = threading.Event()
    monkeypatch.setattr(vault, "verify", lambda deep, repair: release.wait(30))

    async def both() -> bool:
        waiting = asyncio.create_task(lamina.AsyncVault(vault).verify())
        await asyncio.sleep(0.01)
        release.set()  # only a loop that is free gets here
        return bool(await waiting)

    assert asyncio.run(both())
