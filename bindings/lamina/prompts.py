"""Prompts that need no memory, told apart before anything heavy is imported."""

from __future__ import annotations

from lamina_engine.context.content import continues_work, has_content
from lamina_engine.context.retrospect import looks_back

__all__ = ["needs_context"]


def needs_context(prompt: str) -> bool:
    """Return True unless a prompt is about nothing but what agent and user have before them.

    "Commit this", "try again", "danke, weiter" need no memory; "continue where we left off" needs the active task, "what is
    still open?" the last handoffs. A hook asks this first: it imports neither NumPy nor Arrow, and takes well below a
    millisecond.

    Examples
    --------
    >>> needs_context("looks good, commit this"), needs_context("which port does Beacon run on?")
    (False, True)
    """
    return has_content(prompt) or continues_work(prompt) or looks_back(prompt)
