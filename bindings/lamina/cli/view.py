"""``lamina view``: the vault in the browser."""

from __future__ import annotations

import click

from lamina.cli.command import Call, command, embedder_option


@command("view", "lamina view", "lamina view --no-open --port 8788", "lamina view --as-of 2026-03-01 --project shop")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, metavar="N", help="Port on loopback. [default: a free one]"
)
@click.option("--no-open", is_flag=True, help="Print the address and open no browser.")
@click.option("--as-of", metavar="DATE", help="Recall and facts as of that moment, until the page names another.")
@click.option("--project", metavar="NAME", help="Only this project, until the page names another.")
@embedder_option
def view(call: Call, port: int, no_open: bool, as_of: str | None, project: str | None, embedder: str | None) -> None:
    """Look at the vault in the browser.

    Search with the terms of every score, a map of all chunks by meaning, topics, facts, and what an agent would be told. It
    serves this machine alone, needs the token of the address that it prints, reads only, and runs until Ctrl-C.
    """
    try:
        from lamina.view.server import Viewer, run_viewer
    except ImportError as error:
        from lamina_engine.errors import MissingExtra, install_command

        raise MissingExtra(
            f"the viewer needs a package that is missing ({error.name}): {install_command('view')}"
        ) from error
    from lamina.vault import vault_path

    if not (vault_path(call.vault) / "CURRENT").is_file():
        call.open(mode="r").close()  # which says what is missing: here, not in the page
    if as_of is not None:
        with call.open(mode="r", embedder=embedder) as vault:
            vault.recall("date", 1, lanes=["lexical"], as_of=as_of)  # which says what is no date, as the page would
    viewer = Viewer(lambda: call.open(mode="r", embedder=embedder), project=project, as_of=as_of)
    run_viewer(viewer, port, browse=not no_open)
