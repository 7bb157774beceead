from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lamina import FixedClock
from lamina_engine.memory import Memory


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Memory]:
    """An empty vault that is searched by words alone."""
    opened = Memory(tmp_path / "vault", create=True, clock=clock, embedder="none")
    yield opened
    opened.close()
