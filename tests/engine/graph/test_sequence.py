""""""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lamina import Vault
from lamina_engine.chunks import lifecycle
from lamina_engine.graph import sequence
from lamina_engine.graph.links import claims_of
from lamina_engine.graph.log import LinkCounts
from lamina_engine.memory import Memory
from tests.engine.graph.filling import claimed, fill
from tests.notes import prose, write


def subjects(memory: Memory) -> list[tuple[str, str]]:
    view = memory.view()
    links = claims_of(view, "sequence")
    rows = view.rows_of_ids([name for link in links for name in (link.source, link.target)])
    said = [re.findall(r"\w\d(?= 0th)", text)[0] for text in view.snapshot.values("chunks", "text", rows)]
    return sorted(zip(said[::2], said[1::2], strict=True))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    for name in "ab":
        parts = "".join(f"## {name}{i}\n\n{prose(f'{name}{i}')}\n\n" for i in range(3))
        write(folder, f"{name}.md", f"# {name}\n\n{parts}")
    return folder


def test_chunks_of_a_file_in_their_order(lexical_vault: Vault, notes: Path) -> None:
    lexical_vault.ingest(notes, links=False)
    memory = lexical_vault._memory
    assert sequence.build(memory).added == 4
    assert subjects(memory) == [("a0", "a1"), ("a1", "a2"), ("b0", "b1"), ("b1", "b2")]
    assert sequence.build(memory) == LinkCounts(unchanged=4)


def test_neighbours_of_a_removed_chunk_are_joined(lexical_vault: Vault, notes: Path) -> None:
    lexical_vault.ingest(notes, links=False)
    memory = lexical_vault._memory
    sequence.build(memory)
    middle = next(chunk for chunk in lexical_vault.list() if "a1 0th" in chunk.text)
    lifecycle.invalidate(memory, middle.id, "no")
    assert sequence.build(memory) == LinkCounts(added=1, withdrawn=2, unchanged=2)
    assert subjects(memory)[0] == ("a0", "a2")
    (notes / "b.md").unlink()
    lexical_vault.ingest(notes, links=False)
    sequence.build(memory)
    assert subjects(memory) == [("a0", "a2")]


def test_files_of_one_name_in_two_roots_stay_apart(lexical_vault: Vault, notes: Path, tmp_path: Path) -> None:
    write(tmp_path / "other", "a.md", f"# x\n\n## x0\n\n{prose('x0')}\n\n## x1\n\n{prose('x1')}\n")
    lexical_vault.ingest([notes, tmp_path / "other"], links=False)
    sequence.build(lexical_vault._memory)
    assert ("x0", "x1") in subjects(lexical_vault._memory)
    assert not [pair for pair in subjects(lexical_vault._memory) if pair[0][0] != pair[1][0]]


def test_imported_chunks_say_their_place_themselves(memory: Memory) -> None:
    fill(memory, list("abcd"), sources=["s", "s", "s", None], ordinals=[2, 0, 1, -1])
    assert sequence.build(memory) == LinkCounts(added=2)
    assert set(claimed(memory, "sequence")) == {("b", "c", "next"), ("c", "a", "next")}


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_link(memory: Memory, n: int) -> None:
    fill(memory, ["a"][:n], sources=["s"][:n], ordinals=[0][:n])
    assert sequence.build(memory) == LinkCounts()


def test_what_was_added_in_a_session_stands_by_its_dates(lexical_vault: Vault) -> None:
    def told(name: str, minute: int, *, session: str = "friday", agent: str | None = None) -> None:
        created = f"2026-06-05T{9 + minute // 60:02}:{minute % 60:02}:00Z"
        lexical_vault.add(f"{name} 0th", session=session, agent=agent, created_at=created)

    for name, minute in (("a1", 5), ("a0", 0), ("a2", 35), ("a3", 66), ("a4", 70)):  # 30 minutes do not part, 31 do
        told(name, minute)
    told("b0", 1, session="monday")
    told("c0", 2, agent="other")
    lexical_vault.add("d0 0th")
    memory = lexical_vault._memory
    assert sequence.build(memory).added == 3
    assert subjects(memory) == [("a0", "a1"), ("a1", "a2"), ("a3", "a4")]
    assert sequence.build(memory) == LinkCounts(unchanged=3)


def line(memory: Memory) -> str:
    return " ".join(f"{source}{target}" for source, target, _ in sorted(claimed(memory, "temporal")))


def test_n_documents_make_n_minus_one_links_and_a_second_run_none(memory: Memory) -> None:
    assert sequence.build_temporal(memory) == LinkCounts()
    fill(memory, list("dcba"))
    assert sequence.build_temporal(memory) == LinkCounts(added=3)
    assert line(memory) == "ba cb dc"
    assert sequence.build_temporal(memory) == LinkCounts(unchanged=3)


def test_equal_moments_go_by_id_and_the_undated_are_left_out(memory: Memory) -> None:
    fill(memory, list("cbax"), created_at=[5, 5, 5, None], fallback_created_at=[None] * 4)
    sequence.build_temporal(memory)
    assert line(memory) == "ab bc"


def test_the_neighbours_of_a_removed_document_are_joined(memory: Memory) -> None:
    fill(memory, list("abc"))
    sequence.build_temporal(memory)
    lifecycle._event(memory, "b", "remove", None, None, unless=lambda *_: False)
    assert sequence.build_temporal(memory) == LinkCounts(added=1, withdrawn=2)
    assert line(memory) == "ac"
    lifecycle.restore(memory, "b")
    assert sequence.build_temporal(memory) == LinkCounts(added=2, withdrawn=1)


def test_chunks_of_one_file_stand_on_it_through_one_of_them(memory: Memory) -> None:
    fill(memory, list("abcde"), sources=["f", "f", None, "g", "f"], ordinals=[1, 0, -1, 0, 2])
    sequence.build_temporal(memory)
    assert line(memory) == "bc cd"
    lifecycle._event(memory, "b", "remove", None, None, unless=lambda *_: False)
    sequence.build_temporal(memory)
    assert line(memory) == "ac cd"


def test_records_of_a_table_are_documents_each(memory: Memory) -> None:
    fill(memory, list("ab"), sources=["t.csv", "t.csv"])
    sequence.build_temporal(memory)
    assert line(memory) == "ab"
