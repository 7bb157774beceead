"""``lamina demo``: a tour of a small vault, made from what ships with Lamina."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from lamina.cli.command import Call, command
from lamina.cli.demo_notes import NOTES, REPLACED, SESSION
from lamina.cli.episodes import story_lines
from lamina.cli.recalling import hit_lines
from lamina.cli.terminal import bold, printable
from lamina.vault import Vault, open_vault
from lamina_engine.clock import US_PER_S, FixedClock, format_instant
from lamina_engine.errors import VaultExists

if TYPE_CHECKING:
    from lamina_engine.results import Hit, Story

TODAY: Final = "2026-06-15"
"""The day on which the tour takes place, whatever day it is."""
_SESSIONS: Final = "where do we keep login sessions"


@dataclass(frozen=True, slots=True)
class Step:
    """One stop of the tour."""

    title: str
    line: str
    """The command line, or the Python line, that does the same."""
    hits: tuple[Hit, ...] = ()
    outcome: str = ""
    explain: bool = False
    story: Story | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the step as JSON values."""
        hits = [
            {"id": hit.id, "score": hit.score, "title": hit.title, "created_at": format_instant(hit.created_at_us)}
            for hit in self.hits
        ]
        told = [] if self.story is None else [chunk.id for chunk in self.story.chunks]
        return {"title": self.title, "line": self.line, "outcome": self.outcome, "hits": hits, "chain": told}


@command("demo", "lamina demo", "lamina demo --keep tour && lamina --vault tour recall 'who is on call'")
@click.option("--keep", type=click.Path(path_type=Path), metavar="PATH", help="Create the vault there and keep it.")
def demo(call: Call, keep: Path | None) -> None:
    """Show what Lamina does on a small vault of its own.

    Needs nothing and leaves nothing behind; your own vault is not touched.
    """
    with _folder(keep) as root:
        steps = list(tour(root))
    document = {
        "vault": None if keep is None else str(keep),
        "notes": len(NOTES),
        "steps": [step.to_dict() for step in steps],
    }
    call.answer(document, lambda: _lines(steps, keep))


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="lamina-demo-") as folder:
            yield Path(folder) / "vault"
        return
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise VaultExists(f"{keep} is there already; give --keep a folder that is empty or does not exist yet")
    yield keep


def tour(root: Path) -> Iterator[Step]:
    """Make the vault and walk through it.

    Parameters
    ----------
    root : Path
        Where the vault is made.
    """
    clock = FixedClock(NOTES[0].created_at)
    with open_vault(root, create=True, embedder="wordllama", clock=clock) as vault:
        yield _filled(vault, clock)
        yield _asked(vault, "By meaning: the note has none of these words", "buyers were overcharged", k=1)
        yield _asked(vault, "By words: identifiers too, whole and in their parts", "label_ttl_days", k=1)
        yield _asked(vault, "In scripts without spaces", "東京の倉庫は何時から", k=1)
        incidents = {"type": "incident", "project": "tracking-api"}
        yield _asked(vault, "Filtered: the search itself, not what it found", "database trouble", where=incidents)
        may: dict[str, Any] = {"since": "2026-05-01", "until": "2026-06-01"}
        yield _asked(vault, "In a window of time: since ≤ created_at < until", "scanners at the depot", **may)
        yield _asked(vault, "Whatever its age: of two guidelines, the better match leads", "how do we deploy")
        dated: dict[str, Any] = {"profile": "temporal", "now": TODAY}
        yield _asked(vault, "By age as well: each kind of memory fades at its own pace", "how do we deploy", **dated)
        yield _invalidated(vault, clock)
        yield _asked(vault, "What holds now", _SESSIONS, k=1)
        yield _asked(vault, "What we knew then: the same question, asked in March", _SESSIONS, k=1, as_of="2026-03-31")
        yield _asked(vault, "Why: the parts that every score is made of", "slow pages", k=1, explain=True)
        yield _grouped(vault)
        yield _known(vault)
        yield _told(vault)


