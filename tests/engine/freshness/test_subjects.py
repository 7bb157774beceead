"""Added memories: the file they speak of is noted with them, and they are judged, reviewed and kept like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.errors import InvalidArgument, InvalidConfig
from lamina_engine.freshness.report import REASONS
from tests.engine.freshness.repositories import Git, body


@pytest.fixture
def here(git: Git, monkeypatch: pytest.MonkeyPatch) -> Git:
    """The repository, as the current folder."""
    monkeypatch.chdir(git.root)
    return git


def said(vault: Vault, id_: str) -> tuple[str, str, int | None, bool]:
    (item,) = (item for item in vault.freshness().items if item.id == id_)
    assert item.reason_code in REASONS
    return item.tier, item.reason_code, item.commits, item.needs_review


@pytest.mark.parametrize("how", ["source", "metadata", "absolute", "unknown key"])
def test_an_added_memory_is_counted_from_the_commit_it_was_written_at(
    lexical_vault: Vault, here: Git, how: str
) -> None:
    here.touch("a.md", 30)
    path = str(here.root / "a.md") if how == "absolute" else "a.md"
    if how in ("source", "absolute"):
        (id_,) = lexical_vault.add("a says things", source=path)
    elif how == "metadata":
        (id_,) = lexical_vault.add("a says things", metadata={"source_file": path})
    else:
        (id_,) = lexical_vault.add({"text": "a says things", "source_file": path})
    chunk = lexical_vault.get(id_)
    assert chunk.commit == here("rev-parse", "HEAD")
    assert chunk.blob == here("rev-parse", "HEAD:a.md")
    assert said(lexical_vault, id_) == ("fresh", "commits", 0, False)
    here.later()
    here.touch("a.md", 12)
    here.touch("b.md", 3)
    assert said(lexical_vault, id_) == ("stale", "commits", 12, True)


def test_what_is_noted_changes_neither_id_nor_metadata(lexical_vault: Vault, here: Git, tmp_path: Path) -> None:
    (id_,) = lexical_vault.add("text", source="a.md", metadata={"k": 1})
    assert lexical_vault.get(id_).metadata == {"k": 1}
    with lamina.open(tmp_path / "elsewhere", create=True, embedder="none") as other:
        here.touch("a.md")
        assert other.add("text", source="a.md", metadata={"k": 1}) == [id_]
    assert lexical_vault.add("text", source="a.md", metadata={"k": 1}) == [id_]
    assert len(lexical_vault.history(id_)) == 1


@pytest.mark.parametrize(
    "name", ["example.com", "chat 7", "https://example.com/a.md", "a.md\n", "x" * 5000, "nowhere/a.md", ".."]
)
def test_a_source_that_is_no_file_goes_by_its_age(lexical_vault: Vault, here: Git, name: str) -> None:
    """The defect of taking ``.com`` for a file: only the disk says what is one."""
    (id_,) = lexical_vault.add("text", source=name, type="agent_task", created_at="2026-02-20")
    assert lexical_vault.get(id_).commit is None
    assert said(lexical_vault, id_) == ("fresh", "age", None, False)


def test_ages_go_by_the_half_life_of_the_type(lexical_vault: Vault, clock: FixedClock) -> None:
    task, insight = (
        lexical_vault.add("x", type=kind, created_at="2026-02-01")[0] for kind in ("agent_task", "agent_insight")
    )
    assert said(lexical_vault, task)[:2] == ("stale", "age")  # 28 days, half-life 14
    assert said(lexical_vault, insight)[:2] == ("fresh", "age")
    clock.advance(30 * 86_400)
    assert said(lexical_vault, task)[:2] == ("expired", "age")


def test_no_git_check_judges_all_by_age(lexical_vault: Vault, here: Git) -> None:
    lexical_vault.ingest(here.root)
    lexical_vault.add("text", source="a.md")
    here.later()
    here.touch("a.md", 30)
    report = lexical_vault.freshness(git_check=False)
    assert {item.reason_code for item in report.items} == {"age"}
    assert lexical_vault.freshness().counts["expired"] == 2


def test_a_named_file_that_nobody_finds_is_unknown_and_not_guessed(lexical_vault: Vault, tmp_path: Path) -> None:
    (id_,) = lexical_vault.add("text", metadata={"source_file": "src/gone.py"})
    assert said(lexical_vault, id_) == ("unknown", "no_repo", None, False)


def test_a_repository_that_is_now_elsewhere(lexical_vault: Vault, here: Git, tmp_path: Path) -> None:
    (id_,) = lexical_vault.add("text", source="a.md")
    (other,) = lexical_vault.add("aged", created_at="2026-02-28")
    here.later()
    here.touch("a.md", 3)
    here.root.rename(tmp_path / "moved")
    assert said(lexical_vault, id_)[:2] == ("unknown", "no_repo")
    report = lexical_vault.freshness(repo=tmp_path / "moved")
    assert [(item.id, item.tier, item.commits) for item in report.items] == [(id_, "aging", 3)]
    assert other not in {item.id for item in report.items}


@pytest.mark.parametrize("fields", [{"source": "a.md"}, {"metadata": {"source_file": "a.md"}}])
def test_a_path_is_looked_up_in_the_repository_that_is_given(
    lexical_vault: Vault, git: Git, fields: dict[str, Any]
) -> None:
    (id_,) = lexical_vault.add("added from elsewhere", **fields)
    assert lexical_vault.get(id_).commit is None
    git.later()
    git.touch("a.md", 3)
    (item,) = lexical_vault.freshness(git.root).items
    assert (item.id, item.tier, item.commits, item.counted_by) == (id_, "aging", 3, "date")


def test_a_repository_given_limits_what_is_judged(lexical_vault: Vault, here: Git, tmp_path: Path) -> None:
    other = Git(tmp_path / "other")
    other.write("a.md", body("other"))
    other.commit()
    lexical_vault.ingest(here.root)
    lexical_vault.ingest(other.root)
    report = lexical_vault.freshness(repo=other.root)
    assert [(item.source, item.repository) for item in report.items] == [("a.md", other.root.resolve().as_posix())]


def test_the_report_is_ordered_counted_and_filtered(lexical_vault: Vault, here: Git) -> None:
    for name in ("x.md", "y.md", "z.md"):
        here.write(name, body(name))
    here.commit()
    lexical_vault.ingest(here.root, collection="code-patterns", project="p")
    lexical_vault.add("no file", project="q", created_at="2026-02-28")
    lexical_vault.add("lost", metadata={"source_file": "gone.py"})
    here.later()
    for name, count in (("x.md", 26), ("y.md", 10), ("z.md", 3)):
        here.touch(name, count)
    report = lexical_vault.freshness()
    tiers = [item.tier for item in report.items]
    assert list(dict.fromkeys(tiers)) == ["expired", "stale", "aging", "fresh", "unknown"]
    assert report.counts == {"expired": 1, "stale": 1, "aging": 1, "fresh": 3, "unknown": 1}
    assert sum(report.counts.values()) == report.checked == len(report.items)
    assert report.reasons["fresh"] == {"age": 1, "commits": 2}
    assert report.needs_review == 3
    assert "26 commits" in report.items[0].reason
    assert "25" in report.items[0].reason
    stale = lexical_vault.freshness(tier="stale")
    assert [item.source for item in stale.items] == ["y.md"]
    assert stale.counts == report.counts
    assert lexical_vault.freshness(collection="code-patterns").checked == 5
    assert lexical_vault.freshness(project="q").checked == 1
    assert lexical_vault.freshness(where={"source": "x.md"}).counts["expired"] == 1
    with pytest.raises(InvalidArgument, match="tier"):
        lexical_vault.freshness(tier="rotten")  # type: ignore[arg-type]


def test_hits_and_filters_carry_the_last_scan(lexical_vault: Vault, here: Git) -> None:
    lexical_vault.ingest(here.root)
    assert [hit.freshness for hit in lexical_vault.recall("says thing")] == [None, None]
    assert lexical_vault.list({"freshness": "unverified"}) == lexical_vault.list()
    here.later()
    here.touch("a.md", 10)
    first = lexical_vault.freshness()
    assert first.recorded == 2
    got = {hit.source: (hit.freshness, hit.needs_review) for hit in lexical_vault.recall("says thing")}
    assert got == {"a.md": ("stale", True), "b.md": ("fresh", False)}
    assert sorted(str(hit.to_dict()["freshness"]) for hit in lexical_vault.recall("says thing")) == ["fresh", "stale"]
    for filter_, sources in (
        ({"freshness": "stale"}, ["a.md"]), ({"needs_review": True}, ["a.md"]), ({"needs_review": False}, ["b.md"]),
        ({"freshness": {"in": ["stale", "expired"]}}, ["a.md"]), ({"freshness": {"ne": "stale"}}, ["b.md"]),
        ({"freshness": {"exists": False}}, []),
    ):  # fmt: skip
        assert [hit.source for hit in lexical_vault.recall("says thing", where=filter_)] == sources, filter_
        assert [chunk.source for chunk in lexical_vault.list(filter_)] == sources
    for wrong in ({"freshness": "rotten"}, {"needs_review": 1}):
        with pytest.raises(InvalidArgument):
            lexical_vault.list(wrong)


def test_a_second_scan_writes_nothing_new_and_a_reader_writes_nothing_at_all(lexical_vault: Vault, here: Git) -> None:
    lexical_vault.ingest(here.root)
    with lamina.open(lexical_vault.path, mode="r") as reader:
        assert reader.freshness().recorded == 0
        assert reader.freshness().counts["fresh"] == 2
    assert lexical_vault.freshness().recorded == 2
    before = lexical_vault.stats()["snapshot"]
    assert lexical_vault.freshness().recorded == 0
    assert lexical_vault.stats()["snapshot"] == before
    here.later()
    here.touch("a.md")
    assert lexical_vault.freshness().recorded == 1


def test_a_scan_that_cannot_be_written_down_still_tells(lexical_vault: Vault, here: Git) -> None:
    lexical_vault.ingest(here.root)
    with lamina.open(lexical_vault.path, lock_timeout_s=0.0) as other, lexical_vault._memory.store.exclusive(1.0):
        import threading

        found = []
        asking = threading.Thread(target=lambda: found.append(other.freshness()))
        asking.start()
        asking.join()
    assert (found[0].checked, found[0].recorded, len(found[0].problems)) == (2, 0, 1)


def test_tiers_survive_reopening_and_the_past_has_its_own(lexical_vault: Vault, here: Git, clock: FixedClock) -> None:
    lexical_vault.ingest(here.root)
    clock.advance(60)
    then = clock.now_us()
    clock.advance(60)
    here.later()
    here.touch("a.md", 3)
    lexical_vault.freshness()
    with lamina.open(lexical_vault.path, mode="r") as again:
        assert [hit.freshness for hit in again.recall("a says", where={"source": "a.md"})] == ["aging"]
        past = again.recall("a says", where={"source": "a.md"}, as_of=then / 1e6)
        assert [hit.freshness for hit in past] == [None]


def test_a_review_asked_for_by_hand_survives_scans(lexical_vault: Vault, here: Git) -> None:
    (id_,) = lexical_vault.add("text", source="a.md")
    assert lexical_vault.review(id_, "the author says so").needs_review
    for _ in range(2):
        assert said(lexical_vault, id_) == ("fresh", "manual", 0, True)
    (item,) = lexical_vault.freshness().items
    assert (item.reason, item.manual) == ("the author says so", True)
    assert [hit.needs_review for hit in lexical_vault.recall("text")] == [True]
    assert [chunk.id for chunk in lexical_vault.list({"needs_review": True})] == [id_]
    here.later()
    here.touch("a.md", 3)
    assert said(lexical_vault, id_) == ("aging", "commits", 3, True)
    chunk = lexical_vault.review(id_, needed=False)
    assert (chunk.needs_review, chunk.freshness) == (False, "fresh")
    assert said(lexical_vault, id_) == ("fresh", "commits", 0, False)
    assert [entry.kind for entry in lexical_vault.history(id_)] == ["added", "review", "reviewed"]
    with pytest.raises(InvalidArgument, match="reason"):
        lexical_vault.review(id_)


def test_a_person_may_keep_what_its_deleted_file_said(lexical_vault: Vault, here: Git) -> None:
    (id_,) = lexical_vault.add("text", source="a.md")
    here.later()
    here("rm", "-q", "a.md")
    here.commit()
    assert said(lexical_vault, id_) == ("expired", "deleted", 1, True)
    assert lexical_vault.review(id_, "true all the same", needed=False).needs_review is False
    for _ in range(2):
        assert said(lexical_vault, id_) == ("expired", "deleted", 1, False)


def test_a_flag_stays_where_only_labels_change_and_goes_with_the_words(lexical_vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "n").mkdir()
    note = tmp_path / "n" / "x.md"
    note.write_text("---\ntags: [one]\n---\n# X\n\nSome words.\n")
    lexical_vault.ingest(note)
    (chunk,) = lexical_vault.list()
    lexical_vault.review(chunk.id, "look")
    note.write_text("---\ntags: [two]\n---\n# X\n\nSome words.\n")
    lexical_vault.ingest(note)
    assert (lexical_vault.get(chunk.id).tags, lexical_vault.get(chunk.id).needs_review) == (("two",), True)
    note.write_text("---\ntags: [two]\n---\n# X\n\nOther words.\n")
    lexical_vault.ingest(note)
    assert not lexical_vault.get(chunk.id).needs_review


@pytest.mark.parametrize("text", ["other words", "text"])
def test_an_update_clears_the_flag_and_counts_anew(lexical_vault: Vault, here: Git, text: str) -> None:
    (id_,) = lexical_vault.add("text", source="a.md")
    here.later()
    here.touch("a.md", 12)
    lexical_vault.review(id_, "look")
    assert said(lexical_vault, id_) == ("stale", "commits", 12, True)
    chunk = lexical_vault.update(id_, text=text)
    assert (chunk.text, chunk.needs_review) == (text, False)
    assert said(lexical_vault, id_) == ("fresh", "commits", 0, False)
    here.touch("a.md", 3)
    assert said(lexical_vault, id_) == ("aging", "commits", 3, True)


def test_switched_off_nothing_is_looked_at(lexical_vault: Vault, here: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    lexical_vault.ingest(here.root)
    monkeypatch.setenv("FRESHNESS_ENABLED", "false")
    with lamina.open(lexical_vault.path) as vault:
        report = vault.freshness()
    assert (report.enabled, report.checked, report.items) == (False, 0, ())
    monkeypatch.setenv("FRESHNESS_COMMIT_THRESHOLD_STALE", "3")
    with pytest.raises(InvalidConfig, match="ascend"), lamina.open(lexical_vault.path):
        pass


def test_thresholds_of_the_environment_are_used(here: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRESHNESS_COMMIT_THRESHOLD_AGING", "1")
    with lamina.open(tmp_path / "v2", create=True, embedder="none") as vault:
        (id_,) = vault.add("text", source="a.md")
        here.later()
        here.touch("a.md", 1)
        assert said(vault, id_)[:3] == ("aging", "commits", 1)


def test_an_empty_vault(lexical_vault: Vault) -> None:
    report = lexical_vault.freshness()
    assert (report.checked, report.items, report.recorded) == (0, (), 0)


def test_forgetting_leaves_nothing_of_files_and_verdicts(lexical_vault: Vault, here: Git) -> None:
    here.write("a very peculiar name.md", body("c"))
    here.commit()
    (id_,) = lexical_vault.add("text", source="a very peculiar name.md")
    lexical_vault.add("kept", source="a.md")
    lexical_vault.freshness()
    lexical_vault.review(id_, "peculiar reason")
    lexical_vault.snooze(id_, "2027-01-01")
    lexical_vault.forget(id_, dry_run=False)
    everything = b"".join(path.read_bytes() for path in sorted(lexical_vault.path.rglob("*")) if path.is_file())
    assert b"peculiar" not in everything
    assert id_.encode() not in everything
    assert lexical_vault.freshness().checked == 1
    assert lexical_vault.verify(deep=True).ok
    with lamina.open(lexical_vault.path) as again:
        assert again.freshness().checked == 1
