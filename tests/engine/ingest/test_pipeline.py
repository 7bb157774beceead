"""Ingest of folders, files and standard input, from end to end."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.ingest import adding, documents, pipeline, reader, recordfiles, sources
from lamina_engine.ingest.walk import read_entry
from lamina_engine.reports import IngestReport, Progress
from tests.notes import CountingEmbedder, prose, state, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    made.mkdir()
    return made


def codes(report: IngestReport) -> dict[str, str]:
    return {problem.source: problem.code for problem in report.problems}


def sources_of(vault: Vault) -> set[str | None]:
    return {chunk.source for chunk in vault.list(limit=None)}


def counts(report: IngestReport) -> tuple[int, int, int, int, int, int]:
    return report.added, report.updated, report.unchanged, report.moved, report.removed, report.skipped


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class Reads:
    """Counts the files that an ingest opens."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.hashed: list[str] = []
        self.read: list[str] = []
        digest_of = sources.digest_of_entry

        def counted_digest(entry: Any) -> bytes:
            self.hashed.append(entry.path)
            return digest_of(entry)

        def counted_read(entry: Any, **options: Any) -> bytes:
            self.read.append(entry.path)
            return read_entry(entry, **options)

        patch.setattr(sources, "digest_of_entry", counted_digest)
        patch.setattr(reader, "read_entry", counted_read)


