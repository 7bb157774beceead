"""What the documents say is run: every Python example, every command line, every name."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import click
import pytest

import lamina
from lamina.cli.app import COMMANDS, program
from lamina.cli.evaluation import EvalCommand

ROOT = Path(__file__).parents[1]
PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
DOCUMENTS = ("README.md", "kernels/README.md", "engine/README.md", "CONTRIBUTING.md", "SECURITY.md", *PAGES)
TEXTS = {path: (ROOT / path).read_text(encoding="utf-8") for path in DOCUMENTS}
REFERENCE = TEXTS["docs/reference/python.md"]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    """A Python block of a document, and what the document says that it prints."""

    document: str
    number: int
    code: str
    output: str | None


def examples() -> list[Example]:
    found: list[Example] = []
    for document in DOCUMENTS:
        blocks = list(_BLOCK.finditer(TEXTS[document]))
        for block, after in zip(blocks, [*blocks[1:], None], strict=False):
            if block[1] != "python" or "import " not in block[2]:  # a fragment, shown and not run
                continue
            follows = (
                after is not None and after[1] == "text" and not TEXTS[document][block.end() : after.start()].strip()
            )
            found.append(Example(document, len(found), block[2], after[2] if after is not None and follows else None))
    return found


def command_lines() -> list[str]:
    blocks = [block for text in TEXTS.values() for block in _BLOCK.finditer(text) if block[1] in ("sh", "console")]
    lines = dict.fromkeys(line for block in blocks for line in block[2].splitlines())
    parts = [part.strip() for line in lines for part in re.split(r"&&|\|", line.removeprefix("$ "))]
    return [part for part in parts if part.startswith("lamina ")]


@pytest.mark.parametrize("example", examples(), ids=lambda e: f"{e.document}-{e.number}")
def test_an_example_prints_what_the_document_says(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "postgres.md").write_text("# Why PostgreSQL\n\nSQLite could not take two writers.\n")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(example.code, f"{example.document} example {example.number}", "exec"), {"__name__": "example"})
        except lamina.MissingExtra as error:
            pytest.skip(f"{error}; .ci/run runs it beside its framework")
    got = printed.getvalue().splitlines()
    if example.output is not None:
        assert got == example.output.splitlines()
    for line in example.code.splitlines():
        said = re.fullmatch(r"print\(.*\)  # .*?(\[.*\])", line)
        assert said is None or said[1] in got


def test_the_first_example_is_short_and_shows_its_output() -> None:
    first = examples()[0]
    assert first.document == "README.md"
    assert first.output
    assert len(first.code.splitlines()) <= 12


@pytest.mark.parametrize("line", command_lines())
def test_a_command_line_has_a_command_and_options_that_exist(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    group = program()
    with click.Context(group) as context:
        command = group.get_command(context, words[0])
        if isinstance(command, click.Group):
            words = words[1:]
            command = command.get_command(context, words[0])
        if isinstance(command, EvalCommand):
            command = command.command_for(words[1:])
            words = [word for word in words if word != command.name]
    assert command is not None, f"no command {words[0]!r}"
    known = {option for parameter in command.params for option in parameter.opts} | {"--help", "-h"}
    assert {word.partition("=")[0] for word in words[1:] if word.startswith("-") and word != "-"} <= known


def test_every_command_is_shown_in_use() -> None:
    assert {line.split()[1] for line in command_lines()} >= set(COMMANDS)


def test_the_reference_is_what_docstrings_and_help_say() -> None:
    """Made again by ``python docs/build.py``."""
    made = subprocess.run(
        [sys.executable, "docs/build.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr


def test_the_readme_is_short() -> None:
    assert len(TEXTS["README.md"].splitlines()) <= 170


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(name: str) -> None:
    group = program()
    with click.Context(group, info_name="lamina") as outer:
        command = group.get_command(outer, name)
        assert command is not None
        with click.Context(command, parent=outer, info_name=name) as context:
            text = command.get_help(context)
    assert "Example" in text
    assert f"lamina {name}" in text.partition("Example")[2]
    undocumented = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
    assert undocumented == []


@pytest.mark.parametrize("name", sorted(lamina.__all__))
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert re.search(rf"^###? {name}$", REFERENCE, re.MULTILINE), f"the Python reference does not have {name}"


@pytest.mark.parametrize("name", [n for n in dir(lamina.Vault) if not n.startswith("_")])
def test_every_method_of_a_vault_is_in_the_reference(name: str) -> None:
    assert re.search(rf"^##+ vault\.{name}\b", REFERENCE, re.MULTILINE), f"the reference does not have vault.{name}"


def test_every_test_that_the_architecture_names_exists() -> None:
    text = (ROOT / "engine" / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert named
    missing = []
    for path, function in named:
        file = ROOT / path
        if not file.is_file() or (function and f"def {function}(" not in file.read_text(encoding="utf-8")):
            missing.append(f"{path}::{function}")
    assert missing == []


def test_every_decision_is_a_page_of_its_kind() -> None:
    records = sorted((ROOT / "engine" / "decisions").glob("*.md"))
    assert [int(record.name[:4]) for record in records] == list(range(1, len(records) + 1))
    for record in records:
        text = record.read_text(encoding="utf-8")
        assert text.startswith(f"# {record.name[:4]} ")
        assert [h for h in ("## Question", "## Choice", "## What would change it") if h not in text] == []


@pytest.mark.parametrize("path", [*DOCUMENTS, "CHANGELOG.md"])
def test_every_relative_link_leads_somewhere(path: str) -> None:
    text = re.sub(r"(?ms)^```xml$.*?^```$", "", (ROOT / path).read_text(encoding="utf-8"))  # what was printed
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    assert [t for t in targets if t and not ((ROOT / path).parent / t).exists()] == []
