"""Streams in Anthropic's shape, told in the words of the other one.

Owns: which named events there are and what each brings, as the fields of an OpenAI-style chunk. Does not own: the
assembly of a reply (`reply.py`), which is the same for both. Pure. Floor 5. Source: facts/formats.md Q35 to Q37.
"""

from __future__ import annotations

from typing import Any, Final

_REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
_TYPES: Final = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
    }
)


class AnthropicEvents:
    """One for one stream: the prompt's tokens come with its first event, the reply's with the last."""

    def __init__(self) -> None:
        self.is_over = False
        self._usage: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"AnthropicEvents(is_over={self.is_over})"

    @staticmethod
    def knows(fields: dict[str, Any]) -> bool:
        kind = fields.get("type")
        return "choices" not in fields and isinstance(kind, str) and kind in _TYPES

    def chunk(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The same event as a chunk; empty where it brings nothing."""
        match fields["type"]:
            case "message_start":
                message = _object(fields.get("message"))
                return self._with_usage(message.get("usage"), {})
            case "content_block_start":
                return _choice(_begun(fields.get("index"), _object(fields.get("content_block"))))
            case "content_block_delta":
                return _choice(_more(fields.get("index"), _object(fields.get("delta"))))
            case "message_delta":
                reason = _object(fields.get("delta")).get("stop_reason")
                return self._with_usage(fields.get("usage"), _choice({}, _REASONS.get(str(reason), reason)))
            case "message_stop":
                self.is_over = True
        return {}

    def _with_usage(self, usage: object, chunk: dict[str, Any]) -> dict[str, Any]:
        self._usage |= {name: value for name, value in _object(usage).items() if value is not None}
        named = {
            "prompt_tokens": self._usage.get("input_tokens"),
            "completion_tokens": self._usage.get("output_tokens"),
            "prompt_tokens_details": {"cached_tokens": self._usage.get("cache_read_input_tokens")},
        }
        return {**chunk, "usage": named}


def is_message(fields: dict[str, Any]) -> bool:
    """Whether a body that was not streamed is one of Anthropic's."""
    return fields.get("type") == "message" and "choices" not in fields


def whole_message(fields: dict[str, Any]) -> dict[str, Any]:
    """A message that was not streamed, as a body of the other kind."""
    content = fields.get("content")
    blocks = [_object(block) for block in content] if isinstance(content, list) else []
    usage, reason = _object(fields.get("usage")), fields.get("stop_reason")
    message = {
        "content": "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text"),
        "reasoning_content": "".join(str(block.get("thinking") or "") for block in blocks),
        "tool_calls": [
            {"id": block.get("id"), "function": {"name": block.get("name"), "arguments": block.get("input")}}
            for block in blocks
            if block.get("type") == "tool_use"
        ],
    }
    named = {"prompt_tokens": usage.get("input_tokens"), "completion_tokens": usage.get("output_tokens"),
             "prompt_tokens_details": {"cached_tokens": usage.get("cache_read_input_tokens")}}  # fmt: skip
    choice = {"index": 0, "message": message, "finish_reason": _REASONS.get(str(reason), reason)}
    return {"choices": [choice], "usage": named}


def _begun(index: object, block: dict[str, Any]) -> dict[str, Any]:
    if block.get("type") == "tool_use":
        whole = block.get("input") or ""
        # `input` is {} and the arguments follow in pieces; clones send all of them here.
        return {"tool_calls": [_call(index, whole, id=block.get("id"), name=block.get("name"))]}
    return {"content": block.get("text"), "reasoning_content": block.get("thinking")}


def _more(index: object, delta: dict[str, Any]) -> dict[str, Any]:
    if delta.get("type") == "input_json_delta":
        return {"tool_calls": [_call(index, delta.get("partial_json"))]}
    return {"content": delta.get("text"), "reasoning_content": delta.get("thinking")}


def _call(index: object, arguments: object, *, id: object = None, name: object = None) -> dict[str, Any]:
    return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}


def _choice(delta: dict[str, Any], reason: object = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
