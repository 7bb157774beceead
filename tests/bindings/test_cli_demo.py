from __future__ import annotations

import json
import shlex
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina
from lamina.cli import main
from lamina.cli.demo import NOTES, REPLACED, SESSION, Step, tour
from lamina_engine.errors import VaultExists


def test_the_notes_are_in_order_and_distinct() -> None:
    assert len({note.id for note in NOTES}) == len(NOTES)
    assert [note.created_at for note in NOTES] == sorted(note.created_at for note in NOTES)
    assert REPLACED[0] in {note.id for note in NOTES}


@pytest.fixture(scope="module")
def toured(tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    return list(tour(tmp_path_factory.mktemp("demo") / "v"))


def test_the_tour_shows_what_it_says(toured: list[Step]) -> None:
    steps = {step.title.partition(":")[0]: [hit.id for hit in step.hits] for step in toured}
    assert steps["By meaning"] == ["inc-041"]
    assert steps["By words"] == ["code-labels"]
    assert steps["In scripts without spaces"] == ["tokyo"]
    assert set(steps["Filtered"]) == {"inc-044", "inc-047"}
    assert steps["In a window of time"][0] == "depot-heat"
    assert steps["Whatever its age"] == ["dep-2025", "dep-2026"]
    assert steps["By age as well"] == ["dep-2026", "dep-2025"]
    assert steps["What holds now"] == ["adr-006"]
    assert steps["What we knew then"] == ["adr-002"]
    assert steps["Why"] == ["inc-044"]


def test_the_tour_answers_a_fact_as_it_is_now(toured: list[Step]) -> None:
    step = next(step for step in toured if step.line.startswith("lamina facts ask"))
    assert step.outcome == "Relay port 7500 · ports.md (in March it was 7411)"


def test_the_tour_ends_with_a_chain_that_begins_with_the_cause(toured: list[Step]) -> None:
    story = toured[-1].story
    assert story is not None
    assert (story.mode, [chunk.id for chunk in story.chunks]) == ("chain", [note.id for note in SESSION])
    assert story.seed == SESSION[-1].id


def test_the_hit_by_meaning_shares_no_word(toured: list[Step]) -> None:
    step = next(step for step in toured if step.title.startswith("By meaning"))
    assert step.hits[0].terms["words"] == {}


def test_two_runs_print_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for _ in range(2):
        assert main(["demo"]) == 0
        outputs.append(capsys.readouterr())
    assert outputs[0] == outputs[1]
    assert outputs[0].err == ""
    assert "\x1b" not in outputs[0].out


def test_its_lines_work_on_the_vault_that_it_leaves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "tour"
    assert main(["demo", "--keep", str(place), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["vault"], document["notes"]) == (str(place), len(NOTES))
    lines = [step for step in document["steps"] if step["line"].startswith("lamina recall")]
    assert len(lines) >= 9
    for step in lines:
        assert main([*shlex.split(step["line"])[1:], "--vault", str(place), "--json"]) == 0
        got = [hit["id"] for hit in json.loads(capsys.readouterr().out)["hits"]]
        if "login sessions" not in step["line"]:  # before the invalidation that the kept vault has
            assert got == [hit["id"] for hit in step["hits"]], step["line"]


def test_what_is_there_already_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert main(["demo", "--keep", str(tmp_path)]) == 1
    with pytest.raises(VaultExists):
        main(["demo", "--keep", str(tmp_path), "--debug"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.txt"]
    assert isinstance(lamina.VaultExists("x"), FileExistsError)


def test_steps_are_printed_as_they_are_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # the first run after an installation compiled for a minute and more before it printed anything
    def slow(root: Path) -> Iterator[Step]:
        yield Step("Adding notes", "lamina add", outcome="40 notes added")
        assert "40 notes added" in capsys.readouterr().out
        told.wait(10)
        yield Step("Topics", "lamina cluster", outcome="4 topics")

    def echo(line: str, *, err: bool) -> None:
        print(line, file=sys.stderr if err else sys.stdout)
        told.set()

    told = threading.Event()
    monkeypatch.setattr("lamina.cli.demo.tour", slow)
    monkeypatch.setattr("lamina.cli.demo._PATIENCE_S", 0.01)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("click.echo", echo)
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    assert "4 topics" in out
    assert err.count("compiling, once after an installation") == 1
