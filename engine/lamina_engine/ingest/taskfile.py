"""Clawpy's JSON task file, read and written; unknown fields survive byte for byte.

A file is ``{"nodes": {id: node}, "edges": [edge], "_meta": {...}}``. A node has ``task_id, title, timestamp, success,
description``; an edge ``source_id, target_id, relationship, created_at, note``. Times are seconds since 1970.
An invalidated task says so at the end of its description, in lines ``[invalidated:STAMP] REASON``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from lamina_engine.clock import US_PER_S, parse_instant
from lamina_engine.errors import InvalidArgument

Raw = dict[str, str]
"""JSON texts by name of the field."""

NODE_FIELDS: Final = ("task_id", "title", "timestamp", "success", "description")
EDGE_FIELDS: Final = ("source_id", "target_id", "relationship", "created_at", "note")
META_FIELDS: Final = ("saved_at", "node_count", "edge_count")
_MARK: Final = re.compile(r"\n\[invalidated:([^\]\n]*)\] ")


@dataclass(slots=True)
class Node:
    """Task."""

    id: str
    title: str
    timestamp: str | None
    """As JSON text; None where it is not known."""
    success: bool | None
    description: str
    """Without its marks."""
    marks: tuple[tuple[str, str], ...] = ()
    """Stamp and reason of each invalidation."""
    extra: Raw = field(default_factory=dict)


@dataclass(slots=True)
class Edge:
    """Link between tasks."""

    source: str
    target: str
    relation: str
    """As the file calls it."""
    created_at: str | None = None
    """As JSON text."""
    note: str = ""
    extra: Raw = field(default_factory=dict)


@dataclass(slots=True)
class TaskFile:
    """Contents of a task file."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    """Edges that are kept as they stand: their ends or their relations are not known."""
    top: Raw = field(default_factory=dict)
    meta: Raw = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class CorruptTasks(ValueError):
    """Bytes that are not a task file."""


def read_task_file(data: bytes) -> TaskFile:
    """Parse a task file; bad nodes and edges are problems, a corrupt file is `CorruptTasks`."""
    try:
        top = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        nodes = msgspec.json.decode(top.pop("nodes", b"{}"), type=dict[str, msgspec.Raw])
        edges = msgspec.json.decode(top.pop("edges", b"[]"), type=list[msgspec.Raw])
        meta = msgspec.json.decode(top.pop("_meta", b"{}"), type=dict[str, msgspec.Raw])
        for text in (*top.values(), *meta.values()):
            msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptTasks(str(error)) from error
    found = TaskFile(top=_texts(top), meta={k: v for k, v in _texts(meta).items() if k not in META_FIELDS})
    for name, text in nodes.items():
        try:
            found.nodes[name] = _node(name, text)
        except (ValueError, InvalidArgument) as error:
            found.problems.append(f"node {name!r} is not a task ({error}); skipped")
    for text in edges:
        try:
            edge, written = None, bytes(text).decode()
            edge = _edge(text)
        except UnicodeDecodeError as error:
            found.problems.append(f"invalid edge ({error}); skipped")
            continue
        except (ValueError, InvalidArgument) as error:
            found.problems.append(f"invalid edge ({error}); kept as written")
        if edge is not None and edge.source in found.nodes and edge.target in found.nodes:
            found.edges.append(edge)
        else:
            found.loose.append(written)
            if edge is not None:
                message = (
                    f"edge {edge.source!r} {edge.relation} {edge.target!r} has a missing end; kept, but not followed"
                )
                found.problems.append(message)
    return found


def _texts(values: Mapping[str, msgspec.Raw]) -> Raw:
    return {name: bytes(text).decode() for name, text in values.items()}


def _fields(text: msgspec.Raw) -> tuple[dict[str, Any], Raw]:
    """Return the values and the JSON texts of an object's fields."""
    raw = _texts(msgspec.json.decode(text, type=dict[str, msgspec.Raw]))
    return {name: msgspec.json.decode(value) for name, value in raw.items()}, raw


