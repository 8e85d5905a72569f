"""A reply as bytes again, in the shapes in which real servers send one: events of a stream, or one body.

Owns: three shapes of chunks, and where a stream may be broken off. Does not own: what the reply says.
Floor 5. Source: facts/formats.md Q1, Q2, Q9, Q15, Q18 (SGLang's explicit nulls, vLLM's short deltas, whole calls).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import orjson

from harness.transport.contract import ReplyUsage
from results.records import ToolCall, TurnRecord

Shape = Literal["sglang", "vllm", "whole"]
SHAPES: Final[tuple[Shape, ...]] = ("sglang", "vllm", "whole")

_PIECE_CHARACTERS_MAX: Final = 8
_NULLS: Final = {"role": None, "content": None, "reasoning_content": None, "tool_calls": None}
_DONE: Final = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Frame:
    """What all chunks of one answer have in common: its id, model and time, as the server sent them."""

    fields: Mapping[str, Any]
    usage: ReplyUsage | None


@dataclass(frozen=True, slots=True)
class Stream:
    """events: of a whole stream. call_end: so many of them end before the call is whole."""

    events: tuple[bytes, ...]
    call_end: int


def stream_of(turn: TurnRecord, frame: Frame, shape: Shape, rng: np.random.Generator) -> Stream:
    """A reply without a finish reason has no end mark either: it was cut off."""
    deltas = list(_deltas(turn, shape, rng))
    call_end = max((at for at, delta in enumerate(deltas) if "tool_calls" in delta), default=len(deltas) - 1)
    is_late = shape == "sglang" or turn.finish_reason is None
    reasons: list[str | None] = [None] * len(deltas)
    if not is_late:
        reasons[-1] = turn.finish_reason
    events = [_chunk(frame, _choice(delta, reason, shape)) for delta, reason in zip(deltas, reasons, strict=True)]
    if turn.finish_reason is not None:
        if is_late:
            events.append(_chunk(frame, _choice({}, turn.finish_reason, shape)))
        if frame.usage is not None:
            events.append(_event({**frame.fields, "choices": [], "usage": _usage(turn, frame.usage)}))
        events.append(_DONE)
    return Stream(tuple(events), call_end)


def body_of(turn: TurnRecord, frame: Frame) -> bytes:
    """The same as one answer that is not streamed. One that never ended is broken JSON, since it is cut."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.content or None}
    if turn.tool_calls:
        message["tool_calls"] = [_call(call, call.arguments) for call in turn.tool_calls]
    choice = {"index": 0, "message": message, "finish_reason": turn.finish_reason}
    usage = {} if frame.usage is None else {"usage": _usage(turn, frame.usage)}
    body = orjson.dumps({**frame.fields, "choices": [choice], **usage})
    return body if turn.finish_reason is not None else body[: len(body) // 2]


def _deltas(turn: TurnRecord, shape: Shape, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    if turn.reasoning:
        yield {"reasoning_content": turn.reasoning}
    for piece in _pieces(turn.content, rng):
        yield {"content": piece}
    for index, call in enumerate(turn.tool_calls):
        if shape == "whole":
            yield {"tool_calls": [{"index": index, **_call(call, call.arguments)}]}
            continue
        yield {"tool_calls": [{"index": index, **_call(call, "")}]}
        for piece in _pieces(call.arguments, rng):
            nulls = {"id": None} if shape == "sglang" else {}
            function = {"name": None, "arguments": piece} if shape == "sglang" else {"arguments": piece}
            yield {"tool_calls": [{"index": index, **nulls, "function": function}]}


def _call(call: ToolCall, arguments: str) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _choice(delta: Mapping[str, Any], reason: str | None, shape: Shape) -> dict[str, Any]:
    if shape == "sglang":
        return {"index": 0, "delta": {**_NULLS, **delta}, "logprobs": None, "finish_reason": reason,
                "matched_stop": None}  # fmt: skip
    return {"index": 0, "delta": delta, "finish_reason": reason}


def _usage(turn: TurnRecord, usage: ReplyUsage) -> dict[str, Any]:
    prompt, tokens = usage.prompt_tokens or 0, turn.completion_tokens or 0
    details = {} if usage.cached_tokens is None else {"prompt_tokens_details": {"cached_tokens": usage.cached_tokens}}
    return {"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens, **details}


def _pieces(text: str, rng: np.random.Generator) -> Iterator[str]:
    """About a token each."""
    at = 0
    while at < len(text):
        size = int(rng.integers(1, _PIECE_CHARACTERS_MAX + 1))
        yield text[at : at + size]
        at += size


def _chunk(frame: Frame, choice: Mapping[str, Any]) -> bytes:
    return _event({**frame.fields, "choices": [choice]})


def _event(fields: Mapping[str, Any]) -> bytes:
    return b"data: %s\n\n" % orjson.dumps(fields)
