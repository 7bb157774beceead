"""The data dictionary: every column of every log, with its type, unit and meaning.

Each log is append-only. Every row of every log carries ``recorded_at``: when the vault learned it. It is strictly
increasing over all logs of a vault together, but for links, which share the moment of the row that comes after them; so
a moment of recorded time is a row watermark in each of them.
A row's number is its position in its log; it never changes, compaction and forgetting included.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import pyarrow as pa

FORMAT_VERSION = 2
"""Format of the folder; a vault with another number is refused."""

INSTANT = pa.int64()
"""Microseconds since 1970-01-01T00:00:00Z. int64 and not timestamp: zero-copy to NumPy even with nulls elsewhere."""
CATEGORY = pa.dictionary(pa.int32(), pa.string())
"""A string from a small set: its codes are a narrow, zero-copy column for filters and half-lives."""
VERSION = pa.binary(16)
"""BLAKE2b-128 of what is embedded (title, headings, text): the key of the vector cache."""


class Column(NamedTuple):
    """One column of the data dictionary."""

    name: str
    type: pa.DataType
    nullable: bool
    meaning: str
    """Stored as metadata of the Arrow schema: a word changed here changes the bytes of every segment."""


_RECORDED = Column(
    "recorded_at", INSTANT, False, "us UTC; when the vault learned it; strictly increasing over all logs"
)

CHUNKS = (
    _RECORDED,
    Column("id", pa.string(), False, "stable id: assigned when first seen, kept through edits and moves"),
    Column("version", VERSION, False, "hash of title, headings and text; equal version, equal vector"),
    Column("text", pa.large_string(), False, "the chunk's own text, redacted, newlines as \\n"),
    Column("title", pa.string(), True, "title of the source or record"),
    Column("headings", pa.list_(pa.string()), True, "heading path inside the source, outermost first"),
    Column("type", CATEGORY, False, "what it is: decision, note, ...; selects the half-life"),
    Column("collection", CATEGORY, False, "named group; selects the half-life when the type does not"),
    Column("project", CATEGORY, True, "project scope"),
    Column("session", CATEGORY, True, "session scope"),
    Column("agent", CATEGORY, True, "who wrote it"),
    Column("source", pa.string(), True, "path relative to the ingested root's label, or what the caller gave"),
    Column("ordinal", pa.int32(), False, "position among the chunks of its source, from 0; -1 where there is no order"),
    Column("start", pa.int64(), False, "first byte of the chunk in the source file; -1 unknown"),
    Column("stop", pa.int64(), False, "one past its last byte in the source file; -1 unknown"),
    Column("previous", pa.int64(), False, "row of the chunk before it in its source or session when written; -1 none"),
    Column("created_at", INSTANT, True, "us UTC; when it happened or was written; null unknown"),
    Column("tags", pa.list_(pa.string()), True, "tags without '#', in order of appearance"),
    Column("success", pa.bool_(), True, "outcome of a task; null unknown"),
    Column("commit", pa.string(), True, "git commit that was checked out when it was read"),
    Column("blob", pa.string(), True, "git blob id of the source's bytes"),
    Column("metadata", pa.string(), True, "JSON object: everything else the caller gave"),
    Column("role", CATEGORY, True, "what it is beside content: index, test, ...; null for content; lowers its score"),
)
EVENTS = (
    _RECORDED,
    Column(
        "kind",
        CATEGORY,
        False,
        "supersede, invalidate, restore, remove, archive, pin, snooze, review, access, forget, ...",
    ),
    Column("chunk", pa.string(), False, "id of the chunk it is about"),
    Column("row", pa.int64(), False, "row of the chunks log it is about; -1 none"),
    Column("reason", pa.string(), True, "why, in the caller's words"),
    Column("detail", pa.string(), True, "JSON object: stamp and whatever the kind needs"),
)
SOURCES = (
    _RECORDED,
    Column("source", pa.string(), False, "path below its root, with '/'; the key together with root"),
    Column("root", pa.string(), False, "label of the ingested root; stays equal when the root is ingested again"),
    Column("state", pa.string(), False, "present, removed or skipped"),
    Column("digest", pa.binary(16), False, "BLAKE2b-128 of the file's bytes"),
    Column("size", pa.int64(), False, "bytes"),
    Column("mtime_ns", pa.int64(), False, "modification time seen, ns since 1970"),
    Column("commit", pa.string(), True, "git commit seen"),
    Column("blob", pa.string(), True, "git blob id seen"),
    Column(
        "settings", pa.string(), False, "digest of everything but the bytes that shaped its chunks: kind, limits, rules"
    ),
    Column("chunks", pa.list_(pa.string()), False, "ids of its chunks, in order"),
    Column("starts", pa.list_(pa.int64()), False, "first byte of each chunk in the file as it is now"),
    Column("stops", pa.list_(pa.int64()), False, "one past the last byte of each"),
    Column("lines", pa.list_(pa.int64()), False, "line of the file that each begins on, from 1"),
    Column("end_lines", pa.list_(pa.int64()), False, "line of the file that each ends on"),
    Column("links", pa.string(), True, "JSON list of wikilinks and embeds found: target, heading, alias, embed, chunk"),
)
LINKS = (
    _RECORDED,
    Column("source", pa.string(), False, "id of the chunk it starts at"),
    Column("target", pa.string(), False, "id of the chunk it ends at"),
    Column("relation", pa.string(), False, "registered relation"),
    Column("weight", pa.float32(), False, "0 to 1"),
    Column("origin", pa.string(), False, "what made it: user, wikilink, ..."),
    Column("active", pa.bool_(), False, "false where this row withdraws the link"),
    Column("created_at", INSTANT, True, "us UTC; when it came to be"),
    Column("note", pa.string(), True, "reason, in words"),
)

TOPICS = (
    _RECORDED,
    Column("generation", pa.int64(), False, "number of the clustering that made it, from 1; the highest is in force"),
    Column("topic", pa.string(), False, "stable id: kept while most of its members stay together"),
    Column("parent", pa.string(), True, "id of the topic it lies in; null at the top"),
    Column("name", pa.string(), False, "what people call it"),
    Column("words", pa.list_(pa.string()), False, "words that tell it from the others, the best first"),
    Column("size", pa.int64(), False, "chunks in it, those of the topics below it included"),
    Column("persistence", pa.float32(), False, "how long it holds together as the density rises, 0 to 1"),
    Column("medoid", pa.string(), True, "id of its most central chunk"),
    Column("exemplars", pa.list_(pa.string()), False, "ids of chunks that show what it is about, the best first"),
    Column("centroid", pa.list_(pa.float32()), False, "unit vector in the space it was made in"),
)
MEMBERS = (
    _RECORDED,
    Column("generation", pa.int64(), False, "number of the clustering"),
    Column("topic", pa.string(), False, "id of the lowest topic the chunk lies in"),
    Column("chunk", pa.string(), False, "id of the chunk"),
    Column("row", pa.int64(), False, "row of the chunks log that was clustered"),
    Column("probability", pa.float32(), False, "how surely it belongs there, 0 to 1"),
    Column("origin", CATEGORY, False, "tree: by density alone; smoothed, exemplar: brought in by its neighbours"),
)

ORIGINS = (
    _RECORDED,
    Column("chunk", pa.string(), False, "id of the chunk"),
    Column("row", pa.int64(), False, "row of the chunks log that speaks of the file"),
    Column("repository", pa.string(), False, "top of the work tree that the file lies in, absolute, with '/'"),
    Column("path", pa.string(), False, "the file's path below it"),
    Column("commit", pa.string(), True, "git commit that was checked out when the chunk was written or confirmed"),
    Column("blob", pa.string(), True, "git blob id of the file's bytes then"),
)
FRESHNESS = (
    _RECORDED,
    Column("chunk", pa.string(), False, "id of the chunk"),
    Column("row", pa.int64(), False, "row of the chunks log that was judged"),
    Column("tier", CATEGORY, False, "fresh, aging, stale, expired or unknown"),
    Column("reason", CATEGORY, False, "commits, content_changed, deleted, renamed, age, ..."),
    Column("commits", pa.int32(), False, "commits that touched its file since it was written; -1 unknown"),
    Column("review", pa.bool_(), False, "whether the scan found that somebody should look at it"),
    Column("path", pa.string(), True, "where its file is now, below its repository"),
)

FACTS = (
    _RECORDED,
    Column("kind", CATEGORY, False, "fact; or what a row does to an earlier one: close, retract, confidence"),
    Column("amends", pa.int64(), False, "row of the fact whose validity and confidence it says anew; -1 for a fact"),
    Column("subject", pa.int64(), False, "row of the entities log; -1 forgotten"),
    Column("predicate", CATEGORY, False, "in its normal form; see lamina_engine.facts.predicates"),
    Column("target", pa.int64(), False, "row of the entities log, where its object is an entity; else -1"),
    Column("object", pa.string(), True, "its object, where that is a literal"),
    Column("category", CATEGORY, True, "person, project, ...; null where it is the subject's type"),
    Column("source", pa.string(), False, "where it comes from: path, label, or what wrote it"),
    Column("chunk", pa.string(), True, "id of the chunk that says so"),
    Column("confidence", pa.float32(), False, "0 to 1"),
    Column("weight", pa.float32(), False, "above 0, as the caller gave it; kept, and not used"),
    Column("valid_from", INSTANT, True, "us UTC; first instant at which it holds; null since ever"),
    Column("valid_to", INSTANT, True, "us UTC; first instant at which it holds no more; null open"),
    Column("origin", CATEGORY, False, "what wrote it: user, import, seed, ..."),
)
ENTITIES = (
    _RECORDED,
    Column("kind", CATEGORY, False, "entity: its row is its number for ever; merge: one becomes another"),
    Column("entity", pa.int64(), False, "row of the entity that is merged; -1 where the row makes one"),
    Column("into", pa.int64(), False, "row of the entity that it is merged into; else -1"),
    Column("id", pa.string(), False, "canonical id, vault:type:slug"),
    Column("name", pa.string(), False, "as people write it"),
    Column("type", CATEGORY, False, "person, project, ..."),
    Column("chunk", pa.string(), True, "id of the chunk that named it first"),
    Column("origin", CATEGORY, False, "what wrote it"),
)
ALIASES = (
    _RECORDED,
    Column("alias", pa.string(), False, "another name"),
    Column("entity", pa.int64(), False, "row of the entities log; -1 forgotten"),
    Column("active", pa.bool_(), False, "false where this row takes it back"),
    Column("origin", CATEGORY, False, "what wrote it"),
)
PREDICATES = (
    _RECORDED,
    Column("name", pa.string(), False, "in its normal form; the newest row of a name stands"),
    Column("object", pa.string(), False, "entity, literal or any: what its objects are"),
    Column("functional", pa.bool_(), False, "true where a subject has one value at a time"),
    Column("inverse", pa.string(), True, "how a fact reads from its object"),
)

LOGS: dict[str, tuple[Column, ...]] = {
    "chunks": CHUNKS, "events": EVENTS, "sources": SOURCES, "links": LINKS, "topics": TOPICS, "members": MEMBERS,
    "origins": ORIGINS, "freshness": FRESHNESS,
    "facts": FACTS, "entities": ENTITIES, "aliases": ALIASES, "predicates": PREDICATES,
}  # fmt: skip
"""Logs by name; the vectors of each embedding space are a log named ``vectors.<space>``, row for row beside chunks."""


def vector_log(space: str) -> str:
    """Return the name of the log that holds an embedding space's vectors."""
    return f"vectors.{space}"


@functools.cache
def log_schema(log: str, dim: int | None = None) -> pa.Schema:
    """Return the Arrow schema of a log."""
    if log.startswith("vectors."):
        if dim is None:
            raise ValueError("the schema of a vectors log needs its dimension")
        return pa.schema(
            [pa.field("recorded_at", INSTANT, False), pa.field("vector", pa.list_(pa.float32(), dim), False)]
        )
    return pa.schema([pa.field(c.name, c.type, c.nullable, {"meaning": c.meaning}) for c in LOGS[log]])
