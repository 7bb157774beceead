"""Typed errors: one base, and leaves that are also the built-in a caller expects.

A message says what was given, what is allowed and what to do.
"""

from __future__ import annotations


class LaminaError(Exception):
    """Base of every error that Lamina raises on purpose."""


class InvalidArgument(LaminaError, ValueError):
    """A value outside what is allowed: an option, a filter, a date, a vector."""


class InvalidConfig(InvalidArgument):
    """A setting in ``vault.toml``, the environment or a profile that cannot be used."""


class SchemaMismatch(LaminaError, TypeError):
    """A table or record whose columns or types do not fit."""


class ChunkNotFound(LaminaError, KeyError):
    """No chunk has this id."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0]) if self.args else ""


class ChunkExists(LaminaError, ValueError):
    """A chunk has this id already, and the caller asked not to change it."""


class SessionNotFound(ChunkNotFound):
    """No chunk is of this session, or no session came before it."""


class AmbiguousId(LaminaError, LookupError):
    """A short id that several chunks share, or the beginning of several sessions' names."""


class EntityNotFound(LaminaError, KeyError):
    """No entity has this name, alias or id."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0]) if self.args else ""


class AmbiguousEntity(LaminaError, LookupError):
    """A name or alias that several entities have."""


class TopicNotFound(ChunkNotFound):
    """No topic of the clustering in force has this id."""


class VaultNotFound(LaminaError, FileNotFoundError):
    """No vault at this path, or a folder that is not one."""


class VaultExists(LaminaError, FileExistsError):
    """There is something else where a vault was to be made."""


class VaultLocked(LaminaError, BlockingIOError):
    """Another writer holds the vault longer than the caller would wait."""


class VaultReadOnly(LaminaError, PermissionError):
    """A write on a vault opened for reading, or on a folder that cannot be written."""


class VaultUntrusted(LaminaError, PermissionError):
    """A write to a vault that came with a clone or belongs to another user, and is not trusted."""


class VaultCorrupt(LaminaError, OSError):
    """Bytes of the log or manifest that differ from those written."""


class VaultIncomplete(LaminaError, OSError):
    """A write, or a copy of everything, while shards are missing."""


class VaultTooNew(LaminaError, OSError):
    """A vault written by a newer format than this Lamina knows."""


class VaultTooOld(LaminaError, OSError):
    """A vault written in a format that this Lamina no longer reads."""


class StoreUnreachable(LaminaError, ConnectionError):
    """Object storage that does not answer; what is known of a write then is in the message."""


class StoreDenied(LaminaError, PermissionError):
    """Object storage that refuses the credentials of the environment, or has none of them."""


class StoreUnsafe(LaminaError, OSError):
    """Object storage without conditional writes: two writers could lose each other's commits."""


class ClusterUnreachable(LaminaError, ConnectionError):
    """A Ray cluster that does not answer, or has lost every node that could do the work."""


class ClusterBusy(LaminaError, BlockingIOError):
    """Replicas of a served vault with as many calls waiting as they take: try again."""


class CallTimedOut(LaminaError, TimeoutError):
    """A call of a served vault that took longer than its limit; it was given up."""


class EmbeddingError(LaminaError, RuntimeError):
    """An embedder that failed, or gave vectors that cannot be used."""


class EmbedderMismatch(EmbeddingError, ValueError):
    """A vault whose vectors were made by another model than the one in use."""


class ReindexGateError(LaminaError, RuntimeError):
    """A new generation of indexes that did not pass its gate; the old one stays in use."""


class IngestError(LaminaError, OSError):
    """A source that cannot be read at all (single bad files are reported instead)."""


class MissingExtra(LaminaError, ImportError):
    """An optional package that is not installed; ``extra`` adds the command that brings it."""

    def __init__(self, message: str, extra: str | None = None) -> None:
        super().__init__(message if extra is None else f"{message}: {install_command(extra)}")


def name_type(value: object) -> str:
    """Return the type of a value for a message: "an int", "a str", "None"."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def describe_value(name: str, value: object) -> str:
    """Return a value and its type for a message: "limit='x' is a str", "limit is None"."""
    return f"{name} is None" if value is None else f"{name}={value!r} is {name_type(value)}"


def name_cause(error: Exception) -> str:
    """Return why a file cannot be read, without the error's number and path."""
    return getattr(error, "strerror", None) or str(error)


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this copy: a clone, a folder or a distribution."""
    import json
    from importlib import metadata
    from pathlib import Path
    from urllib.parse import unquote, urlsplit

    try:
        found = metadata.distribution("lamina")
        origin = json.loads(found.read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return f'pip install "lamina[{extra}]"'
    place = urlsplit(str(origin.get("url", "")))
    if place.scheme != "file" or "dir_info" not in origin:
        return f'pip install "{found.metadata["Name"]}[{extra}]"'
    folder = Path(unquote(place.path))
    shown = "." if folder == Path.cwd() else folder.as_posix()
    return f'pip install {"-e " if origin["dir_info"].get("editable") else ""}"{shown}[{extra}]"'
