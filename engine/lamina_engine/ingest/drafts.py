"""Drafts: one source as chunks, dates, tags, links and problems, before ids and rows.

The order is decode, frontmatter, redact, find blocks, cut. Secrets go before anything is cut or kept, so no border can
hide one; positions lead back through masks, newlines and encoding to the file's bytes. Frontmatter becomes fields and
is no part of the chunks' text: what the chunks reproduce, and their bytes cover, is all that follows it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from lamina_engine.errors import InvalidArgument
from lamina_engine.graph import hyperlinks
from lamina_engine.graph.code_spans import code_ranges
from lamina_engine.graph.references import SourceLink
from lamina_engine.graph.targets import page_of_name
from lamina_engine.ingest import code, markdown, plaintext, walk
from lamina_engine.ingest.asciidoc import outline_asciidoc, read_asciidoc_header
from lamina_engine.ingest.chunking import ChunkLimits, Outline, Piece, split
from lamina_engine.ingest.classify import KNOWN_TYPES, Rules, classify, clean_type
from lamina_engine.ingest.conversion import CONVERTERS, Converted, Entry, convert, mark_entries, outline_pages
from lamina_engine.ingest.decoding import Decoded, Refusal, decode
from lamina_engine.ingest.frontmatter import Frontmatter, Json, read_frontmatter
from lamina_engine.ingest.heads import read_head
from lamina_engine.ingest.markup import markup_of
from lamina_engine.ingest.minified import is_machine_made
from lamina_engine.ingest.orgmode import outline_org, read_org_keywords
from lamina_engine.ingest.roles import role_of_code, role_of_text
from lamina_engine.redact.redactor import Masked, Redactor, mask
from lamina_engine.reports import Problem
from lamina_engine.time.dates import date_in_path, date_of_title, date_span, date_value


@dataclass(frozen=True, slots=True)
class DraftChunk:
    """Piece of a source that will become one chunk."""

    text: str
    """Redacted text with LF newlines. All of a source, concatenated, give its whole redacted text after frontmatter."""
    headings: tuple[str, ...]
    """Heading path at its start, outermost first, without the title; of code, the symbols defined in it."""
    start: int
    """First byte in the file that it covers."""
    stop: int
    """One past the last byte; the next chunk starts here."""
    line: int
    """Line of the file on which its text begins, from 1; 0 in files that have no lines."""
    end_line: int
    """Line on which its text ends."""
    role: str | None = None
    """What it is beside content; see `lamina_engine.ingest.roles`."""
    title: str | None = None
    """Title of its own: of code, the file's with the symbols that are defined in it; of an entry, with its term."""


@dataclass(slots=True)
class SourceDraft:
    """One source, read, redacted and cut."""

    source: str
    """Path below the ingested root, with ``/``."""
    kind: str
    """One of `KINDS`."""
    chunks: list[DraftChunk]
    title: str | None = None
    title_is_name: bool = False
    """True where the source has no title of its own, only a file name, which changes when the file moves."""
    type: str | None = None
    collection: str | None = None
    project: str | None = None
    created_at_us: int | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    """Remaining frontmatter, JSON values only."""
    links: list[SourceLink] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    redactions: int = 0
    """Number of masked findings."""


KINDS = ("markdown", "text", "rst", "asciidoc", "org", "code", *CONVERTERS)
MAX_TITLE_CHARS = 300
"""A longer title is cut: it is embedded with every chunk."""
MACHINE_MADE = (
    "minified, a search index or a table of numbers: nobody wrote these lines (kind='text' reads them all the same)"
)
CREATED_KEYS = ("created_at", "created", "date")
"""Frontmatter keys that give the date, in order of preference."""

_LINKED_KINDS = frozenset({"markdown", "rst", "asciidoc", "org", "text", "html"})
_HEADERS = {"asciidoc": read_asciidoc_header, "org": read_org_keywords}
_OUTLINES = {
    "markdown": markdown.outline_markdown,
    "rst": plaintext.outline_rst,
    "asciidoc": outline_asciidoc,
    "org": outline_org,
    "text": plaintext.outline_text,
    "pdf": outline_pages,
    **dict.fromkeys(CONVERTERS.keys() - {"pdf"}, markdown.outline_markdown),
}
_INLINE_KINDS = frozenset({"markdown", "notebook"})
CODE_MIN = 100
"""Characters under which a definition shares a chunk with its neighbours: a function of some lines has one of its own."""
_DEFAULT_LIMITS = ChunkLimits()
_DEFAULT_RULES = Rules()


