"""The body of a chat request, read once by each worker.

Owns: which fields matter, and what makes a body bad. Unknown fields are never refused: routers add their own. Does not
own: single fields (`fields.py`), the splice of the bootstrap fields (`splice.py`), what is done with a request.
Floor 5. Source: facts/real-servers.md section 1 (what routers rename and add); the OpenAI chat API.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from harness.pair.engines import GenerateRequest
from harness.pair.fields import (
    BadBodyError,
    best_count,
    json_object,
    number,
    optional,
    room_of,
    token_limit,
    user_of,
)

DEFAULT_NEW_TOKENS: Final = 512


@dataclass(frozen=True, slots=True)
class ChatBody:
    """What a worker needs of a chat request. tools is empty where the request forbids calls.

    best_count: rivals wanted for each token; None: no log-probabilities. shows_ids: tokens are told by their ids.
    """

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
    best_count: int | None = None
    shows_ids: bool = False

    def request(self, request_id: str, order: tuple[int, ...]) -> GenerateRequest:
        return GenerateRequest(
            request_id=request_id,
            order=order,
            room=self.room,
            messages=self.messages,
            tools=self.tools,
            max_new_tokens=self.max_new_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=self.seed,
            best_count=self.best_count,
        )


def chat_body(raw: bytes) -> ChatBody:
    """Raises: BadBodyError."""
    fields = json_object(raw)
    options = optional(fields, "stream_options", dict) or {}
    tools = _tools(fields)
    return ChatBody(
        model=optional(fields, "model", str) or "",
        messages=_messages(fields),
        tools=tools,
        tool_names=tuple(tool["function"]["name"] for tool in tools),
        max_new_tokens=token_limit(fields, "max_completion_tokens", "max_tokens", default=DEFAULT_NEW_TOKENS),
        is_stream=bool(optional(fields, "stream", bool)),
        wants_usage=bool(options.get("include_usage")),
        user=user_of(fields),
        room=room_of(fields),
        temperature=number(fields, "temperature"),
        top_p=number(fields, "top_p"),
        seed=optional(fields, "seed", int),
        best_count=_best_count(fields),
        shows_ids=bool(optional(fields, "return_tokens_as_token_ids", bool)),
    )


def _best_count(fields: dict[str, Any]) -> int | None:
    count = best_count(fields, "top_logprobs")
    if optional(fields, "logprobs", bool):
        return count or 0
    if count:
        raise BadBodyError("'top_logprobs' is of use with 'logprobs': true only", parameter="top_logprobs")
    return None


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
    tools: list[dict[str, Any]] = optional(fields, "tools", list) or []
    for position, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
            raise BadBodyError(f"tools[{position}] must be an object with 'function.name'", parameter="tools")
    return [] if fields.get("tool_choice") == "none" else tools
