"""Fields of notes as facts: frontmatter of the note, and ``key:: value`` lines of its text.

The subject is the note's title. Below a heading that names a known entity, or that is a wikilink, the subject is that; a
line ``about:: Name`` sets it up to the next heading.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from lamina_engine.chunks.handoffs import DERIVED
from lamina_engine.errors import InvalidArgument, LaminaError
from lamina_engine.facts.extract import ExtractReport
from lamina_engine.facts.log import retract, write
from lamina_engine.facts.observations import Drop
from lamina_engine.facts.predicates import predicate_name
from lamina_engine.facts.schema import Draft
from lamina_engine.facts.view import FactView, fact_view, rows_of_origin
from lamina_engine.facts.vocabulary import word_set
from lamina_engine.index.state import ACTIVE
from lamina_engine.stored_json import read_json

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.results import Fact

ORIGIN: Final = "note"
_SUBJECT_FIELDS: Final = frozenset({"about", "entity", "subject"})
_FILE_FIELDS: Final = word_set(
    """title aliases alias tags tag created updated modified created_at updated_at date_created date_modified cssclass cssclasses
    publish permalink language_code layout draft weight toc slug id uid uuid template encoding facts observation
    content_type review_by tocdepth orphan nosearch nocomments"""
)
"""Fields that say something of the file and nothing of its subject."""
_LANGUAGE: Final = frozenset({"lang", "language"})
"""In a head the same: in what the file is written. A line `language:: Rust` says it of the subject."""
_PLAIN_TYPES: Final = word_set(
    """note decision handoff progress conversation problem milestone research preference deductive hub antipattern code text task
    session discovery feature bugfix change refactor agent_task table record"""
)
"""Types of chunks that are no types of things."""
_CODE_TYPE: Final = "implementation"
"""Type of the chunks of source files, whose ``::`` are operators; notes may have it too."""
_NOTES: Final = (".md", ".markdown", ".mdx", ".rst", ".txt")
_MAX_KEY: Final = 40
_MAX_VALUE: Final = 500
_MOST_VALUES: Final = 50
_LINE: Final = re.compile(
    r"^[ \t>]*(?:[-*+][ \t]+)?(?:\*\*|__)?(?P<key>[^\W\d_][\w /-]{0,39}?)(?:\*\*|__)?::(?:[ \t]+|$)(?P<value>.*)$"
)
_BRACKETED: Final = re.compile(
    r"[\[(](?P<key>[^\W\d_][\w /-]{0,39}?)::[ \t]+(?P<value>(?:\[\[[^\]]*\]\]|[^\[\]()])+)[\])]"
)
_WIKILINK: Final = re.compile(r"\[\[(?P<target>[^\]|#]+)(?:#[^\]|]*)?(?:\|[^\]]*)?\]\]")
_FENCE: Final = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(?P<sign>`{3,}|~{3,})")
_ITEM: Final = re.compile(r"^(?:[-*+]|\d+[.)])[ \t]")
_SPAN: Final = re.compile(r"(?P<sign>`+)(?!`).*?(?<!`)(?P=sign)(?!`)")
_LITERAL: Final = re.compile(r"::$|^\.\.[ \t]+(?:code|code-block|sourcecode|parsed-literal|math|raw)::")
"""End of a line after which reStructuredText takes what is indented more as it stands."""
_CODE_INDENT: Final = 4
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(?P<text>.+?)[ \t]*#*$")
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_PLAN: Final = re.compile(
    r"\b(?:plans?|planned|propos(?:als?|ed)|ideas?|wish ?list|roadmap|rejected|discarded|considered|someday|open questions?)\b",
    re.IGNORECASE,
)
"""Headings of what is not, or not yet, so."""
_OPEN: Final = re.compile(
    r"(?:tb[acd]|todo|n/?a|unknown|undecided|not (?:yet|decided|known)|.*\?|"
    r"(?:not|never|no longer|maybe|perhaps|possibly|probably|will|would|should|might|planned:?|plan to|to be) \S.*)",
    re.IGNORECASE | re.DOTALL,
)
"""Values that deny, doubt or plan what they name."""
_PLACEHOLDER: Final = re.compile(r"\$[A-Z]\w*:?\$|\$\{[^}]*\}|\|[^|\s][^|]*\||\{\{.*\}\}|<%.*%>|%\w+%|@\w+@", re.DOTALL)
"""Values that a program was to put something in place of: ``$Date$``, ``|version|``, ``{{ owner }}``."""
_STATES: Final = frozenset({"status", "state", "stage", "phase", "progress"})
"""Fields of which these are values: a status may be "not started"."""
_CALLED: Final = re.compile(r"(?P<name>[^,:]{1,40}?)(?:[,:]| [–—-])[ \t]+(?P<what>[^\W\d_].*)", re.DOTALL)
"""Title of a note that says what its subject is called, and what it is: "Heron, the gate"."""
_MOST_NAME_WORDS: Final = 3
_NAME_WORD: Final = re.compile(r"[^\W\d_a-z][\w'’.&+#/-]*|[\w.]+[_./+#-][\w./+#-]*\w|[a-z]+\d\w*|[a-z]+[A-Z]\w*")
"""Word of a name: capitalised, or an identifier."""
_GENRES: Final = _PLAIN_TYPES | word_set(
    "meeting minutes runbook postmortem howto how-to guide tutorial adr rfc draft incident report review retro summary faq"
)
"""Labels of titles that say what sort of note it is: "Runbook: the gate"."""
_MOST_CALLED: Final = 2
"""Titles that a name may begin; more make it a label."""
_FETCHED: Final = 4_096


class NoteField(NamedTuple):
    """Field of a note: its subject, key and value, and the chunk that has it."""

    subject: str
    key: str
    value: str
    chunk: str


def extract_notes(memory: Memory) -> ExtractReport:
    """Extract facts from the fields of all notes; retract those no longer stated.

    A second run changes nothing. O(chunks): each text is searched for ``::``.
    """
    report = ExtractReport()
    view = memory.view()
    kg = fact_view(view)
    drafts: list[Draft] = []
    files: dict[str | None, str] = {}
    for note in _notes(view):
        fields = list(_note_drafts(kg, note, report.dropped))
        drafts += fields
        files |= dict.fromkeys([draft.source for draft in fields], note.source)
        report.observations += bool(fields)
    if drafts:
        _name_subjects(memory, view, {draft.subject for draft in drafts}, report)
        kg = fact_view(memory.view())
        drafts = _keep_texts(kg, drafts, files)
        new = _select_new(kg, drafts, files)
        report.unchanged += len(drafts) - len(new)
        report.count(write(memory, new, origin=ORIGIN, skip_bad=True))
    report.aliases += _add_aliases(memory, view, report)
    report.closed = _retract_removed(memory, drafts)
    return report


# ---------------------------------------------------------------------- notes


class _Note(NamedTuple):
    """Chunks of one file, in order."""

    title: str
    type: str | None
    chunks: list[dict[str, Any]]
    metadata: dict[str, Any]
    source: str


def _notes(view: View) -> Iterator[_Note]:
    """Yield the files that may have fields."""
    rows = np.flatnonzero(view.state.status == ACTIVE)
    by_source: dict[str, list[dict[str, Any]]] = defaultdict(list)
    titles: dict[str, str] = {}
    columns = ("id", "text", "title", "type", "headings", "source", "ordinal", "metadata", "role")
    for start in range(0, len(rows), _FETCHED):
        for record in view.snapshot.records("chunks", rows[start : start + _FETCHED], columns):
            if record["ordinal"] == 0:  # an entry further down is called by its term, too
                titles[record["source"]] = record["title"]
            has_fields = record["metadata"] or "::" in record["text"]
            is_code = record["type"] == _CODE_TYPE and not (record["source"] or "").casefold().endswith(_NOTES)
            # a handoff's metadata says where it was derived, and nothing of a subject
            is_note = record["source"] and record["title"] and record["role"] != DERIVED
            if is_note and has_fields and not is_code:
                by_source[record["source"]].append(record)
    for source, chunks in sorted(by_source.items()):
        chunks.sort(key=lambda record: record["ordinal"])
        first = chunks[0]
        metadata = read_json(first["metadata"]) if first["metadata"] else {}
        kind = first["type"] if first["type"] not in _PLAIN_TYPES else None
        yield _Note(titles.get(source) or first["title"], kind, chunks, metadata, source)


def _note_drafts(kg: FactView, note: _Note, dropped: list[Drop]) -> Iterator[Draft]:
    first = note.chunks[0]["id"]
    for key, value in note.metadata.items():
        if key.casefold() in _LANGUAGE:
            continue
        texts = list(_values(value))
        if len(texts) > 1 and _has_one_value(kg, key):
            why = f"it lists {len(texts)} values and has one at a time: the last is kept; `lamina facts declare` allows several"
            dropped.append(Drop(f"{note.source}: {key[:_MAX_KEY]!r}", why))
        for text in texts:
            yield from _field_draft(note, NoteField(note.title, key, text, first), note.type, dropped)
    for record in note.chunks:
        for pair in _line_fields(kg, note.title, record):
            kind = note.type if pair.subject == note.title else None
            yield from _field_draft(note, pair, kind, dropped)


def _has_one_value(kg: FactView, key: str) -> bool:
    try:
        return kg.registry.is_functional(predicate_name(key.replace("/", "_")))
    except InvalidArgument:
        return False


def _line_fields(kg: FactView, title: str, record: dict[str, Any]) -> Iterator[NoteField]:
    """Yield the ``key:: value`` pairs of a chunk, without those in code, comments and plans."""
    if "::" not in record["text"]:
        return
    headings = record["headings"] or ()
    subject, is_plan = _subject_of(kg, headings, title), any(map(_PLAN.search, headings))
    for line in prose_lines(_COMMENT.sub("", record["text"])):
        heading = _HEADING.match(line)
        if heading:
            subject, is_plan = _subject_of(kg, (heading["text"],), title), bool(_PLAN.search(heading["text"]))
        if "::" not in line or is_plan:
            continue
        full_line = _LINE.match(line)
        shown = _SPAN.sub(lambda span: "x" * len(span[0]), line)  # a bracket within code is code
        for pair in [full_line] if full_line else _BRACKETED.finditer(shown):
            key, value = pair["key"].strip(), line[slice(*pair.span("value"))].strip()
            if key.casefold() in _SUBJECT_FIELDS:
                subject = _unquote(value) or subject
            elif value:
                yield NoteField(subject, key, value, record["id"])


def prose_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text outside fences, indented code and literal blocks."""
    fence, literal, listed, blank = "", -1, False, True
    for line in text.split("\n"):
        opening = _FENCE.match(line)
        if fence:
            closes = opening is not None and opening["sign"].startswith(fence) and not line[opening.end() :].strip()
            fence = "" if closes else fence
            continue
        if opening is not None:
            fence = opening["sign"]
            continue
        bare = line.expandtabs(_CODE_INDENT).lstrip(" ")
        if not bare.strip():
            blank = True
            continue
        indent = len(line.expandtabs(_CODE_INDENT)) - len(bare)
        if -1 < literal < indent:
            continue
        item = _ITEM.match(bare) is not None
        listed = item or (listed and (indent > 0 or not blank))
        if blank and indent >= _CODE_INDENT and not listed:
            continue  # what follows without a blank line is of the same block, and indented too
        literal = indent if _LITERAL.search(bare.rstrip()) else -1
        blank = False
        yield line