def _filled(vault: Vault, clock: FixedClock) -> Step:
    """Add each note on the day it was written: the vault remembers when it learned what."""
    for note in NOTES:
        _move(clock, note.created_at)
        vault.add({**note._asdict(), "tags": list(note.tags)})
    first = NOTES[0]
    line = f'vault.add("{first.text[:24]}…", type="{first.type}", created_at="{first.created_at}", …)'
    return Step("Adding the notes of an invented team, half a year of them", line, outcome=f"{len(NOTES)} notes added")


def _invalidated(vault: Vault, clock: FixedClock) -> Step:
    _move(clock, TODAY)
    id_, reason = REPLACED
    chunk = vault.invalidate(id_, reason)
    line = shlex.join(["lamina", "invalidate", id_, "--reason", reason])
    return Step("When a note stops being true: marked, never overwritten", line, outcome=f"{id_} is {chunk.status}")


def _grouped(vault: Vault) -> Step:
    report = vault.cluster(min_cluster_size=2)
    named = [f"{topic.name} ({topic.size})" for topic in vault.topics() if not topic.children]
    outcome = f"{report.topics} topics, {report.noise} notes in none: {', '.join(named)}"
    return Step(
        "Topics, by density alone, named by their words", "lamina cluster --min-cluster-size 2", outcome=outcome
    )


def _known(vault: Vault) -> Step:
    """Say what has one right answer, and ask for it by another name."""
    for value, since, source in (("7411", "2026-01-10", "runbook.md"), ("7500", "2026-05-04", "ports.md")):
        vault.facts.add("Relay", "port", value, valid_from=since, source=source)
    vault.facts.alias("the label gateway", "Relay")
    query = "what port does the label gateway run on?"
    best = vault.facts.ask(query)[0]
    [former] = [fact.value for fact in vault.facts.about("Relay", valid_at="2026-03-01")]
    outcome = f"{best.subject} {best.key} {best.value} · {best.source} (in March it was {former})"
    return Step(
        "What has one right answer: facts, with their sources and times", f"lamina facts ask '{query}'", outcome=outcome
    )


def _told(vault: Vault) -> Step:
    """Add a session, link its chunks in order, and ask how it came to its end."""
    vault.add([{**note._asdict(), "title": None, "tags": [], "session": "s609", "agent": "claude"} for note in SESSION])
    for before, after in pairwise(SESSION):
        vault.link(before.id, after.id, "next")
    query = "big batches come out blank"
    story = vault.chain(query)
    return Step(
        "How did we get here: the chain of a session, from the hit back", f"lamina chain '{query}'", story=story
    )


def _move(clock: FixedClock, date: str) -> None:
    clock.advance((FixedClock(date).now_us() - clock.now_us()) / US_PER_S)


def _asked(vault: Vault, title: str, query: str, *, k: int = 2, explain: bool = False, **options: Any) -> Step:
    hits = vault.recall(query, k, **options)
    return Step(title, _command_line(query, k, explain=explain, **options), hits=tuple(hits), explain=explain)


def _command_line(query: str, k: int, *, explain: bool, where: Mapping[str, str] | None = None, **options: str) -> str:
    named = {**(where or {}), **{name.replace("_", "-"): value for name, value in options.items()}}
    words = [f"'{query}'", f"-k {k}", *(f"--{name} {value}" for name, value in named.items())]
    return " ".join(["lamina recall", *words, *(["--explain"] if explain else [])])


def _lines(steps: Sequence[Step], keep: Path | None) -> Iterator[str]:
    for number, step in enumerate(steps, 1):
        yield bold(f"{number}. {step.title}")
        yield f"    {'$' if step.line.startswith('lamina ') else '>>>'} {step.line}"
        if step.outcome:
            yield f"    {step.outcome}"
        for rank, hit in enumerate(step.hits, 1):
            yield from hit_lines(hit, rank, explain=step.explain, most=2)
        if step.story is not None:
            yield from (f"    {line}" for line in story_lines(step.story))
        yield ""
    if keep is None:
        yield "This vault is gone again. `lamina demo --keep tour` makes one that stays, to try the lines above on:"
    else:
        yield "The vault stays there, to try the lines above on:"
    place = shlex.quote(str(keep or "tour"))
    yield f"    $ lamina --vault {printable(place)} recall '{_SESSIONS}'"
