"""Text indexes of small vaults, built by the call that writes: what a test looks at does not depend on a thread."""

from __future__ import annotations

import pytest

from lamina_engine.index import indexer, inverted, textbuilder
from lamina_engine.index.textbuilder import TextBuilder


def build_at_once(patch: pytest.MonkeyPatch, block_rows: int) -> None:
    """Have lists, parts and keys of so many rows built within each write."""
    patch.setattr(inverted, "LEAST_ROWS", block_rows)
    patch.setattr(textbuilder, "LARGE_ROWS", block_rows)
    patch.setattr(indexer, "BLOCK_ROWS", block_rows)
    patch.setattr(textbuilder, "BLOCK_ROWS", block_rows)

    patch.setattr(TextBuilder, "wake", TextBuilder._follow)


def never_build(patch: pytest.MonkeyPatch) -> None:
    """Have every row in the tail."""
    patch.setattr(TextBuilder, "wake", lambda self, folder: None)
