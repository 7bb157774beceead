"""The program `lamina hook`: one JSON object before the deadline and exit code 0.

The process that the agent started only reads, gates and waits. What needs the engine runs in a forked child; a timer set
before anything else ends the wait, so that neither a slow disk nor a crash in a library is ever seen by the agent. Where
the system cannot fork, a thread keeps the time.
"""

from __future__ import annotations

import contextlib
import json  # before the timer: a signal may strike in the middle of an import
import os
import sys
import time

from lamina.hooks import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from lamina.hooks.payload import Payload
    from lamina.hooks.queue import Queue

_MOST_BYTES = 4_000_001


def main(words: list[str]) -> int:
    """Answer one event; the words are those after ``lamina hook``."""
    options = _options(words)
    event = events.event_of(options.get("event", ""))
    agent = options.get("agent", events.CLAUDE_CODE)
    deadline_s = max(_deadline_s(options, event) - _age_s(), 0.001)
    reply = _Reply(agent, event)
    _start_timer(deadline_s, reply)
    try:
        _say(_answer(event, agent, options.get("vault", ""), deadline_s, reply))
    except BaseException as error:  # whatever it is: a memory never breaks its user's work
        _show(error)
    reply.send({})
    return 0


class _Reply:
    """The one answer of the process: sent whole, once, by whoever comes first."""

    def __init__(self, agent: str, event: str) -> None:
        self.child = 0
        self._begun = False
        self._nothing = _encode(events.nothing(agent, event))

    def send(self, document: dict[str, object]) -> None:
        """Write an answer, by default the one that changes nothing, and end the process."""
        rest = _encode(document) if document else self._nothing
        if self._begun:  # the timer strikes while an answer is on its way: that one is finished, and no other follows
            return
        self._begun = True
        with contextlib.suppress(OSError):  # nobody may listen any more
            while rest:
                rest = rest[os.write(1, rest) :]
        if self.child:
            import signal

            with contextlib.suppress(OSError):
                os.kill(self.child, signal.SIGKILL)
        os._exit(0)


