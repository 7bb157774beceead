from __future__ import annotations

import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest

from lamina import Vault
from lamina_engine.graph import references
from lamina_engine.graph.links import claims_of
from lamina_engine.graph.log import LinkCounts
from lamina_engine.memory import Memory
from tests.notes import prose, write


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    write(folder, "a.md", f"# A\n\n{prose('alpha')} [[b]] and [[b]] and [[nowhere]] and [[a]]\n")
    write(folder, "b.md", f"# B\n\n{prose('beta')}\n\n## Deep\n\n{prose('gamma')}\n")
    write(folder, "c.md", f"# C\n\n{prose('delta')} [[b#Deep]] ![[a]] [[later]]\n")
    return folder


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
    assert references.build(memory, "wikilink").added == 3
    assert {(source.split("#")[0], target.split("#")[0], note) for source, target, note in ends(memory)} == {
        ("a.md", "b.md", None), ("c.md", "b.md", None), ("c.md", "a.md", "embed"),
    }  # fmt: skip
    assert references.build(memory, "wikilink") == LinkCounts(unchanged=3)


def test_a_heading_is_found_below_its_note(lexical_vault: Vault, notes: Path) -> None:
    lexical_vault.ingest(notes, links=False)
    memory = lexical_vault._memory
    references.build(memory, "wikilink")
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
    assert references.build(memory, "wikilink").added == 3
    write(notes, "later.md", f"# Later\n\n{prose('epsilon')}\n")
    lexical_vault.ingest(notes, links=False)
    assert references.build(memory, "wikilink") == LinkCounts(added=1, unchanged=3)


def test_a_removed_note_leaves_no_link(lexical_vault: Vault, notes: Path) -> None:
    lexical_vault.ingest(notes, links=False)
    memory = lexical_vault._memory
    references.build(memory, "wikilink")
    (notes / "b.md").unlink()
    lexical_vault.ingest(notes, links=False)
    assert references.build(memory, "wikilink") == LinkCounts(withdrawn=2, unchanged=1)


VAULT = {
    "retry.md": "---\naliases: [Backoff]\nurl: https://notes.example/retry\n---\n# Retry Policy\n\n{}\n\n## Set up: queues\n\n{}\n",
    "sub/a b.md": "# Spaces\n\n{}\n",
    "index.md": "# Index\n\n{} See [[Retry Policy]] and [[Backoff|it]], [spaces](sub/a%20b.md) and [queues](retry.md#set-up-queues).\n",
    "ref.md": "# By reference\n\n{} As [the note][r] says, and <https://notes.example/retry/>, not [this](https://example.org).\n\n[r]: retry.md\n",
    "rel.md": "# Relations\n\n{}\n\n- implements [[Retry Policy]]\n- caused by [[Spaces]] (last week)\n- see what [[index]] says\n",
    "guide.rst": "Guide\n=====\n\n{} See :doc:`sub/part`, :ref:`the label <deep-label>`, :pep:`572` and `one <retry.md>`_.\n",
    "sub/part.rst": "Part\n====\n\n{}\n\n.. _deep-label:\n\nDeep\n----\n\n{}\n",
    "pep-0572.rst": "Assignment\n==========\n\n{}\n",
    "lost.md": "# Lost\n\n{} [[Nowhere]], [gone](gone.md), [web](https://x.org), ![pic](p.png), [pdf](x.pdf), [dir](sub/), [top](#lost)\n",
    "code.md": "# Code\n\n{} `[[Retry Policy]]`\n\n```\n[a](retry.md)\n```\n",
}


@pytest.fixture
def vault_of_links(lexical_vault: Vault, tmp_path: Path) -> Vault:
    for i, (name, text) in enumerate(VAULT.items()):
        write(tmp_path / "notes", name, text.replace("{}", prose(f"word{i}")))
    lexical_vault.ingest(tmp_path / "notes")
    return lexical_vault


def pairs(vault: Vault) -> set[tuple[str, str, str, str | None]]:
    view = vault._memory.view()
    found = [link for origin in ("wikilink", "markdown") for link in claims_of(view, origin)]
    names = [name for link in found for name in (link.source, link.target)]
    where = dict(zip(names, view.snapshot.values("chunks", "source", view.rows_of_ids(names)), strict=True))
    return {(where[link.source], where[link.target], link.relation, link.note) for link in found}


