"""Questions of facts that a sentence of the vault's texts answers."""

from __future__ import annotations

from pathlib import Path

import pytest

import lamina
from lamina import Vault

FIRST, SECOND = "2026-03-01", "2026-05-01"


@pytest.fixture
def cellar(tmp_path: Path) -> Vault:
    vault = lamina.open(tmp_path / "cellar", create=True, embedder="none")
    vault.add("The gate server is Tove's. It listens on port 8080.", title="Gate", created_at=FIRST, id="gate")
    vault.add("Insurance of the barn is with Helvetia.", created_at=FIRST, id="barn")
    return vault


def test_where_no_fact_answers_a_sentence_does(cellar: Vault) -> None:
    found = cellar.facts.ask("who insures the barn?")
    assert found.answered
    answer = found[0]
    assert (answer.subject, answer.predicate, answer.object) == (
        "barn",
        "states",
        "Insurance of the barn is with Helvetia.",
    )
    assert (answer.method, answer.chunk, answer.asked, answer.score) == ("sentence", "barn", True, 90.0)
    assert answer.to_dict()["valid_from"] == "2026-03-01T00:00:00Z"
    assert cellar.facts.ask("which port does the gate server listen on?")[0].subject == "Gate"


def test_a_fact_that_answers_comes_first(cellar: Vault) -> None:
    cellar.facts.add("barn", "insurer", "Mobiliar")
    assert [answer.object for answer in cellar.facts.ask("what is the insurer of the barn?")] == ["Mobiliar"]


def test_what_the_texts_do_not_state_stays_unanswered(cellar: Vault) -> None:
    for question in (
        "who insures the tractor?",
        "who painted the barn?",
        "what is a barn?",
        "who insured the barn in 2019?",
    ):
        assert not cellar.facts.ask(question).answered, question


def test_of_two_texts_that_say_it_as_well_the_newer_answers(cellar: Vault) -> None:
    cellar.add("Insurance of the barn is with Allianz.", created_at=SECOND, id="later")
    assert cellar.facts.ask("who insures the barn?")[0].chunk == "later"
    assert cellar.facts.ask("who insures the barn?", valid_at="2026-04-01")[0].chunk == "barn"


def test_invalidated_texts_and_source_code_state_nothing(cellar: Vault) -> None:
    cellar.invalidate("barn", "sold")
    cellar.add("The barn is insured by Axa.", type="implementation")
    assert not cellar.facts.ask("who insures the barn?").answered


def test_a_text_that_was_unknown_then_does_not_answer(cellar: Vault) -> None:
    then = max(chunk.recorded_at for chunk in cellar.list())
    cellar.add("Corks come from Amorim.", id="corks")
    assert cellar.facts.ask("who makes our corks?")[0].chunk == "corks"
    assert not cellar.facts.ask("who makes our corks?", as_of=then).answered


def test_an_answer_names_its_section_and_two_of_one_name_are_both_told(tmp_path: Path) -> None:
    people = "# Team\n\n## Ada Okafor\n- Phone: 0471\n\n## Ada Wexler\n- Phone: 0472\n\n## Marit Olsen\n- Phone: 0473\n"
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add(people, title="Team", created_at=FIRST)
        alone = vault.facts.ask("Marit's phone?")
        assert [(answer.subject, answer.object) for answer in alone] == [("Team › Marit Olsen", "Phone: 0473")]
        assert not alone.ambiguous
        both = vault.facts.ask("Ada's phone?")
        assert [(answer.subject, answer.object) for answer in both] == [
            ("Team › Ada Okafor", "Phone: 0471"),
            ("Team › Ada Wexler", "Phone: 0472"),
        ]
        assert both.ambiguous
        assert [answer.object for answer in vault.facts.ask("Ada Wexler's phone?")] == ["Phone: 0472"]


