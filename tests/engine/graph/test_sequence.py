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

    for name, minute in (("a1", 5), ("a0", 0), ("a2", 35), ("a3", 66), ("a4", 70)):
        told(name, minute)
    told("b0", 1, session="monday")
    told("c0", 2, agent="other")
    lexical_vault.add("d0 0th")
    memory = lexical_vault._memory
    assert sequence.build(memory).added == 4
    assert subjects(memory) == [("a0", "a1"), ("a1", "a2"), ("a2", "a3"), ("a3", "a4")]  # 31 minutes do not part them
    assert sequence.build(memory) == LinkCounts(unchanged=4)


def test_a_pause_of_days_is_bridged_by_likeness_alone(lexical_vault: Vault) -> None:
    texts = {
        "2026-06-01T09:00:00Z": "the flange of the coolant pump leaks", "2026-06-01T20:00:00Z": "lunch was late",
        "2026-06-05T09:00:00Z": "the coolant flange again, now with a gasket", "2026-06-09T09:00:00Z": "a poster for the fair",
    }  # fmt: skip
    ids = lexical_vault.add([{"text": text, "session": "s", "created_at": at} for at, text in texts.items()])
    lexical_vault.build_links(["sequence"])
    weights = [
        [(link.target, round(link.weight, 2)) for link in lexical_vault.links(name, direction="out")] for name in ids
    ]
    assert [target for target, _ in weights[0]] == [ids[1]]
    assert weights[0][0][1] >= 0.4  # ten and a half hours past the first half hour
    assert [target for target, _ in weights[1]] == [ids[2]]  # four days, but like what was said before
    assert weights[2] == []


def test_steps_between_added_sessions_exist_where_the_matter_goes_on(lexical_vault: Vault) -> None:
    # findings, seeds-b 003 #31: sessions of add() had no step to the next one at all
    def add(session: str, day: int, *texts: str, project: str | None = "printer") -> list[str]:
        records = [{"text": text, "created_at": f"2026-05-{day:02}T09:{i:02}:00Z"} for i, text in enumerate(texts)]
        return lexical_vault.add(records, session=session, project=project)

    first = add(
        "p1", 1, "The label printer talks raw ZPL over TCP.", "Open: paper-out status of the printer is not read yet."
    )
    poster = add("n1", 5, "Drew a poster for the summer fair.", "The poster has a red headline now.")
    back = add("p2", 20, "Back at the label printer: where did we stop?", "Paper-out is bit 1 of the status line.")
    add("p3", 21, "The label printer jams.", project=None)
    lexical_vault.build_links(["sequence"])
    assert [link.target for link in lexical_vault.links(first[-1], direction="out")] == [back[0]]
    assert lexical_vault.links(poster[-1], direction="out") == []
    story = lexical_vault.chain("paper-out is bit 1 of the status line")
    assert [chunk.id for chunk in story.chunks] == [*first, *back]


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
    lifecycle._event(memory, "b", "remove", lambda *_: True)
    assert sequence.build_temporal(memory) == LinkCounts(added=1, withdrawn=2)
    assert line(memory) == "ac"
    lifecycle.restore(memory, "b")
    assert sequence.build_temporal(memory) == LinkCounts(added=2, withdrawn=1)


def test_chunks_of_one_file_stand_on_it_through_one_of_them(memory: Memory) -> None:
    fill(memory, list("abcde"), sources=["f", "f", None, "g", "f"], ordinals=[1, 0, -1, 0, 2])
    sequence.build_temporal(memory)
    assert line(memory) == "bc cd"
    lifecycle._event(memory, "b", "remove", lambda *_: True)
    sequence.build_temporal(memory)
    assert line(memory) == "ac cd"


def test_records_of_a_table_are_documents_each(memory: Memory) -> None:
    fill(memory, list("ab"), sources=["t.csv", "t.csv"])
    sequence.build_temporal(memory)
    assert line(memory) == "ab"
