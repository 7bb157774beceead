"""Readers of labelled sets: format detection, and JSON lines.

``{"kind": "record", "id": …, "text": …, …}`` takes every field of ``add``;
``{"kind": "query", "text": …, "gold": […], "category": …, "where": {…}}``. In a folder with ``records.jsonl`` and
``queries.jsonl`` the file says the kind. A faulty line ends the reading: a set that silently lost lines would still
give a number, and a wrong one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, NoReturn

from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.evaluation.hotpot import corpus_file, is_hotpot, load_hotpot, questions_file
from lamina_engine.evaluation.locomo import is_locomo, load_locomo
from lamina_engine.evaluation.sets import EvaluationQuery, EvaluationSet, read_bytes, read_json, set_name, unknown_gold

RECORDS_FILE: Final = "records.jsonl"
QUERIES_FILE: Final = "queries.jsonl"


_LINES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")

_FORMS = (
    "LoCoMo (a list of dialogues with conversation and qa), HotpotQA (questions with supporting_facts, and "
    "NAME_corpus.json next to them) or JSON lines (.jsonl, or a folder with queries.jsonl and records.jsonl)"
)


def load_json_lines(path: Path) -> EvaluationSet:
    """Read a set from a ``.jsonl`` file or from a folder with ``queries.jsonl``.

    Parameters
    ----------
    path : Path
        File (``.gz`` too) or folder. Blank lines are skipped.

    Returns
    -------
    EvaluationSet
        `problems` names the gold ids that no record has.

    Raises
    ------
    IngestError
        When a file cannot be read.
    InvalidArgument
        For a line that is not a JSON object or has a missing, mistyped or repeated field (with file and line number),
        and for a set without queries.
    """
    reader = _Reader()
    if path.is_dir():
        queries, records = path / QUERIES_FILE, path / RECORDS_FILE
        if not queries.is_file():
            raise IngestError(f"{path} has no {QUERIES_FILE}. Put the queries of the set there, one object a line.")
        if records.is_file():
            reader.read(records, kind="record")
        reader.read(queries, kind="query")
    else:
        reader.read(path, kind=None)
    if not reader.queries:
        raise InvalidArgument(f'{path} holds no query. Add lines like {{"kind": "query", "text": …, "gold": [id]}}.')
    problems = unknown_gold(str(path), reader.records, reader.queries)
    return EvaluationSet(set_name(path), reader.records, reader.queries, tuple(problems))


class _Reader:
    """Collects records and queries over one or two files, so that ids are distinct across them."""

    def __init__(self) -> None:
        self.records: list[dict[str, object]] = []
        self.queries: list[EvaluationQuery] = []
        self._first_seen: dict[str, str] = {}

    def read(self, path: Path, *, kind: str | None) -> None:
        # Bytes are split at newlines only: str.splitlines would also cut at U+2028, which JSON allows inside strings.
        for number, raw in enumerate(read_bytes(path).split(b"\n"), start=1):
            line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
            if line.strip():
                self._line(_Line(f"{path}:{number}", line), kind)

    def _line(self, line: _Line, kind: str | None) -> None:
        given = line.fields.pop("kind", kind)
        if given not in ("record", "query") or (kind is not None and given != kind):
            line.fail(f'"kind" is {given!r}', f'"{kind}"' if kind else '"record" or "query"')
        if given == "record":
            self._record(line)
        else:
            self.queries.append(line.query())

    def _record(self, line: _Line) -> None:
        record_id = line.text("id")
        line.text("text")
        if record_id in self._first_seen:
            line.fail(f'"id" {record_id!r} was already given at {self._first_seen[record_id]}', "an id of its own")
        self._first_seen[record_id] = line.place
        self.records.append(line.fields)


class _Line:
    """One parsed line, with its place for error messages."""

    def __init__(self, place: str, raw: bytes) -> None:
        self.place = place
        try:
            value: object = json.loads(raw.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise InvalidArgument(f"{place}: not JSON in UTF-8: {error}. Each line holds one JSON object.") from error
        if not isinstance(value, dict):
            self.fail(f"the line is a JSON {type(value).__name__}", "one JSON object")
        self.fields: dict[str, object] = value

    def fail(self, given: str, allowed: str) -> NoReturn:
        raise InvalidArgument(f"{self.place}: {given}; allowed is {allowed}. Correct the line and load the set again.")

    def text(self, field: str) -> str:
        value = self.fields.get(field)
        if not isinstance(value, str) or not value.strip():
            self.fail(f'"{field}" is {value!r}', "a string that is not blank")
        return value

    def query(self) -> EvaluationQuery:
        gold = self.fields.get("gold")
        if isinstance(gold, str):
            gold = [gold]
        if not isinstance(gold, list) or not all(isinstance(item, str) and item for item in gold):
            self.fail(f'"gold" is {gold!r}', "a list of record ids (empty where no record answers)")
        category = self.fields.get("category", "all")
        if not isinstance(category, str) or not category:
            self.fail(f'"category" is {category!r}', "a string, or nothing")
        where = self.fields.get("where")
        if where is not None and not isinstance(where, dict):
            self.fail(f'"where" is {where!r}', "a filter object, or nothing")
        return EvaluationQuery(self.text("text"), tuple(dict.fromkeys(gold)), category, where or None)


def load_set(path: str | Path) -> EvaluationSet:
    """Read a labelled set in any form Lamina knows.

    Parameters
    ----------
    path : str or Path
        A file, ``.gz`` or not, or the folder that holds one set.

    Returns
    -------
    EvaluationSet
        What was repaired or dropped stands in its `problems`.

    Raises
    ------
    IngestError
        When nothing is there, a file cannot be read, or a folder holds no set or several.
    InvalidArgument
        When the content is of no known form, or faulty in its form (with the line, for JSON lines).
    """
    path = Path(path)
    if not path.exists():
        raise IngestError(f"{path} does not exist. Give the file or folder of a labelled set: {_FORMS}.")
    if not path.is_dir():
        return _load_file(path)
    if (path / QUERIES_FILE).is_file():
        return load_json_lines(path)
    return _load_file(_only_set(path))


def _only_set(folder: Path) -> Path:
    """Return the one set in a folder; a pair of questions and corpus is one set."""
    names = sorted(entry for entry in folder.iterdir() if entry.is_file())
    found = [
        entry
        for entry in names
        if entry.name.endswith((*_LINES, ".json", ".json.gz")) and questions_file(entry) is None
    ]
    if len(found) != 1:
        listed = ", ".join(entry.name for entry in found) or "none"
        raise IngestError(f"{folder} must hold one labelled set, and holds {listed}. Name the file. Known: {_FORMS}.")
    return found[0]


def _load_file(path: Path) -> EvaluationSet:
    if path.name.endswith(_LINES):
        return load_json_lines(path)
    if corpus_file(path) is None and (questions := questions_file(path)) is not None:
        path = questions
    document = read_json(path)
    if isinstance(document, dict) and is_locomo([document]):
        document = [document]
    if is_locomo(document):
        return load_locomo(path, document)
    if is_hotpot(document):
        return load_hotpot(path, document)
    raise InvalidArgument(f"{path} is JSON of no known labelled set. Known: {_FORMS}.")
