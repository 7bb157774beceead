"""Commands that connect agents: install, uninstall, doctor, plugin."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

from lamina.cli.command import Call, FilePath, command
from lamina.cli.terminal import bold, dim, printable
from lamina.install.agents import AGENTS, Agent, Options, find_agent, program_path
from lamina.install.files import (
    Change,
    Installed,
    apply_install,
    apply_uninstall,
    find_present,
    plan_install,
    plan_uninstall,
)

_NOTHING: Final = "nothing of Lamina is there"
_NO_SERVER: Final = (
    "no MCP entry: its server needs the extra; `pip install 'lamina[mcp]'`, then install again (hooks work without it)"
)


@command("install", "lamina install claude-code", "lamina install cursor --scope project --dry-run")
@click.argument("agent", metavar="AGENT")
@click.option(
    "--scope", type=click.Choice(["user", "project"]), default="user", show_default=True, help="Whose settings."
)
@click.option("--no-hooks", is_flag=True, help="Leave out the hooks.")
@click.option("--no-mcp", is_flag=True, help="Leave out the MCP entry.")
@click.option("--no-skills", is_flag=True, help="Leave out the skills.")
@click.option("--warm", is_flag=True, help="Answer prompts by the running MCP server (claude-code, codex).")
@click.option("--dry-run", is_flag=True, help="Print the changes as a diff, and write nothing.")
@click.option("--print", "show", is_flag=True, help="Print what a person would paste, and write nothing.")
def install(
    call: Call, agent: str, scope: str, no_hooks: bool, no_mcp: bool, no_skills: bool, warm: bool, dry_run: bool, show: bool
) -> None:  # fmt: skip
    """Give an agent its memory: hooks, MCP entry and skills, in its own settings.

    AGENT is claude-code, codex, cursor, gemini, copilot, vscode, opencode or claude-desktop. Everything else in its files
    stays as it is; `lamina uninstall` gives them back. Again after an update, or after Lamina was moved.
    """
    found = find_agent(agent)
    has_server = find_spec("mcp") is not None
    options = Options(
        program_path(), scope, Path.cwd(), hooks=not no_hooks, mcp=not no_mcp and (has_server or show), skills=not no_skills,
        warm=warm and has_server,
    )  # fmt: skip
    targets = found.targets(options)
    if show:
        pasted: list[dict[str, object]] = [
            {"file": str(target.path), "text": target.content}
            if target.content is not None
            else {
                "file": str(target.path),
                "entries": [{"at": ".".join(e.path), "value": e.value} for e in target.entries],
            }
            for target in targets
        ]
        call.answer({"agent": agent, "files": pasted}, lambda: _pasted_lines(pasted))
        return
    installed = Installed()
    planned = [(target, plan_install(target, installed)) for target in targets]
    if not dry_run:
        for target, change in planned:
            apply_install(target, change, agent, installed)
    changes = [change for _, change in planned]
    notes = [] if no_mcp or has_server else [_NO_SERVER]
    call.answer(
        _document(found, changes, dry_run=dry_run, notes=notes),
        lambda: [*_change_lines(changes, dry_run=dry_run), *notes, *([] if dry_run else _next_steps(found))],
    )


@command("uninstall", "lamina uninstall claude-code", "lamina uninstall codex --dry-run")
@click.argument("agent", metavar="AGENT")
@click.option(
    "--scope", type=click.Choice(["user", "project"]), default="user", show_default=True, help="Whose settings."
)
@click.option("--dry-run", is_flag=True, help="Print the changes as a diff, and write nothing.")
def uninstall(call: Call, agent: str, scope: str, dry_run: bool) -> None:
    """Take Lamina out of an agent's settings.

    Files that nobody else has changed since get their former bytes back; from others our entries alone are taken out. The
    vault and its memories stay.
    """
    found, installed = find_agent(agent), Installed()
    paths = _files_of(found, scope, installed)
    changes = [plan_uninstall(path, agent, installed) for path in paths]
    notes = [] if paths else _hints(found, scope, installed)
    if not dry_run:
        apply_uninstall(changes, agent, installed)
    call.answer(
        _document(found, changes, dry_run=dry_run, notes=notes),
        lambda: [*_change_lines(changes, dry_run=dry_run), *map(printable, notes)],
    )


def _files_of(agent: Agent, scope: str, installed: Installed) -> list[Path]:
    """Return the files of one scope that hold anything of Lamina for an agent."""
    targets = agent.targets(Options(program_path(), scope, Path.cwd()))
    return [target.path for target in find_present(agent.name, targets, installed)]


def _hints(agent: Agent, scope: str, installed: Installed) -> list[str]:
    """Say where Lamina is, where it is not in the scope that was asked."""
    other, option = ("project", " --scope project") if scope == "user" else ("user", "")
    if (other == "user" or agent.has_projects) and _files_of(agent, other, installed):
        return [f"it is in the settings of the {other}: `lamina uninstall {agent.name}{option}`"]
    elsewhere = [path for path in installed.paths(agent.name) if path.exists()]
    return [f"it is in {elsewhere[0]}: run `lamina uninstall {agent.name} --scope project` there"] if elsewhere else []


@command("doctor", "lamina doctor", "lamina doctor claude-code --json")
@click.argument("agent", metavar="[AGENT]", required=False)
def doctor(call: Call, agent: str | None) -> None:
    """Check what is installed, and say what is wrong and the command that mends it.

    Each hook is run as its agent would run it. Exit code 1 if something is wrong.
    """
    from lamina.install.doctor import examine

    agents = [find_agent(agent)] if agent else list(AGENTS.values())
    findings = examine(agents, call.vault)
    wrong = [finding for finding in findings if finding.remedy]
    document = {"ok": not wrong, "findings": [finding.to_dict() for finding in findings]}
    call.answer(document, lambda: (printable(finding.line()) for finding in findings))
    if wrong:
        raise click.exceptions.Exit(1)


@command("plugin", "lamina plugin dist/lamina-plugin --agent claude-code")
@click.argument("folder", metavar="DIR", type=FilePath(path_type=Path))
@click.option(
    "--agent",
    type=click.Choice(["claude-code", "codex"]),
    default="claude-code",
    show_default=True,
    help="Whose layout.",
)
def plugin(call: Call, folder: Path, agent: str) -> None:
    """Write a plugin for an agent's marketplace.

    Its hooks call `lamina` on PATH; DIR is a new folder, or an empty one.
    """
    from lamina.install.plugin import write_plugin

    paths = write_plugin(folder, agent)
    call.answer({"files": [str(path) for path in paths]}, lambda: (printable(str(path)) for path in paths))


def _document(
    agent: Agent, changes: list[Change], *, dry_run: bool, notes: list[str] | None = None
) -> dict[str, object]:
    files = [
        {"path": str(change.path), "changed": change.changes, **({"diff": "\n".join(change.diff())} if dry_run else {})}
        for change in changes
    ]
    return {"agent": agent.name, "files": files, "dry_run": dry_run, "notes": notes or []}


def _change_lines(changes: list[Change], *, dry_run: bool) -> Iterator[str]:
    if dry_run:
        for change in changes:
            yield from map(_verbatim, change.diff())
        if not changes:
            yield _NOTHING
        return
    for change in changes:
        if change.is_taken:
            yield f"{'left':<9}  {printable(str(change.path))} is yours"
            continue
        state = (
            "changed" if change.changes and change.after is not None else "removed" if change.changes else "as it was"
        )
        yield f"{state:<9}  {printable(str(change.path))}"
    if not changes:
        yield _NOTHING


def _verbatim(line: str) -> str:
    """Return a line of a diff with its white space, safe to print."""
    return "\t".join(printable(part, lines=True) for part in line.split("\t"))


def _pasted_lines(pasted: list[dict[str, object]]) -> Iterator[str]:
    import json

    for file in pasted:
        yield bold(printable(str(file["file"])))
        if "text" in file:
            yield str(file["text"])
            continue
        entries = file["entries"]
        assert isinstance(entries, list)
        for entry in entries:
            yield dim(f"  at {entry['at']}:")
            yield json.dumps(entry["value"], indent=2)


def _next_steps(agent: Agent) -> Iterator[str]:
    from lamina.location import find_vault

    if find_vault() is None:
        yield "no vault yet: `lamina init --user` makes one for all your projects, `lamina init` one for this folder"
    if agent.name == "codex":
        yield "Codex asks you to review new hooks once: /hooks"
    if agent.events or agent.name == "opencode":
        yield f"the next session of {agent.title} remembers; `lamina doctor {agent.name}` checks it"
    else:
        yield f"start {agent.title} anew; `lamina doctor {agent.name}` checks it"
