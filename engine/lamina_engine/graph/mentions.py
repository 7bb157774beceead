"""Mention links: from a chunk to the document that it names.

It names a title, an alias, a number, a file or a symbol. A known entity is mentioned too: the link leads to the chunk that
told of it first.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.graph.corpus import round_count, texts_of
from lamina_engine.graph.documents import documents_of
from lamina_engine.graph.entity import known_entities
from lamina_engine.graph.found import Found, FoundName, load, save
from lamina_engine.graph.links import claim_rows
from lamina_engine.graph.log import Draft, LinkCounts, sync
from lamina_engine.graph.naming import Name, NameFinder, by_rarity, words_of
from lamina_engine.graph.references import MARKDOWN, WIKI
from lamina_engine.stored_json import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lamina_engine.graph.naming import Texts
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

ORIGIN: Final = "mention"
RELATION: Final = "mention"
MOST: Final = 12
"""Mentions of one chunk: those of the rarest names."""
_SHARE: Final = 0.02
_FEWEST: Final = 8
"""A name that more than this share of the documents hold, and more than so many, tells nothing of any; nor does that of a
file of so many records."""

_NUMBERED: Final = re.compile(r"([A-Za-z]{2,10})[-_ ]?0*(\d{1,6})(?:\b|_)")
_LABELLED: Final = re.compile(r"([A-Z][A-Z0-9]{1,9}-\d{1,6})\b[:.]?\s")
_COMMON_FILES: Final = frozenset(
    re.findall(
        r"\S+",
        "readme index main setup conftest test tests utils util types config settings init __init__ __main__ app "
        "lib mod license changelog contributing makefile dockerfile package cargo pyproject requirements history "
        "news todo taskfile rakefile gemfile procfile justfile tsconfig eslint webpack vite compose docker-compose ",
    )
)
_DEFINITION: Final = re.compile(
    r"^(?:export |public |pub(?:\([a-z]+\))? |async |static |abstract )*"
    r"(def|class|fn|func|function|struct|enum|trait|interface|type|module|defmodule|defp)\s+([A-Za-z_]\w{4,80})",
    re.MULTILINE,
)
_FUNCTIONS: Final = ("def", "fn", "func", "function", "defp")
_TEST: Final = re.compile(r"(?:^|[/_.-])(?:tests?|testing|conftest)(?:[/_.-]|\Z)", re.IGNORECASE)
_EXAMPLE: Final = re.compile(r"(?:^|[/_.-])(?:examples?|samples?|demos?)(?:[/_.-]|\Z)", re.IGNORECASE)
"""What tests define is named elsewhere too; functions in examples mostly have the names of hooks that they implement."""
_DISTINCT: Final = re.compile(
    r"(?!test_)(?:[a-z0-9]+_[a-z0-9_]*[a-z0-9]|[A-Z]?[a-z0-9]+(?:[A-Z][a-z0-9]+)+|[A-Z]+[a-z0-9]+[A-Z]\w*)\Z"
)


def build(memory: Memory) -> LinkCounts:
    """Link chunks to what they name; a written link to the same is enough.

    What was found before is kept: the texts that have changed are read, and those that may hold a name that is new, or
    gone, or held by a changed text. The links are those of looking at all again.
    """
    view = memory.view()
    former = load(view)
    mentions = Mentions(view, former)
    written = _written_pairs(view)
    drafts = [draft for draft in mentions.drafts() if draft[:2] not in written]
    counts = sync(memory, drafts, origin=ORIGIN, relations=[RELATION], redacted=True)
    if former is None or mentions.found != former:
        save(memory, mentions.found, view.snapshot.manifest.rewritten)
    return counts


class Mentions:
    """The names of a view, and the active chunks whose texts hold them."""

    def __init__(self, view: View, former: Found | None = None) -> None:
        self._view = view
        self._documents = documents_of(view)
        self._at = np.full(view.rows, -1, np.int64)
        self._at[self._documents.rows] = np.arange(len(self._documents.rows))
        self._owner = self._documents.documents
        self._titles, self._sources, self._aliases = self._read_names()
        self._coded = np.array([_is_code(source) for source in self._sources], np.bool_)
        texts = texts_of(view)
        scale = texts.count, round_count(len(self._documents.ids))
        if former is not None and former.scale != scale:
            former = None
        self._most = max(_FEWEST, int(_SHARE * scale[1]))
        symbols = self._symbols(texts, former)
        self._homes = self._homes_of(symbols, known_entities(view))
        known = {} if former is None else {each.name: each for each in former.names}
        ordinary = {name: each.ordinary for name, each in known.items()}
        finder = NameFinder(texts, self._homes, self._is_own, ordinary)
        again = set(self._homes) if former is None else self._affected(finder, texts, former, known)
        finder.reconsider(again)
        if former is not None:
            turned = [name for name in again if name in known and finder.is_ordinary(name) != known[name].ordinary]
            for name in turned:
                again |= finder.names_within(words_of(name))
        self.looked_for = len(again)
        """Names that were looked for: all of them, but where a former version knew most."""
        self.found = Found(
            view.rows, view.snapshot.rows("events"), scale,
            [self._look(finder, name) if name in again else known[name] for name in sorted(self._homes, key=str)], symbols,
        )  # fmt: skip

    def drafts(self) -> Iterator[Draft]:
        """Yield the mentions of all chunks: of each those of the rarest names."""
        by_chunk: dict[int, list[tuple[float, str, str]]] = defaultdict(list)
        for each in self.found.names:
            if each.rows:
                weight = by_rarity(len(each.rows))
                for i in self._at[list(each.rows)].tolist():
                    if not (self._coded[i] and each.name.exact):
                        by_chunk[i].append((-weight, each.homes[0], each.name.text))
        for i in sorted(by_chunk):
            taken: set[str] = set()
            for weight, target, text in sorted(by_chunk[i]):
                if target not in taken and len(taken) < MOST:
                    taken.add(target)
                    yield Draft(self._documents.names[i], target, RELATION, -weight, text)

    def _look(self, finder: NameFinder, name: Name) -> FoundName:
        """Look for a name; one of several documents only keeps shorter names from counting."""
        homes, rows, others = self._homes[name], [], set()
        if len(homes) == 1:
            for row in finder.rows_of(name):
                rows.append(row)
                if not (name.exact and self._coded[self._at[row]]):
                    others.add(self._owner[self._at[row]])
                    if len(others) > self._most:
                        break
        enough = len(homes) > 1 or len(others) > self._most
        return FoundName(name, _ids(homes), finder.is_ordinary(name), None if enough else tuple(rows))

    def _affected(self, finder: NameFinder, texts: Texts, former: Found, known: Mapping[Name, FoundName]) -> set[Name]:
        """Return the names that may be found elsewhere than before."""
        changed = {name for name, homes in self._homes.items() if name not in known or known[name].homes != _ids(homes)}
        found = set(changed)
        for name in (*changed, *(name for name in known if name not in self._homes)):
            found |= finder.names_within(words_of(name))
        for row in former.changed_rows(self._view):
            found.update(finder.names_touched(texts[row][0]))
        return found

    def _is_own(self, name: Name, row: int) -> bool:
        homes = self._homes[name]
        return len(homes) == 1 and self._owner[self._at[row]] in homes

    def _symbols(self, texts: Texts, former: Found | None) -> dict[int, list[tuple[str, str]]]:
        """Return what code defines, by row: of rows that are not known from their texts."""
        known = {} if former is None else former.symbols
        new = set(self._documents.rows[self._coded].tolist() if former is None else former.changed_rows(self._view))
        found = {row: symbols for row, symbols in known.items() if self._at[row] >= 0 and row not in new}
        for row in new:
            i = self._at[row]
            if i >= 0 and self._coded[i] and not _TEST.search(self._sources[i] or ""):
                symbols = [each for each in _DEFINITION.findall(texts[row][0]) if _DISTINCT.match(each[1])]
                if symbols:
                    found[row] = symbols
        return dict(sorted(found.items()))

    def _homes_of(
        self, symbols: Mapping[int, list[tuple[str, str]]], entities: Sequence[tuple[str, str | None]]
    ) -> dict[Name, dict[int, str]]:
        """Return the documents that each name stands for, and the chunk of each."""
        homes: dict[Name, dict[int, str]] = defaultdict(dict)
        names, ids = self._documents.names, self._documents.ids
        first = np.unique(self._owner, return_index=True)[1].tolist()
        tables = {source for source, count in Counter(self._sources[i] for i in first).items() if count > _FEWEST}
        for document, i in enumerate(first):
            source = None if self._sources[i] in tables else self._sources[i]
            for name in _names_of(self._titles[i], source, self._aliases[i]):
                homes[name].setdefault(document, ids[document])
        for row, defined in symbols.items():
            i = int(self._at[row])
            example = _EXAMPLE.search(self._sources[i] or "") is not None
            for word, symbol in defined:
                if not (example and word in _FUNCTIONS):
                    homes[Name(symbol, exact=True)].setdefault(int(self._owner[i]), names[i])
        place = {name: i for i, name in enumerate(names)} if entities else {}
        for text, chunk in entities:
            if chunk in place and Name(text) not in homes:
                homes[Name(text)] = {int(self._owner[place[chunk]]): chunk}
        return homes

    def _read_names(self) -> tuple[list[str | None], list[str | None], list[Sequence[str]]]:
        """Return titles, sources and aliases of all chunks; equal sources are one text."""
        snapshot, rows = self._view.snapshot, self._documents.rows
        sources: dict[str | None, str | None] = {}
        return (
            snapshot.values("chunks", "title", rows),
            [sources.setdefault(source, source) for source in snapshot.values("chunks", "source", rows)],
            [_aliases_of(metadata) for metadata in snapshot.values("chunks", "metadata", rows)],
        )


def _ids(homes: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(sorted(homes.values()))


def _aliases_of(metadata: str | None) -> Sequence[str]:
    return read_json(metadata).get("aliases", ()) if metadata and '"aliases"' in metadata else ()


def _names_of(title: str | None, source: str | None, aliases: Sequence[str]) -> Iterator[Name]:
    """Yield what a document is called: title, aliases, number and file."""
    for text in (title, *aliases):
        if isinstance(text, str) and text.strip():
            bare = re.sub(r"\s*\([^()]*\)\Z", "", text.replace("`", "").strip(" *_"))
            yield Name(bare)
            labelled = _LABELLED.match(bare)
            if labelled:
                yield Name(labelled[1], exact=True)
    if source:
        path = PurePosixPath(source)
        numbered = _NUMBERED.fullmatch(path.stem) if path.suffix in (".rst", ".md", ".txt") else None
        if numbered:
            for joiner in (" ", "-"):
                yield Name(f"{numbered[1].upper()}{joiner}{int(numbered[2])}", exact=True)
        if path.suffix and path.stem.lower() not in _COMMON_FILES and len(path.stem) > 2:
            telling = re.search(r"[a-z0-9][_-][a-z0-9]|[a-z][A-Z]|[A-Za-z]\d", path.stem) is not None
            yield Name(path.name, exact=True, folder=path.parent.name, bare=telling)


def _is_code(source: str | None) -> bool:
    return source is not None and f".{source.rpartition('.')[2].lower()}" in _CODE


_CODE: Final = frozenset(
    re.findall(
        r"\S+",
        ".py .pyi .js .ts .tsx .jsx .go .rs .java .kt .c .h .cc .cpp .hpp .cs .rb .php .swift .scala .ex .exs .erl "
        ".hs .ml .lua .pl .sh .r .jl ",
    )
)


def _written_pairs(view: View) -> set[tuple[str, str]]:
    rows = np.concatenate([claim_rows(view, origin) for origin in (WIKI, MARKDOWN)])
    source, target = (view.snapshot.values("links", name, rows) for name in ("source", "target"))
    return set(zip(source, target, strict=True))
