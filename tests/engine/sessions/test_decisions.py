"""Decisions that a session takes back, in whatever words, and instructions that edits follow."""

from __future__ import annotations

from pathlib import Path

import pytest

import lamina
from lamina import Vault
from lamina_engine.sessions import cues
from lamina_engine.sessions.tooltext import changed_words
from tests.engine.sessions.workday import ClaudeCodeDay, CodexDay

FOLDER = "/home/noa/code/ledger"


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return lamina.open(tmp_path / "vault", create=True, embedder="none")


def day() -> ClaudeCodeDay:
    written = ClaudeCodeDay("4c0e7c7a-1a2b-4c3d-8e4f-5a6b7c8d9e0f", FOLDER, "2026-10-14T08:55:00Z")
    written.ask("The monthly export of the ledger takes an hour. Make it faster, the auditors wait for it.")
    written.say("The export reads every booking once a column. I start with the reader.")
    return written


def told(vault: Vault, written: ClaudeCodeDay | CodexDay, tmp_path: Path) -> tuple[str, str]:
    """What the handoff says as decided, and the insights."""
    vault.ingest(written.write(tmp_path / "logs"), kind="sessions")
    (handoff,) = vault.list({"type": "agent_handoff"})
    decided = handoff.text.partition("## Decided\n")[2].partition("\n\n## ")[0]
    return decided, "\n".join(chunk.text for chunk in vault.list({"type": "agent_insight"}))


def test_a_decision_withdrawn_without_its_words_is_told_as_taken_back(vault: Vault, tmp_path: Path) -> None:
    # findings, a stranger's transcript: "that native JSON library"
    written = day()
    written.ask("Decision: we take polars as a dependency for the export.")
    written.edit("pyproject.toml", 'dependencies = ["click"]', 'dependencies = ["click", "polars>=1.9"]')
    written.say("Done, the export takes nine minutes now.")
    path = written.write(tmp_path / "logs")
    vault.ingest(path, kind="sessions")
    assert "polars" in "".join(chunk.text for chunk in vault.list({"type": "agent_insight"}))
    written.ask("and does it run on the server of the auditors?")
    written.say("No: their server has a processor without AVX, and polars stops there at once.")
    written.ask("Hm. They cannot change it. Then let's do without that dataframe thing after all, plain csv is fine.")
    written.edit("pyproject.toml", 'dependencies = ["click", "polars>=1.9"]', 'dependencies = ["click"]')
    written.say("It is out again; I read each booking once instead, which takes eleven minutes.")
    decided, insights = told(vault, written, tmp_path)
    assert '"Decision: we take polars' not in insights.replace('It takes back: "Decision: we take polars', "")
    assert "do without that dataframe thing after all" in decided
    assert 'takes back "Decision: we take polars' in decided
    assert "polars stops there at once" in decided  # why
    assert "The agent had said: No: their server has" in insights


def test_edits_beside_an_objection_undo_nothing_else(vault: Vault, tmp_path: Path) -> None:
    # findings, a stranger's transcript: postcard "took back" the crate that its encoder lay in
    written = day()
    written.ask("Decision: the encoder goes into a crate of its own, without the board's code.")
    written.edit("core/packet.rs", "", "fn encode(reading: Reading) -> CborMap { ciborium::into_writer(reading) }")
    written.say("The crate is there. CBOR with integer keys takes 23 bytes, postcard 12.")
    written.ask("ok do CBOR with integer keys")
    written.say("Done.")
    written.ask("hm, no. The battery is more important. So let us rather take postcard after all, with a version byte.")
    written.edit(
        "core/packet.rs", "fn encode(reading: Reading) -> CborMap { ciborium::into_writer(reading) }", "postcard"
    )
    written.say("Postcard with a leading version byte, 12 bytes.")
    decided, insights = told(vault, written, tmp_path)
    assert "rather take postcard after all, with a version byte." in decided
    assert "a crate of its own" in decided
    assert "takes back" not in decided + insights


def test_an_order_for_the_moment_is_no_decision(vault: Vault, tmp_path: Path) -> None:
    written = day()
    written.ask("Start with looking around. Don't change anything yet.")
    written.say("The export reads every booking once a column.")
    written.ask("Decision: we take polars as a dependency for the export. Don't change the schema.")
    written.edit("pyproject.toml", "a", "b")
    written.say("Done, the export takes nine minutes now.")
    decided, _ = told(vault, written, tmp_path)
    assert "polars" in decided
    assert "Don't change the schema" in decided
    assert "anything yet" not in decided


