"""Commands about a whole vault: make one, count it, carry it elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lamina.cli.command import Call, command, embedder_option
from lamina.cli.embedders import CUSTOM, chosen_name
from lamina.cli.filters import Where, filter_options
from lamina.cli.terminal import printable, table
from lamina.vault import DEFAULT_PATH, ENVIRONMENT, open_vault
from lamina_engine import config
from lamina_engine.clock import zone
from lamina_engine.errors import VaultExists, VaultNotFound

if TYPE_CHECKING:
    from lamina.options import ExportFormat


@command("init", "lamina init", "lamina init --vault ~/memory --name team --tz Europe/Berlin")
@click.option("--name", metavar="TEXT", help="Name of the vault. [default: its folder's name]")
@click.option("--tz", metavar="ZONE", help="Time zone of dates without one. [default: UTC]")
@embedder_option
def init(call: Call, name: str | None, tz: str | None, embedder: str | None) -> None:
    """Create a vault; an existing one stays as it is."""
    root = Path(call.vault or os.environ.get(ENVIRONMENT) or DEFAULT_PATH)
    made = not _is_vault(root, trust=call.trust)
    kept = not made or (root / config.FILE).exists()
    if kept and (name or embedder or tz):
        options = "--name, --tz and --embedder"
        raise VaultExists(f"{root} is set up already; edit {root / config.FILE}, or leave out {options}")
    if made:
        model = chosen_name(embedder) or config.Embedding().model
        _make(root, None if kept else _settings(root, name, model, tz or "UTC"))
    settings = config.load(root)
    model = settings.embedding.model
    document = {
        "path": str(root),
        "made": made,
        "name": settings.name,
        "tz": settings.tz,
        "embedding": {"model": model},
    }
    facts = [("name", printable(settings.name)), ("time zone", settings.tz), ("model", model)]
    heading = f"{'Made the vault' if made else 'There is a vault already at'} {printable(str(root))}"
    call.answer(document, lambda: [heading, *table(facts, indent=2)])


def _is_vault(root: Path, *, trust: bool) -> bool:
    try:
        open_vault(root, mode="r", trust=trust).close()
    except VaultNotFound:
        return False
    return True


def _settings(root: Path, name: str | None, model: str, tz: str) -> str:
    """Return the text of ``vault.toml``, once its values are known to work."""
    from lamina_engine.embed.resolve import resolve

    zone(tz)
    if model != CUSTOM:
        resolve(model)  # says now, and not at the first note, that a model's package is missing
    folder = root.resolve()
    own = folder.parent.name if folder.name == DEFAULT_PATH else folder.name
    return config.initial_text(own if name is None else name, model, tz)


def _make(root: Path, settings: str | None) -> None:
    """Make an empty vault, and its ``vault.toml`` unless one lies there already, copied from elsewhere."""
    open_vault(root, create=True, embedder="none").close()
    if settings is not None:
        temporary = root / f"{config.FILE}.new"
        temporary.write_text(settings, encoding="utf-8")
        temporary.replace(root / config.FILE)


@command("stats", "lamina stats", "lamina stats --json | jq .chunks")
def stats(call: Call) -> None:
    """Show counts and sizes."""
    with call.open(mode="r") as vault:
        counts = vault.stats()
    call.answer(counts, lambda: _stat_lines(counts))


def _stat_lines(counts: Mapping[str, Any]) -> Iterator[str]:
    for name, value in counts.items():
        if not isinstance(value, Mapping):
            yield f"{name:<10}  {_size(value) if name == 'bytes' else _number(value)}"
        elif value:
            yield name
            yield from table(((str(key), _number(inner)) for key, inner in value.items()), indent=2)


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


@command("export", "lamina export notes.jsonl", "lamina export api.parquet --project api")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--format", type=click.Choice(["jsonl", "parquet", "clawpy", "facts", "links", "graph-json"]),
    help="Format. [default: taken from the file name]",
)  # fmt: skip
@filter_options
def export(call: Call, path: Path, format: ExportFormat | None, where: Where | None) -> None:
    """Write chunks, facts or links to a file.

    Facts and links go into files of their own, which are imported after the chunks.
    """
    kind: ExportFormat = format or ("parquet" if path.suffix.lower() in (".parquet", ".pq") else "jsonl")
    with call.open(mode="r") as vault:
        count = vault.export(path, kind, where=where)
    what = {"facts": "fact", "graph-json": "fact", "links": "link"}.get(kind, "chunk")
    said = f"{count:,} {what if count == 1 else f'{what}s'}"
    document = {"path": str(path), "format": kind, f"{what}s": count}
    call.answer(document, lambda: [f"wrote {said} to {printable(str(path))} ({kind})"])


@command("import", "lamina import notes.jsonl")
@click.argument("path", type=click.Path(path_type=Path))
@embedder_option
def import_(call: Call, path: Path, embedder: str | None) -> None:
    """Read a file that export wrote; ids, dates and metadata are kept."""
    with call.open(embedder=embedder) as vault:
        ids = vault.import_(path)
    document = {"path": str(path), "chunks": len(ids), "ids": ids}
    call.answer(document, lambda: [f"read {_chunks(len(ids))} from {printable(str(path))}"])


def _chunks(count: int) -> str:
    return f"{count:,} {'chunk' if count == 1 else 'chunks'}"
