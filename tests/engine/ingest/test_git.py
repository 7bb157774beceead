""""""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.clock import US_PER_S
from lamina_engine.errors import IngestError
from lamina_engine.ingest.git import (
    Change,
    Commit,
    NoRepository,
    PathHistory,
    Repository,
    blob_id,
    examine_repository,
    find_repository,
    follow_paths,
    parse_log,
)


def first_dates(repository: Repository) -> dict[str, int]:
    return {path: facts.first_us for path, facts in repository.history().items() if facts.first_us is not None}


def commit(number: int, *changes: Change) -> Commit:
    return Commit(f"c{number}", number, changes)


def test_replay_of_parallel_branches() -> None:
    rename = Change("R", "b", "a")
    got = follow_paths([commit(5, Change("A", "a")), commit(6, rename), commit(7, Change("M", "a")), commit(8, rename)])
    assert got["b"] == PathHistory(5, 8, "c8")
    got = follow_paths([commit(5, Change("A", "a")), commit(3, Change("A", "a"))])
    assert got["a"].first_us == 3
    got = follow_paths([commit(5, Change("M", "lost")), commit(6, Change("R", "n", "never seen"))])
    assert (got["lost"].first_us, got["n"].first_us) == (5, 6)
    got = follow_paths([commit(5, Change("A", "a")), commit(6, Change("A", "a"))], frozenset({"c6"}))
    assert got["a"].first_us is None
    assert follow_paths([]) == {}


def test_a_log_is_read_with_renames_merges_and_absurd_dates() -> None:
    fields = [
        b"\x01c1 5 ",
        b"\nA",
        b"a",
        b"\x01c2 99999999999999 c1",
        b"\nR100",
        b"a",
        b"b",
        b"\x01c3 7 c1 c2",
        b"",
        b"MM",
        b"b",
    ]
    got = list(parse_log(b"\0".join(fields) + b"\0"))
    assert got == [
        Commit("c1", 5_000_000, (Change("A", "a"),)),
        Commit("c2", None, (Change("R", "b", "a"),), ("c1",)),
        Commit("c3", 7_000_000, (Change("MM", "b"),), ("c1", "c2")),
    ]
    assert list(parse_log(b"")) == []


BUNDLE = Path(__file__).parents[4] / "shared" / "data" / "notes-vault" / "til.bundle"
T0 = 1_600_000_000


class Git:
    """A real repository; commit number i is dated ``T0 + i``."""

    def __init__(self, root: Path, *options: str) -> None:
        self.root = root
        self.commits = 0
        root.mkdir(parents=True, exist_ok=True)
        self("init", "-q", "-b", "main", *options)

    def __call__(self, *arguments: str, date_s: int | str | None = None) -> str:
        date = f"{T0 + self.commits if date_s is None else date_s} +0200"
        names = {"NAME": "n", "EMAIL": "e@x"}
        who = {f"GIT_{role}_{what}": text for role in ("AUTHOR", "COMMITTER") for what, text in names.items()}
        env = os.environ | who | {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        command = ["git", "-c", "protocol.file.allow=always", "-C", str(self.root), *arguments]
        return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout.strip()

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def commit(self, *, date_s: int | str | None = None) -> str:
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", "m", date_s=date_s)
        self.commits += 1
        return self("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the machine's git configuration out, and the test's repositories to themselves."""
    config = tmp_path / "gitconfig"
    config.write_text("")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))


def found(path: Path) -> Repository:
    repository = examine_repository(path)
    assert isinstance(repository, Repository), repository
    return repository


def refused(path: Path) -> str:
    answer = examine_repository(path)
    assert isinstance(answer, NoRepository)
    assert answer.message
    assert find_repository(path) is None
    return answer.reason


def us(number: int) -> int:
    return (T0 + number) * US_PER_S


def body(name: str) -> str:
    return "".join(f"{name} line {i}\n" for i in range(20))


