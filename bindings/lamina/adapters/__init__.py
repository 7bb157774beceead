"""Adapters: a vault as the store of other frameworks, one module and one extra each."""
