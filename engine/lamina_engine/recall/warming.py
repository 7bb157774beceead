"""Kernels to compile ahead for recall, those that save most first."""

from __future__ import annotations

from typing import Final

from lamina_kernels import candidates, distances, inverted, scoring, terms
from lamina_kernels._jit import Kernel
from lamina_kernels.graph import beam, chains, hops, injection, spread

KERNELS: Final[tuple[Kernel[..., object], ...]] = (
    distances.best_proposals,
    distances.fill_exact_dots,
    distances.gather_exact_dots,
    distances.row_dots,
    inverted.find_terms,
    inverted.code_lengths,
    inverted.best_postings,
    terms.score_bm25,
    terms.find_entries,
    candidates.join_lanes_kernel,
    candidates.rank_candidates,
    candidates.match_candidates_kernel,
    scoring.score_rows_kernel,
    terms.bm25_terms,
    terms.scan_bm25,
    terms.gather_counts,
    distances.gather_dots,
    distances.unit_rows,
)
WALK_KERNELS: Final[tuple[Kernel[..., object], ...]] = (
    injection.gather_neighbours_kernel,
    injection.choose_neighbours_kernel,
    beam.meet_hop,
    beam.take_hop,
    beam.beam_walk,
    hops.k_hop,
    chains.walk_chains,
    spread.spread_links,
)
"""Kernels of link walks, for vaults with links."""
