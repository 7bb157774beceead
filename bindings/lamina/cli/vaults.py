"""Commands about a whole vault: make one, count it, carry it elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from lamina_engine import config
from lamina_engine.clock import zone
from lamina_engine.embed.resolve import resolve
from lamina_engine.errors import VaultExists, VaultNotFound

from lamina.cli.command import Call, EmbedderOption, command
from lamina.cli.embedders import chosen_name
from lamina.cli.filters import CollectionOption, ProjectOption, TypeOption, WhereOption, merged_where
from lamina.cli.terminal import printable, table
from lamina.vault import DEFAULT_PATH, ENVIRONMENT, open_vault


@command("lamina init", "lamina init --vault ~/memory --name team --tz Europe/Berlin")
def init(
    call: Call,
    name: Annotated[str | None, typer.Option("--name", help="The vault's name; its folder's unless given.", show_default=False)] = None,
    embedder: EmbedderOption = None,
    tz: Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="Zone in which dates without one are read; UTC unless given.")] = None,
) -> None:
    """Make a vault. Where there is one already it stays as it is."""
    root = Path(call.vault or os.environ.get(ENVIRONMENT) or DEFAULT_PATH)
    made = not _is_vault(root, trust=call.trust)
    if made:
        _make(root, name, chosen_name(embedder) or config.Embedding().model, tz or "UTC", trust=call.trust)
    elif name or embedder or tz:
        raise VaultExists(f"{root} is a vault already; its name and time zone are edited in {root / config.FILE}, its model is changed by a reindex")
    settings = config.load(root)
    document = {"path": str(root), "made": made, "name": settings.name, "tz": settings.tz, "embedding": {"model": settings.embedding.model}}

    def lines() -> Iterator[str]:
        yield f"{'Made the vault' if made else 'There is a vault already at'} {printable(str(root))}"
        yield from table([("name", printable(settings.name)), ("time zone", settings.tz), ("model", settings.embedding.model)], indent=2)

    call.answer(document, lines)


def _is_vault(root: Path, *, trust: bool) -> bool:
    try:
        open_vault(root, mode="r", trust=trust).close()
    except VaultNotFound:
        return False
    return True


def _make(root: Path, name: str | None, model: str, tz: str, *, trust: bool) -> None:
    """Make the vault, then its configuration: one that lies there already (copied from elsewhere) is kept."""
    zone(tz)
    if model != "custom":
        resolve(model)  # says now, and not at the first note, that a model's package is missing
    written = (root / config.FILE).exists()
    folder = root.resolve()
    open_vault(root, create=True, embedder="none", trust=trust).close()
    if not written:
        own = folder.parent.name if folder.name == DEFAULT_PATH else folder.name
        temporary = root / f"{config.FILE}.new"
        temporary.write_text(config.initial(name if name is not None else own, model, tz), encoding="utf-8")
        temporary.replace(root / config.FILE)


@command("lamina stats", "lamina stats --json | jq .chunks")
def stats(call: Call) -> None:
    """Count what the vault holds."""
    with call.open(mode="r") as vault:
        counts = vault.stats()
    call.answer(counts, lambda: _stat_lines(counts))


def _stat_lines(counts: Mapping[str, Any]) -> Iterator[str]:
    for name, value in counts.items():
        if isinstance(value, Mapping):
            yield f"{name}"
            yield from table(((str(key), _number(inner)) for key, inner in value.items()), indent=2)
        else:
            yield f"{name:<10}  {_size(value) if name == 'bytes' else _number(value)}"


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


@command("lamina export notes.jsonl", "lamina export api.parquet --format parquet --project api")
def export(
    call: Call,
    path: Annotated[Path, typer.Argument(help="The file to write.", show_default=False)],
    format: Annotated[str | None, typer.Option("--format", help="jsonl or parquet; by the file's name unless given.", show_default=False)] = None,
    where: WhereOption = None,
    project: ProjectOption = None,
    type: TypeOption = None,
    collection: CollectionOption = None,
) -> None:
    """Write the vault's chunks to a file that `lamina import` reads."""
    kind = format or ("parquet" if path.suffix.lower() in (".parquet", ".pq") else "jsonl")
    chosen = merged_where(where, project=project, type=type, collection=collection)
    with call.open(mode="r") as vault:
        count = vault.export(path, kind, where=chosen)
    document = {"path": str(path), "format": kind, "chunks": count}
    call.answer(document, lambda: [f"wrote {count:,} {'chunk' if count == 1 else 'chunks'} to {printable(str(path))} ({kind})"])


@command("lamina import notes.jsonl")
def import_(
    call: Call,
    path: Annotated[Path, typer.Argument(help="A file that `lamina export` wrote.", show_default=False)],
    embedder: EmbedderOption = None,
) -> None:
    """Add what `lamina export` wrote; ids, dates and metadata are kept."""
    with call.open(embedder=embedder) as vault:
        ids = vault.import_(path)
    document = {"path": str(path), "chunks": len(ids), "ids": ids}
    call.answer(document, lambda: [f"read {len(ids):,} {'chunk' if len(ids) == 1 else 'chunks'} from {printable(str(path))}"])
