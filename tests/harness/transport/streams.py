"""Streams written by hand, each with the shape of one kind of server, and how to read one.

Owns: bytes. Does not own: what they must come to (the tests say). Floor: tests.
Source: the shapes that facts about real servers list by number; the bytes are ours.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from harness.transport.contract import Reply
from harness.transport.reply import ReplyBuilder

DONE = "data: [DONE]\n\n"


def event(payload: object) -> str:
    return f"data: {json.dumps(payload, ensure_ascii=False)}\n\n"


def chunk(delta: object = None, *, reason: str | None = None, **top: Any) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return event({"id": "c", "object": "chat.completion.chunk", "choices": [choice], **top})


def call(arguments: object = None, **fields: Any) -> dict[str, Any]:
    """A delta with one entry; name goes into the function, everything else beside it."""
    function: dict[str, Any] = {} if arguments is None else {"arguments": arguments}
    if "name" in fields:
        function["name"] = fields.pop("name")
    return {"tool_calls": [{**fields, "function": function}]}


def calls(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": [entry["tool_calls"][0] for entry in entries]}


def read(stream: str | bytes, *, cuts: Sequence[int] = (), status: int = 200) -> Reply:
    """The reply of a stream that arrives in pieces, the n-th at time n."""
    raw = stream.encode() if isinstance(stream, str) else stream
    builder = ReplyBuilder(status=status)
    edges = [0, *sorted(cuts), len(raw)]
    for number, (begin, end) in enumerate(pairwise(edges)):
        builder.feed(raw[begin:end], now_ns=number)
    builder.end(now_ns=len(edges))
    return builder.reply(end_ns=len(edges))
