"""Install and uninstall: bytes equal before and after, twice is once, and nothing of anybody else's is touched."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lamina.cli import main
from lamina.install import jsonc, toml
from lamina.install.agents import AGENTS
from tests.bindings.install.settings import BROKEN, CLAUDE, SERVERS, TOML

Files = dict[str, bytes]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(path / ".config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(path / ".local" / "share"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lamina.cli.install.find_spec", lambda name: object())  # the extra is there
    return path


def everything(home: Path) -> Files:
    """Return the files below a home folder, and its folders, but for Lamina's own notes."""
    own = home / ".config" / "lamina"
    found = [path for path in sorted(home.rglob("*")) if own not in (path, *path.parents)]
    return {str(path.relative_to(home)): path.read_bytes() if path.is_file() else b"(folder)" for path in found}


def run(*words: str) -> None:
    assert main(list(words)) == 0


PLACES = {
    "claude-code": (".claude/settings.json", CLAUDE), "gemini": (".gemini/settings.json", [*CLAUDE, *SERVERS]),
    "cursor": (".cursor/mcp.json", SERVERS), "codex": (".codex/config.toml", TOML),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", SERVERS),
}  # fmt: skip
CASES = [
    pytest.param(agent, place, text, id=f"{agent}-{i}")
    for agent, (place, texts) in PLACES.items()
    for i, text in enumerate(texts)
]


def test_there_are_thirty_settings_files_at_least() -> None:
    assert len(CLAUDE) + len(SERVERS) + len(TOML) >= 30


@pytest.mark.parametrize(("agent", "place", "text"), CASES)
def test_bytes_are_equal_before_and_after(home: Path, agent: str, place: str, text: str) -> None:
    file = home / place
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode())
    file.chmod(0o600)
    before = everything(home)
    run("install", agent)
    once = everything(home)
    assert once[place] != before[place]
    assert file.stat().st_mode & 0o777 == 0o600
    run("install", agent)
    assert everything(home) == once
    run("uninstall", agent)
    after = everything(home)
    assert {name: content for name, content in after.items() if content != b"(folder)" or name in before} == before


@pytest.mark.parametrize(("agent", "place", "text"), CASES)
def test_what_others_have_changed_since_stays(home: Path, agent: str, place: str, text: str) -> None:
    file = home / place
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode())
    run("install", agent)
    reader = toml.read if file.suffix == ".toml" else jsonc.read
    added = file.read_bytes().decode()
    if file.suffix == ".toml":
        edited = "mine_too = 1\n" + added
    else:
        edited = jsonc.add(added, ("mineToo",), {"a": [1, 2]})
    file.write_bytes(edited.encode())
    run("install", agent)
    assert reader(file.read_bytes().decode()) == reader(edited)
    run("uninstall", agent)
    got = reader(file.read_bytes().decode())
    assert got.pop("mineToo", None) or got.pop("mine_too", None)
    assert "lamina" not in json.dumps(got).replace("lamina2", "")
    expected = reader(text)
    for name in ("hooks", "mcpServers", "mcp_servers"):  # containers that we would have made may go with us
        if name in expected and name not in got:
            assert not any(expected.pop(name).values() if name == "hooks" else expected.pop(name))
    for name in [name for name, groups in expected.get("hooks", {}).items() if not groups]:
        expected["hooks"].pop(name)
        got["hooks"].pop(name, None)
    assert got == expected


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_from_nothing_and_back(home: Path, agent: str) -> None:
    run("install", agent)
    once = everything(home)
    assert once
    run("install", agent)
    assert everything(home) == once
    text = b"".join(once.values()).decode()
    for word in ("sh -c", "bash", "npx", "uvx", "0.1.0"):
        assert word not in text.replace("lamina uninstall", "")
    run("uninstall", agent)
    assert {name for name in everything(home) if not name.startswith(".config")} == set()
    assert [name for name, content in everything(home).items() if content != b"(folder)"] == []


