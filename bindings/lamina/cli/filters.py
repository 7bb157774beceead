"""Filters on the command line: a JSON filter, and short options for what is filtered most."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lamina.cli.command import parse_json_object

WhereOption = Annotated[
    str | None,
    typer.Option(
        "--where", metavar="JSON", help='A filter: \'{"project": "api", "tags": {"contains": "db"}}\'; AND, OR and NOT nest.', show_default=False
    ),
]
ProjectOption = Annotated[list[str] | None, typer.Option("--project", help="Only this project; may be repeated.", show_default=False)]
TypeOption = Annotated[list[str] | None, typer.Option("--type", help="Only this type; may be repeated.", show_default=False)]
CollectionOption = Annotated[list[str] | None, typer.Option("--collection", help="Only this collection; may be repeated.", show_default=False)]


def merged_where(where: str | None, **short: list[str] | None) -> dict[str, Any] | None:
    """Return one filter: the JSON one AND each of the short ones; None where nothing was given.

    Parameters
    ----------
    where : str, optional
        A JSON object.
    **short : list of str, optional
        By field, the values of which a chunk must have one.
    """
    parts = [] if where is None else [parse_json_object(where, "--where")]
    parts += [{field: values[0] if len(values) == 1 else {"in": values}} for field, values in short.items() if values]
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"AND": parts}