def test_what_fails_after_a_check_that_passed_is_not_the_check(vault: Vault, tmp_path: Path) -> None:
    # findings, a stranger's transcript: "`cargo test` still fails: Protected branch update failed"
    written = day()
    written.ask("commit it and push")
    refused = "12 passed in 0.41s\nremote: error: GH006: Protected branch update failed for refs/heads/main."
    written.run("pytest -q && git commit -qam export && git push -q origin main", refused, code=1)
    written.say("main is protected, it needs a pull request.")
    written.run("pytest -q tests/test_reader.py", "FAILED tests/test_reader.py::test_one - 1 failed", code=1)
    written.edit("reader.py", "a", "b")
    written.run("pytest -q", "13 passed in 0.40s")
    written.say("It is there: the reader closes its file now.")
    vault.ingest(written.write(tmp_path / "logs"), kind="sessions")
    (handoff,) = vault.list({"type": "agent_handoff"})
    assert "`git push -q origin main` still fails: remote: error: GH006" in handoff.text
    assert "`pytest -q`: passed (13 passed in 0.40s)" in handoff.text
    assert "tests/test_reader.py`: failed" not in handoff.text  # a wider run passed since
    assert "`pytest -q` still fails" not in handoff.text


def test_a_branch_that_is_deleted_says_what_was_dropped(vault: Vault, tmp_path: Path) -> None:
    # findings, a stranger's transcript: "that whole runtime is overkill"
    written = day()
    written.ask("Decision: we rewrite the reader on gevent, one greenlet per account.")
    written.run("git switch -c gevent-reader", "Switched to a new branch")
    written.say("On it; the branch is there.")
    written.ask("how many accounts have bookings at all?")
    written.say("Four of ninety. So the rest costs nothing.")
    written.ask("then that whole machinery is overkill. Four plain threads do it. Drop the branch.")
    written.run("git branch -D gevent-reader", "Deleted branch gevent-reader")
    written.say("It is gone; the threads are in reader.py.")
    decided, insights = told(vault, written, tmp_path)
    assert "Four plain threads" in decided
    assert 'takes back "Decision: we rewrite the reader on gevent' in decided
    assert 'The person decided (ledger): "Decision: we rewrite' not in insights


def test_what_was_lost_is_taken_back_by_pointing_to_it(vault: Vault, tmp_path: Path) -> None:
    # findings, a stranger's transcript: "forget the other thing"
    written = day()
    written.ask("Let's keep the running totals in memcached, it expires them by itself.")
    written.edit("src/totals.py")
    written.say("They live in memcached now.")
    written.ask("ops restarted the box and all totals were gone")
    written.say("memcached keeps nothing over a restart, that is by design.")
    written.ask("We have a database for exactly this. Put them beside the bookings, and forget the other thing.")
    written.edit("src/totals.py")
    written.say("They are a column of the account now.")
    decided, insights = told(vault, written, tmp_path)
    assert "takes back \"Let's keep the running totals in memcached" in decided
    assert "decided (ledger): \"Let's keep" not in insights


def test_an_edit_that_takes_out_what_a_decision_had_put_in_undoes_it(vault: Vault, tmp_path: Path) -> None:
    written = day()
    written.ask("Let's use the fcntl lock for the writer, it is there anyway.")
    written.edit("src/lock.py", "pass", "fcntl.flock(handle, fcntl.LOCK_EX)")
    written.say("The writer takes the lock now.")
    written.ask("Let's keep the retries at 5.")
    written.edit("src/retry.py", "tries = 3", "tries = 5")
    written.say("Five tries.")
    written.ask("Windows has none of this. Let's use a file of our own, made with O_EXCL.")
    written.edit("src/lock.py", "fcntl.flock(handle, fcntl.LOCK_EX)", "os.open(name, os.O_CREAT | os.O_EXCL)")
    written.say("A file it is.")
    decided, insights = told(vault, written, tmp_path)
    assert "O_EXCL" in decided
    assert "retries at 5" in decided
    assert "fcntl" not in decided + insights


def test_what_a_patch_of_codex_takes_out_is_undone_too(vault: Vault, tmp_path: Path) -> None:
    written = CodexDay("4c0e7c7a-1a2b-4c3d-8e4f-5a6b7c8d9e0f", FOLDER, "2026-10-14T08:55:00Z")
    for prompt, before, after in (
        ("Let's store the totals as float64 in the export, it is simplest.", "pass", "totals.astype(float64)"),
        (
            "The auditors count cents. Let's take whole cents for the export.",
            "totals.astype(float64)",
            "totals_in_cents",
        ),
    ):
        written.ask(prompt)
        written.edit("src/export.py", before=before, after=after)
        written.say("Done, and all of the tests of the export pass.")
    decided, _ = told(vault, written, tmp_path)
    assert "whole cents" in decided
    assert "float64" not in decided


def test_other_decisions_stand_where_one_is_taken_back(vault: Vault, tmp_path: Path) -> None:
    written = day()
    for prompt, reply in (
        ("Let's throw the old importer out completely, nobody calls it any more.", "It is gone, with its tests."),
        ("ok do YAML for the settings of the export", "YAML it is, with the loader that we have."),
        ("hm, no. Ines says their tool writes TOML only. So let us rather take TOML after all.", "TOML then."),
    ):
        written.ask(prompt)
        written.edit("src/a.py")
        written.say(reply)
    decided, _ = told(vault, written, tmp_path)
    assert "throw the old importer out" in decided
    assert "take TOML after all" in decided
    assert "YAML" not in decided


