"""Hooks: an agent's events in, context out; a session's transcript is captured at its end.

`lamina hook EVENT` is a process of its own for each event. It never fails, never blocks and never asks: whatever happens,
it prints one JSON object before its deadline and exits with 0. Nothing but the standard library is imported before the
gate has let an event through (`gate`); what takes longer runs in a forked child (`program`) or detached (`capture`).
"""
