from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lamina import FixedClock
from lamina_engine.memory import Memory
from tests.engine.topics.vaults import Given


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Memory]:
    """An empty vault whose vectors the test gives."""
    opened = Memory(tmp_path / "vault", create=True, clock=clock, embedder=Given())
    yield opened
    opened.close()