def _subject_of(kg: FactView, headings: Sequence[str], title: str) -> str:
    """Return a section's subject: the innermost heading that names an entity, else the note."""
    for heading in reversed(headings):
        linked = _WIKILINK.fullmatch(heading.strip())
        if linked:
            return linked["target"].strip()
        try:
            found = kg.resolve(heading)
        except InvalidArgument:  # a heading of signs, or a very long one
            continue
        if found.entity is not None:
            return found.entity.name
    return title


def _values(value: Any) -> Iterator[str]:
    """Yield the values of a field: texts, numbers and booleans, in lists too."""
    if isinstance(value, list):
        for each in value[:_MOST_VALUES]:
            if not isinstance(each, list | dict):
                yield from _values(each)
    elif isinstance(value, bool):
        yield "yes" if value else "no"
    elif isinstance(value, int | float | str):
        yield str(value)


def _field_draft(note: _Note, pair: NoteField, kind: str | None, dropped: list[Drop]) -> Iterator[Draft]:
    """Yield a field as a draft of a fact."""
    if pair.key.casefold().replace(" ", "_").replace("-", "_") in _FILE_FIELDS:
        return
    linked = _WIKILINK.fullmatch(pair.value.strip())
    value = _unquote(pair.value)
    where = f"{note.source}: {pair.key[:_MAX_KEY]!r}"
    if not value or _PLACEHOLDER.fullmatch(value):
        return
    if len(value) > _MAX_VALUE:
        dropped.append(Drop(where, f"its value has {len(value)} characters; a fact has {_MAX_VALUE} at most"))
        return
    try:
        predicate = predicate_name(pair.key.replace("/", "_"))
    except InvalidArgument as error:
        dropped.append(Drop(where, str(error)))
        return
    if _OPEN.fullmatch(value) and predicate not in _STATES:
        dropped.append(Drop(where, f"{value[:_MAX_KEY]!r} says what is open, planned or not so; a fact says what is"))
        return
    yield Draft(
        pair.subject, predicate, value, kind="entity" if linked else "auto", subject_type=kind, source=pair.chunk
    )


