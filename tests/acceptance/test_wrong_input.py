"""Wrong input is refused by a typed error that is also the built-in a caller expects, and nothing is written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina import FixedClock, Vault

AS_ROOT = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root to become another user"
)


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder with its bytes, and the folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A closed vault with two chunks and vectors of dimension 3."""
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock("2026-03-01"), embedder=embedder()) as vault:
        vault.add([{"id": "aaaa0000", "text": "first words"}, {"id": "bbbb0000", "text": "second words"}])
    return tmp_path / "v"


def embedder() -> lamina.CallableEmbedder:
    return lamina.CallableEmbedder(lambda texts: [[len(text), 1.0, 2.0] for text in texts], 3, "length;v1")


def opened(folder: Path, **options: Any) -> Vault:
    return lamina.open(folder, clock=FixedClock("2026-03-01"), embedder=embedder(), **options)


def refused(folder: Path, call: Callable[[], object], error: type[Exception], builtin: type[Exception]) -> str:
    """Check that a call is refused and that no file of the folder is another; return the message."""
    before = contents(folder)
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, lamina.LaminaError)
    assert isinstance(caught.value, builtin)
    assert contents(folder) == before
    return str(caught.value)


CALLS: dict[str, Callable[[Vault], object]] = {
    "unknown operator": lambda v: v.recall("words", where={"type": {"like": "x"}}),
    "unknown field": lambda v: v.recall("words", where={"colour": "red"}),
    "where is no mapping": lambda v: v.recall("words", where=["type"]),  # type: ignore[arg-type]
    "where compares with a list": lambda v: v.list({"type": ["a"]}),
    "where with a bad date": lambda v: v.list({"created_at": {"gte": "someday"}}),
    "unknown status": lambda v: v.list({"status": "lost"}),
    "query vector of another dimension": lambda v: v.recall("words", vector=[1.0, 2.0]),
    "query vector with NaN": lambda v: v.recall("words", vector=[1.0, float("nan"), 0.0]),
    "query is no text": lambda v: v.recall(5),  # type: ignore[arg-type]
    "since after until": lambda v: v.recall("words", since="2026-02-02", until="2026-02-01"),
    "since equals until": lambda v: v.recall("words", since="2026-02-02", until="2026-02-02"),
    "bad since": lambda v: v.recall("words", since="some fine day"),
    "bad as_of": lambda v: v.recall("words", as_of="2026-13-01"),
    "bad now": lambda v: v.recall("words", now=True),
    "bad tz": lambda v: v.recall("words", tz="Mars/Olympus"),
    "unknown profile": lambda v: v.recall("words", profile="fastest"),
    "unknown lane": lambda v: v.recall("words", lanes=["smell"]),  # type: ignore[list-item]
    "no lane": lambda v: v.recall("words", lanes=[]),
    "lanes is a number": lambda v: v.recall("words", lanes=5),  # type: ignore[arg-type]
    "k of 0": lambda v: v.recall("words", k=0),
    "k of -1": lambda v: v.recall("words", k=-1),
    "k of 1.5": lambda v: v.recall("words", k=1.5),  # type: ignore[arg-type]
    "k is true": lambda v: v.recall("words", k=True),
    "token budget of 0": lambda v: v.recall("words", token_budget=0),
    "limit of 0": lambda v: v.list(limit=0),
    "unknown keyword": lambda v: v.add("words", colour="red"),
    "empty text": lambda v: v.add("  "),
    "no text": lambda v: v.add({"title": "x"}),
    "record is no mapping": lambda v: v.add([5]),  # type: ignore[list-item]
    "records is a number": lambda v: v.add(5),  # type: ignore[arg-type]
    "one bad record among good ones": lambda v: v.add([{"text": "good"}, {"text": "bad", "success": "maybe"}]),
    "bad date": lambda v: v.add("words", created_at="2026-02-30"),
    "id with a control character": lambda v: v.add("words", id="a\nb"),
    "vector of another dimension": lambda v: v.add({"text": "words", "vector": [1.0, 2.0]}),
    "vector with NaN": lambda v: v.add({"text": "words", "vector": [1.0, float("nan"), 0.0]}),
    "vector with infinity": lambda v: v.add({"text": "words", "vector": np.array([np.inf, 0, 0])}),
    "some with vectors, some without": lambda v: v.add([{"text": "a", "vector": [1.0, 0, 0]}, {"text": "b"}]),
    "update of nothing": lambda v: v.update("aaaa0000"),
    "update of an unknown field": lambda v: v.update("aaaa0000", colour="red"),
    "invalidate without a reason": lambda v: v.invalidate("aaaa0000", ""),
    "id is no text": lambda v: v.get(5),  # type: ignore[arg-type]
    "ids is one text": lambda v: v.get_many("aaaa0000"),
    "unknown format": lambda v: v.export(v.path.parent / "out.x", "docx"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument(name: str, made: Path) -> None:
    with opened(made) as vault:
        vault.recall("words")  # what is made once, at the first call, is there
        message = refused(made, lambda: CALLS[name](vault), lamina.InvalidArgument, ValueError)
        assert len(message) > 20
        assert [hit.text for hit in vault.recall("first", k=1)] == ["first words"]


def test_a_field_that_some_chunk_has_is_looked_up_in_its_metadata(made: Path) -> None:
    with opened(made) as vault:
        vault.add("red words", metadata={"colour": "red"})
        assert [chunk.text for chunk in vault.list({"colour": "red"})] == ["red words"]
        assert vault.list({"colour": "blue"}) == []
        assert len(vault.list({"colour": {"exists": False}})) == 2


def test_there_is_no_such_chunk(made: Path) -> None:
    with opened(made) as vault:
        for call in (vault.get, vault.history, vault.pin, vault.restore):
            refused(made, lambda call=call: call("cccc0000"), lamina.ChunkNotFound, KeyError)  # type: ignore[misc]
        refused(made, lambda: vault.update("cccc0000", title="x"), lamina.ChunkNotFound, KeyError)
        refused(made, lambda: vault.invalidate("cccc0000", "why"), lamina.ChunkNotFound, KeyError)


@pytest.mark.parametrize("mode", ["r", "w"])
def test_there_is_no_vault(mode: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    message = refused(tmp_path, lambda: lamina.open(missing, mode=mode), lamina.VaultNotFound, FileNotFoundError)  # type: ignore[arg-type]
    assert "missing" in message


def test_an_unknown_mode(made: Path) -> None:
    refused(made, lambda: lamina.open(made, mode="x"), lamina.InvalidArgument, ValueError)  # type: ignore[arg-type]


def test_there_is_something_else(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.docx").write_bytes(b"years of work")
    refused(tmp_path, lambda: lamina.open(other), lamina.VaultNotFound, FileNotFoundError)
    message = refused(tmp_path, lambda: lamina.open(other, create=True), lamina.VaultExists, FileExistsError)
    assert "thesis.docx" in message
    file = other / "thesis.docx"
    refused(tmp_path, lambda: lamina.open(file), lamina.VaultNotFound, FileNotFoundError)
    refused(tmp_path, lambda: lamina.open(file, create=True), lamina.VaultExists, FileExistsError)


def test_a_vault_of_a_newer_format(made: Path) -> None:
    import re

    from lamina_engine.schema import FORMAT_VERSION

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lamina_engine.store.manifest.FORMAT_VERSION", FORMAT_VERSION - 1)
        message = refused(made, lambda: opened(made), lamina.VaultTooNew, OSError)
        refused(made, lambda: opened(made, create=True), lamina.VaultTooNew, OSError)
    assert re.search(rf"\b{FORMAT_VERSION}\b", message)


def test_bytes_that_are_not_what_was_written(made: Path) -> None:
    (segment,) = (made / "log" / "chunks").iterdir()
    whole = segment.read_bytes()
    segment.write_bytes(whole[: len(whole) // 2])
    refused(made, lambda: opened(made).recall("words"), lamina.VaultCorrupt, OSError)
    segment.unlink()
    refused(made, lambda: opened(made).recall("words"), lamina.VaultCorrupt, OSError)
    segment.write_bytes(whole)
    (made / "CURRENT").write_text("../../etc/passwd")
    refused(made, lambda: opened(made), lamina.VaultCorrupt, OSError)


def test_another_model(made: Path) -> None:
    other = lamina.CallableEmbedder(lambda texts: [[1.0, 0.0, 0.0]] * len(texts), 3, "other;v1")
    with lamina.open(made, embedder=other) as vault:
        for call in (lambda: vault.add("words"), lambda: vault.recall("words")):
            message = refused(made, call, lamina.EmbedderMismatch, ValueError)
            assert "other" in message
        assert len(vault.recall("words", lanes=["lexical"])) > 0


@pytest.mark.parametrize(
    "text",
    [
        "name = 1\nunknown = 2",
        "tz = 'Mars/Olympus'",
        "not toml at all",
        "[embedding]\nmodel = 'https://example.org'",
        "profile = 'x'",
    ],
)
def test_settings_that_cannot_be_used(text: str, made: Path) -> None:
    (made / "vault.toml").write_text(text)
    refused(made, lambda: opened(made), lamina.InvalidConfig, ValueError)


def test_a_second_writer_waits_no_longer_than_told(made: Path) -> None:
    script = """
import sys, lamina
with lamina.open(sys.argv[1], embedder="none") as vault, vault._memory.store.exclusive(5):
    print("held", flush=True)
    sys.stdin.read()
"""
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(made)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with opened(made, lock_timeout_s=0.05) as vault:
            refused(made, lambda: vault.add("words"), lamina.VaultLocked, BlockingIOError)
            refused(made, lambda: vault.pin("aaaa0000"), lamina.VaultLocked, BlockingIOError)
            assert len(vault.recall("words")) == 2  # readers are never blocked
            holder.kill()
            holder.wait()
            assert vault.pin("aaaa0000").pinned
    finally:
        holder.kill()
        holder.communicate()


UNPRIVILEGED = """
import os, sys, lamina
root = sys.argv[1]
with lamina.open(root + "/warm", create=True, embedder="none") as vault:  # imports what the other may not read
    vault.add("words"), vault.recall("words"), vault.list(), lamina.CallableEmbedder
os.setgid(65534); os.setuid(65534)
def told(call):
    try:
        call()
    except lamina.LaminaError as error:
        bases = [c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins"]
        return type(error).__name__, bases[0]
    return "done"
"""


def as_nobody(root: Path, script: str) -> list[str]:
    """Run a script as a user without rights; return the lines it prints."""
    root.chmod(0o777)
    for parent in root.parents[:2]:
        parent.chmod(parent.stat().st_mode | 0o711)
    done = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED + script, str(root)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@AS_ROOT
def test_a_folder_that_cannot_be_written(made: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    for path in (made, *made.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = contents(made)
    got = as_nobody(
        tmp_path,
        """
print(told(lambda: lamina.open(root + "/closed/v", create=True)))
model = lamina.CallableEmbedder(lambda texts: [[len(text), 1.0, 2.0] for text in texts], 3, "length;v1")
with lamina.open(root + "/v", embedder=model) as vault:
    print(told(lambda: vault.add("words")))
    print(told(lambda: vault.pin("aaaa0000")))
    print(len(vault.recall("words", lanes=["lexical"])))
with lamina.open(root + "/v", mode="r", embedder=model) as vault:
    print(told(lambda: vault.add("words")))
    print(len(vault.list()))
""",
    )
    refusal = "('VaultReadOnly', 'PermissionError')"
    assert got == [refusal, refusal, refusal, "2", refusal, "2"]
    assert contents(made) == before
    assert list(closed.iterdir()) == []


@AS_ROOT
def test_a_vault_of_somebody_else(made: Path, tmp_path: Path) -> None:
    for path in (made, *made.rglob("*")):
        os.chown(path, 65533, 65533)
    with opened(made) as vault:
        assert len(vault.recall("words")) == 2
        message = refused(made, lambda: vault.add("mine"), lamina.VaultUntrusted, PermissionError)
    assert "65533" in message
    assert "lamina trust" in message
    with opened(made, trust=True) as vault:
        vault.add("mine")
        assert len(vault.recall("words")) == 3


def test_a_table_without_text(made: Path) -> None:
    import pyarrow as pa

    with opened(made) as vault:
        for table in (pa.table({"body": ["x"]}), pa.table({"text": [1, 2]})):
            before = contents(made)
            with pytest.raises(lamina.LaminaError) as caught:
                vault.add(table)
            assert isinstance(caught.value, (TypeError, ValueError))
            assert contents(made) == before


def test_a_disk_that_is_full_loses_nothing(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lamina_engine.store.files import Files

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with opened(made) as vault:
        vault.recall("words")
        with monkeypatch.context() as patch:
            for name in ("write", "write_file", "publish", "rename", "replace", "flush"):
                if hasattr(Files, name):
                    patch.setattr(Files, name, full)
            with pytest.raises(OSError, match="No space left"):
                vault.add("more words")
        assert len(vault.list()) == 2
        vault.add("more words")
        assert len(vault.list()) == 3


def test_a_copy_is_a_vault(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "copy")
    with opened(tmp_path / "copy") as vault:
        assert len(vault.recall("words")) == 2
