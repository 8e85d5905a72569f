"""JSON with the right keys and any values: what a server sends that has the fields mixed up.

Owns: turning bytes into such objects. Does not own: what must hold of them (`targets.py`). Source: ours.
"""

from __future__ import annotations

import json
from typing import Any

from benchmarks.fuzz.streams import Source

_KEYS = (
    "choices", "delta", "message", "content", "reasoning", "reasoning_content", "tool_calls", "function", "name",
    "arguments", "index", "id", "finish_reason", "usage", "prompt_tokens", "prompt_tokens_details", "cached_tokens",
    "error", "error_message", "data", "kvrace", "t_ns", "request_id", "type", "content_block", "input", "text",
    "thinking", "partial_json", "stop_reason", "input_tokens", "role", "detail",
)  # fmt: skip
_TYPES = ("message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "message",
          "tool_use", "text")  # fmt: skip
_SCALARS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 7.5, 2**63, 10**30, float("nan"), float("inf"), "", "x", "stop", "\ud83d", "\udce6",
    "\U0001f4e6", "[DONE]", "{", '{"a": 1}', "\x00", "1e400",
)  # fmt: skip
_DEPTH_MAX = 6
_DEEP = 400


def odd_object(source: Source, depth: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(1 + source.below(4)):
        key = _KEYS[source.below(len(_KEYS))]
        is_type = key == "type" and source.below(2)
        found[key] = _TYPES[source.below(len(_TYPES))] if is_type else _value(source, depth + 1)
    return found


def odd_text(source: Source) -> str:
    """One object as JSON, sometimes with escapes of half a character, as the strict reader refuses them."""
    return json.dumps(odd_object(source), ensure_ascii=bool(source.below(2)))


def _value(source: Source, depth: int) -> Any:
    what = source.below(8)
    if depth >= _DEPTH_MAX or what < 3:
        return _SCALARS[source.below(len(_SCALARS))]
    if what < 6:
        return odd_object(source, depth)
    if what == 6:
        return [_value(source, depth + 1) for _ in range(source.below(4))]
    deep: Any = []
    for _ in range(_DEEP):
        deep = [deep]
    return deep
