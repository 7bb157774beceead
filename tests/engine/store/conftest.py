"""Long forms run only when asked for (``pytest -m slow``); vaults copied by the hundred lie in memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "slow" in str(config.getoption("-m")):
        return
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="long form; run with -m slow"))


_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="module")
def quick_folder() -> Iterator[Path]:
    """A folder in memory where the system has one: tests that never really cut the power need no disk."""
    in_memory = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)
    with tempfile.TemporaryDirectory(prefix="lamina-test-", dir=_MEMORY if in_memory else None) as name:
        yield Path(name)


@pytest.fixture
def quick_path(quick_folder: Path) -> Path:
    """A folder of a test's own in memory."""
    return Path(tempfile.mkdtemp(dir=quick_folder))
