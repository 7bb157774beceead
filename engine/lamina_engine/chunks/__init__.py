"""Chunks in the log: what identifies them, how batches of them are written, read and brought up to date."""
