"""Graph kernels: links as sparse rows, hops, best-first walks, pushed mass, chains, injection."""
