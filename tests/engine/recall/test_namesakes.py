"""Months, weekdays and seasons that are also names: which of the two a question means."""

from __future__ import annotations

import pytest

import lamina
from lamina import FixedClock, Vault

NOW = "2026-11-28T12:00:00Z"
"""A Saturday."""
NAMED = {
    "junio": "Junio said that merges are fine.",
    "hamano": "Ask Junio Hamano before you rebase a published branch.",
    "ludgate": "April Ludgate keeps the office keys.",
    "mars": "Julia Mars wrote the parser for August Ltd.",
    "mai": "Mai runs the bakery.",
    "weld": "Tuesday Weld is an actress.",
    "summer": "Summer Smith designs the logo.",
    "jan": "Jan decided to drop the old driver.",
    "maja": "Maja baute das Regal in der Werkstatt.",
    "abril": "Abril paints the boats by the harbour.",
    "juli": "Juli translated the manual into Dutch.",
    "domingo": "Domingo sings in the choir.",
    "montag": "We met Montag at the fire station.",
    "addams": "I gave the spare ticket to Wednesday Addams.",
    "carter": "The song by June Carter plays in the shop.",
    "parker": "May Parker orders the flour.",
    "juin": "Juin repairs the printer.",
    "august": "Gestern hat August Macke die Wand gestrichen.",
    "nisan": "Nisan pays for the tickets.",
    "sunday": "Freya Sunday paints the ceiling.",
}
"""Notes of this autumn about people, by id."""
FILLED = {f"day{month:02}": (f"The stove was cleaned, round {month}.", f"2026-{month:02}-10") for month in range(1, 12)}
"""A note in every month, so that no window is empty."""


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    vault = lamina.open(tmp_path_factory.mktemp("people") / "vault", create=True, clock=FixedClock(NOW))
    vault.add([{"id": each, "text": text, "created_at": "2026-11-03"} for each, text in NAMED.items()])
    vault.add([{"id": each, "text": text, "created_at": day} for each, (text, day) in FILLED.items()])
    return vault


NAMES = [
    ("notes about Junio", "junio hamano"),
    ("what did I write about Junio?", "junio hamano"),
    ("who is Junio?", "junio hamano"),
    ("tell me about Junio Hamano", "hamano"),
    ("what did Junio say", "junio hamano"),
    ("notes from Junio", "junio hamano"),
    ("everything about junio", "junio hamano"),
    ("wer ist Junio", "junio hamano"),
    ("wer ist Mai", "mai"),
    ("what did Mai decide", "mai"),
    ("what did I note about Mai", "mai"),
    ("who is mai?", "mai"),
    ("was habe ich über Mai geschrieben", "mai"),
    ("what did I write about April Ludgate?", "ludgate"),
    ("notes about April Ludgate", "ludgate"),
    ("who is April", "ludgate"),
    ("what did I write about April", "ludgate"),
    ("notes about August Ltd", "mars"),
    ("what did I write about Julia Mars", "mars"),
    ("notes about Mars", "mars"),
    ("who is Tuesday Weld", "weld"),
    ("what did I write about Tuesday Weld", "weld"),
    ("what did I write about Summer Smith", "summer"),
    ("notes from Summer Smith", "summer"),
    ("what did I write about Jan?", "jan"),
    ("Notizen von Jan", "jan"),
    ("who is Maja", "maja"),
    ("wer ist Maja", "maja"),
    ("notes about Abril", "abril"),
    ("what did Abril do", "abril"),
    ("who is Juli", "juli"),
    ("what did I write about Juli", "juli"),
    ("notes about Domingo", "domingo"),
    ("who is Montag?", "montag"),
    ("notes about Wednesday Addams", "addams"),
    ("what did I write about June Carter", "carter"),
    ("what did May Parker do", "parker"),
    ("what did I write about May", "parker"),
    ("notes about Juin", "juin"),
    ("was habe ich über August Macke geschrieben", "august"),
    ("who is Nisan", "nisan"),
    ("who is Freya Sunday", "sunday"),
]
"""Questions for a name, and its notes."""

