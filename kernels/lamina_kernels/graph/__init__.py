"""Graph kernels: sparse rows, hops, best-first walks, mass pushes, chains, injection."""
