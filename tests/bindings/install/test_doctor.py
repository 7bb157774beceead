"""The doctor finds each planted fault, and names the command that mends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lamina
from lamina.cli import main
from lamina.install.agents import program_path

SETTINGS = ".claude/settings.json"


class Place(NamedTuple):
    home: Path
    project: Path

    @property
    def settings(self) -> Path:
        return self.home / SETTINGS

    def rewrite(self, change: Callable[[dict[str, Any]], None], file: str = SETTINGS) -> None:
        document = json.loads((self.home / file).read_text())
        change(document)
        (self.home / file).write_text(json.dumps(document))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Claude Code and Gemini with Lamina in order, and a vault."""
    if not Path(sys.executable).with_name("lamina").exists():
        pytest.skip("the program lamina is not installed beside this interpreter")
    home, project = tmp_path / "home", tmp_path / "shop"
    for folder in (home, project):
        folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / ".local" / "share"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(project)
    for words in (["init", "--embedder", "none"], ["add", "Deploys run on Tuesdays."]):
        assert main(words) == 0
    for agent in ("claude-code", "gemini"):
        assert main(["install", agent, "--no-mcp"]) == 0
    return Place(home, project)


def examined(capsys: pytest.CaptureFixture[str], agent: str = "claude-code") -> tuple[int, list[dict[str, str]]]:
    capsys.readouterr()
    code = main(["doctor", agent, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] == (code == 0)
    return code, document["findings"]


def test_all_is_well(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    for agent in ("claude-code", "gemini"):
        code, findings = examined(capsys, agent)
        assert (code, [each for each in findings if each["remedy"]]) == (0, [])
    before = sorted(str(path) for path in place.home.rglob("*"))
    main(["doctor"])
    assert sorted(str(path) for path in place.home.rglob("*")) == before


def moved(place: Place) -> None:
    text = place.settings.read_text()
    place.settings.write_text(text.replace(program_path(), "/gone/bin/lamina"))


def other(place: Place) -> None:
    stray = place.home / "lamina"
    stray.write_text("#!/bin/sh\nexec " + program_path() + ' "$@"\n')
    stray.chmod(0o755)
    place.settings.write_text(place.settings.read_text().replace(program_path(), str(stray)))


def not_a_program(place: Place) -> None:
    stray = place.home / "lamina"
    stray.write_text("nothing")
    stray.chmod(0o644)
    place.settings.write_text(place.settings.read_text().replace(program_path(), str(stray)))


def broken_program(place: Place) -> None:
    stray = place.home / "lamina"
    stray.write_text("#!/bin/sh\necho hello\nexit 3\n")
    stray.chmod(0o755)
    place.settings.write_text(place.settings.read_text().replace(program_path(), str(stray)))


def milliseconds(place: Place) -> None:
    place.settings.write_text(place.settings.read_text().replace('"timeout": 5', '"timeout": 5000'))


def half_removed(place: Place) -> None:
    place.rewrite(lambda document: document["hooks"].pop("SessionEnd"))


def twice(place: Place) -> None:
    place.rewrite(lambda document: document["hooks"]["Stop"].extend(document["hooks"]["Stop"]))


def unparsable(place: Place) -> None:
    place.settings.write_text(place.settings.read_text() + "}")


def no_vault(place: Place) -> None:
    (place.project / ".lamina").rename(place.home / "elsewhere")


def damaged(place: Place) -> None:
    (place.project / ".lamina" / "CURRENT").write_text("nonsense")


def untrusted(place: Place) -> None:
    git = ["git", "-C", str(place.project)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-f", ".lamina"], check=True)
    for note in (place.home / ".config" / "lamina" / "trusted").iterdir():
        note.unlink()


def stuck(place: Place) -> None:
    queue = place.project / ".lamina" / "queue"
    queue.mkdir(exist_ok=True)
    waiting = queue / "aa.json"
    waiting.write_text("{}")
    os.utime(waiting, (time.time() - 9_999, time.time() - 9_999))


def not_captured(place: Place) -> None:
    queue = place.project / ".lamina" / "queue"
    queue.mkdir(exist_ok=True)
    (queue / "capture.log").write_text('{"session": "s1", "chunks": 0, "problems": 1}\n')


def skill_changed(place: Place) -> None:
    (place.home / ".claude" / "skills" / "handoff" / "SKILL.md").unlink()


def disabled(place: Place) -> None:
    place.rewrite(lambda document: document.update(disableAllHooks=True))


def switched_off(place: Place) -> None:
    os.environ["LAMINA_HOOKS"] = "off"


FAULTS: dict[Callable[[Place], None], tuple[str, str]] = {
    moved: ("is gone", "lamina install claude-code"),
    other: ("another Lamina", "lamina install claude-code"),
    not_a_program: ("cannot be run", "chmod +x"),
    broken_program: ("exits with 3", "lamina install claude-code"),
    milliseconds: ("reads seconds", "lamina install claude-code"),
    half_removed: ("no hook for SessionEnd", "lamina install claude-code"),
    twice: ("2 hooks for Stop", "lamina install claude-code"),
    unparsable: ("does not parse", "an editor"),
    no_vault: ("there is none", "lamina init --user"),
    damaged: ("cannot be opened", "lamina verify"),
    untrusted: ("came with a clone", "lamina trust"),
    stuck: ("1 waits for more than an hour", "lamina.hooks.capture"),
    not_captured: ("of session s1, failed", "capture.log"),
    skill_changed: ("is missing", "lamina install claude-code"),
    disabled: ("disableAllHooks", "disableAllHooks"),
    switched_off: ("switches all hooks off", "unset LAMINA_HOOKS"),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_found(
    place: Place, fault: Callable[[Place], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMINA_HOOKS", "")
    fault(place)
    said, remedy = FAULTS[fault]
    code, findings = examined(capsys)
    assert code == 1
    found = [each for each in findings if said in each["text"]]
    assert found, findings
    assert all(remedy in each["remedy"] for each in found)


@pytest.mark.parametrize(
    "fault", [moved, other, broken_program, milliseconds, half_removed, twice, skill_changed], ids=lambda f: f.__name__
)
def test_the_named_command_mends_it(
    place: Place, fault: Callable[[Place], None], capsys: pytest.CaptureFixture[str]
) -> None:
    fault(place)
    assert main(["install", "claude-code", "--no-mcp"]) == 0
    code, findings = examined(capsys)
    assert code == 0, findings


def test_seconds_where_milliseconds_are_read(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    file = place.home / ".gemini" / "settings.json"
    file.write_text(file.read_text().replace("5000", "5"))
    code, findings = examined(capsys, "gemini")
    assert code == 1
    assert any("reads milliseconds" in each["text"] for each in findings)


@pytest.mark.parametrize(
    ("address", "told"), [("s3://bucket/vault", "object storage"), ("http://10.0.0.5:8000/team", "served by a cluster")]
)
def test_an_address_is_no_vault_for_hooks(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], address: str, told: str
) -> None:
    monkeypatch.setenv("LAMINA_VAULT", address)
    code, findings = examined(capsys)
    said = next(each for each in findings if each["about"] == "vault")
    assert (code, said["remedy"]) == (1, "unset LAMINA_VAULT && lamina init --user")
    assert told in said["text"]


def test_nothing_installed(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    code, findings = examined(capsys, "cursor")
    assert (code, findings[-1]["remedy"]) == (1, "lamina install cursor")


def test_an_agent_that_shares_a_file_is_not_installed_by_it(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lamina.cli.install.find_spec", lambda name: object())  # .mcp.json is Copilot's, too
    monkeypatch.setattr("lamina.install.doctor.find_spec", lambda name: object())
    assert main(["install", "claude-code", "--scope", "project"]) == 0
    code, findings = examined(capsys, "copilot")
    assert (code, findings[-1]["remedy"]) == (1, "lamina install copilot")
    assert "copilot" not in {each["about"] for each in findings}
    (place.project / ".mcp.json").write_text("{")  # what is torn is not Copilot's either
    assert "copilot" not in {each["about"] for each in examined(capsys, "copilot")[1]}
    (place.project / ".mcp.json").unlink()
    assert main(["install", "copilot", "--scope", "project", "--no-hooks", "--no-skills"]) == 0
    code, findings = examined(capsys, "copilot")
    assert (code, findings[-1]["text"]) == (0, "1 file in order (project)")
    for note in (place.home / ".config" / "lamina" / "installed").iterdir():
        note.unlink()
    assert examined(capsys, "copilot")[0] == 1  # nobody noted it, and it is everybody's
    _, findings = examined(capsys)
    assert "2 files in order (project)" in [each["text"] for each in findings]  # with its own settings


def test_sessions_of_the_doctor_leave_no_memory(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    examined(capsys)
    with lamina.open(place.project / ".lamina", mode="r") as vault:
        assert len(vault.list()) == 1
