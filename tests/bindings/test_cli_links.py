"""links, traverse, causes, timeline and similar on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "vault"
    clock = lamina.FixedClock("2026-03-01T12:00:00Z")
    embedder = lamina.CallableEmbedder(lambda texts: np.eye(4)[[len(text) % 4 for text in texts]], 4, identity="axes")
    with lamina.open(path, create=True, clock=clock, embedder=embedder) as vault:
        for i, text in enumerate(("the disk was full", "the build failed", "the release slipped")):
            record = {"text": text, "id": f"a1b2c3d{i}", "created_at": f"2026-02-0{i + 1}"}
            vault.add([{**record, "vector": [1.0, i / 4, 0.0, 0.0]}])
        vault.link("a1b2c3d0", "a1b2c3d1", "causal", 0.8, "no room for objects")
        vault.link("a1b2c3d1", "a1b2c3d2", "causal", 0.5)
    return path


@pytest.fixture
def run(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("LAMINA_VAULT", str(root))
    for name in ("LAMINA_JUDGE_URL", "LAMINA_JUDGE_MODEL"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def document(out: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out)
    return found


def test_a_link_is_removed(run: Run, root: Path) -> None:
    code, out, err = run("links", "remove", "a1b2c3d0", "a1b2c3d1", "causal")
    assert (code, out, err) == (0, "removed 1 link\n", "")
    with lamina.open(root, mode="r") as vault:
        assert not vault.links("a1b2c3d0")
    assert document(run("links", "remove", "a1b2c3d0", "a1b2c3d1", "causal", "--json")[1])["removed"] is False
    assert "lamina links show a1b2c3d0" in run("links", "remove", "a1b2c3d0", "a1b2c3d1", "causal")[1]
    code, _, err = run("links", "remove", "a1b2c3d0", "a1b2c3d1", "casual")
    assert code
    assert "'casual' is not known; allowed are" in err


def test_add_and_show(run: Run) -> None:
    code, out, err = run(
        "links", "add", "a1b2c3d0", "a1b2c3d2", "supporting", "--weight", "0.25", "--note", "so it was"
    )
    assert (code, err) == (0, "")
    assert out == "a1b2c3d0 -supporting-> a1b2c3d2  0.25 · user · " + out.rpartition(" · user · ")[2]
    assert "so it was" in out
    code, out, err = run("links", "show", "a1b2c3d0", "--json")
    links = document(out)["links"]
    assert [(link["target"], link["relation"]) for link in links] == [
        ("a1b2c3d1", "causal"),
        ("a1b2c3d2", "supporting"),
    ]
    assert links[1]["created_at"].endswith("Z")
    assert (
        document(run("links", "show", "a1b2c3d0", "--relation", "causal", "--direction", "in", "--json")[1])["count"]
        == 0
    )
    assert run("links", "--json", "show", "a1b2c3d0")[1] == out
    assert len(run("links", "show", "a1b2c3d1")[1].splitlines()) == 2
    assert run("links", "show", "a1b2c3d1", "--relation", "blocks")[1].startswith("no such links; `lamina links build`")


def test_links_of_added_texts_are_not_claimed_before_they_are_made(run: Run, root: Path) -> None:
    told = run("links", "unresolved")[1]
    assert "leads to its note" not in told
    assert "links of added texts are made by `lamina links build`" in told
    with lamina.open(root) as vault:
        vault.add([{"text": "See [[Nowhere]].", "vector": [1.0, 0.0, 0.0, 0.0]}])
    assert "1 link leads to no note" in run("links", "build", "wikilinks")[1]


def test_build(run: Run) -> None:
    code, out, err = run("links", "build", "temporal", "sequence", "--json")
    found = document(out)["kinds"]
    assert (code, err, list(found)) == (0, "", ["sequence", "temporal"])
    assert (found["temporal"]["added"], found["temporal"]["note"]) == (2, None)
    code, out, err = run("links", "build")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == [
        "sequence", "semantic", "wikilinks", "markdown", "mention", "entity", "similar", "judged",
    ]  # fmt: skip
    assert "no language model is configured" in out.splitlines()[-1]
    assert "judge=" not in out
    assert "2 unchanged" in run("links", "build", "temporal")[1]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("links", "build", "magic"), 1, "allowed are sequence"),
        (("links", "build", "judged"), 1, "$LAMINA_JUDGE_URL"),
        (("links", "add", "a1b2c3d0", "a1b2c3d0", "causal"), 1, "itself"),
        (("links", "add", "a1b2c3d0", "nobody", "causal"), 3, "nobody"),
        (("links", "add", "a1b2c3d0", "a1b2c3d1", "caused"), 1, "not known"),
        (("links", "add", "a1b2c3d0", "a1b2c3d1", "causal", "--weight", "2"), 1, "weight"),
        (("links", "show", "nobody"), 3, "nobody"),
        (("links", "show"), 2, "ID"),
        (("causes", "nobody"), 3, "nobody"),
        (("timeline", "nobody"), 3, "nobody"),
        (("similar", "nobody"), 3, "nobody"),
        (("traverse",), 2, "question"),
        (("traverse", "x", "--from", "a1b2c3d0"), 2, "not both"),
        (("traverse", "--from", "a1b2c3d0", "--depth", "0"), 1, "depth"),
        (("traverse", "--from", "nobody"), 3, "nobody"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run: Run, arguments: tuple[str, ...], code: int, told: str) -> None:
    got, out, err = run(*arguments)
    assert (got, out) == (code, "")
    assert told in err
    assert code == 2 or len(err.splitlines()) == 1


def test_traverse(run: Run) -> None:
    code, out, err = run("traverse", "--from", "a1b2c3d2", "--intent", "why")
    assert (code, err) == (0, "")
    assert "a1b2c3d2 <-causal- a1b2c3d1 <-causal- a1b2c3d0" in out
    hits = document(run("traverse", "--from", "a1b2c3d2", "--intent", "why", "--json")[1])["hits"]
    assert [hit["id"] for hit in hits] == ["a1b2c3d0", "a1b2c3d1", "a1b2c3d2"]
    assert hits[0]["path"][0]["relation"] == "causal"


def test_causes(run: Run) -> None:
    code, out, err = run("causes", "a1b2c3d2")
    assert (code, err) == (0, "")
    assert "led here, step 2 · 80%" in out
    assert "no room for objects" in out
    found = document(run("causes", "a1b2c3d2", "--direction", "caused_by", "--depth", "1", "--json")[1])
    assert (found["source"]["id"], [link["id"] for link in found["links"]]) == ("a1b2c3d2", ["a1b2c3d1"])
    assert document(run("causes", "a1b2c3d2", "--direction", "causes", "--json")[1])["links"] == []


def test_a_chunk_without_causes_says_what_to_do(run: Run) -> None:
    # findings, stranger 23
    code, out, _ = run("causes", "a1b2c3d2", "--direction", "causes")
    assert code == 0
    assert out.startswith("no effects of a1b2c3d2 are known")
    assert "lamina links add CAUSE a1b2c3d2 causal" in out


def test_timeline(run: Run) -> None:
    code, out, err = run("timeline", "a1b2c3d1", "--after", "0")
    assert (code, err) == (0, "")
    assert [line[:10] for line in out.splitlines()] == ["  a1b2c3d0", "> a1b2c3d1"]
    found = document(run("timeline", "a1b2c3d1", "--json")[1])
    assert (found["focus"]["id"], found["total"], len(found["after"])) == ("a1b2c3d1", 3, 1)


def test_similar(run: Run) -> None:
    code, out, err = run("similar", "a1b2c3d0", "-k", "1")
    assert (code, err, len(out.splitlines())) == (0, "", 1)
    found = document(run("similar", "a1b2c3d0", "--json")[1])["hits"]
    assert [hit["id"] for hit in found] == ["a1b2c3d1", "a1b2c3d2"]
    assert set(found[0]) == {"id", "title", "text", "type", "source", "created_at", "status", "score"}


def test_used_counts_what_was_cited_together(run: Run) -> None:
    ids = ["a1b2c3d0", "a1b2c3d1", "a1b2c3d2"]
    code, out, err = run("links", "used", *ids, "--json")
    assert (code, err) == (0, "")
    assert [link["count"] for link in document(out)["links"]] == [1, 1, 1]
    code, out, err = run("links", "used", *ids[:2])
    assert (code, err) == (0, "")
    assert out.startswith("a1b2c3d0 -usage-> a1b2c3d1  0.4 · 2 times · usage")
    assert run("links", "used", "nothing")[0] == 3
    assert run("links", "used")[0] == 2
