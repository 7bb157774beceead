"""Mention links: from a chunk to the document that it names.

It names a title, an alias, a number, a file or a symbol. A known entity is mentioned too: the link leads to the chunk that
told of it first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from lamina_engine.graph.documents import documents_of
from lamina_engine.graph.entity import known_entities
from lamina_engine.graph.links import claim_rows
from lamina_engine.graph.log import Draft, LinkCounts, sync
from lamina_engine.graph.naming import Name, Texts, by_rarity
from lamina_engine.graph.references import MARKDOWN, WIKI

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

ORIGIN: Final = "mention"
RELATION: Final = "mention"
MOST: Final = 12
"""Mentions of one chunk: those of the rarest names."""
_SHARE: Final = 0.02
_FEWEST: Final = 8
"""A name that more than this share of the documents hold, and more than so many, tells nothing of any."""

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
    """Link chunks to what they name; a written link to the same is enough."""
    view = memory.view()
    written = _written_pairs(view)
    drafts = [draft for draft in mention_drafts(view) if draft[:2] not in written]
    return sync(memory, drafts, origin=ORIGIN, relations=[RELATION], redacted=True)


def mention_drafts(view: View) -> Iterator[Draft]:
    """Yield the mentions of all active chunks."""
    found = documents_of(view)
    columns = {
        name: view.snapshot.values("chunks", name, found.rows) for name in ("id", "text", "title", "source", "metadata")
    }
    homes = _homes(found.documents.tolist(), found.ids, columns, known_entities(view))
    members: list[set[int]] = [set() for _ in found.ids]
    for i, document in enumerate(found.documents.tolist()):
        members[document].add(i)
    own = {name: members[next(iter(at))] if len(at) == 1 else set[int]() for name, at in homes.items()}
    named = Texts(columns["text"], own).find()
    most = max(_FEWEST, int(_SHARE * len(found.ids)))
    by_chunk: dict[int, list[tuple[float, str, str]]] = defaultdict(list)
    documents = found.documents.tolist()
    coded = [_is_code(source) for source in columns["source"]]
    for name, places in named.items():
        if len(homes[name]) > 1:  # it stands for several, and only keeps shorter names from counting
            continue
        document, target = next(iter(homes[name].items()))
        others = [i for i in places if documents[i] != document and not (coded[i] and name.exact)]
        if others and len({documents[i] for i in others}) <= most:
            weight = by_rarity(named, name)
            for i in others:
                by_chunk[i].append((-weight, target, name.text))
    for i in sorted(by_chunk):
        taken: set[str] = set()
        for weight, target, text in sorted(by_chunk[i]):
            if target not in taken and len(taken) < MOST:
                taken.add(target)
                yield Draft(str(columns["id"][i]), target, RELATION, -weight, text)


def _homes(
    documents: Sequence[int],
    ids: Sequence[str],
    columns: Mapping[str, Sequence[str | None]],
    entities: Sequence[tuple[str, str | None]],
) -> dict[Name, dict[int, str]]:
    """Return the documents that each name stands for, and the chunk of each."""
    homes: dict[Name, dict[int, str]] = defaultdict(dict)
    known: set[int] = set()
    for i, document in enumerate(documents):
        if document not in known:
            known.add(document)
            for name in _names_of(columns["title"][i], columns["source"][i], columns["metadata"][i]):
                homes[name].setdefault(document, ids[document])
        if _is_code(columns["source"][i]):
            source = columns["source"][i] or ""
            example = _EXAMPLE.search(source) is not None
            for word, symbol in _DEFINITION.findall(columns["text"][i] or "") if not _TEST.search(source) else ():
                if _DISTINCT.match(symbol) and not (example and word in _FUNCTIONS):
                    homes[Name(symbol, exact=True)].setdefault(document, str(columns["id"][i]))
    place = {str(identity): i for i, identity in enumerate(columns["id"])}
    for text, chunk in entities:
        if chunk in place and Name(text) not in homes:
            homes[Name(text)] = {documents[place[chunk]]: chunk}
    return homes


def _names_of(title: str | None, source: str | None, metadata: str | None) -> Iterator[Name]:
    """Yield what a document is called: title, aliases, number and file."""
    aliases = msgspec.json.decode(metadata).get("aliases", ()) if metadata and '"aliases"' in metadata else ()
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
    return source is not None and PurePosixPath(source).suffix.lower() in _CODE


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
