"""Labelled sets: records to store, questions to ask, and the ids that answer each question."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamina_engine.errors import IngestError, InvalidArgument, name_cause
from lamina_engine.reports import Problem


@dataclass(frozen=True, slots=True)
class EvaluationQuery:
    """One question with its answer ids."""

    text: str
    gold: tuple[str, ...]
    """Distinct ids of the records that answer it; empty where none is labelled (then it is skipped and counted)."""
    category: str = "all"
    where: dict[str, object] | None = None
    """Filter in the grammar of ``recall``, or None for the whole set."""


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """Records in the shape that ``add`` takes, and the queries to ask of them."""

    name: str
    records: list[dict[str, object]]
    """Each has ``id`` and ``text``; ids are distinct. Empty where the set only labels what a vault already holds."""
    queries: list[EvaluationQuery]
    problems: tuple[Problem, ...] = ()
    """What was repaired or dropped while reading; nothing is dropped without a line here."""

    def problem_counts(self) -> dict[str, int]:
        """Return the number of problems by code, codes in alphabetical order."""
        codes = sorted(problem.code for problem in self.problems)
        return {code: codes.count(code) for code in dict.fromkeys(codes)}


def unknown_gold(
    source: str, records: Iterable[dict[str, object]], queries: Sequence[EvaluationQuery]
) -> list[Problem]:
    """Return a problem for each gold id that names no record."""
    known = {record["id"] for record in records}
    if not known:
        return []
    return [
        Problem(source, "gold_unknown", f"query {query.text!r}: gold id {gold_id!r} names no record; it stays a miss.")
        for query in queries
        for gold_id in query.gold
        if gold_id not in known
    ]


def set_name(path: Path) -> str:
    """Return the file's name without ``.gz`` and its extension; a folder's name as it is."""
    if path.is_dir():
        return path.resolve().name
    name = path.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def read_bytes(path: Path) -> bytes:
    """Return the file's bytes, unpacked where its name ends in ``.gz``."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.name.endswith(".gz") else data
    except (OSError, EOFError) as error:
        raise IngestError(f"{path} cannot be read ({name_cause(error)}); give the path of a labelled set") from error


def read_json(path: Path) -> object:
    """Return the JSON document in the file (``.gz`` too)."""
    try:
        document: object = json.loads(read_bytes(path).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(
            f"{path} is not a JSON document in UTF-8: {error}. One object a line belongs in a .jsonl file."
        ) from error
    return document