def test_all_agents_together_and_in_any_order(home: Path) -> None:
    for agent in AGENTS:
        run("install", agent)
    together = everything(home)
    run("uninstall", "copilot")
    left = everything(home)
    assert {name for name in set(together) - set(left) if together[name] != b"(folder)"} == {
        ".copilot/hooks/lamina.json", ".copilot/mcp-config.json",
    }  # fmt: skip
    for agent in reversed(AGENTS):
        run("uninstall", agent)
    assert [name for name, content in everything(home).items() if content != b"(folder)"] == []


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent != "claude-desktop"])
def test_a_project_of_its_own(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    monkeypatch.chdir(project)
    run("install", agent, "--scope", "project")
    assert any(path.is_file() for path in project.rglob("*"))
    assert everything(home) == {} or set(everything(home)) == {".config"}
    run("uninstall", agent, "--scope", "project")
    assert list(project.rglob("*")) == []


def test_uninstall_says_where_it_is(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    monkeypatch.chdir(project)
    run("install", "claude-code", "--scope", "project")
    before = everything(project)
    for words, hint in (
        (["claude-code"], "lamina uninstall claude-code --scope project"),
        (["claude-code", "--dry-run"], "lamina uninstall claude-code --scope project"),
        (["copilot"], ""), (["copilot", "--scope", "project"], ""), (["claude-desktop"], ""),
    ):  # fmt: skip
        capsys.readouterr()
        run("uninstall", *words)
        said = capsys.readouterr().out
        assert "nothing of Lamina is there" in said
        assert hint in said if hint else "lamina uninstall" not in said
    monkeypatch.chdir(home)
    capsys.readouterr()
    run("uninstall", "claude-code", "--json")
    assert str(project) in json.loads(capsys.readouterr().out)["notes"][0]
    assert everything(project) == before
    run("install", "cursor")
    monkeypatch.chdir(project)
    capsys.readouterr()
    run("uninstall", "cursor", "--scope", "project")
    assert "`lamina uninstall cursor`" in capsys.readouterr().out


EMPTIED = {
    "claude-code": ".claude/settings.json", "gemini": ".gemini/settings.json", "cursor": ".cursor/hooks.json",
    "codex": ".codex/config.toml", "opencode": ".config/opencode/opencode.json",
}  # fmt: skip


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(("agent", "place"), EMPTIED.items())
def test_a_file_that_we_made_goes_if_nothing_was_put_in(home: Path, agent: str, place: str, again: bool) -> None:
    file = home / place
    run("install", agent)
    file.write_bytes(file.read_bytes() + b"\n\n")
    if again:
        run("install", agent)
    run("uninstall", agent)
    assert [name for name, content in everything(home).items() if content != b"(folder)"] == []
    assert [name for name in everything(home) if not name.startswith(".config")] == []
    run("install", agent)  # a comment is somebody's work
    mark = b"# mine\n" if file.suffix == ".toml" else b"// mine\n"
    file.write_bytes(mark + file.read_bytes())
    if again:
        run("install", agent)
    run("uninstall", agent)
    assert file.read_bytes().startswith(mark)


def test_a_file_made_anew_by_its_owner_stays(home: Path) -> None:
    file = home / ".claude" / "settings.json"
    run("install", "claude-code")
    file.write_text("{}")
    run("install", "claude-code")
    run("uninstall", "claude-code")
    assert file.read_text() == "{}"


@pytest.mark.parametrize("indent", ["    ", "\t"])
def test_a_dry_run_shows_the_text_that_is_written(home: Path, capsys: pytest.CaptureFixture[str], indent: str) -> None:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(f'{{\n{indent}"model": "a  b\x7f"\n}}\n')
    run("install", "claude-code", "--dry-run", "--no-mcp", "--no-skills")
    shown = capsys.readouterr().out.splitlines()[3:]
    run("install", "claude-code", "--no-mcp", "--no-skills")
    written = file.read_text().replace("\x7f", "\\x7f").splitlines()  # what could move the cursor is spelled out
    assert [line[1:] for line in shown if line[0] in " +"] == written


@pytest.mark.parametrize("text", BROKEN)
def test_what_does_not_parse_is_left_alone_and_said(home: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(text)
    assert main(["install", "claude-code"]) == 1
    assert file.read_text() == text
    assert capsys.readouterr().err
    assert [path for path in home.rglob("*") if path.is_file()] == [file]  # nothing of the rest either


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
@pytest.mark.parametrize("how", ["pipe", "device", "folder", "long", "deep"])
def test_settings_that_are_no_settings_are_left_alone(home: Path, how: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    if how == "pipe":
        os.mkfifo(file)
    elif how == "device":
        file.symlink_to("/dev/zero")
    elif how == "folder":
        file.mkdir()
    else:
        file.write_text('{"a": ' + "[" * 50_000 if how == "deep" else "")
        os.truncate(file, 1 << 30 if how == "long" else file.stat().st_size)
    before = file.lstat()
    assert main(["install", "claude-code"]) == 1
    assert "left alone" in capsys.readouterr().err
    assert (file.lstat().st_mode, file.lstat().st_size, file.lstat().st_mtime_ns) == (before.st_mode, before.st_size, before.st_mtime_ns)  # fmt: skip
    assert [path for path in home.rglob("*") if path.is_file() and path != file] == []


def test_settings_with_two_names_keep_both(home: Path) -> None:
    """People keep their settings in a repository: a link stays one, a second name keeps what it had."""
    dotfiles, file = home / "dotfiles.json", home / ".claude" / "settings.json"
    dotfiles.write_text('{"model": "x"}\n')
    file.parent.mkdir()
    file.symlink_to(dotfiles)
    second = home / "second.json"
    second.hardlink_to(dotfiles)
    run("install", "claude-code", "--no-skills")
    assert file.is_symlink()
    assert "lamina" in dotfiles.read_text()
    assert second.read_text() == '{"model": "x"}\n'
    run("uninstall", "claude-code")
    assert dotfiles.read_text() == '{"model": "x"}\n'


def test_a_former_program_is_replaced(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}')
    before = file.read_bytes()
    monkeypatch.setattr("lamina.cli.install.program_path", lambda: "/opt/old/bin/lamina")
    run("install", "claude-code")
    monkeypatch.setattr("lamina.cli.install.program_path", lambda: "/opt/new folder/bin/lamina")
    run("install", "claude-code")
    text = file.read_text()
    assert "/opt/old" not in text
    assert text.count("/opt/new folder/bin/lamina") == 6
    run("uninstall", "claude-code")
    assert file.read_bytes() == before


def test_a_skill_of_their_own_by_the_same_name_is_left_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = home / ".claude" / "skills" / "handoff" / "SKILL.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("---\nname: handoff\n---\nmine\n")
    before = everything(home)
    run("install", "claude-code")
    assert "is yours" in capsys.readouterr().out
    assert mine.read_text().endswith("mine\n")
    assert (home / ".claude" / "skills" / "lamina-memory" / "SKILL.md").exists()
    run("uninstall", "claude-code")
    assert {name: content for name, content in everything(home).items() if not name.startswith(".config")} == before


def test_options_leave_out_parts(home: Path) -> None:
    run("install", "claude-code", "--no-mcp", "--no-skills")
    assert set(everything(home)) - {".config"} == {".claude", ".claude/settings.json"}
    run("uninstall", "claude-code")
    run("install", "gemini", "--no-hooks", "--no-skills")
    assert json.loads((home / ".gemini" / "settings.json").read_text()).keys() == {"mcpServers"}


def test_a_dry_run_and_print_write_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--dry-run", "--print"):
        capsys.readouterr()
        run("install", "codex", option)
        said = capsys.readouterr().out
        assert "hook session-start --agent codex" in said
        assert "mcp_servers" in said
    assert everything(home) == {}
    run("install", "codex")
    capsys.readouterr()
    run("uninstall", "codex", "--dry-run", "--json")
    document = json.loads(capsys.readouterr().out)
    assert all(file["changed"] for file in document["files"])
    assert (home / ".codex" / "hooks.json").exists()


def test_a_warm_prompt_is_a_call_of_the_running_server(home: Path) -> None:
    for agent, file in (("claude-code", ".claude/settings.json"), ("codex", ".codex/hooks.json")):
        run("install", agent, "--warm")
        hooks: Any = json.loads((home / file).read_text())["hooks"]
        handler = hooks["UserPromptSubmit"][0]["hooks"][0]
        assert (handler["type"], handler["server"], handler["tool"]) == ("mcp_tool", "lamina", "context_turn")
        assert hooks["SessionStart"][0]["hooks"][0]["type"] == "command"
        run("uninstall", agent)
    assert [name for name, content in everything(home).items() if content != b"(folder)"] == []


def test_without_the_extra_no_server_is_written(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lamina.cli.install.find_spec", lambda name: None)
    run("install", "claude-code")
    assert "lamina[mcp]" in capsys.readouterr().out
    assert not (home / ".claude.json").exists()


def test_timeouts_are_in_each_agent_s_own_unit(home: Path) -> None:
    run("install", "gemini")
    run("install", "codex")
    gemini: Any = json.loads((home / ".gemini" / "settings.json").read_text())
    codex: Any = json.loads((home / ".codex" / "hooks.json").read_text())
    assert gemini["hooks"]["BeforeAgent"][0]["hooks"][0]["timeout"] == 5_000
    assert codex["hooks"]["UserPromptSubmit"][0]["hooks"][0]["timeout"] == 5
    assert codex["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"] == 3


def test_a_plugin_for_a_marketplace(tmp_path: Path) -> None:
    for agent, manifest in (("claude-code", ".claude-plugin"), ("codex", ".codex-plugin")):
        folder = tmp_path / agent
        run("plugin", str(folder), "--agent", agent)
        assert json.loads((folder / manifest / "plugin.json").read_text())["name"] == "lamina"
        assert len((folder / "README.md").read_text().split()) >= 40  # `claude plugin validate` asks for it
        hooks = json.loads((folder / "hooks" / "hooks.json").read_text())["hooks"]
        assert "SessionStart" in hooks
        assert str(tmp_path) not in json.dumps(hooks)
        assert (folder / "skills" / "lamina-memory" / "SKILL.md").exists()
        assert json.loads((folder / ".mcp.json").read_text())["mcpServers"]["lamina"]["command"] == "lamina"
        assert main(["plugin", str(folder), "--agent", agent]) == 1


def test_skills_are_what_agents_can_read() -> None:
    import yaml

    from lamina.install.skills import SKILLS

    for name, text in SKILLS.items():
        _, head, body = text.split("---\n", 2)
        facts = yaml.safe_load(head)
        assert set(facts) == {"name", "description"}
        assert facts["name"] == name
        assert len(facts["description"]) <= 300
        assert len(body.splitlines()) <= 150


@pytest.mark.parametrize("order", [("copilot", "vscode"), ("vscode", "copilot")])
def test_a_folder_that_two_agents_share_goes_with_the_last_of_them(home: Path, order: tuple[str, str]) -> None:
    before = everything(home)
    for agent in ("copilot", "vscode"):
        run("install", agent)
    for agent in order:
        run("uninstall", agent)
    left = everything(home)
    assert {name for name in left if not ".config".startswith(name.partition("/")[0])} == set(before)
