from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lamina import Vault
from lamina_engine.graph import wikilinks
from lamina_engine.graph.links import claims_of
from lamina_engine.graph.log import LinkCounts
from lamina_engine.ingest.drafts import SourceLink
from lamina_engine.ingest.wikilinks import resolve_links
from lamina_engine.memory import Memory
from tests.notes import prose, write


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    write(folder, "a.md", f"# A\n\n{prose('alpha')} [[b]] and [[b]] and [[nowhere]] and [[a]]\n")
    write(folder, "b.md", f"# B\n\n{prose('beta')}\n\n## Deep\n\n{prose('gamma')}\n")
    write(folder, "c.md", f"# C\n\n{prose('delta')} [[b#Deep]] ![[a]] [[later]]\n")
    return folder


def anew(
    links: Mapping[str, Sequence[Mapping[str, Any]]], sources: Iterable[str]
) -> Mapping[str, Sequence[str | None]]:
    fields = SourceLink.__dataclass_fields__
    found = {
        name: [SourceLink(**{k: v for k, v in link.items() if k in fields}) for link in each]
        for name, each in links.items()
    }
    return resolve_links(found, sources).targets


def ends(memory: Memory) -> set[tuple[str, str, str | None]]:
    view = memory.view()
    found = claims_of(view, "wikilink")
    names = [name for link in found for name in (link.source, link.target)]
    rows = view.rows_of_ids(names)
    sources, headings = (view.snapshot.values("chunks", column, rows) for column in ("source", "headings"))
    where = dict(
        zip(
            names,
            (f"{s}#{h[-1]}" if len(h or ()) > 1 else s for s, h in zip(sources, headings, strict=True)),
            strict=True,
        )
    )
    return {(where[link.source], where[link.target], link.note) for link in found}


def test_links_of_notes(lexical_vault: Vault, notes: Path) -> None:
    lexical_vault.ingest(notes, links=False)
    memory = lexical_vault._memory
    assert wikilinks.build(memory).added == 3
    assert {(source.split("#")[0], target.split("#")[0], note) for source, target, note in ends(memory)} == {
        ("a.md", "b.md", None), ("c.md", "b.md", None), ("c.md", "a.md", "embed"),
    }  # fmt: skip
    assert wikilinks.build(memory) == LinkCounts(unchanged=3)


def test_a_heading_is_found_below_its_note(lexical_vault: Vault, notes: Path) -> None:
    lexical_vault.ingest(notes, links=False)
    memory = lexical_vault._memory
    wikilinks.build(memory)
    view = memory.view()
    (link,) = (
        each for each in claims_of(view, "wikilink") if each.note is None and "delta" in text(memory, each.source)
    )
    assert "gamma" in text(memory, link.target)


def text(memory: Memory, identity: str) -> str:
    view = memory.view()
    return str(view.snapshot.values("chunks", "text", view.rows_of_ids([identity]))[0])


def test_a_note_that_came_later_is_found_when_resolved_anew(lexical_vault: Vault, notes: Path) -> None:
    lexical_vault.ingest(notes, links=False)
    memory = lexical_vault._memory
    assert wikilinks.build(memory, anew).added == 3
    write(notes, "later.md", f"# Later\n\n{prose('epsilon')}\n")
    lexical_vault.ingest(notes, links=False)
    assert wikilinks.build(memory, anew) == LinkCounts(added=1, unchanged=3)


def test_a_removed_note_leaves_no_link(lexical_vault: Vault, notes: Path) -> None:
    lexical_vault.ingest(notes, links=False)
    memory = lexical_vault._memory
    wikilinks.build(memory)
    (notes / "b.md").unlink()
    lexical_vault.ingest(notes, links=False)
    assert wikilinks.build(memory) == LinkCounts(withdrawn=2, unchanged=1)
