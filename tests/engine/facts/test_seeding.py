from __future__ import annotations

from pathlib import Path

import pytest

from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.facts.seeding import seed
from lamina_engine.facts.view import fact_view_at
from lamina_engine.memory import Memory

TOML = """
source = "team.toml"

[predicates.deploys_to]
functional = true
inverse = "deployed from"

[[entities]]
name = "Keystone"
type = "project"
aliases = ["KS", "the keystone"]
facts = { stack = "Rust", port = 3055, maintainer = ["Ann", "Bob"] }

[[entities]]
name = "Ann"
type = "person"

[aliases]
Mum = "Ada Example"
Mama = "Mum"
Boss = ["Ann", "Ada Example"]

[[facts]]
subject = "KS"
predicate = "status"
object = "beta"
valid_from = 2026-02-01

[[relations]]
subject = "Ann"
predicate = "owns"
object = "Keystone"
weight = 0.5
source = "USER.md"

[[relations]]
subject = "Keystone"
predicate = "deploys to"
object = "Rack 4"
"""
YAML = """
entities:
  - {name: Keystone, type: project, aliases: [KS], facts: {phone: ["1", "2"], since: 2026-02-01}}
facts:
  - {subject: Keystone, predicate: port, object: 4100}
"""


def test_a_seed_file_twice_is_a_seed_file_once(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "world.toml"
    path.write_text(TOML)
    first = seed(memory, path)
    assert (first.facts, first.relations, first.unchanged) == (7, 2, 0)  # owns; a maintainer who is known
    assert first.aliases == 6
    again = seed(memory, path)
    assert (again.facts, again.unchanged, again.entities, again.aliases) == (0, 7, 0, 0)
    kg = fact_view_at(memory)
    keystone = kg.resolve("the keystone").entity
    assert keystone is not None
    assert keystone.type == "project"
    told = {
        (fact.key, fact.value, fact.source, fact.weight)
        for fact in kg.about(keystone.row, valid_at=memory.clock.now_us())
    }
    assert told == {
        ("stack", "Rust", "team.toml", 1.0), ("port", "3055", "team.toml", 1.0), ("maintainer", "Ann", "team.toml", 1.0),
        ("maintainer", "Bob", "team.toml", 1.0), ("status", "beta", "team.toml", 1.0), ("owned_by", "Ann", "USER.md", 0.5),
        ("deploys_to", "Rack 4", "team.toml", 1.0),
    }  # fmt: skip
    ada = kg.resolve("Mama").entity
    assert ada is not None
    assert ada.name == "Ada Example"
    assert kg.resolve("Mum").entity == ada
    assert kg.resolve("Boss").ambiguous


def test_yaml_says_the_same(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "world.yaml"
    path.write_text(YAML)
    assert seed(memory, path).facts == 4
    kg = fact_view_at(memory)
    keystone = kg.resolve("KS").entity
    assert keystone is not None
    assert [(fact.key, fact.value) for fact in kg.about(keystone.row, valid_at=None)] == [
        ("phone", "1"), ("phone", "2"), ("port", "4100"), ("since", "2026-02-01"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[aliases]\na = 'b'\nb = 'a'\n", "circle"),
        ("[aliases]\na = 'A'\n", "itself"),
        ("[[facts]]\nsubject = 'a'\npredicate = 'b'\n", "no object"),
        ("[[facts]]\nsubject = 'a'\npredicate = 'b'\nobject = 'c'\ncolour = 'red'\n", "colour"),
        ("[[facts]]\nsubject = 'a'\npredicate = 'b'\nobject = 'c'\nvalid_from = 'soon'\n", "soon"),
        (
            "[[facts]]\nsubject = 'a'\npredicate = 'b'\nobject = 'c'\nvalid_from = 2026-02-01\nvalid_to = 2026-01-01\n",
            "valid_to",
        ),
        ("[[entities]]\nname = ''\n", "names nothing"),
        ("[[entities]]\nname = 'a'\naliases = 'b'\n", "must be a list"),
        ("[predicates.x]\nobject = 'thing'\n", "must be one of"),
        ("things = 1\n", "things"),
        ("entities = 1\n", "list of tables"),
        ("a = [", "not valid TOML"),
    ],
)
def test_what_is_no_seed_file_is_refused_and_nothing_written(
    memory: Memory, tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(InvalidArgument, match=told):
        seed(memory, path)
    assert fact_view_at(memory).fact_rows == 0


def test_files_that_cannot_be_read(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(IngestError):
        seed(memory, tmp_path / "nowhere.toml")
    bad = tmp_path / "bad.yaml"
    bad.write_text("a: [")
    with pytest.raises(InvalidArgument, match="not valid YAML"):
        seed(memory, bad)
    bad.write_text("- 1")
    with pytest.raises(InvalidArgument, match="list"):
        seed(memory, bad)


def test_strict_refuses_open_vocabulary(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "world.toml"
    path.write_text("[[facts]]\nsubject = 'a'\npredicate = 'frobs'\nobject = 'c'\n")
    with pytest.raises(InvalidArgument, match="frobs"):
        seed(memory, path, strict=True)
