"""Outcomes of commands: success or failure, the line with the reason, the line with the sum."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from lamina_engine.expressions import late

SHELLS: Final = frozenset(
    {
        "Bash", "bash", "Shell", "shell", "shell_command", "exec_command", "local_shell", "container.exec",
        "run_terminal_cmd", "run_in_terminal", "run_shell_command", "powershell",
    }
)  # fmt: skip
"""Tools that run a command."""
_HEAD, _TAIL = 1_500, 4_000  # characters of an output that are looked at: reasons stand at an end
_LINE_CHARS: Final = 240
_EXIT: Final = late(r"(?:Process exited with code|Exit [Cc]ode:?|exited with code|exit status) (-?\d+)")
_REASONS: Final = tuple(
    late(pattern, re.MULTILINE)
    for pattern in (
        r"^E {2,}(?=\S*(?:Error|Exception)\b).+",
        r"^(?:[\w.]*(?:Error|Exception|Panic|Interrupt)\b(?:\s*\[[^\]\n]*\])?: |[A-Z]\w*(?:::[A-Z]\w*)+: ).+",
        r"^.*\berror(?:\[\w+\]| TS\d+)?: .+",
        r"^E {2,}\S.*",
        r"^\s*(?:\d+\)|●) \S.{8,}",
        r"^FAILED \S+.*",
        r"^(?:panic|fatal|FATAL|ERROR|Error|error|npm (?:ERR!|error))\b.*",
        r"^.*(?:panicked at|command not found|No such file or directory|Cannot find module|[Pp]ermission denied|"
        r"[Tt]imed? ?out|[Cc]onnection refused|undefined reference).*",
        r"^.*\b(?:FAIL|failed|failure)\b.*",
    )
)
_NO_REASON: Final = late(
    r"\W*(?:Error: )?(?:Exit code:?|Process exited with code|Wall time|Output:|Chunk ID).*|npm (?:ERR!|error)\W*(?:code .*)?"
)
_FAILURE: Final = late(
    r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^FAILED\b|test result: FAILED|Traceback \(most recent call last\)|npm ERR!|"
    r"BUILD FAIL|^--- FAIL|panicked at|could not compile|command not found|^fatal: ",
    re.MULTILINE,
)
_FAILING: Final = (
    "fail", "error", "traceback", "npm err!", "panicked at", "could not compile", "command not found", "fatal: ",
)  # fmt: skip
"""Letters of which some stand in everything that says so of a failure."""
_VERDICT: Final = late(
    r"^.*(?:\b\d+ (?:passed|failed|failing|passing|tests?\b.*)|test result: |Tests: +\d|\ball checks passed|no issues found|"
    r"\bfound \d+ (?:errors?|problems?)|^Success\b|BUILD (?:SUCC|FAIL)|\bOK \(\d+).*$",
    re.MULTILINE | re.IGNORECASE,
)
_SUMMING: Final = ("passed", "fail", "passing", "test", "no issues found", "found ", "success", "build succ", "ok (")
"""The same of a verdict."""


def outcome_facts(text: str, failed: bool | None) -> dict[str, Any]:
    """Return ``failed``, ``error`` and ``verdict`` of a command's output, as far as it has them.

    ``failed`` None: the program did not say. Then a number in the output counts, else its words are noted as ``suspect``.
    """
    start, end = text[:_HEAD], text[-_TAIL:]
    if failed is None and (found := _EXIT.search(start)) is not None:
        failed = found[1] != "0"
    facts: dict[str, Any] = {}
    suspect = failed is None or not failed
    if failed or (suspect and (tells_failure(end) or tells_failure(start))):
        facts["failed" if failed else "suspect"] = True
        error = _reason((end, start) if len(text) > _TAIL else (text,))
        if error:
            facts["error"] = error
    verdicts = _VERDICT.findall(end) if _has_any(end, _SUMMING) else ()
    if verdicts:
        facts["verdict"] = shorten(verdicts[-1].strip(" =-\t"))
    return facts


def tells_failure(output: str) -> bool:
    """Return whether an output, or a line of one, says that something failed."""
    return _has_any(output, _FAILING) and _FAILURE.search(output) is not None


def _has_any(text: str, letters: Iterable[str]) -> bool:
    """Return whether a text has some letters in either case: far quicker than an expression."""
    lowered = text.lower()
    return any(each in lowered for each in letters)


_DETAIL: Final = late(r"\s*\n[ \t]+(\S.*)")
"""Line below that of a failed test of Go: the test's name alone says nothing."""


