from __future__ import annotations

import pytest

from lamina_engine.ingest.classify import PathRule, Rules, classify, clean_type, type_of_path

RULES = Rules()


@pytest.mark.parametrize(
    ("source", "ref"),
    [
        ("decisions/db.md", "decision"),
        ("docs/adr/001-use-arrow.md", "decision"),
        ("adr-001.md", "note"),  # findings, stranger 14
        ("2026-02-15-decision-postgres-over-mysql.md", "note"),
        ("tmux/list-sessions.md", "note"),
        ("claude-code/resume-specific-session.md", "note"),
        ("2026-02-15-decisions/postgres.md", "decision"),
        ("01 - Decisions/x.md", "decision"),
        ("team-conventions/x.md", "rule"),
        ("guidelines/naming.md", "guideline"),
        ("maps/Python MOC.md", "note"),
        ("MOCs/Python.md", "hub"),
        ("research/x.md", "research"),
        ("projects/api/x.md", "project"),
        ("session-handoff.md", "note"),
        ("sessions/2026-02-15.md", "handoff"),
        ("chats/x.md", "conversation"),
        ("CHANGELOG.md", "note"),
        ("changelogs/2026.md", "progress"),
        ("projects/adr/x.md", "decision"),
        ("github/x.md", "note"),
        ("mock/tests.md", "note"),
        ("skills/handoff/SKILL.md", "note"),  # a skill's folder is called as the skill is
        ("handoff/2026-02-15.md", "handoff"),
        ("docs/index.md", "note"),
        ("statuses/chatter.md", "note"),
        ("git/show-the-short-status.md", "note"),
        ("adrenaline/researcher.md", "note"),
        ("x.md", "note"),
        ("", "note"),
    ],
)
def test_types_of_paths(source: str, ref: str) -> None:
    assert type_of_path(source, RULES) == ref


@pytest.mark.parametrize(
    ("source", "kind", "given", "ref"),
    [
        ("x.md", "markdown", {}, ("note", "notes")),
        ("decisions/x.md", "markdown", {}, ("decision", "decisions")),
        ("rules/x.md", "markdown", {}, ("rule", "conventions")),
        ("decisions/x.py", "code", {}, ("implementation", "code-patterns")),
        ("decisions/x.md", "markdown", {"type": "note"}, ("note", "notes")),
        ("x.md", "markdown", {"type": "guideline"}, ("guideline", "conventions")),
        ("x.md", "markdown", {"collection": "mine"}, ("note", "mine")),
        ("x.py", "code", {"collection": "mine"}, ("implementation", "mine")),
    ],
)
def test_type_and_collection(source: str, kind: str, given: dict[str, str], ref: tuple[str, str]) -> None:
    assert classify(source, kind, RULES, **given) == ref


def test_rules_are_data() -> None:
    rules = Rules(paths=(PathRule(frozenset({"log"}), "progress"),), default_type="memo", default_collection="c")
    assert classify("log/x.md", "text", rules) == ("progress", "c")
    assert classify("decisions/x.md", "text", rules) == ("memo", "c")


@pytest.mark.parametrize(
    ("value", "ref"),
    [
        ("decision", "decision"),
        (" Decision ", "decision"),
        ("agent-task", "agent_task"),
        ("Agent Task", "agent_task"),
        ("book review", "book review"),
        ("Recipe", "recipe"),
        ("", None),
        ("a/b", None),
        ("x" * 65, None),
        (None, None),
        (["decision"], None),
    ],
)
def test_spelling_of_types(value: object, ref: str | None) -> None:
    assert clean_type(value) == ref
