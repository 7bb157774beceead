"""Typed links between chunks: relations, the log, generators, and walks."""
