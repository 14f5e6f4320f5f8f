"""The calls in a model's message, and answers to them in its provider's shape, for where the service gives none."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Literal, Mapping, Sequence, cast

from ._read_body import parse_json
from ._to_json import to_json
from .formats import ConversationFormat

# Chat completions and their relatives, Gemini in both spellings, Bedrock, custom tools of chat completions.
HOLDERS = ("function", "functionCall", "function_call", "toolUse", "custom")
# OpenAI's items, Anthropic, the AI SDK, LangChain.
TYPES = ("function_call", "custom_tool_call", "tool_use", "tool-call", "tool_call", "invalid_tool_call")


@dataclass(frozen=True)
class MessageCall:
    """One call, as far as an answer to it and a comparison need it."""

    id: str
    name: str
    arguments: object
    manner: Literal["custom", "camel", None] = None
    """`custom`: of OpenAI's custom tools, whose answers have a type of their own. `camel`: as Mistral's and Cohere's clients for
    TypeScript spell it."""


def read_calls(message: object) -> list[MessageCall]:
    """The calls of a message in their order; the service itself reads messages with more care. Empty where none is found."""
    found: dict[str, MessageCall] = {}
    # As it is sent: messages may be the models of pydantic. LangChain's hold each call again as the provider wrote it.
    for place, call in enumerate(_find(parse_json(to_json(message)), "")):
        found.setdefault(call.id or f"\0{place}", call)
    return list(found.values())


def _find(value: object, key: str) -> Iterator[MessageCall]:
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _find(item, key)
    elif isinstance(value, dict):
        members = cast("dict[str, object]", value)
        call = _to_call(members, key)
        if call is not None:
            yield call
            return
        for name, inner in members.items():
            yield from _find(inner, name)


def _to_call(members: Mapping[str, object], key: str) -> MessageCall | None:
    for holder in HOLDERS:
        inner = members.get(holder)
        if isinstance(inner, dict):
            manner = "custom" if holder == "custom" else "camel" if key == "toolCalls" else None
            return _read({"id": members.get("id"), **cast("dict[str, object]", inner)}, manner)
    kind = members.get("type")
    if kind not in TYPES or members.get("providerExecuted") is True:
        return None
    return _read(members, "custom" if kind == "custom_tool_call" else None)


def _read(members: Mapping[str, object], manner: Literal["custom", "camel", None]) -> MessageCall | None:
    name = _first(members, "toolName", "name")
    if not isinstance(name, str):
        return None
    id = _first(members, "call_id", "toolUseId", "toolCallId", "id")
    return MessageCall("" if id is None else str(id), name, _first(members, "arguments", "args", "input"), manner)


def _first(members: Mapping[str, object], *names: str) -> object:
    return next((members[name] for name in names if members.get(name) is not None), None)


def to_fingerprint(name: str, arguments: object) -> str:
    """The same text for calls of a tool with the same arguments, as an object or as JSON, in any order of members."""
    given: object = {} if arguments is None else arguments
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            pass
    return json.dumps([name, given], sort_keys=True, default=str)


def write_answers(format: ConversationFormat, answers: Sequence[tuple[MessageCall, str, bool]]) -> list[Any]:
    """Answers in the form that the provider of the message takes, one for each call."""
    write, wrap = WRITERS[format]
    parts = [write(call, text, is_error) for call, text, is_error in answers]
    return parts if wrap is None else [wrap(parts)]


def _write_chat(call: MessageCall, text: str, is_error: bool) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def _write_output(call: MessageCall, text: str, is_error: bool) -> dict[str, Any]:
    kind = "custom_tool_call_output" if call.manner == "custom" else "function_call_output"
    return {"type": kind, "call_id": call.id, "output": text}


def _write_realtime(call: MessageCall, text: str, is_error: bool) -> dict[str, Any]:
    return {"type": "conversation.item.create", "item": _write_output(call, text, is_error)}


def _write_mistral(call: MessageCall, text: str, is_error: bool) -> dict[str, Any]:
    return {**_write_spelled(call, text, is_error), "name": call.name}


def _write_spelled(call: MessageCall, text: str, is_error: bool) -> dict[str, Any]:
    return {"role": "tool", "toolCallId" if call.manner == "camel" else "tool_call_id": call.id, "content": text}


def _write_ollama(call: MessageCall, text: str, is_error: bool) -> dict[str, Any]:
    named = {"tool_call_id": call.id} if call.id else {}
    return {"role": "tool", "content": text, "tool_name": call.name, **named}


def _write_anthropic(call: MessageCall, text: str, is_error: bool) -> dict[str, Any]:
    failed = {"is_error": True} if is_error else {}
    return {"type": "tool_result", "tool_use_id": call.id, "content": text, **failed}


def _write_gemini(call: MessageCall, text: str, is_error: bool) -> dict[str, Any]:
    named = {"id": call.id} if call.id else {}
    return {"functionResponse": {**named, "name": call.name, "response": {"error" if is_error else "output": text}}}


def _write_bedrock(call: MessageCall, text: str, is_error: bool) -> dict[str, Any]:
    failed = {"status": "error"} if is_error else {}
    return {"toolResult": {"toolUseId": call.id, "content": [{"text": text}], **failed}}


def _write_ai_sdk(call: MessageCall, text: str, is_error: bool) -> dict[str, Any]:
    output = {"type": "error-text" if is_error else "text", "value": text}
    return {"type": "tool-result", "toolCallId": call.id, "toolName": call.name, "output": output}


def _write_langchain(call: MessageCall, text: str, is_error: bool) -> dict[str, Any]:
    status = "error" if is_error else "success"
    return {"type": "tool", **_write_chat(call, text, is_error), "name": call.name, "status": status}


Write = Callable[[MessageCall, str, bool], "dict[str, Any]"]
Wrap = Callable[["list[Any]"], "dict[str, Any]"]

WRITERS: Mapping[ConversationFormat, tuple[Write, Wrap | None]] = {
    "openai-chat": (_write_chat, None),
    "openai-responses": (_write_output, None),
    "openai-realtime": (_write_realtime, None),
    "anthropic": (_write_anthropic, lambda parts: {"role": "user", "content": parts}),
    "gemini": (_write_gemini, lambda parts: {"role": "user", "parts": parts}),
    "bedrock": (_write_bedrock, lambda parts: {"role": "user", "content": parts}),
    "mistral": (_write_mistral, None),
    "cohere": (_write_spelled, None),
    "ollama": (_write_ollama, None),
    "ai-sdk": (_write_ai_sdk, lambda parts: {"role": "tool", "content": parts}),
    "langchain": (_write_langchain, None),
}
