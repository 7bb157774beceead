"""The command line as a process of its own: streams, exit codes, signals, start."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import lamina

Done = subprocess.CompletedProcess[bytes]
Run = Callable[..., Done]
COMMAND = [sys.executable, "-m", "lamina"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault of a few hundred notes; nothing here writes to it."""
    path = tmp_path_factory.mktemp("cli") / "vault"
    with lamina.open(path, create=True, embedder="none", clock=lamina.FixedClock("2026-03-01")) as vault:
        vault.add([{"id": f"n{i}", "text": f"note {i} \x1b[31m" + "tsé " * 200} for i in range(500)])
    return path


@pytest.fixture
def run(root: Path, tmp_path: Path) -> Run:
    def call(*arguments: str, stdin: bytes = b"", **variables: str) -> Done:
        environ = {**os.environ, "LAMINA_VAULT": str(root), **variables}
        return subprocess.run(
            [*COMMAND, *arguments], input=stdin, capture_output=True, cwd=tmp_path, env=environ, timeout=60
        )

    return call


def test_a_recall_is_one_document_and_nothing_else(run: Run) -> None:
    got = run("recall", "note 7", "-k", "2", "--json")
    assert (got.returncode, got.stderr) == (0, b"")
    assert next(hit["id"] for hit in json.loads(got.stdout)["hits"]) == "n7"
    assert got.stdout.count(b"\n") == 1


def test_text_for_people_holds_no_escapes_where_stdout_is_no_terminal(run: Run) -> None:
    got = run("recall", "note 7", "-k", "2")
    assert (got.returncode, got.stderr) == (0, b"")
    assert b"\x1b" not in got.stdout
    assert rb"\x1b[31m" in got.stdout


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_names_and_words_are_read_where_the_locale_knows_ascii_alone(run: Run, tmp_path: Path) -> None:
    ascii_only = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "LAMINA_VAULT": str(tmp_path / "v")}
    (tmp_path / "straße☕.md").write_text("Der Kaffee ist fertig.\n", encoding="utf-8")
    assert run("init", "--embedder", "none", **ascii_only).returncode == 0
    for arguments in (("ingest", "straße☕.md"), ("add", "Die Straße ist naß.")):
        got = run(*arguments, **ascii_only)
        assert (got.returncode, got.stderr) == (0, b"")
    got = run("recall", "Straße", "--json", **ascii_only)
    assert {hit["source"] for hit in json.loads(got.stdout)["hits"]} == {None, "straße☕.md"}


def test_json_is_utf_8_whatever_the_terminal_speaks(run: Run) -> None:
    narrow = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    got = run("get", "n7", "--json", **narrow)
    assert "tsé" in json.loads(got.stdout.decode())["text"]
    shown = run("get", "n7", **narrow)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert rb"ts\xe9" in shown.stdout


def test_a_query_of_odd_bytes_is_echoed_as_valid_json(root: Path) -> None:
    command = [*map(os.fsencode, COMMAND), b"recall", b"note \xff", b"--json", b"--vault", os.fsencode(root)]
    got = subprocess.run(command, capture_output=True, timeout=60)
    assert got.returncode == 0, got.stderr
    assert json.loads(got.stdout.decode("utf-8"))["query"] == "note \udcff"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("get", "nothing", "--json"), 3), (("recall", "x", "--profile", "nope"), 1), (("recall",), 2)],
)
def test_exit_codes_reach_the_shell(run: Run, arguments: tuple[str, ...], code: int) -> None:
    got = run(*arguments)
    assert (got.returncode, got.stdout) == (code, b"")
    assert got.stderr
    assert b"Traceback" not in got.stderr


def test_debug_shows_the_traceback(run: Run) -> None:
    got = run("get", "nothing", "--debug")
    assert got.returncode == 1
    assert b"Traceback" in got.stderr
    assert b"ChunkNotFound" in got.stderr


