"""Wikilink resolution: shortest unique path, any case, ambiguity reported."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lamina_engine.ingest.drafts import SourceLink
from lamina_engine.reports import Problem

NOTE_SUFFIXES = (".md", ".markdown")
"""Suffixes that a link may leave out, in order of preference."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Targets of the links of each source."""

    targets: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    """For each source one entry per link, in order: the source it leads to, or None."""
    problems: tuple[Problem, ...] = ()
    """One for each source and target that fits several sources alike."""


def resolve_links(links_by_source: Mapping[str, Sequence[SourceLink]], sources: Iterable[str]) -> Resolution:
    """Resolve the links of many sources. O(sources + links).

    A target is compared with the end of each path, folder by folder, the suffix of a note left out or not. Among those
    that fit, the whole path from the vault's root wins, then the same spelling in upper and lower case, then the path
    with the fewest folders. If two are still alike, the link leads nowhere and is reported. A target that begins with
    ``./`` or ``../`` is taken from the linking note's folder, an empty one is the linking note. A link to a missing note is
    normal in a vault and no problem.
    """
    resolver = LinkResolver(sources)
    targets: dict[str, tuple[str | None, ...]] = {}
    problems: list[Problem] = []
    for source, links in links_by_source.items():
        targets[source], reported = resolver.resolve(source, links)
        problems += reported
    return Resolution(targets, tuple(problems))


class LinkResolver:
    """Resolver of links, one source at a time; see `resolve_links`."""

    def __init__(self, sources: Iterable[str]) -> None:
        self._by_name: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        self._paths: dict[tuple[str, ...], str] = {}
        for source in sorted(set(sources)):
            parts = tuple(source.split("/"))
            self._paths[parts] = source
            for name in _names(parts[-1]):
                self._by_name[_fold(name)].append(parts)

    def resolve(self, source: str, links: Sequence[SourceLink]) -> tuple[tuple[str | None, ...], list[Problem]]:
        """Return the target of each link of a source, and a problem for each ambiguous one."""
        found: list[str | None] = []
        reported: dict[str, Problem] = {}
        for link in links:
            candidates = self.find(link.target, source)
            found.append(candidates[0] if len(candidates) == 1 else None)
            if len(candidates) > 1 and link.target not in reported:
                reported[link.target] = _ambiguous(source, link.target, candidates)
        return tuple(found), list(reported.values())

    def find(self, target: str, source: str) -> list[str]:
        """Return the sources that a target may mean: none, one, or several alike."""
        target = target.replace("\\", "/").strip()
        if not target:
            return [source]
        wanted, rooted = _from_folder(target, source)
        if not wanted:
            return []
        folded = tuple(map(_fold, wanted))
        fits = [parts for parts in self._by_name.get(folded[-1], ()) if _ends_with(parts, folded)]
        if rooted:
            fits = [parts for parts in fits if len(parts) == len(wanted)]
        return [self._paths[parts] for parts in _narrow_paths(fits, wanted)]


def _narrow_paths(fits: list[tuple[str, ...]], wanted: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Narrow fitting paths; each preference counts only where it leaves some."""
    for prefer in (_is_full_path, _same_spelling):
        fits = [parts for parts in fits if prefer(parts, wanted)] or fits
    fewest = min(map(len, fits), default=0)
    fits = [parts for parts in fits if len(parts) == fewest]
    # a note beside an attachment of the same name: the name as written, then a note
    fits = [parts for parts in fits if parts[-1] == wanted[-1]] or fits
    for suffix in NOTE_SUFFIXES:
        fits = [parts for parts in fits if parts[-1].lower().endswith(suffix)] or fits
    return fits


def _is_full_path(parts: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return len(parts) == len(wanted)


def _same_spelling(parts: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return wanted[-1] in _names(parts[-1]) and parts[-len(wanted) : -1] == wanted[:-1]


def _from_folder(target: str, source: str) -> tuple[tuple[str, ...], bool]:
    """Return the parts of a target, and whether they start at the root."""
    parts = target.split("/")
    relative = parts[0] in (".", "..")
    path = source.split("/")[:-1] if relative else []
    for part in parts:
        if part == "..":
            if not path:
                return (), True
            path.pop()
        elif part not in ("", "."):
            path.append(part)
    return tuple(path), relative or target.startswith("/")


def _ends_with(parts: tuple[str, ...], folded: tuple[str, ...]) -> bool:
    if len(parts) < len(folded):
        return False
    folders = parts[len(parts) - len(folded) : -1]
    return tuple(map(_fold, folders)) == folded[:-1]


def _names(name: str) -> tuple[str, ...]:
    """Return the names of a file that a link may use."""
    for suffix in NOTE_SUFFIXES:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)], name
    return (name,)


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _ambiguous(source: str, target: str, candidates: Sequence[str]) -> Problem:
    shown = ", ".join(candidates[:5]) + (", ..." if len(candidates) > 5 else "")
    return Problem(
        source,
        "wikilink",
        f"[[{target}]] matches {len(candidates)} notes equally ({shown}); not linked; write more of the path",
    )


_FIELDS: Final = tuple(SourceLink.__dataclass_fields__)


def resolve_stored_links(
    links: Mapping[str, Sequence[Mapping[str, Any]]], sources: Iterable[str]
) -> Mapping[str, Sequence[str | None]]:
    """Resolve links as the sources log stores them; notes added later may be their targets."""
    found = {name: [_link(link) for link in each] for name, each in links.items()}
    return resolve_links(found, sources).targets


def _link(record: Mapping[str, Any]) -> SourceLink:
    fields: dict[str, Any] = {name: record.get(name) for name in _FIELDS}
    return SourceLink(**fields)
