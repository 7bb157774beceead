"""Sharded vaults: one vault whose chunks lie in several, each laid out as a small one."""