def test_an_instruction_that_an_edit_follows_is_told_with_what_it_answers(vault: Vault, tmp_path: Path) -> None:
    written = day()
    written.say(
        "Reading fails if the export is still being written. The reader has to wait, or end with a clear message."
    )
    written.ask("exit code 4 and a message")
    written.edit("src/reader.py")
    written.say("It ends with 4 now.")
    written.ask("what do the tests of 2024 say?")
    written.say("They pass, all 31 of them.")
    decided, insights = told(vault, written, tmp_path)
    assert 'The reader has to wait, or end with a clear message. → "exit code 4 and a message"' in decided
    assert "exit code 4" in insights
    assert "2024" not in decided


def test_a_rule_within_an_instruction_is_told_once(vault: Vault, tmp_path: Path) -> None:
    written = day()
    written.ask("should the keys live in Redis or in PostgreSQL?")
    written.say("PostgreSQL: Redis may evict keys under memory pressure.")
    written.ask("ok, PostgreSQL then. And never run migrations against production without asking me first.")
    written.edit("migrations/7.sql")
    written.say("Noted: I ask before any migration of production.")
    decided, _ = told(vault, written, tmp_path)
    assert decided.count("never run migrations") == 1
    assert 'Redis may evict keys under memory pressure. → "ok, PostgreSQL then."' in decided


def test_an_option_taken_by_its_number_is_told_in_words(vault: Vault, tmp_path: Path) -> None:
    written = day()
    written.say("1) Read each booking once and keep totals. 2) Move the ledger to DuckDB. 3) Cache the columns.")
    written.ask("2 is tempting, but nobody here knows it. I want 1. The reader mustn't write anything though.")
    written.edit("src/reader.py")
    written.say("Done.")
    decided, insights = told(vault, written, tmp_path)
    assert "Read each booking once and keep totals." in decided
    assert "the reader mustn't write" in decided.lower()
    assert "DuckDB" not in decided + insights


def test_an_option_named_by_its_word_is_taken_and_taken_back_in_other_words(vault: Vault, tmp_path: Path) -> None:
    written = day()
    written.say(
        "Three options. 1. Parquet, one file a day. 2. A DuckDB file that R opens directly. 3. SQLite with an index."
    )
    written.ask("duckdb then")
    written.edit("pyproject.toml", 'dependencies = ["click"]', 'dependencies = ["click", "duckdb>=1.4"]')
    written.say("Four processes collide on its lock. Each could write a part of its own.")
    written.ask("own part per process and merge. simple")
    written.edit("src/merge.py", "pass", "def merge(parts, into): ...")
    written.say("Done.")
    assert "A DuckDB file that R opens directly" in told(vault, written, tmp_path)[0]
    written.ask("hm wait, Selma has only arrow there, no duckdb package")
    written.say("Then a Parquet export beside the DuckDB file would serve her.")
    written.ask("no two formats. drop the database thing, parquet per day like your first one. sorry")
    written.edit("pyproject.toml", 'dependencies = ["click", "duckdb>=1.4"]', 'dependencies = ["click"]')
    written.run("git rm -q src/merge.py && pip uninstall -y duckdb")
    written.say("Parquet it is.")
    decided, insights = told(vault, written, tmp_path)
    assert "takes back" in decided
    for gone in ('→ "duckdb then"', '→ "own part per process'):
        assert gone not in decided
    assert 'It takes back: "duckdb then"' in insights


@pytest.mark.parametrize(
    ("said", "asked", "kept"),
    [
        ("Zenodo gives a DOI at once; the institute's archive has curation.",
         "zenodo. embargo until the paper is out", 'a DOI at once; the institute\'s archive has curation. → "zenodo. embargo'),
        ("The file is written. The embargo needs a date.", "2027-03-31", '→ "2027-03-31"'),
        ("Linear, with a shared axis per row.", "per row is bad, readers compare plots. one axis for all",
         '→ "per row is bad, readers compare plots. one axis for all"'),
        ("Committed.", "good. commit that. for the channels: mono = left channel, not the mean", "mono = left channel"),
        ("Red kite 0.55.", "leave those, we must not change thresholds before the report is out", "thresholds before the report"),
    ],
)  # fmt: skip
def test_short_answers_are_decisions(vault: Vault, tmp_path: Path, said: str, asked: str, kept: str) -> None:
    written = day()
    written.ask("upload the results to zenodo or to the institute's own archive?")
    written.say(said)
    written.ask(asked)
    written.edit("src/upload.py")
    written.say("As you say, it is done that way now.")
    assert kept in told(vault, written, tmp_path)[0]


def test_what_is_put_off_says_of_what_and_is_no_question(vault: Vault, tmp_path: Path) -> None:
    written = day()
    written.say("Rerunning three years takes 40 hours.")
    written.ask("rerun the old ones then, but not now")
    written.say("Noted.")
    written.ask("whats the weather going to be like tomorrow lol")
    written.say("I can't see the weather from here.")
    written.edit("src/reader.py")
    vault.ingest(written.write(tmp_path / "logs"), kind="sessions")
    (handoff,) = vault.list({"type": "agent_handoff"})
    left = handoff.text.partition("## Left open\n")[2].partition("\n\n## ")[0]
    assert 'Rerunning three years takes 40 hours. → "rerun the old ones then, but not now"' in left
    assert "weather" not in left


