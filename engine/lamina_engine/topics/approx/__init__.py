"""Approximate neighbours and spanning tree beyond the sizes of the exact search."""
