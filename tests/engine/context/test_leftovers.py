"""Points that sessions before the last one left open."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamina import Vault
from tests.engine.sessions.workday import days

RECEIPT = (
    "2026-11-18",
    [
        (
            "print the receipt with the new header",
            "The header is in. I decided to keep 48 columns, because the printer cuts.\n\n"
            "Still open: umlauts in the receipt come out as question marks. Tobias needs it by 2026-12-04.",
        )
    ],
)
JOB = (
    "2026-11-22",
    [("make the nightly job faster", "Done: 72 seconds. I decided to index sailing_id, because of a sequential scan.")],
)
BILL = (
    "2026-11-19",
    [
        (
            "Bau die Rechnung um",
            "Sie hat drei Spalten. Ich habe mich für Dezimalzahlen entschieden, weil Gleitkomma rundet.\n\n"
            "## Offen\n- Mahnungen gehen noch ohne Anhang raus\n- Rabatte prüfen",
        )
    ],
)


def told(vault: Vault, day: str) -> list[str]:
    """What a start tells as left open on a day."""
    return [
        line for item in vault.bootstrap(session=f"after {day}").items if item.part == "task" and item.date == day
        for line in item.text.splitlines()[1:]
    ]  # fmt: skip


def test_what_the_session_before_the_last_left_open_is_told(tmp_path: Path) -> None:
    # a stranger's trial: a deadline six days ahead was lost after a session about something else
    vault = days(tmp_path, RECEIPT, BILL, JOB)
    assert told(vault, "2026-11-18") == [
        "- Still open: umlauts in the receipt come out as question marks. Tobias needs it by 2026-12-04."
    ]
    assert told(vault, "2026-11-19") == ["- Mahnungen gehen noch ohne Anhang raus", "- Rabatte prüfen"]
    assert told(vault, "2026-11-22") == []


@pytest.mark.parametrize(
    ("asked", "reply", "left"),
    [
        ("now the umlauts in the receipt", "It is cp1252 now. I decided on that because the printer knows nothing else.", 0),
        ("what about the printer?", "The receipt has its umlauts now: I went with cp1252, because of the printer.", 0),
        ("which tax is on the receipt?", "19 percent on the receipt. I decided to print 7 for books because of the law.", 1),
        ("mark all questions of the form as required", "Done. I decided on a star, because the label is short.", 1),
    ],
)  # fmt: skip
def test_what_a_later_session_takes_up_does_not_come_back(tmp_path: Path, asked: str, reply: str, left: int) -> None:
    vault = days(tmp_path, RECEIPT, ("2026-11-20", [(asked, reply)]), JOB)
    assert len(told(vault, "2026-11-18")) == left


def test_a_session_of_talk_leaves_a_point_open_too(tmp_path: Path) -> None:
    talk = (
        "2026-11-18",
        [
            (
                "does the receipt print its header well?",
                "It prints well. Still open: umlauts, Tobias needs them by 2026-12-04.",
            )
        ],
    )
    assert told(days(tmp_path, talk, JOB), "2026-11-18") == ["- Still open: umlauts, Tobias needs them by 2026-12-04."]


def test_one_of_two_points_is_taken_up(tmp_path: Path) -> None:
    later = (
        "2026-11-21",
        [("die Mahnungen brauchen ihren Anhang", "Ich habe mich für PDF entschieden, weil es alle lesen.")],
    )
    vault = days(
        tmp_path, BILL, later, JOB, ("2026-11-23", [("Mach mit dem Druck weiter, immer auf A5", "Erledigt, A5.")])
    )
    assert told(vault, "2026-11-19") == ["- Rabatte prüfen"]


def test_a_point_is_taken_up_in_a_compound(tmp_path: Path) -> None:
    open_ = (
        "2026-11-18",
        [("Druckt die Kasse schon alles richtig?", "Ja.\n\nOffen: Bons für Pfand fehlen, Frau Öz braucht sie.")],
    )
    later = ("2026-11-20", [("Pfandbons drucken bitte", "Sie werden gedruckt.")])
    assert len(told(days(tmp_path / "open", open_, JOB), "2026-11-18")) == 1
    assert told(days(tmp_path / "closed", open_, later, JOB), "2026-11-18") == []


def test_what_nobody_spoke_of_for_long_is_not_told(tmp_path: Path) -> None:
    old = ("2026-09-01", RECEIPT[1])
    assert told(days(tmp_path, old, JOB), "2026-09-01") == []
