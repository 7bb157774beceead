"""An ingest that was interrupted before its links were made leaves them to the next one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.graph import generators, mentions, sessions
from lamina_engine.graph.log import _LinkWriter
from lamina_engine.ingest import documents
from tests.conftest import NOW
from tests.engine.sessions.transcripts import says, user
from tests.engine.sessions.transcripts import write as write_session

NAMES = ("Harbour Gate", "Old Quarry", "North Lighthouse", "Car Ferry", "Salt Works")
MESSAGE = "an earlier ingest ended before it had made its links; they have been made now"


class Interrupted(BaseException):
    """What stops a process: nobody catches it."""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for i, name in enumerate(NAMES):
        following = NAMES[(i + 1) % len(NAMES)]
        parts = [f"# {name}\n\nThe {name} lies near the {following}; see [[{following.lower().replace(' ', '-')}]]."]
        parts += [f"## Part {n}\n\nOf the {name}, part {n}: {'words and more ' * 40}" for n in range(3)]
        (folder / f"{name.lower().replace(' ', '-')}.md").write_text("\n\n".join(parts))
    (folder / "records.jsonl").write_text('{"id": "r1", "text": "A record of the Car Ferry and its times"}\n')
    for path in folder.iterdir():  # old enough for their times to be trusted
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return folder


def opened(path: Path) -> Vault:
    return lamina.open(path, create=True, clock=FixedClock(NOW))


def links_of(vault: Vault) -> set[tuple[Any, ...]]:
    view = vault._memory.view()
    standing: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    rows = view.snapshot.rows("links")
    for link in view.snapshot.records("links", np.arange(rows)):
        key = (link["source"], link["target"], link["relation"], link["origin"])
        standing[key] = (link["active"], link["weight"], link["note"])
    return {(*key, *what[1:]) for key, what in standing.items() if what[0]}


@pytest.fixture
def whole(tmp_path: Path, notes: Path) -> set[tuple[Any, ...]]:
    """The links of an ingest that nothing stopped."""
    with opened(tmp_path / "whole") as vault:
        vault.ingest(notes)
        assert not vault._memory.view().snapshot.manifest.unlinked
        found = links_of(vault)
    assert {link[3] for link in found} >= {"sequence", "wikilink", "mention"}
    return found


def ingest_until(
    vault: Vault, path: Path, owner: Any, name: str, call: int = 1, *, after: bool = False, **options: Any
) -> None:
    """Ingest, and be interrupted at the nth call of a function, or after it."""
    original, calls = getattr(owner, name), iter(range(1, 1_000))

    def stopped(*args: Any, **given: Any) -> Any:
        at = next(calls)
        if at == call and not after:
            raise Interrupted
        answer = original(*args, **given)
        if at == call:
            raise Interrupted
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, stopped)
        with pytest.raises(Interrupted):
            vault.ingest(path, **options)


POINTS = [
    (generators, "link_unlinked", 1, False),
    *((_LinkWriter, "write", n, after) for n in (1, 2, 3, 4) for after in (False, True)),
    (mentions, "save", 1, False),
    (generators, "_clear", 1, False),
]


@pytest.mark.parametrize(("owner", "name", "call", "after"), POINTS)
def test_the_next_ingest_makes_the_links_and_says_so(
    tmp_path: Path, notes: Path, whole: set[tuple[Any, ...]], owner: Any, name: str, call: int, after: bool
) -> None:
    with opened(tmp_path / "v") as vault:
        ingest_until(vault, notes, owner, name, call, after=after)
    with opened(tmp_path / "v") as vault:  # another process: what is known lies in the vault
        got = vault.ingest(notes)
        assert (got.unchanged, got.added) == (len(NAMES) + 1, 0)
        assert [(problem.code, problem.message) for problem in got.problems] == [("links", MESSAGE)]
        assert links_of(vault) == whole
        version = vault.stats()["snapshot"]
        again = vault.ingest(notes)
        assert (again.problems, again.links, vault.stats()["snapshot"]) == ([], 0, version)


def test_a_run_stopped_while_it_reads_leaves_what_it_read_to_be_linked(
    tmp_path: Path, notes: Path, whole: set[tuple[Any, ...]]
) -> None:
    with pytest.MonkeyPatch.context() as patch, opened(tmp_path / "v") as vault:
        patch.setattr(documents, "GROUP_CHUNKS", 2)
        ingest_until(vault, notes, documents.DocumentWriter, "flush", 3)
    with opened(tmp_path / "v") as vault:
        assert 0 < vault.ingest(notes).added < len(NAMES) + 1
        assert links_of(vault) == whole


def test_an_ingest_of_something_else_makes_them_too_and_one_without_links_does_not(
    tmp_path: Path, notes: Path, whole: set[tuple[Any, ...]]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with opened(tmp_path / "v") as vault:
        ingest_until(vault, notes, generators, "link_unlinked")
        vault.ingest(notes, links=False)
        assert links_of(vault) == set()
        vault.ingest(empty)
        assert links_of(vault) == whole


def test_links_that_failed_are_made_by_the_next_ingest(
    tmp_path: Path, notes: Path, whole: set[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk stops no ingest; its links are made when there is room again."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with opened(tmp_path / "v") as vault:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_LinkWriter, "write", full)
            assert vault.ingest(notes).added == len(NAMES) + 1
        assert vault.ingest(notes).links == len(whole)


def test_a_build_of_all_links_leaves_nothing_to_be_made(tmp_path: Path, notes: Path) -> None:
    with opened(tmp_path / "v") as vault:
        ingest_until(vault, notes, generators, "link_unlinked")
        vault.links.build()
        assert vault.ingest(notes).problems == []


def test_without_links_nothing_is_left_to_be_made(tmp_path: Path, notes: Path) -> None:
    with opened(tmp_path / "v") as vault:
        vault.ingest(notes, links=False)
        got = vault.ingest(notes)
        assert (got.links, got.problems) == (0, [])


def test_it_is_known_in_a_sharded_vault(tmp_path: Path, notes: Path, whole: set[tuple[Any, ...]]) -> None:
    with opened(tmp_path / "local") as local:
        local.shard(tmp_path / "v", 2)
    with lamina.open(tmp_path / "v", clock=FixedClock(NOW)) as vault:
        ingest_until(vault, notes, _LinkWriter, "write", 2)
    with lamina.open(tmp_path / "v", clock=FixedClock(NOW)) as vault:
        assert [problem.message for problem in vault.ingest(notes).problems] == [MESSAGE]
        assert links_of(vault) == whole
        assert vault.ingest(notes).problems == []


@pytest.mark.parametrize("after", [False, True])
def test_sessions_are_read_again_until_their_links_are_made(tmp_path: Path, after: bool) -> None:
    turns = [
        row for n in range(4) for row in (user(9 * n, f"question {n} " * 30), says(9 * n + 5, f"answer {n} " * 40))
    ]
    path = write_session(tmp_path / "s" / "a.jsonl", turns)
    found = []
    for stop in (False, True):
        place = tmp_path / f"v{stop}"
        if stop:
            with opened(place) as vault:
                ingest_until(vault, path, sessions, "sync_starts", after=after, kind="sessions")
        with opened(place) as vault:
            vault.ingest(path, kind="sessions")
            found.append(links_of(vault))
    assert found[0] == found[1]
