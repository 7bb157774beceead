from __future__ import annotations

import pytest

from lamina_engine.sessions.events import Event, FileName, drop_context, parse_file_name, project_of_folder

UUID = "0b1c2d3e-1111-4222-8333-444455556666"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (f"p/{UUID}.jsonl", FileName(UUID, UUID, None)),
        ("p/notes.jsonl", FileName("notes", None, None)),
        (f"p/{UUID}/subagents/agent-a1b2.jsonl", FileName("agent-a1b2", UUID, "a1b2")),
        (f"p/{UUID}/subagents/a1b2.jsonl", FileName("a1b2", UUID, "a1b2")),
        ("p/agent-a1b2.jsonl", FileName("agent-a1b2", None, "a1b2")),
        ("subagents/deep/below/x.jsonl", FileName("x", None, None)),
        ("x", FileName("x", None, None)),
    ],
)
def test_what_a_path_says(path: str, found: FileName) -> None:
    assert parse_file_name(path) == found


@pytest.mark.parametrize(
    ("folder", "project"),
    [
        ("/home/me/code/shop", "shop"), ("/home/me/code/shop/", "shop"), ("C:\\code\\shop", "shop"), ("C:\\", None),
        ("/", None), ("", None), (None, None), ("shop", "shop"), ("/home/me/shop/.claude/worktrees/fix-1", "shop"),
        ("/home/me/shop/.worktrees/fix-1/src", "shop"), ("/home/me/shop/worktrees/fix", "shop"),
        ("/home/me/worktrees", "me"), ("/worktrees/x", "x"),
    ],
)  # fmt: skip
def test_the_project_of_a_folder(folder: str | None, project: str | None) -> None:
    assert project_of_folder(folder) == project


def test_what_a_vault_told_an_agent_is_not_learned_again() -> None:
    told = '<lamina-context tier="turn">\nMemories.\n<memory id="a">\nold\n</memory>\n</lamina-context>\n'
    events = [
        Event("user", f"Why Redis?\n\n{told}"),
        Event("user", f"{told}{told}And then?"),
        Event("said", "because <b>"),
    ]
    drop_context(events)
    assert [event.text for event in events] == ["Why Redis?", "And then?", "because <b>"]
