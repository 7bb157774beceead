"""A damaged file of the log: what `lamina verify` advises is done to the letter, and the vault is sound again."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lamina
from lamina.cli import main

LOGS = (
    "aliases", "chunks", "entities", "events", "facts", "links", "members", "sources", "topics", "vectors.default",
)  # fmt: skip
HOWS = ("deleted", "flipped", "torn")


class Base(NamedTuple):
    """A vault with something in every log that people write to, and the folder that it was ingested from."""

    root: Path
    notes: Path
    chunks: dict[str, tuple[Any, ...]]


def chunks_of(root: Path) -> dict[str, tuple[Any, ...]]:
    with lamina.open(root, mode="r") as vault:
        found = vault.list(limit=1_000, where={"status": {"in": ["active", "invalidated"]}})
        assert len({chunk.id for chunk in found}) == len(found)
        return {chunk.id: (chunk.text, chunk.title, chunk.type, chunk.status, chunk.pinned) for chunk in found}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    place = tmp_path_factory.mktemp("repair")
    notes = place / "notes"
    notes.mkdir()
    for i in range(4):
        text = f"# Notiz {i}\n\nDer Fährdienst {i} legt um {8 + i} Uhr ab, siehe [[n{(i + 1) % 4}]].\n"
        (notes / f"n{i}.md").write_text(text)
        os.utime(notes / f"n{i}.md", (1e9, 1e9))  # long ago: its moment is trusted
    with lamina.open(place / "vault", create=True) as vault:
        kinds = (
            "ships wait in the harbour for the tide",
            "bread from the bakery is sold",
            "apples of the orchard are ripe",
        )
        said = [{"id": f"hand{i}", "text": f"At {i} o'clock {kinds[i % 3]}", "type": "decision"} for i in range(18)]
        vault.add(said)
        vault.ingest(notes)
        vault.pin("hand0")
        vault.invalidate("hand1", reason="closed")
        vault.update("hand2", text="The orchard opens at noon")
        vault.link("hand0", "hand3", "causal", note="by hand")
        vault.facts.add("Jürgen Ohm", "works_at", "Kaimauer AG", source="me")
        vault.facts.add("Jürgen Ohm", "lives_in", "Emden", source="me")
        vault.facts.alias("Jürgi", "Jürgen Ohm")
        vault.cluster()
        assert len(vault.topics())
    return Base(place / "vault", notes, chunks_of(place / "vault"))


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "deleted":
        path.unlink()
        return
    if how == "flipped":
        content[len(content) * 3 // 4] ^= 0x20
    path.write_bytes(content if how == "flipped" else content[: len(content) // 2])


def follow(advice: str, root: Path, notes: Path) -> list[str]:
    """Run the commands of an advice, in order, as somebody would who has no copy of the file."""
    done = re.findall(r"`lamina ([^`]+)`", advice)
    if "ingest again" in advice:
        done.append(f"ingest {notes}")
    for command in done:
        code = main([*command.split(), "--vault", str(root)])
        assert code == (1 if command == "verify --repair" else 0), command  # it says what it found
    return done


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("log", LOGS)
def test_the_advice_of_verify_works(
    tmp_path: Path, base: Base, log: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "vault"
    for path in sorted((base.root / "log" / log).iterdir()):
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(base.root, root)
        damage(root / "log" / log / path.name, how)
        with lamina.open(base.root, mode="r") as vault:
            (own,) = [part for part in vault._memory.store.snapshot().segments(log) if part.ref.name == path.name]
            ids = set(own.texts("id")) if log == "chunks" else set()
        assert main(["verify", "--deep", "--vault", str(root)]) == 1
        (problem,) = [each for each in capsys.readouterr().out.split("segment: ") if path.name in each]
        done = follow(problem, root, base.notes)
        assert done[0] == "verify --repair"
        assert path.name in capsys.readouterr().out.partition("repaired: ")[2]
        assert main(["verify", "--deep", "--vault", str(root)]) == 0, capsys.readouterr().out
        left = chunks_of(root)
        if log == "events":  # what was said of them is lost, never they themselves
            left, ref = ({k: v[:3] for k, v in each.items()} for each in (left, base.chunks))
        else:
            ref = base.chunks
        assert {name: left.get(name) for name in ref if name not in ids or "Fähr" in ref[name][0]} == {
            name: value for name, value in ref.items() if name not in ids or "Fähr" in value[0]
        }
        assert set(left) <= set(ref)
        with lamina.open(root) as vault:
            assert vault.recall("ships of the harbour, Fährdienst", k=3)
            assert log in ("aliases", "facts") or vault.facts.about("Jürgi")
            assert len(vault.topics()) or log not in ("topics", "members")
            assert vault.stats()["embedding"]["space"]
            vault.export(tmp_path / "out.jsonl")
            vault.snapshot(tmp_path / "copy" / path.name)
            vault.add("One more note")
            assert vault.verify(deep=True).ok


def test_older_manifests_and_settings_are_checked(
    tmp_path: Path, base: Base, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shutil.copytree(base.root, tmp_path / "vault")
    first, *_ = sorted((root / "manifests").iterdir())[:-1]
    damage(first, "flipped")
    assert main(["verify", "--deep", "--vault", str(root)]) == 1
    assert f"manifest: manifests/{first.name}" in capsys.readouterr().out
    assert main(["verify", "--repair", "--vault", str(root)]) == 1
    assert main(["verify", "--deep", "--vault", str(root)]) == 0
    settings = root / "vault.toml"
    settings.write_text('tz = "\x15UTC"\n')
    capsys.readouterr()
    assert main(["verify", "--vault", str(root)]) == 1
    assert "settings: vault.toml" in capsys.readouterr().out
    settings.unlink()
    assert main(["verify", "--vault", str(root)]) == 0
    assert chunks_of(root) == base.chunks
