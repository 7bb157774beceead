"""Lenient YAML frontmatter: unreadable values are reported and kept as text."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

MAX_CHARS = 65_536
"""A longer block is no frontmatter: it is left in the text."""
MAX_VALUES = 10_000
"""Values in one block, counted as they would be written out: aliases cannot multiply without end."""
MAX_DEPTH = 32
"""Values inside values."""
MAX_LEAD = 200
"""Characters of indentation and list marks before a line's first word."""
MAX_PROBLEMS = 5
"""Problems named one by one."""

_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)
_KEY = re.compile(
    r"""(?P<quote>["']?)(?P<key>[^\s"'#\-\[\]{},&*!|>%@`][^:\n]*?)(?P=quote)[ \t]*:(?:[ \t]+(?P<value>.*))?$"""
)
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})$")
# a float needs its point: 12e5 may be the beginning of a commit's name, and twenty digits an account's id
_FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$")
_BRACKETS = re.compile(r"[\[\]{}]")


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """Fields of a text and the position where its body begins."""

    fields: dict[str, Json] = field(default_factory=dict)
    body: int = 0
    """Position of the first character after the block; 0 where there is none."""
    problems: tuple[str, ...] = ()
    """Unreadable parts, named by keys and lines, never by values."""


def read_frontmatter(text: str) -> Frontmatter:
    """Read the block between ``---`` lines at the very start of a text.

    There are no fields, and ``body`` is 0, where the block is not closed or holds no key: two thematic breaks with prose
    between them are no frontmatter.
    """
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end(), opening.end() + MAX_CHARS) if opening else None
    if opening is None or closing is None:
        return Frontmatter()
    block = text[opening.end() : closing.start()]
    if not block.strip():
        return Frontmatter(body=closing.end())
    loaded, readable = _load(block)
    if readable and loaded is None:
        return Frontmatter(body=closing.end())
    if isinstance(loaded, dict):
        values, left_out = _to_json(loaded, [MAX_VALUES])
        if isinstance(values, dict) and not left_out:
            return Frontmatter(values, closing.end())
    if not any(_KEY.match(line) for line in block.split("\n")):
        return Frontmatter()
    fields, problems = _read_by_key(block)
    if len(problems) > MAX_PROBLEMS:
        problems[MAX_PROBLEMS:] = [f"and {len(problems) - MAX_PROBLEMS} more"]
    return Frontmatter(fields, closing.end(), tuple(problems))


@functools.cache
def _loader() -> Any:
    import yaml

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("_CoreLoader", (base,), {"yaml_implicit_resolvers": {}})
    for tag, pattern, first in (
        ("null", re.compile(r"(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
        ("bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
        ("int", _INT, list("-+0123456789")),
        ("float", _FLOAT, list("-+.0123456789")),
    ):
        loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", pattern, first)
    return loader


def _load(block: str) -> tuple[Any, bool]:
    """Parse a block as YAML; return the value and whether it could be read."""
    import yaml

    if _may_nest_deeply(block):
        return None, False
    try:
        return yaml.load(block, _loader()), True
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError):
        return None, False


def _may_nest_deeply(block: str) -> bool:
    """Return whether a block could nest deeply enough to crash the recursive C parser.

    Quotes and comments are not regarded: that errs towards reading key by key.
    """
    if any(len(line) - len(line.lstrip(" -?")) > MAX_LEAD for line in block.split("\n")):
        return True
    depth = 0
    for bracket in _BRACKETS.findall(block):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            return True
        depth = max(depth, 0)
    return False


def _read_by_key(block: str) -> tuple[dict[str, Json], list[str]]:
    """Read each top-level key on its own; a value that YAML refuses is kept as written."""
    fields: dict[str, Json] = {}
    problems: list[str] = []
    for number, key, source in _entries(block):
        if key is None:
            problems.append(f"line {number} belongs to no key; skipped")
            continue
        loaded, readable = _load(source)
        value, left_out = _to_json(loaded, [MAX_VALUES]) if readable else (None, True)
        if isinstance(value, dict) and len(value) == 1 and not left_out:
            fields.update(value)
        else:
            fields[key] = _as_written(source)
            problems.append(f"the value of {key[:40]!r} (line {number}) is not valid YAML; kept as written")
    return fields, problems


def _entries(block: str) -> Iterator[tuple[int, str | None, str]]:
    """Yield line number, key and source of each top-level entry; a stray line has the key None."""
    number, key, lines = 0, "", list[str]()
    for i, line in enumerate(block.split("\n"), start=2):
        match = _KEY.match(line)
        if match:
            if key:
                yield number, key, "\n".join(lines)
            number, key, lines = i, match["key"].strip(), [line]
        elif key and (not line.strip() or line[0] in " \t-#]}"):
            lines.append(line)
        elif line.strip() and not line.startswith("#"):
            yield i, None, line
    if key:
        yield number, key, "\n".join(lines)


def _as_written(source: str) -> Json:
    """Return an entry's value as text, or as a list where it was a list in block or flow form."""
    match = _KEY.match(source.partition("\n")[0])
    first = (match["value"] or "").strip() if match else ""
    rest = [line.strip() for line in source.split("\n")[1:] if line.strip()]
    if not first and rest and all(line.startswith("-") for line in rest):
        return [_unquoted(line[1:]) for line in rest]
    value = " ".join([first, *rest]).strip()
    if value.startswith("[") and not value.startswith("[["):
        return [item for part in value.strip("[]").split(",") if (item := _unquoted(part))]
    return _unquoted(value)


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _to_json(value: Any, budget: list[int], depth: int = 0) -> tuple[Json, bool]:
    """Return a value as JSON, and whether something was left out; ``budget`` counts values down."""
    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH:
        return None, True
    if isinstance(value, dict):
        pairs = [(str(key), *_to_json(item, budget, depth + 1)) for key, item in value.items()]
        return {key: kept for key, kept, _ in pairs}, any(left_out for *_, left_out in pairs)
    if isinstance(value, (list, tuple, set)):
        items = [_to_json(item, budget, depth + 1) for item in value]
        return [kept for kept, _ in items], any(left_out for _, left_out in items)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value), False
    if value is None or isinstance(value, (bool, int, float, str)):
        return value, False
    return str(value), False
