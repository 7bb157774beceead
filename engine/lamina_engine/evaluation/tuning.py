"""Vector share of one's own vault, learnt from its titles, headings and links.

Somebody has named each section and said in a sentence what a link leads to: questions with known answers, in other words than the
answers' own. They are asked of a copy whose sections have lost titles and headings, share by share, by the one recall that there
is. A share is chosen on four fifths of the documents and judged on the last, in turns, so the gain that is told is one over
questions that did not choose it.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from lamina_engine import config as configuration
from lamina_engine.arguments import whole_of
from lamina_engine.chunks.handoffs import is_derived
from lamina_engine.errors import InvalidArgument, VaultReadOnly
from lamina_engine.graph.hyperlinks import find_links
from lamina_engine.graph.links import claim_rows
from lamina_engine.graph.references import MARKDOWN, WIKI
from lamina_engine.index.analysis import query_analyzer
from lamina_engine.memory import Memory
from lamina_engine.profiles import BUILT_IN, Graph
from lamina_engine.recall.pipeline import recall_rows
from lamina_engine.recall.relevance import WORD_TABLE
from lamina_engine.reports import Report

if TYPE_CHECKING:
    from lamina_engine.embed.protocol import Embedder
    from lamina_engine.index.view import View
    from lamina_kernels.layouts import F64, I64

SHARES: Final = tuple(round(0.1 * i, 1) for i in range(9))
"""Shares that are tried: 0 to 0.8."""
_FOLDS: Final = 5
_LEAST: Final = 40
"""Fewer questions tell one share from another by chance alone."""
_SURE: Final = 2.0
"""Standard errors by which a share must gain to be written."""
_CHUNKS: Final = 2_000
"""Chunks of the copy, at most: a remote model embeds each of them."""
_HITS: Final = 10
_LEAST_WORDS: Final = 2
_LINE: Final = re.compile(r"[^\n]*\n?")
_RULE: Final = re.compile(r"\W{3,}")
_KINDS: Final = {".md": "markdown", ".markdown": "markdown", ".rst": "rst", ".txt": "rst"}
_MARKUP: Final = re.compile(r":\w+:|<[^<>]*>|\]\([^)]*\)|[`\[\]|*_]")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*[-*+] )")
_KIND: Final = attrgetter("kind")


@dataclass(frozen=True, slots=True)
class TuneReport(Report):
    """Vector share by the questions of a vault: before, best, and the gain."""

    model: str
    """Identity of the space."""
    titles: int
    headings: int
    links: int
    """Questions of each kind."""
    before: float
    """Share in use."""
    best: float
    """Of the shares that rank the questions best, give or take an error, the nearest to that in use."""
    score_before: float
    score_best: float
    """Mean reciprocal rank of what was asked for, among ten."""
    gain: float
    error: float
    """Gain over questions that did not choose the share, and its standard error, by document."""
    written: bool
    """True where ``vault.toml`` has the new share now."""


class Question(NamedTuple):
    """A question with the rows that answer it."""

    text: str
    kind: str
    document: str
    """Of the answer: questions of one document are judged together."""
    gold: frozenset[int]
    asker: int = -1
    """Row that holds the question; it is no answer."""


def tune_share(
    memory: Memory, *, sample: int, write: bool, progress: Callable[[str, int, int], None] = lambda *_: None
) -> TuneReport:
    """Learn the vector share of a vault's model; ``write`` it where it surely gains.

    Raises
    ------
    InvalidArgument
        Where the vault has no vectors, or too few titles, headings and links to ask by.
    VaultReadOnly, InvalidConfig, EmbeddingError
    """
    sample = whole_of(sample, "sample", _LEAST)
    if write and memory.store.mode == "r":
        raise VaultReadOnly(f"{memory.root} is open for reading; open it for writing, or ask without writing the share")
    view = memory.view()
    space = view.snapshot.space
    if space is None or not view.vector_rows:
        raise InvalidArgument(f"{memory.root} has no vectors, so there is no share of theirs; reindex with an embedder")
    rows = _sample_rows(view)
    asked = _balance([*_name_questions(view, rows), *_link_questions(view, rows)], sample)
    if len(asked) < _LEAST:
        raise InvalidArgument(
            f"{memory.root} has {len(asked)} titles, headings and links to ask by, and at least {_LEAST} are needed; "
            "label a set of your own and see `lamina eval SET`"
        )
    before = memory.vector_share(space)
    shares = sorted({*SHARES, round(before, 4)})
    ranks = _ask(memory.embedder_for(space), view, rows, asked, shares, progress)
    best, gain, error = judge_shares(ranks, shares, [each.document for each in asked], before)
    sure = write and best != before and gain > _SURE * error
    if sure:
        _write_share(memory, space.identity, best)
    kinds = [each.kind for each in asked]
    means = dict(zip(shares, ranks.mean(axis=0).round(4).tolist(), strict=True))
    return TuneReport(
        space.identity, kinds.count("title"), kinds.count("heading"), kinds.count("link"), before, best,
        means[round(before, 4)], means[best], round(gain, 4), round(error, 4), sure,
    )  # fmt: skip


def judge_shares(
    ranks: F64, shares: Sequence[float], documents: Sequence[str], before: float
) -> tuple[float, float, float]:
    """Return the best share by reciprocal ranks, its gain where left out, and the error."""
    now = shares.index(round(before, 4))

    def choose(ranks: F64) -> int:
        # names are said in fewer of the answer's words than questions are: of what is as good as the best within its error, the
        # share nearest to the one in use
        lost = ranks.mean(axis=0).max() - ranks.mean(axis=0)
        paired = ranks[:, [int(lost.argmin())]] - ranks
        errors = paired.std(axis=0) / np.sqrt(len(ranks))
        return min(np.flatnonzero(lost <= errors).tolist(), key=lambda i: (abs(shares[i] - before), i))

    names = sorted(set(documents))
    place = {name: i for i, name in enumerate(names)}
    of = np.array([place[name] for name in documents])
    gains = np.zeros(len(ranks))
    for fold in range(_FOLDS):
        out = of % _FOLDS == fold
        if out.any() and not out.all():
            gains[out] = ranks[out, choose(ranks[~out])] - ranks[out, now]
    sums = np.bincount(of, gains - gains.mean())  # questions of a document are no independent witnesses
    return shares[choose(ranks)], float(gains.mean()), float(np.sqrt((sums**2).sum())) / len(gains)


def _ask(
    embedder: Embedder, view: View, rows: I64, asked: Sequence[Question], shares: Sequence[float],
    progress: Callable[[str, int, int], None],
) -> F64:  # fmt: skip
    """Return the reciprocal rank of each answer by share, float64 (questions, shares)."""
    plain = replace(BUILT_IN["default@2"], graph=Graph(), hops=Graph())
    ids, texts = (view.snapshot.values("chunks", name, rows) for name in ("id", "text"))
    titles, headings = (view.snapshot.values("chunks", name, rows) for name in ("title", "headings"))
    found = np.zeros((len(asked), len(shares)))
    with tempfile.TemporaryDirectory(prefix="lamina-tune-") as folder:
        copy = Memory(Path(folder) / "vault", create=True, embedder=embedder)
        try:
            _fill(copy, [
                {"id": name, "text": _without_names(text, [title, *(path or ())]) or "-"}
                for name, text, title, path in zip(ids, texts, titles, headings, strict=True)
            ])  # fmt: skip
            place = {name: row for row, name in zip(rows.tolist(), ids, strict=True)}
            mine = copy.view()
            names = mine.snapshot.values("chunks", "id", np.arange(mine.rows))
            former = np.array([place[name] for name in names])
            for i, question in enumerate(asked):
                # the word table weighs a question's words by the vault; another model is asked once for all shares
                vector = None if embedder.identity.startswith(WORD_TABLE) else embedder.embed_query(question.text)
                for j, share in enumerate(shares):
                    profile = replace(plain, vector_share=share)
                    hits = recall_rows(
                        copy,
                        question.text,
                        profile=profile,
                        k=_HITS + 1,
                        time="off",
                        syntax=False,
                        counted=False,
                        vector=vector,
                    )
                    ranked = [row for row in former[hits.rows].tolist() if row != question.asker][:_HITS]
                    found[i, j] = next((1.0 / n for n, row in enumerate(ranked, 1) if row in question.gold), 0.0)
                progress("questions", i + 1, len(asked))
        finally:
            copy.close()
    return found


def _fill(copy: Memory, records: list[dict[str, object]]) -> None:
    from lamina_engine.ingest.adding import add

    add(copy, records, {})


def _write_share(memory: Memory, identity: str, share: float) -> None:
    store, path = memory.store, memory.root / configuration.FILE
    with store.exclusive(memory.lock_timeout_s):
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        store.files.publish(path, [configuration.set_share(text, identity, share).encode()])
        store.files.flush_folder(memory.root)
    memory.config = configuration.load(memory.root)


# ---------------------------------------------------------------------- questions


def _sample_rows(view: View) -> I64:
    """Return chunks of documents, whole documents spread evenly, ascending."""
    rows = np.flatnonzero(view.state.active())
    rows = rows[rows < view.vector_rows]
    rows = rows[~is_derived(view, rows)] if len(rows) else rows
    rows = rows[view.categories.gather(view.snapshot, "session", rows) < 0] if len(rows) else rows
    documents: dict[str, list[int]] = defaultdict(list)
    for row, source in zip(rows.tolist(), view.snapshot.values("chunks", "source", rows), strict=True):
        if source:
            documents[source].append(row)
    part = max(len(rows) / _CHUNKS, 1.0)
    kept = [documents[name] for name in sorted(documents)]
    kept = [kept[int(i * part)] for i in range(int(len(kept) / part))] if part > 1.0 else kept
    return np.array(sorted(row for each in kept for row in each), np.int64)


def _name_questions(view: View, rows: I64) -> Iterator[Question]:
    """Yield titles of documents and headings of sections, with the chunks below them."""
    columns = (view.snapshot.values("chunks", name, rows) for name in ("source", "title", "headings"))
    below: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    for row, source, title, path in zip(rows.tolist(), *columns, strict=True):
        name = title if title and title not in (Path(source).name, Path(source).stem) else ""
        if name:
            below[source, "title", name].add(row)
        if path and path[-1] != name:
            below[source, "heading", f"{name} {path[-1]}".strip()].add(row)
    for (source, kind, text), gold in below.items():
        if _asks_enough(text):
            yield Question(text, kind, source, frozenset(gold))


def _link_questions(view: View, rows: I64) -> Iterator[Question]:
    """Yield the sentence around a link to another document, of chunks with one such link."""
    sources, texts = (view.snapshot.values("chunks", name, rows) for name in ("source", "text"))
    source_of = dict(zip(rows.tolist(), sources, strict=True))
    members: dict[str, set[int]] = defaultdict(set)
    for row, source in source_of.items():
        members[source].add(row)
    leads: dict[int, set[str]] = defaultdict(set)
    for start, end in _written(view):
        if end in source_of and source_of.get(start, source_of[end]) != source_of[end]:
            leads[start].add(source_of[end])
    for row, text in zip(rows.tolist(), texts, strict=True):
        spans = find_links(text, _KINDS.get(Path(source_of[row]).suffix, "text"), ()) if len(leads[row]) == 1 else []
        if len(spans) == 1:
            (target,) = leads[row]
            sentence = _sentence_at(text, spans[0].start)
            if _asks_enough(sentence):
                yield Question(sentence, "link", target, frozenset(members[target]), row)


def _written(view: View) -> Iterator[tuple[int, int]]:
    """Yield the rows of both ends of each link that texts hold."""
    found = np.concatenate([claim_rows(view, origin) for origin in (WIKI, MARKDOWN)])
    ends = (view.rows_of_ids(list(view.snapshot.values("links", name, found))) for name in ("source", "target"))
    yield from zip(*(each.tolist() for each in ends), strict=True)


def _sentence_at(text: str, place: int) -> str:
    """Return the sentence around a place, without markup."""
    borders = [0, *(match.end() for match in _SENTENCE.finditer(text)), len(text)]
    start = max(border for border in borders if border <= place)
    return " ".join(_MARKUP.sub(" ", text[start : min(border for border in borders if border > place)]).split())


def _without_names(text: str, names: Sequence[str | None]) -> str:
    """Return a text without the lines that are names, and the rules below them."""
    taken = {key for name in names if name and (key := _key(name))}
    lines = _LINE.findall(text)
    return "".join(line for line in lines if not (_key(line) in taken or _RULE.fullmatch(line.strip()))).strip()


def _key(line: str) -> str:
    return " ".join(re.findall(r"\w+", line.lower()))


def _asks_enough(text: str) -> bool:
    return len(set(query_analyzer().tokens(text))) >= _LEAST_WORDS


def _balance(found: list[Question], most: int) -> list[Question]:
    """Return at most so many questions, of each kind as many as there are enough of."""
    kinds = sorted((list(each) for _, each in groupby(sorted(found, key=_KIND), _KIND)), key=len)
    kept: list[Question] = []
    for i, each in enumerate(kinds):
        part = min((most - len(kept)) // (len(kinds) - i), len(each))
        kept += [each[j] for j in np.linspace(0, len(each) - 1, part).astype(np.int64).tolist()]
    return kept
