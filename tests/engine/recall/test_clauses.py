"""Operators over a vault against the grammar read plainly: every row's text, one clause after the other."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.index.analysis import Analyzer, Term, fold
from lamina_engine.index.scoring import Bm25, inverse_document_frequency
from lamina_engine.index.textindex import TextIndexDamaged, TextPart
from lamina_engine.index.view import View
from lamina_engine.index.zones import body, header
from lamina_engine.recall import request
from lamina_engine.recall.clauses import _MOST_READ, apply_operators, name_of
from lamina_engine.recall.filters import parse_filter, select_rows
from lamina_engine.recall.lanes import Bonus, Words, rank_rows
from lamina_engine.recall.operators import Clause, ParsedQuery, parse_query
from lamina_engine.recall.request import MAX_OPERATORS, parse_operators
from tests.conftest import NOW
from tests.engine.index.building import build_at_once, never_build
from tests.engine.recall.corpus import records

ROWS = 330
BLOCK = 100
EXTRA = (
    "foo_bar fooBar foo-bar foobar in HTTPServer2, v1.2.3 and 3,000 rows", "我们决定使用数据库 postgres", "Café größe don't stop",
    "see [the notes](notes/deploy-log.md) of the deploy", "C++ and C# and node.js",
)  # fmt: skip
SOURCES = ("notes/a.md", "work/notes/a.md", "b(1).md", "notes/a+b.md", "x\ny/z.md", None)
ANALYZER = Analyzer()


class Row(NamedTuple):
    title: str
    text: str
    tags: list[str]
    headings: list[str]
    created_us: int | None
    fields: dict[str, str | None]


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """330 rows and more: 300 in the text index, the others newer than it."""
    rng = random.Random(5)
    given = records(ROWS)
    for i, record in enumerate(given):
        if i % 9 == 0:
            record["text"] = f"{rng.choice(EXTRA)}. {record['text']}"
        record["source"] = rng.choice(SOURCES)
    clock = FixedClock(NOW)
    with pytest.MonkeyPatch.context() as patch:
        build_at_once(patch, BLOCK)
        with lamina.open(tmp_path_factory.mktemp("o") / "v", create=True, clock=clock, embedder="none") as vault:
            for start in range(0, ROWS, 110):
                vault.add(given[start : start + 110])
                clock.advance(86_400)
            yield vault


def view_of(vault: Vault) -> View:
    return vault._memory.view()


def rows_of(view: View) -> list[Row]:
    rows = np.arange(view.rows)
    names = ("title", "text", "tags", "headings", "created_at", "project", "type", "source")
    columns = [view.snapshot.values("chunks", name, rows) for name in names]
    return [
        Row(title or "", text or "", tags or [], headings or [], created, dict(zip(names[5:], fields, strict=True)))
        for title, text, tags, headings, created, *fields in zip(*columns, strict=True)
    ]


def clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


@functools.cache
def tokens(text: str) -> list[Term]:
    return ANALYZER.tokens(clean(text))


@functools.cache
def spellings(text: str) -> list[list[str]]:
    """Words with each compound as a whole, and with each by its parts."""
    out: list[list[str]] = [[], []]
    for piece in clean(text).split():
        for terms in ANALYZER.words(piece):
            for kept, kind in zip(out, ("joined", "part"), strict=True):
                forms = [term.surface for term in terms if term.kind == kind] or [term.surface for term in terms]
                kept += forms[-1:] if kind == "joined" and len(forms) < len(terms) else forms
    return out


@functools.cache
def distance(left: str, right: str) -> int:
    """Optimal string alignment, from its definition."""
    if not left or not right:
        return len(left) + len(right)
    best = min(
        distance(left[:-1], right) + 1, distance(left, right[:-1]) + 1,
        distance(left[:-1], right[:-1]) + (left[-1] != right[-1]),
    )  # fmt: skip
    if left[-2:] == right[-2:][::-1] and len(left) > 1 and len(right) > 1:
        best = min(best, distance(left[:-2], right[:-2]) + 1)
    return best


def matches(clause: Clause, row: Row) -> bool:
    """The grammar of one clause, read off a row."""
    if clause.field in ("project", "type", "source", "tag"):
        values = row.tags if clause.field == "tag" else [row.fields[clause.field]]
        return any(matches_stored(clause, clean(value)) for value in values if value is not None)
    terms = tokens(clause.text)
    if clause.kind == "word" and clause.field is None:
        own = tokens(f"{header(row.title, row.headings, row.tags, row.created_us)}\n{body(row.text)}")
        stems = {term.stem for term in own}
        usable = [term for term in terms if term.kind != "character"]
        joined = [term for term in usable if term.kind == "joined"]
        return all(term.stem in stems for term in joined or usable)
    texts = [row.title] if clause.field == "title" else [row.title, row.text]
    held = [[term.surface for term in tokens(text)] for text in texts]
    if clause.kind in ("word", "phrase") or any(term.kind == "character" for term in terms):
        phrases = [[term.surface for term in terms]]
        if len(spellings(clause.text)[0]) > 1:
            phrases += spellings(clause.text)
            held += [words for text in texts for words in spellings(text)]
        return any(
            words[i : i + len(phrase)] == phrase for phrase in phrases for words in held for i in range(len(words))
        )
    words = {word for one in held for word in one}
    if clause.kind == "prefix":
        return any(word.startswith(fold(clause.text)) for word in words)
    return any(distance(fold(clause.text), word) <= clause.edits for word in words)


def matches_stored(clause: Clause, value: str) -> bool:
    if clause.kind == "prefix":
        return value.startswith(clause.text)
    if clause.kind == "typo":
        return distance(clause.text, value) <= clause.edits
    return value == clause.text or (clause.field == "source" and value.endswith(f"/{clause.text}"))


def passing(parsed: ParsedQuery, rows: list[Row]) -> list[bool]:
    """The grammar of a query."""
    asked = [c for c in parsed.clauses if c.field in ("project", "type", "source", "tag") or tokens(c.text)]
    may = [clause for clause in asked if clause.need == "may"]
    return [
        all(matches(c, row) for c in asked if c.need == "must")
        and not any(matches(c, row) for c in asked if c.need == "not")
        and (parsed.plain or not may or any(matches(c, row) for c in may))
        for row in rows
    ]


def random_query(rng: random.Random, rows: list[Row]) -> str:
    row = rng.choice(rows)
    pieces = []
    for _ in range(rng.randint(1, 3)):
        words = (row.title if row.title and rng.random() < 0.3 else row.text).split()
        at = rng.randrange(len(words))
        word = words[at].strip(".,()")
        sign = rng.choice(("", "", "+", "-"))
        kind = rng.random()
        if kind < 0.25:
            piece = f'{sign}{rng.choice(("", "", "title:"))}"{" ".join(words[at : at + rng.randint(1, 3)])}"'
        elif kind < 0.45:
            piece = f"{sign}{rng.choice(('', 'title:'))}{word[: rng.randint(1, 4)]}*"
        elif kind < 0.65:
            i = rng.randrange(len(word) + 1)
            piece = (
                f"{sign}{word[:i]}{rng.choice(('', 'x', 'e'))}{word[i + rng.randint(0, 1) :]}~{rng.choice(('', 1, 2))}"
            )
        elif kind < 0.8:
            piece = f"{sign or '+'}{word}"
        else:
            field = rng.choice(("project", "type", "tag", "source"))
            value = (rng.choice(row.tags) if row.tags else "db") if field == "tag" else row.fields[field] or "none"
            value = value.split("/")[-1] if rng.random() < 0.5 else value
            piece = f"{sign}{field}:{rng.choice((value, value, value[:2] + '*', value[1:] + '~1'))}"
        pieces.append(piece)
        if rng.random() < 0.3:
            pieces.append(word)
    return " ".join(pieces)


def check(view: View, query: str, rows: list[Row]) -> int:
    parsed = parse_query(query)
    if not parsed.clauses:
        return 0
    found = apply_operators(view, parsed, Analyzer())
    mask = np.ones(view.rows, np.bool_) if found.mask is None else found.mask
    assert mask.tolist() == passing(parsed, rows), query
    may = {name_of(clause): clause for clause in parsed.clauses if clause.need == "may"}
    for bonus in found.bonuses:
        assert bonus.rows.tolist() == [i for i, row in enumerate(rows) if matches(may[bonus.name], row)], query
        assert bonus.weight == inverse_document_frequency(len(bonus.rows), view.rows)
    for name in found.facets:
        field, value = name.split("=", 1)
        assert all(value in (rows[i].tags if field == "tag" else [rows[i].fields[field]]) for i in np.flatnonzero(mask))
    return int(mask.sum())


def check_many(vault: Vault, count: int) -> None:
    view, rng = view_of(vault), random.Random(count)
    index = view.tables.text(view.snapshot)
    assert index is not None
    assert 0 < index.rows < view.rows
    moments = vault._memory.clock.now_us() / 1e6 - np.array([1.5, 2.5]) * 86_400
    pasts = [View(view.snapshot, view.tables, as_of_us=int(moment * 1e6)) for moment in moments]
    rows = rows_of(view)
    sizes = []
    for _ in range(count):
        query = random_query(rng, rows)
        sizes.append(check(view, query, rows))
        past = rng.choice(pasts)
        assert 0 < past.rows < view.rows
        check(past, query, rows[: past.rows])
    assert sum(0 < size < view.rows for size in sizes) > count // 3


def test_operators_are_those_of_the_grammar_read_plainly(vault: Vault) -> None:
    check_many(vault, 200)


@pytest.mark.slow
def test_many_operators_are_those_of_the_grammar_read_plainly(vault: Vault) -> None:
    check_many(vault, 2_000)


def test_a_damaged_index_changes_no_answer(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise TextIndexDamaged("flipped")

    view = View(view_of(vault).snapshot, type(view_of(vault).tables)(view_of(vault).tables.folder))
    monkeypatch.setattr(TextPart, "rows_of", fail)
    rows = rows_of(view)
    for query in ('"nightly backup"', "+redis -cache", "deplo*", "tag:db", "source:a.md", "bakcup~"):
        assert check(view, query, rows)


@pytest.mark.parametrize("query", ["redis backup", "staging", "zebra"])
def test_rows_that_gain_something_are_ranked_as_in_a_scan(vault: Vault, query: str) -> None:
    view = view_of(vault)
    selection = select_rows(view, parse_filter(None), None, None, invalidated=False)
    rng = np.random.default_rng(3)
    for size in (0, 1, 7, 100, 200):
        bonuses = [
            Bonus(f"b{i}", np.sort(rng.choice(view.rows, size, replace=False)), weight)
            for i, weight in ((1, 0.7), (2, 2.5))
        ]
        words = Words(view, Analyzer().query(query), Bm25(), bonuses)
        everything = np.arange(view.rows)
        for depth in (1, 5, 20):
            got, wanted = words.lane(selection, depth), rank_rows(everything, words.score(everything), depth)
            assert got.rows.tolist() == wanted.rows.tolist()
            assert got.scores.tobytes() == wanted.scores.tobytes()
            assert words.score(got.rows).tolist() == got.scores.tolist()
        assert [sum(parts.values()) for parts in words.contributions(got.rows)] == pytest.approx(got.scores.tolist())


def test_a_recall_fills_k_from_what_passes(vault: Vault) -> None:
    rows = rows_of(view_of(vault))
    for query in (
        '"the nightly backup"',
        "+redis -cache",
        "project:api -type:note redis",
        "tag:db",
        "-redis",
        "bakcup~ zzz*",
    ):
        parsed = parse_query(query)
        right = {i for i, ok in enumerate(passing(parsed, rows)) if ok}
        got = [hit.row for hit in vault.recall(query, 400)]
        assert got
        assert set(got) <= right
        assert len(vault.recall(query, 5)) == min(5, len(right))
    only = vault.recall("tag:db", 400)
    assert {hit.row for hit in only} == {i for i, row in enumerate(rows) if "db" in row.tags}
    assert [hit.created_at for hit in only if hit.created_at] == sorted(
        (hit.created_at for hit in only if hit.created_at), reverse=True
    )


def test_what_matched_is_in_the_terms(vault: Vault) -> None:
    hits = vault.recall("bakcup~ redis")
    assert any("bakcup~1" in hit.terms["words"] for hit in hits)
    assert hits.explain()["operators"] == ["bakcup~1"]
    assert "operators" not in vault.recall("bakcup~ redis", syntax=False).explain()
    assert all(hit.terms["bm25"] == pytest.approx(sum(hit.terms["words"].values()), rel=1e-12) for hit in hits)


@pytest.mark.parametrize(
    "query", ['"', '"a', "+", "-", "- + ~ *", "title:", 'title:"', "(a|b)*", "[a-z]+ \\d{2}", "^$.*", "\\", "a\\*", '+"(" -"["',
              "source:(.*)*", "source:[", "tag:\\", "tag:a{2}~2", "\ud800*", '"\ud800 a"', "+\ud800a", "x" * 3000 + "~2",
              "source:" + "x/" * 3000, "+ab " * 2000, "_* +__ -__", "\0 \"\0\""],
)  # fmt: skip
def test_no_query_is_an_error(vault: Vault, query: str) -> None:
    assert list(vault.recall(query, 3)) is not None
    assert list(vault.recall(query, 3, syntax=False)) is not None


@pytest.mark.parametrize("often", [False, True])
def test_a_pasted_command_finds_the_chunk_that_holds_it(tmp_path: Path, often: bool) -> None:
    with lamina.open(tmp_path / "vault", create=True) as vault:
        vault.add(
            [
                {"id": "unpack", "text": "Unpack it: tar -xzf release.tar.gz"},
                {"id": "fees", "text": "def net(gross, fees):\n    return gross -fees"},
                {"id": "night", "text": "The backup ran at night, before the fees were due."},
                {"id": "migration", "text": "The backup ran before the migration."},
            ]
        )
        if often:  # more chunks hold the word than are read one by one
            vault.add(
                [{"id": f"fees{i}", "text": f"Some of the fees, as in every year: {i}."} for i in range(_MOST_READ + 1)]
            )
        for query, first in (
            ("tar -xzf release.tar.gz", "unpack"),
            ("why -xzf with tar?", "unpack"),
            ("return gross -fees", "fees"),
        ):
            hits = vault.recall(query)
            assert hits[0].id == first
            assert "operators" not in hits.explain()
        vault.recall("of -the")  # of function words alone
        vault.invalidate("fees", reason="replaced")
        assert "night" not in {hit.id for hit in vault.recall("backup -fees")}
        for query, gone in (("backup -migration", "migration"), ('backup -"fees"', "night")):
            assert gone not in {hit.id for hit in vault.recall(query)}


def test_a_pasted_text_has_no_operators() -> None:
    assert parse_operators("+ab " * (MAX_OPERATORS + 1)) is None
    assert parse_operators("+ab " * MAX_OPERATORS) is not None


def test_syntax_must_be_true_or_false(vault: Vault) -> None:
    with pytest.raises(lamina.InvalidArgument, match="syntax"):
        vault.recall("a", syntax="no")  # type: ignore[arg-type]


def test_injected_context_reads_no_operators(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(request, "parse_operators", read.append)
    vault.recall('the "redis" cache', 1)
    assert len(read) == 1
    vault.inject('look at the "nightly backup" -staging', "s")
    vault.bootstrap()
    assert len(read) == 1


@pytest.mark.parametrize(
    ("phrase", "ids"),
    [
        # findings, stranger: a phrase crosses capitals and compounds
        ("not sqlite", {"camel", "plain"}),
        ("not SQLite", {"camel", "plain"}),
        ("NOT SQLITE but", {"camel"}),
        ("the max retry count", {"snake", "words"}),
        ("the max_retry count", {"snake", "words"}),
        ("the maxRetry count", {"snake", "words"}),
        ("not postgres", {"camel"}),
        ("sqlite not", set()),
        ("read config.yaml before", {"file"}),
    ],
)
@pytest.mark.parametrize("indexed", [False, True])
def test_a_compound_has_one_place_in_a_phrase(tmp_path: Path, phrase: str, ids: set[str], indexed: bool) -> None:
    texts = {
        "camel": "We use not SQLite but Postgres, not Postgres either.",
        "plain": "It is not sqlite, which is fine.",
        "snake": "Raise the max_retry count by one.",
        "words": "The max retry count was three.",
        "file": "Always read config.yaml before you start.",
        "far": "Not today and never again will we move away from SQLite.",
    }
    with pytest.MonkeyPatch.context() as patch:
        build_at_once(patch, 1) if indexed else never_build(patch)
        with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
            vault.add([{"text": text, "id": id_} for id_, text in texts.items()])
            assert {hit.id for hit in vault.recall(f'"{phrase}"')} == ids