@pytest.mark.parametrize(
    ("sentence", "following", "left"),
    [
        ("make it 8080, no wait 8181 is free and 8080 is not", "", "8181 is free and 8080 is not"),
        ("port 9000 is taken, make it 9001... no wait that's the proxy.", "9100", "port 9000 is taken: 9100"),
        ("make it 9001, hm, that is the proxy.", "9100", "9100"),
        ("make it 9001 please", "9100", "make it 9001 please"),
    ],
)
def test_what_is_left_after_a_second_thought(sentence: str, following: str, left: str) -> None:
    assert cues.after_second_thought(sentence, following) == left


@pytest.mark.parametrize(
    ("sentence", "takes_back"),
    [
        ("let's do without that library after all", True),
        ("ok, then get rid of the cache", True),
        ("no, go back to the old reader", True),
        ("revert that please", True),
        ("put it beside the rows, and forget the other thing", True),
        ("then that whole runtime is overkill", True),
        ("no two formats. drop the database thing, a file a day as before", True),
        ("dann nein. eine datei pro monat", True),
        ("gut, das plugin werfen wir lieber ganz raus", True),
        ("nun werfen wir das plugin raus", True),
        ("then no. one file a month", True),
        ("the import, e.g. drop and reindex, passes", False),
        ("now back to the tests", False),
        ("can we do without it?", False),
        ("the tests pass without the network", False),
    ],
)
def test_sentences_that_take_something_back(sentence: str, takes_back: bool) -> None:
    assert cues.is_reversal(sentence) is takes_back


def test_a_summary_gives_its_points_but_for_what_the_handoff_says_itself(vault: Vault, tmp_path: Path) -> None:
    written = day()
    written.edit("src/reader.py")
    written.compact(
        "<analysis>\n- a thought about the reader\n</analysis>\n<summary>\n1. Primary Request and Intent:\n   - make the export faster for the "
        "auditors\n2. Errors and fixes:\n   - **the lock of March**: bookings were read twice, mended by an index\n</summary>"
    )
    written.ask("go on with the writer of the export, please")
    written.say("The writer is next.")
    vault.ingest(written.write(tmp_path / "logs"), kind="sessions")
    (handoff,) = vault.list({"type": "agent_handoff"})
    points = handoff.text.partition("in the agent's words\n")[2].partition("\n\n## ")[0]
    assert points == "- the lock of March: bookings were read twice, mended by an index"


def test_a_summary_in_prose_gives_its_sentences() -> None:
    summary = "This session is being continued from a previous conversation.\nWe resample each file once. Thresholds must not change."
    assert [*cues.summary_points(summary)] == ["We resample each file once.", "Thresholds must not change."]


@pytest.mark.parametrize(
    ("arguments", "put", "taken"),
    [
        ({"file_path": "a", "old_string": "import json", "new_string": "import orjson"}, {"orjson"}, {"json"}),
        ({"edits": [{"old_string": "a1", "new_string": "b2 cd"}]}, {"2", "cd"}, {"1"}),
        ({"input": "*** Begin Patch\n*** Update File: x.py\n@@\n-old_name = 1\n+fresh_name = 1\n*** End Patch"}, {"fresh"}, {"old"}),
        ({"file_path": "a", "content": "new text"}, {"new", "text"}, set()),
    ],
)  # fmt: skip
def test_words_that_an_edit_changes(arguments: dict[str, object], put: set[str], taken: set[str]) -> None:
    assert changed_words(arguments) == (frozenset(put), frozenset(taken))


@pytest.mark.parametrize("arguments", [None, "text", {"command": "ls"}, {"edits": "x"}, {"old_string": 3}, {}])
def test_what_is_no_edit_changes_no_words(arguments: object) -> None:
    put, taken = changed_words(arguments) or (frozenset(), frozenset())
    assert not put | taken


@pytest.mark.parametrize(
    ("settled", "reversal"),
    [
        (
            "move the leavers to their own unit, deletion after 90 days",
            "legal just wrote: no deletion of accounts at all. so move only",
        ),
        ("dann machen wir postgres gleich mit, entschieden", "hm dann lass das mit postgres, bleiben wir bei mariadb."),
    ],
    ids=["no … at all", "lass das mit …"],
)
def test_a_decision_denied_by_its_word_is_taken_back(vault: Vault, tmp_path: Path, settled: str, reversal: str) -> None:
    # findings, a stranger's transcripts: both were told as standing
    written = day()
    written.ask("should we delete them or move them?")
    written.say("Moving keeps the history, and a later step could follow.")
    written.ask(settled)
    written.edit("feed/ad.py", "pass", "move(account)")
    written.say("Done.")
    written.ask("and the report?")
    written.say("It is written each Monday.")
    written.ask(reversal)
    written.say("Understood.")
    decided, _ = told(vault, written, tmp_path)
    assert f'which takes back "{settled}"' in decided
    assert f'"{settled}"' not in decided.replace(f'takes back "{settled}"', "")


