"""Filters on the command line: a JSON filter, and short options for what is filtered most."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from lamina.cli.command import json_object

Where = Mapping[str, Any]

_SHORT = ("project", "type", "collection")


def filter_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add ``--where``, ``--project``, ``--type`` and ``--collection``; the function receives one filter, ``where``."""

    @functools.wraps(function)
    def run(call: Any, *, where: Where | None, **given: Any) -> None:
        short = {field: given.pop(field) for field in _SHORT}
        function(call, where=merged_where(where, **short), **given)

    for field in reversed(_SHORT):
        click.option(f"--{field}", multiple=True, metavar="NAME", help=f"Only this {field}; may be repeated.")(run)
    filter_help = 'A filter, such as {"tags": {"contains": "db"}}; AND, OR and NOT nest.'
    click.option("--where", callback=json_object, metavar="JSON", help=filter_help)(run)
    return run


def merged_where(where: Where | None, **short: Sequence[str]) -> Where | None:
    """Return one filter: the given one AND each of the short ones; None where nothing was given.

    Parameters
    ----------
    where : mapping, optional
        A filter in the grammar of `lamina_engine.recall.where`.
    **short : sequence of str
        By field, the values of which a chunk must have one.
    """
    parts: list[Where] = [] if where is None else [where]
    parts += [
        {field: values[0] if len(values) == 1 else {"in": list(values)}} for field, values in short.items() if values
    ]
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"AND": parts}
