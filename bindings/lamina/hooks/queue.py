"""The queue of captures: small files in the vault, which outlive any process.

In the folder ``queue``, ``<key>.json`` asks for a capture of one session's transcript; `take` renames it to ``.taken``, and a
worker that was killed leaves that behind for the next. ``.note`` remembers where a session's transcript lies, ``.private``
that it is to be left out, ``.over`` that it has ended, ``.prompt`` that a prompt was just answered. None of them holds text
of a session. ``judging.state`` is the engine's: how the last run of a language model ended; no capture is called so.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time

from lamina_engine.real_files import NO_FOLLOW, read_file, remove_file

FOLDER = "queue"
_OLDEST_NOTE_S = 30 * 86_400.0
_SAME_PROMPT_S = 10.0
_STOP_PAUSE_S = 60.0
_OVER_S = 3_600.0
_MODEL_PAUSE_S = 60.0
_LONGEST = 100_000


class Queue:
    """The queue of one vault; a step is one file operation, so that processes may share it."""

    def __init__(self, vault: str) -> None:
        self.folder = os.path.join(vault, FOLDER)  # no pathlib: hooks count milliseconds
        if os.path.islink(self.folder):
            raise OSError(f"{self.folder} is a symbolic link; Lamina did not make it: remove it")

    def ask(self, session: str, transcript: str, agent: str, folder: str = "") -> None:
        """Ask for a capture; durable when the call returns. ``folder`` is where the agent works."""
        key = key_of(session or transcript)
        self._write(f"{key}.json", {"session": session, "transcript": transcript, "agent": agent, "folder": folder})
        if not self.transcript_of(session):
            self.note(session, transcript, agent, folder)

    def note(self, session: str, transcript: str, agent: str, folder: str = "", length: int = -1) -> None:
        """Remember where a session's transcript lies, and how much of it was read."""
        if session and transcript:
            facts = {
                "session": session,
                "transcript": transcript,
                "agent": agent,
                "folder": folder,
                "length": str(length),
            }
            with contextlib.suppress(OSError):
                self._write(f"{key_of(session)}.note", facts)

    def ask_for_unread(self, session: str) -> None:
        """Ask for other sessions whose transcripts have grown: agents are killed, or write late."""
        for name in self._names():
            if not name.endswith(".note") or name == f"{key_of(session)}.note":
                continue
            found = {key: str(value) for key, value in self._read(name).items()}
            with contextlib.suppress(OSError, KeyError):
                if str(os.stat(found["transcript"]).st_size) != found["length"]:
                    self.ask(found["session"], found["transcript"], found["agent"], found.get("folder", ""))

    def transcript_of(self, session: str) -> str:
        """Return the transcript noted for a session; empty if there is none."""
        found = self._read(f"{key_of(session)}.note") if session else {}
        return str(found.get("transcript") or "")

    def keep_private(self, session: str) -> None:
        """Leave a session out from now on, and drop what was asked for it."""
        self._write(f"{key_of(session)}.private", {})
        for suffix in (".json", ".taken"):
            self._remove(key_of(session) + suffix)

    def is_private(self, session: str) -> bool:
        """Return True for a session that is to be left out."""
        return bool(session) and os.path.exists(self._path(f"{key_of(session)}.private"))

    def mark_over(self, session: str) -> None:
        """Note that a session has ended."""
        if session:
            with contextlib.suppress(OSError):
                self._write(f"{key_of(session)}.over", {"session": session})

    def reopen(self, session: str) -> None:
        """Note that a session goes on."""
        self._remove(f"{key_of(session)}.over")

    def sessions_over(self) -> list[str]:
        """Return the sessions that ended lately and were not resumed."""
        return [str(self._read(name).get("session", "")) for name in self._names() if name.endswith(".over")]

    def waits_for_model(self) -> bool:
        """Return True where a language model left questions, and was not asked just now."""
        left = self._read("judging.state").get("left")
        with contextlib.suppress(OSError):
            return bool(left) and time.time() - os.stat(self._path("judging.state")).st_mtime > _MODEL_PAUSE_S
        return False

    def repeats(self, session: str, prompt: str) -> bool:
        """Return True where a session's prompt came a moment ago: two configurations fire it twice."""
        return self._within(f"{key_of(session)}-{key_of(prompt)}.prompt", _SAME_PROMPT_S)

    def pauses(self, session: str) -> bool:
        """Return True where a session was captured at one of its stops a moment ago."""
        return self._within(f"{key_of(session)}.stop", _STOP_PAUSE_S)

    def waits(self) -> list[str]:
        """Return the keys of captures that wait, or that a killed worker has left."""
        return sorted({name.rpartition(".")[0] for name in self._names() if name.endswith((".json", ".taken"))})

    def take(self, key: str) -> dict[str, str] | None:
        """Take a capture; None where none waits. What is taken stays on disk until it is `done`."""
        taken = self._path(f"{key}.taken")
        with contextlib.suppress(FileNotFoundError):
            os.replace(self._path(f"{key}.json"), taken)
        found = self._read(f"{key}.taken")
        if not found and os.path.exists(taken):
            self._remove(f"{key}.taken")  # torn: the next event asks again
        return {name: str(value) for name, value in found.items()} or None

    def done(self, key: str) -> None:
        """Forget a capture that was taken."""
        self._remove(f"{key}.taken")

    def tidy(self) -> None:
        """Remove marks that are past their time."""
        now = time.time()
        for name in self._names():
            limit = {
                "prompt": _STOP_PAUSE_S, "stop": _STOP_PAUSE_S, "note": _OLDEST_NOTE_S, "tmp": _STOP_PAUSE_S,
                "over": _OVER_S,
            }  # fmt: skip
            oldest = limit.get(name.rpartition(".")[2])
            with contextlib.suppress(OSError):
                if oldest is not None and now - os.stat(self._path(name)).st_mtime > oldest:
                    self._remove(name)

    def _within(self, name: str, seconds: float) -> bool:
        """Mark a moment; return True where it was marked less than so many seconds ago."""
        path = self._path(name)
        with contextlib.suppress(OSError):  # on a disk that cannot be written nothing is marked
            try:
                os.close(self._create(path))
            except FileExistsError:
                if 0 <= time.time() - os.stat(path).st_mtime < seconds:
                    return True
                os.utime(path, follow_symlinks=False)
        return False

    def _create(self, path: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):  # another hook may be first
                os.mkdir(self.folder, 0o700)
            return os.open(path, flags, 0o600)

    def _write(self, name: str, content: dict[str, str]) -> None:
        aside = self._path(f"{name}.{os.getpid()}.tmp")
        with contextlib.suppress(OSError):  # of a process that was killed
            remove_file(aside)
        descriptor = self._create(aside)
        try:
            os.write(descriptor, json.dumps(content).encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(aside, self._path(name))

    def _read(self, name: str) -> dict[str, object]:
        try:
            found = json.loads(read_file(self._path(name), _LONGEST))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.folder)
        except OSError:
            return []

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _remove(self, name: str) -> None:
        with contextlib.suppress(OSError):
            remove_file(self._path(name))


def key_of(text: str) -> str:
    """Return a file name for a session or a prompt: no text of anybody's becomes a path."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()
