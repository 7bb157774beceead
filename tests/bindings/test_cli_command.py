"""Shared options of commands: embedders and filters."""

from __future__ import annotations

import pytest

from lamina.cli.command import embedder_choice, embedder_name, merged_where
from lamina_engine.errors import InvalidConfig

URL = "http://127.0.0.1:11434/v1"


def test_nothing_said_leaves_the_choice_to_the_vault() -> None:
    assert embedder_choice(None, {}) is None


def test_the_option_beats_the_environment() -> None:
    environ = {"LAMINA_EMBEDDER": "none", "LAMINA_EMBEDDER_URL": URL, "LAMINA_EMBEDDER_MODEL": "m"}
    assert embedder_choice("wordllama", environ) == "wordllama"
    assert embedder_choice(None, environ) == "none"


@pytest.mark.parametrize(
    ("key", "ref"), [({"LAMINA_EMBEDDER_KEY": "k"}, "LAMINA_EMBEDDER_KEY"), ({}, "OPENAI_API_KEY")]
)
def test_an_endpoint_is_named_by_its_url_and_its_key_only_by_its_variable(key: dict[str, str], ref: str) -> None:
    got = embedder_choice(None, {"LAMINA_EMBEDDER_URL": URL, "LAMINA_EMBEDDER_MODEL": "m", **key})
    assert got == {"url": URL, "model": "m", "api_key_env": ref}
    assert embedder_name(None, {"LAMINA_EMBEDDER_URL": URL}) == "custom"


def test_half_an_endpoint_says_what_is_missing() -> None:
    with pytest.raises(InvalidConfig, match=r"\$LAMINA_EMBEDDER_MODEL is not set"):
        embedder_choice(None, {"LAMINA_EMBEDDER_URL": URL})
    with pytest.raises(InvalidConfig, match=r"\$LAMINA_EMBEDDER_URL and \$LAMINA_EMBEDDER_MODEL are not set"):
        embedder_choice("custom", {})


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        InvalidConfig, match=r"\$LAMINA_EMBEDDER is 'bert'; give one of wordllama, minilm, none, custom"
    ):
        embedder_choice(None, {"LAMINA_EMBEDDER": "bert"})


def test_nothing_is_no_filter() -> None:
    assert merged_where(None, project=(), type=()) is None


def test_one_filter_is_that_filter() -> None:
    assert merged_where({"tags": {"contains": "db"}}) == {"tags": {"contains": "db"}}
    assert merged_where(None, project=("api",)) == {"project": "api"}


def test_several_are_all_wanted_and_values_of_one_field_are_alternatives() -> None:
    ref = {"AND": [{"OR": [{"a": 1}, {"b": 2}]}, {"project": "api"}, {"type": {"in": ["decision", "note"]}}]}
    assert merged_where({"OR": [{"a": 1}, {"b": 2}]}, project=("api",), type=("decision", "note")) == ref
