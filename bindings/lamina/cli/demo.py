"""``lamina demo``: a tour of a small vault of invented notes."""

from __future__ import annotations

import shlex
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from lamina.cli.command import Call, FilePath, command
from lamina.cli.recalling import hit_lines
from lamina.cli.sessions import story_lines
from lamina.cli.terminal import bold, printable
from lamina.vault import Vault, open_vault
from lamina_engine.clock import US_PER_S, FixedClock, format_instant
from lamina_engine.errors import VaultExists

if TYPE_CHECKING:
    from lamina_engine.results import Hit, Story


class Note(NamedTuple):
    """One memory of the team."""

    id: str
    created_at: str
    type: str
    project: str
    title: str
    text: str
    tags: tuple[str, ...] = ()


NOTES: Final = (
    Note(
        "adr-001", "2025-11-04", "architecture_decision", "tracking-api", "PostgreSQL instead of MongoDB",
        "We keep shipments in PostgreSQL 16. The document store could not give us a unique constraint over "
        "carrier and tracking number, and two of the last five outages were duplicate shipments.",
        ("database",),
    ),
    Note(
        "adr-002", "2025-11-18", "architecture_decision", "tracking-api", "Sessions live in Redis",
        "Login sessions are kept in Redis 7 with a lifetime of 12 hours, so that any web node can answer any "
        "request.",
        ("auth", "database"),
    ),
    Note(
        "conv-tests", "2025-11-20", "guideline", "tracking-api", "How we write tests",
        "Every bug gets a failing test before its fix. Fixtures are plain functions; no test may sleep.",
        ("testing",),
    ),
    Note(
        "note-standup", "2025-12-01", "note", "team", "Stand-up moves",
        "Stand-up is at 9:45 from now on, so that the colleagues in Lisbon can join.",
    ),
    Note(
        "adr-003", "2025-12-09", "architecture_decision", "courier-app", "Maps work without a network",
        "The courier app ships map tiles of the driver's district. Cellars and lifts have no signal, and a "
        "driver who cannot see the next stop calls the office.",
        ("offline",),
    ),
    Note(
        "inc-041", "2025-12-17", "incident", "billing", "Cards charged a second time",
        "A time-out at the payment provider made the nightly job send its request again, and 212 cards were "
        "billed twice. We paid the money back and gave every request an idempotency key.",
        ("payments", "post-mortem"),
    ),
    Note(
        "dep-2025", "2026-01-08", "guideline", "tracking-api", "Deploying: by hand, on Thursdays",
        "To deploy, log in to the build host, run make release and watch the error rate for ten minutes. Only "
        "on Thursdays, never before a holiday.",
        ("deploy",),
    ),
    Note(
        "code-labels", "2026-01-13", "note", "courier-app", "E_LABEL_EXPIRED",
        "The scanner shows E_LABEL_EXPIRED when a label is older than label_ttl_days (30). Print a new one at "
        "the depot; do not raise label_ttl_days, customs reads the printed date.",
        ("scanner",),
    ),
    Note(
        "inc-044", "2026-01-21", "incident", "tracking-api", "Slow Monday mornings",
        "Between 7 and 9 on Mondays pages took eleven seconds. Every depot uploads its weekend scans then, "
        "and the nightly statistics still held locks on the same table. Statistics now run on the replica.",
        ("database", "post-mortem"),
    ),
    Note(
        "tokyo", "2026-01-27", "note", "operations", "東京倉庫からの連絡",
        "東京の倉庫は二月から午前八時に荷物を受け取ります。祝日の配達はありません。",
        ("depot",),
    ),
    Note(
        "team-oncall", "2026-02-02", "guideline", "team", "Who is on call",
        "One person a week, from Tuesday noon to Tuesday noon. The phone is handed over with a sentence about "
        "everything open.",
        ("on-call",),
    ),
    Note(
        "adr-004", "2026-02-11", "architecture_decision", "tracking-api", "Webhooks are retried for a day",
        "A merchant's webhook that fails is retried after 1, 5, 25 and 125 minutes, then hourly for a day. "
        "retry_budget_ms caps one attempt at 4000.",
        ("webhooks",),
    ),
    Note(
        "perf-007", "2026-02-19", "agent_insight", "tracking-api", "Where label rendering spends its time",
        "Nine tenths of rendering a label is parsing the same font. Caching the parsed font took a page of "
        "labels from 1.8 s to 0.2 s.",
        ("performance",),
    ),
    Note(
        "depot-porto", "2026-02-24", "note", "operations", "Porto opens",
        "The Porto depot takes parcels from 2 March. Its scanners arrive a week late; until then they type "
        "the numbers.",
        ("depot",),
    ),
    Note(
        "inc-047", "2026-03-05", "incident", "tracking-api", "Everybody was logged out",
        "Redis ran out of memory and evicted sessions; 9,000 people had to log in again during the morning "
        "peak. We doubled its memory, which buys a few months.",
        ("auth", "post-mortem"),
    ),
    Note(
        "task-311", "2026-03-12", "agent_task", "courier-app", "Battery drain fixed",
        "The location service asked for a fix every second even while parked. It now sleeps until the phone "
        "moves: 40 % less battery over a shift.",
        ("performance",),
    ),
    Note(
        "dep-2026", "2026-03-23", "guideline", "tracking-api", "Deploying: every merge",
        "To deploy, merge. The pipeline releases to one node, compares its error rate with the others for "
        "five minutes and goes on, or back, by itself. Any day, also Fridays.",
        ("deploy",),
    ),
    Note(
        "cust-glass", "2026-03-26", "note", "operations", "Fragile goods",
        "The glass maker wants its boxes never under others. Drivers see a wine glass beside the stop.",
    ),
    Note(
        "adr-005", "2026-04-02", "architecture_decision", "billing", "Invoices in cents",
        "Amounts are whole cents with a currency, never floating point. A merchant found 0.1 + 0.2 on an "
        "invoice.",
        ("payments",),
    ),
    Note(
        "meet-carriers", "2026-04-09", "note", "operations", "Meeting with the carriers",
        "Two carriers will send events by webhook from summer on. The third keeps its nightly CSV by SFTP, in "
        "Latin-1.",
        ("webhooks",),
    ),
    Note(
        "inc-049", "2026-04-16", "incident", "courier-app", "Wrong door photos",
        "Photos of deliveries were attached to the stop before. The upload queue was sorted by file name, and "
        "names begin with the minute, not the hour.",
        ("post-mortem",),
    ),
    Note(
        "sec-keys", "2026-04-21", "guideline", "team", "Keys and passwords",
        "Secrets live in the vault of the cloud provider, never in a repository or a chat. Whoever finds one "
        "elsewhere rotates it first and asks afterwards.",
        ("security",),
    ),
    Note(
        "tz-spring", "2026-04-23", "agent_insight", "tracking-api", "The hour that does not exist",
        "Delivery windows are stored in UTC and shown in the depot's zone. On the last Sunday in March the "
        "window from 2 to 3 is empty in Europe: eta.next_window() must skip it.",
        ("time",),
    ),
    Note(
        "hire", "2026-05-04", "note", "team", "Inês joins",
        "Inês starts on the courier app on 18 May. Her first week is a shift on a van.",
    ),
    Note(
        "adr-006", "2026-05-12", "architecture_decision", "tracking-api", "Sessions move to signed tokens",
        "Login sessions become signed tokens in a cookie, good for an hour and renewed quietly. Nothing has "
        "to be remembered on our side any more, so nothing can be evicted.",
        ("auth",),
    ),
    Note(
        "cost-q2", "2026-05-19", "note", "operations", "What the cloud costs",
        "4,100 a month, a third of it the replica for statistics. Storing door photos for 90 days instead of "
        "365 would save 600.",
    ),
    Note(
        "task-352", "2026-05-22", "agent_task", "tracking-api", "Search by sender's name",
        "Depot staff can find a parcel by the sender's name. A trigram index keeps it under 50 ms; two "
        "letters are too few and are refused.",
        ("performance",),
    ),
    Note(
        "depot-heat", "2026-05-28", "note", "operations", "Heat",
        "Above 32 °C the scanners in Seville switch off. The depot keeps two in the fridge of the break room.",
        ("depot", "scanner"),
    ),
)  # fmt: skip