def _unquote(value: str) -> str:
    """Return a value without wikilink brackets, enclosing quotation marks and repeated blanks."""
    text = " ".join(_WIKILINK.sub(lambda found: found["target"], value).split())
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].strip()
    return text


def extract_name(title: str) -> str | None:
    """Return the name in a title of the form "Name, what it is"; None in others."""
    found = _CALLED.fullmatch(title.strip())
    name = found["name"].strip() if found else ""
    words = name.split()
    if not 0 < len(words) <= _MOST_NAME_WORDS or not all(map(_NAME_WORD.fullmatch, words)):
        return None
    return None if any(word.casefold() in _GENRES for word in words) else name


def _name_subjects(memory: Memory, view: View, subjects: Set[str], report: ExtractReport) -> None:
    """Give subjects of notes the names in their titles, before facts name them so."""
    from lamina_engine.facts.entities import EntityDraft, ensure_entities

    kg = fact_view(view)
    names = {note.title: (name, note.type) for note in _notes(view) if (name := extract_name(note.title)) is not None}
    uses = Counter(name.casefold() for name, _ in names.values())
    drafts = [
        EntityDraft(title, kind, (name,))
        for title, (name, kind) in names.items()
        if title in subjects and uses[name.casefold()] <= _MOST_CALLED and not _has_name(kg, title, name)
    ]
    if drafts:
        written = ensure_entities(memory, drafts, origin=ORIGIN)
        report.aliases += written.added
        report.entities += written.entities


