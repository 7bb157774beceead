from __future__ import annotations

from pathlib import Path

import pytest

from lamina import FixedClock, Vault
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.errors import InvalidArgument, InvalidConfig, VaultLocked
from lamina_engine.graph import generators, mentions
from lamina_engine.graph.generators import KINDS, after_add, after_ingest, build
from lamina_engine.memory import Memory
from tests.engine.graph.filling import claimed, fill
from tests.engine.graph.test_semantic import at
from tests.notes import CountingEmbedder, prose, write

CHEAP = [kind for kind in KINDS if kind not in ("judged", "temporal")]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    for i in range(70):
        named = "As n69 Extra says." if i < 2 else ""
        write(folder, f"n{i:02}.md", f"# n{i} Extra\n\n{prose(f'word{i}')} [[n{(i + 1) % 70:02}]] {named}\n")
    return folder


def test_all_kinds_by_default_and_a_second_run_changes_nothing(lexical_vault: Vault, notes: Path) -> None:
    lexical_vault.ingest(notes, links=False)
    report = build(lexical_vault._memory)
    assert list(report.kinds) == [kind for kind in KINDS if kind != "temporal"]  # findings, seeds-a gap 2
    assert report.kinds["wikilinks"].added == 70
    assert report.kinds["mention"].added == 2
    assert report.kinds["judged"].note is not None
    assert "LAMINA_JUDGE_URL" in report.kinds["judged"].note
    assert "\n" not in report.kinds["judged"].note
    again = build(lexical_vault._memory)
    assert (again.added, again.withdrawn) == (0, 0)
    assert {kind: found.unchanged for kind, found in again.kinds.items()} == {
        kind: found.added for kind, found in report.kinds.items()
    }
    assert report.seconds >= max(found.seconds for found in report.kinds.values()) - 0.002


def test_removing_notes_leaves_no_dangling_link(lexical_vault: Vault, notes: Path) -> None:
    lexical_vault.ingest(notes, links=False)
    memory = lexical_vault._memory
    build(memory)
    build(memory, ["temporal"])
    for i in range(50):
        (notes / f"n{i:02}.md").unlink()
    lexical_vault.ingest(notes, links=False)
    build(memory)
    build(memory, ["temporal"])
    alive = {chunk.id for chunk in lexical_vault.list(limit=None)}
    for origin in ("sequence", "temporal", "mention", "wikilink"):
        assert {end for key in claimed(memory, origin) for end in key[:2]} <= alive
    assert len(claimed(memory, "temporal")) == 19


def test_kinds_run_in_one_order_whatever_was_asked(memory: Memory) -> None:
    assert list(build(memory, ["entity", "sequence"]).kinds) == ["sequence", "entity"]


@pytest.mark.parametrize("kinds", [["nothing"], [], "temporal", ["temporal", "semantics"], 3])
def test_unknown_kinds_are_refused_and_the_allowed_named(memory: Memory, kinds: list[str]) -> None:
    with pytest.raises(
        InvalidArgument, match="sequence, temporal, semantic, wikilinks, markdown, mention, entity, similar, judged"
    ):
        build(memory, kinds)


def test_judged_by_name_without_a_model_says_so_in_one_line(memory: Memory) -> None:
    fill(memory, list("abc"))
    with pytest.raises(InvalidConfig, match=r"\$LAMINA_JUDGE_URL") as error:
        build(memory, ["temporal", "judged"])
    assert "\n" not in str(error.value)
    assert claimed(memory, "temporal") == {}
    assert "semantic" in build(memory).kinds  # everything else works


def test_similar_links_tasks_and_nothing_else(tmp_path: Path) -> None:
    embedder = CallableEmbedder(CountingEmbedder(), 8, identity="axes")
    memory = Memory(tmp_path / "vault", create=True, clock=FixedClock(0), embedder=embedder)
    fill(memory, list("abcd"), types=["agent_task"] * 3 + ["note"], vectors=at(0.8, 0.81, 0.99))
    assert build(memory, ["similar"], similar_threshold=0.8).kinds["similar"].added == 1
    assert claimed(memory, "similar") == {("a", "c", "similar_to"): pytest.approx(0.81)}
    assert build(memory, ["similar"], similar_threshold=0.7).kinds["similar"].added == 1
    assert claimed(memory, "semantic") == {}
    memory.close()


