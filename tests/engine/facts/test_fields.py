from __future__ import annotations

from pathlib import Path

import pytest

from lamina_engine.facts.entities import add_entity
from lamina_engine.facts.fields import ORIGIN, extract_name, extract_notes
from lamina_engine.facts.log import write as add
from lamina_engine.facts.predicates import declare
from lamina_engine.facts.questions import ask
from lamina_engine.facts.schema import Draft
from lamina_engine.facts.view import fact_view_at
from lamina_engine.ingest.pipeline import ingest
from lamina_engine.memory import Memory


def write(folder: Path, **notes: str) -> Path:
    for name, text in notes.items():
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def read(memory: Memory, folder: Path) -> None:
    ingest(memory, [str(folder)], links=False)


def facts(memory: Memory, name: str) -> set[tuple[str, str, bool]]:
    kg = fact_view_at(memory)
    entity = kg.resolve(name).entity
    assert entity is not None, name
    found = kg.about(entity.row, valid_at=memory.clock.now_us(), direction="out")
    return {(fact.predicate, fact.object, fact.object_id is not None) for fact in found}


KEYSTONE = """---
title: Keystone
type: project
stack: [Rust, SQLite]
port: 3055
live: true
owner: "[[Dana Frost]]"
aliases: [the stone]
nested: {a: 1}
tags: [x]
---

# Keystone

Some prose with std::vector and a time 12::30.

status:: in beta
- **Time Zone**:: Europe/Oslo
See [repo:: git.example/keystone] and (mirror:: [[Backup Box]]).

```text
port:: 9999
```
"""


def test_frontmatter_and_lines_become_facts_of_the_note_s_subject(memory: Memory, tmp_path: Path) -> None:
    read(memory, write(tmp_path / "notes", keystone=KEYSTONE))
    report = extract_notes(memory)
    assert facts(memory, "Keystone") == {
        ("stack", "Rust", False), ("stack", "SQLite", False), ("port", "3055", False), ("live", "yes", False),
        ("owner", "Dana Frost", True), ("status", "in beta", False), ("time_zone", "Europe/Oslo", False),
        ("repo", "git.example/keystone", False), ("mirror", "Backup Box", True),
    }  # fmt: skip
    kg = fact_view_at(memory)
    entity = kg.resolve("the stone").entity
    assert entity is not None
    assert (entity.name, entity.type) == ("Keystone", "project")
    assert (report.added, report.aliases, report.dropped) == (9, 1, [])


def test_a_fact_names_the_chunk_that_says_it(memory: Memory, tmp_path: Path) -> None:
    text = "# Long\n\n" + "\n\n".join(f"## Part {i}\n\n{'words ' * 300}\n\nkey{i}:: value {i}" for i in range(3))
    read(memory, write(tmp_path / "notes", long=text))
    extract_notes(memory)
    kg = fact_view_at(memory)
    entity = kg.resolve("Long").entity
    assert entity is not None
    found = kg.about(entity.row, valid_at=None)
    assert len({fact.chunk for fact in found}) == 3
    assert {fact.source for fact in found} == {"long.md"}


def test_a_second_run_changes_nothing_and_an_edit_takes_back(memory: Memory, tmp_path: Path) -> None:
    notes = write(tmp_path / "notes", keystone=KEYSTONE)
    read(memory, notes)
    extract_notes(memory)
    again = extract_notes(memory)
    assert (again.added, again.unchanged, again.closed, again.aliases) == (0, 9, 0, 0)
    read(memory, write(notes, keystone=KEYSTONE.replace("Rust, SQLite", "Rust").replace("in beta", "live")))
    report = extract_notes(memory)
    assert (report.added, report.superseded) == (1, 1)
    assert {value for predicate, value, _ in facts(memory, "Keystone") if predicate in ("stack", "status")} == {
        "Rust",
        "live",
    }
    (notes / "keystone.md").unlink()
    read(memory, notes)
    extract_notes(memory)
    assert facts(memory, "Keystone") == set()