SESSION: Final = (
    Note(
        "s609-1", "2026-06-09T09:02", "conversation", "tracking-api", "",
        "[User] The spool disk of the printers fills up every week.\n\n"
        "[Assistant] Lowered spool_limit_mb from 200 to 20 on all of them.",
    ),
    Note(
        "s609-2", "2026-06-09T09:20", "conversation", "tracking-api", "",
        "[User] Rename the icons of the menu.\n\n[Assistant] 14 renamed; nothing else used the old names.",
    ),
    Note(
        "s609-3", "2026-06-09T09:41", "conversation", "tracking-api", "",
        "[User] Translate the new hint.\n\n[Assistant] Portuguese and Spanish are in.",
    ),
    Note(
        "s609-4", "2026-06-09T10:05", "conversation", "tracking-api", "",
        "[User] Porto says that big batches come out blank after page forty.\n\n"
        "[Assistant] Reproduced: the rest of a batch is dropped without an error.",
    ),
)  # fmt: skip
"""A session with an agent: what it did first is what it met last."""

REPLACED: Final = ("adr-002", "sessions moved to signed tokens (adr-006)")
"""What stopped being true, and why."""


TODAY: Final = "2026-06-15"
"""The day on which the tour takes place, whatever day it is."""
_PATIENCE_S: Final = 2.0
"""Seconds after which a step says why it takes long."""
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
        chain = [] if self.story is None else [chunk.id for chunk in self.story.chunks]
        return {"title": self.title, "line": self.line, "outcome": self.outcome, "hits": hits, "chain": chain}


