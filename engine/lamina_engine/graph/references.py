"""Written links: from the chunk that holds one to the note, heading or label it names.

They are resolved over all sources at once, so a link finds a note that came later, and goes when its note goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np
from msgspec import Struct

from lamina_engine.graph.log import Draft, LinkCounts, sync
from lamina_engine.graph.targets import Note, TargetResolver, fold, slug
from lamina_engine.index.state import ACTIVE
from lamina_engine.results import UnresolvedLink

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

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
        self._headings: dict[str, tuple[str, ...] | None] = {}

    def resolve(self) -> Iterator[_Resolved]:
        """Yield each link as a draft, or as one that leads nowhere."""
        for root, sources in self._sources.items():
            if not any(link.form != _ANCHOR for source in sources.values() for link in source.links):
                continue
            resolver = TargetResolver({name: self._note(source) for name, source in sources.items()}, root)
            for name in sorted(sources):
                for link in sources[name].links:
                    if link.form != _ANCHOR:
                        yield self._resolve(root, sources, resolver, name, link)

    def _resolve(
        self, root: str, sources: Mapping[str, _Source], resolver: TargetResolver, name: str, link: SourceLink
    ) -> _Resolved:
        chunks = sources[name].chunks
        here = chunks[link.chunk] if link.chunk < len(chunks) else None
        if here is None or self._heading_path(here) is None:
            return _Resolved()
        found = resolver.find(link.form, link.target, name)
        if len(found.sources) != 1:
            if not found.sources and _is_outside(link, resolver, name):
                return _Resolved()
            return _Resolved(MARKDOWN, missing=UnresolvedLink(here, name, root, link.target, link.form, found.sources))
        there = [identity for identity in sources[found.sources[0]].chunks if self._heading_path(identity) is not None]
        target = self._chunk_of(sources[found.sources[0]].chunks, there, found.chunk, link.heading)
        if target is None or target == here:
            return _Resolved()
        relation, forward = _WORDS.get(fold(link.relation or "").replace("_", " ").replace("-", " "), (RELATION, True))
        note = "embed" if link.embed else link.relation
        ends = (here, target) if forward else (target, here)
        return _Resolved(WIKI if link.form == "wiki" else MARKDOWN, Draft(*ends, relation, 1.0, note))

    def _chunk_of(self, chunks: Sequence[str], there: list[str], at: int | None, heading: str | None) -> str | None:
        """Return the chunk of a label or heading, else the first one."""
        if at is not None and at < len(chunks) and chunks[at] in there:
            return chunks[at]
        wanted = slug(heading) if heading else ""
        for identity in there if wanted else ():
            if wanted in (self._heading_path(identity) or ()):
                return identity
        if wanted and there:
            texts = self._view.snapshot.values("chunks", "text", self._view.rows_of_ids(there))
            for identity, text in zip(there, texts, strict=True):
                if any(slug(line) == wanted for line in text.splitlines() if len(line) <= 2 * len(wanted) + 20):
                    return identity
        return there[0] if there else None

    def _heading_path(self, identity: str) -> tuple[str, ...] | None:
        """Return the headings of a chunk as anchors, None where it is not active."""
        if identity not in self._headings:
            sources = (source for each in self._sources.values() for source in each.values())
            self._headings = _active(self._view, [name for source in sources for name in source.chunks])
        return self._headings.get(identity)

    def _note(self, source: _Source) -> Note:
        title, stored = self._called.get(source.chunks[0], (None, None)) if source.chunks else (None, None)
        metadata = msgspec.json.decode(stored) if stored else {}
        aliases = [alias for alias in metadata.get("aliases", ()) if isinstance(alias, str)]
        urls = [url for name in _URL_FIELDS if isinstance(url := metadata.get(name), str) and url]
        labels = {link.target: link.chunk for link in source.links if link.form == _ANCHOR}
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
    newest: dict[tuple[str, str], dict[str, Any]] = {}
    snapshot, past = view.snapshot, view.as_of_us
    rows = np.arange(snapshot.rows("sources") if past is None else snapshot.watermark("sources", past))
    for record in snapshot.records("sources", rows, ("root", "source", "state", "chunks", "links")):
        newest[record["root"], record["source"]] = record
    found: dict[str, dict[str, _Source]] = {}
    for (root, name), record in sorted(newest.items()):
        if record["state"] == "present":
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