def test_what_was_stated_since_stands_until_the_note_says_something_new(memory: Memory, tmp_path: Path) -> None:
    # a stranger's trial: any other file, ingested, made the note's old value answer again
    folder = write(tmp_path / "notes", gizmo="port:: 77\nowner:: [[Ann]]\n")

    def run(**notes: str) -> set[tuple[str, str, bool]]:
        read(memory, write(folder, **notes))
        extract_notes(memory)
        return facts(memory, "gizmo")

    assert run() == {("port", "77", False), ("owner", "Ann", True)}
    ref = {("port", "99", False), ("owner", "Bob", True)}
    add(memory, [Draft("gizmo", "port", "99"), Draft("gizmo", "owner", "Bob", kind="entity")])
    assert run() == ref
    assert run(other="hello\n") == ref
    assert run(gizmo="A word more.\n\nport:: 77\nowner:: [[Ann]]\n") == ref
    assert ("port", "88", False) in run(gizmo="port:: 88\nowner:: [[Ann]]\n")
    assert run(gizmo="port:: 77\nowner:: [[Ann]]\n") == {("port", "77", False), ("owner", "Bob", True)}


def test_a_value_whose_name_an_entity_gets_later_stays_as_it_was_said(memory: Memory, tmp_path: Path) -> None:
    # a stranger's trial: the same folder, read again, ended such a value and restated it from today
    folder = write(
        tmp_path / "notes",
        queue="# Message queue\n\nowner:: Marit Dalgaard\n",
        zmarit="# Marit Dalgaard\n\nrole:: lead\n",
    )
    read(memory, folder)
    extract_notes(memory)
    before = facts(memory, "Message queue")
    for text in ("", "A word more.\n\n"):
        read(memory, write(folder, queue=f"# Message queue\n\n{text}owner:: Marit Dalgaard\n"))
        report = extract_notes(memory)
        assert (report.added, report.superseded, report.closed) == (0, 0, 0)
        assert facts(memory, "Message queue") == before


def test_a_value_that_was_restated_as_an_entity_is_left_so(memory: Memory, tmp_path: Path) -> None:
    read(memory, write(tmp_path / "notes", queue="# Message queue\n\nowner:: Marit Dalgaard\n"))
    extract_notes(memory)
    kg = fact_view_at(memory)
    (chunk,) = {fact.chunk for fact in kg.facts_at(list(range(kg.fact_rows)))}
    add(memory, [Draft("Message queue", "owner", "Marit Dalgaard", kind="entity", source=chunk)], origin=ORIGIN)
    before = facts(memory, "Message queue")
    for _ in range(2):
        report = extract_notes(memory)
        assert (report.added, report.superseded, report.closed) == (0, 0, 0)
        assert facts(memory, "Message queue") == before


def test_sections_about_known_entities_links_and_named_subjects(memory: Memory, tmp_path: Path) -> None:
    add_entity(memory, "Beatrix Vane", "person", ["Granny"])
    text = (
        "# Family\n\nmotto:: be kind\n\n## Granny\n\nphone:: 1\n\n## [[Jasper Vane]]\n\nphone:: 2\n\n## Some place\n\n"
        "about:: Old Mill\n\nphone:: 3\n\n## Nothing known\n\nphone:: 4\n"
    )
    read(memory, write(tmp_path / "notes", family=text))
    extract_notes(memory)
    phones = {
        name: {v for p, v, _ in facts(memory, name) if p == "phone"}
        for name in ("Granny", "Jasper Vane", "Old Mill", "Family")
    }
    assert phones == {"Granny": {"1"}, "Jasper Vane": {"2"}, "Old Mill": {"3"}, "Family": {"4"}}


def test_what_cannot_be_a_fact_is_told_and_the_rest_stays(memory: Memory, tmp_path: Path) -> None:
    text = f"---\ntitle: T\nlong: {'x' * 600}\nempty: \ngood: yes it is\n---\n\nalso:: good\n\nbare::\n"
    read(memory, write(tmp_path / "notes", t=text))
    report = extract_notes(memory)
    assert facts(memory, "T") == {("good", "yes it is", False), ("also", "good", False)}
    assert ["long" in drop.what for drop in report.dropped] == [True]


