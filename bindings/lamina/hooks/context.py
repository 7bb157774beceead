"""Context for an event, by the public calls of a vault."""

from __future__ import annotations

import os
from dataclasses import dataclass

import lamina
from lamina.cli import use_one_thread
from lamina.hooks import events
from lamina.startup import gc_paused

_STARTS = {"resume": "resume", "fork": "resume", "compact": "compact", "clear": "clear"}
_FLOOR = 500
_FILE_TOKENS = 300


@dataclass(frozen=True, slots=True)
class Request:
    """An event that got through the gate."""

    event: str
    vault: str
    session: str
    folder: str
    prompt: str
    source: str
    file_read: str
    is_subagent: bool


def context_of(request: Request) -> str:
    """Return the block for an event; empty where nothing fits."""
    use_one_thread()
    with gc_paused(), lamina.open(request.vault, lock_timeout_s=0.0) as vault:  # the process ends with its answer
        if request.event == events.SESSION_START:
            return vault.bootstrap(
                request.session, repo=request.folder,
                trigger=_STARTS.get(request.source, "startup"),  # type: ignore[arg-type]
            ).text  # fmt: skip
        if request.event == events.PROMPT:
            floor = _half_floor() if request.is_subagent else None
            return vault.inject(request.prompt, request.session, floor, repo=request.folder).text
        return _about_file(vault, request) if request.file_read else ""


def _about_file(vault: lamina.Vault, request: Request) -> str:
    """Return what is known of a file that is being read, once a session and file."""
    name = os.path.basename(request.file_read)
    session = f"{request.session}:{request.file_read}"
    return vault.inject(name, session, _FILE_TOKENS, _FILE_TOKENS).text


def _half_floor() -> int:
    try:
        given = int(os.environ.get("INJECTION_BUDGET_FLOOR") or _FLOOR)
    except ValueError:
        given = _FLOOR
    return max(1, given // 2)