def test_a_second_run_reads_nothing_and_a_third_one_what_changed(
    lexical_vault: Vault, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(5):
        write(folder, f"{i}.md", f"Note number {i}.")
    assert counts(lexical_vault.ingest(folder)) == (5, 0, 0, 0, 0, 0)
    reads = Reads(monkeypatch)
    snapshot = lexical_vault.stats()["snapshot"]
    assert counts(lexical_vault.ingest(folder)) == (0, 0, 5, 0, 0, 0)
    assert (reads.hashed, reads.read, lexical_vault.stats()["snapshot"]) == ([], [], snapshot)
    write(folder, "3.md", "Note number three.")
    (folder / "0.md").rename(folder / "zero.md")
    (folder / "1.md").unlink()
    write(folder, "new.md", "A new one.")
    assert counts(lexical_vault.ingest(folder)) == (1, 1, 2, 1, 1, 0)
    assert reads.read == ["3.md", "new.md", "zero.md"]


def test_a_note_just_written_is_looked_at_again(lexical_vault: Vault, folder: Path, clock: FixedClock) -> None:
    path = write(folder, "a.md", "First words.")
    moment = clock.now_us() * 1000
    os.utime(path, ns=(moment, moment))
    lexical_vault.ingest(folder)
    path.write_text("Other word!!")  # the same size within one tick of the clock
    os.utime(path, ns=(moment, moment))
    assert lexical_vault.ingest(folder).updated == 1


def test_one_bad_file_among_good_ones(lexical_vault: Vault, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamina_engine.ingest.walk.MAX_BYTES", 2_000)
    monkeypatch.setattr(pipeline, "walk", _walk_with_limit(2_000))
    write(folder, "good.md", "Good words.")
    write(folder, "also.txt", "Also good.")
    write(folder, "binary.txt", bytes(range(256)))
    write(folder, "latin.txt", "Grüße aus Köln".encode("latin-1"))
    write(folder, "enormous.md", "x " * 2_000)
    write(folder, "empty.md", " \n")
    write(folder.parent, "outside.md", "Secret of another folder.")
    (folder / "out.md").symlink_to(folder.parent / "outside.md")
    (folder / "loop.md").symlink_to(folder / "loop.md")
    os.mkfifo(folder / "pipe.md")
    got = lexical_vault.ingest(folder)
    assert sources_of(lexical_vault) == {"good.md", "also.txt", "latin.txt"}
    assert codes(got) == {
        "binary.txt": "binary", "latin.txt": "encoding", "enormous.md": "too_large", "empty.md": "empty",
        "out.md": "symlink", "loop.md": "symlink",
    }  # fmt: skip
    assert counts(got) == (3, 0, 0, 0, 0, 5)
    assert counts(lexical_vault.ingest(folder))[:2] == (0, 0)


def _walk_with_limit(max_bytes: int) -> Any:
    from lamina_engine.ingest.walk import walk

    return lambda root, **options: walk(root, max_bytes=max_bytes, **options)


@pytest.mark.parametrize("stage", ["hash", "read"])
def test_what_cannot_be_read_stays_as_it_was(
    stage: str, lexical_vault: Vault, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        write(folder, f"{name}.md", f"Old words of {name}.")
    lexical_vault.ingest(folder)
    before = state(lexical_vault)
    write(folder, "a.md", "New words.")
    (folder / "b.md").rename(folder / "moved.md")
    module, name = (sources, "digest_of_entry") if stage == "hash" else (reader, "read_entry")
    original = getattr(module, name)

    def refuse(entry: Any, **options: Any) -> bytes:
        if entry.path in ("a.md", "moved.md"):
            raise PermissionError(13, "Permission denied")
        return bytes(original(entry, **options))

    with monkeypatch.context() as patch:
        patch.setattr(module, name, refuse)
        got = lexical_vault.ingest(folder)
    assert codes(got) == {"a.md": "unreadable", "moved.md": "unreadable"}
    assert (got.updated, got.moved, got.skipped) == (0, 0, 2)
    if stage == "read":
        assert state(lexical_vault) == before
    got = lexical_vault.ingest(folder)
    assert (got.updated, got.moved + got.added, got.problems) == (1, 1, [])
    assert set(state(lexical_vault)) == set(before)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root to become another user")
def test_a_file_without_permission_is_reported_to_a_user_without_rights(tmp_path: Path) -> None:
    script = """
import os, sys
import lamina
root = sys.argv[1]
with lamina.open(root + "/w", create=True, embedder="none") as vault:
    vault.list(), vault.ingest(root + "/notes/good.md")  # imports what this user may read and the other may not
os.setgid(65534); os.setuid(65534)
with lamina.open(root + "/v", create=True, embedder="none") as vault:
    got = vault.ingest(root + "/notes")
    print([(p.source, p.code) for p in got.problems], [c.source for c in vault.list()], got.skipped)
"""
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents[:2]:
        parent.chmod(parent.stat().st_mode | 0o755)
    write(tmp_path / "notes", "good.md", "Good.")
    write(tmp_path / "notes", "closed.md", "Closed.").chmod(0)
    write(tmp_path / "notes", "shut/in.md", "Shut in.").parent.chmod(0)
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    (tmp_path / "notes" / "shut").chmod(0o700)
    assert done.stdout.strip() == "[('shut', 'unreadable'), ('closed.md', 'unreadable')] ['good.md'] 2", done.stderr


def test_every_kind_of_text(lexical_vault: Vault, folder: Path) -> None:
    write(folder, "a.md", "# Title of it\n\nMarkdown words.")
    write(folder, "a.txt", "Plain words.")
    write(folder, "a.rst", "Heading\n=======\n\nRestructured words.")
    write(folder, "src/deep/a.py", "def plan_route():\n    return 'python words'\n")
    write(folder, "LICENSE", "No suffix, not taken.")
    got = lexical_vault.ingest(folder)
    assert counts(got) == (4, 0, 0, 0, 0, 0)
    found = {chunk.source: (chunk.type, chunk.collection, chunk.title) for chunk in lexical_vault.list()}
    assert found == {
        "a.md": ("note", "notes", "Title of it"),
        "a.txt": ("note", "notes", "a"),
        "a.rst": ("note", "notes", "Heading"),
        "src/deep/a.py": ("implementation", "code-patterns", "a.py · plan_route"),
    }
    assert got.unread == {"": 1}
    assert lexical_vault.ingest(folder / "LICENSE").added == 1


def test_the_caller_wins_over_frontmatter_and_rules(lexical_vault: Vault, folder: Path) -> None:
    write(folder, "a.md", "---\ntype: research\nproject: web\n---\nWords.")
    write(folder, "b.md", "Words of b.")
    write(folder, "c.md", "---\ncollection: mine\n---\nWords of c.")
    write(folder, "r.jsonl", '{"text": "Words of r.", "project": "web"}\n')
    lexical_vault.ingest(folder)
    before = {chunk.source: chunk.id for chunk in lexical_vault.list()}
    got = lexical_vault.ingest(folder, type="Decision", project="api")
    assert (got.updated, got.unchanged) == (4, 0)
    found = {chunk.source: (chunk.type, chunk.collection, chunk.project) for chunk in lexical_vault.list()}
    assert found == {
        name: ("decision", "mine" if name == "c.md" else "decisions", "api")
        for name in ("a.md", "b.md", "c.md", "r.jsonl")
    }
    assert {chunk.source: chunk.id for chunk in lexical_vault.list()} == before
    assert lexical_vault.ingest(folder, type="decision", project="api").unchanged == 4
    got = lexical_vault.ingest(folder, collection="all")
    assert got.updated == 4
    assert {(chunk.collection, chunk.project) for chunk in lexical_vault.list({"source": "b.md"})} == {("all", None)}


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "epub"},
        {"type": "  "},
        {"type": "a/b"},
        {"collection": ""},
        {"project": 5},
        {"columns": {"nonsense": "x"}},
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any], lexical_vault: Vault, folder: Path) -> None:
    write(folder, "a.md", "Words.")
    with pytest.raises(lamina.InvalidArgument):
        lexical_vault.ingest(folder, **options)
    assert lexical_vault.list() == []


