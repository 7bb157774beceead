"""Sentences that answer what no fact does, and those that only seem to."""

from __future__ import annotations

import time

import pytest

from lamina_engine.facts.asking import read_question
from lamina_engine.facts.statements import sentences_of


def best(question: str, text: str, year: str = "") -> str | None:
    """Return the sentence of a text that answers a question best."""
    asking = read_question(question)
    found = max(sentences_of(asking, text, year), default=None) if asking else None
    return found[1].written if found else None


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Who insures the vineyard?", "Insurance of the vineyard is with Helvetia.", "Helvetia"),
        ("who manages the house?", "Otto manages the house we live in.", "Otto"),
        ("who pays the rent?", "Mira pays the rent, whatever it is for.", "Mira"),
        ("who feeds the goats?", "Pavel feeds the goats we wait for.", "Pavel"),
        ("what colour is the press?", "The press came in 2019. It was painted green last spring.", "green"),
        ("what colour is Barrel 4?", "Barrel 4 is red.", "red"),
        ("what port does Authelia listen on?", "Authelia listens on 9091 and needs a proxy.", "9091"),
        ("how long is the cellar?", "The cellar is 25 metres long and dry.", "25 metres"),
        ("how warm is the wine?", "The wine is kept at 27 degrees.", "27"),
        ("how many people does the van seat?", "Our van is a Ducato. It seats 9.", "9"),
        ("how big is the budget for the roof?", "The budget for the roof was approved by Tove. It is 62,000 euro.", "62,000"),
        ("how many people registered for the fair?", "The fair is in Lund. 31 people registered.", "31"),
        ("in which rack is the press?", "The press is a Bucher. Its number is X1. It stands in rack 4.", "rack 4"),
        ("who takes the photos?", "Photos are taken by Karin on Mondays.", "Karin"),
        ("wer leitet die Kelterei in Lund?", "Die Kelterei in Lund ist am Hafen. Leiterin ist Tove Lindgren.", "Tove Lindgren"),
        ("wo steht die Presse?", "Die Presse steht in Halle 3 und ist neu.", "Halle 3"),
        ("wann ist das Hoffest?", "Das Hoffest ist am 10. Oktober 2031. Verantwortlich: Nils Ek.", "10. Oktober 2031"),
        ("wer ist für das Hoffest verantwortlich?", "Das Hoffest ist am 10. Oktober 2031. Verantwortlich: Nils Ek.", "Nils Ek"),
        ("wie viele Fässer hat die Kelterei?", "Die Kelterei ist alt. Es gibt 22 Fässer.", "22"),
        ("was kostet eine Führung im Keller?", "Eine Führung im Keller kostet 12,50 Euro pro Person.", "12,50"),
        ("wieviel Platz hat der Keller?", "Der Keller hat 400 m² Platz.", "400"),
        ("What port does Authelia listen on?", "Authelia listens on port 9091 behind the proxy.", "9091"),
        ("port of Authelia?", "Authelia listens on port 9091 behind the proxy.", "9091"),
        ("who maintains sluice?", "sluice's maintainer is Tove Lindgren.", "Tove Lindgren"),
        ("Who keeps the bees?", "The bees are kept by Olaf Brandt.", "Olaf Brandt"),
        ("When does the lease of the barn run out?", "Rent of the barn is 900 a month, lease ends in May 2031.", "May 2031"),
        ("How many presses are hydraulic?", "We own five presses, three of them hydraulic.", "three"),
        ("How long is the must kept cold?", "The must is kept cold for six days.", "six days"),
        ("how often is the cellar log rotated?", "The cellar log is rotated every Sunday.", "every Sunday"),
        ("Which bottler do we use?", "Our bottler is Glasfabrik Nord.", "Glasfabrik Nord"),
        ("Which company makes our corks?", "Corks come from Amorim.", "Amorim"),
        ("Where does Tove live now?", "Tove moved from Malmö to Lund in spring.", "Lund"),
        ("Why is the pump slow?", "The pump is slow because the filter is full.", "filter"),
        ("What do we use for label printing?", "Label printing: Zebra since last year.", "Zebra"),
        ("Who owned the barn before?", "The barn is Karin's, formerly it was owned by Nils Ek.", "Nils Ek"),
        ("When is the fair?", "The fair is planned for 14 June.", "14 June"),
        ("Who prunes the vines?", "Pruning of the vines is Olaf Brandt's, formerly Nils Ek did it.", "Olaf Brandt"),
        ("What caused the leak?", "The leak: a seal broke because of the frost.", "frost"),
        ("In which language is sluice written?", "sluice is written in Zig.", "Zig"),
        ("who owns the sluice API?", "sluice-api is owned by Tove Lindgren.", "Tove"),
        ("How many barrels fit into the barn?", "The barn has room for 40 barrels.", "40"),
        ("What do we pay for the barn?", "Rent of the barn is 3,150 per month.", "3,150"),
        ("Who leads the tasters?", "The tasters are led by Hr. Olsen.", "Olsen"),
        ("Where are the backups of Authelia stored?", "Backups of Authelia go to a disk in Tove's attic.", "attic"),
        ("What type of instrument does Tove play?", "Tove plays the guitar in a band.", "guitar"),
    ],
)  # fmt: skip
def test_a_sentence_that_says_all_that_is_asked_is_the_answer(question: str, text: str, answer: str) -> None:
    found = best(question, f"Nothing else happened. {text} It rained.")
    assert found is not None
    assert answer in found


