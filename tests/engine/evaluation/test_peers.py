from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

from bench.peers import PEERS, installed_peers, peer_version, skip_unless


def test_an_installed_peer_has_its_distribution_version() -> None:
    assert peer_version("tantivy") == version("tantivy")
    assert installed_peers()["tantivy"] == version("tantivy")
    assert skip_unless("tantivy") == {"tantivy": version("tantivy")}


def test_a_missing_peer_skips_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PEERS, "bm25s", ("no-such-distribution-of-bm25s",))
    assert "bm25s" not in installed_peers()
    with pytest.raises(pytest.skip.Exception, match="bm25s not installed; pip install no-such"):
        skip_unless("tantivy", "bm25s")


def test_a_misspelt_peer_is_an_error_and_no_skip() -> None:
    with pytest.raises(KeyError, match="bm25z"):
        skip_unless("bm25z")


def test_no_peer_is_imported() -> None:
    code = "import sys; from bench.peers import *; installed_peers(); print(sorted(set(PEERS) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
