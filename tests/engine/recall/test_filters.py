"""Filters: the grammar, and masks over a vault against the definition, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina
from lamina import FixedClock, Vault
from lamina_engine.chunks.reading import chunks_at
from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.view import View
from lamina_engine.recall import filters as recall_filters
from lamina_engine.recall.dialogue import recompute_turn
from lamina_engine.recall.filters import (
    FIELDS,
    OPERATORS,
    All,
    Not,
    Predicate,
    Some,
    compare_values,
    evaluate,
    fields_of,
    is_only_required_terms,
    parse_filter,
    required_terms,
)
from lamina_engine.recall.lanes import Selection
from lamina_engine.results import Chunk
from tests.conftest import NOW


def test_nothing_is_true_everywhere() -> None:
    assert parse_filter(None) == parse_filter({}) == All(())
    assert parse_filter({"AND": []}) == All(())
    assert parse_filter({"OR": []}) == Some(())


def test_the_grammar() -> None:
    got = parse_filter(
        {
            "project": "api",
            "OR": [{"type": "rule"}, {"owner": {"gt": 3, "lt": 9}}],
            "NOT": [{"title": "*"}, {"metadata.project": None}],
        }
    )
    assert got == All(
        (
            Predicate("project", "eq", "api"),
            Some(
                (
                    Predicate("type", "eq", "rule"),
                    All((Predicate("metadata.owner", "gt", 3, True), Predicate("metadata.owner", "lt", 9, True))),
                )
            ),
            Not(Predicate("title", "exists", True)),
            Not(Predicate("metadata.project", "eq", None)),
        )
    )
    assert fields_of(got) == {"project", "type", "metadata.owner", "title", "metadata.project"}


def test_required_terms_are_those_that_every_match_has() -> None:
    node = parse_filter(
        {
            "project": "api",
            "AND": [{"type": "rule"}],
            "OR": [{"agent": "x"}],
            "session": {"ne": "y"},
            "collection": None,
        }
    )
    assert required_terms(node) == [("project", "api"), ("type", "rule")]
    assert not is_only_required_terms(node)
    assert is_only_required_terms(parse_filter({"project": "api", "type": "rule"}))
    assert not is_only_required_terms(parse_filter({"NOT": {"project": "api"}}))


@pytest.mark.parametrize(
    ("where", "says"),
    [
        (3, "mapping"), ("x", "mapping"), ([], "mapping"), ([{"a": 1}], "mapping"), ({"AND": {"a": 1}}, "list"), ({"OR": "x"}, "list"),
        ({"AND": [3]}, "mapping"), ({"NOT": 3}, "mapping"), ({"NOT": "x"}, "mapping"), ({"project": {}}, "empty"),
        ({"project": {"like": "x"}}, "'like'"), ({"project": {"EQ": "x"}}, "'EQ'"), ({"project": ["a"]}, "'in'"), ({"project": 3}, "text"),
        ({"project": {"in": "abc"}}, "list"), ({"project": {"in": [1]}}, "text"), ({"project": {"exists": 1}}, "true or false"),
        ({"created_at": "soon"}, "created_at"), ({"created_at": {"in": ["2026-01-01", "soon"]}}, "soon"), ({"recorded_at": {"gt": True}}, "recorded_at"),
        ({"success": 1}, "true or false"), ({"pinned": "yes"}, "true or false"), ({"status": "gone"}, "superseded"),
        ({"ordinal": "1"}, "number"), ({"ordinal": True}, "number"), ({"tags": {"contains": 5}}, "text"), ({"id": 5}, "text"),
        ({"owner": {"eq": [1]}}, "one value"), ({"owner": {"eq": {"a": 1}}}, "one value"), ({"owner": {"eq": {1}}}, "one value"),
        ({"title": "\ud800"}, "surrogate"), ({"owner": {"in": ["\ud800"]}}, "surrogate"),
    ],
)  # fmt: skip
def test_what_is_no_filter_is_refused(where: Any, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        parse_filter(where)


@pytest.mark.parametrize("key", ["AND", "OR", "NOT"])
def test_nesting_has_a_limit_and_no_recursion_error(key: str) -> None:
    def nested(levels: int) -> dict[str, Any]:
        where: dict[str, Any] = {"type": "rule"}
        for _ in range(levels):
            where = {key: where if key == "NOT" else [where]}
        return where

    assert fields_of(parse_filter(nested(32))) == {"type"}
    for levels in (33, 5000):
        with pytest.raises(InvalidArgument, match="32 levels"):
            parse_filter(nested(levels))


def test_dates_are_read_in_the_zone_given() -> None:
    got = parse_filter({"created_at": {"in": ["2026-01-01", None]}}, "Europe/Berlin")
    assert got == Predicate("created_at", "in", (parse_instant("2025-12-31T23:00:00Z"), None))


@pytest.mark.parametrize(
    ("operator", "have", "want", "ref"),
    [
        ("eq", None, None, True), ("eq", "a", None, False), ("ne", None, "a", True), ("ne", "a", "a", False), ("ne", None, None, False),
        ("eq", True, 1, False), ("eq", 1, True, False), ("eq", 1, 1.0, True), ("eq", False, False, True),
        ("gt", None, 1, False), ("lte", 1, None, False), ("gt", "b", "a", True), ("gt", "b", 1, False), ("gte", 2, 2, True), ("lt", 2, 2, False),
        ("in", "a", ("a", "b"), True), ("in", None, ("a",), False), ("in", None, (None,), True), ("in", "a", (), False), ("in", 1, (True,), False),
        ("contains", "PostgreSQL", "gres", True), ("contains", "STRASSE", "straße", True), ("contains", "abc", 1, False),
        ("contains", ["a", "b"], "a", True), ("contains", ["ab"], "a", False), ("contains", [1], True, False), ("contains", None, "a", False), ("contains", 7, 7, False),
        ("exists", None, True, False), ("exists", None, False, True), ("exists", 0, True, True), ("exists", False, True, True),
        ("eq", ["a", "b"], "b", True), ("ne", ["a", "b"], "b", False), ("eq", ["a"], None, False), ("in", ["a", "b"], ("x", "b"), True), ("gt", ["a"], "A", False),
    ],
)  # fmt: skip
def test_one_comparison(operator: str, have: Any, want: Any, ref: bool) -> None:
    assert compare_values(operator, have, want) is ref


def test_the_lists_of_names_are_whole() -> None:
    assert OPERATORS == ("eq", "ne", "gt", "gte", "lt", "lte", "in", "contains", "startswith", "exists")
    assert {
        "project",
        "type",
        "collection",
        "session",
        "agent",
        "created_at",
        "recorded_at",
        "id",
        "source",
        "title",
        "tags",
        "status",
    } <= set(FIELDS)


DAYS = ["2026-01-01", "2026-01-02T03:04:05Z", "2026-02-01", "2025-06-01"]
NAMES = ["api", "web", "Ünï", "a b"]


def records() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for i in range(48):
        record: dict[str, Any] = {
            "text": f"text {i}",
            "id": f"id-{i}",
            "type": ["rule", "note", "decision"][i % 3],
            "created_at": DAYS[i % 4],
        }
        for name, at in (("project", 1), ("session", 2), ("agent", 3), ("title", 5), ("source", 7)):
            if (i // at) % 3:
                record[name] = NAMES[(i // at) % 4]
        if i % 4:
            record["success"] = i % 4 == 1
        if i % 5:
            record["tags"] = [["db"], ["db", "infra"], ["Ünï", "a b"]][i % 3]
        metadata: dict[str, Any] = {}
        if i % 3:
            metadata = {
                "n": i % 6,
                "flag": i % 2 == 0,
                "who": NAMES[i % 4],
                "deep": {"er": i % 2, "none": None},
                "dotted.key": i % 3,
                'q"uote': 1,
                "list": ["x", i % 2],
            }
        elif i % 2:
            metadata = {"n": "text", "deep": 3}
        made.append(record | {"metadata": metadata})
    return made


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    clock = FixedClock(NOW)
    with lamina.open(tmp_path_factory.mktemp("mask") / "vault", create=True, clock=clock, embedder="none") as opened:
        opened.add(records()[:20])
        clock.advance(86_400)
        opened.add(records()[20:])
        opened.update("id-3", text="text changed")
        for name in ("id-4", "id-30"):
            opened.invalidate(name, "wrong")
        for name in ("id-3", "id-4", "id-7"):
            opened.pin(name)
        yield opened


def value_of(chunk: Chunk, field: str) -> Any:
    if field.startswith("metadata."):
        path = field.removeprefix("metadata.")
        if "." in path and path in chunk.metadata:
            return chunk.metadata[path]
        value: Any = chunk.metadata
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value
    if field in ("created_at", "recorded_at"):
        return getattr(chunk, f"{field}_us")
    if field == "ordinal":
        return chunk.ordinal if chunk.ordinal >= 0 else None
    if field == "tags":
        return list(chunk.tags) or None
    return getattr(chunk, field)


def brute(filter_: dict[str, Any], chunk: Chunk) -> bool:
    """The grammar, written a second time, over one chunk."""
    results: list[bool] = []
    for key, value in filter_.items():
        if key == "AND":
            results.append(all(brute(f, chunk) for f in value))
        elif key == "OR":
            results.append(any(brute(f, chunk) for f in value))
        elif key == "NOT":
            results.append(not any(brute(f, chunk) for f in (value if isinstance(value, list) else [value])))
        else:
            field = key if key in FIELDS or key.startswith("metadata.") else f"metadata.{key}"
            tests: dict[str, Any] = (
                value if isinstance(value, dict) else {"exists": True} if value == "*" else {"eq": value}
            )
            for operator, operand in tests.items():
                if field in ("created_at", "recorded_at") and operator != "exists":
                    given_ = [instant(o) for o in operand] if operator == "in" else instant(operand)
                else:
                    given_ = operand
                results.append(compare_values(operator, value_of(chunk, field), given_))
    return all(results)


def instant(value: Any) -> int | None:
    return None if value is None else parse_instant(value)


name = st.sampled_from([*NAMES, "rule", "decision", "notes", "db", "infra", "id-3", "id-40", "x"]) | st.none()
text = name | st.just("")
day = st.sampled_from([*DAYS, NOW, "2026-03-02T12:00:00.000003Z"]) | st.none()
json = st.sampled_from([0, 1, 2, 5, 1.0, True, False, "text", "x", *NAMES]) | st.none()
KINDS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("project", "type", "collection", "session", "agent"), name),  # where empty text is refused
    **dict.fromkeys(("id", "source", "title", "commit", "blob", "tags"), text),
    **dict.fromkeys(("created_at", "recorded_at"), day),
    **dict.fromkeys(("success", "pinned"), st.booleans() | st.none()),
    "status": st.sampled_from(["active", "superseded", "invalidated", "removed", "forgotten"]) | st.none(),
    "ordinal": st.integers(-1, 2) | st.none(),
    **dict.fromkeys(
        ("n", "flag", "who", "metadata.deep.er", "deep", "metadata.dotted.key", "dotted.key", 'q"uote', "list"), json
    ),
}


@st.composite
def leaf(draw: st.DrawFn) -> dict[str, Any]:
    field = draw(st.sampled_from(sorted(KINDS)))
    operand = KINDS[field]
    operators = st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(("eq", "ne", "gt", "gte", "lt", "lte", "contains", "startswith"), operand),
            "in": st.lists(operand, max_size=3),
            "exists": st.booleans(),
        },
    )
    value = draw(operators.filter(bool) | operand | st.just("*"))
    return {field: value}


filters = st.recursive(
    leaf(),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"AND": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"OR": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"NOT": inner | st.lists(inner, max_size=2)}),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
    ),
    max_leaves=5,
)


@settings(max_examples=120)
@given(filters, st.lists(st.booleans(), min_size=49, max_size=49))
def test_every_filter_equals_the_definition(filled: Vault, filter_: dict[str, Any], within: list[bool]) -> None:
    view = filled._memory.view()
    chunks = chunks_at(view, np.arange(view.rows, dtype=np.int64))
    mask_in = np.array(within, np.bool_)
    before = mask_in.copy()
    got = evaluate(parse_filter(filter_), view, mask_in)
    assert got.tolist() == [w and brute(filter_, chunk) for w, chunk in zip(within, chunks, strict=True)]
    assert np.array_equal(mask_in, before)  # the caller's mask is left alone


@settings(max_examples=25)
@given(filters)
def test_lists_and_recalls_return_what_the_filter_accepts(filled: Vault, filter_: dict[str, Any]) -> None:
    view = filled._memory.view()
    spoken = "status" in fields_of(parse_filter(filter_))
    chunks = [
        c
        for c in chunks_at(view, np.arange(view.rows, dtype=np.int64))
        if (spoken or c.status == "active") and brute(filter_, c)
    ]
    listed = filled.list(filter_, limit=None)
    assert sorted((c.id, c.row) for c in listed) == sorted((c.id, c.row) for c in chunks)
    hits = filled.recall("text", k=100, where=filter_)
    assert {hit.id for hit in hits} == {c.id for c in chunks}


def test_a_misspelt_field_is_refused_and_says_what_there_is(filled: Vault) -> None:
    assert not filled.list({"metadata.projet": 1}), (
        "metadata. says that it is a key: a program may ask before any chunk has it"
    )
    for field in ("projet", "deep.err.or", "deep.none"):
        for filter_ in ({field: 1}, {"OR": [{"project": "api"}, {"NOT": {field: {"exists": True}}}]}):
            with pytest.raises(InvalidArgument, match="fields are project"):
                filled.recall("text", where=filter_)
            with pytest.raises(InvalidArgument, match="fields are project"):
                filled.list(filter_)


def test_a_field_that_came_later_was_not_known_before(lexical_vault: Vault, clock: FixedClock) -> None:
    lexical_vault.add("one", id="a")
    then = format_instant(clock.now_us() + 1_000_000)
    clock.advance(60)
    lexical_vault.add("one", id="b", metadata={"late": 1})
    assert [hit.id for hit in lexical_vault.recall("one", where={"late": 1})] == ["b"]
    with pytest.raises(InvalidArgument, match="late"):
        lexical_vault.recall("one", where={"late": 1}, as_of=then)


def test_any_field_may_be_asked_of_an_empty_vault(lexical_vault: Vault) -> None:
    assert len(lexical_vault.recall("x", where={"anything": 3})) == 0
    assert lexical_vault.list({"anything": 3}) == []


def test_windows_are_half_open_and_read_in_the_zone_of_the_call(filled: Vault) -> None:
    def days(**options: Any) -> set[object]:
        return {str(hit.to_dict()["created_at"]) for hit in filled.recall("text", k=100, **options)}

    assert days(since="2026-01-01", until="2026-02-01") == {"2026-01-01T00:00:00Z", "2026-01-02T03:04:05Z"}
    assert days(since="2026-01-01T00:00:00.000001Z", until="2026-02-01T00:00:00.000001Z") == {
        "2026-01-02T03:04:05Z",
        "2026-02-01T00:00:00Z",
    }
    assert days(since="2026-01-01", until="2026-02-01", tz="America/New_York") == {
        "2026-01-02T03:04:05Z",
        "2026-02-01T00:00:00Z",
    }
    assert days(until="2026-01-01") == {"2025-06-01T00:00:00Z"}


def test_the_status_filter_brings_in_what_is_hidden(filled: Vault) -> None:
    got = filled.recall("text", k=100, where={"status": "invalidated"})
    assert {hit.id for hit in got} == {"id-4", "id-30"}
    turns = {hit.id: recompute_turn(hit.terms["turn"]) if "turn" in hit.terms else 1.0 for hit in got}
    assert {round(hit.terms["factor"] / turns[hit.id], 12) for hit in got} == {0.5}
    assert {(hit.id, hit.status) for hit in filled.recall("text", k=100, where={"status": "superseded"})} == {
        ("id-3", "superseded")
    }
    assert "id-4" not in {hit.id for hit in filled.recall("text", k=100)}


def test_a_profile_may_keep_invalidated_chunks_at_a_discount(tmp_path: Path, clock: FixedClock) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    (root / "vault.toml").write_text("[profiles.lenient]\nbase = 'default'\ninvalidated = 0.25\n")
    with lamina.open(root, create=True, clock=clock, embedder="none") as vault:
        ids = vault.add([{"text": "same words"}, {"text": "same words too", "project": "b"}])
        ref = {hit.id: hit.score for hit in vault.recall("words")}
        vault.invalidate(ids[0], "wrong")
        got = {hit.id: (hit.score, hit.status) for hit in vault.recall("words", profile="lenient")}
        assert got == {ids[0]: (pytest.approx(0.25 * ref[ids[0]]), "invalidated"), ids[1]: (ref[ids[1]], "active")}


def test_a_past_view_is_masked_by_what_was_known_then(filled: Vault) -> None:
    now = filled._memory.view()
    view = View(now.snapshot, now.tables, as_of_us=parse_instant(NOW) + 1_000_000)
    got = evaluate(parse_filter({"project": {"exists": True}, "status": "active"}), view, np.ones(view.rows, np.bool_))
    assert (view.rows, int(got.sum())) == (20, sum("project" in record for record in records()[:20]))


def test_a_selection_is_made_once_for_a_version(lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    lexical_vault.add([{"text": f"a text with {n!r}", "metadata": {"n": n}} for n in (True, 1, False)])
    made: list[Any] = []
    make = recall_filters._select_rows

    def noted(*args: Any, **named: Any) -> Selection:
        made.append(args)
        return make(*args, **named)

    monkeypatch.setattr(recall_filters, "_select_rows", noted)

    def found(value: Any, **window: Any) -> set[str]:
        return {hit.text for hit in lexical_vault.recall("text", where={"metadata.n": value}, **window)}

    for _ in range(2):
        assert (found(True), found(1)) == ({"a text with True"}, {"a text with 1"})
    assert lexical_vault.count({"metadata.n": 1}) == len(lexical_vault.list({"metadata.n": 1})) == 1
    assert len(made) == 2, "the pages of a list read the metadata of every chunk once"
    assert found(1, until="2001-01-01") == set()
    lexical_vault.add("a text that came later", metadata={"n": 1})
    assert found(1) == {"a text with 1", "a text that came later"}
    for i in range(3 * recall_filters._KEPT):
        lexical_vault.recall("text", where={"project": f"none {i}"})
    assert len(lexical_vault._memory.view().peek_cached("selections")) <= recall_filters._KEPT


def test_of_what_sleeps_no_selection_is_kept(lexical_vault: Vault, clock: FixedClock) -> None:
    sleeper, other = lexical_vault.add([{"text": "a text that sleeps"}, {"text": "a text that does not"}])
    lexical_vault.snooze(sleeper, until=format_instant(clock.now_us() + 3_600_000_000))
    assert [hit.id for hit in lexical_vault.recall("text", where={"project": None})] == [other]
    clock.advance(7_200)
    assert {hit.id for hit in lexical_vault.recall("text", where={"project": None})} == {sleeper, other}


@pytest.mark.parametrize("field", ["project", "type", "collection", "session", "agent"])
def test_empty_text_is_refused_where_no_chunk_can_have_it(field: str) -> None:
    with pytest.raises(InvalidArgument, match="is empty text, which no chunk has"):
        parse_filter({field: ""})
    parse_filter({"metadata.note": ""})


def test_metadata_is_compared_as_it_is_kept(lexical_vault: Vault) -> None:
    # a date, a datetime and NumPy's True found nothing: metadata has text and JSON's true in their place
    days = [date(2026, 1, day) for day in (1, 2, 3)]
    lexical_vault.add(
        [
            {
                "text": f"note {day}",
                "metadata": {"due": day, "at": datetime(2026, 1, day.day, tzinfo=UTC), "open": day == days[1]},
            }
            for day in days
        ]
    )
    plus_one = timezone(timedelta(hours=1))
    for filter_, ref in (
        ({"due": days[1]}, 1),
        ({"due": {"gte": days[1]}}, 2),
        ({"due": {"in": days[:2]}}, 2),
        ({"due": {"lt": datetime(2026, 1, 2, 9)}}, 2),
        ({"at": datetime(2026, 1, 2, 1, tzinfo=plus_one)}, 1),
        ({"open": np.bool_(True)}, 1),
        ({"due": np.datetime64("2026-01-03")}, 1),
    ):
        assert lexical_vault.count(filter_) == ref, filter_
    with pytest.raises(InvalidArgument, match="what JSON can hold"):
        lexical_vault.count({"due": Path("2026-01-02")})


def test_scalars_of_numpy_are_compared_in_every_field(lexical_vault: Vault) -> None:
    # only metadata took them; "not NumPy's True" and "is not a date" were the answers of the others
    lexical_vault.add("one", created_at="2026-01-02", success=True, metadata={"n": 1.5})
    for filter_, ref in (
        ({"success": np.bool_(True)}, 1),
        ({"created_at": {"gte": np.datetime64("2026-01-02T00:00:00.000000000")}}, 1),
        ({"created_at": {"lt": np.datetime64("2026-01-02")}}, 0),
        ({"ordinal": {"gte": np.int64(10)}}, 0),
        ({"n": np.float32(1.5)}, 1),
        ({"n": np.longdouble(1.5)}, 1),
    ):
        assert lexical_vault.count(filter_) == ref, filter_
    with pytest.raises(InvalidArgument, match="compares with one value"):
        lexical_vault.count({"n": np.array([1.5])})


def test_a_filter_on_texts_says_where_they_are_asked(lexical_vault: Vault) -> None:
    lexical_vault.add("one")
    with pytest.raises(InvalidArgument, match="the query does"):
        lexical_vault.count({"text": {"contains": "one"}})
    with pytest.raises(InvalidArgument, match="asks for a key"):
        lexical_vault.count({"team": "a"})
