"""Outlines of source code: definitions, and runs of lines between blank lines."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from lamina_engine.ingest.chunking import Block, Outline

LANGUAGES = {
    "python": "py pyi pyx",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts tsx mts cts",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "kotlin": "kt kts",
    "swift": "swift",
    "c": "c h",
    "cpp": "cc cpp cxx hh hpp hxx",
    "csharp": "cs",
    "ruby": "rb",
    "php": "php",
    "scala": "scala",
    "lua": "lua",
    "perl": "pl pm",
    "r": "r",
    "julia": "jl",
    "elixir": "ex exs",
    "erlang": "erl",
    "haskell": "hs",
    "ocaml": "ml mli",
    "clojure": "clj cljs",
    "dart": "dart",
    "zig": "zig",
    "shell": "sh bash zsh fish",
    "powershell": "ps1",
    "sql": "sql",
    "vim": "vim",
    "css": "css scss less",
    "html": "html vue svelte",
    "protobuf": "proto",
    "terraform": "tf",
}
_LANGUAGE_OF = {f".{suffix}": language for language, suffixes in LANGUAGES.items() for suffix in suffixes.split()}

_PYTHON = re.compile(r"([ \t]*)(?:async[ \t]+def|def|class)[ \t]+([^\W\d]\w*)")
_ELSEWHERE = re.compile(
    r"(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|internal|static|abstract|final|sealed|data|async|"
    r"unsafe|open|override|inline|partial|const)[ \t]+){0,6}"
    r"(?:function\*?|class|interface|enum|struct|trait|impl|fn|func|fun|def|defmodule|module|namespace|type|object|record|"
    r"protocol|extension|sub|message|service)"
    r"(?:[ \t]+|(?=<))(?:\([^)\n]{0,200}\)[ \t]*)?(?:<[^>\n]{0,200}>[ \t]*)?([^\W\d][\w:.]*)"
)
_CLOSERS = frozenset(")]}")
_ATTACHED = ("@", "#", "//", "/*", "*", "--", ";;", "%")
"""Comments and decorators right above a definition belong to it."""


def language_of(source: str) -> str | None:
    """Return the language that a file's suffix names, or None."""
    return _LANGUAGE_OF.get(PurePosixPath(source).suffix.lower())


def outline_code(text: str, language: str | None) -> Outline:
    """Return the blocks of a source file; in Python nested definitions are found too.

    A block of kind ``definition`` opens a section named after the class or function; a line at the margin closes it.
    """
    python = language == "python"
    marks: list[tuple[int, int, str]] = []  # start, level, name
    attached: int | None = None
    after_blank, inside, offset = False, False, 0
    for line in text.split("\n"):
        bare = line.strip()
        if bare:
            definition = (_PYTHON if python else _ELSEWHERE).match(line)
            if definition:
                start = offset if attached is None else attached
                level = min(9, 1 + len(definition[1].expandtabs(4)) // 4) if python else 1
                marks.append((start, level, definition[2 if python else 1]))
                inside = True
            elif inside and not line[0].isspace() and line[0] not in _CLOSERS and after_blank and python:
                marks.append((offset, 1, ""))
                inside = False
            elif after_blank and not (attached is not None and bare.startswith(_ATTACHED)):
                marks.append((offset, 0, ""))
            attached = (offset if attached is None else attached) if bare.startswith(_ATTACHED) else None
        else:
            attached = None
        after_blank = not bare
        offset += len(line) + 1
    return Outline(_blocks(marks, len(text)))


def _blocks(marks: list[tuple[int, int, str]], length: int) -> list[Block]:
    """Turn start positions into a partition; of two at one position the later, inner one counts."""
    starts = {start: (level, name) for start, level, name in marks if start < length}
    starts[0] = starts.get(0, (0, ""))
    places = sorted(starts)
    return [
        Block(start, stop, "definition" if starts[start][1] else "code", *starts[start])
        for start, stop in zip(places, [*places[1:], length], strict=True)
        if stop > start
    ]