def test_what_was_put_off_and_then_given_up_is_not_open(vault: Vault, tmp_path: Path) -> None:
    # findings, a stranger's transcript: "redis counter is fine for now" was told as left open
    written = day()
    written.ask("for the daily limit: redis counter is fine for now, let's do that")
    written.edit("src/limit.py")
    written.say("The limit counts in redis.")
    written.ask("redis gets flushed on the drills. scrap the redis counter, count from the gifts table instead")
    written.edit("src/limit.py")
    written.say("It counts from the table.")
    vault.ingest(written.write(tmp_path / "logs"), kind="sessions")
    (handoff,) = vault.list({"type": "agent_handoff"})
    assert "fine for now" not in handoff.text.partition("## Left open")[2].partition("## Decided")[0]
    assert "scrap the redis counter" in handoff.text


PASTED = [
    "KeyError: 274\nfix pls",
    'Traceback (most recent call last):\n  File "/x/exif.py", line 77, in rotate\n    o = exif[0x0112]\nKeyError: 274\n\nfix pls',
    "java.lang.NullPointerException\n\tat com.x.Y.z(Y.java:10)\n\tat com.x.Main.main(Main.java:5)",
    "panic: runtime error: index out of range [5]\ngoroutine 1 [running]:\nmain.main()\n\t/x/main.go:12",
    "Error: address already in use :::3000\n    at Server.listen [as _listen2] (node:net:1463:16)",
    "ERROR 1064 (42000): You have an error in your SQL syntax",
    "2026-11-26 10:00:01 ERROR pool exhausted (active=8)",
    "WARNING: deprecated call in line 12",
    "ValueError: the width must be positive, not -3",
    "src/app.ts:12:5 - error TS2322: Type 'string' is not assignable.",
    "$ make test\nmake: *** [Makefile:12: test] Error 2",
]
REPORTED = [
    "there is a typo in line 30",
    "line 30 has a typo",
    "customer says the total is 12.40 instead of 12.50",
    "the build fails on python 3.9",
    "now I get 3 rows for one booking",
    "2 of the tests are red",
    "es gibt 2 Fehler in Zeile 30",
]
INSTRUCTED = [
    "use port 8443 instead",
    "set the timeout to 30 s",
    "no, keep `retry_limit` at 3",
    "30 s",
    "90 days, legal says",
    "retry 3 times if it fails",
    "if it fails, 3 retries",
    "return 404 when the file is missing",
    "there is a typo in line 30, call it `retries`",
    "customer says the total must be 12.50",
    "ERROR messages in German, 80 characters at most",
]


@pytest.mark.parametrize("prompt", PASTED + REPORTED)
def test_an_error_that_is_pasted_or_reported_is_no_decision(vault: Vault, tmp_path: Path, prompt: str) -> None:
    # findings, a stranger's transcripts: 'The person decided: "KeyError: 274 fix pls"'
    written = day()
    written.say("No warnings in twelve files.")
    written.ask(prompt)
    written.edit("src/reader.py")
    written.say("Mended in reader.py, and the tests are green.")
    decided, insights = told(vault, written, tmp_path)
    assert decided == ""
    assert "decided" not in insights


@pytest.mark.parametrize("prompt", INSTRUCTED)
def test_an_instruction_with_a_number_is_a_decision(vault: Vault, tmp_path: Path, prompt: str) -> None:
    written = day()
    written.say("No warnings in twelve files.")
    written.ask(prompt)
    written.edit("src/reader.py")
    written.say("It is so now in reader.py, and the tests are green.")
    assert prompt in told(vault, written, tmp_path)[0]


def test_what_is_said_to_a_pasted_error_is_told_without_it(vault: Vault, tmp_path: Path) -> None:
    written = day()
    written.say("It could be the camera: either we skip such photos, or they need a default.")
    trace = 'Traceback (most recent call last):\n  File "/x/exif.py", line 77, in rotate\n    o = exif[0x0112]\nKeyError: 274\n'
    written.ask(f"{trace}use 1 where the tag is missing (it means upright)")
    written.edit("src/exif.py")
    written.say("Done, and the photo is upright now.")
    decided, _ = told(vault, written, tmp_path)
    assert '"use 1 where the tag is missing (it means upright)"' in decided
    assert "KeyError" not in decided


def test_a_pasted_error_answers_no_question_and_no_suggestion(vault: Vault, tmp_path: Path) -> None:
    written = day()
    written.say("The reader could take a lock, or it could be a queue. Which of the two do you want for the export?")
    written.ask("KeyError: 'total'\nfix pls")
    written.edit("src/reader.py")
    written.say("Mended in reader.py.")
    decided, insights = told(vault, written, tmp_path)
    assert decided + insights == ""


