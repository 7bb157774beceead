"""JSON with comments, edited in place: members come and go, and every other byte stays.

Comments, trailing commas, tabs, CRLF and a byte order mark are kept. An edit is planned on positions that a scanner finds,
and believed only when the text that comes out says what was meant.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from lamina import InvalidConfig

_SPACE: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_INDENT: Final = re.compile(r"\n([ \t]+)[^\s/]")
_DEEPEST: Final = 100


@dataclass(slots=True)
class Node:
    """One value of a document, where it stands, and what is inside."""

    value: Any
    start: int
    stop: int
    items: list[Node] = field(default_factory=list)
    """Values of an object's members, or of an array's elements, in order."""
    starts: list[int] = field(default_factory=list)
    """Where each of them begins, its key included."""
    keys: list[str] = field(default_factory=list)

    def get(self, key: str) -> Node | None:
        """Return a member of an object; of several by one name the last counts."""
        found = [item for name, item in zip(self.keys, self.items, strict=False) if name == key]
        return found[-1] if found else None


def read(text: str) -> Any:
    """Return what a document says; an empty one is an empty object."""
    return scan(text).value


def scan(text: str) -> Node:
    """Read a document with the places of its values; a mistake is named with its line."""
    start = _skip(text, 0)
    if start == len(text):
        return Node({}, start, start)
    node = _scan(text, start, 0)
    if _skip(text, node.stop) != len(text):
        raise _mistake(text, _skip(text, node.stop), "the end")
    return node


def _scan(text: str, at: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise _mistake(text, at, "something less deep")
    opening = text[at : at + 1]
    if opening not in ("{", "["):
        found = _STRING.match(text, at) or _SCALAR.match(text, at)
        if found is None:
            raise _mistake(text, at, "a value")
        return Node(_decode(text, found), at, found.end())
    closing = "}" if opening == "{" else "]"
    node = Node({} if opening == "{" else [], at, at)
    at = _skip(text, at + 1)
    while text[at : at + 1] != closing:
        node.starts.append(at)
        if opening == "{":
            name = _STRING.match(text, at)
            if name is None:
                raise _mistake(text, at, 'a key in "quotes"')
            node.keys.append(_decode(text, name))
            at = _skip(text, name.end())
            if text[at : at + 1] != ":":
                raise _mistake(text, at, "':'")
            at = _skip(text, at + 1)
        item = _scan(text, at, depth + 1)
        node.items.append(item)
        at = _skip(text, item.stop)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise _mistake(text, at, f"',' or '{closing}'")
    node.stop = at + 1
    values = [item.value for item in node.items]
    node.value = dict(zip(node.keys, values, strict=True)) if opening == "{" else values
    return node


def _decode(text: str, found: re.Match[str]) -> Any:
    try:
        return json.loads(found[0])
    except ValueError:
        raise _mistake(text, found.start(), "a value") from None


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _mistake(text: str, at: int, wanted: str) -> InvalidConfig:
    line = text.count("\n", 0, at) + 1
    got = repr(text[at : at + 20]) if at < len(text) else "the end of the file"
    return InvalidConfig(f"line {line}: {got} where {wanted} should be")


def add(text: str, path: tuple[str, ...], value: Any) -> str:
    """Set a member, or append to the array that a path leads to; missing containers are made."""
    root = scan(text)
    node, inner = root, list(path)
    while inner and isinstance(node.value, dict):
        found = node.get(inner[0])
        if found is None:
            break
        node, inner = found, inner[1:]
    if inner and not isinstance(node.value, dict):
        raise InvalidConfig(f"{'.'.join(path)} cannot be set: what is there is no object")
    if root.start == root.stop:  # an empty file
        style = _Style(text)
        return text + style.render(_nested(list(path), value), "") + style.newline
    if inner:
        changed = _insert(text, node, _nested(inner[1:], value), inner[0])
    elif isinstance(node.value, list):
        changed = _insert(text, node, value, None)
    else:
        changed = text[: node.start] + _Style(text).render(value, _indent_of(text, node.start)) + text[node.stop :]
    return changed


def _nested(path: list[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


class _Style:
    """Style of a document: its line ends and its indentation."""

    def __init__(self, text: str) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        found = _INDENT.search(text)
        self.unit = found[1] if found else "  "

    def render(self, value: Any, indent: str) -> str:
        """Return a value as text whose further lines stand below an indentation."""
        lines = json.dumps(value, indent=self.unit, ensure_ascii=False).split("\n")
        return self.newline.join([lines[0], *(indent + line for line in lines[1:])])


def _insert(text: str, node: Node, value: Any, key: str | None) -> str:
    """Add a member or an element at the end of a container."""
    style = _Style(text)
    own = _indent_of(text, node.start)
    inner = _indent_of(text, node.starts[0]) if node.starts and "\n" in text[node.start : node.starts[0]] else ""
    inner = inner or own + style.unit
    label = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    entry = label + style.render(value, inner)
    if not node.items:
        body = text[node.start + 1 : node.stop - 1]
        if not body.strip():
            body = ""
        start = text[: node.start + 1] + body.rstrip()
        return start + style.newline + inner + entry + style.newline + own + text[node.stop - 1 :]
    if "\n" not in text[node.start : node.stop]:  # all on one line: it stays so
        flat = label + json.dumps(value, ensure_ascii=False)
        last = node.items[-1].stop
        between = "" if _has_comma(text, last) else ","
        end = node.stop - 1
        return text[:last] + between + text[last:end].rstrip() + " " + flat + text[end:]
    last = node.items[-1].stop
    comma = _has_comma(text, last)
    tail = _end_of_last(text, last, node.stop - 1)
    return (
        text[:last] + ("" if comma else ",") + text[last:tail] + style.newline + inner + entry
        + ("," if comma else "") + text[tail:]
    )  # fmt: skip


def _has_comma(text: str, at: int) -> bool:
    return text[_skip(text, at) : _skip(text, at) + 1] == ","


def _end_of_last(text: str, at: int, stop: int) -> int:
    """Return where the last item ends, with its comma and the comments behind it."""
    body = text[at:stop]
    return at + len(body.rstrip())


def _indent_of(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def remove(text: str, path: tuple[str | int, ...]) -> str:
    """Take out one member or element, with its comma; its container stays."""
    node = scan(text)
    for name in path[:-1]:
        found = node.get(name) if isinstance(name, str) else node.items[name]
        if found is None:
            return text
        node = found
    last = path[-1]
    index = node.keys.index(last) if isinstance(last, str) else last
    start, stop = node.starts[index], node.items[index].stop
    after = _skip(text, stop)
    if text[after : after + 1] == ",":
        stop = after + 1
        if index + 1 < len(node.items) or text[stop : stop + 1] in "\r\n":
            start = _line_start(text, start)
    elif index:  # the comma before it goes
        before = node.items[index - 1].stop
        comma = text.index(",", before)
        gap = text[comma + 1 : start]
        return text[:comma] + (gap.rstrip() if gap.strip() else "") + text[stop:]
    else:
        start = _line_start(text, start)
        if not text[node.start + 1 : start].strip() and not text[stop : node.stop - 1].strip():
            return text[: node.start + 1] + text[node.stop - 1 :]
    return text[:start] + text[stop:]


def _line_start(text: str, at: int) -> int:
    """Return the end of the line before, where nothing but space stands between."""
    line = text[:at].rstrip(" \t")
    return len(line) - (2 if line.endswith("\r\n") else 1) if line.endswith("\n") else at
