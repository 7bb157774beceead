"""Shards that another process answers for give the bytes of the local vault."""

from __future__ import annotations

import contextlib
import itertools
import pickle
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lamina import FixedClock, Vault
from lamina_engine.memory import Memory
from lamina_engine.shards.asking import asking_elsewhere
from lamina_engine.shards.memory import ShardedMemory
from lamina_engine.shards.remote import Answering, Version, VersionGone
from tests.engine.shards.corpus import NOW, answers, change, plain, records, reopened, small_codes


class Remote:
    """Shards of a vault that see nothing but pickled questions, as another process would."""

    def __init__(self, place: Path, shards: int) -> None:
        self.asked: Counter[str] = Counter()
        self.shards = [Answering(Memory(place / "shards" / f"{n:02d}", mode="r")) for n in range(shards)]

    def ask(self, number: int, version: Version | None, call: str, arguments: tuple[Any, ...]) -> Any:
        self.asked[call] += 1
        question = pickle.loads(pickle.dumps((version, call, arguments)))
        return pickle.loads(pickle.dumps(self.shards[number].answer(*question)))


def opened(place: Path, elsewhere: Remote) -> Vault:
    return Vault(ShardedMemory(place, mode="r", clock=FixedClock(NOW), ask=elsewhere.ask))


@pytest.fixture(scope="module")
def pair(corpus_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pair")
    shutil.copytree(corpus_vault, place / "local")
    with reopened(place / "local") as local:
        local.shard(place / "sharded", 3)
    return place


def test_recall_gives_the_bytes_of_the_local_vault(pair: Path) -> None:
    elsewhere = Remote(pair / "sharded", 3)
    with reopened(pair / "local") as local, opened(pair / "sharded", elsewhere) as asked, ThreadPoolExecutor(8) as pool:
        theirs = asking_elsewhere(lambda: list(answers(asked)), pool)
        for (question, ours), (_, found) in zip(answers(local), theirs, strict=True):
            assert found == ours, question
    assert {"best", "frequencies", "score", "dots", "find", "spelt", "values", "take"} <= set(elsewhere.asked)


def test_every_other_reading_call_gives_the_same(pair: Path) -> None:
    elsewhere = Remote(pair / "sharded", 3)
    with reopened(pair / "local", mode="r") as local, opened(pair / "sharded", elsewhere) as asked:
        ids = [chunk.id for chunk in local.list(limit=None)]
        assert asked.list(limit=None) == local.list(limit=None)
        assert asked.get_many(ids) == local.get_many(ids)
        assert asked.history("c0003") == local.history("c0003")
        assert (asked.vectors(ids) == local.vectors(ids)).all()
        for one in itertools.islice(ids, 0, None, 7):
            assert asked.links(one) == local.links(one)
            assert asked.similar(one) == local.similar(one)
            assert asked.timeline(one) == local.timeline(one)
            assert asked.causes(one) == local.causes(one)
        assert asked.topics() == local.topics()
        assert asked.projects() == local.projects()
        assert asked.to_arrow().equals(local.to_arrow())
        assert asked.why_not("postgres database", ids[3]) == local.why_not("postgres database", ids[3])
        moved = [plain(each.diff("database", since="2026-03-10").to_dict()) for each in (local, asked)]
        assert moved[0] == moved[1]


def test_a_write_is_seen_and_older_versions_are_answered_for(pair: Path, tmp_path: Path) -> None:
    shutil.copytree(pair / "sharded", tmp_path / "sharded")
    elsewhere = Remote(tmp_path / "sharded", 3)
    with opened(tmp_path / "sharded", elsewhere) as asked, reopened(tmp_path / "sharded") as writer:
        before = asked._memory.view()
        change(writer, 400)
        assert plain(asked.recall("database", k=30).to_dict()) == plain(writer.recall("database", k=30).to_dict())
        writer.forget(ids=["c0400", "c0001"], dry_run=False)
        assert plain(asked.recall("database", k=30).to_dict()) == plain(writer.recall("database", k=30).to_dict())
        assert before.rows < asked._memory.view().rows
        writer.reindex("wordllama-64", accept=True)
        assert plain(asked.recall("database", k=30).to_dict()) == plain(writer.recall("database", k=30).to_dict())
        of = asked._memory.store.snapshot().of[1].manifest  # type: ignore[attr-defined]
        with pytest.raises(VersionGone, match="ask again"):
            elsewhere.ask(0, Version(of.vault, of.commits, of.rewritten + 7, of.space), "words", (before.created_us,))


@pytest.mark.parametrize("rows", [600, pytest.param(17_000, marks=pytest.mark.slow)], ids=["short", "long"])
def test_codes_are_those_of_one_vault(tmp_path: Path, rows: int) -> None:
    """In a large vault the vector lane asks codes, which lie with who asks."""
    with small_codes() if rows == 600 else contextlib.nullcontext():
        with reopened(tmp_path / "local", create=True) as local:
            for start in range(0, rows, 1_000):
                local.add(records(start, min(rows, 1_000)))
            local.shard(tmp_path / "sharded", 2)
        assert len(list((tmp_path / "sharded" / "index").glob("codes-*"))) == 2
        elsewhere = Remote(tmp_path / "sharded", 2)
        with reopened(tmp_path / "local", mode="r") as local, opened(tmp_path / "sharded", elsewhere) as asked:
            for (question, ours), (_, found) in zip(answers(local, 23), answers(asked, 23), strict=True):
                assert found == ours, question
