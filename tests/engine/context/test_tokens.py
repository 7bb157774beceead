from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from lamina_engine.context import tokens
from lamina_engine.recall.pack import count_tokens


def test_without_a_table_on_disk_nothing_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert tokens.counter().name == "estimate"
    assert tokens.counter().count("four letters") == count_tokens("four letters")


def test_a_cached_table_is_used_and_markers_are_plain_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4").write_bytes(b"")  # where tiktoken looks for cl100k_base
    calls = []

    class Encoding:
        def encode(self, text: str, *, disallowed_special: object) -> list[int]:
            calls.append(disallowed_special)
            return [0] * len(text.split())

    fake = types.SimpleNamespace(get_encoding=lambda name: Encoding())
    monkeypatch.setitem(sys.modules, "tiktoken", fake)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    counter = tokens.counter()
    assert (counter.name, counter.count("a <|endoftext|> b")) == ("cl100k_base", 3)
    assert calls == [()]


def test_a_table_without_the_package_is_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert tokens.counter().name == "estimate"


def test_an_estimate_counts_marker_text_as_text() -> None:
    assert count_tokens("<|endoftext|>") == 4
