""""""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import lamina
from lamina.facts import Facts


@pytest.mark.parametrize("kind", [lamina.Vault, lamina.AsyncVault, Facts, lamina.HDBSCAN])
def test_no_parameter_is_typed_by_a_library_without_types(kind: type) -> None:
    # `vault.add` was "partially unknown" to pyright in strict mode, as pyarrow has no types
    named = {
        f"{name}({parameter})"
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        for parameter, hint in method.__annotations__.items()
        if parameter != "return" and not name.startswith("_") and "pa." in str(hint)
    }
    assert named == set()


def test_tables_of_other_libraries_are_added(tmp_path: Path) -> None:
    frame = pytest.importorskip("polars").DataFrame({"text": ["A frame of polars."], "project": ["frames"]})
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        assert vault.get(vault.add(frame)[0]).project == "frames"
        vault.facts.add_many(frame.select(subject="text", predicate="project", object="project"))
        assert vault.facts.about("A frame of polars.")[0].value == "frames"


def test_what_a_call_takes_its_types_take() -> None:
    # generators and sets of ids ran, and were errors to a type checker
    assert "Iterator[str | Mapping[str, object]]" in lamina.Vault.add.__annotations__["records"]
    for call in (lamina.Vault.get_many, lamina.Vault.vectors, lamina.AsyncVault.get_many):
        assert call.__annotations__["ids"] == "Iterable[str]"