def kind_of(source: str) -> str:
    """Return the kind to read a path as by its suffix: text unless another of `KINDS` is known."""
    kind = walk.kind_of_name(source)
    return kind if kind in KINDS else "text"


def read_source(
    data: bytes,
    source: str,
    *,
    kind: str | None = None,
    limits: ChunkLimits = _DEFAULT_LIMITS,
    redactor: Redactor | None = None,
    rules: Rules = _DEFAULT_RULES,
    tz: str = "UTC",
) -> SourceDraft:
    """Read and cut one source; bad content becomes a problem and never raises. O(n).

    With the policy "skip", a source with any finding gives no chunks. ``created_at_us`` is the frontmatter's date, else the
    path's, else that with which the title begins, else None.
    """
    if kind is None:
        kind = kind_of(source)
    if kind not in KINDS:
        raise InvalidArgument(
            f"kind={kind!r} is not known; give one of {', '.join(KINDS)}, or None to go by the suffix"
        )
    draft = SourceDraft(source, kind, [], created_at_us=date_in_path(source, tz))
    converted = convert(data, kind) if kind in CONVERTERS else None
    decoded = converted if isinstance(converted, Refusal) else decode(data if converted is None else converted.encode())
    if isinstance(decoded, Refusal):
        draft.type, draft.collection = classify(source, kind, rules)
        return _with_problem(draft, decoded.code, f"{decoded.message}; skipped")
    if kind == "code" and is_machine_made(decoded.text, source):
        draft.type, draft.collection = classify(source, kind, rules)
        return _with_problem(draft, "machine_made", f"{MACHINE_MADE}; skipped")
    if decoded.warning:
        _with_problem(draft, "encoding", decoded.warning)
    if kind == "text":
        draft.kind = kind = markup_of(decoded.text)
    front = read_frontmatter(decoded.text) if kind == "markdown" else Frontmatter()
    is_head = not front.body
    if isinstance(converted, Converted):
        front = Frontmatter(converted.fields)
    elif kind in _HEADERS:
        front = _HEADERS[kind](decoded.text)
    elif is_head and kind in _LINKED_KINDS:
        front = read_head(decoded.text, kind)
    _take_fields(draft, front, redactor, rules, tz, is_head=is_head)
    if redactor is not None and redactor.policy == "skip":
        findings = redactor.find(decoded.text)
        if findings or draft.redactions:
            return _without_content(draft, sorted({finding.kind for finding in findings}), rules)
    entries = converted.entries if isinstance(converted, Converted) else ()
    found = _cut(draft, decoded, front.body, limits, redactor, entries)
    if draft.created_at_us is None and draft.title is not None and not _is_log_of_days(found):
        draft.created_at_us = date_of_title(draft.title, tz)
    if isinstance(converted, Converted):  # its text is not its bytes
        draft.chunks = [
            replace(
                chunk,
                start=0,
                stop=len(data),
                line=converted.line_of(chunk.line),
                end_line=converted.line_of(chunk.end_line, 1),
            )
            for chunk in draft.chunks
        ]
    return draft


def _is_log_of_days(found: Outline) -> bool:
    """Return whether several top headings begin with dates: the first dates no other."""
    heads = [block.title for block in found.blocks if block.kind == "heading" and block.level == 1]
    return len(heads) > 1 and sum(date_of_title(title) is not None for title in heads) > 1


