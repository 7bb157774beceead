from __future__ import annotations

import pytest

from lamina_engine.sessions.turns import find_shift

MINUTE = 60_000_000


def test_a_pause_of_thirty_minutes_is_no_shift_and_one_second_more_is() -> None:
    assert find_shift(0, 30 * MINUTE, "and the tests?") is None
    assert find_shift(0, 30 * MINUTE + 1_000_000, "and the tests?") == "gap"
    assert find_shift(0, 30 * MINUTE + 1, "and the tests?") == "gap"


def test_times_that_are_missing_or_run_backwards_are_no_pause() -> None:
    assert find_shift(None, 99 * MINUTE, "x") is None
    assert find_shift(0, None, "x") is None
    assert find_shift(99 * MINUTE, 0, "x") is None


@pytest.mark.parametrize(
    "text",
    [
        "btw, where is the config?", "By the way, ...", "  Actually, let's do the parser first", "actually can we stop",
        "Actually, could we use SQLite", "New question: why?", "different topic", "another issue came up",
        "switching gears", "Switching to the API", "on a different note", "about a separate topic", "Moving on to docs",
        "forget that", "Forget about this", "let's change the subject", "let\u2019s move on", "Let's switch",
        "unrelated: is it slow?", "Separately, ...", "okay now the README", "ok, now tests",
    ],
)  # fmt: skip
def test_words_that_begin_another_topic(text: str) -> None:
    assert find_shift(0, MINUTE, text) == "phrase"


@pytest.mark.parametrize(
    "text",
    [
        "ok so what next?", "Okay so the test fails", "ok", "so btw is not at the start", "actually it works",
        "forgetting that is easy", "let's continue", "movingon", "btwx", "new file please", "a different topic", "",
    ],
)  # fmt: skip
def test_words_that_go_on_with_it(text: str) -> None:
    assert find_shift(0, MINUTE, text) is None