def test_a_vault_is_never_ingested(folder: Path, clock: FixedClock) -> None:
    write(folder, "a.md", "Words of the notes.")
    write(folder, "deep/r.jsonl", '{"text": "A record."}\n')
    with lamina.open(folder / "vault", create=True, clock=clock, embedder="none") as vault:
        for _ in range(2):
            vault.ingest(folder)
            assert sources_of(vault) == {"a.md", "deep/r.jsonl"}
        got = vault.ingest(folder / "vault")
        assert (codes(got), got.added) == ({".": "vault"}, 0)
        for part in ("log", "log/chunks", "index", "CURRENT"):
            with pytest.raises(lamina.IngestError, match="vault"):
                vault.ingest(folder / "vault" / part)
        (segment, *_) = (folder / "vault" / "log" / "chunks").iterdir()
        with pytest.raises(lamina.IngestError, match="vault"):
            vault.ingest(segment, kind="arrow")


def test_paths_that_are_not_there(lexical_vault: Vault, folder: Path) -> None:
    write(folder, "a.md", "Words.")
    for path in (folder / "missing", "", str(folder / "a.md" / "b")):
        with pytest.raises(lamina.IngestError) as caught:
            lexical_vault.ingest(path)
        assert isinstance(caught.value, OSError)
    with pytest.raises(lamina.IngestError):
        lexical_vault.ingest([folder, folder / "missing"])
    assert sources_of(lexical_vault) == {"a.md"}
    assert counts(lexical_vault.ingest([])) == (0, 0, 0, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="names are text there")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, kind) for name in (b"d\xff/a.md", b"d\xff", b"b\xff.md") for kind in ("auto", "tasks", "sessions")),
        (b"link/a.md", "auto"),
    ],
)
def test_a_path_whose_name_is_no_text_is_refused(lexical_vault: Vault, folder: Path, name: bytes, kind: Any) -> None:
    os.makedirs(os.fsencode(folder) + b"/d\xff")  # noqa: PTH103 - a name in bytes
    os.symlink(os.fsencode(folder) + b"/d\xff", os.fsencode(folder) + b"/link")  # noqa: PTH211 - a name in bytes
    for each in (b"/d\xff/a.md", b"/b\xff.md"):
        with open(os.fsencode(folder) + each, "wb") as file:  # noqa: PTH123 - a name in bytes
            file.write(b"Words.")
    with pytest.raises(lamina.IngestError, match="is not valid UTF-8; rename"):
        lexical_vault.ingest(folder / os.fsdecode(name), kind=kind)
    assert not sources_of(lexical_vault)


