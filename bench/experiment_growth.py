"""One vault at several sizes, up to several million rows: ``python -m bench.experiment_growth --sizes 1M,5M``.

Prints a JSON line for each size; ``--table`` prints those in ``growth.jsonl`` as docs/benchmarks.md has them. Rows past the
corpus of `bench.corpus` are made up: the first half of one text and the second half of another, with the middle of their
vectors. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import lamina
from bench.corpus import NOW_S, Corpus, K, Query, load, nearest
from bench.handwritten import HandWrittenStopped
from bench.systems import Lamina
from bench.timing import parse_size
from lamina_engine.graph.log import Draft, write

LINES: Final = Path(__file__).with_name("growth.jsonl")
BATCH: Final = 1_000_000
STRIDE: Final = 104_729
"""A prime: rows so far apart make the two halves of a made-up row."""
HELD_OUT: Final = 50
"""Questions whose nearest rows are looked for one and all."""
FORGOTTEN: Final = 1_000
FACTS: Final = 20_000
PROCESSES: Final = 5
"""Processes that are started for a time to the first answer; the median of them counts."""
ROUNDS: Final = 3
LINKED: Final = 5
"""One row of so many is linked with the next one."""

COLD: Final = """
import json, sys, time
import numpy as np
questions = json.load(open(sys.argv[2]))
options = {"as_of": sys.argv[3]} if len(sys.argv) > 3 else {}
def own():
    status = open("/proc/self/status").read().splitlines()
    return int(next(line for line in status if line.startswith("RssAnon")).split()[1]) / 1024
def ask(text, vector):
    vault.recall(text, profile="temporal", vector=np.array(vector, np.float32), **options)
started = time.perf_counter()
import lamina
imported = own()
vault = lamina.open(sys.argv[1], mode="r")
ask(*questions[0])
answered = time.perf_counter() - started
for question in questions:
    ask(*question)
print(json.dumps([answered, own() - imported]))
"""
"""A process that opens a vault, asks one question, and then many."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1M,5M", help="rows of the vaults")
    parser.add_argument("--corpus", default="1M", help="rows of the corpus that they are made of")
    parser.add_argument("--table", action="store_true", help="print what was recorded, and measure nothing")
    parser.add_argument("--reindex", action="store_true", help="make all indexes again, too")
    parser.add_argument(
        "--peer", action="store_true", help="ask the hand-written stack, too, of as many rows as the corpus has"
    )
    parser.add_argument("--cache", type=Path, default=Path(os.environ.get("LAMINA_BENCH_DIR", tempfile.gettempdir())))
    given = parser.parse_args(arguments)
    if given.table:
        print(table([json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]))
        return
    corpus = load(given.cache, parse_size(given.corpus))
    for size in map(parse_size, given.sizes.split(",")):
        with tempfile.TemporaryDirectory(dir=given.cache) as name:
            print(json.dumps(measure(corpus, size, Path(name), reindex=given.reindex, peer=given.peer)), flush=True)


