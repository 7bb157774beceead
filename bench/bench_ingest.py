"""A vault of real notes: the first ingest, by files and by bytes, the second, and questions asked of it in words."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import markdown_it
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import lamina
from bench.timing import describe, over, repeat

GROUP, BYTES = "Ingesting real notes", "Bytes of real notes"


@pytest.fixture(scope="module")
def notes(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checked-out notes."""
    bundle = data / "notes-vault" / "til.bundle"
    if not bundle.exists():
        pytest.skip("no notes beside the project")
    folder = tmp_path_factory.mktemp("notes") / "til"
    subprocess.run(["git", "clone", "--quiet", str(bundle), str(folder)], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def filled(notes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[lamina.Vault]:
    with lamina.open(tmp_path_factory.mktemp("filled") / "vault", create=True) as vault:
        vault.ingest(notes)
        yield vault


def bench_first(benchmark: BenchmarkFixture, notes: Path, tmp_path: Path) -> None:
    numbers = count()

    def ingest() -> None:
        with lamina.open(tmp_path / str(next(numbers)), create=True) as vault:
            assert vault.ingest(notes).added

    repeat(benchmark, ingest, rounds=3, warm=1)
    _describe(benchmark, notes, "Lamina, first run", "chunked, redacted, embedded, indexed, durable")


def bench_second(benchmark: BenchmarkFixture, notes: Path, filled: lamina.Vault) -> None:
    report = repeat(benchmark, lambda: filled.ingest(notes), rounds=5)
    assert not report.added
    assert report.unchanged
    _describe(benchmark, notes, "Lamina, second run", "nothing changed")


def bench_first_unembedded(benchmark: BenchmarkFixture, notes: Path, tmp_path: Path) -> None:
    """Bytes of Markdown a second in one process, without a model: read, redacted, cut, linked, indexed, durable."""
    numbers = count()

    def ingest() -> None:
        with lamina.open(tmp_path / str(next(numbers)), create=True, embedder="none") as vault:
            assert vault.ingest(notes).added

    repeat(benchmark, ingest, rounds=3, warm=1)
    _describe_bytes(benchmark, notes, "Lamina, first run", "redacted, cut, linked, indexed, durable; nothing embedded")


def bench_parse_markdown_it(benchmark: BenchmarkFixture, notes: Path) -> None:
    """Tokens of the same bytes by a parser of CommonMark in Python: nothing redacted, cut, linked or kept."""
    texts = [path.read_text(encoding="utf-8") for path in _markdown(notes)]
    parser = markdown_it.MarkdownIt()
    repeat(benchmark, lambda: [parser.parse(text) for text in texts], rounds=3, warm=1)
    _describe_bytes(benchmark, notes, "markdown-it-py: parsed", "tokens alone, of texts in memory")


def bench_floor(benchmark: BenchmarkFixture, notes: Path) -> None:
    """The least that a first run must do: read every file and hash it."""
    paths = _markdown(notes)
    repeat(benchmark, lambda: [hashlib.blake2b(path.read_bytes()).digest() for path in paths], rounds=20)
    _describe(benchmark, notes, "floor: files read and hashed", "no chunks, no index")


def bench_floor_bytes(benchmark: BenchmarkFixture, notes: Path) -> None:
    """The same floor, in bytes."""
    paths = _markdown(notes)
    repeat(benchmark, lambda: [hashlib.blake2b(path.read_bytes()).digest() for path in paths], rounds=20)
    _describe_bytes(benchmark, notes, "floor: files read and hashed", "no chunks, no index")


def bench_ask(benchmark: BenchmarkFixture, notes: Path, filled: lamina.Vault) -> None:
    headings = [re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE) for path in _markdown(notes)]
    questions = [heading[1] for heading in headings if heading][:200]
    assert filled.recall(questions[0], k=1)[0].title
    over(
        benchmark, lambda question: filled.recall(question), questions, group="Recall of real notes from text",
        system="Lamina", settings="profile default, question embedded", unit="ms",
    )  # fmt: skip


def _markdown(notes: Path) -> list[Path]:
    return sorted(notes.rglob("*.md"))


def _describe(benchmark: BenchmarkFixture, notes: Path, system: str, settings: str) -> None:
    describe(
        benchmark,
        group=GROUP,
        system=system,
        kind="rate",
        settings=settings,
        amount=len(_markdown(notes)),
        unit="files/s",
    )


def _describe_bytes(benchmark: BenchmarkFixture, notes: Path, system: str, settings: str) -> None:
    megabytes = sum(path.stat().st_size for path in _markdown(notes)) / 1e6
    describe(benchmark, group=BYTES, system=system, kind="rate", settings=settings, amount=megabytes, unit="MB/s")
