"""Handoffs of long sessions: more than 150 turns, failures and mends, a compaction, agents, one broken off."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import lamina
from lamina import Vault
from lamina_engine.sessions.cutting import estimate_tokens
from tests.engine.sessions.test_handoff import section
from tests.engine.sessions.workday import ClaudeCodeDay, CodexDay


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return lamina.open(tmp_path / "vault", create=True, embedder="none")


def busy(day: ClaudeCodeDay | CodexDay, turns: int, seed: int) -> None:
    """Turns that are worth nothing the next morning."""
    rng = random.Random(seed)
    for _ in range(turns):
        day.wait(rng.choice([0, 1, 31]))
        day.ask(rng.choice(["go on", "yes", "thanks, next", "run everything again", "and staging?"]))
        day.run(
            rng.choice(["git status", "git diff --stat", "pytest -q collector"]),
            rng.choice(["clean", "88 passed in 4.12s"]),
        )
        day.say(rng.choice(["88 passed.", "Done.", "Still green."]))


def gateways() -> ClaudeCodeDay:
    """A terse person, many agents' tools: lists by entry, a question with options, a refusal, an agent, a compaction."""
    day = ClaudeCodeDay("c3d90d1e-0b54-4c55-a0f2-9e1c2f6f0a11", "/home/ravi/orchard", "2026-12-01T06:30:00Z")
    day.ask(
        "Morning! Our gateways lose readings whenever the modem reconnects. Make them survive an outage of an hour."
    )
    for number, text in enumerate(["Reproduce the loss", "Persist readings", "Field test in the orchard"], 1):
        day.use("TaskCreate", {"subject": text, "description": "-"}, f"Task #{number} created successfully: {text}")
    prompt = "Follow a reading from the sensor to the publish and report where it may be dropped."
    answer = "Readings sit in a ring of 16 entries (gateway/src/ring.c:9), so after eight minutes the oldest are overwritten."
    day.agent("Trace the reading path", prompt, [("rg -n publish", "mqtt.c:212: publish(")], answer, inline=True)
    day.say("The ring holds 16 entries and overwrites silently, so anything beyond eight minutes is lost.")
    day.use(
        "AskUserQuestion",
        {"questions": []},
        'User has answered your questions: "Where are readings kept?"="Flash". You can go on.',
    )
    day.edit("gateway/src/spool.c")
    failing = "cc -Wall -o test_spool test_spool.c\ntest_spool.c:44:12: error: implicit declaration of function 'lfs_file_sync'\n1 error generated."
    day.run("make -C gateway test", failing, code=2)
    day.say("LittleFS is compiled in read-only mode by our config, which hides `lfs_file_sync`.")
    day.edit("gateway/lfs_config.h")
    day.run("make -C gateway test", "15 tests passed")
    day.ask("wait, don't write flash on every sample, it wears out. batch them, max once a minute")
    day.edit("gateway/src/spool.c")
    day.say("Samples are flushed once a minute or when 64 have gathered.")
    refused = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nnever force push, open a merge request"
    day.use("Bash", {"command": "git push --force"}, refused, failed=True)
    day.run('git commit -am "Spool readings during outages"', "[spool 1f2e3d4] Spool readings during outages")
    busy(day, 80, seed=3)
    day.compact("Analysis: the conversation so far ...")
    day.ask("next: collector. resent readings must not be counted twice")
    day.edit("collector/dedupe.py")
    day.run(
        "pytest -q collector",
        "E   sqlite3.IntegrityError: UNIQUE constraint failed: readings.seq\n1 failed, 88 passed",
        code=1,
    )
    day.say("Turns out `seq` restarts at 0 when a gateway reboots, so two honest readings collide.")
    day.edit("collector/dedupe.py")
    day.run("pytest -q collector", "91 passed in 4.51s")
    for number in (1, 2):
        day.use("TaskUpdate", {"taskId": str(number), "status": "completed"}, f"Updated task #{number} status")
    day.say(
        "Resent readings count once.\n\n**Still open**\n- Old gateways send no boot counter until they are flashed."
    )
    busy(day, 80, seed=4)
    day.ask("Last thing for today: write the release note for 2.4")
    day.edit("docs/release-2.4.md")
    day.say("The note is in docs/release-2.4.md. Do you want it in German as well for the cooperatives?")
    return day


