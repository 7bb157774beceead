"""One cache folder for all embedder tests, so that none reads or writes the user's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lamina_engine.embed.weights import CACHE_VARIABLE


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(folder))
        yield folder
