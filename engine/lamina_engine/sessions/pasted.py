"""Pasted output: lines of a prompt that a program wrote, and not the person."""

from __future__ import annotations

from typing import Final

from lamina_engine.expressions import late

_FRAME: Final = (
    r"Traceback \(|File \".+\", line \d|goroutine \d|at \S+:\d+\)?\Z|"
    r"at \S+ ?(?:\[as \S+\] )?\((?:.*:\d+|native.*|<anonymous>|Native Method|Unknown Source)\)\Z"
)
_LOG_LINE: Final = late(
    rf"{_FRAME}|[\w.$]*(?:Error|Exception|Warning)\b(?:\[\w+\])?(?: \[\w+\])?(?::| *\Z| in thread)|(?:error|warning)(?:\[\w+\])?:|"
    r"\[?(?:FATAL|CRITICAL|ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FAILED|PANIC)\b(?:\]|:| \d)|"
    r"(?:FATAL|CRITICAL|ERROR|FAILED|PANIC) (?!messages?\b|logs?\b|levels?\b|lines?\b|codes?\b|output\b)|"
    r"(?:fatal|panic|Uncaught|Unhandled|Caused by)\b:? |thread '.*' panicked|\.\.\. \d+ more|"
    r"\S+\.\w+:\d+(?::\d+)?\b:? *(?:- )?(?:\+0x|error\b|warning\b|Uncaught\b|\Z)|E   |npm (?:ERR!|error|warn)|make(?:\[\d+\])?: \*|ld: |"
    r"[$%>] |\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d|\d+(?:\.\d+){3} - |Segmentation fault|"
    r"[Ee]xit(?:ed with)? (?:code|status):? [1-9]\d*\Z|[\w./-]+: (?:command not found|line \d+:|No such file)"
)
"""A line that a program wrote: pasted, and no word of the person's."""
_FRAMES: Final = late(_FRAME)
_CALL: Final = late(r"\S+\(.*\)\Z")


def own_words(prompt: str) -> str:
    """Return what a person says in a prompt, without pasted errors, logs, traces, quotations."""
    kept: list[str] = []
    in_frames = False
    for line in prompt.splitlines():
        bare = line.strip()
        in_frames = _FRAMES.match(bare) is not None or (
            in_frames and (line[:1].isspace() or _CALL.match(bare) is not None)
        )
        if not in_frames and _LOG_LINE.match(bare) is None:
            kept.append(line)
    return "\n".join(kept).strip()
