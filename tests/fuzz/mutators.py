"""Mutations of bytes and texts. They draw from a `random.Random`, so that Hypothesis can drive and shrink them."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any, Final

_INTEGERS: Final = (0, -1, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1, 10**9)
_DEEP: Final = (
    ("[", "]"),
    ('{"a":', "}"),
    ("(", ")"),
    ("- ", ""),
    ("> ", ""),
    ("<a>", "</a>"),
    ("**", "**"),
    ("{{", "}}"),
)
_TOKENS: Final = (
    "null", "true", "-1", "1e999", "NaN", "9" * 5_000, '"\\ud800"', "\x00", "\ufeff", "\u202e", "\x1b[2J", "---\n", "```\n",
    "{}", "[]", '""', "&a *a", "<!DOCTYPE x [<!ENTITY a 'b'>]>", "!!python/object/apply:os.system ['x']", "../../x",
    "2026-99-99", "9999-12-31T23:59:59Z", "0000-01-01", "\r", "\u2028", "é" * 300, "\x85", "]]>", "=" * 2_000, "\t" * 50,
)  # fmt: skip
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")


def mutate_bytes(content: bytes, random: Random) -> bytes:
    """Return bytes with one or several kinds of damage."""
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        _damage(data, random)
    return bytes(data)


def _damage(data: bytearray, random: Random) -> None:
    n = len(data)
    kind = random.choice(
        ("flip", "flip", "flips", "cut", "zero", "ones", "more", "byte", "swap", "integer", "repeat", "empty")
    )
    if n == 0 or kind == "more":
        data += random.randbytes(random.choice((1, 8, 4_096)))
    elif kind == "flip":
        data[random.randrange(n)] ^= 1 << random.randrange(8)
    elif kind == "flips":
        for _ in range(random.randint(2, 30)):
            data[random.randrange(n)] ^= 1 << random.randrange(8)
    elif kind == "cut":
        del data[random.randrange(n) :]
    elif kind in ("zero", "ones"):
        at = random.randrange(n)
        length = min(n - at, random.choice((1, 4, 8, 64, 4_096)))
        data[at : at + length] = (b"\0" if kind == "zero" else b"\xff") * length
    elif kind == "byte":
        data[random.randrange(n)] = random.randrange(256)
    elif kind == "swap":
        a, b = random.randrange(n), random.randrange(n)
        length = min(64, n - a, n - b)
        data[a : a + length], data[b : b + length] = data[b : b + length], data[a : a + length]
    elif kind == "integer":
        at = random.randrange(n) & ~7
        data[at : at + 8] = (random.choice(_INTEGERS) % 2**64).to_bytes(8, "little")
    elif kind == "repeat":
        at = random.randrange(n)
        data[at:at] = data[at : at + 200] * random.choice((2, 50))
    elif random.random() < 0.1:
        data.clear()


def mutate_text(content: bytes, random: Random) -> bytes:
    """Return a text with tokens put in, lines moved, numbers replaced and nesting multiplied; at times plain damage."""
    if random.random() < 0.3:
        return mutate_bytes(content, random)
    text = content.decode("utf-8", "surrogateescape")
    for _ in range(random.choice((1, 1, 2, 5))):
        text = _changed(text, random)
    return text.encode("utf-8", "surrogateescape" if random.random() < 0.9 else "replace")


def _changed(text: str, random: Random) -> str:
    at = random.randrange(len(text) + 1)
    kind = random.choice(("token", "number", "lines", "double", "deep", "long", "drop", "json"))
    if kind == "token":
        return text[:at] + random.choice(_TOKENS) + text[at:]
    if kind == "number":
        return _NUMBER.sub(lambda found: random.choice(_TOKENS[:6]) if random.random() < 0.2 else found[0], text)
    if kind == "lines":
        lines = text.split("\n")
        random.shuffle(lines)
        return "\n".join(lines)
    if kind == "double":
        return text[:at] + text[at : at + 300] * random.choice((2, 20)) + text[at:]
    if kind == "deep":
        opening, closing = random.choice(_DEEP)
        depth = random.choice((50, 500, 5_000))
        return (
            text[:at]
            + opening * depth
            + random.choice(("1", "", "x"))
            + (closing * depth if random.random() < 0.7 else "")
            + text[at:]
        )
    if kind == "long":
        return (
            text[:at]
            + random.choice(("a", "kafka ", "\\", '"', "[", "0", "\u0301", "\n")) * random.choice((1_000, 60_000))
            + text[at:]
        )
    if kind == "json":
        lines = text.split("\n")
        line = random.randrange(len(lines))
        try:
            lines[line] = json.dumps(mutate_value(json.loads(lines[line]), random))
        except (ValueError, RecursionError):
            return text.upper()
        return "\n".join(lines)
    return text[:at] + text[at + random.choice((1, 10, 1_000)) :]


_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    -1,
    0,
    1e308,
    2**70,
    "",
    "x",
    "\ud800",
    "\x00",
    [],
    {},
    [None],
    {"a": {}},
    "9" * 400,
    [[[[]]]],
)


def mutate_value(value: Any, random: Random, depth: int = 0) -> Any:
    """Return a JSON value of which one part is another value, is missing, or is there twice."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(sorted(value))
        action = random.choice(("inside", "inside", "inside", "drop", "replace", "rename"))
        if action == "inside" and depth < 20:
            return {**value, key: mutate_value(value[key], random, depth + 1)}
        rest = {name: inner for name, inner in value.items() if name != key}
        if action == "rename":
            return {**rest, random.choice((key.upper(), "", "id", "text", "__class__")): value[key]}
        return rest if action == "drop" else {**value, key: random.choice(_VALUES)}
    if isinstance(value, list) and value and random.random() < 0.9:
        at = random.randrange(len(value))
        action = random.choice(("inside", "inside", "drop", "twice", "replace"))
        if action == "inside" and depth < 20:
            return [*value[:at], mutate_value(value[at], random, depth + 1), *value[at + 1 :]]
        put = {"drop": [], "twice": [value[at]] * 3, "replace": [random.choice(_VALUES)], "inside": []}[action]
        return [*value[:at], *put, *value[at + 1 :]]
    return random.choice(_VALUES)
