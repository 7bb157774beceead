"""Targets of written links: the source that a name, path, label, number or URL means.

A name or path is compared with the end of each path, folder by folder, the suffix of a note left out or not. Among those
that fit, the whole path from the root wins, then the same spelling in upper and lower case, then the path with the fewest
folders; a name that no path has may be a title, then an alias. If two are still alike, the link leads nowhere.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote

NOTE_SUFFIXES: Final = (".md", ".markdown", ".rst", ".txt")
"""Suffixes that a link may leave out, in order of preference."""
_INDEX_NAMES: Final = ("README", "index", "Index", "_index")
"""Files that stand for their folder."""
_SIGNS: Final = re.compile(r"[^\w\s-]+")
_JOINED: Final = re.compile(r"[\s_-]+")
_JOINED_IN_LINE: Final = re.compile(r"(?:[^\S\n]|[_-])+")
_NAMESPACE: Final = re.compile(r"(?<=[^\W_])___(?=[^\W_])")
_SCHEME: Final = re.compile(r"^https?://(?:www\.)?")
_NUMBERED: Final = re.compile(r"(?:^|/)(pep|rfc)-?0*(\d+)\.[a-z]+\Z", re.IGNORECASE)


class Note(NamedTuple):
    """Names of a source beside its path."""

    title: str | None = None
    aliases: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    """Its own addresses and permalinks, as written."""
    labels: Mapping[str, int] = {}
    """Position of the chunk of each label."""


class Found(NamedTuple):
    """Target of a link."""

    sources: tuple[str, ...]
    """One, or several that fit alike; none where nothing does."""
    chunk: int | None = None
    """Position of the chunk it leads to, where that is known."""


class TargetResolver:
    """Resolver of the links of one root's sources. O(sources) to make, O(1) for a link."""

    def __init__(self, notes: Mapping[str, Note], root: str = "") -> None:
        self._root_name = root.rstrip("/").rpartition("/")[2].casefold()
        self._by_name: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        self._paths: dict[tuple[str, ...], str] = {}
        self._folders: set[tuple[str, ...]] = set()
        self._titles: dict[str, list[str]] = defaultdict(list)
        self._aliases: dict[str, list[str]] = defaultdict(list)
        self._urls: dict[str, list[str]] = defaultdict(list)
        self._labels: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self._numbers: dict[str, list[str]] = defaultdict(list)
        for source in sorted(notes):
            self._add(source, notes[source])

    def _add(self, source: str, note: Note) -> None:
        parts = tuple(source.split("/"))
        self._paths[parts] = source
        self._folders.update(tuple(map(fold, parts[:i])) for i in range(1, len(parts)))
        for name in _names(parts[-1]):
            self._by_name[fold(name)].append(parts)
        if note.title:
            self._titles[fold(note.title)].append(source)
        stem = _names(parts[-1])[0]
        page = page_of_name(stem)
        for alias in (*note.aliases, *((page,) if page != stem else ())):
            self._aliases[fold(alias)].append(source)
        for url in note.urls:
            self._urls[url_key(url)].append(source)
            self._urls[fold(url.strip("/"))].append(source)  # a permalink may be a path
        for label, chunk in note.labels.items():
            self._labels[label].append((source, chunk))
        numbered = _NUMBERED.search(source)
        if numbered:
            self._numbers[f"{numbered[1].lower()} {int(numbered[2])}"].append(source)

    def find(self, form: str, target: str, source: str) -> Found:
        """Return the source that a link of another means."""
        if form == "label":
            found = self._labels.get(target, [])
            own = [each for each in found if each[0] == source]
            found = own or found
            return Found(tuple(dict.fromkeys(name for name, _ in found)), found[0][1] if len(found) == 1 else None)
        if form == "number":
            return Found(tuple(self._numbers.get(target, ())))
        if form == "url":
            return Found(tuple(dict.fromkeys(self._urls.get(target, ()))))
        if form == "hosted":
            name, _, path = target.partition("/")
            fits = self._paths.get(tuple(path.split("/"))) if name.casefold() == self._root_name else None
            return Found((fits,) if fits else ())
        return Found(tuple(self._path(target, source) if form == "path" else self._name(target, source)))

    def is_folder(self, target: str, source: str) -> bool:
        """Return whether a path is a folder that holds sources, or one above the root."""
        for wanted in (_from_folder(f"./{target}", source)[0], _from_folder(target, source)[0]):
            if not wanted or tuple(map(fold, wanted)) in self._folders:
                return True
        return False

    def _name(self, target: str, source: str) -> list[str]:
        target = target.replace("\\", "/").strip()
        if not target:
            return [source]
        found = self._by_end(target, source)
        for known in (self._titles, self._aliases, self._urls):
            found = found or list(dict.fromkeys(known.get(fold(target), ())))
        return found

    def _path(self, target: str, source: str) -> list[str]:
        """Resolve a path beside the source, else one from the root, else the end of one."""
        if not target:
            return [source]
        relative = target if target.startswith("/") else f"./{target}"
        found = self._by_end(relative, source) or self._index_of(relative, source)
        return found or self._by_end(f"/{target.lstrip('/')}", source) or self._by_end(target, source)

    def _index_of(self, target: str, source: str) -> list[str]:
        """Return the file that stands for a folder."""
        parts = _from_folder(target, source)[0]
        names = [(*parts, f"{name}{suffix}") for name in _INDEX_NAMES for suffix in NOTE_SUFFIXES]
        return [self._paths[name] for name in names if name in self._paths][:1]

    def _by_end(self, target: str, source: str) -> list[str]:
        wanted, rooted = _from_folder(target, source)
        if not wanted:
            return []
        folded = tuple(map(fold, wanted))
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
    return tuple(map(fold, folders)) == folded[:-1]


def _names(name: str) -> tuple[str, ...]:
    """Return the names of a file that a link may use."""
    for suffix in NOTE_SUFFIXES:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)], name
    return (name,)


def page_of_name(stem: str) -> str:
    """Return the page that a note's file is named after.

    A file name cannot hold all signs of it. Logseq writes ``Book/Dune`` as ``Book___Dune``, in older folders as
    ``Book%2FDune``, and links say the page.
    """
    page = unquote(_NAMESPACE.sub("/", stem))
    return page if page.isprintable() and "\ufffd" not in page else stem


def fold(name: str) -> str:
    """Return a name for comparison: no case, single spaces, composed letters."""
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())


def slug(heading: str) -> str:
    """Return a heading as anchors write it: no case and no signs, words joined by dashes."""
    return _JOINED.sub("-", _SIGNS.sub("", fold(heading))).strip("-")


def slug_lines(text: str) -> list[str]:
    """Return `slug` of each line of a text, in a few passes over all."""
    lines = text.splitlines()
    folded = unicodedata.normalize("NFC", "\n".join(lines)).casefold()
    joined = _JOINED_IN_LINE.sub("-", _SIGNS.sub("", folded))
    return [line.strip("-") for line in joined.split("\n")] if lines else []


def url_key(url: str) -> str:
    """Return 12 digits for a URL, whatever its scheme, ``www.``, anchor and last slash."""
    bare = _SCHEME.sub("", url.strip().casefold()).partition("#")[0].rstrip("/")
    return hashlib.blake2b(bare.encode(), digest_size=6).hexdigest()
