"""A model on this machine, as far as agent programs see one: four protocols, streamed, answers written in the prompt.

A prompt says what the model does with it: ``[[memory_recall {"query": "cards"}]]`` is a call of the tool whose name ends
so, one after the other, and ``[[say We use cards.]]`` the answer after them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from tests.engine.judging.chatserver import ChatServer

_SCRIPT = re.compile(r"\[\[(\w+) (.*?)\]\]", re.DOTALL)
_TOLD = re.compile(r"<lamina-context\b.*?</lamina-context>|<hook_context>.*?</hook_context>", re.DOTALL)
_USAGE = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}


class Call(NamedTuple):
    """A call of a tool."""

    id: str
    name: str
    arguments: dict[str, Any]
    namespace: str = ""


class Item(NamedTuple):
    """A part of a talk: ``user``, ``said``, ``call`` or ``result``."""

    kind: str
    text: str = ""


class ModelServer(ChatServer):
    """Answers as the last prompt with a script says; without one, that it has heard."""

    def __init__(self) -> None:
        super().__init__(_Handler)

    def talks(self) -> list[dict[str, Any]]:
        """Requests of a model with tools, in order: programs ask smaller ones for titles and the like."""
        return [body for _, _, body in self.requests if tools_of(body)]

    def heard(self, text: str) -> int:
        """Return how many requests hold a text."""
        return sum(text in json.dumps(body, ensure_ascii=False) for _, _, body in self.requests)


def tools_of(body: dict[str, Any]) -> dict[str, str]:
    """Return the names of the tools in a request of any protocol, each with its namespace."""
    found: dict[str, str] = {}
    for tool in body.get("tools") or ():
        for inner in tool.get("functionDeclarations") or tool.get("tools") or (tool.get("function") or tool,):
            if "name" in inner:
                found[inner["name"]] = tool["name"] if tool.get("type") == "namespace" else ""
    return found


def _items(body: dict[str, Any]) -> Iterator[Item]:
    """Yield the parts of the talk in a request of any protocol."""
    talk = body.get("messages") or body.get("input") or body.get("contents") or ()
    for message in [{"role": "user", "content": talk}] if isinstance(talk, str) else talk:
        kind, role = str(message.get("type")), message.get("role")
        if kind.endswith("_output") or role == "tool":
            yield Item("result")
        elif kind.endswith("_call") or message.get("tool_calls"):
            yield Item("call")
        else:
            content = message.get("content") or message.get("parts") or ()
            speaker = "user" if role == "user" else "said"
            for part in [{"text": content}] if isinstance(content, str) else content:
                if part.get("type") == "tool_result" or "functionResponse" in part:
                    yield Item("result")
                elif "text" in part:
                    yield Item(speaker, _TOLD.sub("", str(part["text"])))


def _next_step(body: dict[str, Any]) -> Call | str:
    """Return what a model says to a talk, or calls."""
    items = list(_items(body))
    places = [at for at, item in enumerate(items) if item.kind == "user" and _SCRIPT.search(item.text)]
    if not places:
        return "I have heard it."
    tools, script = tools_of(body), _SCRIPT.findall(items[places[-1]].text)
    calls = [step for step in script if step[0] != "say"]
    done = sum(item.kind == "result" for item in items[places[-1] :])
    if done < len(calls):
        wanted, arguments = calls[done]
        deferred = wanted if f"\\n{wanted}\\n" in json.dumps(body) else None  # named in a text, to be called later
        name = next((name for name in tools if name.endswith(wanted)), deferred)
        if name is not None:
            return Call(f"call_{len(items)}", name, _read(arguments), tools.get(name, ""))
    return "\n".join(text for name, text in script if name == "say") or "Done."


def _read(arguments: str) -> dict[str, Any]:
    """Return arguments as written, or in quotes, as some programs pass a prompt on."""
    document: dict[str, Any] = json.loads(arguments.replace('\\"', '"'))
    return document


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(content)
        except ValueError:
            body = {}
        path = self.path.partition("?")[0]
        self.server.requests.append((path, dict(self.headers), body))
        if path.endswith(("/count_tokens", ":countTokens")):
            self._send_json({"input_tokens": 100, "totalTokens": 100})
        elif path.endswith("/messages"):
            self._send(_anthropic(_next_step(body)), body.get("stream"), _anthropic_message)
        elif path.endswith("/responses"):
            self._send(_responses(_next_step(body)), True, None)
        elif path.endswith("/chat/completions"):
            self._send(_chat(_next_step(body)), body.get("stream"), _chat_message)
        elif path.endswith((":generateContent", ":streamGenerateContent")):
            self._send(_gemini(_next_step(body)), path.endswith(":streamGenerateContent"), lambda events: events[0])
        else:
            self._send_json({})

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers), {}))
        self._send_json({"object": "list", "data": [{"id": "fake", "object": "model"}], "models": []})

    def do_HEAD(self) -> None:
        self.do_GET()

    def _send(self, events: list[dict[str, Any]], streamed: object, whole: Any) -> None:
        if not streamed:
            self._send_json(whole(events))
            return
        lines = [
            (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
            for event in events
        ]
        if "choices" in events[0]:
            lines.append("data: [DONE]\n\n")
        self._send_bytes("".join(lines).encode(), "text/event-stream")

    def _send_json(self, document: dict[str, Any]) -> None:
        self._send_bytes(json.dumps(document).encode(), "application/json")

    def _send_bytes(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


def _anthropic(step: Call | str) -> list[dict[str, Any]]:
    block: dict[str, Any]
    if isinstance(step, str):
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": step}
    else:
        block = {"type": "tool_use", "id": step.id, "name": step.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step.arguments)}
    message: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": {"input_tokens": 100, "output_tokens": 1}}  # fmt: skip
    stop = {"stop_reason": "end_turn" if isinstance(step, str) else "tool_use", "stop_sequence": None}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 10}},
        {"type": "message_stop"},
    ]


def _anthropic_message(events: list[dict[str, Any]]) -> dict[str, Any]:
    block, delta = dict(events[1]["content_block"]), events[2]["delta"]
    if block["type"] == "text":
        block["text"] = delta["text"]
    else:
        block["input"] = json.loads(delta["partial_json"])
    return {**events[0]["message"], "content": [block], **events[4]["delta"]}


def _responses(step: Call | str) -> list[dict[str, Any]]:
    item: dict[str, Any]
    if isinstance(step, str):
        item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": step, "annotations": []}]}  # fmt: skip
    else:
        item = {"type": "function_call", "id": step.id, "call_id": step.id, "name": step.name,
                "arguments": json.dumps(step.arguments), "status": "completed"}  # fmt: skip
        if step.namespace:
            item["namespace"] = step.namespace
    response = {"id": "r1", "object": "response", "status": "completed", "output": [item], "usage": _USAGE}
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]


def _chat(step: Call | str) -> list[dict[str, Any]]:
    delta: dict[str, Any] = {"role": "assistant"}
    if isinstance(step, str):
        delta["content"] = step
    else:
        function = {"name": step.name, "arguments": json.dumps(step.arguments)}
        delta["tool_calls"] = [{"index": 0, "id": step.id, "type": "function", "function": function}]
    common = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake"}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    end = "stop" if isinstance(step, str) else "tool_calls"
    return [
        {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage},
    ]


def _chat_message(events: list[dict[str, Any]]) -> dict[str, Any]:
    message = events[0]["choices"][0]["delta"]
    choice = {"index": 0, "message": message, "finish_reason": events[1]["choices"][0]["finish_reason"]}
    return {**events[1], "object": "chat.completion", "choices": [choice]}


def _gemini(step: Call | str) -> list[dict[str, Any]]:
    part = {"text": step} if isinstance(step, str) else {"functionCall": {"name": step.name, "args": step.arguments}}
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
    return [
        {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": usage,
        }
    ]