def test_head_blobs_and_dates(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git.write("a.md", "one\n")
    git.commit()
    git.write("sub/b.md", "two\n")
    git.write("a.md", "one!\n")
    second = git.commit()
    repository = found(tmp_path / "r" / "sub" / "b.md")
    assert repository.root == (tmp_path / "r").resolve()
    assert (repository.head, repository.object_format, repository.shallow) == (second, "sha1", False)
    assert repository.blobs() == {p: git("rev-parse", f"HEAD:{p}") for p in ("a.md", "sub/b.md")}
    assert first_dates(repository) == {"a.md": us(0), "sub/b.md": us(1)}
    assert repository.history() == {
        "a.md": PathHistory(us(0), us(1), second),
        "sub/b.md": PathHistory(us(1), us(1), second),
    }
    assert repository.relative(tmp_path / "r" / "sub" / "b.md") == "sub/b.md"
    assert repository.relative(tmp_path / "elsewhere.md") is None


def test_no_commit_yet(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git.write("a.md", "x")
    git("add", "-A")
    repository = found(tmp_path / "r")
    assert repository.head is None
    assert list(repository.blobs()) == ["a.md"]
    assert repository.history() == {}
    assert repository.log() == []


def test_untracked_files_are_not_listed(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git.write("a.md", "x")
    git.commit()
    git.write("b.md", "y")
    (tmp_path / "r" / "a.md").unlink()
    repository = found(tmp_path / "r")
    assert list(repository.blobs()) == ["a.md"]
    assert list(first_dates(repository)) == ["a.md"]


def test_working_tree_edits_show_by_blob(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git.write("a.md", "one\ntwo\n")
    git.commit()
    repository = found(tmp_path / "r")
    blob = repository.blobs()["a.md"]
    assert repository.blob_of(b"one\ntwo\n") == blob
    assert repository.blob_of(b"one\ntwo!\n") != blob
    assert repository.is_same(b"one\ntwo\n", blob)
    assert repository.is_same(b"one\r\ntwo\r\n", blob)
    assert not repository.is_same(b"one\r\ntwo!\r\n", blob)
    git.write("a.md", "staged\n")
    git("add", "-A")
    assert found(tmp_path / "r").blobs()["a.md"] == repository.blob_of(b"staged\n")


def test_sha256_repositories(tmp_path: Path) -> None:
    git = Git(tmp_path / "r", "--object-format=sha256")
    git.write("a.md", "one\n")
    git.commit()
    repository = found(tmp_path / "r")
    assert repository.object_format == "sha256"
    assert repository.head is not None
    assert len(repository.head) == 64
    assert repository.blobs()["a.md"] == repository.blob_of(b"one\n") == git("rev-parse", "HEAD:a.md")
    assert first_dates(repository) == {"a.md": us(0)}


@given(st.binary(max_size=200))
def test_blob_id_is_the_hash_of_header_and_bytes(data: bytes) -> None:
    ref = hashlib.sha1(b"blob " + str(len(data)).encode() + b"\x00" + data).hexdigest()
    assert blob_id(data) == ref


def test_blob_ids_known_from_git() -> None:
    assert blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert blob_id(b"", "sha256") == "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"


NAMES = ["with space.md", "tab\there.md", "new\nline.md", 'quote".md', "back\\slash.md", "Ünïcödé/日本.md", "-dash.md"]


def test_any_name(tmp_path: Path) -> None:
    git = Git(tmp_path / "odd\n name ü")
    for name in NAMES:
        git.write(name, body(name))
    git.write("R100", body("a name like a status"))
    git.commit()
    git("mv", "--", "new\nline.md", "new\n\nline.md")
    git("mv", "--", "-dash.md", "M")
    git.commit()
    repository = found(git.root)
    assert repository.root == git.root.resolve()
    ref = (set(NAMES) | {"R100", "new\n\nline.md", "M"}) - {"new\nline.md", "-dash.md"}
    assert set(repository.blobs()) == ref
    assert first_dates(repository) == dict.fromkeys(ref, us(0))
    assert repository.history()["M"].last_us == us(1)


def test_names_that_are_not_utf8_are_left_out(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git.write("a.md", "x")
    with open(os.fsencode(git.root) + b"/b\xff.md", "wb") as file:  # noqa: PTH123 - a name in bytes
        file.write(b"y")
    git.commit()
    assert list(found(git.root).blobs()) == list(found(git.root).history()) == ["a.md"]


def test_renames_are_followed_to_the_creation(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git.write("a.md", body("a"))
    git.commit()
    git("mv", "a.md", "b.md")
    git.write("b.md", body("a") + "and one line\n")
    git.commit()
    git("mv", "b.md", "c.md")
    git.write("a.md", body("something new under the old name"))
    last = git.commit()
    repository = found(git.root)
    assert first_dates(repository) == {"c.md": us(0), "a.md": us(2)}
    assert repository.history()["c.md"] == PathHistory(us(0), us(2), last)


def test_deleted_and_restored_keeps_its_oldest_date(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git.write("a.md", body("a"))
    git.commit()
    git("rm", "-q", "a.md")
    git.commit()
    git.write("a.md", body("a"))
    git.commit()
    assert found(git.root).history()["a.md"].first_us == us(0)
    assert found(git.root).history()["a.md"].last_us == us(2)


def test_merges_and_what_only_a_merge_brings(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git.write("a.md", body("a"))
    git.commit()
    git("checkout", "-q", "-b", "side")
    git.write("side.md", body("s"))
    git("mv", "a.md", "moved.md")
    git.commit()
    git("checkout", "-q", "main")
    git.write("a.md", body("a") + "more\n")
    git.commit()
    git("merge", "-q", "--no-commit", "side")
    git.write("only-here.md", body("evil"))
    merge = git.commit()
    history = found(git.root).history()
    assert {path: facts.first_us for path, facts in history.items()} == {
        "moved.md": us(0),
        "side.md": us(1),
        "only-here.md": us(3),
    }
    assert history["only-here.md"].last_commit == merge
    assert history["side.md"].last_us == us(1)


def test_paths_in_conflict_count_with_our_side(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git.write("a.md", "base\n")
    git.commit()
    git("checkout", "-q", "-b", "side")
    git.write("a.md", "theirs\n")
    git.commit()
    git("checkout", "-q", "main")
    git.write("a.md", "ours\n")
    git.commit()
    with pytest.raises(subprocess.CalledProcessError):
        git("merge", "side")
    repository = found(git.root)
    assert repository.blobs() == {"a.md": repository.blob_of(b"ours\n")}


def test_absurd_dates_are_unknown(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git.write("a.md", "x")
    git.commit(date_s="@999999999999999")
    git.write("b.md", "y")
    git.commit()
    repository = found(git.root)
    assert first_dates(repository) == {"b.md": us(1)}
    assert repository.history()["a.md"].first_us is None


def test_shallow_clones_know_no_first_date_before_their_end(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    for name in ("a.md", "b.md", "c.md"):
        git.write(name, body(name))
        git.commit()
    git("clone", "-q", "--depth", "2", f"file://{git.root}", str(tmp_path / "s"))
    repository = found(tmp_path / "s")
    assert repository.shallow
    assert first_dates(repository) == {"c.md": us(2)}
    assert set(repository.history()) == {"a.md", "b.md", "c.md"}
    assert repository.history()["a.md"].first_us is None


def test_partial_clones_fetch_nothing(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git("config", "uploadpack.allowFilter", "true")
    git.write("a.md", body("a"))
    git.write("b.md", body("b"))
    git.commit()
    git("mv", "a.md", "moved.md")
    git("mv", "b.md", "edited.md")
    git.write("edited.md", body("b") + "more\n")
    git.commit()
    git("clone", "-q", "--filter=blob:none", f"file://{git.root}", str(tmp_path / "p"))
    before = sorted(path.name for path in (tmp_path / "p" / ".git" / "objects").rglob("*"))
    got = first_dates(found(tmp_path / "p"))
    assert got == {"moved.md": us(0), "edited.md": us(1)}  # without old blobs only exact renames are seen
    assert sorted(path.name for path in (tmp_path / "p" / ".git" / "objects").rglob("*")) == before


def test_linked_work_trees_and_submodules(tmp_path: Path) -> None:
    inner = Git(tmp_path / "inner")
    inner.write("i.md", "inner\n")
    inner.commit()
    git = Git(tmp_path / "r")
    git.write("a.md", "x")
    git("submodule", "-q", "add", str(inner.root), "lib/inner")
    git.commit()
    repository = found(git.root)
    assert set(repository.blobs()) == {".gitmodules", "a.md"}
    assert repository.submodules() == {"lib/inner"}
    below = found(git.root / "lib" / "inner")
    assert below.root == (git.root / "lib" / "inner").resolve()
    assert first_dates(below) == {"i.md": us(0)}

    git("worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    git.write("main-only.md", "y")
    git.commit()
    tree = found(tmp_path / "tree")
    assert tree.root == (tmp_path / "tree").resolve()
    assert (tmp_path / "tree" / ".git").is_file()
    assert set(tree.blobs()) == {".gitmodules", "a.md"}
    assert tree.head != found(git.root).head


def test_links_in_the_index_are_no_blobs(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git.write("a.md", "x")
    (git.root / "l.md").symlink_to("a.md")
    git.commit()
    assert set(found(git.root).blobs()) == {"a.md"}
    assert found(git.root).relative(git.root / "l.md") == "a.md"


def test_no_repository_bare_and_missing(tmp_path: Path) -> None:
    assert refused(tmp_path) == "no_repo"
    Git(tmp_path / "bare", "--bare")
    assert refused(tmp_path / "bare") == "bare"
    assert refused(tmp_path / "not" / "there") == "broken"


def test_files_kept_elsewhere_say_nothing_here(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    (tmp_path / "else").mkdir()
    git("config", "core.worktree", str(tmp_path / "else"))
    assert refused(git.root) == "no_repo"


def test_no_git_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = Git(tmp_path / "r")
    repository = found(git.root)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(git.root) == "no_git"
    with pytest.raises(IngestError, match="not found"):
        repository.blobs()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="giving a folder away needs root")
def test_folders_of_other_owners_stay_unknown_until_the_user_trusts_them(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git.write("a.md", "x")
    git.commit()
    for path in (git.root, git.root / ".git"):
        os.chown(path, 12345, 12345)
    assert refused(git.root) == "untrusted"
    Path(os.environ["GIT_CONFIG_GLOBAL"]).write_text(f'[safe]\n\tdirectory = "{git.root}"\n')
    assert set(found(git.root).blobs()) == {"a.md"}


def fake_git(folder: Path, script: str) -> None:
    folder.mkdir(exist_ok=True)
    program = folder / "git"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_a_git_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_git(tmp_path / "bin", "exec sleep 30")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    start = time.monotonic()
    answer = examine_repository(tmp_path, timeout_s=0.1)
    assert time.monotonic() - start < 5
    assert isinstance(answer, NoRepository)
    assert answer.reason == "timeout"
    repository = Repository(tmp_path, "0" * 40, object_format="sha1", shallow=True, timeout_s=0.1)
    for call in (repository.blobs, repository.submodules, repository.log, repository.history):
        with pytest.raises(IngestError, match="longer than"):
            call()


@pytest.mark.parametrize("script", ["echo one", "echo 'fatal: detected dubious ownership' >&2; exit 128", "exit 3"])
def test_answers_that_make_no_sense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    fake_git(tmp_path / "bin", script)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert refused(tmp_path) == ("untrusted" if "dubious" in script else "broken")


def test_a_damaged_repository_is_reported(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git.write("a.md", "x")
    head = git.commit()
    (git.root / ".git" / "objects" / head[:2] / head[2:]).unlink()
    repository = Repository(git.root.resolve(), head, object_format="sha1", shallow=False)
    with pytest.raises(IngestError, match="history"):
        first_dates(repository)
    (git.root / ".git" / "index").write_bytes(b"nonsense")
    with pytest.raises(IngestError, match="list the files"):
        repository.blobs()
    missing = Repository(tmp_path, head, object_format="sha1", shallow=True)
    with pytest.raises(IngestError, match="history"):
        missing.history()


def test_nothing_of_the_repository_is_run(tmp_path: Path) -> None:
    """Every program that a repository's own configuration can name leaves a mark when it runs."""
    git = Git(tmp_path / "r")
    git.write(".gitattributes", "*.md diff=evil filter=evil\n")
    git.write("a.md", body("a"))
    git.commit()
    git("mv", "a.md", "b.md")
    git.write("b.md", body("a") + "x\n")
    git.commit()
    mark = tmp_path / "mark"
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    hooks = git.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout"):
        (hooks / hook).write_text(program.read_text())
        (hooks / hook).chmod(0o755)
    keys = ["core.fsmonitor", "core.pager", "pager.log", "diff.external", "diff.evil.command", "diff.evil.textconv"]
    plain = git("cat-file", "commit", "HEAD").partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n"
    signed = tmp_path / "signed"
    signed.write_text(f"{plain[0]}\n{signature}\n{plain[2]}\n")
    git("update-ref", "HEAD", git("hash-object", "-t", "commit", "-w", str(signed)))
    keys += ["filter.evil.clean", "filter.evil.smudge", "gpg.program", "core.sshCommand", "core.editor"]
    for key in keys:
        git("config", key, str(program))
    git("config", "log.showSignature", "true")
    git("config", "core.hooksPath", str(hooks))
    index = git.root / ".git" / "index"
    os.utime(git.root / "b.md", (1, 1))
    before = (index.read_bytes(), index.stat().st_mtime_ns)
    mark.unlink(missing_ok=True)
    repository = found(git.root)
    assert first_dates(repository) == {".gitattributes": us(0), "b.md": us(0)}
    assert not mark.exists()
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before
    git("log", "--oneline")
    assert mark.exists()  # the trap works


def test_configuration_of_the_repository_does_not_change_the_answer(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git.write("sub/a.md", body("a"))
    git.commit()
    git("mv", "sub/a.md", "b.md")
    git.commit()
    ref = found(git.root).history()
    settings = {"diff.renames": "false", "color.ui": "always", "diff.relative": "true", "diff.renameLimit": "1"}
    for key, text in {**settings, "format.pretty": "%s", "log.follow": "true", "core.quotePath": "true"}.items():
        git("config", key, text)
    assert found(git.root / "sub" / "..").history() == ref


def test_variables_of_a_surrounding_hook_do_not_redirect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git, other = Git(tmp_path / "r"), Git(tmp_path / "o")
    git.write("a.md", "x")
    git.commit()
    other.write("o.md", "y")
    other.commit()
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.root / ".git" / "index"))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    assert set(found(git.root).blobs()) == {"a.md"}
    assert not (tmp_path / "trace").exists()


@pytest.mark.skipif(not BUNDLE.exists(), reason="the notes vault's bundle is not on this machine")
def test_a_real_notes_vault(tmp_path: Path) -> None:
    git = Git(tmp_path / "r")
    git("clone", "-q", str(BUNDLE), str(tmp_path / "til"))
    repository = found(tmp_path / "til")
    start = time.monotonic()
    dates = first_dates(repository)
    assert time.monotonic() - start < 1.5
    log = repository.log()
    renames = [change.path for entry in log for change in entry.changes if change.former is not None]
    assert (len(log), len(renames)) == (2369, 40)
    assert len(dates) == len(repository.blobs()) == 1878
    assert repository.submodules() == {"notes"}
    til = Git(tmp_path / "til")
    for path in [path for path in renames if path in dates][:3]:
        ref = til("log", "--follow", "--format=%at", "--", path).split()
        got = repository.history()[path]
        assert (got.last_us, got.first_us) == (int(ref[0]) * US_PER_S, int(ref[-1]) * US_PER_S)
    data = (tmp_path / "til" / "README.md").read_bytes()
    assert repository.is_same(data, repository.blobs()["README.md"])