def test_obsidian_conventions(lexical_vault: Vault, folder: Path) -> None:
    write(folder, ".obsidian/app.json", "{}")
    write(folder, ".obsidian/plugin.md", "Of the program.")
    write(folder, ".trash/old.md", "Thrown away.")
    write(folder, "Templates/daily.md", "{{date}}")
    write(folder, "daily/2026-02-15.md", "What happened that day.")
    write(folder, "Postgres.md", "---\naliases: [pg]\n---\nA database.")
    write(
        folder,
        "Choice.md",
        "---\ntype: decision\ncollection: arch\ntags: [db, infra/net]\naliases:\n  - The choice\ndate: 2026-01-10\n"
        "owner: ann\n---\nWe use [[Postgres]] and [[postgres|it]] as ![[Postgres]], see #storage, not [[Nowhere]].\n\n"
        "```\n[[Postgres]] #notatag\n```\n",
    )
    write(folder, "Broken.md", "---\ntype: decision\ntitle: [unclosed\ntags: db\n---\nStill read.")
    before = digests(folder)
    got = lexical_vault.ingest(folder)
    assert digests(folder) == before
    assert sources_of(lexical_vault) == {"daily/2026-02-15.md", "Postgres.md", "Choice.md", "Broken.md"}
    assert (got.links, got.unresolved) == (1, 1)  # three times to the same note; Nowhere is nowhere
    assert codes(got) == {"Broken.md": "frontmatter"}
    (choice,) = lexical_vault.list({"source": "Choice.md"})
    assert (choice.type, choice.collection, choice.tags) == ("decision", "arch", ("db", "infra/net", "storage"))
    assert choice.metadata == {"owner": "ann", "aliases": ["The choice"]}
    assert choice.created_at_us == 1_768_003_200_000_000
    assert "notatag" in choice.text
    assert "owner" not in choice.text
    (daily,) = lexical_vault.list({"source": "daily/2026-02-15.md"})
    assert daily.created_at_us == 1_771_113_600_000_000
    (broken,) = lexical_vault.list({"source": "Broken.md"})
    assert (broken.text.strip(), broken.type) == ("Still read.", "decision")


def test_a_date_comes_from_git_where_there_is_no_better(lexical_vault: Vault, folder: Path) -> None:
    write(folder, "a.md", "Tracked.")
    write(folder, "b.md", "---\ndate: 2020-02-02\n---\nTracked and dated.")
    path = write(folder, "c.md", "Not tracked.")
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    env = {**os.environ, **who, "GIT_AUTHOR_DATE": "2021-03-04T05:06:07Z", "GIT_COMMITTER_DATE": "2021-03-04T05:06:07Z"}

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, env=env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q")
    git("add", "a.md", "b.md")
    git("commit", "-qm", "first")
    lexical_vault.ingest(folder)
    found = {chunk.source: chunk for chunk in lexical_vault.list()}
    assert found["a.md"].created_at_us == 1_614_834_367_000_000
    assert found["b.md"].created_at_us == 1_580_601_600_000_000
    assert found["c.md"].created_at_us == path.stat().st_mtime_ns // 1000
    assert found["a.md"].commit == git("rev-parse", "HEAD")
    assert found["a.md"].blob == git("rev-parse", "HEAD:a.md")