def _node(name: str, text: msgspec.Raw) -> Node:
    values, raw = _fields(text)
    title, description = ("" if values.get(key) is None else values[key] for key in ("title", "description"))
    success = values.get("success")
    if not name.strip():
        raise ValueError("its id is empty")
    if values.get("task_id", name) != name:
        raise ValueError(f"its task_id is {values['task_id']!r}")
    is_text = isinstance(title, str) and isinstance(description, str)
    if not is_text or (success is not None and not isinstance(success, bool)):
        raise ValueError("title and description must be text, success true, false or null")
    body, *parts = _MARK.split(description)
    marks = tuple(zip(parts[::2], parts[1::2], strict=True))
    extra = {key: value for key, value in raw.items() if key not in NODE_FIELDS}
    return Node(name, title, _time(values, raw, "timestamp"), success, body, marks, extra)


def _edge(text: msgspec.Raw) -> Edge:
    values, raw = _fields(text)
    ends = [values.get(key) for key in EDGE_FIELDS[:3]]
    note = "" if values.get("note") is None else values["note"]
    if not all(isinstance(end, str) and end for end in ends) or not isinstance(note, str):
        raise ValueError("source_id, target_id, relationship and note must be text")
    extra = {key: value for key, value in raw.items() if key not in EDGE_FIELDS}
    source, target, relation = map(str, ends)
    return Edge(source, target, relation, _time(values, raw, "created_at"), note, extra)


def _time(values: Mapping[str, Any], raw: Raw, key: str) -> str | None:
    value = values.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{key} is {value!r}, not a number of seconds")
    parse_instant(value, what=key)
    return raw[key]


def instant(text: str | None) -> int | None:
    """Parse a time of the file to us UTC."""
    return None if text is None else parse_instant(msgspec.json.decode(text))


def seconds(us: int | None) -> str:
    """Format us UTC as the file writes it: seconds, a float."""
    return "null" if us is None else repr(us / US_PER_S)


def description(body: str, marks: Iterable[tuple[str, str]]) -> str:
    """Append the marks of invalidations to a description."""
    return body + "".join(f"\n[invalidated:{stamp}] {reason}" for stamp, reason in marks)


def write_task_file(file: TaskFile, saved_at_us: int) -> bytes:
    """Return the bytes of a task file, with its counts computed."""
    nodes = [(node.id, _object(_node_items(node), 4)) for node in file.nodes.values()]
    edges = [*map(edge_text, file.edges), *file.loose]
    meta = [("saved_at", seconds(saved_at_us)), ("node_count", str(len(nodes))), ("edge_count", str(len(edges)))]
    items = [
        ("nodes", _object(nodes, 2)),
        ("edges", _array(edges, 2)),
        *sorted(file.top.items()),
        ("_meta", _object([*meta, *sorted(file.meta.items())], 2)),
    ]
    return f"{_object(items, 0)}\n".encode()


def edge_text(edge: Edge) -> str:
    """Return an edge as JSON."""
    return _object(_edge_items(edge), 4)


def _node_items(node: Node) -> list[tuple[str, str]]:
    return [
        ("task_id", encode(node.id)), ("title", encode(node.title)), ("timestamp", node.timestamp or "null"),
        ("success", encode(node.success)), ("description", encode(description(node.description, node.marks))),
        *sorted(node.extra.items()),
    ]  # fmt: skip


def _edge_items(edge: Edge) -> list[tuple[str, str]]:
    return [
        ("source_id", encode(edge.source)), ("target_id", encode(edge.target)), ("relationship", encode(edge.relation)),
        ("created_at", edge.created_at or "null"), ("note", encode(edge.note)), *sorted(edge.extra.items()),
    ]  # fmt: skip


def encode(value: Any) -> str:
    """Return a value as JSON in its shortest form, keys sorted."""
    return msgspec.json.encode(value, order="sorted").decode()


def _object(items: Iterable[tuple[str, str]], indent: int) -> str:
    return _nested("{", (f"{encode(name)}: {text}" for name, text in items), "}", indent)


def _array(items: Iterable[str], indent: int) -> str:
    return _nested("[", items, "]", indent)


def _nested(start: str, parts: Iterable[str], stop: str, indent: int) -> str:
    inner = " " * (indent + 2)
    body = f",\n{inner}".join(parts)
    return f"{start}\n{inner}{body}\n{' ' * indent}{stop}" if body else f"{start}{stop}"
