"""Scope of a context: one project, as the caller names it or as the vault knows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from lamina_engine.index.row_columns import NO_VALUE
from lamina_engine.recall.scopes import named_projects
from lamina_engine.recall.sessions import find_sessions
from lamina_engine.sessions.events import project_of_folder

if TYPE_CHECKING:
    from lamina_engine.index.view import View


class Scope(Struct, frozen=True):
    """Chunks that a context may be made of."""

    project: str | None = None
    named: bool = False
    """True where the caller named the project: then nothing without one belongs to it."""
    unowned: bool = False
    """True for chunks without a project alone."""
    asked: str | None = None
    """Another project, which the prompt names."""

    def ask(self, view: View, prompt: str) -> Scope:
        """Return the scope with the one other project that a prompt names.

        Where the caller named a project it is the only one.
        """
        if self.named or self.project is None:
            return self
        others = [name for name in named_projects(view, prompt) if name != self.project]
        return replace(self, asked=others[0]) if len(others) == 1 else self

    def holds(self, project: str | None, text: str) -> bool:
        """Return whether a chunk is of the project that the prompt names, or names it."""
        return self.asked is None or project == self.asked or self.asked.casefold() in text.casefold()

    def filter(self, where: Mapping[str, Any]) -> dict[str, Any]:
        """Return a filter that also asks for the project; an inferred one admits chunks without any."""
        if self.unowned:
            return {**where, "project": {"exists": False}}
        if self.project is None:
            return dict(where)
        if self.named:
            return {**where, "project": self.project}
        projects = [{"project": name} for name in (self.project, self.asked) if name is not None]
        mine = {"OR": [*projects, {"project": {"exists": False}}]}
        return {"AND": [dict(where), mine]} if where else mine


def find_scope(view: View, project: str | None, repo: Path | None, session: str | None, root: Path) -> Scope:
    """Return the named project, else that of the session, else that of the folder.

    A folder that the vault has not met yet is a project of its own where the vault lies outside it, among other projects:
    another project's handoff is none of its business.
    """
    if project is not None:
        return Scope(project, named=True)
    if session is not None:
        known = next(find_sessions(view, session=session), None)
        if known is not None and known.info.project is not None:
            return Scope(known.info.project)
    if repo is not None:
        projects = set(known_projects(view))
        folder = repo.absolute()
        for each in (folder, *folder.parents):
            name = project_of_folder(str(each))
            if name in projects:
                return Scope(name)
            if root.absolute().parent == each:
                return Scope()
            if (each / ".git").exists():
                break
        # with letters that UTF-8 can hold, as those of a filter: the folder's name may have others
        if projects and (own := project_of_folder(str(folder).encode("utf-8", "replace").decode())):
            return Scope(own)
    return Scope()


def known_projects(view: View, type_: str | None = None) -> list[str]:
    """Return the projects of active chunks, or of those of one type. O(rows)."""
    table, snapshot = view.categories, view.snapshot
    codes = table.column(snapshot, "project")[: view.rows]
    kept = view.state.active() & (codes != NO_VALUE)
    if type_ is not None:
        kept &= table.column(snapshot, "type")[: view.rows] == table.code("type", type_)
    return sorted({str(table.value("project", code)) for code in set(codes[kept].tolist())})
