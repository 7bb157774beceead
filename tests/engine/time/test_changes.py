"""Words of change: which are known, and how long they take."""

from __future__ import annotations

import re
import time

import pytest

from lamina_engine.time import changes

ANY = re.compile(rf"\b(?:{changes.ANY})\b", re.IGNORECASE)


@pytest.mark.parametrize(
    "text",
    [
        "the fair was put off", "Ana pushed the freeze back", "Wir ziehen am Freitag um", "the fee was raised", "X superseded Y",
        "Carla succeeds Bert", "Eva löst Otto als Leiterin ab", "Rosa handed the choir over", "it is now called Quayside", "it expired",
        "der Markt fällt aus", "we went back", "we don't use it anymore", "in lieu of mail", "es sind keine mehr", "ab 1. Mai",
    ],
)  # fmt: skip
def test_a_change_is_known(text: str) -> None:
    assert ANY.search(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "no longer than 5 minutes", "nicht länger als 5 Minuten", "nicht mehr als 3", "the test succeeded", "Bert switched on the light",
        "at sunset", "by hand", "put it there", "a lower price", "ab und zu", "press the shift key",
    ],
)  # fmt: skip
def test_what_only_looks_like_one_is_none(text: str) -> None:
    assert ANY.search(text) is None


@pytest.mark.parametrize(
    "piece", ["put it ", "hand ", "löst x ", "zieht ", "from x ", "ab ", "no longer than ", "a", " "]
)
def test_long_lines_take_linear_time(piece: str) -> None:
    text = (piece * 40_000)[:40_000]
    start = time.process_time()
    ANY.findall(text)
    assert time.process_time() - start < 2.0