def _has_name(kg: FactView, title: str, name: str) -> bool:
    """Return whether the entity of a title has a name; True also where the title can be none."""
    try:
        entity = kg.resolve(title).entity
    except InvalidArgument:
        return True
    return entity is not None and name in entity.aliases


def _add_aliases(memory: Memory, view: View, report: ExtractReport) -> int:
    """Add the aliases of notes' frontmatter to their subjects; return their number."""
    from lamina_engine.facts.entities import add_alias

    added = 0
    kg = fact_view(memory.view())
    for note in _notes(view):
        names = [name for name in note.metadata.get("aliases") or () if isinstance(name, str) and name.strip()]
        entity = kg.resolve(note.title).entity if names else None
        existing = {} if entity is None else {*entity.aliases, entity.name}
        for name in names if entity is not None else ():
            if name.strip() not in existing:
                try:
                    add_alias(memory, name, entity.id)  # type: ignore[union-attr]
                    added += 1
                except (LaminaError, ValueError) as error:
                    report.dropped.append(Drop(f"{note.source}: alias {name[:_MAX_KEY]!r}", str(error)))
    return added


def _select_new(kg: FactView, drafts: Sequence[Draft], files: Mapping[str | None, str]) -> list[Draft]:
    """Return the drafts without those that say what they said before their fact ended.

    Such a note says nothing new, so what ended its fact stands, until the note says something else.
    """
    earlier: dict[tuple[str, str, str], dict[str, Fact]] = defaultdict(dict)
    for fact in kg.facts_at(sorted(rows_of_origin(kg, ORIGIN))):
        earlier[fact.source, fact.subject.casefold(), fact.predicate][fact.object.casefold()] = fact
    if all(fact.valid_to_us is None for facts in earlier.values() for fact in facts.values()):
        return list(drafts)
    keys = [(files[draft.source], _name_of(kg, draft.subject), draft.predicate) for draft in drafts]
    stated: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for draft, key in zip(drafts, keys, strict=True):
        stated[key] |= {draft.object.casefold(), _name_of(kg, draft.object)}

    def is_new(draft: Draft, key: tuple[str, str, str]) -> bool:
        facts = earlier.get(key, {})
        fact = facts.get(_name_of(kg, draft.object)) or facts.get(draft.object.casefold())
        if fact is None or fact.valid_to_us is None:
            return True
        later = [value for value, other in facts.items() if other.row > fact.row]
        by_itself = any(facts[value].valid_from_us == fact.valid_to_us for value in later)
        if by_itself and not kg.registry.is_functional(draft.predicate):
            return True  # the note's next value ended it, when there could be one only
        return not stated[key].issuperset(later)

    return [draft for draft, key in zip(drafts, keys, strict=True) if is_new(draft, key)]


