"""Chaos: processes killed at random moments of every operation, with a plain dictionary as judge."""
