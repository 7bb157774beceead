"""Exported chats: ``conversations.json`` of Claude.ai and of ChatGPT, one conversation at a time."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import IO, Any, Final

from lamina_engine.ingest.sessions.events import Event, Thread, Times
from lamina_engine.ingest.sessions.lines import Unreadable
from lamina_engine.ingest.sessions.tooltext import IMAGE, RESULT_CHARS, said, text_of

CLAUDE: Final = "claude.ai"
CHATGPT: Final = "chatgpt"
MAX_CONVERSATION_BYTES: Final = 256 * 2**20

_BLOCK_BYTES: Final = 1 << 20
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*+(?P<open>\\?\Z)?"?|[{}\[\]]', re.DOTALL)
_NOTHING: Final = re.compile(rb"[\s,]*")


class Elements:
    """The elements of a JSON array (or the one object) in a stream, as bytes; memory for one of them.

    Parameters
    ----------
    stream : binary file
    limit : int
        Most bytes of an element.
    """

    def __init__(self, stream: IO[bytes], limit: int = MAX_CONVERSATION_BYTES) -> None:
        self._stream, self._limit = stream, limit
        self._digest = hashlib.blake2b(digest_size=16)
        self.size = 0
        """Bytes read so far."""
        self.complete = False
        """Whether the end was reached, and no element broke off there."""

    @property
    def digest(self) -> bytes:
        """BLAKE2b-128 of the bytes read so far."""
        return self._digest.digest()

    def __iter__(self) -> Iterator[bytes | None]:
        """Yield each element; None for one that is over the limit."""
        buffer, at, depth, start, outer = b"", 0, 0, -1, 0
        too_long = False
        while block := self._read():
            buffer = buffer[at if start < 0 else start :] + block
            at, start = (at - start, 0) if start >= 0 else (0, -1)
            if start == 0 and len(buffer) > self._limit:
                too_long, buffer, at = True, buffer[at:], 0
            for token in _TOKEN.finditer(buffer, at):
                mark = buffer[token.start()]
                if mark == 0x22 and (token["open"] is not None or not _is_closed(token[0])):
                    at = token.start()  # a text that goes on in the next block
                    break
                at = token.end()
                if mark == 0x22:
                    continue
                if mark in b"{[":
                    if mark == 0x5B and depth == 0 and start < 0 and not outer:
                        outer = 1  # the array itself
                        continue
                    if depth == 0:
                        start = token.start()
                    depth += 1
                elif depth == 0:
                    outer = 2  # the array's end
                else:
                    depth -= 1
                    if depth == 0:
                        yield None if too_long else buffer[start:at]
                        start, too_long = -1, False
            else:
                at = len(buffer)
        self.complete = depth == 0 and start < 0 and outer != 1

    def _read(self) -> bytes:
        block = self._stream.read(_BLOCK_BYTES)
        self._digest.update(block)
        self.size += len(block)
        return block


def _is_closed(text: bytes) -> bool:
    return len(text) > 1 and text.endswith(b'"')


def conversation(value: Any, times: Times) -> Iterator[Thread | Event]:
    """Yield what one conversation says.

    Raises
    ------
    Unreadable
        When it is none of a known export; the message says why.
    """
    if not isinstance(value, dict):
        raise Unreadable(f"it is a {type(value).__name__}, not an object")
    if isinstance(value.get("chat_messages"), list):
        yield from _claude(value, times)
    elif isinstance(value.get("mapping"), dict):
        yield from _chatgpt(value, times)
    else:
        raise Unreadable("it has neither chat_messages nor mapping")


def _identity(value: dict[str, Any], *keys: str) -> str:
    for key in keys:
        found = text_of(value.get(key))
        if found is not None:
            return found
    told = repr([value.get(key) for key in ("title", "name", "create_time", "created_at")])
    return hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _claude(value: dict[str, Any], times: Times) -> Iterator[Thread | Event]:
    yield Thread(_identity(value, "uuid"), CLAUDE, title=text_of(value.get("name")), facts={"format": CLAUDE})
    tools: dict[str, str] = {}
    for message in value["chat_messages"]:
        if not isinstance(message, dict):
            continue
        at, at_us = times.read(message.get("created_at"))
        content = message.get("content")
        blocks = content if isinstance(content, list) and content else [{"type": "text", "text": message.get("text")}]
        human = message.get("sender") == "human"
        texts = [block["text"] for block in blocks if isinstance(block, dict) and text_of(block.get("text"))]
        if human:
            texts += list(_attached(message))
            if texts:
                yield Event("user", "\n\n".join(texts), at, at_us)
            continue
        for block in blocks:
            if isinstance(block, dict):
                yield from _claude_block(block, tools, at, at_us)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _attached(message: dict[str, Any]) -> Iterator[str]:
    for attachment in _list(message.get("attachments")):
        if isinstance(attachment, dict):
            name, text = text_of(attachment.get("file_name")), text_of(attachment.get("extracted_content"))
            head = f"[Attachment: {name or 'text'}]"
            yield head if text is None else f"{head}\n{text[: 4 * RESULT_CHARS]}"
    for file in _list(message.get("files")):
        if isinstance(file, dict) and text_of(file.get("file_name")):
            yield f"[File: {file['file_name']}]"


def _claude_block(block: dict[str, Any], tools: dict[str, str], at: str | None, at_us: int | None) -> Iterator[Event]:
    kind, ref = block.get("type"), text_of(block.get("id")) or text_of(block.get("tool_use_id"))
    if kind == "text" and text_of(block.get("text")):
        yield Event("said", block["text"], at, at_us)
    elif kind == "thinking" and text_of(block.get("thinking")):
        yield Event("thought", block["thinking"], at, at_us)
    elif kind == "tool_use":
        called = text_of(block.get("name")) or "tool"
        if ref is not None:
            tools[ref] = called
        yield Event("tool", "", at, at_us, name=called, ref=ref, arguments=block.get("input"))
    elif kind == "tool_result":
        name = text_of(block.get("name")) or (tools.get(ref) if ref else None)
        yield Event("result", said(block.get("content")), at, at_us, name=name, ref=ref)


def _chatgpt(value: dict[str, Any], times: Times) -> Iterator[Thread | Event]:
    identity = _identity(value, "conversation_id", "id")
    yield Thread(identity, CHATGPT, title=text_of(value.get("title")), facts={"format": CHATGPT})
    for message in _branch(value["mapping"], value.get("current_node")):
        author, content, told = message.get("author"), message.get("content"), message.get("metadata")
        if not isinstance(author, dict) or not isinstance(content, dict):
            continue
        if isinstance(told, dict) and told.get("is_visually_hidden_from_conversation") is True:
            continue
        at, at_us = times.read(message.get("create_time"))
        yield from _chatgpt_message(message, author, content, at, at_us)


def _branch(mapping: dict[str, Any], current: object) -> list[dict[str, Any]]:
    """Return the messages on the way to the current node; without one, on the way to the last of the newest replies."""
    node = current if isinstance(current, str) and current in mapping else _last(mapping)
    path: list[dict[str, Any]] = []
    seen: set[str] = set()
    while isinstance(node, str) and node in mapping and node not in seen:
        seen.add(node)
        entry = mapping[node]
        if not isinstance(entry, dict):
            break
        if isinstance(entry.get("message"), dict):
            path.append(entry["message"])
        node = entry.get("parent")
    return path[::-1]


def _last(mapping: dict[str, Any]) -> str | None:
    node = next(
        (k for k, v in mapping.items() if isinstance(v, dict) and text_of(v.get("parent")) not in mapping), None
    )
    seen: set[str] = set()
    while node is not None and node not in seen:
        seen.add(node)
        entry = mapping[node]
        children = _list(entry.get("children")) if isinstance(entry, dict) else []
        children = [child for child in children if isinstance(child, str) and child in mapping]
        if not children:
            return node
        node = children[-1]
    return node


def _chatgpt_message(
    message: dict[str, Any], author: dict[str, Any], content: dict[str, Any], at: str | None, at_us: int | None
) -> Iterator[Event]:
    role, kind, parts = author.get("role"), content.get("content_type"), content.get("parts")
    texts = [_chatgpt_part(part) for part in parts] if isinstance(parts, list) else []
    text = "\n\n".join(part for part in texts if part.strip()) or str(
        content.get("text") or content.get("result") or ""
    )
    if kind == "thoughts":
        text = said([part.get("content") for part in _list(content.get("thoughts")) if isinstance(part, dict)])
    if not text.strip() or kind == "user_editable_context":
        return
    told = message.get("metadata")
    model = text_of(told.get("model_slug")) if isinstance(told, dict) else None
    facts = {"model": model} if model is not None else None
    if role == "user":
        yield Event("user", text, at, at_us)
    elif role == "tool":
        yield Event("result", text, at, at_us, name=text_of(author.get("name")))
    elif role == "assistant" and kind in ("thoughts", "reasoning_recap"):
        yield Event("thought", text, at, at_us, facts=facts)
    elif role == "assistant" and message.get("recipient") not in (None, "all"):
        yield Event("tool", "", at, at_us, name=text_of(message.get("recipient")), arguments=text, facts=facts)
    elif role == "assistant":
        yield Event("said", text, at, at_us, facts=facts)


def _chatgpt_part(part: object) -> str:
    if isinstance(part, dict):
        return text_of(part.get("text")) or (IMAGE if "image" in str(part.get("content_type")) else "")
    return part if isinstance(part, str) else ""