def test_notes_without_fields_say_nothing(memory: Memory, tmp_path: Path) -> None:
    read(memory, write(tmp_path / "notes", plain="# Plain\n\nstd::string is no fact.\n", other="text a::b"))
    assert extract_notes(memory).added == 0


LITERALS = """# Wheel variants

kept:: yes

```text
fenced:: no
~~~
still_fenced:: no
```

~~~
```
other_fence:: no
~~~

    indented:: no
    more_indented:: no

- item

    - nested:: yes

A literal block follows::

  nvidia :: cuda_version_lower_bound :: 12.8
    deeper:: no

.. code-block:: toml

   directive:: no

back:: yes

Use `[inline:: no]` or ``(inline:: no)``, and [shown:: `a:: b`].
"""


def test_code_and_literal_blocks_hold_no_facts(memory: Memory, tmp_path: Path) -> None:
    # findings, stranger 9
    notes = write(tmp_path / "notes", wheel=LITERALS)
    (notes / "main.hs").write_text("module Main where\n\nmain :: IO ()\nmain = pure ()\n")
    (notes / "pep.rst").write_text(
        "Wheels\n======\n\nFor example::\n\n    nvidia :: cuda_version_lower_bound :: 12.8\n\nport:: 1\n"
    )
    read(memory, notes)
    extract_notes(memory)
    assert facts(memory, "Wheel variants") == {
        ("kept", "yes", False), ("nested", "yes", False), ("back", "yes", False), ("shown", "`a:: b`", False),
    }  # fmt: skip
    assert facts(memory, "Wheels") == {("port", "1", False)}
    assert fact_view_at(memory).entities == 2


def test_plans_and_negations_are_no_facts(memory: Memory, tmp_path: Path) -> None:
    text = (
        "---\ntitle: Atlas\nregion: TBD\n---\n\nowner:: not Ann\nbackup:: maybe Wasabi\nport:: 3055\nhost:: vm-1?\n"
        "status:: not started\nqueue:: will be NATS\nmotto:: never\n- [ ] lead:: Ben\n~~city:: Graz~~\n\n<!--\ndb:: Oracle\n-->\n\n"
        "## Ideas for next year\n\nstack:: Rust\n\n## Today\n\nteam:: Compass\n"
    )
    read(memory, write(tmp_path / "notes", atlas=text))
    report = extract_notes(memory)
    assert facts(memory, "Atlas") == {
        ("port", "3055", False), ("status", "not started", False), ("motto", "never", False), ("team", "Compass", False),
    }  # fmt: skip
    assert sorted(drop.what for drop in report.dropped) == [
        f"atlas.md: {key!r}" for key in ("backup", "host", "owner", "queue", "region")
    ]


PEP = """PEP: 572
Title: Assignment Expressions
Author: Ada Byron <ada@example.org>,
    J. Q. Public
Status: Final
Python-Version: 3.8
Created: 28-Feb-2018

Abstract
========

A way to assign to variables within an expression.
"""


def test_the_head_of_a_document_becomes_facts_of_it(memory: Memory, tmp_path: Path) -> None:
    (write(tmp_path / "peps", other="# Other\n\nstatus:: Draft\n") / "pep-0572.rst").write_text(PEP)
    read(memory, tmp_path / "peps")
    extract_notes(memory)
    for question, key, value in (
        ("what is the status of PEP 572", "status", "Final"), ("status of Assignment Expressions?", "status", "Final"),
        ("who wrote PEP 572?", "author", "Ada Byron"), ("which python version has PEP 572?", "python_version", "3.8"),
    ):  # fmt: skip
        answers = ask(memory, question)
        assert (answers.answered, answers[0].key, answers[0].value) == (True, key, value), question
    assert not ask(memory, "what is the status of PEP 999").answered
    assert not ask(memory, "what is the budget of PEP 572").answered


