""""""

from __future__ import annotations

import codecs
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.clock import parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.ingest.chunking import ChunkLimits
from lamina_engine.ingest.classify import PathRule, Rules
from lamina_engine.ingest.conversion import CONVERTERS
from lamina_engine.ingest.drafts import KINDS, SourceDraft, kind_of, read_source
from lamina_engine.redact.redactor import Finding, Redactor, mask
from tests.engine.ingest.test_chunking import MARKDOWNISH, WORDS

FAST = settings(max_examples=80, deadline=None)


class Fake(Redactor):
    """Finds words that begin with ``s3cr``, and in metadata all that stands under ``password``."""

    def find(self, text: str) -> list[Finding]:
        return [Finding(*match.span(), "token") for match in re.finditer(r"s3cr\w+", text)]

    def clean_value(self, value: Any) -> tuple[Any, list[Finding]]:
        if isinstance(value, str):
            return mask(value, self).text, self.find(value)
        pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        cleaned, found = {}, []
        for key, item in pairs:
            name, hits = self.clean_value(key) if isinstance(key, str) else (key, [])
            cleaned[name], more = (
                ("[redacted:x]", [Finding(0, 1, "x")]) if key == "password" else self.clean_value(item)
            )
            found += [*hits, *more]
        if isinstance(value, (dict, list)):
            value = cleaned if isinstance(value, dict) else list(cleaned.values())
        return value, found


def text_of(draft: SourceDraft) -> str:
    return "".join(chunk.text for chunk in draft.chunks)


def codes(draft: SourceDraft) -> list[str]:
    return [problem.code for problem in draft.problems]


NOTE = """---
title: "Moving to PostgreSQL"
Tags: [db, "#ops/prod"]
aliases: Postgres move
type: Decision
project: api
created: 2026-02-15 09:30
updated: 2026-03-01
status: done
---
# Moving to PostgreSQL

We moved. #db #Fast See [[Runbook#Steps|the runbook]] and ![[diagram.png]].

## Why

`[[not a link]]` #why
"""


def test_a_note_with_everything() -> None:
    got = read_source(NOTE.encode(), "notes/2025-01-01 pg.md")
    assert (got.kind, got.title, got.type, got.collection) == (
        "markdown",
        "Moving to PostgreSQL",
        "decision",
        "decisions",
    )
    assert (got.project, got.tags, got.aliases) == ("api", ("db", "ops/prod", "Fast", "why"), ("Postgres move",))
    assert got.created_at_us == parse_instant("2026-02-15T09:30")
    assert got.metadata == {"updated": "2026-03-01", "status": "done"}
    assert [(link.target, link.heading, link.alias, link.embed) for link in got.links] == [
        ("Runbook", "Steps", "the runbook", False),
        ("diagram.png", None, None, True),
    ]
    (chunk,) = got.chunks
    assert chunk.headings == ()
    assert chunk.text == NOTE[NOTE.index("# Moving") :]
    assert (chunk.start, chunk.stop) == (NOTE.index("# Moving"), len(NOTE))
    assert (got.problems, got.redactions) == ([], 0)


def test_paths_of_headings_leave_out_the_title() -> None:
    text = f"# T\n\n{WORDS * 30}\n\n## A\n\n{WORDS * 30}\n\n### B\n\n{WORDS * 60}\n\n# Other\n\n{WORDS * 30}"
    assert [chunk.headings for chunk in read_source(text.encode(), "x.md").chunks] == [
        *((), ("A",), ("A", "B"), ("A", "B"), ("Other",)),
    ]
    named = read_source(b"---\ntitle: N\n---\n" + text.encode(), "x.md")
    assert [chunk.headings for chunk in named.chunks][:2] == [("T",), ("T", "A")]


