"""What a question can be after: the names of the intents, and nothing else, since every recall reads them."""

from __future__ import annotations

from typing import Final, Literal

from lamina_engine.errors import InvalidArgument

Intent = Literal["why", "when", "entity", "what"]
INTENTS: Final = ("why", "when", "entity", "what")
"""In the order in which equal scores are decided."""
WHAT: Final = "what"
"""What is left where nothing says otherwise."""


def check_intent(intent: object) -> str | None:
    """Return an intent that a caller gave, in lower case; None stays None.

    Raises
    ------
    InvalidArgument
        When it is not one of `INTENTS`.
    """
    if intent is None:
        return None
    if not isinstance(intent, str) or intent.lower() not in INTENTS:
        raise InvalidArgument(f"intent={intent!r} must be one of {', '.join(INTENTS)}, or None to go by the question")
    return intent.lower()
