"""Parameters of a request, read strictly, and its errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

LONGEST_VALUE: Final = 4_000


class RequestError(Exception):
    """A request that cannot be answered: what was given, what is allowed, what to do."""

    def __init__(self, status: int, error: str, given: object = None, allowed: object = None, do: str = "") -> None:
        super().__init__(error)
        self.status = status
        self.document: dict[str, object] = {"error": error, "given": given, "allowed": allowed, "do": do}


class Query:
    """Parameters of one request: each at most once, and none that its path does not know."""

    def __init__(self, pairs: Sequence[tuple[str, str]], known: frozenset[str], project: str | None, as_of: str | None):
        names = [name for name, _ in pairs]
        for name, value in pairs:
            if name not in known:
                raise RequestError(400, f"no parameter {name!r:.60} here", name[:60], sorted(known), "leave it out")
            if names.count(name) > 1:
                raise RequestError(400, f"{name} is given twice", name, "once", "give it once")
            if len(value) > LONGEST_VALUE:
                raise RequestError(
                    400, f"{name} is too long", f"{len(value)} characters", LONGEST_VALUE, "give a shorter one"
                )
        self._values: Mapping[str, str] = {name: value for name, value in pairs if value != ""}
        self._project = project
        self.as_of = self._values.get("as_of", as_of)
        """The recorded moment that is asked for, else the viewer's; the vault that is asked stands there."""

    @property
    def project(self) -> str | None:
        """The project that is asked for, else the viewer's."""
        return self._values.get("project", self._project)

    def text(self, name: str) -> str | None:
        """Return a text, or None."""
        return self._values.get(name)

    def required(self, name: str) -> str:
        """Return a text that must be there."""
        if name not in self._values:
            raise RequestError(400, f"{name} is missing", None, "text", f"add ?{name}=…")
        return self._values[name]

    def number(self, name: str, default: int, most: int, least: int = 1) -> int:
        """Return a whole number within bounds."""
        value = self._values.get(name)
        if value is None:
            return default
        try:
            number = int(value) if value.isascii() and len(value) < 12 else least - 1
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise RequestError(400, f"{name} is out of range", value[:40], f"{least} to {most}", "give a whole number")
        return number

    def choice(self, name: str, allowed: Sequence[str]) -> str:
        """Return one of the allowed values, by default the first."""
        value = self._values.get(name, allowed[0])
        if value not in allowed:
            raise RequestError(400, f"{name} is none of the allowed", value[:40], list(allowed), "give one of them")
        return value

    def flag(self, name: str) -> bool:
        """Return True for 1."""
        return self.choice(name, ("0", "1")) == "1"

    def filter(self) -> dict[str, str] | None:
        """Return the filter of a recall by project, type, collection and source; None without any."""
        fields = {name: self._values.get(name) for name in ("type", "collection", "session")}
        found = {name: value for name, value in fields.items() if value is not None}
        if self.project is not None:
            found["project"] = self.project
        return found or None
