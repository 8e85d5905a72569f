"""A sound reply in bytes, the request that asked for it, and a small workload whose sound replies are known.

Owns: these. Does not own: any assertion. Floor: tests.
"""

from __future__ import annotations

import json
from functools import cache

from benchmarks.planted.in_process import Lane
from harness.proxy.contract import PassingRequest
from tests.harness.transport.streams import DONE, call, event

TOOL = "write_note"
ARGUMENTS = '{"label": "velarimot one", "count": 17, "urgent": true}'
_TOP = {"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m"}


def _chunk(delta: object, reason: str | None = None) -> bytes:
    return event({**_TOP, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}).encode()


PIECES = (
    _chunk({"role": "assistant", "content": ""}),
    _chunk(call("", index=0, id="call_9", name=TOOL)),
    _chunk(call(ARGUMENTS[:20], index=0)),
    _chunk(call(ARGUMENTS[20:], index=0)),
    _chunk({}, "tool_calls"),
    event({**_TOP, "choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 15,
                                            "prompt_tokens_details": {"cached_tokens": 50}}}).encode(),
    DONE.encode(),
)  # fmt: skip


def request(number: int, *, stream: bool = True) -> PassingRequest:
    fields = {
        "model": "m", "messages": [{"role": "user", "content": f"question {number}"}], "stream": stream,
        "max_tokens": 160, "user": f"s{number:04d}-t00",
    }  # fmt: skip
    return PassingRequest("POST", "/v1/chat/completions", {}, json.dumps(fields).encode())


@cache
def sound_lane() -> Lane:
    return Lane(12, 3)
