"""Numbers in, numbers out: the kernels of Lamina, on NumPy and Numba alone."""
