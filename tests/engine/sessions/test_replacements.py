"""Statements that take the place of others, told in other sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamina_engine.sessions.replacements import Statement, find_replaced
from tests.engine.sessions.workday import days


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "The launch deadline is 2026-12-01, said Petra.",
            "Petra moved the launch to 2026-12-15, the pier is not ready.",
        ),
        (
            "We decided to keep login sessions in Redis with a TTL of 12 hours.",
            "Redis is one more server to run. Drop it. Put login sessions into PostgreSQL, table login_session.",
        ),
        (
            "We decided to keep login sessions in Redis with a TTL of 12 hours.",
            "Done. We no longer use Redis: login sessions are in PostgreSQL, because another server to run was not worth it.",
        ),
        (
            "We decided to keep login sessions in Redis with a TTL of 12 hours.",
            "let's move the login sessions to PostgreSQL",
        ),
        ("We decided to keep login sessions in Redis with a TTL of 12 hours.", "Throw Redis out again."),
        ("We decided to keep login sessions in Redis.", "use PostgreSQL for the login sessions instead of Redis"),
        (
            "The timeout of the payment client is 30 seconds, because the bank is slow.",
            "raise the timeout of the payment client to 60 s",
        ),
        ("Die Abgabe ist am 01.12.2026.", "Die Abgabe wurde auf den 15.12.2026 verschoben."),
        (
            "Wir nehmen SQLite für den Katalog, weil es klein ist.",
            "Wir nehmen für den Katalog jetzt PostgreSQL statt SQLite.",
        ),
        ("the release is on december 4", "the release is on december 11 now"),
        (
            "Decision: we take polars as a dependency for the export.",
            "We do without polars after all, plain csv is fine.",
        ),
        (
            "From now on use tabs in Makefiles and 4 spaces in Python.",
            "from now on 2 spaces in Python instead of 4 spaces",
        ),
        ("The standup is at 09:30.", "The standup moved to 10:00."),
        ("New launch date: 2026-12-15", "the launch date is now 2026-12-20"),
        ("we ship on Friday", "we ship on Tuesday"),
        ("Uploads are limited to 20 MB.", "Uploads are meanwhile limited to 50 MB."),
        ("Die Sitzung beginnt um 10:00.", "Die Sitzung beginnt mittlerweile um 11:00."),
        ("Backups are kept for 14 days.", "Nowadays backups are kept for 30 days."),
        (
            "Lass uns die Bilder in S3 speichern, weil die Platte voll ist.",
            "Bilder doch nicht in S3, das ist zu teuer. Nehmt MinIO.",
        ),
        (
            'Decided (x): "We went with Celery for the newsletter, because cron jobs overlapped."',
            'The person decided (x): "Forget Celery, the newsletter goes out with a systemd timer."',
        ),
        ("we host on Hetzner because it is cheap", "we are moving from Hetzner to the university cluster"),
        ("keep the artefacts 30 days", "keep the artefacts for 90 days"),
        (
            "Die Sitzungen liegen in Redis, weil es schnell ist.",
            "Redis fliegt raus. Die Sitzungen kommen in die Datenbank.",
        ),
        ("Der Nachtlauf startet um 02:00 Uhr.", "Der Nachtlauf startet jetzt um 03:30 Uhr."),
        (
            "we go with MapLibre for the map because it is free",
            "MapLibre is too heavy for the tablets. Go back to Leaflet.",
        ),
        ("The freeze is on March 3, said Ana.", "Ana pushed the freeze back to March 10."),
        ("Code freeze: 2026-03-03", "Code freeze: 2026-03-10"),
        (
            "From now on write commit messages in German.",
            "From now on write commit messages in English, no longer in German.",
        ),
        ("Use black for formatting because the team knows it.", "we use ruff instead of black for formatting"),
        (
            "Invoices are numbered per year, because the tax office wants it.",
            "Invoices are no longer numbered per year but consecutively.",
        ),
        ("Release 1.2 is on December 4.", "Release 1.2 is on December 11."),
        ("The service listens on port 8080 because nginx expects it.", "the service listens on port 9090 now"),
        ("Backups are kept for 14 days, because the disk is small.", "Backups are kept for 30 days."),
        ("Die Frist für die Anmeldung ist der 3. März.", "Die Frist für die Anmeldung ist jetzt der 10. März."),
        ("Sitzungen laufen nach 30 Minuten ab, weil der Prüfer es will.", "Sitzungen laufen nach 15 Minuten ab."),
        ("keep the map tiles in S3, because the disk fills up", "The map tiles move from S3 to the local disk."),
        ("We use Celery for mails because retries come free.", "Celery is overkill, mails go out with a plain thread."),
        ("the exam period begins on 2027-01-20", "exam period moved to 2027-01-27, the hall is taken"),
        (
            "Wir haben uns für Flask entschieden, weil es klein ist.",
            "Wir nehmen Django statt Flask, wegen der Verwaltung.",
        ),
        (
            "We decided to store levels as JSON because designers edit them.",
            "JSON levels are slow to load. Go back to binary levels.",
        ),
        ("I would take mail, because SMS cost money.", "Send reminders by SMS instead of mail, the doctor pays."),
        ("Our broker is Mosquitto.", "Mosquitto was superseded by EMQX as our broker."),
        ("Our chat is Mattermost.", "We phased out Mattermost, our chat is Zulip."),
        ("Ines maintains the greenhouse.", "Paul took over the greenhouse from Ines."),
        ("The mascot is called Bramble.", "The mascot was renamed to Thistle."),
        ("The board meeting is on 2026-05-06.", "The board meeting was pushed back to 2026-05-13."),
        ("The trial period is 14 days.", "The trial period was extended from 14 days to 30 days."),
        ("The flea market is on 2026-08-02.", "The flea market was called off."),
        ("Die Ersatzteile lagern in Halle 2.", "Die Ersatzteile wurden von Halle 2 in Halle 5 verlagert."),
        ("Otto Brandt leitet die Werkstatt.", "Eva Blum löst Otto Brandt als Leiterin der Werkstatt ab."),
        ("Die Zeitung heißt Morgenblatt.", "Die Zeitung heißt jetzt Abendblatt."),
    ],
)
def test_a_statement_takes_the_place_of_another(older: str, newer: str) -> None:
    assert Statement(newer).replaces(Statement(older))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The launch deadline is 2026-12-01, said Petra.", "Petra moved the standup to 2026-12-15."),
        ("The nightly backup runs at 02:00.", "We moved the nightly job to 03:00."),
        (
            "We decided to index booking.sailing_id, because of a sequential scan.",
            "We decided to index booking.customer_id, because of a sequential scan.",
        ),
        (
            "Decided: use Redis for the response cache, because it expires keys.",
            "We store login sessions in Postgres rather than Redis, because backups cover them.",
        ),
        ("the timeout is 30 seconds because the bank is slow", "raise the timeout of the search to 60 s"),
        ("Always use tabs in Makefiles.", "never use tabs in Python files"),
        ("We keep retries at 5 because 503s last a minute.", "We keep batches at 64 because of memory."),
        (
            "We decided to keep login sessions in Redis with a TTL of 12 hours.",
            "We decided to index booking.sailing_id, because of a sequential scan.",
        ),
        ("Errors of the API are JSON, because clients parse them.", "Drop the old API docs folder, nobody reads it."),
        ("the release of the app is on december 4", "the release of the library is on december 11"),
        ("Prices are integers in cents, because floats round.", "use Decimal for tax rates instead of float"),
        ("Log lines go to stderr, because stdout is data.", "progress goes to the log instead of stdout"),
        ("Wir nehmen SQLite für den Katalog.", "Wir nehmen PostgreSQL für die Buchungen statt MySQL."),
        ("The service listens on port 8080 because nginx expects it.", "The metrics endpoint listens on port 9100."),
        (
            'Decided: "We went with Celery for the newsletter, because cron jobs overlapped."',
            "The newsletter has 3 columns instead of 2.",
        ),
        ("keep the artefacts 30 days", "keep the logs for 90 days"),
        ("keep the artefacts 30 days", "Artefacts of releases go to the archive."),
        ("Always run the tests with -x before you commit.", "never commit to main, we review everything"),
        ("we host on Hetzner because it is cheap", "we are moving the docs to the university cluster"),
        ("Use black for formatting because the team knows it.", "use isort for imports instead of sorting by hand"),
        ("the demo is on 2026-12-04", "the release is on 2026-12-11"),
        ("Order numbers have 8 digits, because the printer cuts.", "Customer numbers have 10 digits."),
        ("Dates are ISO 8601, because Tobias reads them.", "the receipt prints dates as 04.12.2026"),
        ("limit uploads to 20 MB because of nginx", "limit uploads per day to 50"),
        ("use httpx instead of requests because of HTTP/2", "never use requests in new code"),
        ("we ship on Friday", "the demo is on Tuesday"),
        ("the standup is at 09:30", "the retro moved to 10:00"),
        ("never print the password", "we no longer print the banner"),
        (
            "We decided to cache responses for 5 minutes, because the API is slow.",
            "Drop the cache folder from the repo, it was committed by mistake.",
        ),
        ("let us name the branch release/1.2", "let us name the tag v1.3"),
        ("The queue holds 1000 entries because memory is small.", "Workers: 4 instead of 2."),
        ("Die Bilder liegen in S3, weil die Platte voll ist.", "Die Videos liegen jetzt auf der Platte statt in S3."),
        (
            "Decision: migration 12 adds the index, because it is cheap.",
            "Decision: migration 13 adds the index, because it is cheap.",
        ),
        ("Release 1.2 is on December 4.", "Release 1.3 is on December 11."),
        (
            "exports start 2026-01-01, because of the tax year",
            "exports from 2026-01-01 on go to the archive on 2026-02-01",
        ),
        (
            "We use Postgres for bookings because of transactions.",
            "for the bookings report, use a materialised view instead of a Postgres trigger",
        ),
        ("sprint 12 ends on Friday", "sprint 13 ends on Tuesday"),
        ("use exit code 3 for a missing file", "use exit code 4 for a file without rights"),
        ("Retry 5 times, because 503s last a minute.", "Retry uploads after 10 seconds."),
        ("Never use floats for money.", "use Decimal instead of floats for money"),
        ("Step 1: move the users table.", "Step 2: move the bookings table."),
        ("we move the users table to schema auth", "we move the bookings table to schema shop"),
        ("The API returns 404 for a missing ship, because clients expect it.", "The API returns 409 for a full ship."),
        (
            "We chose MapLibre rather than Leaflet because of vector tiles.",
            "Leaflet stays out of the bundle, no longer imported.",
        ),
        ("the nightly job runs at 02:00", "the backup runs at 03:00"),
        ("Anna prüft die Rechnungen am Freitag.", "Jan prüft die Mahnungen am Dienstag."),
        (
            "Wir nehmen Redis für den Cache, weil er Schlüssel verfallen lässt.",
            "Die Anmeldungen kommen in PostgreSQL statt in Redis.",
        ),
        ("The demo is on 2026-12-04.", "The demo is noted. Go back to the parser."),
        ("The meeting room is in the Linden building.", "We moved the meeting room chairs to the cellar."),
        ("A call may take 3 minutes.", "A break takes no longer than 5 minutes."),
        ("Our linter is Pylint.", "Instead of arguing about the linter, run Pylint before each push."),
        ("The harvest party is on 2026-09-12.", "The rehearsal for the harvest party was moved to 2026-09-10."),
        ("The entry fee is 8 euros.", "The parking fee was raised to 9 euros."),
        ("Lena owns the roster.", "Lena took over the keys from Omar."),
        ("Our courier is Hermes.", "Nobody wants to replace Hermes as our courier."),
        ("Our courier is Hermes.", "We don't drop Hermes as our courier."),
        ("Our mirror is Aachen.", "Should we replace Aachen by another mirror?"),
        ("Wir nutzen OTRS als Ticketsystem.", "OTRS wurde als Ticketsystem nicht ersetzt."),
        ("The choir rehearses in the hall.", "Rosa moved the chairs of the choir from the hall to the barn."),
        ("The choir rehearses in the hall.", "The chairs of the choir were moved from the hall to the barn."),
        ("Our chat is Mattermost.", "Mattermost dropped two messages during the storm."),
        ("Otto Brandt leitet die Werkstatt.", "Otto Brandt hat in der Werkstatt die Lampen gewechselt."),
    ],
)
def test_statements_that_both_stand(older: str, newer: str) -> None:
    assert not Statement(newer).replaces(Statement(older))
    assert not Statement(older).replaces(Statement(newer))


def test_of_three_values_the_last_stands() -> None:
    told = ["The demo is on 2026-12-01.", "The demo moved to 2026-12-08.", "The demo is on 2026-12-15 now."]
    assert find_replaced(told) == {0: 2, 1: 2}
    assert find_replaced(told[::-1]) == {0: 2, 1: 2}  # whatever the dates say, who speaks last is right
    assert find_replaced([]) == {}


JOB = (
    "2026-11-20",
    [
        (
            "make the nightly export faster please",
            "Done: 72 seconds. I decided to index booking.sailing_id, because of a sequential scan.",
        )
    ],
)


def test_a_start_tells_what_holds_and_what_it_took_the_place_of(tmp_path: Path) -> None:
    # a stranger's trial: the start told "keep login sessions in Redis" and the old deadline as decided
    vault = days(
        tmp_path,
        ("2026-10-12", [("The launch deadline is 2026-12-01, said Petra.", "Noted: launch on 2026-12-01.")]),
        (
            "2026-10-29",
            [
                ("where do we keep the login sessions?", "We decided to keep login sessions in Redis with a TTL of 12 hours."),
                ("Petra moved the launch to 2026-12-15, the pier is not ready.", "Noted. New launch date: 2026-12-15 (was 2026-12-01)."),
            ],
        ),
        (
            "2026-11-09",
            [
                (
                    "Redis is one more server to run. Drop it. Put login sessions into PostgreSQL, table login_session.",
                    "Done: login sessions are in PostgreSQL, because another server to run was not worth it.",
                )
            ],
        ),
        JOB,
    )  # fmt: skip
    items = [item.text for item in vault.bootstrap(session="next").items if item.part == "insights"]
    (launch,) = [text for text in items if "launch" in text]
    (login,) = [text for text in items if "Redis" in text]
    assert launch.partition("\nThe agent then said")[0].count("2026-12-15") == 1
    assert "It takes back what was settled on 2026-10-12: The launch deadline is 2026-12-01" in launch
    assert "into PostgreSQL, table login_session" in login.partition("It takes back")[0]
    assert "It takes back what was settled on 2026-10-29: We decided to keep login sessions in Redis" in login


def test_a_start_in_german_tells_what_holds(tmp_path: Path) -> None:
    vault = days(
        tmp_path,
        ("2026-10-12", [("Wir nehmen Celery für den Mailversand, weil er Wiederholungen kennt.", "Gut, Celery ist eingerichtet und läuft.")]),
        ("2026-11-02", [("Celery ist zu schwer. Lass uns den Mailversand ohne Celery machen, ein Timer statt Celery genügt: alle 5 Minuten.", "Erledigt.")]),
        JOB,
    )  # fmt: skip
    told = "\n".join(item.text for item in vault.bootstrap(session="next").items if item.part == "insights")
    assert told.count("Wir nehmen Celery") == 1
    assert "It takes back what was settled on 2026-10-12: Wir nehmen Celery" in told


def test_other_decisions_stand_at_the_start(tmp_path: Path) -> None:
    vault = days(
        tmp_path,
        ("2026-10-12", [("let's use Redis for the response cache because keys expire", "Done, the cache is in Redis.")]),
        ("2026-10-20", [("let's put login sessions into PostgreSQL instead of a cookie", "Done, there is a table for them.")]),
        ("2026-10-21", [("The harbour survey is due on 2026-12-01.", "Noted, the survey.")]),
        ("2026-10-22", [("Petra moved the launch to 2026-12-15.", "Noted, the launch.")]),
        JOB,
    )  # fmt: skip
    told = "\n".join(item.text for item in vault.bootstrap(session="next").items if item.part == "insights")
    assert "takes back" not in told
    assert all(word in told for word in ("response cache", "instead of a cookie", "harbour survey", "2026-12-15"))


def test_a_date_that_moves_within_a_session_is_told_as_moved(tmp_path: Path) -> None:
    vault = days(
        tmp_path,
        (
            "2026-10-12",
            [
                ("The launch deadline is 2026-12-01, said Petra.", "Noted: launch on 2026-12-01."),
                ("Petra moved the launch to 2026-12-15, the pier is not ready.", "Noted. New launch date: 2026-12-15."),
            ],
        ),
    )  # fmt: skip
    (handoff,) = vault.list({"type": "agent_handoff"})
    assert 'which takes back "The launch deadline is 2026-12-01, said Petra."' in handoff.text


TAKES_ITS_PLACE = [
    (("make the deposit 1500 euros", "The deposit is 1500 euros now."), ("the landlord wants 1800 euros", "Deposit: 1800 euros.")),
    (("Heizung auf 21 Grad", "Die Heizung steht jetzt auf 21 Grad."), ("kühler, 19", "Die Heizung steht jetzt auf 19 Grad.")),
    (("cap it at 10 MB", "Photo uploads are capped at 10 MB now."), ("25 MB", "Photo uploads are capped at 25 MB now.")),
    (("Tuesdays then", "Choir practice is on Tuesdays now."), ("practice moves to Thursdays", "Choir practice is on Thursdays now.")),
    (("go down to 7 everywhere", "All lanes compress at level 7"), ("Set the level to 9, on every lane", "Every lane compresses at level 9 now")),
    (("never let the dog into the greenhouse", ""), ("the dog may come into the greenhouse again, the lettuce is done", "")),
    (("Niemand geht ohne Helm in die Halle", ""), ("in die Halle darf man jetzt wieder ohne Helm, der Kran ist weg", "")),
]  # fmt: skip
BOTH_STAND = [
    (("make it 1500 euros", "The deposit is 1500 euros now."), ("rent 900 euros now", "The rent is 900 euros now.")),
    (("Heizung auf 21 Grad", "Die Heizung im Bad steht jetzt auf 21 Grad."), ("19 Grad", "Die Heizung im Flur steht jetzt auf 19 Grad.")),
    (("cap it at 10 MB", "Photo uploads are capped at 10 MB now."), ("25 MB", "Video uploads are capped at 25 MB now.")),
    (("Tuesdays", "Choir practice is on Tuesdays now."), ("Thursdays", "Band practice is on Thursdays now.")),
    (("keep 30 days", "Backups on production are kept for 30 days"), ("keep 7 days", "Backups on staging are kept for 7 days now")),
    (("go down to 7 everywhere", "All lanes compress at level 7"), ("Set zstd to 12 for the release lane", "Release lane: level 12.")),
    (("30 minutes", "The build timeout is 30 minutes now"), ("40 files", "The build log keeps 40 files now")),
    (("exam on 3 December", "The exam is on 3 December now."), ("the party moved to 5 December", "The party after the exam is on 5 December now.")),
    (("never let the dog into the greenhouse", ""), ("the cat may come into the greenhouse again", "")),
    (("never push to the demo branch", ""), ("you may push to the feature branch at any time", "")),
]  # fmt: skip


@pytest.mark.parametrize(("older", "newer"), TAKES_ITS_PLACE)
def test_an_echo_names_the_thing_and_a_permission_lifts_a_rule(older: tuple[str, str], newer: tuple[str, str]) -> None:
    assert Statement(*newer).replaces(Statement(*older))


@pytest.mark.parametrize(("older", "newer"), BOTH_STAND)
def test_values_of_other_things_and_permissions_of_a_part_leave_it(
    older: tuple[str, str], newer: tuple[str, str]
) -> None:
    assert not Statement(*newer).replaces(Statement(*older))
