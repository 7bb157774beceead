"""Serving of vaults by a Ray cluster: the calls, the replicas, the vault of those who ask."""
