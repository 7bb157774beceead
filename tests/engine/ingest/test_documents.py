""""""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lamina
from lamina import FixedClock, Vault
from lamina_engine.chunks.batch import new_id
from lamina_engine.ingest import documents
from lamina_engine.ingest.documents import match_chunks
from tests.notes import CountingEmbedder, ids_by_text, prose, state, write

VERSIONS = st.lists(st.sampled_from([bytes([i]) for i in range(6)]), max_size=12)


def of(word: str) -> list[bytes]:
    return [letter.encode() for letter in word]


@pytest.mark.parametrize(
    ("old", "new", "ref"),
    [
        ("", "", []),
        ("", "a", [-1]),
        ("a", "", []),
        ("ab", "ab", [0, 1]),
        ("ab", "xab", [-1, 0, 1]),  # text above
        ("ab", "abx", [0, 1, -1]),
        ("abc", "axc", [0, 1, 2]),  # an edit
        ("abc", "axyc", [0, 1, -1, 2]),  # an edit and a new one
        ("abc", "ac", [0, 2]),  # one is gone
        ("abc", "cab", [2, 0, 1]),  # moved within the source
        ("aaa", "aa", [0, 1]),
        ("ab", "xy", [0, 1]),  # all edited
    ],
)
def test_content_first_then_place(old: str, new: str, ref: list[int]) -> None:
    assert match_chunks(of(old), of(new)) == ref


@given(VERSIONS, VERSIONS)
def test_no_old_chunk_is_continued_twice_and_equal_content_is_never_left(old: list[bytes], new: list[bytes]) -> None:
    got = match_chunks(old, new)
    used = [position for position in got if position >= 0]
    assert len(got) == len(new)
    assert len(used) == len(set(used))
    assert all(0 <= position < len(old) for position in used)
    for version in set(old) & set(new):
        equal = sum(position >= 0 and old[position] == new[j] == version for j, position in enumerate(got))
        assert equal == min(old.count(version), new.count(version))


@given(VERSIONS)
def test_the_same_again_is_the_same(versions: list[bytes]) -> None:
    assert match_chunks(versions, versions) == list(range(len(versions)))


def test_a_source_too_long_for_a_diff_is_matched_by_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_DIFF_LIMIT", 2)
    assert match_chunks(of("abcd"), of("dxbc")) == [3, -1, 1, 2]


