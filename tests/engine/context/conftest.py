"""Tokens are counted alike on every machine, whether or not tiktoken's table lies on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lamina_engine.context import budget


@pytest.fixture(autouse=True)
def estimated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    budget.find_counter.cache_clear()
    yield
    budget.find_counter.cache_clear()