def measure(corpus: Corpus, size: int, folder: Path, *, reindex: bool = False, peer: bool = False) -> dict[str, Any]:
    """Return what a vault of a size takes, in seconds, milliseconds, bytes and rows."""
    asked, others = corpus.queries, corpus.held_out[:HELD_OUT]
    place, found = folder / "vault", dict[str, Any](rows=size)
    truth = _Nearest(others)
    with lamina.open(place, create=True) as vault:
        add_s, peak = 0.0, _Peak()
        for table in tables(corpus, size):
            truth.look(table)
            with peak:
                add_s += seconds(lambda table=table: vault.add(table))  # type: ignore[misc]
        found["add_rows_per_s"], found["add_own_mib"] = size / add_s, peak.mib
        found["found_s"] = seconds(lambda: vault.recall("harbour", K))
        found["close_s"] = seconds(vault.close)
    os.sync()  # what still goes to the disk is not the reader's
    found["bytes_per_row"] = sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / size
    questions = folder / "questions.json"
    questions.write_text(json.dumps([(query.text, query.vector.tolist()) for query in asked]), encoding="utf-8")
    with lamina.open(place, mode="r") as vault:
        half = np.array([size // 2])
        recorded_us = int(vault._memory.view().snapshot.numbers("chunks", "recorded_at", half)[0])
        middle = datetime.fromtimestamp(recorded_us / 1e6, UTC).isoformat()
        ask = Lamina(vault)
        found["recall_at_10"] = truth.share([ask.dense(query) for query in others])
        found["hybrid_ms"] = times(ask.hybrid, asked)
        found["project_ms"] = times(lambda query: ask.hybrid(query, 3), asked)
        found["vectors_ms"] = times(ask.dense, asked)
        found["words_ms"] = times(ask.lexical, asked)
        found["default_ms"] = times(lambda query: _default(vault, query), asked)
        found["past_ms"] = times(lambda query: _default(vault, query, as_of=middle), asked)
        if peer and size == corpus.size:
            found.update(ask_peer(corpus, folder / "peer", ask))
    found["cold_s"], found["reader_own_mib"] = cold(place, questions)
    found["cold_past_s"], _ = cold(place, questions, middle)
    with lamina.open(place) as vault:
        names = [f"entity {number}" for number in range(FACTS)]
        records = [
            {"subject": name, "predicate": "uses", "object": names[number // 2]} for number, name in enumerate(names)
        ]
        found["facts_s"] = seconds(lambda: vault.facts.add_many(records))
        starts = range(0, size - 1, LINKED)
        drafts = [Draft(str(row), str(row + 1), "next") for row in starts]
        found["links_s"] = seconds(lambda: write(vault._memory, drafts))
    os.sync()
    with lamina.open(place, mode="r") as vault:
        found["linked_ms"] = times(lambda query: _default(vault, query), asked)
    with lamina.open(place) as vault:
        found["verify_s"] = seconds(vault.verify)
        found["verify_deep_s"] = seconds(lambda: vault.verify(deep=True))
        rows = np.linspace(0, size - 1, FORGOTTEN).astype(np.int64)
        with (peak := _Peak()):
            found["forget_s"] = seconds(lambda: vault.forget([str(row) for row in rows], dry_run=False))
        found["forget_own_mib"] = peak.mib
        found["compact_s"] = seconds(vault.compact)
        if reindex:
            with (peak := _Peak()):
                found["reindex_s"] = seconds(lambda: vault.reindex(accept=True))
            found["reindex_own_mib"] = peak.mib
    shutil.rmtree(place)
    if (
        "peer_hybrid_ms" in found
    ):  # what building the peer left to this process, it takes again without asking the system
        found = {name: value for name, value in found.items() if name not in ("forget_own_mib", "reindex_own_mib")}
    return found


def ask_peer(corpus: Corpus, folder: Path, ask: Lamina) -> dict[str, list[float]]:
    """Return times of the hand-written stack, and of Lamina's hybrid recall in turn with it."""
    folder.mkdir()
    peer = HandWrittenStopped.build(corpus, folder)
    os.sync()
    peer_s, own_s = in_turn([peer.hybrid, ask.hybrid], corpus.queries)
    found = {
        "peer_hybrid_ms": peer_s, "beside_peer_ms": own_s, "peer_vectors_ms": times(peer.dense, corpus.queries),
        "peer_words_ms": times(peer.lexical, corpus.queries),
    }  # fmt: skip
    peer.close()
    shutil.rmtree(folder)
    return found


def tables(corpus: Corpus, size: int) -> Iterator[pa.Table]:
    """Yield the rows of a vault in batches: the corpus, then made-up ones."""
    first = corpus.table()
    for start in range(0, size, min(BATCH, corpus.size)):
        rows = min(corpus.size, BATCH, size - start)
        turn = start // corpus.size
        other = (np.arange(rows) + turn * STRIDE) % corpus.size
        table = first.slice(0, rows)
        if turn:
            text, rest = table["text"].combine_chunks(), corpus.texts.take(pa.array(other))
            halves = [
                pc.utf8_slice_codeunits(text, 0, 400),
                pc.utf8_slice_codeunits(rest, 400, 800),
                pa.scalar(f" {turn}", pa.large_string()),
            ]
            joined = pc.binary_join_element_wise(*halves, pa.scalar(" ", pa.large_string()))
            vectors = corpus.vectors[:rows] + corpus.vectors[other]
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
            names = pa.array([str(row) for row in range(start, start + rows)])
            for name, column in (("id", names), ("text", joined), ("vector", flat)):
                table = table.set_column(table.column_names.index(name), name, column)
        yield table


class _Nearest:
    """The nearest rows of some questions, exactly, over all tables that it looked at."""

    def __init__(self, asked: Sequence[Query]) -> None:
        self._asked = np.stack([query.vector for query in asked])
        self._rows = np.zeros((len(asked), 0), np.int64)
        self._scores = np.zeros((len(asked), 0), np.float32)
        self._seen = 0

    def look(self, table: pa.Table) -> None:
        column = table["vector"].combine_chunks()
        vectors = column.values.to_numpy(zero_copy_only=True).reshape(len(table), -1)
        best = nearest(vectors, self._asked, K)
        scores = np.einsum("qkd,qd->qk", vectors[best], self._asked)
        self._rows = np.concatenate([self._rows, best + self._seen], axis=1)
        self._scores = np.concatenate([self._scores, scores], axis=1)
        order = np.argsort(-self._scores, axis=1, kind="stable")[:, :K]
        self._rows = np.take_along_axis(self._rows, order, axis=1)
        self._scores = np.take_along_axis(self._scores, order, axis=1)
        self._seen += len(table)

    def share(self, found: Sequence[list[int]]) -> float:
        """Return the share of the nearest rows that were found."""
        pairs = zip(found, self._rows.tolist(), strict=True)
        return float(np.mean([len({*got} & {*best}) / K for got, best in pairs]))


class _Peak:
    """The most memory of its own that this process took on beyond what it had, in MiB."""

    def __init__(self) -> None:
        self.mib = 0.0

    def __enter__(self) -> _Peak:
        self._before, self._stop = own_mib(), threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            self.mib = max(self.mib, own_mib() - self._before)


def own_mib() -> float:
    """Return the memory of this process that maps no file."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1024


def cold(place: Path, questions: Path, *as_of: str) -> tuple[float, float]:
    """Return the time to the first answer of a process, s, and its own memory after all of them, MiB: medians of `PROCESSES`.

    The memory is without what Python and NumPy take, and with that of all other libraries and of compiled kernels.
    """
    command = [sys.executable, "-c", COLD, str(place), str(questions), *as_of]
    done = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(PROCESSES)]
    seconds_, mib = np.median([json.loads(each) for each in done], axis=0)
    return float(seconds_), float(mib)


def table(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return recorded lines as a table in Markdown, a column for each size."""
    named = {
        "added, rows a second, until the log is durable": "add_rows_per_s",
        "found by a recall, s later": "found_s",
        "closed with all indexes, s later": "close_s",
        "the writer's own memory beyond the table given, MiB": "add_own_mib",
        "bytes a row on disk": "bytes_per_row",
        "recall@10 of vectors": "recall_at_10",
        "hybrid recall, p50 / p90 / p99, ms": "hybrid_ms",
        "in one project of twenty": "project_ms",
        "vectors only": "vectors_ms",
        "words only": "words_ms",
        "hybrid, in turn with the hand-written stack": "beside_peer_ms",
        "the hand-written stack, stop words dropped: hybrid": "peer_hybrid_ms",
        "its vectors": "peer_vectors_ms",
        "its words": "peer_words_ms",
        "profile default": "default_ms",
        "the same as of the middle row": "past_ms",
        "the same with 20,000 facts, and a link for one row in five": "linked_ms",
        "first answer of a process that has loaded NumPy, s": "cold_s",
        "the same as of the middle row, s": "cold_past_s",
        "a reader's own memory, libraries and compiled kernels included, MiB": "reader_own_mib",
        "20,000 facts added, s": "facts_s",
        "a link for one row in five written, s": "links_s",
        "verify, s": "verify_s",
        "verify, every byte, s": "verify_deep_s",
        "1,000 rows forgotten, s": "forget_s",
        "own memory for it, MiB": "forget_own_mib",
        "compact, s": "compact_s",
        "all indexes made again, s": "reindex_s",
        "own memory for that, MiB": "reindex_own_mib",
    }
    rows = [
        f"| {name} | {' | '.join(_shown(line[key]) if key in line else '-' for line in lines)} |"
        for name, key in named.items() if any(key in line for line in lines)
    ]  # fmt: skip
    heads = [f"{line['rows']:,} rows, {line['date']}, {line['commit'][:8]}" for line in lines]
    return "\n".join([f"|  | {' | '.join(heads)} |", "|" + " --- |" * (len(lines) + 1), *rows])


def _shown(value: float | list[float]) -> str:
    """Return a number, or several, with three digits that count."""
    if isinstance(value, list):
        return " / ".join(map(_shown, value))
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def times(ask: Callable[[Query], object], asked: Sequence[Query]) -> list[float]:
    """Return p50, p90 and p99 of `ROUNDS` rounds in which each question is asked, after one that is not timed, ms."""
    return in_turn([ask], asked)[0]


def in_turn(systems: Sequence[Callable[[Query], object]], asked: Sequence[Query]) -> list[list[float]]:
    """Return the times of several systems, which are asked round by round in turn."""
    found: list[list[float]] = [[] for _ in systems]
    for number in range(ROUNDS + 1):
        for ask, into in zip(systems, found, strict=True):
            taken = [seconds(lambda ask=ask, query=query: ask(query)) for query in asked]  # type: ignore[misc]
            into.extend(taken if number else [])
    return [[round(1e3 * float(value), 3) for value in np.percentile(each, [50, 90, 99])] for each in found]


def seconds(work: Callable[[], object]) -> float:
    """Return the time that a call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _default(vault: lamina.Vault, query: Query, **options: Any) -> object:
    return vault.recall(query.text, K, vector=query.vector, now=NOW_S, **options)


if __name__ == "__main__":
    main()
