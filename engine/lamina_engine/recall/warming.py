"""The kernels that a recall uses, in the order in which they save most."""

from __future__ import annotations

from typing import Final

from lamina_kernels import candidates, distances, exact, postings, terms
from lamina_kernels._jit import Kernel

KERNELS: Final[tuple[Kernel[..., object], ...]] = (
    exact.gather_exact_dots,
    distances.row_dots,
    terms.score_bm25,
    postings.bucket_order,
    postings.posting_frequencies,
    postings.score_postings,
    candidates.join_lanes_kernel,
    candidates.score_candidates_kernel,
    terms.bm25_terms,
    terms.scan_bm25,
    terms.gather_counts,
    terms.document_frequencies,
    distances.gather_dots,
)
