"""``lamina view``: the vault in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from lamina.cli.command import Call, command, embedder_option
from lamina.cli.terminal import printable


@command(
    "view", "lamina view", "lamina view --no-open --port 8788", "lamina view --as-of 2026-03-01 --project shop",
    "lamina view --export memory.html", "lamina view --export graph.html --data graph-data.json",
)  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, metavar="N", help="Port on loopback. [default: a free one]"
)
@click.option(
    "--host",
    type=click.Choice(["127.0.0.1", "::1"]),
    default="127.0.0.1",
    help="Address of loopback; there is no other.",
    show_default=True,
)
@click.option("--no-open", is_flag=True, help="Print the address and open no browser.")
@click.option("--as-of", metavar="DATE", help="Recall and facts as of that moment, until the page names another.")
@click.option("--project", metavar="NAME", help="Only this project, until the page names another.")
@click.option("--export", "page", metavar="FILE", help="Write a page of one file instead, which opens from disk.")
@click.option(
    "--data", metavar="NAME", help="With --export: a page without data, for the graph in that file beside it."
)
@embedder_option
def view(
    call: Call, port: int, host: str, no_open: bool, as_of: str | None, project: str | None, page: str | None, data: str | None,
    embedder: str | None,
) -> None:  # fmt: skip
    """Look at the vault in the browser.

    Search with the terms of every score, a map of all chunks by meaning, topics, facts, and what an agent would be told. It
    serves this machine alone, needs the token of the address that it prints, reads only, and runs until Ctrl-C.
    """
    if page is not None:
        _write_page(call, Path(page), data, project=project, as_of=as_of, embedder=embedder)
        return
    if data is not None:
        raise click.UsageError("--data goes with --export FILE, the page that reads it")
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
    run_viewer(viewer, port, browse=not no_open, host=host)


def _write_page(
    call: Call, path: Path, data: str | None, *, project: str | None, as_of: str | None, embedder: str | None
) -> None:
    from lamina.pages import check_page_name, write_empty_page, write_page

    if data is not None:
        page = write_empty_page(path, data)
    else:
        check_page_name(path)  # before the vault is opened for nothing
        with call.open(mode="r", embedder=embedder) as vault:
            page = write_page(vault, path, project, as_of)
    call.answer(page.to_dict(), lambda: [f"wrote {printable(page.path)}: {printable(page.about)}"])