@pytest.mark.parametrize(
    ("question", "text", "kind"),
    [
        ("Who designed the barn?", "The barn was painted by Nils Ek.", "other property"),
        ("How many people work in the barn?", "The barn has room for 40 barrels.", "other property"),
        ("What is the code of the gate?", "The code of the gate was changed, ask Tove.", "no value"),
        ("Who runs the Lund shop?", "The Lund shop is open until seven, Saturday till one.", "no person"),
        ("How many printers do we have?", "Printers are in VLAN 240.", "a number of something else"),
        ("Who insures our tractors?", "Insurance of the vineyard is with Helvetia.", "other entity"),
        ("Who owns sluice-web?", "sluice-api is owned by Tove Lindgren.", "other entity"),
        ("When did we move to Kafka?", "We looked at Kafka in June and it was too heavy.", "negation"),
        ("When did the Lund shop sign?", "The deal was signed in May by Malmö but not by the Lund shop.", "negation"),
        ("Where is the sauna?", "Maybe a sauna in Lund next year.", "plan"),
        ("What does Tove work on?", "Tove worked at a brewery before.", "another time"),
        ("What is a must pump?", "The must pump is a Zambelli.", "general knowledge"),
        ("How do I clean the press?", "The press is cleaned with Zambelli powder.", "general knowledge"),
        ("Which model are the presses?", "The presses need 32 A each.", "no name"),
        ("Who signed the contract with Zambelli?", "Pumps: Zambelli. The contract with Vaslin ended in May.", "other entity"),
        ("Who else sells corks?", "Amorim sells corks.", "other property"),
        ("Which language do we use?", "We use sluice.", "no more than a sort of thing"),
        ("What VPN do we use?", "The shop sits behind the office VPN.", "one word, said by the way"),
        ("How old is Tove?", "Tove Lindgren started on 12 January.", "no age"),
        ("Who deleted the forecast?", "Planning: Zig since May, the forecast was deleted.", "nobody is said to have"),
        ("What do we pay Vaslin?", "Pumps: we lease 40 litres from Vaslin, contract until February 2030.", "no sum"),
        ("Who moved the press to the barn?", "The old press moved from a Polish shed to the barn at Easter.", "no agent"),
        ("Which framework did Tove write sluice with?", "Tove wrote sluice in the evenings.", "no name"),
        ("What was in barrel 12?", "The mould in barrel 12 was treated.", "no thing"),
        ("Why is Tove on leave?", "Tove is on leave until 3 August.", "no cause"),
        ("Which French wines do we have?", "Karin is from Lyon and translates the French wines as well.", "no wine"),
        ("Where is Karin from?", "Clearing is done by Karin Ek, working three days a week.", "no place"),
        ("Is the press clean?", "The press is clean.", "no value asked"),
    ],
)  # fmt: skip
def test_what_a_text_does_not_state_is_not_answered(question: str, text: str, kind: str) -> None:
    assert best(question, text) is None, kind