TIMES = [
    ("what did I write in June?", "2026-06-01 2026-07-01"),
    ("notes from July", "2026-07-01 2026-08-01"),
    ("notes from March", "2026-03-01 2026-04-01"),
    ("what did I write in Junio 2024", "2024-06-01 2024-07-01"),
    ("what did we do in Junio", "2026-06-01 2026-07-01"),
    ("notes of 3 Mai 2026", "2026-05-03 2026-05-04"),
    ("what happened since Juli", "2026-07-01 2026-11-29"),
    ("what did we decide in April", "2026-04-01 2026-05-01"),
    ("what did I write in May", "2026-05-01 2026-06-01"),
    ("notes from April 2026", "2026-04-01 2026-05-01"),
    ("what did I write about April 5th", "2026-04-05 2026-04-06"),
    ("what did I note last August", "2026-08-01 2026-09-01"),
    ("notes since September", "2026-09-01 2026-11-29"),
    ("what did I write on Tuesday", "2026-11-24 2026-11-25"),
    ("notes from Friday", "2026-11-27 2026-11-28"),
    ("what did we do last Wednesday", "2026-11-25 2026-11-26"),
    ("Monday's notes", "2026-11-23 2026-11-24"),
    ("the notes of February", "2026-02-01 2026-03-01"),
    ("October notes", "2026-10-01 2026-11-01"),
    ("notes October", "2026-10-01 2026-11-01"),
    ("March", "2026-03-01 2026-04-01"),
    ("notes from Jan 2026", "2026-01-01 2026-02-01"),
    ("was habe ich im Mai geschrieben", "2026-05-01 2026-06-01"),
    ("was haben wir im Juni gemacht", "2026-06-01 2026-07-01"),
    ("Notizen vom Juli", "2026-07-01 2026-08-01"),
    ("Notizen aus dem März", "2026-03-01 2026-04-01"),
    ("was ist seit Oktober passiert", "2026-10-01 2026-11-29"),
    ("was haben wir am Montag besprochen", "2026-11-23 2026-11-24"),
    ("was war im August", "2026-08-01 2026-09-01"),
    ("qué hice en junio", "2026-06-01 2026-07-01"),
    ("notas de julio", "2026-07-01 2026-08-01"),
    ("qu'avons-nous fait en mai", "2026-05-01 2026-06-01"),
    ("notes de juin", "2026-06-01 2026-07-01"),
    ("cosa ho fatto a maggio", "2026-05-01 2026-06-01"),
    ("o que fiz em abril", "2026-04-01 2026-05-01"),
    ("wat heb ik in juli gedaan", "2026-07-01 2026-08-01"),
    ("vad gjorde vi i mars", "2026-03-01 2026-04-01"),
    ("co robiłem w maju", "2026-05-01 2026-06-01"),
    ("from April to June", "2026-04-01 2026-07-01"),
    ("what happened between March and May", "2026-03-01 2026-06-01"),
    ("what did I write at the end of Juni", "2026-06-21 2026-07-01"),
]
"""Questions for a time, and its days."""


@pytest.mark.parametrize(("question", "notes"), NAMES)
def test_a_name_that_is_also_a_time_is_found_by_its_words(people: Vault, question: str, notes: str) -> None:
    hits = people.recall(question, 3)
    assert {hit.id for hit in hits} & set(notes.split())
    assert hits.confidence > 0.3
    assert hits.read_as is None


@pytest.mark.parametrize(
    "question", ["who is April?", "notes about August Ltd", "wer ist Juni", "what did I write about June"]
)
def test_words_that_match_are_found_where_the_time_is_empty(lexical_vault: Vault, question: str) -> None:
    lexical_vault.add("In April, Juni and June the August Ltd paid late.", created_at="2020-01-01")
    assert len(lexical_vault.recall(question, 3, now=NOW)) == 1


def test_a_name_does_not_make_its_month_unaskable(people: Vault) -> None:
    # "notes from June" may mean June Carter or the month: both are found
    assert {"carter", "day06"} <= {hit.id for hit in people.recall("notes from June", 5)}


@pytest.mark.parametrize(
    "text",
    [
        "The March numbers look good.", "In April Kubernetes was upgraded.", "May I ask for a refund?", "Since June Anna is away.",
        "## June Release", "On Tuesday Anna called.", "Der Juni war kalt.", "15 March Planning day", "March 2024 Budget",
    ],
)  # fmt: skip
def test_a_month_in_a_text_is_no_name(lexical_vault: Vault, text: str) -> None:
    lexical_vault.add([{"text": text, "created_at": "2026-10-01"}])
    for month in ("March", "April", "May", "June"):
        number = ["March", "April", "May", "June"].index(month) + 3
        lexical_vault.add([{"text": f"Stove, round {number}.", "created_at": f"2026-{number:02}-10"}])
        read = lexical_vault.recall(f"what did I write about {month}", now=NOW).read_as
        assert read == f"2026-{number:02}-01 to 2026-{number + 1:02}-01"


@pytest.mark.parametrize(("question", "days"), TIMES)
def test_a_time_stays_a_time_beside_such_names(people: Vault, question: str, days: str) -> None:
    hits = people.recall(question, 20)
    assert hits.read_as == " to ".join(days.split())