def test_a_list_of_what_has_one_value_at_a_time_is_told(memory: Memory, tmp_path: Path) -> None:
    read(memory, write(tmp_path / "notes", t="---\ntitle: T\nowner: [Ann, Bob]\nphone: [1, 2]\n---\n\nText.\n"))
    report = extract_notes(memory)
    assert [drop.what for drop in report.dropped] == ["t.md: 'owner'"]
    assert facts(memory, "T") == {("owner", "Bob", False), ("phone", "1", False), ("phone", "2", False)}
    declare(memory, "owner", functional=False)
    assert extract_notes(memory).dropped == []
    assert ("owner", "Ann", False) in facts(memory, "T")


def test_the_language_of_a_thing_is_a_fact_and_that_of_its_file_none(memory: Memory, tmp_path: Path) -> None:
    # a stranger's trial: `language:: Rust` was left out without a word
    folder = write(
        tmp_path / "notes", zorb="---\nlang: en-US\n---\n\nlanguage:: Rust\n", quill="lang:: go\n", vela="---\nlanguage: english\nowner: Ann\n---\n\nText.\n"
    )  # fmt: skip
    read(memory, folder)
    extract_notes(memory)
    assert facts(memory, "zorb") == {("language", "Rust", False)}
    assert facts(memory, "quill") == {("lang", "go", False)}
    assert facts(memory, "vela") == {("owner", "Ann", False)}
    assert ask(memory, "which language is zorb written in?")[0].object == "Rust"


def test_what_a_program_was_to_fill_in_is_no_fact(memory: Memory, tmp_path: Path) -> None:
    text = (
        ":LastChangedBy: $LastChangedBy$\n:Revision: $Revision: 41 $\n:release: |version|\n:tocdepth: 2\n:maintainer: Ada\n\nAtlas\n=====\n\n"
        "Some text.\n"
    )
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "atlas.rst").write_text(text, encoding="utf-8")
    read(memory, tmp_path / "notes")
    extract_notes(memory)
    assert facts(memory, "Atlas") == {("maintainer", "Ada", False), ("revision", "41", False)}


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Heron, the vine press", "Heron"), ("Heron: label printing", "Heron"), ("Heron - the press", "Heron"), ("Heron – the press", "Heron"),
        ("sluice-api, the gate", "sluice-api"), ("Big Rig, a tractor", "Big Rig"), ("Heron", None), ("Walking home, at night", None),
        ("Heron, 4 March 2031", None), ("Runbook: the press", None), ("Team meeting, the press", None), ("vines, and more", None),
    ],
)  # fmt: skip
def test_a_title_may_say_what_its_subject_is_called(title: str, name: str | None) -> None:
    assert extract_name(title) == name


def test_facts_of_a_titled_note_are_asked_for_by_the_name_in_the_title(memory: Memory, tmp_path: Path) -> None:
    heron = "---\ntitle: Heron, the vine press\nowner: Tove Ek\n---\n# Heron\n\nHeron manages a lot, says Nils Ask.\n"
    cellar = '---\ntitle: Cellar\npart_of: "[[Heron]]"\n---\n# Cellar\n\nIt is cold.\n'
    read(memory, write(tmp_path / "notes", cellar=cellar, heron=heron))
    assert extract_notes(memory).aliases == 1
    for question in ("Who owns Heron?", "Who is the owner of Heron?", "who owns heron?"):
        found = ask(memory, question)
        assert found.answered
        assert found[0].value == "Tove Ek"
    assert ("part_of", "Heron, the vine press", True) in facts(memory, "Cellar")
    assert extract_notes(memory).aliases == 0


def test_a_name_of_two_titles_is_ambiguous_and_one_of_many_is_a_label(memory: Memory, tmp_path: Path) -> None:
    def note(title: str) -> str:
        return f"---\ntitle: {title}\nowner: Tove Ek\n---\ntext\n"

    folder = write(tmp_path / "notes", a=note("Heron, the press"), b=note("Heron, the boat"))
    read(
        memory,
        write(folder, **{f"c{i}": note(f"Vines: part {word}") for i, word in enumerate(("one", "two", "three"))}),
    )
    extract_notes(memory)
    kg = fact_view_at(memory)
    assert len(kg.resolve("Heron").entities) == 2
    assert not kg.resolve("Vines").entities
