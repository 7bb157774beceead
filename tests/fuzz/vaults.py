"""Damage to every file of a vault, and what a reader then does: it says the same as before, or raises a typed error."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import lamina
from lamina_engine.care.verify import verify
from lamina_engine.context.rendering import ContextBlock
from lamina_engine.memory import Memory
from lamina_engine.store.segments import CHECKED_BYTES
from tests.fuzz.mutators import mutate_bytes
from tests.fuzz.sandbox import Wrong

NOW: Final = "2026-03-02T00:00:00Z"
_WORDS: Final = [
    "postgres",
    "cache",
    "deploy",
    "pipeline",
    "outage",
    "token",
    "latency",
    "kafka",
    "redis",
    "worker",
    "schema",
    "index",
    "queue",
    "login",
    "billing",
    "invoice",
    "search",
    "gateway",
    "cluster",
    "backup",
    "restore",
    "migration",
    "shard",
    "replica",
    "timeout",
    "retry",
    "metric",
    "alert",
    "dashboard",
    "feature",
]
_FREE: Final = ("vault.toml", ".gitignore", "journal/", "queue/", "writer.lock")
"""No digest holds these: settings are the user's to edit, journals are lines of ids, each believed on its own."""


def make_vault(root: Path, chunks: int) -> Path:
    """Make a vault with something in every log and every index that so many chunks get."""
    random = Random(7)
    pick = functools.partial(random.choice, _WORDS)
    notes = root.with_name(f"{root.name}-notes")
    notes.mkdir(parents=True)
    for i in range(20):
        (notes / f"n{i}.md").write_text(
            f"---\ntags: [{pick()}]\n---\n# Note {i}\n\n{pick()} {pick()} of n{i + 1}.md, see [[n{i + 1}]].\n"
        )
    with lamina.open(root, create=True, clock=lamina.FixedClock("2026-03-01")) as vault:
        vault.add(
            [
                {"id": f"c{i}", "text": f"Note {i}: the {pick()} of the {pick()} failed because {pick()} {pick()} needed {pick()}. " * 3,
                 "type": random.choice(("note", "decision")), "project": random.choice(("api", "web")), "severity": i % 7,
                 "created_at": f"2026-0{random.randint(1, 2)}-{random.randint(1, 28):02d}", "session": f"s{i // 9}"}
                for i in range(chunks)
            ]
        )  # fmt: skip
        vault.ingest(notes)
        for i in range(5):
            vault.add(f"Small add {i} about the checkout of the shop", id=f"small{i}")
        vault.link("c1", "c2", "causal", note="x")
        vault.link("c2", "c3", "causal")
        vault.facts.add("Keystone", "port", "7411")
        vault.facts.add("Anna", "works_on", "Keystone")
        vault.facts.alias("KS", "Keystone")
        vault.invalidate("c7", "wrong")
        vault.pin("c9")
        vault.update("c8", text="The kafka queue is now pulsar.")
        vault.build_links(kinds=["sequence", "similar"])
        vault.cluster()
        vault.inject("why did the kafka queue fail", session="q")
        vault.recall("kafka", now=NOW)
    return root


def _hits(hits: lamina.Hits) -> list[tuple[Any, ...]]:
    return [(hit.id, round(hit.score, 9), hit.text, hit.title, hit.type, hit.status) for hit in hits]


def _told(block: ContextBlock) -> str:
    if block.mode == "failed":  # which a warning says: an agent's session goes on without memories
        raise lamina.VaultCorrupt("no context")
    return block.text


READS: Final[dict[str, Callable[[lamina.Vault], Any]]] = {
    "recall": lambda v: _hits(v.recall("why did the kafka queue fail", k=10, now=NOW)),
    "temporal": lambda v: _hits(v.recall("checkout of the shop", k=5, profile="temporal", now=NOW)),
    "entity": lambda v: _hits(v.recall("what port does Keystone run on", k=5, profile="entity", now=NOW)),
    "where": lambda v: _hits(v.recall("login outage", where={"project": "api", "severity": {"lte": 3}}, now=NOW)),
    "operators": lambda v: _hits(v.recall('"kafka queue" -redis', k=5, now=NOW)),
    "as of": lambda v: _hits(v.recall("kafka", k=5, as_of="2026-03-01T00:00:00.000500Z", now=NOW)),
    "get": lambda v: [v.get(i).text for i in ("c0", "c8", "small3")],
    "list": lambda v: [chunk.id for chunk in v.list({"severity": {"gt": 4}}, limit=20)],
    "history": lambda v: str(v.history("c8")),
    "links": lambda v: str(v.links("c2")),
    "causes": lambda v: str(v.causes("c1")),
    "ask": lambda v: str([(a.subject, a.predicate, a.object) for a in v.facts.ask("what port does KS run on")]),
    "about": lambda v: str(v.facts.about("Anna")),
    "topics": lambda v: str([(topic.id, topic.name) for topic in v.topics()]),
    "timeline": lambda v: str(v.timeline("c5")),
    "sessions": lambda v: str(v.sessions()),
    "similar": lambda v: str([chunk.id for chunk in v.similar("c5")]),
    "inject": lambda v: _told(v.inject("why did the kafka queue fail", session="other")),
    "stats": lambda v: str(v.stats()["chunks"]),
}  # fmt: skip


