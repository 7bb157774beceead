"""Which form a labelled set has, by its files and their content, and so which reader takes it."""

from __future__ import annotations

from pathlib import Path

from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.evaluation.hotpot import corpus_file, is_hotpot, load_hotpot, questions_file
from lamina_engine.evaluation.jsonlines import QUERIES_FILE, load_json_lines
from lamina_engine.evaluation.locomo import is_locomo, load_locomo
from lamina_engine.evaluation.sets import EvaluationSet, read_json

_LINES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
_FORMS = (
    "LoCoMo (a list of dialogues with conversation and qa), HotpotQA (questions with supporting_facts, and "
    "NAME_corpus.json next to them) or JSON lines (.jsonl, or a folder with queries.jsonl and records.jsonl)"
)


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
