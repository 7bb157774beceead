"""One call of a tool: arguments checked, errors turned into answers that say what to do."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import lamina
from lamina.mcp.answers import Answer, one_line
from lamina.mcp.parameters import WrongArguments

if TYPE_CHECKING:
    from lamina.mcp.access import VaultAccess
    from lamina.mcp.parameters import Tool

logger = logging.getLogger("lamina.mcp")

_MESSAGE: Final = 600
_COMMAND: Final = re.compile(r"`lamina \w+`")
_ADVICE: Final = (
    (lamina.VaultNotFound, "tell the user to run `lamina init`"),
    (lamina.VaultLocked, "another program is writing; try again in a moment"),
    (lamina.VaultUntrusted, "tell the user to read it and to run `lamina trust`"),
    (lamina.VaultCorrupt, "tell the user to run `lamina verify`"),
    (lamina.VaultReadOnly, "reading works; tell the user if writing should"),
    (lamina.AmbiguousId, "give more digits of the id"),
    (lamina.AmbiguousEntity, "give one of these ids"),
    (lamina.ChunkNotFound, "memory_recall and memory_trace give ids"),
)


def answer_call(access: VaultAccess, tool: Tool, arguments: Mapping[str, Any] | None) -> Answer:
    """Return what a tool answers; never raises."""
    try:
        if tool.writes and access.read_only:
            return failure(f"{tool.name} changes the vault, and this server was started with --read-only")
        given = tool.read(arguments or {})
        module, _, function = tool.call.partition(":")
        answer: Answer = getattr(import_module(f"lamina.mcp.{module}"), function)(access, given)
    except WrongArguments as error:
        return failure(str(error))
    except lamina.LaminaError as error:
        if isinstance(error, lamina.VaultNotFound | lamina.VaultCorrupt | lamina.VaultTooNew):
            access.drop_reader()
        advice = next((text for kind, text in _ADVICE if isinstance(error, kind)), "")
        return failure(f"{tool.name}: {error}", advice)
    except OSError as error:
        access.drop_reader()
        return failure(
            f"{tool.name}: {error.strerror or type(error).__name__}", "committed memories are kept; try again"
        )
    except Exception as error:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place is not None else ""
        logger.error("%s failed: %s at %s", tool.name, type(error).__name__, where)  # noqa: TRY400 - a message may hold a memory
        return failure(
            f"{tool.name} failed unexpectedly ({type(error).__name__})", "tell the user; stderr has the place"
        )
    return answer


def failure(message: str, advice: str = "") -> Answer:
    """Return an answer that says what went wrong."""
    shown = one_line(message, _MESSAGE)
    said = advice in shown or any(command in shown for command in _COMMAND.findall(advice))
    text = shown if said or not advice else f"{shown}; {advice}"
    return Answer(text, {"error": shown, "do": advice}, failed=True)