def _reason(parts: Iterable[str]) -> str:
    """Return the line with the reason: of a traceback the last one, of a compiler the first."""
    parts = tuple(parts)
    for number, pattern in enumerate(_REASONS):
        for part in parts:
            lines = [line for line in pattern.findall(part) if not _NO_REASON.fullmatch(line.strip())]
            if lines:
                line = lines[-1 if number == 1 else 0]
                detail = _DETAIL.search(part, part.find(line) + len(line)) if line.startswith("--- FAIL") else None
                return shorten(re.sub(r"^E +", "", line) + (f": {detail[1]}" if detail is not None else ""))
    lines = [line for part in reversed(parts) for line in part.splitlines() if line.strip()]
    lines = [line for line in lines if not _NO_REASON.fullmatch(line.strip())]
    return shorten(lines[-1]) if lines else ""


def shorten(line: str, most: int = _LINE_CHARS) -> str:
    """Return a text on one line, cut where it is longer than so many characters."""
    flat = " ".join(line.split())
    return flat if len(flat) <= most else flat[: most - 2].rstrip() + " …"


# ---------------------------------------------------------------------- commands


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOOKING: Final = _words(
    "ls cat grep egrep rg ag fd find which where test [ [[ head tail sed awk diff cd echo printf pwd kill pkill sleep wc file stat "
    "type command true false jq tree ps lsof pgrep export source set unset mkdir touch read sort uniq cut tee less more"
)
"""Programs that look around: one of them that finds nothing has not failed."""
_FAMILIES: Final = _words(
    "npm pnpm yarn npx bun bunx deno cargo go git gh docker docker-compose podman kubectl helm make just task poetry uv uvx pip "
    "pip3 python python3 node ruby php java gradle gradlew mvn bundle rails rake dotnet flutter terraform ansible systemctl tox "
    "composer mix cmake bazel nx turbo lerna aws gcloud az psql alembic flask django-admin manage.py"
)
"""Programs of many commands: the next word says which."""
_RUNNERS: Final = {
    **dict.fromkeys(("uv", "poetry", "npx", "bunx", "uvx", "pnpm"), ("run", "exec", "dlx")),
    "bundle": ("exec",),
}
"""Programs that run what stands behind a word of theirs."""
_WRAPPERS: Final = frozenset(
    {"sudo", "time", "timeout", "env", "nice", "exec", "xvfb-run", "command", "bash", "sh", "zsh"}
)
_CHECKS: Final = late(
    r"\b(?:pytest|py\.test|unittest|tox|nox|test|tests|check|clippy|lint|eslint|tsc|mypy|pyright|ruff|vet|build|compile|typecheck|"
    r"vitest|jest|mocha|rspec|phpunit|gradlew?|mvn|playwright|cypress|verify|migrate|e2e|spec)\b"
)
_SEPARATOR: Final = late(r"\s*(?:&&|\|\||;|\n)\s*")
_ASSIGNMENT: Final = late(r"\w+=\S*")
_REDIRECT: Final = late(r"\s*\d?(?:>>?|<)&?\s*\S+")


def command_parts(command: str) -> list[str]:
    """Return the commands of a line that do something, without pipes, redirections, settings."""
    command = re.sub(r"^(?:bash|sh|zsh) -l?c ", "", command.strip()).strip("'\"")
    command = command.partition("<<")[0]
    parts: list[str] = []
    for piece in _SEPARATOR.split(command):
        words = _REDIRECT.sub("", piece.partition(" | ")[0]).split()
        while words and (_ASSIGNMENT.fullmatch(words[0]) or words[0] in _WRAPPERS or words[0].isdigit()):
            words = words[1:]
        if words and words[0].rpartition("/")[2] not in _LOOKING and not words[0].startswith("#"):
            parts.append(" ".join(words))
    return parts


def signature(part: str) -> tuple[str, frozenset[str]]:
    """Return by what a command is known when it is run again, and the files it was given."""
    words, at = part.split(), 0
    while len(words) > at + 2 and words[at + 1] in _RUNNERS.get(words[at].rpartition("/")[2], ()):
        at += 2
    program, rest = words[at].rpartition("/")[2], words[at + 1 :]
    if program.startswith("python") and len(rest) > 1 and rest[0] == "-m":
        program, rest = rest[1], rest[2:]
    name = program
    if program in _FAMILIES:
        named = [word for word in rest if not word.startswith("-")]
        more = named[:2] if named[:1] in (["run"], ["compose"], ["workspace"]) else named[:1]
        name, rest = " ".join([program, *more]), named[len(more) :]
    targets = {
        word.partition("::")[0].strip("'\"") for word in rest if not word.startswith("-") and re.search(r"[./:]", word)
    }
    return name, frozenset(targets)


def is_check(part: str) -> bool:
    """Return whether a command tests or builds something: its output says how it went."""
    return _CHECKS.search(part) is not None
