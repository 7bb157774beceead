"""Written links: from the chunk that holds one to the note, heading or label it names.

They are resolved over all sources at once, so a link finds a note that came later, and goes when its note goes. Those of a
file are kept in the sources log as it is read; those of an added chunk are read from its text. An added chunk is linked by
its title, aliases, URL or id, from other added chunks and from files beside which no note has that name.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np
from msgspec import Struct

from lamina_engine import after_fork
from lamina_engine.graph import hyperlinks
from lamina_engine.graph.code_spans import code_ranges, fenced_ranges
from lamina_engine.graph.documents import present_sources
from lamina_engine.graph.log import Draft, LinkCounts, sync, write
from lamina_engine.graph.targets import Found, Note, TargetResolver, fold, slug, slug_lines
from lamina_engine.index.state import ACTIVE
from lamina_engine.results import UnresolvedLink
from lamina_engine.stored_json import read_json

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import I64

WIKI: Final = "wikilink"
MARKDOWN: Final = "markdown"
"""Origins: links in double brackets, and all the others that a text holds."""
RELATION: Final = "related"
_ANCHOR: Final = "anchor"
_URL_FIELDS: Final = ("url", "permalink", "canonical_url", "canonical", "source_url", "link", "uri", "slug")

_WORDS: Final[Mapping[str, tuple[str, bool]]] = {
    **dict.fromkeys(("causes", "caused", "led to", "leads to", "resulted in", "triggers", "triggered"), ("causal", True)),
    **dict.fromkeys(("caused by", "because of", "due to", "result of", "triggered by"), ("causal", False)),
    **dict.fromkeys(("supports", "supporting", "evidence for", "proves"), ("supporting", True)),
    **dict.fromkeys(("supported by", "proved by", "evidence"), ("supporting", False)),
    **dict.fromkeys(("contradicts", "refutes", "disagrees with"), ("contradicts", True)),
    "contradicted by": ("contradicts", False), "blocks": ("blocks", True), "blocked by": ("blocks", False),
    **dict.fromkeys(("derived from", "split from", "follows from"), ("derived_from", True)),
}  # fmt: skip
"""By the word before a link, the relation it stands for, and whether the link's own note is its source."""
RELATIONS: Final = (RELATION, *sorted({name for name, _ in _WORDS.values()}))


class SourceLink(Struct, frozen=True, omit_defaults=True):
    """Link as written in a source, kept in the sources log."""

    target: str
    """Name, path, label, number or the key of a URL, by form; empty for a link inside the same note."""
    chunk: int = 0
    """Index of the chunk it stands in."""
    heading: str | None = None
    alias: str | None = None
    embed: bool = False
    block: str | None = None
    """Name of the block it points at, without ``^``."""
    form: str = "wiki"
    """``wiki``; ``path`` (Markdown, :doc:), ``label`` (:ref:), ``number`` (:pep:), ``url``, ``hosted`` (a file of a
    repository on the web); ``anchor``: a place that labels lead to."""
    relation: str | None = None
    """Word before the link."""


class _Source(NamedTuple):
    """A present source: its chunks, its links, and what it may be called."""

    chunks: Sequence[str]
    links: list[SourceLink]


_DECODER: Final = msgspec.json.Decoder(list[SourceLink])


class WrittenLinks(NamedTuple):
    """The links of all texts, resolved."""

    drafts: Mapping[str, Sequence[Draft]]
    """By origin."""
    unresolved: Sequence[UnresolvedLink]
    """Those whose note is missing or ambiguous, by source; what leads out of the vault is none."""


def resolve(view: View) -> WrittenLinks:
    """Resolve the links of all present sources.

    A link to a note leads to its first active chunk; one to a heading to the chunk that holds it, where there is one.
    """
    drafts: dict[str, list[Draft]] = {WIKI: [], MARKDOWN: []}
    missing: list[UnresolvedLink] = []
    for each in _Roots(view).resolve():
        if each.draft is not None:
            drafts[each.origin].append(each.draft)
        elif each.missing is not None:
            missing.append(each.missing)
    return WrittenLinks(drafts, sorted(missing, key=lambda link: (link.root, link.source, link.target)))


