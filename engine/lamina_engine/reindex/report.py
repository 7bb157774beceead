"""Progress and report of a reindex."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lamina_engine.reports import Report


@dataclass(slots=True)
class ReindexReport(Report):
    """Report of a reindex."""

    engine: str
    """``all``, ``lexical``, ``vectors`` or ``keys``: what was made again."""
    space: str
    """Name of the embedding space that recall uses now; empty where there is none."""
    model: str
    """Identity of its embedder."""
    generation: int = 0
    """Version of the vault that serves the new indexes."""
    rows: int = 0
    """Rows of the chunks log."""
    embedded: int = 0
    """Texts that the embedder was given by this run."""
    cached: int = 0
    """Rows of this run that took the vector of an equal text."""
    resumed: int = 0
    """Rows whose vectors an earlier run had made."""
    unmatched: int = 0
    """Rows of this run whose version is the hash of no text the log can give; title, headings and text were embedded."""
    seconds: float = 0.0
    rate: float = 0.0
    """Rows a second."""
    gate: dict[str, Any] = field(default_factory=dict)
    """See `lamina_engine.reindex.gate.judge`."""
    swapped: bool = False
