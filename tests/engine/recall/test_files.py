"""A recall is read in few files: those that one default recall enters, in a warm process."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import lamina
from lamina import FixedClock
from tests.conftest import NOW

ROOT = Path(lamina.__file__).parents[2]
MOST = 42


def files_of(work: Any) -> set[str]:
    """Return the product's files that a call enters, on any thread."""
    found = set[str]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(ROOT)) and "/lamina" in path:
            found.add(str(Path(path).relative_to(ROOT)))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def test_a_recall_enters_few_files(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.add([{"text": f"note number {i} about the database, topic {i % 17}, deploy"} for i in range(300)])
        for query in ("which database", "deploy topic 3", "a note of MySQL"):
            vault.recall(query)
        found = files_of(lambda: vault.recall("why did we deploy the database", k=5))
        unknown = files_of(lambda: vault.recall("why did we leave SQLite", k=5))
    assert len(found) <= MOST, sorted(found)
    assert len(unknown) <= MOST + 3, sorted(unknown)  # words that no row holds are looked up in the dictionary
