"""Exported chats: ``conversations.json`` of Claude.ai and of ChatGPT."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from lamina_engine.sessions.events import Event, Thread, Times, TranscriptReader
from lamina_engine.sessions.streams import Unreadable, decode
from lamina_engine.sessions.tooltext import IMAGE, RESULT_CHARS, list_of, result_text, text_of

CLAUDE: Final = "claude.ai"
CHATGPT: Final = "chatgpt"
NAME: Final = "chats"
MESSAGES: Final = re.compile(rb'"chat_messages"\s*:\s*\[|"author"\s*:\s*\{\s*"role"\s*:')
"""How messages begin in an export, of Claude.ai and of ChatGPT."""


class ChatReader(TranscriptReader):
    """Reader of one export, conversation by conversation."""

    def __init__(self, times: Times) -> None:
        self._times = times

    def feed(self, data: bytes) -> Sequence[Thread | Event]:
        """Return the thread and the events of one conversation; ValueError for anything else."""
        return list(conversation(decode(data), self._times)) if data else ()


def conversation(value: Any, times: Times) -> Iterator[Thread | Event]:
    """Yield the thread and the events of one conversation of a known export."""
    if not isinstance(value, dict):
        raise Unreadable(f"it must be an object, not {type(value).__name__}")
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
    fallback = repr([value.get(key) for key in ("title", "name", "create_time", "created_at")])
    return hashlib.blake2b(fallback.encode("utf-8", "replace"), digest_size=16).hexdigest()


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
            texts += list(_attachment_texts(message))
            if texts:
                yield Event("user", "\n\n".join(texts), at, at_us)
            continue
        for block in blocks:
            if isinstance(block, dict):
                yield from _claude_block(block, tools, at, at_us)


def _attachment_texts(message: dict[str, Any]) -> Iterator[str]:
    for attachment in list_of(message.get("attachments")):
        if isinstance(attachment, dict):
            name, text = text_of(attachment.get("file_name")), text_of(attachment.get("extracted_content"))
            head = f"[Attachment: {name or 'text'}]"
            yield head if text is None else f"{head}\n{text[: 4 * RESULT_CHARS]}"
    for file in list_of(message.get("files")):
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
        yield Event("result", result_text(block.get("content")), at, at_us, name=name, ref=ref)


def _chatgpt(value: dict[str, Any], times: Times) -> Iterator[Thread | Event]:
    identity = _identity(value, "conversation_id", "id")
    yield Thread(identity, CHATGPT, title=text_of(value.get("title")), facts={"format": CHATGPT})
    for message in _branch(value["mapping"], value.get("current_node")):
        author, content, metadata = message.get("author"), message.get("content"), message.get("metadata")
        if not isinstance(author, dict) or not isinstance(content, dict):
            continue
        if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation") is True:
            continue
        at, at_us = times.read(message.get("create_time"))
        yield from _chatgpt_message(message, author, content, at, at_us)


def _branch(mapping: dict[str, Any], current: object) -> list[dict[str, Any]]:
    """Return the messages on the way to the current node.

    Without one, on the way to the last of the newest replies.
    """
    node = current if isinstance(current, str) and current in mapping else _last_leaf(mapping)
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


def _last_leaf(mapping: dict[str, Any]) -> str | None:
    node = next(
        (k for k, v in mapping.items() if isinstance(v, dict) and text_of(v.get("parent")) not in mapping), None
    )
    seen: set[str] = set()
    while node is not None and node not in seen:
        seen.add(node)
        entry = mapping[node]
        children = list_of(entry.get("children")) if isinstance(entry, dict) else []
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
        text = result_text([part.get("content") for part in list_of(content.get("thoughts")) if isinstance(part, dict)])
    if not text.strip() or kind == "user_editable_context":
        return
    metadata = message.get("metadata")
    model = text_of(metadata.get("model_slug")) if isinstance(metadata, dict) else None
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