def _cut(
    draft: SourceDraft,
    decoded: Decoded,
    body: int,
    limits: ChunkLimits,
    redactor: Redactor | None,
    entries: Sequence[Entry],
) -> Outline:
    """Fill in a draft from the text after the frontmatter; return the text's outline."""
    masked = mask(decoded.text[body:], redactor)
    draft.redactions += len(masked.spans)
    found = _outline(masked.text, draft)
    if entries:
        starts = [masked.original(block.start) for block in found.blocks]
        found = found._replace(blocks=mark_entries(found.blocks, starts, entries))
    _choose_title(draft, found, redactor)
    if draft.kind == "code" and limits.min_chars is None:
        limits = replace(limits, min_chars=min(CODE_MIN, limits.max_chars // 2))
    pieces = split(masked.text, _without_title(found, draft.title), limits, whole=masked.spans)
    if not pieces:
        _with_problem(draft, "empty", "only white space, nothing to store")
        return found
    ends = [*(body + masked.original(piece.start) for piece in pieces[1:]), len(decoded.text)]
    bounds = decoded.offsets.bytes_at([body, *ends])
    if draft.kind == "code":
        symbols = code.symbols_of(found.blocks, pieces)
        pieces = [piece._replace(headings=names) for piece, names in zip(pieces, symbols, strict=True)]
    texts = [masked.text[piece.start : piece.stop] for piece in pieces]
    code_role = role_of_code(draft.source) if draft.kind == "code" else None
    roles = [role_of_text(text, draft.kind) if draft.kind in _LINKED_KINDS else code_role for text in texts]
    lines = _lines(decoded.text, body, masked, pieces, texts)
    draft.chunks = [
        DraftChunk(text, piece.headings, start, stop, first, last, role, _title_of(draft, piece))
        for text, piece, start, stop, (first, last), role in zip(
            texts, pieces, bounds[:-1], bounds[1:], lines, roles, strict=True
        )
    ]
    _take_inline(draft, masked, found, pieces)
    return found


def _title_of(draft: SourceDraft, piece: Piece) -> str | None:
    """Return ``file · symbol, symbol`` of code, ``title · term`` of an entry, else None."""
    # a source is called by the title of its first chunk
    names = ", ".join(piece.headings) if draft.kind == "code" else piece.term if piece.start else ""
    return f"{draft.title} · {names}"[:MAX_TITLE_CHARS] if names else None


def _lines(
    text: str, body: int, masked: Masked, pieces: Sequence[Piece], texts: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of each piece, blank ones at its ends left out."""
    line, at = 1, 0
    for piece, content in zip(pieces, texts, strict=True):
        first = body + masked.original(piece.start + len(content) - len(content.lstrip()))
        line, at = line + text.count("\n", at, first), first
        last = body + masked.original(piece.start + max(len(content.rstrip()) - 1, 0))
        yield line, line + text.count("\n", at, max(last, at))


def _outline(text: str, draft: SourceDraft) -> Outline:
    if draft.kind in _OUTLINES:
        return _OUTLINES[draft.kind](text)
    language = code.language_of(draft.source)
    if language:
        draft.metadata.setdefault("language", language)
    return code.outline_code(text, language)


def _choose_title(draft: SourceDraft, found: Outline, redactor: Redactor | None) -> None:
    title = draft.title or found.title
    if not title:
        named = mask(draft.source, redactor)  # before its joiners become spaces: a token would no longer look like one
        draft.redactions += len(named.spans)
        path = PurePosixPath(named.text)
        if draft.kind == "markdown" and (page := page_of_name(path.stem)) != path.stem:
            stem = mask(page, redactor)  # encoded, a token did not look like one
            draft.redactions += len(stem.spans)
            title = _title_of_stem(stem.text)
        else:
            title = path.name if draft.kind == "code" else _title_of_stem(path.stem)
        title = title or path.name
        draft.title_is_name = True
    draft.title = title[:MAX_TITLE_CHARS]


def _title_of_stem(stem: str) -> str:
    """Turn a file's name into a title: dashes and underscores become spaces, except in dates."""
    start, stop = date_span(stem) or (0, 0)
    spaced = stem.replace("-", " ").replace("_", " ")
    words = f"{spaced[:start]} {stem[start:stop]} {spaced[stop:]}" if stop else spaced
    return " ".join(words.split())


def _without_title(found: Outline, title: str | None) -> list[Any]:
    """Return the blocks with the title heading emptied, so it adds nothing to heading paths."""
    blocks = list(found.blocks)
    for i, block in enumerate(blocks):
        if block.kind == "heading" and block.level == 1:
            if block.title[:MAX_TITLE_CHARS] == title:
                blocks[i] = block._replace(title="")
            break
    return blocks


def _take_inline(draft: SourceDraft, masked: Masked, found: Outline, pieces: Sequence[Piece]) -> None:
    ranges = list(found.code)
    if draft.kind in _INLINE_KINDS:
        ranges = code_ranges(masked.text, found.code)
        draft.tags = _distinct([*draft.tags, *markdown.find_tags(masked.text, ranges)])
    starts = [piece.start for piece in pieces]
    links: dict[SourceLink, None] = {}
    for link in hyperlinks.find_links(masked.text, "markdown" if draft.kind in _INLINE_KINDS else draft.kind, ranges):
        # a link whose name was a secret leads nowhere
        if not masked.touches(link.start, link.stop):
            chunk = bisect_right(starts, link.start) - 1
            kept = SourceLink(
                link.target, chunk, link.heading, link.alias, link.embed, link.block, link.form, link.relation
            )
            links[kept] = None
    draft.links = list(links)


def _take_fields(
    draft: SourceDraft, front: Frontmatter, redactor: Redactor | None, rules: Rules, tz: str, *, is_head: bool = False
) -> None:
    """Move frontmatter or a head into fields; the rest becomes metadata."""
    fields: dict[str, Json] = dict(front.fields)
    if redactor is not None and redactor.policy != "allow" and fields:
        fields, findings = redactor.clean_value(fields)
        draft.redactions += len(findings)
    problems = list(front.problems)
    spelled = {key.lower(): key for key in reversed(fields)}

    def take(*names: str) -> Json:
        return next((fields.pop(spelled[name]) for name in names if name in spelled and spelled[name] in fields), None)

    draft.aliases = _distinct(_words(take("aliases", "alias"), ","))
    draft.tags = _distinct([tag.strip("#/ ") for tag in _words(take("tags", "tag"), ", ")])
    if is_head:  # a letter is called by its subject
        spelled.setdefault("title", spelled.get("subject", "title"))
    for name in ("title",) if is_head else ("title", "collection", "project"):
        written = fields.get(spelled.get(name, name))
        if isinstance(written, (str, int, float)) and not isinstance(written, bool) and str(written).strip():
            setattr(draft, name, str(take(name)).strip())
    for name in ("type", "content_type"):
        type_ = clean_type(fields.get(spelled.get(name, name)))
        # "Type: Standards Track" in a head is a word of its series
        if type_ and draft.type is None and not (is_head and type_ not in KNOWN_TYPES):
            draft.type = type_
            take(name)
    problems += _take_date(draft, fields, spelled, tz)
    draft.metadata = dict(fields)
    draft.type, draft.collection = classify(
        draft.source, draft.kind, rules, type=draft.type, collection=draft.collection
    )
    if problems and not is_head:  # a head may say anything
        _with_problem(draft, "frontmatter", mask("; ".join(problems), redactor).text)


def _take_date(draft: SourceDraft, fields: dict[str, Json], spelled: dict[str, str], tz: str) -> list[str]:
    """Use the first key that holds a date; return a problem for each unusable one before it."""
    problems: list[str] = []
    for name in CREATED_KEYS:
        key = spelled.get(name)
        if key is None or fields[key] in (None, ""):
            continue
        moment = date_value(fields[key], tz)
        if moment is not None:
            draft.created_at_us = moment
            del fields[key]
            break
        problems.append(f"{key!r} holds no date that exists (write 2026-02-15) and was kept as metadata")
    return problems


def _words(value: Json, separators: str) -> list[str]:
    """Return a list's items, or the separated parts of a text, stripped."""
    if isinstance(value, list):
        parts = [str(item) for item in value if item is not None and not isinstance(item, (dict, list))]
    elif value is None or isinstance(value, dict):
        parts = []
    else:
        text = str(value)
        for separator in separators[1:]:
            text = text.replace(separator, separators[0])
        parts = text.split(separators[0])
    return [word for part in parts if (word := part.strip())]


def _distinct(words: Sequence[str]) -> tuple[str, ...]:
    """Remove repetitions whatever their case, keeping the first spelling and order."""
    first: dict[str, str] = {}
    for word in words:
        if word:
            first.setdefault(word.casefold(), word)
    return tuple(first.values())


def _without_content(draft: SourceDraft, kinds: Sequence[str], rules: Rules) -> SourceDraft:
    """Return a draft with the source's name and the reason, and nothing else."""
    type_, collection = classify(draft.source, draft.kind, rules)
    bare = SourceDraft(draft.source, draft.kind, [], type=type_, collection=collection)
    what = ", ".join(kinds) or "a secret in its frontmatter"
    return _with_problem(bare, "redacted_skip", f"holds {what}; skipped under the redaction policy")


def _with_problem(draft: SourceDraft, name: str, message: str) -> SourceDraft:
    draft.problems.append(Problem(draft.source, name, message))
    return draft