def test_standard_input(lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    def say(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(data)))

    say("# From a pipe\n\nPiped words, ümlaut.".encode())
    assert lexical_vault.ingest("-", project="api", kind="markdown").added == 1
    (chunk,) = lexical_vault.list()
    assert (chunk.title, chunk.source, chunk.project) == ("From a pipe", "<stdin>", "api")
    say("# From a pipe\n\nPiped words, ümlaut.".encode())
    assert counts(lexical_vault.ingest("-", project="api", kind="markdown")) == (0, 0, 1, 0, 0, 0)
    say(b'{"id": "j1", "text": "A record."}\nnothing\n')
    got = lexical_vault.ingest("-", kind="jsonl", type="decision")
    assert (got.added, [p.code for p in got.problems]) == (1, ["record"])
    assert lexical_vault.get("j1").collection == "decisions"
    say(b"")
    got = lexical_vault.ingest("-")
    assert (got.added, got.skipped, [p.code for p in got.problems]) == (0, 1, ["empty"])
    say(b"")
    with pytest.raises(lamina.InvalidArgument):
        lexical_vault.ingest("-", kind="parquet")


class Interrupt:
    """Presses Ctrl-C at one step of the reading."""

    def __init__(self, at: int) -> None:
        self.at, self.steps = at, 0

    def __call__(self, step: Progress) -> None:
        if step.stage == "reading":
            self.steps += 1
            if self.steps == self.at:
                raise KeyboardInterrupt


@pytest.mark.parametrize("at", [1, 7, 14, 15])
def test_an_interrupt_loses_nothing_that_was_committed(
    at: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "GROUP_CHUNKS", 4)
    model = lamina.CallableEmbedder(CountingEmbedder(), 8, "words;v1")
    opened = {
        name: lamina.open(tmp_path / name, create=True, clock=FixedClock("2026-03-01"), embedder=model)
        for name in ("cut", "whole")
    }
    for i in range(14):
        write(folder, f"{i:02}.md", f"# Note {i}\n\n{prose(f'first{i}')}\n\n## Other\n\n{prose(f'second{i}')}\n")
    write(folder, "r.jsonl", "".join(f'{{"text": "record {i}"}}\n' for i in range(9)))
    for vault in opened.values():
        vault.ingest(folder)
    # all that can happen to a source at once
    for i in range(4):
        (folder / f"{i:02}.md").rename(folder / f"moved-{i:02}.md")
    for i in range(4, 8):
        write(folder, f"{i:02}.md", f"# Note {i}\n\n{prose(f'changed{i}')}\n\n## Other\n\n{prose(f'second{i}')}\n")
    (folder / "08.md").unlink()
    for i in range(5):
        write(folder, f"new-{i}.md", f"# New {i}\n\n{prose(f'new{i}')}\n")
    (folder / "r.jsonl").rename(folder / "s.jsonl")
    with pytest.raises(KeyboardInterrupt):
        opened["cut"].ingest(folder, progress=Interrupt(at))
    committed = state(opened["cut"])
    opened["cut"].ingest(folder)
    opened["whole"].ingest(folder)
    got, ref = state(opened["cut"]), state(opened["whole"])
    assert got == ref
    assert set(committed) <= set(got)
    final = opened["cut"].ingest(folder)
    assert (final.unchanged, final.chunks) == (19, 0)
    for vault in opened.values():
        vault.close()


def test_progress_tells_every_step(lexical_vault: Vault, folder: Path) -> None:
    for i in range(3):
        write(folder, f"{i}.md", f"Note {i}.")
    steps: list[Progress] = []
    lexical_vault.ingest(folder, progress=steps.append)
    assert [(s.stage, s.done, s.total) for s in steps] == [
        *(("scanning", i, 3) for i in range(3)),
        *(("reading", i, 3) for i in range(4)),
        *((stage, i, 1) for stage in ("linking", "indexing") for i in range(2)),
    ]


