"""Reindexing: rebuilds vectors and indexes from the log."""
