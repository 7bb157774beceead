"""Vector share of one's own vault: learnt from titles, headings and links, written where it surely gains."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina import Vault
from lamina.cli import main
from lamina_engine import config
from lamina_engine.errors import InvalidArgument, VaultReadOnly
from lamina_engine.evaluation.tuning import judge_shares

DOCUMENTS = 48
DIM = 64


def sign(i: int) -> str:
    return "bcdfghjkl"[i // 9] + "mnpqrstvw"[i % 9]


def make_folder(folder: Path) -> Path:
    """Write notes whose titles say in other words what their texts say."""
    folder.mkdir()
    for i in range(DOCUMENTS):
        last = i + 1 == DOCUMENTS
        near = "" if last else f"\n\nSee [matter{sign(i + 1)}x overview{sign(i + 1)}x](n{i + 1:02}.md) then."
        text = f"# Title{sign(i)}x subject{sign(i)}x\n\nBodily{sign(i)}x contents{sign(i)}x stand here.{near}\n"
        (folder / f"n{i:02}.md").write_text(text, encoding="utf-8")
    return folder


def by_sign(texts: Sequence[str]) -> list[list[float]]:
    """Vectors that know what title and text have in common: a sign in their words."""
    rows = np.zeros((len(texts), DIM))
    signs = {sign(i): i for i in range(DOCUMENTS)}
    for row, text in zip(rows, texts, strict=True):
        found = re.search(r"(?:title|matter|bodily)(..)x", text.lower())
        row[signs[found[1]] if found else DIM - 1] = 1.0
    return [*map(list, rows.tolist())]


def by_chance(texts: Sequence[str]) -> list[list[float]]:
    """Vectors that say nothing."""
    return [np.random.default_rng(zlib.crc32(text.encode())).normal(size=DIM).tolist() for text in texts]


def vault_of(folder: Path, function: Callable[[Sequence[str]], list[list[float]]], weight: float = 0.0) -> Vault:
    notes = make_folder(folder / "notes")
    model = lamina.CallableEmbedder(function, DIM, function.__name__, lane_weight=weight)
    vault = lamina.open(folder / "vault", create=True, embedder=model)
    vault.ingest(notes)
    return vault


def test_vectors_that_know_more_than_words_get_more_and_the_vault_remembers_it(tmp_path: Path) -> None:
    with vault_of(tmp_path, by_sign) as vault:
        before = vault.recall("titlebmx subjectbmx", k=3)
        report = vault.tune(80)
        assert report.titles + report.headings >= 40
        assert report.links > 0
        assert (report.before, report.written) == (0.0, True)
        assert report.best > 0.0
        assert report.gain > 2 * report.error > 0
        assert config.load(vault.path).embedding.shares == {report.model: report.best}
        after = vault.recall("titlebmx subjectbmx", k=3)
        assert before[0].terms["vector_share"] == 0.0
        assert after[0].terms["vector_share"] == report.best
        assert vault.recall("titlebmx", profile="lexical").explain()["candidates"]["vector"] == 0
        again = vault.tune(40)
        assert (again.before, again.written) == (report.best, False)
    with lamina.open(vault.path, embedder=lamina.CallableEmbedder(by_chance, DIM, "other"), mode="r") as other:
        assert other._memory.config.embedding.shares == {report.model: report.best}


def test_vectors_that_say_nothing_get_less(tmp_path: Path) -> None:
    with vault_of(tmp_path, by_chance, 0.8) as vault:
        report = vault.tune(60, write=False)
        assert report.best < 0.8
        assert report.gain >= 0.0
        assert config.load(vault.path).embedding.shares == {}


def test_what_cannot_be_tuned_says_why(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "few", create=True) as few:
        few.add("one memory")
        with pytest.raises(InvalidArgument, match="at least 40 are needed"):
            few.tune()
        with pytest.raises(InvalidArgument, match="sample=3"):
            few.tune(3)
    with lamina.open(tmp_path / "few", mode="r") as reader, pytest.raises(VaultReadOnly):
        reader.tune()
    with lamina.open(tmp_path / "none", create=True, embedder="none") as none:
        none.add({"text": "words alone"})
        with pytest.raises(InvalidArgument, match="no vectors"):
            none.tune()


def test_a_gain_by_chance_is_seldom_taken_for_one() -> None:
    names, shares = [f"d{i % 40}" for i in range(200)], [0.0, 0.25, 0.5]
    taken = 0
    for seed in range(200):
        _, gain, error = judge_shares(np.random.default_rng(seed).random((200, 3)), shares, names, 0.25)
        taken += gain > 2 * error
    assert taken <= 12
    ranks = np.random.default_rng(3).random((200, 3))
    ranks[:, 2] += 1.0
    best, gain, error = judge_shares(ranks, shares, names, 0.25)
    assert best == 0.5
    assert gain > 10 * error


def test_the_command_tells_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "vault"
    assert main(["init", "--vault", str(place)]) == 0
    assert main(["ingest", str(make_folder(tmp_path / "notes")), "--vault", str(place)]) == 0
    capsys.readouterr()
    assert main(["eval", "--tune", "--dry-run", "--vault", str(place)]) == 0
    shown = capsys.readouterr().out
    assert "questions:" in shown
    assert "±" in shown
    assert main(["eval", "--tune", "--vault", str(place), "--sample", "40", "--json"]) == 0


@pytest.mark.parametrize(
    "text",
    ["", "name = 'x'\n", "[embedding]\nmodel = 'none'  # mine\n", "[embedding.shares]\nother = 0.5\n",
     "[embedding.shares]\n\"a;d=2\" = 0.5 # old\n", "[settings]\nfoo = 1"],
)  # fmt: skip
def test_a_share_is_set_and_the_rest_stays(text: str, tmp_path: Path) -> None:
    changed = config.set_share(text, "a;d=2", 0.35)
    assert config.set_share(changed, "a;d=2", 0.35) == changed
    (tmp_path / "vault.toml").write_text(changed)
    assert config.load(tmp_path).embedding.shares["a;d=2"] == 0.35
    for line in text.splitlines():
        assert line.replace("0.5 # old", "0.35 # old") in changed