def _encode(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _is_debugged() -> bool:
    """Return True where the user wants to see what goes wrong, on stderr."""
    return os.environ.get("LAMINA_HOOKS") == "debug"


def _say(reason: str) -> None:
    if _is_debugged() and reason:
        with contextlib.suppress(OSError):
            os.write(2, f"lamina hook: {reason}; nothing is told\n".encode("utf-8", "replace"))


def _show(error: BaseException) -> None:
    if _is_debugged():
        sys.excepthook(type(error), error, error.__traceback__)


def _options(words: list[str]) -> dict[str, str]:
    """Read what can be read of the command line: no agent is to be bothered with a wrong one."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            found[name] = value if equals else (rest.pop(0) if rest else "")
        else:
            found.setdefault("event", word)
    return found


def _deadline_s(options: dict[str, str], event: str) -> float:
    given = options.get("deadline", "")
    if given.isascii() and given.isdigit() and 0 < int(given) <= 600_000:
        return int(given) / 1000
    return events.DEADLINES_MS.get(event, 300) / 1000


def _age_s() -> float:
    """Return the time since this process began, Python's own start included; 0 if unknown."""
    try:
        with open("/proc/self/stat", "rb") as state:
            began = int(state.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - began
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
    return age if 0.0 < age < 60.0 else 0.0


def _start_timer(seconds: float, reply: _Reply) -> None:
    def strike(*_: object) -> None:
        _say("the deadline came first")
        reply.send({})

    if hasattr(os, "fork"):
        import signal

        signal.signal(signal.SIGALRM, strike)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return
    import threading

    timer = threading.Timer(seconds, strike)
    timer.daemon = True
    timer.start()


def _answer(event: str, agent: str, vault: str, deadline_s: float, reply: _Reply) -> str:
    """Tell what there is to tell, or return why nothing is; empty for a capture."""
    from lamina.hooks import gate

    content = _read_input()
    if event not in events.DEADLINES_MS:
        return "this event is not known"
    if gate.is_off():
        return f"{gate.SWITCH} is off"
    from lamina.hooks.payload import Payload

    payload = Payload(content)
    if not payload.is_whole:
        return "the input is not one whole JSON object"
    if event == events.PROMPT and _asks_nothing(payload.prompt, payload.source):
        return "the prompt asks nothing of a memory"
    from lamina.location import find_vault
    from lamina_engine.sessions.privacy import IGNORE, is_ignored, is_private

    folder = payload.folder if os.path.isdir(payload.folder) else os.getcwd()
    root = vault or find_vault(folder)
    if not root or not os.path.exists(os.path.join(root, "CURRENT")):
        return f"no vault for {folder}" if not root else f"{root} is no vault"
    if is_ignored(folder):
        return f"a {IGNORE} leaves {folder} out"
    from lamina.trust import is_trusted

    if not is_trusted(root):
        return f"{root} is not trusted, see `lamina trust`"
    from lamina.hooks.queue import Queue

    queue = Queue(os.path.abspath(root))
    if event in events.CAPTURES:
        transcript = payload.transcript or queue.transcript_of(payload.session)
        if payload.messages and payload.session and not queue.is_private(payload.session):
            from lamina.hooks.messages import write_transcript

            transcript = _in_child(
                lambda: write_transcript(queue, payload.session, payload.parent, folder, payload.messages),
                deadline_s, reply,
            ) or ""  # fmt: skip
        _ask_for_capture(event, agent, payload, transcript, queue, root)
        return ""
    if event == events.SESSION_START:
        _begin_session(agent, payload, queue, root)
        if payload.is_subagent:
            return "a helper of the agent gets no start"
    if event == events.PROMPT and is_private(payload.prompt):
        queue.keep_private(payload.session)
        return "the session is private"
    if not events.takes_context(agent, event):
        return f"{agent} takes no context at this event"
    if event == events.PROMPT and queue.repeats(payload.session, payload.prompt):
        return "the same prompt came a moment ago"
    from lamina.hooks.context import Request, context_of

    request = Request(
        event, os.path.abspath(root), payload.session or "unnamed", folder, payload.prompt, payload.source,
        payload.file_read, payload.is_subagent,
    )  # fmt: skip
    text = _in_child(lambda: context_of(request), deadline_s, reply)
    if text:
        reply.send(events.answer(agent, event, text))
    return "the vault has nothing that fits" if text is not None else "the process that asked the vault died"


def _asks_nothing(prompt: str, source: str) -> bool:
    from lamina.hooks import gate
    from lamina_engine.sessions.privacy import is_private

    return gate.skips_prompt(prompt, source) and not is_private(prompt)


def _ask_for_capture(event: str, agent: str, payload: Payload, transcript: str, queue: Queue, root: str) -> None:
    session = payload.session
    if not os.path.isabs(transcript) or queue.is_private(session):
        return
    if event == events.SESSION_END:
        queue.mark_over(session)
    # the transcript of a sub-agent is another than that of its session
    queue.ask("" if event == events.SUBAGENT_STOP else session, transcript, agent, payload.folder)
    if (
        event == events.SESSION_END
        or (event == events.PRE_COMPACT and agent != events.GEMINI)
        or not queue.pauses(session)
    ):
        _work_on(root)


def _begin_session(agent: str, payload: Payload, queue: Queue, root: str) -> None:
    if not queue.transcript_of(payload.session):
        queue.note(payload.session, payload.transcript, agent, payload.folder)
    queue.reopen(payload.session)
    with contextlib.suppress(OSError):
        queue.ask_for_unread(payload.session)
    if queue.waits() or queue.waits_for_model():
        _work_on(root)


def _work_on(root: str) -> None:
    from lamina.hooks.capture import start_worker

    start_worker(os.path.abspath(root))


def _read_input() -> bytes:
    """Return standard input, at most a byte more than a payload may have."""
    parts: list[bytes] = []
    length = 0
    with contextlib.suppress(OSError):  # it may be closed
        while length < _MOST_BYTES and (part := os.read(0, min(1 << 20, _MOST_BYTES - length))):
            parts.append(part)
            length += len(part)
    return b"".join(parts)


def _in_child(build: Callable[[], str], deadline_s: float, reply: _Reply) -> str | None:
    """Return what a call gives in a child process; None if the child dies, whatever of.

    What libraries print goes nowhere near the agent, and the end of the child costs no clean-up.
    """
    if not hasattr(os, "fork"):
        return build()
    import signal

    out, into = os.pipe()
    reply.child = os.fork()
    if not reply.child:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, deadline_s + 0.5)  # should the parent be killed
            os.close(out)
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1) if _is_debugged() else (0, 1, 2):
                os.dup2(nothing, stream)
            rest = b"%s\0" % build().encode("utf-8", "replace")  # the last byte says that it is whole
            while rest:
                rest = rest[os.write(into, rest) :]
        except BaseException as error:  # the parent finds no whole answer
            _show(error)
        finally:
            os._exit(0)
    os.close(into)
    parts = []
    while part := os.read(out, 1 << 16):
        parts.append(part)
    os.waitpid(reply.child, 0)  # it ends as it closes the pipe, and its time is counted as ours
    reply.child = 0
    found = b"".join(parts)
    return found[:-1].decode("utf-8", "replace") if found.endswith(b"\0") else None
