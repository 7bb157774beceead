"""Commands about a whole vault, from init to reindex."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import click

from lamina import location
from lamina.cli.command import (
    CUSTOM,
    EMBEDDERS,
    PROBLEM,
    Call,
    FilePath,
    Where,
    command,
    embedder_choice,
    embedder_name,
    embedder_option,
    executor_options,
    filter_options,
    number_option,
    quiet_libraries,
)
from lamina.cli.terminal import chunk_table, clip, columns, count_of, dim, printable, short_id, table
from lamina.vault import open_vault, vault_path, vault_place, write_settings
from lamina_engine import config
from lamina_engine.clock import zone
from lamina_engine.errors import VaultExists, VaultNotFound

if TYPE_CHECKING:
    from lamina.options import ExportFormat, ShardKey
    from lamina_engine.care.compaction import CompactReport
    from lamina_engine.care.forgetting import ForgetReport
    from lamina_engine.care.verify import VerifyReport
    from lamina_engine.reports import Progress
    from lamina_engine.results import Chunk
    from lamina_engine.sessions.judged import JudgingReport
    from lamina_engine.shards.making import ShardReport


@command(
    "init", "lamina init", "lamina init --user", "lamina init --vault ~/memory --name team --tz Europe/Berlin",
)  # fmt: skip
@click.option("--user", is_flag=True, help="Make your own vault: used wherever no folder has one.")
@click.option("--name", metavar="TEXT", help="Name of the vault. [default: its folder's name]")
@click.option("--tz", metavar="ZONE", help="Time zone of dates without one. [default: UTC]")
@embedder_option
def init(call: Call, user: bool, name: str | None, tz: str | None, embedder: str | None) -> None:
    """Create a vault; an existing one stays as it is.

    The vault is made in ./.lamina, or where --vault or $LAMINA_VAULT say. Every command finds it from the folders below,
    up to the root of a repository. The vault is readable by you alone, and ignored by git.
    """
    if user and call.vault:
        raise click.UsageError("give either --user or --vault")
    place = location.user_vault() if user else call.vault or os.environ.get(location.ENVIRONMENT) or location.FOLDER
    made = not _is_vault(place, trust=call.trust)
    root = vault_path(place)
    kept = not made or (root / config.FILE).exists()
    if kept and (name or embedder or tz):
        options = "--name, --tz and --embedder"
        raise VaultExists(f"{place} is set up already; edit its {config.FILE}, or leave out {options}")
    if made:
        model = embedder_name(embedder) or config.Embedding().model
        _make(place, None if kept else _settings(place, name, model, tz or "UTC"))
        from lamina.trust import record_trust

        with contextlib.suppress(OSError):  # asked only where git tracks the vault some day, or its owner changes
            record_trust(root)
    settings = config.load(root)
    model = settings.embedding.model
    document = {"path": place, "made": made, "name": settings.name, "tz": settings.tz, "embedding": {"model": model}}
    facts = [("name", printable(settings.name)), ("time zone", settings.tz), ("model", model)]
    heading = f"{'Made the vault' if made else 'There is a vault already at'} {printable(place)}"
    call.answer(document, lambda: [heading, *table(facts, indent=2)])


def _is_vault(place: str, *, trust: bool) -> bool:
    try:
        open_vault(place, mode="r", trust=trust).close()
    except VaultNotFound:
        return False
    return True


def _settings(place: str, name: str | None, model: str, tz: str) -> str:
    """Return the text of ``vault.toml``, once its values are known to work."""
    from lamina_engine.embed.resolve import resolve

    zone(tz)
    if model != CUSTOM:
        resolve(model)  # fail now, not at the first note, if a package is missing
    folder = Path(urlsplit(place).path or "vault") if location.is_url(place) else Path(place).resolve()
    own = folder.parent.name if folder.name == location.FOLDER else folder.name
    return config.initial_text(own if name is None else name, model, tz)


def _make(place: str, settings: str | None) -> None:
    """Make an empty vault; its ``vault.toml`` too, unless one was copied there."""
    with open_vault(place, create=True, embedder="none") as vault:
        if settings is not None:
            write_settings(vault, settings)


@command("trust", "lamina trust", "lamina trust ~/src/shop/.lamina")
@click.argument("path", required=False, type=FilePath(path_type=Path))
def trust(call: Call, path: Path | None) -> None:
    """Trust a vault that came with a clone, or belongs to another user.

    Until then it is read, never written, and hooks and MCP do not open it. PATH is the vault, by default the one of the
    working directory. Trust is kept in your own settings, for this vault at this place.
    """
    from lamina.trust import record_trust
    from lamina_engine.store.manifest import CURRENT

    root = vault_path(path if path is not None else call.vault)
    if not (root / CURRENT).exists() and (root / location.FOLDER).is_dir():
        root /= location.FOLDER  # the folder of a project was named
    place = record_trust(root)
    call.answer({"path": str(place), "trusted": True}, lambda: [f"Trusted {printable(str(place))}"])


@command("stats", "lamina stats", "lamina stats --json | jq .chunks", "lamina stats --content --json")
@click.option("--content", is_flag=True, help="Only what the vault holds now: equal after export and import.")
def stats(call: Call, content: bool) -> None:
    """Show counts and sizes."""
    with call.open(mode="r") as vault:
        counts = vault.content() if content else vault.stats()
    call.answer(counts, lambda: _stat_lines(counts))


def _stat_lines(counts: Mapping[str, Any]) -> Iterator[str]:
    for name, value in counts.items():
        if value is None:
            continue
        if not isinstance(value, Mapping):
            yield f"{name:<10}  {_size(value) if name == 'bytes' else _number(value)}"
        elif value:
            yield name
            yield from table(((str(key), _number(inner)) for key, inner in value.items()), indent=2)


@command("judge", "lamina judge", "lamina judge --max-tokens 50000 --json")
@number_option("--max-tokens", 500_000, "Maximum number of tokens.")
@click.option("--max-requests", type=int, metavar="N", help="Maximum number of requests.")
def judge(call: Call, max_tokens: int, max_requests: int | None) -> None:
    """Ask the language model behind $LAMINA_JUDGE_URL what waits for it.

    It writes observations of captured sessions, then judges links and finds causes. Hooks do so in the background;
    what could not be asked then waits, and "lamina stats" says why.
    """
    from lamina_engine.embed.chat import Budget

    with call.open() as vault:
        report = vault.judge(budget=Budget(max_requests, max_tokens))
    call.answer(report.to_dict(), lambda: _judging_lines(report))


def _judging_lines(report: JudgingReport) -> Iterator[str]:
    made = (
        count_of(report.observations, "observation"),
        count_of(report.facts, "new fact"),
        count_of(report.links, "new link"),
    )
    yield f"{', '.join(made)}  ({count_of(report.requests, 'request')}, {count_of(report.tokens, 'token')})"
    if (ended := report.summary()) is not None:
        yield printable(ended)


def _number(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_number(inner)}" for key, inner in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else printable(str(value))


def _size(count: int) -> str:
    size, unit = float(count), "bytes"
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{count:,} bytes" if unit == "bytes" else f"{size:.1f} {unit}"


@command(
    "export", "lamina export notes.jsonl", "lamina export api.parquet --project api",
    "lamina export - | lamina import - --vault copy",
)  # fmt: skip
@click.argument("path", type=FilePath(path_type=Path, allow_dash=True))
@click.option(
    "--format", type=click.Choice(["jsonl", "parquet", "clawpy", "facts", "links", "graph-json"]),
    help="Format. [default: taken from the file name]",
)  # fmt: skip
@filter_options
def export(call: Call, path: Path, format: ExportFormat | None, where: Where | None) -> None:
    """Write everything in the vault to a file that import reads; - writes standard output.

    Chunks with their states and reasons, sources, facts, links and topics; with a filter, chunks and the links between
    them. The suffix says the format: .jsonl or .parquet; --format chooses the forms for other programs.
    """
    kind = format or ("parquet" if path.suffix.lower() in (".parquet", ".pq") else "jsonl")
    noun = {"facts": "fact", "graph-json": "fact", "links": "link"}.get(kind, "chunk")
    rest = " and all that is known of them" if kind in ("jsonl", "parquet") else ""
    with contextlib.ExitStack() as stack:
        vault = stack.enter_context(call.open(mode="r"))
        if str(path) == "-":
            aside = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "export"
            count = vault.export(aside, format, where=where)
            with aside.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.flush()
            print(f"lamina: wrote {count_of(count, noun)}{rest} ({kind})", file=sys.stderr)
            return
        count = vault.export(path, format, where=where)
    document = {"path": str(path), "format": kind, f"{noun}s": count}
    call.answer(document, lambda: [f"wrote {count_of(count, noun)}{rest} to {printable(str(path))} ({kind})"])


@command("import", "lamina import notes.jsonl", "lamina import - < notes.jsonl")
@click.argument("path", type=FilePath(path_type=Path, allow_dash=True))
@click.option("--forgotten", is_flag=True, help="Bring back what was forgotten here.")
@embedder_option
def import_(call: Call, path: Path, forgotten: bool, embedder: str | None) -> None:
    """Read a file that export wrote; - reads standard input.

    Ids, dates, states and reasons are kept. What this vault has seen before stays as it is now: an older export brings nothing back
    that was forgotten or edited.
    """
    with contextlib.ExitStack() as stack:
        vault = stack.enter_context(call.open(embedder=embedder))
        given = path
        if str(path) == "-":
            given = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "standard input"
            with given.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        ids = vault.import_(given, forgotten=forgotten)
        here = vault.count({"id": {"in": ids}, "status": {"in": _THERE}}) if ids else 0
    missing = len(set(ids)) - here
    document = {"path": str(path), "chunks": len(ids), "ids": ids, "forgotten": missing}
    told = "standard input" if str(path) == "-" else printable(str(path))
    call.answer(document, lambda: [f"read {count_of(len(ids), 'chunk')} from {told}"])
    if missing and not call.as_json:
        print(
            f"lamina: {count_of(missing, 'chunk')} of it forgotten here: left out; --forgotten brings them back",
            file=sys.stderr,
        )


_THERE: Final = ["active", "invalidated", "removed", "archived"]


_SHOWN = 20


@command(
    "forget",
    "lamina forget 4f1c09a2b7",
    "lamina forget 4f1c09a2b7 --yes",
    'lamina forget --where \'{"session": "2026-03-01"}\' --yes',
    'lamina forget --query "salary of Anna" --threshold 0.7',
)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--query", metavar="TEXT", help="Forget chunks that are like this text.")
@number_option("--threshold", 0.6, "Least likeness to the query.", click.FloatRange(0.0, 1.0, min_open=True))
@filter_options
@click.option("--yes", is_flag=True, help="Erase; without it chunks are only counted.")
def forget(
    call: Call, ids: tuple[str, ...], query: str | None, threshold: float, where: Where | None, yes: bool
) -> None:
    """Erase every byte of some chunks, for good.

    Without --yes nothing changes: what would go is counted and listed. Backups and exports are not reached.
    """
    if bool(ids) == bool(where or query):
        raise click.UsageError(
            "give ids, or a filter (--where, --project, --type, --collection) or --query, and not both"
        )
    with call.open(mode="w" if yes else "r") as vault:
        report = vault.forget(list(ids) or None, not yes, where=where, query=query, threshold=threshold)
        shown = [] if yes or call.as_json else vault.get_many(report.ids[:_SHOWN])
    call.answer(report.to_dict(), lambda: _forget_lines(report, shown))
    if report.dry_run and report.chunks and not call.as_json:
        print("lamina: nothing was changed; --yes forgets them for good", file=sys.stderr)


def _forget_lines(report: ForgetReport, shown: Sequence[Chunk]) -> Iterator[str]:
    if report.likeness and shown:
        room = columns() - 20
        for score, chunk in zip(report.likeness, shown, strict=False):
            yield f"{score:.3f}  {short_id(chunk.id):<12}  {clip(printable(chunk.title or chunk.text[:400]), room)}"
    else:
        yield from chunk_table(shown)
    if report.chunks > len(shown) > 0:
        yield f"and {report.chunks - len(shown):,} more"
    if report.likeness:
        yield f"likeness {report.likeness[-1]:.3f} to {report.likeness[0]:.3f}, median {report.median or 0.0:.3f}"
    yield f"{'would forget' if report.dry_run else 'forgot'} {count_of(report.chunks, 'chunk')}"
    names = ("rows", "vectors", "events", "sources", "links", "facts")
    yield from table(((name, f"{getattr(report, name):,}") for name in names), indent=2)


@command("compact", "lamina compact")
def compact(call: Call) -> None:
    """Join small files of the log; nothing is lost."""
    with call.open() as vault:
        report = vault.compact()
    call.answer(report.to_dict(), lambda: [_compact_line(report)])


def _compact_line(report: CompactReport) -> str:
    if report.segments_before == report.segments_after:
        return f"nothing to join: {count_of(report.segments_after, 'file')}"
    return f"joined {count_of(report.segments_before, 'file')} into {report.segments_after:,}"


@command("backup", "lamina backup ~/backups/memory-2026-03-01")
@click.argument("path", type=FilePath(path_type=Path))
def backup(call: Call, path: Path) -> None:
    """Copy the vault while others use it."""
    with call.open(mode="r") as vault:
        report = vault.snapshot(path)
    size = f"{count_of(report.rows, 'row')}, {report.bytes:,} bytes"
    call.answer(report.to_dict(), lambda: [f"copied version {report.version} ({size}) to {printable(report.path)}"])


@command(
    "shard", "lamina shard .lamina s3://my-bucket/team --shards 8", "lamina shard ~/sharded --shards 2 --by project"
)
@click.argument("places", nargs=-1, required=True, metavar="[VAULT] ADDRESS")
@number_option("--shards", 8, "Number of shards.")
@click.option(
    "--by", type=click.Choice(["source", "project"]), default="source", show_default=True,
    help="What is kept together in one shard.",
)  # fmt: skip
def shard(call: Call, places: tuple[str, ...], shards: int, by: ShardKey) -> None:
    """Copy the vault into a new sharded one, which gives the same answers.

    ADDRESS is an empty or new folder, or an address on object storage. VAULT stays as it is, and may be sharded itself: the
    copy then has another number of shards. Without VAULT the vault is found as for every command.
    """
    *before, address = places
    if len(before) > 1 or (before and call.vault):
        raise click.UsageError("give the address of the new vault, and before it at most one vault to copy")
    source = replace(call, vault=before[0]) if before else call
    with source.open(mode="r") as vault:
        report = vault.shard(address, shards, by=by)
    call.answer(report.to_dict(), lambda: [_shard_line(report, address)])


def _shard_line(report: ShardReport, place: str) -> str:
    rows = f"{sum(report.rows):,} rows, {min(report.rows):,} to {max(report.rows):,} in each"
    return f"{count_of(report.shards, 'shard')} by {report.by} in {printable(place)} ({rows})"


@command("verify", "lamina verify", "lamina verify --deep --json", "lamina verify --repair")
@click.option("--deep", is_flag=True, help="Read every byte of log and indexes, not only names, sizes and order.")
@click.option(
    "--repair",
    is_flag=True,
    help="Write damaged files of the log again with what can be read of them, and name what is lost; point CURRENT to the "
    "newest complete version; remove damaged indexes and older manifests.",
)
def verify(call: Call, deep: bool, repair: bool) -> None:
    """Check the vault against what was written.

    Also works on a vault that cannot be opened. Exit code 1 if a problem is found. Of vault.toml, which people may edit, it checks
    that it can be read. Not checked are queue/ and journal/, and whether older manifests are missing: no row lies in them alone.
    """
    from lamina_engine.care.verify import verify as check

    root, files = vault_place(call.vault)
    if repair and not call.trust:
        from lamina.trust import check_trusted

        check_trusted(root)
    report = check(root, deep=deep, repair=repair, files=files)
    call.answer({"ok": report.ok, **report.to_dict()}, lambda: _verify_lines(report))
    if not report.ok:
        raise click.exceptions.Exit(PROBLEM)


_SINGULAR: Final = {"indexes": "index"}


def _verify_lines(report: VerifyReport) -> Iterator[str]:
    for problem in report.problems:
        yield f"{problem.code}: {printable(problem.where)}: {printable(problem.message)}"
        yield f"  {printable(problem.advice)}"
    if report.repaired:
        yield f"repaired: {printable(report.repaired)}"
    counts = ", ".join(
        count_of(count, _SINGULAR.get(name, name.removesuffix("s")), name)
        for name, count in sorted(report.checked.items())
    )
    yield f"{'ok' if report.ok else count_of(len(report.problems), 'problem')}: {counts}"


_NARROW: Final = ("wordllama-128", "wordllama-64")
_EVENTS: Final = "Append progress to FILE, one JSON object a line (stage, done, total, rate, remaining_s); - is stderr."


@command(
    "reindex",
    "lamina reindex --engine lexical",
    "lamina reindex --embedder minilm --workers 2",
    "lamina reindex --embedder minilm --vault s3://my-bucket/team --ray 10.0.0.5:6379",
    "lamina reindex --embedder wordllama-64 --json --events progress.jsonl",
)
@click.option(
    "--embedder",
    type=click.Choice([*EMBEDDERS, *_NARROW]),
    metavar="NAME",
    help="Model of the new vectors. [default: the vault's own]",
)
@click.option("--engine", type=click.Choice(["lexical", "vectors", "keys"]), help="Rebuild only this index.")
@click.option("--restart", is_flag=True, help="Start over instead of resuming an interrupted run.")
@click.option("--accept", is_flag=True, help="Swap even if recall dropped; wrong counts still stop it.")
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    metavar="SHARE",
    help="Share of recall that may be lost.",
)
@number_option("--batch-rows", 2_048, "Rows per commit.", click.IntRange(1, 65_536))
@executor_options("embed and analyse")
@click.option("--drop-old", is_flag=True, help="Remove the vectors of the former model.")
@click.option("--events", metavar="FILE", help=_EVENTS)
@click.option("--no-progress", is_flag=True, help="Show no progress bar.")
def reindex(
    call: Call,
    embedder: str | None,
    restart: bool,
    events: str | None,
    no_progress: bool,
    spread: dict[str, Any],
    **options: Any,
) -> None:
    """Rebuild indexes and vectors from the log.

    Recall and writes continue while it runs. The new generation replaces the old one if it passes its gate: equal
    counts, and recall on the vault's own titles and headings. After an interruption, run it again to resume.
    Exit code 4: the gate was not passed, and the old generation stays in use.
    """
    chosen = embedder if embedder in _NARROW else embedder_choice(embedder) if embedder else None
    with call.open() as vault, _listener(events, show=not no_progress) as progress, quiet_libraries():
        report = vault.reindex(chosen, not restart, progress=progress, **spread, **options)
    document = report.to_dict()
    call.answer(document, lambda: _reindex_lines(document))


@contextlib.contextmanager
def _listener(events: str | None, *, show: bool) -> Iterator[bool | Callable[[Progress], None]]:
    """Yield the listener of the run: a writer of events to a file, or the progress bar."""
    if events is None:
        yield show
        return
    with contextlib.ExitStack() as stack:
        stream = sys.stderr if events == "-" else stack.enter_context(Path(events).open("a", encoding="utf-8"))

        def write(step: Progress) -> None:
            stream.write(json.dumps(step.to_dict()) + "\n")
            stream.flush()

        yield write


def _reindex_lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"reindexed {count_of(report['rows'], 'row')} in {report['seconds']:.1f} s ({report['rate']:,.0f} rows a second)"
    facts = [("model", printable(report["model"]))] if report["space"] else []
    counts = {
        "embedded": "texts embedded",
        "cached": "rows with the vector of an equal text",
        "resumed": "rows of an earlier run",
    }
    facts += [(f"{report[name]:,}", what) for name, what in counts.items() if report[name]]
    if report["unmatched"]:
        facts.append((f"{report['unmatched']:,}", "rows whose text is not what they were hashed from"))
    for lane, found in report["gate"].get("recall_at_10", {}).items():
        if found["new"] is not None:
            before = "" if found["old"] is None else f" (before {found['old']:.3f})"
            facts.append(
                (lane, f"recall@10 {found['new']:.3f}{before} on {report['gate']['queries']} titles and headings")
            )
    yield from map(dim, table(facts, indent=2))