def test_repeated_content_is_matched_in_order_without_a_diff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "SequenceMatcher", None)
    old, new = [b"a"] * 2_000, [*[b"a"] * 2_001, b"b"]
    assert match_chunks(old, new) == [*range(2_000), -1, -1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def sections(*subjects: str) -> str:
    return f"# Everything\n\n{prose('opening')}\n\n" + "\n".join(
        f"## {subject.title()}\n\n{prose(subject)}\n" for subject in subjects
    )


def headings(vault: Vault) -> dict[str, str]:
    """Id by last heading."""
    return {(chunk.headings or ("",))[-1]: chunk.id for chunk in vault.list(limit=None)}


def test_an_edit_writes_its_chunk_only_and_keeps_all_ids(folder: Path, tmp_path: Path, clock: FixedClock) -> None:
    embedder = CountingEmbedder()
    model = lamina.CallableEmbedder(embedder, 8, "words;v1")
    with lamina.open(tmp_path / "v", create=True, clock=clock, embedder=model) as vault:
        text = sections("alpha", "beta", "gamma")
        write(folder, "a.md", text)
        vault.ingest(folder)
        before, embedder.texts = headings(vault), []
        assert set(before) >= {"Alpha", "Beta", "Gamma"}
        write(folder, "a.md", text.replace("beta 3th", "beta THIRD"))
        got = vault.ingest(folder)
        assert (got.updated, got.chunks, got.embedded) == (1, 1, 1)
        assert ["THIRD" in text for text in embedder.texts] == [True]
        assert headings(vault) == before
        assert [entry.kind for entry in vault.history(before["Beta"])] == ["added", "updated"]


def test_text_above_keeps_the_ids_below(lexical_vault: Vault, folder: Path) -> None:
    write(folder, "a.md", sections("alpha", "beta"))
    lexical_vault.ingest(folder)
    before = headings(lexical_vault)
    write(folder, "a.md", sections("first", "alpha", "beta"))
    got = lexical_vault.ingest(folder)
    after = headings(lexical_vault)
    assert got.chunks == 1
    assert {name: after[name] for name in ("Alpha", "Beta")} == {name: before[name] for name in ("Alpha", "Beta")}
    assert after["First"] not in before.values()


def test_text_that_is_cut_and_put_back_comes_back_with_its_id(lexical_vault: Vault, folder: Path) -> None:
    write(folder, "a.md", sections("alpha", "beta", "gamma"))
    lexical_vault.ingest(folder)
    before = headings(lexical_vault)
    write(folder, "a.md", sections("alpha", "gamma"))
    lexical_vault.ingest(folder)
    assert lexical_vault.get(before["Beta"]).status == "removed"
    assert all("beta" not in hit.text for hit in lexical_vault.recall("beta sentence"))
    write(folder, "a.md", sections("alpha", "beta", "gamma"))
    got = lexical_vault.ingest(folder)
    assert got.chunks == 0
    assert headings(lexical_vault) == before


@pytest.mark.parametrize("place", ["a.md", "deep/er/b.md"])
def test_a_removed_file_is_forgotten_by_recall_and_returns_with_its_ids(
    place: str, lexical_vault: Vault, folder: Path
) -> None:
    write(folder, "other.md", "Something else.")
    write(folder, "a.md", sections("alpha", "beta"))
    lexical_vault.ingest(folder)
    before = headings(lexical_vault)
    (folder / "a.md").unlink()
    got = lexical_vault.ingest(folder)
    assert (got.removed, got.unchanged) == (1, 1)
    assert [hit.source for hit in lexical_vault.recall("alpha sentence something")] == ["other.md"]
    assert lexical_vault.get(before["Alpha"]).status == "removed"
    write(folder, place, sections("alpha", "beta"))
    got = lexical_vault.ingest(folder)
    assert got.added == 1
    assert headings(lexical_vault) == before
    assert lexical_vault.recall("alpha sentence", k=1)[0].source == place
    assert lexical_vault.ingest(folder).chunks == 0


def test_two_copies_of_a_removed_file_are_two_sources(lexical_vault: Vault, folder: Path) -> None:
    write(folder, "a.md", "Only this.")
    lexical_vault.ingest(folder)
    (folder / "a.md").unlink()
    lexical_vault.ingest(folder)
    write(folder, "0.md", "Only this.")
    lexical_vault.ingest(folder)
    write(folder, "a.md", "Only this.")
    lexical_vault.ingest(folder)
    chunks = lexical_vault.list()
    assert sorted(str(chunk.source) for chunk in chunks) == ["0.md", "a.md"]
    assert len({chunk.id for chunk in chunks}) == 2


def test_equal_paragraphs_have_ids_of_their_own(lexical_vault: Vault, folder: Path) -> None:
    same = "## Same\n\n" + prose("same") + "\n"
    write(folder, "a.md", "# T\n\n" + same * 3)
    lexical_vault.ingest(folder)
    before = sorted(chunk.id for chunk in lexical_vault.list())
    assert len(set(before)) == 3
    write(folder, "a.md", "# T\n\n" + same * 2)
    lexical_vault.ingest(folder)
    assert len(set(before) & {chunk.id for chunk in lexical_vault.list()}) == 2


def test_a_renamed_root_keeps_ids_and_a_copied_one_has_its_own(lexical_vault: Vault, folder: Path) -> None:
    write(folder, "a.md", sections("alpha"))
    write(folder, "b.md", sections("beta"))
    lexical_vault.ingest(folder)
    before = ids_by_text(lexical_vault)
    new = folder.with_name("renamed")
    folder.rename(new)
    got = lexical_vault.ingest(new)
    assert (got.moved, got.added) == (2, 0)
    assert ids_by_text(lexical_vault) == before
    write(folder, "a.md", sections("alpha"))
    assert lexical_vault.ingest(folder).added == 1
    assert len(lexical_vault.list({"source": "a.md"})) == 4  # two chunks each


def test_a_file_ingested_by_itself_keeps_the_name_it_has_below_its_root(lexical_vault: Vault, folder: Path) -> None:
    write(folder, "deep/a.md", "Old words, see [[b]].")
    write(folder, "b.md", "Another.")
    lexical_vault.ingest(folder)
    write(folder, "deep/a.md", "New words, see [[b]].")
    got = lexical_vault.ingest(folder / "deep" / "a.md")
    assert (got.updated, got.removed, got.unresolved) == (1, 0, 0)
    assert lexical_vault.stats()["links"] == 1
    assert lexical_vault.recall("new words", k=1)[0].source == "deep/a.md"


def test_an_invalidated_chunk_stays_so_when_its_file_is_edited_elsewhere(lexical_vault: Vault, folder: Path) -> None:
    write(folder, "a.md", sections("alpha", "beta"))
    lexical_vault.ingest(folder)
    wrong = headings(lexical_vault)["Alpha"]
    lexical_vault.invalidate(wrong, "it was wrong")
    write(folder, "a.md", sections("alpha", "beta", "gamma"))
    lexical_vault.ingest(folder)
    assert state(lexical_vault)[wrong][5] == "invalidated"


PORTS = "# Ports\n\nThe port of Keystone is 7411.\n\n# Colours\n\nThe door is red.\n"


@pytest.mark.parametrize(
    ("reason", "old", "new", "status"),
    [
        ("the port is wrong, see the wiki", "red", "blue", "invalidated"),  # another sentence was edited
        ("outdated", "red", "blue", "invalidated"),  # a reason that names nothing: any may be the wrong one
        ("outdated", "7411", "7500", "invalidated"),
        ("the port is wrong, see the wiki", "7411", "7500", "active"),  # the one it is about was mended
        ("der Port stimmt nicht", "7411", "7500", "active"),
        ("outdated", "# Ports\n\nThe port of Keystone is 7411.\n\n# Colours\n\nThe door is red.", "It moved.", "active"),
        ("the port is wrong", "port of Keystone is", "port of\nKeystone is", "invalidated"),  # wrapped
        ("the port is wrong", "The port", "- The port", "invalidated"),
    ],
)  # fmt: skip
def test_an_invalidated_chunk_stays_so_while_its_file_says_what_was_wrong(
    lexical_vault: Vault, folder: Path, reason: str, old: str, new: str, status: str
) -> None:
    write(folder, "a.md", PORTS)
    lexical_vault.ingest(folder)
    (chunk,) = lexical_vault.list()
    lexical_vault.invalidate(chunk.id, reason)
    write(folder, "a.md", PORTS.replace(old, new))
    report = lexical_vault.ingest(folder)
    assert lexical_vault.get(chunk.id).status == status
    (problem,) = report.problems
    assert (problem.source, problem.code) == ("a.md", "invalidated")
    told, remedy = ("stays invalidated", "restore") if status == "invalidated" else ("is current again", "invalidate")
    assert reason in problem.message
    assert told in problem.message
    assert f"`lamina {remedy} {chunk.id}`" in problem.message
    if status == "invalidated":
        assert lexical_vault.get(chunk.id).reason == reason
        assert not lexical_vault.recall("port of Keystone")


def test_invalidated_text_stays_so_where_its_chunk_is_cut_in_two(lexical_vault: Vault, folder: Path) -> None:
    write(folder, "a.md", PORTS)
    lexical_vault.ingest(folder)
    (chunk,) = lexical_vault.list()
    lexical_vault.invalidate(chunk.id, "the door was painted")
    long = PORTS.replace("7411.\n", f"7411.\n\n{prose('alpha', 300)}\n") + f"\n{prose('beta', 300)}\n"
    write(folder, "a.md", long)
    report = lexical_vault.ingest(folder)
    found = [(text, status) for text, _, _, _, _, status, _ in state(lexical_vault).values()]
    assert {status for text, status in found if "door is red" in str(text)} == {"invalidated"}
    assert {status for text, status in found if "7411" in str(text)} == {"active"}
    assert len(report.problems) == 2
    # said again elsewhere: what one chunk was invalidated for is no reason against another
    write(folder, "a.md", long + f"\n# More\n\nThe door is green. {prose('gamma', 300)}\n")
    assert not lexical_vault.ingest(folder).problems


def test_an_invalidated_chunk_stays_so_when_its_file_goes_and_returns(lexical_vault: Vault, folder: Path) -> None:
    write(folder, "a.md", "It is true.")
    write(folder, "b.md", "Another.")
    lexical_vault.ingest(folder)
    (wrong,) = lexical_vault.list({"source": "a.md"})
    lexical_vault.invalidate(wrong.id, "it was wrong")
    (folder / "a.md").unlink()
    assert lexical_vault.ingest(folder).removed == 1
    write(folder, "a.md", "It is true.")
    assert lexical_vault.ingest(folder).added == 1
    assert lexical_vault.get(wrong.id).status == "invalidated"


@pytest.mark.parametrize("content", ["stuck at step 7\n", "kafka "])
def test_equal_chunks_of_one_source_get_their_ids_in_linear_time(
    content: str, lexical_vault: Vault, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def counted(*parts: str | None) -> str:
        nonlocal calls
        calls += 1
        return new_id(*parts)

    monkeypatch.setattr("lamina_engine.ingest.documents.new_id", counted)
    write(folder, "a.log", content * (1_000_000 // len(content)))
    lexical_vault.ingest(folder)
    chunks = lexical_vault.stats()["chunks"]
    assert chunks > 500
    assert calls == chunks