def test_what_is_not_so_is_answered_by_a_sentence_that_denies() -> None:
    assert best("where is petrol not stored?", "Petrol is stored in the shed.") is None
    denied = "Petrol must not be stored in the shed."
    assert best("where must petrol not be stored?", denied) == denied
    assert best("where must petrol be stored?", denied) is None


def test_a_question_of_another_year_is_not_answered() -> None:
    text = "The rent of the barn is 900 a month."
    assert best("What was the rent of the barn in 2019?", text, "2026") is None
    assert best("What is the rent of the barn in 2026?", text, "2026") == text


def test_the_subject_may_stand_in_the_sentence_before() -> None:
    assert best("what port does sluice use", "sluice is Tove's. It listens on port 8080.") == "It listens on port 8080."
    assert best("what port does sluice use", "sluice is Tove's. Somebody listens on port 8080.") is None


def test_code_and_questions_state_nothing() -> None:
    assert best("who owns sluice?", "```\nsluice is owned by Tove\n```\n") is None
    assert best("who owns sluice?", "    sluice is owned by Tove\n") is None
    assert best("who owns sluice?", "Is sluice owned by Tove Lindgren?") is None


def test_one_word_of_a_sentence_says_one_word_of_the_question() -> None:
    assert best("who signed the contract?", "The contract ended, Tove knows.") is None
    assert best("who keeps the keeper's key?", "The key is kept by Olaf.") is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("how deep is the cistern?", "The cistern is 12 metres long and kept at 9 degrees."),
        ("how big is the tub?", "Grapes come to the tub at 01:40 every night."),
        ("how big is the budget?", "The budget was approved by Olaf on 17 March 2026."),
        ("how many persons can the hoist in building A carry?", "The hoist in building B carries 8 persons or 630 kg."),
        ("how much is the wine trip?", "This year's wine trip goes to Merano from 5 to 9 March."),
        ("where does sluice run?", "Sluice is our gate. It is owned by Tove Lindgren."),
        ("who pays the chef?", "The cafeteria is open. Lunch costs 6.80. The chef is called Baptiste."),
        ("how heavy is press 7?", "Press 7 is red. It was bought on 12 June 2021 and cost 4,850 €."),
        ("what colour is the press?", "The press was bought from Bucher in 2019."),
        (
            "wie heißt die Leiterin in Graz?",
            "owner: Tove Lindgren\nParkwerk runs on the host pw-app-03 in the Graz datacentre.",
        ),
        ("wer leitet die Kelterei in Malmö?", "Die Kelterei in Lund ist am Hafen. Leiterin ist Tove Lindgren."),
        ("wann schließt die Kelterei?", "Die Kelterei öffnet um 7 Uhr."),
        ("was kostet die Presse?", "Die Presse steht in Halle 3. Eine Führung kostet 12 Euro."),
        (
            "which vendor of Heron went bankrupt?",
            "Heron was put on hold by Tove Lenz because the vendor went bankrupt.",
        ),
    ],
)
def test_a_sentence_about_another_property_is_no_answer(question: str, text: str) -> None:
    # a stranger's trial
    assert best(question, text) is None


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("how deep is the cistern?", "The cistern is 12 metres long and 3 metres deep.", "3 metres deep"),
        ("how big is the tub?", "The tub holds 40 litres, the tub is filled at 01:40.", "40 litres"),
        (
            "how many persons can the hoist in building A carry?",
            "A hoist in building A carries 8 persons.",
            "8 persons",
        ),
        ("how much is the wine trip?", "The wine trip is 240 euros.", "240 euros"),
        ("where does sluice run?", "Sluice runs on the host bergen.", "bergen"),
    ],
)
def test_a_sentence_about_this_property_still_is(question: str, text: str, answer: str) -> None:
    assert answer in (best(question, text) or "")


def within(question: str, text: str, title: str = "", source: str | None = None) -> str | None:
    """Return the sentence that answers best in a text with a title and a file."""
    asking = read_question(question)
    found = max(sentences_of(asking, text, "", title, source), default=None) if asking else None
    return found[1].written if found else None


