"""One table of a TOML file, added at its end and taken out again; every other byte stays."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from lamina import InvalidConfig


def read(text: str) -> dict[str, Any]:
    """Return what a document says; raises `InvalidConfig` with the line of a mistake."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except RecursionError as error:
        raise InvalidConfig("it is nested too deep") from error
    except ValueError as error:  # a mistake, or a number of thousands of digits
        raise InvalidConfig(str(error)) from error


def add(text: str, path: tuple[str, ...], value: dict[str, Any]) -> str:
    """Add a table with plain values at the end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(path)}]", *(f"{key} = {json.dumps(each, ensure_ascii=False)}" for key, each in value.items())]
    before = text
    if text and not text.endswith("\n"):
        before += newline
    return before + (newline if text.strip() else "") + newline.join(lines) + newline


def remove(text: str, path: tuple[str, ...]) -> str:
    """Take out a table under a heading of its own, up to the next heading or line of comment."""
    name = r"[ \t]*\.[ \t]*".join(f'(?:{re.escape(part)}|"{re.escape(part)}")' for part in path)
    block = re.compile(
        rf"(?:\r?\n)?^[ \t]*\[[ \t]*{name}[ \t]*\][^\n]*(?:\n|\Z)(?:^(?![ \t]*(?:\[|\#))[^\n]*\S[^\n]*(?:\n|\Z))*",
        re.MULTILINE,
    )
    found = block.search(text)
    if found is None:
        raise InvalidConfig(f"{'.'.join(path)} stands under no heading [{'.'.join(path)}]")
    start = found.start()
    if text[start : start + 1] in "\r\n" and start and not text[:start].endswith("\n"):
        start += 2 if text.startswith("\r\n", start) else 1  # the end of the line before is not ours
    return text[:start] + text[found.end() :]
