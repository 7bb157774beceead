"""Reinforcement: what is recalled often ages slower, and never stops."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.chunks import access_journal
from lamina_engine.recall.explain import recompute

PROFILE = '\n[profiles.used]\nbase = "temporal@1"\ndecay.reinforcement = { most = 3.0 }\ndecay.half_life_days = 60\n'


@pytest.fixture
def used(lexical_vault: Vault, clock: FixedClock) -> Iterator[Vault]:
    """A vault whose profile ``used`` reinforces."""
    file = lexical_vault.path / "vault.toml"
    file.write_text(PROFILE)
    with lamina.open(lexical_vault.path, clock=clock, embedder="none") as opened:
        yield opened


def half_life(vault: Vault, **options: object) -> float:
    (hit,) = vault.recall("words", profile="used", **options)  # type: ignore[arg-type]
    assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-6)
    return float(hit.terms["half_life_days"])


def recalled(vault: Vault, times: int) -> None:
    for _ in range(times):
        vault.recall("words", profile="used")
    vault.pin("other", pinned=not vault.get("other").pinned)


def test_golden_half_lives(used: Vault, clock: FixedClock) -> None:
    used.add("words", id="a", created_at="2026-01-01")
    used.add("else", id="other")
    assert half_life(used, now="2026-03-02") == 60.0
    (hit,) = used.recall("words", profile="used", now="2026-03-02T00:00:00Z")
    assert hit.terms["recency"] == pytest.approx(0.5, abs=1e-3)
    (used.path / "journal" / "accesses").unlink()
    recalled(used, 5)
    # half_life + 0.3 · half_life · ln(1 + 5)
    assert half_life(used) == pytest.approx(92.25, abs=5e-3)
    assert 0.5 ** (60 / half_life(used)) == pytest.approx(0.6371, abs=1e-4)


def test_it_is_capped_fades_and_never_stops_ageing(used: Vault, clock: FixedClock) -> None:
    used.add("words", id="a", created_at="2026-01-01")
    used.add("else", id="other")
    access_journal.note(used.path, [0] * 60_000, clock.now_us())
    recalled(used, 1)
    assert half_life(used) == 180.0
    old, older = (
        used.recall("words", profile="used", now=f"{year}-01-01")[0].terms["recency"] for year in (2027, 2030)
    )
    assert 0.0 < older < old < 1.0
    assert half_life(used, now="2026-07-01") == 60.0  # the last access lies more than 90 days back
    assert 60.0 < half_life(used, now="2026-05-29T15:00") < 180.0


def test_other_profiles_neither_note_nor_use_it(used: Vault, clock: FixedClock) -> None:
    used.add("words", id="a", created_at="2026-01-01")
    used.add("else", id="other")
    before = used.recall("words", profile="temporal")[0].terms
    used.recall("words")
    assert not (used.path / "journal" / "accesses").exists()
    recalled(used, 5)
    assert used.recall("words", profile="temporal")[0].terms == before


def test_answers_change_with_the_log_and_not_with_the_asking(used: Vault) -> None:
    used.add("words", id="a", created_at="2026-01-01")
    used.add("else", id="other")
    first: list[dict[str, Any]] = [hit.to_dict() for hit in used.recall("words", profile="used")]
    assert [[hit.to_dict() for hit in used.recall("words", profile="used")] for _ in range(3)] == [first] * 3
    then = used.recall("words", profile="used").snapshot
    recalled(used, 0)
    again = used.recall("words", profile="used")
    assert again.snapshot == then + 1
    assert again[0].terms["half_life_days"] > first[0]["terms"]["half_life_days"]


def test_readers_note_too_and_a_reopened_vault_knows(used: Vault, clock: FixedClock) -> None:
    used.add("words", id="a", created_at="2026-01-01")
    used.add("else", id="other")
    with lamina.open(used.path, mode="r", clock=clock) as reader:
        half_life(reader)
    recalled(used, 0)
    with lamina.open(used.path, mode="r", clock=clock) as reader:
        assert half_life(reader) > 60.0
        assert half_life(reader, as_of="2026-03-01T12:00:00.000001Z") == 60.0
    entry = used.history("a")[-1]
    assert (entry.kind, entry.detail) == ("access", {"count": 1, "last_us": clock.now_us()})


def test_what_was_recalled_is_not_put_away(used: Vault, clock: FixedClock) -> None:
    used.add("words", id="a", created_at="2025-01-01")
    used.add("else", id="other", created_at="2025-01-01")
    clock.advance(200 * 86_400)
    assert set(used.archive().ids) == {"a", "other"}
    recalled(used, 1)
    used.pin("other", pinned=False)
    assert used.archive().ids == ("other",)


def test_forgetting_erases_the_journal_and_what_was_taken_of_it(used: Vault) -> None:
    used.add("words", id="a-very-peculiar-id")
    used.add("else", id="other")
    recalled(used, 2)
    used.recall("words", profile="used")
    used.forget("a-very-peculiar-id", dry_run=False)
    assert not list((used.path / "journal").glob("accesses*"))
    everything = b"".join(path.read_bytes() for path in used.path.rglob("*") if path.is_file())
    assert b"peculiar" not in everything
    assert used.recall("else", profile="used")[0].id == "other"


def test_a_journal_is_bounded_and_what_is_torn_or_unknown_is_passed_over(tmp_path: Path, used: Vault) -> None:
    used.add("words", id="a", created_at="2026-01-01")
    used.add("else", id="other")
    access_journal.note(used.path, [], 1)
    assert not (used.path / "journal" / "accesses").exists()
    access_journal.note(used.path, [99, -5, 0], 1_700_000_000_000_000)
    with (used.path / "journal" / "accesses").open("ab") as file:
        file.write(b"torn")
    recalled(used, 0)
    assert [entry.kind for entry in used.history("a")] == ["added", "access"]
    (tmp_path / "v" / "journal").mkdir(parents=True)
    (tmp_path / "v" / "journal" / "accesses").write_bytes(bytes(access_journal.MOST_BYTES))
    access_journal.note(tmp_path / "v", [1], 1)
    assert (tmp_path / "v" / "journal" / "accesses").stat().st_size == access_journal.MOST_BYTES
    access_journal.note(tmp_path / "nowhere", [1], 1)
    assert not (tmp_path / "nowhere").exists()


def test_what_an_interrupted_writer_took_is_taken_by_the_next(used: Vault) -> None:
    used.add("words", id="a", created_at="2026-01-01")
    used.add("else", id="other")
    access_journal.note(used.path, [0], 5)
    (used.path / "journal" / "accesses").rename(used.path / "journal" / "accesses.taken")
    access_journal.note(used.path, [0], 6)
    recalled(used, 0)
    recalled(used, 0)
    assert [entry.kind for entry in used.history("a")] == ["added", "access", "access"]


def test_many_readers_at_once_lose_nothing(used: Vault) -> None:
    used.add("words", id="a", created_at="2026-01-01")
    used.add("else", id="other")

    def read() -> None:
        for _ in range(50):
            access_journal.note(used.path, [0, 1], 7)

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    recalled(used, 0)
    assert used.history("a")[-1].detail == {"count": 400, "last_us": 7}
