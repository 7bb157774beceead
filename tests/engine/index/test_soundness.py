"""What is too large to be read whole when it is opened is read on a thread; damage costs no answer from then on."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina_engine.care.verify import verify
from lamina_engine.clock import FixedClock
from lamina_engine.index import soundness, terms, textindex
from lamina_engine.ingest import adding
from lamina_engine.memory import Memory
from lamina_engine.recall.pipeline import recall
from tests.engine.index.building import build_at_once
from tests.engine.store.faults import Quick

ROWS = 40


def embed(texts: list[str]) -> np.ndarray[Any, Any]:
    return np.array([[len(text), text.count("e") + 1.0, 1.0, 2.0] for text in texts], np.float32)


def opened(root: Path, mode: str = "w") -> Memory:
    clock = FixedClock("2026-03-01T12:00:00Z")
    return Memory(root, create=mode == "w", mode=mode, files=Quick(), clock=clock, embedder=embed)


@pytest.fixture
def vault(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a vault whose indexes are all too large to be read at once."""
    build_at_once(monkeypatch, 8)
    monkeypatch.setattr(terms, "CHECKED_BYTES", 1)
    monkeypatch.setattr(textindex, "CHECKED_BYTES", 1)
    memory = opened(quick_path / "vault")
    adding.add(memory, [{"text": f"word{i % 9} of note{i}", "id": f"id{i}"} for i in range(ROWS)], {})
    memory.close()
    return quick_path / "vault"


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    flipped = path.with_name("flipped")  # another file under the name: a thread may be reading the first
    flipped.write_bytes(content)
    flipped.replace(path)


def damage(vault: Path, kind: str) -> Path:
    """Flip what makes a difference: a count in the forward lists, or a letter of Tantivy's words."""
    [folder] = (vault / "index").glob("lexical-*")
    if kind in ("terms", "lists"):
        [path] = (vault / "index" / "terms").glob(f"*.{kind}")
        flip(path, path.stat().st_size - 70)
        return path
    for path in folder.glob("*/*.term"):
        flip(path, path.stat().st_size // 2)
    return folder


def answers(memory: Memory) -> list[Any]:
    found = [recall(memory, question, k=8).hits for question in ("word3 note4", "note17", "word1")]
    return [[(hit.id, hit.score) for hit in hits] for hits in found]


def begun(memory: Memory) -> bool:
    return memory._soundness is not None


def looked(memory: Memory) -> None:
    """Wait until the thread has looked at everything."""
    assert memory._soundness is not None
    memory._soundness.join()


def test_nothing_is_wrong_with_what_is_whole_or_gone(vault: Path) -> None:
    memory = opened(vault)
    assert soundness.damaged(memory.tables, memory.store.snapshot()) == {}
    for path in sorted((vault / "index").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert soundness.damaged(memory.tables, memory.store.snapshot()) == {}


@pytest.mark.parametrize("mode", ["r", "w"])
@pytest.mark.parametrize("kind", ["terms", "lists", "lexical"])
def test_damage_is_named_and_the_log_stands_in_for_it(
    vault: Path, caplog: pytest.LogCaptureFixture, kind: str, mode: str
) -> None:
    ref = answers(opened(vault))
    path = damage(vault, kind)
    memory = opened(vault, mode)
    with caplog.at_level(logging.WARNING):
        answers(memory)  # the second of its questions begins to look
        looked(memory)
    assert path.name in caplog.text
    assert answers(memory) == ref
    if mode == "r":
        assert not verify(vault, deep=True).ok, "a reader repairs nothing"
        return
    adding.add(memory, "word1 again", {"id": "again"})
    got = verify(vault, deep=True)
    assert got.ok, got.problems


def test_a_process_that_only_writes_looks_too(vault: Path) -> None:
    memory = opened(vault)
    adding.add(memory, "one", {"id": "one"})
    assert not begun(memory), "a command that writes once is not kept"
    damage(vault, "terms")
    adding.add(memory, "two", {"id": "two"})
    looked(memory)
    adding.add(memory, "three", {"id": "three"})
    assert verify(vault, deep=True).ok


def test_a_closed_vault_is_left_alone(vault: Path) -> None:
    memory = opened(vault)
    tables = memory.tables
    damage(vault, "lexical")
    memory.close()
    memory.check_files()
    assert memory.tables is tables


def test_an_index_that_is_replaced_while_it_is_looked_at_is_no_damage(
    vault: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory = opened(vault)
    looks = iter([{"lexical-0": "a file of it is gone"}, {}])
    monkeypatch.setattr(soundness, "damaged", lambda *_: next(looks))
    tables = memory.tables
    with caplog.at_level(logging.WARNING):
        memory.check_files()
    assert memory.tables is tables
    assert not caplog.records
