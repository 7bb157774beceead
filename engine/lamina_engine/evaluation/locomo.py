"""LoCoMo's long dialogues: each turn one record, each question scoped to its dialogue.

The date stands on the session, not on the turn, and a few evidence references are malformed: they are read tolerantly,
and each repair is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeGuard

from lamina_engine.errors import InvalidArgument, name_type
from lamina_engine.evaluation.sets import EvaluationQuery, EvaluationSet, set_name
from lamina_engine.reports import Problem

CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""LoCoMo's category numbers. Some projects print 1 as single-hop; its mean of 3.13 evidence turns says otherwise."""

_MONTHS: Final[tuple[str, ...]] = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_SESSION: Final = re.compile(r"session_(\d+)")
_REFERENCE: Final = re.compile(r"D:?(\d+):(\d+)", re.IGNORECASE)
_SESSION_DATE: Final = re.compile(r"(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})")


def is_locomo(document: object) -> TypeGuard[list[dict[str, object]]]:
    """Return whether the parsed JSON is a list of dialogues with questions."""
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(sample, dict) and {"conversation", "qa"} <= sample.keys() for sample in document)
    )


def load_locomo(path: Path, document: list[dict[str, object]]) -> EvaluationSet:
    """Turn a parsed LoCoMo file into records and queries.

    Parameters
    ----------
    path : Path
        Where it was read; names the set and its problems.
    document : list of dict
        The dialogues; see `is_locomo`.

    Returns
    -------
    EvaluationSet
        Records have id ``<sample>/<dia_id>``, text ``Speaker: words`` and the image's caption, project the sample,
        session ``<sample>/session_<n>``, agent the speaker and created_at the session's date, read as UTC. `problems`
        has the codes evidence_repaired (read although malformed), evidence_dropped (no turn can be made out),
        evidence_unknown (names no turn; dropped) and session_date (unreadable; its turns have no created_at).

    Raises
    ------
    InvalidArgument
        When a dialogue, turn or question lacks a field that the form requires, or a turn's id is repeated.
    """
    records: list[dict[str, object]] = []
    queries: list[EvaluationQuery] = []
    problems: list[Problem] = []
    known: set[str] = set()
    for index, sample in enumerate(document):
        dialogue = _Dialogue(str(path), sample, index)
        turns = list(dialogue.turns(problems))
        for record in turns:
            if record["id"] in known:
                raise InvalidArgument(f"{path}: the turn {record['id']!r} stands twice. Turn ids must be distinct.")
            known.add(str(record["id"]))
        records.extend(turns)
        queries.extend(dialogue.queries(known, problems))
    return EvaluationSet(set_name(path), records, queries, tuple(problems))


def session_instant(text: str) -> str | None:
    """Return LoCoMo's ``1:56 pm on 8 May, 2023`` as an ISO 8601 instant in UTC, or None.

    Read without the locale, which would change what ``pm`` and ``May`` mean.

    Examples
    --------
    >>> session_instant("1:56 pm on 8 May, 2023")
    '2023-05-08T13:56:00Z'
    """
    found = _SESSION_DATE.fullmatch(text.strip().lower())
    if found is None or found[5] not in _MONTHS or not 1 <= int(found[1]) <= 12:
        return None
    hour = int(found[1]) % 12 + (12 if found[3] == "p" else 0)
    try:
        instant = datetime(
            int(found[6]), _MONTHS.index(str(found[5])) + 1, int(found[4]), hour, int(found[2]), tzinfo=UTC
        )
    except ValueError:
        return None
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def evidence_ids(reference: str) -> tuple[list[str], bool]:
    """Return the turn ids that one evidence reference names, and whether it was well formed.

    ``D8:6; D9:17`` names two turns, ``D:11:26`` means D11:26, ``D30:05`` means D30:5, a bare ``D`` names none.
    """
    ids = [f"D{int(session)}:{int(turn)}" for session, turn in _REFERENCE.findall(reference)]
    return ids, ids == [reference]


