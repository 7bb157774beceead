"""Approximate neighbours of very many rows."""
