"""Wrong arguments of `lamina.open`: refused at once, with what is allowed, and no vault made."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import lamina


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"settings": [1]}, r"settings=\[1\] is a list; give a mapping"),
        ({"clock": "now"}, r"clock='now' must be one like lamina.FixedClock"),
        ({"clock": lamina.FixedClock}, "clock=.* must be one like"),
        ({"redactor": "skip"}, r"redactor='skip' must be one like lamina.Redactor\(action\)"),
        ({"lock_timeout_s": "a"}, "lock_timeout_s='a' must be a number of seconds"),
        ({"lock_timeout_s": math.nan}, "lock_timeout_s=nan must be"),
        ({"lock_timeout_s": -1}, "lock_timeout_s=-1 must be"),
        ({"lock_timeout_s": True}, "lock_timeout_s=True must be"),
        ({"embedder": "minilmm"}, "embedder='minilmm' is not known; give one of default, wordllama"),
        ({"embedder": 5}, "embedder is an int; give one of"),
        ({"embedder": "http://localhost:1/v1"}, "an endpoint needs its model too"),
        ({"mode": "x"}, "mode='x' must be 'r'"),
    ],
)
def test_a_wrong_argument_is_refused_before_a_vault_is_made(tmp_path: Path, given: dict[str, Any], told: str) -> None:
    with pytest.raises(lamina.InvalidArgument, match=told):
        lamina.open(tmp_path / "vault", create=True, **given)
    assert not (tmp_path / "vault").exists()


@pytest.mark.parametrize("path", [5, "a\0b", b"vault", ["vault"]])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(lamina.InvalidArgument, match="path"):
        lamina.open(path, create=True)


def test_a_path_with_nul_is_refused_by_an_export(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "vault", create=True) as vault, pytest.raises(lamina.InvalidArgument, match="NUL"):
        vault.export("a\0b.jsonl")


def lengths(texts: list[str]) -> list[list[float]]:
    """A model of one dimension."""
    return [[float(len(text))] for text in texts]


@pytest.mark.parametrize("embedder", [None, "default", "wordllama-256", "wordllama-64", "none", lengths])
def test_embedders_that_there_are_open_a_vault(tmp_path: Path, embedder: Any) -> None:
    with lamina.open(tmp_path / "vault", create=True, embedder=embedder, lock_timeout_s=0) as vault:
        assert vault.add("a note")