@pytest.mark.parametrize(
    ("source", "text", "ref"),
    [
        ("a/my-first_note.md", "words", "my first note"),
        ("2026-02-15-db-migration.md", "words", "2026-02-15 db migration"),
        ("2026-02-15.md", "words", "2026-02-15"),
        ("x.md", "# From heading", "From heading"),
        ("x.md", "---\ntitle: 2024\n---\n# H", "2024"),
        ("x.md", "---\ntitle: [a, b]\n---\n# H", "H"),
        ("x.md", "---\ntitle:\n---\nwords", "x"),
        ("src/my-tool.py", "x = 1", "my-tool.py"),
        ("x.rst", "Title\n=====\n\nwords", "Title"),
        ("read-me.txt", "# no heading", "read me"),
        ("tools.txt", "=====\nTools\n=====\n\n.. _client:\n\nThe client\n----------\n\nwords", "Tools"),
        ("index.rst.txt", "Tools\n=====\n\nwords", "Tools"),
        (
            "git-reset.txt",
            "git-reset(1)\n============\n\n-q::\n--quiet::\n\tBe quiet, linkgit:git[1].\n",
            "git-reset(1)",
        ),
        ("notes.txt", "Milk\n====\n\nTwo litres::\n", "notes"),  # an underline alone is no markup
        ("x.adoc", "= Manual\nAda <a@b>\n\n== Section\n", "Manual"),
        ("x.org", "#+TITLE: The log\n* First\n", "The log"),
        ("the-log.org", "* First\n* Second\n", "the log"),
        (".md", "words", ".md"),
        ("pages/Book%2FDune.md", "- a book", "Book/Dune"),  # Logseq's names of a page in a namespace
        ("pages/Book___Dune.md", "- a book", "Book/Dune"),
        ("pages/%C3%84rger%3F.md", "- ja", "Ärger?"),
        ("50%DE off.md", "words", "50%DE off"),  # no UTF-8
        ("a%00b.md", "words", "a%00b"),
        ("__init___.md", "words", "init"),
        ("a___b.py", "x = 1", "a___b.py"),
    ],
)
def test_titles(source: str, text: str, ref: str) -> None:
    assert read_source(text.encode(), source).title == ref


def test_a_secret_that_a_name_encodes_is_masked_in_the_title() -> None:
    draft = read_source(b"words", f"ghp%5F{'a1B2c3D4e5' * 4}"[:42] + ".md", redactor=Redactor())
    assert (draft.title, draft.redactions > 0) == ("[redacted:github token]", True)


def test_a_heading_of_absurd_length_is_cut_as_title() -> None:
    got = read_source(b"# " + b"x" * 5000, "x.md")
    assert len(got.title or "") == 300
    assert all(chunk.headings == () for chunk in got.chunks)


@pytest.mark.parametrize(
    ("source", "front", "ref", "problems"),
    [
        ("2026-02-15-x.md", "", "2026-02-15", []),
        ("2026-02-15-x.md", "created: 2020-01-01", "2020-01-01", []),
        ("x.md", "date: '[[2020-01-02]]'", "2020-01-02", []),
        ("2026-02-15-x.md", "date: 2024-02-30", "2026-02-15", ["frontmatter"]),
        ("2026-02-15-x.md", "created: soon\ndate: 2020-01-03", "2020-01-03", ["frontmatter"]),
        ("2026-02-15-x.md", "created:", "2026-02-15", []),
    ],
)
def test_dates(source: str, front: str, ref: str, problems: list[str]) -> None:
    got = read_source(f"---\n{front}\n---\nwords".encode(), source)
    assert got.created_at_us == parse_instant(ref)
    assert codes(got) == problems


@pytest.mark.parametrize(
    ("source", "text", "ref"),
    [
        ("mail.md", "# 2026-04-12 mail delay\n\nThe queue was full.", "2026-04-12"),
        ("mail.rst", "2026-04-12 mail delay\n=====================\n\nThe queue was full.", "2026-04-12"),
        ("mail.md", "---\ntitle: 2026-04-12 mail delay\n---\nwords", "2026-04-12"),
        ("2026-04-20 mail.md", "# 2026-04-12 mail delay", "2026-04-20"),
        ("mail.md", "---\ndate: 2026-04-21\n---\n# 2026-04-12 mail delay", "2026-04-21"),
        # the days of a log, what only mentions a day, and no dates
        ("log.md", "# 2026-04-12\n\nOne.\n\n# 2026-04-13\n\nTwo.", None),
        ("mail.md", "# Mail delay of 2026-04-12", None),
        ("mail.md", "## 2026-04-12 mail delay", None),
        ("mail.md", "# 2026-02-30 mail delay", None),
        ("mail.md", "# 2026-04-12-beta.1 is out", None),
    ],
)
def test_a_title_that_begins_with_a_date_dates_its_note(source: str, text: str, ref: str | None) -> None:
    assert read_source(text.encode(), source).created_at_us == (ref and parse_instant(ref))


def test_zone_of_dates() -> None:
    assert read_source(b"x", "2026-02-15.md", tz="Asia/Tokyo").created_at_us == parse_instant("2026-02-14T15:00")
    assert read_source(b"x", "x.md").created_at_us is None


@pytest.mark.parametrize(
    ("front", "ref"),
    [
        ("tags: a, b c", ("a", "b", "c")),
        ("tags: [a, '#b', A, 2024, null]", ("a", "b", "2024")),
        ("tag: one", ("one",)),
        ("tags:\n- x/y\n- z", ("x/y", "z")),
        ("tags: {a: b}", ()),
        ("tags: [a, b", ("a", "b")),
        ("tags:", ()),
    ],
)
def test_frontmatter_tags(front: str, ref: tuple[str, ...]) -> None:
    assert read_source(f"---\n{front}\n---\nwords".encode(), "x.md").tags == ref