@command("demo", "lamina demo", "lamina demo --keep tour && lamina --vault tour recall 'who is on call'")
@click.option("--keep", type=FilePath(path_type=Path), metavar="PATH", help="Create the vault there and keep it.")
def demo(call: Call, keep: Path | None) -> None:
    """Show what Lamina does on a small vault of its own.

    Needs no setup, leaves nothing behind and does not touch your own vault.
    """
    with _folder(keep) as root:
        if call.as_json:
            steps = [step.to_dict() for step in tour(root)]
            vault = None if keep is None else str(keep)
            call.answer({"vault": vault, "notes": len(NOTES), "steps": steps}, tuple)
        else:  # each step as it is done: a first run compiles for half a minute
            call.answer(None, lambda: _lines(_announced(tour(root)), keep))


def _announced(steps: Iterator[Step]) -> Iterator[Step]:
    """Yield steps; one that takes long is explained on a terminal, once."""
    told = threading.Event()

    def tell() -> None:
        if sys.stderr.isatty() and not told.is_set():
            told.set()
            click.echo("lamina: compiling, once after an installation; this takes up to a minute", err=True)

    while True:
        timer = threading.Timer(_PATIENCE_S, tell)
        timer.daemon = True
        timer.start()
        try:
            step = next(steps, None)
        finally:
            timer.cancel()
        if step is None:
            return
        yield step


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
    """Make the vault in a folder, and yield the steps of the tour."""
    clock = FixedClock(NOTES[0].created_at)
    with open_vault(root, create=True, embedder="wordllama", clock=clock) as vault:
        yield _add_step(vault, clock)
        yield _recall_step(vault, "By meaning: the note has none of these words", "buyers were overcharged", k=1)
        yield _recall_step(vault, "By words: identifiers too, whole and in their parts", "label_ttl_days", k=1)
        yield _recall_step(vault, "In scripts without spaces", "東京の倉庫は何時から", k=1)
        incidents = {"type": "incident", "project": "tracking-api"}
        yield _recall_step(vault, "Filtered: the search itself, not what it found", "database trouble", where=incidents)
        may: dict[str, Any] = {"since": "2026-05-01", "until": "2026-06-01"}
        yield _recall_step(vault, "In a window of time: since ≤ created_at < until", "scanners at the depot", **may)
        yield _recall_step(vault, "Whatever its age: of two guidelines, the better match leads", "how do we deploy")
        dated: dict[str, Any] = {"profile": "temporal", "now": TODAY}
        yield _recall_step(
            vault, "By age as well: each kind of memory fades at its own pace", "how do we deploy", **dated
        )
        yield _invalidate_step(vault, clock)
        yield _recall_step(vault, "What holds now", _SESSIONS, k=1)
        yield _recall_step(
            vault, "What we knew then: the same question, asked in March", _SESSIONS, k=1, as_of="2026-03-31"
        )
        yield _recall_step(vault, "Why: the parts that every score is made of", "slow pages", k=1, explain=True)
        yield _topic_step(vault)
        yield _fact_step(vault)
        yield _chain_step(vault)


