"""The body of a chat request, read once by each worker.

Owns: which fields matter, what makes a body bad, and the sentence that says so. Unknown fields are never refused:
routers add their own. Does not own: the splice of the bootstrap fields (`splice.py`) or what is done with a request.
Floor 5. Source: facts/real-servers.md section 1 (what routers rename and add); the OpenAI chat API.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson

DEFAULT_NEW_TOKENS: Final = 512


class BadBodyError(Exception):
    """The client's mistake, in one sentence. parameter: the field it is about, if it is about one."""

    def __init__(self, sentence: str, *, parameter: str | None = None) -> None:
        self.sentence = sentence
        self.parameter = parameter
        super().__init__(sentence)


@dataclass(frozen=True, slots=True)
class ChatBody:
    """What a worker needs of a chat request. tools is empty where the request forbids calls."""

    model: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    tool_names: tuple[str, ...]
    max_new_tokens: int
    is_stream: bool
    wants_usage: bool
    user: str
    room: int
    temperature: float | None
    top_p: float | None
    seed: int | None


def chat_body(raw: bytes) -> ChatBody:
    """Raises: BadBodyError."""
    try:
        fields = orjson.loads(raw)
    except orjson.JSONDecodeError as problem:
        raise BadBodyError(f"the body is not JSON: {problem}") from None
    if not isinstance(fields, dict):
        raise BadBodyError(f"the body must be a JSON object, not {_kind(fields)}")
    if fields.get("n") not in (None, 1):
        raise BadBodyError("only n = 1 is served", parameter="n")
    options = _optional(fields, "stream_options", dict) or {}
    tools = _tools(fields)
    return ChatBody(
        model=_optional(fields, "model", str) or "",
        messages=_messages(fields),
        tools=tools,
        tool_names=tuple(tool["function"]["name"] for tool in tools),
        max_new_tokens=_token_limit(fields),
        is_stream=bool(_optional(fields, "stream", bool)),
        wants_usage=bool(options.get("include_usage")),
        user=_name(fields),
        room=_room(fields),
        temperature=_number(fields, "temperature"),
        top_p=_number(fields, "top_p"),
        seed=_optional(fields, "seed", int),
    )


def _messages(fields: dict[str, Any]) -> list[dict[str, Any]]:
    messages = fields.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadBodyError("'messages' must be a list with at least one message", parameter="messages")
    for position, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise BadBodyError(f"messages[{position}] must be an object with a 'role'", parameter="messages")
        # Some routers drop the null of an assistant's message that is only a call.
        if not isinstance(message.setdefault("content", None), str | list | None):
            raise BadBodyError(
                f"messages[{position}].content must be a string, a list of parts or null", parameter="messages"
            )
    return messages


def _tools(fields: dict[str, Any]) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = _optional(fields, "tools", list) or []
    for position, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
            raise BadBodyError(f"tools[{position}] must be an object with 'function.name'", parameter="tools")
    return [] if fields.get("tool_choice") == "none" else tools


def _token_limit(fields: dict[str, Any]) -> int:
    for key in ("max_completion_tokens", "max_tokens"):
        limit: int | None = _optional(fields, key, int)
        if limit is not None:
            if limit < 1:
                raise BadBodyError(f"'{key}' must be at least 1, not {limit}", parameter=key)
            return limit
    return DEFAULT_NEW_TOKENS


def _room(fields: dict[str, Any]) -> int:
    room = fields.get("bootstrap_room")
    if isinstance(room, list) and len(room) == 1:
        room = room[0]
    if not isinstance(room, int) or isinstance(room, bool) or room < 0:
        raise BadBodyError(
            "this worker serves one half of each request and needs 'bootstrap_room' to find the other: "
            "send requests to the router",
            parameter="bootstrap_room",
        )
    return room


def _name(fields: dict[str, Any]) -> str:
    """Who asks: `user`, or OpenAI's newer name for it, which is all that sglang-router 0.3.2 lets through."""
    return _optional(fields, "user", str) or _optional(fields, "safety_identifier", str) or ""


def _optional(fields: dict[str, Any], key: str, kind: type) -> Any:
    value = fields.get(key)
    # JSON's true is an int for Python, and a count of true tokens is a mistake worth telling.
    if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
        raise BadBodyError(f"'{key}' must be {_KIND_NAMES[kind]}, not {_kind(value)}", parameter=key)
    return value


def _number(fields: dict[str, Any], key: str) -> float | None:
    value = fields.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise BadBodyError(f"'{key}' must be a number, not {_kind(value)}", parameter=key)
    return float(value)


_KIND_NAMES: Final[dict[type, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}


def _kind(value: object) -> str:
    return "null" if value is None else _KIND_NAMES.get(type(value), type(value).__name__)
