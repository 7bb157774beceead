"""Hits of one document, and lists of links below what they point to."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import lamina
from lamina_engine.profiles import ROLE_FACTORS
from lamina_engine.recall.explain import recompute
from lamina_engine.recall.request import PER_SOURCE

TOPICS = ("undo the last commit", "stash one file", "rebase onto main", "list all tables", "open a split window")


@pytest.fixture
def vault(tmp_path: Path) -> lamina.Vault:
    notes = tmp_path / "notes"
    notes.mkdir()
    index = "# Index\n\n" + "".join(f"- [How to {topic}]({i}.md)\n" for i, topic in enumerate(TOPICS * 30))
    (notes / "README.md").write_text(index)
    for i, topic in enumerate(TOPICS):
        (notes / f"{i}.md").write_text(
            f"# {topic.capitalize()}\n\nThis is what to type when you want to {topic} in a hurry.\n"
        )
    sections = "".join(f"## Part {i}\n\n{'zebra stripes ' * 8}\n{'filler text here ' * 90}\n\n" for i in range(9))
    (notes / "long.md").write_text(f"# Long\n\n{sections}")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "long.md").write_text("# Other\n\nzebra stripes elsewhere\n")
    found = lamina.open(tmp_path / "v", create=True)
    found.ingest([str(notes), str(tmp_path / "other")])
    return found


def test_index_pages_stand_below_what_they_point_to(vault: lamina.Vault) -> None:  # findings, stranger 11
    for i, topic in enumerate(TOPICS):
        hits = vault.recall(f"how to {topic}", k=3)
        assert hits[0].source == f"{i}.md"
        for hit in hits:
            listed = hit.source == "README.md"
            assert (hit.role, hit.terms.get("role")) == (("index",) * 2 if listed else (None, None))
            assert hit.terms["factor"] == (ROLE_FACTORS["index"] if listed else 1.0)
            assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-6)


def test_a_document_has_two_hits_unless_more_are_asked_for(vault: lamina.Vault) -> None:
    hits = vault.recall("zebra stripes", k=10)
    paths = [hit.path for hit in hits if hit.source == "long.md"]
    assert sorted(paths.count(path) for path in set(paths)) == [1, 2], (
        "two of each file, whatever its name below its root"
    )
    assert hits.explain()["left_out"] >= 5
    every = vault.recall("zebra stripes", k=10, per_source=None)
    assert sum(hit.source == "long.md" for hit in every) == 10
    assert every.explain()["left_out"] == 0
    for asked in (vault.recall("zebra stripes", where={"source": "long.md"}), vault.recall("zebra source:long.md")):
        assert len(asked) > 3, "who names a source wants its chunks"
    assert len(vault.recall("zebra stripes", k=10, per_source=1)) < len(hits)


def test_the_first_hits_do_not_depend_on_k(vault: lamina.Vault) -> None:
    ids = [hit.id for hit in vault.recall("zebra stripes how to list", k=20)]
    for k in range(1, 20):
        assert [hit.id for hit in vault.recall("zebra stripes how to list", k=k)] == ids[:k]
    assert [hit.id for hit in vault.recall("zebra stripes how to list", k=5, offset=3)] == ids[3:8]


def test_records_and_added_chunks_are_each_their_own(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(f'{{"text": "quagga number {i}"}}\n' for i in range(6)))
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.ingest(str(rows))
        vault.add([{"text": f"quagga, added {i}", "source": "zoo.md"} for i in range(6)])
        assert len(vault.recall("quagga", k=12)) == 12


@pytest.mark.parametrize("most", [0, -1, True, "2", 1.5])
def test_what_is_no_number_of_hits_is_refused(vault: lamina.Vault, most: object) -> None:
    with pytest.raises(lamina.InvalidArgument, match="per_source"):
        vault.recall("zebra", per_source=most)  # type: ignore[arg-type]


def test_the_default_is_the_same_for_every_caller() -> None:
    assert inspect.signature(lamina.Vault.recall).parameters["per_source"].default == PER_SOURCE