def test_nobody_reading_is_no_noise(run: Run, root: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "list", "--limit", "0", "--json", "--vault", str(root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        noise = process.stderr.read()
        assert (process.wait(60), noise) == (141, b"")


def test_ctrl_c_during_an_ingest_leaves_a_usable_vault(tmp_path: Path) -> None:
    place = tmp_path / "vault"
    lamina.open(place, create=True, embedder="none").close()
    before = (place / "CURRENT").read_bytes()
    arguments = ["--vault", str(place), "ingest", "-", "--kind", "jsonl", "--embedder", "none", "--json"]
    with subprocess.Popen(
        [*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        limit, sent = time.monotonic() + 40, 0
        # the stream stays open: the run is in its middle for as long as it takes
        while (place / "CURRENT").read_bytes() == before and time.monotonic() < limit:
            lines = [json.dumps({"text": f"about subject {i}"}) for i in range(sent, sent + 1_000)]
            process.stdin.write(("\n".join(lines) + "\n").encode())
            process.stdin.flush()
            sent += len(lines)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err == b"lamina: interrupted; committed work is kept\n"
    with lamina.open(place, embedder="none") as vault:
        committed = len(vault.list(limit=None))
        assert 0 < committed < sent
        vault.add("one more")
        assert len(vault.list(limit=None)) == committed + 1


def test_help_imports_no_engine(run: Run) -> None:
    code = (
        "import sys; from lamina.cli import main; main(['recall', '--help']);"
        "sys.exit(bool({'numpy', 'pyarrow', 'rich', 'lamina.cli.demo'} & set(sys.modules)))"
    )
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (got.returncode, got.stderr) == (0, b"")


def test_a_recall_imports_neither_numba_nor_what_it_does_not_need(root: Path) -> None:
    code = (
        f"import sys; from lamina.cli import main; main(['recall', 'note 7', '--vault', {str(root)!r}]);"
        "unwanted = {'numba', 'rich', 'pydantic', 'httpx', 'pandas', 'pyarrow.dataset'};"
        "print(sorted(unwanted & set(sys.modules)), file=sys.stderr)"
    )
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (got.returncode, got.stderr) == (0, b"[]\n")


def test_following_reads_what_changes_until_ctrl_c(tmp_path: Path) -> None:
    pytest.importorskip("watchfiles")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("The first note.\n")
    place = notes / "vault"  # its own writes are no changes
    lamina.open(place, create=True, embedder="none").close()
    arguments = ["--vault", str(place), "ingest", str(notes), "--follow", "--json", "--embedder", "none"]
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        (notes / "b.md").write_text("The second note.\n")
        second = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (first["added"], second["added"], second["unchanged"]) == (1, 1, 1)
    assert (process.returncode, out) == (130, b"")
    assert err == b"lamina: interrupted; committed work is kept\n"
    with lamina.open(place, embedder="none") as vault:
        assert {chunk.source for chunk in vault.list()} == {"a.md", "b.md"}


def test_standard_input_cannot_be_followed(run: Run) -> None:
    got = run("ingest", "-", "--follow")
    assert (got.returncode, got.stdout) == (2, b"")
    assert b"standard input cannot be followed" in got.stderr


@pytest.mark.parametrize(
    ("arguments", "stream", "code"),
    [
        (("recall", "note 7"), ">&-", 0),
        (("recall", "note 7", "--json"), ">&-", 0),
        (("recall", "note 7"), "2>&-", 0),
        (("add", "-"), "<&-", 1),
    ],
)
def test_a_stream_that_is_closed_is_no_reason_to_fail(
    root: Path, arguments: tuple[str, ...], stream: str, code: int
) -> None:
    line = f"{shlex.join([*COMMAND, *arguments, '--vault', str(root)])} {stream}"
    got = subprocess.run(["/bin/sh", "-c", line], capture_output=True, timeout=60)
    assert got.returncode == code, got.stderr
    assert b"unexpected" not in got.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [("--help",), ("recall", "note 7")])
def test_a_full_disk_under_stdout_is_one_line(root: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        got = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60,
            env={**os.environ, "LAMINA_VAULT": str(root)},
        )  # fmt: skip
    assert got.returncode == 1
    assert got.stderr.startswith(b"lamina: No space left on device")
    assert got.stderr.count(b"\n") == 1


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    line = f"mkdir gone; cd gone; rmdir ../gone; {shlex.join([*COMMAND, 'init'])}"
    got = subprocess.run(["/bin/sh", "-c", line], capture_output=True, cwd=tmp_path, timeout=60)
    assert got.returncode == 1
    assert b"no longer exists" in got.stderr


def test_an_export_into_a_pipe(run: Run) -> None:
    got = run("export", "/dev/stdout")
    assert got.returncode == 0, got.stderr
    assert len([line for line in got.stdout.splitlines() if line.startswith(b'{"id"')]) == 500
