"""Entity links: pairs of documents that name the same rare things."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from lamina_engine.graph.documents import documents_of
from lamina_engine.graph.log import Draft, LinkCounts, sync

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

_WIKILINK: Final = re.compile(r"\[\[([^\]\[|#\n]{1,120})")
_TICKED: Final = re.compile(r"`([^`\n]{2,80})`")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::|/|-)[A-Za-z0-9_]+)*(?:\(\))?")
_CODE_WORD: Final = re.compile(r"\b(?:[a-z0-9]+_[a-z0-9_]+|[a-z]+[A-Z][A-Za-z0-9]+|[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]+)\b")
_WORD: Final = r"[^\W\d_a-z][\w&'’-]*"
_NAME: Final = re.compile(rf"(?<![\w.]){_WORD}(?:[ \t]+{_WORD}){{0,3}}", re.UNICODE)
_SENTENCE_END: Final = re.compile(r"(?:^|[.!?:;\n]|\n[#>*\-\d. ]*)[\s\"'(*_#>-]*$")
_SHORTEST, _LONGEST = 2, 80


def entities_of(text: str, tags: Iterable[str] = ()) -> set[str]:
    """Return the entities of a text, folded: no case, spaces for runs of spaces.

    A single capitalised word at the start of a sentence does not count as a name: every sentence has one.
    Scripts without capitals give names by tags, wikilinks and code only.
    """
    found = {_fold(name) for name in (*tags, *_marked_names(text), *_names(text))}
    return {name for name in found if _SHORTEST <= len(name) <= _LONGEST and not name.isdigit()}


def _marked_names(text: str) -> Iterator[str]:
    yield from _WIKILINK.findall(text)
    for ticked in _TICKED.findall(text):
        if _IDENTIFIER.fullmatch(ticked):
            yield ticked.removesuffix("()")
    yield from _CODE_WORD.findall(text)


def _names(text: str) -> Iterator[str]:
    for match in _NAME.finditer(text):
        words = match.group().split()
        if _SENTENCE_END.search(text[max(0, match.start() - 12) : match.start()]):
            words = words[1:] if len(words) < 3 else words
        if words and (len(words) > 1 or len(words[0]) > _SHORTEST):
            yield " ".join(words)


def _fold(name: str) -> str:
    return " ".join(name.casefold().replace("’", "'").removesuffix("'s").split())


ORIGIN: Final = "entity"
RELATION: Final = "entity"
LEAST_IDF: Final = 3.0
OTHERS: Final = 20


def build(memory: Memory) -> LinkCounts:
    """Link documents by the rare things they name, through their representatives."""
    named, created = _documents(memory.view())
    return sync(memory, shared(named, created), origin=ORIGIN, relations=[RELATION], redacted=True)


def idf(documents: int, naming: int) -> float:
    """Return how rare an entity is: ln((N + 1) / (df + 1))."""
    return math.log((documents + 1) / (naming + 1))


def _rounded(documents: int) -> int:
    """Return a count at seven significant bits, rounded down."""
    spare = max(documents.bit_length() - 7, 0)
    return documents >> spare << spare


def weight(greatest: float, shared_entities: int) -> float:
    """Return a pair's weight from its greatest idf and the number of shared entities."""
    return min(1.0, 0.3 + 0.12 * greatest + min(0.15, 0.05 * (shared_entities - 1)))


def shared(named: Mapping[str, frozenset[str]], created: Mapping[str, int]) -> list[Draft]:
    """Return the links between documents."""
    naming: dict[str, list[str]] = defaultdict(list)
    for document in sorted(named, key=lambda name: (-created[name], name)):
        for entity in named[document]:
            naming[entity].append(document)
    total = _rounded(len(named))
    rare = {entity: idf(total, len(documents)) for entity, documents in naming.items() if len(documents) > 1}
    rare = {entity: value for entity, value in rare.items() if value >= LEAST_IDF}
    pairs = {
        (document, other) if document < other else (other, document)
        for entity in rare
        for document in naming[entity]
        for other in _others(naming[entity], document)
    }
    return [_entity_draft(first, second, named, rare) for first, second in sorted(pairs)]


def _others(documents: Sequence[str], document: str) -> list[str]:
    """Return the first documents but one."""
    return [other for other in documents[: OTHERS + 1] if other != document][:OTHERS]


def _entity_draft(first: str, second: str, named: Mapping[str, frozenset[str]], rare: Mapping[str, float]) -> Draft:
    both = named[first] & named[second]
    rarest = min(both, key=lambda entity: (-rare.get(entity, 0.0), entity))
    note = f"{rarest} ({len(both)} shared)" if len(both) > 1 else rarest
    return Draft(first, second, RELATION, weight(rare[rarest], len(both)), note)


def _documents(view: View) -> tuple[dict[str, frozenset[str]], dict[str, int]]:
    """Return the entities of each document, over all its chunks."""
    found = documents_of(view)
    texts = view.snapshot.values("chunks", "text", found.rows)
    tags = view.snapshot.values("chunks", "tags", found.rows)
    named: list[set[str]] = [set() for _ in found.ids]
    for document, text, tagged in zip(found.documents.tolist(), texts, tags, strict=True):
        named[document] |= entities_of(text, tagged or ())
    return (
        {name: frozenset(entities) for name, entities in zip(found.ids, named, strict=True)},
        dict(zip(found.ids, found.created_at.tolist(), strict=True)),
    )
