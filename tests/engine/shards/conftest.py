from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.shards.corpus import make
from tests.engine.store.conftest import folder_machines, machines, s3, s3_machines, seaweed

__all__ = ["folder_machines", "machines", "s3", "s3_machines", "seaweed"]


@pytest.fixture(scope="session")
def corpus_vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vault of everything, made once; to be copied, not to be opened."""
    place = tmp_path_factory.mktemp("corpus") / "vault"
    make(place)
    return place
