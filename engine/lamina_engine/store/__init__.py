"""The log: immutable Arrow segments, one manifest per version, CURRENT; the source of truth."""
