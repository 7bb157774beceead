from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lamina_engine.errors import InvalidArgument
from lamina_engine.evaluation.locomo import evidence_ids, is_locomo, load_locomo, session_instant
from lamina_engine.evaluation.sets import read_json

DEV = Path(__file__).parents[3].parent / "shared" / "data" / "locomo-dev" / "locomo-dev.json"


def sample(**changes: Any) -> dict[str, Any]:
    turns = [
        {"speaker": "Ana", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a photo of a dog"},
        {"speaker": "Bo", "dia_id": "D2:5", "text": "Nice."},
    ]
    conversation: dict[str, Any] = {
        "speaker_a": "Ana",
        "session_10_date_time": "12:05 am on 1 March, 2024",
        "session_10": [{"speaker": "Ana", "dia_id": "D10:1", "text": "Hi"}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": turns,
        "session_3_date_time": "1:56 pm on 9 May, 2023",
    }
    qa = [{"question": "What did Ana show?", "evidence": ["D2:1"], "category": 4}]
    return {"sample_id": "conv-1", "conversation": conversation, "qa": qa, **changes}


def test_a_turn_becomes_a_record_with_its_session_date() -> None:
    got = load_locomo(Path("x.json"), [sample()])
    assert [record["id"] for record in got.records] == ["conv-1/D2:1", "conv-1/D2:5", "conv-1/D10:1"]
    assert got.records[0] == {
        "id": "conv-1/D2:1",
        "text": "Ana: Look! [image: a photo of a dog]",
        "type": "conversation",
        "collection": "discussions",
        "project": "conv-1",
        "session": "conv-1/session_2",
        "agent": "Ana",
        "created_at": "2023-05-08T13:56:00Z",
    }
    assert got.records[1]["text"] == "Bo: Nice."
    assert got.problems == ()


def test_a_question_is_scoped_to_its_dialogue() -> None:
    (query,) = load_locomo(Path("x.json"), [sample()]).queries
    assert (query.text, query.gold, query.category) == ("What did Ana show?", ("conv-1/D2:1",), "single-hop")
    assert query.where == {"project": "conv-1"}


@pytest.mark.parametrize(
    ("evidence", "gold", "codes"),
    [
        (["D2:1; D2:5"], ("conv-1/D2:1", "conv-1/D2:5"), ["evidence_repaired"]),
        (["D:2:1"], ("conv-1/D2:1",), ["evidence_repaired"]),
        (["D2:05"], ("conv-1/D2:5",), ["evidence_repaired"]),
        (["D"], (), ["evidence_dropped"]),
        (["D2:1", "D2:1"], ("conv-1/D2:1",), []),
        (["D9:9", "D2:5"], ("conv-1/D2:5",), ["evidence_unknown"]),
        ([], (), []),
        (None, (), []),
        ("D2:5", ("conv-1/D2:5",), []),
    ],
)
def test_malformed_evidence_is_read_tolerantly_and_counted(
    evidence: Any, gold: tuple[str, ...], codes: list[str]
) -> None:
    got = load_locomo(Path("x.json"), [sample(qa=[{"question": "q", "evidence": evidence, "category": 1}])])
    assert got.queries[0].gold == gold
    assert [problem.code for problem in got.problems] == codes


@pytest.mark.parametrize(
    ("reference", "ids"),
    [("D8:6; D9:17", ["D8:6", "D9:17"]), ("D:11:26", ["D11:26"]), ("D30:05", ["D30:5"]), ("D", []), ("D1:3", ["D1:3"])],
)
def test_evidence_ids(reference: str, ids: list[str]) -> None:
    assert evidence_ids(reference) == (ids, reference == "D1:3")


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00Z"),
        ("12:05 am on 1 March, 2024", "2024-03-01T00:05:00Z"),
        ("12:30 PM on 29 February, 2024", "2024-02-29T12:30:00Z"),
        (" 9:01 a.m. on 31 December 2022 ", "2022-12-31T09:01:00Z"),
        ("9:01 am on 30 February, 2023", None),
        ("13:01 pm on 3 May, 2023", None),
        ("0:01 am on 3 May, 2023", None),
        ("9:61 am on 3 May, 2023", None),
        ("9:01 am on 3 Maj, 2023", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_session_instant(text: str, ref: str | None) -> None:
    assert session_instant(text) == ref


def test_an_unreadable_session_date_is_reported_and_its_turns_kept() -> None:
    broken = sample()
    broken["conversation"]["session_2_date_time"] = "some day"
    got = load_locomo(Path("x.json"), [broken])
    assert "created_at" not in got.records[0]
    assert got.records[2]["created_at"] == "2024-03-01T00:05:00Z"
    assert got.problem_counts() == {"session_date": 1}


@pytest.mark.parametrize(
    "changes",
    [
        {"conversation": []},
        {"qa": {}},
        {"qa": [{"answer": "no question"}]},
        {"qa": ["q"]},
        {"conversation": {"session_1": "text"}},
        {"conversation": {"session_1": [{"speaker": "Ana"}]}},
        {"conversation": {"session_1": [{"speaker": "Ana", "dia_id": "D1:1", "text": "a"}] * 2}},
    ],
)
def test_what_is_not_locomo_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=r"x\.json"):
        load_locomo(Path("x.json"), [sample(**changes)])


@pytest.mark.parametrize("document", [[], {}, None, ["a"], [{"qa": []}]])
def test_is_locomo_wants_dialogues_with_questions(document: object) -> None:
    assert not is_locomo(document)


@pytest.mark.skipif(not DEV.is_file(), reason="the LoCoMo dev dialogues are not beside the project")
def test_the_dev_dialogues() -> None:
    document = read_json(DEV)
    assert is_locomo(document)
    got = load_locomo(DEV, document)
    assert (len(got.records), len(got.queries)) == (1451, 497)
    assert sum(not query.gold for query in got.queries) == 2
    assert got.problem_counts() == {"evidence_repaired": 1}
    assert {query.category for query in got.queries} == {
        "multi-hop",
        "temporal",
        "open-domain",
        "single-hop",
        "adversarial",
    }
    assert all("created_at" in record for record in got.records)
