from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.ingest.frontmatter import MAX_CHARS, MAX_PROBLEMS, Json, read_frontmatter

FAST = settings(max_examples=40, deadline=None)
PRINTABLE = st.text(st.characters(exclude_categories=["C"]), max_size=20)


def fields(block: str) -> dict[str, Json]:
    return read_frontmatter(f"---\n{block}\n---\nbody\n").fields


def test_fields_and_body() -> None:
    text = "---\ntitle: A\ntags: [x, y]\nn: 3\nf: 1.5\nb: true\nnested:\n  k: [1, {z: null}]\n---\n# body\n"
    got = read_frontmatter(text)
    assert got.fields == {
        "title": "A",
        "tags": ["x", "y"],
        "n": 3,
        "f": 1.5,
        "b": True,
        "nested": {"k": [1, {"z": None}]},
    }
    assert text[got.body :] == "# body\n"
    assert got.problems == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "---",
        "---\n",
        "---\ntitle: never closed\n",
        "\n---\na: b\n---\n",
        "--- \nSome prose.\n\n---\nmore",
        "----\na: b\n---\n",
        "---\n- a\n- b\n---\n",
        "---\nkey: " + "x" * MAX_CHARS + "\n---\n",
    ],
)
def test_what_is_no_frontmatter_stays_in_the_text(text: str) -> None:
    got = read_frontmatter(text)
    assert (got.fields, got.body, got.problems) == ({}, 0, ())


@pytest.mark.parametrize("block", ["", "\n", "# only a comment\n"])
def test_empty_blocks_are_taken_out(block: str) -> None:
    text = f"---\n{block}---\nbody"
    got = read_frontmatter(text)
    assert (got.fields, text[got.body :], got.problems) == ({}, "body", ())


def test_dots_close_too_and_the_end_of_the_text() -> None:
    assert read_frontmatter("---\na: b\n...\nx").body == 13
    assert read_frontmatter("---\na: b\n---").body == 12


@pytest.mark.parametrize(
    ("block", "key", "value"),
    [
        ("title: a: b", "title", "a: b"),
        ("title: [draft", "title", ["draft"]),
        ("tags: [a, 'b', c", "tags", ["a", "b", "c"]),
        ("title: {{title}}", "title", "{{title}}"),
        ("title: @home", "title", "@home"),
        ("title: !!python/object:os.system x", "title", "!!python/object:os.system x"),
        ("title: *nothing", "title", "*nothing"),
        ("k:\n\t- tabbed", "k", ["tabbed"]),
        ('q: "open', "q", '"open'),
        ("list:\n- a\n- 'b: c': d: e", "list", ["a", "'b: c': d: e"]),
    ],
)
def test_malformed_values_are_kept_as_written_and_reported(block: str, key: str, value: Json) -> None:
    got = read_frontmatter(f"---\nok: 1\n{block}\nlast: [2]\n---\n")
    assert got.fields == {"ok": 1, key: value, "last": [2]}
    assert len(got.problems) == 1
    assert repr(key) in got.problems[0]
    assert "line 3" in got.problems[0]


def test_a_date_that_does_not_exist_is_text() -> None:
    assert fields("date: 2024-02-30\ncreated: 2024-02-28") == {"date": "2024-02-30", "created": "2024-02-28"}


def test_scalars_stay_as_written_where_yaml_11_would_change_them() -> None:
    assert fields("a: no\nb: 12:30\nc: 007\nd: 2024_01_02\ne: 12e5\nf: .nan\ng: =\nh: 1.5e3") == {
        "a": "no",
        "b": "12:30",
        "c": "007",
        "d": "2024_01_02",
        "e": "12e5",
        "f": ".nan",
        "g": "=",
        "h": 1500.0,
    }


def test_keys_that_are_no_text_become_text() -> None:
    assert fields("2024: x\ntrue: y") == {"2024": "x", "True": "y"}


def test_lines_of_no_key_are_reported() -> None:
    got = read_frontmatter("---\na: b: c\nstray words\n---\n")
    assert got.fields == {"a": "b: c"}
    assert sorted(problem.count("line 3") for problem in got.problems) == [0, 1]


def test_many_problems_are_counted_and_not_all_named() -> None:
    block = "".join(f"k{i}: a: b\n" for i in range(20))
    got = read_frontmatter(f"---\n{block}---\n")
    assert len(got.fields) == 20
    assert len(got.problems) == MAX_PROBLEMS + 1
    assert got.problems[-1] == "and 15 more"


@pytest.mark.parametrize(
    "block", ["a: " + "[" * 5000, "a: " + "{" * 5000, "- " * 5000, "a:\n  " + "- " * 5000, "? " * 5000]
)
def test_deep_nesting_does_not_reach_the_parser(block: str) -> None:
    json.dumps(read_frontmatter(f"---\nk: 1\n{block}\n---\n").fields)


def test_aliases_cannot_multiply() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 8)}]" for i in range(1, 9)]
    got = read_frontmatter("---\n" + "\n".join(levels) + "\n---\n")
    assert len(json.dumps(got.fields)) < 10_000
    assert got.problems
    assert read_frontmatter("---\na: &a [*a]\n---\n").problems


@FAST
@given(st.text("ab:-[]{}#'\"&*!|>%@`,?\t \n0123.~", max_size=60))
def test_any_block_gives_json_or_stays_in_the_text(block: str) -> None:
    text = f"---\n{block}\n---\nbody"
    got = read_frontmatter(text)
    json.dumps(got.fields, allow_nan=False)
    assert 0 <= got.body <= len(text)
    assert got.body or not got.fields


@FAST
@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), PRINTABLE | st.integers(), max_size=5))
def test_well_formed_fields_come_back(values: dict[str, str | int]) -> None:
    block = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items())
    got = fields(block)
    assert {key: str(value) for key, value in got.items()} == {key: str(value) for key, value in values.items()}
