"""Drafting elsewhere: files read, cut and embedded by the workers of an executor.

A file depends on no other before it is written, and a vector on its text alone, so what comes back is what would have
been made here, in the order of the files. Bytes travel, not paths: workers need not see the folder, and never see the vault.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from lamina_engine.chunks.batch import embedded_text, version_of
from lamina_engine.embed.travelling import TravellingEmbedder
from lamina_engine.executor import Executor
from lamina_engine.ingest.drafts import KINDS, SourceDraft, read_source
from lamina_engine.ingest.walk import RECORD_KINDS, FileEntry, read_entry
from lamina_engine.redact.redactor import Redactor
from lamina_kernels.layouts import F32

TASK_BYTES: Final = 1 << 18
"""Bytes of files that a worker is handed at once: about a second of cutting and embedding."""


class DraftTask(NamedTuple):
    """A document to read."""

    source: str
    """Its path below the root, with ``/``."""
    kind: str | None
    data: bytes


class Drafted(NamedTuple):
    """A document that a worker has read."""

    data: bytes
    draft: SourceDraft | Exception
    """An exception where its reader failed."""
    vectors: dict[bytes, F32]
    """By version; empty where the model does not travel."""


class DraftFailure(Exception):
    """A document could not be read; the message has the reason."""


class Drafter:
    """Reader of documents in a worker: bytes in, drafts and vectors out."""

    def __init__(self, redactor: Redactor, tz: str, embedder: TravellingEmbedder | None) -> None:
        self._redactor, self._tz, self._embedder = redactor, tz, embedder

    def __call__(self, tasks: Sequence[DraftTask]) -> list[tuple[SourceDraft | Exception, dict[bytes, F32]]]:
        """Return each document's draft, or what reading it raised, and its chunks' vectors."""
        drafts = [self._read(task) for task in tasks]
        if self._embedder is None:
            return [(draft, {}) for draft in drafts]
        texts = [
            {version_of(text): text for text in map_texts(draft)} if isinstance(draft, SourceDraft) else {}
            for draft in drafts
        ]
        # of all documents at once: a call for each would take longer than its vectors
        together = {version: text for each in texts for version, text in each.items()}
        vectors = dict(zip(together, self._embedder(list(together.values())), strict=True)) if together else {}
        return [(draft, {name: vectors[name] for name in each}) for draft, each in zip(drafts, texts, strict=True)]

    def _read(self, task: DraftTask) -> SourceDraft | Exception:
        try:
            return read_source(task.data, task.source, kind=task.kind, redactor=self._redactor, tz=self._tz)
        except Exception as error:  # whatever one file does to a parser, the others are read
            return DraftFailure(f"{type(error).__name__}: {error}")


def map_texts(draft: SourceDraft) -> list[str]:
    """Return the text to embed of each chunk of a draft, as a batch of chunks has it."""
    named = None if draft.title_is_name else draft.title
    titles = [None if draft.title_is_name else chunk.title or named for chunk in draft.chunks]
    return [embedded_text(title, chunk.headings, chunk.text) for title, chunk in zip(titles, draft.chunks, strict=True)]


def draft_entries(
    entries: Sequence[FileEntry],
    executor: Executor,
    drafter: Drafter,
    label_of: Callable[[FileEntry], str],
    kind_of: Callable[[FileEntry], str | None],
) -> Iterator[tuple[FileEntry, Drafted | None]]:
    """Yield entries in order, each with what a worker made of it; None where it is read here."""
    groups: deque[list[tuple[FileEntry, DraftTask | None]]] = deque()

    def tasks() -> Iterator[list[DraftTask]]:
        for group in _group(entries, label_of, kind_of):
            groups.append(group)
            yield [task for _, task in group if task is not None]

    for results in executor.map(drafter, tasks()):
        found = iter(results)
        for entry, task in groups.popleft():
            yield entry, None if task is None else Drafted(task.data, *next(found))


def _group(
    entries: Sequence[FileEntry], label_of: Callable[[FileEntry], str], kind_of: Callable[[FileEntry], str | None]
) -> Iterator[list[tuple[FileEntry, DraftTask | None]]]:
    group: list[tuple[FileEntry, DraftTask | None]] = []
    size = 0
    for entry in entries:
        kind = kind_of(entry)
        task = None
        if kind not in RECORD_KINDS:
            try:
                task = DraftTask(label_of(entry), kind if kind in KINDS else None, read_entry(entry))
            except OSError:  # told where it is read again, here
                task = None
        group.append((entry, task))
        size += 0 if task is None else len(task.data)
        if size >= TASK_BYTES or task is None:
            yield group
            group, size = [], 0
    if group:
        yield group
