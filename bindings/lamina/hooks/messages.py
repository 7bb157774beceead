"""Messages that an agent without transcript files hands over, one a line.

Secrets are masked before anything is on disk; the file lies in the queue until it is captured.
"""

from __future__ import annotations

import json
import os
from typing import Any

import lamina
from lamina.hooks.queue import Queue, key_of
from lamina_engine.real_files import create_file


def write_transcript(queue: Queue, session: str, parent: str, folder: str, messages: list[object]) -> str:
    """Write a session's messages as a transcript into the queue's folder; return its path."""
    redactor = lamina.Redactor()
    info = {"id": session, "directory": folder, **({"parentID": parent} if parent else {})}
    os.makedirs(queue.folder, mode=0o700, exist_ok=True)
    path = os.path.join(queue.folder, f"{key_of(session)}.jsonl")
    aside = f"{path}.{os.getpid()}.tmp"
    with open(create_file(aside, 0o600), "w", encoding="utf-8", errors="replace") as out:
        for line in ({"info": info}, *messages):
            masked = _clean(line, lambda text: redactor.clean(text)[0])
            out.write(json.dumps(masked, ensure_ascii=False) + "\n")
    os.replace(aside, path)
    return path


def _clean(value: Any, clean: Any) -> Any:
    """Return a JSON value with every text in it masked."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean(item, clean) for item in value]
    if isinstance(value, dict):
        return {name: _clean(item, clean) for name, item in value.items()}
    return value