def test_malformed_frontmatter_is_read_and_reported() -> None:
    got = read_source(b"---\ntitle: a: b\ntags: [x, y\nkeep: 1\n---\nwords", "x.md")
    assert (got.title, got.tags, got.metadata, text_of(got)) == ("a: b", ("x", "y"), {"keep": 1}, "words")
    assert codes(got) == ["frontmatter"]
    assert "'title' (line 2)" in got.problems[0].message


def test_a_type_that_is_no_name_stays_metadata() -> None:
    got = read_source(b"---\ntype: [a]\n---\nwords", "adr/x.md")
    assert (got.type, got.metadata) == ("decision", {"type": ["a"]})


def test_frontmatter_is_markdowns_alone() -> None:
    assert text_of(read_source(b"---\na: b\n---\n", "x.txt")) == "---\na: b\n---\n"


def test_rules_and_kinds_can_be_given() -> None:
    rules = Rules(paths=(PathRule(frozenset({"log"}), "progress"),), default_collection="c")
    got = read_source(b"# h", "log/x.unknown", kind="markdown", rules=rules)
    assert (got.type, got.collection, got.title) == ("progress", "c", "h")
    code = read_source(b"def f():\n    pass\n", "pkg/x.py")
    assert (code.type, code.collection, code.metadata) == ("implementation", "code-patterns", {"language": "python"})
    assert code.chunks[0].headings == ("f",)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("a.md", "markdown"),
        ("a.RST", "rst"),
        ("_sources/a.rst.txt", "rst"),
        ("a.md.txt", "markdown"),
        ("a.py.txt", "text"),
        ("a.adoc", "asciidoc"),
        ("a.org", "org"),
        ("a.txt", "text"),
        ("a.py", "code"),
        ("LICENSE", "text"),
        ("a.csv", "text"),
    ],
)
def test_kind_by_suffix(source: str, kind: str) -> None:
    assert kind_of(source) == kind


def test_unknown_kinds_and_zones_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="markdown, text, rst, asciidoc, org, code"):
        read_source(b"", "x", kind="epub")
    with pytest.raises(InvalidArgument):
        read_source(b"", "x", tz="Nowhere")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\0\1", "binary"),
        ("Привет, мир".encode("cp1251"), "encoding"),
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"---\na: b\n---\n", "empty"),
    ],
)
def test_sources_without_text_are_reported(data: bytes, code: str) -> None:
    got = read_source(data, "adr/x.md")
    assert (got.chunks, codes(got), got.type) == ([], [code], "decision")


def test_guessed_encodings_are_reported_and_spans_still_fit() -> None:
    data = "# Übersicht\r\n\r\nDas Café schließt früh, sagte er gestern.\r\n".encode("cp1252")
    got = read_source(data, "x.md")
    assert codes(got) == ["encoding"]
    assert got.title == "Übersicht"
    assert (got.chunks[0].start, got.chunks[0].stop) == (0, len(data))


SECRETS = """---
title: about s3cret1
password: hunter2
s3cretkey: [a, {password: inner, n: 1}]
tags: [s3crettag]
---
# Head s3cret2

line s3cret3 [[s3cretnote]] and [[fine]]

## Part s3cret4
"""


def test_secrets_are_masked_everywhere() -> None:
    got = read_source(SECRETS.encode(), "a/s3cretname.md", redactor=Fake())
    stored = json.dumps([got.title, got.tags, got.metadata, text_of(got), [link.target for link in got.links]])
    assert "s3cr" not in stored
    assert "hunter2" not in stored
    assert "inner" not in stored
    assert got.title == "about [redacted:token]"
    assert got.metadata["password"] == "[redacted:x]"
    assert [link.target for link in got.links] == ["fine"]
    assert got.redactions == 9
    untitled = read_source(b"words", "a/my-s3cretname.md", redactor=Fake())
    assert (untitled.title, untitled.redactions) == ("my [redacted:token]", 1)


def test_the_real_redactor_fits() -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    data = f"---\nnested: {{api_key: {token}}}\n---\n# t\r\n\r\nkey {token} end\r\n".encode()
    got = read_source(data, "x.md", redactor=Redactor())
    assert token not in json.dumps(got.metadata)
    assert text_of(got) == "# t\n\nkey [redacted:github-token] end\n"
    assert (got.chunks[0].stop, got.redactions) == (len(data), 2)
    assert codes(read_source(data, "x.md", redactor=Redactor("skip"))) == ["redacted_skip"]
    assert token in text_of(read_source(data, "x.md", redactor=Redactor("allow")))


