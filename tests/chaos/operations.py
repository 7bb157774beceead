"""What writers do: every operation that changes a vault, each with what it promises once it has returned.

An operation tells its journal ``begin`` with all that may be so from now on, and ``done`` with all that must be.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import lamina
from lamina.hooks import capture
from lamina.hooks.queue import Queue
from lamina.mcp.access import VaultAccess
from lamina.mcp.calls import answer_call
from lamina.mcp.tools import TOOLS
from tests.chaos.faults import enter
from tests.chaos.ledger import PREDICATE, RELATION, Changes, Journal, shown

WORDS = ("kafka", "gateway", "redis", "checkout", "invoice", "replica", "timeout", "ledger")


class Job(NamedTuple):
    """One writer's work."""

    root: Path
    scratch: Path
    name: str
    """No other writer has it: it names everything that this one makes."""
    journal: Journal
    chance: random.Random
    marks: list[str]
    """Chunks that this writer alone may change."""
    base: list[str]
    """Chunks that nobody forgets."""

    def text(self, mark: str, revision: int = 0) -> str:
        """Return a text that says whose it is."""
        return f"mark:{mark} revision {revision} {' '.join(self.chance.choices(WORDS, k=6))} end"

    def run(self, changes: Changes, call: Callable[[], object], begin: str = "begin") -> None:
        """Do one write, telling the journal before and after."""
        self.journal.write(begin, changes)
        enter("preparing")
        call()
        self.journal.write("done", changes)
        enter("between")


def _chunks(job: Job, turn: int, count: int, letter: str = "c") -> dict[str, str]:
    marks = [f"{letter}{job.name}-{turn}-{i}" for i in range(count)]
    return {mark: job.text(mark) for mark in marks}


def _added(texts: dict[str, str]) -> Changes:
    return {f"chunk {mark}": shown(text) for mark, text in texts.items()}


def add(vault: lamina.Vault, job: Job, turn: int) -> None:
    mark, text = _chunks(job, turn, 1).popitem()
    job.run(_added({mark: text}), lambda: vault.add(text, id=mark))


def bulk_add(vault: lamina.Vault, job: Job, turn: int) -> None:
    texts = _chunks(job, turn, job.chance.choice((3, 20, 60, 200)))
    job.run(_added(texts), lambda: vault.add([{"id": mark, "text": text} for mark, text in texts.items()]))


def ingest(vault: lamina.Vault, job: Job, turn: int) -> None:
    texts = _chunks(job, turn, 12, "f")
    folder = job.scratch / f"notes-{job.name}-{turn}"
    folder.mkdir()
    for mark, text in texts.items():
        (folder / f"{mark}.md").write_text(text + "\n")
    job.run(_added(texts), lambda: vault.ingest(folder), "begin parts")


def update(vault: lamina.Vault, job: Job, turn: int) -> None:
    mark = job.marks[turn % len(job.marks)]
    text = job.text(mark, job.chance.randrange(1, 10**6))
    job.run({f"chunk {mark}": shown(text)}, lambda: vault.update(mark, text=text))


def invalidate(vault: lamina.Vault, job: Job, turn: int) -> None:
    mark = job.marks[turn % len(job.marks)]
    chunk = vault.get(mark)
    if chunk.status == "active":
        done: Changes = {f"chunk {mark}": shown(chunk.text, "invalidated")}
        job.run(done, lambda: vault.invalidate(mark, "no longer so"))
    else:
        job.run({f"chunk {mark}": shown(chunk.text)}, lambda: vault.restore(mark))


def forget(vault: lamina.Vault, job: Job, turn: int) -> None:
    marks = job.marks[3 * turn : 3 * turn + 3]
    if marks:
        job.run({f"chunk {mark}": None for mark in marks}, lambda: vault.forget(marks, dry_run=False))


def reindex(vault: lamina.Vault, job: Job, turn: int) -> None:
    job.run({}, vault.reindex)


def compact(vault: lamina.Vault, job: Job, turn: int) -> None:
    add(vault, job, turn)  # so that there is something to join
    job.run({}, vault.compact)


