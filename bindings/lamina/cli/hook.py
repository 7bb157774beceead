"""Help of ``lamina hook``, whose program is in `lamina.hooks` and starts without click."""

from __future__ import annotations

import click

from lamina.cli.command import Call, command
from lamina.hooks import events


@command("hook", "lamina hook session-start --agent claude-code < event.json")
@click.argument("event", metavar="EVENT")
@click.option("--agent", metavar="NAME", default=events.CLAUDE_CODE, show_default=True, help=", ".join(events.AGENTS))
@click.option("--deadline", metavar="MS", type=click.IntRange(1), help="Milliseconds until it answers {} and ends.")
def hook(call: Call, event: str, agent: str, deadline: int | None) -> None:
    """Answer an event of an agent; what `lamina install` writes calls this.

    EVENT is session-start, prompt, pre-compact, stop, subagent-stop, session-end or tool, or an agent's own name of it. The
    event's JSON object is read from standard input; one JSON object is printed, whatever happens, and the exit code is 0.
    LAMINA_HOOKS=off switches all hooks off.
    """
    from lamina.hooks.program import main

    words = [event, f"--agent={agent}"]
    words += [f"--vault={call.vault}"] if call.vault else []
    main(words + ([f"--deadline={deadline}"] if deadline else []))
