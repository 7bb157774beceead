"""Files that only machines read are left out, by what they are; long lines that people write or keep are read."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

import lamina
from lamina_engine.ingest import drafts, pipeline
from lamina_engine.ingest.drafts import read_source
from lamina_engine.ingest.minified import is_machine_made

WORDS = [
    "receipt",
    "invoice",
    "umlaut",
    "printer",
    "queue",
    "retry",
    "backoff",
    "ledger",
    "harbour",
    "copper",
    "lantern",
    "orchard",
]
PROSE = "We decided to print receipts in Noto Serif, because it has umlauts. The queue is emptied every night. " * 40
BRIEF = "Wir haben beschlossen, die Quittungen nachts zu drucken, weil der Drucker dann frei ist. " * 60


def sphinx_index(random_: random.Random) -> str:
    terms = {f"{random_.choice(WORDS)}_{i}": random_.sample(range(900), 5) for i in range(400)}
    names = [f"library/{word}" for word in WORDS]
    titles = [f"The {word} of {other}" for word in WORDS for other in WORDS[:3]]
    return f"Search.setIndex({json.dumps({'docnames': names, 'titles': titles, 'terms': terms})})"


def minified(random_: random.Random) -> str:
    calls = (
        f"function {a}(t,e){{return t.{random_.choice(WORDS)}(e,{i})}}var n=null;"
        for i, a in enumerate("abcdefgh" * 12)
    )
    return f"/*! widgets v3.1 | (c) the authors | MIT */\n!function(){{{''.join(calls)}}}();\n"


def styles(random_: random.Random) -> str:
    return "".join(f".{random_.choice(WORDS)}-{i}{{margin:0 {i}px;color:#{i:06x}}}" for i in range(150))


def mkdocs_index(random_: random.Random) -> str:
    pages = [{"location": f"{word}/", "text": PROSE[:300], "title": word} for word in WORDS]
    return json.dumps({"config": {"lang": ["en"], "separator": "[\\s\\-]+"}, "docs": pages}, separators=(",", ":"))


def lunr_index(random_: random.Random) -> str:
    vectors = [[f"t/{i}", [i, round(random_.random(), 3)]] for i in range(300)]
    return json.dumps(
        [{"documents": [{"i": 1, "t": PROSE[:200]}], "index": {"fields": ["t"], "fieldVectors": vectors}}]
    )


def coordinates(random_: random.Random) -> str:
    points = [[round(random_.uniform(-90, 90), 5), round(random_.uniform(-90, 90), 5)] for _ in range(300)]
    return json.dumps({"type": "LineString", "coordinates": points})


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("searchindex.js", sphinx_index),
        ("vendor/w.js", minified),
        ("site.css", styles),
        ("search/anything.json", mkdocs_index),
        ("lookup.json", lunr_index),
        ("track.json", coordinates),
    ],
)
def test_a_machines_file_is_left_out_and_reported(name: str, made: object) -> None:
    draft = read_source(made(random.Random(7)).encode(), name)  # type: ignore[operator]
    assert (draft.chunks, [problem.code for problem in draft.problems]) == ([], ["machine_made"])


NOTES = [{"title": word, "text": "Termin am Montag bei Dr. Mayer."} for word in WORDS * 6]
CHINESE = [{"id": i, "text": "我们决定使用数据库，因为它更快。"} for i in range(90)]
ORDERS = [{"id": i, "sku": f"AB-{i}", "price": 12.5, "stock": 3, "colour": "red"} for i in range(90)]
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEA" * 900
SHORT_CODE = "def load_picture() -> bytes:\n    return b64decode(PICTURE)\n\n\nclass Printer:\n    queue: list[str]\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("long.md", PROSE),
        ("brief.txt", BRIEF),
        ("notes.json", json.dumps(NOTES)),
        ("notizen.json", json.dumps(CHINESE)),
        ("notizen2.json", json.dumps(CHINESE, ensure_ascii=False)),
        ("orders.json", json.dumps(ORDERS, separators=(",", ":"))),
        ("paper.tex", f"\\section{{Receipts}}\n{PROSE}\n\n{PROSE}\n"),
        ("messages.js", f'export const help = "{PROSE}";\n'),
        ("picture.py", f'PICTURE = "{PICTURE}"\n\n\n{SHORT_CODE}'),
        ("mapped.css", f"body {{\n  margin: 0;\n}}\n/*# sourceMappingURL=data:application/json;base64,{PICTURE} */\n"),
        ("small.json", json.dumps({"compilerOptions": {"strict": True, "paths": {f"@{w}/*": [w] for w in WORDS}}})),
        ("book.ipynb", json.dumps({"cells": [{"cell_type": "markdown", "source": PROSE}], "metadata": {}})),
        ("dump.sql", "INSERT INTO people VALUES " + ",".join(f"({i},'{w}','Berlin')" for i, w in enumerate(WORDS * 20)) + ";\n"),
        ("min.min.js", "export function add(left, right) {\n  return left + right;\n}\n" * 60),
    ],
)  # fmt: skip
def test_long_lines_that_people_write_or_keep_are_read(name: str, content: str) -> None:
    draft = read_source(content.encode(), name)
    assert draft.chunks
    assert draft.problems == []


def test_an_index_beside_pages_answers_nothing(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "searchindex.js").write_text(sphinx_index(random.Random(7)))
    (docs / "printing.html").write_text("<h1>Printing</h1><p>Call lantern_7 before the queue is emptied.</p>")
    (docs / "rows.jsonl").write_text(json.dumps({"text": f"lantern_7 is old. {PROSE}"}) + "\n")
    with lamina.open(tmp_path / "v", create=True) as vault:
        report = vault.ingest(docs)
        assert [(problem.source, problem.code) for problem in report.problems] == [("searchindex.js", "machine_made")]
        assert (report.added, report.skipped) == (2, 1)
        assert {hit.source for hit in vault.recall("lantern_7", k=20)} == {"printing.html", "rows.jsonl"}
        again = vault.ingest(docs)
        assert (again.unchanged, again.skipped, again.problems) == (3, 0, [])
        assert vault.ingest(docs / "searchindex.js", kind="text").chunks


def test_what_an_earlier_version_read_goes_with_the_next_ingest(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "searchindex.js").write_text(sphinx_index(random.Random(7)))
    (docs / "page.html").write_text("<nav>Home</nav><h1>Printing</h1><p>The queue is emptied at night.</p>")
    with lamina.open(tmp_path / "v", create=True) as vault:
        with pytest.MonkeyPatch.context() as earlier:
            earlier.setattr(pipeline, "RULES", {})
            earlier.setattr(drafts, "is_machine_made", lambda text, source: False)
            assert vault.ingest(docs).added == 2
        page = [chunk.id for chunk in vault.list({"source": "page.html"})]
        report = vault.ingest(docs)
        assert (report.updated, report.skipped, report.embedded) == (1, 1, 0)
        assert [chunk.id for chunk in vault.list(limit=None)] == page
        assert vault.ingest(docs).unchanged == 2


@pytest.mark.parametrize("unit", ["\u044f", "ab,", "ab ", "\u00e4b.", "\u6587"])
def test_the_time_is_linear_in_the_length_of_a_line(unit: str) -> None:
    """A line of 40,000 letters without a blank took 16 s."""
    began = time.process_time()
    is_machine_made(unit * 200_000, "x.js")
    assert time.process_time() - began < 2.0
