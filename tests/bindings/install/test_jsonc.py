"""Edits of JSON with comments: the text says what was meant, and no other byte has changed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.install import jsonc, toml
from lamina_engine.errors import InvalidConfig
from tests.bindings.install.settings import BROKEN, CLAUDE, SERVERS

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)


@given(OBJECTS, st.text(max_size=3), VALUES, st.sampled_from([None, 2, "\t"]))
def test_what_is_added_is_there_and_what_is_removed_is_not(
    document: dict[str, Any], key: str, value: Any, indent: int | str | None
) -> None:
    text = json.dumps(document, indent=indent)
    changed = jsonc.add(text, (key, "inner"), value) if key not in document else text
    if key in document:
        return
    assert jsonc.read(changed) == {**document, key: {"inner": value}}
    assert jsonc.read(jsonc.remove(changed, (key,))) == document


@given(OBJECTS, st.sampled_from([None, 2]))
def test_every_member_can_go(document: dict[str, Any], indent: int | None) -> None:
    text = json.dumps(document, indent=indent)
    for key in document:
        assert jsonc.read(jsonc.remove(text, (key,))) == {
            name: value for name, value in document.items() if name != key
        }


@pytest.mark.parametrize("text", [*CLAUDE, *SERVERS])
def test_comments_and_other_bytes_stay(text: str) -> None:
    changed = jsonc.add(text, ("ours",), {"a": [1]})
    assert jsonc.read(changed) == {**jsonc.read(text), "ours": {"a": [1]}}
    at = 0
    for letter in text.strip():  # the old text, in order, is what is left of the new one
        found = changed.find(letter, at)
        assert found >= 0
        at = found + 1
    assert ("\r\n" in text) == ("\r\n" in changed)
    assert "\r" not in changed.replace("\r\n", "")
    if "\r\n" in text:
        assert "\n" not in changed.replace("\r\n", "")


@pytest.mark.parametrize("text", [text for text in BROKEN if "hooks" not in text and text != "[1, 2]"])
def test_mistakes_are_named_with_their_line(text: str) -> None:
    with pytest.raises(InvalidConfig, match=r"^line \d+: "):
        jsonc.read(text)


def test_the_deepest_and_the_odd() -> None:
    with pytest.raises(InvalidConfig, match="less deep"):
        jsonc.read("[" * 200)
    assert jsonc.read('\ufeff/* a */ {"a": "// b", // c\n "d": [1, 2,],} // e') == {"a": "// b", "d": [1, 2]}
    with pytest.raises(InvalidConfig, match="no object"):
        jsonc.add('{"hooks": 1}', ("hooks", "Stop"), 1)


def test_a_table_of_toml_comes_and_goes() -> None:
    text = "a = 1\n\n[other]\nb = 2\n"
    changed = toml.add(text, ("mcp_servers", "lamina"), {"command": "/x y/lamina", "args": ["mcp"]})
    assert toml.read(changed)["mcp_servers"] == {"lamina": {"command": "/x y/lamina", "args": ["mcp"]}}
    assert toml.remove(changed, ("mcp_servers", "lamina")) == text
    later = changed + "\n# about c\n[c]\nd = 1\n"
    assert toml.remove(later, ("mcp_servers", "lamina")) == text + "\n# about c\n[c]\nd = 1\n"
    with pytest.raises(InvalidConfig):
        toml.remove("mcp_servers = {lamina = {}}", ("mcp_servers", "lamina"))
