from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from lamina_engine.care.forgetting import forget
from lamina_engine.care.salvage import DAMAGED
from lamina_engine.care.verify import verify
from lamina_engine.chunks import lifecycle
from lamina_engine.clock import FixedClock
from lamina_engine.errors import VaultReadOnly
from lamina_engine.index.state import STATUS_NAMES
from lamina_engine.ingest import adding
from lamina_engine.memory import Memory
from lamina_engine.store import segments
from lamina_engine.store.segments import Segment
from lamina_engine.store.store import Store
from tests.engine.care.test_verify import embed
from tests.engine.store.faults import Crash, FaultyFiles, Quick, contents_at, copy

MOMENT = "2026-03-01T12:00:00Z"


def opened(root: Path) -> Memory:
    return Memory(root, files=Quick(), clock=FixedClock(MOMENT), embedder=embed)


@pytest.fixture(scope="module")
def base(quick_folder: Path) -> Path:
    root = quick_folder / "salvage"
    Store.create(root, clock=FixedClock(MOMENT), files=Quick())
    memory = opened(root)
    adding.add(
        memory, [{"text": f"Rechnung {i}: Grüße aus Köln", "id": f"k{i}", "title": f"Blatt {i}"} for i in range(20)], {}
    )
    adding.update(memory, "k3", {"text": "Rechnung 3 neu"})
    lifecycle.invalidate(memory, "k4", "storniert")
    lifecycle.pin(memory, "k5")
    return root


@pytest.fixture
def vault(base: Path, quick_path: Path) -> Path:
    return copy(base, quick_path / "vault")


def statuses(root: Path) -> list[tuple[str, str, str]]:
    view = opened(root).view()
    rows = contents_at(root)["chunks"]
    return [(r["id"], r["text"], STATUS_NAMES[s]) for r, s in zip(rows, view.state.status.tolist(), strict=True)]


def holding(root: Path, log: str, row: int) -> Path:
    (found,) = [s.path for s in Store(root).snapshot().segments(log) if s.start <= row < s.start + s.rows]
    return found


def test_a_damaged_letter_costs_no_other_chunk_and_is_named(vault: Path) -> None:
    before = contents_at(vault)
    path = holding(vault, "chunks", 7)
    path.write_bytes(path.read_bytes().replace(b"Rechnung 7: Gr", b"Rechnung 9: Gr"))
    report = verify(vault, repair=True)
    assert "look at k7: their text is not what was written" in str(report.repaired)
    assert verify(vault, deep=True).ok
    after = contents_at(vault)
    changed = [i for i, (old, new) in enumerate(zip(before["chunks"], after["chunks"], strict=True)) if old != new]
    assert changed == [7]
    assert after["chunks"][7]["text"] == "Rechnung 9: Grüße aus Köln"
    assert {log: rows for log, rows in after.items() if log != "chunks"} == {
        log: rows for log, rows in before.items() if log != "chunks"
    }
    assert [path.name] == [p.name.removesuffix(DAMAGED) for p in path.parent.iterdir() if p.name.endswith(DAMAGED)]
    forget(opened(vault), ids=["k7"], dry_run=False)
    assert not list(vault.rglob(f"*{DAMAGED}"))


def test_broken_letters_cost_their_own_chunk(vault: Path) -> None:
    path = holding(vault, "chunks", 7)
    path.write_bytes(path.read_bytes().replace("Rechnung 7: Grü".encode(), b"Rechnung 7: Gr\xff\xff"))
    report = verify(vault, repair=True)
    assert "row 7 of chunks" in str(report.repaired)
    assert verify(vault, deep=True).ok
    assert [text for _, text, status in statuses(vault) if status == "forgotten"] == [""]


def test_an_edit_that_is_lost_gives_way_to_what_was_before(vault: Path) -> None:
    holding(vault, "chunks", 20).unlink()
    assert "row 20 of chunks" in str(verify(vault, repair=True).repaired)
    assert ("k3", "Rechnung 3: Grüße aus Köln", "active") in statuses(vault)
    assert verify(vault, deep=True).ok


def test_lost_events_bring_no_old_version_back(vault: Path) -> None:
    for path in (vault / "log" / "events").iterdir():
        path.unlink()
    assert "of events" in str(verify(vault, repair=True).repaired)
    found = statuses(vault)
    assert ("k3", "Rechnung 3: Grüße aus Köln", "superseded") in found
    assert ("k3", "Rechnung 3 neu", "active") in found
    assert ("k4", "Rechnung 4: Grüße aus Köln", "active") in found  # that it was invalidated is lost, and said to be
    assert verify(vault, deep=True).ok


def test_a_file_that_may_yet_be_read_is_not_given_up(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.read_bytes() for path in vault.rglob("*") if path.is_file()}
    name = holding(vault, "events", 0).name
    real = segments.Segment._map_file

    def refuse(self: Segment) -> Any:
        if self.ref.name == name:
            raise PermissionError(13, "Permission denied", name)
        return real(self)

    with monkeypatch.context() as patch:
        patch.setattr(segments.Segment, "_map_file", refuse)
        report = verify(vault, repair=True)
    assert {problem.code for problem in report.problems} == {"segment", "repair"}
    assert {path: path.read_bytes() for path in before} == before
    assert verify(vault, deep=True).ok


def test_readers_repair_nothing(vault: Path) -> None:
    with pytest.raises(VaultReadOnly):
        verify(Memory(vault, mode="r", embedder=embed), repair=True)


@pytest.mark.parametrize("kind", ["nospace", "io", "crash", "crash after"])
def test_a_repair_that_fails_at_any_step_leaves_what_was_there_or_what_is_mended(
    vault: Path, quick_path: Path, kind: str
) -> None:
    path = holding(vault, "chunks", 7)
    content = bytearray(path.read_bytes())
    content[-3_000] ^= 4
    path.write_bytes(content)
    (vault / "log" / "events" / holding(vault, "events", 0).name).unlink()
    steps = FaultyFiles()
    verify(copy(vault, quick_path / "whole"), repair=True, files=steps)
    ref = statuses(quick_path / "whole")
    assert len(steps.steps) > 8
    for at in range(1, len(steps.steps) + 1):
        root = copy(vault, quick_path / f"{at}")
        with contextlib.suppress(Crash, OSError):
            verify(root, repair=True, files=FaultyFiles(at, kind))
        if not verify(root, deep=True).ok:
            assert (root / "log" / "chunks" / path.name).read_bytes() == content
            verify(root, repair=True)
        assert verify(root, deep=True).ok, at
        assert [row[1:] for row in statuses(root)] == [row[1:] for row in ref]
        adding.add(opened(root), "danach", {"id": "danach"})
        assert verify(root, deep=True).ok, at


def test_a_link_in_place_of_a_file_is_refused_and_leads_nowhere(vault: Path, quick_path: Path) -> None:
    outside = quick_path / "secret"
    outside.write_bytes(b"of somebody else")
    path = holding(vault, "chunks", 7)
    path.unlink()
    path.symlink_to(outside)
    report = verify(vault, repair=True)
    assert [problem.code for problem in report.problems] == ["shape"]
    assert not list(path.parent.glob(f"*{DAMAGED}"))
    assert outside.read_bytes() == b"of somebody else"
    path.unlink()  # as advised
    assert verify(vault, repair=True).repaired is not None
    assert verify(vault, deep=True).ok
