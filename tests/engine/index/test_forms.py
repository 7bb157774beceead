from __future__ import annotations

import pytest

from lamina_engine.index.forms import Forms, ascii_forms


@pytest.mark.parametrize(
    ("word", "ref"),
    [
        ("foo_bar", (["foo", "bar", "foobar"], ["foo", "bar", "foo_bar"])),
        ("fooBar", (["foo", "bar", "foobar"], ["foo", "bar", "foobar"])),
        ("os.path.join", (["os", "path", "join", "ospathjoin"], ["os", "path", "join", "os.path.join"])),
        ("a.b.c.d.e", ([*"abcde"], [*"abcde"])),
        ("v1.2.3", (["1.2.3", "1", "2", "3"],) * 2),
        ("550e8400f00d", (["550e8400f00d"],) * 2),
        ("IDs", (["ids"],) * 2),
        ("word's", (["word"],) * 2),
        ("C++", (["c", "c++"],) * 2),
    ],
)
def test_forms_of_words(word: str, ref: Forms) -> None:
    assert ascii_forms(word) == ref