@pytest.mark.parametrize(
    ("question", "text", "title", "source"),
    [
        ("What is the host of sluice's queue?", "It is small.\n\nQueue host is q1.lan.", "sluice", None),
        ("How long was the pump down in the May flood?", "All was wet.\n\nThe pump was down for 3 hours.", "", "log/2031-05-02-flood.md"),
        ("Who is the vine doctor?", "My doctor is Nils Ek.", "Diary", "vines/diary.md"),
        ("How long are cellar keys valid?", "# Cellar\n\nKeys are valid for 30 days.", "", None),
        ("How long does sluice keep logs?", "# sluice\n\nStorage: logs are compressed. Logs are kept for 9 days.", "", None),
        ("What does the night ticket cost?", "| what | cost |\n|---|---|\n| day ticket | 40 |\n| night ticket | 58 |", "", None),
        ("Where is the spare key?", "Some notes.\n\nWhere is the spare key? In the shed.", "", None),
        ("How many clamps does the press have?", "Parts of the press\n- 12 clamps\n- a lid", "", None),
        ("What tea does Olaf drink?", "Olaf is the cat.\n\nTea: used to be Assam. Since May he drinks Darjeeling.", "Olaf", None),
    ],
)  # fmt: skip
def test_title_heading_label_and_file_say_what_a_sentence_is_about(
    question: str, text: str, title: str, source: str | None
) -> None:
    assert within(question, text, title, source) is not None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the host of sluice's queue?", "It is small.\n\nQueue host is q1.lan."),
        ("How long was the pump down in the May flood?", "All was wet.\n\nThe pump was down for 3 hours."),
        ("How long are cellar keys valid?", "# Attic\n\nKeys are valid for 30 days."),
        ("Where is the spare key?", "Where is the pump? In the shed."),
        ("What tea does Olaf drink?", "The cat.\n\nTea: used to be Assam. Since May he drinks Darjeeling."),
    ],
)
def test_without_them_a_sentence_says_nothing_of_that(question: str, text: str) -> None:
    assert within(question, text, "Notes", "other/notes.md") is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When does the flood sale start?", "The next call of the team starts on 5 May."),
        ("What is the flood's password?", "Weir: it was built in 1990."),
        ("What does Big Rig cost?", "A text.\n\nBig Rig rings at night.\nPay: 260 euro per week on call."),
        ("How wide is the flood gate?", "| where | what | value |\n|---|---|---|\n| flood lamp | bulb | 40 W |"),
        ("What did the flood cost?", "A contract with Voss, renewed until March 2031, 2,150 € a year."),
        ("What did Otter cost?", 'Otter is a boat. The new four, "Gans", cost 18,700 euro.'),
        (
            "Who maintains hector?",
            "Runs on node hector.\n\nIt is fast.\n\nIt is old.\n\nTove Ek maintains the pipeline.",
        ),
        ("Where is the flood?", "The flood's key is with Marta Ek."),
        ("What is the alarm number of Olaf?", "Capacity: Olaf holds 420 boxes."),
        ("Who is the owner of the flood gate?", 'The flood gate "Voss Iron 2" expires on 14 May 2031.'),
    ],
)
def test_a_title_does_not_answer_for_a_sentence_about_something_else(question: str, text: str) -> None:
    assert within(question, text, "Flood", "flood/flood.md") is None


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Who is the cellar manager?", "The cellar manager was Tove Ek until May. The new cellar manager is Nils Ask.", "Nils Ask"),
        ("What do we pay for corks?", "We paid 9 euro for corks until March. Since April we pay 11 euro for corks.", "11 euro"),
        ("What is the temperature of the vat?", "Temperature of the vat: I had it at 65. Since May it is 52 degrees.", "52"),
        ("When is the tasting?", "The tasting is on Tuesdays (was Mondays, until people got tired).", "Tuesdays"),
        ("Which port does sluice use?", "sluice listens on port 81 at first, that was wrong. sluice uses port 82.", "82"),
        ("What is the press cleaned with?", "The press is cleaned by Nils. Every night the press is cleaned with Persil.", "Persil"),
    ],
)  # fmt: skip
def test_of_what_was_and_what_is_the_present_answers(question: str, text: str, answer: str) -> None:
    found = best(question, text)
    assert found is not None
    assert answer in found


