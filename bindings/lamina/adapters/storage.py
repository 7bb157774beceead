"""Vaults behind adapters: opening, documents by exact id, filters on metadata."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

import lamina
from lamina import CallableEmbedder, InvalidArgument, Vault

if TYPE_CHECKING:
    from lamina.options import PathLike

Embed = Callable[[list[str]], Any]
"""Takes texts, returns an array-like of shape (texts, d)."""


def open_storage(vault: Vault | PathLike, embed: Embed | None, model: object, dim: int | None = None) -> Vault:
    """Return an open vault as it is, or open the one at a path, made where there is none."""
    if isinstance(vault, Vault):
        return vault
    embedder = None if embed is None else CallableEmbedder(embed, dim, name_model(model))
    return lamina.open(vault, create=True, embedder=embedder)


def name_model(model: object) -> str:
    """Return one line that changes when a framework's embedding model does."""
    kind = type(model)
    name = getattr(model, "model", None) or getattr(model, "model_name", None)
    return f"{kind.__module__}.{kind.__qualname__}" + (f":{name}" if isinstance(name, str) else "")


def plain_json(value: object, what: str) -> Any:
    """Return a value as JSON has it, whatever a model or a tool put into it."""
    try:
        return msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(f"{what} is no JSON: {error}; nothing was written") from error


def chunks_by_id(vault: Vault, ids: Sequence[str], where: Mapping[str, object]) -> dict[str, lamina.Chunk]:
    """Return the chunks with exactly these ids that a filter accepts; unknown ids are left out."""
    if not ids:
        return {}
    return {chunk.id: chunk for chunk in vault.list({**where, "id": {"in": list(ids)}}, None)}


def delete_chunks(vault: Vault, ids: Sequence[str], where: Mapping[str, object]) -> list[str]:
    """Erase the chunks with exactly these ids that a filter accepts; return the ids erased."""
    found = list(chunks_by_id(vault, ids, where))
    if found:
        with contextlib.suppress(lamina.ChunkNotFound):  # another process was first
            vault.forget(found, dry_run=False)
    return found


def metadata_filter(given: Mapping[str, object]) -> dict[str, object]:
    """Return a filter whose fields are keys of the metadata."""
    found: dict[str, object] = {}
    for name, value in given.items():
        if name in ("AND", "OR", "NOT"):
            parts = value if isinstance(value, list | tuple) else [value]
            found[name] = [metadata_filter(part) if isinstance(part, Mapping) else part for part in parts]
        else:
            found[f"metadata.{name}"] = value
    return found