def test_fields_of_front_matter_answer(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    note = "---\ntitle: Kestrel\nowner: Priya Nandakumar\nstatus: on hold\nbudget: 18000 EUR\nteam: [Ada, Tove]\n---\n\n# Kestrel\n\nA board.\n"
    (tmp_path / "notes" / "kestrel.md").write_text(note, encoding="utf-8")
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.ingest(tmp_path / "notes")
        for question, said in (
            ("who owns Kestrel?", "owner: Priya Nandakumar"),
            ("what is the status of Kestrel?", "status: on hold"),
            ("Kestrel budget?", "budget: 18000 EUR"),
        ):
            assert [answer.object for answer in vault.facts.ask(question)] == [said]
        for question in ("who owns Plover?", "what is the phone of Kestrel?", "when did Kestrel start?"):
            assert not vault.facts.ask(question).answered


@pytest.mark.parametrize(
    ("question", "old", "new", "said"),
    [
        ("who owns the timetable import?", "Mira owns the timetable import.",
         "From today Tobias takes over the timetable import from Mira.", "Tobias takes"),
        ("where do we keep the login sessions?", "We keep the login sessions in Redis.",
         "We no longer use Redis: login sessions are in PostgreSQL.", "PostgreSQL"),
        ("where do we keep the login sessions?", "We decided to keep login sessions in Redis with a TTL of 12 hours.",
         "We no longer use Redis: login sessions are in PostgreSQL.", "PostgreSQL"),
        ("when is the launch?", "The launch is on 2026-12-01.", "Petra moved the launch to 2026-12-15.", "12-15"),
        ("wer ist der Hausmeister?", "Der Hausmeister ist Olaf Brandt.", "Der Hausmeister ist jetzt Nils Ek.", "Nils"),
        ("what do we send invoices with?", "We send invoices with Stripe.", "Stripe is dropped, nothing follows yet.", None),
        ("who owns the timetable import?", "Mira owns the timetable import.", "Tobias takes over the ticket export from Mira.", "Mira owns"),
        ("who wrote the timetable import?", "The timetable import was written by Mira.",
         "Tobias takes over the timetable import from Mira.", "written by Mira"),
    ],
)  # fmt: skip
def test_a_newer_text_that_replaces_a_value_ends_it(
    tmp_path: Path, question: str, old: str, new: str, said: str | None
) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add(old, created_at=FIRST)
        vault.add(new, created_at=SECOND)
        found = vault.facts.ask(question)
        assert found.answered == (said is not None)
        assert said is None or said in str(found[0].object)
        assert vault.facts.ask(question, valid_at="2026-04-01")[0].object == old  # it was so then
        vault.add(new, created_at="2026-06-01", type="handoff")  # what is told again stays so
        assert vault.facts.ask(question).answered == (said is not None)


def test_replacements_follow_each_other(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        for day, text in enumerate(
            (
                "The wiki is on atlas-3.",
                "We migrated the wiki from atlas-3 to atlas-9.",
                "The wiki is on atlas-12 now.",
            ),
            1,
        ):
            vault.add(text, created_at=f"2026-05-{day:02}")
        vault.add("# Queue\n\nOur queue is RabbitMQ.\n\n## Later\n\nWe replaced RabbitMQ with NATS.", created_at=FIRST)
        assert vault.facts.ask("where is the wiki?")[0].object == "The wiki is on atlas-12 now."
        assert (
            vault.facts.ask("where is the wiki?", valid_at="2026-05-02")[0].object
            == "We migrated the wiki from atlas-3 to atlas-9."
        )
        assert vault.facts.ask("which queue do we use?")[0].object == "We replaced RabbitMQ with NATS."


def test_the_text_of_an_error_names_nothing(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add('Bookings get lost with two workers. The log says "database is locked".', created_at=FIRST)
        assert not vault.facts.ask("which database do we use?").answered
        vault.add('Our database is called "riverbed".', created_at=FIRST)
        assert "riverbed" in str(vault.facts.ask("which database do we use?")[0].object)


def test_labels_and_arrows_of_a_handoff_are_no_reasons(tmp_path: Path) -> None:
    """Of "why did we leave SQLite?" the label "last reply" was taken for leaving, an arrow for a reason."""
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add(
            'asked: "ok, we go with SQLite for now."\nlast reply: We decided to use SQLite, because the team is small.\n'
            'Given the small team, I recommend SQLite to begin with. → "ok, we go with SQLite for now."',
            title="Handoff: the booking backend",
        )
        assert not vault.facts.ask("why did we leave SQLite?").answered
        vault.add("We left SQLite because two writers blocked each other.")
        assert "two writers" in str(vault.facts.ask("why did we leave SQLite?")[0].object)


@pytest.mark.parametrize(
    ("older", "newer", "question", "answer"),
    [
        ("The gateway is Traefik on port 7020.", "The gateway listens on 7044 now.", "what port does the gateway use?", "7044"),
        ("The gateway is Traefik on port 7020.", "The gateway listens on 7044 now.", "which port is the gateway on?", "7044"),
        ("The kiosk gateway is on port 7020.", "The gateway listens on 7044 now.", "what port does the kiosk gateway use?", None),
        ("Tide tables come from Hydra now.", "Tables come from Seamark again.", "where do the tables come from?", "Seamark"),
        ("Tide tables come from Hydra now.", "The tables come from Seamark again.", "where do the tide tables come from?", None),
        ("Texts go through Twilio now.", "Texts go through MessageBird.", "what do texts go through?", "MessageBird"),
        # about something else, or no change
        ("The gateway is on port 7020.", "The staging gateway listens on 7044 now.", "which port is the gateway on?", "7020"),
        ("The gateway listens on 7020, routes are in Redis.", "The staging gateway listens on 7044 now.", "what port does the gateway use?", "7020"),
        ("The gateway is on port 7020.", "The gateway has 3000 routes now.", "which port is the gateway on?", "7020"),
        ("Tide tables come from Hydra.", "The tables are cached now, in Redis.", "where do the tide tables come from?", "Hydra"),
    ],
)  # fmt: skip
def test_a_later_sentence_in_other_words_is_told_or_ends_the_answer(
    tmp_path: Path, older: str, newer: str, question: str, answer: str | None
) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add(older, created_at=FIRST)
        vault.add(newer, created_at=SECOND)
        found = [each.object for each in vault.facts.ask(question)]
        assert (answer in found[0]) if answer and found else found == [] and answer is None


def test_what_another_project_says_later_ends_no_answer(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add("The kiosk gateway is on port 7020.", created_at=FIRST, project="kiosk")
        vault.add("The gateway listens on 7044 now.", created_at=SECOND, project="bakery")
        assert "7020" in vault.facts.ask("which port is the kiosk gateway on?")[0].object


def test_results_of_tools_state_nothing(tmp_path: Path) -> None:
    said = '[User]\nlook round\n\n[Tool:Bash]\ncat Cargo.toml\n\n[Result:Bash]\nname = "reef"\nversion of reef = "1.6.2"\n\n'
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add(f"{said}[Assistant]\nThe reef server runs on puffin.", type="conversation")
        assert not vault.facts.ask("what version is reef?").answered
        assert "puffin" in vault.facts.ask("where does the reef server run?")[0].object


def test_a_later_release_of_the_project_is_its_version(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add("The version of reef is 1.6.2. It needs Rust 1.82.", created_at=FIRST, project="reef")
        vault.add("5.1.0 is tagged.", created_at=SECOND, project="kelp")
        assert "1.6.2" in vault.facts.ask("what version is reef?")[0].object
        vault.add("1.10.0 is tagged.", created_at=SECOND, project="reef")
        assert "1.10.0" in vault.facts.ask("what version is reef?")[0].object
        assert "1.82" in vault.facts.ask("which version of Rust does reef need?")[0].object