def test_a_question_of_the_past_is_answered_by_what_was() -> None:
    text = "The cellar manager was Tove Ek until May."
    assert best("Who is the cellar manager?", text) is None
    assert best("Who was the cellar manager?", text) == text


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Which Ruby version does the shop run on?", "The shop was upgraded to Ruby 3.3 by Nils.", "3.3"),
        ("Which version of sluice runs in the barn?", "The barn runs sluice 4.1 since May.", "4.1"),
        ("Which parcel provider do we use?", "Parcels are now sent through Bring.", "Bring"),
        ("Which payment provider do our payments go through?", "Payments go through Adyen.", "Adyen"),
        ("How long may a flag live?", "No flag may live longer than 90 days.", "90"),
        ("What is the maximum size of a label?", "The maximum size of a label is 2 MB, pictures don't go on it.", "2 MB"),
        ("What is the guest network called?", "The guest network is `weir-guest`.", "weir-guest"),
        ("Which prefix do sluice flags have?", "sluice flags are short, prefix `sl-`.", "sl-"),
        ("How often is the vat rebuilt?", "The vat gets rebuilt on the first Sunday of the month.", "first Sunday"),
        ("How heavy is the press?", "The press has a weight of 40 kg.", "40 kg"),
        ("How much may the trailer carry?", "The trailer may carry 1,100 kg.", "1,100"),
        ("Until when does the lease of the barn run?", "The lease of the barn was renewed until March 2031.", "2031"),
        ("What was the deposit?", "The deposit for the barn was 900 euro.", "900"),
        ("Who chairs the guild?", "Chairwoman of the guild is Tove Ek.", "Tove Ek"),
        ("Who is our baker?", "Our baker now is Tove Ek.", "Tove Ek"),
    ],
)  # fmt: skip
def test_forms_of_values_that_say_a_word(question: str, text: str, answer: str) -> None:
    found = best(question, text)
    assert found is not None
    assert answer in found


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How tall is Tove?", "Tove counted presses (14)."),
        ("What is the name of the first owner?", "Commands are Swiss German because of the first owner."),
        ("Who is the owner of sluice?", "Tove has run sluice at her previous job."),
        ("What is the rent of the barn?", "The lease of the barn runs until the end of 2031."),
        ("Who replaced Nils?", "The alert went to the e-mail address of Nils."),
        ("What is the host of tariffs?", "The host is pg-tariff.internal."),
        ("Which Ruby version does the shop run on?", "The shop runs on Ruby."),
        ("Which parcel provider do we use?", "Parcels are sent on Mondays."),
    ],
)
def test_forms_of_values_that_say_something_else(question: str, text: str) -> None:
    assert best(question, text) is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What does a press cost?", "Cost of a press is high. The press starts at 05:20 each day."),
        ("Who is the cellar master?", "A tasting needs two, one by Tove Ek and one by the cellar master."),
        ("Who is the barn manager?", 'The barn was renamed "Nord Shed" in the manager list.'),
        ("Who is the barn manager?", "The barn manager told Tove Ek about the roof."),
        ("How many presses do we have?", "# One press for all vineyards"),
        ("How long is the ladder?", "Open the hatch, hold the ladder upright for ten seconds."),
        ("Who is responsible for the vats?", "On each vat runs a small Zig program."),
        ("Who owns the barn?", "The barn is a shop with its own small Postgres, says Tove Ek."),
        ("Who owns sluice?", "# sluice\n\nOwner of the pump was Nils Ask."),
        ("Who owns sluice?", "Corks are counted: it begins when the manager opens sluice."),
        ("Who owns sluice?", "- [Tove Ek owns sluice](#tove-ek-owns-sluice)\n"),
    ],
)
def test_a_sentence_about_another_thing_or_person_is_no_answer(question: str, text: str) -> None:
    assert best(question, text) is None


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("What does a press cost?", "A press costs 2,150.", "2,150"),
        ("Who is the cellar master?", "Tove Ek is the cellar master.", "Tove Ek"),
        ("Who is the cellar master?", "The cellar master, Tove Ek, has the key.", "Tove Ek"),
        ("Who is the barn manager?", "The barn manager of the north vineyard is Nils Ask.", "Nils Ask"),
        ("How many presses do we have?", "We have one press.", "one"),
        ("How long is the ladder?", "The roof is reached by the ladder of 6 metres in the barn.", "6 metres"),
        ("How long is the tasting?", "The tasting is 2 hours.", "2 hours"),
        ("How long are corks kept?", "In the barn the corks are kept for 9 weeks.", "9 weeks"),
        ("How much free memory does sluice need?", "sluice needs 3 GB of free memory.", "3 GB"),
        ("How much memory does sluice use?", "sluice uses 700 MiB.", "700 MiB"),
        ("How much disk does the barn box have?", "The barn box comes with 2 TB.", "2 TB"),
        ("When was flood Bertil?", "During flood Bertil on 3 May 2031 the pumps never stopped.", "3 May 2031"),
    ],
)
def test_values_of_the_kind_and_thing_asked_for_still_answer(question: str, text: str, answer: str) -> None:
    assert answer in (best(question, text) or "")


