"""``lamina mcp``: the MCP server."""

from __future__ import annotations

import sys

import click

from lamina.cli.command import Call, command, embedder_choice, embedder_option
from lamina.mcp.tools import SETS


@command("mcp", "lamina mcp", "lamina mcp --tools causal", "lamina serve --read-only --http --port 8787")
@click.option(
    "--tools", type=click.Choice(list(SETS)), default="core", show_default=True, help="Tools that are listed."
)
@click.option("--read-only", is_flag=True, help="Change nothing: no writing tools.")
@click.option("--project", metavar="NAME", help="Project of calls that name none.")
@click.option(
    "--text", "text_only", is_flag=True, help="Answer as text alone, for agents that would show the data too."
)
@click.option("--http", is_flag=True, help="Serve over HTTP on loopback, with a token, for several clients.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, metavar="N", help="Port of --http. [default: a free one]"
)
@embedder_option
def mcp(
    call: Call, tools: str, read_only: bool, project: str | None, text_only: bool, http: bool, port: int,
    embedder: str | None,
) -> None:  # fmt: skip
    """Serve the vault to an agent over the Model Context Protocol.

    On standard input and output, for agents that start it themselves. With --http, the address and the token are printed on
    stderr; $LAMINA_MCP_TOKEN names another token. `lamina serve` is the same.
    """
    try:
        from lamina.mcp.server import run_stdio
    except ImportError as error:
        raise _missing(error) from error
    if port and not http:
        raise click.UsageError("--port is for --http")
    if text_only and http:
        raise click.UsageError("--text is for an agent that starts the server itself; programs on --http get the data")
    from lamina.mcp.access import VaultAccess

    access = VaultAccess(
        call.vault, project=project, read_only=read_only, trust=call.trust, embedder=embedder_choice(embedder)
    )
    if http:
        from lamina.mcp.http import run_http

        run_http(access, tools, port)
    if sys.stdin.isatty():
        click.echo("lamina mcp speaks the Model Context Protocol on this terminal; Ctrl-D ends it", err=True)
    run_stdio(access, tools, text_only=text_only)


def _missing(error: ImportError) -> Exception:
    from lamina_engine.errors import MissingExtra

    return MissingExtra(f"the MCP server needs a package that is missing ({error.name})", "mcp")