def test_every_form_of_a_written_link_is_one(vault_of_links: Vault) -> None:
    # findings, stranger 7
    assert pairs(vault_of_links) == {
        ("index.md", "retry.md", "related", None), ("index.md", "sub/a b.md", "related", None),
        ("ref.md", "retry.md", "related", None),
        ("rel.md", "retry.md", "related", "implements"), ("sub/a b.md", "rel.md", "causal", "caused by"),
        ("rel.md", "index.md", "related", None),
        ("guide.rst", "sub/part.rst", "related", None), ("guide.rst", "pep-0572.rst", "related", None),
        ("guide.rst", "retry.md", "related", None),
    }  # fmt: skip


def test_a_link_to_a_heading_or_label_leads_below_it(vault_of_links: Vault) -> None:
    memory = vault_of_links._memory
    targets = {text(memory, link.target).strip().splitlines()[0] for link in claims_of(memory.view(), "markdown")}
    assert "## Set up: queues" in targets
    assert any("Deep" in each or "deep-label" in each for each in targets)


def test_what_leads_nowhere_is_listed_and_what_leads_out_is_not(vault_of_links: Vault, tmp_path: Path) -> None:
    # findings, stranger 7
    found = vault_of_links.links.unresolved()
    assert [(link.source, link.target, link.form) for link in found] == [
        ("lost.md", "Nowhere", "wiki"), ("lost.md", "gone.md", "path"),
    ]  # fmt: skip
    assert found[0].root == (tmp_path / "notes").as_posix()
    report = vault_of_links.ingest(write(tmp_path / "notes", "gone.md", f"# Gone\n\n{prose('gone')}\n"))
    assert (report.unresolved, report.links > 0) == (1, True)
    assert ("lost.md", "gone.md", "related", None) in pairs(vault_of_links)
    (tmp_path / "notes" / "gone.md").unlink()
    assert vault_of_links.ingest(tmp_path / "notes").unresolved == 2
    assert ("lost.md", "gone.md", "related", None) not in pairs(vault_of_links)


def test_ambiguous_names_are_listed_with_what_fits(lexical_vault: Vault, tmp_path: Path) -> None:
    for name in ("a/same.md", "b/same.md"):
        write(tmp_path / "notes", name, f"# {name}\n\n{prose(name)}\n")
    write(tmp_path / "notes", "x.md", f"# X\n\n{prose('x')} [[same]]\n")
    lexical_vault.ingest(tmp_path / "notes")
    (link,) = lexical_vault.links.unresolved()
    assert link.candidates == ("a/same.md", "b/same.md")
    assert link.to_dict()["candidates"] == ["a/same.md", "b/same.md"]


TIL = Path(__file__).parents[4] / "shared" / "data" / "notes-vault" / "til.bundle"


@pytest.mark.skipif(not TIL.exists(), reason="the notes vault is not there")
def test_every_link_of_a_real_vault_whose_note_exists_is_a_link(lexical_vault: Vault, tmp_path: Path) -> None:
    # acceptance: against markdown-it-py, over 1,873 notes
    markdown_it = pytest.importorskip("markdown_it")
    root = tmp_path / "til"
    subprocess.run(["git", "clone", "-q", str(TIL), str(root)], check=True)
    lexical_vault.ingest(root)
    got = {(source, target) for source, target, _, _ in pairs(lexical_vault)}
    parse, want = markdown_it.MarkdownIt().parse, set()
    for path in root.rglob("*.md"):
        here = path.relative_to(root)
        for token in parse(path.read_text(encoding="utf-8")):
            for child in token.children or ():
                target = unquote(str(child.attrs.get("href", ""))).partition("#")[0]
                if child.type != "link_open" or not target or ":" in target:
                    continue
                beside = root if target.startswith("/") else path.parent
                found = (beside / target.lstrip("/")).resolve()
                if found.is_file() and found != path.resolve():
                    want.add((here.as_posix(), found.relative_to(root.resolve()).as_posix()))
    assert len(want) > 1_900
    assert want <= got
    assert {link.target for link in lexical_vault.links.unresolved()} == {
        "vim/turning-off-search-highlighting.md", "golang.org/doc/", "set-default-team-and-app-for-project.md",
        "rescue_from.md",
    }  # fmt: skip
    links_bytes = sum(file.stat().st_size for file in (lexical_vault.path / "log" / "links").iterdir())
    everything = sum(file.stat().st_size for file in lexical_vault.path.rglob("*") if file.is_file())
    assert links_bytes < 0.1 * everything


