from __future__ import annotations

from pathlib import Path

import pytest

from lamina_engine.config import Config, initial_text, load
from lamina_engine.errors import InvalidConfig


def test_no_file_means_defaults(tmp_path: Path) -> None:
    assert load(tmp_path) == Config()


def test_the_initial_file_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "vault.toml").write_text(initial_text('a "name"\n\\', "none", "Europe/Berlin"), encoding="utf-8")
    got = load(tmp_path)
    assert (got.name, got.embedding.model, got.tz, got.profile) == ('a "name"\n\\', "none", "Europe/Berlin", "default")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = ", "keys are"),
        ("nmae = 'x'", "nmae"),
        ("tz = 'Mars/Base'", "Mars/Base"),
        ("tz = 3", "tz"),
        ("[embedding]\nmodel = 'gpt'", "gpt"),
        ("[embedding]\nurl = 'http://x'", "url"),
        ("[profiles]\nx = 3", "profiles"),
    ],
)
def test_what_cannot_be_used_is_refused_and_names_the_file(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "vault.toml").write_text(text)
    with pytest.raises(InvalidConfig, match=says) as error:
        load(tmp_path)
    assert "vault.toml" in str(error.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "vault.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(InvalidConfig):
        load(tmp_path)


@pytest.mark.parametrize(
    "line", ['url = "http://127.0.0.1:1/v1"', 'api_key = "x"', 'endpoint = "http://x"', 'model = "http://x/v1"']
)
def test_a_vault_cannot_name_an_endpoint_or_a_key(tmp_path: Path, line: str) -> None:
    (tmp_path / "vault.toml").write_text(f"[embedding]\n{line}\n")
    with pytest.raises(InvalidConfig, match=r"vault\.toml"):
        load(tmp_path)
