"""Text of tools: arguments and results, cut to size."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

RESULT_CHARS: Final = 500
"""Characters of a tool's result that are kept."""
COMMAND_CHARS: Final = 2_000
"""Characters kept of a tool's main argument."""
JSON_CHARS: Final = 200
"""The same, where all arguments are shown as JSON."""
MARGIN_CHARS: Final = 16_384
"""Characters behind those kept that are searched for secrets with them: one that a border cuts is masked as a whole."""
IMAGE: Final = "[Image]"

_MAIN_ARGUMENTS: Final = ("command", "cmd", "pattern", "file_path", "query", "url")
_PATHS: Final = ("file_path", "notebook_path", "path")


def argument_text(arguments: object) -> tuple[str, int]:
    """Return the text of a tool's arguments, and how many characters of it are kept.

    The first of command, cmd, pattern, file_path, query and url that is there; else all arguments as JSON.
    """
    if isinstance(arguments, dict):
        for name in _MAIN_ARGUMENTS:
            value = arguments.get(name)
            if isinstance(value, str) and value.strip():
                return value, COMMAND_CHARS
            if isinstance(value, list) and value:
                return " ".join(map(str, value)), COMMAND_CHARS
    elif isinstance(arguments, str):
        return arguments, JSON_CHARS
    return (_json(arguments) if arguments else ""), JSON_CHARS


def file_of(arguments: object) -> str | None:
    """Return the path of the file that a tool was given, if it was given one."""
    if isinstance(arguments, dict):
        for name in _PATHS:
            value = arguments.get(name)
            if isinstance(value, str) and value:
                return value
    return None


def list_entries(arguments: object) -> list[list[str]] | None:
    """Return status and text of each entry of a list or a plan that a tool was given."""
    entries = (arguments.get("todos") or arguments.get("plan")) if isinstance(arguments, dict) else None
    if not isinstance(entries, list):
        return None
    found: list[list[str]] = []
    for entry in entries:
        text = text_of(entry.get("content")) or text_of(entry.get("step")) if isinstance(entry, dict) else None
        if text is not None:
            found.append([text_of(entry.get("status")) or "pending", text])
    return found


_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)


def patched_files(arguments: object) -> list[str]:
    """Return the files that a patch in a tool's arguments names."""
    return list(dict.fromkeys(_PATCHED.findall(_patch_of(arguments))))


def _patch_of(arguments: object) -> str:
    """Return the patch in a tool's arguments; empty where there is none."""
    if isinstance(arguments, dict):
        given = arguments.get("command", arguments.get("cmd", arguments.get("input")))
        arguments = "\n".join(map(str, given)) if isinstance(given, list) else given
    return arguments if isinstance(arguments, str) and "*** " in arguments else ""


_CODE_WORD: Final = re.compile(r"[^\W\d_]{2,}|\d+")
_EDIT_CHARS: Final = 20_000
_EDITED: Final = (("old_string", "oldString", "old_str"), ("new_string", "newString", "new_str", "content"))
"""Names of what an edit replaces, and of what it puts there."""


def changed_words(arguments: object) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the words that an edit puts into a file and takes out; None for other tools."""
    given = arguments if isinstance(arguments, dict) else {}
    edits = given.get("edits")
    pairs = [
        tuple(next((edit[name] for name in names if text_of(edit.get(name))), "") for names in _EDITED)
        for edit in (edits if isinstance(edits, list) else [given])
        if isinstance(edit, dict) and any(name in edit for names in _EDITED for name in names)
    ]
    patch = "" if pairs else _patch_of(arguments)
    if _PATCHED.search(patch):
        lines = patch.splitlines()
        pairs = [tuple("\n".join(line[1:] for line in lines if line.startswith(sign)) for sign in "-+")]
    if not pairs:
        return None
    old = {word.lower() for before, _ in pairs for word in _CODE_WORD.findall(before[:_EDIT_CHARS])}
    new = {word.lower() for _, after in pairs for word in _CODE_WORD.findall(after[:_EDIT_CHARS])}
    return frozenset(new - old), frozenset(old - new)


def result_text(content: object) -> str:
    """Return the text of a tool's result: text, texts of blocks, else JSON; images as a mark."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part for part in map(_block, content) if part)
    return "" if content is None else _json(content)


def _block(block: object) -> str:
    if not isinstance(block, dict):
        return block if isinstance(block, str) else _json(block)
    text = block.get("text")
    if isinstance(text, str):
        return text
    kind = str(block.get("type"))
    return IMAGE if "image" in kind else f"[{kind.capitalize()}]" if kind == "document" else _json(block)


def redaction_window(text: str, kept: int) -> str:
    """Return the part of a text that can survive the cut after redaction."""
    return text if len(text) <= kept + MARGIN_CHARS else text[: kept + MARGIN_CHARS]


def cut_to_size(text: str, kept: int, length: int) -> str:
    """Cut a redacted text to ``kept`` characters, with a mark; a fence left open is closed.

    ``length`` is the number of characters before redaction.
    """
    if length <= kept and len(text) <= kept:
        return text
    head = text[:kept].rstrip()
    mask = head.rfind("[redacted:")
    if mask >= 0 and "]" not in head[mask:]:
        head = head[:mask].rstrip()
    if head.count("```") % 2:
        head += "\n```"
    return f"{head}\n[... cut, {length:,} characters in all]"


def _json(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, UnicodeEncodeError, RecursionError):
        return str(value)


def text_of(value: Any) -> str | None:
    """Return a value that is text and not blank, else None."""
    return value if isinstance(value, str) and value.strip() else None


def list_of(value: object) -> list[Any]:
    """Return a value that is a list, else an empty one."""
    return value if isinstance(value, list) else []