@pytest.mark.parametrize(
    ("sentence", "decides"),
    [
        ("our CTO always says 'we decided to never test', lol", False),
        ('the auditors wrote: "we decided to keep it for ten years"', False),
        ("the auditors say 'ten years', so we decided to keep it", True),
        ("I said 'use the lock instead of the queue'", True),
        ("if we go with the lock, readers wait", False),
        ("we have not decided on the lock yet", False),
        ("which one we'll go with", False),
        ("let's do it as it is", True),
    ],
)
def test_what_another_one_said_or_nobody_settled_is_no_decision(sentence: str, decides: bool) -> None:
    assert cues.is_user_decision(sentence) is decides


@pytest.mark.parametrize(
    ("sentence", "decides"),
    [
        ("We would have decided to use it in vain.", False),
        ("Nobody has decided on a format.", False),
        ("We could go with SQLite, or with DuckDB.", False),
        ('The README says "we chose MongoDB because it is web scale".', False),
        ("I went with SQLite, as it is there anyway.", True),
        ("I decided not to change the schema.", True),
        ("Wir haben uns für Postgres entschieden, weil SQLite keine zwei Schreiber kann.", True),
        ("Wir haben uns noch nicht entschieden.", False),
        ("Entscheidung: Postgres statt SQLite.", True),
    ],
)
def test_what_an_agent_would_have_decided_is_no_decision(sentence: str, decides: bool) -> None:
    assert cues.is_agent_decision(sentence) is decides


@pytest.mark.parametrize(
    "settled",
    [
        "we'll go with Postgres because SQLite can't take two writers",
        "we go with Postgres",
        "we will go with Postgres",
        "we're going with Postgres.",
        "I'm going with Postgres",
        "the decision is Postgres",
        "final answer: Postgres",
        "Postgres it is",
        "ok, Postgres it is then",
        "wir bleiben bei Postgres",
    ],
)
def test_a_plain_decision_is_told(vault: Vault, tmp_path: Path, settled: str) -> None:
    # findings, a stranger's transcripts: the commonest words of a decision were missed
    written = day()
    written.say("The ledger is in one file, and the export reads it twice.")
    written.ask(settled)
    written.say("It is set up.")
    assert settled in told(vault, written, tmp_path)[0]


@pytest.mark.parametrize("prompt", ["let's do it", "leave it as it is", "the decision is yours", "that is what it is"])
def test_what_names_nothing_is_no_decision(vault: Vault, tmp_path: Path, prompt: str) -> None:
    written = day()
    written.say("The ledger is in one file, and the export reads it twice.")
    written.edit("src/reader.py")
    written.ask(prompt)
    written.say("It is set up.")
    assert told(vault, written, tmp_path)[0] == ""


def test_staying_with_what_was_decided_confirms_it(vault: Vault, tmp_path: Path) -> None:
    # findings, a stranger's transcript: "we stay with Postgres" took back that Postgres is used
    written = day()
    written.ask("which database should hold the bookings?")
    written.say("I suggest using Postgres for the ledger, as two writers need it.")
    written.ask("ok, do that")
    written.edit("src/store.py")
    written.say("Done, it is set up.")
    written.ask("and what about MySQL for it?")
    written.say("MySQL would work too, replication is simpler.")
    written.ask("we stay with Postgres, no longer any MySQL talk please")
    written.say("Understood.")
    decided, insights = told(vault, written, tmp_path)
    assert "I suggest using Postgres for the ledger" in decided
    assert "we stay with Postgres" in decided
    assert "takes back" not in decided + insights


def test_staying_with_something_takes_back_no_other_decision(vault: Vault, tmp_path: Path) -> None:
    # findings, a stranger's transcript: "we stay with Pillow" took back the mend of a leak
    written = day()
    written.say("The leak is in `pool.py`: the Pillow handle is never closed. I suggest closing it in a `finally`.")
    written.ask("ok do that")
    written.edit("src/pool.py")
    written.say("Done, the handles are closed.")
    written.ask("let's set the retries to 5 for the upload, it is flaky")
    written.edit("src/upload.py")
    written.say("Five tries.")
    written.ask("should we switch from Pillow to libvips?")
    written.say("libvips is faster, also in the upload, but has no musl wheels.")
    written.ask("then no. we stay with Pillow until the base image of the upload moves off alpine")
    written.say("Understood.")
    decided, insights = told(vault, written, tmp_path)
    for stands in ("The leak is in `pool.py`", "retries to 5", "we stay with Pillow"):
        assert stands in decided
    assert "takes back" not in decided + insights


@pytest.mark.parametrize(
    "change",
    [
        "let's switch to libvips for the thumbnails, it is faster",
        "let's switch from Pillow to something faster",
        "let's use libvips instead of Pillow",
    ],
)
def test_staying_with_something_takes_back_the_change_from_it(vault: Vault, tmp_path: Path, change: str) -> None:
    written = day()
    written.ask(change)
    written.edit("src/thumbs.py")
    written.say("It runs with libvips now.")
    written.ask("how big is the image of the container?")
    written.say("It needs a compiler: libvips has no musl wheels, so 400 MB more.")
    written.ask("no, we stay with Pillow")
    written.say("Understood.")
    decided, _ = told(vault, written, tmp_path)
    assert f'we stay with Pillow", which takes back "{change}"' in decided
    assert f'"{change}"' not in decided.replace(f'takes back "{change}"', "")


