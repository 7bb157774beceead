"""Questions about releases, over changelogs and documentation."""

from __future__ import annotations

import time

import pytest

from lamina_engine.facts.asking import read_question
from lamina_engine.facts.lines import read_lines
from lamina_engine.facts.releases import is_release
from lamina_engine.facts.statements import sentences_of

CHANGES = """\
# Changes

## Version 2.1 (2024-05-01)

- Drop support for Python 3.7 and 3.8.
- Added the `--mkpath` option, which makes `--target` safe.
- Add a `help` argument to `Choice`.
- `BaseCommand` is deprecated and will be removed in Click 9.0.
- LICENSE: use the canonical wording.

### Removed

- The `echo` module.
- `Parser` now has fewer methods.

## Version 2.0 (2023-02-03)

- Added support for Python 3.11.
- The `types` module is deprecated in favor of the `typing` module.
- Martin Pool is now a co-maintainer of tar.
"""


def ask(question: str, text: str = CHANGES, above: tuple[str, ...] = ()) -> tuple[str, str] | None:
    """Return release and text of the sentence that answers a question best."""
    asking = read_question(question)
    assert asking is not None
    found = max(sentences_of(asking, text, above=above), default=None, key=lambda each: each[0])
    return (found[1].release, found[1].written) if found else None


@pytest.mark.parametrize(
    ("question", "release"),
    [
        ("which version dropped support for Python 3.8?", "Version 2.1 (2024-05-01)"),
        ("when was support for Python 3.7 dropped?", "Version 2.1 (2024-05-01)"),
        ("which version added support for Python 3.11?", "Version 2.0 (2023-02-03)"),
        ("which release added --mkpath?", "Version 2.1 (2024-05-01)"),
        ("since which version is BaseCommand deprecated?", "Version 2.1 (2024-05-01)"),
        ("in which version will BaseCommand be removed?", "Version 2.1 (2024-05-01)"),  # the sentence says 9.0
        ("which version removed the echo module?", "Version 2.1 (2024-05-01)"),
        ("when was 2.0 released?", "Version 2.0 (2023-02-03)"),
    ],
)
def test_an_entry_answers_with_the_release_that_it_stands_below(question: str, release: str) -> None:
    found = ask(question)
    assert found is not None
    assert found[0] == release


@pytest.mark.parametrize(
    "question",
    [
        "which version added --target?",  # only mentioned
        "which version added Choice?",  # something was added to it
        "which version removed Parser?",  # only stands below "Removed"
        "which version dropped Python 3.9?",
        "which version added support for Tornado?",
        "when was 3.0 released?",
        "what is the license of tar?",  # the label says what an entry is about
        "who maintains tar?",  # who did then
    ],
)
def test_what_an_entry_only_mentions_is_not_what_it_did(question: str) -> None:
    assert ask(question) is None


def test_the_headings_of_a_part_of_a_changelog_name_its_release() -> None:
    entry = "- Drop support for Python 3.7."
    assert ask("which version dropped support for Python 3.7?", entry, above=("Version 2.1",)) == (
        "Version 2.1",
        entry[2:],
    )
    assert ask("which version dropped support for Python 3.7?", entry) is None  # 3.7 is the version of something else
    assert (
        ask("which version added support for Tornado?", "- add graceful stop support", above=("19.0", "tornado worker"))
        is None
    )


@pytest.mark.parametrize(
    ("question", "text", "is_answered"),
    [
        ("what replaced the types module?", CHANGES, True),
        ("what replaces argh?", "argh was replaced by argparse.", True),
        ("what replaced Redis?", "We replaced Redis with Valkey.", True),
        ("what replaced ConsoleRenderer?", "## Changed\n\n- `ConsoleRenderer` now calls str().", False),
        ("when was send_bytes deprecated?", "send_bytes\n    How many.\n\n    .. deprecated:: 1.3\n", True),
        ("when was 1.2.4 released?", "# Tar 1.2.4 manual\n\n## Version 1.0.9\n\n2016-12-20: Released a fix.", False),
        (
            "which versions of PowerShell are supported?",
            "We support Bash (version 4.4 and up), Zsh and PowerShell.",
            False,
        ),
        ("which version of Bash is supported?", "We support Bash (version 4.4 and up), Zsh and PowerShell.", True),
        ("when was SQLite 4 released?", "# SQLite\n\n## 2014-03-11 (3.8.4.1)\n\nA release.", False),
    ],
)
def test_successors_and_versions_are_those_of_what_is_asked_about(question: str, text: str, is_answered: bool) -> None:
    assert (ask(question, text) is not None) is is_answered


@pytest.mark.parametrize(
    ("question", "text", "is_answered"),
    [
        (
            "what is the minimum chunk size?",
            "Tar has minimum and maximum chunk sizes.\nMAX_EXP = 23 (maximum chunk size 8 MiB)",
            False,
        ),
        (
            "what is the maximum number of databases?",
            "The maximum number of databases can be lowered by sqlite3_limit().",
            False,
        ),
        (
            "what is the default of the enforcement?",
            "This macro says whether the enforcement is off or on by default.",
            False,
        ),
        ("what is the default of PrintLogger?", "PrintLogger - that is used by default - now prints.", False),
        ("which shells are supported?", "We support the Fish shell.", False),
        ("which cipher does tar use?", "Tar writes NONCE and CIPHERTEXT.", False),
        ("who created tar?", "Tar manual.\n\nCreated using Sphinx.", False),
        ("why is threadlocal deprecated?", "threadlocal is deprecated as of 22.1.", False),
        ("why is threadlocal deprecated?", "threadlocal is deprecated as it leaks.", True),
        ("which company uses tar?", "It is legal to use tar with GPLv2 projects.", False),
        ("how many files does tar keep?", "Use --files-cache (2017-09) to keep tar fast.", False),
        ("where are the keys?", "The keys are in the safe.\nTo move on, call migrate-to-repo keys now.", True),
    ],
)
def test_values_in_documentation(question: str, text: str, is_answered: bool) -> None:
    assert (ask(question, text) is not None) is is_answered


def test_headings_that_name_a_release() -> None:
    for heading in ("Version 8.2.0", "[26.1.0](https://a.example/25.5.0...26.1.0) - 2026-06-06", "3.0.2 (2024-11-16)",
                    "NEWS for rsync 3.2.4 (15 Apr 2022)", "19.6.0 / 2016/05/21", "2018-12-01 (3.26.0)"):  # fmt: skip
        assert is_release(heading), heading
    for heading in ("Upgrading from 1.2", "Port 8080", "Python 3.8", "What 2.0 means for you", "Settings"):
        assert not is_release(heading), heading


@pytest.mark.parametrize("filler", ["<a ", "<!-- ", "- a\n", "a\n", "    a\n", "a::\n", "~~~\n", "x" * 70 + "\n"])
def test_lines_are_read_in_linear_time(filler: str) -> None:
    started = time.perf_counter()
    read_lines("<p>" + filler * (400_000 // len(filler)))
    assert time.perf_counter() - started < 5.0
