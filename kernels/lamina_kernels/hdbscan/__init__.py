"""HDBSCAN: exact neighbours, spanning tree, hierarchy and selection."""