def test_a_rule_for_the_next_time_is_not_left_open(vault: Vault, tmp_path: Path) -> None:
    # findings, a stranger's transcript
    written = day()
    written.ask("the purge on monday went wrong. next time use scripts/purge.sh, not curl by hand")
    written.say("Noted: the script takes the key from the tag.")
    written.ask("next time we look at the sorting of the export")
    written.say("Good.")
    decided, insights = told(vault, written, tmp_path)
    (handoff,) = vault.list({"type": "agent_handoff"})
    left = handoff.text.partition("## Left open\n")[2].partition("\n\n## ")[0]
    assert "next time use scripts/purge.sh" in decided
    assert "A standing rule" in insights
    assert "purge.sh" not in left
    assert "sorting of the export" in left


@pytest.mark.parametrize(
    ("reply", "is_open"),
    [
        ("Hecho, todo listo.", False),
        ("Todo funciona, sobre todo la búsqueda.", False),
        ("TODO you purge the cache on Monday", True),
        ("todo: write the docs", True),
        ("The sorting is on the todo list.", True),
        ("That is a to-do of yours.", True),
    ],
)
def test_what_is_to_do_is_open_and_spanish_is_not(reply: str, is_open: bool) -> None:
    assert [*cues.open_points(reply)] == ([reply] if is_open else [])


@pytest.mark.parametrize(
    "advice",
    [
        "Given the small team, I recommend SQLite instead of Postgres because it needs no server.",
        "My recommendation: going with SQLite, because it needs no server.",
        "I think we should keep SQLite rather than Postgres because it needs no server.",
        "Bei dem kleinen Team würde ich SQLite nehmen, weil es keinen Server braucht.",
    ],
)
@pytest.mark.parametrize(("answer", "is_decided"), [("ok, do that", True), ("what does a server cost a month?", False)])
def test_advice_is_a_decision_once_the_person_agrees(
    vault: Vault, tmp_path: Path, advice: str, answer: str, is_decided: bool
) -> None:
    # a stranger's trial: "I recommend SQLite" was told as decided, and the person had only asked on
    written = day()
    written.ask("which database does the new ledger get?")
    written.say(f"There are two that would do. {advice}")
    written.ask(answer)
    written.edit("docs/costs.md")
    written.say("Here is what I know of it.")
    decided, insights = told(vault, written, tmp_path)
    assert ("SQLite" in decided) is is_decided
    assert ("SQLite" in insights) is is_decided


@pytest.mark.parametrize(
    ("reply", "answer", "is_told"),
    [
        (
            "We keep login sessions in Redis for 12 hours.",
            "Petra moved the launch to 2026-12-15, the pier is not ready.",
            False,
        ),
        ("The parser reads each line twice.", "Der Start ist am 15. März, sagt Jan.", False),
        ("Readers wait for the lock of the writer.", "the freeze is on march 3", False),
        ("The limit of uploads is 20 MB here.", "make it 50 MB for everybody please", True),
        ("The export has no header line yet.", "the header must be in German", True),
        ("It could exit, or print a warning and go on.", "exit code 3 and a message", True),
    ],
)
def test_a_decision_is_told_with_what_it_refers_to_alone(
    vault: Vault, tmp_path: Path, reply: str, answer: str, is_told: bool
) -> None:
    written = day()
    written.ask("how does that part of the program behave?")
    written.say(reply)
    written.ask(answer)
    written.edit("src/ledger.py")
    written.say("Noted, it is so now.")
    decided, insights = told(vault, written, tmp_path)
    assert answer in decided
    assert (reply in decided) is is_told
    assert (f"The agent had said: {reply}" in insights) <= is_told


@pytest.mark.parametrize(
    ("sentence", "rules"),
    [
        ("die Vorlagen fasst du bitte nie an, die sind unterschrieben", True),
        ("alt/ bitte nie überschreiben, das gehört der Buchhaltung", True),
        ("nie direkt auf den Hauptzweig schieben", True),
        ("den Hauptzweig änderst du nie direkt", True),
        ("auf den Server darf nie von Hand geschrieben werden", True),
        ("bitte auf keinen Fall die Vorlagen ändern", True),
        ("Finger weg von den Vorlagen, die sind unterschrieben", True),
        ("keep your hands off the templates, they are signed", True),
        ("hands off the ledger folder please", True),
        ("the archive is off limits", True),
        ("use metres, not feet", True),
        ("nimm Liter, nicht Gallonen", True),
        ("bitte nur Gramm verwenden, keine Unzen", True),
        ("we always embed the fonts", True),
        ("das habe ich noch nie gesehen", False),
        ("das hat nie funktioniert", False),
        ("das wird so nie fertig werden", False),
        ("das kann nie passieren", False),
        ("die Waage hat noch nie richtig gewogen", False),
        ("wir haben nie getestet, ob sie laufen", False),
        ("das schaffst du nie", False),
        ("der Aufzug fährt nie bis oben, komisch", False),
        ("Kunden fragen nie nach Preisen", False),
        ("we never got that to work", False),
        ("we never had that problem", False),
        ("you never found out why it failed", False),
        ("a hands off approach is fine here", False),
        ("use the big photo here, not the one from Monday", False),
        ("use port 8443, not 8080", False),
        ("nur gestern, kein Problem", False),
    ],
)
def test_a_standing_prohibition_is_a_rule(sentence: str, rules: bool) -> None:
    # a stranger's trial: "vendor/ bitte nie anfassen" and "use pnpm, not npm" left no rule
    assert cues.is_rule(sentence) is rules


