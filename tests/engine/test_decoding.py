"""Kinds of structs that threads decode are known to msgspec once their module is imported."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

_PROGRAM = textwrap.dedent(
    """
    import importlib, sys
    import msgspec

    kind = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])
    kind.__annotations__ = {name: "Nowhere" for name in kind.__struct_fields__}  # what is looked up at the first decoding
    try:
        msgspec.json.decode(b"{}", type=kind)
    except msgspec.ValidationError:
        pass
    """
)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("config", "Config"), ("profiles", "Profile"), ("store.manifest", "Manifest"), ("store.manifest", "_Format"),
        ("index.textindex", "PartsFile"), ("topics.generation", "Detail"),
    ],
)  # fmt: skip
def test_the_first_decoding_is_not_left_to_threads(module: str, name: str) -> None:
    """Two of them at once read what the other has half made, at address 0."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, f"lamina_engine.{module}", name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
