"""HTML, notebooks, PDF and DOCX as text, and files that are not read."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path

import pytest

import lamina
from lamina_engine.clock import format_instant
from lamina_engine.errors import install_command
from lamina_engine.ingest import conversion
from lamina_engine.ingest.drafts import SourceDraft, read_source

PAGE = """<!doctype html><html><head><title>Retry
 policy</title><meta name="author" content="Ada Byron"><meta property="article:published_time" content="2026-02-15">
<style>p {color: red}</style><script>alert("no")</script></head><body><nav><a href="/">Home</a></nav>
<h1>Retry policy</h1><p>Back off <b>twice</b>, see <a href="pay.md">payments</a> &amp; more.</p>
<ul><li>first</li><li>second</li></ul><h2>Code</h2><pre>if x &lt; 1:
    retry()</pre><table><tr><td>a</td><td>b</td></tr></table></body></html>"""

BOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Cooling curve\n", "\n", "We fit it. #physics"]},
        {"cell_type": "code", "source": "fit(x)", "outputs": [{"text": ["0.93\n"]}, {"data": {"image/png": "AAAA"}}]},
    ],
    "metadata": {"language_info": {"name": "python"}},
}


def text(draft: SourceDraft) -> str:
    return "".join(chunk.text for chunk in draft.chunks)


def test_links_that_only_mark_a_heading_are_left_out() -> None:
    page = """<h1>Pakete<a class="headerlink" href="#top" title="Link to this heading">¶</a></h1>
    <h2><a class="anchor" href="#remove"><svg><path/></svg></a>5.9.2. Pakete entfernen <a href="#remove">#</a></h2>
    <p>See <a href="#top">above</a>, <a href="other.html#x">there</a> and <a href="https://a.org/">§</a>.</p>
    <h2><a href="#over">Overwriting files</a></h2><p>Nothing.</p>"""
    draft = read_source(page.encode(), "p.html")
    text = "".join(chunk.text for chunk in draft.chunks)
    assert draft.title == "Pakete"
    assert [line.rstrip() for line in text.splitlines() if line.startswith("#")] == [
        "# Pakete", "## 5.9.2. Pakete entfernen", "## Overwriting files",
    ]  # fmt: skip
    assert "See [above](#top), [there](other.html#x) and [§](https://a.org/)." in text


def page(body: str) -> str:
    return text(read_source(f"<head><title>Widgets</title></head><body>{body}</body>".encode(), "w.html")).strip()


SPROCKET = "<h1>Widgets</h1><p>The sprocket is oiled on Monday.</p>"
SPROCKET_TEXT = "# Widgets\n\nThe sprocket is oiled on Monday."


@pytest.mark.parametrize(
    "body",
    [
        f'<div class="related" role="navigation"><h3>Navigation</h3><div><a href="i.html">index</a></div></div>{SPROCKET}',
        f'<div class="related"><h3>Navigation</h3></div>{SPROCKET}<div class="sphinxsidebar"><h4>This Page</h4></div>',
        f"<p>We use cookies, and we use them a lot.</p><main>{SPROCKET}</main><p>Imprint</p>",
        f'<p>Willkommen</p><div role="main"><div>{SPROCKET}</div></div><div>Impressum</div>',
        f'<header role="banner">ACME</header>{SPROCKET}<footer role="contentinfo">© ACME</footer>',
        f'<form role="search"><h2>Search</h2></form>{SPROCKET}<aside role="complementary"><h2>More</h2></aside>',
        f"<p>Home</p><article>{SPROCKET}</article><p>Share</p>",
        f'<div id="banner"><a href="get.html">Get the ebook</a></div>{SPROCKET}<ul class="docnav"><li>Next</ul>',
        f'<p><a href="http://a.org"><img alt="Logo"></a><a href="index.html"> </a></p>{SPROCKET}',
        f'<div role="navigation"><p>Menu<main>{SPROCKET}</main></div>',  # opened inside what has no end
        f'<div role="navigation"><br><img src="x"/><p>one<p>two<div/></div></div>{SPROCKET}',
    ],
)
def test_what_a_page_marks_as_beside_its_text_is_no_text_of_it(body: str) -> None:
    assert page(body) == SPROCKET_TEXT


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (f"<header><p>by Ada</p></header>{SPROCKET}<footer>Oil: 5W30</footer>", "by Ada 5W30"),
        (f'{SPROCKET}<aside class="footnote"><p>Only in winter.</p></aside>', "Only in winter."),
        (f'{SPROCKET}<div class="related-work"><p>Chains are oiled too.</p></div>', "Chains are oiled too."),
        ("<article><p>First.</p></article><article><p>Second.</p></article>", "First. Second."),
        (f'{SPROCKET * 3}<article class="comment"><p>Nice.</p></article>', "sprocket Nice."),
        (f'<div role="navigation">{SPROCKET}', "sprocket"),  # has no end
        (f'<div role="navigation">{SPROCKET}</div>', "sprocket"),  # is all there is
        (f'{SPROCKET}<section id="related"><h2>Related</h2><p>Chains.</p></section>', "Related Chains."),
        (f'{SPROCKET}<div class="section" id="banner"><h2>Banner</h2><p>Made of cloth.</p></div>', "Banner cloth."),
        (f"<main></main>{SPROCKET}", "sprocket"),
        ('<p>See <a href="c.html">C++</a>, <a href="p.html">+</a>.</p>', "[C++](c.html) [+](p.html)"),
        (f'<div role="note"><p>Take care.</p></div>{SPROCKET}', "care. sprocket"),
    ],
)
def test_what_is_text_stays(body: str, kept: str) -> None:
    found = page(body)
    assert [word for word in kept.split() if word not in found] == []


def sections(body: str) -> dict[str, tuple[str, ...]]:
    """The headings above each word in capitals."""
    filling = "<p>" + "Steam is led off through the valve. " * 40 + "</p>"
    body = body.replace("<end>", filling)
    draft = read_source(f"<head><title>Widgets</title></head><body>{body}</body>".encode(), "w.html")
    return {
        word: tuple(each for each in chunk.headings if each)
        for chunk in draft.chunks
        for word in ("NOTED", "AFTER")
        if word in chunk.text
    }


@pytest.mark.parametrize(
    "box",
    [
        '<div class="note"><h3 class="title">Note</h3><p>NOTED</p></div>',
        '<div class="admonition tip"><div><h2>Tipp</h2></div><p>NOTED<p>more</div>',
        "<aside><h2>Achtung</h2><p>NOTED</p></aside>",
        '<section role="note"><h4>By the way</h4>NOTED</section>',
        "<blockquote><h3>Their title</h3><p>NOTED</p></blockquote>",
        "<figure><h5>Picture</h5>NOTED</figure>",
        "<table><tr><td><h3>Left</h3>NOTED<td><h3>Right</h3></table>",
        '<div class="warning"><h3></h3><p>NOTED</p></div>',
        '<div class="callout"><a href="#x"><h3>Callout</h3></a>NOTED</div>',
    ],
)
def test_a_heading_in_a_box_ends_with_its_box(box: str) -> None:
    page = f"<h1>Pumps</h1><end><h2>Sending</h2>{box}<p>AFTER</p><end>"
    assert sections(page) == dict.fromkeys(("NOTED", "AFTER"), ("Pumps", "Sending"))


def test_the_title_of_a_box_is_read_as_a_line_in_bold() -> None:
    assert page('<h1>Pumps</h1><div class="note"><h3>Mind <i>this</i></h3><p>Hot.</p></div><p>Cold.</p>') == (
        "# Pumps\n\n**Mind this**\n\nHot.\n\nCold."
    )


@pytest.mark.parametrize(
    "body",
    [
        "<table><tr><td>menu<td><h1>Pumps</h1><end><h2>Sending</h2><p>AFTER</p><end></table>",  # the page's layout
        "<h1>Pumps</h1><table><tr><td>menu<td><end><h2>Sending</h2><p>AFTER</p><end></table>",
        "<table><tr><td><h2>Pumps</h2><end><tr><td><h2>Sending</h2>AFTER<end><tr><td><h2>Wells</h2><end></table>",
        "<h1>Pumps</h1><blockquote><end><h2>Sending</h2><p>AFTER</p><end></blockquote>",
        '<h1>Pumps</h1><div class="notes footnote"><end><h2>Sending</h2><p>AFTER</p></div><end>',
        '<h1>Pumps</h1><end><div class="note"><p>x<h2>Sending</h2><p>AFTER<p><end>',  # has no end
    ],
)
def test_a_heading_of_the_page_itself_stays_one(body: str) -> None:
    assert sections(body)["AFTER"][-1:] == ("Sending",)


def test_a_hit_of_a_page_has_the_lines_of_the_file(tmp_path: Path) -> None:
    lines = [
        "<html><head><title>Sprockets</title></head>",
        "<body><nav>Home</nav>",
        "<div role='navigation'>",
        "<p>x</p>",
        "</div>",
    ]
    for i in range(90):
        lines += [
            f"<h2>Part {i}</h2>",
            "",
            "<p>",
            f"  Sprocket number{i} is",
            f"  oiled &amp; turned{i}.",
            "</p>",
            "<!-- x -->",
        ]
        lines += ["<pre>", f"turn {i}", "", f"stop {i}", "</pre>"]
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "s.html").write_text("\r\n".join(lines))
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.ingest(tmp_path / "d")
        for i in (0, 7, 89):
            hit = vault.recall(f"number{i} turned{i}", k=1)[0]
            assert hit.line is not None
            assert hit.end_line is not None
            shown = lines[hit.line - 1 : hit.end_line]
            assert shown[0].startswith(("<h2>", "<pre>"))
            assert any(f"turned{i}." in line for line in shown)
            assert len(shown) < len(lines) / 2
            assert f"stop {i}" in hit.text


def test_html_is_text(tmp_path: Path) -> None:  # findings, stranger 14
    draft = read_source(PAGE.encode(), "p.html")
    assert (draft.title, draft.type, draft.metadata) == ("Retry policy", "note", {"author": "Ada Byron"})
    assert format_instant(draft.created_at_us) == "2026-02-15T00:00:00Z"
    assert text(draft) == (
        "# Retry policy\n\nBack off twice, see [payments](pay.md) & more.\n\n- first\n- second\n\n## Code\n\n"
        "```\nif x < 1:\n    retry()\n```\n\n | a | b\n"
    )
    assert (draft.problems, draft.chunks[0].line, draft.chunks[0].end_line) == ([], 4, 6)
    open_head = read_source(b"<head><title>T<body><h1>A</h1>text", "c.html")
    assert (open_head.title, text(open_head)) == ("T", "# A\n\ntext\n")
    broken = read_source(b"<p>one<p>two</div></b><pre>x", "b.htm")
    assert text(broken).split() == ["one", "two", "```", "x"]


def test_notebooks_are_prose_code_and_what_it_printed() -> None:
    draft = read_source(json.dumps(BOOK).encode(), "curve.ipynb")
    assert (draft.title, draft.tags, draft.metadata["language"]) == ("Cooling curve", ("physics",), "python")
    assert text(draft) == "# Cooling curve\n\nWe fit it. #physics\n\n```python\nfit(x)\n```\n\n```\n0.93\n```\n"


@pytest.mark.parametrize(
    ("name", "data"), [("a.ipynb", b"[]"), ("a.ipynb", b"{}"), ("a.pdf", b"%PDF-1.7 cut"), ("a.docx", b"PK cut")]
)
def test_a_bad_file_is_a_problem_of_its_own(name: str, data: bytes) -> None:
    draft = read_source(data, name)
    assert draft.chunks == []
    assert [problem.code for problem in draft.problems] in (["failed"], ["extra"])


def test_docx_and_pdf_by_their_extras(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx", reason="the extra docx is not installed")
    pytest.importorskip("pypdf", reason="the extra pdf is not installed")
    document, buffer = docx.Document(), io.BytesIO()
    document.core_properties.title, document.core_properties.author = "The plan", "Ada"
    document.add_heading("Goals", 1)
    document.add_paragraph("Ship it by June.")
    document.add_paragraph("first", style="List Bullet")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "left", "right"
    document.save(buffer)
    draft = read_source(buffer.getvalue(), "plan.docx")
    assert (draft.title, draft.metadata["author"]) == ("The plan", "Ada")
    assert text(draft) == "# Goals\n\nShip it by June.\n\n- first\n\nleft | right\n"
    pages = read_source(_pdf(["Alpha page about cooling.", "Beta page about heating."]), "two.pdf")
    assert [chunk.headings for chunk in pages.chunks] == [("page 1",)]
    assert "cooling" in text(pages)
    assert "heating" in text(pages)
    assert read_source(_pdf([""]), "scan.pdf").problems[0].code == "empty"


def test_a_broken_pdf_is_told_with_its_name_alone(caplog: pytest.LogCaptureFixture) -> None:
    # the library's own "EOF marker not found" stood on the terminal, and named no file
    pytest.importorskip("pypdf", reason="the extra pdf is not installed")
    assert read_source(b"%PDF-1.4\nnot really\n", "a.pdf").problems[0].code == "failed"
    assert "heating" in text(read_source(_pdf(["A page about heating."]) + b"\njunk after the end", "b.pdf"))
    assert caplog.records == []


def test_what_is_not_read_is_counted_by_suffix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # stranger 15
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("a.pdf", "b.png", "c.epub", "d.PNG"):
        (notes / name).write_bytes(b"x")
    monkeypatch.setattr(conversion, "EXTRAS", {**conversion.EXTRAS, "pdf": "no_such_package"})
    with lamina.open(tmp_path / "v", create=True) as vault:
        report = vault.ingest(str(notes))
        assert (report.unread, report.added, report.problems) == ({".png": 2, ".pdf": 1, ".epub": 1}, 0, [])


def test_the_install_command_works_for_this_copy() -> None:
    command = install_command("pdf")
    assert command.startswith("pip install ")
    assert command.endswith('[pdf]"')


def _pdf(pages: list[str]) -> bytes:
    """Return a PDF with a line of text on each page, written by hand."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for line in pages:
        stream = f"BT /F1 12 Tf 72 700 Td ({line}) Tj ET" if line else ""
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    start = len(out)
    return (
        out
        + (
            f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\n"
            f"startxref\n{start}\n%%EOF\n"
        ).encode()
    )