@pytest.mark.parametrize(
    ("prompt", "kept"),
    [
        ("visitors are lost with letters. Forget letters, numbers on every ticket", "numbers on every ticket"),
        ("the new supplier is down. ok so back to the old one, but with a timer", "back to the old one"),
        ("Der Anbieter ist weg. also zurück zum alten Zähler, aber mit Deckel", "zurück zum alten Zähler"),
        ("Vergiss Hafermilch, überall Kuhmilch, ohne Auswahl", "überall Kuhmilch"),
        ("40 litres was a bad idea for bed two, it is clay. Set bed two to 25 and leave the rest", "Set bed two to 25"),
        ("moving the hives was a mistake, they are cold. Put them back by the barn", "by the barn"),
        ("forget what I said about the lunch", ""),
        ("don't forget the rota for Sunday", ""),
        ("ok, back to the question from before: which bed is wet", ""),
        ("there was a mistake in the parser again", ""),
    ],
)
def test_what_takes_the_place_of_what_was_so_is_decided(vault: Vault, tmp_path: Path, prompt: str, kept: str) -> None:
    # a stranger's trial: "Forget station time, UTC everywhere" was in no start that came after it
    written = ClaudeCodeDay("4c0e7c7a-1a2b-4c3d-8e4f-5a6b7c8d9e0f", FOLDER, "2026-10-14T08:55:00Z")
    written.ask(prompt)
    written.edit("src/reader.py")
    written.say("As you say, it is done that way now.")
    decided, insights = told(vault, written, tmp_path)
    if kept:
        assert kept in insights
    assert bool(decided) is bool(kept)


def test_a_bad_idea_takes_back_what_has_its_number(vault: Vault, tmp_path: Path) -> None:
    written = day()
    written.ask("set the mask to 7 degrees please")
    written.edit("ops/mask.toml")
    written.say("The mask is 7 degrees.")
    written.ask("set the turn to 300 degrees please")
    written.edit("ops/turn.toml")
    written.say("The turn is 300 degrees.")
    written.ask("7 degrees was a bad idea, there are trees. Set the mask to 8.5")
    written.edit("ops/mask.toml")
    written.say("It is 8.5 now.")
    decided, _ = told(vault, written, tmp_path)
    assert 'takes back "set the mask to 7 degrees please"' in decided
    assert '- "set the turn to 300 degrees please"' in decided.replace("The mask is 7 degrees. → ", "")


def test_a_deferral_says_what_it_puts_off_and_a_point_is_told_once(vault: Vault, tmp_path: Path) -> None:
    # a stranger's trial: "tell Frank … I'll do that myself" was told of another point, and that one twice
    written = day()
    written.edit("src/reader.py")
    written.say("The flour comes from the old mill. Open: the gluten label has no source now.")
    written.ask("ok, write Marta that the label is gone. I'll do that myself tomorrow")
    vault.ingest(written.write(tmp_path / "logs"), kind="sessions")
    (handoff,) = vault.list({"type": "agent_handoff"})
    assert "not finished" not in handoff.text
    assert handoff.text.partition("## Left open\n")[2].partition("\n\n## ")[0].splitlines() == [
        '- "ok, write Marta that the label is gone. I\'ll do that myself tomorrow"',
        "- Open: the gluten label has no source now.",
    ]


def test_what_a_person_misses_is_open_until_the_agent_sets_about_it(vault: Vault, tmp_path: Path) -> None:
    written = day()
    written.ask("good. still missing: the export has no header line")
    written.edit("src/reader.py")
    written.say("It has one now.")
    vault.ingest(written.write(tmp_path / "logs"), kind="sessions")
    (handoff,) = vault.list({"type": "agent_handoff"})
    assert "## Left open" not in handoff.text


def test_a_question_that_got_an_answer_is_not_open(vault: Vault, tmp_path: Path) -> None:
    # a stranger's trial: it stood above "Decided: … → yep"
    written = day()
    written.ask("port 8460 is taken on the new box, we need another one")
    written.say("8471 is free. Shall I take it?")
    written.ask("yep")
    written.edit("ops/api.service")
    written.say("The export listens on 8471 now.")
    vault.ingest(written.write(tmp_path / "logs"), kind="sessions")
    (handoff,) = vault.list({"type": "agent_handoff"})
    assert "the agent asked" not in handoff.text
    assert "Shall I take it? → yep" in handoff.text