class _Dialogue:
    """One sample of the file, its fields checked as they are used."""

    def __init__(self, source: str, sample: dict[str, object], index: int) -> None:
        conversation, questions = sample["conversation"], sample["qa"]
        if not isinstance(conversation, dict) or not isinstance(questions, list):
            raise InvalidArgument(
                f"{source}: dialogue {index} has a {type(conversation).__name__} as conversation and a "
                f"{type(questions).__name__} as qa; an object and a list are needed. Check the file is LoCoMo's."
            )
        self.source = source
        self.sample_id = str(sample.get("sample_id", f"dialogue-{index}"))
        self.conversation: dict[str, object] = conversation
        self.questions: list[object] = questions

    def turns(self, problems: list[Problem]) -> Iterator[dict[str, object]]:
        numbers = sorted(int(found[1]) for key in self.conversation if (found := _SESSION.fullmatch(key)))
        for number in numbers:
            turns = self.conversation[f"session_{number}"]
            if not isinstance(turns, list):
                raise self._invalid(f"session_{number} is {name_type(turns)}", "a list of turns")
            date = str(self.conversation.get(f"session_{number}_date_time", ""))
            created_at = session_instant(date)
            if created_at is None and turns:
                problems.append(
                    Problem(
                        self.source,
                        "session_date",
                        f"{self.sample_id}, session {number}: date {date!r} is not like '1:56 pm on 8 May, 2023'; "
                        f"its {len(turns)} turns have no created_at.",
                    )
                )
            for turn in turns:
                yield self._turn(turn, number, created_at)

    def _turn(self, turn: object, number: int, created_at: str | None) -> dict[str, object]:
        if not isinstance(turn, dict) or not {"speaker", "dia_id", "text"} <= turn.keys():
            raise self._invalid(
                f"a turn of session_{number} is {turn!r:.200}", "an object with speaker, dia_id and text"
            )
        text = f"{turn['speaker']}: {turn['text']}"
        if caption := turn.get("blip_caption"):
            text = f"{text} [image: {caption}]"
        record: dict[str, object] = {
            "id": f"{self.sample_id}/{turn['dia_id']}",
            "text": text,
            "type": "conversation",
            "collection": "discussions",
            "project": self.sample_id,
            "session": f"{self.sample_id}/session_{number}",
            "agent": str(turn["speaker"]),
        }
        return record if created_at is None else {**record, "created_at": created_at}

    def queries(self, known: set[str], problems: list[Problem]) -> Iterator[EvaluationQuery]:
        for item in self.questions:
            if not isinstance(item, dict) or not isinstance(item.get("question"), str):
                raise self._invalid(f"a question is {item!r:.200}", "an object with a question")
            category = item.get("category")
            yield EvaluationQuery(
                text=item["question"],
                gold=tuple(self._gold(item.get("evidence") or [], known, problems)),
                category=CATEGORIES.get(category, str(category)) if isinstance(category, int) else str(category),
                where={"project": self.sample_id},
            )

    def _gold(self, evidence: object, known: set[str], problems: list[Problem]) -> list[str]:
        found: dict[str, None] = {}
        for item in evidence if isinstance(evidence, list) else [evidence]:
            ids, well_formed = evidence_ids(str(item))
            if not ids:
                self._report(problems, "evidence_dropped", f"evidence {item!r} names no turn; it is left out.")
            elif not well_formed:
                self._report(problems, "evidence_repaired", f"evidence {item!r} is read as {', '.join(ids)}.")
            for turn_id in ids:
                if f"{self.sample_id}/{turn_id}" in known:
                    found[f"{self.sample_id}/{turn_id}"] = None
                else:
                    self._report(problems, "evidence_unknown", f"evidence {item!r}: the dialogue has no {turn_id}.")
        return list(found)

    def _report(self, problems: list[Problem], code: str, message: str) -> None:
        problems.append(Problem(self.source, code, f"{self.sample_id}: {message}"))

    def _invalid(self, given: str, allowed: str) -> InvalidArgument:
        return InvalidArgument(
            f"{self.source}: {self.sample_id}: {given}; {allowed} is needed. Check the file is LoCoMo's."
        )