class Failing:
    """A function that fails for texts and values that name the word ``boom``."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        call = getattr(owner, name)

        def replaced(*arguments: Any, **options: Any) -> Any:
            if any("boom" in str(argument) for argument in arguments):
                raise ZeroDivisionError("as a parser may")
            return call(*arguments, **options)

        patch.setattr(owner, name, replaced)


def test_a_file_whose_preparation_fails_is_a_problem_and_the_others_are_read(
    lexical_vault: Vault, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        write(folder, f"{name}.md", f"Note {name}.")
    assert counts(lexical_vault.ingest(folder)) == (3, 0, 0, 0, 0, 0)
    write(folder, "b.md", "Note b, boom.")
    write(folder, "c.md", "Note c, later.")
    write(folder, "d.md", "boom")
    with monkeypatch.context() as patch:
        Failing(patch, reader, "read_source")
        got = lexical_vault.ingest(folder)
    assert counts(got) == (0, 1, 1, 0, 0, 2)
    assert codes(got) == {"b.md": "failed", "d.md": "failed"}
    assert "ZeroDivisionError" in got.problems[0].message
    texts = {chunk.source: chunk.text for chunk in lexical_vault.list(limit=None)}
    assert texts == {"a.md": "Note a.", "b.md": "Note b.", "c.md": "Note c, later."}
    assert counts(lexical_vault.ingest(folder)) == (1, 1, 2, 0, 0, 0)  # once the failure is repaired


def test_a_record_or_a_file_of_records_whose_preparation_fails_is_a_problem(
    lexical_vault: Vault, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "a.jsonl", '{"text": "one"}\n{"text": "boom"}\n{"text": "two"}\n')
    write(folder, "b.md", "Note b.")
    with monkeypatch.context() as patch:
        Failing(patch, recordfiles, "normalise_record")
        got = lexical_vault.ingest(folder)
    assert (got.added, codes(got)) == (2, {"a.jsonl": "record"})
    write(folder, "a.jsonl", '{"text": "three"}\n')
    write(folder, "b.md", "Note c.")

    def failing(*_: Any) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(adding, "redact", failing)
        got = lexical_vault.ingest(folder)
    assert (got.updated, got.skipped, codes(got)) == (1, 1, {"a.jsonl": "unreadable"})
    assert {chunk.text for chunk in lexical_vault.list(limit=None)} == {"one", "two", "Note c."}


def test_a_key_in_base64_that_was_cut_off_stops_no_ingest(lexical_vault: Vault, folder: Path) -> None:
    cut = "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0t"[:38]
    for i in range(3):
        write(folder, f"{i}.md", f"# fine {i}\n\nabout kafka\n")
    write(folder, "1.md", f"# kubeconfig\n\nclient-key-data: {cut}...\n")
    got = lexical_vault.ingest(folder)
    assert (got.added, got.problems) == (3, [])
    assert not any(cut in chunk.text for chunk in lexical_vault.list(limit=None))
    lexical_vault.recall(f"client-key-data: {cut}")
    lexical_vault.add(f"client-key-data: {cut}")


@pytest.mark.parametrize("place", [".private", "build", "vendor/old", "node_modules/pkg", "templates"])
def test_what_was_named_stays_where_a_wider_ingest_passes_it_by(lexical_vault: Vault, folder: Path, place: str) -> None:
    # `lamina ingest .private` and then `lamina ingest .` removed what the first had read
    write(folder, f"{place}/a.md", "The plan of the house.")
    write(folder, f"{place}/b.md", "The key is under the mat.")
    write(folder, "c.md", "Another note.")
    assert lexical_vault.ingest(folder / place).added == 2
    assert counts(lexical_vault.ingest(folder)) == (1, 0, 0, 0, 0, 0)
    assert {chunk.text for chunk in lexical_vault.list()} == {
        "The plan of the house.", "The key is under the mat.", "Another note."
    }  # fmt: skip
    (folder / place / "a.md").unlink()
    assert lexical_vault.ingest(folder).removed == 1, "this one is gone"
    (folder / place / "b.md").rename(folder / "b.md")
    assert lexical_vault.ingest(folder).moved == 1
    assert len(lexical_vault.list()) == 2
