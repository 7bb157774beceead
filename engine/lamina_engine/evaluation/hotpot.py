"""HotpotQA in HippoRAG's form: a questions file and its corpus file.

``NAME.json`` holds questions with ``supporting_facts``; ``NAME_corpus.json`` the passages, as
``{title: [sentence, …]}`` or as ``[{"title", "text"}, …]``. Either may end in ``.gz``. Other sets of that form
(2WikiMultiHopQA) read the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeGuard

from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.evaluation.sets import EvaluationQuery, EvaluationSet, read_json, set_name
from lamina_engine.reports import Problem

_CORPUS: Final = "_corpus"


def is_hotpot(document: object) -> TypeGuard[list[dict[str, object]]]:
    """Return whether the parsed JSON is a list of questions with supporting facts."""
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(item, dict) and {"question", "supporting_facts"} <= item.keys() for item in document)
    )


def corpus_file(questions: Path) -> Path | None:
    """Return the corpus that stands next to a questions file, or None where there is none."""
    return _sibling(questions, set_name(questions) + _CORPUS)


def questions_file(corpus: Path) -> Path | None:
    """Return the questions file of a corpus file; None where it is not named like one."""
    name = set_name(corpus)
    return _sibling(corpus, name.removesuffix(_CORPUS)) if name.endswith(_CORPUS) else None


def load_hotpot(path: Path, document: list[dict[str, object]]) -> EvaluationSet:
    """Turn parsed questions, and the corpus next to them, into records and queries.

    Parameters
    ----------
    path : Path
        The questions' file; names the set and its corpus.
    document : list of dict
        The questions; see `is_hotpot`.

    Returns
    -------
    EvaluationSet
        Records have id ``<set>/<row>``, the passage's title, and its text without the title. Gold are the passages
        whose title is a supporting title; `problems` has the code gold_unknown for titles that no passage has.

    Raises
    ------
    IngestError
        When there is no corpus next to the questions, or it cannot be read.
    InvalidArgument
        When the corpus or a question is not of this form.
    """
    corpus = corpus_file(path)
    if corpus is None:
        raise IngestError(
            f"{path} has no corpus next to it; {set_name(path)}{_CORPUS}.json (or .json.gz) is needed. Put it there."
        )
    records: list[dict[str, object]] = []
    by_title: dict[str, list[str]] = {}
    for title, text in _passages(corpus):
        record_id = f"{set_name(path)}/{len(records)}"
        records.append({"id": record_id, "title": title, "text": text, "collection": "passages"})
        by_title.setdefault(title, []).append(record_id)
    problems: list[Problem] = []
    queries = [_query(path, item, by_title, problems) for item in document]
    return EvaluationSet(set_name(path), records, queries, tuple(problems))


def _sibling(path: Path, name: str) -> Path | None:
    return next((found for ext in (".json", ".json.gz") if (found := path.with_name(name + ext)).is_file()), None)


def _passages(corpus: Path) -> Iterator[tuple[str, str]]:
    document = read_json(corpus)
    if isinstance(document, dict):
        pairs: list[tuple[object, object]] = list(document.items())
    elif isinstance(document, list) and all(isinstance(item, dict) for item in document):
        pairs = [(item.get("title"), item.get("text")) for item in document]
    else:
        raise InvalidArgument(f"{corpus} is a JSON {type(document).__name__}; titles with sentences are needed.")
    for title, body in pairs:
        text = "".join(map(str, body)) if isinstance(body, list) else body
        if not isinstance(title, str) or not isinstance(text, str):
            raise InvalidArgument(f"{corpus}: a passage is {title!r}: {body!r:.100}; a title and its text are needed.")
        yield title, text.strip() or title


def _query(
    path: Path, item: dict[str, object], by_title: dict[str, list[str]], problems: list[Problem]
) -> EvaluationQuery:
    text, facts = item["question"], item["supporting_facts"]
    if not isinstance(text, str) or not isinstance(facts, list) or not all(isinstance(f, list) and f for f in facts):
        raise InvalidArgument(
            f"{path}: {item!r:.200} needs a question and supporting_facts as [title, sentence] pairs."
        )
    gold: dict[str, None] = {}
    for title in dict.fromkeys(str(fact[0]) for fact in facts):
        if title not in by_title:
            problems.append(Problem(str(path), "gold_unknown", f"query {text!r}: no passage has the title {title!r}."))
        gold.update(dict.fromkeys(by_title.get(title, ())))
    return EvaluationQuery(text, tuple(gold), str(item.get("type", "all")))
