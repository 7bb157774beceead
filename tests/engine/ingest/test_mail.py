""""""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lamina import Vault
from lamina_engine.ingest.drafts import read_source

LETTER = """From: =?utf-8?q?Ada_Ob=C3=AD?= <ada@example.com>
To: ben@example.com
Subject: The gearbox
 of the ferry
Date: Mon, 05 Jan 2026 11:00:00 +0100
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=x

--x
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

It is cracked =E2=80=94 order a new one.
--x
Content-Type: application/pdf
Content-Disposition: attachment; filename="offer.pdf"
Content-Transfer-Encoding: base64

JVBERi0=
--x--
"""


def test_a_message() -> None:
    draft = read_source(LETTER.encode(), "in/1.eml")
    assert (draft.title, draft.metadata) == ("The gearbox of the ferry", {"author": ["Ada Obí"]})
    assert draft.created_at_us == 1_767_607_200_000_000
    (chunk,) = draft.chunks
    assert chunk.text.splitlines()[0] == "From: Ada Obí <ada@example.com>"
    assert "Attached: offer.pdf" in chunk.text
    assert chunk.text.endswith("It is cracked \u2014 order a new one.\n")
    assert "JVBERi0" not in chunk.text


def test_html_alone_is_text() -> None:
    page = b"Subject: Hi\nContent-Type: text/html; charset=x-unknown\n\n<p>The <b>pier</b> is closed.</p><script>no()</script>"
    (chunk,) = read_source(page, "a.eml").chunks
    assert chunk.text.strip() == "The pier is closed."


def test_messages_of_an_mbox_are_sections(lexical_vault: Vault, tmp_path: Path) -> None:
    words = "The harbour office paints the pier every spring, which takes a week and forty litres. " * 12
    mails = [
        f"From a@b Mon Jan  5 10:00:00 2026\nFrom: {name} <a@b>\nSubject: {subject}\n\n>From now on. {words}\n\n"
        for name, subject in (("Ada", "Paint"), ("Ben", "Re: Paint"))
    ]
    (tmp_path / "pier.mbox").write_text("".join(mails))
    assert lexical_vault.ingest(tmp_path).problems == []
    assert {hit.label for hit in lexical_vault.recall("harbour", per_source=None)} == {
        "pier › Paint",
        "pier › Re: Paint",
    }
    assert "\nFrom now on." in lexical_vault.recall("Ada paint")[0].text


@pytest.mark.parametrize(
    "data",
    [b"", b"From ", b"Date: never\n\nx", b"To: <\nSubject: =?x?q?=ff?=\n\nx", b"\xff\xfe\n\n\0", b"From x 2026\n" * 3],
)
def test_what_is_hardly_mail_never_raises(data: bytes) -> None:
    read_source(data, "x.eml")


@pytest.mark.parametrize(
    "part", [b"From a 2026\n\n", b"Content-Type: multipart/mixed; boundary=x\n\n--x\n", b">From ", b"a: b\n", b"\n"]
)
def test_hostile_mail_is_read_in_linear_time(part: bytes) -> None:
    begin = time.perf_counter()
    read_source(part * (200_000 // len(part)), "x.mbox")
    assert time.perf_counter() - begin < 20


@pytest.mark.parametrize(
    "field", ["To: a@b, ", "To: =?a?q?b?=", "Content-Disposition: inline; filename*0=a; ", "Content-Type: a; "]
)
def test_a_field_without_end_is_a_problem_and_a_long_one_is_cut(field: str) -> None:
    name, _, part = field.partition(": ")
    begin = time.perf_counter()
    assert read_source(f"Subject: x\n{name}: {part * (90_000 // len(part))}\n\nwords".encode(), "x.eml").chunks
    (problem,) = read_source(f"Subject: x\n{name}: {part * 40_000}\n\nwords".encode(), "x.eml").problems
    assert time.perf_counter() - begin < 10
    assert "more than 100,000 bytes" in problem.message
