"""Chat replies in SGLang's shape: the chunks of a stream and the one body of a plain answer.

Owns: every byte of JSON that a client sees of a reply, explicit nulls included, and our one extension, the
top-level field `kvrace` with the virtual stamp of the text. Does not own: when a chunk is written.
Floor 5. Source: facts/formats.md Q2, Q15, Q18, Q19 and the OpenAI chat API.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Literal

import orjson

from harness.pair.call_parser import CallArguments, CallName, Piece
from harness.pair.engines import Usage

DONE: Final = b"data: [DONE]\n\n"
CREATED_S: Final = 1_700_000_000
"""A constant, because the same seed must give the same bytes whatever the day."""


Logprobs = dict[str, Any] | None
"""As `logprob_fields` makes them; None where nobody asked."""


@dataclass(frozen=True, slots=True)
class ReplyHead:
    """What all chunks of one reply have in common."""

    request_id: str
    model: str
    prefix: Literal["chatcmpl", "cmpl"] = "chatcmpl"

    @property
    def reply_id(self) -> str:
        return f"{self.prefix}-{self.request_id}"

    @property
    def call_id(self) -> str:
        return f"call_{blake2b(self.request_id.encode(), digest_size=12).hexdigest()}"


def role_frame(head: ReplyHead, t_ns: int) -> bytes:
    return _chunk(head, t_ns, _delta(role="assistant", content=""))


def piece_frame(head: ReplyHead, piece: Piece, t_ns: int, logprobs: Logprobs = None) -> bytes:
    if isinstance(piece, CallName):
        return _chunk(head, t_ns, _delta(tool_calls=[_call(head.call_id, piece.name, "")]), logprobs)
    if isinstance(piece, CallArguments):
        return _chunk(head, t_ns, _delta(tool_calls=[_call(None, None, piece.text)]), logprobs)
    return _chunk(head, t_ns, _delta(content=piece.text), logprobs)


def finish_frame(head: ReplyHead, reason: str, t_ns: int, logprobs: Logprobs = None) -> bytes:
    return _chunk(head, t_ns, _delta(), logprobs, reason=reason)


def usage_frame(head: ReplyHead, usage: Usage, t_ns: int) -> bytes:
    return event({**top_fields(head, "chat.completion.chunk", t_ns), "choices": [], "usage": usage_fields(usage)})


def error_frame(message: str, *, status: int, kind: str) -> bytes:
    return event(error_fields(message, status=status, kind=kind))


def whole_reply(
    head: ReplyHead, pieces: Sequence[Piece], logprobs: Logprobs, *, reason: str, usage: Usage, t_ns: int
) -> bytes:
    """The body of an answer that is not streamed."""
    content = "".join(piece.text for piece in pieces if not isinstance(piece, CallName | CallArguments))
    names = [piece.name for piece in pieces if isinstance(piece, CallName)]
    arguments = "".join(piece.text for piece in pieces if isinstance(piece, CallArguments))
    message = {
        "role": "assistant",
        "content": content or (None if names else ""),
        "reasoning_content": None,
        "tool_calls": [_call(head.call_id, names[0], arguments)] if names else None,
    }
    choice = {"index": 0, "message": message, "logprobs": logprobs, "finish_reason": reason, "matched_stop": None}
    return orjson.dumps(
        {
            **top_fields(head, "chat.completion", t_ns),
            "choices": [choice],
            "usage": usage_fields(usage),
            "metadata": None,
        }
    )


def usage_fields(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "completion_tokens": usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def error_fields(message: str, *, status: int, kind: str, parameter: str | None = None) -> dict[str, Any]:
    return {"error": {"object": "error", "message": message, "type": kind, "param": parameter, "code": status}}


def top_fields(head: ReplyHead, kind: str, t_ns: int) -> dict[str, Any]:
    """What every body and every chunk of either API begins with."""
    return {
        "id": head.reply_id,
        "object": kind,
        "created": CREATED_S,
        "model": head.model,
        "kvrace": {"t_ns": t_ns, "request_id": head.request_id},
    }


def _chunk(
    head: ReplyHead, t_ns: int, delta: dict[str, Any], logprobs: Logprobs = None, *, reason: str | None = None
) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": reason, "matched_stop": None}
    return event({**top_fields(head, "chat.completion.chunk", t_ns), "choices": [choice], "usage": None})


def _delta(
    *, role: str | None = None, content: str | None = None, tool_calls: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    return {"role": role, "content": content, "reasoning_content": None, "tool_calls": tool_calls}


def _call(call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "index": 0, "type": "function", "function": {"name": name, "arguments": arguments}}


def event(fields: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(fields) + b"\n\n"