def read_all(root: Path) -> dict[str, str]:
    """Return a digest of every answer of a vault; ``!`` and the error's name where one was raised."""
    answers = {}
    with lamina.open(root, mode="r", clock=lamina.FixedClock(NOW), trust=True) as vault:
        for name, read in READS.items():
            try:
                answers[name] = hashlib.md5(repr(read(vault)).encode("utf-8", "surrogatepass")).hexdigest()
            except lamina.LaminaError as error:
                answers[name] = f"!{type(error).__name__}"
    return answers


class Damage(NamedTuple):
    """One damaged file of a vault."""

    base: Path
    name: str
    content: bytes
    resealed: bool
    """True where digests and sizes are made to fit, as somebody who made the vault would."""


def files_of(base: Path) -> list[str]:
    """Return the files of a vault that a reader may open, by their path in it."""
    current = (base / "CURRENT").read_text().strip()
    found = [path for path in base.rglob("*") if path.is_file() and path.stat().st_size]
    names = sorted(path.relative_to(base).as_posix() for path in found)
    return [name for name in names if not name.startswith("manifests/") or name.endswith(current)]


def draw_damage(base: Path, names: list[str], random: Random, *, resealed: bool) -> Damage:
    """Draw one damage; of a segment that is resealed rather to its Arrow metadata than to its rows."""
    name = random.choice(names)
    before = (base / name).read_bytes()
    if resealed and name.startswith("log/") and random.random() < 0.7:
        data = bytearray(before)
        for _ in range(random.randint(1, 6)):
            place = random.choice(
                (random.randrange(max(0, len(data) - 2_500), len(data)), random.randrange(min(len(data), 2_500)))
            )
            data[place] = random.choice((0, 255, 127, 128, 1, data[place] ^ 1 << random.randrange(8)))
        return Damage(base, name, bytes(data), True)
    return Damage(base, name, mutate_bytes(before, random), resealed)


def copy_with(damage: Damage, root: Path) -> None:
    """Make a copy of the base with one other file; all others are the base's own, by second names."""
    shutil.copytree(damage.base, root, copy_function=os.link)
    path = root / damage.name
    path.unlink()
    path.write_bytes(damage.content)
    if damage.resealed and damage.name.startswith(("log/", "manifests/")):
        _reseal(root, damage)


def _reseal(root: Path, damage: Damage) -> None:
    current = (root / "CURRENT").read_text().strip()
    manifest, path = root / "manifests" / current, root / damage.name
    content = damage.content
    if damage.name.startswith("log/"):
        document = json.loads(manifest.read_bytes())
        digest = hashlib.sha256(damage.content).hexdigest()
        name = f"{path.name.rpartition('-')[0]}-{digest[:12]}.arrow"
        for ref in document["logs"][path.parent.name]:
            if ref[0] == path.name:
                ref[0], ref[3], ref[4] = name, len(damage.content), digest
        path.rename(path.with_name(name))
        content = json.dumps(document).encode()
    manifest.unlink(missing_ok=True)
    name = f"{current.partition('-')[0]}-{hashlib.sha256(content).hexdigest()[:16]}.json"
    (root / "manifests" / name).write_bytes(content)
    (root / "CURRENT").unlink()
    (root / "CURRENT").write_text(f"{name}\n")


def check_damage(damage: Damage, expected: Mapping[str, str], place: Path) -> dict[str, str]:
    """Read a damaged copy whole, and check what must hold of every answer; called in a child of its own."""
    before = (damage.base / damage.name).read_bytes()
    shutil.rmtree(place, ignore_errors=True)
    copy_with(damage, place)
    try:
        told = bool(verify(place, deep=True).problems)
    except lamina.LaminaError:
        told = True
    is_free = damage.name.startswith(_FREE)
    if damage.content != before and not (is_free or damage.resealed or told):
        raise Wrong(f"{damage.name}: verify --deep finds nothing")
    try:
        answers = read_all(place)
    except lamina.LaminaError:
        return {"typed": "open"}
    other = [name for name in READS if answers[name] != expected[name] and not answers[name].startswith("!")]
    is_large = damage.name.startswith("log/") and len(before) >= CHECKED_BYTES
    if other and not (is_free or damage.resealed or is_large):
        raise Wrong(f"{damage.name}: other answers without an error: {', '.join(other)}")
    if is_large and not damage.resealed and damage.content != before and len(damage.content) == len(before):
        _check_copies(place, damage)
    if any(answer.startswith("!") for answer in answers.values()):
        return {"typed": "answer"}
    return {"answers": "other" if other else "same"}


def _check_copies(place: Path, damage: Damage) -> None:
    """Nothing of a damaged large segment is exported, backed up or passes the checking thread."""
    is_vector = damage.name.startswith("log/vectors.")
    with lamina.open(place, mode="r", clock=lamina.FixedClock(NOW), trust=True) as vault:
        out = place.with_name(f"{place.name}-out")
        for copy, target in ((vault.export, out.with_suffix(".jsonl")), (vault.snapshot, out)):
            if is_vector and copy == vault.export:
                continue  # vectors are not in an export
            try:
                copy(target)
            except lamina.VaultCorrupt:
                continue
            raise Wrong(f"{damage.name}: damaged rows were copied to {target.suffix or 'a backup'}")
    memory = Memory(place, mode="r")
    try:
        memory.check_files()
        segments = memory.store.snapshot().segments(damage.name.split("/")[1])
        if not any(segment.is_known_damaged for segment in segments):
            raise Wrong(f"{damage.name}: the checking thread names nothing")
    finally:
        memory.close()
