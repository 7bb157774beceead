"""An add is read in few files: those that one small add enters, in a warm process."""

from __future__ import annotations

from pathlib import Path

import lamina
from lamina import FixedClock
from lamina_engine.redact.search import load_kernel
from tests.conftest import NOW
from tests.engine.recall.test_files import files_of

MOST = 40
"""With the kernels of the search for secrets, which a large ingest anywhere in the process loads."""


def test_an_add_enters_few_files(tmp_path: Path) -> None:
    load_kernel().join()
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.add("warm one about the database backup")
        vault.add([{"text": f"note number {i} about the database, topic {i % 17}, deploy"} for i in range(300)])
        vault.recall("which database")
        found = files_of(lambda: vault.add("We moved to PostgreSQL 16: SQLite has one writer.", type="decision"))
    assert len(found) <= MOST, sorted(found)