SETTINGS = """<html><title>Server</title><body><h1>Server</h1><p>How it is set.</p><dl class="toc"><dt>1. <a href="#a">Start</a></dt>
<dd><dl><dt><a href="#b">1.1</a></dt></dl></dd></dl><h2>Settings</h2><dl>
<dt>max_open (integer)<a class="headerlink" href="#max">¶</a></dt><dd><p>{filler}</p><p>{filler}</p><p>The default is 64.</p></dd>
<dt><code>-q</code><dt><code>--quiet</code><dd><p>{filler}<p>{filler}<p>Says nothing at all.
<dt>mode<dd>{filler}<dl><dt><em>class</em> <b>fast</b>(<i>level</i>, *, <i>wait</i>=None)</dt><dd>{filler}</dd></dl>{filler}</dl>
<p>{filler}</p></body></html>"""


@pytest.fixture
def settings_page() -> bytes:
    filler = "It holds what stands in the pool while nobody asks for it. " * 14
    return SETTINGS.replace("{filler}", filler).encode()


def test_what_goes_on_with_an_entry_of_a_page_is_called_by_its_term(settings_page: bytes) -> None:
    draft = read_source(settings_page, "server.html")
    assert [chunk.headings for chunk in draft.chunks] == [
        (),
        ("Settings", "max_open (integer)"),
        ("Settings", "-q, --quiet"),
        ("Settings", "-q, --quiet"),
        ("Settings", "mode"),
        ("Settings", "mode", "class fast"),
        ("Settings", "mode"),
        ("Settings",),
    ]
    assert draft.chunks[1].text.rstrip().endswith("The default is 64.")
    assert draft.chunks[1].title == "Server · max_open (integer)"
    assert {chunk.title for chunk in (draft.chunks[0], draft.chunks[-1])} == {None}


def test_the_default_of_a_setting_is_found_where_its_entry_goes_on(settings_page: bytes, tmp_path: Path) -> None:
    (tmp_path / "server.html").write_bytes(settings_page)
    with lamina.open(tmp_path / "vault", create=True) as vault:
        vault.ingest(tmp_path / "server.html")
        hits = vault.recall("what is the default of max_open", k=2, per_source=None)
        assert "The default is 64." in hits[0].text
        assert hits[0].label == "Server › Settings › max_open (integer)"


@pytest.mark.parametrize("opening", ["<!--", "<![CDATA[", "<![if x"])
def test_what_is_never_closed_is_text_and_costs_no_time(opening: str) -> None:
    started = time.perf_counter()
    got = conversion.convert(f"<p>before</p><!-- aside --><p>{opening} after</p>{opening * 100_000}".encode(), "html")
    assert isinstance(got, conversion.Converted)
    assert "before" in got.text
    assert "after" in got.text
    assert "aside" not in got.text
    assert time.perf_counter() - started < 10.0