def build(memory: Memory, origin: str, written: WrittenLinks | None = None) -> LinkCounts:
    """Link chunks as their texts say, by links of one origin.

    Several of one relation from one chunk to another are one link.
    """
    written = resolve(memory.view()) if written is None else written
    return sync(memory, written.drafts[origin], origin=origin, relations=RELATIONS, redacted=True)


def hold_links(view: View, chunks: Sequence[str]) -> bool:
    """Return whether texts of some chunks may hold links in brackets."""
    texts = view.snapshot.values("chunks", "text", view.rows_of_ids(list(chunks)))
    return any("[[" in text or "](" in text for text in texts)


def link_added(memory: Memory, added: Sequence[str]) -> LinkCounts:
    """Link chunks that were just added as their texts say."""
    counts = LinkCounts()
    found = [each for each in _Roots(memory.view()).resolve_added(frozenset(added)) if each.draft is not None]
    for origin in (WIKI, MARKDOWN):
        drafts = [each.draft for each in found if each.origin == origin and each.draft is not None]
        if drafts:  # what others say stays: a build withdraws what no text says any more
            counts.add(write(memory, drafts, origin=origin))
    return counts


class _Resolved(NamedTuple):
    origin: str = WIKI
    draft: Draft | None = None
    missing: UnresolvedLink | None = None


