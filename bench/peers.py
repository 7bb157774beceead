"""Which peers are installed, and in which version, without importing any of them.

A bench calls ``skip_unless("bm25s")`` first: a missing peer skips it by name, never silently.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

PEERS: dict[str, tuple[str, ...]] = {
    "bm25s": ("bm25s",),
    "lancedb": ("lancedb",),
    "apsw": ("apsw",),
    "sqlite_vec": ("sqlite-vec",),
    "qdrant_edge": ("qdrant-edge-py",),
    "chromadb": ("chromadb",),
    "tantivy": ("tantivy",),
    "faiss": ("faiss-cpu", "faiss-gpu-cu12", "faiss"),
    "tokenizers": ("tokenizers",),
    "safetensors": ("safetensors",),
    "evoc": ("evoc",),
}
"""Import name of each peer, and the distributions that may carry it, the usual one first."""


def peer_version(peer: str) -> str | None:
    """Return the installed version of a peer, or None where it is not installed.

    Raises
    ------
    KeyError
        For a name that is not in `PEERS`: a misspelt peer must not read as a missing one.
    """
    if peer not in PEERS:
        raise KeyError(f"{peer!r} is no known peer; known are {', '.join(PEERS)}. Add its distribution to PEERS.")
    for distribution in PEERS[peer]:
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return None


def installed_peers() -> dict[str, str]:
    """Return the versions of the peers that are installed, by import name, in the order of `PEERS`."""
    return {peer: found for peer in PEERS if (found := peer_version(peer)) is not None}


def skip_unless(*peers: str) -> dict[str, str]:
    """Skip the bench, or at import its whole file, unless all these peers are installed; return their versions."""
    import pytest

    found = {peer: peer_version(peer) for peer in peers}
    missing = [peer for peer, installed in found.items() if installed is None]
    if missing:
        wanted = " ".join(PEERS[peer][0] for peer in missing)
        pytest.skip(f"{', '.join(missing)} not installed; pip install {wanted}", allow_module_level=True)
    return {peer: installed for peer, installed in found.items() if installed is not None}
