"""Records whose id is known: a new version, nothing, an error, or an overwritten chunk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina
from lamina import ChunkExists, FixedClock, InvalidArgument
from tests.conftest import NOW


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[lamina.Vault]:
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as opened:
        opened.add([{"text": "old", "id": "a"}, {"text": "other", "id": "b"}])
        yield opened


def _texts(vault: lamina.Vault) -> dict[str, str]:
    return {chunk.id: chunk.text for chunk in vault.list()}


def test_a_new_version_is_the_default(vault: lamina.Vault) -> None:
    vault.add([{"text": "new", "id": "a"}, {"text": "more", "id": "c"}])
    assert _texts(vault) == {"a": "new", "b": "other", "c": "more"}


def test_skipped_records_change_nothing(vault: lamina.Vault) -> None:
    assert vault.add(
        [{"text": "new", "id": "a"}, {"text": "x", "id": "c"}, {"text": "y", "id": "c"}], on_conflict="skip"
    )
    assert _texts(vault) == {"a": "old", "b": "other", "c": "x"}


@pytest.mark.parametrize("twice", ["a", "c"])
def test_an_error_writes_nothing(vault: lamina.Vault, twice: str) -> None:
    with pytest.raises(ChunkExists, match=f"record 1 has the id '{twice}'"):
        vault.add([{"text": "more", "id": "c"}, {"text": "new", "id": twice}], on_conflict="error")
    assert _texts(vault) == {"a": "old", "b": "other"}


@pytest.mark.parametrize("text", ["old", "new"])
def test_an_overwritten_chunk_is_current_whatever_it_was(vault: lamina.Vault, text: str) -> None:
    vault.invalidate("a", "wrong")
    assert vault.add({"text": "old", "id": "a"}) == ["a"]
    assert vault.get("a").status == "invalidated", "a version that repeats what was wrong stays wrong"
    vault.add({"text": text, "id": "a"}, on_conflict="overwrite")
    assert (vault.get("a").status, vault.get("a").text) == ("active", text)


def test_forgotten_ids_are_free(vault: lamina.Vault) -> None:
    vault.forget(["a"], dry_run=False)
    vault.add({"text": "anew", "id": "a"}, on_conflict="error")
    assert _texts(vault)["a"] == "anew"


def test_an_unknown_treatment_is_refused(vault: lamina.Vault) -> None:
    with pytest.raises(InvalidArgument, match="version, skip, error, overwrite"):
        vault.add("x", on_conflict="replace")  # type: ignore[arg-type]