def cluster(vault: lamina.Vault, job: Job, turn: int) -> None:
    job.run({}, lambda: vault.cluster(min_cluster_size=job.chance.choice((4, 7))))


def link(vault: lamina.Vault, job: Job, turn: int) -> None:
    source, target = job.chance.sample(job.base, 2)
    job.run({f"link {source} {target}": RELATION}, lambda: vault.link(source, target, RELATION, note=job.name))


def build_links(vault: lamina.Vault, job: Job, turn: int) -> None:
    job.run({}, lambda: vault.build_links(kinds=["sequence", "similar", "semantic"]))


def fact(vault: lamina.Vault, job: Job, turn: int) -> None:
    subject, value = f"E{job.name}-{turn}", str(job.chance.randrange(10**6))
    job.run({f"fact {subject}": value}, lambda: vault.facts.add(subject, PREDICATE, value))


def import_(vault: lamina.Vault, job: Job, turn: int) -> None:
    texts = _chunks(job, turn, 20, "i")
    path = job.scratch / f"export-{job.name}-{turn}.jsonl"
    head = {"record": "export", "vault": f"{job.chance.getrandbits(64):016x}", "until_us": 1_780_000_000_000_000}
    common = {"type": "note", "collection": "notes", "created_at": "2026-03-01T00:00:00Z"}
    rows = [{"id": mark, "text": text, **common} for mark, text in texts.items()]
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, *rows)))
    job.run(_added(texts), lambda: vault.import_(path), "begin parts")


def back_up(vault: lamina.Vault, job: Job, turn: int) -> None:
    path = job.scratch / f"backup-{job.name}-{turn}"
    job.run({}, lambda: vault.snapshot(path))
    with lamina.open(path, mode="r") as copy:
        assert copy.verify().ok, "a backup is whole"
        assert {key: vault.get(key).text for key in job.base} == {key: copy.get(key).text for key in job.base}


def hook_capture(vault: lamina.Vault, job: Job, turn: int) -> None:
    session = f"s{job.name}-{turn}"
    texts = _chunks(job, turn, 6, "t")
    path = job.scratch / f"{session}.jsonl"
    lines = []
    for i, (mark, text) in enumerate(texts.items()):
        common = {
            "sessionId": session,
            "cwd": "/home/ada/shop",
            "version": "2.1.240",
            "isSidechain": False,
            "userType": "external",
        }
        asked = {"role": "user", "content": f"question {i} of {session}: how is this part done?"}
        said = {"role": "assistant", "model": "claude", "content": [{"type": "text", "text": text}]}
        at = f"2026-03-01T10:{i:02}"
        lines.append(
            {
                **common,
                "type": "user",
                "uuid": f"u{mark}",
                "parentUuid": None,
                "timestamp": f"{at}:00.000Z",
                "message": asked,
            }
        )
        lines.append({**common, "type": "assistant", "uuid": f"a{mark}", "parentUuid": f"u{mark}", "timestamp": f"{at}:30.000Z", "message": said})  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def call() -> None:
        Queue(str(job.root)).ask(session, str(path), "claude-code")
        capture.work(str(job.root))
        if Queue(str(job.root)).waits():  # another worker has it, or the disk is full
            os._exit(0)

    job.run(_added(texts), call, "ask")


def mcp_add(vault: lamina.Vault, job: Job, turn: int) -> None:
    mark, text = _chunks(job, turn, 1, "m").popitem()

    def call() -> None:
        answer = answer_call(VaultAccess(job.root), TOOLS["memory_add"], {"text": text})
        if not answer.data.get("stored"):
            raise lamina.LaminaError(f"memory_add answered {answer.text}")

    job.run(_added({mark: text}), call)


OPERATIONS: dict[str, Callable[[lamina.Vault, Job, int], None]] = {
    "add": add, "bulk add": bulk_add, "ingest": ingest, "update": update, "forget": forget, "invalidate": invalidate,
    "reindex": reindex, "compact": compact, "cluster": cluster, "link": link, "build links": build_links, "fact": fact,
    "hook capture": hook_capture, "import": import_, "backup": back_up, "mcp add": mcp_add,
}  # fmt: skip
