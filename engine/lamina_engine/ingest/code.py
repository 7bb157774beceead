"""Outlines of source code: definitions, and runs of lines between blank lines.

Python is parsed; other languages are read by the words that begin a definition at the margin, so a method of a class in
braces belongs to its class. A chunk is known by the symbols that are defined in it.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from lamina_engine.ingest.chunking import Block, Outline, Piece, heading_paths

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
_BY_LANGUAGE = {
    "c": r"(?!(?:if|for|while|switch|return|else|do|typedef|case)\b)[A-Za-z_][\w \t*&:<>,]*?[ \t*&]([A-Za-z_~][\w:~]*)[ \t]*\([^;]*$",
    "javascript": r"(?:export[ \t]+)?(?:default[ \t]+)?(?:const|let|var)[ \t]+([A-Za-z_$][\w$]*)[ \t]*(?::[^=\n]+)?="
    r"[ \t]*(?:async[ \t]*)?(?:function\b|\([^\n]*=>|\([^)\n]*$|[\w$]+[ \t]*=>)",
    "shell": r"(?:function[ \t]+)?([A-Za-z_][\w-]*)[ \t]*\(\)",
    "sql": r"(?i:create(?:[ \t]+or[ \t]+replace)?(?:[ \t]+\w+){0,2}?[ \t]+(?:table|view|function|procedure|type|trigger|index)"
    r"[ \t]+(?:if[ \t]+not[ \t]+exists[ \t]+)?)[\"'`\[]?([A-Za-z_][\w.]*)",
}
_BY_LANGUAGE |= {"cpp": _BY_LANGUAGE["c"], "typescript": _BY_LANGUAGE["javascript"]}
_SPECIAL = {language: re.compile(pattern) for language, pattern in _BY_LANGUAGE.items()}
"""What begins a definition in some languages, beside the words of `_ELSEWHERE`."""
_LONGEST = 300
"""Characters of a line that are looked at: data may be one line of a megabyte."""
MAX_SYMBOLS = 24
"""Symbols by which one chunk is known."""
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
    parsed = _parse_python(text) if python else None
    marks: list[tuple[int, int, str]] = []  # start, level, name
    attached: int | None = None
    after_blank, inside, offset = False, False, 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if bare:
            definition = parsed.get(number) if parsed is not None else _definition(line, language)
            if definition:
                start = offset if attached is None else attached
                marks.append((start, *definition))
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


def symbols_of(blocks: Sequence[Block], pieces: Sequence[Piece]) -> list[tuple[str, ...]]:
    """Return the symbols that each piece defines, else the one that it goes on with."""
    found: list[list[str]] = [[] for _ in pieces]
    starts = [piece.start for piece in pieces]
    for block, path in zip(blocks, heading_paths(blocks), strict=True):
        if block.title:
            found[bisect_right(starts, block.start) - 1].append(".".join(path))
    return [
        tuple(dict.fromkeys(names))[:MAX_SYMBOLS] or ((".".join(piece.headings),) if piece.headings else ())
        for names, piece in zip(found, pieces, strict=True)
    ]


def _parse_python(text: str) -> dict[int, tuple[int, str]] | None:
    """Return level and name of each definition by line; None for what does not parse."""
    try:
        with warnings.catch_warnings():  # of the code that is read
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return dict(_definitions(tree, 1))


def _definitions(node: ast.AST, level: int) -> Iterator[tuple[int, tuple[int, str]]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
            yield first, (min(level, 9), child.name)
            if isinstance(child, ast.ClassDef):  # what a function defines is its own
                yield from _definitions(child, level + 1)
        elif isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from _definitions(child, level)


def _definition(line: str, language: str | None) -> tuple[int, str] | None:
    """Return level and name of the definition that a line begins with."""
    if language == "python":
        match = _PYTHON.match(line)
        return (min(9, 1 + len(match[1].expandtabs(4)) // 4), match[2]) if match else None
    match = _ELSEWHERE.match(line) or (_SPECIAL[language].match(line[:_LONGEST]) if language in _SPECIAL else None)
    return (1, match[1]) if match else None


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