def test_links_in_added_texts_lead_to_notes_and_to_other_added_texts(lexical_vault: Vault, tmp_path: Path) -> None:
    write(
        tmp_path / "n", "retry.md", f"# Retry Policy\n\n{prose('r')}\n\n## Limits\n\n{prose('l')} See [[Pool notes]].\n"
    )
    write(tmp_path / "n", "sub/x.md", "---\naliases: [Pay]\n---\n# Ledger\n\nIt is kept.\n")
    vault = lexical_vault
    vault.ingest(tmp_path / "n")
    assert [(link.target, link.candidates) for link in vault.links.unresolved()] == [("Pool notes", ())]
    text = (
        "We follow [[Retry Policy#Limits]], [the ledger](sub/x.md) and [[Pay]], not [[Nowhere]]; `[[code]]`, ![](i.png), "
        "[w](https://x.y).\n- caused by [[Pool notes]]\n```\n[[fenced]]\n```\n"
    )
    vault.add({"id": "decision", "text": text, "title": "Decision A"})
    vault.add({"id": "pool", "text": "The pool is small.", "title": "Pool notes"})
    vault.add({"id": "later", "text": "See [[Decision A]], [[pool]].", "source": "chat"}, links=True)
    ref = {("later", "decision", "related"), ("later", "pool", "related")}
    assert {link[:3] for link in written(vault, "later")} == ref, "at once where links are wanted"
    assert {link[:3] for link in written(vault, "decision")} == {("later", "decision", "related")}
    vault.build_links(["wikilinks", "markdown"])
    limits, ledger = (vault.get(place).id for place in ("retry.md#limits", "sub/x.md"))
    assert {link[:3] for link in written(vault, "decision")} == {
        ("decision", limits, "related"), ("decision", ledger, "related"), ("pool", "decision", "causal"), ("later", "decision", "related"),
    }  # fmt: skip
    assert (limits, "pool", "related") in {link[:3] for link in written(vault, "pool")}, "a file may name an added text"
    (left,) = vault.links.unresolved()
    assert (left.chunk, left.source, left.root, left.target) == ("decision", "decision", "", "Nowhere")
    vault.update("decision", text="It stands by itself.")
    vault.build_links(["wikilinks", "markdown"])
    assert {link[:3] for link in written(vault, "decision")} == {("later", "decision", "related")}
    assert not vault.links.unresolved()


@pytest.mark.parametrize("roots", [0, 1, 2])
@pytest.mark.parametrize(
    "link", ["[below](#usage)", "[[#Usage]]", "![[#^block]]", "[u][here]\n\n[here]: #usage", '<a href="#usage">u</a>']
)
def test_a_link_to_its_own_text_leads_nowhere_else(lexical_vault: Vault, tmp_path: Path, link: str, roots: int) -> None:
    for number in range(roots):
        write(tmp_path / f"n{number}", "pump.md", "# Pump\n\nIt runs at night.\n\n## Usage\n\nTurn the key.\n")
        lexical_vault.ingest(tmp_path / f"n{number}")
    lexical_vault.add({"id": "own", "text": f"See {link} for more."}, links=True)
    lexical_vault.build_links()
    assert not written(lexical_vault, "own")
    assert not lexical_vault.links.unresolved()


def test_a_name_of_several_added_texts_is_ambiguous(lexical_vault: Vault) -> None:
    vault = lexical_vault
    vault.add(
        [{"id": name, "text": f"note {name}", "title": "Twin"} for name in "ab"]
        + [{"id": "c", "text": "See [[Twin]]."}]
    )
    vault.build_links(["wikilinks"])
    assert [(link.chunk, link.candidates) for link in vault.links.unresolved()] == [("c", ("a", "b"))]


def written(vault: Vault, chunk: str) -> list[tuple[str, str, str, str]]:
    return [
        (link.source, link.target, link.relation, link.origin)
        for link in vault.links(chunk)
        if link.origin in ("wikilink", "markdown")
    ]