# ---------------------------------------------------------------------- after a write


def origins(memory: Memory) -> dict[str, object]:
    return {name: claimed(memory, name) for name in ("sequence", "temporal", "semantic", "mention", "wikilink")}


def test_after_an_ingest_a_full_build_changes_nothing(vault: Vault, notes: Path) -> None:
    report = vault.ingest(notes, links=False)
    memory = vault._memory
    assert after_ingest(memory, report.chunks) is not None
    before = origins(memory)
    kinds = [kind for kind in CHEAP if kind != "similar"]
    full = build(memory, kinds)
    assert (full.added, full.withdrawn, origins(memory)) == (0, 0, before)
    (notes / "n03.md").unlink()
    write(notes, "later.md", f"# later\n\n{prose('later')} [[n05]]\n")
    report = vault.ingest(notes, links=False)
    after_ingest(memory, report.chunks + report.removed)
    full = build(memory, kinds)
    assert (full.added, full.updated, full.withdrawn) == (0, 0, 0)


def test_after_an_ingest_that_changed_nothing_nothing_is_done(memory: Memory) -> None:
    assert after_ingest(memory, 0) is None


def test_in_a_large_vault_written_links_never_wait_and_others_for_a_large_change(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(memory, list("abcdefghijklmnopqrst"))
    monkeypatch.setattr(generators, "_MOST_INGESTED", 10)
    for changed, kinds in (
        (2, ["wikilinks", "markdown"]),
        (3, ["sequence", "wikilinks", "markdown", "mention", "entity"]),
        (2, ["wikilinks", "markdown", "mention"]),  # what was found is known now
    ):
        report = after_ingest(memory, changed)
        assert report is not None
        assert list(report.kinds) == kinds


def test_mentions_come_as_the_vault_doubles(memory: Memory) -> None:
    names = [f"n{i:02}" for i in range(63)]
    fill(memory, names, titles=["Harbour Light"] + [None] * 62, texts=["a lamp", "by Harbour Light"] + ["none"] * 61)
    report = after_add(memory, names)
    assert report is not None
    assert list(report.kinds) == ["mention", "entity"]
    assert claimed(memory, "mention") == {("n01", "n00", "mention"): 1.0}
    fill(memory, ["x"])
    assert after_add(memory, ["x"]) is not None
    fill(memory, ["y"])
    assert after_add(memory, ["y"]) is None
    assert after_add(memory, names, links=False) is None


def test_many_at_once_and_large_vaults_wait(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(memory, list("abcdef"))
    assert after_add(memory, ["a"] * (generators.MOST_ADDED + 1)) is None
    assert after_add(memory, []) is None
    monkeypatch.setattr(generators, "MOST_ROWS", 5)
    assert after_add(memory, list("abcdef")) is None


def test_links_that_cannot_be_made_do_not_undo_an_add(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def locked(_: Memory) -> None:
        raise VaultLocked("another writer")

    fill(memory, list("ab"))
    monkeypatch.setattr(mentions, "build", locked)
    assert after_add(memory, list("ab")) is None
    assert after_ingest(memory, 2) is None
    assert "the next build makes them" in caplog.text


def test_ingest_links_what_it_reads_and_a_later_full_build_adds_nothing(vault: Vault, notes: Path) -> None:
    vault.ingest(notes)
    before = vault.stats()["links"]
    assert before > 0
    report = vault.build_links()
    assert sum(kind.added + kind.updated + kind.withdrawn for kind in report.kinds.values()) == 0
    assert vault.stats()["links"] == before


def test_add_links_only_where_it_is_told_to(lexical_vault: Vault) -> None:
    titles = ["Harbour Light", *(f"Entry {i}" for i in range(8))]
    records = [{"text": f"Note {i} on Harbour Light.", "title": title} for i, title in enumerate(titles)]
    lexical_vault.add(records[:3])
    lexical_vault.add(records[3:4], links=False)
    assert lexical_vault.stats()["links"] == 0
    lexical_vault.add(records[4:], links=True)
    assert lexical_vault.stats()["links"] > 0
    assert all(chunk.metadata == {} for chunk in lexical_vault.list())
