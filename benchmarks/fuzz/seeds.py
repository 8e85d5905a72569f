"""What a fuzzer begins with: streams in the shapes of real servers, odd ones, HTTP answers, and the words they are of.

Owns: the first inputs of each target and the dictionary. Does not own: what is found from them. Source: ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.planted.sound_server import answer, events
from harness.planting.reply_shapes import SHAPES, Frame, body_of, stream_of
from harness.transport.contract import ReplyUsage
from results.records import ExpectedCall, ToolCall, TurnRecord

_ARGUMENTS: Final = json.dumps({"guests": 4, "note": "velarimot \U0001f4e6"}, ensure_ascii=False)
WORDS: Final = (
    b"data: ", b"data:", b"event: error\n", b"error: ", b": ping\n\n", b"\n\n", b"\r\n", b"\r", b"[DONE]", b"id: 1\n",
    b"\xef\xbb\xbf", b'{"choices":[', b'"delta":{', b'"message":{', b'"content":', b'"reasoning":', b'"tool_calls":[',
    b'"function":{"name":"f","arguments":', b'"index":0,', b'"index":1,', b'"id":"a",', b'"finish_reason":"stop"',
    b'"finish_reason":"length"', b'"usage":{"prompt_tokens":1}', b'"error":{"message":', b'"data":{', b"null", b"NaN",
    b"1e999", b"99999999999999999999999999", b"\\ud83d", b"\\udce6", b"\xff\xfe", b'"type":"message_start"',
    b'"type":"content_block_delta"', b'"type":"content_block_start"', b'"type":"message"', b'"content_block":{',
    b'"partial_json":', b'"kvrace":{"t_ns":1}', b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 103 Early Hints\r\n\r\n",
    b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: gzip\r\n", b"\r\n\r\n",
    b"5\r\nhello\r\n", b"0\r\n\r\n", b"Connection: close\r\n", b"ffffffffffffff\r\n", b"[[[[[[[[", b'{"a":{"a":',
    b"\x1f\x8b\x08\x00",
)  # fmt: skip


def first_inputs(target: str) -> list[bytes]:
    """Each with cuts in front, as the targets read them."""
    turn = _turn()
    frame = Frame({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m"}, ReplyUsage(9, 8, 4))
    rng = np.random.default_rng(1)
    streams = [b"".join(stream_of(turn, frame, shape, rng).events) for shape in SHAPES]
    streams.append(b"".join(events("book_table", _ARGUMENTS, 100)).replace(b"\n", b"\r\n"))
    bodies = [body_of(turn, frame), b'{"error": {"message": "boom"}}', b'{"data": {"choices": []}}']
    head = b"GET /v1/models HTTP/1.1"
    responses = [b"".join(answer(head, b"")), b"HTTP/1.1 200 OK\r\n\r\ndata: [DONE]\n\n", *map(_chunked, streams)]
    inputs: Mapping[str, list[bytes]] = {
        "sse": streams, "reply": streams, "turn": streams, "body": bodies, "http": responses,
        "calls": [b'[{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}]\n[{"index": 0}]'],
    }  # fmt: skip
    cuts = [b""] if target in ("body", "calls") else [b"\x00", b"\x03\x10\x80\xc0"]
    return [cut + raw for cut in cuts for raw in inputs.get(target, [bytes(range(0, 250, 7))])]


def write_words(path: Path) -> None:
    """As libFuzzer wants a dictionary."""
    lines = ('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"' for word in WORDS)
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def _chunked(stream: bytes) -> bytes:
    top = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return top + b"%x\r\n%s\r\n0\r\n\r\n" % (len(stream), stream)


def _turn() -> TurnRecord:
    return TurnRecord(
        session=0, turn=0, request_id="r", group=0, scheduled_ns=0, sent_ns=0, first_token_ns=1, finished_ns=2,
        prompt_tokens=9, completion_tokens=8, cached_tokens=4, finish_reason="tool_calls", content="déjà \U0001f4e6",
        tool_calls=(ToolCall("call_1", "book_table", _ARGUMENTS),), expected=ExpectedCall("book_table", {}), secrets=(),
        error=None, raw=None, machine=None, reasoning="They want a table.",
    )  # fmt: skip
