"""Later sentences that end what a text says, and those that only seem to."""

from __future__ import annotations

import pytest

from lamina_engine.facts.asking import read_question
from lamina_engine.facts.replacements import may_be_replaced, read_replacement, read_value
from lamina_engine.facts.statements import read_sentences


def replaced(question: str, old: str, new: str) -> bool | None:
    """Return whether a sentence that ends a value holds another; None where it ends none."""
    asking = read_question(question)
    assert asking is not None
    if not may_be_replaced(asking):
        return None
    value = read_value(asking, read_sentences(asking, old)[0])
    return read_replacement(asking, value, read_sentences(asking, new)[0])


@pytest.mark.parametrize(
    ("question", "old", "new", "holds"),
    [
        ("who owns the bees?", "Nils owns the bees.", "Nils handed the bees over to Olaf Brandt.", True),
        ("who owns the bees?", "Nils owns the bees.", "From today Olaf takes over the bees from Nils.", True),
        ("who owns the bees?", "Nils owns the bees.", "Wilma takes over the bees from Nils.", True),
        ("who owns the bees?", "Nils owns the bees.", "Olaf owns the bees, before it was Nils.", True),
        ("who insures the barn?", "The barn is insured by Helvetia.", "We cancelled Helvetia: the barn is now with Allianz.", True),
        ("what is our edge?", "Our edge is Fastly.", "Fastly was retired.", False),
        ("where are the metrics stored?", "The metrics are stored in InfluxDB.", "Metrics were migrated from InfluxDB to Victoria.", True),
        ("where do we keep the keys?", "We keep the keys in Vault.", "We no longer use Vault: the keys are in Barbican.", True),
        ("when is the fair?", "The fair is on 14 June.", "The fair was postponed from 14 June to 21 June.", True),
        ("when is the fair?", "The fair is on 2026-06-14.", "The fair was moved to 2026-06-21.", True),
        ("when is the fair?", "The fair is on 2026-06-14.", "The fair is cancelled.", False),
        ("when is the fair?", "The fair is on 2026-06-14.", "New fair date: 2026-06-21 (was 2026-06-14).", True),
        ("wer leitet die Kelterei?", "Nils Ek leitet die Kelterei.", "Tove Lindgren übernimmt die Kelterei von Nils Ek.", True),
        ("wo liegt das Archiv?", "Das Archiv liegt in Schrank 4.", "Das Archiv ist von Schrank 4 in den Keller umgezogen.", True),
        ("welche Warteschlange nehmen wir?", "Wir nehmen RabbitMQ als Warteschlange.", "Wir ersetzen RabbitMQ durch NATS.", True),
        ("wann ist die Sitzung?", "Die Sitzung ist am 3. Mai.", "Die Sitzung wurde vom 3. Mai auf den 9. Mai verschoben.", True),
        ("which linter do we use?", "Our linter is Pylint.", "We swapped Pylint for Ruff as our linter.", True),
        ("which chat do we use?", "Our chat is Mattermost.", "We phased out Mattermost, our chat is Zulip.", True),
        ("what is the mascot called?", "The mascot is called Bramble.", "We renamed the mascot to Thistle.", True),
        ("what is the upload limit?", "The upload limit is 20 MB.", "The upload limit was raised to 50 MB.", True),
        ("how long is the warranty?", "The warranty is 24 months.", "The warranty was shortened to 12 months.", True),
        ("when is the audit?", "The audit is on 4 March.", "The audit was brought forward from 4 March to 25 February.", True),
        ("wie heißt das Lager?", "Das Lager heißt Nordhof.", "Das Lager wurde von Nordhof in Südhof umbenannt.", True),
        ("welche Kasse nehmen wir?", "Wir nehmen Lightspeed als Kasse.", "Lightspeed wurde durch Orderbird als Kasse abgelöst.", True),
    ],
)  # fmt: skip
def test_a_change_of_the_same_subject_ends_a_value(question: str, old: str, new: str, holds: bool) -> None:
    assert replaced(question, old, new) is holds


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("who insures the barn?", "The barn is insured by Helvetia.", "We cancelled Helvetia for the vineyard."),
        ("who insures the barn?", "The barn is insured by Helvetia.", "The barn's roof was replaced, Helvetia paid."),
        ("who owns the bees?", "Nils owns the bees.", "Nils takes over the hens from Olaf."),
        ("who owns the bees?", "Nils owns the bees.", "Olaf takes over the hens from Nils."),
        ("who owns the bees?", "Nils owns the bees.", "Maybe Olaf takes over the bees from Nils."),
        ("who bought the bees?", "Nils bought the bees.", "Olaf takes over the bees from Nils."),
        ("who leads the choir?", "Rosa leads the choir.", "Rosa cancelled the rehearsal of the choir."),
        ("what is the staging server?", "The staging server is atlas-3.", "We replaced the disk in the staging server atlas-3 with a new one."),
        ("where are the metrics stored?", "The metrics are stored in InfluxDB.", "We will move the metrics from InfluxDB to Victoria."),
        ("where are the metrics stored?", "The metrics are stored in InfluxDB.", "The logs were migrated from InfluxDB to Loki."),
        ("where are the metrics stored?", "The metrics are stored in InfluxDB.", "The metrics were moved to InfluxDB in May."),
        ("when is the fair?", "The fair is on 14 June.", "The meeting about the fair was moved to 3 May."),
        ("when is the fair?", "The fair is on 2026-06-14.", "The demo before the fair on 2026-06-14 is cancelled."),
        ("wo liegt das Archiv?", "Das Archiv liegt in Schrank 4.", "Die Ordner aus Schrank 4 wurden ersetzt."),
        ("where is the meeting room?", "The meeting room is in the Linden building.", "We moved the meeting room chairs to the cellar."),
        ("which linter do we use?", "Our linter is Pylint.", "Instead of arguing about the linter, run Pylint before each push."),
        ("what is the heap size?", "The heap size is 4 GB.", "The stack size was reduced to 1 GB."),
        ("wer ist der Hausmeister?", "Der Hausmeister ist Olaf Brandt.", "Olaf Brandt hat die Lampe ersetzt."),
    ],
)  # fmt: skip
def test_what_is_said_of_something_else_ends_nothing(question: str, old: str, new: str) -> None:
    assert replaced(question, old, new) is None