def _keep_texts(kg: FactView, drafts: list[Draft], files: Mapping[str | None, str]) -> list[Draft]:
    """Let values that a note's facts have as text stay text, whatever has their name by now."""
    # an entity of the same name would be another value, which ends the text and counts from today
    texts, entities = set[tuple[str, str, str, str]](), set[tuple[str, str, str, str]]()
    for fact in kg.facts_at(sorted(rows_of_origin(kg, ORIGIN))):
        key = fact.source, fact.subject.casefold(), fact.predicate, fact.object.casefold()
        if fact.object_id is None:
            texts.add(key)
        elif fact.valid_to_us is None:
            entities.add(key)
    said = texts - entities
    known = {(source, predicate, value) for source, _, predicate, value in said}

    def is_text(draft: Draft) -> bool:
        source, value = files[draft.source], draft.object.casefold()
        if draft.kind != "auto" or (source, draft.predicate, value) not in known:
            return False
        return (source, _name_of(kg, draft.subject), draft.predicate, value) in said

    return [draft._replace(kind="literal") if is_text(draft) else draft for draft in drafts]


def _name_of(kg: FactView, name: str) -> str:
    """Return the folded name of what a name stands for, else the name itself."""
    entity = kg.resolve(name).entity
    return (name if entity is None else entity.name).casefold()


def _retract_removed(memory: Memory, drafts: Sequence[Draft]) -> int:
    """Retract facts of earlier runs that no note states any more; return their number."""
    kg = fact_view(memory.view())
    rows = rows_of_origin(kg, ORIGIN)
    stated = {(draft.source, draft.predicate, draft.object.casefold()) for draft in drafts}
    removed = [
        fact.row
        for fact in kg.facts_at(rows)
        if fact.valid_to_us is None
        and (fact.chunk or fact.source, fact.predicate, fact.object.casefold()) not in stated
        and not _is_stated_by_alias(kg, fact.object_id, fact.chunk, fact.predicate, drafts)
    ]
    return retract(memory, removed, origin=ORIGIN) if removed else 0


def _is_stated_by_alias(
    kg: FactView, object_id: str | None, chunk: str | None, predicate: str, drafts: Sequence[Draft]
) -> bool:
    """Return whether a draft states the same by another of the object's names."""
    if object_id is None:
        return False
    entity = kg.entity_by_id(object_id)
    names = {entity.name.casefold(), *(alias.casefold() for alias in entity.aliases)} if entity else set()
    return any(d.source == chunk and d.predicate == predicate and d.object.casefold() in names for d in drafts)
