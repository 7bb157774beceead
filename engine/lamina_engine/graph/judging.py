"""The language model that judges links: an endpoint that its user configured; see `lamina_engine.embed.chat`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lamina_engine.embed.chat import Budget, Chat, ChatEndpoint, ChatSpec, chat_url, estimated_tokens, resolve_chat
from lamina_engine.errors import InvalidConfig

_PREFIX: Final = "LAMINA_JUDGE"
URL: Final = f"{_PREFIX}_URL"
MODEL: Final = f"{_PREFIX}_MODEL"
KEY: Final = f"{_PREFIX}_KEY"

NO_JUDGE: Final = (
    f"no language model is configured for judged links; set ${URL} and ${MODEL}, or give judge={{'url': …, 'model': …}}"
)

Judge = Chat
"""What answers questions."""
ChatJudge = ChatEndpoint
JudgeSpec = ChatSpec
"""A judge, the options of a `ChatJudge`, or None for what the environment says."""


def resolve_judge(spec: JudgeSpec = None, environ: Mapping[str, str] | None = None) -> Judge | None:
    """Return the judge that is meant; None where neither the caller nor the environment names one."""
    return resolve_chat(spec, _PREFIX, "judge", environ)


def no_judge() -> InvalidConfig:
    """Return the error that says, in one line, that no language model is configured."""
    return InvalidConfig(NO_JUDGE)


__all__ = [
    "KEY", "MODEL", "NO_JUDGE", "URL", "Budget", "ChatJudge", "Judge", "JudgeSpec", "chat_url", "estimated_tokens", "no_judge",
    "resolve_judge",
]  # fmt: skip