def test_policies_skip_and_allow() -> None:
    skipped = read_source(SECRETS.encode(), "adr/x.md", redactor=Fake("skip"))
    assert (skipped.chunks, skipped.metadata, skipped.tags, skipped.title) == ([], {}, (), None)
    assert codes(skipped) == ["redacted_skip"]
    assert "token" in skipped.problems[0].message
    assert read_source(b"clean", "x.md", redactor=Fake("skip")).chunks
    allowed = read_source(SECRETS.encode(), "x.md", redactor=Fake("allow"))
    assert "s3cret3" in text_of(allowed)
    assert allowed.redactions == 0


def test_problems_do_not_repeat_secrets() -> None:
    got = read_source(b"---\ns3cretkey: a: b\n---\nx", "x.md", redactor=Fake())
    assert codes(got) == ["frontmatter"]
    assert "s3cr" not in got.problems[0].message


def test_links_name_their_chunk() -> None:
    text = f"[[one]]\n\n{WORDS * 34}\n\n[[two]] {WORDS * 10}"
    got = read_source(text.encode(), "x.md")
    assert [(link.target, f"[[{link.target}]]" in got.chunks[link.chunk].text) for link in got.links] == [
        *(("one", True), ("two", True)),
    ]


def check(data: bytes, got: SourceDraft, ref: str, body: int, codec: str) -> None:
    """Chunks reproduce the text, and the bytes of each are those it was read from."""
    assert text_of(got) == (ref if ref.strip() else "")
    if not got.chunks:
        return
    assert got.chunks[0].start == body
    assert got.chunks[-1].stop == len(data)
    for chunk, following in zip(got.chunks, got.chunks[1:], strict=False):
        assert chunk.stop == following.start
    for chunk in got.chunks:
        raw = data[chunk.start : chunk.stop].decode(codec).replace("\r\n", "\n").replace("\r", "\n")
        assert redacted(raw) == chunk.text


def redacted(text: str) -> str:
    return re.sub(r"s3cr\w+", "[redacted:token]", text)


@FAST
@given(
    MARKDOWNISH
    | st.lists(st.sampled_from(["s3cretvalue", " ", "\n\n", WORDS, "é", "日本。"]), max_size=60).map("".join),
    st.sampled_from([kind for kind in KINDS if kind not in CONVERTERS]),  # converted text is not the file's
    st.integers(60, 300),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([("utf-8", b""), ("utf-8", codecs.BOM_UTF8), ("utf-16-le", codecs.BOM_UTF16_LE)]),
)
def test_chunks_reproduce_the_text_and_point_at_its_bytes(
    text: str, kind: str, max_chars: int, newline: str, encoding: tuple[str, bytes]
) -> None:
    text = re.sub("[\0-\x08\x0b-\x1f\x7f\ufeff]", "", text)
    if kind == "markdown" and text.startswith("---"):
        text = "x" + text
    codec, mark = encoding
    data = mark + text.replace("\n", newline).encode(codec)
    got = read_source(data, "x", kind=kind, limits=ChunkLimits(max_chars), redactor=Fake())
    assert all(len(chunk.text) <= max_chars for chunk in got.chunks)
    check(data, got, redacted(text), len(mark), codec)


@FAST
@given(st.binary(max_size=300), st.sampled_from(KINDS))
def test_no_bytes_raise(data: bytes, kind: str) -> None:
    got = read_source(data, "x.md", kind=kind, redactor=Fake())
    assert got.chunks or got.problems


@FAST
@given(st.text("ab:-[]{}#'\"&*!|>?\t \n03s3cret", max_size=80), st.text("#a \n[]`", max_size=30))
def test_any_frontmatter_gives_json(block: str, body: str) -> None:
    got = read_source(f"---\n{block}\n---\n{body}".encode(), "x.md", redactor=Fake())
    json.dumps(got.metadata, allow_nan=False)


def test_a_real_vault(notes_vault: Path) -> None:
    counts = []
    for path in sorted(notes_vault.rglob("*.md")):
        data = path.read_bytes()
        got = read_source(data, path.relative_to(notes_vault).as_posix(), redactor=Fake())
        check(data, got, redacted(data.decode()), 0, "utf-8")
        assert not got.problems
        if 1000 <= len(data) <= 3000:
            counts.append(len(got.chunks))
    assert len(counts) > 500
    assert max(counts) <= 4
    assert sum(count <= 3 for count in counts) / len(counts) > 0.99


def test_reading_is_linear_in_repetitive_text() -> None:
    # each of these is quadratic or worse for a careless pattern; together they take well under a second
    for unit in (
        b"`",
        b"``` ",
        b"[[",
        b"#",
        b"> ",
        b"- ",
        b".",
        b"<!--",
        b"|-",
        b"*_",
        "e\u0301".encode(),
        b"\n",
        b"http://",
    ):
        data = unit * (60_000 // len(unit))
        for kind in KINDS:
            got = read_source(data, "x", kind=kind)
            assert all(len(chunk.text) <= 1600 for chunk in got.chunks)