def test_the_page_s_heading_and_tags_name_what_is_counted() -> None:
    question, text = "How many people have keys in Heron?", "Only seven people have keys."
    assert within(question, f"# Heron\n\nIt is old.\n\n{text}") == text
    asking = read_question(question)
    assert asking is not None
    assert not list(sentences_of(asking, text, tags=["cellar"]))
    assert [said.written for _, said in sentences_of(asking, text, tags=["heron"])] == [text]


PEOPLE = """# People

## Marit Olsen
- Role: platform lead
- Email: marit.olsen@heron.example

**Shifts**

- Mornings: Lund

## Jonas Weber
Likes tea. He sits in Malmö.

- Email: jonas@heron.example
- Role: data engineer

**Karin Lund**

- Phone: 0170 9999
"""
SERVERS = """# Servers

## atlas
ip: 10.0.0.4
os: Debian 12

## boreas
ip: 10.0.0.9
os: Debian 11
"""
TABLES = """| Week | Primary | Secondary |
|------|---------|-----------|
| 46 | Marit Olsen | Jonas Weber |
| 47 | Jonas Weber | Lena Brandt |

| Server | IP | Disk | Owner | Bought |
|:--|---:|----|-------|--------|
| cirrus | 10.0.1.4 | 2 TB | Marit Olsen | 2024-03-02 |
| nimbus | 10.0.1.9 | 4 TB | Jonas Weber | 2025-06-01 |
| stratus | | 8 TB | | |
"""
INVENTORY = """| Item | Serial | Bought | Price | Location | Assigned to | Warranty until |
|---|---|---|---|---|---|---|
| Laptop 07 | PF-3K9Q2 | 2022-04-11 | 1340 € | 2.14 | Marit | |
| Laptop 08 | PF-3K9R7 | 2022-04-11 | 1340 € | 2.09 | Daniel Wexler | 2025-04-11 |
| Laptop 11 | FRAN-8812 | 2024-01-30 | 1620 € | store room | | 2027-01-30 |
"""
SITTERS = """# Sitters

- Joana Reis, 0176 330 8190, 14 € an hour, not on Mondays
- Pelle (upstairs), 10 € an hour
"""


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Marit's email?", PEOPLE, "marit.olsen@heron.example"),
        ("what is Marit Olsen's email", PEOPLE, "marit.olsen@heron.example"),
        ("what is Jonas's email?", PEOPLE, "jonas@heron.example"),
        ("what is Jonas Weber's role?", PEOPLE, "data engineer"),
        ("what is Marit's role?", PEOPLE, "platform lead"),
        ("where does Jonas sit?", PEOPLE, "Malmö"),
        ("what is Karin's phone?", PEOPLE, "0170 9999"),
        ("what is the ip of boreas?", SERVERS, "10.0.0.9"),
        ("which os does atlas run?", SERVERS, "Debian 12"),
        ("who is primary in week 47?", TABLES, "Week 47, Primary: Jonas Weber"),
        ("who is the secondary in week 46?", TABLES, "Week 46, Secondary: Jonas Weber"),
        ("who owns nimbus?", TABLES, "Jonas Weber"),
        ("what is the ip of cirrus?", TABLES, "10.0.1.4"),
        ("how big is the disk of stratus?", TABLES, "8 TB"),
        ("when was cirrus bought?", TABLES, "2024-03-02"),
        ("who is the platform lead?", PEOPLE, "Marit Olsen, Role: platform lead"),
        ("who is the data engineer?", PEOPLE, "Jonas Weber, Role: data engineer"),
        ("where is Laptop 11?", INVENTORY, "store room"),
        ("who has Laptop 08?", INVENTORY, "Daniel Wexler"),
        ("how much is Laptop 11?", INVENTORY, "1620"),
        ("Laptop 11 warranty?", INVENTORY, "2027-01-30"),
        ("Who is the cook?", "Cook: Ines", "Ines"),
        ("what is the status of Kestrel?", "# Kestrel\n\n- Status: offen", "offen"),
        ("Who is the class teacher?", "Class teacher: Ms. Abernathy", "Abernathy"),
        ("Who is the second examiner?", "Second examiner: Prof. Henrik Aas", "Aas"),
        ("What is the database?", "Database: TimescaleDB", "TimescaleDB"),
        ("How much does Joana Reis charge an hour?", SITTERS, "14 €"),
    ],
)
def test_a_heading_and_the_head_of_a_column_say_what_something_is_about(question: str, text: str, answer: str) -> None:
    assert answer in (best(question, text) or "")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("what is Marit's phone?", PEOPLE),
        ("what is Ivo's email?", PEOPLE),
        ("where does Marit sit?", PEOPLE),
        ("what is Olsen's phone?", PEOPLE),
        ("what is Jonas's email?", PEOPLE.replace("- Email: jonas@heron.example\n", "")),
        ("who is primary in week 49?", TABLES),
        ("who owns stratus?", TABLES),
        ("what is the ip of stratus?", TABLES),
        ("who bought cirrus?", TABLES),
        ("who is the office manager?", PEOPLE),
        ("who is the office manager?", "# Ada Holm\n\n- Role: was office manager until May"),
        ("who is the office manager?", "# Ada Holm\n\n- Role: no longer office manager"),
        ("who is the lead engineer?", PEOPLE),
        ("where is Laptop 09?", INVENTORY),
        ("who has Laptop 11?", INVENTORY),
        ("Laptop 07 warranty?", INVENTORY),
        ("what is the address of Laptop 08?", INVENTORY),
        ("where is Daniel's laptop?", INVENTORY.replace("| Location", "| Colour")),
        ("what is Olaf's account?", "# Olaf\n\n- Title: account manager"),
        ("where is puffin?", "Database: ledger_main on puffin"),
        ("where is the retreat?", "- [x] Marit booked the room for the retreat"),
        ("what is Hamish's address?", "Ask Hamish before you call anyone else about the boiler."),
        ("How much does Ivo charge an hour?", SITTERS),
        ("who books the pump?", "- Repair the pump (workshop, Mr. Kowal)\n- Book the flume for May (Ludmila)"),
        ("when does Yusuf order the bolts?", "Present: Yusuf\n\n- [ ] Greta: order 40 bolts by 2026-04-01"),
        ("why did plover reboot?", "plover rebooted by itself, cause unknown."),
        ("what is the phone of ox?", "| Machine | Owner | Phone | Room |\n|---|---|---|---|\n| ox | Ann | ? | 12 |"),
        ("who owns ox?", "| Machine | Owner | Phone |\n|---|---|---|\n| ox | n/a | 12 |"),
        ("what is the phone of ox?", "# ox\n\n- Phone: TBD\n- Owner: Ann"),
        ("room of the trip?", "# Trip\n\n| Item | Price | Room |\n|---|---|---|\n| Tent | 12 | |"),
        ("what is the port of cirrus?", TABLES),
        ("what is Marit's email?", PEOPLE.replace("- Email: marit.olsen@heron.example\n", "")),
    ],
)
def test_what_another_section_or_column_says_is_no_answer(question: str, text: str) -> None:
    assert best(question, text) is None


def test_a_line_of_many_sentences_is_read_in_linear_time() -> None:
    asking = read_question("what replaced argh?")
    assert asking
    began = time.perf_counter()
    list(sentences_of(asking, "argh (deprecated) removed; " * 6_000, ""))
    assert time.perf_counter() - began < 15.0  # each looked back at all before it: a hundred seconds
