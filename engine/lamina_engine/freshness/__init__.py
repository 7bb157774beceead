"""Freshness: tiers of chunks by the history of their files; refresh and archive."""
