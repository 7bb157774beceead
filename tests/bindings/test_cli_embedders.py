from __future__ import annotations

import pytest

from lamina.cli.embedders import chosen_embedder, chosen_name
from lamina_engine.errors import InvalidConfig

URL = "http://127.0.0.1:11434/v1"


def test_nothing_said_leaves_the_choice_to_the_vault() -> None:
    assert chosen_embedder(None, {}) is None


def test_the_option_beats_the_environment() -> None:
    environ = {"LAMINA_EMBEDDER": "none", "LAMINA_EMBEDDER_URL": URL, "LAMINA_EMBEDDER_MODEL": "m"}
    assert chosen_embedder("wordllama", environ) == "wordllama"
    assert chosen_embedder(None, environ) == "none"


@pytest.mark.parametrize(
    ("key", "ref"), [({"LAMINA_EMBEDDER_KEY": "k"}, "LAMINA_EMBEDDER_KEY"), ({}, "OPENAI_API_KEY")]
)
def test_an_endpoint_is_named_by_its_url_and_its_key_only_by_its_variable(key: dict[str, str], ref: str) -> None:
    got = chosen_embedder(None, {"LAMINA_EMBEDDER_URL": URL, "LAMINA_EMBEDDER_MODEL": "m", **key})
    assert got == {"url": URL, "model": "m", "api_key_env": ref}
    assert chosen_name(None, {"LAMINA_EMBEDDER_URL": URL}) == "custom"


def test_half_an_endpoint_says_what_is_missing() -> None:
    with pytest.raises(InvalidConfig, match=r"\$LAMINA_EMBEDDER_MODEL is not set"):
        chosen_embedder(None, {"LAMINA_EMBEDDER_URL": URL})
    with pytest.raises(InvalidConfig, match=r"\$LAMINA_EMBEDDER_URL and \$LAMINA_EMBEDDER_MODEL are not set"):
        chosen_embedder("custom", {})


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        InvalidConfig, match=r"\$LAMINA_EMBEDDER is 'bert'; give one of wordllama, minilm, none, custom"
    ):
        chosen_embedder(None, {"LAMINA_EMBEDDER": "bert"})
