"""Chunks in the log: ids and versions, batches, writing, reading, lifecycle."""
