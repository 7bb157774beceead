"""Tables that unpack to far more than they are (findings, attack 7): a stated problem, under 512 MiB."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute  # its library is mapped before address space is bounded
import pyarrow.parquet as pq
import pytest

import lamina
from tests.fuzz.sandbox import Outcome, Wrong, run_cases

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded and measured in a forked child")


def write_bomb(path: Path, rows: int, text: str, *, dictionary: bool) -> None:
    child = os.fork()  # whose memory goes with it
    if not child:
        try:
            table = pa.table({"text": pa.array([text] * rows)})
            pq.write_table(table, path, compression="zstd", use_dictionary=dictionary)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def run(act: object, case: object) -> Outcome:
    (outcome,) = run_cases(act, [case])  # type: ignore[arg-type]
    return outcome


@pytest.mark.parametrize(
    ("rows", "text", "dictionary", "told"),
    [
        (600, "A" * 1_000_000, False, "unpacks to more than"),
        (400, "kafka " * 800_000, True, "a row has at most"),
        (900_000, "a" * 200, False, "unpacks to more than"),
    ],
    ids=["one page", "one long text", "many rows"],
)
def test_a_table_that_unpacks_to_gigabytes(tmp_path: Path, rows: int, text: str, dictionary: bool, told: str) -> None:
    path = tmp_path / "bomb.parquet"
    write_bomb(path, rows, text, dictionary=dictionary)
    assert path.stat().st_size < 1_000_000

    def read(_: object) -> dict[str, str]:
        with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
            report = vault.ingest(path)
            if report.added or not any(told in problem.message for problem in report.problems):
                raise Wrong(str(report.problems))
        return {}

    assert run(read, None).kind == "ok"


def test_a_word_of_a_million_letters_takes_no_hundreds_of_bytes_a_letter(tmp_path: Path) -> None:
    def add(size: int) -> dict[str, str]:
        with lamina.open(tmp_path / f"v{size}", create=True) as vault:
            vault.add("A" * size)
        return {}

    assert run(add, 3_000_000).kind == "ok"
