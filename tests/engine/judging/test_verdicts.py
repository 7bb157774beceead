from __future__ import annotations

import json
from typing import Any

import pytest

from lamina_engine.embed.chat import InvalidAnswer
from lamina_engine.judging.verdicts import Statement, is_placeholder, parse_causes, parse_links

FACTS = [Statement("a", "one"), Statement("a", "two"), Statement("b", "three"), Statement("c", "four")]


def link(**given: Any) -> dict[str, Any]:
    return {"target_idx": 1, "link_type": "supporting", "confidence": 0.8, "reasoning": "it says so", **given}


def cause(**given: Any) -> dict[str, Any]:
    return {"source_fact_idx": 0, "target_fact_idx": 2, "confidence": 0.8, "reasoning": "it says so", **given}


def links(*elements: dict[str, Any]) -> list[tuple[int, str, float]]:
    return [(v.target_idx, v.link_type, v.confidence) for v in parse_links(json.dumps(elements), 3)]


def causes(*elements: Any) -> list[tuple[int, int, float]]:
    found = parse_causes(json.dumps(elements), FACTS)
    return [(v.source_fact_idx, v.target_fact_idx, v.confidence) for v in found]


# ---------------------------------------------------------------------- a note and its neighbours


def test_a_valid_answer() -> None:
    assert links(link(), link(target_idx=3, link_type="contradicts", confidence=1)) == [
        (1, "supporting", 0.8), (3, "contradicts", 1.0),
    ]  # fmt: skip
    assert links() == []


@pytest.mark.parametrize(
    "bad",
    [
        {"link_type": "contradict"}, {"link_type": "causal"}, {"link_type": None}, {"target_idx": "1"},
        {"target_idx": 1.5}, {"confidence": "high"}, {"confidence": 1.2}, {"confidence": -0.1}, {"reasoning": 3},
        {"extra": 1}, {"confidence": float("nan")}, {"confidence": float("inf")},
    ],
)  # fmt: skip
def test_one_malformed_element_rejects_all(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidAnswer):
        links(link(), link(target_idx=2, **{k: v for k, v in bad.items() if k != "target_idx"}) | bad)


def test_contradicts_is_spelled_plural() -> None:
    assert links(link(link_type="contradicts")) == [(1, "contradicts", 0.8)]
    with pytest.raises(InvalidAnswer, match="contradict"):
        links(link(link_type="contradict"))


def test_numbers_out_of_range_and_repeated_ones_are_passed_over() -> None:
    assert links(link(target_idx=0), link(target_idx=4), link(target_idx=-1), link(target_idx=2)) == [
        (2, "supporting", 0.8)
    ]
    assert links(link(confidence=0.3), link(confidence=0.9)) == [(1, "supporting", 0.3)]
    assert links(link(confidence=0)) == []


# ---------------------------------------------------------------------- facts


def test_confidence_59_is_dropped_and_60_kept() -> None:
    assert causes(cause(confidence=0.59)) == []
    assert causes(cause(confidence=0.6)) == [(0, 2, 0.6)]


@pytest.mark.parametrize(
    "bad",
    [
        {"confidence": float("nan")}, {"confidence": 1.2}, {"confidence": -0.7}, {"confidence": float("inf")},
        {"confidence": None}, {"source_fact_idx": 9}, {"target_fact_idx": -1}, {"source_fact_idx": "0"},
        {"reasoning": "<reasoning>"}, {"reasoning": " "}, {"reasoning": "..."}, {"target_fact_idx": 1}, {"extra": 1},
    ],
)  # fmt: skip
def test_what_is_wrong_is_dropped_and_its_siblings_kept(bad: dict[str, Any]) -> None:
    """NaN, out of range, bad index, placeholder, and a pair of one document."""
    assert causes(cause(**bad), cause(target_fact_idx=3)) == [(0, 3, 0.8)]


def test_elements_of_another_kind_are_dropped() -> None:
    assert causes("why", None, 3, cause()) == [(0, 2, 0.8)]


def test_two_documents_have_one_link_the_surest() -> None:
    got = causes(cause(confidence=0.7), cause(source_fact_idx=1, confidence=0.9), cause(confidence=0.8))
    assert got == [(1, 2, 0.9)]


# ---------------------------------------------------------------------- the wrapping


@pytest.mark.parametrize(
    "wrapped",
    [
        "{}", "  {}  ", "```json\n{}\n```", "```\n{}\n```", "Here it is: {} I hope it helps [1].", '{{"result": {}}}',
        '{{"links": {}}}', 'Sure.\n```JSON\n{{"result": {}}}\n```\nDone.',
    ],
)  # fmt: skip
def test_lists_are_found_however_they_are_wrapped(wrapped: str) -> None:
    text = wrapped.format(json.dumps([link()]))
    assert [v.target_idx for v in parse_links(text, 3)] == [1]
    assert len(parse_causes(wrapped.format(json.dumps([cause()])), FACTS)) == 1


@pytest.mark.parametrize("text", ["", "no links", "[", '{"answer": []}', '{"result": 3}', "{", "[" * 100_000])
def test_what_is_no_list_is_an_invalid_answer(text: str) -> None:
    for parse in (lambda: parse_links(text, 3), lambda: parse_causes(text, FACTS)):
        with pytest.raises(InvalidAnswer):
            parse()


def test_placeholders() -> None:
    assert all(map(is_placeholder, ["", "…", "Reasoning", "<one>".replace("one", "reason"), "N/A", "--"]))
    assert not any(map(is_placeholder, ["the disk was full", "no"]))