def test_a_long_day_is_told_on_a_page(vault: Vault, tmp_path: Path) -> None:
    day = gateways()
    assert sum(line["type"] == "user" and isinstance(line["message"]["content"], str) for line in day.lines) >= 160
    vault.ingest(day.write(tmp_path / "projects"), kind="sessions")
    found = vault.sessions.handoff(day.session)
    text = found[0].text
    assert 300 <= estimate_tokens(len(text)) <= 700
    assert "lose readings whenever the modem reconnects" in section(text, "Goal")[0]
    left = "\n".join(section(text, "Left open"))
    assert "Field test in the orchard (pending)" in left
    assert "Reproduce the loss" not in left
    assert "no boot counter until they are flashed" in left
    assert "in German as well for the cooperatives?" in left
    decided = "\n".join(section(text, "Decided"))
    assert "Where are readings kept? Flash" in decided
    assert "never force push" in decided
    assert "don't write flash on every sample" in decided
    assert "ring of 16 entries" in "\n".join(section(text, "Files"))
    failures = "\n".join(section(text, "Failures"))
    assert "implicit declaration of function" in failures
    assert "compiled in read-only mode" in failures
    assert "`seq` restarts at 0" in failures
    noise = ("thanks, next", "clean", "toolu_", "Task #", "This session is being continued")
    assert not [mark for mark in noise if mark in text]
    learnt = [chunk.text for chunk in found[1:]]
    assert len(learnt) <= 6
    assert any("UNIQUE constraint failed" in each and "restarts at 0" in each for each in learnt)
    assert len({agent for session in vault.sessions() for agent in session.agents}) == 2


def test_what_is_derived_takes_no_place_of_what_it_is_derived_from(vault: Vault, tmp_path: Path) -> None:
    day = gateways()
    vault.ingest(day.write(tmp_path / "projects"), kind="sessions")
    derived = {chunk.id for chunk in vault.sessions.handoff(day.session)}
    for question in (
        "readings sit in a ring of 16 entries",
        "don't write flash on every sample",
        "UNIQUE constraint failed: readings.seq",
        "implicit declaration of function lfs_file_sync",
    ):
        hits = vault.recall(question, k=10)
        assert any(hit.id not in derived for hit in hits[:2]), "one of two is what was said"
        for hit in hits:
            assert (hit.role == "derived") is (hit.id in derived)


def test_a_rollout_that_broke_off_in_another_language(vault: Vault, tmp_path: Path) -> None:
    day = CodexDay("0199f0aa-2222-7000-8000-0000000000b2", "/Users/jo/src/wetter", "2026-11-03T17:20:00Z")
    day.ask("Die Karte flackert beim Zoomen auf dem iPad. Finde heraus warum, bitte keine neuen Abhängigkeiten.")
    busy(day, 150, seed=5)
    day.say("Ursache: Beim Zoomen wird die Ebene neu erzeugt, weil der Schlüssel die Zoomstufe enthält.")
    day.edit("src/map/TileLayer.tsx")
    day.run("npm test", "  ● keeps the layer when zooming\nTests: 1 failed, 18 passed, 19 total", code=1)
    day.edit("src/map/TileLayer.test.tsx")
    day.run("npm test", "Tests: 19 passed, 19 total")
    day.ask("super. lass uns den Schlüssel ganz weglassen statt ihn zu runden. Morgen noch auf dem alten iPad testen!")
    day.run("npm run build", "error TS2741: Property 'key' is missing in type '{}'.", code=2)
    vault.ingest(day.write(tmp_path / "sessions"), kind="sessions")
    text = vault.sessions.handoff(day.session)[0].text
    assert section(text, "Outcome")[0].startswith("- not finished: the last request has no answer")
    left = "\n".join(section(text, "Left open"))
    assert "Morgen noch auf dem alten iPad testen!" in left
    assert "`npm run build` still fails: error TS2741" in left
    assert "lass uns den Schlüssel ganz weglassen" in "\n".join(section(text, "Decided"))
    assert section(text, "Files") == ["- changed: src/map/TileLayer.tsx, src/map/TileLayer.test.tsx"]