def _add_step(vault: Vault, clock: FixedClock) -> Step:
    """Add each note on the day it was written: the vault remembers when it learned what."""
    for note in NOTES:
        _move(clock, note.created_at)
        vault.add({**note._asdict(), "tags": list(note.tags)})
    first = NOTES[0]
    line = f'vault.add("{first.text[:24]}…", type="{first.type}", created_at="{first.created_at}", …)'
    return Step("Adding the notes of an invented team, half a year of them", line, outcome=f"{len(NOTES)} notes added")


def _invalidate_step(vault: Vault, clock: FixedClock) -> Step:
    _move(clock, TODAY)
    id_, reason = REPLACED
    chunk = vault.invalidate(id_, reason)
    line = shlex.join(["lamina", "invalidate", id_, "--reason", reason])
    return Step("When a note stops being true: marked, never overwritten", line, outcome=f"{id_} is {chunk.status}")


def _topic_step(vault: Vault) -> Step:
    report = vault.cluster(min_cluster_size=2)
    named = [f"{topic.name} ({topic.size})" for topic in vault.topics() if not topic.children]
    outcome = f"{report.topics} topics, {report.noise} notes in none: {', '.join(named)}"
    return Step(
        "Topics, by density alone, named by their words", "lamina cluster --min-cluster-size 2", outcome=outcome
    )


def _fact_step(vault: Vault) -> Step:
    """Add facts, and ask for one under an alias."""
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


def _chain_step(vault: Vault) -> Step:
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


def _recall_step(vault: Vault, title: str, query: str, *, k: int = 2, explain: bool = False, **options: Any) -> Step:
    hits = vault.recall(query, k, **options)
    return Step(title, _command_line(query, k, explain=explain, **options), hits=tuple(hits), explain=explain)


def _command_line(query: str, k: int, *, explain: bool, where: Mapping[str, str] | None = None, **options: str) -> str:
    named = {**(where or {}), **{name.replace("_", "-"): value for name, value in options.items()}}
    words = [f"'{query}'", f"-k {k}", *(f"--{name} {value}" for name, value in named.items())]
    return " ".join(["lamina recall", *words, *(["--explain"] if explain else [])])


def _lines(steps: Iterable[Step], keep: Path | None) -> Iterator[str]:
    for number, step in enumerate(steps, 1):
        yield bold(f"{number}. {step.title}")
        yield f"    {'$' if step.line.startswith('lamina ') else '>>>'} {step.line}"
        if step.outcome:
            yield f"    {step.outcome}"
        for rank, hit in enumerate(step.hits, 1):
            yield from hit_lines(hit, rank, explain=step.explain)
        if step.story is not None:
            yield from (f"    {line}" for line in story_lines(step.story))
        yield ""
    if keep is None:
        yield "This vault has been removed. `lamina demo --keep tour` keeps it, so that you can try the commands above:"
    else:
        yield "The vault is kept, so that you can try the commands above:"
    place = shlex.quote(str(keep or "tour"))
    yield f"    $ lamina --vault {printable(place)} recall '{_SESSIONS}'"
