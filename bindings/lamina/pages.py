"""Pages of one file, written to disk: what `lamina view` shows, without a server."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lamina_engine.arguments import path_of
from lamina_engine.atomic_write import atomic_write
from lamina_engine.errors import InvalidArgument
from lamina_engine.reports import Report

if TYPE_CHECKING:
    from lamina.vault import Vault
    from lamina.view.export import Kept


@dataclass(frozen=True, slots=True)
class PageReport(Report):
    """Report of a page that was written."""

    path: str
    bytes: int
    chunks: int
    topics: int
    views: tuple[str, ...]
    data: str | None
    """Name of the file that the page reads; None where it holds what it shows."""
    about: str


def write_page(
    vault: Vault, path: str | os.PathLike[str], project: str | None = None, as_of: str | None = None
) -> PageReport:
    """Write a page with what a vault holds, or held at a moment."""
    from lamina.view.export import keep_vault

    check_page_name(path)
    return _write(path, keep_vault(vault, project, as_of))


def write_empty_page(path: str | os.PathLike[str], data: str) -> PageReport:
    """Write a page without data, which reads the graph of a file beside it."""
    from lamina.view.export import keep_nothing

    check_page_name(path)
    return _write(path, keep_nothing(data))


def check_page_name(path: str | os.PathLike[str]) -> None:
    """Refuse a name that no browser would open as a page."""
    if path_of(path).suffix.lower() not in (".html", ".htm"):
        raise InvalidArgument(f"{Path(path).name!r} is to be a page; name it .html")


def _write(path: str | os.PathLike[str], kept: Kept) -> PageReport:
    from lamina.view.export import make_page

    with atomic_write(Path(path)) as aside:
        size = aside.write_bytes(make_page(kept))
    return PageReport(os.fspath(path), size, kept.chunks, kept.topics, kept.views, kept.data, kept.about)
