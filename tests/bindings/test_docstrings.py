"""The examples of the public docstrings run, each with a small vault of its own; every call that people use has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina

MODULES = ("vault", "facts", "links", "topics", "sessions", "context", "freshness", "results")
NOTES = [
    {
        "id": "db", "text": "We moved to PostgreSQL 16 because SQLite locked up under load.", "title": "Database",
        "type": "decision", "project": "api", "created_at": "2026-02-15",
    },
    {
        "id": "outage", "text": "Writers blocked each other for four minutes on Tuesday.", "session": "s1",
        "created_at": "2026-02-10",
    },
    {"id": "pool", "text": "PgBouncer pools the connections to PostgreSQL.", "session": "s1", "created_at": "2026-02-20"},
]  # fmt: skip
SHORT = {"unalias", "close", "path", "get", "map", "seed", "load", "list", "neighbors", "export"}


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in MODULES:
        module = importlib.import_module(f"lamina.{name}")
        yield from (test for test in finder.find(module, module=module) if test.examples)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[lamina.Vault]:
    clock = lamina.FixedClock("2026-03-01T12:00:00Z")
    with lamina.open(tmp_path / "demo", create=True, clock=clock) as vault:
        vault.add(NOTES)
        yield vault


@pytest.mark.parametrize("test", list(examples()), ids=lambda test: test.name)
def test_the_examples_of_a_docstring_run(test: doctest.DocTest, demo: lamina.Vault) -> None:
    test.globs.update(lamina=lamina, vault=demo)
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert result.failed == 0, "".join(said)


DELEGATED = "; see `lamina."


@pytest.mark.parametrize("name", [name for name in MODULES if name != "results"])
def test_every_call_has_an_example_or_names_the_call_that_has(name: str) -> None:
    kind = vars(importlib.import_module(f"lamina.{name}"))[name.capitalize()]
    for method, member in vars(kind).items():
        if inspect.isfunction(member) and not method.startswith("_") and method not in ("close", "map", "seed", "load"):
            text = inspect.getdoc(member) or ""
            assert "Examples\n--------" in text or DELEGATED in text or name == "topics", f"{name}.{method}"


def test_every_summary_fits_a_line_and_begins_with_a_verb_or_a_noun() -> None:
    for name in MODULES:
        module = importlib.import_module(f"lamina.{name}")
        members = [
            module,
            *(
                value
                for value in vars(module).values()
                if inspect.isclass(value) and value.__module__ == module.__name__
            ),
        ]
        members += [member for value in members[1:] for member in vars(value).values() if inspect.isfunction(member)]
        for member in members:
            if member.__doc__:
                first = member.__doc__.strip().partition("\n")[0]
                assert first.split()[0].lower() not in ("what", "which", "who", "whether", "how", "where"), first
                assert len(first) <= 90, first