class _Roots:
    """Present sources of a view by root, and their links, resolved."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._sources = _current_sources(view)
        first = [source.chunks[0] for sources in self._sources.values() for source in sources.values() if source.chunks]
        rows = view.rows_of_ids(first)
        known = rows[rows >= 0]
        names = [name for name, row in zip(first, rows.tolist(), strict=True) if row >= 0]
        titles, metadata = (view.snapshot.values("chunks", column, known) for column in ("title", "metadata"))
        self._called = dict(zip(names, zip(titles, metadata, strict=True), strict=True))
        self._resolvers = {
            root: TargetResolver({name: self._note(source) for name, source in sources.items()}, root)
            for root, sources in self._sources.items()
        }
        self._added = _AddedChunks(
            view, {name for each in self._sources.values() for s in each.values() for name in s.chunks}
        )
        self._headings: dict[str, tuple[str, ...] | None] = {}
        self._places: dict[tuple[str, str], _Places] = {}

    def resolve(self) -> Iterator[_Resolved]:
        """Yield each link as a draft, or as one that leads nowhere."""
        for root, sources in self._sources.items():
            if not any(link.form != _ANCHOR for source in sources.values() for link in source.links):
                continue
            for name in sorted(sources):
                for link in sources[name].links:
                    if link.form != _ANCHOR:
                        yield self._resolve(root, name, link)
        yield from self.resolve_added()

    def resolve_added(self, some: Container[str] | None = None) -> Iterator[_Resolved]:
        """Yield each link of all added chunks, or of some."""
        for identity, source, links in self._added.links():
            for link in links if some is None or identity in some else ():
                yield self._resolve_added(identity, source, link)

    def _resolve(self, root: str, name: str, link: SourceLink) -> _Resolved:
        chunks = self._sources[root][name].chunks
        here = chunks[link.chunk] if link.chunk < len(chunks) else None
        if here is None or self._heading_path(here) is None:
            return _Resolved()
        resolver = self._resolvers[root]
        found = resolver.find(link.form, link.target, name)
        if len(found.sources) == 1:
            return self._lead(here, self._target(root, found, link), link)
        added = self._added.find(link) if not found.sources else ()
        if len(added) == 1:
            return self._lead(here, added[0], link)
        if not found.sources and not added and _is_outside(link, resolver, name):
            return _Resolved()
        fits = found.sources or added
        return _Resolved(MARKDOWN, missing=UnresolvedLink(here, name, root, link.target, link.form, fits))

    def _resolve_added(self, here: str, source: str, link: SourceLink) -> _Resolved:
        """Resolve a link of an added chunk: among those first, then over the notes of all roots."""
        if not link.target:  # a place in itself, and it is no note of any root
            return _Resolved()
        added = self._added.find(link)
        if len(added) == 1:
            return self._lead(here, added[0], link)
        fitting = ((root, resolver.find(link.form, link.target, "")) for root, resolver in self._resolvers.items())
        found = [(root, each) for root, each in fitting if each.sources]
        if not added and len(found) == 1 and len(found[0][1].sources) == 1:
            return self._lead(here, self._target(*found[0], link), link)
        fits = (*added, *(f"{root}/{name}" for root, each in found for name in each.sources))
        if not fits and link.form in ("url", "hosted", "number", "label"):
            return _Resolved()
        if not fits and PurePosixPath(link.target).suffix.lower() in _ATTACHMENTS:
            return _Resolved()
        return _Resolved(MARKDOWN, missing=UnresolvedLink(here, source, "", link.target, link.form, fits))

    def _target(self, root: str, found: Found, link: SourceLink) -> str | None:
        """Return the chunk that a link to a source leads to."""
        name, at = found.sources[0], found.chunk
        chunks = self._sources[root][name].chunks
        if at is not None and at < len(chunks) and self._heading_path(chunks[at]) is not None:
            return chunks[at]
        if (root, name) not in self._places:
            paths = {identity: path for identity in chunks if (path := self._heading_path(identity)) is not None}
            self._places[root, name] = _Places(self._view, paths)
        return self._places[root, name].find(link.heading)

    def _lead(self, here: str, target: str | None, link: SourceLink) -> _Resolved:
        if target is None or target == here:
            return _Resolved()
        relation, forward = _WORDS.get(fold(link.relation or "").replace("_", " ").replace("-", " "), (RELATION, True))
        note = "embed" if link.embed else link.relation
        ends = (here, target) if forward else (target, here)
        return _Resolved(WIKI if link.form == "wiki" else MARKDOWN, Draft(*ends, relation, 1.0, note))

    def _heading_path(self, identity: str) -> tuple[str, ...] | None:
        """Return the headings of a chunk as anchors, None where it is not active."""
        if identity not in self._headings:
            sources = (source for each in self._sources.values() for source in each.values())
            self._headings = _active(self._view, [name for source in sources for name in source.chunks])
        return self._headings.get(identity)

    def _note(self, source: _Source) -> Note:
        title, stored = self._called.get(source.chunks[0], (None, None)) if source.chunks else (None, None)
        return _note_of(title, stored, {link.target: link.chunk for link in source.links if link.form == _ANCHOR})


@after_fork.track_property_locks
class _Places:
    """Places in a source that links lead to: its active chunks by heading and by line.

    A source with a table of contents links to itself as often as it has headings, so both are read once, as anchors.
    """

    def __init__(self, view: View, paths: Mapping[str, Sequence[str]]) -> None:
        self._view, self._chunks = view, list(paths)
        self._by_heading: dict[str, str] = {}
        for identity, path in paths.items():
            for anchor in path:
                self._by_heading.setdefault(anchor, identity)

    def find(self, heading: str | None) -> str | None:
        """Return the first chunk of a heading, else the first of the source."""
        wanted = slug(heading) if heading else ""
        found = (self._by_heading.get(wanted) or self._by_line.get(wanted)) if wanted else None
        return found or (self._chunks[0] if self._chunks else None)

    @functools.cached_property
    def _by_line(self) -> dict[str, str]:
        """First chunk of each line that is little more than its anchor."""
        found: dict[str, str] = {}
        texts = self._view.snapshot.values("chunks", "text", self._view.rows_of_ids(self._chunks))
        for identity, text in zip(self._chunks, texts, strict=True):
            for line, anchor in zip(text.splitlines(), slug_lines(text), strict=True):
                if len(line) <= 2 * len(anchor) + 20:
                    found.setdefault(anchor, identity)
        return found


@after_fork.track_property_locks
class _AddedChunks:
    """Active chunks that no file holds: what they are called, and the links in their texts."""

    def __init__(self, view: View, listed: Container[str]) -> None:
        self._view = view
        rows = np.flatnonzero(view.state.status == ACTIVE)
        ids = view.snapshot.values("chunks", "id", rows)
        self._rows = rows[[identity not in listed for identity in ids]] if len(rows) else rows

    @functools.cached_property
    def _resolver(self) -> TargetResolver:
        columns = ("id", "title", "metadata")
        records = self._view.snapshot.records("chunks", self._rows, columns)
        return TargetResolver({record["id"]: _note_of(record["title"], record["metadata"]) for record in records})

    def find(self, link: SourceLink) -> tuple[str, ...]:
        """Return the ids of the chunks that a link means, in which case several are ambiguous."""
        return self._resolver.find(link.form, link.target, "").sources if link.form in ("wiki", "url") else ()

    def links(self) -> Iterator[tuple[str, str, list[SourceLink]]]:
        """Yield the id and source of each chunk with links, and those."""
        rows = self._rows[np.isin(self._rows, _rows_with_brackets(self._view))]
        for record in self._view.snapshot.records("chunks", rows, ("id", "source", "text")):
            yield record["id"], record["source"] or record["id"], links_of_text(record["text"])


def links_of_text(text: str) -> list[SourceLink]:
    """Return the links of an added text, as Markdown has them; each of equal ones once."""
    found = hyperlinks.find_links(text, "markdown", code_ranges(text, fenced_ranges(text)))
    links = (
        SourceLink(link.target, 0, link.heading, link.alias, link.embed, link.block, link.form, link.relation)
        for link in found
    )
    return list(dict.fromkeys(links))


def _rows_with_brackets(view: View) -> I64:
    """Return the rows whose texts may hold a link in brackets, ascending."""
    import pyarrow.compute as pc

    found = [np.empty(0, np.int64)]
    for segment in view.snapshot.segments("chunks"):
        texts = segment.column("text")
        hit = pc.or_(pc.match_substring(texts, "[["), pc.match_substring(texts, "]("))
        found.append(np.flatnonzero(hit.to_numpy(zero_copy_only=False)) + segment.start)
    return np.concatenate(found)


def _note_of(title: str | None, stored: str | None, labels: Mapping[str, int] = MappingProxyType({})) -> Note:
    metadata = read_json(stored) if stored else {}
    given = metadata.get("aliases", ())
    aliases = [alias for alias in given if isinstance(alias, str)] if isinstance(given, list) else []
    urls = [url for name in _URL_FIELDS if isinstance(url := metadata.get(name), str) and url]
    return Note(title, tuple(aliases), tuple(urls), labels)


def _is_outside(link: SourceLink, resolver: TargetResolver, source: str) -> bool:
    """Return whether a link without a source leads out of the vault, or to what is no text."""
    if link.form in ("url", "hosted", "number"):
        return True
    if link.form == "path":
        suffix = PurePosixPath(link.target).suffix.lower()
        return suffix in _ATTACHMENTS or resolver.is_folder(link.target, source)
    return link.embed and PurePosixPath(link.target).suffix.lower() in _ATTACHMENTS


_ATTACHMENTS: Final = frozenset(
    re.findall(
        r"\S+",
        ".png .jpg .jpeg .gif .svg .webp .bmp .ico .tif .tiff .avif .heic .mp3 .mp4 .wav .m4a .ogg .webm .mov .avi "
        ".pdf .zip .gz .tgz .tar .xz .7z .exe .dmg .whl .jar .doc .docx .xls .xlsx .ppt .pptx .odt .ods .canvas "
        ".drawio .excalidraw .woff .woff2 .ttf .psd .ai .key .pages .numbers .epub .db .sqlite .parquet .bin .iso "
        ".asc .sig ",
    )
)
"""Suffixes of files beside notes that are no texts."""


def _current_sources(view: View) -> dict[str, dict[str, _Source]]:
    """Return the present sources by root and path."""
    found: dict[str, dict[str, _Source]] = {}
    for (root, name), record in sorted(present_sources(view, "chunks", "links").items()):
        links = _DECODER.decode(record["links"]) if record["links"] else []
        found.setdefault(root, {})[name] = _Source(record["chunks"], links)
    return found


def _active(view: View, identities: list[str]) -> dict[str, tuple[str, ...] | None]:
    """Return the headings of each chunk as anchors, None for chunks that are not active."""
    rows = view.rows_of_ids(identities)
    kept = [i for i, row in enumerate(rows.tolist()) if row >= 0 and view.state.status[row] == ACTIVE]
    headings = view.snapshot.values("chunks", "headings", rows[kept])
    found: dict[str, tuple[str, ...] | None] = dict.fromkeys(identities)
    for i, path in zip(kept, headings, strict=True):
        found[identities[i]] = tuple(map(slug, path or ()))
    return found
